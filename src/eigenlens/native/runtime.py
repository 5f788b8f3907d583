"""The compiled module, if it was built, and the arrays that its kernels can read."""

from __future__ import annotations

import functools
import importlib
import os
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.resources import thread_count


def _load() -> Any:
    """Return the compiled module, or None if it was not built or is switched off."""
    if os.environ.get("EIGENLENS_KERNELS") == "numpy":
        return None
    try:
        return importlib.import_module("eigenlens.native._kernels")
    except ImportError:
        return None


kernels = _load()
"""The compiled module, or None."""


def active() -> str:
    """Return the implementation in use: "avx512", "avx2", "baseline" (C++), or "numpy".

    >>> active() in {"avx512", "avx2", "baseline", "numpy"}
    True
    """
    return "numpy" if kernels is None else str(kernels.isa())


def readable(rows: Array) -> bool:
    """Return whether the kernels can read an array in place: aligned, native, with strides of whole items."""
    return rows.flags.aligned and rows.dtype.isnative and all(s % rows.itemsize == 0 for s in rows.strides)


def as_readable(rows: Array) -> Array:
    """Return rows that the kernels can read, copied only if necessary."""
    return rows if readable(rows) else rows.astype(rows.dtype.newbyteorder("="), order="C")


MAX_ONE_THREAD_ENTRIES = 1 << 12
"""Rows of so few entries take microseconds, less than it takes to start a thread, or to ask how many there may be."""


def plain(values: Array | None, dtype: Any = np.float64) -> Any:
    """Return values as a contiguous, aligned array of this dtype, which is all that kernels take; None for None."""
    if values is None:
        return None
    found = np.ascontiguousarray(values, dtype=dtype)
    return found if found.flags.aligned else found.copy()


def run_kernel(name: str, rows: Array, *arguments: Any, threads: int | None = None) -> None:
    """Call the kernel of this name for the dtype of the rows, on this many threads, or all; on one for few entries."""
    count = threads or (1 if rows.size <= MAX_ONE_THREAD_ENTRIES else thread_count())
    kernel_of(name, rows.dtype)(as_readable(rows), *arguments, count)


@functools.cache
def kernel_of(name: str, dtype: np.dtype[Any]) -> Any:
    """Return the kernel of this name for a dtype; NumPy takes longer to make the name than some kernels to run."""
    return getattr(kernels, f"{name}_{dtype.name}")


def aligned(n: int, columns: int) -> Array:
    """Return an uninitialised float64 array (n, columns), columns a multiple of 8, whose rows are whole cache lines."""
    raw = np.empty(n * columns + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + n * columns].reshape(n, columns)
