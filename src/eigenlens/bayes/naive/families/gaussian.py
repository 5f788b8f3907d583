"""Columns that are Gaussian in each class.

Gaussian columns of naive Bayes: means and squares within classes, in one pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.naive.model import LinearRule
from eigenlens.bayes.naive.options import NaiveOptions
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import numbers_of
from eigenlens.densities.covariance import Diagonal
from eigenlens.densities.gaussian import Gaussian
from eigenlens.errors import DataError
from eigenlens.native.class_sums import add_normal
from eigenlens.stats.moments import ColumnMoments

__all__ = ["GaussianColumns", "GaussianFactor"]


@dataclass(frozen=True, eq=False)
class GaussianColumns:
    """p(x_j | c) = N(x_j | mean_cj, variance_cj), with one variance for all classes if there is one line of them.

    Attributes:
        means: (C, g). variances: (C, g), positive; or (1, g), the same in every class.

    >>> rows, joint = np.array([[0.0], [np.nan]]), np.zeros((2, 1))
    >>> GaussianColumns(np.zeros((1, 1)), np.ones((1, 1))).add_log(rows, np.array([0]), joint)
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
    def _log_peaks(self) -> Array:
        return np.broadcast_to(-0.5 * np.log(2.0 * np.pi * self.variances), self.means.shape)

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Adds the log densities of the entries that are there to joint (n, C)."""
        with np.errstate(over="ignore"):  # so far out the density is 0
            add_normal(numbers_of(rows, columns), self.means, self._scales, self._log_peaks, joint)

    def terms(self, rows: Any, columns: Array) -> Array:
        """ln p(x_ij | c) (n, g, C)."""
        x = numbers_of(rows, columns)[:, :, None].astype(np.float64)
        with np.errstate(over="ignore"):
            found = self._log_peaks.T - ((x - self.means.T) * self._scales.T) ** 2
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


@dataclass(frozen=True)
class GaussianFactor:
    """Each class has means, and variances of its own or, if shared, the same."""

    shared: bool = False
    takes_text = False
    keeps_rows = False

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ColumnMoments:
        """The moments of each class."""
        return ColumnMoments.of_classes(numbers_of(rows, columns), y, weight, C)

    def estimate(self, statistics: ColumnMoments, fields: tuple[Field, ...], options: NaiveOptions) -> GaussianColumns:
        """Means and variances of maximum likelihood, the variances at least `floor` of the column's own.

        A class without an entry in a column has the mean and variance of all rows there, and that variance too where
        it has none and the floor is 0. A column that is constant says nothing: it has the variance 1 in every class.
        """
        _refuse_nonfinite(statistics, fields)
        pooled = statistics.pooled
        middle, total = pooled.mean, pooled.square / np.where(pooled.weight > 0.0, pooled.weight, 1.0)
        empty = statistics.weight <= 0.0
        if self.shared:
            n = statistics.weight.sum(axis=0)
            variances = (statistics.square.sum(axis=0) / np.where(n > 0.0, n, 1.0))[None]
        else:
            variances = statistics.square / np.where(empty, 1.0, statistics.weight)
            variances = np.where(empty, total, variances)
        flat = _flat(statistics, middle, total)
        variances = np.maximum(variances, options.floor * total) + options.added_to(fields)
        variances = np.where(variances > 0.0, variances, total)
        variances = np.where(flat | (variances <= 0.0), 1.0, variances)
        return GaussianColumns(np.where(empty | flat, middle, statistics.mean), variances)

    def pack(self, statistics: ColumnMoments, conditional: GaussianColumns) -> tuple[dict[str, Array], Any]:
        """The moments."""
        return {"weight": statistics.weight, "mean": statistics.mean, "square": statistics.square}, None

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions
    ) -> tuple[ColumnMoments, GaussianColumns]:
        """The moments, and what follows from them."""
        statistics = ColumnMoments(arrays["weight"], arrays["mean"], arrays["square"])
        return statistics, self.estimate(statistics, fields, options)


def _flat(statistics: ColumnMoments, mean: Array, variance: Array) -> Array:
    """Which columns (g,) have no variance but rounding: whose values are all the same."""
    size = np.where(statistics.weight > 0.0, np.abs(statistics.mean), 0.0).max(axis=0)
    return np.asarray(variance <= (4.0 * np.finfo(np.float64).eps * size) ** 2)


def _refuse_nonfinite(statistics: ColumnMoments, fields: tuple[Field, ...]) -> None:
    bad = ~np.isfinite(statistics.mean).all(axis=0) | ~np.isfinite(statistics.square).all(axis=0)
    if bad.any():
        names = ", ".join(repr(fields[j].name) for j in np.flatnonzero(bad)[:5])
        raise DataError(
            f"Input X contains infinity, or numbers whose squares overflow, in {int(bad.sum())} of {len(fields)} "
            f"Gaussian columns ({names}{', …' if bad.sum() > 5 else ''}); replace them by NaN, a missing entry."
        )
