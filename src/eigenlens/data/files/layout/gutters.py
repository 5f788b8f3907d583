"""Columns of fixed widths without rulers, as in printed frames: text with spaces, and blanks between columns."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from eigenlens.data.files.number_format import is_number
from eigenlens.errors import DataError

MIN_FIXED = 4
"""The fewest lines by which columns of fixed widths are found."""

LEFT_OUT = re.compile(r"[.…]+(\s+[.…]+)*")
"""The line of a printed frame in place of those that it leaves out."""

BLANKS = re.compile(" {2,}")

UNITS = re.compile(r"\s*([\[(][^\s\])]*[\])]\s*)+")
"""A line of units in parentheses, below the names."""


@dataclass
class _Stripe:
    """Places of a line, from `start` to before `end`, that are not blank in all lines: a column, or a part of one.

    Attributes:
        name: what the first line has there. cells: what the others have.
    """

    start: int
    end: int
    name: str
    cells: list[str]

    @classmethod
    def cut(cls, lines: Sequence[str], start: int, end: int) -> Self:
        """Return the stripe of some lines between two places."""
        name, *cells = (line[start:end] for line in lines)
        return cls(start, end, name, cells)

    @property
    def is_column(self) -> bool:
        """Whether the stripe has a name and cells; names of rows, which come first, need no name."""
        return any(map(str.strip, self.cells)) and (bool(self.name.strip()) or not self.start)

    @property
    def is_text(self) -> bool:
        """Whether a cell is not a number."""
        return not all(is_number(cell.strip()) for cell in self.cells if cell.strip())

    @property
    def goes_on(self) -> bool:
        """Whether what follows without a name is more of the same text: its name stands at its start, or is lacking."""
        if not self.name.strip():
            return self.is_text
        return self.name[0] != " " and (self.name[-1] == " " or self.is_text)


def find_gutters(lines: Sequence[str]) -> tuple[int, ...]:
    """Return where columns start, if they have blanks between them in every line, and spaces cut lines unevenly.

    >>> find_gutters(["name       x    y", "Jan Moe    1  2.0", "Ada      2.5  3.1", "Bo de W    4   10"])
    (0, 9, 12)
    >>> find_gutters(["             cyl  wt", "Mazda RX4      6 2.6", "Hornet 4 D     6 3.2", "Valiant        6 3.4"])
    (0, 13, 16)
    """
    lines = [line for line in _first_block(lines) if not LEFT_OUT.fullmatch(line.strip())]
    rows = [line.split() for line in lines]
    if len(rows) < MIN_FIXED or any(re.search("[,;\t|]", line) for line in lines):
        return ()
    widths = {len(row) for row in rows[1:]}
    if len(widths) == 1 and len(rows[0]) in (max(widths), max(widths) - 1):
        return ()
    columns = _join_stripes(_find_stripes(lines))
    names = [column.name.strip() for column in columns]
    if len(columns) < 2 or not all(names[1:]) or any(map(is_number, names)):
        return ()
    starts = (columns[0].start, *itertools.starmap(_start, itertools.pairwise(columns)))
    below = lines[2:] if (names_index(lines[1], starts) and not names[0]) or UNITS.fullmatch(lines[1]) else lines[1:]
    numbered = all(any(map(is_number, line.split())) for line in below)
    if not numbered or cells_between_blanks(lines, starts):
        return ()
    _require_names_above(columns)
    return starts


def cells_between_blanks(lines: Sequence[str], starts: Sequence[int] = ()) -> bool:
    """Return whether two blanks or more separate equally many cells in each line, which do not stand below their names.

    >>> cells_between_blanks(["name  x  y", "Jan Moe     1.5   2", "Ada           3   4", "Bo de W     4.5   6"])
    True
    >>> cells_between_blanks(["name     x   y", "Jan Moe  1.5   2", "Ada        3   4", "Bo W     4.5   6"], (0, 7, 12))
    False
    """
    lines = [line for line in lines if not LEFT_OUT.fullmatch(line.strip())]
    rows = [BLANKS.split(line.strip()) for line in lines]
    if len(rows) < MIN_FIXED or any(re.search("[,;\t|]", line) for line in lines):
        return False
    k, names = len(rows[0]), rows[0]
    if k < max(2, len(starts)) or {len(row) for row in rows} != {k} or any(map(is_number, names)) or len({*names}) < k:
        return False
    if starts and all(cut_line(line, starts) == row for line, row in zip(lines, rows, strict=True)):
        return False
    cells = [cell for row in rows for cell in row]
    words = any(" " in cell for cell in cells) and not any(sum(map(is_number, cell.split())) > 1 for cell in cells)
    return words and all(any(map(is_number, row)) for row in rows[1:])


def cut_line(line: str, starts: Sequence[int]) -> list[str]:
    """Return the cells of a line between the starts of columns."""
    ends = (*starts[1:], None)
    return [line[a:b].replace("\t", " ").strip() for a, b in zip((0, *starts[1:]), ends, strict=True)]


def _require_names_above(columns: Sequence[_Stripe]) -> None:
    """Check that no column has two names, or in each line two cells of which one is a number."""
    for column in columns:
        cells = [BLANKS.split(cell.strip()) for cell in column.cells if cell.strip()]
        several = all(len(parts) > 1 and any(map(is_number, parts)) for parts in cells)
        if several or BLANKS.search(column.name.strip()):
            what = "columns of fixed widths have names that do not stand above them"
            where = f"{column.name.strip()!r} stands above {next(filter(None, map(str.strip, column.cells)))!r}"
            raise DataError(f"{what}: {where}", fix="move each name above its column, or write the table as CSV")


def names_index(line: str, starts: Sequence[int]) -> bool:
    """Return whether a line has no more than a word in its first column: the name of an index, as pandas writes it."""
    return len(starts) > 1 and bool(line.strip()) and not line[starts[1] - 1 :].strip() and not is_number(line.strip())


def starts_block(line: str, indent: int) -> bool:
    """Return whether a line has names only, above nothing, as printed frames have above each block of columns."""
    cells = line.split()
    names = bool(cells) and not any(map(is_number, cells)) and not UNITS.fullmatch(line)
    return names and not line[:indent].strip() and line.isascii()


def _first_block(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines above a second line of names that begins with blanks as the first does."""
    if not lines or not lines[0].startswith(" "):
        return lines
    indent = len(lines[0]) - len(lines[0].lstrip())
    return [lines[0], *itertools.takewhile(lambda line: not starts_block(line, indent), lines[1:])]


