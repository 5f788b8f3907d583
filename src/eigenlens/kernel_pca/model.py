"""The frozen model of kernel PCA: principal components of phi(x), expressed through kernel values alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array, Like, dense, is_sparse, is_tensor, namespace, slices, to_numpy
from eigenlens.data.column_scale import over_scale
from eigenlens.gpu.kernel_sums import kernel_matmul
from eigenlens.gpu.runtime import on_device
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.laws import Laws, Relations
from eigenlens.resources import single_threaded_map, thread_count

SCORE_BLOCK_BYTES = 4 << 20
"""Bytes of the kernel values of one block of rows, which is one thread's work."""

FLAT_KERNEL_VARIANCE = 1e-2
"""Below this mean squared distance from the centre all kernel values are near 1, and float32 loses their digits."""


MAX_TRACE_ERROR = 1e-3
"""How far eigenvalues of a positive semidefinite matrix may sum to more than its trace: float32 has few digits."""


@dataclass(frozen=True, eq=False)
class KernelComponents:
    """Directions v_j (k of them) in feature space and a centre, all spanned by the images of m rows.

    Without centring the centre is the origin of feature space: q = 0, c = 0.

        v_j = Σ_i A_ij phi(r_i),    centre = Σ_i q_i phi(r_i),    z_j(x) = <phi(x) − centre, v_j> = k(x, R) A_j − c_j

    The rows R are the training rows of an exact fit, or the landmarks of an approximate one; either way the scores
    are an affine function of the kernel row of x, and a point of the subspace is Σ_i g_i phi(r_i) with g = q + A z.

    Attributes:
        kernel: k(x, y).
        rows: R (m, d), less the origin.
        coefficients: A (m, k).
        offset: c (k,) = Aᵀ k(R, R) q.
        centre: q (m,).
        centre_norm: |centre|² = qᵀ k(R, R) q.
        eigenvalues: (k,) of the centred Gram matrix of the training rows, descending.
        trace: of that matrix; for an approximation an upper bound that exceeds it by no more than what is left out.
        weight: Σ w_i over the training rows (their number, without weights).
        left_out: the share of the trace of the Gram matrix that an approximation leaves out; 0 for an exact fit.
        origin: (d,), taken off x before anything else, or None.
        scale: (d,), by which the columns of x are divided even before that, or None. R and the origin are those of
            the divided columns; rows to be scored, and pre-images, are in the units of the columns.
        centred: whether the centre is the mean of phi; if not, "variances" are mean squares about the origin.
        row_weight: w (m,) of the training rows of an exact fit without centring; with it they are q Σw.
    """

    laws: ClassVar[Laws] = {
        "rows": "(r, d) single or double, of a finite square",
        "coefficients": "(m, k) of a finite square",
        "offset": "(k) finite",
        "centre": "(m) of a finite square",
        "centre_norm": "of a finite square",
        "eigenvalues": "(k) not negative, descending",
        "trace": "not negative",
        "weight": "above 1",
        "left_out": "finite",
        "origin": "(d) of a finite square",
        "row_weight": "(m) not negative",
        "scale": "(d) positive, of a finite square, 0 or of a finite inverse square",
    }
    relations: ClassVar[Relations] = {
        "'eigenvalues' are positive, and 'trace' is 0": lambda model: (
            model.trace > 0.0 or not np.any(model.eigenvalues)
        ),
        "'eigenvalues' sum to more than 'trace'": lambda model: (
            not model.kernel.definite or model.eigenvalues.sum() <= model.trace * (1.0 + MAX_TRACE_ERROR)
        ),
    }

    kernel: Kernel
    rows: Any
    coefficients: Array
    offset: Array
    centre: Array
    centre_norm: float
    eigenvalues: Array
    trace: float
    weight: float
    left_out: float = 0.0
    origin: Array | None = None
    centred: bool = True
    row_weight: Array | None = None
    scale: Array | None = None

    def __post_init__(self) -> None:
        # The order that a file has: the last bits of products depend on it.
        object.__setattr__(self, "coefficients", np.ascontiguousarray(self.coefficients))

    @property
    def variances(self) -> Array:
        """Variances (k,) of the scores: the eigenvalues over Σw − 1; over Σw without centring, as no mean is fitted."""
        return self.eigenvalues / (self.weight - float(self.centred))

    @property
    def unit_vectors(self) -> Array:
        """The eigenvectors (m, k) of unit length of the Gram matrix of an exact fit, √lam_j a_ij / √w_i."""
        weight = self.centre * self.weight if self.row_weight is None else self.row_weight
        root = np.sqrt(weight)[:, None]
        U = np.divide(self.coefficients, root, out=np.zeros_like(self.coefficients), where=root > 0.0)
        return np.asarray(U * np.sqrt(self.eigenvalues))

    @property
    def ratio(self) -> Array:
        """Shares (k,) of the variance in feature space."""
        return self.eigenvalues / self.trace

    def first(self, k: int) -> KernelComponents:
        """Return the model of the first k components."""
        A, c, lam = self.coefficients[:, :k], self.offset[:k], self.eigenvalues[:k]
        return replace(self, coefficients=A, offset=c, eigenvalues=lam)

    def scores(self, X: Any) -> Any:
        """Return the scores (n, k) of rows (n, d) in their dtype and library, computed in blocks. Cost n m (d + k)."""
        like = Like(X)
        if is_tensor(X):
            here = is_tensor(self.rows) and self.rows.device == X.device
            rows = self.rows if here else like(dense(self.rows))
            if on_device(X):
                return self._device_scores(X, rows, like)
            onto, offset = like(self.coefficients), like(self.offset)
            parts = [self.kernel(block, rows) @ onto - offset for block in self._blocks(X, like)]
            return parts[0] if len(parts) == 1 else namespace(X).concat(parts)
        values = _against(self.kernel, self._widened(to_numpy(self.rows) if is_tensor(self.rows) else self.rows, like))

        def part(block: Any) -> Array:
            with np.errstate(all="ignore"):  # values that are not finite are found in the result and explained there
                return np.asarray(values(block) @ self.coefficients - self.offset, dtype=like.dtype)

        # A user's function may not be thread-safe.
        with single_threaded_map(1 if isinstance(self.kernel, Custom) else thread_count()) as each:
            return np.concatenate(list(each(part, self._blocks(X, like))))

    def _device_scores(self, X: Any, rows: Any, like: Like) -> Any:
        """Return the scores of rows on a device, where kernel values are multiplied as they are made."""
        xp, shift = namespace(X), 0.0 if self.origin is None else like(self.origin)
        block = (X if self.scale is None else over_scale(X, self.scale)) - shift
        wide, onto = (Like(X, np.dtype(np.float64))(a) for a in (self.offset, self.coefficients))
        return xp.astype(kernel_matmul(block, rows, onto, self.kernel) - wide, X.dtype)

    def squared_distances(self, X: Array, norms: Array | None = None) -> tuple[Array, Array]:
        """Return squared distances (n,) in feature space of rows (n, d) from the centre, and from the subspace.

            |phi(x) − centre|² = k(x, x) − 2 k(x, R) q + |centre|²,    |phi(x) − P phi(x)|² = that − |z|²

        The second is the novelty of Hoffmann (2007, "Kernel PCA for novelty detection"). Rows are dense and in
        float64, as the differences need; neither is below 0. `norms` (n,) are k(x, x), by default from the kernel.
        """
        onto, offset = np.column_stack([self.coefficients, self.centre]), np.append(self.offset, 0.0)
        Z = replace(self, coefficients=onto, offset=offset).scores(X)
        if norms is None:
            with np.errstate(all="ignore"):
                Y = X if self.scale is None else X / self.scale
                norms = self.kernel.diagonal(Y if self.origin is None else Y - self.origin)
        whole = norms - 2.0 * Z[:, -1] + self.centre_norm
        return np.maximum(whole, 0.0), np.maximum(whole - np.sum(Z[:, :-1] ** 2, axis=1), 0.0)

    def _widened(self, rows: Any, like: Like) -> Any:
        """Return the model's rows in float64 where float32 is not precise enough: float64 input, or a flat kernel."""
        narrow = isinstance(rows, np.ndarray) and rows.dtype == np.float32
        wide = narrow and (like.dtype == np.float64 or self.trace < FLAT_KERNEL_VARIANCE * self.weight)
        return rows.astype(np.float64) if wide else rows

    def _blocks(self, X: Any, like: Like) -> Iterator[Any]:
        step = max(16, SCORE_BLOCK_BYTES // (8 * max(1, self.rows.shape[0])))
        shift = None if self.origin is None else like(self.origin)
        for part in slices(X.shape[0], step) if X.shape[0] else [slice(0, 0)]:
            block = X[part, :] if self.scale is None else over_scale(X[part, :], self.scale)
            yield block if shift is None else (block.toarray() if is_sparse(block) else block) - shift

    def point(self, Z: Array) -> Array:
        """Return the coefficients g (n, m) of the points with scores Z (n, k): P phi = Σ_j g_j phi(r_j)."""
        return np.asarray(self.centre + Z @ self.coefficients.T)

    def point_norms(self, Z: Array) -> Array:
        """Return the squared norms (n,) of those points: |centre|² + 2 c·z + |z|²."""
        return np.asarray(self.centre_norm + 2.0 * Z @ self.offset + np.sum(Z * Z, axis=1))


def _against(kernel: Kernel, rows: Any) -> Callable[[Any], Any]:
    """Return x → k(x, rows), with the rows prepared once, and values in float64, where the kernel can do so."""
    if isinstance(kernel, RBF) and isinstance(rows, np.ndarray):
        points = kernel.points(rows)
        return lambda X: kernel.values(X, points, np.float64) if isinstance(X, np.ndarray) else kernel(X, rows)
    return lambda X: kernel(X, rows)
