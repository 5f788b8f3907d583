"""Covariances of classes, shrunk or not, one for all or one each, from moments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments, ClassRows, summarise_classes, summarise_pooled
from eigenlens.bayes.discriminant.shrinkage import SHRINKAGE_TARGETS, QuarticMoments, shrinkage_intensity
from eigenlens.data.source import Block
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import MIN_AXIS_SHARE, Axes
from eigenlens.errors import DataError
from eigenlens.stats.moments import Moments

__all__ = [
    "VARIANCE_FLOOR",
    "ClassCovariances",
    "Shrinkage",
    "choose_summary",
    "class_covariances",
    "covariance_within",
    "has_density",
    "is_constant",
    "pooled_covariance",
    "require_variance_range",
    "variances_between",
]  # fmt: skip

CONSTANT_TOLERANCE = 8.0 * float(np.finfo(np.float64).eps)
"""A column that varies by no more than this share of its values is constant."""

MIN_VARIANCE, MAX_VARIANCE = 1e-290, 1e300
"""The variances that double precision has enough digits for; 0 is none."""

VARIANCE_FLOOR = 1e-8
"""The share of the variances of all rows that is added to the covariance of a class that is singular."""


@dataclass(frozen=True)
class Shrinkage:
    """How covariances S are regularised: (1 − reg) ((1 − a) S + a T) + reg I.

    Attributes:
        amount: a, or the name of a rule for it. target: T, a key of `SHRINKAGE_TARGETS`.
        by_class: whether a pooled covariance shrinks class by class. reg: in [0, 1].
        settled: what a rule has found, one for all classes or one for each; () before.
        least: a covariance of a class counts as singular if it has less than this share of its variances in some
            direction: what EM, which comes near its end and no further, takes for 0.
    """

    amount: float | str = 0.0
    target: str = "diagonal"
    by_class: bool = False
    reg: float = 0.0
    settled: tuple[float, ...] = ()
    least: float = 0.0

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
        return np.asarray((1.0 - self.reg) * a * SHRINKAGE_TARGETS[self.target](variances) + self.reg)


CLASS_SUMMARIES: dict[bool, Callable[[Block], Any]] = {False: Moments.of, True: QuarticMoments.of}
"""What is kept of a class, by whether a rule wants fourth moments."""


def choose_summary(n_classes: int, shrinking: Shrinkage, pooled: bool) -> Callable[[Block], Any]:
    """What one pass keeps of a labelled block."""
    if pooled and not shrinking.by_rule:
        return partial(summarise_pooled, n_classes=n_classes)
    return partial(summarise_classes, n_classes=n_classes, moments=CLASS_SUMMARIES[shrinking.by_rule])


def require_variance_range(variances: Array) -> None:
    """An error if a column (d,) is in units in which squares leave the range of numbers."""
    odd = np.flatnonzero(~(variances <= MAX_VARIANCE) | ((variances > 0.0) & (variances < MIN_VARIANCE)))
    if odd.size:
        far = "above 1e150" if not variances[odd[0]] <= MAX_VARIANCE else "below 1e-145"
        raise DataError(
            f"column {odd[0]} of X (and {odd.size - 1} more) varies by {far}, and squares of that leave the range of "
            "double precision; change its unit, or standardise it."
        )


# ---- covariances from moments ---------------------------------------------------------------------------------


def pooled_covariance(found: Any, shrinking: Shrinkage) -> tuple[Axes, Array]:
    """The covariance (divisor Σw) that all classes share, and its intensity a (1,), or (C,) class by class."""
    n = found.weight.sum()
    S = found.scatter / n
    if shrinking.by_class:
        C, a = _shrunk_by_class(found, shrinking)
    else:
        together = _together(found) if shrinking.by_rule else None
        amount = _amount(shrinking, 0, S, together)
        C, a = shrinking.of(S, amount), np.array([amount])
    return Axes.of_matrix(C, is_constant(C.diagonal(), found.mean)), a


def _together(found: ClassMoments) -> QuarticMoments:
    """The moments of all rows about the means of their classes."""
    parts: list[QuarticMoments] = [part for part in found.parts if part is not None]
    return reduce(operator.add, [replace(part, mean=np.zeros_like(part.mean)) for part in parts])


def _shrunk_by_class(found: ClassMoments, shrinking: Shrinkage) -> tuple[Array, Array]:
    parts = [part for part in found.parts if part is not None]
    amounts = _amounts(shrinking, parts)
    shrunk = [part.weight * shrinking.of(part.scatter / part.weight, a) for part, a in zip(parts, amounts, strict=True)]
    return np.asarray(sum(shrunk) / found.weight.sum()), np.array(amounts)


@dataclass(frozen=True, eq=False)
class ClassCovariances:
    """A covariance for each class, its intensity of shrinkage (C,), and which classes (C,) are held at the floor.

    Columns that are `constant` (d,) in all rows are left out. A singular covariance has no density: `VARIANCE_FLOOR` times the
    variances of all rows is added to its diagonal, so that a column that only differs between classes keeps them apart.
    """

    covariances: tuple[Covariance, ...]
    amounts: Array
    held: Array
    constant: Array


def class_covariances(found: ClassMoments, shrinking: Shrinkage) -> ClassCovariances:
    """The covariance (divisor Σw) of each class."""
    parts = list(found.parts)
    amounts = _amounts(shrinking, parts)
    matrices = [shrinking.of(part.scatter / part.weight, a) for part, a in zip(parts, amounts, strict=True)]
    total = found.variances + variances_between(found)
    constant = is_constant(total + shrinking.reg, found.mean)
    pairs = zip(matrices, found.mean, strict=True)
    held = ~np.array([has_density(C, mean, constant, shrinking.least) for C, mean in pairs])
    floor = np.diag(VARIANCE_FLOOR * total)
    made = [
        _held(C, floor, constant, shrinking.least) if bad else _plain(C, constant)
        for C, bad in zip(matrices, held, strict=True)
    ]
    return ClassCovariances(tuple(made), np.array(amounts), held, constant)


def covariance_within(found: Any) -> tuple[Covariance, bool]:
    """The covariance within all classes, held at the floor as a class's is where it is singular, and whether it is."""
    S, total = found.scatter / found.weight.sum(), found.variances + variances_between(found)
    constant = is_constant(total, found.mean)
    held = not has_density(S, found.mean, constant)
    return (_held(S, np.diag(VARIANCE_FLOOR * total), constant, 0.0) if held else _plain(S, constant)), held


