"""What a column holds: numbers, integers, booleans, text or nothing, by its type or, for objects, by its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.data.table import Field
from eigenlens.errors import DataError

__all__ = ["array_kind", "frame_field", "plain_column"]


def frame_field(name: Any, column: Any) -> Field:
    """The field of a narwhals column; dates and nested columns are refused."""
    import narwhals.stable.v2 as nw

    dtype = column.dtype
    if getattr(column.to_native(), "dtype", None) == np.dtype(object):  # pandas' objects: by what they are
        return Field(name, array_kind(name, column.to_numpy()))
    if dtype == nw.Boolean:
        return Field(name, "boolean", (False, True))
    if dtype.is_numeric():
        return Field(name, "integer" if dtype.is_integer() else "number")
    if dtype == nw.Object:
        return Field(name, array_kind(name, column.to_numpy()))
    if dtype == nw.Unknown and column.null_count() == len(column):
        return Field(name, "empty")
    if dtype not in (nw.String, nw.Categorical, nw.Enum, nw.Binary):
        said = getattr(column.to_native(), "dtype", dtype) if dtype == nw.Unknown else dtype
        raise _refused(name, f"holds {said}")
    return Field(name, "text", _declared(column.to_native()))


def _refused(name: Any, holds: str) -> DataError:
    return DataError(f"column {name!r} {holds}; give it as a number (days, say) or as text, or leave it out.")


def _declared(column: Any) -> tuple[Any, ...] | None:
    """Return the categories that a type declares: pandas' categories, a Polars Enum, an Arrow dictionary."""
    if hasattr(column, "unify_dictionaries"):
        return _of_dictionary(column)
    categories = getattr(column.dtype, "categories", None) if hasattr(column, "dtype") else None
    if categories is None or type(column.dtype).__name__ == "Categorical":  # Polars' does not declare its categories
        return None
    return tuple(categories.tolist() if hasattr(categories, "tolist") else categories.to_list())


def _of_dictionary(column: Any) -> tuple[Any, ...] | None:
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type) or not column.num_chunks:
        return None
    return tuple(column.unify_dictionaries().chunk(0).dictionary.to_pylist())


FOUND = {
    "integer": "integer", "boolean": "boolean", "floating": "number", "mixed-integer-float": "number",
    "decimal": "number", "empty": "empty",
}  # fmt: skip
"""Kinds of columns by what pandas finds in an array of objects; anything else that is not refused is text."""

REFUSED = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period", "interval", "complex")
"""What objects may be that is neither a number nor a category."""


def array_kind(name: Any, values: Array) -> str:
    """The kind of a NumPy column; objects that are all numbers are numbers."""
    if values.dtype.kind in "iufb":
        return {"b": "boolean", "f": "number"}.get(values.dtype.kind, "integer")
    if values.dtype.kind in "mMcV":
        raise _refused(name, f"has dtype {values.dtype}")
    if values.dtype.kind != "O" or isinstance(next((value for value in values if value is not None), None), str):
        return "text"  # whatever else is there; what cannot be a category is refused where it is encoded
    try:
        from pandas.api.types import infer_dtype
    except ImportError:
        return _kind_by_looking(values)
    found = infer_dtype(values, skipna=True)
    if found == "mixed":
        encode(values)  # what cannot be a category is refused here, whatever the family
    if found in REFUSED:
        raise _refused(name, f"holds objects that are of the kind {found!r}")
    return FOUND.get(found, "text")


def _kind_by_looking(values: Array) -> str:
    kinds = {type(value) for value in values if value is not None}
    if all(issubclass(kind, bool | np.bool_) for kind in kinds):
        return "boolean" if kinds else "empty"
    if any(not issubclass(kind, float | int | np.floating | np.integer) for kind in kinds):
        return "text"
    return "integer" if all(issubclass(kind, int | np.integer) for kind in kinds) else "number"


def plain_column(column: Array) -> Array:
    """An array of masked entries as objects, None where masked; bytes and text of any width as objects; else itself."""
    if isinstance(column, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(column), np.array(None), np.asarray(column, dtype=object))
    return column.astype(object) if column.dtype.kind in "ST" else column
