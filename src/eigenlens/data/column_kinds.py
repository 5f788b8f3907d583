"""The kinds of columns: numbers, integers, booleans, text, text among numbers, or nothing.

There is one vocabulary, `ColumnKind`, and one decision for each container: `frame_field` for columns of frames,
`array_kind` for NumPy columns, `stored_field` for columns of files that declare their types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import declared_categories, encode
from eigenlens.errors import DataError


class ColumnKind(StrEnum):
    """The kind of the entries of a column."""

    NUMBER = "number"
    """Floating-point numbers."""
    INTEGER = "integer"
    """Whole numbers, which floats may round."""
    BOOLEAN = "boolean"
    TEXT = "text"
    """Text, categories or bytes: categories for the models that take them."""
    MIXED = "mixed"
    """Numbers and text mixed in a column of delimited text: an error unless the column is declared as text."""
    EMPTY = "empty"
    """All entries are missing, and no type is declared."""
    OTHER = "other"
    """Dates, times and nested values, which no model takes."""

    def __repr__(self) -> str:
        return repr(self.value)


class Field(NamedTuple):
    """A column: its name, its kind, and the categories that its type declares; `holds` describes OTHER columns."""

    name: Any
    kind: ColumnKind
    categories: tuple[Any, ...] | None = None
    holds: str = ""


def join_kinds(kinds: Iterable[ColumnKind]) -> ColumnKind:
    """Return the kind of a column that has these kinds in several files; text among numbers is mixed.

    >>> K = ColumnKind
    >>> join_kinds([K.EMPTY, K.TEXT]), join_kinds([K.NUMBER, K.TEXT]), join_kinds([K.BOOLEAN, K.INTEGER])
    ('text', 'mixed', 'number')
    """
    distinct = set(kinds) - {ColumnKind.EMPTY}
    if len(distinct) < 2:
        return distinct.pop() if distinct else ColumnKind.EMPTY
    return ColumnKind.MIXED if distinct & {ColumnKind.TEXT, ColumnKind.MIXED} else ColumnKind.NUMBER


def frame_field(name: Any, column: Any) -> Field:
    """Return the field of a narwhals column; dates and nested columns are an error."""
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    # The kind of a column of objects, pandas' included, is decided by its values.
    if dtype == nw.Object or getattr(column.to_native(), "dtype", None) == np.dtype(object):
        return Field(name, array_kind(name, column.to_numpy()))
    if dtype == nw.Boolean:
        return Field(name, ColumnKind.BOOLEAN, (False, True))
    if dtype.is_numeric():
        return Field(name, ColumnKind.INTEGER if dtype.is_integer() else ColumnKind.NUMBER)
    if dtype == nw.Unknown and column.null_count() == len(column):
        return Field(name, ColumnKind.EMPTY)
    if dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Binary):
        native = getattr(column.to_native(), "dtype", dtype) if dtype == nw.Unknown else dtype
        raise _not_usable(name, f"holds {native}")
    return Field(name, ColumnKind.TEXT, declared_categories(column.to_native()))


def _not_usable(name: Any, holds: str) -> DataError:
    fix = "give it as a number (days, say) or as text, or leave it out"
    return DataError(f"column {name!r} {holds}", columns=[str(name)], fix=fix)


INFERRED_KINDS = {
    "integer": ColumnKind.INTEGER,
    "boolean": ColumnKind.BOOLEAN,
    **dict.fromkeys(("floating", "mixed-integer-float", "decimal"), ColumnKind.NUMBER),
    "empty": ColumnKind.EMPTY,
}
"""Kinds of columns by what pandas infers from an array of objects; anything else that is not rejected is text."""

REJECTED = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period", "interval", "complex")
"""Types inferred by pandas whose values are neither numbers nor categories."""


def array_kind(name: Any, values: Array) -> ColumnKind:
    """Return the kind of a NumPy column; objects that are all numbers are numbers."""
    if values.dtype.kind in "iufb":
        kinds = {"b": ColumnKind.BOOLEAN, "f": ColumnKind.NUMBER}
        return kinds.get(values.dtype.kind, ColumnKind.INTEGER)
    if values.dtype.kind in "mMcV":
        raise _not_usable(name, f"has dtype {values.dtype}")
    if values.dtype.kind != "O" or isinstance(next((value for value in values if value is not None), None), str):
        return ColumnKind.TEXT  # anything else: the encoder rejects values that cannot be categories
    try:
        from pandas.api.types import infer_dtype
    except ImportError:
        return _kind_by_values(values)
    found = infer_dtype(values, skipna=True)
    if found == "mixed":
        encode(values)  # raises for values that cannot be categories, whatever the family
    if found in REJECTED:
        raise _not_usable(name, f"holds objects of the kind {found!r}")
    return INFERRED_KINDS.get(found, ColumnKind.TEXT)


def _kind_by_values(values: Array) -> ColumnKind:
    """Return the kind of an array of objects where pandas is not installed."""
    kinds = {type(value) for value in values if value is not None}
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return ColumnKind.BOOLEAN if kinds else ColumnKind.EMPTY
    if any(not issubclass(kind, float | int | np.floating | np.integer) for kind in kinds):
        return ColumnKind.TEXT
    whole = all(issubclass(kind, int | np.integer) for kind in kinds)
    return ColumnKind.INTEGER if whole else ColumnKind.NUMBER


def plain_column(column: Array) -> Array:
    """Return a column with masked entries as None and bytes or text as objects; any other column unchanged."""
    if isinstance(column, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(column), np.array(None), np.asarray(column, dtype=object))
    return column.astype(object) if column.dtype.kind in "ST" else column


# ---- files that declare their types ---------------------------------------------------------------------------


def stored_field(name: str, types: Mapping[Path, Any]) -> Field:
    """Return the field of a column by its Polars types in each of several files.

    Numbers of different types are numbers. Text in one file and numbers in another are an error.
    """
    kinds = {path: polars_kind(dtype) for path, dtype in types.items()}
    distinct = [kind for kind in dict.fromkeys(kinds.values()) if kind != ColumnKind.EMPTY]
    if ColumnKind.OTHER in distinct:
        other = next(types[path] for path, kind in kinds.items() if kind == ColumnKind.OTHER)
        return Field(name, ColumnKind.OTHER, holds=_describe_type(other))
    if ColumnKind.TEXT in distinct and len(distinct) > 1:
        text, other = (next(p for p, k in kinds.items() if (k == ColumnKind.TEXT) == w) for w in (True, False))
        what = f"column {name!r} holds text in '{text}' ({types[text]}) and numbers in '{other}' ({types[other]})"
        fix = "write it as one kind, or leave it out with {drop}"
        raise DataError(what, columns=[name], fix=fix, settings={"drop": [name]})
    if len(distinct) != 1:
        return Field(name, ColumnKind.NUMBER)
    return Field(name, distinct[0], _enum_categories(list(types.values())) if distinct[0] == ColumnKind.TEXT else None)


def polars_kind(dtype: Any) -> ColumnKind:
    """Return the kind of a column by its Polars type.

    >>> import polars as pl
    >>> [polars_kind(dtype) for dtype in (pl.Float32, pl.Int8, pl.Boolean, pl.String, pl.Date, pl.Null)]
    ['number', 'integer', 'boolean', 'text', 'other', 'empty']
    """
    if dtype.is_numeric():
        return ColumnKind.INTEGER if dtype.is_integer() else ColumnKind.NUMBER
    name = str(dtype).partition("(")[0]
    return POLARS_KINDS.get(name, ColumnKind.OTHER)


def polars_number_kind(column: Any) -> ColumnKind | None:
    """Return the kind of a column of numbers; integers of more than 64 bits are read as floats. None for others."""
    if not column.dtype.is_numeric() or column.null_count() == len(column):
        return None
    return ColumnKind.NUMBER if str(column.dtype).endswith("128") else polars_kind(column.dtype)


POLARS_KINDS = {
    "Boolean": ColumnKind.BOOLEAN,
    "Null": ColumnKind.EMPTY,
    **dict.fromkeys(("String", "Categorical", "Enum", "Binary"), ColumnKind.TEXT),
}
"""Kinds of columns by the names of Polars types that are not numeric; any other is dates, times or nested."""


def _describe_type(dtype: Any) -> str:
    kind = "dates or times" if dtype.is_temporal() else "nested values" if dtype.is_nested() else "no numbers"
    return f"{kind} ({dtype})"


def _enum_categories(types: list[Any]) -> tuple[Any, ...] | None:
    """Return the categories that the Enum types of all files declare, in order; None where a type declares none."""
    if not all(str(dtype).startswith("Enum") for dtype in types):
        return None
    return tuple(dict.fromkeys(level for dtype in types for level in dtype.categories.to_list()))
