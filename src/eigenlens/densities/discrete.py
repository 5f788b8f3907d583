"""Densities of one column of categories, Bernoulli and categorical; categories are strings, numbers or booleans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, read_only
from eigenlens.data.categories import encode
from eigenlens.data.source import Block
from eigenlens.densities.base import Columns, only_column
from eigenlens.densities.fitting import category_counts, check_block, check_smoothing, pseudo_counts
from eigenlens.densities.intervals import (
    Fitted,
    check_record,
    fit_record,
    format_numbers,
    proportion_intervals,
    smoothed_count,
)
from eigenlens.densities.product import Product
from eigenlens.errors import DataError, OptionError
from eigenlens.stats.counts import Counts
from eigenlens.tables.text_table import titled_table


@dataclass(frozen=True, eq=False)
class Categorical:
    """One of K categories: P(x = levels[k]) = p_k.

    Attributes:
        probabilities: p (K,), not negative.
        levels: (K,) the categories, different values; 0, …, K − 1 if not given.
        unknown: the probability of all other categories together; Σ p + unknown = 1.
        fitted: the record of `fit`, or None.

    A category that is not known has log density ln unknown, −inf where that is 0; a missing value (NaN, None) has 0.

    >>> die = Categorical.fit(["red", "blue", "red", "red"])
    >>> print(die)
    Categorical, n = 4, log-likelihood -2.2493
    category  probability  std. error      low     high
    blue             0.25     0.21651  0.04559  0.69936
    red              0.75     0.21651  0.30064  0.95441
    >>> die.log_density(["blue", "green", None])
    array([-1.38629,     -inf,  0.     ])
    """

    probabilities: Array
    levels: tuple[Any, ...] = ()
    unknown: float = 0.0
    fitted: Fitted | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "probabilities", checks.numbers("probabilities", self.probabilities))
        read_only(self, "probabilities")
        p, levels = np.ravel(self.probabilities), self.levels
        object.__setattr__(self, "unknown", checks.not_negative("unknown", self.unknown))
        numbered = isinstance(levels, tuple) and not levels
        levels = checks.distinct_values("levels", tuple(range(p.size)) if numbered else levels, p.size)
        object.__setattr__(self, "levels", levels)
        check_record(self.fitted)
        if self.probabilities.ndim != 1 or not (
            np.all(p >= 0.0) and self.unknown >= 0.0 and abs(p.sum() + self.unknown - 1.0) <= 1e-9
        ):
            what = f"with unknown={self.unknown:g} must not be negative and sum to 1, not {p.sum() + self.unknown:.10g}"
            raise OptionError(what, argument="probabilities", value=p.tolist(), fix="divide them by their sum")

    @classmethod
    def fit(
        cls,
        x: Any,
        sample_weight: Any = None,
        *,
        smoothing: float | Sequence[float] = 0.0,
        levels: Sequence[Any] | None = None,
        reserve: float | None = None,
    ) -> Categorical:
        """Fit p_k = (n_k + smoothing) / (n + K smoothing + reserve), n_k the weight of the rows with category k.

        Args:
            x: (n,) values; a Series, list, array, Source or Dask array of one column. Missing values are left out.
            sample_weight: (n,), a weight of 3 counting as three rows.
            smoothing: 0 for maximum likelihood; 1 is Laplace's rule; one number per category is a Dirichlet prior.
            levels: the possible categories, in order, also those that do not occur. A column of booleans, a pandas
                categorical and a Polars Enum declare theirs.
            reserve: the rows that smoothing adds for categories that do not occur. If None, as many as for each that
                does (smoothing), and 0 where the categories are declared or smoothing is a list.
        """
        given = None if levels is None else checks.distinct_values("levels", levels)
        family = CategoricalFamily(given, smoothing, reserve)
        return family.estimate(category_counts(x, sample_weight, family.summarise))

    def log_density(self, X: Any) -> Array:
        """Return ln P(x) (n,) of values X (n,) or (n, 1). Cost: at most one hash per value."""
        codes, found, _ = encode(X)
        logs = np.array([*(self._logs.get(level, self._log_unknown) for level in found), 0.0])
        return np.asarray(logs[codes])

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, 1) of the known categories."""
        rng = checks.generator(rng, "rng")
        p = self.probabilities / self.probabilities.sum()
        return np.asarray(self._values[rng.choice(p.size, size=checks.sample_size("n", n, 1, 0), p=p)][:, None])

    def marginal(self, columns: Columns) -> Categorical | Product:
        """Return the density itself, for column 0."""
        return self if only_column(columns) else Product(())

    def condition(self, columns: Columns, values: Any) -> Categorical | Product:
        """Return the density of no columns, once the only one is known."""
        return Product(()) if only_column(columns) else self

    def standard_errors(self) -> Array:
        """Return √(p_k (1 − p_k) / n) (K,), n with the rows that smoothing added."""
        return np.asarray(np.sqrt(self.probabilities * (1.0 - self.probabilities) / smoothed_count(self)))

    def confidence_intervals(self, level: float = 0.95, method: Any = "wilson") -> Array:
        """Return limits (K, 2) for each probability on its own; methods in `intervals.PROPORTION_INTERVALS`.

        The default, "wilson", is close to its level for few rows and for p near 0 or 1.
        """
        return proportion_intervals(self.probabilities, smoothed_count(self), level, method)

    def __str__(self) -> str:
        names = [str(level) for level in self.levels]
        p, limits, errors = self.probabilities, None, None
        if self.fitted is not None:
            errors, limits = self.standard_errors(), self.confidence_intervals()
        return probability_table(self, names, p, errors, limits, self.unknown)

    @cached_property
    def _logs(self) -> dict[Any, float]:
        with np.errstate(divide="ignore"):
            return dict(zip(self.levels, np.log(self.probabilities).tolist(), strict=True))

    @property
    def _log_unknown(self) -> float:
        return float(np.log(self.unknown)) if self.unknown > 0.0 else -np.inf

    @cached_property
    def _values(self) -> Array:
        """The categories as an array of their own type; of objects where there are several types."""
        kinds = {type(level) for level in self.levels}
        values = np.empty(len(self.levels), dtype=object)
        values[:] = self.levels
        return np.array(self.levels) if len(kinds) == 1 and kinds <= {bool, int, float, str} else values


