"""Variances of the columns within classes, constant columns, and the pooled variance for classes without one.

A class of one row has no variance, and one with a constant column has none there: the likelihood of most densities then
has no maximum. The variance within all classes, about their own means, is then the best guess (Friedman 1989 with
lambda = 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments
from eigenlens.stats.moments import Moments

CONSTANT_TOLERANCE = 8.0 * float(np.finfo(np.float64).eps)
"""A column whose standard deviation is at most this share of its mean is constant: that much may be rounding."""

VARIANCE_FLOOR = 1e-8
"""The share of the variances of all rows that is added to the covariance of a class that is singular.

The root of the relative rounding of a variance: far above what rounding leaves, far below any variance that matters.
"""


def is_constant(variances: Array, means: Array) -> Array:
    """Return which columns (d,) do not vary about the means (C, d) except by rounding."""
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)) <= CONSTANT_TOLERANCE * np.abs(means).max(axis=0))


@dataclass(frozen=True, eq=False)
class ClassVariances:
    """Weights, means and variances (C, d) of the observed entries of each column in each class.

    >>> parts = [Moments(2.0, np.array([1.0, 5.0]), np.diag([8.0, 0.0])), Moments(1.0, np.ones(2), np.zeros((2, 2)))]
    >>> found = ClassVariances.of(ClassMoments(tuple(parts)))
    >>> found.constant_by_class.tolist(), found.within.round(3), found.fallback.round(10)
    ([[False, True], [True, True]], array([2.667, 0.   ]), array([2.66666667e+00, 3.56000000e-08]))
    """

    weight: Array
    mean: Array
    variances: Array

    @classmethod
    def of(cls, statistics: ClassMoments) -> ClassVariances:
        """Return the variances from `Moments` or `ColumnMoments` of each class."""
        columns = [part.columns if isinstance(part, Moments) else part for part in statistics.parts]
        weight = np.stack([np.broadcast_to(part.weight, part.mean.shape) for part in columns])
        with np.errstate(invalid="ignore", divide="ignore"):
            variances = np.stack([part.square for part in columns]) / weight
        return cls(weight, np.stack([part.mean for part in columns]), variances)

    @property
    def within(self) -> Array:
        """The variances (d,) about the means of the classes."""
        return np.asarray(np.sum(self.weight * self.variances, axis=0) / self.weight.sum(axis=0))

    @property
    def total(self) -> Array:
        """The variances (d,) of all rows."""
        share = self.weight / self.weight.sum(axis=0)
        return np.asarray(self.within + np.sum(share * (self.mean - np.sum(share * self.mean, axis=0)) ** 2, axis=0))

    @property
    def constant(self) -> Array:
        """The columns (d,) that are constant in all rows, as a mask."""
        return is_constant(self.total, self.mean)

    @property
    def constant_within(self) -> Array:
        """The columns (d,) that are constant within every class, as a mask."""
        return is_constant(self.within, self.mean)

    @property
    def constant_by_class(self) -> Array:
        """The columns that are constant within each class, as a mask (C, d)."""
        pairs = zip(self.variances, self.mean, strict=True)
        return np.stack([is_constant(v, mean[None]) for v, mean in pairs])

    @property
    def fallback(self) -> Array:
        """The variances (d,) for a class without any: those within all classes, or a floor where these are 0 too.

        The floor is that of covariances, `VARIANCE_FLOOR` times the variances of all rows.
        """
        return np.asarray(self.within + np.where(self.constant_within, VARIANCE_FLOOR * self.total, 0.0))

    def subset(self, columns: Array) -> ClassVariances:
        """Return the variances of some of the columns."""
        return ClassVariances(self.weight[:, columns], self.mean[:, columns], self.variances[:, columns])


def replace_variances(part: Any, where: Array, variances: Array) -> Any:
    """Return the statistics with the given variances (d,) in some columns, which no longer covary with any other."""
    if not isinstance(part, Moments):
        return replace(part, square=np.where(where, part.weight * variances, part.square))
    scatter = np.where(where[:, None] | where, 0.0, part.scatter)
    return replace(part, scatter=scatter + np.diag(np.where(where, part.weight * variances, 0.0)))
