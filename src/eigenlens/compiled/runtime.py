"""Whether there are compiled kernels, and how many threads they may use."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

import numpy as np

from eigenlens.arrays import Array

__all__ = ["active", "aligned", "kernels", "one_thread", "readable", "threads"]


def _load() -> Any:
    """The compiled module, or None: built without a compiler, or not wanted."""
    if os.environ.get("EIGENLENS_KERNELS") == "numpy":
        return None
    try:
        return importlib.import_module("eigenlens.compiled._kernels")
    except ImportError:
        return None


kernels = _load()
"""The compiled module, or None."""


def active() -> str:
    """What does the work: "avx512", "avx2", "baseline" (C++), or "numpy".

    >>> active() in {"avx512", "avx2", "baseline", "numpy"}
    True
    """
    return "numpy" if kernels is None else str(kernels.isa())


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


def aligned(n: int, columns: int) -> Array:
    """An uninitialised float64 array (n, columns), columns a multiple of 8, whose rows are whole cache lines."""
    raw = np.empty(n * columns + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + n * columns].reshape(n, columns)
