"""Weighted counts that merge: of the categories of a column, and totals of rows of counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import gammaln

from eigenlens.arrays import Array, dense, is_sparse
from eigenlens.data.categories import category_positions, encode, format_categories, merge_categories
from eigenlens.data.source import Block, FieldSums
from eigenlens.errors import DataError
from eigenlens.stats.moments import rows_and_weight


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of the categories of a column; halves merge to the whole. A row of weight w counts w times.

    Attributes:
        categories: (K,) numbers, then strings, ascending; in the declared order where one is declared.
        weight: (K,) Σ w of the rows of each category. missing: Σ w of the rows with a missing value.
        declared: whether the categories were declared: some may then have weight 0, and there are no others.

    >>> Counts.of(["b", "a", "b"]) + Counts.of(["c", None])
    Counts(categories=('a', 'b', 'c'), weight=array([1., 2., 1.]), missing=1.0, declared=False)
    """

    categories: tuple[Any, ...]
    weight: Array
    missing: float = 0.0
    declared: bool = False

    @classmethod
    def of(cls, values: Any, weight: Array | None = None) -> Self:
        """Return the counts of a column (n,) or (n, 1), an array, list or Series; None, NaN and null are missing."""
        codes, categories, declared = encode(values).in_order()
        found = np.bincount(codes + 1, weight, minlength=len(categories) + 1).astype(np.float64)
        missing, found = float(found[0]), found[1:]
        if weight is not None and not declared and not np.all(found > 0.0):  # a row of weight 0 is absent
            categories = tuple(category for category, w in zip(categories, found, strict=True) if w > 0.0)
            found = found[found > 0.0]
        return cls(categories, found, missing, declared)

    def __add__(self, other: Self) -> Self:
        missing = self.missing + other.missing
        if self.categories == other.categories:
            return type(self)(self.categories, self.weight + other.weight, missing, self.declared and other.declared)
        categories = merge_categories(self.categories, other.categories)
        return type(self)(categories, self._weights_of(categories) + other._weights_of(categories), missing)

    @property
    def total(self) -> float:
        """The total weight of the rows that are not missing."""
        return float(self.weight.sum())

    def within(self, categories: Sequence[Any]) -> Self:
        """Return the counts of these categories, in this order; any other value is an error."""
        known, different = tuple(categories), set(categories)
        if len(different) < len(known):
            raise DataError("names a category twice", argument="levels", value=list(known), fix="name each once")
        pairs = zip(self.categories, self.weight, strict=True)
        odd = [category for category, w in pairs if w > 0.0 and category not in different]
        if odd:
            what = f"x holds {format_categories(odd)}, not among levels={format_categories(known)}"
            raise DataError(what, fix="add it to levels, or leave those rows out")
        return type(self)(known, self._weights_of(known), self.missing, declared=True)

    def _weights_of(self, categories: tuple[Any, ...]) -> Array:
        """Return the weights of some categories, 0 for those that do not occur."""
        return np.append(self.weight, 0.0)[category_positions(self.categories, categories)]


@dataclass(frozen=True, eq=False)
class CountTotals(FieldSums):
    """Totals of rows of counts (n, d), each row a multinomial draw; halves merge to the whole.

    Attributes:
        weight: Σ w, the number of rows. total: (d,) Σ w x.
        coefficient: Σ w (ln N! − Σ_j ln x_j!), N the total of a row: the part of the log-likelihood that does not
            depend on the parameters.

    >>> (CountTotals.of(Block(np.array([[2.0, 1.0]]))) + CountTotals.of(Block(np.array([[0.0, 4.0]])))).total
    array([2., 5.])
    """

    weight: float
    total: Array
    coefficient: float

    @classmethod
    def of(cls, block: Block) -> Self:
        """Return the totals of one block of rows (b, d), dense or sparse."""
        w = np.ones(block.rows.shape[0]) if block.weight is None else block.weight
        rows = block.rows.astype(np.float64) if is_sparse(block.rows) else dense(block.rows)
        totals = np.asarray(rows.sum(axis=1)).ravel()
        coefficients = gammaln(totals + 1.0) - log_factorials(rows)
        return cls(rows_and_weight(block)[1], np.asarray(rows.T @ w).ravel(), float(w @ coefficients))


def log_factorials(rows: Any) -> Array:
    """Return Σ_j ln x_j! (n,) of rows of counts, dense or sparse."""
    if not is_sparse(rows):
        return np.asarray(gammaln(rows + 1.0).sum(axis=1))
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.bincount(row, gammaln(rows.data + 1.0), minlength=rows.shape[0])
