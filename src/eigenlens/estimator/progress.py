"""Progress of a fit: `verbose=True` shows a bar, a callable is called with (done, total, label)."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from eigenlens.data.source import Progress
from eigenlens.errors import OptionError


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
        with _bar() as callback:
            yield callback


@contextlib.contextmanager
def _bar() -> Iterator[Progress]:
    """Provide a bar by rich, or plain lines where it is not installed."""
    try:
        from rich.console import Console
        from rich.progress import Progress as RichBar
    except ImportError:
        yield _print_line
        return
    with RichBar(console=Console(stderr=True), transient=False) as bar:
        tasks: dict[str, Any] = {}

        def report(done: int, total: int | None, what: str) -> None:
            kind = what.split(":")[0]  # "EM: step 3, …" continues the bar of "EM: step 2, …"
            task = tasks.setdefault(kind, None)
            if task is None:
                task = tasks[kind] = bar.add_task(what, total=total)
            bar.update(task, description=what, completed=done, total=total)

        yield report


def _print_line(done: int, total: int | None, what: str) -> None:
    print(f"{what}: {done} of {'unknown' if total is None else total} rows", file=sys.stderr)
