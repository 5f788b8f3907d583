"""Zeros and ones, and blocks of counts, of naive Bayes: totals within classes, in one pass, dense or sparse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array, is_sparse
from eigenlens.bayes.naive.families.bernoulli import BernoulliColumns, others
from eigenlens.bayes.naive.families.multinomial import MultinomialColumns, entries_of
from eigenlens.bayes.naive.model import Conditional
from eigenlens.bayes.naive.options import NaiveOptions
from eigenlens.data.column_kinds import Field
from eigenlens.errors import DataError
from eigenlens.native.class_sums import class_sums

__all__ = ["BernoulliFactor", "ClassTotals", "MultinomialFactor"]


@dataclass(frozen=True, eq=False)
class ClassTotals:
    """Sums of the entries that are there of each column in each class; halves merge to the whole.

    Attributes:
        weight: (C, g) Σ w of the entries that are there. total: (C, g) Σ w x. rows: (C,) Σ w of all rows.
        bad: (g,) how many entries are none that the family takes.
    """

    weight: Array
    total: Array
    rows: Array
    bad: Array

    @classmethod
    def of(cls, x: Any, seen: Array | None, odd: Any, y: Array, weight: Array | None, C: int) -> Self:
        """The sums of entries x (b, g), 0 where they are missing."""
        w = np.ones(len(y)) if weight is None else weight
        rows = np.bincount(y, w, minlength=C)
        counted = odd if weight is None or np.all(weight > 0.0) else odd[np.flatnonzero(weight > 0.0)]
        bad = np.asarray(counted.sum(axis=0)).ravel()
        if is_sparse(x):
            members = sparse.csr_matrix((w, (y, np.arange(len(y)))), shape=(C, len(y)))
            total = np.asarray((members @ x).todense(), dtype=np.float64)
            return cls(np.repeat(rows[:, None], x.shape[1], axis=1), total, rows, bad)
        given = x if seen is None else np.where(seen > 0.0, x, np.nan)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused by the estimate
            found, total, _ = class_sums(given, y, weight, np.zeros((C, x.shape[1])))
        return cls(found, total, rows, bad)

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.weight + other.weight, self.total + other.total, self.rows + other.rows, self.bad + other.bad
        )

    def packed(self) -> dict[str, Array]:
        """The sums by name."""
        return {"weight": self.weight, "total": self.total, "rows": self.rows, "bad": self.bad}


class TotalsFactor(ABC):
    """What families whose statistics are totals share."""

    takes_text = False
    keeps_rows = False

    @abstractmethod
    def estimate(self, statistics: ClassTotals, fields: tuple[Field, ...], options: NaiveOptions) -> Conditional:
        """The densities of the columns in each class."""

    def pack(self, statistics: ClassTotals, conditional: Conditional) -> tuple[dict[str, Array], Any]:
        """The totals."""
        return statistics.packed(), None

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions
    ) -> tuple[ClassTotals, Conditional]:
        """The totals, and what follows from them."""
        statistics = ClassTotals(**arrays)
        return statistics, self.estimate(statistics, fields, options)


@dataclass(frozen=True)
class BernoulliFactor(TotalsFactor):
    """Columns of zeros and ones, each class with a share of ones."""

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassTotals:
        """The ones of each class."""
        x, seen = entries_of(rows, columns)
        return ClassTotals.of(x, seen, _odd(x, others), y, weight, C)

    def estimate(self, statistics: ClassTotals, fields: tuple[Field, ...], options: NaiveOptions) -> BernoulliColumns:
        """p = (ones + a) / (n + 2 a), a the smoothing; a class without entries has the share of all rows."""
        _refuse(statistics, fields, "'bernoulli' is for 0 and 1 alone: use 'categorical' or 'gaussian'")
        added = np.array([options.smoothing_of(field.name, (0, 1)) for field in fields])
        ones, n = statistics.total + added[:, 1], statistics.weight + added.sum(axis=1)
        everywhere = n.sum(axis=0)
        overall = np.where(everywhere > 0.0, ones.sum(axis=0) / np.where(everywhere > 0.0, everywhere, 1.0), 0.5)
        shares = np.minimum(np.where(n > 0.0, ones / np.where(n > 0.0, n, 1.0), overall), 1.0)  # not more by rounding
        unknown = [options.unknown_of(n, a) for n, a in zip(statistics.weight.T, added, strict=True)]
        return BernoulliColumns(shares, np.stack(unknown, axis=1), tuple(field.name for field in fields))


@dataclass(frozen=True)
class MultinomialFactor(TotalsFactor):
    """A block of columns of counts, each class with a share for every column."""

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassTotals:
        """The totals of each class."""
        x, seen = entries_of(rows, columns)
        return ClassTotals.of(x, seen, _odd(x, lambda v: ~(v >= 0.0) | np.isinf(v)), y, weight, C)

    def estimate(self, statistics: ClassTotals, fields: tuple[Field, ...], options: NaiveOptions) -> MultinomialColumns:
        """θ_j = (n_j + a) / (Σ n_j + g a), a the smoothing; a class without counts has the shares of all rows."""
        _refuse(statistics, fields, "'multinomial' is for counts (Negative values in data are none): use 'gaussian'")
        added = np.array([options.smoothing_of(field.name, (0,))[0] for field in fields])
        n = statistics.total + added
        total, overall = n.sum(axis=1, keepdims=True), n.sum(axis=0)
        overall = overall / overall.sum() if overall.any() else np.full(overall.size, 1.0 / overall.size)
        shares = np.where(total > 0.0, n / np.where(total > 0.0, total, 1.0), overall)
        trials = statistics.total.sum(axis=1) / np.where(statistics.rows > 0.0, statistics.rows, 1.0)
        return MultinomialColumns(shares, trials, tuple(field.name for field in fields))


def _odd(x: Any, test: Any) -> Any:
    """Where entries are none that the family takes; of sparse rows, those that are stored."""
    if not is_sparse(x):
        return test(x)
    found = x.copy()
    found.data = test(x.data).astype(np.float64)
    return found


def _refuse(statistics: ClassTotals, fields: tuple[Field, ...], takes: str) -> None:
    bad = np.flatnonzero(statistics.bad)
    if bad.size:
        count, more = int(statistics.bad[bad[0]]), f" (and {bad.size - 1} more columns some)" * (bad.size > 1)
        raise DataError(
            f"column {fields[bad[0]].name!r} holds {count} other value{'s' * (count > 1)}{more}, and {takes}."
        )
