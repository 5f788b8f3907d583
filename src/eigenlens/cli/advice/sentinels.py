"""Numbers that stand for missing values, such as -999: far outside the rest of their column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.scan import is_delimited
from eigenlens.errors import join_limited
from eigenlens.tables.text_table import count_noun

SENTINELS = (-999.0, -9999.0, -99999.0, -99.0, -999.99, -99.99, 999.0, 9999.0, 99999.0, 999999.0)
"""Numbers that are used for missing values."""

FAR = 10.0
"""Interquartile ranges from the quartiles, and ranges of the other values, beyond which a number is far outside."""

FAR_REPEATED = 3.0
"""The same for a number that occurs more than once, where no other value of the column lies so far out."""

MIN_VALUES = 8
"""Other values of a column that are needed to call one far outside."""


class Sentinel(NamedTuple):
    """A number of a column that probably means missing: the number, its rows, and the range of the other values."""

    column: str
    value: float
    count: int
    least: float
    greatest: float


def find_sentinels(column: str, values: Array) -> list[Sentinel]:
    """Return the numbers of a column (n,) that probably mean missing.

    >>> heights = np.array([1.7, 1.8, -999.0, 1.65, 1.9, 1.55, 1.72, 1.81, 1.68])
    >>> [each.value for each in find_sentinels("height", heights)]
    [-999.0]
    """
    known = np.isin(values, SENTINELS)
    rest = values[np.isfinite(values) & ~known]
    if not known.any() or rest.size < MIN_VALUES:
        return []
    low, high = np.quantile(rest, [0.25, 0.75])
    least, greatest = float(rest.min()), float(rest.max())
    found = []
    for value in SENTINELS:
        count = int(np.count_nonzero(values == value))
        beyond = max(least - value, value - greatest)  # from the nearest other value
        times = FAR if count == 1 else FAR_REPEATED
        if count and beyond > 0.0 and max(low - value, value - high) > times * (high - low) and beyond > greatest - least:
            found.append(Sentinel(column, value, count, least, greatest))
    return found


def warn_sentinels(table: Any) -> list[str]:
    """Return warnings of numbers that probably mean missing, one per number, with the option that makes them missing."""
    found = [each for name, values in _numeric_columns(table.source) for each in find_sentinels(name, values)]
    by_value: dict[float, list[Sentinel]] = {}
    for each in found:
        by_value.setdefault(each.value, []).append(each)
    return [_sentence(value, alike, list(by_value), table) for value, alike in by_value.items()]


def _sentence(value: float, alike: list[Sentinel], values: list[float], table: Any) -> str:
    first, columns = alike[0], join_limited([repr(each.column) for each in alike])
    where = f"{count_noun(sum(each.count for each in alike), 'entry', 'entries')} of {columns}"
    what = f"{value:g} stands in {where}, where other values lie between {first.least:g} and {first.greatest:g}"
    if is_delimited(table.paths):
        flags = " ".join(f"--na {each:g}" for each in [*table.markers, *values])
        return f"{what}: if it means missing, add {flags}."
    return f"{what}: if it means missing, leave those rows out with --where '{first.column} != {value:g}'."


def _numeric_columns(source: Any) -> list[tuple[str, Array]]:
    if hasattr(source, "iter_columns"):
        return [(c.name, c.cast(float).to_numpy()) for c in source.iter_columns() if c.dtype.is_numeric()]
    names = source.names or tuple(map(str, range(source.array.shape[1])))
    return list(zip(names, np.asarray(source.array, dtype=np.float64).T, strict=True))
