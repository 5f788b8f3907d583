"""Covariances of classes from rows, where there are fewer rows than columns: no d×d matrix is made."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassDeviations
from eigenlens.bayes.discriminant.covariances import (
    VARIANCE_FLOOR,
    ClassCovariances,
    Shrinkage,
    is_constant,
    variances_between,
)
from eigenlens.bayes.discriminant.shrinkage import find_rule, find_target, quartic_sums
from eigenlens.densities.covariance import Covariance
from eigenlens.densities.covariance_axes import Axes


def wide_pooled_covariance(found: ClassDeviations, shrinkage: Shrinkage) -> tuple[Axes, Array]:
    """Return `pooled_covariance` without a d×d matrix. Cost 4 n² d flops."""
    n = float(found.each.sum())
    B = found.deviations * np.sqrt(found.each / n)[:, None]
    variances = np.sum(B * B, axis=0)
    if shrinkage.by_class:
        diagonal, a = _shrink_by_class(found, shrinkage)
        B *= np.sqrt((1.0 - shrinkage.reg) * (1.0 - a))[found.codes, None]
    else:
        amount = _choose_intensity(shrinkage, found.deviations, found.each, variances)
        diagonal, a = shrinkage.added_diagonal(variances, amount), np.array([amount])
        B *= np.sqrt((1.0 - shrinkage.reg) * (1.0 - amount))
    return _axes(B, diagonal, found.mean), a


def wide_covariance_within(found: ClassDeviations) -> tuple[Axes, bool]:
    """Return `covariance_within` without a d×d matrix: with fewer rows than columns it is singular."""
    B = found.deviations * np.sqrt(found.each / found.each.sum())[:, None]
    return _axes(B, VARIANCE_FLOOR * (found.variances + variances_between(found)), found.mean), True


def _axes(B: Array, diagonal: Array, means: Array) -> Axes:
    """Return Bᵀ B plus a diagonal (d,), without the columns that are constant about the means (C, d)."""
    return Axes.of_rows(B, diagonal, is_constant(np.sum(B * B, axis=0) + diagonal, means))


def _shrink_by_class(found: ClassDeviations, shrinkage: Shrinkage) -> tuple[Array, Array]:
    """Return the diagonal (d,) that all classes add to the covariance, and their intensities (C,)."""
    diagonal, amounts = np.zeros(found.deviations.shape[1]), np.zeros(len(found.mean))
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        amounts[c] = _choose_intensity(shrinkage, mine.deviations, mine.each, mine.variances)
        diagonal += weight * shrinkage.added_diagonal(mine.variances, float(amounts[c]))
    return diagonal / found.weight.sum(), amounts


def wide_class_covariances(found: ClassDeviations, shrinkage: Shrinkage) -> ClassCovariances:
    """Return `class_covariances` without d×d matrices."""
    covariances: list[Covariance] = []
    amounts, clamped = np.zeros(len(found.mean)), np.zeros(len(found.mean), dtype=bool)
    total = found.variances + variances_between(found)
    constant = is_constant(total + shrinkage.reg, found.mean)
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        B = mine.deviations * np.sqrt(mine.each / weight)[:, None]
        variances = np.sum(B * B, axis=0)
        a = amounts[c] = _choose_intensity(shrinkage, mine.deviations, mine.each, variances)
        B *= np.sqrt((1.0 - shrinkage.reg) * (1.0 - a))
        diagonal = shrinkage.added_diagonal(variances, float(a))
        clamped[c] = bool(np.any(is_constant(diagonal, mine.mean) & ~constant))
        covariances.append(_axes(B, diagonal + VARIANCE_FLOOR * total if clamped[c] else diagonal, found.mean))
    return ClassCovariances(tuple(covariances), amounts, clamped, constant)


def _choose_intensity(shrinkage: Shrinkage, D: Array, weight: Array, variances: Array) -> float:
    if isinstance(shrinkage.amount, float):
        return shrinkage.amount
    target = find_target(shrinkage.target)(variances)
    trace, square, quartic = quartic_sums(D, weight, target)
    return find_rule(shrinkage.amount)(float(weight.sum()), int(np.count_nonzero(target)), trace, square, quartic)