@dataclass(frozen=True)
class CategoricalFamily:
    """Categorical densities: counts of categories to shares. The options are those of `Categorical.fit`."""

    levels: tuple[Any, ...] | None = None
    smoothing: float | Sequence[float] = 0.0
    reserve: float | None = None

    def __post_init__(self) -> None:
        if self.levels is not None:
            object.__setattr__(self, "levels", checks.distinct_values("levels", self.levels))
        check_smoothing(self.smoothing)
        if self.reserve is not None:
            checks.not_negative("reserve", self.reserve)

    def summarise(self, block: Block) -> Counts:
        """Return the counts of a block of rows of one column."""
        rows, weight = check_block(block)
        counts = Counts.of(rows, weight)
        return counts if self.levels is None else counts.within(self.levels)

    def estimate(self, statistics: Counts) -> Categorical:
        """Return the density with the smoothed shares of the categories."""
        checks.instance("statistics", statistics, Counts, "give those of summarise")
        added = pseudo_counts(self.smoothing, len(statistics.categories))
        reserve = self._reserved(statistics.declared)
        total = statistics.total + float(added.sum()) + reserve
        if total <= 0.0 or not statistics.categories:
            what = "x has no value that is not missing and has positive weight"
            raise DataError(what, fix="{smoothing} gives a prior", settings={"smoothing": 1})
        p = (statistics.weight + added) / total
        record = Fitted(
            statistics.total, _loglik(statistics.weight, p), p.size - (reserve == 0.0), total - statistics.total
        )
        return Categorical(p, statistics.categories, reserve / total, record)

    def _reserved(self, declared: bool) -> float:
        """Return the number of rows that smoothing adds for categories that do not occur."""
        if self.reserve is None:
            return 0.0 if declared or np.ndim(self.smoothing) else float(np.asarray(self.smoothing))
        return float(self.reserve)


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """One of two categories: P(x = levels[1]) = p, P(x = levels[0]) = 1 − p.

    Attributes:
        probability: p, of the second category. levels: (other, counted); (0, 1), which False and True equal.
        fitted: the record of `fit`, or None.

    >>> coin = Bernoulli.fit(["H", "T", "H", "H"], levels=("T", "H"))
    >>> coin.probability, coin.standard_errors()
    (0.75, 0.2165)
    >>> print(coin)
    Bernoulli, n = 4, log-likelihood -2.2493
    category  probability  std. error      low     high
    T                0.25     0.21651  0.04559  0.69936
    H                0.75     0.21651  0.30064  0.95441
    """

    probability: float
    levels: tuple[Any, Any] = (0, 1)
    fitted: Fitted | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not checks.not_negative("probability", self.probability) <= 1.0:
            raise OptionError("must be between 0 and 1", argument="probability", value=self.probability)
        object.__setattr__(self, "levels", checks.distinct_values("levels", self.levels, 2))
        check_record(self.fitted)

    @classmethod
    def fit(
        cls,
        x: Any,
        sample_weight: Any = None,
        *,
        smoothing: float | tuple[float, float] = 0.0,
        levels: tuple[Any, Any] | None = None,
    ) -> Bernoulli:
        """Fit p = (H + b) / (n + a + b), H of n rows having the counted category, smoothing = (a, b) or one number.

        Args:
            x: (n,), at most two different values; missing values are left out.
            sample_weight: (n,), a weight of 3 counting as three rows.
            smoothing: 0 for maximum likelihood; a number, or one per category: the mean under a Beta prior.
            levels: (other, counted). If not given: (0, 1) for zeros, ones and booleans; a categorical's; or else the
                two values that occur, in order.
        """
        given = None if levels is None else checks.distinct_values("levels", levels, 2)
        family = BernoulliFamily(None if given is None else (given[0], given[1]), smoothing)
        return family.estimate(category_counts(x, sample_weight, family.summarise))

    def log_density(self, X: Any) -> Array:
        """Return ln P(x) (n,) of values X (n,) or (n, 1); −inf for a value that is neither category, 0 for NaN."""
        return self.categorical.log_density(X)

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, 1)."""
        rng = checks.generator(rng, "rng")
        n = checks.sample_size("n", n, 1, 0)
        return np.asarray(self.categorical._values[(rng.random(n) < self.probability).astype(np.intp)][:, None])

    def marginal(self, columns: Columns) -> Bernoulli | Product:
        """Return the density itself, for column 0."""
        return self if only_column(columns) else Product(())

    def condition(self, columns: Columns, values: Any) -> Bernoulli | Product:
        """Return the density of no columns, once the only one is known."""
        return Product(()) if only_column(columns) else self

    def standard_errors(self) -> float:
        """Return √(p (1 − p) / n), n with the rows that smoothing added."""
        return float(np.sqrt(self.probability * (1.0 - self.probability) / smoothed_count(self)))

    def confidence_intervals(self, level: float = 0.95, method: Any = "wilson") -> tuple[float, float]:
        """Return limits for p; methods in `intervals.PROPORTION_INTERVALS`.

        >>> Bernoulli.fit([0] * 10).confidence_intervals()
        (0.0, 0.2775)
        """
        low, high = proportion_intervals(np.array([self.probability]), smoothed_count(self), level, method)[0]
        return float(low), float(high)

    @cached_property
    def categorical(self) -> Categorical:
        """The same density as a `Categorical` of two categories."""
        return Categorical(np.array([1.0 - self.probability, self.probability]), self.levels, 0.0, self.fitted)

    def __str__(self) -> str:
        return str(self.categorical).replace("Categorical", "Bernoulli", 1)


@dataclass(frozen=True)
class BernoulliFamily:
    """Bernoulli densities: counts of two categories to a share. The options are those of `Bernoulli.fit`."""

    levels: tuple[Any, Any] | None = None
    smoothing: float | tuple[float, float] = 0.0

    def __post_init__(self) -> None:
        if self.levels is not None:
            object.__setattr__(self, "levels", checks.distinct_values("levels", self.levels))
        check_smoothing(self.smoothing)

    def summarise(self, block: Block) -> Counts:
        """Return the counts of a block of rows of one column."""
        return CategoricalFamily(self.levels).summarise(block)

    def estimate(self, statistics: Counts) -> Bernoulli:
        """Return the density with the smoothed share of the second category."""
        checks.instance("statistics", statistics, Counts, "give those of summarise")
        counts = statistics.within(_two_levels(statistics))
        both = CategoricalFamily(None, self.smoothing).estimate(counts)
        return Bernoulli(float(both.probabilities[1]), (both.levels[0], both.levels[1]), both.fitted)


def _two_levels(counts: Counts) -> tuple[Any, ...]:
    levels = counts.categories
    if len(levels) == 2:
        return levels
    if set(levels) <= {0, 1}:
        return (0, 1)
    shown = ", ".join(map(repr, levels[:5])) + (", …" if len(levels) > 5 else "")
    if counts.declared and len(levels) > 2:
        occurring = int(np.count_nonzero(counts.weight))
        what = f"x declares {len(levels)} categories ({shown}), of which {occurring} occur; two are needed"
        raise DataError(what, fix="drop the unused ones, give levels=(other, counted), or use Categorical.fit(x)")
    if len(levels) > 2:
        raise DataError(f"x has {len(levels)} different values ({shown}); two are needed", fix="use Categorical.fit(x)")
    raise DataError(f"x is constant ({shown}), so the other category is not known", fix=f"give levels=(other, {shown})")


def _loglik(weight: Array, p: Array) -> float:
    met = weight > 0.0
    return float(weight[met] @ np.log(p[met]))


def probability_table(
    density: Any, names: Sequence[str], p: Array, errors: Array | None, limits: Array | None, unknown: float = 0.0
) -> str:
    """Return a table of categories, probabilities and, where fitted, their errors and 95% limits."""
    title, header, columns = type(density).__name__, ["category", "probability"], [list(names), format_numbers(p)]
    if errors is not None and limits is not None:
        record = fit_record(density)
        title += f", n = {record.weight:g}, log-likelihood {record.loglik:.5g}"
        header += ["std. error", "low", "high"]
        columns += [format_numbers(errors), format_numbers(limits[:, 0]), format_numbers(limits[:, 1])]
    if unknown:
        columns = [[*column, ""] for column in columns]
        columns[0][-1], columns[1][-1] = "any other", format_numbers(unknown)[0]
    return titled_table(title, header, *columns)
