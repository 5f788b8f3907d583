"""The compiled module, if there is one, and the arrays that its kernels can read."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from eigenlens.arrays import Array


def _load() -> Any:
    """The compiled module, or None: built without a compiler, or not wanted."""
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
    """Whether the kernels can walk over an array as it lies; a column of packed records may lie between the entries."""
    return rows.flags.aligned and rows.dtype.isnative and all(s % rows.itemsize == 0 for s in rows.strides)


def aligned(n: int, columns: int) -> Array:
    """An uninitialised float64 array (n, columns), columns a multiple of 8, whose rows are whole cache lines."""
    raw = np.empty(n * columns + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + n * columns].reshape(n, columns)
