"""Columns of 0 and 1 that are the categories of one variable: one of them is 1 in every row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataWarning, join_limited

MIN_BITS = 8.0
"""Rows beyond those that m columns need to differ, 2 log₂ m, from which sums of one are not a coincidence."""

FEW = 64
"""Rows by which most columns show that they have other numbers than 0 and 1."""


def indicator_warnings(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of each set of columns of X (n, d) that are the categories of one variable."""
    for places in find_indicator_sets(X, names):
        found = [names[j] for j in places]
        what = f"columns {join_limited([repr(name) for name in found])} are 0 or 1 and sum to 1 in every row"
        what += ", so each follows from the other" if len(found) == 2 else ", so one follows from the others"
        fix, settings = "leave one out with {drop}", {"drop": found[-1:]}
        if len(found) < len(names):
            fix += ", or show them beside the result with {supplementary}"
            settings["supplementary"] = found
        yield DataWarning(what, columns=found, fix=fix, settings=settings)


def find_indicator_sets(X: Array, names: Sequence[str]) -> list[tuple[int, ...]]:
    """Return sets of columns of X (n, d), by number, that are 0 or 1 and of which one is 1 in every row.

    These are neighbours, two columns anywhere, or columns whose names start alike (sex_male, sex_female). Rows with a
    missing entry in such a column are not looked at. Cost: O(n d).

    >>> x = np.random.default_rng(0).integers(0, 3, 30)
    >>> find_indicator_sets(np.column_stack([x == 0, 9.5 + x, x == 1, x == 2]), ["a", "b", "c", "d"])
    [(0, 2, 3)]
    """
    binary = [j for j in range(X.shape[1]) if _is_binary(X[:FEW, j]) and _is_binary(X[:, j])]
    known = np.ones(len(X), dtype=bool)
    for j in binary:
        known &= np.isfinite(X[:, j])
    rows = np.flatnonzero(known)
    if len(binary) < 2 or rows.size - 1 < MIN_BITS + 2.0 * np.log2(len(binary)):
        return []
    columns = {j: (X[rows, j] != 0.0) for j in binary if 0 < np.count_nonzero(X[rows, j]) < rows.size}
    found = _runs(columns)
    for places in (*_pairs(columns), *_alike_by_name(columns, names)):
        if not any(set(places) & set(each) for each in found):
            found.append(places)
    return sorted(found)


def _is_binary(values: Array) -> bool:
    return bool(np.all((values == 0.0) | (values == 1.0) | np.isnan(values)))


def _sum_to_one(columns: dict[int, Array], places: Sequence[int]) -> bool:
    return bool(np.all(sum(columns[j].astype(np.int32) for j in places) == 1))


def _runs(columns: dict[int, Array]) -> list[tuple[int, ...]]:
    """Return runs of neighbours that sum to 1, of which none overlaps another: cumulative sums there differ by 1."""
    order = list(columns)
    total = np.zeros(len(next(iter(columns.values()), ())), dtype=np.int32)
    before = {hash(total.tobytes()): 0}
    found: list[tuple[int, ...]] = []
    last = 0
    for place, j in enumerate(order, 1):
        total = total + columns[j]
        start = before.get(hash((total - 1).tobytes()), -1)
        if last <= start < place - 1 and _sum_to_one(columns, order[start:place]):
            found.append(tuple(order[start:place]))
            last = place
        before[hash(total.tobytes())] = place
    return found


def _pairs(columns: dict[int, Array]) -> Iterator[tuple[int, ...]]:
    """Yield pairs of columns of which one is the complement of the other."""
    known = {values.tobytes(): j for j, values in reversed(columns.items())}
    for j, values in columns.items():
        other = known.get((~values).tobytes(), -1)
        if other > j:
            yield (j, other)


def _alike_by_name(columns: dict[int, Array], names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield sets of columns whose names start alike, up to the last sign that is not a letter, and that sum to 1."""
    groups: dict[str, list[int]] = {}
    for j in columns:
        start = re.match(r"(.*[\W_])[^\W_]+$", names[j])
        if start:
            groups.setdefault(start[1], []).append(j)
    for places in groups.values():
        if len(places) > 1 and _sum_to_one(columns, places):
            yield tuple(places)
