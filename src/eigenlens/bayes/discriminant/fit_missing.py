"""Gaussian classes from incomplete rows by expectation-maximisation (Dempster, Laird and Rubin 1977).

An EM step replaces each missing value by its expectation given the observed entries of the row, adds the covariance
that is left to the scatter, and takes means and covariances as if the rows were complete. Its fixed point maximises the
likelihood of the observed entries, if covariances are not regularised. A rule chooses how far they shrink before the
first step, from pairs of entries: the values that are filled in follow the shrunk covariances, and would call for more
shrinkage at every step.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, to_numpy
from eigenlens.bayes.class_moments import ClassMoments, attach_classes, summarise_classes
from eigenlens.bayes.class_variances import VARIANCE_FLOOR
from eigenlens.bayes.discriminant.covariances import (
    Shrinkage,
    class_covariances,
    pooled_covariance,
    require_variance_range,
)
from eigenlens.bayes.discriminant.shrinkage import PairMoments, pairwise_intensity, power_of_two_units
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.rows import select_rows
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.data.table import observed_rows
from eigenlens.densities.base import rows_by_pattern
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.mixture_terms import covariance_matrix
from eigenlens.errors import DataError, OptionError
from eigenlens.linalg.spectrum import Outcome
from eigenlens.native.mixture_incomplete import incomplete_passes
from eigenlens.stats.moments import ColumnMoments, Moments

EM_TOLERANCE = 1e-9
"""EM stops when no mean or covariance changes by more than this, in standard deviations."""

MAX_EM_STEPS = 2000
"""The largest number of EM steps: more are needed only where most entries are missing, since EM converges linearly."""


@dataclass(frozen=True, eq=False)
class ExpectedMoments:
    """The moments that EM expects of the complete rows of each class.

    Attributes:
        moments: of each class. shrinkage: the regularisation of their covariances, with known intensities.
        steps: number of EM steps. change: the largest change of the last step, in standard deviations.
    """

    moments: ClassMoments
    shrinkage: Shrinkage
    steps: int
    change: float

    @property
    def outcome(self) -> Outcome:
        """How the moments were found, as `solver_` records it."""
        converged = self.change <= EM_TOLERANCE
        return Outcome("em", "X has missing entries", self.steps, self.steps, converged=converged)


def complete_classes(
    source: Source,
    codes: Array,
    classes: Array,
    shrinkage: Shrinkage,
    *,
    pooled: bool,
    estimate: Callable[[Moments], Any] | None = None,
    progress: Progress | None = None,
) -> ExpectedMoments:
    """Iterate the moments of the classes (C,) until no mean and no covariance changes by more than `EM_TOLERANCE`.

    An EM step is one pass over the rows, and costs O(d³) per pattern of missing values. With `estimate`, the classes
    are the Gaussians that it makes of moments.
    """
    rows, observed = _read_observed(source, codes, classes)
    shrinkage = replace(_choose_intensities(rows, observed, shrinkage, pooled), min_share=VARIANCE_FLOOR)
    covariances = partial(_covariances, shrinkage=shrinkage, pooled=pooled, estimate=estimate)
    found, steps, change = _iterate(rows, _start(observed), covariances, progress)
    return ExpectedMoments(found, shrinkage, steps, change)


# ---- before the first step ------------------------------------------------------------------------------------


def _read_observed(source: Source, codes: Array, classes: Array) -> tuple[Source, ClassMoments]:
    """Return the rows with their classes, and the moments of the observed entries of each class; raise for infinity."""
    if accumulate(source, _count_infinite):
        raise explain_nonfinite(source)
    rows = attach_classes(source, codes)
    observed = accumulate(rows, partial(summarise_classes, summaries=[ColumnMoments.of_observed] * len(classes)))
    for label, part in zip(classes.tolist(), observed.parts, strict=True):
        if not np.all(part.weight > 0.0):
            j = int(np.argmin(part.weight))
            name = source.names[j] if source.names else j
            what = f"column {name!r} of class {label!r} has no observed entry, so its mean is not known"
            raise DataError(what, fix="leave the column out, or give rows of the class that have it")
    require_variance_range(np.max([part.square / part.weight for part in observed.parts], axis=0))
    return rows, observed


def _choose_intensities(rows: Source, observed: ClassMoments, shrinkage: Shrinkage, pooled: bool) -> Shrinkage:
    """Return the shrinkage with the intensities that a rule finds from pairs of entries.

    The pairs are those of each class, or of all classes about their means.
    """
    if isinstance(shrinkage.amount, float) or shrinkage.intensities:
        return shrinkage
    unit = power_of_two_units(np.sqrt(np.max([part.square / part.weight for part in observed.parts], axis=0)))
    summaries = [partial(PairMoments.of, centre=part.mean, unit=unit) for part in observed.parts]
    pairs = accumulate(rows, partial(summarise_classes, summaries=summaries)).parts
    chosen = pairs if shrinkage.by_class or not pooled else (reduce(operator.add, pairs),)
    found = tuple(pairwise_intensity(shrinkage.amount, part, shrinkage.target) for part in chosen)
    return replace(shrinkage, intensities=found)


def _start(observed: ClassMoments) -> ClassMoments:
    """Return independent columns, with the mean and variance of the observed entries in each class."""
    parts = []
    for part in observed.parts:
        n = float(np.max(part.weight))
        parts.append(Moments(n, part.mean, np.diag(n * part.square / part.weight), int(n)))
    return ClassMoments(tuple(parts))


def _count_infinite(block: Block) -> int:
    """Return how many entries of the rows with positive weight are infinite."""
    rows = block.rows if block.weight is None else select_rows(block.rows, np.flatnonzero(block.weight > 0.0))
    return int(np.isinf(rows.data if is_sparse(rows) else to_numpy(rows)).sum())


def _covariances(
    moments: ClassMoments, shrinkage: Shrinkage, pooled: bool, estimate: Callable[[Moments], Any] | None
) -> Sequence[Covariance]:
    """Return the covariance of each class."""
    if estimate is not None:
        return [Full(covariance_matrix(estimate(part))) for part in moments.parts]
    if pooled:
        return [pooled_covariance(moments, shrinkage)[0]] * len(moments.parts)
    return class_covariances(moments, shrinkage).covariances


# ---- EM steps -------------------------------------------------------------------------------------------------


def _iterate(
    rows: Source,
    moments: ClassMoments,
    covariances: Callable[[ClassMoments], Sequence[Covariance]],
    progress: Progress | None,
) -> tuple[ClassMoments, int, float]:
    """Return the moments after EM steps from `moments`, the number of steps, and the change of the last one."""
    steps, change = 0, np.inf
    while change > EM_TOLERANCE and steps < MAX_EM_STEPS:
        pairs = zip(moments.mean, covariances(moments), strict=True)
        summaries = [partial(_expect, mean=mean, C=Full(C.matrix())) for mean, C in pairs]
        after = accumulate(rows, partial(summarise_classes, summaries=summaries))
        change, moments, steps = _largest_change(moments, after), after, steps + 1
        if progress is not None:
            progress(steps, MAX_EM_STEPS, f"EM: step {steps}, change {change:.1e}")
    return moments, steps, change


def _expect(block: Block, mean: Array, C: Full) -> Moments | None:
    """Return the expected moments of the rows of a class; rows without observed entries are left out.

    All patterns of missing values at once; one by one where C has directions without variance.
    """
    X = np.array(dense(block.rows))
    w = np.ones(len(X)) if block.weight is None else block.weight
    some = observed_rows(X)
    if not some.any():
        return None
    X, w, uncertain = X[some], w[some], np.zeros((mean.size, mean.size))
    if C.regular:
        found = incomplete_passes(X, w, np.zeros(1), mean[None], C.entries[None], 1)
        weight, total, spread = found.weight[0], found.total[0], found.spread[0]
        return Moments.about(mean, weight, total, spread, int(np.count_nonzero(w)))
    for rows, seen in rows_by_pattern(X):
        missing = np.setdiff1d(np.arange(mean.size), seen)
        if missing.size:
            which = np.arange(len(X))[rows]
            shift, left = _condition(C, seen, missing, X[np.ix_(which, seen)] - mean[seen])
            X[np.ix_(which, missing)] = mean[missing] + shift
            uncertain[np.ix_(missing, missing)] += float(w[which].sum()) * left
    filled = Moments.of(Block(X, w))
    return replace(filled, scatter=filled.scatter + uncertain)


def _condition(C: Full, seen: Array, missing: Array, deviations: Array) -> tuple[Array, Array]:
    """Return the expected deviations (n, m) of missing values, given the observed ones (n, o), and their covariance."""
    try:
        shift, left = C.given(seen, missing, deviations)
        return shift, left.matrix()
    except OptionError:  # columns are constant or depend on others: use the directions that vary
        block, cross = C.entries[np.ix_(seen, seen)], C.entries[np.ix_(seen, missing)]
        solved = Axes.of_matrix(block, block.diagonal() <= 0.0).solve(cross.T)
        return deviations @ solved.T, C.entries[np.ix_(missing, missing)] - solved @ cross


def _largest_change(before: ClassMoments, after: ClassMoments) -> float:
    """Return the largest change of a mean or covariance, in standard deviations of the columns within all classes."""
    scale = np.sqrt(after.scatter.diagonal() / after.weight.sum())
    scale = np.where(scale > 0.0, scale, 1.0)
    pairs = [(a, b) for a, b in zip(before.parts, after.parts, strict=True) if a is not None and b is not None]
    means = max(float(np.max(np.abs(a.mean - b.mean) / scale)) for a, b in pairs)
    spreads = max(
        float(np.max(np.abs(a.scatter / a.weight - b.scatter / b.weight) / np.outer(scale, scale))) for a, b in pairs
    )
    return max(means, spreads)
