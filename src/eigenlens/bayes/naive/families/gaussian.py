"""Gaussian columns: in each class a mean, and a variance of its own or shared by all classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.naive.families.base import Conditional, Factor, LinearRule, NaiveOptions
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import numbers_in_place, numbers_of
from eigenlens.densities.covariance import Diagonal
from eigenlens.densities.gaussian import Gaussian
from eigenlens.errors import DataError, join_limited
from eigenlens.laws import check_law, require
from eigenlens.layout import Layout
from eigenlens.native.class_sums import add_normal
from eigenlens.stats.moments import ColumnMoments


@dataclass(frozen=True, eq=False)
class GaussianColumns(Conditional):
    """p(x_j | c) = N(x_j | mean_cj, variance_cj) of g columns.

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
        """Add the log densities of the observed entries to joint (n, C)."""
        with np.errstate(over="ignore"):  # the density of a value so far away is 0
            add_normal(numbers_of(rows, columns), self.means, self._scales, self._log_peaks, joint)

    def terms(self, rows: Any, columns: Array) -> Array:
        """Return ln p(x_ij | c) (n, g, C), 0 where an entry is missing."""
        x = numbers_of(rows, columns)[:, :, None].astype(np.float64)
        with np.errstate(over="ignore"):
            found = self._log_peaks.T - ((x - self.means.T) * self._scales.T) ** 2
        return np.where(np.isnan(x), 0.0, found)

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw a value (n,) of each column."""
        z = rng.standard_normal((len(labels), self.means.shape[1]))
        sd = np.sqrt(np.broadcast_to(self.variances, self.means.shape))
        return list((self.means[labels] + sd[labels] * z).T)

    def linear(self) -> LinearRule | None:
        """Return, with shared variances v, (mean_c − g) / v and −½ Σ (mean_c − g)(mean_c + g) / v; else None.

        g is the mean over classes. The squares of x, which all classes share, are left out; subtracting g before
        dividing keeps the digits that a difference of large terms would lose.
        """
        if len(self.variances) > 1:
            return None
        middle = self.means.mean(axis=0)
        coef = (self.means - middle) / self.variances
        return LinearRule(coef, -0.5 * (coef * (self.means + middle)).sum(axis=1))

    def take(self, classes: Array) -> GaussianColumns:
        """Return the Gaussians of some classes."""
        return GaussianColumns(self.means[classes], self.variances[classes if len(self.variances) > 1 else [0]])

    def density(self, label: int, place: int) -> Gaussian:
        """Return the Gaussian of a column in a class."""
        variance = np.broadcast_to(self.variances, self.means.shape)[label, place : place + 1]
        return Gaussian(self.means[label, place : place + 1], Diagonal(variance))

    def n_parameters(self) -> int:
        """Return the number of means and variances."""
        return int(self.means.size + self.variances.size)


@dataclass(frozen=True)
class GaussianFactor(Factor):
    """The Gaussian family; `shared` gives all classes one variance, so that the rule is linear."""

    shared: bool = False
    layout = Layout(ColumnMoments, arrays=["weight", "mean", "square"])

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ColumnMoments:
        """Return the moments of each class."""
        return ColumnMoments.of_classes(numbers_in_place(rows, columns), y, weight, C)

    def summarise_shared(
        self, rows: Any, columns: Array, shares: Array, model: GaussianColumns | None = None
    ) -> ColumnMoments:
        """Return the moments of classes that share the rows, by matrix products."""
        return ColumnMoments.of_shared(numbers_of(rows, columns), shares)

    def estimate(self, statistics: ColumnMoments, fields: tuple[Field, ...], options: NaiveOptions) -> GaussianColumns:
        """Return means and variances by maximum likelihood, the variances at least `floor` times the column's own.

        A class without an observed entry in a column has the mean and variance of all rows there; it has that variance
        too where its own is 0 and the floor is 0. A constant column has variance 1 in every class, so that it does not
        influence the classes.
        """
        middle, total = _pooled_moments(statistics)
        _check_finite(statistics, total, fields)
        empty = statistics.weight <= 0.0
        if self.shared:
            n = statistics.weight.sum(axis=0)
            variances = (statistics.square.sum(axis=0) / np.where(n > 0.0, n, 1.0))[None]
        else:
            variances = statistics.square / np.where(empty, 1.0, statistics.weight)
            variances = np.where(empty, total, variances)
        constant = _is_constant(statistics, total)
        variances = np.maximum(variances, options.floor * total) + options.added_to(fields)
        variances = np.where(variances > 0.0, variances, total)
        variances = np.where(constant | (variances <= 0.0), 1.0, variances)
        return GaussianColumns(np.where(empty | constant, middle, statistics.mean), variances)

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions, C: int
    ) -> tuple[Any, Conditional]:
        """Return the stored moments, whose weights are those of the observed entries, and the Gaussians."""
        require(arrays, "weight")
        check_law("weight", "(C, g) not negative", arrays["weight"], {"C": C, "g": len(fields)})
        return super().unpack(arrays, header, fields, options, C)

    def fit_warnings(
        self, statistics: ColumnMoments, fields: tuple[Field, ...], chosen: Sequence[str], options: NaiveOptions,
        classes: Array,
    ) -> Iterator[str]:  # fmt: skip
        """Yield a warning where a column is constant in a class, so that its variance is the floor, or raise if 0."""
        clamped = self._is_clamped(statistics, options)
        if not clamped.any():
            return
        c, j = (int(place[0]) for place in np.nonzero(clamped))
        where = f"column {fields[j].name!r} is constant in class {classes[c].item()!r}"
        if options.floor == 0.0 and not np.all(options.added_to(fields)[clamped.any(axis=0)]):
            what = f"{where}, and floor=0 leaves it without a variance"
            fix = "give floor above 0 (1e-9), added_variance, or 'shared-gaussian'"
            raise DataError(what, columns=[str(fields[j].name)], fix=fix)
        if options.floor == 0.0:
            return  # its variance is the one that the user adds
        yield (
            f"{where} ({statistics.weight[c, j]:g} rows; {int(clamped.sum())} such cases in all): its variance there "
            f"is clamped at floor={options.floor:g} times the column's. 'shared-gaussian' or a larger floor is safer."
        )

    def _is_clamped(self, statistics: ColumnMoments, options: NaiveOptions) -> Array:
        """Return where (C, g) the floor is above the variance of a class."""
        if self.shared:
            return np.zeros(statistics.weight.shape, dtype=bool)
        _, total = _pooled_moments(statistics)
        below = statistics.square <= options.floor * total * statistics.weight
        return np.asarray((statistics.weight > 0.0) & below & (total > 0.0))


def _pooled_moments(statistics: ColumnMoments) -> tuple[Array, Array]:
    """Return the mean and the variance (g,) of each column over the rows of all classes."""
    with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is reported by the estimate
        pooled = statistics.pooled
        return pooled.mean, np.asarray(pooled.square / np.where(pooled.weight > 0.0, pooled.weight, 1.0))


def _is_constant(statistics: ColumnMoments, variance: Array) -> Array:
    """Return which columns (g,) are constant: their variance (g,) is not above the square of rounding errors."""
    size = np.where(statistics.weight > 0.0, np.abs(statistics.mean), 0.0).max(axis=0)
    return np.asarray(variance <= (4.0 * np.finfo(np.float64).eps * size) ** 2)


def _check_finite(statistics: ColumnMoments, variance: Array, fields: tuple[Field, ...]) -> None:
    """Raise where a mean or a square of a class, or the variance (g,) of all rows, is not finite."""
    bad = ~(np.isfinite([*statistics.mean, *statistics.square]).all(axis=0) & np.isfinite(variance))
    if bad.any():
        names = [str(fields[j].name) for j in np.flatnonzero(bad)]
        listed = join_limited([repr(fields[j].name) for j in np.flatnonzero(bad)])
        raise DataError(
            f"contains infinity, or numbers whose squares overflow, in {len(names)} of {len(fields)} Gaussian "
            f"columns ({listed})",
            argument="X",
            columns=names,
            fix="replace them by NaN, a missing entry",
        )
