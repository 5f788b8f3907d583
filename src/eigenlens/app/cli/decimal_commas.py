"""Delimited text whose numbers have commas: 3,14."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eigenlens.arrays import Array
from eigenlens.data.delimited import DelimitedReader
from eigenlens.errors import DataError

__all__ = ["DecimalCommaReader"]

SWAPPED = bytes.maketrans(b",.", b".,")


class DecimalCommaReader(DelimitedReader):
    """A reader that sees points and commas exchanged, so that 3,14 is a number and 3.14, which may be 314, is none.

    Columns that are not features keep their text.
    """

    _as_written = False

    def _records(self, path: Path, size: int | None = None) -> Iterator[bytes]:
        pieces = super()._records(path, size)
        return pieces if self._as_written else (piece.translate(SWAPPED) for piece in pieces)

    def column(self, name: str) -> Array:
        """One whole column (n,): numbers where every entry is one, else text as it is written."""
        import numpy as np

        self._as_written = True
        try:
            found = super().column(name)
        finally:
            self._as_written = False
        return _numbers(found) if found.dtype.kind in "UO" else np.asarray(found)

    def _text_error(self) -> DataError:
        said = str(super()._text_error()).replace("has text", "has text, or a point where numbers have commas,")
        return DataError(re.sub(r"'([^']*)'\)", lambda found: f"'{_swapped(found[1])}')", said))


def _swapped(text: str) -> str:
    return text.encode().translate(SWAPPED).decode()


def _numbers(text: Any) -> Array:
    """Text as floats where every entry is a number with a comma."""
    import numpy as np

    try:
        return np.array([float("nan") if cell is None else float(str(cell).replace(",", ".")) for cell in text])
    except ValueError:
        return np.asarray(text)
