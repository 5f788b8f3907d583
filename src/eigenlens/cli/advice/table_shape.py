"""Tables whose shape does not suit a model of several columns: one column, one row per measurement, split columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataWarning, join_limited

WITH_AXES = ("pca", "spca", "kpca", "ppca", "fa")
"""Models that look for the axes of several columns."""

BY_COVARIANCE = ("pca", "ppca", "fa", "gmm")
"""Models that estimate covariances from the rows in which both columns are observed."""

MIN_ROWS = 12
"""With fewer rows two columns may tell all rows apart by chance."""

MIN_SHARE = 0.8
"""The share of all pairs of categories that occur in a table with one row per measurement."""

MAX_UNUSED = 10
"""The most columns that are left out which may tell the rows apart."""

MAX_COLUMNS = 500
"""The most columns whose pairs are counted."""


def shape_warnings(table: Any, model: str) -> Iterator[DataWarning]:
    """Yield a warning of a table that gives a model too little: a single column, or pairs never seen together."""
    if model in WITH_AXES and table.d == 1:
        yield _single_column(table)
    if model in BY_COVARIANCE and table.missing and hasattr(table.source, "array") and 1 < table.d <= MAX_COLUMNS:
        yield from _never_together(np.asarray(table.source.array), table.source.names)


def _single_column(table: Any) -> DataWarning:
    name = str((table.source.names or ["0"])[0])
    what = f"column {name!r} is the only one that is fitted, so that its values themselves are the result"
    pair = _long_table(table)
    if pair is None:
        return DataWarning(what, columns=[name], fix="see how they are distributed with fit kde instead")
    what += (
        f"; columns {pair[0]!r} and {pair[1]!r} together tell the rows apart, as in a table of one measurement per row"
    )
    fix = f"first make one column of each value of {pair[1]!r} (a pivot table; pivot_wider in R, pivot of a data frame)"
    return DataWarning(what, columns=[name], fix=fix)


def _long_table(table: Any) -> tuple[str, str] | None:
    """Return two columns of categories that name each row once, and nearly all pairs of which occur; None without."""
    # Years are left out, and tell the rows apart all the same.
    labels = [str(name) for name in (*table.roles.labels, *table.roles.unused[:MAX_UNUSED])]
    for first, second in itertools.combinations(labels, 2):
        one, other = (np.asarray(table.beside(name)).astype(str) for name in (first, second))
        pairs, places = len(set(zip(one, other, strict=True))), len(set(one)) * len(set(other))
        if table.n >= MIN_ROWS and pairs == table.n >= MIN_SHARE * places:
            return (first, second) if len(set(one)) >= len(set(other)) else (second, first)
    return None


def _never_together(X: Array, names: Any) -> Iterator[DataWarning]:
    """Yield a warning where two columns of X (n, d) have entries in no common row: nothing shows how they vary."""
    observed = (~np.isnan(X)).astype(np.float64)
    apart = np.argwhere(np.triu(observed.T @ observed == 0.0, 1))
    if not apart.size:
        return
    listed = [str(name) for name in (names or range(X.shape[1]))]
    first = [listed[j] for j in apart[0]]
    more = f", nor are {len(apart) - 1:,} other pairs" if len(apart) > 1 else ""
    what = f"columns {join_limited([repr(name) for name in first])} are never observed in the same row{more}"
    what += ", so that their covariance is not in the data"
    yield DataWarning(what, columns=first, fix="leave one out with {drop}", settings={"drop": first[1:]})
