"""Naive Bayes as a frozen value: p(c) and, in each class, independent columns, p(x, c) = p(c) Π_j p(x_j | c).

Columns of one family are one group, which reads them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.naive.families.base import Conditional, LinearRule
from eigenlens.errors import DataWarning, warn_user


class Group(NamedTuple):
    """A group of columns (g,), by number, and their densities in each class."""

    columns: Array
    conditional: Conditional


@dataclass(frozen=True, eq=False)
class NaiveModel:
    """A model of C classes, each with a probability and independent columns.

    Attributes:
        prior: p(c) (C,), which sum to one.
        groups: the columns, each in one group.

    >>> from eigenlens.bayes.naive.families.gaussian import GaussianColumns
    >>> heights = Group(np.array([0]), GaussianColumns(np.array([[110.0], [165.0]]), np.array([[36.0], [49.0]])))
    >>> model = NaiveModel(np.array([0.5, 0.5]), (heights,))
    >>> model.log_joint(np.array([[120.0], [np.nan]])).round(4)
    array([[ -4.7927, -24.2213], [ -0.6931,  -0.6931]])
    """

    prior: Array
    groups: Sequence[Group]

    def __post_init__(self) -> None:
        read_only(self, "prior")

    @property
    def log_prior(self) -> Array:
        """Return ln p(c) (C,)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.prior))

    @property
    def n_features(self) -> int:
        """Return the number d of columns."""
        return sum(len(group.columns) for group in self.groups)

    def log_likelihood(self, rows: Any) -> Array:
        """Return ln p(x | c) (n, C)."""
        joint = np.zeros((rows.shape[0], len(self.prior)))
        for columns, conditional in self.groups:
            conditional.add_log(rows, columns, joint)
        return joint

    def log_joint(self, rows: Any) -> Array:
        """Return ln p(x, c) (n, C)."""
        return self.log_likelihood(rows) + self.log_prior

    def terms(self, rows: Any) -> Array:
        """Return ln p(x_j | c) (n, d, C) of each column, 0 where an entry is missing."""
        found = np.zeros((rows.shape[0], self.n_features, len(self.prior)))
        for columns, conditional in self.groups:
            found[:, columns] = conditional.terms(rows, columns)
        return found

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw a value (n,) of each of the d columns, for rows of the classes labels (n,)."""
        drawn: dict[int, Array] = {}
        for columns, conditional in self.groups:
            drawn |= dict(zip(columns.tolist(), conditional.sample(labels, rng), strict=True))
        for j, values in drawn.items():
            if values.size and values.dtype == object and all(value is None for value in values):
                what = f"column {j} of X had no observed entry in the fit, and its draws are missing values"
                warn_user(DataWarning(what, fix="leave it out of the fit"))
        return [drawn[j] for j in range(self.n_features)]

    def take(self, classes: Array) -> NaiveModel:
        """Return the model of some classes, by number and in this order, their probabilities scaled to sum to 1."""
        prior = self.prior[classes]
        return NaiveModel(prior / prior.sum(), tuple(Group(c, part.take(classes)) for c, part in self.groups))

    def linear(self) -> LinearRule | None:
        """Return ln p(c | x), up to shared terms, as coef (C, d) · x + intercept (C,); None where it is not linear."""
        parts = [(columns, conditional.linear()) for columns, conditional in self.groups]
        coef, intercept = np.zeros((len(self.prior), self.n_features)), self.log_prior.copy()
        for columns, part in parts:
            if part is None:
                return None
            coef[:, columns] = part.coef
            intercept += part.intercept
        return LinearRule(coef, intercept)

    def density(self, label: int, column: int) -> Any:
        """Return the density of a column in a class."""
        for columns, conditional in self.groups:
            if column in columns:
                return conditional.density(label, int(np.flatnonzero(columns == column)[0]))
        raise IndexError(column)
