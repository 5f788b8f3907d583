"""Columns with any density of one dimension per class, and the families that keep rows to fit one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.base import Conditional, Factor, infinity_error, no_values_error
from eigenlens.data.categories import EncodedColumn
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import MixedRows, numbers_of
from eigenlens.densities.base import Density
from eigenlens.errors import OptionError
from eigenlens.model_file import Layout
from eigenlens.resources import single_threaded_map, thread_count


@dataclass(frozen=True, eq=False)
class DensityPerClass(Conditional):
    """p(x_j | c) by any densities.

    Attributes:
        densities: (g,) columns of (C,) densities of one dimension.
    """

    densities: tuple[tuple[Density, ...], ...]

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Add Σ_j ln p(x_ij | c) to joint (n, C), one density of one column per thread."""
        for _, c, found in self._logs(rows, columns):
            joint[:, c] += found

    def terms(self, rows: Any, columns: Array) -> Array:
        """Return ln p(x_ij | c) (n, g, C), 0 where an entry is missing."""
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
            return j, c, np.where(missing[j], 0.0, found)  # whatever the density returns for missing values

        with single_threaded_map(thread_count()) as each:
            return list(each(log_density, pairs))

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw a value (n,) of each column."""
        return [self._draw(column, labels, rng) for column in self.densities]

    def _draw(self, densities: tuple[Density, ...], labels: Array, rng: np.random.Generator) -> Array:
        parts = {int(c): densities[c].sample(int((labels == c).sum()), rng).reshape(-1) for c in np.unique(labels)}
        drawn = np.empty(len(labels), dtype=np.result_type(*(part.dtype for part in parts.values())))
        for c, part in parts.items():
            drawn[labels == c] = part
        return drawn

    def take(self, classes: Array) -> DensityPerClass:
        """Return the densities of some classes."""
        return DensityPerClass(tuple(tuple(column[c] for c in classes) for column in self.densities))

    def density(self, label: int, place: int) -> Density:
        """Return the density of a column in a class."""
        return self.densities[place][label]

    def n_parameters(self) -> int:
        """Return the sum over the densities: their attribute `n_parameters`, or the record of a fit, `fitted.free`."""
        return sum(_count_parameters(density) for column in self.densities for density in column)


def _count_parameters(density: Any) -> int:
    found = getattr(density, "n_parameters", getattr(getattr(density, "fitted", None), "free", None))
    if found is None:
        what = f"AIC and BIC need the attribute n_parameters of densities, which {type(density).__name__} has not"
        raise OptionError(what, fix="add it, or compare by the log-likelihood of held-out rows: cv=5")
    return int(found)


def column_values(rows: Any, column: int) -> Array:
    """Return a column (n, 1) of a block: float64 numbers, or its categories as objects, None where missing."""
    if isinstance(rows, MixedRows) and rows.places[column] < 0 and not rows.large(column):
        place = -1 - int(rows.places[column])
        return EncodedColumn(rows.codes[:, place], rows.categories[place]).values()[:, None]
    return numbers_of(rows, np.array([column])).astype(np.float64, copy=False)


def missing_rows(values: Array) -> Array:
    """Return where (n,) the entries of `column_values` are missing."""
    if values.dtype == object:
        return np.array([value is None for value in values[:, 0]], dtype=bool)
    return np.isnan(values[:, 0])


# ---- families that keep rows --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Columns of labelled rows with positive weight; halves merge to the whole.

    Attributes:
        values: (n, g), NaN where missing. y: (n,) classes. weight: (n,). classes: C.
    """

    values: Array
    y: Array
    weight: Array
    classes: int

    @classmethod
    def of(cls, values: Array, y: Array, weight: Array | None, C: int) -> Self:
        """Return the rows of a block that have positive weight."""
        kept = slice(None) if weight is None or np.all(weight > 0.0) else np.flatnonzero(weight > 0.0)
        w = np.ones(len(y)) if weight is None else weight
        return cls(np.array(values[kept], dtype=np.float64), y[kept], w[kept], C)

    def __add__(self, other: Self) -> Self:
        pairs = ((self.values, other.values), (self.y, other.y), (self.weight, other.weight))
        values, y, weight = (np.concatenate(pair) for pair in pairs)
        return type(self)(values, y, weight, self.classes)

    def column(self, j: int, c: int | None = None) -> tuple[Array, Array]:
        """Return the observed values of a column, in a class or in all, and their weights."""
        x = self.values[:, j]
        kept = ~np.isnan(x) if c is None else ~np.isnan(x) & (self.y == c)
        return x[kept], self.weight[kept]


class KeptRowsFactor(Factor):
    """A family that keeps the rows of its columns."""

    keeps_rows = True
    layout = Layout(ClassRows, arrays=["values", "y", "weight"])

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassRows:
        """Return the rows."""
        return ClassRows.of(numbers_of(rows, columns), y, weight, C)


def fit_per_class(statistics: ClassRows, fields: tuple[Field, ...], fit: Callable[..., Any]) -> DensityPerClass:
    """Return the densities fit(x, w, everywhere) of each class and column, one per thread.

    x and w are the observed values and weights of the class, perhaps none; `everywhere` has those of all classes.
    """
    check_values(statistics, fields, np.isinf, "infinity")
    everywhere = [statistics.column(j) for j in range(len(fields))]
    for field, (x, _) in zip(fields, everywhere, strict=True):
        if not len(x):
            raise no_values_error(field.name)
    pairs = [(j, c) for j in range(len(fields)) for c in range(statistics.classes)]
    with single_threaded_map(thread_count()) as each:
        found = list(each(lambda pair: fit(*statistics.column(*pair), everywhere[pair[0]]), pairs))
    C = statistics.classes
    return DensityPerClass(tuple(tuple(found[j * C : (j + 1) * C]) for j in range(len(fields))))


def check_values(statistics: ClassRows, fields: tuple[Field, ...], test: Callable[[Array], Array], what: str) -> None:
    """Raise where `test` finds values of a column that the family does not take, which `what` describes."""
    bad = np.flatnonzero(test(statistics.values).any(axis=0))
    if bad.size:
        raise infinity_error(fields[bad[0]].name, what)


def weighted_moments(x: Array, w: Array) -> tuple[float, float]:
    """Return the mean and the variance of x (n,) with weights (n,)."""
    mean = np.average(x, weights=w)
    return float(mean), float(np.average((x - mean) ** 2, weights=w))
