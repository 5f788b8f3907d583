"""Densities of some of the columns: the other columns are independent Gaussians, or left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.classifier.class_density import log_density, sample_density
from eigenlens.data.source import Source
from eigenlens.densities.base import as_rows
from eigenlens.densities.covariance import Diagonal
from eigenlens.densities.gaussian import Gaussian


@dataclass(frozen=True, eq=False)
class InColumns:
    """A density of some columns, times independent Gaussians for the other columns that have a variance.

        p(x) = p(x_columns) Π_j N(x_j | mean_j, variances_j)

    Attributes:
        density: a fitted estimator or frozen density of the columns. columns: (o,).
        mean: (d,). variances: (d,), 0 in `columns` and where a column is left out.

    >>> inner = Gaussian(np.zeros(1), Diagonal(np.ones(1)))
    >>> both = InColumns(inner, np.array([1]), np.array([5.0, 0.0, 7.0]), np.array([1.0, 0.0, 0.0]))
    >>> both.log_density(np.array([[5.0, 0.0, 3.0], [np.nan, 0.0, 7.0]])) / np.log(2.0 * np.pi)
    array([-1. , -0.5])
    """

    density: Any
    columns: Array
    mean: Array
    variances: Array

    def __post_init__(self) -> None:
        read_only(self, "mean", "variances")

    @cached_property
    def others(self) -> Array:
        """The columns (q,) that are independent Gaussians."""
        return np.flatnonzero(self.variances > 0.0)

    @cached_property
    def rest(self) -> Gaussian:
        """The Gaussian of the other columns."""
        return Gaussian(self.mean[self.others], Diagonal(self.variances[self.others]))

    def log_density(self, X: Any) -> Array:
        """Return ln p(x) (n,) of the observed entries of rows X (n, d)."""
        rows = as_rows(X, self.mean.size)
        found = log_density(self.density, rows[:, self.columns])
        return found + self.rest.log_density(rows[:, self.others]) if self.others.size else found

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """Return n draws (n, d); a column that is left out has its mean."""
        rows = np.tile(self.mean, (n, 1))
        rows[:, self.columns] = sample_density(self.density, n, rng)
        if self.others.size:
            rows[:, self.others] = self.rest.sample(n, rng)
        return rows


class ChosenColumns(Source):
    """A source with some of the columns of another, named as there, or else by their numbers."""

    def __init__(self, source: Source, columns: Array) -> None:
        self.source, self.columns = source.weighted(None), columns
        self.n_rows, self.n_features, self.dtype = source.n_rows, len(columns), source.dtype
        self.names = tuple(source.names[j] if source.names else str(j) for j in columns.tolist())
        self.weight, self.in_memory, self.reads_ahead = source.weight, source.in_memory, source.reads_ahead

    def rows(self) -> Iterator[Any]:
        """Yield the chosen columns of each block."""
        for rows in self.source.rows():
            yield rows[:, self.columns]
