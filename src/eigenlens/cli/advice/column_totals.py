"""Columns that follow from others: exact sums and means of neighbours, totals by name, and ranks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataWarning

SEARCH_ROWS = 8
"""Rows in which neighbours are summed; what fits there is compared in all rows."""

MAX_NEIGHBOURS = 1_000
"""With more columns than this, a column is compared with the sum of all others only."""

SEARCH_TOLERANCE = 5e-3
"""The share of a column's largest entry that sums of rounded numbers may differ from it in the first search."""

TOLERANCE = 0.02
"""The root mean square of the difference, in standard deviations of the part that varies least: so all parts matter."""

MIN_ROWS = 5
"""With fewer rows a sum may be a coincidence."""

OUTCOME_NAME = re.compile(
    r"(?i)(.*[\W_])?(totals?|sum|points?|score|overall|gesamt|summe|gesamtpunkte|punkte|aggregate|composite|index)"
    r"([\W_](points?|score|sum))?"
)
RANK_NAME = re.compile(r"(?i)(.*[\W_])?(rank|ranking|place|placing|rang|platz)")

MIN_R2, MAX_TYPICAL_R2 = 0.95, 0.9
"""The multiple R² of an outcome given the others, and the most that half of the others may have given one another."""

MAX_COLUMNS, MAX_ROWS = 200, 5_000
"""Where R² is computed: at most this many columns, from this many rows."""


class ColumnTotal(NamedTuple):
    """A column that is the sum or the mean of others, all by their numbers."""

    column: int
    parts: tuple[int, ...]
    what: str


