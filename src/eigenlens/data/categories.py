"""A column of categories as integer codes: one encoder for every container.

- Missing values (None, NaN, NA, NaT, nulls, masked entries) have the code −1.
- Equal numbers are one category whatever their type: 1, 1.0 and True are the category 1; the text "1" is another.
- Whole numbers are integers, also in a column of floats, which is what pandas makes of integers beside a missing value.
- Integers of any size are exact. Dates stay values of the library that holds them.
- Booleans, pandas' categoricals, Polars' Enum and Arrow's dictionaries declare their categories, also those that do not
  occur, in an order of their own. Polars' Categorical does not: all columns share its pool of strings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, check_indices, is_sparse, is_tensor, to_numpy
from eigenlens.errors import CategoryError, DataError
from eigenlens.native.class_sums import code_ranges, label_counts
from eigenlens.resources import in_slices

MAX_LOOKUP_RANGE = 1 << 16
"""Whole numbers over a range below this are looked up by value in a table; others are sorted, which is slower."""

SLICE_ENTRIES = 1 << 18
"""Entries of a long column that a thread encodes at a time."""

MAX_EXACT = 2.0**53
"""Below this a float is exactly one integer."""

TYPES_WITHOUT_MISSING: set[type] = {str, int, bytes, bool}
"""Types that have no missing values, and whose values are categories unchanged."""


class EncodedColumn(NamedTuple):
    """A column as codes of its categories.

    Attributes:
        codes: (n,) int32, the position of each value in `categories`, −1 where it is missing.
        categories: different values, in any order; some may not occur.
        declared: whether the type of the column says which categories there are.
    """

    codes: Array
    categories: tuple[Any, ...]
    declared: bool = False

    def values(self) -> Array:
        """Return the values (n,) themselves as objects, None where they are missing."""
        table = np.empty(len(self.categories) + 1, dtype=object)
        table[:-1] = self.categories
        return np.asarray(table[self.codes])

    def drop_unused(self) -> EncodedColumn:
        """Return the same column without the categories that do not occur.

        >>> EncodedColumn(np.array([2, -1, 2], dtype=np.int32), ("a", "b", "c")).drop_unused()
        EncodedColumn(codes=array([ 0, -1,  0], dtype=int32), categories=('c',), declared=False)
        """
        used = np.zeros(len(self.categories) + 1, dtype=bool)  # the last entry is for the code −1 of missing values
        used[self.codes] = True
        return self._reordered(np.flatnonzero(used[:-1]).tolist(), declared=False)

    def in_order(self) -> EncodedColumn:
        """Return the same column with its categories in ascending order; declared ones keep their own."""
        return self if self.declared else self._reordered(category_order(self.categories))

    def _reordered(self, order: list[int], declared: bool = False) -> EncodedColumn:
        """Return the column with the categories at these positions only, in this order."""
        if order == list(range(len(self.categories))):
            return self._replace(declared=declared)
        positions = np.full(len(self.categories) + 1, -1, dtype=np.int32)
        positions[order] = np.arange(len(order))
        return EncodedColumn(positions[self.codes], tuple(map(self.categories.__getitem__, order)), declared)


def encode(column: Any) -> EncodedColumn:
    """Return a column as codes of its categories, by the library that holds it: one hash per value, no loop over rows.

    The column may be a pandas, Polars or narwhals Series, an Arrow array, a NumPy array (n,) or (n, 1), masked or not,
    a tensor, a list, or a frame of one column.

    >>> encode(["no", "yes", None, "no"])
    EncodedColumn(codes=array([ 0,  1, -1,  0], dtype=int32), categories=('no', 'yes'), declared=False)
    """
    if hasattr(column, "collect_schema") or hasattr(column, "columns"):  # lazy frames warn where asked for columns
        return encode(_only_column(column))
    library = type(column).__module__.split(".")[0] if hasattr(column, "__len__") else ""  # values of pandas are none
    return ENCODERS.get(library, _encode_array)(column)


def _only_column(frame: Any) -> Any:
    frame = frame.collect() if not hasattr(frame, "shape") and hasattr(frame, "collect") else frame
    if frame.shape[1] != 1:
        what = f"has {frame.shape[1]} columns; one column of categories is needed"
        raise DataError(what, argument="X", fix="choose one")
    return frame.column(0) if hasattr(frame, "column") else frame[frame.columns[0]]


def declared_categories(column: Any) -> tuple[Any, ...] | None:
    """Return the categories that a pandas categorical, a Polars Enum or an Arrow dictionary declares; else None."""
    if hasattr(column, "type") and hasattr(column, "to_pylist"):
        dictionary = _arrow_dictionary(column)
        return None if dictionary is None else _from_values(np.empty(0, np.int32), dictionary.to_pylist()).categories
    dtype = getattr(column, "dtype", None)
    categories = getattr(dtype, "categories", None)
    if categories is None or type(dtype).__name__ == "Categorical":  # Polars' Categorical declares nothing
        return None
    values = categories.tolist() if hasattr(categories, "tolist") else categories.to_list()
    return _canonical(values)


# ---- by library ---------------------------------------------------------------------------------------------------


def _encode_pandas(column: Any) -> EncodedColumn:
    declared = declared_categories(column)
    if declared is not None:
        codes = np.asarray(getattr(column, "cat", column).codes)
        return EncodedColumn(codes.astype(np.int32), declared, declared=True)
    if not hasattr(column, "to_numpy"):  # groups of a frame
        fix = "give a Series, or a frame of one column"
        raise DataError(f"is a {type(column).__name__}, which has no values", argument="X", fix=fix)
    if isinstance(column.dtype, np.dtype):
        return _encode_array(column.to_numpy())
    if "bool" in str(column.dtype):
        present = np.asarray(column.notna(), dtype=bool)
        return _encode_present(present, column[present].to_numpy(dtype=bool))
    codes, values = column.factorize()
    return _from_values(codes, values.tolist())


def _encode_polars(column: Any) -> EncodedColumn:
    import polars as pl

    declared = declared_categories(column)
    if declared is not None:
        return EncodedColumn(column.to_physical().cast(pl.Int32).fill_null(-1).to_numpy(), declared, declared=True)
    if column.dtype in (pl.String, pl.Categorical):
        return _encode_polars_text(column)
    if (column.dtype.is_numeric() or column.dtype == pl.Boolean) and "128" not in str(column.dtype):
        return _encode_present(column.is_not_null().to_numpy(), column.drop_nulls().to_numpy())
    return _encode_objects(_as_objects(column.to_list()))  # NumPy has no integers of 128 bits


def _encode_polars_text(column: Any) -> EncodedColumn:
    """Encode text by the codes of Polars' shared pool of strings, renumbered from 0 for the strings that occur here."""
    import polars as pl

    pool = column.cast(pl.Categorical).to_physical()
    present = ~pool.is_null().to_numpy() if pool.null_count() else slice(None)
    found = pool.fill_null(0).to_numpy()
    if found.size and found.max() > 4 * found.size:  # few strings of a large pool: a table of it would cost more
        found = np.unique(found, return_inverse=True)[1].reshape(-1)
    rows = np.full(int(found.max(initial=0)) + 1, -1)
    rows[found[present]] = np.arange(len(found))[present]
    codes = np.full(len(found), -1, dtype=np.int32)
    codes[present] = (np.cumsum(rows >= 0, dtype=np.int32) - np.int32(1))[found[present]]
    return EncodedColumn(codes, tuple(column[rows[rows >= 0]].cast(pl.String).to_list()))


