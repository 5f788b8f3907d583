"""Tables in words: columns of text under their headings, numbers as text, and which of many columns are shown.

Lines as wide as the terminal: tables are cut there, and words wrapped; what goes into a file or a pipe is whole.

The words of the command line that is being run, for reports and for the command to try next.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextvars import ContextVar

__all__ = [
    "SHOWN",
    "TYPED",
    "aligned",
    "command_line",
    "counted",
    "cut",
    "figure",
    "one_line",
    "without",
    "wrapped",
]

SHOWN = 12
"""The most lines of a table of columns."""


def aligned(header: Sequence[str], lines: Sequence[Sequence[str]], most: int = SHOWN, sides: str = "") -> str:
    """Columns of text, the first flush left, the others flush right, or by `sides`; of a long table the first lines.

    >>> print(aligned(["name", "n"], [["a", "10"], ["bb", "5"]]))
    name   n
    a     10
    bb     5
    """
    shown = [[one_line(cell) for cell in header], *([one_line(line[0]), *line[1:]] for line in lines[:most])]
    widths = [max(len(line[j]) for line in shown) for j in range(len(header))]
    signs = sides or "<" + ">" * (len(header) - 1)
    text = [
        "  ".join(f"{cell:{side}{w}}" for side, cell, w in zip(signs, line, widths, strict=True)).rstrip()
        for line in shown
    ]
    return "\n".join([*text, *([f"… {len(lines) - most:,} more"] if len(lines) > most else [])])


def figure(value: float, form: str) -> str:
    """A number as text; one that is shown as zero has no sign.

    >>> figure(-0.0, ".4g"), figure(-0.0001, ".3f"), figure(-1.25, ".3g")
    ('0', '0.000', '-1.25')
    """
    text = format(value, form)
    return text.removeprefix("-") if not text.strip("-0.") else text


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
