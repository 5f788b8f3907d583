"""Find what stands below a table in the same text: remarks, or a second table, which is an error."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

from eigenlens.data.files.layout.header import NUMBER_LIKE
from eigenlens.data.files.layout.separator import read_cells
from eigenlens.errors import DataError

REMARK = re.compile(r"(?i)[*†‡§©]|[_=-]{3,}$|(notes?|sources?|remarks?|legend|key|abbreviations?|n\.?b\.?)\s*[:.]")
"""How remarks start that need no blank line above them."""

Row = list[str]


def find_remarks(path: Path, text: str, separator: str, d: int) -> int:
    r"""Return the number of lines at the end of a text that are certainly remarks below a table of d columns.

    A remark is shorter than a row, or has blanks in all columns but the first. It starts as remarks do, stands below
    one, or is one text below a blank line or with several words. A last line that is cut short is none of these.

    >>> find_remarks(Path("t.csv"), "a,b,c\n1,2,3\n\nin cm\nSource: clinic, 2024\n", ",", 3)
    2
    >>> find_remarks(Path("t.csv"), "a,b,c\n1,2,3\n4,5\n", ",", 3)
    0
    """
    rows = _rows(path, text, separator)
    below = list(itertools.takewhile(lambda row: _may_be_below(row, d), reversed(rows)))[::-1]
    blank = ended = False
    for row in below:
        blank = blank or not any(row)
        ended = ended or _is_remark(row, blank)
        if any(row) and not ended:
            return 0
    return sum(map(bool, below)) if any(map(any, below)) and len(below) < len(rows) - 1 else 0


def _rows(path: Path, text: str, separator: str) -> list[Row]:
    """Return all lines as cells without spaces around them; none where a cell may hold a line end."""
    if separator == " " or text.count('"') % 2 or "\r" in text.replace("\r\n", ""):
        return []
    rows = [[cell.strip() for cell in row] for row in read_cells(path, text, separator)]
    while rows and not any(rows[-1]):
        rows.pop()
    return [] if any("\n" in cell for row in rows for cell in row) else rows


def _may_be_below(row: Row, d: int) -> bool:
    return not any(row) or (not NUMBER_LIKE.fullmatch(row[0]) and (len(row) < d or (d > 1 and not any(row[1:]))))


def _is_remark(row: Row, blank: bool) -> bool:
    if not any(row):
        return False
    alone = bool(row[0]) and not any(row[1:])
    apart = blank and not any(map(NUMBER_LIKE.fullmatch, row))
    return REMARK.match(row[0]) is not None or apart or (alone and len(row) == 1 and " " in row[0])


def reject_second_table(path: Path, text: str, separator: str, *, above: int | None) -> None:
    r"""Raise where names other than the first line's stand below a blank line, with rows of their own below them.

    `above`: the number of lines above the text, or None where it is not known.

    >>> reject_second_table(Path("t.csv"), "a,b\n1,2\n3,4\n\nx,y,z\n1,2,3\n4,5,6\n", ",", above=0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    eigenlens.errors.DataError: 't.csv' holds a second table below a blank line ('x', 'y', 'z'); fit the first with ...
    """
    rows = _rows(path, text, separator)
    for place in range(2, len(rows) - 2):
        names, below = rows[place], rows[place + 1 : place + 3]
        if any(rows[place - 1]) or names == rows[0] or not are_names(names, below):
            continue
        if not any(_has_number(row) for row in rows[1 : place - 1]):
            continue
        shown = ", ".join(map(repr, names[:3])) + ", …" * (len(names) > 3)
        what = f"'{path}' holds a second table below a blank line ({shown})"
        settings = {"footer": sum(map(bool, rows[place:]))} | ({} if above is None else {"skip": above + place})
        fix = "fit the first with {footer}" + ", or the second with {skip}" * (above is not None)
        raise DataError(what, fix=fix, settings=settings)


def are_names(names: Row, below: list[Row]) -> bool:
    """Return whether cells are texts above rows of the same length with numbers."""
    alike = all(len(row) == len(names) and _has_number(row) for row in below)
    return len(names) > 1 and all(names) and alike and not _has_number(names)


def _has_number(row: Row) -> bool:
    return any(map(NUMBER_LIKE.fullmatch, row))
