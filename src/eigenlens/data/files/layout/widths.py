"""Rows of one length, and the errors for those that are not."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from eigenlens.data.files.decode import reject_undecodable
from eigenlens.data.files.layout.copy_command import advise_copy
from eigenlens.data.files.layout.separator import SEPARATORS, read_cells
from eigenlens.data.files.layout.station import reject_station_file
from eigenlens.data.files.number_format import is_number
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from eigenlens.data.files.dialect import Dialect


MAX_COLUMNS = 250_000
"""The most columns of delimited text: a million would take minutes, and gigabytes for their names alone."""


MAX_TEXT_COLUMNS = 10_000
"""The most columns of text: each is searched for dates, units, and words that mean numbers."""


def check_column_count(path: Path, head: str) -> None:
    """Raise where the first line has more columns than can be read, or the second so many of text."""
    first, _, rest = head.partition("\n")
    separator = max(SEPARATORS, key=first.count)
    d = 1 + first.count(separator)
    if d > MAX_COLUMNS:
        what = f"'{path}' has {d:,} columns, and delimited text is read with {MAX_COLUMNS:,} at most"
        fix = "write it with rows and columns exchanged and read that with {transpose}, or write it as .npy"
        raise DataError(what, fix=fix, settings={"transpose": True})
    if d > MAX_TEXT_COLUMNS:
        texts = sum(map(_is_text, rest.partition("\n")[0].split(separator)))
        if texts > MAX_TEXT_COLUMNS:
            what = f"'{path}' has {texts:,} columns of text, and {MAX_TEXT_COLUMNS:,} are read at most"
            raise DataError(what, fix="write numbers for the text, or write fewer columns")


def _is_text(cell: str) -> bool:
    """Return whether a cell has letters and is neither a number nor a word for one.

    >>> [_is_text(cell) for cell in ("AG", "1e5", " NA", "2026-01-31", "true", "")]
    [True, False, False, False, False, False]
    """
    bare = cell.strip().strip('"')
    return bool(LETTER.search(bare)) and bare.lower() not in NOT_TEXT and not is_number(bare)


LETTER = re.compile(r"[^\W\d_]")
NOT_TEXT = {"na", "n/a", "#n/a", "nan", "null", "none", "true", "false"}


def trailing_separators(rows: Sequence[Sequence[str]]) -> int:
    """Return 1 if all rows but the first, which holds names, end with a separator, -1 if only the first does; else 0.

    >>> trailing_separators([["a", "b"], ["1", "2", ""]]), trailing_separators([["a", "b", ""], ["1", "2"]])
    (1, -1)
    """
    if len(rows) < 2 or any(map(is_number, rows[0])):
        return 0
    longer = {len(row) - len(rows[0]) for row in rows[1:]}
    if longer == {1} and not any(row[-1] for row in rows[1:]):
        return 1
    return -1 if longer == {-1} and not rows[0][-1] and all(rows[0][:-1]) else 0


def check_widths(path: Path, rows: list[list[str]], text: str) -> None:
    """Raise where the rows of a text have different lengths, with advice that depends on the first lines."""
    _reject_quoted_lines(path, rows)
    _reject_quotes_after_spaces(path, rows, text)
    if (widths := {len(row) for row in rows}) == {1} or len(widths) > 1:
        reject_station_file(path, text)
    longer = len(rows) > 1 and all(len(row) == len(rows[0]) + 1 and not row[-1] for row in rows[1:])
    fix = "end the first line with a separator too" if longer else ""
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            title = 0 if longer else _lines_above(rows, text)
            remarks = footer_lines(rows[place:]) if place > 1 else 0  # a table of remarks alone is another one
            raise ragged_row(path, place + 1, row, len(rows[0]), fix, title=title, footer=remarks)


def _reject_quoted_lines(path: Path, rows: list[list[str]]) -> None:
    """Raise where each line is a single cell in which a sign separates equally many cells, with numbers."""
    cells = [row[0] for row in rows if row]
    if any(len(row) > 1 for row in rows) or len(cells) < MIN_LINES:
        return
    for sign in ",;\t":
        counts = {cell.count(sign) for cell in cells}
        numbers = all(any(is_number(part.strip()) for part in cell.split(sign)) for cell in cells[1:])
        if len(counts) == 1 and counts != {0} and numbers:
            what = f"each line of '{path}' stands in quotes as a whole, so that it is a single cell"
            raise DataError(what, fix=advise_copy(path, "tr -d '\"'"))


def _reject_quotes_after_spaces(path: Path, rows: list[list[str]], text: str) -> None:
    """Raise where spaces before quotation marks make these a part of the cells, of numbers too."""
    quoted = [[re.fullmatch(r'"[^"]*"', cell) is not None for cell in row] for row in rows[1:]]
    if (len(quoted) >= MIN_LINES and all(map(any, quoted))) or _is_even_without_spaces(path, rows, text):
        what = f"'{path}' has spaces before the quotation marks of its cells, which make these a part of them"
        raise DataError(what, fix=advise_copy(path, r"""sed 's/\([,;]\) *"/\1"/g'"""))


def _is_even_without_spaces(path: Path, rows: list[list[str]], text: str) -> bool:
    """Return whether rows of different lengths have one if no spaces stand before quotation marks."""
    if len({len(row) for row in rows}) < 2 or text.count('"') % 2:
        return False
    mended = re.sub(r'([,;]) +"', r'\1"', text)
    widths = [{len(row) for row in read_cells(path, mended, sign) if row} for sign in ",;"]
    return mended != text and any(len(each) == 1 and each != {1} for each in widths)


MIN_LINES = 4
"""The fewest lines that show how all are quoted."""


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
    if dialect.trailing > 0:
        _check_last_cells(path, piece, dialect, before)
    return n


def _check_last_cells(path: Path, piece: bytes, dialect: Dialect, before: int) -> None:
    """Raise for a row with an entry in its last cell, which has no name and is empty in the first rows."""
    lines = piece.rstrip(b"\n").split(b"\n")
    if all(line.endswith(dialect.separator.encode()) for line in lines if line):
        return
    for place, cells in enumerate(read_cells(path, piece.decode(errors="replace"), dialect.separator), 1):
        if cells and cells[-1].strip():
            raise ragged_row(path, before + place, cells, len(cells) - 1)


def _reject_open_quote(path: Path, piece: bytes, before: int) -> NoReturn:
    """Raise for a quotation mark that is never closed, or that occurs inside an unquoted cell."""
    opened, odd = 0, False
    for place, line in enumerate(piece.split(b"\n"), 1):
        if line.count(b'"') % 2:
            opened, odd = (place, True) if not odd else (opened, False)
    what = f"'{path}' has a quote (\") in line {before + opened} that is never closed"
    raise DataError(what, fix='close it; inside a quoted cell write it twice (""), and elsewhere leave it out')
