"""The words of the command line that is being run, for reports and for the command to try next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextvars import ContextVar

__all__ = ["TYPED", "command_line", "counted", "without"]

TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The words after the program's name."""


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["eigenlens", *TYPED.get()])


def without(words: Sequence[str], *flags: str, valued: str = "") -> list[str]:
    """Words less some flags, and less one that has a value, with its value.

    >>> without(["fit", "-q", "--report", "r.html", "a.csv"], "-q", valued="--report")
    ['fit', 'a.csv']
    """
    kept, skip = [], False
    for word in words:
        if not (skip or word in flags or word == valued or (valued and word.startswith(f"{valued}="))):
            kept.append(word)
        skip = not skip and bool(valued) and word == valued
    return kept


def counted(n: int, what: str) -> str:
    """A number and its noun.

    >>> counted(1, "row"), counted(2000, "row"), counted(3, "class")
    ('1 row', '2,000 rows', '3 classes')
    """
    return f"{n:,} {what}" + ("" if n == 1 else "es" if what.endswith("s") else "s")
