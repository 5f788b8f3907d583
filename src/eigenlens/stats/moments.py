"""Centred, weighted moments that merge: the statistics that one pass over the rows leaves behind.

A row of weight w counts as w copies of it. `Moments` has the full scatter, `ColumnMoments` the squares of each column;
both may have leading axes, one entry per group (class, component, …), and `ColumnMoments` a weight per entry, for rows
with missing values. Halves merge to the whole by Chan's formula (Chan, Golub and LeVeque 1979, eq. 2.1).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from eigenlens.arrays import Array, as_floats, dense, slices
from eigenlens.data.source import Block, S
from eigenlens.gpu.class_sums import tensor_class_sums
from eigenlens.gpu.runtime import on_device
from eigenlens.laws import Laws, Relations
from eigenlens.native.class_sums import class_sums
from eigenlens.resources import one_thread
from eigenlens.stats.block_moments import add_exactly, add_outer, mean_and_scatter, mean_and_squares, move_to_mean

GROUPED_ENTRIES = 1 << 20
"""Entries of rows that are shared out over groups at a time; the deviations from each mean are as large."""

CENTRE_ROWS = 4096
"""First rows of a block, whose means in each class are the centres about which squares are summed."""

MAX_CENTRE_ERROR, MAX_CENTRE_ERROR_ON_DEVICE = 100.0, 1.0
"""A squared distance of a centre from the mean above this many variances costs 2 digits: sums are taken again. On a
device, where sums may be float32, there are none to spare."""


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Weight, mean and sum of squared deviations of each column, of all rows or of each group of rows.

        weight = Σ w_i,   mean_j = Σ w_i x_ij / weight,   square_j = Σ w_i (x_ij − mean_j)²

    Attributes:
        weight: a number, or (...) one per group; (..., d) where missing values are left out.
        mean: (..., d), finite also where the weight is 0.
        square: (..., d).
        rows: number of rows with positive weight; 0 where only the sums within groups are known.
        missing: (d,) number of missing values in these rows, or 0.
        rest: what the mean lost by rounding (..., d), or 0: without it, merging would lose digits about a large offset.

    >>> a, b = (ColumnMoments.of(Block(np.array(x))) for x in ([[1.0], [2.0]], [[6.0]]))
    >>> (a + b).mean, (a + b).variance()
    (array([3.]), array([7.]))
    """

    laws: ClassVar[Laws] = {
        "weight": "(K) not negative | (K, d) not negative",
        "mean": "(K, d) of a finite square",
        "square": "(K, d) not negative",
        "rest": "(K, d) finite",
    }
    relations: ClassVar[Relations] = {
        "'square' over 'weight' is not finite": lambda part: np.isfinite(
            part.square / _positive(part.weight, part.mean)
        )
    }

    weight: Any
    mean: Array
    square: Array
    rows: int = 0
    missing: Any = 0
    rest: Any = 0.0

    @classmethod
    def of(cls, block: Block) -> Self:
        """Return the moments of one block of rows (b, d). Cost b d."""
        rows, weight = rows_and_weight(block)
        if weight == 0.0:
            return cls(0.0, np.zeros(block.rows.shape[1]), np.zeros(block.rows.shape[1]))
        mean, square, rest = mean_and_squares(block.rows, block.weight, weight)
        return cls(weight, mean, square, rows, rest=rest)

    @classmethod
    def of_observed(cls, block: Block) -> Self:
        """Return the moments of the observed entries of one block (b, d), in which NaN is a missing value. Cost b d.

        >>> part = ColumnMoments.of_observed(Block(np.array([[1.0, np.nan], [3.0, 5.0]])))
        >>> part.missing, part.weight, part.mean
        (array([0, 1]), array([2., 1.]), array([2., 5.]))
        """
        X, rows = as_floats(block.rows), rows_and_weight(block)[0]
        one_class, zeros = np.zeros(len(X), dtype=np.int32), np.zeros((1, X.shape[1]))
        weight, total, _ = class_sums(X, one_class, block.weight, zeros)
        share = 1.0 / np.where(weight > 0.0, weight, 1.0)
        mean = total * share
        # A second pass about the mean corrects its rounding: a constant column must have no variance at all.
        _, left, square = class_sums(X, one_class, block.weight, mean)
        (mean, rest), square = add_exactly(mean, left * share), np.maximum(square - left * left * share, 0.0)
        observed = weight
        if block.weight is not None:
            observed = class_sums(X, one_class, (block.weight > 0.0).astype(np.float64), zeros)[0]
        return cls(weight[0], mean[0], square[0], rows, (rows - observed[0]).astype(np.intp), rest[0])

    @classmethod
    def of_groups(cls, block: Block, shares: Array) -> Self:
        """Return the moments of rows (b, d) that K groups share out by weights (b, K). Cost b K d.

        >>> X, R = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> ColumnMoments.of_groups(Block(X), R).square
        array([[2., 0.], [0., 0.]])
        """
        return _sum_pieces(cls._of_group_rows, block, shares)

    @classmethod
    def _of_group_rows(cls, X: Array, R: Array) -> Self:
        weight, near, delta = _group_means(X, R)
        mean, rest = add_exactly(X[0], delta)
        square = np.stack([r @ (near - m) ** 2 for m, r in zip(delta, R.T, strict=True)])
        return cls(weight, mean, square, rest=rest)

    @classmethod
    def of_classes(cls, rows: Any, y: Array, weight: Array | None, n_classes: int) -> Self:
        """Return the moments (C, d) of the observed entries of rows (b, d) in classes y (b,). Cost b d, by a kernel.

        >>> y = np.zeros(2, dtype=np.int32)
        >>> halves = [ColumnMoments.of_classes(np.array(X), y, None, 1) for X in ([[1.0], [3.0]], [[np.nan], [5.0]])]
        >>> halves[0] + halves[1]
        ColumnMoments(weight=array([[3.]]), mean=array([[3.]]), square=array([[8.]]), rows=0, missing=0,
            rest=array([[0.]]))
        """
        first, zeros = slice(0, CENTRE_ROWS), np.zeros((n_classes, rows.shape[1]))
        with np.errstate(all="ignore"):  # the mean shows what is not finite, and the caller explains it
            centre = cls._of_class_rows(zeros, rows[first, :], y[first], None if weight is None else weight[first]).mean
            found = cls._of_class_rows(np.where(np.isfinite(centre), centre, 0.0), rows, y, weight)
            moved = found.weight * (found.mean - centre) ** 2
            most = MAX_CENTRE_ERROR_ON_DEVICE if on_device(rows) else MAX_CENTRE_ERROR
            again = np.any(moved > most * found.square) and np.all(np.isfinite(found.mean))
        return cls._of_class_rows(found.mean, rows, y, weight) if again else found

    @classmethod
    def _of_class_rows(cls, centre: Array, rows: Any, y: Array, weight: Array | None) -> Self:
        sums = tensor_class_sums if on_device(rows) else class_sums
        return cls.about(centre, *sums(rows, y, weight, centre))

    @classmethod
    def of_shared(cls, rows: Array, shares: Array) -> Self:
        """Return the moments (K, d) of the observed entries of rows (b, d) that K groups share by weights (b, K).

        Squares are summed about a centre of all groups, by matrix products: a group whose standard deviation is 10⁻ᵐ of
        its distance from there loses 2 m digits. Cost b K d.

        >>> X, R = np.array([[0.0], [2.0], [np.nan]]), np.array([[0.5, 0.5], [1.0, 0.0], [1.0, 0.0]])
        >>> ColumnMoments.of_shared(X, R).mean.round(4)
        array([[1.3333], [0.    ]])
        """
        first = rows[:CENTRE_ROWS]
        with np.errstate(all="ignore"):  # the mean shows what is not finite, and the caller explains it
            centre = cls._of_class_rows(np.zeros((1, rows.shape[1])), first, np.zeros(len(first), np.int32), None).mean
            delta = rows - np.where(np.isfinite(centre), centre, 0.0)
            seen = ~np.isnan(delta)
            complete = bool(seen.all())
            delta = delta if complete else np.where(seen, delta, 0.0)
            weight = np.repeat(shares.sum(axis=0)[:, None], rows.shape[1], 1) if complete else shares.T @ seen
            return cls.about(centre, weight, shares.T @ delta, shares.T @ (delta * delta))

    @classmethod
    def about(cls, centre: Array, weight: Any, total: Array, square: Array) -> Self:
        """Return the moments from the sums and squares (..., d) about centres (..., d)."""
        w = _per_column(weight, total)
        delta = total / np.where(w > 0.0, w, 1.0)
        mean, rest = add_exactly(centre, delta)
        return cls(weight, mean, np.maximum(square - w * delta * delta, 0.0), rest=rest)

    def __add__(self, other: Self) -> Self:
        both = merge_means(self, other)
        square = self.square + other.square + both.factor * both.delta * both.delta
        rows, missing = self.rows + other.rows, self.missing + other.missing
        return type(self)(both.weight, both.mean, square, rows, missing, both.rest)

    @property
    def square_about_zero(self) -> Array:
        """(..., d) Σ w_i x_ij²: the squares about zero, square + weight · mean²."""
        return np.asarray(self.square + _per_column(self.weight, self.mean) * self.mean**2)

    def variance(self, ddof: float = 1.0) -> Array:
        """Return the variances (..., d): the squares over Σw − ddof."""
        return np.asarray(self.square / (_per_column(self.weight, self.mean) - ddof))

    @property
    def pooled(self) -> Self:
        """The moments of all rows, from those of the groups on the first axis."""
        w, mean, rest, apart = _pool_means(self)
        square = self.square.sum(axis=0) + np.sum(w * apart**2, axis=0)
        return type(self)(self.weight.sum(axis=0), mean, square, rest=rest)

    def scaled(self, factor: float) -> Self:
        """Return the moments of rows whose weights are multiplied by a factor."""
        return replace(self, weight=self.weight * factor, square=self.square * factor)

    def with_variance(self, v: float) -> Self:
        """Return the moments of the rows spread by independent noise of variance v in every column."""
        return replace(self, square=self.square + v * np.asarray(self.weight)[..., None])

    def regroup(self, change: Callable[[Array], Array]) -> Self:
        """Return the moments with the groups chosen or arranged by `change`, which acts on leading axes only."""
        weight, mean, square, rest = map(change, (self.weight, self.mean, self.square, full_rest(self)))
        return replace(self, weight=weight, mean=mean, square=square, rest=rest)

    def subset(self, columns: Array) -> Self:
        """Return the moments of some of the columns."""
        weight = self.weight[..., columns] if np.ndim(self.weight) == self.mean.ndim else self.weight
        missing = self.missing[columns] if np.ndim(self.missing) else self.missing
        mean, square, rest = (part[..., columns] for part in (self.mean, self.square, full_rest(self)))
        return replace(self, weight=weight, mean=mean, square=square, missing=missing, rest=rest)


