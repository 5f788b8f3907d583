"""Centred, weighted, mergeable moments: what one pass over the rows leaves behind.

A row of weight w counts as w copies of it. Nothing here ever computes XᵀX − n m mᵀ: at a mean of 1e6 that
loses every digit. Rows are shifted by a provisional mean first, and merged by Chan's formula (Chan, Golub
and LeVeque 1979, eq. 2.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Self

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array, namespace, to_numpy
from eigenlens.data.source import Block
from eigenlens.native import moments_about

__all__ = ["ColumnMoments", "Moments", "size"]

SHORT, LONG = 4096, 1 << 16
TOO_FAR = {np.dtype(np.float64): 1e4, np.dtype(np.float32): 1.0}
"""A squared distance of the shift from the mean above this many variances costs too many digits."""

NEARLY_STILL = 1e-10
"""Of its mean, a deviation that may be the rounding of that mean alone."""

OUTER_ROWS = 64
SAMPLE = 128
"""Rows whose mean serves as the provisional mean of a block."""


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Weight, mean and sum of squared deviations of each column.

    Attributes:
        rows: number of rows with a positive weight.
        weight: Σ w_i, the number of rows that the weights stand for.
        mean: (d,) weighted means.
        square: (d,) Σ w_i (x_ij − m_j)².

    >>> a, b = (ColumnMoments.of(Block(np.array(x))) for x in ([[1.0], [2.0]], [[6.0]]))
    >>> (a + b).mean, (a + b).variance()
    (array([3.]), array([7.]))
    """

    rows: int
    weight: float
    mean: Array
    square: Array

    @classmethod
    def of(cls, block: Block) -> Self:
        """The moments of one block of rows (b, d). Cost b d."""
        rows, weight = size(block)
        if weight == 0.0:
            return cls(0, 0.0, np.zeros(block.rows.shape[1]), np.zeros(block.rows.shape[1]))
        return cls(rows, weight, *_columns(block.rows, block.weight, weight))

    def __add__(self, other: Self) -> Self:
        weight, mean, delta = _merge_means(self, other)
        factor = self.weight * other.weight / weight if weight else 0.0
        square = self.square + other.square + factor * delta * delta
        return type(self)(self.rows + other.rows, weight, mean, square)

    def variance(self, ddof: float = 1.0) -> Array:
        """Column variances (d,), the squares over Σw − ddof."""
        return self.square / (self.weight - ddof)


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and scatter of rows; halves merge to the whole.

        weight = Σ w_i,   mean = Σ w_i x_i / weight,   scatter = Σ w_i (x_i − mean)(x_i − mean)ᵀ

    Attributes:
        rows: number of rows with a positive weight.
        weight: the sum of the weights.
        mean: (d,).
        scatter: (d, d), symmetric.

    >>> X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]])
    >>> whole, halves = Moments.of(Block(X)), Moments.of(Block(X[:1])) + Moments.of(Block(X[1:]))
    >>> np.allclose(whole.scatter, halves.scatter), whole.mean
    (True, array([3., 4.]))
    >>> whole.covariance()
    array([[ 4.,  6.], [ 6., 12.]])
    """

    rows: int
    weight: float
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, block: Block) -> Self:
        """The moments of one block of rows (b, d). Cost b d² flops."""
        d = block.rows.shape[1]
        rows, weight = size(block)
        if weight == 0.0:
            return cls(0, 0.0, np.zeros(d), np.zeros((d, d)))
        return cls(rows, weight, *_mean_and_scatter(block.rows, block.weight, weight))

    @classmethod
    def about(cls, shift: Array, total: Array, scatter: Array, rows: int, weight: float) -> Self:
        """From the sum (d,) and scatter (d, d) about a shift."""
        return cls(rows, weight, *_about_mean(shift, total, scatter, weight))

    def __add__(self, other: Self) -> Self:
        weight, mean, delta = _merge_means(self, other)
        scatter = self.scatter + other.scatter
        if self.weight and other.weight:
            scatter = _plus_outer(scatter, self.weight * other.weight / weight, delta)
        return type(self)(self.rows + other.rows, weight, mean, scatter)

    def covariance(self, ddof: float = 1.0) -> Array:
        """Covariance matrix (d, d): the scatter over Σw − ddof."""
        return self.scatter / (self.weight - ddof)

    @property
    def columns(self) -> ColumnMoments:
        """The part that concerns single columns."""
        return ColumnMoments(self.rows, self.weight, self.mean, self.scatter.diagonal().copy())


def size(block: Block) -> tuple[int, float]:
    """The number of rows that count, and their total weight."""
    if block.weight is None:
        return block.rows.shape[0], float(block.rows.shape[0])
    return int(np.count_nonzero(block.weight)), float(np.sum(block.weight))


def _merge_means(a: Any, b: Any) -> tuple[float, Array, Array]:
    weight = a.weight + b.weight
    delta = b.mean - a.mean
    return weight, a.mean + delta * (b.weight / weight if weight else 0.0), delta


def _sampled(n: int, weight: Array | None) -> tuple[Array, Array]:
    """Some rows that count, spread over all of them, and their weights."""
    counting = np.arange(n) if weight is None else np.flatnonzero(weight)
    chosen = counting[:: max(1, len(counting) // SAMPLE)]
    return chosen, np.ones(len(chosen)) if weight is None else weight[chosen]


def _provisional(rows: Array, weight: Array | None) -> Array:
    """A centre near the rows that count, exact in their dtype.

    Columns within a third of a deviation of zero are left where they are: that costs a sixth of a bit, and where all
    are, BLAS can read the rows as they lie.
    """
    chosen, w = _sampled(len(rows), weight)
    some = rows[chosen].astype(np.float64)
    mean = np.average(some, axis=0, weights=w)
    if np.all(9.0 * mean**2 < np.average((some - mean) ** 2, axis=0, weights=w)):
        return np.zeros(rows.shape[1])
    return mean.astype(rows.dtype).astype(np.float64)


def _centred_moments(
    about: Callable[[Array], tuple[Array, Array]], shift: Array, n: float, dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """Mean and scatter from sums about a shift; about a better one if the first was so far off that digits went."""
    total, scatter = about(shift)
    delta = total / n
    lost = n * delta**2
    if np.any(lost > TOO_FAR[dtype] * np.maximum(scatter.diagonal() - lost, 0.0)):
        shift = (shift + delta).astype(dtype).astype(np.float64)
        total, scatter = about(shift)
    return _about_mean(shift, total, scatter, n)


def _about_mean(shift: Array, total: Array, scatter: Array, weight: float) -> tuple[Array, Array]:
    """From sums about a shift to mean and scatter about the mean: S − (Σw) δδᵀ with δ = total / Σw."""
    delta = total / weight
    centred = _plus_outer(scatter, -weight, delta)
    np.fill_diagonal(centred, np.maximum(centred.diagonal(), 0.0))  # rounding may leave a constant column below zero
    return shift + delta, centred


def _plus_outer(A: Array, factor: float, v: Array) -> Array:
    """A + factor v vᵀ, in place, a few rows at a time; not by BLAS, whose threads would spin on beside what follows."""
    for start in range(0, len(v), OUTER_ROWS):
        part = slice(start, start + OUTER_ROWS)
        A[part] += (factor * v[part])[:, None] * v
    return A


@singledispatch
def _mean_and_scatter(rows: Any, weight: Array | None, n: float) -> tuple[Array, Array]:
    """Mean (d,) and scatter (d, d); this one for tensors, on their device."""
    xp = namespace(rows)

    def about(shift: Array) -> tuple[Array, Array]:
        total, scatter = 0.0, 0.0
        for w, piece in _pieces(rows, weight, shift):
            total = total + xp.sum(w * piece, axis=0)
            factor = xp.astype(xp.sqrt(w) * piece, rows.dtype)
            scatter = scatter + xp.astype(xp.matmul(factor.T, factor), xp.float64)
        return to_numpy(total), to_numpy(scatter)

    dtype = np.dtype(np.float32 if rows.dtype == xp.float32 else np.float64)
    return _centred_moments(about, _near_tensor(rows, weight), n, dtype)


@_mean_and_scatter.register
def _(rows: np.ndarray, weight: Array | None, n: float) -> tuple[Array, Array]:
    return _centred_moments(lambda c: moments_about(rows, weight, c), _provisional(rows, weight), n, rows.dtype)


@_mean_and_scatter.register
def _(rows: sparse.csr_matrix, weight: Array | None, n: float) -> tuple[Array, Array]:
    """Columns that are mostly stored are centred densely; the rest cannot cancel.

    For a column of density p the mean squared is at most p / (1 − p) times the variance, so with
    p ≤ 1/2 the textbook formula loses at most one bit.
    """
    mean, _ = _columns(rows, weight, n)
    root = sparse.diags_array(np.ones(rows.shape[0]) if weight is None else np.sqrt(weight))
    each = np.ones(rows.shape[0]) if weight is None else weight
    stored = np.bincount(rows.indices, np.repeat(each, np.diff(rows.indptr)), minlength=rows.shape[1])
    full = np.flatnonzero(stored > 0.5 * n)
    scaled = (root @ rows.astype(np.float64)).tocsr()
    scatter = (scaled.T @ scaled).toarray() - n * np.outer(mean, mean)
    if full.size:
        dense = root @ (rows[:, full].toarray() - mean[full])
        cross = scaled.T @ dense - np.outer(mean, root.diagonal() @ dense)
        scatter[:, full], scatter[full, :] = cross, cross.T
        scatter[np.ix_(full, full)] = dense.T @ dense
    return mean, scatter


@singledispatch
def _columns(rows: Any, weight: Array | None, n: float) -> tuple[Array, Array]:
    """Means and sums of squared deviations (d,); this one for tensors, on their device."""
    xp, shift = namespace(rows), _near_tensor(rows, weight)
    total, square = 0.0, 0.0
    for w, piece in _pieces(rows, weight, shift):
        total, square = total + xp.sum(w * piece, axis=0), square + xp.sum(w * piece * piece, axis=0)
    mean = to_numpy(total) / n
    return shift + mean, np.maximum(to_numpy(square) - n * mean * mean, 0.0)


@_columns.register
def _(rows: np.ndarray, weight: Array | None, n: float) -> tuple[Array, Array]:
    shift = _provisional(rows, weight)
    total, square = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    step = max(1, (1 << 17) // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        panel = rows[start : start + step] - shift  # float64, a piece that stays in cache
        w = np.ones(len(panel)) if weight is None else weight[start : start + step]
        total += w @ panel
        panel *= panel
        square += w @ panel
    return shift + total / n, np.maximum(square - total * total / n, 0.0)


@_columns.register
def _(rows: sparse.csr_matrix, weight: Array | None, n: float) -> tuple[Array, Array]:
    """Stored entries about the mean, and (Σw − stored weight) times the mean squared for the zeros."""
    each = np.ones(rows.shape[0]) if weight is None else weight
    w = np.repeat(each, np.diff(rows.indptr))
    d = rows.shape[1]
    data = rows.data.astype(np.float64, copy=False)
    mean = np.bincount(rows.indices, w * data, minlength=d) / n
    whole = np.bincount(rows.indices, minlength=d) == rows.shape[0]  # no zeros, however the sums of weights are rounded
    zeros = np.where(whole, 0.0, np.maximum(n - np.bincount(rows.indices, w, minlength=d), 0.0))
    deviation = data - mean[rows.indices]
    square = np.bincount(rows.indices, w * deviation * deviation, minlength=d) + zeros * mean * mean
    still = whole & (square <= n * (NEARLY_STILL * mean) ** 2)
    if still.any():  # a second look: a column of one value has no variance at all
        left = np.bincount(rows.indices, w * deviation, minlength=d)
        mean, square = np.where(still, mean + left / n, mean), np.where(still, square - left * left / n, square)
    return mean, np.maximum(square, 0.0)


def _near_tensor(rows: Any, weight: Array | None) -> Array:
    """A centre near the rows of a tensor, exact in their dtype."""
    xp = namespace(rows)
    chosen, w = _sampled(rows.shape[0], weight)
    some = to_numpy(xp.take(rows, xp.asarray(chosen, device=rows.device), axis=0))
    return np.asarray(np.average(some.astype(np.float64), axis=0, weights=w), dtype=some.dtype).astype(np.float64)


def _pieces(rows: Any, weight: Array | None, shift: Array) -> Iterator[tuple[Any, Any]]:
    """Short runs of (weights (b, 1), rows − shift) of a tensor, in float64 on its device.

    float32 is multiplied in float32 over these runs, which are added in float64.
    """
    xp = namespace(rows)
    centre = xp.asarray(shift, dtype=xp.float64, device=rows.device)
    step = SHORT if rows.dtype == xp.float32 else LONG
    for start in range(0, rows.shape[0], step):
        part = xp.astype(rows[start : start + step, :], xp.float64) - centre
        w = np.ones(part.shape[0]) if weight is None else weight[start : start + step]
        yield xp.asarray(w[:, None], dtype=xp.float64, device=rows.device), part
