"""The protocol of a naive Bayes family: labelled rows to statistics that merge, and these to densities per class.

A family of columns is a `Factor`, and its densities are a `Conditional`. To add one, write a module of the two beside
this one and add an entry to `FACTORS` in `eigenlens.bayes.naive.families`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import Field
from eigenlens.errors import DataError, join_limited
from eigenlens.layout import Layout, pack, unpack

# ---- options ------------------------------------------------------------------------------------------------------


def _smooth(n: Array, added: Array) -> Array:
    """Return the probability of one more category without rows: a / (n + Σ a + a), a the mean smoothing."""
    a = float(added.mean()) if added.size else 1.0
    total = n + added.sum() + a
    return np.asarray(np.divide(a, total, out=np.zeros_like(total), where=total > 0.0))


UNKNOWN_RULES: dict[str, Callable[[Array, Array], Array]] = {
    "smooth": _smooth,
    "ignore": lambda n, added: np.ones(len(n)),
    "error": lambda n, added: np.full(len(n), np.nan),
}
"""The factor (C,) of an unknown category in each class, from the rows (C,) of each class and the smoothing (L,)."""


@dataclass(frozen=True, eq=False)
class NaiveOptions:
    """The options of all families.

    Attributes:
        smoothing: rows added to each category; or, by column name, a number or {category: number}.
        unknown: the rule for a category that did not occur in fit, a name in `UNKNOWN_RULES`.
        floor: the smallest variance in a class, as a share of the column's variance over all rows.
        added_variance: added to every variance, or by column name.
        bandwidth: the rule of kernel densities, a name or a function, or a number. kernel: their kernel.
        max_components: the largest number of Gaussians of a mixture; BIC chooses.
    """

    smoothing: float | Mapping[Any, Any] = 1.0
    unknown: str = "smooth"
    floor: float = 1e-9
    added_variance: float | Mapping[Any, float] = 0.0
    bandwidth: Any = "john-langley"
    kernel: Any = "gaussian"
    max_components: int = 4

    def smoothing_of(self, name: Any, categories: tuple[Any, ...]) -> Array:
        """Return the rows (L,) added to each category of a column."""
        given = self.smoothing.get(name, 1.0) if isinstance(self.smoothing, Mapping) else self.smoothing
        if isinstance(given, Mapping):
            return np.array([float(given.get(category, 0.0)) for category in categories])
        return np.full(len(categories), float(given))

    def unknown_of(self, n: Array, added: Array) -> Array:
        """Return the factor (C,) of an unknown category, by the rows (C,) and the smoothing (L,) of the known ones."""
        return UNKNOWN_RULES[self.unknown](n, added)

    def added_to(self, fields: tuple[Field, ...]) -> Array:
        """Return the numbers (g,) added to the variances of columns."""
        given = self.added_variance
        if isinstance(given, Mapping):
            return np.array([float(given.get(column.name, 0.0)) for column in fields])
        return np.full(len(fields), float(given))


# ---- densities of columns -----------------------------------------------------------------------------------------


class LinearRule(NamedTuple):
    """ln p(x | c), up to terms that all classes share, as coef (C, g) · x + intercept (C,)."""

    coef: Array
    intercept: Array


class Conditional(ABC):
    """The densities of g columns in each of C classes, for blocks of rows of any kind that `data.table` reads."""

    @abstractmethod
    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Add Σ_j ln p(x_ij | c) over the observed entries to joint (n, C); the columns (g,) are given by number."""

    @abstractmethod
    def terms(self, rows: Any, columns: Array) -> Array:
        """Return ln p(x_ij | c) (n, g, C), 0 where an entry is missing."""

    @abstractmethod
    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw a value (n,) of each of the g columns for rows whose classes are labels (n,)."""

    @abstractmethod
    def density(self, label: int, place: int) -> Any:
        """Return the density of a column, by its position in the group, in a class."""

    def take(self, classes: Array) -> Conditional:
        """Return the densities of some classes, by number and in this order."""
        raise NotImplementedError

    def linear(self) -> LinearRule | None:
        """Return the rule as a linear one, or None where it is not linear, or not known to be."""
        return None

    def category_probabilities(self, place: int) -> Array | None:
        """Return P(x_j = category | c) (C, L) of a column, by its position in the group; None where it has none."""
        return None

    def categories_of(self, place: int) -> tuple[Any, ...]:
        """Return the categories of a column, by its position in the group; () where it holds numbers."""
        return ()

    def log_probabilities(self) -> Array | None:
        """Return what a one in each column adds to the score of each class (C, g); None where a table has it."""
        return None

    def n_parameters(self) -> int:
        """Return the number of free parameters of all columns and classes, which AIC and BIC need."""
        raise NotImplementedError


class Factor(ABC):
    """A family of columns: how it is fitted, stored and warned about.

    Attributes:
        takes_text: whether columns of text may have this family.
        takes_negative: whether entries may be negative; counts are not.
        has_density: whether the logarithms that it adds are those of a density; "complement" has scores instead.
        keeps_rows: whether the statistics are the rows themselves, so that rows of files and Dask arrays do not fit.
        layout: the statistics in a model file.
    """

    takes_text = False
    takes_negative = True
    has_density = True
    keeps_rows = False
    layout: Layout

    @abstractmethod
    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> Any:
        """Return statistics, which merge with `+`, of columns (g,) of a block whose rows have the classes y (b,)."""

    def summarise_shared(self, rows: Any, columns: Array, shares: Array, model: Any = None) -> Any:
        """Return statistics of columns (g,) of a block of which class c has the weights shares[:, c] (b, C).

        They are those of `summarise` with b C weighted rows. `model` has the densities by which the rows were shared
        out, where there are any: a family whose missing entries are not just left out needs them.
        """
        b, C = shares.shape
        labels = (np.full(b, c, dtype=np.int32) for c in range(C))
        weights = map(np.ascontiguousarray, shares.T)
        return reduce(add, (self.summarise(rows, columns, y, w, C) for y, w in zip(labels, weights, strict=True)))

    @abstractmethod
    def estimate(self, statistics: Any, fields: tuple[Field, ...], options: NaiveOptions) -> Conditional:
        """Return the densities of the g columns in each class."""

    def pack(self, statistics: Any, conditional: Any) -> tuple[dict[str, Array], Any]:
        """Return arrays, and a value for the header of a file, that hold all of the statistics and densities.

        By default these are the statistics alone, from which the densities follow.
        """
        return pack(statistics, self.layout)[0], None

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions, C: int
    ) -> tuple[Any, Conditional]:
        """Return the statistics and the densities in C classes that `pack` stored."""
        statistics = unpack(self.layout, arrays, {}, {"C": C, "g": len(fields), "K": C, "d": len(fields)})
        return statistics, self.estimate(statistics, fields, options)

    def category_counts(self, statistics: Any, conditional: Any, place: int) -> Array | None:
        """Return Σ w (C, L) of each category of a column, by its position in the group; None where it has none."""
        return None

    def for_text(self) -> Factor | None:
        """Return the factor for a column of text, or None where the family needs numbers."""
        return self if self.takes_text else None

    def fit_warnings(
        self, statistics: Any, fields: tuple[Field, ...], chosen: Sequence[str], options: NaiveOptions, classes: Array
    ) -> Iterator[str]:
        """Yield a warning for each column whose fit deserves a second look; `chosen` has the reason of each family."""
        return iter(())

    def check_more(self, statistics: Any, fields: tuple[Field, ...], chosen: Sequence[str]) -> None:  # noqa: B027
        """Raise where rows of a later `partial_fit` contradict the family that was chosen by the first ones."""


# ---- errors -------------------------------------------------------------------------------------------------------


def unknown_category_error(name: Any, unknown: Sequence[Any]) -> DataError:
    """Return the error for values of a column that did not occur in fit; infinity is not a category."""
    if contains_infinity(unknown):
        return infinity_error(name)
    shown = join_limited([repr(category) for category in unknown])
    return DataError(
        f"column {name!r} holds {shown}, not met in fit, and unknown='error'",
        columns=[str(name)],
        fix="unknown='smooth' or 'ignore' takes such rows",
    )


def infinity_error(name: Any, what: str = "infinity") -> DataError:
    """Return the error for a column with infinite values."""
    return DataError(
        f"contains {what} in column {name!r}",
        argument="X",
        columns=[str(name)],
        fix="replace it by NaN, which is a missing entry",
    )


def no_values_error(name: Any) -> DataError:
    """Return the error for a column in which every entry is missing."""
    return DataError(
        f"column {name!r} has no entry at all, so it has no density", columns=[str(name)], fix="leave it out"
    )


def contains_infinity(categories: Sequence[Any]) -> bool:
    """Return whether infinity is among categories."""
    return any(isinstance(category, float) and np.isinf(category) for category in categories)
