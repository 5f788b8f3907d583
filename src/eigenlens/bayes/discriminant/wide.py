"""Covariances of classes from rows, where there are fewer of them than columns: no d×d matrix is made."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassRows
from eigenlens.bayes.discriminant.covariances import (
    FLOOR,
    OwnCovariances,
    Shrinking,
    constant_columns,
    variances_between,
)
from eigenlens.bayes.discriminant.shrinkage import RULES, TARGETS, quartic_of_rows
from eigenlens.densities.covariance import Covariance
from eigenlens.densities.covariance_axes import Axes

__all__ = ["wide_class_covariances", "wide_held_covariance", "wide_pooled_covariance"]


def wide_pooled_covariance(found: ClassRows, shrinking: Shrinking) -> tuple[Axes, Array]:
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


def wide_held_covariance(found: ClassRows) -> tuple[Axes, bool]:
    """`held_covariance` without a d×d matrix: of fewer rows than columns it is singular."""
    B = found.deviations * np.sqrt(found.each / found.each.sum())[:, None]
    return _axes(B, FLOOR * (found.variances + variances_between(found)), found.mean), True


def _axes(B: Array, floor: Array, means: Array) -> Axes:
    return Axes.of_rows(B, floor, constant_columns(np.sum(B * B, axis=0) + floor, means))


def _floors_by_class(found: ClassRows, shrinking: Shrinking) -> tuple[Array, Array]:
    floor, amounts = np.zeros(found.deviations.shape[1]), np.zeros(len(found.mean))
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        amounts[c] = _wide_amount(shrinking, mine.deviations, mine.each, mine.variances)
        floor += weight * shrinking.floor(mine.variances, float(amounts[c]))
    return floor / found.weight.sum(), amounts


def wide_class_covariances(found: ClassRows, shrinking: Shrinking) -> OwnCovariances:
    """`class_covariances` without d×d matrices."""
    covariances: list[Covariance] = []
    amounts, held = np.zeros(len(found.mean)), np.zeros(len(found.mean), dtype=bool)
    total = found.variances + variances_between(found)
    constant = constant_columns(total + shrinking.reg, found.mean)
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        B = mine.deviations * np.sqrt(mine.each / weight)[:, None]
        variances = np.sum(B * B, axis=0)
        a = amounts[c] = _wide_amount(shrinking, mine.deviations, mine.each, variances)
        B *= np.sqrt((1.0 - shrinking.reg) * (1.0 - a))
        floor = shrinking.floor(variances, float(a))
        held[c] = bool(np.any(constant_columns(floor, mine.mean) & ~constant))
        covariances.append(_axes(B, floor + FLOOR * total if held[c] else floor, found.mean))
    return OwnCovariances(tuple(covariances), amounts, held, constant)


def _wide_amount(shrinking: Shrinking, D: Array, weight: Array, variances: Array) -> float:
    if not isinstance(shrinking.amount, str):
        return float(shrinking.amount)
    target = TARGETS[shrinking.target](variances)
    trace, square, quartic = quartic_of_rows(D, weight, target)
    return RULES[shrinking.amount](float(weight.sum()), int(np.count_nonzero(target)), trace, square, quartic)
