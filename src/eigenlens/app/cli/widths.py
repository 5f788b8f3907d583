"""Lines as wide as the terminal: tables are cut there, and words wrapped; what goes into a file or a pipe is whole."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

__all__ = ["cut", "one_line", "wrapped"]

NARROW = 20
"""Words are not wrapped into columns narrower than this."""


def cut(text: str, width: int | None = None) -> str:
    """The lines of a table, cut where the terminal ends; a number is shown whole or not at all.

    >>> print(cut("name     mean   note\\nlength  12.125  in millimetres", 20))
    name     mean   note
    length  12.125  in …
    >>> print(cut("length  12.125  13.75", 18))
    length  12.125  …
    """
    width = _width() if width is None else width
    return text if width is None else "\n".join(_cut(line, width) for line in text.splitlines())


def _cut(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    kept = line[: width - 1]
    if line[width - 1] != " ":  # the last cell would end in its middle
        kept = re.sub(r"[\d.,e+-]+$", "", kept)
    return f"{kept}…"


def wrapped(line: str, indent: int) -> list[str]:
    """A line of words as several that fit into the terminal beside an indent; words after cells keep their column."""
    width = _width()
    if width is None or len(line) <= width - indent:
        return [line]
    start = line.rstrip().rfind("  ") + 2 if "  " in line.strip() else 0
    room = width - indent - start
    if room < NARROW or " " not in line[start:].strip():
        return [_cut(line, width - indent)]
    parts = textwrap.wrap(line[start:], room, break_long_words=False, break_on_hyphens=False)
    return [line[:start] + parts[0], *(" " * start + part for part in parts[1:])]


def one_line(name: str, most: int = 40) -> str:
    r"""A name as a cell of a table: on one line, its middle left out where it is long.

    >>> one_line("two\nlines"), one_line("a" * 30 + "b" * 30, 11)
    ('two\\nlines', 'aaaaa…bbbbb')
    """
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    return shown if len(shown) <= most else f"{shown[: most // 2]}…{shown[len(shown) - (most - 1) // 2 :]}"


def _width() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
