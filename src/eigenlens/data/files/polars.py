"""Polars for the readers of files: its import, frames as arrays, and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from polars import DataFrame, Series


def import_polars() -> Any:
    """Import polars, or raise the error that says how to install it."""
    try:
        import polars
    except ImportError as error:
        raise MissingExtra("polars", extra="tables", need="reading tables from files") from error
    return polars


def fill(blocks: list[Array], frame: DataFrame, first: int = 0) -> None:
    """Copy the columns of a frame into columns `first`… of consecutive blocks; nulls become NaN."""
    for place, column in enumerate(frame.iter_columns(), first):
        values = column.to_numpy()
        start = 0
        for block in blocks:
            block[:, place] = values[start : start + len(block)]
            start += len(block)


def as_array(column: Series) -> Array:
    """Return a column for the user: numbers unchanged, text as NumPy strings, or objects with None where missing."""
    pl = import_polars()
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column.to_numpy()
    encoded = encode(column)  # one string per category, not per row
    if np.all(encoded.codes >= 0):
        return np.array(encoded.categories, dtype=str)[encoded.codes]
    return encoded.values()


def same_columns(paths: Sequence[Path], columns: list[list[str]]) -> None:
    """Raise unless every file has the columns of the first, in any order."""
    for path, names in zip(paths, columns, strict=True):
        odd = sorted(set(names) ^ set(columns[0]), key=[*names, *columns[0]].index)
        if odd:
            what = f"'{path}' and '{paths[0]}' have different columns ({odd[0]!r} is in one only)"
            raise DataError(what, columns=odd, fix="files that are read together need the same columns")


def unreadable(path: Path, error: Exception) -> DataError:
    """Return the error for a file that a library cannot read, with the first line of its message."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return DataError(f"'{path}' cannot be read ({reason.rstrip('.')})", fix="write it again, or check its suffix")
