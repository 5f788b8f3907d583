"""Rows that repeat others exactly, as in a file that was appended to itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.base import pl
from eigenlens.errors import DataWarning
from eigenlens.tables.text_table import count_noun

MIN_ROWS = 10
"""With fewer rows, halves that are alike may be a coincidence."""

MIN_SHARE = 0.01
"""The share of copies from which they are warned of."""

MIN_DIGITS, LONG = 6, 3
"""Digits of a row beyond those that n rows need to differ, 2 log₁₀ n, from which rows are not alike by chance.

Only different numbers of at least three digits are counted: answers and counts repeat."""

BLOCK_ROWS, MAX_LOOKED_AT = 65_536, 100


def copied_rows(X: Array, frame: Any = None) -> Iterator[DataWarning]:
    """Yield a warning where rows of X (n, d) repeat others exactly, and not by chance. Cost: one pass.

    frame: the same rows with their columns of text, which must be alike too; None where there are none.
    """
    n, d = X.shape if frame is None else frame.shape
    if n < MIN_ROWS:
        return
    marks = _marks(X) if frame is None else frame.hash_rows(seed=0).to_numpy()
    half = n // 2
    if half >= MIN_ROWS and np.array_equal(marks[:half], marks[half:]):
        what = f"the second half of the rows repeats the first, {half:,} rows"
        yield DataWarning(what, fix="if the file was appended to itself, keep one copy")
        return
    if d == 1:
        return  # one number that occurs twice is no copy of a row
    ordered = np.sort(marks)
    if np.count_nonzero(ordered[1:] == ordered[:-1]) < max(1.0, MIN_SHARE * n):
        return
    _, first, groups = np.unique(marks, return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[groups] != np.arange(n))
    if are_long(X[copies[:MAX_LOOKED_AT]], n):
        where = f"first: row {copies[0] + 1} repeats row {first[groups[copies[0]]] + 1}"
        verb = "repeats another" if copies.size == 1 else "repeat others"
        what = f"{count_noun(copies.size, 'row')} of {n:,} {verb}"
        fix = "if they were entered twice, keep one copy of each"
        yield DataWarning(f"{what} exactly in all {d:,} columns ({where})", fix=fix)


def _marks(X: Array) -> Array:
    """Return a number (n,) for each row of X (n, d), the same for equal rows and different for others."""
    frames = (pl.DataFrame(X[i : i + BLOCK_ROWS]) for i in range(0, len(X), BLOCK_ROWS))
    return np.concatenate([frame.hash_rows(seed=0).to_numpy() for frame in frames])


def are_long(rows: Array, n: int) -> bool:
    """Return whether most of these rows have so many digits that n rows would not be alike by chance.

    >>> are_long(np.array([[165.62, 68.213, 41.5]]), 24), are_long(np.array([[5.1, 3.5, 1.4, 0.2]]), 150)
    (True, False)
    """
    digits = [sum(map(_digits, set(row))) for row in rows.tolist()]
    return bool(np.median(digits) >= MIN_DIGITS + 2.0 * np.log10(n))


def _digits(value: float) -> int:
    """Return the significant digits of a number; 0 for fewer than `LONG`, and for a missing value."""
    count = len(f"{abs(value):.15g}".partition("e")[0].replace(".", "").strip("0")) if value == value else 0
    return count if count >= LONG else 0
