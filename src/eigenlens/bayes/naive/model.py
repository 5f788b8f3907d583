"""Naive Bayes as a frozen value: p(c) and, for each class, independent columns, p(x, c) = p(c) Π_j p(x_j | c).

Columns of one family stand in one group, which reads them at once; a new family is a class with the methods of
`Conditional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.errors import DataError

__all__ = ["Conditional", "Group", "LinearRule", "NaiveModel", "contains_infinity", "unknown_category_error"]


class LinearRule(NamedTuple):
    """ln p(x | c) up to what is the same for all classes: coef (C, g) · x + intercept (C,)."""

    coef: Array
    intercept: Array


class Conditional(Protocol):
    """The densities of g columns in each of C classes. Rows are blocks of any kind that `data.table` reads."""

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Adds Σ_j ln p(x_ij | c) over the entries that are there to joint (n, C); the columns (g,) are by number."""
        ...

    def terms(self, rows: Any, columns: Array) -> Array:
        """ln p(x_ij | c) (n, g, C), 0 where an entry is missing."""
        ...

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """A draw (n,) of each of the g columns for rows whose classes are labels (n,)."""
        ...

    def linear(self) -> LinearRule | None:
        """The rule as a linear one, or None where it is none."""
        ...

    def density(self, label: int, place: int) -> Any:
        """The density of a column, by its place in the group, in a class."""
        ...


class Group(NamedTuple):
    """Columns (g,) by number, and their densities in each class."""

    columns: Array
    conditional: Conditional


@dataclass(frozen=True, eq=False)
class NaiveModel:
    """C classes, each with a probability and independent columns.

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
        """ln p(c) (C,)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.prior))

    @property
    def n_features(self) -> int:
        """The number d of columns."""
        return sum(len(group.columns) for group in self.groups)

    def log_likelihood(self, rows: Any) -> Array:
        """ln p(x | c) (n, C)."""
        joint = np.zeros((rows.shape[0], len(self.prior)))
        for columns, conditional in self.groups:
            conditional.add_log(rows, columns, joint)
        return joint

    def log_joint(self, rows: Any) -> Array:
        """ln p(x, c) (n, C)."""
        return self.log_likelihood(rows) + self.log_prior

    def terms(self, rows: Any) -> Array:
        """ln p(x_j | c) (n, d, C) of each column, 0 where an entry is missing."""
        found = np.zeros((rows.shape[0], self.n_features, len(self.prior)))
        for columns, conditional in self.groups:
            found[:, columns] = conditional.terms(rows, columns)
        return found

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draws (n,) of each of the d columns, for rows of classes (n,)."""
        drawn: dict[int, Array] = {}
        for columns, conditional in self.groups:
            drawn |= dict(zip(columns.tolist(), conditional.sample(labels, rng), strict=True))
        return [drawn[j] for j in range(self.n_features)]

    def linear(self) -> LinearRule | None:
        """ln p(c | x) up to what classes share, as coef (C, d) · x + intercept (C,); None where it is not linear."""
        parts = [(columns, conditional.linear()) for columns, conditional in self.groups]
        coef, intercept = np.zeros((len(self.prior), self.n_features)), self.log_prior.copy()
        for columns, part in parts:
            if part is None:
                return None
            coef[:, columns] = part.coef
            intercept += part.intercept
        return LinearRule(coef, intercept)

    def density(self, label: int, column: int) -> Any:
        """The density of a column in a class."""
        for columns, conditional in self.groups:
            if column in columns:
                return conditional.density(label, int(np.flatnonzero(columns == column)[0]))
        raise IndexError(column)


def unknown_category_error(name: Any, odd: Sequence[Any]) -> DataError:
    """The error for values of a column that were not met in fit; infinity is none to be met."""
    if contains_infinity(odd):
        return DataError(f"Input X contains infinity in column {name!r}; replace it by NaN, which is a missing entry.")
    shown = ", ".join(map(repr, odd[:5])) + (", …" if len(odd) > 5 else "")
    return DataError(
        f"column {name!r} holds {shown}, not met in fit, and unknown='error'; unknown='smooth' or 'ignore' takes such "
        "rows."
    )


def contains_infinity(categories: Sequence[Any]) -> bool:
    """Whether infinity is among categories, where numbers that are none end up."""
    return any(isinstance(category, float) and np.isinf(category) for category in categories)
