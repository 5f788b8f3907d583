"""Weighted, centred Gram matrices as operators: built once or never, and centred without a copy.

With weights w, p = w / Σw and S = diag(w)^½, the matrix of all inner products of phi about its weighted mean is

    A = S (I − 1 pᵀ) K (I − p 1ᵀ) S,    a_ij = √w_i √w_j (k_ij − r_i − r_j + g),    r = K p,  g = pᵀ K p,

whose eigenvalues are those of the covariance in feature space, times its divisor (Schölkopf, Smola and Müller 1998,
eq. 20, for unit weights). A row of weight 3 is three copies of it. Without centring p = 0, and A = S K S
holds the inner products of phi itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property, partial
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_tensor, namespace, slices, to_numpy
from eigenlens.data.source import Progress
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.native.gram import Upper, gaussian_gram, symmetric_product
from eigenlens.resources import single_threaded_map, thread_count

MIN_TILE_SIDE, MAX_TILE_SIDE = 64, 512
"""Sides of the square tiles of a Gram matrix: beside the matrix a kernel needs one tile per thread."""

GRAM_PANEL_ROWS = 64
"""Rows that are centred or converted at once."""


def upper_gram(kernel: Kernel, X: Any, progress: Progress | None = None) -> Any:
    """Return K (n, n) = k(x_i, x_j) of rows X (n, d), in their dtype: the half on and above the diagonal (`Upper`).

    Cost n² d flops and n²/2 values of the kernel; memory n²/2 and a few tiles. For tensors the matrix is whole.
    """
    if is_tensor(X):
        return kernel(X, X)
    tiles, report = _Tiles(kernel, X), (lambda *_: None) if progress is None else progress
    K = Upper.empty(tiles.n, tiles.side, X.dtype)
    if isinstance(kernel, RBF) and isinstance(X, np.ndarray):
        gaussian_gram(kernel.points(X), K)
        report(tiles.n, tiles.n, "Gram matrix")
        return K

    def fill(i: int, j: int) -> int:
        K.part(tiles.part(i), tiles.part(j))[...] = tiles(i, j)
        return i

    with single_threaded_map(tiles.workers) as each:
        for i in each(fill, *zip(*combinations_with_replacement(range(tiles.count), 2), strict=True)):
            report(tiles.part(i).stop, tiles.n, "Gram matrix")
    return K


def gram_matrix(kernel: Kernel, X: Any, progress: Progress | None = None) -> Any:
    """Return K (n, n) in full, symmetric to the last digit.

    >>> from eigenlens.kernel_pca.kernels.linear import Linear
    >>> gram_matrix(Linear(), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[ 5., 11.], [11., 25.]])
    """
    K = upper_gram(kernel, X, progress)
    return K if is_tensor(K) else K.full()


class CentredCovariance(ABC):
    """The centring that both operators share, given products with K and its diagonal."""

    size: int
    weight: Array
    passes: int
    center: bool
    definite = False

    @abstractmethod
    def product(self, V: Array) -> Array:
        """Return K V (n, b) in float64."""

    @abstractmethod
    def diagonal(self) -> Array:
        """Return the diagonal k_ii (n,)."""

    @cached_property
    def mean_coefficients(self) -> Array:
        """The coefficients p (n,) of the mean Σ p_i phi(x_i) that is subtracted: w / Σw; zeros without centring."""
        return self.weight / self.weight.sum() if self.center else np.zeros(self.size)

    @cached_property
    def row_means(self) -> Array:
        """The weighted mean r (n,) = K p of each row of K; zeros without centring, at no cost."""
        return np.asarray(self.product(self.mean_coefficients[:, None])[:, 0]) if self.center else np.zeros(self.size)

    @cached_property
    def grand_mean(self) -> float:
        """The weighted mean g of all entries of K, the squared norm of the mean of phi; 0 without centring."""
        return float(self.weight @ self.row_means / self.weight.sum())

    @cached_property
    def whole(self) -> float:
        """The trace Σ w_i k_ii before centring."""
        return float(self.weight @ self.diagonal())

    @cached_property
    def trace(self) -> float:
        """The sum Σ w_i (k_ii − 2 r_i + g) of all eigenvalues of A: nothing large is subtracted from a sum."""
        return float(self.weight @ (self.diagonal() - 2.0 * self.row_means + self.grand_mean))

    def matmat(self, V: Array) -> Array:
        """Return A V = S (I − 1 pᵀ) K (I − p 1ᵀ) S V (n, b), in float64. Cost 2 n² b, and K where it is not stored."""
        s, p = np.sqrt(self.weight)[:, None], self.mean_coefficients[:, None]
        Y = s * V
        if not self.center:
            return np.asarray(s * self.product(Y))
        Y -= p * Y.sum(axis=0)
        Z = self.product(Y)
        Z -= p.T @ Z
        Z *= s
        return Z


class CentredGram(CentredCovariance):
    """The operator A (n, n) of a Gram matrix K (n, n) in memory: whole, or half of it (`Upper`).

    Products use the factored form above: both centrings act on the vectors, so the large constant part of K cancels
    before it is multiplied. A float32 matrix is multiplied in float64, converted in cache: the residuals of an
    eigensolver then reach 1e-12, and its eigenvalues differ by the rounding of the entries alone, about 4e-8.

    Attributes:
        size: n.
        weight: w (n,) in float64.
        passes: products with K so far.
        center: whether the mean of phi is subtracted.
        definite: whether no eigenvalue is negative beyond rounding.

    >>> A = CentredGram(np.array([[1.0, 0.0], [0.0, 3.0]]))
    >>> A.trace, A.matmat(np.eye(2))
    (2.0, array([[ 1., -1.], [-1.,  1.]]))
    """

    def __init__(self, K: Any, weight: Array | None = None, center: bool = True, definite: bool = False) -> None:
        self._K = Upper.of(K) if isinstance(K, np.ndarray) else K
        self._workers = thread_count()  # also while BLAS is limited to one, as its threads would spin beside ours
        self.size = self._K.n if isinstance(self._K, Upper) else int(K.shape[0])
        self.weight = np.ones(self.size) if weight is None else np.asarray(weight, dtype=np.float64)
        self.passes, self.center, self.definite = 0, center, definite

    def dense(self) -> Array:
        """Return A itself (n, n), in float64 and in memory of its own."""
        K, r, s = self._K, self.row_means, np.sqrt(self.weight)
        A = K.full(np.float64) if isinstance(K, Upper) else to_numpy(K).astype(np.float64)
        for part in slices(self.size, GRAM_PANEL_ROWS):
            A[part] -= r
            A[part] -= (r[part] - self.grand_mean)[:, None]
            A[part] *= s
            A[part] *= s[part, None]
        return A

    def product(self, V: Array) -> Array:
        """Return K V (n, b) in float64."""
        self.passes += 1
        return _tensor_product(self._K, V) if is_tensor(self._K) else symmetric_product(self._K, V, self._workers)

    def diagonal(self) -> Array:
        """Return the diagonal k_ii (n,)."""
        K = self._K
        found = K.diagonal() if isinstance(K, Upper) else to_numpy(namespace(K).linalg.diagonal(K))
        return found.astype(np.float64)


class KernelOperator(CentredCovariance):
    """The operator A (n, n) without K in memory: tiles on and above the diagonal are recomputed in every pass.

    Each tile is used twice. Memory: one tile per thread. Cost of a product with b columns: n² (d + 2b) flops and n²/2
    kernel values.

    Attributes:
        size: n.
        weight: w (n,) in float64.
        passes: how many times all tiles were computed.
        center: whether the mean of phi is subtracted.

    >>> from eigenlens.kernel_pca.kernels.linear import Linear
    >>> KernelOperator(Linear(), np.array([[1.0], [3.0]])).dense()
    array([[ 1., -1.], [-1.,  1.]])
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        weight: Array | None = None,
        block_rows: int | None = None,
        progress: Progress | None = None,
        center: bool = True,
    ) -> None:
        self._kernel, self._X, self._progress = kernel, X, progress
        self._tiles = _Tiles(kernel, X, block_rows)
        self.size = self._tiles.n
        self.weight = np.ones(self.size) if weight is None else np.asarray(weight, dtype=np.float64)
        self.passes, self.center = 0, center

    def dense(self) -> Array:
        """Return A (n, n), for comparison only: this operator exists to avoid it."""
        return CentredGram(gram_matrix(self._kernel, self._X), self.weight, self.center).dense()

    def diagonal(self) -> Array:
        """Return the diagonal k_ii (n,)."""
        return np.asarray(to_numpy(self._kernel.diagonal(self._X)), dtype=np.float64)

    def product(self, V: Array) -> Array:
        """Return K V (n, b); products of tiles are added in one order, whatever the number of threads."""
        self.passes += 1
        tiles, out = self._tiles, np.zeros(V.shape)
        with single_threaded_map(tiles.workers) as each:
            for i in range(tiles.count):  # one row of tiles at a time: few products wait to be added
                for j, right, left in each(partial(tiles.times, V, i), range(i, tiles.count)):
                    out[tiles.part(i)] += right
                    out[tiles.part(j)] += left
                if self._progress is not None:
                    self._progress(tiles.part(i).stop, tiles.n, "kernel products")
        return out


