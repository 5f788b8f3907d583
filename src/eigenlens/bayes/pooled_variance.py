"""How far the columns of each class vary, and what a class is given where its own rows do not say.

A class of one row, or with a column of one value, has no spread there, and the likelihood of most densities no maximum.
What all classes vary by about their own means is then the best guess (Friedman 1989 with lambda = 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments
from eigenlens.bayes.discriminant.covariances import VARIANCE_FLOOR, covariance_within, is_constant
from eigenlens.stats.moments import Moments

__all__ = ["ClassVariances", "replace_spread", "replace_variances"]


@dataclass(frozen=True, eq=False)
class ClassVariances:
    """Weights, means and variances (C, d) of the entries of each column in each class.

    >>> parts = [Moments(2.0, np.array([1.0, 5.0]), np.diag([8.0, 0.0])), Moments(1.0, np.ones(2), np.zeros((2, 2)))]
    >>> spread = ClassVariances.of(ClassMoments(tuple(parts)))
    >>> spread.flat.tolist(), spread.within.round(3), spread.lent.round(10)
    ([[False, True], [True, True]], array([2.667, 0.   ]), array([2.66666667e+00, 3.56000000e-08]))
    """

    weight: Array
    mean: Array
    variances: Array

    @classmethod
    def of(cls, found: ClassMoments) -> ClassVariances:
        """From `Moments` or `ColumnMoments` of each class."""
        squares = [p.scatter.diagonal() if isinstance(p, Moments) else p.square for p in found.parts]
        weight = np.stack([np.broadcast_to(p.weight, p.mean.shape) for p in found.parts])
        with np.errstate(invalid="ignore", divide="ignore"):
            return cls(weight, np.stack([p.mean for p in found.parts]), np.stack(squares) / weight)

    @property
    def within(self) -> Array:
        """Variances (d,) about the means of the classes."""
        return np.asarray(np.sum(self.weight * self.variances, axis=0) / self.weight.sum(axis=0))

    @property
    def total(self) -> Array:
        """Variances (d,) of all rows."""
        share = self.weight / self.weight.sum(axis=0)
        return np.asarray(self.within + np.sum(share * (self.mean - np.sum(share * self.mean, axis=0)) ** 2, axis=0))

    @property
    def constant(self) -> Array:
        """Which columns (d,) have one value in all rows."""
        return is_constant(self.total, self.mean)

    @property
    def still(self) -> Array:
        """Which columns (d,) have one value in every class."""
        return is_constant(self.within, self.mean)

    @property
    def flat(self) -> Array:
        """Where (C, d) a class has one value."""
        pairs = zip(self.variances, self.mean, strict=True)
        return np.stack([is_constant(v, mean[None]) for v, mean in pairs])

    @property
    def lent(self) -> Array:
        """The variances (d,) for a class that has none: those within all classes, or the floor where no class has any.

        The floor is that of covariances, `VARIANCE_FLOOR` times the variances of all rows.
        """
        return np.asarray(self.within + np.where(self.still, VARIANCE_FLOOR * self.total, 0.0))

    def part(self, columns: Array) -> ClassVariances:
        """That of some columns."""
        return ClassVariances(self.weight[:, columns], self.mean[:, columns], self.variances[:, columns])


# ---- statistics of a class, changed ---------------------------------------------------------------------------


def replace_variances(part: Any, where: Array, variances: Array) -> Any:
    """The statistics, but with the given variances (d,) in some columns, which are apart from all others there."""
    if not isinstance(part, Moments):
        return replace(part, square=np.where(where, part.weight * variances, part.square))
    scatter = np.where(where[:, None] | where, 0.0, part.scatter)
    return replace(part, scatter=scatter + np.diag(np.where(where, part.weight * variances, 0.0)))


def replace_spread(part: Any, found: ClassMoments, spread: ClassVariances) -> tuple[Any, bool]:
    """The statistics of a class with the spread of all about their means, and whether that is held at the floor."""
    if not isinstance(part, Moments):
        return replace_variances(part, np.ones(part.mean.size, dtype=bool), spread.lent), bool(spread.still.any())
    covariance, held = covariance_within(found)
    return replace(part, scatter=part.weight * covariance.matrix()), held
