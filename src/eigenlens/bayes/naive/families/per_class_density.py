"""Columns with any density of one dimension per class, and the families that keep rows to fit one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.base import Conditional, Factor, LinearRule, infinity_error, no_values_error
from eigenlens.bayes.naive.families.gaussian import GaussianColumns
from eigenlens.data.categories import EncodedColumn
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import MixedRows, numbers_of
from eigenlens.densities.base import Density
from eigenlens.densities.discrete import Bernoulli, Categorical
from eigenlens.densities.gaussian import Gaussian
from eigenlens.errors import OptionError
from eigenlens.laws import Laws, Relations
from eigenlens.layout import Layout
from eigenlens.resources import single_threaded_map, thread_count
from eigenlens.stats.counts import Counts


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
        values = self._values(rows, columns)
        missing = [missing_rows(part) for part in values]
        infinite = [part.dtype != object and np.isinf(part).any(axis=1) for part in values]
        pairs = [(j, c) for j in range(len(values)) for c in range(len(self.densities[j]))]

        def log_density(pair: tuple[int, int]) -> tuple[int, int, Array]:
            j, c = pair
            found = np.where(infinite[j], -np.inf, self.densities[j][c].log_density(values[j]))
            return j, c, np.where(missing[j], 0.0, found)  # whatever the density returns for missing values

        with single_threaded_map(thread_count()) as each:
            return list(each(log_density, pairs))

    def _values(self, rows: Any, columns: Array) -> list[Array]:
        """Return what each density is of: a column (n, 1)."""
        return [column_values(rows, int(column)) for column in columns]

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw a value (n,) of each column."""
        return [column for densities in self.densities for column in _draw(densities, labels, rng).T]

    def take(self, classes: Array) -> Self:
        """Return the densities of some classes."""
        return type(self)(tuple(tuple(part[c] for c in classes) for part in self.densities))

    def density(self, label: int, place: int) -> Density:
        """Return the density of a column in a class."""
        return self.densities[place][label]

    def gaussian_parameters(self) -> tuple[Array, Array]:
        """Return the means and variances (C, g), NaN for a column with another density in some class."""
        found = [[_mean_and_variance(density) for density in part] for part in self.densities]
        both = np.array([part if np.isfinite(part).all() else np.full_like(part, np.nan) for part in found])
        return both[:, :, 0].T, both[:, :, 1].T

    def linear(self) -> LinearRule | None:
        """Return the rule of Gaussians with the same variance in every class, such as a known one; else None."""
        means, variances = self.gaussian_parameters()
        return GaussianColumns(means, variances[:1]).linear() if np.all(variances == variances[:1]) else None

    def categories_of(self, place: int) -> tuple[Any, ...]:
        """Return the categories of a column in any class; () where a density has none."""
        found = [_shares(density) for density in self.densities[place]]
        if any(shares is None for shares in found):
            return ()
        return reduce(add, (Counts(tuple(shares), np.ones(len(shares))) for shares in found if shares)).categories

    def category_probabilities(self, place: int) -> Array | None:
        """Return P(x_j = category | c) (C, L) of a column; None where a density has no categories."""
        known = self.categories_of(place)
        shares = [_shares(density) or {} for density in self.densities[place]] if known else []
        return np.array([[each.get(category, 0.0) for category in known] for each in shares]) if known else None

    def n_parameters(self) -> int:
        """Return the sum over the densities: their attribute `n_parameters`, or the record of a fit, `fitted.free`."""
        return sum(_count_parameters(density) for column in self.densities for density in column)


def _count_parameters(density: Any) -> int:
    found = getattr(density, "n_parameters", getattr(getattr(density, "fitted", None), "free", None))
    if found is None:
        what = f"AIC and BIC need the attribute n_parameters of densities, which {type(density).__name__} has not"
        raise OptionError(what, fix="add it, or compare by the log-likelihood of held-out rows: cv=5")
    return int(found)


