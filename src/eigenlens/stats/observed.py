"""Moments of the entries that are there: columns with missing values, each counted on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, to_numpy, working_dtype
from eigenlens.data.source import Block
from eigenlens.native.class_sums import class_sums

__all__ = ["ObservedColumns", "as_floats", "observed_entries"]


@dataclass(frozen=True, eq=False)
class ObservedColumns:
    """Weight, mean and squared deviations of the observed entries of each column; halves merge to the whole.

    Attributes:
        missing: (d,) number of missing entries, in rows that have a weight.
        weight: (d,) Σ w over the observed entries.
        mean: (d,) their means. square: (d,) Σ w (x − mean)².

    >>> part = ObservedColumns.of(Block(np.array([[1.0, np.nan], [3.0, 5.0]])))
    >>> part.missing, part.mean
    (array([0, 1]), array([2., 5.]))
    """

    missing: Array
    weight: Array
    mean: Array
    square: Array

    @classmethod
    def of(cls, block: Block) -> Self:
        """The moments of one block (b, d); NaN is missing."""
        X, w = as_floats(block.rows), block.weight
        one, zero = np.zeros(len(X), dtype=np.int32), np.zeros((1, X.shape[1]))
        weight, total, _ = class_sums(X, one, w, zero)
        share = 1.0 / np.where(weight > 0.0, weight, 1.0)
        mean = total * share
        _, left, square = class_sums(X, one, w, mean)  # a second look: a column of one value has no variance at all
        mean, square = mean + left * share, np.maximum(square - left * left * share, 0.0)[0]
        if w is None:
            return cls(len(X) - weight[0].astype(np.intp), weight[0], mean[0], square)
        counts = (w > 0.0).astype(np.float64)  # what a row of weight 0 holds, infinities too, says nothing
        there = class_sums(X, one, counts, zero)[0][0]
        return cls((counts.sum() - there).astype(np.intp), weight[0], mean[0], square)

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0.0, weight, 1.0)
        delta = other.mean - self.mean
        square = self.square + other.square + delta * delta * self.weight * share
        return type(self)(self.missing + other.missing, weight, self.mean + delta * share, square)


def as_floats(rows: Any) -> Array:
    """Rows of any kind as a dense array of float32 or float64; a copy only where one is needed."""
    X = dense(rows) if is_sparse(rows) else to_numpy(rows)
    return np.asarray(X, dtype=working_dtype(X.dtype))


def observed_entries(X: Array) -> tuple[Array, Array]:
    """The rows (b, d) as float64 with 0 for missing entries, and which entries are observed.

    >>> observed_entries(np.array([[1.0, np.nan]]))
    (array([[1., 0.]]), array([[ True, False]]))
    """
    X = np.array(X, dtype=np.float64)
    seen = ~np.isnan(X)
    X[~seen] = 0.0
    return X, seen
