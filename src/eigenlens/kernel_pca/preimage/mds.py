"""Pre-images placed by their distances to the nearest rows, with linear algebra alone (Kwok and Tsang 2004)."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.kernel_pca.kernels.base import DistanceKernel, DotProductKernel, Kernel
from eigenlens.kernel_pca.preimage.base import PreImageOptions, RawPreImages, Support, nearest_columns

MIN_SINGULAR_VALUE = 1e-7
"""Directions in which the neighbours spread less than this share of their largest have no information on the point."""


def mds_preimages(support: Support, Z: Array, start: Array | None, options: PreImageOptions) -> RawPreImages:
    """Find pre-images of the points with scores Z (n, k) in the span of their nearest rows; `start` is not used.

        |P phi − phi(r_i)|² = |P phi|² − 2 <P phi, phi(r_i)> + k(r_i, r_i)

    finds the neighbours, the kernel's inverse turns <P phi, phi(r_i)> into the input distance, and least squares
    turns distances into a place. A point fails, and becomes its nearest row, where even that row has no positive inner
    product with it: a kernel of the distance then has no distance for it. Cost: m² d once, n m k, n q² d.
    """
    kernel, R = support.model.kernel, support.rows
    _require_inverse(kernel)
    images, own = support.images(R), kernel.diagonal(R)
    parts = []
    for part in support.blocks(len(Z), options.neighbours * R.shape[1]):
        inner = images[:, 0] + Z[part] @ images[:, 1:].T
        near = nearest_columns(own - 2.0 * inner, options.neighbours)
        inner = np.take_along_axis(inner, near, axis=1)
        norm = np.maximum(support.model.point_norms(Z[part]), np.finfo(np.float64).tiny)
        D = _input_distances(support, inner, norm, near)
        failed = isinstance(kernel, DistanceKernel) & (inner[:, 0] <= 0.0)
        rows = np.where(failed[:, None], R[near[:, 0]], place_by_distances(R[near], D))
        parts.append(RawPreImages(rows, failed, np.zeros(len(rows), dtype=np.int64)))
    return RawPreImages.joined(parts)


def place_by_distances(X: Array, D: Array) -> Array:
    """Return the points z (n, d) in the span of their neighbours X (n, q, d) with |z − x_i|² nearest to D (n, q).

    With c the mean of the neighbours and x̃_i = x_i − c, the differences of the q equations are linear in z − c:

        2 x̃_i·(z − c) = |x̃_i|² − D_i + const ,      z = c + ½ X̃⁺ (|x̃_i|² − D_i)

    and z is no farther from c than the triangle inequality with any neighbour allows, however inconsistent D is.

    >>> place_by_distances(np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]]), np.array([[2.0, 2.0, 2.0]]))
    array([[1., 1.]])
    """
    c = X.mean(axis=1)
    spokes = X - c[:, None]
    square = np.sum(spokes * spokes, axis=2)
    inverse = np.linalg.pinv(spokes, rcond=MIN_SINGULAR_VALUE)
    y = 0.5 * (inverse @ (square - D)[:, :, None])[:, :, 0]
    length = np.linalg.norm(y, axis=1)
    reach = np.min(np.sqrt(square) + np.sqrt(np.maximum(D, 0.0)), axis=1)
    return np.asarray(c + y * np.minimum(1.0, reach / np.where(length > 0.0, length, 1.0))[:, None])


def _input_distances(support: Support, inner: Array, norm: Array, near: Array) -> Array:
    """Return squared distances (n, q) in input space to the rows `near` (n, q), from <P phi, phi(r)> and |P phi|².

    All phi(x) of a kernel of the distance have one length, and P phi is scaled to it first. Kwok and Tsang take P phi
    unchanged; the length that the projection lost then pulls all distances towards each other, and denoising suffers.
    None exceeds twice the diameter of the rows.
    """
    kernel: Any = support.model.kernel
    R = support.rows
    square = np.sum(R * R, axis=1)
    if isinstance(kernel, DistanceKernel):
        stretch = np.sqrt(support.model.kernel.diagonal(R[:1])[0] / norm)
        return np.asarray(np.minimum(kernel.distance(inner * stretch[:, None]), 16.0 * square.max()))
    return np.asarray(kernel.dot(norm)[:, None] - 2.0 * kernel.dot(inner) + square[near])


def _require_inverse(kernel: Kernel) -> None:
    if isinstance(kernel, DistanceKernel) or (isinstance(kernel, DotProductKernel) and kernel.invertible):
        return
    name = f"{kernel.name!r}" + (f" of degree {kernel.degree}" if hasattr(kernel, "degree") else "")
    what = f"needs a kernel whose values determine distances ('rbf', 'sigmoid', 'poly' of odd degree), not {name}"
    raise OptionError(what, argument="preimage", value="mds", fix="use preimage='ridge', which works with every kernel")
