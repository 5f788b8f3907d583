"""A column of categories as integer codes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.fixed_text import fixed_width_codes

__all__ = ["ENCODERS", "EncodedColumn", "encode", "encode_integers", "encode_numbers"]

MAX_LOOKUP_RANGE = 1 << 16
"""Whole numbers over a range up to this are looked up by their value; others are sorted."""


class EncodedColumn(NamedTuple):
    """A column as codes (n,) int32, −1 where the value is missing, and the categories that they stand for.

    Categories are different from each other, in any order; some of them may not occur.
    """

    codes: Array
    categories: tuple[Any, ...]

    def drop_unused(self) -> EncodedColumn:
        """The same column without the categories that do not occur.

        >>> EncodedColumn(np.array([2, -1, 2], dtype=np.int32), ("a", "b", "c")).drop_unused()
        EncodedColumn(codes=array([ 0, -1,  0], dtype=int32), categories=('c',))
        """
        present = np.zeros(len(self.categories) + 1, dtype=bool)  # the last is of missing values
        present[self.codes] = True
        present[-1] = False
        place = np.cumsum(present, dtype=np.int32) - np.int32(1)
        place[-1] = -1
        return EncodedColumn(place[self.codes], tuple(self.categories[k] for k in np.flatnonzero(present).tolist()))


def encode(column: Any) -> EncodedColumn:
    """A column of text or other categories (a pandas or Polars Series, an Arrow array, a NumPy array) as codes.

    >>> encode(np.array(["no", "yes", None, "no"], dtype=object)).codes.tolist()
    [0, 1, -1, 0]
    """
    return ENCODERS.get(type(column).__module__.split(".")[0], _objects)(column)


def _pandas(column: Any) -> EncodedColumn:
    if hasattr(column.dtype, "categories"):
        return EncodedColumn(column.cat.codes.to_numpy().astype(np.int32), tuple(column.cat.categories.tolist()))
    if column.dtype == object:  # as an array, which pandas is sooner done with
        return _objects(column.to_numpy())
    codes, categories = column.factorize()
    return EncodedColumn(codes.astype(np.int32), tuple(categories.tolist()))


def _polars(column: Any) -> EncodedColumn:
    """Polars keeps one pool of text for all categoricals: of its codes, those that occur here are counted off."""
    import polars as pl

    if isinstance(column.dtype, pl.Enum):
        codes = column.to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
        return EncodedColumn(codes, tuple(column.dtype.categories.to_list()))
    if column.dtype in (pl.Object, pl.Binary):  # bytes need not be text
        return _objects(np.array(column.to_list(), dtype=object))
    text = column if column.dtype in (pl.String, pl.Categorical) else column.cast(pl.String)
    pool = text.cast(pl.Categorical).to_physical()
    gaps = pool.is_null().to_numpy() if pool.null_count() else None
    codes, first = _counted_off(pool.fill_null(0).to_numpy() if gaps is not None else pool.to_numpy(), gaps)
    return EncodedColumn(codes, tuple(text[first].cast(pl.String).to_list()))


def _counted_off(pool: Array, gaps: Array | None) -> tuple[Array, Array]:
    """Codes (n,) from 0 on for those of a pool, −1 in gaps (n,), and the row (L,) where each is met."""
    if pool.size and pool.max() > 4 * pool.size:
        pool = np.unique(pool, return_inverse=True)[1].reshape(-1)
    rows = np.full(int(pool.max(initial=0)) + 1, -1)
    if gaps is None:
        rows[pool] = np.arange(len(pool))
    else:
        rows[pool[~gaps]] = np.flatnonzero(~gaps)
    present = rows >= 0
    codes = (np.cumsum(present, dtype=np.int32) - np.int32(1))[pool]
    if gaps is not None:
        codes[gaps] = -1
    return codes, rows[present]


def _arrow(column: Any) -> EncodedColumn:
    import pyarrow as pa

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    coded = whole if isinstance(whole, pa.DictionaryArray) else whole.dictionary_encode()
    codes = coded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return EncodedColumn(np.asarray(codes, dtype=np.int32), tuple(coded.dictionary.to_pylist()))


def _objects(column: Any) -> EncodedColumn:
    """By pandas where it is installed, else by a dictionary of the values met."""
    values = np.asarray(column)
    if values.dtype.kind in "fiub":
        return encode_numbers(values)
    if values.dtype.kind == "U":
        return EncodedColumn(*fixed_width_codes(values))
    objects = values.astype(object, copy=False)
    try:
        return _by_pandas(objects)
    except ImportError:
        return _by_dictionary(objects)
    except TypeError:
        raise _no_level(objects) from None


def _by_pandas(values: Array) -> EncodedColumn:
    from pandas import factorize

    codes, categories = factorize(values)
    return EncodedColumn(codes.astype(np.int32), tuple(categories.tolist()))


def _by_dictionary(values: Array) -> EncodedColumn:
    met: dict[Any, int] = {}
    try:
        codes = [-1 if value is None or value != value else met.setdefault(value, len(met)) for value in values]
    except TypeError:
        raise _no_level(values) from None
    return EncodedColumn(np.array(codes, dtype=np.int32), tuple(met))


def _no_level(values: Array) -> TypeError:
    for i, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            return TypeError(
                f"row {i} holds {value!r}: the argument must be a string or a number, not a {type(value).__name__}."
            )
    return TypeError("a column holds values that cannot be categories: each must be a string or a number.")


def encode_numbers(values: Array) -> EncodedColumn:
    """Numbers (n,) as codes of their values; NaN is missing. Whole numbers of a small range cost no sorting.

    >>> encode_numbers(np.array([3.0, np.nan, 1.0, 3.0]))
    EncodedColumn(codes=array([ 1, -1,  0,  1], dtype=int32), categories=(1, 3))
    """
    seen = ~np.isnan(values) if values.dtype.kind == "f" else None
    if seen is None or seen.all():
        return EncodedColumn(*_by_value(values))
    codes = np.full(len(values), -1, dtype=np.int32)
    codes[seen], categories = _by_value(values[seen])
    return EncodedColumn(codes, categories)


def _by_value(values: Array) -> tuple[Array, tuple[Any, ...]]:
    if not values.size:
        return np.empty(0, dtype=np.int32), ()
    low, high = values.min(), values.max()
    if values.dtype.kind == "f":
        near = float(high) - float(low) < MAX_LOOKUP_RANGE and np.array_equal(values, np.rint(values))
    else:
        near = int(high) - int(low) < MAX_LOOKUP_RANGE
    if not near:
        categories, codes = np.unique(values, return_inverse=True)
        return codes.reshape(-1).astype(np.int32), tuple(categories.tolist())
    wide = values if values.dtype.kind == "f" or values.dtype == np.uint64 else values.astype(np.int64)
    slots = (wide - wide.dtype.type(low)).astype(np.int64)  # which neither overflows nor rounds, being small
    present = np.bincount(slots) > 0
    place = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return place[slots], tuple(slot + int(low) for slot in np.flatnonzero(present).tolist())


def encode_integers(column: Any) -> EncodedColumn:
    """Integers as codes of their exact values, where floats would round them: a NumPy or narwhals column with gaps.

    >>> encode_integers(np.array([2**53 + 1, None, 2**53], dtype=object)).categories
    (9007199254740993, 9007199254740992)
    """
    if isinstance(column, np.ndarray):
        return encode(column)
    seen = ~column.is_null().to_numpy().astype(bool)
    there = column.drop_nulls()
    wide = "128" in str(column.dtype)  # of more bits than NumPy's integers have
    values = np.array(there.to_list(), dtype=object) if wide else there.to_numpy()
    codes = np.full(len(seen), -1, dtype=np.int32)
    codes[seen], categories = encode(values)
    return EncodedColumn(codes, categories)


ENCODERS: dict[str, Callable[[Any], EncodedColumn]] = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
"""How a column is encoded, by the library that holds it; everything else is made an array of objects."""
