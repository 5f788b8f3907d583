"""Delimited text whose numbers are written otherwise: 3,14 or 1.234,5 or 1,234.5."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from eigenlens.arrays import Array
from eigenlens.cli.signs import grouped, plain_number
from eigenlens.data.files.polars import import_polars
from eigenlens.data.files.text import DelimitedReader
from eigenlens.errors import DataError

__all__ = ["OtherNumbers"]

SWAPPED = bytes.maketrans(b",.", b".,")


class OtherNumbers(DelimitedReader):
    """A reader that sees numbers as Python writes them.

    With decimal commas it sees points and commas exchanged, so that 3,14 is a number and 3.14, which may be 314, is
    none. Columns that are not features keep their text.
    """

    _as_written = False

    def __init__(self, *given: Any, decimal: str, thousands: str | None, na: Sequence[str], **options: Any) -> None:
        self._decimal, self._thousands, self._na = decimal, thousands, tuple(na)
        self._grouped: re.Pattern[bytes] | None = None
        super().__init__(*given, na=[plain_number(token, decimal, thousands) for token in na], **options)

    def _records(self, path: Path, size: int | None = None) -> Iterator[bytes]:
        pieces = super()._records(path, size)
        return pieces if self._as_written else map(self._plain, pieces)

    def _plain(self, piece: bytes) -> bytes:
        if self._thousands:
            sign, cells = self._thousands.encode(), self._grouped or self._cells(self._thousands)
            piece = cells.sub(lambda found: found[0].replace(sign, b""), piece)
        return piece.translate(SWAPPED) if self._decimal == "," else piece

    def _cells(self, sign: str) -> re.Pattern[bytes]:
        """Whole cells that are numbers with this sign; where it also separates cells, those in quotes."""
        quoted = sign == self.dialect.separator
        ends = '"' if quoted else re.escape(self.dialect.separator) + r'"\r\n' + " " * (sign != " ")
        before, after = ('(?<=")', '(?=")') if quoted else (f"(?<![^{ends}])", f"(?![^{ends}])")
        self._grouped = re.compile(f"{before}{grouped(self._decimal, sign)}{after}".encode())
        return self._grouped

    def column(self, name: str) -> Array:
        """One whole column (n,): numbers where every entry is one, else text as it is written."""
        written = copy.copy(self)
        written._as_written = True
        written.dialect = self.dialect._replace(na=(*self._na, *self.dialect.na))
        return DelimitedReader.column(written, name)

    def _spelled(self, cells: Any) -> Any:
        """Numbers with points, and nothing between thousands."""
        plain = [None if cell is None else plain_number(cell, self._decimal, self._thousands) for cell in cells]
        return import_polars().Series(cells.name, plain, dtype=cells.dtype)

    def _in_file(self, cell: str) -> str:
        return cell.encode().translate(SWAPPED).decode() if self._decimal == "," else cell

    def _text_error(self) -> DataError:
        said = str(super()._text_error())
        more = " has text, or a point where numbers have commas,"
        return DataError(said.replace(" has text", more, 1) if self._decimal == "," else said)
