"""The sum and the scatter of rows about a shift."""

from __future__ import annotations

import functools

import numpy as np
from scipy.linalg import blas

from eigenlens.arrays import Array
from eigenlens.native.runtime import kernels, plain, run_kernel

NARROW = {np.dtype(np.float64): 640, np.dtype(np.float32): 160}
"""Up to this many columns rows count as narrow (benchmarks/kernels.py): threads share out the rows, not the columns.

Narrow float32 rows are multiplied in float64, wider ones in float32 over short panels that are added in float64.
"""

PANEL_BYTES, PANEL_ROWS, SINGLE_PANEL_ROWS = 4 << 20, 2048, 8192
TRIANGLE_BLOCK = 128


def moments_about(
    rows: Array, weight: Array | None, shift: Array, triangle: Array | None = None
) -> tuple[Array, Array]:
    """Return the sum (d,) and the scatter (d, d) of rows (n, d) about a shift c (d,), in float64.

        sum = Σ w_i y_i,    scatter = Σ w_i y_i y_iᵀ,    y_i = x_i − c, or (x_i − c) R⁻¹ with a triangle R (d, d)

    Cost n d² flops, twice that with a triangle; the rows are read once and never copied whole.

    >>> moments_about(np.array([[1.0, 2.0], [3.0, 6.0]]), None, np.array([1.0, 2.0]))
    (array([2., 4.]), array([[ 4.,  8.], [ 8., 16.]]))
    """
    d = rows.shape[1]
    wide = d > NARROW[rows.dtype]
    if kernels is None or (wide and triangle is not None):
        return moments_about_numpy(rows, weight, shift, triangle)
    total, scatter = np.empty(d), np.empty((d, d))
    run_kernel("moments", rows, plain(weight), plain(shift), plain(triangle), wide, total, scatter)
    return total, scatter


def moments_about_mean(rows: Array, weight: Array | None, n: float) -> tuple[Array, Array, Array]:
    """Return the mean (d,) and scatter (d, d) of rows of total weight n, and what the mean lost by rounding (d,).

    Only compiled: the twin is `stats.block_moments.mean_and_scatter` without the compiled module.
    """
    d = rows.shape[1]
    mean, scatter, rest = np.empty(d), np.empty((d, d)), np.empty(d)
    run_kernel("moments_about_mean", rows, plain(weight), n, d > NARROW[rows.dtype], mean, scatter, rest)
    return mean, scatter, rest


def moments_about_numpy(
    rows: Array, weight: Array | None, shift: Array, triangle: Array | None = None
) -> tuple[Array, Array]:
    """The twin of `moments_about`: one shifted panel at a time, multiplied by SYRK.

    As there, narrow rows are multiplied in float64, and wide float32 ones in float32 and added in float64.
    """
    n, d = rows.shape
    single = rows.dtype == np.float32 and triangle is None and d > NARROW[rows.dtype]
    dtype = np.dtype(np.float32 if single else np.float64)
    shift = shift.astype(dtype)
    # One BLAS for everything: NumPy's and SciPy's have threads of their own, which would wait for each other.
    syrk, gemv = (blas.ssyrk, blas.sgemv) if single else (blas.dsyrk, blas.dgemv)
    total, scatter = np.zeros(d), np.zeros((d, d), order="F")
    step = max(SINGLE_PANEL_ROWS if single else PANEL_ROWS, PANEL_BYTES // (rows.dtype.itemsize * d))
    centred = not shift.any()
    for start in range(0, n, step):
        panel = np.asarray(rows[start : start + step], dtype=dtype)
        if not centred:
            panel = panel - shift
        if triangle is not None:
            panel = blas.dtrsm(1.0, triangle, np.ascontiguousarray(panel).T, trans_a=1, overwrite_b=1).T
        root = np.ones(len(panel), dtype)
        if weight is not None:
            root = np.sqrt(weight[start : start + step]).astype(dtype)
            panel = panel * root[:, None]
        a, trans = (panel, 1) if panel.flags.f_contiguous else (panel.T, 0)
        total += gemv(1.0, a, root, trans=trans)
        if single:
            scatter += syrk(1.0, a, trans=trans)
        else:
            scatter = syrk(1.0, a, beta=1.0, c=scatter, trans=trans, overwrite_c=1)
    return total, symmetric(scatter)


def symmetric(upper: Array) -> Array:
    """Make a matrix symmetric in place by its upper triangle, and return it."""
    n = len(upper)
    for start in range(0, n, TRIANGLE_BLOCK):
        stop = min(start + TRIANGLE_BLOCK, n)
        square = upper[start:stop, start:stop]
        np.copyto(square, square.T, where=_below_diagonal(stop - start))  # what is there may be anything, even NaN
        upper[stop:, start:stop] = upper[start:stop, stop:].T
    return upper


@functools.lru_cache
def _below_diagonal(n: int) -> Array:
    return np.tri(n, k=-1, dtype=bool)
