"""Around every command: threads, warnings, interrupts, progress on standard error, words or JSON on standard output.

Progress on standard error: a bar on a terminal, lines in a log, or nothing.
"""

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
from pathlib import Path
from typing import Any

from eigenlens.cli.errors import message_line
from eigenlens.cli.options import Running
from eigenlens.cli.output import cut, wrapped

__all__ = ["PATIENCE", "Session", "plain", "progress_of", "session"]


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
            whole = "\n".join(lines).splitlines()
            # A command is copied from the screen, so it stays on one line.
            shown = whole if heading == "next" else [part for line in whole for part in wrapped(line, indent=10)]
            for i, line in enumerate(shown):
                print(f"{heading if i == 0 else '':<9} {line}".rstrip())

    def show(self, text: str, always: bool = False) -> None:
        """A result in words, set apart; alone if quiet, where it is all that a command gives (always)."""
        if self.running.quiet and always and not self.running.json:
            print(cut(text))
        elif not (self.running.quiet or self.running.json):
            print(f"\n{cut(text)}\n")

    def tell(self, **facts: Any) -> None:
        """Facts for --json."""
        self.facts |= facts

    def told(self) -> list[str]:
        """The warnings so far, in words, each once."""
        return list(dict.fromkeys(message_line(each.message) for each in self.warnings))

    def would(self, *lines: str, **facts: Any) -> None:
        """What a dry run leaves undone."""
        self.say("would", *lines)
        self.tell(dry_run=True, would=list(lines), **facts)

    def wrote(self, *targets: Path | None, note: str = "") -> None:
        """The files that were written, with their sizes."""
        from eigenlens.cli.output_files import size_of

        written = [target for target in targets if target is not None]
        for target in written:
            self.say("wrote", f"{target} ({note and note + ', '}{size_of(target)})")
        self.tell(written=written)

    def warned(self) -> None:
        """Say what there was to warn of."""
        for text in self.told():
            self.say("warning", text)

    def aside(self, *lines: str) -> None:
        """Words beside a table that goes to standard output."""
        if lines and not (self.running.quiet or self.running.json):
            print(*lines, sep="\n", file=sys.stderr)

    def check(self) -> None:
        """Raise the interrupt that an iteration took for a wish to stop early."""
        if self.interrupted:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int | None, str], None]]:
        """A callback (done, in all, what) whose news is shown once a second has passed."""
        shown = progress_of(what, self.running)
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
    with _limited(running.threads), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for noise in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", noise)
        current = Session(running, said)
        with _interrupts(current):
            yield current
    if current.running.json:
        told = {"warnings": current.told()} if current.told() else {}
        print(json.dumps(plain(current.facts | told), indent=2, ensure_ascii=False, allow_nan=False))


@contextlib.contextmanager
def _limited(threads: int | None) -> Iterator[None]:
    """At most so many threads, in libraries that are loaded and in those that will be."""
    if threads is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in POOLS}
    os.environ.update(dict.fromkeys(POOLS, str(threads)))
    try:
        with threadpool_limits(threads):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "POLARS_MAX_THREADS")
"""What libraries look at when they are loaded."""


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
