"""Gaussian classes from rows with missing entries: expectation-maximisation (Dempster, Laird and Rubin 1977).

A step fills each gap with its expectation given what is there of the row, and adds to the scatter what is uncertain
of it; then it takes means and covariances as if the rows were complete. Its fixed point maximises the likelihood of
what is there, if covariances are not regularised. How far they shrink is settled before, from pairs of entries: what is
filled in follows the shrunk covariances, and would call for more shrinkage at every step.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.bayes.class_moments import ClassMoments, attach_classes, split_by_class, summarise_classes
from eigenlens.bayes.discriminant.covariances import (
    VARIANCE_FLOOR,
    Shrinkage,
    class_covariances,
    pooled_covariance,
    require_variance_range,
)
from eigenlens.bayes.discriminant.shrinkage import (
    SHRINKAGE_TARGETS,
    PairMoments,
    pairwise_intensity,
    power_of_two_units,
)
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.densities.base import rows_by_pattern
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.mixture import covariance_matrix
from eigenlens.errors import DataError, OptionError
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["ExpectedMoments", "complete_classes", "complete_family_members"]


@dataclass(frozen=True, eq=False)
class ExpectedMoments:
    """The expected moments of the classes, after so many steps; `change` is the last one's, in standard deviations.

    `shrinking` is how their covariances are regularised, with amounts that are settled.
    """

    moments: ClassMoments
    shrinking: Shrinkage
    steps: int
    change: float


def complete_classes(
    source: Source,
    codes: Array,
    n_classes: int,
    shrinking: Shrinkage,
    *,
    pooled: bool,
    called: Callable[[int, int], str],
    tol: float = 1e-9,
    max_iter: int = 2000,
    progress: Progress | None = None,
) -> ExpectedMoments:
    """Moments of the classes as if their rows were complete, until no mean and no covariance changes by tol.

    A step is a pass over the rows, and costs O(d³) for each pattern of gaps. `called(c, j)` names a class and a column
    in the error about one without entries.
    """
    rows, observed = _observed(source, codes, n_classes, called)
    shrinking = replace(_settled(rows, observed, shrinking, pooled), least=VARIANCE_FLOOR)
    spread = partial(_covariances, shrinking=shrinking, pooled=pooled)
    found, steps, change = _climbed(rows, _start(observed), spread, tol, max_iter, progress)
    return ExpectedMoments(found, shrinking, steps, change)


def complete_family_members(
    source: Source,
    codes: Array,
    n_classes: int,
    estimate: Callable[[Moments], Any],
    *,
    called: Callable[[int, int], str],
    tol: float = 1e-9,
    max_iter: int = 2000,
) -> ExpectedMoments:
    """The same for classes that are members of a family of Gaussians, made of moments by `estimate`."""
    rows, observed = _observed(source, codes, n_classes, called)

    def members(found: ClassMoments) -> list[Covariance]:
        return [Full(covariance_matrix(estimate(part))) for part in found.parts]

    found, steps, change = _climbed(rows, _start(observed), members, tol, max_iter, None)
    return ExpectedMoments(found, Shrinkage(), steps, change)


def _observed(
    source: Source, codes: Array, n_classes: int, called: Callable[[int, int], str]
) -> tuple[Source, ClassMoments]:
    """The rows with their classes, and the moments of the entries that are there."""
    rows = attach_classes(source, codes)
    observed = accumulate(rows, partial(summarise_classes, n_classes=n_classes, moments=ColumnMoments.of_observed))
    for c, part in enumerate(observed.parts):
        if not np.all(part.weight > 0.0):
            raise DataError(
                f"{called(c, int(np.argmin(part.weight)))} has no entry, so nothing is known of its mean there."
            )
    require_variance_range(np.max([part.square / part.weight for part in observed.parts], axis=0))
    return rows, observed


def _climbed(
    rows: Source,
    found: ClassMoments,
    covariances: Callable[[ClassMoments], Sequence[Covariance]],
    tol: float,
    max_iter: int,
    progress: Progress | None,
) -> tuple[ClassMoments, int, float]:
    """Steps of EM from `found` until nothing changes by tol: the moments, how many, and the last change."""
    steps, change = 0, np.inf
    while change > tol and steps < max_iter:
        spread = [Full(C.matrix()) for C in covariances(found)]
        after = accumulate(rows, partial(_expected, means=found.mean, covariances=spread))
        change, found, steps = _change(found, after), after, steps + 1
        if progress is not None:
            progress(steps, max_iter, f"EM: step {steps}, change {change:.1e}")
    return found, steps, change


def _covariances(found: ClassMoments, shrinking: Shrinkage, pooled: bool) -> Sequence[Covariance]:
    """A covariance for each class."""
    if pooled:
        return [pooled_covariance(found, shrinking)[0]] * len(found.parts)
    return class_covariances(found, shrinking).covariances


def _settled(rows: Source, observed: ClassMoments, shrinking: Shrinkage, pooled: bool) -> Shrinkage:
    """The amounts that a rule finds from the pairs of entries of each class, or of all about the means of theirs."""
    if not shrinking.by_rule:
        return shrinking
    means = [part.mean for part in observed.parts]
    unit = power_of_two_units(np.sqrt(np.max([part.square / part.weight for part in observed.parts], axis=0)))
    pairs = accumulate(rows, partial(_pairs, means=means, unit=unit)).parts
    chosen = pairs if shrinking.by_class or not pooled else (reduce(operator.add, pairs),)
    target = SHRINKAGE_TARGETS[shrinking.target]
    return replace(shrinking, settled=tuple(pairwise_intensity(str(shrinking.amount), part, target) for part in chosen))


def _pairs(block: Block, means: Sequence[Array], unit: Array) -> ClassMoments:
    parts: list[Any] = [None] * len(means)
    for c, mine in split_by_class(block):
        found = PairMoments.of(mine, means[c], unit)
        parts[c] = found if parts[c] is None else parts[c] + found
    return ClassMoments(tuple(parts))


def _start(observed: ClassMoments) -> ClassMoments:
    """Independent columns, with the means and variances of what is there of them in each class."""
    parts = []
    for part in observed.parts:
        n = float(np.max(part.weight))
        parts.append(Moments(n, part.mean, np.diag(n * part.square / part.weight), int(n)))
    return ClassMoments(tuple(parts))


def _expected(block: Block, means: Array, covariances: Sequence[Full]) -> ClassMoments:
    """The expected moments of each class in a labelled block; rows without entries say nothing."""
    parts: list[Any] = [None] * len(means)
    for c, mine in split_by_class(block):
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
            shift, left = _given(C, seen, gaps, X[np.ix_(which, seen)] - mean[seen])
            X[np.ix_(which, gaps)] = mean[gaps] + shift
            unsure[np.ix_(gaps, gaps)] += float(w[which].sum()) * left
    filled = Moments.of(Block(X, w))
    return replace(filled, scatter=filled.scatter + unsure)


def _given(C: Full, seen: Array, gaps: Array, deviations: Array) -> tuple[Array, Array]:
    """Expected deviations (n, m) in the gaps, given those (n, o) that are seen, and their covariance (m, m)."""
    try:
        shift, left = C.given(seen, gaps, deviations)
        return shift, left.matrix()
    except OptionError:  # columns are constant, or follow from others: by the directions that vary
        block, cross = C.entries[np.ix_(seen, seen)], C.entries[np.ix_(seen, gaps)]
        solved = Axes.of_matrix(block, block.diagonal() <= 0.0).solve(cross.T)
        return deviations @ solved.T, C.entries[np.ix_(gaps, gaps)] - solved @ cross


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