def _encode_arrow(column: Any) -> EncodedColumn:
    import pyarrow as pa

    dictionary = _arrow_dictionary(column)
    whole = column if isinstance(column, pa.Array) else _unified(column).combine_chunks()
    if pa.types.is_boolean(whole.type):
        present = whole.is_valid().to_numpy(zero_copy_only=False)
        return _encode_present(present, whole.drop_null().to_numpy(zero_copy_only=False))
    try:
        coded = whole.dictionary_encode() if dictionary is None else whole
    except pa.ArrowNotImplementedError:  # nested values
        return _encode_objects(_as_objects(whole.to_pylist()))
    codes = coded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    return _from_values(codes, coded.dictionary.to_pylist(), declared=dictionary is not None)


def _arrow_dictionary(column: Any) -> Any:
    """Return the dictionary of an Arrow column, over all its chunks; None where it has none."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type) or (isinstance(column, pa.ChunkedArray) and not column.num_chunks):
        return None
    return column.dictionary if isinstance(column, pa.Array) else _unified(column).chunk(0).dictionary


def _unified(column: Any) -> Any:
    import pyarrow as pa

    return column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column


ENCODERS: dict[str, Callable[[Any], EncodedColumn]] = {
    "narwhals": lambda column: encode(column.to_native()),
    "pandas": _encode_pandas,
    "polars": _encode_polars,
    "pyarrow": _encode_arrow,
}
"""How a column is encoded, by the library that holds it; anything else is made a NumPy array."""


# ---- arrays -------------------------------------------------------------------------------------------------------


def _encode_array(values: Any) -> EncodedColumn:
    if isinstance(values, np.ma.MaskedArray):
        present = ~_as_column(np.ma.getmaskarray(values))
        return _encode_present(present, _as_column(np.asarray(values))[present])
    array = _as_column(values)
    return BY_DTYPE.get(array.dtype.kind, _encode_objects)(array)


def _as_column(values: Any) -> Array:
    """Return values as a one-dimensional array that keeps their types."""
    if is_sparse(values):
        check_indices(values)
        values = values.toarray()
    if hasattr(values, "to_numpy"):
        array = values.to_numpy()
    else:
        whole = is_tensor(values) or isinstance(values, np.ndarray) or hasattr(values, "dask")
        array = to_numpy(values) if whole else _from_sequence(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        what = f"has shape {array.shape}; one column of categories is needed"
        raise DataError(what, argument="X", fix="fit each column alone")
    return np.asarray(array)


def _from_sequence(values: Any) -> Array:
    """Return a list as an array of its one type, or of objects where types differ: NumPy would convert them."""
    values = np.asarray(values).tolist() if isinstance(values, memoryview) else values
    items = list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    types = set(map(type, items))
    if types in ({bool}, {int}, {float}):
        array = np.array(items)
        return _as_objects(items) if types == {int} and array.dtype.kind == "f" else array  # beyond 64 bits
    if types and types <= {list, np.ndarray} and len(set(map(len, items))) == 1:
        return np.array([list(row) for row in items], dtype=object)  # rows of one column
    return _as_objects(items)


def _as_objects(values: Sequence[Any]) -> Array:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # array[:] = values would take tuples apart
        array[i] = value
    return array


def _encode_present(present: Array, values: Array) -> EncodedColumn:
    """Return the column (n,) whose entries are values (m,) where `present` (n,), and missing elsewhere."""
    encoded = encode(values)
    if len(values) == len(present):
        return encoded
    codes = np.full(len(present), -1, dtype=np.int32)
    codes[present] = encoded.codes
    return encoded._replace(codes=codes)


def encode_numbers(values: Array) -> EncodedColumn:
    """Return numbers (n,) as codes of their values, NaN being missing. Whole numbers of a small range are not sorted.

    >>> encode_numbers(np.array([3.0, np.nan, 1.0, 3.0]))
    EncodedColumn(codes=array([ 1, -1,  0,  1], dtype=int32), categories=(1, 3), declared=False)
    """
    if values.dtype.kind == "b":
        return EncodedColumn(values.astype(np.int32), (False, True), declared=True)
    present = ~np.isnan(values) if values.dtype.kind == "f" else None
    if present is not None and not present.all():
        return _encode_present(present, values[present])
    if not values.size:
        return EncodedColumn(np.empty(0, dtype=np.int32), ())
    if values.dtype.kind == "f":
        low, high = values.min(), values.max()
        narrow = float(high) - float(low) < MAX_LOOKUP_RANGE and np.array_equal(values, np.rint(values))
    else:
        low, high = (end[0] for end in code_ranges(values[:, None]))
        narrow = int(high) - int(low) < MAX_LOOKUP_RANGE
    return _look_up(values, low, int(high) - int(low) + 1) if narrow else _sort(values)


def _look_up(values: Array, low: Any, width: int) -> EncodedColumn:
    """Encode whole numbers by a table of `width` values from `low` on."""
    wide = values if values.dtype.kind == "f" or values.dtype == np.uint64 else values.astype(np.int64, copy=False)
    slots = np.empty(len(wide), dtype=np.int32)

    def fill(part: slice) -> None:
        slots[part] = wide[part] - wide.dtype.type(low)  # small: neither overflows nor rounds

    in_slices(fill, len(wide), SLICE_ENTRIES)
    present = label_counts(slots, None, width) > 0.0
    categories = tuple(slot + int(low) for slot in np.flatnonzero(present).tolist())
    if present.all():
        return EncodedColumn(slots, categories)
    return EncodedColumn((np.cumsum(present, dtype=np.int32) - np.int32(1))[slots], categories)


def _sort(values: Array) -> EncodedColumn:
    distinct, codes = np.unique(values, return_inverse=True)
    # Dates stay NumPy's: Python would turn nanoseconds into integers.
    categories = tuple(distinct) if distinct.dtype.kind in "mM" else _canonical(distinct.tolist())
    return EncodedColumn(codes.reshape(-1).astype(np.int32), categories)


def _encode_times(values: Array) -> EncodedColumn:
    present = ~np.isnat(values)
    return _sort(values) if present.all() else _encode_present(present, values[present])


def _encode_objects(values: Array) -> EncodedColumn:
    objects = values.astype(object, copy=False)
    try:
        return _from_values(*_factorize(objects))
    except TypeError:
        raise _not_a_category(objects) from None


def _factorize(values: Array) -> tuple[Array, list[Any]]:
    """Return codes (n,) of values by their hashes, and the distinct values; by pandas where it is installed."""
    try:
        from pandas import factorize
    except ImportError:
        positions: dict[Any, int] = {}
        codes = [positions.setdefault(value, len(positions)) for value in values.tolist()]
        return np.array(codes, dtype=np.intp), list(positions)
    codes, distinct = factorize(values)
    return codes, distinct.tolist()


def _not_a_category(values: Array) -> CategoryError:
    for i, value in enumerate(values):
        try:
            hash(value)
        except TypeError:
            kind = type(value).__name__
            what = f"holds {value!r} in row {i}: the argument must be a string or a number, not a {kind}"
            return CategoryError(what, argument="X", fix="give one value per row and column")
    what = "holds values that cannot be categories: each must be a string or a number"
    return CategoryError(what, argument="X", fix="convert them to text")


def _encode_text(values: Array) -> EncodedColumn:
    """Encode NumPy's fixed-width text, a slice at a time: what is computed for a row takes several times its code."""
    codes, positions = np.empty(len(values), dtype=np.int32), dict[str, int]()
    for start in range(0, len(values), SLICE_ENTRIES):
        part = _encode_letters(values[start : start + SLICE_ENTRIES])
        places = [positions.setdefault(each, len(positions)) for each in part.categories]
        codes[start : start + SLICE_ENTRIES] = np.array(places, dtype=np.int32)[part.codes]
    return EncodedColumn(codes, tuple(positions))


