"""Kernels k(x, y) = <phi(x), phi(y)>, each a frozen value that makes matrices of kernel values.

Rows are NumPy arrays, CSR matrices or tensors; the values are dense and of the rows' dtype. Whatever follows the one
matrix product of a kernel is done in place on its result: a kernel matrix (n, m) costs its own memory and little more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, Like, is_sparse, is_tensor, namespace
from eigenlens.errors import DataError
from eigenlens.kernel_pca.kernels.distances import (
    cityblock_distances,
    constant_vector,
    dot_products,
    float32_suffices,
    nonzero_norms,
    row_tiles,
    sample_median,
    squared_distances,
    squared_norms,
    symmetrize,
)
from eigenlens.native import Points, gaussian_values

__all__ = [
    "KERNELS",
    "RBF",
    "Cosine",
    "Custom",
    "DistanceKernel",
    "DotProductKernel",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "built",
    "make_kernel",
]

DIAGONAL_BLOCK_ROWS = 64

MAX_EXPONENT_ERROR = 1e-5
"""Beyond this error of gamma |x − y|² the products of float32 rows are made in float64."""


@runtime_checkable
class Kernel(Protocol):
    """A symmetric function k(x, y) of two rows, evaluated for all pairs at once.

    Attributes:
        name: its key in `KERNELS`, or "callable".
        identity: whether phi(x) = x, so that the space of features is the space of the rows.
    """

    name: ClassVar[str]
    identity: ClassVar[bool]

    @property
    def definite(self) -> bool:
        """Whether its Gram matrices are known to have no negative eigenvalues."""

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d)."""

    def diagonal(self, X: Any) -> Any:
        """The values (n,) of k(x_i, x_i)."""


@runtime_checkable
class DistanceKernel(Protocol):
    """A kernel that is a decreasing function of the squared distance |x − y|²."""

    def from_distance(self, D: Any) -> Any:
        """Kernel values of squared distances, in place: D is overwritten and returned."""

    def distance(self, K: Any) -> Any:
        """Squared distances of kernel values, a new array."""


@runtime_checkable
class DotProductKernel(Protocol):
    """A kernel that is a function of the dot product x·y.

    Attributes:
        invertible: whether a kernel value determines the dot product.
    """

    @property
    def invertible(self) -> bool:
        """Whether `dot` undoes `from_dot` for every dot product."""

    def from_dot(self, P: Any) -> Any:
        """Kernel values of dot products, in place: P is overwritten and returned."""

    def dot(self, K: Any) -> Any:
        """Dot products of kernel values, a new array; of the larger root where there are two."""


