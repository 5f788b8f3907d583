"""Delimited text checked whole: UTF-8, and rows of one length; parsers fill short ones with missing entries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

from eigenlens.cli.columns import text_records
from eigenlens.cli.errors import fail
from eigenlens.cli.sniffing import Text, cells_of
from eigenlens.data.files.decode import refuse_undecodable
from eigenlens.data.files.records import PIECE_BYTES

__all__ = ["refuse_length", "refuse_ragged"]

QUOTED = re.compile(rb'"[^"]*"')


def refuse_ragged(path: Path, text: Text, d: int) -> None:
    """Refuse a file with a row that has not d cells, or with what is no UTF-8, by a quick pass over its bytes."""
    separator, row = text.separator.encode(), int(text.header)
    for piece in text_records(path, text, PIECE_BYTES, d):
        if not piece.isascii():
            _refuse_bytes(path, piece, text)
        if piece.count(b'"') % 2:
            _refuse_quote(path, piece, row)
        bare = QUOTED.sub(b"", piece) if b'"' in piece else piece
        n = bare.count(b"\n") + (not bare.endswith(b"\n"))
        if bare.count(separator) != n * (d - 1):
            _refuse_row(path, piece, text.separator, row, d)
        row += n


def refuse_length(path: Path, row: int, cells: list[str], d: int, fix: str = "") -> NoReturn:
    """Refuse a row, counted from 1 with the line of names, by its length."""
    what = f"row {row} has {len(cells)} cell{'s' * (len(cells) != 1)}, and the first has {d}"
    usual = "mend that row, quote cells that hold the separator, or say what it is with --separator"
    if cells and cells[0].startswith("#"):
        usual = f"delete comments, for instance with: grep -v '^#' '{path}' > rows.csv"
    fail(f"'{path}' is ragged: {what}", fix or usual, "data")


def _refuse_row(path: Path, piece: bytes, separator: str, before: int, d: int) -> None:
    """Cell by cell: signs in quotes that are no quotes may have misled the count."""
    for place, cells in enumerate(cells_of(path, piece.decode(errors="replace"), separator), 1):
        if cells and len(cells) != d:
            refuse_length(path, before + place, cells, d)


def _refuse_quote(path: Path, piece: bytes, before: int) -> NoReturn:
    """Refuse the quote that opens the last cell of a file and is never closed, or stands inside a cell."""
    opened, odd = 0, False
    for place, line in enumerate(piece.split(b"\n"), 1):
        if line.count(b'"') % 2:
            opened, odd = (place, True) if not odd else (opened, False)
    what = f'has a quote (") in line {before + opened} that is never closed'
    fail(f"'{path}' {what}", 'close it; inside a quoted cell write it twice (""), and elsewhere leave it out', "data")


def _refuse_bytes(path: Path, piece: bytes, text: Text) -> None:
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError:
        refuse_undecodable(path, text.encoding)