def _find_stripes(lines: Sequence[str]) -> list[_Stripe]:
    high = max(map(len, lines))
    padded = [line.ljust(high) for line in lines]
    filled = [any(line[place] != " " for line in padded) for place in range(high)]
    runs = [
        [place for place, _ in run] for full, run in itertools.groupby(enumerate(filled), lambda each: each[1]) if full
    ]
    return [_Stripe.cut(padded, 0 if not place else run[0], run[-1] + 1) for place, run in enumerate(runs)]


def _join_stripes(stripes: Sequence[_Stripe]) -> list[_Stripe]:
    """Return columns: a stripe without a name or without cells is a part of the one before, or of the one after it."""
    found: list[_Stripe] = []
    for each in stripes:
        if found and (not found[-1].is_column or (not each.is_column and found[-1].goes_on)):
            found[-1] = _join(found[-1], each)
        else:
            found.append(each)
    return found if not found or found[-1].is_column else []


def _join(one: _Stripe, other: _Stripe) -> _Stripe:
    blank = " " * (other.start - one.end)
    cells = [f"{a}{blank}{b}" for a, b in zip(one.cells, other.cells, strict=True)]
    return _Stripe(one.start, other.end, f"{one.name}{blank}{other.name}", cells)


def _start(before: _Stripe, column: _Stripe) -> int:
    """Return where a column starts: next to numbers before it if it is flush right, since later rows may be wider."""
    flush_right = column.name[0] == " " or not column.is_text
    return before.end if flush_right and not before.is_text else column.start
