"""Rows of one length, and the errors for those that are not."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from eigenlens.data.files.decode import reject_undecodable
from eigenlens.data.files.layout.separator import SEPARATORS, read_cells
from eigenlens.data.files.number_format import is_number
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from eigenlens.data.files.dialect import Dialect


MAX_COLUMNS = 250_000
"""The most columns of delimited text: a million would take minutes, and gigabytes for their names alone."""


def check_column_count(path: Path, head: str) -> None:
    """Raise where the first line has more columns than can be read, before its cells are looked at."""
    first = head.partition("\n")[0]
    d = 1 + max(first.count(separator) for separator in SEPARATORS)
    if d > MAX_COLUMNS:
        what = f"'{path}' has {d:,} columns, and delimited text is read with {MAX_COLUMNS:,} at most"
        fix = "write it with rows and columns exchanged and read that with {transpose}, or write it as .npy"
        raise DataError(what, fix=fix, settings={"transpose": True})


def check_widths(path: Path, rows: list[list[str]], text: str) -> None:
    """Raise where the rows of a text have different lengths, with advice that depends on the first lines."""
    longer = len(rows) > 1 and all(len(row) == len(rows[0]) + 1 and not row[-1] for row in rows[1:])
    fix = "end the first line with a separator too" if longer else ""
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            title = 0 if longer else _lines_above(rows, text)
            raise ragged_row(path, place + 1, row, len(rows[0]), fix, title=title, footer=footer_lines(rows[place:]))


def _lines_above(rows: list[list[str]], text: str) -> int:
    """Return the number of lines above the first row of the usual length, if they are shorter; else 0."""
    usual = Counter(map(len, rows)).most_common(1)[0][0]
    above = len(list(itertools.takewhile(lambda row: len(row) < usual, rows)))
    filled = [number for number, line in enumerate(text.splitlines()) if line.strip()]
    return filled[above] if 0 < above < len(filled) else 0


def footer_lines(rows: Sequence[Sequence[str]]) -> int:
    """Return the number of rows, if each is one cell of text, as remarks below a table are; else 0."""
    return len(rows) if all(len(row) == 1 and row[0].strip() and not is_number(row[0].strip()) for row in rows) else 0


def ragged_row(
    path: Path, row: int, cells: Sequence[str], d: int, fix: str = "", *, title: int = 0, footer: int = 0
) -> DataError:
    """Return the error for a row, counted from 1 with the line of names, that does not have d cells.

    title, footer: how many lines there are above the names, and how many remarks at the end, as it seems.
    """
    what = f"'{path}' is ragged: row {row} has {len(cells)} cell{'s' * (len(cells) != 1)}, and the first has {d}"
    if title:
        return DataError(what, fix="leave out the lines above the names with {skip}", settings={"skip": title})
    if fix:
        return DataError(what, fix=fix)
    if cells and cells[0].startswith("#"):
        return DataError(what, fix="if that is a comment, add {comment}", settings={"comment": "#"})
    if footer:
        return DataError(what, fix="leave out the remarks at the end with {footer}", settings={"footer": footer})
    usual = "mend that row, quote cells that hold the separator, or say what it is with {separator}"
    return DataError(what, fix=usual, settings={"separator": ...})


# ---- all rows -------------------------------------------------------------------------------------------------

QUOTED = re.compile(rb'"[^"]*"')


def check_rows(path: Path, piece: bytes, dialect: Dialect, d: int, before: int) -> int:
    """Check that each row of a piece has d cells, in UTF-8, and return the number of rows.

    Polars would fill a row that is too short with missing values. `before`: the number of rows above the piece.
    """
    if not piece.isascii():
        try:
            piece.decode("utf-8")
        except UnicodeDecodeError:
            reject_undecodable(path, dialect.encoding)
    bare = piece
    if b'"' in piece:
        if piece.count(b'"') % 2:
            _reject_open_quote(path, piece, before)
        bare = QUOTED.sub(b"", piece)
    # Only separators and line ends are left, so a table with rows of equal length is one line repeated.
    signs = bare.translate(None, bytes(set(range(256)) - {10, ord(dialect.separator)}))
    signs += b"\n" * (not bare.endswith(b"\n"))
    n = signs.count(b"\n")
    if signs != (dialect.separator.encode() * (d - 1) + b"\n") * n:
        # Check cell by cell: a stray quotation mark may have hidden separators from the count.
        rows = list(read_cells(path, piece.decode(errors="replace"), dialect.separator))
        for place, cells in enumerate(rows, 1):
            if cells and len(cells) != d:
                remarks = footer_lines([row for row in rows[place - 1 :] if row])
                raise ragged_row(path, before + place, cells, d, footer=remarks)
    return n


def _reject_open_quote(path: Path, piece: bytes, before: int) -> NoReturn:
    """Raise for a quotation mark that is never closed, or that occurs inside an unquoted cell."""
    opened, odd = 0, False
    for place, line in enumerate(piece.split(b"\n"), 1):
        if line.count(b'"') % 2:
            opened, odd = (place, True) if not odd else (opened, False)
    what = f"'{path}' has a quote (\") in line {before + opened} that is never closed"
    raise DataError(what, fix='close it; inside a quoted cell write it twice (""), and elsewhere leave it out')
