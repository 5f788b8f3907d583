"""Tasks of Dask on a cluster whose workers may die: values that outlive a worker, and errors that say what failed.

The scheduler runs a task again where the worker with its result died, if the task is all that it needs. So nothing is
scattered to workers, which only they would have: values are tasks themselves, kept by the scheduler while their futures
live. What Dask leaves open is a wait without end where no worker is left, and errors that name a key.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any

from eigenlens.errors import ClusterError, EigenlensError, MissingExtra

RETRIES = 2
"""How often a task that raised is run again, on another worker if there is one: memory may be short for a moment."""

SECONDS_WITHOUT_WORKERS = 30.0
"""How long to wait for a worker where none is left, unless Dask's own setting says otherwise: a nanny needs seconds."""

SMALL_BYTES = 1 << 16
"""Values of at most this size are sent with the graph that needs them, which saves a message."""

LOGS = "see the logs of the workers; if memory is short, use smaller chunks, X.rechunk(...)"
"""The way out of a chunk that failed."""

_VALUE = "value-"
_SETTING = "distributed.scheduler.no-workers-timeout"
_SECONDS_BETWEEN_LOOKS = 1.0
_SECONDS_OF_TRANSFER = 30.0

Failure = Callable[[set[Any], str], EigenlensError]
"""From the keys of the tasks that failed, and what happened to them in words, to the error to raise."""


def import_delayed() -> Any:
    """Return `dask.delayed`, or raise the error that says how to install it."""
    try:
        from dask.delayed import delayed
    except ImportError as error:
        raise MissingExtra("dask", extra="dask", need="a Dask array") from error
    return delayed


def current_client() -> Any:
    """Return the client of the cluster that does the work, or None where the scheduler is one of this process."""
    if "distributed" not in sys.modules:  # without which there is no client; importing it takes long
        return None
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)  # type: ignore[no-untyped-call]
    return client if hasattr(client, "scatter") else None


def hold_values(values: Sequence[Any]) -> list[Any]:
    """Return values as tasks without inputs; large ones are sent to the scheduler at once, and not with the graph.

    Their keys are new: keys by content would be shared with an earlier pass, whose release may come after this.
    """
    import cloudpickle
    import dask
    from dask.base import persist

    delayed = import_delayed()
    tasks = [delayed(value, name=f"{_VALUE}{uuid.uuid4().hex}", traverse=False) for value in values]
    if current_client() is None or all(len(cloudpickle.dumps(value)) <= SMALL_BYTES for value in values):
        return tasks
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PiB"}):
        return list(persist(*tasks))  # type: ignore[no-untyped-call]


def compute_tasks(tasks: Sequence[Any], X: Any, failure: Failure) -> list[Any]:
    """Return the results of delayed tasks of a Dask collection X, which keeps what was persisted of it.

    While one worker lives, the results are those of undisturbed ones. Otherwise, and where a task raises or kills its
    workers again and again, `failure` makes the error; errors of this package arrive as they are.
    """
    client = current_client()
    if client is None:
        from dask.base import compute

        return list(compute(*tasks))  # type: ignore[no-untyped-call]
    with _outside_the_pool():
        futures = client.compute(list(tasks), retries=RETRIES)
        try:
            return [_result(client, future) for future in futures]
        except EigenlensError:
            raise
        except (Exception, CancelledError) as error:
            raise failure(_failed_keys(client, futures, X), _words(error)) from error
        finally:  # also after an interrupt: tasks that nobody wants are not run
            for future in futures:
                future.release()


def compute_chunks(x: Any) -> list[Any]:
    """Return the chunks of a Dask array or Series (n,) of weights or labels."""
    tasks = x.to_delayed()
    return compute_tasks(tasks if isinstance(tasks, list) else tasks.tolist(), x, partial(_column_error, x=x))


def _column_error(failed: set[Any], words: str, x: Any) -> ClusterError:
    """Return the error about a chunk of weights or labels."""
    chunks = sorted(key[1] for key in failed if isinstance(key, tuple))
    where = f"chunk {chunks[0]}" if chunks else "a chunk"
    return ClusterError(f"{where} of the Dask {type(x).__name__} (n,) of weights or labels {words}", fix=LOGS)


@contextmanager
def _outside_the_pool() -> Iterator[None]:
    """Leave the thread pool of a worker, if this is a task of it: the tasks that are waited for may need the place."""
    from distributed import rejoin, secede

    try:
        secede()  # type: ignore[no-untyped-call]
    except (ValueError, KeyError, AttributeError):  # not in a task, or one that has left before
        yield
        return
    try:
        yield
    finally:
        rejoin()  # type: ignore[no-untyped-call]


def _result(client: Any, future: Any) -> Any:
    """Return the result of a future, or raise its error, or that no worker is left."""
    seconds = _SECONDS_OF_TRANSFER
    while True:
        _wait(client, future)
        try:
            return future.result(timeout=seconds)
        except TimeoutError:  # of the task, or of its worker, which died before the result was here
            if future.status == "error":
                raise
            seconds *= 2.0


def _wait(client: Any, future: Any) -> None:
    """Wait until a future is done, or until there has been no worker for too long."""
    import dask
    from dask.utils import parse_timedelta
    from distributed import wait

    patience = parse_timedelta(dask.config.get(_SETTING, None) or SECONDS_WITHOUT_WORKERS)
    seen = time.monotonic()
    while True:
        try:
            wait(future, timeout=_SECONDS_BETWEEN_LOOKS)  # type: ignore[no-untyped-call]
            return
        except TimeoutError:
            now = time.monotonic()
            seen = now if client.nthreads() else seen
            if now - seen > patience:
                raise no_workers(patience) from None


def no_workers(seconds: float) -> ClusterError:
    """Return the error where no worker of the cluster is left."""
    fix = f"start workers and fit again, or set {_SETTING!r} of Dask's configuration to wait longer"
    return ClusterError(f"the Dask cluster has had no worker for {seconds:g} seconds", fix=fix)


def _failed_keys(client: Any, futures: Sequence[Any], X: Any) -> set[Any]:
    """Return the keys of tasks that failed: those that the scheduler blames, and chunks of X that were persisted.

    Dask blames every task that was on workers that died, also one that waited there. Values of ours, which do nothing,
    are left out where it blames others too.
    """
    from distributed import futures_of

    persisted = futures_of(X)  # type: ignore[no-untyped-call]
    keys = {future.key for future in (*futures, *persisted) if future.status in ("error", "cancelled")}
    asked = [future.key for future in futures]

    def blamed(dask_scheduler: Any) -> list[Any]:  # sent as it is written: the scheduler may not have this package
        new = [dask_scheduler.tasks[key] for key in asked if key in dask_scheduler.tasks]
        seen = set(new)
        while new:
            new = [task for task in {need for task in new for need in task.dependencies} if task not in seen]
            seen.update(new)
        return [task.key for task in seen if task.exception_blame is task]

    causes = {tuple(key) if isinstance(key, list) else key for key in client.run_on_scheduler(blamed)}
    return keys | ({key for key in causes if not str(key).startswith(_VALUE)} or causes)


def _words(error: BaseException) -> str:
    """Return what happened to a task."""
    if type(error).__name__ == "KilledWorker":
        return "ended every worker that ran it: out of memory, perhaps"
    if isinstance(error, CancelledError):
        return f"was cancelled: {error}"
    return f"raised {type(error).__name__}: {error}"