def tile_side(n: int) -> int:
    """Return the side of the tiles of a Gram matrix (n, n): small beside it, large for BLAS, a multiple of 64."""
    return int(np.clip(n // 8 // MIN_TILE_SIDE * MIN_TILE_SIDE, MIN_TILE_SIDE, MAX_TILE_SIDE))


class _Tiles:
    """The square tiles K_ij of a Gram matrix, computed on demand."""

    def __init__(self, kernel: Kernel, X: Any, side: int | None = None) -> None:
        self.n = int(X.shape[0])
        self.side = tile_side(self.n) if side is None else side
        self.count = -(-self.n // self.side)
        self._kernel = kernel
        self._rows = [X[self.part(i), :] for i in range(self.count)]
        # A user's function may not be thread-safe; a device has threads of its own.
        self.workers = 1 if isinstance(kernel, Custom) or is_tensor(X) else thread_count()

    def part(self, i: int) -> slice:
        """Return the range of rows of tile i."""
        return slice(i * self.side, min((i + 1) * self.side, self.n))

    def __call__(self, i: int, j: int) -> Any:
        """Return K_ij; on the diagonal the kernel gets one object twice, and makes the tile symmetric."""
        tile = self._kernel(self._rows[i], self._rows[j])
        return tile[:, self.part(j)] if isinstance(self._kernel, Precomputed) else tile

    def times(self, V: Array, i: int, j: int) -> tuple[int, Array, Array]:
        """Return j, K_ij V_j and, off the diagonal, K_ijᵀ V_i (zeros on it)."""
        tile = self(i, j)
        if is_tensor(tile):
            right, left = (_device_product(M, V[self.part(a)]) for M, a in ((tile, j), (tile.T, i)))
        else:
            tile = np.asarray(tile, dtype=np.float64)
            right, left = tile @ V[self.part(j)], tile.T @ V[self.part(i)]
        return j, right, (np.zeros_like(left) if i == j else left)


def _tensor_product(K: Any, V: Array) -> Array:
    """Return K V (n, b), computed on the device of K with one panel of rows in float64 at a time."""
    return np.concatenate([_device_product(K[part, :], V) for part in slices(K.shape[0], 16 * GRAM_PANEL_ROWS)])


def _device_product(K: Any, V: Array) -> Array:
    xp = namespace(K)
    right = xp.asarray(np.ascontiguousarray(V), dtype=xp.float64, device=K.device)
    return to_numpy(xp.matmul(xp.astype(K, xp.float64), right))
