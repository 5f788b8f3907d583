"""Covariances of classes from rows, where there are fewer of them than columns: no d×d matrix is made."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassRows
from eigenlens.bayes.discriminant.covariances import (
    VARIANCE_FLOOR,
    ClassCovariances,
    Shrinkage,
    is_constant,
    variances_between,
)
from eigenlens.bayes.discriminant.shrinkage import SHRINKAGE_RULES, SHRINKAGE_TARGETS, quartic_sums
from eigenlens.densities.covariance import Covariance
from eigenlens.densities.covariance_axes import Axes

__all__ = ["wide_class_covariances", "wide_covariance_within", "wide_pooled_covariance"]


def wide_pooled_covariance(found: ClassRows, shrinking: Shrinkage) -> tuple[Axes, Array]:
    """`pooled_covariance` without a d×d matrix. Cost 4 n² d flops."""
    n = float(found.each.sum())
    B = found.deviations * np.sqrt(found.each / n)[:, None]
    variances = np.sum(B * B, axis=0)
    if shrinking.by_class:
        floor, a = _floors_by_class(found, shrinking)
        B *= np.sqrt((1.0 - shrinking.reg) * (1.0 - a))[found.codes, None]
    else:
        amount = _wide_amount(shrinking, found.deviations, found.each, variances)
        floor, a = shrinking.floor(variances, amount), np.array([amount])
        B *= np.sqrt((1.0 - shrinking.reg) * (1.0 - amount))
    return _axes(B, floor, found.mean), a


def wide_covariance_within(found: ClassRows) -> tuple[Axes, bool]:
    """`held_covariance` without a d×d matrix: of fewer rows than columns it is singular."""
    B = found.deviations * np.sqrt(found.each / found.each.sum())[:, None]
    return _axes(B, VARIANCE_FLOOR * (found.variances + variances_between(found)), found.mean), True


def _axes(B: Array, floor: Array, means: Array) -> Axes:
    return Axes.of_rows(B, floor, is_constant(np.sum(B * B, axis=0) + floor, means))


def _floors_by_class(found: ClassRows, shrinking: Shrinkage) -> tuple[Array, Array]:
    floor, amounts = np.zeros(found.deviations.shape[1]), np.zeros(len(found.mean))
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        amounts[c] = _wide_amount(shrinking, mine.deviations, mine.each, mine.variances)
        floor += weight * shrinking.floor(mine.variances, float(amounts[c]))
    return floor / found.weight.sum(), amounts


def wide_class_covariances(found: ClassRows, shrinking: Shrinkage) -> ClassCovariances:
    """`class_covariances` without d×d matrices."""
    covariances: list[Covariance] = []
    amounts, held = np.zeros(len(found.mean)), np.zeros(len(found.mean), dtype=bool)
    total = found.variances + variances_between(found)
    constant = is_constant(total + shrinking.reg, found.mean)
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        B = mine.deviations * np.sqrt(mine.each / weight)[:, None]
        variances = np.sum(B * B, axis=0)
        a = amounts[c] = _wide_amount(shrinking, mine.deviations, mine.each, variances)
        B *= np.sqrt((1.0 - shrinking.reg) * (1.0 - a))
        floor = shrinking.floor(variances, float(a))
        held[c] = bool(np.any(is_constant(floor, mine.mean) & ~constant))
        covariances.append(_axes(B, floor + VARIANCE_FLOOR * total if held[c] else floor, found.mean))
    return ClassCovariances(tuple(covariances), amounts, held, constant)


def _wide_amount(shrinking: Shrinkage, D: Array, weight: Array, variances: Array) -> float:
    if not isinstance(shrinking.amount, str):
        return float(shrinking.amount)
    target = SHRINKAGE_TARGETS[shrinking.target](variances)
    trace, square, quartic = quartic_sums(D, weight, target)
    return SHRINKAGE_RULES[shrinking.amount](float(weight.sum()), int(np.count_nonzero(target)), trace, square, quartic)
