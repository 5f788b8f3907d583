"""The frame of every command: threads, warnings, interrupts, progress on standard error, text or JSON as output."""

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

from eigenlens.cli.errors import warning_line
from eigenlens.cli.options import RunningOptions
from eigenlens.cli.output import cut_lines, wrap_line


@dataclass
class Session:
    """The output of a command and the warnings that it met.

    Attributes:
        running: the options that all commands share. warnings: those caught so far. facts: what --json prints.
        interrupted: whether the user has interrupted the command.
    """

    running: RunningOptions
    warnings: list[warnings.WarningMessage] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False

    def say(self, heading: str, *lines: str) -> None:
        """Print a heading in the margin and lines beside it, unless quiet or in JSON."""
        if not (self.running.quiet or self.running.json):
            whole = "\n".join(lines).splitlines()
            # A command is copied from the screen, so it stays on one line.
            shown = whole if heading == "next" else [part for line in whole for part in wrap_line(line, indent=10)]
            for i, line in enumerate(shown):
                print(f"{heading if i == 0 else '':<9} {line}".rstrip())

    def show(self, text: str, always: bool = False) -> None:
        """Print a table between blank lines; if quiet, only one that is the whole result of a command (always)."""
        if self.running.quiet and always and not self.running.json:
            print(cut_lines(text))
        elif not (self.running.quiet or self.running.json):
            print(f"\n{cut_lines(text)}\n")

    def add_facts(self, **facts: Any) -> None:
        """Add values for --json."""
        self.facts |= facts

    def warning_texts(self) -> list[str]:
        """Return the messages of the warnings so far, each once."""
        return list(dict.fromkeys(warning_line(each.message) for each in self.warnings))

    def show_plan(self, *lines: str, **facts: Any) -> None:
        """Print what a dry run would have done."""
        self.say("would", *lines)
        self.add_facts(dry_run=True, would=list(lines), **facts)

    def show_written(self, *targets: Path | None, note: str = "") -> None:
        """Print the files that were written, with their sizes."""
        from eigenlens.cli.output_files import file_size

        written = [target for target in targets if target is not None]
        for target in written:
            self.say("wrote", f"{target} ({note and note + ', '}{file_size(target)})")
        self.add_facts(written=written)

    def show_warnings(self) -> None:
        """Print the warnings so far."""
        for text in self.warning_texts():
            self.say("warning", text)

    def say_aside(self, *lines: str) -> None:
        """Print lines to standard error, beside a table that goes to standard output."""
        if lines and not (self.running.quiet or self.running.json):
            print(*lines, sep="\n", file=sys.stderr)

    def check_interrupt(self) -> None:
        """Raise the interrupt that an iteration took as a request to stop early."""
        if self.interrupted:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int | None, str], None]]:
        """Yield a callback (done, in all, what) whose progress is shown once a second has passed."""
        shown = make_progress(what, self.running)
        timer = threading.Timer(PROGRESS_DELAY, shown.start)
        timer.daemon = True
        timer.start()
        try:
            yield shown.update
        finally:
            timer.cancel()
            shown.stop()


@contextlib.contextmanager
def session(running: RunningOptions) -> Iterator[Session]:
    """Run a command: collect warnings, limit threads, notice interrupts; at the end print the JSON if wanted."""
    with _limit_threads(running.threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for noise in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", noise)
        current = Session(running, caught)
        with _remember_interrupt(current):
            yield current
    if current.running.json:
        texts = {"warnings": current.warning_texts()} if current.warnings else {}
        print(json.dumps(to_json(current.facts | texts), indent=2, ensure_ascii=False, allow_nan=False))


@contextlib.contextmanager
def _limit_threads(threads: int | None) -> Iterator[None]:
    """Limit the threads of libraries that are loaded and of those that will be."""
    if threads is None:
        yield
        return
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        with threadpool_limits(threads):
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "POLARS_MAX_THREADS",
)  # fmt: skip
"""Environment variables that libraries read when they are loaded."""


@contextlib.contextmanager
def _remember_interrupt(current: Session) -> Iterator[None]:
    """Remember an interrupt: a fit may answer it with its best result so far, but the command must stop."""
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


def to_json(value: Any) -> Any:
    """Return a value as JSON values: arrays as lists, NaN and infinities as null, paths as text.

    >>> to_json({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if isinstance(value, dict):
        return {str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(each) for each in value]
    if hasattr(value, "tolist"):
        return to_json(value.tolist())
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


PROGRESS_DELAY = 1.0
"""Seconds before progress is shown, so that quick commands show none."""

SECONDS_BETWEEN_LINES = 10.0
"""Seconds between lines of progress where standard error is not a terminal, which keeps logs short."""


def make_progress(what: str, running: RunningOptions) -> NoProgress | ProgressLines | ProgressBar:
    """Return a bar on a terminal, lines elsewhere if they are asked for, or nothing."""
    wanted = sys.stderr.isatty() if running.progress is None else running.progress
    if running.quiet or not wanted:
        return NoProgress()
    return ProgressBar(what) if sys.stderr.isatty() else ProgressLines(what)


class NoProgress:
    """Progress that is not shown."""

    def start(self) -> None:
        """Show that the work has begun."""

    def update(self, done: int, total: int | None, what: str) -> None:
        """Show how much is done."""

    def stop(self) -> None:
        """Remove what is shown; nothing is shown afterwards."""


class ProgressLines:
    """Progress as a line now and then, for logs."""

    def __init__(self, what: str) -> None:
        self._what, self._on, self._last = what, False, 0.0

    def start(self) -> None:
        """Show that the work has begun."""
        self._on, self._last = True, time.monotonic()
        print(f"{self._what} …", file=sys.stderr, flush=True)

    def update(self, done: int, total: int | None, what: str) -> None:
        """Show how much is done."""
        if self._on and time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            print(f"{what}: {done:,}" + ("" if total is None else f" of {total:,}"), file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Remove what is shown; nothing is shown afterwards."""
        self._on = False


class ProgressBar:
    """Progress as a bar on the terminal, removed when the work is done."""

    def __init__(self, what: str) -> None:
        self._what, self._over = what, False
        self._bar: Any = None
        self._task: Any = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Show that the work has begun."""
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
        """Show how much is done."""
        with self._lock:
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total, description=what)

    def stop(self) -> None:
        """Remove what is shown; nothing is shown afterwards."""
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()
                self._bar = None
