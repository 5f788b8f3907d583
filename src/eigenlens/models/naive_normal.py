"""Columns that are Gaussian in each class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.compiled.naive import add_normal
from eigenlens.data.mixed import numbers_of
from eigenlens.models.covariances import Diagonal
from eigenlens.models.gaussian import Gaussian
from eigenlens.models.naive import LinearRule

__all__ = ["NormalColumns"]


@dataclass(frozen=True, eq=False)
class NormalColumns:
    """p(x_j | c) = N(x_j | mean_cj, variance_cj), with one variance for all classes if there is one line of them.

    Attributes:
        means: (C, g). variances: (C, g), positive; or (1, g), the same in every class.

    >>> rows, joint = np.array([[0.0], [np.nan]]), np.zeros((2, 1))
    >>> NormalColumns(np.zeros((1, 1)), np.ones((1, 1))).add_log(rows, np.array([0]), joint)
    >>> joint.ravel()
    array([-0.9189,  0.    ])
    """

    means: Array
    variances: Array

    def __post_init__(self) -> None:
        read_only(self, "means", "variances")

    @cached_property
    def _scales(self) -> Array:
        return np.broadcast_to(1.0 / np.sqrt(2.0 * self.variances), self.means.shape)

    @cached_property
    def _levels(self) -> Array:
        return np.broadcast_to(-0.5 * np.log(2.0 * np.pi * self.variances), self.means.shape)

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Adds the log densities of the entries that are there to joint (n, C)."""
        with np.errstate(over="ignore"):  # so far out the density is 0
            add_normal(numbers_of(rows, columns), self.means, self._scales, self._levels, joint)

    def terms(self, rows: Any, columns: Array) -> Array:
        """ln p(x_ij | c) (n, g, C)."""
        x = numbers_of(rows, columns)[:, :, None].astype(np.float64)
        with np.errstate(over="ignore"):
            found = self._levels.T - ((x - self.means.T) * self._scales.T) ** 2
        return np.where(np.isnan(x), 0.0, found)

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draws of each column."""
        z = rng.standard_normal((len(labels), self.means.shape[1]))
        sd = np.sqrt(np.broadcast_to(self.variances, self.means.shape))
        return list((self.means[labels] + sd[labels] * z).T)

    def linear(self) -> LinearRule | None:
        """With shared variances: (mean_c − g) / v and −½ Σ (mean_c − g)(mean_c + g) / v, g the mean over classes.

        So the squares of x, which all classes share, are left out, and no more digits are lost than need be.
        """
        if len(self.variances) > 1:
            return None
        middle = self.means.mean(axis=0)
        coef = (self.means - middle) / self.variances
        return LinearRule(coef, -0.5 * (coef * (self.means + middle)).sum(axis=1))

    def density(self, label: int, place: int) -> Gaussian:
        """The Gaussian of a column in a class."""
        variance = np.broadcast_to(self.variances, self.means.shape)[label, place : place + 1]
        return Gaussian(self.means[label, place : place + 1], Diagonal(variance))
