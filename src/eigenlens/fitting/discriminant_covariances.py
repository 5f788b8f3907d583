"""Covariances of classes, shrunk or not, one for all or one each: from moments, or from rows where these are few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block
from eigenlens.errors import OptionError
from eigenlens.fitting.class_rows import ClassMoments, ClassRows, class_summary, pooled_summary
from eigenlens.fitting.shrinkage import RULES, TARGETS, QuarticMoments, intensity, quartic_of_rows
from eigenlens.models.covariance_axes import Axes
from eigenlens.models.covariances import Covariance, Full
from eigenlens.stats.moments import Moments

__all__ = [
    "OwnCovariances", "Shrinking", "class_covariances", "constant_columns", "pooled_covariance", "summary",
    "wide_class_covariances", "wide_pooled_covariance",
]  # fmt: skip

ROUNDING = 8.0 * float(np.finfo(np.float64).eps)
"""A column that varies by no more than this share of its values is constant."""

FLOOR = 1e-8
"""The share of the variances of all rows that is added to the covariance of a class that is singular."""


@dataclass(frozen=True)
class Shrinking:
    """How covariances S are regularised: (1 − reg) ((1 − a) S + a T) + reg I.

    Attributes:
        amount: a, or the name of a rule for it. target: T, a key of `TARGETS`.
        by_class: whether a pooled covariance shrinks class by class. reg: in [0, 1].
        settled: what a rule has found, one for all classes or one for each; () before.
    """

    amount: float | str = 0.0
    target: str = "diagonal"
    by_class: bool = False
    reg: float = 0.0
    settled: tuple[float, ...] = ()

    @property
    def by_rule(self) -> bool:
        """Whether the amount is yet to be found from the rows, by fourth moments."""
        return isinstance(self.amount, str) and not self.settled

    @property
    def fills(self) -> bool:
        """Whether the result has full rank, however few the rows are."""
        return isinstance(self.amount, str) or self.amount > 0.0 or self.reg > 0.0

    def of(self, S: Array, a: float) -> Array:
        """The regularised matrix (d, d)."""
        C = (1.0 - self.reg) * (1.0 - a) * S
        C[np.diag_indices_from(C)] += self.floor(S.diagonal(), a)
        return np.asarray(C)

    def floor(self, variances: Array, a: float) -> Array:
        """What is added to the diagonal (d,)."""
        return np.asarray((1.0 - self.reg) * a * TARGETS[self.target](variances) + self.reg)


SUMMARIES: dict[bool, Callable[[Block], Any]] = {False: Moments.of, True: QuarticMoments.of}
"""What is kept of a class, by whether a rule wants fourth moments."""


def summary(n_classes: int, shrinking: Shrinking, pooled: bool) -> Callable[[Block], Any]:
    """What one pass keeps of a labelled block."""
    if pooled and not shrinking.by_rule:
        return partial(pooled_summary, n_classes=n_classes)
    return partial(class_summary, n_classes=n_classes, moments=SUMMARIES[shrinking.by_rule])


# ---- covariances from moments ---------------------------------------------------------------------------------


def pooled_covariance(found: Any, shrinking: Shrinking) -> tuple[Axes, Array]:
    """The covariance (divisor Σw) that all classes share, and its intensity a (1,), or (C,) class by class."""
    n = found.weight.sum()
    S = found.scatter / n
    if shrinking.by_class:
        C, a = _shrunk_by_class(found, shrinking)
    else:
        fourth = sum(part.fourth for part in found.parts if part is not None) if shrinking.by_rule else None
        amount = _amount(shrinking, 0, float(n), S, fourth)
        C, a = shrinking.of(S, amount), np.array([amount])
    return Axes.of_matrix(C, constant_columns(C.diagonal(), found.mean)), a


def _shrunk_by_class(found: ClassMoments, shrinking: Shrinking) -> tuple[Array, Array]:
    parts = [part for part in found.parts if part is not None]
    amounts = _amounts(shrinking, parts)
    shrunk = [part.weight * shrinking.of(part.scatter / part.weight, a) for part, a in zip(parts, amounts, strict=True)]
    return np.asarray(sum(shrunk) / found.weight.sum()), np.array(amounts)


@dataclass(frozen=True, eq=False)
class OwnCovariances:
    """A covariance for each class, its intensity of shrinkage (C,), and which classes (C,) are held at the floor.

    A singular covariance has no density: `FLOOR` times the variances of all rows is added to its diagonal, so that a
    column that only differs between classes keeps them apart.
    """

    covariances: tuple[Covariance, ...]
    amounts: Array
    held: Array


def class_covariances(found: ClassMoments, shrinking: Shrinking) -> OwnCovariances:
    """The covariance (divisor Σw) of each class."""
    parts = list(found.parts)
    amounts = _amounts(shrinking, parts)
    matrices = [shrinking.of(part.scatter / part.weight, a) for part, a in zip(parts, amounts, strict=True)]
    within = found.scatter.diagonal() / found.weight.sum()
    held = ~np.array([_has_density(C) for C in matrices])
    total = within + _between(found)
    made = [_held(C, total, found.mean) if bad else Full(C) for C, bad in zip(matrices, held, strict=True)]
    return OwnCovariances(tuple(made), np.array(amounts), held)


def _has_density(C: Array) -> bool:
    try:
        return bool(np.isfinite(Full(C).log_determinant))
    except OptionError:
        return False


def _between(found: ClassMoments | ClassRows) -> Array:
    """Variances (d,) of the means of the classes, by the weights of these."""
    share = found.weight / found.weight.sum()
    return np.asarray(share @ (found.mean - share @ found.mean) ** 2)


def _held(C: Array, total: Array, means: Array) -> Covariance:
    """C with the floor added; columns that are constant in all rows are left out."""
    C = C + np.diag(FLOOR * total)
    return Axes.of_matrix(C, constant_columns(total, means))


def _amounts(shrinking: Shrinking, parts: list[Any]) -> list[float]:
    """The intensity of each class."""
    return [
        _amount(shrinking, c, part.weight, part.scatter / part.weight, getattr(part, "fourth", None))
        for c, part in enumerate(parts)
    ]


def _amount(shrinking: Shrinking, c: int, n: float, S: Array, fourth: Array | None) -> float:
    if shrinking.settled:
        return shrinking.settled[c]
    if not isinstance(shrinking.amount, str) or fourth is None:
        return float(shrinking.amount)
    return intensity(shrinking.amount, n, S, fourth, TARGETS[shrinking.target](S.diagonal()))


def constant_columns(variances: Array, means: Array) -> Array:
    """Which columns (d,) do not vary about the means (C, d), but for rounding."""
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)) <= ROUNDING * np.abs(means).max(axis=0))


# ---- covariances from rows, where there are fewer of them than columns ----------------------------------------


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


def _axes(B: Array, floor: Array, means: Array) -> Axes:
    return Axes.of_rows(B, floor, constant_columns(np.sum(B * B, axis=0) + floor, means))


def _floors_by_class(found: ClassRows, shrinking: Shrinking) -> tuple[Array, Array]:
    floor, amounts = np.zeros(found.deviations.shape[1]), np.zeros(len(found.mean))
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        variances = mine.each @ mine.deviations**2 / weight
        amounts[c] = _wide_amount(shrinking, mine.deviations, mine.each, variances)
        floor += weight * shrinking.floor(variances, float(amounts[c]))
    return floor / found.weight.sum(), amounts


def wide_class_covariances(found: ClassRows, shrinking: Shrinking) -> OwnCovariances:
    """`class_covariances` without d×d matrices."""
    covariances: list[Covariance] = []
    amounts, held = np.zeros(len(found.mean)), np.zeros(len(found.mean), dtype=bool)
    total = found.each @ found.deviations**2 / found.each.sum() + _between(found)
    for c, weight in enumerate(found.weight):
        mine = found.of(c)
        B = mine.deviations * np.sqrt(mine.each / weight)[:, None]
        variances = np.sum(B * B, axis=0)
        a = amounts[c] = _wide_amount(shrinking, mine.deviations, mine.each, variances)
        B *= np.sqrt((1.0 - shrinking.reg) * (1.0 - a))
        floor = shrinking.floor(variances, float(a))
        held[c] = bool(np.any(constant_columns(floor, mine.mean)))
        covariances.append(_axes(B, floor + FLOOR * total if held[c] else floor, found.mean))
    return OwnCovariances(tuple(covariances), amounts, held)


def _wide_amount(shrinking: Shrinking, D: Array, weight: Array, variances: Array) -> float:
    if not isinstance(shrinking.amount, str):
        return float(shrinking.amount)
    target = TARGETS[shrinking.target](variances)
    trace, square, quartic = quartic_of_rows(D, weight, target)
    return RULES[shrinking.amount](float(weight.sum()), int(np.count_nonzero(target)), trace, square, quartic)