def _mean_and_variance(density: Any) -> tuple[float, float]:
    """Return those of a Gaussian of one column; NaN for any other density."""
    if not isinstance(density, Gaussian) or len(density.mean) != 1:
        return np.nan, np.nan
    return float(density.mean[0]), float(density.covariance.matrix()[0, 0])


def _shares(density: Any) -> dict[Any, float] | None:
    """Return the probability of each category of a density that has some."""
    density = density.categorical if isinstance(density, Bernoulli) else density
    if not isinstance(density, Categorical):
        return None
    return dict(zip(density.levels, density.probabilities.tolist(), strict=True))


class JointDensityPerClass(DensityPerClass):
    """p(x | c) of a block of columns that depend on each other within a class, by one density (C,) of all of them."""

    def terms(self, rows: Any, columns: Array) -> Array:
        """Return ln p(x_i | c) / g (n, g, C): a joint density has no terms of its own for its g columns."""
        joint = np.zeros((rows.shape[0], len(self.densities[0])))
        self.add_log(rows, columns, joint)
        return np.repeat(joint[:, None, :] / len(columns), len(columns), axis=1)

    def _values(self, rows: Any, columns: Array) -> list[Array]:
        return [block_values(rows, columns)]

    def density(self, label: int, place: int) -> Density:
        """Return the density of the whole block in a class."""
        return self.densities[0][label]

    def categories_of(self, place: int) -> tuple[Any, ...]:
        """Return (): the categories of a block are not those of its columns."""
        return ()

    def linear(self) -> None:
        """Return None: the rule of a block is not known to be linear."""


def _draw(densities: tuple[Density, ...], labels: Array, rng: np.random.Generator) -> Array:
    """Draw rows (n, g) of the classes labels (n,)."""
    parts = {int(c): densities[c].sample(int((labels == c).sum()), rng) for c in np.unique(labels)}
    rows = {c: part.reshape(len(part), -1) for c, part in parts.items()}
    width = next(iter(rows.values())).shape[1]
    drawn = np.empty((len(labels), width), dtype=np.result_type(*(part.dtype for part in rows.values())))
    for c, part in rows.items():
        drawn[labels == c] = part
    return drawn


def block_values(rows: Any, columns: Array) -> Array:
    """Return columns (n, g) of a block, as objects where one holds categories."""
    return np.concatenate([column_values(rows, int(j)) for j in columns], axis=1)


def column_values(rows: Any, column: int) -> Array:
    """Return a column (n, 1) of a block: float64 numbers, or its categories as objects, None where missing."""
    if isinstance(rows, MixedRows) and rows.places[column] < 0 and not rows.large(column):
        place = -1 - int(rows.places[column])
        return EncodedColumn(rows.codes[:, place], rows.categories[place]).values()[:, None]
    return numbers_of(rows, np.array([column])).astype(np.float64, copy=False)


def missing_rows(values: Array) -> Array:
    """Return where (n,) all entries of `column_values` or `block_values` are missing."""
    return np.asarray(missing_entries(values).all(axis=1))


def missing_entries(values: Array) -> Array:
    """Return where (n, g) the entries of `column_values` or `block_values` are missing."""
    if values.dtype == object:
        return np.array([[value is None or value != value for value in row] for row in values.tolist()], dtype=bool)
    return np.isnan(values)


# ---- families that keep rows --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Columns of labelled rows with positive weight; halves merge to the whole.

    Attributes:
        values: (n, g), NaN where missing. y: (n,) classes. weight: (n,). classes: C.
    """

    laws: ClassVar[Laws] = {
        "values": "(n, g) not infinite",
        "y": "(n) integer, below C",
        "weight": "(n) between 1e-300 and 1e300",
    }
    relations: ClassVar[Relations] = {
        "'values' has a column without any entry": lambda rows: (~np.isnan(rows.values)).any(axis=0)
    }

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
