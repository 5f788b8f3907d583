"""Counts of the levels of a column, weighted and mergeable: strings, categoricals, integers, booleans as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from eigenlens.arrays import Array, dense, is_sparse
from eigenlens.data.categories import category_positions, encode, format_categories, merge_categories
from eigenlens.data.source import Block
from eigenlens.errors import DataError
from eigenlens.stats.moments import rows_and_weight

__all__ = ["CountTotals", "Counts", "log_factorials"]


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each level occurs; halves merge to the whole. A row of weight w counts w times.

    Attributes:
        levels: (K,) the levels: numbers, then strings, ascending; in the declared order where one is declared.
        weight: (K,) Σ w of the rows with each level. missing: Σ w of the rows without a value.
        declared: whether the levels were declared, so that some may have weight 0 and no other can come.

    >>> Counts.of(["b", "a", "b"]) + Counts.of(["c", None])
    Counts(levels=('a', 'b', 'c'), weight=array([1., 2., 1.]), missing=1.0, declared=False)
    """

    levels: tuple[Any, ...]
    weight: Array
    missing: float = 0.0
    declared: bool = False

    @classmethod
    def of(cls, values: Any, weight: Array | None = None) -> Self:
        """The counts of a column (n,) or (n, 1): an array, a list or a Series. None, NaN and null are missing."""
        codes, levels, declared = encode(values).in_order()
        found = np.bincount(codes + 1, weight, minlength=len(levels) + 1).astype(np.float64)
        missing, found = float(found[0]), found[1:]
        if weight is not None and not declared and not np.all(found > 0.0):  # a row of weight 0 is absent
            levels = tuple(level for level, w in zip(levels, found, strict=True) if w > 0.0)
            found = found[found > 0.0]
        return cls(levels, found, missing, declared)

    def __add__(self, other: Self) -> Self:
        missing = self.missing + other.missing
        if self.levels == other.levels:
            return type(self)(self.levels, self.weight + other.weight, missing, self.declared and other.declared)
        levels = merge_categories(self.levels, other.levels)
        return type(self)(levels, self._spread(levels) + other._spread(levels), missing)

    @property
    def total(self) -> float:
        """Σ w of the rows with a value."""
        return float(self.weight.sum())

    def within(self, levels: Sequence[Any]) -> Self:
        """The counts of these levels, in this order; a value that is none of them is an error."""
        known, different = tuple(levels), set(levels)
        if len(different) < len(known):
            raise DataError(f"levels={list(known)!r} names a level twice; name each once.")
        odd = [level for level, w in zip(self.levels, self.weight, strict=True) if w > 0.0 and level not in different]
        if odd:
            raise DataError(
                f"x holds {format_categories(odd)}, not among levels={format_categories(known)}; add it to levels, "
                "or leave those rows out."
            )
        return type(self)(known, self._spread(known), self.missing, declared=True)

    def _spread(self, levels: tuple[Any, ...]) -> Array:
        return np.append(self.weight, 0.0)[category_positions(self.levels, levels)]


@dataclass(frozen=True, eq=False)
class CountTotals:
    """Totals of rows of counts (n, d), each row a multinomial draw; halves merge to the whole.

    Attributes:
        weight: Σ w, the number of rows. total: (d,) Σ w x.
        coefficient: Σ w (ln N! − Σ_j ln x_j!), N the total of a row: what the likelihood has beside the parameters.

    >>> (CountTotals.of(Block(np.array([[2.0, 1.0]]))) + CountTotals.of(Block(np.array([[0.0, 4.0]])))).total
    array([2., 5.])
    """

    weight: float
    total: Array
    coefficient: float

    @classmethod
    def of(cls, block: Block) -> Self:
        """The totals of one block of rows (b, d), dense or sparse."""
        w = np.ones(block.rows.shape[0]) if block.weight is None else block.weight
        rows = block.rows.astype(np.float64) if is_sparse(block.rows) else dense(block.rows)
        totals = np.asarray(rows.sum(axis=1)).ravel()
        inner = gammaln(totals + 1.0) - log_factorials(rows)
        return cls(rows_and_weight(block)[1], np.asarray(rows.T @ w).ravel(), float(w @ inner))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.total + other.total, self.coefficient + other.coefficient)


def log_factorials(rows: Any) -> Array:
    """Σ_j ln x_j! (n,) of rows of counts, dense or sparse."""
    if not is_sparse(rows):
        return np.asarray(gammaln(rows + 1.0).sum(axis=1))
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.bincount(row, gammaln(rows.data + 1.0), minlength=rows.shape[0])
