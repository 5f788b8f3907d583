"""Numbers that mean missing values, such as -999: far outside the rest of their column."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import flag_setting
from eigenlens.data.files.scan import format_options
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
    """A number of a column that probably means missing: the number, its cells, and the range of the other values."""

    column: str
    value: float
    cells: int
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
        if (
            count
            and beyond > 0.0
            and max(low - value, value - high) > times * (high - low)
            and beyond > greatest - least
        ):
            found.append(Sentinel(column, value, count, least, greatest))
    return found


def describe_sentinels(columns: Iterable[tuple[str, Array]], paths: Sequence[Any]) -> list[str]:
    """Return a sentence on each number that probably means missing, with the option that makes it missing."""
    by_value: dict[float, list[Sentinel]] = {}
    for name, values in columns:
        for each in find_sentinels(name, values):
            by_value.setdefault(each.value, []).append(each)
    flags = flag_setting("na", [f"{value:g}" for value in by_value])
    marked = "na" in format_options(paths)
    return [_sentence(alike, flags if marked else "") for alike in by_value.values()]


def _sentence(alike: list[Sentinel], flags: str) -> str:
    first, columns = alike[0], join_limited([repr(each.column) for each in alike])
    where = f"{count_noun(sum(each.cells for each in alike), 'cell')} of {columns}"
    what = f"{first.value:g} stands in {where}, where other values lie between {first.least:g} and {first.greatest:g}"
    test = shlex.quote(f"{first.column} != {first.value:g}")
    return f"{what}: if it means missing, {f'add {flags}' if flags else f'leave those rows out with --where {test}'}."


def numeric_columns(source: Any) -> list[tuple[str, Array]]:
    """Return the columns of numbers of a frame or of an array in memory, by name."""
    if hasattr(source, "iter_columns"):
        return [(c.name, c.cast(float).to_numpy()) for c in source.iter_columns() if c.dtype.is_numeric()]
    names = source.names or tuple(map(str, range(source.array.shape[1])))
    return list(zip(names, np.asarray(source.array, dtype=np.float64).T, strict=True))
