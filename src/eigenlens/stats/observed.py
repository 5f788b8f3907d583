"""Moments of the entries that are there: columns with missing values, each counted on its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block

__all__ = ["ObservedColumns", "dense_observed"]


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
        X, seen = dense_observed(block)
        w = np.ones(len(X)) if block.weight is None else block.weight
        if not np.all(w > 0.0):  # what such a row holds, infinities too, says nothing
            X, seen, w = X[w > 0.0], seen[w > 0.0], w[w > 0.0]
        weight = w @ seen
        mean = w @ X / np.where(weight > 0.0, weight, 1.0)
        deviation = np.where(seen, X - mean, 0.0)
        return cls(len(X) - seen.sum(axis=0), weight, mean, w @ (deviation * deviation))

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        share = other.weight / np.where(weight > 0.0, weight, 1.0)
        delta = other.mean - self.mean
        square = self.square + other.square + delta * delta * self.weight * share
        return type(self)(self.missing + other.missing, weight, self.mean + delta * share, square)


def dense_observed(block: Block) -> tuple[Array, Array]:
    """The rows (b, d) as float64 with 0 for missing entries, and which entries are observed."""
    X = np.array(dense(block.rows))
    seen = ~np.isnan(X)
    X[~seen] = 0.0
    return X, seen