@dataclass(frozen=True, eq=False)
class Moments:
    """Weight, mean and scatter of rows, of all or of each group; halves merge to the whole.

        weight = Σ w_i,   mean = Σ w_i x_i / weight,   scatter = Σ w_i (x_i − mean)(x_i − mean)ᵀ

    Attributes:
        weight: a number, or (...) one per group. A group of weight 0 has a scatter of 0.
        mean: (..., d).
        scatter: (..., d, d), symmetric.
        rows: number of rows with positive weight; 0 where only the sums within groups are known.
        rest: what the mean lost by rounding (..., d), or 0: without it, merging would lose digits about a large offset.

    >>> X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 8.0]])
    >>> whole, halves = Moments.of(Block(X)), Moments.of(Block(X[:1])) + Moments.of(Block(X[1:]))
    >>> np.allclose(whole.scatter, halves.scatter), whole.mean
    (True, array([3., 4.]))
    >>> whole.covariance()
    array([[ 4.,  6.], [ 6., 12.]])
    """

    laws: ClassVar[Laws] = {
        "weight": "(K) not negative",
        "mean": "(K, d) of a finite square",
        "scatter": "(K, d, d) covariance",
        "rest": "(K, d) finite",
    }

    weight: Any
    mean: Array
    scatter: Array
    rows: int = 0
    rest: Any = 0.0

    @classmethod
    def of(cls, block: Block) -> Self:
        """Return the moments of one block of rows (b, d). Cost b d² flops."""
        d = block.rows.shape[1]
        rows, weight = rows_and_weight(block)
        if weight == 0.0:
            return cls(0.0, np.zeros(d), np.zeros((d, d)))
        mean, scatter, rest = mean_and_scatter(block.rows, block.weight, weight)
        return cls(weight, mean, scatter, rows, rest)

    @classmethod
    def of_groups(cls, block: Block, shares: Array) -> Self:
        """Return the moments of rows (b, d) that K groups share out by weights (b, K). Cost b K d² flops.

        >>> X, R = np.array([[0.0], [2.0], [5.0]]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> found = Moments.of_groups(Block(X), R)
        >>> found.weight, found.mean.ravel(), found.scatter.ravel()
        (array([2., 1.]), array([1., 5.]), array([2., 0.]))
        """
        return _sum_pieces(cls._of_group_rows, block, shares)

    @classmethod
    def _of_group_rows(cls, X: Array, R: Array) -> Self:
        weight, near, delta = _group_means(X, R)
        mean, rest = add_exactly(X[0], delta)
        deviations = (near - m for m in delta)
        scatter = [(D * r[:, None]).T @ D for D, r in zip(deviations, R.T, strict=True)]
        return cls(weight, mean, np.stack(scatter), rest=rest)

    @classmethod
    def about(cls, centre: Array, weight: Any, total: Array, scatter: Array, rows: int = 0) -> Self:
        """Return the moments from the sums (..., d) and scatters (..., d, d) about centres (..., d)."""
        mean, scatter, rest = move_to_mean(centre, _per_column(weight, total), total, scatter.copy())
        return cls(weight, mean, scatter, rows, rest)

    def __add__(self, other: Self) -> Self:
        both = merge_means(self, other)
        scatter = add_outer(self.scatter + other.scatter, both.factor, both.delta)
        return type(self)(both.weight, both.mean, scatter, self.rows + other.rows, both.rest)

    def covariance(self, ddof: float = 1.0) -> Array:
        """Return the covariance matrices (..., d, d): the scatter over Σw − ddof."""
        return np.asarray(self.scatter / (_per_column(self.weight, self.mean) - ddof)[..., None])

    @property
    def scatter_about_zero(self) -> Array:
        """(..., d, d) Σ w_i x_i x_iᵀ: the scatter about zero, scatter + weight · mean meanᵀ."""
        outer = self.mean[..., :, None] * self.mean[..., None, :]
        return np.asarray(self.scatter + np.asarray(self.weight)[..., None, None] * outer)

    @property
    def columns(self) -> ColumnMoments:
        """The moments of the single columns."""
        square = np.einsum("...ii->...i", self.scatter).copy()
        return ColumnMoments(self.weight, self.mean, square, self.rows, rest=self.rest)

    @property
    def pooled(self) -> Self:
        """The moments of all rows, from those of the groups on the first axis."""
        w, mean, rest, apart = _pool_means(self)
        between = ((w * apart)[..., None] * apart[..., None, :]).sum(axis=0)
        return type(self)(self.weight.sum(axis=0), mean, self.scatter.sum(axis=0) + between, rest=rest)

    def scaled(self, factor: float) -> Self:
        """Return the moments of rows whose weights are multiplied by a factor."""
        return replace(self, weight=self.weight * factor, scatter=self.scatter * factor)

    def over(self, scale: Array) -> Self:
        """Return the moments of the columns over `scale` (d,)."""
        scatter = self.scatter / np.outer(scale, scale)
        return replace(self, mean=self.mean / scale, scatter=scatter, rest=self.rest / scale)

    def with_variance(self, v: float) -> Self:
        """Return the moments of the rows spread by independent noise of variance v in every column."""
        added = v * np.asarray(self.weight)[..., None, None] * np.eye(self.mean.shape[-1])
        return replace(self, scatter=self.scatter + added)

    def regroup(self, change: Callable[[Array], Array]) -> Self:
        """Return the moments with the groups chosen or arranged by `change`, which acts on leading axes only."""
        weight, mean, scatter, rest = map(change, (self.weight, self.mean, self.scatter, full_rest(self)))
        return replace(self, weight=weight, mean=mean, scatter=scatter, rest=rest)

    def subset(self, columns: Array) -> Self:
        """Return the moments of some of the columns."""
        scatter, rest = self.scatter[..., columns, :][..., columns], full_rest(self)[..., columns]
        return replace(self, mean=self.mean[..., columns], scatter=scatter, rest=rest)


