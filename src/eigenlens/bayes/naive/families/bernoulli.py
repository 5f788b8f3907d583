"""Columns of zeros and ones: a rule that is linear in the rows, dense or sparse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_sparse, read_only
from eigenlens.bayes.naive.families.multinomial import entries_of, filled, product
from eigenlens.bayes.naive.model import LinearRule, unknown_category_error
from eigenlens.data.table import numbers_of
from eigenlens.densities.discrete import Bernoulli

__all__ = ["BernoulliColumns", "others"]


@dataclass(frozen=True, eq=False)
class BernoulliColumns:
    """P(x_j = 1 | c) = p_cj, for columns of zeros and ones; any other value is a category that is not known.

    Attributes:
        probabilities: p (C, g).
        unknown: (C, g) what another value counts in each class; 1 for leaving the factor out, NaN for an error.
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
        """ln (1 − p), ln p, and those of other values (C, g)."""
        with np.errstate(divide="ignore"):
            return np.log1p(-self.probabilities), np.log(self.probabilities), np.log(self.unknown)

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Adds Σ_j x ln p + (1 − x) ln (1 − p) to joint (n, C), by products."""
        x, seen = entries_of(rows, columns)
        zero, one, other = self._logs
        if others(x).any():
            x, seen = filled(numbers_of(rows, columns))
            odd = others(x)
            self._refuse(x, odd)
            joint += product(odd, other)
            x, seen = np.where(odd, 0.0, x), np.where(odd, 0.0, seen)
        if seen is None:
            joint += _weighed_sum(x, one, zero)
        else:
            joint += product(x, one) + product(seen - x, zero)

    def terms(self, rows: Any, columns: Array) -> Array:
        """ln P(x_ij | c) (n, g, C)."""
        x, seen = filled(numbers_of(rows, columns))
        odd = others(x)
        self._refuse(x, odd)
        zero, one, other = (logs.T for logs in self._logs)
        found = np.where(odd[:, :, None], other, np.where(x[:, :, None] == 1.0, one, zero))
        return np.where(seen[:, :, None] > 0.0, found, 0.0)

    def _refuse(self, x: Array, odd: Array) -> None:
        """Raise for entries (n, g) that are neither 0 nor 1, where they are infinite or to be refused."""
        refused = odd & (np.isnan(self.unknown[0]) | np.isinf(x))
        if refused.any():
            j = int(np.nonzero(refused)[1][0])
            raise unknown_category_error(self.names[j], np.unique(x[refused[:, j], j]).tolist())

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draws of each column."""
        p = self.probabilities[labels]
        return list((rng.random(p.shape) < p).astype(np.float64).T)

    def linear(self) -> LinearRule | None:
        """ln p / (1 − p) and Σ ln (1 − p), for zeros and ones."""
        zero, one, _ = self._logs
        return LinearRule(one - zero, zero.sum(axis=1)) if np.all(np.isfinite(one + zero)) else None

    def density(self, label: int, place: int) -> Bernoulli:
        """The coin of a column in a class."""
        return Bernoulli(float(self.probabilities[label, place]))


def others(x: Any) -> Array:
    """Which entries are neither 0 nor 1; of sparse rows, which of those that are stored."""
    values = x.data if is_sparse(x) else x
    return np.asarray((values != 0.0) & (values != 1.0))


def _weighed_sum(x: Any, one: Array, zero: Array) -> Array:
    """Σ_j x one + (1 − x) zero (n, C), without making 1 − x where x is sparse and the logs are finite."""
    if np.all(np.isfinite(one)) and np.all(np.isfinite(zero)):
        return np.asarray(x @ (one - zero).T + zero.sum(axis=1), dtype=np.float64)
    whole = x.toarray() if is_sparse(x) else x
    return product(whole, one) + product(1.0 - whole, zero)
