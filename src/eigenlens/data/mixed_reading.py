"""How numbers and codes are read from blocks of any kind: of mixed columns, arrays, sparse matrices and tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, to_numpy
from eigenlens.data.encoded import Encoded, encode, encode_numbers
from eigenlens.data.mixed_rows import MixedRows

__all__ = ["codes_of", "integers_of", "is_integer", "numbers_of"]

HEAD = 256
"""Rows that show at once that numbers are not whole."""


def numbers_of(rows: Any, columns: Array) -> Array:
    """Columns (g,) of a block of any kind as float32 or float64 numbers (b, g), a view where it can be; text is NaN."""
    if isinstance(rows, MixedRows):
        places = rows.places[columns]
        return _floating(_taken(rows.numbers, places)) if np.all(places >= 0) else _gathered(rows, columns)
    if is_sparse(rows):
        return dense(rows if len(columns) == rows.shape[1] else rows[:, columns])
    return _floating(_taken(to_numpy(rows), columns))


def _floating(values: Array) -> Array:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _gathered(rows: MixedRows, columns: Array) -> Array:
    """Columns of numbers, and large integers, as floats (b, g); those of text are NaN."""
    found = np.full((len(rows), len(columns)), np.nan)
    for j, column in enumerate(columns.tolist()):
        place = rows.places[column]
        if place >= 0:
            found[:, j] = rows.numbers[:, place]
        elif rows.large(column):
            found[:, j] = np.array([*rows.levels[-1 - place], np.nan], dtype=np.float64)[rows.codes[:, -1 - place]]
    return found


def _taken(rows: Array, columns: Array) -> Array:
    """Some columns: all of them and neighbours as a view, others as a copy."""
    first, count = int(columns[0]), len(columns)
    if np.array_equal(columns, np.arange(first, first + count)):
        return rows if count == rows.shape[1] else rows[:, first : first + count]
    return rows[:, columns]


def codes_of(rows: Any, columns: Array) -> Array | list[Encoded]:
    """Columns (g,) of a block as codes: integers (b, g) that are their own levels, or one `Encoded` a column."""
    found = integers_of(rows, columns)
    if found is not None:
        return found
    if isinstance(rows, MixedRows):
        return [_encoded_column(rows, place) for place in rows.places[columns].tolist()]
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        return [encode(rows[:, j]) for j in columns]
    return [encode_numbers(column) for column in numbers_of(rows, columns).T]


def integers_of(rows: Any, columns: Array) -> Array | None:
    """Columns (g,) of a block as integers (b, g), a view where it can be; None where an entry is none, or missing."""
    if isinstance(rows, MixedRows):
        places = rows.places[columns]
        return None if np.any(places < 0) else _whole(_taken(rows.numbers, places))
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        return None
    return _whole(numbers_of(rows, columns) if is_sparse(rows) else _taken(to_numpy(rows), columns))


def is_integer(rows: Any) -> bool:
    """Whether rows are an array of integers or booleans, which are codes as they are."""
    return isinstance(rows, np.ndarray) and rows.dtype.kind in "iub"


def _whole(numbers: Array) -> Array | None:
    if is_integer(numbers):
        return numbers
    with np.errstate(invalid="ignore"):  # of what is not such a number something else is made, and then refused
        for part in (numbers[:HEAD], numbers):
            codes = part.astype(np.int32)
            if not np.array_equal(codes, part):
                return None
    return codes


def _encoded_column(rows: MixedRows, place: int) -> Encoded:
    if place >= 0:
        return encode_numbers(rows.numbers[:, place])
    column = Encoded(rows.codes[:, -1 - place], rows.levels[-1 - place])
    return column.met() if len(column.levels) > len(rows) else column  # of a few rows of many, few levels
