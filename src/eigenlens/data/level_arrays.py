"""Arrays and lists of levels as codes, and the order of levels; null is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, is_tensor, to_numpy
from eigenlens.data.categories import MAX_LOOKUP_RANGE
from eigenlens.errors import DataError

__all__ = [
    "BY_DTYPE",
    "Coded",
    "as_objects",
    "category_order",
    "coded_array",
    "coded_objects",
    "format_categories",
    "sort_categories",
]


class Coded(NamedTuple):
    """A column as numbers of levels.

    Attributes:
        codes: (n,) the place of each value in `levels`, −1 where it is missing.
        levels: the values that occur, in order; or those that the column's type declares.
        declared: whether the type of the column says which levels there are (booleans, categoricals).
    """

    codes: Array
    levels: tuple[Any, ...]
    declared: bool = False


def coded_array(values: Any) -> Coded:
    """Values (n,) or (n, 1), an array or a list, as codes of their levels."""
    array = _column(values)
    return BY_DTYPE.get(array.dtype.kind, coded_objects)(array)


def _column(values: Any) -> Array:
    """Values as a one-dimensional NumPy array that keeps their types: a list of mixed ones stays objects."""
    if isinstance(values, np.ma.MaskedArray):
        array = np.where(np.ma.getmaskarray(values), np.array(None), np.asarray(values, dtype=object))
    elif hasattr(values, "to_numpy"):
        array = values.to_numpy()
    elif is_tensor(values) or isinstance(values, np.ndarray):
        array = to_numpy(values)
    else:
        array = _from_sequence(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"x has shape {array.shape}; a column of levels is needed: fit each column on its own.")
    return np.asarray(array)


def _from_sequence(values: Any) -> Array:
    """A list or tuple: an array of its own kind where all are of one type, else of objects."""
    listed = list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    kinds = {type(value) for value in listed}
    if kinds in ({bool}, {int}, {float}):
        return np.array(listed)
    if kinds and kinds <= {list, np.ndarray} and len(set(map(len, listed))) == 1:
        return np.array([list(row) for row in listed], dtype=object)  # rows of one column
    return as_objects(listed)


def as_objects(values: Sequence[Any]) -> Array:
    """Values as an array of objects (n,)."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # a[:] = values would take tuples apart
        array[i] = value
    return array


def _booleans(values: Array) -> Coded:
    return Coded(values.astype(np.intp), (False, True), declared=True)


def _integers(values: Array) -> Coded:
    low, high = (int(values.min()), int(values.max())) if values.size else (0, -1)
    if high - low >= MAX_LOOKUP_RANGE:
        return _sortable(values)
    slots = values.astype(np.int64) - low if high < 2**63 else (values - np.uint64(low)).astype(np.int64)
    present = np.bincount(slots, minlength=max(high - low + 1, 1)) > 0
    place = np.cumsum(present) - 1
    return Coded(place[slots].astype(np.intp), tuple(int(i) + low for i in np.flatnonzero(present)))


def _sortable(values: Array) -> Coded:
    levels, codes = np.unique(values, return_inverse=True)
    # Python's own numbers; dates stay NumPy's, whose nanoseconds Python would make integers of.
    kept = tuple(levels) if levels.dtype.kind in "mM" else tuple(levels.tolist())
    return Coded(codes.reshape(-1).astype(np.intp), kept)


def _floats(values: Array) -> Coded:
    return _with_gaps(values, np.isnan(values))


def _times(values: Array) -> Coded:
    return _with_gaps(values, np.isnat(values))


def _with_gaps(values: Array, missing: Array) -> Coded:
    codes = np.full(len(values), -1, dtype=np.intp)
    inner = _sortable(values[~missing])
    codes[~missing] = inner.codes
    return Coded(codes, inner.levels)


def coded_objects(values: Array) -> Coded:
    """A dictionary of the values met, sorted at the end: a hash a value, and comparisons of levels only."""
    met: dict[Any, int] = {}
    try:
        places = np.array([met.setdefault(value, len(met)) for value in values.tolist()], dtype=np.intp)
    except TypeError:
        bad = next(i for i, value in enumerate(values.tolist()) if not _hashable(value))
        raise DataError(
            f"x[{bad}]={values[bad]!r} of type {type(values[bad]).__name__} cannot be a level: "
            "use strings, numbers, booleans or tuples of these."
        ) from None
    levels = sort_categories(_plain(level) for level in met if not _is_missing(level))
    if len({isinstance(level, bool) for level in levels if isinstance(level, Real)}) == 2:
        levels = tuple(int(level) if isinstance(level, bool) else level for level in levels)  # True among 0, 1 is 1
    rank = {level: i for i, level in enumerate(levels)}
    code = np.array([rank.get(level, -1) for level in met], dtype=np.intp)
    return Coded(code[places] if len(places) else places, levels)


def _plain(level: Any) -> Any:
    return level.item() if isinstance(level, np.number | np.bool_ | np.str_) else level


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_missing(value: Any) -> bool:
    """None, NaN, and what pandas calls NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and value != value


def sort_categories(levels: Iterable[Any]) -> tuple[Any, ...]:
    """Numbers, then strings, then anything else by its text: an order that does not depend on which came first."""
    values = tuple(levels)
    return tuple(values[k] for k in category_order(values))


def category_order(levels: Sequence[Any]) -> list[int]:
    """The places of levels, in their order.

    >>> category_order(["b", 10, "a", 9])
    [3, 1, 2, 0]
    """
    alike = set(map(type, levels)) in ({str}, {int}, {float})  # these have that order of themselves, sooner found
    return sorted(range(len(levels)), key=levels.__getitem__ if alike else lambda k: _rank(levels[k]))


def _rank(level: Any) -> tuple[int, Any, str]:
    if isinstance(level, Real | np.bool_):
        return 0, level, ""
    return (1, 0, level) if isinstance(level, str) else (2, 0, f"{type(level).__name__} {level!r}")


def format_categories(levels: Sequence[Any], most: int = 6) -> str:
    """Some levels as text, for errors."""
    shown = ", ".join(map(repr, levels[:most]))
    return f"({shown}{', …' if len(levels) > most else ''})"


BY_DTYPE: dict[str, Callable[[Array], Coded]] = {
    "b": _booleans, "i": _integers, "u": _integers, "f": _floats, "M": _times, "m": _times,
}  # fmt: skip
"""How arrays of each kind are coded; strings and objects by a dictionary, which is faster than sorting them."""