@dataclass(frozen=True)
class Linear:
    """k(x, y) = x·y: kernel PCA is PCA. Cost 2 n m d.

    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [0.0, 1.0]]))
    array([[11.,  2.]])
    """

    name: ClassVar[str] = "linear"
    identity: ClassVar[bool] = True
    definite: ClassVar[bool] = True
    invertible: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d)."""
        return dot_products(X, Y)

    def diagonal(self, X: Any) -> Any:
        """The values |x_i|² (n,)."""
        return squared_norms(X)

    def from_dot(self, P: Any) -> Any:
        """Kernel values of dot products: the same numbers."""
        return P

    def dot(self, K: Any) -> Any:
        """Dot products of kernel values: a copy."""
        return 1.0 * K


@dataclass(frozen=True)
class Polynomial:
    """k(x, y) = (gamma x·y + coef0)^degree: all products of up to `degree` columns. Cost n m (2d + degree).

    >>> Polynomial(gamma=1.0, coef0=1.0, degree=2)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    gamma: float
    coef0: float
    degree: int
    name: ClassVar[str] = "poly"
    identity: ClassVar[bool] = False

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d)."""
        return self.from_dot(dot_products(X, Y))

    def diagonal(self, X: Any) -> Any:
        """The values (gamma |x_i|² + coef0)^degree (n,)."""
        return self.from_dot(squared_norms(X))

    @property
    def definite(self) -> bool:
        """Whether no coefficient of the polynomial in x·y is negative."""
        return self.coef0 >= 0.0

    @property
    def invertible(self) -> bool:
        """Whether the degree is odd."""
        return self.degree % 2 == 1

    def from_dot(self, P: Any) -> Any:
        """Kernel values of dot products, in place."""
        P *= self.gamma
        P += self.coef0
        for part in row_tiles(P):  # a product while the tile is in cache is far cheaper than a power
            tile = P[part]
            base = 1.0 * tile
            for _ in range(self.degree - 1):
                tile *= base
        return P

    def dot(self, K: Any) -> Any:
        """Dot products (K^(1/degree) − coef0) / gamma; for an even degree of the root that is not negative."""
        xp = namespace(K)
        return (xp.sign(K) * xp.abs(K) ** (1.0 / self.degree) - self.coef0) / self.gamma


@dataclass(frozen=True)
class RBF:
    """k(x, y) = exp(−gamma |x − y|²). Cost n m (2d + 1 exp).

    >>> RBF(gamma=0.5)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 1.0]]))
    array([[1. , 0.3679]])
    """

    gamma: float
    name: ClassVar[str] = "rbf"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d); exactly 1 on the diagonal and symmetric if X is Y."""
        if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
            K = self.values(X, self.points(Y.astype(np.result_type(X, Y), copy=False)))
            return symmetrize(K, 1.0) if X is Y else K
        return self.from_distance(squared_distances(X, Y, MAX_EXPONENT_ERROR / self.gamma))

    def points(self, Y: Array) -> Points:
        """Rows (m, d) ready to meet others; in float64 where float32 products of them would not do."""
        centre = sample_median(Y)
        double = Y.dtype == np.float32 and not float32_suffices(MAX_EXPONENT_ERROR / self.gamma, Y - centre)
        return Points(Y, self.gamma, centre, double)

    def values(self, X: Array, y: Points, dtype: Any = None) -> Array:
        """Values (n, m) of X (n, d) with points made ready before, in their dtype or in float64."""
        X = X.astype(y.rows.dtype, copy=False)
        far = (
            X.dtype == np.float32
            and not y.double
            and not float32_suffices(MAX_EXPONENT_ERROR / self.gamma, X - y.centre)
        )
        y = Points(y.rows, y.gamma, y.centre, double=True) if far else y
        return gaussian_values(y.beside(X), y, np.empty((X.shape[0], y.rows.shape[0]), dtype or X.dtype))

    def diagonal(self, X: Any) -> Any:
        """Ones (n,)."""
        return constant_vector(X, 1.0)

    def from_distance(self, D: Any) -> Any:
        """Kernel values of squared distances, in place."""
        D *= -self.gamma
        return namespace(D).exp(D, out=D)

    def distance(self, K: Any) -> Any:
        """Squared distances −log(K) / gamma of values clipped to (0, 1]."""
        xp = namespace(K)
        return xp.log(xp.clip(K, float(xp.finfo(K.dtype).smallest_normal), 1.0)) / -self.gamma


@dataclass(frozen=True)
class Laplacian:
    """k(x, y) = exp(−gamma Σ_j |x_j − y_j|). Cost n m (2d + 1 exp), without a matrix product.

    >>> Laplacian(gamma=0.5)(np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, -1.0]]))
    array([[1. , 0.3679]])
    """

    gamma: float
    name: ClassVar[str] = "laplacian"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d)."""
        D = cityblock_distances(X, Y)
        D *= -self.gamma
        return namespace(D).exp(D, out=D)

    def diagonal(self, X: Any) -> Any:
        """Ones (n,)."""
        return constant_vector(X, 1.0)


@dataclass(frozen=True)
class Sigmoid:
    """k(x, y) = tanh(gamma x·y + coef0): not positive definite, so some eigenvalues may be negative.

    >>> Sigmoid(gamma=1.0, coef0=0.0)(np.array([[1.0]]), np.array([[0.0], [0.5]]))
    array([[0. , 0.4621]])
    """

    gamma: float
    coef0: float
    name: ClassVar[str] = "sigmoid"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = False
    invertible: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d)."""
        return self.from_dot(dot_products(X, Y))

    def diagonal(self, X: Any) -> Any:
        """The values tanh(gamma |x_i|² + coef0) (n,)."""
        return self.from_dot(squared_norms(X))

    def from_dot(self, P: Any) -> Any:
        """Kernel values of dot products, in place."""
        P *= self.gamma
        P += self.coef0
        return namespace(P).tanh(P, out=P)

    def dot(self, K: Any) -> Any:
        """Dot products (artanh(K) − coef0) / gamma of values clipped inside (−1, 1)."""
        xp = namespace(K)
        limit = 1.0 - float(xp.finfo(K.dtype).eps)
        return (xp.atanh(xp.clip(K, -limit, limit)) - self.coef0) / self.gamma


