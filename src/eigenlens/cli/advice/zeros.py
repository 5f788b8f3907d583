"""Zeros far below all other numbers of a column, which often mean that nothing was measured: a mass of 0."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator

import numpy as np

from eigenlens.arrays import Array
from eigenlens.tables.text_table import count_noun

MIN_ZEROS, MAX_SHARE = 2, 0.25
"""The fewest zeros, and the largest share of them: where there are more, nothing may be as common as something."""

MIN_VALUES = 8
"""Other values that are needed, all different."""

MIN_RATIO = 0.3
"""The smallest other value as a share of their median: counts and amounts begin far below it."""


def zero_warnings(columns: Iterable[tuple[str, Array]]) -> Iterator[str]:
    """Yield a sentence on each column of numbers in which zeros may mean missing, with the option that removes them."""
    for name, values in columns:
        if zeros_are_apart(values):
            rest = values[np.isfinite(values) & (values != 0.0)]
            cells = count_noun(int(np.count_nonzero(values == 0.0)), "cell")
            what = f"0 stands in {cells} of {name!r}, where other values lie between {rest.min():g} and {rest.max():g}"
            yield f"{what}: if it means missing, leave those rows out with --where {shlex.quote(f'{name} > 0')}."


def zeros_are_apart(values: Array) -> bool:
    """Return whether a column (n,) has a few zeros, and all other values are far above them.

    >>> pressure = np.array([72.0, 66, 64, 0, 74, 50, 0, 70, 96, 92, 81, 60])
    >>> zeros_are_apart(pressure), zeros_are_apart(np.arange(12.0) // 3)
    (True, False)
    """
    present = values[np.isfinite(values)]
    rest = present[present != 0.0]
    zeros = present.size - rest.size
    if not MIN_ZEROS <= zeros <= MAX_SHARE * present.size or rest.min() <= 0.0 or np.unique(rest).size < MIN_VALUES:
        return False
    low, median, high = np.quantile(rest, [0.25, 0.5, 0.75])
    return bool(rest.min() >= max(MIN_RATIO * median, high - low))
