"""Back to input space: rows z whose phi(z) is near a point P phi = Σ_j g_j phi(r_j) of the principal subspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array, dense, working_dtype
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.fourier import FourierFeatures
from eigenlens.kernel_pca.kernels.mercer import Kernel, Precomputed
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.preimage.base import PreImageOptions, RawPreImages, Support
from eigenlens.kernel_pca.preimage.fixed_point import fixed_point_preimages
from eigenlens.kernel_pca.preimage.mds import mds_preimages
from eigenlens.kernel_pca.preimage.ridge import InverseMap, learn_inverse, ridge_preimages

__all__ = ["PREIMAGES", "InverseMap", "PreImageOptions", "PreImages", "find_preimages", "learn_inverse"]

PREIMAGES: dict[str, Callable[[Support, Array, Array | None, PreImageOptions], RawPreImages]] = {
    "fixed-point": fixed_point_preimages,
    "mds": mds_preimages,
    "ridge": ridge_preimages,
}
"""Ways back by name: (support, scores (n, k), starts (n, d) or None, options) → rows found."""


NO_ROWS: dict[type[Kernel], str] = {
    Precomputed: "kernel='precomputed' leaves no rows to go back to, only kernel values; fit the rows themselves with "
    "the kernel as a callable.",
    FourierFeatures: "approximation='fourier' keeps frequencies and no rows to go back to; use "
    "approximation='rpcholesky', or None.",
}
"""Kernels whose models hold nothing of the space of the rows, and what to say then."""


@dataclass(frozen=True, eq=False)
class PreImages:
    """What was found for n points, and how well.

    Attributes:
        rows: (n, d), finite always.
        failed: (n,), whether a row is only a stand-in.
        iterations: (n,) steps taken; 0 for methods without.
        distances: (n,) |P phi − phi(z)|, the part of P phi that no row can express or the method missed.
    """

    rows: Array
    failed: Array
    iterations: Array
    distances: Array


def find_preimages(
    model: KernelComponents,
    Z: Array,
    method: str = "fixed-point",
    start: Array | None = None,
    options: PreImageOptions | None = None,
) -> PreImages:
    """Pre-images of the points with scores Z (n, k) of a model, by a method of `PREIMAGES`.

    `start` (n, d) holds the rows that the scores are of, where there are such: denoising. A row so far away that all
    its kernel values vanish fails by any method: its scores are those of every other such row. For the linear kernel
    every method is the reconstruction Σ_j g_j r_j, exactly.

    >>> from eigenlens.kernel_pca.kernels.mercer import Linear
    >>> R, v = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[-0.5], [0.5]])
    >>> model = KernelComponents(Linear(), R, v, np.array([1.0]), np.array([0.5, 0.5]), 1.0, np.array([2.0]), 2.0, 2.0)
    >>> find_preimages(model, np.array([[0.5]])).rows
    array([[1.5, 0. ]])
    """
    if type(model.kernel) in NO_ROWS:
        raise OptionError(NO_ROWS[type(model.kernel)])
    dtype, Z = working_dtype(Z.dtype), np.asarray(Z, dtype=np.float64)
    if model.kernel.identity:
        found = RawPreImages.at_once(_reconstruct(model, Z))
        return PreImages(found.rows.astype(dtype), found.failed, found.iterations, np.zeros(len(Z), dtype))
    support = Support.of(model)
    origin = None if start is None else dense(start) - support.shift
    found = PREIMAGES[method](support, Z, origin, options or PreImageOptions())
    failed = found.failed if origin is None else found.failed | _unseen(support, origin)
    rows = (found.rows + support.shift).astype(dtype)
    return PreImages(rows, failed, found.iterations, _distances(support, Z, found.rows).astype(dtype))


def _reconstruct(model: KernelComponents, Z: Array) -> Array:
    """Σ_j g_j r_j (n, d) about the mean of the rows, which the coefficients of a fit carry over as a whole."""
    R = dense(model.rows)
    mean = R.mean(axis=0)
    R = R - mean
    base = model.centre @ R + _total(model.centre) * mean + (0.0 if model.origin is None else model.origin)
    return np.asarray(base + Z @ (model.coefficients.T @ R + np.outer(_total(model.coefficients), mean)))


def _total(values: Array) -> Array:
    """Sums over the first axis, those that differ from a whole number by rounding alone being that number."""
    total = values.sum(axis=0, dtype=np.float64)
    rounding = 8.0 * np.finfo(values.dtype).eps * np.abs(values).sum(axis=0, dtype=np.float64)
    return np.asarray(np.where(np.abs(total - np.round(total)) <= rounding, np.round(total), total))


def _unseen(support: Support, X: Array) -> Array:
    """Which rows (n,) are, in feature space, orthogonal to all rows of the model as far as rounding can tell."""
    kernel, longest = support.model.kernel, float(np.max(support.model.kernel.diagonal(support.rows)))
    own = kernel.diagonal(X)
    largest = [np.abs(kernel(X[part], support.rows)).max(axis=1) for part in support.blocks(len(X))]
    small = np.concatenate(largest) <= np.finfo(np.float64).eps * np.sqrt(np.abs(own * longest))
    return np.asarray(small & (own != 0.0))


def _distances(support: Support, Z: Array, rows: Array) -> Array:
    """|P phi − phi(z)| (n,) for points with scores Z (n, k) and their rows (n, d)."""
    model, parts = support.model, []
    for part in support.blocks(len(Z)):
        inner = np.sum(model.point(Z[part]) * model.kernel(rows[part], support.rows), axis=1)
        parts.append(model.point_norms(Z[part]) - 2.0 * inner + model.kernel.diagonal(rows[part]))
    return np.asarray(np.sqrt(np.maximum(np.concatenate(parts), 0.0)))
