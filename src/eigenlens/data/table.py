"""Blocks of rows whose columns differ in kind, made of columns and read as numbers or codes.

Numbers and codes are read from blocks of any kind: mixed columns, arrays, sparse matrices and tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, to_numpy
from eigenlens.data.categories import EncodedColumn, encode, encode_numbers
from eigenlens.data.column_kinds import Field

EXACT_FLOAT_LIMIT = 2.0**53
"""Below this limit floats hold whole numbers without rounding: 53 bits of mantissa."""


@dataclass(frozen=True, eq=False)
class MixedRows:
    """Some consecutive rows of mixed columns.

    Attributes:
        numbers: (b, p) the columns of numbers, integers and booleans, NaN where missing; integers if all of them are.
        codes: (b, q) int32, the columns of text as numbers of categories, −1 where missing; and those of integers that
            floats would round. categories: (q,) their categories.
        places: (d,) where each column stands: p ≥ 0 in `numbers`, −1 − q in `codes`.
    """

    numbers: Array
    codes: Array
    categories: tuple[tuple[Any, ...], ...]
    places: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return the shape (b, d) of the block."""
        return len(self.numbers), len(self.places)

    def __len__(self) -> int:
        return len(self.numbers)

    def large(self, column: int) -> bool:
        """Return whether a column has codes for integers that floats would round."""
        categories = self.categories[-1 - self.places[column]] if self.places[column] < 0 else ()
        return all(isinstance(category, int) for category in categories) and any(
            abs(category) >= EXACT_FLOAT_LIMIT for category in categories
        )

    def __getitem__(self, rows: Any) -> MixedRows:
        return MixedRows(self.numbers[rows], self.codes[rows], self.categories, self.places)


def mixed_rows(columns: Sequence[Any], fields: Sequence[Field]) -> MixedRows:
    """Return columns (b,) of narwhals, Polars or NumPy as a block: integers, floats, and text encoded."""
    kept: list[Array | EncodedColumn] = []
    for column, field in zip(columns, fields, strict=True):
        kept.append(encode(_native(column)) if field.kind == "text" else _values(column, field.kind))
    numeric = [part for part in kept if isinstance(part, np.ndarray)]
    dtype = np.result_type(*numeric) if numeric else np.dtype(np.float64)
    if dtype.kind not in "iu":
        kept = [part if isinstance(part, EncodedColumn) else _exact(part) for part in kept]
        numeric, dtype = [part for part in kept if isinstance(part, np.ndarray)], np.dtype(np.float64)
    numbers = np.empty((len(columns[0]), len(numeric)), dtype=dtype, order="F")
    for place, part in enumerate(numeric):
        numbers[:, place] = part
    encoded = [part for part in kept if isinstance(part, EncodedColumn)]
    return _placed(numbers, encoded, [isinstance(part, EncodedColumn) for part in kept])


def join_text_columns(
    numbers: Array, text: Sequence[Any], fields: Sequence[Field], exact: Mapping[int, EncodedColumn] | None = None
) -> MixedRows:
    """Return a block of columns of numbers (b, p) and columns of text, (b,) each, which are encoded here.

    `exact` has codes for columns of integers, by number, that are rounded among the numbers.
    """
    exact = exact or {}
    is_text = [field.kind == "text" for field in fields]
    numeric = [j for j, word in enumerate(is_text) if not word]
    kept = [place for place, j in enumerate(numeric) if j not in exact]
    words = iter(text)
    encoded = [exact[j] if j in exact else encode(next(words)) for j, word in enumerate(is_text) if word or j in exact]
    return _placed(numbers[:, kept] if exact else numbers, encoded, [w or j in exact for j, w in enumerate(is_text)])


def _placed(numbers: Array, encoded: Sequence[EncodedColumn], is_code: Sequence[bool]) -> MixedRows:
    """Return a block of columns of numbers (b, p) and of codes; `is_code` has one entry per column."""
    codes = np.empty((len(numbers), len(encoded)), dtype=np.int32, order="F")
    for place, column in enumerate(encoded):
        codes[:, place] = column.codes
    chosen = np.array(is_code, dtype=bool)
    places = np.where(chosen, -np.cumsum(chosen), np.cumsum(~chosen) - 1)
    return MixedRows(numbers, codes, tuple(column.categories for column in encoded), places)


def _native(column: Any) -> Any:
    return column.to_native() if hasattr(column, "to_native") else column


def _values(column: Any, kind: str) -> Array | EncodedColumn:
    """Return a column of numbers (b,): integers if none is missing, else floats, or codes where floats would round."""
    if kind == "empty":
        return np.full(len(column), np.nan)
    values = column if isinstance(column, np.ndarray) else _read(column)
    if values.dtype.kind in "iu":
        return values
    floats = _numbers(values)
    return encode(column) if kind == "integer" and exceeds_float_precision(floats) else floats