def _plain(C: Array, constant: Array) -> Covariance:
    return Axes.of_matrix(C, constant) if constant.any() else Full(C)


def _held(C: Array, floor: Array, constant: Array, least: float) -> Covariance:
    """C and the floor; what it has in directions of less than `least` is chance, and would differ between classes."""
    root = np.sqrt(np.maximum(C.diagonal(), 0.0))
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0.0)
    values, V = np.linalg.eigh(inverse[:, None] * C * inverse)
    flat = root[:, None] * (V * np.where(values > least, values, 0.0)) @ V.T * root
    return Axes.of_matrix(flat + floor, constant)


def has_density(C: Array, means: Array, constant: Array, least: float = 0.0) -> bool:
    """Whether every direction of C (d, d) has a variance above `least`, as a share of its columns', and above rounding.

    Columns that are `constant` (d,) in all rows are left out; one that does not vary about the means (d,) or (C, d) of
    the rows has none. By the eigenvalues of the correlations, so that neither units nor the order of columns matter.
    """
    kept = ~constant
    variances = C.diagonal()[kept]
    if np.any(is_constant(variances, np.atleast_2d(means)[:, kept])) or not np.all(np.isfinite(C)):
        return False
    inverse = 1.0 / np.sqrt(variances)
    correlations = inverse[:, None] * C[np.ix_(kept, kept)] * inverse
    bound = max(least, kept.sum() * MIN_AXIS_SHARE)
    return not kept.any() or bool(np.linalg.eigvalsh(correlations)[0] > bound)


def variances_between(found: ClassMoments | ClassRows) -> Array:
    """Variances (d,) of the means of the classes, by the weights of these."""
    share = found.weight / found.weight.sum()
    return np.asarray(share @ (found.mean - share @ found.mean) ** 2)


def _amounts(shrinking: Shrinkage, parts: list[Any]) -> list[float]:
    """The intensity of each class."""
    return [_amount(shrinking, c, part.scatter / part.weight, part) for c, part in enumerate(parts)]


def _amount(shrinking: Shrinkage, c: int, S: Array, moments: Any) -> float:
    if shrinking.settled:
        return shrinking.settled[c]
    if not isinstance(shrinking.amount, str):
        return float(shrinking.amount)
    return shrinkage_intensity(shrinking.amount, S, moments, SHRINKAGE_TARGETS[shrinking.target](S.diagonal()))


def is_constant(variances: Array, means: Array) -> Array:
    """Which columns (d,) do not vary about the means (C, d), but for rounding."""
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)) <= CONSTANT_TOLERANCE * np.abs(means).max(axis=0))
