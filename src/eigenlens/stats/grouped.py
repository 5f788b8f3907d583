"""Moments of several groups at once: rows shared out over K groups by weights, as responsibilities or classes do.

Group k counts row i as r_ik copies of it. As in `stats.moments`, everything is centred, and halves merge to the whole.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block, S
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["GroupedColumns", "GroupedMoments"]

PIECE = 1 << 20
"""Entries of rows that are worked on at a time."""


@dataclass(frozen=True, eq=False)
class GroupedMoments:
    """Weight, mean and scatter of each of K groups.

        weight_k = Σ_i r_ik,   mean_k = Σ_i r_ik x_i / weight_k,   scatter_k = Σ_i r_ik (x_i − mean_k)(x_i − mean_k)ᵀ

    Attributes:
        weight: (K,). A group of weight 0 has a scatter of 0.
        mean: (K, d).
        scatter: (K, d, d), symmetric.

    >>> X, R = np.array([[0.0], [2.0], [5.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> whole = GroupedMoments.of(Block(X), R)
    >>> halves = GroupedMoments.of(Block(X[:1]), R[:1]) + GroupedMoments.of(Block(X[1:]), R[1:])
    >>> whole.mean.ravel(), halves.mean.ravel(), halves.scatter.ravel()
    (array([1., 5.]), array([1., 5.]), array([2., 0.]))
    """

    weight: Array
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, block: Block, shares: Array) -> Self:
        """The moments of rows (b, d) of which group k has the shares (b, K). Cost b K d² flops."""
        return _summed(cls._piece, block, shares)

    @classmethod
    def _piece(cls, X: Array, R: Array) -> Self:
        weight, mean = _weight_and_mean(X, R)
        deviations = (X - m for m in mean)
        scatter = [(D * r[:, None]).T @ D for D, r in zip(deviations, R.T, strict=True)]
        return cls(weight, mean, np.stack(scatter))

    @classmethod
    def about(cls, centre: Array, weight: Array, total: Array, scatter: Array) -> Self:
        """From the sums (K, d) and scatters (K, d, d) about centres (K, d): S − weight δδᵀ with δ = total / weight."""
        delta = _over(total, weight)
        centred = scatter - _outer(weight, delta)
        diagonal = np.einsum("kii->ki", centred)
        np.maximum(diagonal, 0.0, out=diagonal)  # rounding may leave a constant column below zero
        return cls(weight, centre + delta, centred)

    def __add__(self, other: Self) -> Self:
        weight, mean, delta, factor = _merge(self, other)
        return type(self)(weight, mean, self.scatter + other.scatter + _outer(factor, delta))

    def group(self, k: int) -> Moments:
        """The moments of one group."""
        return Moments(int(np.ceil(self.weight[k])), float(self.weight[k]), self.mean[k], self.scatter[k])

    @property
    def pooled(self) -> Moments:
        """The moments of all rows, whatever their groups."""
        weight = float(self.weight.sum())
        mean = self.weight @ self.mean / weight
        between = _outer(self.weight, self.mean - mean).sum(axis=0)
        return Moments(int(np.ceil(weight)), weight, mean, self.scatter.sum(axis=0) + between)

    @property
    def columns(self) -> GroupedColumns:
        """The part that concerns single columns."""
        return GroupedColumns(self.weight, self.mean, np.einsum("kii->ki", self.scatter).copy())


@dataclass(frozen=True, eq=False)
class GroupedColumns:
    """Weight (K,), mean (K, d) and sum of squared deviations (K, d) of each column in each of K groups.

    >>> X, R = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> GroupedColumns.of(Block(X), R).square
    array([[2., 0.], [0., 0.]])
    """

    weight: Array
    mean: Array
    square: Array

    @classmethod
    def of(cls, block: Block, shares: Array) -> Self:
        """The moments of rows (b, d) of which group k has the shares (b, K). Cost b K d."""
        return _summed(cls._piece, block, shares)

    @classmethod
    def _piece(cls, X: Array, R: Array) -> Self:
        weight, mean = _weight_and_mean(X, R)
        return cls(weight, mean, np.stack([r @ (X - m) ** 2 for m, r in zip(mean, R.T, strict=True)]))

    @classmethod
    def about(cls, centre: Array, weight: Array, total: Array, square: Array) -> Self:
        """From the sums (K, d) and squares (K, d) about centres (K, d)."""
        delta = _over(total, weight)
        return cls(weight, centre + delta, np.maximum(square - weight[:, None] * delta * delta, 0.0))

    def __add__(self, other: Self) -> Self:
        weight, mean, delta, factor = _merge(self, other)
        return type(self)(weight, mean, self.square + other.square + factor[:, None] * delta * delta)

    @property
    def pooled(self) -> ColumnMoments:
        """The moments of all rows, whatever their groups."""
        weight = float(self.weight.sum())
        mean = self.weight @ self.mean / weight
        between = self.weight @ (self.mean - mean) ** 2
        return ColumnMoments(int(np.ceil(weight)), weight, mean, self.square.sum(axis=0) + between)


def _summed(piece: Callable[[Array, Array], S], block: Block, shares: Array) -> S:
    """Σ piece(rows, shares) over dense float64 pieces of a block; the block's weights multiply the shares."""
    step = max(1, PIECE // block.rows.shape[1])
    R = shares if block.weight is None else shares * block.weight[:, None]
    parts = (slice(start, start + step) for start in range(0, len(R), step))
    return reduce(operator.add, (piece(dense(block.rows[part]), R[part]) for part in parts))


def _weight_and_mean(X: Array, R: Array) -> tuple[Array, Array]:
    """Weights (K,) and means (K, d), taken about a row, so that a large offset costs no digits."""
    weight = R.sum(axis=0)
    return weight, X[0] + _over(R.T @ (X - X[0]), weight)


def _over(total: Array, weight: Array) -> Array:
    return np.asarray(total / np.where(weight > 0.0, weight, 1.0)[:, None])


def _outer(factor: Array, v: Array) -> Array:
    """factor_k v_k v_kᵀ (K, d, d), not by BLAS, whose threads would spin on beside what follows."""
    return np.asarray((factor[:, None] * v)[:, :, None] * v[:, None, :])


def _merge(a: Any, b: Any) -> tuple[Array, Array, Array, Array]:
    """Weight, mean, the difference of the means, and the factor of its square in the merged scatter (Chan)."""
    weight = a.weight + b.weight
    share = b.weight / np.where(weight > 0.0, weight, 1.0)
    delta = b.mean - a.mean
    return weight, a.mean + share[:, None] * delta, delta, a.weight * share
