"""Pre-images: rows z whose phi(z) is near a point P phi = Σ_j g_j phi(r_j) of the principal subspace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array, dense, working_dtype
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.preimage.base import PreImageOptions, RawPreImages, Support
from eigenlens.kernel_pca.preimage.fixed_point import fixed_point_preimages
from eigenlens.kernel_pca.preimage.mds import mds_preimages
from eigenlens.kernel_pca.preimage.ridge import InverseMap, learn_inverse, ridge_preimages
from eigenlens.kernel_pca.random_features import FourierFeatures

__all__ = ["PREIMAGES", "InverseMap", "PreImageOptions", "PreImages", "find_preimages", "learn_inverse"]

PREIMAGES: dict[str, Callable[[Support, Array, Array | None, PreImageOptions], RawPreImages]] = {
    "fixed-point": fixed_point_preimages,
    "mds": mds_preimages,
    "ridge": ridge_preimages,
}
"""Methods by name: (support, scores (n, k), starts (n, d) or None, options) → rows found."""


NO_ROWS: dict[type[Kernel], OptionError] = {
    Precomputed: OptionError(
        "has no rows in input space, only kernel values",
        argument="kernel",
        value="precomputed",
        fix="fit the rows themselves with the kernel as a callable",
    ),
    FourierFeatures: OptionError(
        "keeps frequencies and no rows in input space",
        argument="approximation",
        value="fourier",
        fix="use approximation='rpcholesky', or None",
    ),
}
"""Kernels whose models hold no rows, and the error of asking for pre-images."""


@dataclass(frozen=True, eq=False)
class PreImages:
    """Pre-images of n points, and how good they are.

    Attributes:
        rows: (n, d), finite always.
        failed: (n,), whether no pre-image was found and a row is only a substitute.
        iterations: (n,) steps taken; 0 for methods without iterations.
        distances: (n,) |P phi − phi(z)|, which is 0 only where a row has P phi as its image.
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
    """Find pre-images of the points with scores Z (n, k) of a model, by a method of `PREIMAGES`.

    `start` (n, d) holds the rows whose scores these are, where there are any: denoising. A row so far away that all
    its kernel values vanish fails by any method: its scores are those of every other such row. For the linear kernel
    every method is the reconstruction Σ_j g_j r_j, exactly.

    >>> from eigenlens.kernel_pca.kernels.linear import Linear
    >>> R, v = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[-0.5], [0.5]])
    >>> model = KernelComponents(Linear(), R, v, np.array([1.0]), np.array([0.5, 0.5]), 1.0, np.array([2.0]), 2.0, 2.0)
    >>> find_preimages(model, np.array([[0.5]])).rows
    array([[1.5, 0. ]])
    """
    if type(model.kernel) in NO_ROWS:
        raise NO_ROWS[type(model.kernel)]
    dtype, Z = working_dtype(Z.dtype), np.asarray(Z, dtype=np.float64)
    scale = np.ones(()) if model.scale is None else model.scale
    if model.kernel.identity:
        found = RawPreImages.at_once(_reconstruct(model, Z) * scale)
        return PreImages(found.rows.astype(dtype), found.failed, found.iterations, np.zeros(len(Z), dtype))
    support = Support.of(model)
    origin = None if start is None else dense(start) / scale - support.shift
    found = PREIMAGES[method](support, Z, origin, options or PreImageOptions())
    failed = found.failed if origin is None else found.failed | _orthogonal(support, origin)
    rows = ((found.rows + support.shift) * scale).astype(dtype)
    return PreImages(rows, failed, found.iterations, _distances(support, Z, found.rows).astype(dtype))


def _reconstruct(model: KernelComponents, Z: Array) -> Array:
    """Return Σ_j g_j r_j (n, d), computed about the mean of the rows, where no digits are lost."""
    R = dense(model.rows)
    mean = R.mean(axis=0)
    R = R - mean
    base = model.centre @ R + _total(model.centre) * mean + (0.0 if model.origin is None else model.origin)
    return np.asarray(base + Z @ (model.coefficients.T @ R + np.outer(_total(model.coefficients), mean)))


def _total(values: Array) -> Array:
    """Return sums over the first axis, rounded to an integer where they differ from it by rounding alone."""
    total = values.sum(axis=0, dtype=np.float64)
    rounding = 8.0 * np.finfo(values.dtype).eps * np.abs(values).sum(axis=0, dtype=np.float64)
    return np.asarray(np.where(np.abs(total - np.round(total)) <= rounding, np.round(total), total))


def _orthogonal(support: Support, X: Array) -> Array:
    """Return which rows (n,) are orthogonal, up to rounding, to all rows of the model in feature space."""
    kernel, longest = support.model.kernel, float(np.max(support.model.kernel.diagonal(support.rows)))
    own = kernel.diagonal(X)
    largest = [np.abs(kernel(X[part], support.rows)).max(axis=1) for part in support.blocks(len(X))]
    small = np.concatenate(largest) <= np.finfo(np.float64).eps * np.sqrt(np.abs(own * longest))
    return np.asarray(small & (own != 0.0))


def _distances(support: Support, Z: Array, rows: Array) -> Array:
    """Return |P phi − phi(z)| (n,) for points with scores Z (n, k) and their rows (n, d)."""
    model, parts = support.model, []
    for part in support.blocks(len(Z)):
        inner = np.sum(model.point(Z[part]) * model.kernel(rows[part], support.rows), axis=1)
        parts.append(model.point_norms(Z[part]) - 2.0 * inner + model.kernel.diagonal(rows[part]))
    return np.asarray(np.sqrt(np.maximum(np.concatenate(parts), 0.0)))
