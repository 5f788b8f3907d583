"""The centred Gram matrix of rows on a device, and its leading eigenpairs, which stay there until they are found."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array, Like, namespace, to_numpy
from eigenlens.data.source import Progress
from eigenlens.gpu.kernel_sums import KernelSums
from eigenlens.gpu.krylov import MAX_BLOCKS, Product, RitzPairs, block_krylov, chirps
from eigenlens.gpu.runtime import device_memory
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.gram import CentredCovariance, CentredGram
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient
from eigenlens.resources import one_thread

KRYLOV_BLOCK, SPARE_COLUMNS = 64, 16
"""The fewest columns of a block, and those beside the wanted pairs: kernel values cost more than products with them."""

ROUGH_TOL = 1e-4
"""The residual to which 16-bit products are iterated before accurate ones confirm and refine it."""

MIN_DEVICE_RESIDUAL = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}
"""The smallest residual that is aimed at on a device; a smaller `tol` means this. Eigenvalues are then wrong by less
than its square over the distance to the next one."""

MAX_ROUGH_PRODUCTS, MAX_PRECISE_PRODUCTS = 30, 300
"""Products after which each iteration ends, converged or not."""


def device_bytes(n: int, b: int) -> int:
    """Return the bytes that the iteration needs for blocks (n, b): two bases and a few blocks, in float64."""
    return 8 * n * b * (2 * MAX_BLOCKS + 6)


class DeviceGram(CentredCovariance):
    """The operator A (n, n) of `CentredGram` for rows on a device: K is stored there, or made anew in every product.

    Attributes:
        size: n. weight: w (n,) in float64. passes: products with K so far. center: whether the mean is subtracted.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        weight: Array | None = None,
        store: bool = False,
        progress: Progress | None = None,
        center: bool = True,
    ) -> None:
        self._kernel, self._X, self._progress = kernel, X, progress
        self.sums = KernelSums(X, X, kernel, store)
        self.size = int(X.shape[0])
        self.weight = np.ones(self.size) if weight is None else np.asarray(weight, dtype=np.float64)
        self.passes, self.center = 0, center

    def dense(self) -> Array:
        """Return A itself (n, n), in float64 on the processor."""
        return CentredGram(self._kernel(self._X, self._X), self.weight, self.center).dense()

    def diagonal(self) -> Array:
        """Return the diagonal k_ii (n,)."""
        return np.asarray(to_numpy(self._kernel.diagonal(self._X)), dtype=np.float64)

    def product(self, V: Array) -> Array:
        """Return K V (n, b) in float64, for V (n, b) on the processor."""
        return to_numpy(self._times(self._as_tensor(V), precise=True))

    def leading(self, start: Any, k: int, tol: float) -> RitzPairs:
        """Return the leading eigenpairs from a block (n, b): roughly first where that is cheaper, then accurately."""
        what, needed = f"kernel PCA of {self.size} rows", device_bytes(self.size, start.shape[1])
        fix = "ask for fewer components, or use approximation='rpcholesky'"
        with device_memory(what, needed, fix), one_thread():  # matrices on the processor are small
            return self._leading(start, k, tol)

    def _leading(self, start: Any, k: int, tol: float) -> RitzPairs:
        rough = 0
        if self.sums.fused is not None:
            found = block_krylov(self._centred_product(False), start, k, max(tol, ROUGH_TOL), MAX_ROUGH_PRODUCTS)
            start, rough = found.vectors, found.products
            del found
        found = block_krylov(self._centred_product(True), start, k, tol, MAX_PRECISE_PRODUCTS)
        return RitzPairs(found.values, found.vectors, found.residuals, found.products + rough)

    @property
    def min_residual(self) -> float:
        """The smallest residual that products in the dtype of the rows are asked for."""
        return MIN_DEVICE_RESIDUAL[Like(self._X).dtype]

    def start(self, b: int) -> Any:
        """Return a block (n, b) from which to begin."""
        return chirps(self.size, b, self._X)

    def _centred_product(self, precise: bool) -> Product:
        """Return V → A V on the device; both centrings act on the vectors."""
        s, p = (self._as_tensor(a[:, None]) for a in (np.sqrt(self.weight), self.mean_coefficients))
        xp = namespace(s)

        def product(V: Any) -> Any:
            Y = s * V
            if not self.center:
                return s * self._times(Y, precise)
            Y -= p * xp.sum(Y, axis=0)
            Z = self._times(Y, precise)
            Z -= xp.sum(p * Z, axis=0)
            Z *= s
            return Z

        return product

    def _times(self, V: Any, precise: bool) -> Any:
        self.passes += 1
        found = self.sums.product(V, precise)
        if self._progress is not None:
            self._progress(self.passes, None, "kernel products")
        return found

    def _as_tensor(self, V: Array) -> Any:
        xp = namespace(self._X)
        return xp.asarray(np.ascontiguousarray(V), dtype=xp.float64, device=self._X.device)


def krylov(operator: Any, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    """Return the leading eigenpairs of A, each with ‖A v − λ v‖ ≤ tol λ₁, or what rows of this dtype allow.

    If `wanted` needs more values than are known, for a share of the trace, the iteration goes on for more. Its start is
    the same in every run, whatever `rng` is.
    """
    tol = max(tol, operator.min_residual)
    total, k = operator.trace, min(wanted.initial_guess, wanted.limit)
    products = 0
    while True:
        block = min(operator.size, max(KRYLOV_BLOCK, -(-(k + SPARE_COLUMNS) // 32) * 32))
        found = operator.leading(operator.start(block), k, tol)
        products += found.products
        values = found.values[:k]
        enough = wanted.choose(np.maximum(values, 0.0), total)
        if enough is not None or k >= wanted.limit:
            break
        k = min(2 * k, wanted.limit)
    k = min(values.size, wanted.limit if enough is None else enough)
    outcome = Outcome(
        "krylov", iterations=products, residuals=found.residuals[:k], converged=bool(np.all(found.residuals[:k] <= tol))
    )
    vectors = orient(to_numpy(found.vectors[:, :k]))
    return Spectrum(np.maximum(values[:k], 0.0), vectors, total, outcome)
