"""Columns of levels as codes: strings, categoricals, integers, booleans, dates as they come; null is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.data.level_arrays import (
    BY_DTYPE,
    Coded,
    as_objects,
    coded_array,
    coded_objects,
)

__all__ = ["BY_DTYPE", "CODERS", "Coded", "coded"]


def coded(values: Any) -> Coded:
    """A column (n,) or (n, 1) as codes of its levels, hashed or counted by value; floats are sorted.

    >>> coded(["no", "yes", None, "no"])
    Coded(codes=array([ 0,  1, -1,  0]), levels=('no', 'yes'), declared=False)
    """
    for recognised, code in CODERS:
        if recognised(values):
            return code(values)
    return coded_array(values)


def _library(values: Any) -> str:
    return type(values).__module__.split(".")[0]


def _is_pandas_categorical(values: Any) -> bool:
    return _library(values) == "pandas" and hasattr(getattr(values, "dtype", None), "categories")


def _pandas_categorical(values: Any) -> Coded:
    column = values.cat if hasattr(values, "cat") else values
    codes = np.asarray(column.codes).astype(np.intp)
    return Coded(codes, tuple(column.categories.tolist()), declared=True)


def _is_pandas(values: Any) -> bool:
    return _library(values) == "pandas" and getattr(values, "ndim", 0) == 1


def _pandas(values: Any) -> Coded:
    """Nullable columns keep their values as objects, their gaps as NA; text columns are objects."""
    if getattr(values.dtype, "na_value", None) is None or isinstance(values.dtype, np.dtype):
        array = values.to_numpy()
        return BY_DTYPE.get(array.dtype.kind, coded_objects)(array)
    return _declared_booleans(coded_objects(values.to_numpy(dtype=object)), "bool" in str(values.dtype))


def _is_polars(values: Any) -> bool:
    return _library(values) == "polars" and hasattr(values, "to_physical")


def _polars(values: Any) -> Coded:
    """An Enum declares its levels; a Categorical does not, its pool of strings being shared with other columns."""
    kind = type(values.dtype).__name__ if not isinstance(values.dtype, type) else values.dtype.__name__
    if kind == "Enum":
        codes = values.to_physical().cast(int).fill_null(-1).to_numpy().astype(np.intp)
        return Coded(codes, tuple(values.dtype.categories.to_list()), declared=True)
    if values.null_count() or values.dtype.is_nested() or not values.dtype.is_numeric():
        return _declared_booleans(coded_objects(as_objects(values.to_list())), kind == "Boolean")
    array = values.to_numpy()
    return BY_DTYPE[array.dtype.kind](array)


def _declared_booleans(found: Coded, boolean: bool) -> Coded:
    """Booleans with gaps: two levels, whichever occur."""
    if not boolean:
        return found
    place = np.array([int(level) for level in found.levels] + [-1], dtype=np.intp)
    return Coded(place[found.codes], (False, True), declared=True)


def _is_narrow_frame(values: Any) -> bool:
    return hasattr(values, "columns") and getattr(values, "shape", (0, 0))[1:] == (1,)


def _narrow_frame(values: Any) -> Coded:
    return coded(values[values.columns[0]] if hasattr(values, "dtypes") else values.column(0))


def _is_arrow(values: Any) -> bool:
    return _library(values) == "pyarrow" and hasattr(values, "to_pylist")


def _arrow(values: Any) -> Coded:
    return _declared_booleans(coded_objects(as_objects(values.to_pylist())), str(values.type) == "bool")


CODERS: list[tuple[Callable[[Any], bool], Callable[[Any], Coded]]] = [
    (_is_narrow_frame, _narrow_frame),
    (_is_arrow, _arrow),
    (_is_pandas_categorical, _pandas_categorical),
    (_is_pandas, _pandas),
    (_is_polars, _polars),
]
"""Columns that know more than an array of their values would."""
