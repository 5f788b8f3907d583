"""Complement naive Bayes: counts judged by the shares of all other classes (Rennie et al. 2003), a linear rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.naive.families.base import Conditional, Factor, LinearRule, NaiveOptions
from eigenlens.bayes.naive.families.multinomial import (
    TOTALS_LAYOUT,
    ClassTotals,
    check_counts,
    not_counts,
    observed_entries_of,
)
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import numbers_of
from eigenlens.errors import OptionError


@dataclass(frozen=True, eq=False)
class ComplementColumns(Conditional):
    """A block of counts with the score Σ_j x_j w_cj of each class, which takes the place of ln p(x | c).

    Attributes:
        weights: w (C, g). names: (g,) of the columns, for errors.
    """

    weights: Array
    names: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        read_only(self, "weights")

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Add Σ_j x_j w_cj to joint (n, C), by a matrix product."""
        x, _ = observed_entries_of(rows, columns)
        check_counts(x, self.names)
        joint += np.asarray(x @ self.weights.T, dtype=np.float64)

    def terms(self, rows: Any, columns: Array) -> Array:
        """Return x_j w_cj (n, g, C), 0 where a count is missing."""
        x = numbers_of(rows, columns)
        return np.where(np.isnan(x), 0.0, x)[:, :, None] * self.weights.T

    def linear(self) -> LinearRule:
        """Return w and 0."""
        return LinearRule(self.weights, np.zeros(len(self.weights)))

    def log_probabilities(self) -> Array:
        """Return w (C, g)."""
        return self.weights

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Raise an error: scores have no draws."""
        raise _no_density_error()

    def density(self, label: int, place: int) -> Any:
        """Raise an error: scores are not densities."""
        raise _no_density_error()


def _no_density_error() -> OptionError:
    return OptionError("'complement' scores classes and has no density of rows", fix="use 'multinomial'")


@dataclass(frozen=True)
class ComplementFactor(Factor):
    """Complement naive Bayes for counts; `normalized` divides the weights of each class by their sum.

    A class with few rows has poor estimates of its own shares; those of all rows outside of it are better, and the
    larger the share of a column there, the less its count adds to the score of the class.
    """

    normalized: bool = False
    takes_negative = has_density = False
    layout = TOTALS_LAYOUT

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassTotals:
        """Return the totals of each class."""
        return ClassTotals.of(rows, columns, y, weight, C, not_counts)

    def estimate(self, statistics: ClassTotals, fields: tuple[Field, ...], options: NaiveOptions) -> ComplementColumns:
        """Return w_cj = −ln θ_cj, θ_cj = (Σ n_j + a_j) / Σ_j (Σ n_j + a_j) over the rows of all other classes."""
        statistics.check(fields, "'complement' is for counts (Negative values in data are none)", "use 'gaussian'")
        added = np.array([options.smoothing_of(field.name, (0,))[0] for field in fields])
        n = statistics.total.sum(axis=0) - statistics.total + added
        if not np.all(n > 0.0):
            what = "leaves a column without counts outside of a class, whose logarithm is infinite"
            raise OptionError(what, argument="smoothing", value=options.smoothing, fix="give a positive smoothing")
        w = -np.log(n / n.sum(axis=1, keepdims=True))
        if self.normalized:
            w = w / w.sum(axis=1, keepdims=True)
        return ComplementColumns(w, tuple(field.name for field in fields))
