"""Gaussian classes from rows with missing entries: expectation-maximisation (Dempster, Laird and Rubin 1977).

A step fills each gap with its expectation given what is there of the row, and adds to the scatter what is uncertain
of it; then it takes means and covariances as if the rows were complete. Its fixed point maximises the likelihood of
what is there, if covariances are not regularised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.errors import DataError
from eigenlens.fitting.class_rows import ClassMoments, by_class, class_summary, labelled
from eigenlens.models.covariances import Covariance, Full
from eigenlens.models.density import rows_by_pattern
from eigenlens.stats.moments import Moments
from eigenlens.stats.observed import ObservedColumns

__all__ = ["Completed", "complete_classes"]

Estimate = Callable[[ClassMoments], Sequence[Covariance]]
"""From the moments of the classes to a covariance for each of them."""


@dataclass(frozen=True, eq=False)
class Completed:
    """The expected moments of the classes, after so many steps; `change` is the last one's, in standard deviations."""

    moments: ClassMoments
    steps: int
    change: float


def complete_classes(
    source: Source,
    codes: Array,
    n_classes: int,
    estimate: Estimate,
    *,
    called: Callable[[int, int], str],
    tol: float = 1e-9,
    max_iter: int = 2000,
    progress: Progress | None = None,
) -> Completed:
    """Moments of the classes as if their rows were complete, until no mean and no covariance changes by tol.

    A step is a pass over the rows, and costs O(d³) for each pattern of gaps. `called(c, j)` names a class and a column
    in the error about one without entries.
    """
    rows = labelled(source, codes)
    observed = accumulate(rows, partial(class_summary, n_classes=n_classes, moments=ObservedColumns.of))
    for c, part in enumerate(observed.parts):
        if not np.all(part.weight > 0.0):
            raise DataError(
                f"{called(c, int(np.argmin(part.weight)))} has no entry, so nothing is known of its mean there."
            )
    found = _start(observed)
    steps, change = 0, np.inf
    while change > tol and steps < max_iter:
        covariances = [Full(C.matrix()) for C in estimate(found)]
        fill = partial(_expected, means=found.mean, covariances=covariances)
        after = accumulate(rows, fill)
        change, found, steps = _change(found, after), after, steps + 1
        if progress is not None:
            progress(steps, max_iter, f"EM: step {steps}, change {change:.1e}")
    return Completed(found, steps, change)


def _start(observed: ClassMoments) -> ClassMoments:
    """Independent columns, with the means and variances of what is there of them in each class."""
    parts = []
    for part in observed.parts:
        n = float(np.max(part.weight))
        parts.append(Moments(int(n), n, part.mean, np.diag(n * part.square / part.weight)))
    return ClassMoments(tuple(parts))


def _expected(block: Block, means: Array, covariances: Sequence[Full]) -> ClassMoments:
    """The expected moments of each class in a labelled block; rows without entries say nothing."""
    parts: list[Any] = [None] * len(means)
    for c, mine in by_class(block):
        found = _filled(mine, means[c], covariances[c])
        parts[c] = found if parts[c] is None else parts[c] if found is None else parts[c] + found
    return ClassMoments(tuple(parts))


def _filled(mine: Block, mean: Array, C: Full) -> Moments | None:
    X = np.array(dense(mine.rows))
    w = np.ones(len(X)) if mine.weight is None else mine.weight
    some = ~np.isnan(X).all(axis=1)
    if not some.any():
        return None
    X, w, unsure = X[some], w[some], np.zeros((mean.size, mean.size))
    for rows, seen in rows_by_pattern(X):
        gaps = np.setdiff1d(np.arange(mean.size), seen)
        if gaps.size:
            which = np.arange(len(X))[rows]
            shift, left = C.given(seen, gaps, X[np.ix_(which, seen)] - mean[seen])
            X[np.ix_(which, gaps)] = mean[gaps] + shift
            unsure[np.ix_(gaps, gaps)] += float(w[which].sum()) * left.matrix()
    filled = Moments.of(Block(X, w))
    return Moments(filled.rows, filled.weight, filled.mean, filled.scatter + unsure)


def _change(before: ClassMoments, after: ClassMoments) -> float:
    """The largest change of a mean or covariance, in standard deviations of the columns within all classes."""
    scale = np.sqrt(after.scatter.diagonal() / after.weight.sum())
    scale = np.where(scale > 0.0, scale, 1.0)
    pairs = [(a, b) for a, b in zip(before.parts, after.parts, strict=True) if a is not None and b is not None]
    means = max(float(np.max(np.abs(a.mean - b.mean) / scale)) for a, b in pairs)
    spreads = max(
        float(np.max(np.abs(a.scatter / a.weight - b.scatter / b.weight) / np.outer(scale, scale))) for a, b in pairs
    )
    return max(means, spreads)