def derived_columns(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of each column of X (n, d) that follows from others, and the option that shows it beside them."""
    n, d = X.shape
    if n < MIN_ROWS or d < 3:
        return
    totals = find_column_totals(X)
    for each in totals:
        first, last = min(each.parts), max(each.parts)
        run = f"the {len(each.parts)} columns {names[first]!r} to {names[last]!r}"
        of = "all other columns" if len(each.parts) == d - 1 else run
        name = names[each.column]
        yield _warning(f"column {name!r} is the {each.what} of {of}, so what they have in common counts twice", name)
    known = {each.column for each in totals}
    left = [j for j in range(d) if j not in known]
    for j, r2 in find_outcomes(X[:, left], [names[j] for j in left]):
        name = names[left[j]]
        yield _warning(
            f"column {name!r} follows from the others (R² {np.floor(1e3 * r2) / 1e3:.3f}), as totals and scores do",
            name,
        )
    for j in left:
        if RANK_NAME.fullmatch(names[j]) and are_ranks(X[:, j]):
            what = f"column {names[j]!r} holds ranks, by its name, which follow from what they rank"
            yield _warning(what, names[j])


def _warning(what: str, name: str) -> DataWarning:
    fix = "show it beside the result with {supplementary}, or leave it out with {drop}"
    return DataWarning(what, columns=[name], fix=fix, settings={"supplementary": [name], "drop": [name]})


# ---- exact sums and means ---------------------------------------------------------------------------------------


def find_column_totals(X: Array) -> list[ColumnTotal]:
    """Return the columns of X (n, d) that are sums or means of neighbours, or of all others, totals of totals too.

    Columns that sum to a constant, such as shares, are none: no column is the sum of the others. Cost: O(n + d²).

    >>> X = np.random.default_rng(0).uniform(0.0, 9.0, (20, 4))
    >>> find_column_totals(np.column_stack([X, X[:, 1:].sum(axis=1)]))
    [ColumnTotal(column=4, parts=(1, 2, 3), what='sum')]
    """
    found: list[ColumnTotal] = []
    left = list(range(X.shape[1]))
    while len(left) > 2:
        new = [each for each in _candidates(X, left) if _fits(X, each)]
        first = {each.column: each for each in reversed(new)}
        # Of several columns that follow from one another, the first is kept as a part.
        taken = set(first) - {j for each in first.values() for j in each.parts}
        if not taken:
            break
        found += [first[j] for j in sorted(taken)]
        left = [j for j in left if j not in taken]
    return found


def _candidates(X: Array, left: Sequence[int]) -> Iterator[ColumnTotal]:
    """Yield the columns among `left` that are totals in a few rows."""
    sample = X[np.linspace(0, len(X) - 1, min(len(X), 8 * SEARCH_ROWS)).astype(np.intp)][:, left].astype(np.float64)
    rows = sample[np.isfinite(sample).all(axis=1)][:SEARCH_ROWS]
    if len(rows) < MIN_ROWS:
        return
    d = rows.shape[1]
    P = np.column_stack([np.zeros(len(rows)), np.cumsum(rows, axis=1)])
    for j in range(d) if d <= MAX_NEIGHBOURS else _near_all_others(rows):
        x = rows[:, [j]]
        starts, ends = [np.array([0])], [np.array([d])]  # all columns
        if d <= MAX_NEIGHBOURS:  # runs of at least two columns that end before this one, or begin after it
            starts += [np.arange(j - 1), np.full(max(0, d - j - 2), j + 1)]
            ends += [np.full(max(0, j - 1), j), np.arange(j + 3, d + 1)]
        a, b = np.concatenate(starts), np.concatenate(ends)
        inside = (a <= j) & (j < b)
        sizes = b - a - inside
        sums = P[:, b] - P[:, a] - inside * x
        limit = SEARCH_TOLERANCE * np.abs(x).max()
        for what, values in (("sum", sums), ("mean", sums / sizes)):
            for k in np.flatnonzero((np.abs(values - x) <= limit).all(axis=0)):
                yield ColumnTotal(left[j], tuple(left[i] for i in range(a[k], b[k]) if i != j), what)


def _near_all_others(rows: Array) -> list[int]:
    """Return the columns of rows (n, d) near the sum or the mean of all others, all columns looked at together."""
    others, limit = rows.sum(axis=1, keepdims=True) - rows, SEARCH_TOLERANCE * np.abs(rows).max(axis=0)
    near = [(np.abs(total - rows) <= limit).all(axis=0) for total in (others, others / (rows.shape[1] - 1))]
    return [int(j) for j in np.flatnonzero(near[0] | near[1])]


def _fits(X: Array, found: ColumnTotal) -> bool:
    """Return whether a column is the total of its parts in all rows, up to rounding that hides none of them."""
    parts = X[:, list(found.parts)].astype(np.float64)
    total = parts.sum(axis=1) / (1 if found.what == "sum" else len(found.parts))
    least = float(np.nanstd(parts, axis=0).min()) / (1 if found.what == "sum" else len(found.parts))
    return bool(np.sqrt(np.nanmean((X[:, found.column] - total) ** 2)) < TOLERANCE * least)


# ---- totals by name ---------------------------------------------------------------------------------------------


def find_outcomes(X: Array, names: Sequence[str]) -> list[tuple[int, float]]:
    """Return the columns of X (n, d) that are called totals, points or scores and that the others determine, with R².

    They are few, and the others do not determine one another as well.
    """
    called = [j for j, name in enumerate(names) if OUTCOME_NAME.fullmatch(name)]
    others = [j for j in range(len(names)) if j not in called]
    if not called or len(called) > len(others) / 2 or not 2 <= len(others) <= MAX_COLUMNS:
        return []
    rows = X[np.linspace(0, len(X) - 1, min(len(X), MAX_ROWS)).astype(np.intp)].astype(np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if len(rows) < 2 * len(names) or np.median(multiple_r2(rows[:, others])) > MAX_TYPICAL_R2:
        return []
    r2 = {j: float(multiple_r2(rows[:, [j, *others]])[0]) for j in called}
    return [(j, value) for j, value in r2.items() if value > MIN_R2]


def multiple_r2(X: Array) -> Array:
    """Return the adjusted R² (d,) of each column of X (n, d) given the others: 1 − 1 / (R⁻¹)ⱼⱼ for correlations R."""
    n, d = X.shape
    Z = X - X.mean(axis=0)
    scale = np.sqrt(np.mean(Z * Z, axis=0))
    Z /= np.where(scale > 0.0, scale, 1.0)
    # The ridge keeps columns that depend on others exactly at an R² of almost 1.
    inverse = np.linalg.inv(Z.T @ Z / n + 1e-10 * np.eye(d))
    return np.asarray(1.0 - (n - 1.0) / (n - d) / inverse.diagonal())


def are_ranks(values: Array) -> bool:
    """Return whether values (n,) are whole numbers from 1 up to n at most that seldom repeat: ranks within groups.

    >>> are_ranks(np.array([1.0, 2, 3, 4, 1, 2, 3])), are_ranks(np.array([1.0, 2, 1, 1, 2, 1, 2]))
    (True, False)
    """
    seen = values[~np.isnan(values)]
    if not seen.size or seen.min() != 1.0 or seen.max() > seen.size or np.any(seen != np.floor(seen)):
        return False
    return bool(3 * np.unique(seen).size >= seen.size)
