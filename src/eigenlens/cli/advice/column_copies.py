"""Columns that repeat others exactly, also in another unit or with the other sign, and shares of a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.errors import DataWarning, join_limited

MIN_ROWS, MIN_VALUES = 10, 4
"""With fewer rows, or fewer different values of a column, columns may be alike by chance."""

MAX_COLUMNS, MAX_ROWS = 1_000, 2_000
"""Columns up to which pairs are compared, and rows by which they are."""

MAX_RUNS = 60
"""With more columns than this, only all of them are summed."""

MIN_CORRELATION = 1.0 - 1e-4
"""Columns that are less correlated are not compared further: roundings lower it less."""

MAX_DECIMALS = 9

ROUNDING = 0.05
"""The largest rounding, in standard deviations, at which a column still shows that it follows from another."""


def copied_columns(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of the columns of X (n, d) that are multiples of earlier ones plus a constant, up to rounding."""
    found = find_column_copies(X)
    if not found:
        return
    columns, several = [names[j] for j in found], len(found) > 1
    pairs = join_limited([f"{names[j]!r} from {names[i]!r}" for j, i in found.items()])
    subject = (
        f"columns ({pairs}) follow" if several else f"column {pairs.replace(' from ', ' follows exactly from ', 1)}"
    )
    what = subject + (" exactly from others" if several else "") + ", as copies, other units and complements do"
    fix = f"they would count twice: leave {'them' if several else 'it'} out with {{drop}}"
    yield DataWarning(what, columns=columns, fix=fix, settings={"drop": columns})


def find_column_copies(X: Array) -> dict[int, int]:
    """Return {column: an earlier one that it follows from} of X (n, d), by a line and up to rounding. O(n d²).

    >>> x = np.random.default_rng(0).normal(170.0, 9.0, 20).round(1)
    >>> find_column_copies(np.column_stack([x, x[::-1], (x / 2.54).round(2), x]))
    {2: 0, 3: 0}
    """
    rows = _complete_rows(X)
    # A square table may hold distances, which objects at one place have in common.
    if len(rows) < MIN_ROWS or len(X) == X.shape[1] or not 2 <= X.shape[1] <= MAX_COLUMNS:
        return {}
    several = np.array([np.unique(column).size >= MIN_VALUES for column in rows.T])
    scale = rows.std(axis=0)
    Z = (rows - rows.mean(axis=0)) / np.where(several, np.maximum(scale, 1e-300), np.inf)
    alike = np.triu(np.abs(Z.T @ Z) / len(rows) > MIN_CORRELATION, 1)
    steps = _rounding_steps(rows)
    found: dict[int, int] = {}
    for i, j in np.argwhere(alike).tolist():
        slope = float(np.mean(Z[:, i] * Z[:, j])) * scale[j] / scale[i]
        error = np.abs((Z[:, j] - np.sign(slope) * Z[:, i]) * scale[j])
        exact = 1e-9 * float(np.abs(rows[:, j]).max())  # as in an answer and its reverse
        rounding = 0.5 * steps[j] + 0.5 * abs(slope) * steps[i] + exact
        follows = error.max() <= exact or error.max() <= 1.5 * rounding < ROUNDING * scale[j]
        if i not in found and j not in found and follows:
            found[j] = i
    return found


def closed_columns(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of neighbouring columns of X (n, d) that have the same sum in every row, as shares do."""
    found = find_shares(X)
    if found is None:
        return
    first, last, total = found
    which = "all columns" if last - first == X.shape[1] else f"the columns {names[first]!r} to {names[last - 1]!r}"
    what = f"{which} sum to {total:g} in every row, as shares of a whole do, so one follows from the others"
    settings = {"drop": [names[last - 1]]}
    yield DataWarning(what, columns=list(names[first:last]), fix="leave one out with {drop}", settings=settings)


def find_shares(X: Array) -> tuple[int, int, float] | None:
    """Return the longest run of at least three columns of X (n, d) with one sum in all rows: first, end, and the sum.

    Entries must not be negative, nor all be 0 or 1; None without such a run. Of many columns only all are summed.
    """
    rows = _complete_rows(X)
    n, d = rows.shape
    if n < MIN_ROWS or d < 3 or np.all((rows == 0.0) | (rows == 1.0)):
        return None
    sums = np.column_stack([np.zeros(n), np.cumsum(rows, axis=1)])
    steps, scale = _rounding_steps(rows), rows.std(axis=0)
    for size in range(d, 2 if d <= MAX_RUNS else d - 1, -1):
        for first in range(d - size + 1):
            part = slice(first, first + size)
            total = sums[:, first + size] - sums[:, first]
            rounding = 0.5 * float(steps[part].sum()) + 1e-9 * float(np.abs(total).max())
            narrow = np.ptp(total) <= 2.0 * rounding < 0.25 * scale[part].max()
            if narrow and scale[part].min() > 0.0 and rows[:, part].min() >= 0.0:
                return first, first + size, float(f"{np.median(total):.6g}")
    return None


def _complete_rows(X: Array) -> Array:
    """Return some rows of X (n, d) in which every entry is observed."""
    some = X[np.linspace(0, len(X) - 1, min(len(X), MAX_ROWS)).astype(np.intp)].astype(np.float64)
    return np.asarray(some[np.isfinite(some).all(axis=1)])


def _rounding_steps(rows: Array) -> Array:
    """Return the steps (d,) to which the columns of rows (n, d) are rounded, 0 where they have all their digits.

    >>> _rounding_steps(np.array([[1.5, 3.0, 1 / 3], [2.25, 40.0, 1.0]]))
    array([0.01, 1.  , 0.  ])
    """
    steps = np.zeros(rows.shape[1])
    for panel in slices(len(steps), MAX_COLUMNS):
        left = np.arange(len(steps))[panel]
        for decimals in range(MAX_DECIMALS):
            values = rows[:, left]
            exact = np.all(np.abs(values - values.round(decimals)) <= 1e-12 * np.abs(values), axis=0)
            steps[left[exact]] = 10.0**-decimals
            left = left[~exact]
    return steps