def rows_and_weight(block: Block) -> tuple[int, float]:
    """Return the number of rows with positive weight, and their total weight."""
    if block.weight is None:
        return block.rows.shape[0], float(block.rows.shape[0])
    return int(np.count_nonzero(block.weight)), float(np.sum(block.weight))


class MergedMeans(NamedTuple):
    """The weight and mean of two moments together, and the difference of the means (..., d).

    rest: what the mean lost by rounding (..., d).
    factor: times the difference squared, what the merged squares have beyond the sum of both; it broadcasts against the
        means.
    """

    weight: Any
    mean: Array
    rest: Array
    delta: Array
    factor: Array


def merge_means(a: Any, b: Any) -> MergedMeans:
    """Return the means of two moments together; where one of the two has no weight, its mean does not count."""
    wa, wb = _per_column(a.weight, a.mean), _per_column(b.weight, b.mean)
    total = wa + wb
    share = wb / np.where(total > 0.0, total, 1.0)
    delta = np.where((wa > 0.0) & (wb > 0.0), (b.mean - a.mean) + (b.rest - a.rest), 0.0)
    mean, rest = np.where(wa > 0.0, a.mean, b.mean), np.where(wa > 0.0, a.rest, b.rest)
    return MergedMeans(a.weight + b.weight, *add_exactly(mean, rest + share * delta), delta, wa * share)


