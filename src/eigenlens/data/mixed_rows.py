"""Blocks of rows whose columns differ in kind, and how numbers and codes are read from these and any other blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, to_numpy
from eigenlens.data.encoded import Encoded, encode, encode_numbers

__all__ = ["Field", "MixedRows", "codes_of", "mixed_rows", "numbers_of", "with_text"]


class Field(NamedTuple):
    """A column: its name, its kind, and the levels that its type declares.

    Kinds are "number", "integer", "boolean", "text", and "empty": nothing is there, and no type says what might be.
    """

    name: Any
    kind: str
    levels: tuple[Any, ...] | None = None


@dataclass(frozen=True, eq=False)
class MixedRows:
    """Some consecutive rows of mixed columns.

    Attributes:
        numbers: (b, p) the columns of numbers, integers and booleans, NaN where missing.
        codes: (b, q) int32, the columns of text as numbers of levels, −1 where missing. levels: (q,) their levels.
        places: (d,) where each column stands: p ≥ 0 in `numbers`, −1 − q in `codes`.
    """

    numbers: Array
    codes: Array
    levels: tuple[tuple[Any, ...], ...]
    places: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(b, d)."""
        return len(self.numbers), len(self.places)

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> MixedRows:
        return MixedRows(self.numbers[rows], self.codes[rows], self.levels, self.places)


def mixed_rows(columns: Sequence[Any], fields: Sequence[Field]) -> MixedRows:
    """Columns (b,) of narwhals, Polars or NumPy as a block: numbers as floats, text encoded."""
    numeric = [(column, field.kind) for column, field in zip(columns, fields, strict=True) if field.kind != "text"]
    numbers = np.empty((len(columns[0]), len(numeric)), order="F")
    for place, (column, kind) in enumerate(numeric):
        numbers[:, place] = np.nan if kind == "empty" else _floats(column)
    text = [_native(column) for column, field in zip(columns, fields, strict=True) if field.kind == "text"]
    return with_text(numbers, text, fields)


def with_text(numbers: Array, text: Sequence[Any], fields: Sequence[Field]) -> MixedRows:
    """A block of the columns of numbers (b, p) and those of text, (b,) each, which are encoded here."""
    codes = np.empty((len(numbers), len(text)), dtype=np.int32, order="F")
    levels: list[tuple[Any, ...]] = []
    for place, column in enumerate(text):
        codes[:, place], found = encode(column)
        levels.append(found)
    is_text = np.array([field.kind == "text" for field in fields], dtype=bool)
    places = np.where(is_text, -np.cumsum(is_text), np.cumsum(~is_text) - 1)
    return MixedRows(numbers, codes, tuple(levels), places)


def _native(column: Any) -> Any:
    return column.to_native() if hasattr(column, "to_native") else column


def _floats(column: Any) -> Array:
    if isinstance(column, np.ndarray):
        return _numbers(column)
    import narwhals.stable.v2 as nw

    narrow = {nw.Boolean: nw.Int8, nw.Int128: nw.Float64, nw.UInt128: nw.Float64}  # NumPy has no such integers
    kind = next((kind for wide, kind in narrow.items() if column.dtype == wide), None)
    return _numbers((column if kind is None else column.cast(kind)).to_numpy())


def _numbers(values: Array) -> Array:
    """Values (n,) as float64; of objects, whatever stands for a missing entry becomes NaN."""
    try:
        return np.asarray(values, dtype=np.float64)
    except TypeError:  # pandas' NA among objects
        from pandas import isna

        return np.where(isna(values), np.nan, values).astype(np.float64)


def numbers_of(rows: Any, columns: Array) -> Array:
    """Columns (g,) of a block of any kind as float32 or float64 numbers (b, g), a view where it can be; text is NaN."""
    if isinstance(rows, MixedRows):
        places = rows.places[columns]
        if np.all(places >= 0):
            return _taken(rows.numbers, places)
        found = rows.numbers[:, np.maximum(places, 0)] if rows.numbers.shape[1] else np.empty((len(rows.numbers), 0))
        found = found if found.shape[1] else np.empty((len(rows.numbers), len(places)))
        found[:, places < 0] = np.nan
        return found
    if is_sparse(rows):
        return dense(rows if len(columns) == rows.shape[1] else rows[:, columns])
    taken = _taken(to_numpy(rows), columns)
    return taken if taken.dtype in (np.float32, np.float64) else taken.astype(np.float64)


def _taken(rows: Array, columns: Array) -> Array:
    """Some columns: all of them and neighbours as a view, others as a copy."""
    first, count = int(columns[0]), len(columns)
    if np.array_equal(columns, np.arange(first, first + count)):
        return rows if count == rows.shape[1] else rows[:, first : first + count]
    return rows[:, columns]


def codes_of(rows: Any, columns: Array) -> Array | list[Encoded]:
    """Columns (g,) of a block as codes: integers (b, g) that are their own levels, or one `Encoded` a column."""
    if isinstance(rows, MixedRows):
        return [_encoded_column(rows, int(place)) for place in rows.places[columns]]
    if isinstance(rows, np.ndarray) and rows.dtype.kind in "iub":
        return _taken(rows, columns)
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        return [encode(rows[:, j]) for j in columns]
    return [encode_numbers(column) for column in numbers_of(rows, columns).T]


def _encoded_column(rows: MixedRows, place: int) -> Encoded:
    if place >= 0:
        return encode_numbers(rows.numbers[:, place])
    return Encoded(rows.codes[:, -1 - place], rows.levels[-1 - place])
