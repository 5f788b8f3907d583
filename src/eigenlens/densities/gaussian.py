"""The Gaussian density: a mean and a covariance of some structure, fitted by maximum likelihood.

Each structure has a pair of functions: rows to moments, and moments to the covariance of largest likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, overload

import numpy as np
from scipy.special import ndtr, ndtri

from eigenlens import checks
from eigenlens.arrays import Array, dense, read_only, slices
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.data.table import observed_rows
from eigenlens.densities.base import (
    Columns,
    as_rows,
    check_columns,
    check_scale,
    check_sigma,
    known_values,
    other_columns,
    reject_infinite,
)
from eigenlens.densities.covariance import Covariance, Diagonal, Full, Spherical, array_covariance, dependent_column
from eigenlens.densities.fitting import number_block, numeric_source, positive_weight_block
from eigenlens.densities.intervals import (
    Fitted,
    GaussianErrors,
    GaussianIntervals,
    check_names,
    check_record,
    column_labels,
    fit_record,
    format_numbers,
    gaussian_intervals,
    known_variance_intervals,
)
from eigenlens.errors import DataError, MissingValues, OptionError
from eigenlens.laws import Laws
from eigenlens.stats.moments import ColumnMoments, Moments
from eigenlens.tables.text_table import titled_table

PATTERN_ENTRIES, WHITENED_ENTRIES = 1 << 21, 1 << 17
"""Entries of the rows whose missing values are compared at a time, and of those that are whitened, to stay in cache."""


@dataclass(frozen=True, eq=False)
class Gaussian:
    """The Gaussian density x ~ N(mean, C).

        ln p(x) = −½ (d ln 2π + ln |C| + (x − mean)ᵀ C⁻¹ (x − mean))

    Attributes:
        mean: (d,).
        covariance: `Full`, `Diagonal` or `Spherical`, of size d; a matrix (d, d) is taken as the first, variances (d,)
            as the second and one number as the last.
        fitted: the record of `fit`, or None.

    NaN in a row is a missing value, everywhere; rows that miss the same entries are worked on together. A row costs d²
    (full) or d, and a pattern of missing values o³/3 for its o observed columns (full).

    >>> model = Gaussian([0.0, 0.0], [[2.0, 1.0], [1.0, 2.0]])
    >>> model.log_density(np.array([[0.0, 0.0], [0.0, np.nan]])).round(6)
    array([-2.387183, -1.265512])
    >>> model.impute(np.array([[4.0, np.nan]]), return_std=True)
    (array([[4., 2.]]), array([[0. , 1.2247]]))
    """

    mean: Array
    covariance: Covariance
    fitted: Fitted | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", np.atleast_1d(checks.finite("mean", self.mean)))
        check_record(self.fitted, self.mean.size)
        read_only(self, "mean")
        if not hasattr(type(self.covariance), "whiten"):
            object.__setattr__(self, "covariance", array_covariance(self.covariance, self.mean.size))
        if self.mean.shape != (self.covariance.size,):
            what = f"has shape {self.mean.shape}, and covariance the size {self.covariance.size}"
            raise OptionError(what, argument="mean", fix="give one mean per column of the covariance")

    @classmethod
    def fit(cls, X: Any, sample_weight: Any = None, *, covariance: str = "full", sigma: Any = None) -> Gaussian:
        """Return the Gaussian of largest likelihood: means, and mean squared deviations with the divisor n, not n − 1.

        Args:
            X: (n, d), or (n,) for one dimension: an array, list, Series, frame, sparse matrix, tensor, Dask array or
                Source, read in one pass. NaN is missing; with a full covariance a row may miss all or nothing.
            sample_weight: (n,), a weight of 3 counting as three rows.
            covariance: "full", "diagonal", or "spherical" (one variance shared by all columns).
            sigma: the standard deviation of all columns, or one per column (d,), where it is known: only the means
                are then estimated, and columns are independent.

        >>> print(Gaussian.fit([1.0, 2.0, 4.0, 5.0]))
        Gaussian, n = 4, log-likelihood -7.5083
        column  mean  std. error       low    high  variance  std. error
        0          3     0.79057  0.094837  5.9052       2.5      1.7678
        """
        family, source = GaussianFamily(covariance, sigma=sigma), numeric_source(X, sample_weight)
        with np.errstate(invalid="ignore", over="ignore"):
            statistics = accumulate(source, family.summarise)
        if not np.all(np.isfinite(statistics.mean)):
            raise _explain_unusable_moments(source)
        try:
            found = replace(family, names=source.names).estimate(statistics)
        except (DataError, OptionError):
            _check_squares_in_range(source, statistics)
            raise
        if not np.isfinite(fit_record(found).loglik):
            _check_squares_in_range(source, statistics)
        return found

    def log_density(self, X: Any) -> Array:
        """Return ln N(x_o | mean_o, C_oo) (n,) of each row of X (n, d); o are its observed entries."""
        rows = as_rows(X, self.mean.size)
        found = np.empty(len(rows))
        for part in self._parts(len(rows)):
            missing = np.isnan(rows[part]).any(axis=1)
            if not missing.all():
                found[part][~missing] = self._complete(rows[part][~missing] if missing.any() else rows[part])
            if missing.any():
                found[part][missing] = self._observed(rows[part][missing])
        return found

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, d)."""
        shape = checks.sample_size("n", n, self.mean.size, 0), self.mean.size
        return np.asarray(self.mean + self.covariance.colour(checks.generator(rng, "rng").standard_normal(shape)))

    def scaled(self, scale: Array) -> Gaussian:
        """Return the Gaussian of the columns times `scale` (d,)."""
        factors = check_scale(scale, self.mean.size)
        return Gaussian(self.mean * factors, self.covariance.scaled(factors))

    def marginal(self, columns: Columns) -> Gaussian:
        """Return the Gaussian of these columns, in this order."""
        chosen = check_columns(columns, self.mean.size)
        return Gaussian(self.mean[chosen], self.covariance.part(chosen))

    def condition(self, columns: Columns, values: Any) -> Gaussian:
        """Return N(mean_m + C_mo C_oo⁻¹ (x_o − mean_o), C_mm − C_mo C_oo⁻¹ C_om), m the other columns."""
        rest = other_columns(columns, self.mean.size)
        seen, given = known_values(columns, values, self.mean.size)
        shift, left = self.covariance.given(seen, rest, (given - self.mean[seen])[None])
        return Gaussian(self.mean[rest] + shift[0], left)

    @overload
    def impute(self, X: Array, return_std: Literal[False] = False) -> Array: ...

    @overload
    def impute(self, X: Array, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @overload
    def impute(self, X: Array, return_std: bool) -> Array | tuple[Array, Array]: ...

    def impute(self, X: Array, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return X (n, d) with NaN replaced by its conditional mean given the observed entries of the row.

        With return_std, also the conditional standard deviations (n, d), 0 for observed entries.
        """
        return_std = checks.boolean("return_std", return_std)
        dtype = np.float32 if getattr(X, "dtype", 0) == np.float32 else None
        filled = np.array(reject_infinite(as_rows(X, self.mean.size)), dtype)
        deviation = np.zeros(filled.shape if return_std else (0, 0))
        for part in self._parts(len(filled)):
            mine = np.flatnonzero(np.isnan(filled[part]).any(axis=1)) + part.start
            if not mine.size:
                continue
            rows = filled[mine]
            shift, spread = self.covariance.expected(rows - self.mean)
            filled[mine] = np.where(np.isnan(rows), self.mean + shift, rows)
            if return_std:
                deviation[mine] = spread
        return (filled, deviation) if return_std else filled

    def cdf(self, x: Any) -> Array:
        """Return P(X ≤ x) (n,) in one dimension; NaN for NaN."""
        self._one_dimension("cdf")
        return np.asarray(ndtr(self.covariance.whiten(as_rows(x, 1, "x") - self.mean)[:, 0]))

    def ppf(self, probability: Any) -> Array:
        """Return the x (n,) with P(X ≤ x) = probability, in one dimension; NaN for NaN."""
        self._one_dimension("ppf")
        share = as_rows(probability, 1, "probability")
        if np.any((share < 0.0) | (share > 1.0)):
            raise OptionError("must be from 0 to 1", argument="probability", value=probability)
        return np.asarray(self.mean + self.covariance.colour(ndtri(share)))[:, 0]

    # ---- standard errors and intervals ------------------------------------------------------------------

    def standard_errors(self) -> GaussianErrors:
        """Return √(c_jj / n_j) of the means, and those of the covariances, by the Fisher information."""
        n = self._counts()
        errors = self.covariance.errors(n)
        return GaussianErrors(np.sqrt(self.covariance.variances / n), 0.0 * errors if self._known else errors)

    def confidence_intervals(self, level: float = 0.95, method: Any = "exact") -> GaussianIntervals:
        """Return limits for each mean and each variance on its own.

        "exact": Student's t for means, chi² for variances, whose coverage is exactly the level for Gaussian rows.
        "wald": estimate ± z standard errors, for many rows. Where the variances are known, mean ± z σ / √n is exact.
        """
        if self._known:
            return known_variance_intervals(self.mean, self.covariance.variances, self._counts(), level)
        return gaussian_intervals(self.mean, self.covariance, self._counts(), level, method)

    def __str__(self) -> str:
        d, v = self.mean.size, self.covariance.variances
        names = column_labels(self.fitted.names if self.fitted is not None else None, d)
        if self.fitted is None:
            columns = format_numbers(self.mean), format_numbers(v)
            return titled_table("Gaussian", ("column", "mean", "variance"), names, *columns)
        n = self._counts()
        title = f"Gaussian, n = {n.max(initial=0.0):g}, log-likelihood {self.fitted.loglik:.5g}"
        limits = self.confidence_intervals(method="exact" if np.all(n > 1.0) else "wald").mean
        spread = np.zeros(d) if self._known else v * np.sqrt(2.0 / self.covariance.degrees(n))
        header = ("column", "mean", "std. error", "low", "high", "variance", "std. error")
        values = (self.mean, np.sqrt(v / n), *limits.T, v, spread)
        return titled_table(title, header, names, *map(format_numbers, values))

    # ---- parts ------------------------------------------------------------------------------------------

    @property
    def _known(self) -> bool:
        """Whether the variances were given to `fit`."""
        return self.fitted is not None and self.fitted.known

    def _counts(self) -> Array:
        """Return the number of rows (d,) behind each mean."""
        return np.broadcast_to(np.asarray(fit_record(self).weight, dtype=np.float64), self.mean.shape)

    def _complete(self, X: Array) -> Array:
        """Return log densities (n,) of complete rows, a few at a time so that they stay in cache."""
        found = np.empty(len(X))
        step = max(1, WHITENED_ENTRIES // max(1, self.mean.size))
        for part in slices(len(X), step):
            with np.errstate(invalid="ignore"):
                z = self.covariance.whiten(X[part] - self.mean)
            found[part] = np.einsum("ij,ij->i", z, z)
        if np.isnan(found).any():
            found[np.isinf(X).any(axis=1)] = np.inf  # whitening may turn an infinity into NaN, by ∞ − ∞
        found += self.mean.size * np.log(2.0 * np.pi) + self.covariance.log_determinant
        found *= -0.5
        return found

    def _observed(self, X: Array) -> Array:
        """Return log densities (n,) of the observed entries of incomplete rows."""
        with np.errstate(invalid="ignore"):
            found = self.covariance.observed_log_density(X - self.mean)
        found[np.isinf(X).any(axis=1)] = -np.inf
        return found

    def _parts(self, n: int) -> Iterator[slice]:
        """Return ranges of n rows."""
        return slices(n, max(1, PATTERN_ENTRIES // max(1, self.mean.size)))

    def _one_dimension(self, method: str) -> None:
        if self.mean.size != 1:
            what = f"{method} needs one dimension, and this Gaussian has {self.mean.size}, as its mean says"
            raise OptionError(what, fix="take one of its columns first: marginal(columns=[0])")


@dataclass(frozen=True)
class GaussianFamily:
    """Gaussians with a covariance of one structure: moments to the Gaussian of largest likelihood.

    Attributes:
        covariance: "full", "diagonal" or "spherical". names: (d,) the columns, for errors and tables.
        sigma: known standard deviations, of all columns or one per column; None to estimate the covariance.

    >>> family = GaussianFamily(sigma=2.0)
    >>> family.estimate(family.summarise(Block(np.array([[1.0], [4.0]])))).mean
    array([2.5])
    """

    laws: ClassVar[Laws] = {"sigma": "() positive, of a finite square | (d) positive, of a finite square"}

    covariance: str = "full"
    names: tuple[str, ...] | None = None
    sigma: Any = None

    def __post_init__(self) -> None:
        checks.name("covariance", self.covariance, GAUSSIAN_FITS)
        object.__setattr__(self, "names", check_names(self.names))
        if self.sigma is not None:
            check_sigma(self.sigma)

    def summarise(self, block: Block) -> Any:
        """Return `Moments` of a block for full covariances, otherwise `ColumnMoments`."""
        return GAUSSIAN_FITS[self.covariance if self.sigma is None else "diagonal"][0](number_block(block))

    def estimate(self, statistics: Any) -> Gaussian:
        """Return the Gaussian with these moments."""
        full = self.covariance == "full" and self.sigma is None
        checks.instance("statistics", statistics, Moments if full else ColumnMoments, "give those of summarise")
        checks.finite("statistics", statistics.scatter if full else statistics.square)
        if self.sigma is not None:
            return self._with_known_variances(statistics)
        names = column_labels(self.names, statistics.mean.size)
        covariance, weight = GAUSSIAN_FITS[self.covariance][1](statistics, names)
        n = np.broadcast_to(np.asarray(weight, dtype=np.float64), statistics.mean.shape)
        # At the largest likelihood the squared distances of n rows sum to n, column by column.
        logs = covariance.log_determinant * n[0] if np.ndim(weight) == 0 else float(n @ np.log(covariance.variances))
        loglik = -0.5 * (float(n.sum()) * (np.log(2.0 * np.pi) + 1.0) + float(logs))
        record = Fitted(weight, loglik, statistics.mean.size + covariance.free, 0.0, self.names)
        return Gaussian(statistics.mean, covariance, record)

    def _with_known_variances(self, moments: ColumnMoments) -> Gaussian:
        """Return the Gaussian with these means and the given variances.

        Its log-likelihood is −½ Σ_j [n_j ln 2πσ_j² + Σ_i (x_ij − m_j)² / σ_j²].
        """
        d, sigma = moments.mean.size, check_sigma(self.sigma, moments.mean.size)
        square, weight = _squares_and_weight(moments, column_labels(self.names, d))
        v = np.broadcast_to(sigma**2, (d,)).copy()
        loglik = -0.5 * float(np.sum(moments.weight * np.log(2.0 * np.pi * v) + square / v))
        return Gaussian(moments.mean, Diagonal(v), Fitted(weight, loglik, d, 0.0, self.names, known=True))


MIN_NORMAL_FLOAT = float(np.finfo(np.float64).tiny)


def _moments(block: Block) -> Moments:
    """Return the moments of the rows with an observed entry; NaN where rows miss some entries and not all."""
    found = Moments.of(block)
    if np.all(np.isfinite(found.mean)):
        return found
    present = positive_weight_block(block)
    rows = dense(present.rows)
    some = observed_rows(rows)
    return Moments.of(Block(rows[some], None if present.weight is None else present.weight[some]))


def _observed_moments(block: Block) -> ColumnMoments:
    """Return the moments of the observed entries, by the pass for complete rows where none is missing."""
    found = ColumnMoments.of(block)
    if not np.all(np.isfinite(found.mean)):
        return ColumnMoments.of_observed(positive_weight_block(block))
    return replace(found, weight=np.full(found.mean.size, found.weight))


def _estimate_full(moments: Moments, names: tuple[str, ...]) -> tuple[Full, float]:
    if not moments.weight > 0.0:
        what = "has no row with an observed entry and positive weight; at least two are needed"
        raise DataError(what, argument="X", fix="give more rows")
    C = Full(moments.covariance(0.0))
    _check_not_constant(C.variances, moments.mean, _labels(names))
    try:
        C.factor  # noqa: B018  (factored and kept now, so that an error has the names of columns)
    except OptionError:
        j = dependent_column(C.entries) or 0
        raise DataError(
            f"the covariance of {moments.weight:g} rows of {C.size} columns is singular: column {names[j]!r} follows "
            "from those before it",
            columns=[names[j]],
            fix="leave it out, use {covariance}, or ProbabilisticPCA for few rows",
            settings={"covariance": "diagonal"},
        ) from None
    return C, moments.weight


def _squares_and_weight(moments: ColumnMoments, names: tuple[str, ...]) -> tuple[Array, float | Array]:
    """Return squared deviations (d,), and the weight of each column, or of all if they are the same."""
    empty = np.flatnonzero(moments.weight <= 0.0)
    if empty.size:
        name = names[empty[0]]
        raise DataError(f"column {name!r} has no observed entry", columns=[name], fix="leave it out")
    same = bool(np.all(moments.weight == moments.weight[0]))
    return moments.square, float(moments.weight[0]) if same else moments.weight


def _estimate_diagonal(moments: ColumnMoments, names: tuple[str, ...]) -> tuple[Diagonal, float | Array]:
    square, weight = _squares_and_weight(moments, names)
    _check_not_constant(square / weight, moments.mean, _labels(names))
    return Diagonal(square / weight), weight


def _estimate_spherical(moments: ColumnMoments, names: tuple[str, ...]) -> tuple[Spherical, float | Array]:
    square, weight = _squares_and_weight(moments, names)
    variance = float(square.sum() / moments.weight.sum())
    largest = moments.mean[[np.argmax(np.abs(moments.mean))]]
    _check_not_constant(np.array([variance]), largest, ["each column"])
    return Spherical(variance, square.size), weight


def _labels(names: tuple[str, ...]) -> list[str]:
    return [f"column {name!r}" for name in names]


def _check_not_constant(variances: Array, mean: Array, labels: list[str]) -> None:
    """Raise for a constant column, whose density is infinite; deviations that are rounding of the mean are none."""
    with np.errstate(over="ignore"):
        flat = np.flatnonzero(~(variances > np.maximum((8.0 * np.finfo(np.float64).eps * mean) ** 2, MIN_NORMAL_FLOAT)))
    if flat.size:
        more = f" (and {flat.size - 1} more)" if flat.size > 1 else ""
        what = f"X: {labels[flat[0]]}{more} is constant ({mean[flat[0]]:g}): its variance is 0 and its density infinite"
        raise DataError(what, fix="leave it out, or give more rows")


class _Range(tuple[Any, ...]):
    """The min and max of each column, which merge."""

    def __add__(self, other: Any) -> _Range:
        return _Range((np.fmin(self[0], other[0]), np.fmax(self[1], other[1])))


def _range(block: Block) -> _Range:
    rows = dense(positive_weight_block(block).rows)
    missing = np.isnan(rows)
    low = np.min(np.where(missing, np.inf, rows), axis=0, initial=np.inf)
    return _Range((low, np.max(np.where(missing, -np.inf, rows), axis=0, initial=-np.inf)))


def _check_squares_in_range(source: Source, statistics: Any) -> None:
    """Raise if squared deviations of a column are not finite, or not normal floats though it has several values."""
    squares = np.diag(statistics.scatter) if isinstance(statistics, Moments) else statistics.square
    low, high = accumulate(source, _range, label="range of columns")
    bad = np.flatnonzero(~np.isfinite(squares) | ((squares < MIN_NORMAL_FLOAT) & (high > low)))
    if bad.size:
        j = int(bad[0])
        name = source.names[j] if source.names else str(j)
        raise DataError(
            f"column {name!r} has entries from {low[j]:g} to {high[j]:g}, whose squared deviations are out of the "
            "range of floats",
            columns=[name],
            fix="multiply or divide it by a constant first",
        )


def _explain_unusable_moments(source: Source) -> DataError:
    """Return the error for moments that are not finite: infinities, or missing values that need EM."""
    found = explain_nonfinite(source)
    if not isinstance(found, MissingValues):
        return found
    return DataError(
        "X has rows with some missing values",
        fix="use {covariance} or 'spherical', which use the observed entries; for a full covariance fit "
        "GaussianMixture(1), which estimates it by EM",
        settings={"covariance": "diagonal"},
    )


GAUSSIAN_FITS: dict[str, tuple[Callable[[Block], Any], Callable[[Any, tuple[str, ...]], tuple[Covariance, Any]]]] = {
    "full": (_moments, _estimate_full),
    "diagonal": (_observed_moments, _estimate_diagonal),
    "spherical": (_observed_moments, _estimate_spherical),
}
"""For each structure: from a block to statistics, and from statistics to the covariance and its weight."""