def full_rest(moments: Any) -> Array:
    """Return what the means lost by rounding in the shape of the means."""
    rest, shape = moments.rest, moments.mean.shape
    return rest if np.shape(rest) == shape else np.broadcast_to(rest, shape)


def _per_column(weight: Any, columns: Array) -> Array:
    """Return weights (...) or (..., d) with axes so that they broadcast against columns (..., d)."""
    w = np.asarray(weight)
    return w if w.ndim == columns.ndim else w[..., None]


def _positive(weight: Any, columns: Array) -> Array:
    """Return weights that broadcast against columns (..., d), 1 in place of 0."""
    w = _per_column(weight, columns)
    return np.where(w > 0.0, w, 1.0)


def _pool_means(groups: Any) -> tuple[Array, Array, Array, Array]:
    """Return the weights of groups per column, the mean of all of them with what it lost, and their distances from it.

    Distances are taken from the first group, so that a large offset costs no digits.
    """
    w = _per_column(groups.weight, groups.mean)
    total = w.sum(axis=0)
    away = (groups.mean - groups.mean[0]) + full_rest(groups)
    delta = (w * away).sum(axis=0) / np.where(total > 0.0, total, 1.0)
    return w, *add_exactly(groups.mean[0], delta), away - delta


def _sum_pieces(summarise: Callable[[Array, Array], S], block: Block, shares: Array) -> S:
    """Return Σ summarise(rows, shares) over dense pieces of a block, whose weights multiply the shares."""
    step = max(1, GROUPED_ENTRIES // block.rows.shape[1])
    R = shares if block.weight is None else shares * block.weight[:, None]
    parts = slices(len(R), step)
    with one_thread():  # so that the order of a sum does not depend on the number of threads
        return reduce(operator.add, (summarise(dense(block.rows[part]), R[part]) for part in parts))


def _group_means(X: Array, R: Array) -> tuple[Array, Array, Array]:
    """Return the weights (K,) of groups, and rows (b, d) and means (K, d) less the first row.

    About a row, a large offset costs no digits.
    """
    weight, near = R.sum(axis=0), X - X[0]
    return weight, near, (R.T @ near) / np.where(weight > 0.0, weight, 1.0)[:, None]
