"""Blocks of counts: each row of a class is a draw from its multinomial, a rule that is linear in the rows.

The sums of entries per class, dense or sparse, are those of `bernoulli` too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array, is_sparse, read_only
from eigenlens.bayes.naive.families.base import Conditional, Factor, LinearRule, NaiveOptions
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import FieldSums
from eigenlens.data.table import numbers_of
from eigenlens.densities.fitting import pseudo_counts
from eigenlens.densities.multinomial import Multinomial
from eigenlens.errors import DataError
from eigenlens.laws import SUM_TOLERANCE, Laws, Relations
from eigenlens.layout import Layout
from eigenlens.native.class_sums import class_sums

MAX_COUNT = 2.0**53
"""The largest mean of a count: larger ones are not whole numbers in double precision."""


@dataclass(frozen=True, eq=False)
class MultinomialColumns(Conditional):
    """A block of counts in which each row of class c is a multinomial draw: ln p(x | c) = Σ_j x_j ln θ_cj.

    The coefficient N! / Π x_j!, the same in every class, is left out. Where a count is missing, the row is judged given
    the total of its observed counts.

    Attributes:
        shares: θ (C, g), each line summing to one.
        trials: (C,) the mean total of a row, for draws.
        names: (g,) of the columns, for errors.
    """

    shares: Array
    trials: Array
    names: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        read_only(self, "shares", "trials")

    @cached_property
    def _logs(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.shares))

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Add Σ_j x_j ln θ_cj to joint (n, C), by a matrix product."""
        x, observed = observed_entries_of(rows, columns)
        check_counts(x, self.names)
        joint += log_product(x, self._logs)
        if observed is not None:
            joint -= x.sum(axis=1, keepdims=True) * _log_observed_share(observed @ self.shares.T)

    def terms(self, rows: Any, columns: Array) -> Array:
        """Return x_j ln θ_cj (n, g, C), 0 where a count is missing."""
        found = numbers_of(rows, columns)
        observed = ~np.isnan(found)
        x = np.where(observed, found, 0.0)[:, :, None]
        with np.errstate(invalid="ignore"):
            logs = self._logs.T - _log_observed_share(observed @ self.shares.T)[:, None, :]
            return np.where(x == 0.0, 0.0, x * logs)

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draw counts (n,) of each column; their total is the mean total of the class."""
        drawn = np.empty((len(labels), self.shares.shape[1]))
        for c in np.unique(labels):
            drawn[labels == c] = rng.multinomial(round(self.trials[c]), self.shares[c], size=int((labels == c).sum()))
        return list(drawn.T)

    def linear(self) -> LinearRule | None:
        """Return ln θ and 0; None where a share is 0."""
        return LinearRule(self._logs, np.zeros(len(self.shares))) if np.all(np.isfinite(self._logs)) else None

    def take(self, classes: Array) -> MultinomialColumns:
        """Return the shares of some classes."""
        return MultinomialColumns(self.shares[classes], self.trials[classes], self.names)

    def density(self, label: int, place: int) -> Multinomial:
        """Return the multinomial of the whole block in a class."""
        return Multinomial(self.shares[label])

    def log_probabilities(self) -> Array:
        """Return ln θ (C, g)."""
        return self._logs

    def n_parameters(self) -> int:
        """Return the number of shares, less one per class, since they sum to one."""
        return int(self.shares.size - len(self.shares))


def not_counts(values: Array) -> Array:
    """Return which values are not counts: below 0, infinite or NaN."""
    return np.asarray(~(values >= 0.0) | np.isinf(values))


def check_counts(x: Any, names: tuple[Any, ...]) -> None:
    """Raise for entries (n, g), perhaps sparse, that are not counts; `names` are those of the columns."""
    values = np.asarray(x.data if is_sparse(x) else x)
    invalid = not_counts(values)
    if invalid.any():
        columns = x.indices[invalid] if is_sparse(x) else np.nonzero(invalid)[1]
        name = names[columns[0]] if names else columns[0]
        raise DataError(
            f"column {name!r} holds {values[invalid][0]:g} (and there are {columns.size - 1} more such values), "
            "which is not a count, as in fit",
            columns=[str(name)],
            fix="replace it by NaN, a missing entry, or fit the column as 'categorical'",
        )


def observed_entries_of(rows: Any, columns: Array) -> tuple[Any, Array | None]:
    """Return columns of a block with 0 for missing entries, and 1.0 where an entry is observed; None if all are.

    Sparse rows stay sparse where nothing is missing.
    """
    if is_sparse(rows):
        part = rows if len(columns) == rows.shape[1] else rows[:, columns]
        if not np.isnan(part.data).any():
            return part, None
    x = numbers_of(rows, columns)
    return fill_missing(x) if np.isnan(x).any() else (x, None)


def fill_missing(x: Array) -> tuple[Array, Array]:
    """Return entries (n, g) with 0 for missing ones, and 1.0 where they are observed."""
    missing = np.isnan(x)
    return np.where(missing, 0.0, x), (~missing).astype(np.float64)


def log_product(x: Any, logs: Array) -> Array:
    """Return x (n, g) · logs (C, g), with 0 · −∞ = 0."""
    finite = np.where(np.isfinite(logs), logs, 0.0)
    found = np.asarray(x @ finite.T, dtype=np.float64)
    if not np.all(np.isfinite(logs)):
        found[np.asarray((x != 0) @ (~np.isfinite(logs)).T.astype(np.float64)) > 0.0] = -np.inf
    return found


def _log_observed_share(share: Array) -> Array:
    return np.asarray(np.log(np.where(share > 0.0, np.minimum(share, 1.0), 1.0)))


# ---- from rows to shares ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassTotals(FieldSums):
    """Sums of the observed entries of each column in each class; those of halves merge to those of the whole.

    Attributes:
        weight: (C, g) Σ w of the observed entries. total: (C, g) Σ w x. rows: (C,) Σ w of all rows.
        bad: (g,) the number of entries that the family does not take.
    """

    laws: ClassVar[Laws] = {
        "weight": "(C, g) not negative",
        "total": "(C, g) not negative",
        "rows": "(C) not negative",
        "bad": "(g) number, not negative",
    }

    relations: ClassVar[Relations] = {
        "'weight' is above 'rows'": lambda sums: sums.weight <= sums.rows[:, None] * (1.0 + SUM_TOLERANCE),
        "'total' is above what rows can count": lambda sums: sums.total <= MAX_COUNT * sums.rows[:, None],
    }

    weight: Array
    total: Array
    rows: Array
    bad: Array

    @classmethod
    def of(
        cls, rows: Any, columns: Array, y: Array, weight: Array | None, C: int, invalid: Callable[[Array], Array]
    ) -> Self:
        """Return the sums of columns of a block; `invalid` returns which entries the family does not take."""
        x, observed = observed_entries_of(rows, columns)
        w = np.ones(len(y)) if weight is None else weight
        per_class = np.bincount(y, w, minlength=C)
        bad = _count_invalid(invalid, x, weight)
        if is_sparse(x):
            members = sparse.csr_matrix((w, (y, np.arange(len(y)))), shape=(C, len(y)))
            total = np.asarray((members @ x).todense(), dtype=np.float64)
            return cls(np.repeat(per_class[:, None], x.shape[1], axis=1), total, per_class, bad)
        given = x if observed is None else np.where(observed > 0.0, x, np.nan)
        with np.errstate(invalid="ignore", over="ignore"):  # values that are not finite are reported by the estimate
            found, total, _ = class_sums(given, y, weight, np.zeros((C, x.shape[1])))
        return cls(found, total, per_class, bad)

    @classmethod
    def of_shared(cls, x: Any, observed: Array | None, shares: Array, invalid: Callable[[Array], Array]) -> Self:
        """Return the sums of entries (n, g) that classes share by weights (n, C); the others are as in `of`."""
        per_class = shares.sum(axis=0)
        with np.errstate(invalid="ignore", over="ignore"):
            total = np.asarray((x.T @ shares).T, dtype=np.float64)
        found = np.repeat(per_class[:, None], x.shape[1], axis=1) if observed is None else shares.T @ observed
        return cls(found, total, per_class, _count_invalid(invalid, x, shares.sum(axis=1)))

    def check(self, fields: tuple[Field, ...], takes: str, fix: str) -> None:
        """Raise for columns with entries that the family does not take."""
        bad = np.flatnonzero(self.bad)
        if bad.size:
            name, count = fields[bad[0]].name, int(self.bad[bad[0]])
            more = f" (and {bad.size - 1} more columns some)" * (bad.size > 1)
            what = f"column {name!r} holds {count} other value{'s' * (count > 1)}{more}, and {takes}"
            raise DataError(what, columns=[str(fields[j].name) for j in bad], fix=fix)


def _count_invalid(invalid: Callable[[Array], Array], x: Any, weight: Array | None) -> Array:
    """Return the number (g,) of invalid entries of rows of positive weight; of sparse rows, of the stored ones."""
    bad: Any = invalid(x.data if is_sparse(x) else x)
    if not bad.any():
        return np.zeros(x.shape[1], dtype=np.int64)
    if is_sparse(x):
        bad = sparse.csr_matrix((bad.astype(np.int64), x.indices, x.indptr), shape=x.shape)
    bad = bad if weight is None else bad[np.flatnonzero(weight > 0.0)]
    return np.asarray(bad.sum(axis=0)).ravel()


TOTALS_LAYOUT = Layout(ClassTotals, arrays=["weight", "total", "rows", "bad"])


@dataclass(frozen=True)
class MultinomialFactor(Factor):
    """The multinomial family: in each class a share for every column of the block.

    Attributes:
        smoothing: counts added to all columns, or to each (g,); None for the smoothing of the options.
    """

    takes_negative = False
    layout = TOTALS_LAYOUT
    smoothing: float | tuple[float, ...] | None = None

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassTotals:
        """Return the totals of each class."""
        return ClassTotals.of(rows, columns, y, weight, C, not_counts)

    def summarise_shared(
        self, rows: Any, columns: Array, shares: Array, model: MultinomialColumns | None = None
    ) -> ClassTotals:
        """Return the totals of classes that share the rows, with the expected counts of missing entries.

        Given the n counts of a row that are observed, in columns of joint share s_c, a class expects n θ_cj / s_c in a
        column j that is missing: draws go on until n have fallen into the observed columns.
        """
        x, observed = observed_entries_of(rows, columns)
        found = ClassTotals.of_shared(x, observed, shares, not_counts)
        if observed is None or model is None:
            return found
        joint_share = observed @ model.shares.T
        n = x.sum(axis=1, keepdims=True) * shares / np.where(joint_share > 0.0, joint_share, 1.0)
        return replace(found, total=found.total + model.shares * (n.T @ (1.0 - observed)))

    def estimate(self, statistics: ClassTotals, fields: tuple[Field, ...], options: NaiveOptions) -> MultinomialColumns:
        """Return θ_j = (n_j + a) / (Σ n_j + g a), a the smoothing; a class without counts has the shares of all."""
        statistics.check(fields, "'multinomial' is for counts (Negative values in data are none)", "use 'gaussian'")
        n = statistics.total + self._added(fields, options)
        total, overall = n.sum(axis=1, keepdims=True), n.sum(axis=0)
        overall = overall / overall.sum() if overall.any() else np.full(overall.size, 1.0 / overall.size)
        shares = np.where(total > 0.0, n / np.where(total > 0.0, total, 1.0), overall)
        trials = statistics.total.sum(axis=1) / np.where(statistics.rows > 0.0, statistics.rows, 1.0)
        return MultinomialColumns(shares, trials, tuple(field.name for field in fields))

    def _added(self, fields: tuple[Field, ...], options: NaiveOptions) -> Array:
        """Return the counts (g,) added to the columns."""
        if self.smoothing is not None:
            return pseudo_counts(self.smoothing, len(fields))
        return np.array([options.smoothing_of(field.name, (0,))[0] for field in fields])