def _encode_letters(values: Array) -> EncodedColumn:
    """Encode text by its bytes, read as integers: no string is made per row."""
    words = _words(values)
    codes = _factorize(words[:, 0])[0]
    for word in words.T[1:]:
        inner, distinct = _factorize(word)
        codes = _factorize(codes * len(distinct) + inner)[0] if len(distinct) > 1 else codes
    rows = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.intp)
    rows[codes] = np.arange(len(codes))
    return EncodedColumn(codes.astype(np.int32), tuple(values[rows].tolist()))


def _words(values: Array) -> Array:
    """Return the letters of text (n,) as words (n, m) of 64 bits, with one byte per letter where that is enough."""
    native = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
    letters = native.view(np.uint32).reshape(len(values), values.itemsize // 4)
    narrow = letters.astype(np.uint8) if letters.max(initial=0) < 256 else letters
    width = narrow.itemsize * narrow.shape[1]
    padded = np.zeros((len(values), max(1, -(-width // 8)) * 8), dtype=np.uint8)
    padded[:, :width] = narrow.view(np.uint8)
    return padded.view(np.uint64)


BY_DTYPE: dict[str, Callable[[Array], EncodedColumn]] = {
    **dict.fromkeys("biuf", encode_numbers), **dict.fromkeys("mM", _encode_times), "U": _encode_text,
}  # fmt: skip
"""How NumPy arrays are encoded, by the kind of their dtype; anything else as objects."""


# ---- categories ---------------------------------------------------------------------------------------------------


def _from_values(codes: Array, values: list[Any], declared: bool = False) -> EncodedColumn:
    """Return codes of distinct values as a column in which missing values have no category."""
    found = EncodedColumn(codes.astype(np.int32, copy=False), _canonical(values), declared)
    if set(map(type, values)) <= TYPES_WITHOUT_MISSING:
        return found
    present = [k for k, value in enumerate(found.categories) if not is_missing_value(value)]
    return found if len(present) == len(values) else found._reordered(present, declared)


def is_missing_value(value: Any) -> bool:
    """Return whether a value is None, NaN (of any type), pandas' NA or NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def _canonical(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values as Python's own, with equal numbers written alike: whole floats, and True among numbers, as int."""
    values = tuple(values)
    types = set(map(type, values))
    if types <= {str, int, bytes} or types == {bool}:
        return values
    plain = tuple(value.item() if isinstance(value, np.number | np.bool_ | np.str_) else value for value in values)
    if all(isinstance(value, bool) for value in plain if isinstance(value, Real)):
        return plain
    floats = [value for value in plain if isinstance(value, float) and value == value]
    whole = all(value.is_integer() and abs(value) < MAX_EXACT for value in floats)
    integral = (bool, float) if whole else (bool,)
    return tuple(int(value) if isinstance(value, integral) and value == value else value for value in plain)


def _sort_categories(categories: Iterable[Any]) -> tuple[Any, ...]:
    """Return categories in an order that does not depend on which came first: numbers, then text, then all others."""
    values = tuple(categories)
    return tuple(values[k] for k in category_order(values))


def category_order(categories: Sequence[Any]) -> list[int]:
    """Return the positions of categories in ascending order.

    >>> category_order(["b", 10, "a", 9])
    [3, 1, 2, 0]
    """
    alike = set(map(type, categories)) in ({str}, {int}, {float})  # Python sorts these itself, and faster
    return sorted(range(len(categories)), key=categories.__getitem__ if alike else lambda k: _rank(categories[k]))


def _rank(category: Any) -> tuple[int, Any, str]:
    if isinstance(category, Real):
        return 0, category, ""
    return (1, 0, category) if isinstance(category, str) else (2, 0, f"{type(category).__name__} {category!r}")


def merge_categories(a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the categories of two blocks of one column, in order.

    >>> merge_categories((1, "x"), ("a", "x"))
    (1, 'a', 'x')
    """
    if a == b:
        return a
    known = set(a)
    return _sort_categories((*a, *(category for category in b if category not in known)))  # Python merges sorted runs


def category_positions(categories: Sequence[Any], wanted: Sequence[Any]) -> Array:
    """Return the position of each wanted category among `categories`, −1 for one that is not among them."""
    positions = {category: k for k, category in enumerate(categories)}
    found = (-1 if category.__hash__ is None else positions.get(category, -1) for category in wanted)
    return np.fromiter(found, dtype=np.intp, count=len(wanted))


def format_categories(categories: Sequence[Any], most: int = 6) -> str:
    """Return some categories as text, for errors."""
    shown = ", ".join(map(repr, categories[:most]))
    return f"({shown}{', …' if len(categories) > most else ''})"
