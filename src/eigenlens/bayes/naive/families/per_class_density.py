"""Columns with any density of one dimension in each class: kernel estimates, mixtures, the user's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.model import LinearRule
from eigenlens.data.table import MixedRows, numbers_of
from eigenlens.densities.base import Density
from eigenlens.resources import single_threaded_map, thread_count

__all__ = ["DensityPerClass", "column_values", "missing_rows"]


@dataclass(frozen=True, eq=False)
class DensityPerClass:
    """p(x_j | c) by any densities.

    Attributes:
        densities: (g,) columns of (C,) densities of one dimension.
    """

    densities: tuple[tuple[Density, ...], ...]

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Adds Σ_j ln p(x_ij | c) to joint (n, C): one density of one column is a thread's work."""
        for _, c, found in self._logs(rows, columns):
            joint[:, c] += found

    def terms(self, rows: Any, columns: Array) -> Array:
        """ln p(x_ij | c) (n, g, C)."""
        out = np.empty((rows.shape[0], len(columns), len(self.densities[0])))
        for j, c, found in self._logs(rows, columns):
            out[:, j, c] = found
        return out

    def _logs(self, rows: Any, columns: Array) -> list[tuple[int, int, Array]]:
        values = [column_values(rows, int(column)) for column in columns]
        missing = [missing_rows(column) for column in values]
        infinite = [column.dtype != object and np.isinf(column[:, 0]) for column in values]
        pairs = [(j, c) for j in range(len(columns)) for c in range(len(self.densities[j]))]

        def log_density(pair: tuple[int, int]) -> tuple[int, int, Array]:
            j, c = pair
            found = np.where(infinite[j], -np.inf, self.densities[j][c].log_density(values[j]))
            return j, c, np.where(missing[j], 0.0, found)  # whatever a density makes of gaps and infinity

        with single_threaded_map(thread_count()) as each:
            return list(each(log_density, pairs))

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draws of each column."""
        return [self._draw(column, labels, rng) for column in self.densities]

    def _draw(self, densities: tuple[Density, ...], labels: Array, rng: np.random.Generator) -> Array:
        parts = {int(c): densities[c].sample(int((labels == c).sum()), rng).reshape(-1) for c in np.unique(labels)}
        drawn = np.empty(len(labels), dtype=np.result_type(*(part.dtype for part in parts.values())))
        for c, part in parts.items():
            drawn[labels == c] = part
        return drawn

    def linear(self) -> LinearRule | None:
        """None: nothing is known of the densities."""
        return None

    def density(self, label: int, place: int) -> Density:
        """The density of a column in a class."""
        return self.densities[place][label]


def column_values(rows: Any, column: int) -> Array:
    """A column (n, 1) of a block: float64 numbers, or its categories as objects, None where missing."""
    if isinstance(rows, MixedRows) and rows.places[column] < 0 and not rows.large(column):
        place = -1 - int(rows.places[column])
        categories = np.empty(len(rows.categories[place]) + 1, dtype=object)
        categories[:-1] = rows.categories[place]
        return categories[rows.codes[:, place]][:, None]
    return numbers_of(rows, np.array([column])).astype(np.float64, copy=False)


def missing_rows(values: Array) -> Array:
    """Where (n,) the entries of `column_values` are missing."""
    if values.dtype == object:
        return np.array([value is None for value in values[:, 0]], dtype=bool)
    return np.isnan(values[:, 0])
