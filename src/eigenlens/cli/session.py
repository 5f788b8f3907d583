"""The frame of every command: threads, warnings, interrupts, progress on standard error, text or JSON as output."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenlens.cli.errors import warning_line
from eigenlens.cli.files import file_size
from eigenlens.cli.options import RunningOptions
from eigenlens.cli.output import IN_TRIAL, cut_lines, json_text, show_controls, wrap_line

if TYPE_CHECKING:
    from eigenlens.data.source import Progress


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
                _print(f"{heading if i == 0 else '':<9} {line}".rstrip())

    def show(self, text: str, always: bool = False) -> None:
        """Print a table between blank lines; if quiet, only one that is the whole result of a command (always)."""
        if self.running.quiet and always and not self.running.json:
            _print(cut_lines(text))
        elif text and not (self.running.quiet or self.running.json):
            _print(f"\n{cut_lines(text)}\n")

    def add_facts(self, **facts: Any) -> None:
        """Add values for --json."""
        self.facts |= facts

    def warning_texts(self) -> list[str]:
        """Return the messages of the warnings so far, each once."""
        return list(dict.fromkeys(warning_line(each.message) for each in self.warnings))

    def show_plan(self, *lines: str, targets: Iterable[Path | None] = (), **facts: Any) -> None:
        """Print what a dry run would have done, and the files that it would have written."""
        written = [target for target in targets if target is not None]
        plan = [*lines, *(f"write {target}" for target in written)]
        self.say("would", *plan)
        self.add_facts(dry_run=True, would=plan, would_write=written, **facts)

    def show_next(self, *commands: str, tried: bool = False) -> None:
        """Print the first of these commands that works, if any does; `tried`: the first one is known to."""
        if IN_TRIAL.get() or (self.running.quiet and not self.running.json):
            return
        from eigenlens.cli.advice.trial import command_works

        commands = tuple(each for each in commands if "/dev/fd/" not in each)  # a pipe that is gone by then
        if not commands:
            return
        found = commands[0] if tried else next(filter(command_works, commands), None)
        self.add_facts(next=found)
        if found is not None:
            self.say("next", found)

    def show_written(self, *targets: Path | None, note: str = "") -> None:
        """Print the files that were written, with their sizes."""
        written = [target for target in targets if target is not None and not IN_TRIAL.get()]
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
            print(*map(show_controls, lines), sep="\n", file=sys.stderr)

    def check_interrupt(self) -> None:
        """Raise the interrupt that an iteration took as a request to stop early."""
        if self.interrupted:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Progress]:
        """Yield a callback (done, in all, what) whose progress is shown, if wanted, once a second has passed."""
        wanted = sys.stderr.isatty() if self.running.progress is None else self.running.progress
        shown = DelayedProgress(what)
        timer = threading.Timer(PROGRESS_DELAY, shown.start)
        timer.daemon = True
        if wanted and not self.running.quiet:
            timer.start()
        try:
            yield shown.update
        finally:
            timer.cancel()
            shown.stop()


def _print(text: str) -> None:
    """Print text; where the reader of standard output has stopped, as `head` does, the work and its files go on."""
    try:
        print(show_controls(text))
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


@contextlib.contextmanager
def session(running: RunningOptions) -> Iterator[Session]:
    """Run a command: collect warnings, limit threads, notice interrupts; at the end print the JSON if wanted."""
    with _limit_threads(running.threads), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for noise in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ImportWarning):
            warnings.simplefilter("ignore", noise)
        current = Session(running, caught)
        with _remember_interrupt(current), _fit_on(running.device):
            yield current
    if current.running.json:
        texts = {"warnings": current.warning_texts()} if current.warnings else {}
        print(json_text(current.facts | texts, indent=2))


def _fit_on(device: str | None) -> contextlib.AbstractContextManager[None]:
    """Return the context of fits on a device, which is imported only where one is asked for."""
    if device is None:
        return contextlib.nullcontext()
    from eigenlens.data.device_rows import fitting

    return fitting(device=device)


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
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


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


PROGRESS_DELAY = 1.0
"""Seconds before progress is shown, so that quick commands show none."""


class DelayedProgress:
    """Progress that is shown from `start` to `stop`: a bar on a terminal, which is removed then, or lines elsewhere."""

    def __init__(self, what: str) -> None:
        self._what, self._over = what, False
        self._display = contextlib.ExitStack()
        self._report: Progress | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        """Show that the work has begun."""
        from eigenlens.data.source import print_lines, show_bars

        with self._lock:
            if not self._over:
                bars = sys.stderr.isatty()
                self._report = self._display.enter_context(show_bars(self._what)) if bars else print_lines(self._what)

    def update(self, done: int, total: int | None, what: str) -> None:
        """Show how much is done."""
        with self._lock:
            if self._report is not None:
                self._report(done, total, what)

    def stop(self) -> None:
        """Remove what is shown; nothing is shown afterwards."""
        with self._lock:
            self._over, self._report = True, None
            self._display.close()
