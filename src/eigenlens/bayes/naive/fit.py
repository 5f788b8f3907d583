"""Fit naive Bayes: labelled rows to statistics of each class, in one pass, and these to the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, is_integer, is_sparse
from eigenlens.bayes.naive.families.base import NaiveOptions
from eigenlens.bayes.naive.model import Group, NaiveModel
from eigenlens.bayes.naive.plan import Plan
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.data.table import MixedRows
from eigenlens.errors import DataError
from eigenlens.native.class_sums import label_counts

COPIED_ENTRIES = 1 << 21
"""Entries that are copied at a time, out of sparse rows or from between other columns: 16 MB of floats."""

LABEL_AND_WEIGHT = np.dtype([("label", np.int32), ("weight", np.float64)])


@dataclass(frozen=True, eq=False)
class NaiveStatistics:
    """The statistics of a fit: weights (C,) of the classes, and the statistics of each group of columns."""

    weight: Array
    parts: tuple[Any, ...]

    def __add__(self, other: Self) -> Self:
        parts = tuple(a + b for a, b in zip(self.parts, other.parts, strict=True))
        return type(self)(self.weight + other.weight, parts)


def attach_labels(source: Source, y: Array, weight: Array | None) -> Source:
    """Return the source whose blocks carry the classes (n,) int32 of rows, and any weights, as their weights."""
    if weight is None:
        return source.weighted(y)
    both: Array = np.empty(len(y), dtype=LABEL_AND_WEIGHT)
    both["label"], both["weight"] = y, weight
    return source.weighted(both)


def summarise_naive(
    source: Source, y: Array, weight: Array | None, plan: Plan, C: int, progress: Progress | None = None
) -> NaiveStatistics:
    """Return the statistics of rows with classes y (n,) int32 and weights (n,), in one pass.

    Raises for families that keep the rows where these are not in memory.
    """
    kept = [plan.choices[columns[0]] for factor, columns in plan.groups if factor.keeps_rows]
    if kept and not source.in_memory:
        raise DataError(
            f"column {kept[0].column!r} has the family {kept[0].family!r}, which keeps all rows in memory, and X is "
            "read from files or a cluster",
            columns=[str(kept[0].column)],
            fix="load it first, or give the column another family, such as 'gaussian'",
        )
    return accumulate(
        attach_labels(source, y, weight), partial(_summarise, plan=plan, C=C), progress, "class statistics"
    )


def _summarise(block: Block, plan: Plan, C: int) -> NaiveStatistics:
    y, weight = block.weight, None
    if y.dtype.names is not None:
        y, weight = np.ascontiguousarray(y["label"]), np.ascontiguousarray(y["weight"])
    return reduce(add, (_summarise_slice(*part, plan, C) for part in _labelled_slices(block.rows, y, weight, plan)))


def _labelled_slices(
    rows: Any, y: Array, weight: Array | None, plan: Plan
) -> Iterator[tuple[Any, Array, Array | None]]:
    start = 0
    # Several groups copy their columns, and codes of anything but integers are copies.
    copies = len(plan.groups) > 1 or (not is_integer(rows) and any(factor.takes_text for factor, _ in plan.groups))
    for part in row_slices(rows, copied=copies):
        which = slice(start, start + part.shape[0])
        yield part, y[which], None if weight is None else weight[which]
        start = which.stop


def row_slices(rows: Any, *, copied: bool, step: int | None = None) -> Iterator[Any]:
    """Yield a block in slices of which copies stay small; the whole block where columns are read in place."""
    whole = not (copied or is_sparse(rows) or isinstance(rows, MixedRows))
    size = step or (rows.shape[0] if whole else max(1024, COPIED_ENTRIES // max(1, rows.shape[1])))
    for start in range(0, rows.shape[0], size):
        yield rows if size >= rows.shape[0] else rows[start : start + size]


def _summarise_slice(rows: Any, y: Array, weight: Array | None, plan: Plan, C: int) -> NaiveStatistics:
    parts = [factor.summarise(rows, np.array(columns), y, weight, C) for factor, columns in plan.groups]
    return NaiveStatistics(label_counts(y, weight, C), tuple(parts))


def estimate_naive(statistics: NaiveStatistics, plan: Plan, prior: Array, options: NaiveOptions) -> NaiveModel:
    """Return the model of statistics, with the given class probabilities (C,).

    >>> from eigenlens.data.memory import ArraySource
    >>> from eigenlens.bayes.naive.plan import make_plan
    >>> source, y = ArraySource(np.array([[1.0], [3.0], [8.0], [9.0]])), np.array([0, 0, 1, 1], dtype=np.int32)
    >>> plan = make_plan(source, "shared-gaussian")
    >>> found = summarise_naive(source, y, None, plan, 2)
    >>> estimate_naive(found, plan, np.array([0.5, 0.5]), NaiveOptions()).linear().coef.ravel()
    array([-5.2,  5.2])
    """
    groups = [
        Group(np.array(columns), factor.estimate(part, plan.fields_in(columns), options))
        for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True)
    ]
    return NaiveModel(prior, tuple(groups))