def _exact(values: Array) -> Array | EncodedColumn:
    """Return integers beside columns of floats: unchanged, or as codes where they would be rounded."""
    return encode_numbers(values) if values.dtype.kind in "iu" and exceeds_float_precision(values) else values


def exceeds_float_precision(values: Array) -> bool:
    """Return whether floats round whole numbers of this size."""
    if not values.size or (values.dtype.kind in "iu" and values.itemsize < 8):
        return False
    return bool(np.nanmax(values, initial=0) >= EXACT_FLOAT_LIMIT or np.nanmin(values, initial=0) <= -EXACT_FLOAT_LIMIT)


def _read(column: Any) -> Array:
    """Return a narwhals column as an array of the NumPy type nearest to its own."""
    import narwhals.stable.v2 as nw

    narrow = {nw.Boolean: nw.Int8, nw.Int128: nw.Float64, nw.UInt128: nw.Float64}  # NumPy has no such integers
    kind = next((kind for wide, kind in narrow.items() if column.dtype == wide), None)
    return np.asarray((column if kind is None else column.cast(kind)).to_numpy())


def _numbers(values: Array) -> Array:
    """Return values (n,) as float64; missing entries of objects become NaN."""
    try:
        return np.asarray(values, dtype=np.float64)
    except TypeError:  # pandas' NA among objects
        from pandas import isna

        return np.where(isna(values), np.nan, values).astype(np.float64)


HEAD = 256
"""The number of rows that mostly show that numbers are not whole."""


def numbers_of(rows: Any, columns: Array) -> Array:
    """Return columns (g,) of a block as float32 or float64 numbers (b, g), a view where possible; text is NaN."""
    if isinstance(rows, MixedRows):
        places = rows.places[columns]
        return _floating(_taken(rows.numbers, places)) if np.all(places >= 0) else _gathered(rows, columns)
    if is_sparse(rows):
        return dense(rows if len(columns) == rows.shape[1] else rows[:, columns])
    return _floating(_taken(to_numpy(rows), columns))


def _floating(values: Array) -> Array:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _gathered(rows: MixedRows, columns: Array) -> Array:
    """Return columns of numbers and large integers as floats (b, g); those of text are NaN."""
    found = np.full((len(rows), len(columns)), np.nan)
    for j, column in enumerate(columns.tolist()):
        place = rows.places[column]
        if place >= 0:
            found[:, j] = rows.numbers[:, place]
        elif rows.large(column):
            found[:, j] = np.array([*rows.categories[-1 - place], np.nan], dtype=np.float64)[rows.codes[:, -1 - place]]
    return found


def _taken(rows: Array, columns: Array) -> Array:
    """Return some columns: all of them or neighbours as a view, others as a copy."""
    first, count = int(columns[0]), len(columns)
    if np.array_equal(columns, np.arange(first, first + count)):
        return rows if count == rows.shape[1] else rows[:, first : first + count]
    return rows[:, columns]


def codes_of(rows: Any, columns: Array) -> Array | list[EncodedColumn]:
    """Return columns (g,) of a block as codes: integers (b, g), their own categories, or one `EncodedColumn` each."""
    found = integers_of(rows, columns)
    if found is not None:
        return found
    if isinstance(rows, MixedRows):
        return [_encoded_column(rows, place) for place in rows.places[columns].tolist()]
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        return [encode(rows[:, j]) for j in columns]
    return [encode_numbers(column) for column in numbers_of(rows, columns).T]


def integers_of(rows: Any, columns: Array) -> Array | None:
    """Return columns (g,) of a block as integers (b, g), a view where possible; None if one is not whole or missing."""
    if isinstance(rows, MixedRows):
        places = rows.places[columns]
        return None if np.any(places < 0) else _whole(_taken(rows.numbers, places))
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        return None
    return _whole(numbers_of(rows, columns) if is_sparse(rows) else _taken(to_numpy(rows), columns))


def is_integer(rows: Any) -> bool:
    """Return whether rows are an array of integers or booleans, which can be used as codes."""
    return isinstance(rows, np.ndarray) and rows.dtype.kind in "iub"


def _whole(numbers: Array) -> Array | None:
    if is_integer(numbers):
        return numbers
    with np.errstate(invalid="ignore"):  # other numbers become garbage here, which the comparison below rejects
        for part in (numbers[:HEAD], numbers):
            codes = part.astype(np.int32)
            if not np.array_equal(codes, part):
                return None
    return codes


def _encoded_column(rows: MixedRows, place: int) -> EncodedColumn:
    if place >= 0:
        return encode_numbers(rows.numbers[:, place])
    column = EncodedColumn(rows.codes[:, -1 - place], rows.categories[-1 - place])
    return (
        column.drop_unused() if len(column.categories) > len(rows) else column
    )  # of a few rows of many, few categories
