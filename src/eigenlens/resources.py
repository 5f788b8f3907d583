"""The memory and the threads that this process may use."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def available_memory() -> int:
    """Return the bytes that this machine, or the container, can give without swapping; 8 GB where neither is known.

    The system is asked at most ten times a second: that takes longer than some checks of it.

    >>> available_memory() > 0
    True
    """
    return _available_memory(int(10.0 * time.monotonic()))


@functools.lru_cache(maxsize=1)
def _available_memory(tenths: int) -> int:
    return min(_machine_memory(), _container_memory())


def _machine_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")) // 2
    except (AttributeError, OSError, ValueError):
        return 8 << 30


def _container_memory(folder: Path = Path("/sys/fs/cgroup")) -> int:
    """Return what the limit of a control group leaves; a very large number where there is no limit."""
    try:
        limit, used = ((folder / name).read_text().strip() for name in ("memory.max", "memory.current"))
        return max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return sys.maxsize


@functools.cache
def _thread_pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def thread_count() -> int:
    """Return the number of threads that BLAS may use now.

    The compiled kernels respect the same limits: OMP_NUM_THREADS and threadpoolctl's.

    >>> from threadpoolctl import threadpool_limits
    >>> with threadpool_limits(1):
    ...     thread_count()
    1
    """
    pools = _thread_pools().lib_controllers
    return max(1, min(pool.num_threads for pool in pools)) if pools else os.cpu_count() or 1


class _OneThread:
    """A limit of BLAS to one thread, shared by everybody who asks for it.

    The limit applies to the whole process, so those who ask at the same time are counted: the first sets the limit,
    and the last restores what was there before.
    """

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:  # threadpoolctl's own limits describe every pool, which takes longer than small fits
                counts = ((pool, pool.num_threads) for pool in _thread_pools().lib_controllers)
                self._before = [(pool, count) for pool, count in counts if pool.user_api == "blas" and count != 1]
                for pool, _ in self._before:
                    pool.set_num_threads(1)
            self._users += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for pool, count in self._before:
                    pool.set_num_threads(count)


_one_thread = _OneThread()


def one_thread() -> contextlib.AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread.

    Small matrices gain nothing from threads, and threads that have just finished keep spinning for a while beside
    whatever comes next.

    >>> with one_thread(), one_thread():
    ...     thread_count()
    1
    """
    return _one_thread


MAX_UNTHREADED, MAX_ONE_THREAD_COLUMNS = 32, 640
"""Up to the first size LAPACK starts no threads anyway; up to the second one thread is fast enough, and leaves none
spinning beside the work that follows."""


def one_thread_for(columns: int) -> contextlib.AbstractContextManager[None]:
    """Return a context for LAPACK on matrices of this many columns: BLAS uses one thread where they are few.

    >>> with one_thread_for(50):
    ...     thread_count()
    1
    """
    return _one_thread if MAX_UNTHREADED < columns <= MAX_ONE_THREAD_COLUMNS else contextlib.nullcontext()


MIN_INTERRUPTIBLE_ENTRIES = 1 << 17
"""Work on matrices with fewer entries takes less time than anybody waits."""


SECONDS_BETWEEN_LOOKS = 0.1
"""The longest time until an interrupt is answered, on systems where it does not end a wait."""


def interruptible(work: Callable[[], T], entries: int = MIN_INTERRUPTIBLE_ENTRIES) -> T:
    """Return work(), done by a second thread while this one waits for it, and so answers Ctrl-C at once.

    Python hears of Ctrl-C in its main thread, between two steps of its own: not within one long call of a library. For
    a call without Python's lock. After an interrupt it goes on until it ends, with the memory and the threads that it
    has, and its result is dropped; large products of matrices wait for it. In other threads than the main one, which
    are never interrupted, and for matrices of few `entries` this is work() itself.

    >>> interruptible(lambda: 2 + 2)
    4
    """
    if entries < MIN_INTERRUPTIBLE_ENTRIES or threading.current_thread() is not threading.main_thread():
        return work()
    done: Future[T] = Future()
    ended = threading.Event()
    context = contextvars.copy_context()  # NumPy's handling of floating-point errors is part of it

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except BaseException as error:
            done.set_exception(error)
        ended.set()

    threading.Thread(target=run, name="eigenlens-interruptible", daemon=True).start()
    while not ended.wait(SECONDS_BETWEEN_LOOKS):
        pass  # Python looks for signals here: one that another thread received does not end a wait
    return done.result()


def interruptible_call(function: Callable[..., Any], A: Any, **options: Any) -> Any:
    """Return function(A), a factorisation by NumPy of matrices A (..., n, d), by one thread where d is small.

    For large ones it answers Ctrl-C meanwhile.

    >>> import numpy as np
    >>> interruptible_call(np.linalg.inv, 2.0 * np.eye(1))
    array([[0.5]])
    """
    with one_thread_for(A.shape[-1]):
        return interruptible(functools.partial(function, A, **options), A.size)


def in_slices(work: Callable[[slice], T], n: int, step: int) -> list[T]:
    """Return work(part) of slices of `step` items, in their order, computed on as many threads as BLAS may use.

    For loops of NumPy over large arrays, which run without Python's lock. The slices depend on n and step alone, and so
    do sums over them.

    >>> in_slices(lambda part: part.stop - part.start, 5, 2)
    [2, 2, 1]
    """
    parts = [slice(start, min(n, start + step)) for start in range(0, n, step)]
    workers = min(len(parts), thread_count()) if len(parts) > 1 else 1
    if workers == 1:
        return [work(part) for part in parts]
    contexts = [contextvars.copy_context() for _ in parts]  # NumPy's handling of floating-point errors is part of it
    with single_threaded_map(workers) as each:
        return list(each(lambda context, part: context.run(work, part), contexts, parts))


@contextlib.contextmanager
def single_threaded_map(workers: int) -> Iterator[Callable[..., Iterable[Any]]]:
    """Provide a `map` over worker threads that keeps the order; BLAS and kernels use one thread in each of them.

    >>> with single_threaded_map(2) as each:
    ...     list(each(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    if workers == 1:
        yield map
    else:
        with one_thread(), ThreadPoolExecutor(workers) as pool:
            yield pool.map
