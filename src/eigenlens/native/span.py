"""The part of a block of vectors outside the span of an orthonormal basis, by its projection."""

from __future__ import annotations

from eigenlens.arrays import Array
from eigenlens.native.runtime import aligned, kernels
from eigenlens.resources import thread_count

MIN_PRODUCTS = 1 << 16
"""Fewer products than this are over before a thread has started."""


def remove_span(V: Array, W: Array, workers: int | None = None) -> tuple[Array, Array]:
    """Return W − V H (n, b) and H = VᵀW (j, b), for V (n, j) and W (n, b) in float64.

    The result does not depend on the number of threads, `workers` or as many as BLAS may use. Cost 4 n j b flops.

    >>> import numpy as np
    >>> remove_span(np.eye(3)[:, :1], np.ones((3, 1)))[0].ravel()
    array([0., 1., 1.])
    """
    n, b = W.shape
    if kernels is None or V.strides[0] != V.itemsize or n * V.shape[1] * b < MIN_PRODUCTS:
        return remove_span_numpy(V, W)
    width = -(-b // 8) * 8
    left, H = aligned(n, width), aligned(V.shape[1], width)
    left[:, :b], left[:, b:] = W, 0.0
    kernels.remove_span(V.T, left, H, workers or thread_count())
    return left[:, :b], H[:, :b]


def remove_span_numpy(V: Array, W: Array) -> tuple[Array, Array]:
    """The twin of `remove_span`."""
    H = V.T @ W
    return W - V @ H, H
