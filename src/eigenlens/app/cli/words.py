"""The words of the command line that is being run, for reports and for the command to try next."""

from __future__ import annotations

import shlex
from contextvars import ContextVar

__all__ = ["TYPED", "command_line"]

TYPED: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
"""The words after the program's name."""


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["eigenlens", *TYPED.get()])
