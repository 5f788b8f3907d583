"""Columns of levels as integer codes, by the library that holds them: a hash a value, and no loop over rows here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array

__all__ = ["ENCODERS", "Encoded", "encode", "encode_numbers"]

MOST_SLOTS = 1 << 16
"""Whole numbers over a range up to this are looked up by their value; others are sorted."""


class Encoded(NamedTuple):
    """A column as numbers of levels: codes (n,) int32, −1 where the value is missing, and the levels they stand for.

    Levels are different from each other, in any order; some of them may not occur.
    """

    codes: Array
    levels: tuple[Any, ...]


def encode(column: Any) -> Encoded:
    """A column of text or other levels (a pandas or Polars Series, an Arrow array, a NumPy array) as codes.

    >>> encode(np.array(["no", "yes", None, "no"], dtype=object)).codes.tolist()
    [0, 1, -1, 0]
    """
    return ENCODERS.get(type(column).__module__.split(".")[0], _objects)(column)


def _pandas(column: Any) -> Encoded:
    if hasattr(column.dtype, "categories"):
        return Encoded(column.cat.codes.to_numpy().astype(np.int32), tuple(column.cat.categories.tolist()))
    codes, levels = column.factorize()
    return Encoded(codes.astype(np.int32), tuple(levels.tolist()))


def _polars(column: Any) -> Encoded:
    """Polars keeps one pool of text for all categoricals: of its codes, those that occur here are counted off."""
    import polars as pl

    if isinstance(column.dtype, pl.Enum):
        codes = column.to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        return Encoded(codes, tuple(column.dtype.categories.to_list()))
    if column.dtype in (pl.Object, pl.Binary):  # bytes need not be text
        return _objects(np.array(column.to_list(), dtype=object))
    text = column if column.dtype in (pl.String, pl.Categorical) else column.cast(pl.String)
    pool = text.cast(pl.Categorical).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    codes, first = _counted_off(pool)
    return Encoded(codes, tuple(text[first].cast(pl.String).to_list()))


def _counted_off(pool: Array) -> tuple[Array, Array]:
    """Codes (n,) from 0 on for those of a pool, −1 staying what it is, and the row (L,) where each is met."""
    if pool.size and pool.max() > 4 * pool.size:
        pool = np.unique(pool, return_inverse=True)[1].reshape(-1) - int((pool < 0).any())
    rows = np.full(int(pool.max(initial=-1)) + 2, -1)
    rows[pool + 1] = np.arange(len(pool))
    rows[0] = -1  # where a value is missing
    present = rows >= 0
    return (np.cumsum(present) - 1).astype(np.int32)[pool + 1] * (pool >= 0) - (pool < 0), rows[present]


def _arrow(column: Any) -> Encoded:
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    coded = whole if isinstance(whole, pa.DictionaryArray) else whole.dictionary_encode()
    codes = coded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return Encoded(np.asarray(codes, dtype=np.int32), tuple(coded.dictionary.to_pylist()))


def _objects(column: Any) -> Encoded:
    """By pandas where it is installed, else by a dictionary of the values met."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return encode_numbers(values)
    objects = values.astype(object)
    try:
        return _by_pandas(objects)
    except ImportError:
        return _by_dictionary(objects)
    except TypeError:
        raise _no_level(objects) from None


def _by_pandas(values: Array) -> Encoded:
    from pandas import factorize

    codes, levels = factorize(values)
    return Encoded(codes.astype(np.int32), tuple(levels.tolist()))


def _by_dictionary(values: Array) -> Encoded:
    met: dict[Any, int] = {}
    try:
        codes = [-1 if value is None or value != value else met.setdefault(value, len(met)) for value in values]
    except TypeError:
        raise _no_level(values) from None
    return Encoded(np.array(codes, dtype=np.int32), tuple(met))


def _no_level(values: Array) -> TypeError:
    for i, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            return TypeError(
                f"row {i} holds {value!r}: the argument must be a string or a number, not a {type(value).__name__}."
            )
    return TypeError("a column holds values that cannot be levels: each must be a string or a number.")


def encode_numbers(values: Array) -> Encoded:
    """Numbers (n,) as codes of their values; NaN is missing. Whole numbers of a small range cost no sorting.

    >>> encode_numbers(np.array([3.0, np.nan, 1.0, 3.0]))
    Encoded(codes=array([ 1, -1,  0,  1], dtype=int32), levels=(1, 3))
    """
    seen = ~np.isnan(values) if values.dtype.kind == "f" else None
    if seen is None or seen.all():
        return Encoded(*_by_value(values))
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[seen], levels = _by_value(values[seen])
    return Encoded(codes, levels)


def _by_value(values: Array) -> tuple[Array, tuple[Any, ...]]:
    if not values.size:
        return np.empty(0, dtype=np.int32), ()
    low, high = values.min(), values.max()
    near = float(high) - float(low) < MOST_SLOTS
    if not near or (values.dtype.kind == "f" and not np.array_equal(values, np.rint(values))):
        levels, codes = np.unique(values, return_inverse=True)
        return codes.reshape(-1).astype(np.int32), tuple(levels.tolist())
    slots = values.astype(np.int64) - int(low)
    present = np.bincount(slots) > 0
    place = (np.cumsum(present) - 1).astype(np.int32)
    return place[slots], tuple((np.flatnonzero(present) + int(low)).tolist())


ENCODERS: dict[str, Callable[[Any], Encoded]] = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
"""How a column is encoded, by the library that holds it; everything else is made an array of objects."""
