"""What a column holds: numbers, integers, booleans or text, by its type or, for objects, by its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.encoded import encode
from eigenlens.data.mixed_rows import Field
from eigenlens.errors import DataError

__all__ = ["array_kind", "frame_field", "plain_column"]


def frame_field(name: Any, column: Any) -> Field:
    """The field of a narwhals column; dates and nested columns are refused."""
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if dtype == nw.Boolean:
        return Field(name, "boolean", (False, True))
    if dtype.is_numeric():
        return Field(name, "integer" if dtype.is_integer() else "number")
    if dtype == nw.Object:
        return Field(name, array_kind(name, column.to_numpy()))
    if dtype in (nw.Date, nw.Datetime, nw.Duration, nw.Time) or dtype.is_nested():
        raise DataError(f"column {name!r} holds {dtype}; give it as a number (days, say) or as text, or leave it out.")
    return Field(name, "text", _declared(column.to_native()))


def _declared(column: Any) -> tuple[Any, ...] | None:
    categories = getattr(column.dtype, "categories", None) if hasattr(column, "dtype") else None
    if categories is None or type(column.dtype).__name__ == "Categorical":  # Polars' does not declare its levels
        return None
    return tuple(categories.tolist() if hasattr(categories, "tolist") else categories.to_list())


NUMERIC = {
    "integer": "integer", "boolean": "boolean", "floating": "number", "mixed-integer-float": "number",
    "decimal": "number", "empty": "number",
}  # fmt: skip
"""Kinds of columns by what pandas finds in an array of objects; anything else is text."""


def array_kind(name: Any, values: Array) -> str:
    """The kind of a NumPy column; objects that are all numbers are numbers."""
    if values.dtype.kind in "iufb":
        return {"b": "boolean", "f": "number"}.get(values.dtype.kind, "integer")
    if values.dtype.kind in "mMcV":
        raise DataError(f"column {name!r} has dtype {values.dtype}; give it as numbers or as text, or leave it out.")
    if values.dtype.kind != "O":
        return "text"
    try:
        from pandas.api.types import infer_dtype
    except ImportError:
        return _kind_by_looking(values)
    found = infer_dtype(values, skipna=True)
    if found == "mixed":
        encode(values)  # what cannot be a level is refused here, whatever the family
    return NUMERIC.get(found, "text")


def _kind_by_looking(values: Array) -> str:
    kinds = {type(value) for value in values if value is not None}
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return "boolean" if kinds else "number"
    if any(not issubclass(kind, float | int | np.floating | np.integer) for kind in kinds):
        return "text"
    return "integer" if all(issubclass(kind, int | np.integer) for kind in kinds) else "number"


def plain_column(column: Array) -> Array:
    """A masked column as objects, None where masked; text of fixed width as objects; else itself."""
    if isinstance(column, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(column), np.array(None), np.asarray(column, dtype=object))
    return column.astype(object) if column.dtype.kind in "UST" else column
