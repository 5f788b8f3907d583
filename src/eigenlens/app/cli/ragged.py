"""Delimited text checked whole: UTF-8, and rows of one length; parsers fill short ones with missing entries."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import NoReturn

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.sniffing import Text, refuse_encoding
from eigenlens.data.records import PIECE_BYTES, records

__all__ = ["refuse_length", "refuse_ragged"]

QUOTED = re.compile(rb'"[^"]*"')


def refuse_ragged(path: Path, text: Text, d: int) -> None:
    """Refuse a file with a row that has not d cells, or with what is no UTF-8, by a quick pass over its bytes."""
    separator, row = text.separator.encode(), int(text.header)
    for piece in records(path, PIECE_BYTES, skip=text.header, blanks=d == 1):
        if not piece.isascii():
            _refuse_bytes(path, piece, row)
        bare = QUOTED.sub(b"", piece) if b'"' in piece else piece
        n = bare.count(b"\n") + (not bare.endswith(b"\n"))
        if bare.count(separator) != n * (d - 1):
            _refuse_row(path, piece, text.separator, row, d)
        row += n


def refuse_length(path: Path, row: int, cells: int, d: int, fix: str = "") -> NoReturn:
    """Refuse a row, counted from 1 with the line of names, by its length."""
    what = f"row {row} has {cells} cell{'s' * (cells != 1)}, and the first has {d}"
    usual = "mend that row, quote cells that hold the separator, or say what it is with --separator"
    refuse(f"'{path}' is ragged: {what}", fix or usual, "data")


def _refuse_row(path: Path, piece: bytes, separator: str, before: int, d: int) -> None:
    """Cell by cell: signs in quotes that are no quotes may have misled the count."""
    for place, cells in enumerate(csv.reader(io.StringIO(piece.decode(errors="replace")), delimiter=separator), 1):
        if cells and len(cells) != d:
            refuse_length(path, before + place, len(cells), d)


def _refuse_bytes(path: Path, piece: bytes, before: int) -> None:
    try:
        piece.decode("utf-8")
    except UnicodeDecodeError as error:
        line = before + piece.count(b"\n", 0, error.start) + 1
        refuse_encoding(path, f"not UTF-8 (byte 0x{piece[error.start]:02x} in line {line})", "latin1")