@dataclass(frozen=True)
class Cosine:
    """k(x, y) = x·y / (|x| |y|), and 0 where a row is zero. Cost 2 n m d.

    >>> Cosine()(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([[6.0, 8.0]])).ravel()
    array([1., 0.])
    """

    name: ClassVar[str] = "cosine"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = True

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d)."""
        K = dot_products(X, Y)
        K /= nonzero_norms(X)[:, None]
        K /= nonzero_norms(Y)
        return symmetrize(K, self.diagonal(X)) if X is Y else K

    def diagonal(self, X: Any) -> Any:
        """One for every row that is not zero (n,)."""
        square = squared_norms(X)
        return namespace(square).astype(square > 0.0, square.dtype)


@dataclass(frozen=True)
class Precomputed:
    """Kernel values that the user computed: X holds the rows (n, m) of the kernel matrix.

    >>> Precomputed()(np.array([[1.0, 0.5]]), None)
    array([[1. , 0.5]])
    """

    name: ClassVar[str] = "precomputed"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = False

    def __call__(self, X: Any, Y: Any) -> Any:
        """X itself (n, m), dense."""
        return X.toarray() if is_sparse(X) else X

    def diagonal(self, X: Any) -> Any:
        """The diagonal (n,) of a square X."""
        i = namespace(X).arange(X.shape[0]) if is_tensor(X) else np.arange(X.shape[0])
        return np.asarray(X.diagonal()) if is_sparse(X) else X[i, i]


@dataclass(frozen=True)
class Custom:
    """k(X, Y) = function(X, Y, **parameters), whose answer is checked every time.

    >>> Custom(lambda X, Y: X @ Y.T + 1.0)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[12.]])
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    name: ClassVar[str] = "callable"
    identity: ClassVar[bool] = False
    definite: ClassVar[bool] = False

    def __call__(self, X: Any, Y: Any) -> Any:
        """Values (n, m) for X (n, d) and Y (m, d), in the dtype of X."""
        K = self._answer(X, Y)
        if tuple(K.shape) != (X.shape[0], Y.shape[0]):
            raise DataError(
                f"{self._called} gave an array of shape {tuple(K.shape)} for X with {X.shape[0]} rows and Y with "
                f"{Y.shape[0]}; it must give shape {(X.shape[0], Y.shape[0])}: it is called once, with two matrices "
                "of rows, not once a pair."
            )
        if not bool(namespace(K).all(namespace(K).isfinite(K))):
            raise DataError(f"{self._called} gave values that are not finite (NaN or infinity); every value must be.")
        return Like(X)(K) if is_tensor(X) or not is_tensor(K) else K

    def _answer(self, X: Any, Y: Any) -> Any:
        try:
            K = self.function(X, Y, **self.parameters)
        except (ValueError, TypeError, IndexError) as error:
            raise DataError(
                f"{self._called} failed on matrices of shape {tuple(X.shape)} and {tuple(Y.shape)}: {error}. It is "
                "called once, with two matrices of rows, not once a pair, and must give a matrix of values."
            ) from error
        K = K.toarray() if is_sparse(K) else K
        return K if is_tensor(K) else self._numbers(K)

    def diagonal(self, X: Any) -> Any:
        """The values (n,) of k(x_i, x_i), from small square blocks: 64 n values in all."""
        xp = namespace(X) if is_tensor(X) else np
        blocks = (X[start : start + DIAGONAL_BLOCK_ROWS] for start in range(0, X.shape[0], DIAGONAL_BLOCK_ROWS))
        return xp.concat([xp.linalg.diagonal(self(block, block)) for block in blocks])

    @property
    def _called(self) -> str:
        return f"kernel={getattr(self.function, '__name__', repr(self.function))}"

    def _numbers(self, answer: Any) -> Array:
        K: Array = np.asarray(answer)
        if K.dtype.kind not in "fiu":
            raise DataError(f"{self._called} gave values of dtype {K.dtype}; it must give real numbers.")
        return K


KERNELS: dict[str, type[Kernel]] = {
    kind.name: kind for kind in (Linear, Polynomial, RBF, Laplacian, Sigmoid, Cosine, Precomputed)
}
"""Every kernel that has a name; its fields are the options it takes."""


def make_kernel(
    kernel: str | Callable[..., Any],
    gamma: float = 1.0,
    degree: int = 3,
    coef0: float = 1.0,
    parameters: Mapping[str, Any] | None = None,
) -> Kernel:
    """The kernel of a name, taking of the options what it needs, or of a callable k(X, Y, **parameters).

    >>> make_kernel("rbf", gamma=0.5), make_kernel("cosine")
    (Gaussian(gamma=0.5), Cosine())
    """
    kernel = checks.choice("kernel", kernel, KERNELS)
    if isinstance(kernel, str):
        return built(KERNELS[kernel], {"gamma": gamma, "degree": degree, "coef0": coef0})
    return kernel if isinstance(kernel, Kernel) else Custom(kernel, dict(parameters or {}))


def built(kind: type[Kernel], numbers: Mapping[str, float]) -> Kernel:
    """The kernel of this kind with these numbers; those that it does not take are left aside."""
    cast, options = {"degree": int}, [option.name for option in fields(kind)]  # type: ignore[arg-type]
    return kind(**{option: cast.get(option, float)(numbers[option]) for option in options})
