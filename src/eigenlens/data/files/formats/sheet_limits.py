"""Limits of spreadsheets, checked before they are read: a few bytes can ask for more cells than any memory has."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from eigenlens.data.files.decompress import FREE_BYTES, MAX_RATIO, bomb_error
from eigenlens.errors import DataError

CHUNK_BYTES = 1 << 20

MAX_EMPTY_CELLS = 10_000_000
"""The most cells between the first and the last of a sheet whose cells are few: parsers reserve memory for all."""

MAX_CELLS_PER_BYTE = 1.0
"""Cells per byte of the content, above which a sheet is mostly empty or mostly repeated."""

CELL = re.compile(rb"""<(?:\w+:)?(?:c|row)\s[^>]*?\br=["']([A-Za-z]*)([0-9]+)["']""")
REPEATED_ROW = re.compile(rb"<table:table-row\b([^>]*)>(.*?)(?=<table:table-row\b|</table:table>|\Z)", re.DOTALL)
REPEATED_CELL = re.compile(rb"<table:table-cell\b([^>]*value[^>]*)>")
TIMES = re.compile(rb'number-(?:rows|columns)-repeated="([0-9]{1,9})"')


def check_sheets(path: Path, max_ratio: float | None = None) -> None:
    """Raise for a spreadsheet whose content grows like a decompression bomb, or has far more cells than content."""
    if not zipfile.is_zipfile(path):
        return  # the older binary formats have no compression, and at most 65,536 rows of 256 columns
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        _check_size(path, members, max_ratio or MAX_RATIO)
        for member in members:  # a sheet may have any name
            cells = _open_document_cells if member.filename == "content.xml" else _excel_cells
            _check_count(path, member, cells(_chunks(archive, member)))


def _check_size(path: Path, members: list[zipfile.ZipInfo], max_ratio: float) -> None:
    size, packed = sum(each.file_size for each in members), path.stat().st_size
    if size > max(FREE_BYTES, max_ratio * packed):
        raise bomb_error(path, size / packed)


def _check_count(path: Path, member: zipfile.ZipInfo, cells: int) -> None:
    if cells > max(MAX_EMPTY_CELLS, MAX_CELLS_PER_BYTE * member.file_size):
        what = f"'{path}' has a sheet of {cells:,} cells, nearly all of them empty or repeated"
        raise DataError(what, fix="delete the cells far from the table, or save the table alone as CSV")


def _excel_cells(content: Iterable[bytes]) -> int:
    """Return the number of cells of the rectangle from the first cell of a sheet to the last row and column."""
    rows, columns = 0, 0
    for text in content:
        found = CELL.findall(text)
        rows = max([rows, *map(int, {row for _, row in found})])
        columns = max([columns, *map(_column_number, {letters for letters, _ in found})])
    return rows * columns


def _chunks(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the content in pieces that do not cut a tag."""
    rest = b""
    with archive.open(member) as file:
        while chunk := file.read(CHUNK_BYTES):
            text, _, rest = (rest + chunk).rpartition(b"<")
            rest = b"<" + rest[:CHUNK_BYTES]  # no tag is longer: without end are blanks between two of them
            yield text
    yield rest


def _column_number(letters: bytes) -> int:
    """Return the number of a column of a sheet, from 1; 1 for a row.

    >>> _column_number(b"A"), _column_number(b"XFD"), _column_number(b"")
    (1, 16384, 1)
    """
    number = 0
    for letter in letters.upper() or b"A":
        number = 26 * number + letter - ord("A") + 1
    return number


def _open_document_cells(content: Iterable[bytes]) -> int:
    """Return the number of cells with a value, each as often as it is repeated.

    >>> row = b'<table:table-row table:number-rows-repeated="3">'
    >>> cell = b'<table:table-cell office:value="1" table:number-columns-repeated="4"/>'
    >>> _open_document_cells([row, cell, b"</table:table-row></table:table>"])
    12
    """
    return sum(
        _times(attributes) * sum(_times(cell) for cell in REPEATED_CELL.findall(cells))
        for attributes, cells in REPEATED_ROW.findall(b"".join(content))
    )


def _times(attributes: bytes) -> int:
    found = TIMES.search(attributes)
    return int(found[1]) if found else 1
