"""Whether there are compiled kernels, and how many threads they may use."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from eigenlens.arrays import Array

__all__ = ["active", "aligned", "each_alone", "kernels", "one_thread", "readable", "threads"]


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


class _Limit:
    """BLAS at one thread for as long as anybody wants it. The limit holds for the whole process, so those who want it
    at the same time are counted: the first sets it, and the last puts back what was there.
    """

    def __init__(self) -> None:
        self._lock, self._wanted = threading.Lock(), 0
        self._set: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._wanted == 0:
                self._set = _thread_pools().limit(limits=1, user_api="blas")
            self._wanted += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._wanted -= 1
            if self._wanted == 0 and self._set is not None:
                self._set.restore_original_limits()


_limit = _Limit()


def one_thread() -> contextlib.AbstractContextManager[None]:
    """A context in which BLAS works alone: small matrices gain nothing from threads, and threads that have just
    finished go on spinning for a while beside whatever comes next.

    >>> with one_thread(), one_thread():
    ...     threads()
    1
    """
    return _limit


@contextlib.contextmanager
def each_alone(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """A `map` over threads that answers in order; BLAS and kernels in each of them use one thread.

    >>> with each_alone(2) as each:
    ...     list(each(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if workers == 1:
        yield map
    else:
        with one_thread(), ThreadPoolExecutor(workers) as pool:
            yield pool.map


def readable(rows: Array) -> bool:
    """Whether the kernels can walk over an array as it lies; a column of packed records may lie between the entries."""
    return rows.flags.aligned and rows.dtype.isnative and all(s % rows.itemsize == 0 for s in rows.strides)


def aligned(n: int, columns: int) -> Array:
    """An uninitialised float64 array (n, columns), columns a multiple of 8, whose rows are whole cache lines."""
    raw = np.empty(n * columns + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + n * columns].reshape(n, columns)
