"""Around every command: threads, warnings, interrupts, progress on standard error, words or JSON on standard output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from eigenlens.app.cli.options import Running

__all__ = ["Session", "plain", "session"]

PATIENCE = 1.0
"""Seconds of silence before progress is shown."""

LINES_APART = 10.0
"""Seconds between lines of progress where standard error is no terminal."""


@dataclass
class Session:
    """What a command has to say, and what it was warned of."""

    running: Running
    warnings: list[warnings.WarningMessage] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False

    def say(self, heading: str, *lines: str) -> None:
        """A heading in the margin, and lines beside it, on standard output; nothing if quiet or in JSON."""
        if not (self.running.quiet or self.running.json):
            for i, line in enumerate("\n".join(lines).splitlines()):
                print(f"{heading if i == 0 else '':<9} {line}".rstrip())

    def show(self, text: str) -> None:
        """A result in words, set apart."""
        if not (self.running.quiet or self.running.json):
            print(f"\n{text}\n")

    def tell(self, **facts: Any) -> None:
        """Facts for --json."""
        self.facts |= facts

    def told(self) -> list[str]:
        """The warnings so far, in words, each once."""
        return list(dict.fromkeys(" ".join(str(each.message).split()) for each in self.warnings))

    def check(self) -> None:
        """Raise the interrupt that an iteration took for a wish to stop early."""
        if self.interrupted:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int | None, str], None]]:
        """A callback (done, in all, what) whose news is shown once a second has passed."""
        shown = _Silence() if self.running.quiet else _Lines(what) if not sys.stderr.isatty() else _Bar(what)
        timer = threading.Timer(PATIENCE, shown.start)
        timer.daemon = True
        timer.start()
        try:
            yield shown.update
        finally:
            timer.cancel()
            shown.stop()


@contextlib.contextmanager
def session(running: Running) -> Iterator[Session]:
    """Run a command: collect warnings, limit threads, notice interrupts; at the end print the JSON if wanted."""
    if running.threads is not None:  # in time for libraries that are not loaded yet
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
            os.environ.setdefault(name, str(running.threads))
    with _limited(running.threads), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for noise in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", noise)
        current = Session(running, said)
        with _interrupts(current):
            yield current
    if running.json:
        told = {"warnings": current.told()} if current.told() else {}
        print(json.dumps(plain(current.facts | told), indent=2, ensure_ascii=False, allow_nan=False))


def _limited(threads: int | None) -> contextlib.AbstractContextManager[Any]:
    if threads is None:
        return contextlib.nullcontext()
    from threadpoolctl import threadpool_limits

    return contextlib.closing(_Limits(threadpool_limits(threads)))


class _Limits:
    def __init__(self, limits: Any) -> None:
        self._limits = limits

    def close(self) -> None:
        self._limits.restore_original_limits()


@contextlib.contextmanager
def _interrupts(current: Session) -> Iterator[None]:
    """Remember an interrupt: a fit may answer it with the best so far, but a command that was stopped has stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def remember(number: int, frame: Any) -> None:
        current.interrupted = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# ---- progress ---------------------------------------------------------------------------------------------


class _Silence:
    def start(self) -> None: ...

    def update(self, done: int, total: int | None, what: str) -> None: ...

    def stop(self) -> None: ...


class _Lines:
    """A line now and then, for logs."""

    def __init__(self, what: str) -> None:
        self._what, self._on, self._last = what, False, 0.0

    def start(self) -> None:
        self._on, self._last = True, time.monotonic()
        print(f"{self._what} …", file=sys.stderr, flush=True)

    def update(self, done: int, total: int | None, what: str) -> None:
        if self._on and time.monotonic() - self._last > LINES_APART:
            self._last = time.monotonic()
            print(f"{what}: {done:,}" + ("" if total is None else f" of {total:,}"), file=sys.stderr, flush=True)

    def stop(self) -> None:
        self._on = False


class _Bar:
    """A bar on the terminal, gone when the work is done."""

    def __init__(self, what: str) -> None:
        self._what, self._over = what, False
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
        bar: Any = Progress(*columns, console=Console(stderr=True), transient=True)
        with self._lock:
            if not self._over:
                bar.start()
                self._task = bar.add_task(self._what, total=None)
                self._bar = bar

    def update(self, done: int, total: int | None, what: str) -> None:
        with self._lock:
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total, description=what)

    def stop(self) -> None:
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, NaN and infinities as null, paths as text.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)
