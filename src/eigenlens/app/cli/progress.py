"""Progress on standard error: a bar on a terminal, lines in a log, or nothing."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from eigenlens.app.cli.options import Running

__all__ = ["PATIENCE", "progress_of"]

PATIENCE = 1.0
"""Seconds of silence before progress is shown."""

LINES_APART = 10.0
"""Seconds between lines of progress where standard error is no terminal."""


def progress_of(what: str, running: Running) -> Silence | Lines | Bar:
    """On a terminal a bar; elsewhere lines, where they are asked for."""
    wanted = sys.stderr.isatty() if running.progress is None else running.progress
    if running.quiet or not wanted:
        return Silence()
    return Bar(what) if sys.stderr.isatty() else Lines(what)


class Silence:
    """No progress."""

    def start(self) -> None: ...

    def update(self, done: int, total: int | None, what: str) -> None: ...

    def stop(self) -> None: ...


class Lines:
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


class Bar:
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
