"""Columns of zeros and ones: in each class a share of ones, a rule that is linear in the rows, dense or sparse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_sparse, read_only
from eigenlens.bayes.naive.families.base import Conditional, Factor, LinearRule, NaiveOptions, unknown_category_error
from eigenlens.bayes.naive.families.categorical import CategoricalFactor
from eigenlens.bayes.naive.families.multinomial import (
    TOTALS_LAYOUT,
    ClassTotals,
    fill_missing,
    log_product,
    observed_entries_of,
)
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import numbers_of
from eigenlens.densities.discrete import Bernoulli
from eigenlens.errors import ModelFileError
from eigenlens.laws import SUM_TOLERANCE


@dataclass(frozen=True, eq=False)
class BernoulliColumns(Conditional):
    """P(x_j = 1 | c) = p_cj, for columns of zeros and ones; any other value is an unknown category.

    Attributes:
        probabilities: p (C, g).
        unknown: (C, g) the factor of another value in each class; 1 leaves the column out, NaN is an error.
        names: (g,) of the columns, for that error.

    >>> coins = BernoulliColumns(np.array([[0.25], [0.5]]), np.ones((2, 1)), ("vote",))
    >>> coins.terms(np.array([[1.0], [np.nan], [7.0]]), np.array([0]))[:, 0].round(4)
    array([[-1.3863, -0.6931], [ 0.    ,  0.    ], [ 0.    ,  0.    ]])
    """

    probabilities: Array
    unknown: Array
    names: tuple[Any, ...]

    def __post_init__(self) -> None:
        read_only(self, "probabilities", "unknown")

    @cached_property
    def _logs(self) -> tuple[Array, Array, Array]:
        """Return ln (1 − p), ln p, and the logarithms of the factors of other values, (C, g) each."""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.probabilities), np.log(self.probabilities), np.log(self.unknown)

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Add Σ_j x ln p + (1 − x) ln (1 − p) to joint (n, C), by matrix products."""
        x, observed = observed_entries_of(rows, columns)
        zero, one, other = self._logs
        if _not_binary(x).any():
            x, observed = fill_missing(numbers_of(rows, columns))
            odd = _not_binary(x)
            self._check_known(x, odd)
            joint += log_product(odd, other)
            x, observed = np.where(odd, 0.0, x), np.where(odd, 0.0, observed)
        if observed is None:
            joint += _log_sum(x, one, zero)
        else:
            joint += log_product(x, one) + log_product(observed - x, zero)

    def terms(self, rows: Any, columns: Array) -> Array:
        """Return ln P(x_ij | c) (n, g, C), 0 where an entry is missing."""
        x, observed = fill_missing(numbers_of(rows, columns))
        odd = _not_binary(x)
        self._check_known(x, odd)
        zero, one, other = (logs.T for logs in self._logs)
        found = np.where(odd[:, :, None], other, np.where(x[:, :, None] == 1.0, one, zero))
        return np.where(observed[:, :, None] > 0.0, found, 0.0)

    def _check_known(self, x: Array, odd: Array) -> None:
        """Raise for other values than 0 and 1, where they are infinite or an error by `unknown`."""
        rejected = odd & (np.isnan(self.unknown[0]) | np.isinf(x))
        if rejected.any():
            j = int(np.nonzero(rejected)[1][0])
            raise unknown_category_error(self.names[j], np.unique(x[rejected[:, j], j]).tolist())

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw 0 or 1 (n,) of each column."""
        p = self.probabilities[labels]
        return list((rng.random(p.shape) < p).astype(np.float64).T)

    def linear(self) -> LinearRule | None:
        """Return ln p / (1 − p) and Σ ln (1 − p); None where a probability is 0 or 1."""
        zero, one, _ = self._logs
        return LinearRule(one - zero, zero.sum(axis=1)) if np.all(np.isfinite(one + zero)) else None

    def take(self, classes: Array) -> BernoulliColumns:
        """Return the probabilities of some classes."""
        return BernoulliColumns(self.probabilities[classes], self.unknown[classes], self.names)

    def density(self, label: int, place: int) -> Bernoulli:
        """Return the Bernoulli density of a column in a class."""
        return Bernoulli(float(self.probabilities[label, place]))

    def category_probabilities(self, place: int) -> Array:
        """Return 1 − p and p (C, 2) of a column."""
        p = self.probabilities[:, place]
        return np.stack([1.0 - p, p], axis=1)

    def categories_of(self, place: int) -> tuple[Any, ...]:
        """Return (0, 1)."""
        return (0, 1)

    def log_probabilities(self) -> Array:
        """Return ln p (C, g)."""
        return self._logs[1]

    def n_parameters(self) -> int:
        """Return the number of probabilities."""
        return int(self.probabilities.size)


def _not_binary(x: Any) -> Array:
    """Return which entries are neither 0 nor 1; of sparse rows, which of the stored ones."""
    values = x.data if is_sparse(x) else x
    return np.asarray((values != 0.0) & (values != 1.0))


def _log_sum(x: Any, one: Array, zero: Array) -> Array:
    """Return Σ_j x one + (1 − x) zero (n, C), without 1 − x, which is dense, where the logarithms are finite."""
    if np.all(np.isfinite(one)) and np.all(np.isfinite(zero)):
        return np.asarray(x @ (one - zero).T + zero.sum(axis=1), dtype=np.float64)
    whole = x.toarray() if is_sparse(x) else x
    return log_product(whole, one) + log_product(1.0 - whole, zero)


@dataclass(frozen=True)
class BernoulliFactor(Factor):
    """The Bernoulli family; a column of text has it as a categorical one of two categories."""

    layout = TOTALS_LAYOUT

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassTotals:
        """Return the ones of each class."""
        return ClassTotals.of(rows, columns, y, weight, C, _not_binary)

    def summarise_shared(
        self, rows: Any, columns: Array, shares: Array, model: BernoulliColumns | None = None
    ) -> ClassTotals:
        """Return the ones of classes that share the rows, by a matrix product."""
        return ClassTotals.of_shared(*observed_entries_of(rows, columns), shares, _not_binary)

    def estimate(self, statistics: ClassTotals, fields: tuple[Field, ...], options: NaiveOptions) -> BernoulliColumns:
        """Return p = (ones + a) / (n + 2 a), a the smoothing; a class without entries has the share of all rows."""
        statistics.check(fields, "'bernoulli' is for 0 and 1 alone", "use 'categorical' or 'gaussian'")
        added = np.array([options.smoothing_of(field.name, (0, 1)) for field in fields])
        ones, n = statistics.total + added[:, 1], statistics.weight + added.sum(axis=1)
        everywhere = n.sum(axis=0)
        overall = np.where(everywhere > 0.0, ones.sum(axis=0) / np.where(everywhere > 0.0, everywhere, 1.0), 0.5)
        shares = np.where(n > 0.0, ones / np.where(n > 0.0, n, 1.0), overall)
        unknown = [options.unknown_of(n, a) for n, a in zip(statistics.weight.T, added, strict=True)]
        names = tuple(field.name for field in fields)
        return BernoulliColumns(np.minimum(shares, 1.0), np.stack(unknown, axis=1), names)  # rounding may exceed 1

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions, C: int
    ) -> tuple[ClassTotals, Any]:
        """Return the stored sums, of at most as many ones as entries, and the densities that follow."""
        found: tuple[ClassTotals, Any] = super().unpack(arrays, header, fields, options, C)
        if np.any(found[0].total > found[0].weight * (1.0 + SUM_TOLERANCE)):
            raise ModelFileError("'total' has more ones than 'weight' has entries")
        return found

    def category_counts(self, statistics: ClassTotals, conditional: BernoulliColumns, place: int) -> Array:
        """Return Σ w of zeros and ones (C, 2) of a column."""
        ones = statistics.total[:, place]
        return np.stack([statistics.weight[:, place] - ones, ones], axis=1)

    def for_text(self) -> CategoricalFactor:
        """Return the categorical family of two categories."""
        return CategoricalFactor(two=True)
