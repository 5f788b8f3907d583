"""What readers of delimited text and of tables share: Polars, frames as arrays, and what is said of files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["as_array", "fill", "import_polars", "listed", "same_columns", "text_error", "unreadable"]


def import_polars() -> Any:
    """The polars module, or the error that says how to install it."""
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
    """A column for the user: numbers as they are, text as NumPy strings, or objects with None where it is missing."""
    pl = import_polars()
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column.to_numpy()
    encoded = encode(column)  # one string per category, not per row
    if np.all(encoded.codes >= 0):
        return np.array(encoded.categories, dtype=str)[encoded.codes]
    return encoded.values()


def text_error(
    names: Sequence[str], count: int, where: str, value: str, na: Sequence[str] = (), levels: bool = False
) -> DataError:
    """The error for text in columns that should hold numbers, with the ways out; `levels`: it could be read as text."""
    more = f"; so do{'es' * (len(names) == 2)} {len(names) - 1} more" if len(names) > 1 else ""
    out = f"pass na={listed(na)} if that means missing, or leave" if na else "leave"
    beside, read = (" among numbers", f"read it as text with text={listed(names[:1])}, ") if levels else ("", "")
    return DataError(
        f"column {names[0]!r} has text{beside} in {count} row{'s' * (count != 1)} (first: {where}, {value!r}){more}: "
        f"{read}{out} it out with drop={listed(names)}, id= or label=."
    )


def listed(names: Sequence[str]) -> str:
    r"""Names as Python writes a list of them, each between double quotes.

    >>> print(listed(["n/a", 'q"q']))
    ["n/a", "q\"q"]
    """
    return json.dumps(list(names), ensure_ascii=False)


def same_columns(paths: Sequence[Path], columns: list[list[str]], *, ordered: bool = True) -> None:
    """Raise unless every file has the columns of the first, in the same order if `ordered`."""
    for path, names in zip(paths, columns, strict=True):
        if names != columns[0] and (ordered or set(names) != set(columns[0])):
            odd = [name for name in names if name not in columns[0]] or [n for n in columns[0] if n not in names]
            differ = f"{odd[0]!r} is in one only" if odd else "their order differs"
            raise DataError(
                f"'{path}' and '{paths[0]}' have different columns ({differ}): "
                f"the files of one scan need the same columns{' in the same order' * ordered}."
            )


def unreadable(path: Path, error: Exception) -> DataError:
    """What a library said about a file, with the file's name."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return DataError(f"'{path}' cannot be read: {reason}. Write it again, or check its suffix.")
