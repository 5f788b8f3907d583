"""Progress on standard error, as bars or lines; `verbose` of a fit is True for bars, or a callable for the numbers."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Iterator
from typing import Any

from eigenlens.data.source import Progress
from eigenlens.errors import OptionError

SECONDS_BETWEEN_LINES = 10.0
"""Seconds between lines of progress, which keeps logs short."""


@contextlib.contextmanager
def progress_callback(verbose: Any) -> Iterator[Progress | None]:
    """Provide the callback that `verbose` stands for: None for False, itself if callable, else a bar on stderr."""
    if callable(verbose):
        yield verbose
    elif not isinstance(verbose, bool | int):
        raise OptionError("must be True, False or a callable (done, total, label)", argument="verbose", value=verbose)
    elif not verbose:
        yield None
    else:
        with show_bars() as callback:
            yield callback


@contextlib.contextmanager
def show_bars(only: str = "") -> Iterator[Progress]:
    """Provide a callback that shows a bar per kind of work by rich, or lines where that is not installed.

    only: the first words of a single bar, which is removed at the end.
    """
    try:
        from rich import progress as rich
        from rich.console import Console
    except ImportError:
        yield print_lines(only)
        return
    columns = rich.SpinnerColumn(), *rich.Progress.get_default_columns()[:-1], rich.TimeElapsedColumn()
    with rich.Progress(*columns, console=Console(stderr=True), transient=bool(only)) as bars:
        tasks = {only: bars.add_task(only, total=None)} if only else {}

        def report(done: int, total: int | None, what: str) -> None:
            kind = only or what.split(":")[0]  # "EM: step 3, …" continues the bar of "EM: step 2, …"
            if kind not in tasks:
                tasks[kind] = bars.add_task(what, total=total)
            bars.update(tasks[kind], description=what, completed=done, total=total)

        yield report


def print_lines(first: str = "") -> Progress:
    """Return a callback that prints a line now and then, for logs; `first` is printed at once."""
    last = -math.inf
    if first:
        last = time.monotonic()
        print(f"{first} …", file=sys.stderr, flush=True)

    def report(done: int, total: int | None, what: str) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{what}: {done:,}" + ("" if total is None else f" of {total:,}"), file=sys.stderr, flush=True)

    return report
