"""The few C++ kernels, their NumPy twins, and the choice between the two.

Each kernel has a twin that is its reference in the tests and its fallback: without a compiler, or with
EIGENLENS_KERNELS=numpy in the environment, the package does the same work through BLAS.
"""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

import numpy as np
from scipy.linalg import blas

from eigenlens.arrays import Array


def _load_kernels() -> Any:
    """The compiled module, or None: built without a compiler, or not wanted."""
    if os.environ.get("EIGENLENS_KERNELS") == "numpy":
        return None
    try:
        return importlib.import_module("eigenlens.compiled._kernels")
    except ImportError:
        return None


_kernels = _load_kernels()

__all__ = [
    "active",
    "moments_about",
    "moments_about_numpy",
    "normal_product",
    "normal_product_numpy",
    "one_thread",
    "readable",
    "symmetric",
    "threads",
]

NARROW = {np.dtype(np.float64): 640, np.dtype(np.float32): 160}
"""Up to this many columns rows count as narrow (benchmarks/kernels.py): threads share out the rows, not the columns.

Narrow float32 rows are multiplied in float64, wider ones in float32 over short panels that are added in float64.
"""

PANEL_BYTES, PANEL_ROWS = 4 << 20, {True: 8192, False: 2048}
GROUP = 8
TRIANGLE_BLOCK = 128


def active() -> str:
    """What does the work: "avx512", "avx2", "baseline" (C++), or "numpy".

    >>> active() in {"avx512", "avx2", "baseline", "numpy"}
    True
    """
    return "numpy" if _kernels is None else str(_kernels.isa())


@functools.cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def threads() -> int:
    """As many threads as BLAS may use now: OMP_NUM_THREADS and threadpoolctl's limits hold for us too.

    >>> from threadpoolctl import threadpool_limits
    >>> with threadpool_limits(1):
    ...     threads()
    1
    """
    pools = _thread_pools().lib_controllers
    return min((pool.num_threads for pool in pools), default=os.cpu_count() or 1)


def one_thread() -> Any:
    """A context in which BLAS works alone: small matrices gain nothing from threads, and threads that have just
    finished go on spinning for a while beside whatever comes next.
    """
    return _thread_pools().limit(limits=1, user_api="blas")


def readable(rows: Array) -> bool:
    """Whether the kernels can walk over an array as it lies; a column of packed records may lie between the entries."""
    return rows.flags.aligned and rows.dtype.isnative and all(s % rows.itemsize == 0 for s in rows.strides)


def moments_about(
    rows: Array, weight: Array | None, shift: Array, triangle: Array | None = None
) -> tuple[Array, Array]:
    """Sum (d,) and scatter (d, d) of the rows (n, d) about a shift c (d,), in float64.

        sum = Σ w_i y_i,    scatter = Σ w_i y_i y_iᵀ,    y_i = x_i − c, or (x_i − c) R⁻¹ with a triangle R (d, d)

    Cost n d² flops, twice that with a triangle; the rows are read once and never copied whole.

    >>> moments_about(np.array([[1.0, 2.0], [3.0, 6.0]]), None, np.array([1.0, 2.0]))
    (array([2., 4.]), array([[ 4.,  8.], [ 8., 16.]]))
    """
    d = rows.shape[1]
    wide = d > NARROW[rows.dtype]
    if _kernels is None or (wide and triangle is not None):
        return moments_about_numpy(rows, weight, shift, triangle)
    total, scatter = np.empty(d), np.empty((d, d))
    if not readable(rows):
        rows = np.ascontiguousarray(rows)
    kernel = getattr(_kernels, f"moments_{rows.dtype.name}")
    kernel(rows, weight, np.ascontiguousarray(shift, dtype=np.float64), triangle, wide, total, scatter, threads())
    return total, scatter


def moments_about_numpy(
    rows: Array, weight: Array | None, shift: Array, triangle: Array | None = None
) -> tuple[Array, Array]:
    """The twin of `moments_about`: a shifted panel at a time, multiplied by SYRK in the rows' own dtype.

    float32 panels are multiplied in float32 and added in float64.
    """
    n, d = rows.shape
    single = rows.dtype == np.float32 and triangle is None
    dtype = np.dtype(np.float32 if single else np.float64)
    shift = shift.astype(dtype)
    # One BLAS for all of it: NumPy's and SciPy's have threads of their own, which would wait beside each other.
    syrk, gemv = (blas.ssyrk, blas.sgemv) if single else (blas.dsyrk, blas.dgemv)
    total, scatter = np.zeros(d), np.zeros((d, d), order="F")
    step = max(PANEL_ROWS[single], PANEL_BYTES // (rows.dtype.itemsize * d))
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
    """The matrix whose upper triangle is given, made in place."""
    n = len(upper)
    for start in range(0, n, TRIANGLE_BLOCK):
        stop = min(start + TRIANGLE_BLOCK, n)
        square = upper[start:stop, start:stop]
        square += np.triu(square, 1).T - np.tril(square, -1)
        upper[stop:, start:stop] = upper[start:stop, stop:].T
    return upper


def normal_product(X: Any, weight: Array | None, V: Array, offset: Array) -> tuple[Array, Array]:
    """Xᵀ diag(w) Y (d, b) and its weighted column sums (b,), with Y = X V − 1 offsetᵀ, for sparse X (n, d) in CSR.

    One pass over the stored entries for each eight columns of V (d, b); Y is never formed.
    """
    if _kernels is None:
        return normal_product_numpy(X, weight, V, offset)
    d, b = V.shape
    Z, total = np.empty((d, b)), np.empty(b)
    right, left, sums, shift = _aligned(d), _aligned(d), np.empty(GROUP), np.zeros(GROUP)
    for start in range(0, b, GROUP):
        stop = min(start + GROUP, b)
        right[:, : stop - start], right[:, stop - start :] = V[:, start:stop], 0.0
        shift[: stop - start], shift[stop - start :] = offset[start:stop], 0.0
        _kernels.normal_product(X.data, X.indices, X.indptr, weight, right, shift, left, sums, threads())
        Z[:, start:stop], total[start:stop] = left[:, : stop - start], sums[: stop - start]
    return Z, total


def normal_product_numpy(X: Any, weight: Array | None, V: Array, offset: Array) -> tuple[Array, Array]:
    """The twin of `normal_product`, by SciPy's sparse products."""
    Y = X @ V - offset
    if weight is not None:
        Y *= weight[:, None]
    return X.T @ Y, Y.sum(axis=0)


def _aligned(d: int) -> Array:
    """An uninitialised float64 array (d, 8) whose rows are whole cache lines."""
    raw = np.empty(d * GROUP + GROUP)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + d * GROUP].reshape(d, GROUP)
