"""Statistics of each class from one pass over rows and their classes.

The classes travel with the rows in place of the weights, so that any source can fold them, on a cluster too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, dense, namespace, slices, to_numpy
from eigenlens.data.rows import select_rows, stack_rows
from eigenlens.data.source import Block, Source
from eigenlens.gpu.class_sums import class_members, tensor_class_sums, tensor_pooled_sums
from eigenlens.gpu.runtime import on_device
from eigenlens.stats.block_moments import add_exactly, tensor_dtype
from eigenlens.stats.moments import Moments, merge_means

CLASS_PIECE_ENTRIES = 1 << 22
"""Entries of rows that are sorted by class at a time: the sorted copy takes 32 MB."""

DEVICE_PIECE_ENTRIES = 1 << 28
"""The same on a device: the copy takes 1 GB of float32."""

SAMPLED_ROWS = 1 << 13
"""Rows on a device that show where classes lie."""


def attach_classes(source: Source, codes: Array) -> Source:
    """Return the source with (n, 1) classes, or (n, 2) weights and classes, in place of its weights.

    Classes alone are a view: a copy of a column as long as the rows takes longer than a device takes to sum these.
    """
    if source.weight is None:
        return source.weighted(codes[:, None])
    return source.weighted(np.column_stack([source.weight, codes]).astype(np.float64))


def split_by_class(block: Block) -> Iterator[tuple[int, Block]]:
    """Yield the rows with positive weight of a block with classes, class by class, one piece at a time.

    Rows on a device are sorted there, in pieces that fill it.
    """
    if on_device(block.rows):
        yield from _split_on_device(block)
        return
    step = max(1, CLASS_PIECE_ENTRIES // block.rows.shape[1])
    for start in range(0, block.rows.shape[0], step):
        marks = block.weight[start : start + step]
        codes = marks[:, -1].astype(np.intp)
        index = np.arange(len(codes)) if marks.shape[1] == 1 else np.flatnonzero(marks[:, 0] > 0.0)
        order = index[np.argsort(codes[index], kind="stable")]
        present, first = np.unique(codes[order], return_index=True)
        for c, mine in zip(present, np.split(order, first)[1:], strict=True):
            rows = select_rows(block.rows, start + mine)
            yield int(c), Block(rows, None if marks.shape[1] == 1 else np.ascontiguousarray(marks[mine, 0]))


def _split_on_device(block: Block) -> Iterator[tuple[int, Block]]:
    xp = namespace(block.rows)
    for part in slices(block.rows.shape[0], max(1, DEVICE_PIECE_ENTRIES // block.rows.shape[1])):
        marks, rows = block.weight[part], block.rows[part, :]
        weight = None if marks.shape[1] == 1 else marks[:, 0]
        codes = marks[:, -1] if weight is None else np.where(weight > 0.0, marks[:, -1], -1.0)
        for c, mine in class_members(codes, rows):
            yield c, Block(xp.take(rows, mine, axis=0), None if weight is None else weight[to_numpy(mine)])


# ---- one statistic per class ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """One statistic per class, None for a class without rows; halves merge to the whole.

    The properties are those of `Moments` or `QuarticMoments`; a family's own statistics merge in the same way.

    Attributes:
        parts: the statistics.
        triangles: of each class, R (r, d) with RᵀR = scatter, or () where the scatter is exact enough: see
            `class_triangles`. Merging drops them, since they are about the means of these rows.
    """

    parts: tuple[Any, ...]
    triangles: tuple[Array, ...] = ()

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(merge_optional(a, b) for a, b in zip(self.parts, other.parts, strict=True)))

    @property
    def rows(self) -> Array:
        """The number of rows with positive weight (C,) of each class."""
        return np.array([part.rows if part is not None else 0 for part in self.parts])

    @property
    def weight(self) -> Array:
        """The total weight (C,) of each class."""
        return np.array([part.weight if part is not None else 0.0 for part in self.parts])

    @property
    def mean(self) -> Array:
        """The mean (C, d) of each class."""
        d = next(part for part in self.parts if part is not None).mean.size
        return np.stack([part.mean if part is not None else np.zeros(d) for part in self.parts])

    @property
    def scatter(self) -> Array:
        """The scatter (d, d) about the means of the classes, summed over the classes."""
        return np.asarray(sum(part.scatter for part in self.parts if part is not None))

    @property
    def variances(self) -> Array:
        """The variances (d,) of the columns about the means of the classes."""
        return np.asarray(sum(part.scatter.diagonal() for part in self.parts if part is not None) / self.weight.sum())

    def over(self, scale: Array) -> Self:
        """Return the statistics of the columns over `scale` (d,)."""
        parts = tuple(None if part is None else part.over(scale) for part in self.parts)
        return type(self)(parts, tuple(R / scale for R in self.triangles))


def summarise_classes(block: Block, summaries: Sequence[Callable[[Block], Any]]) -> ClassMoments:
    """Return the statistics of each class in a block with classes, by one summary per class."""
    parts: list[Any] = [None] * len(summaries)
    for c, mine in split_by_class(block):
        parts[c] = merge_optional(parts[c], summaries[c](mine))
    return ClassMoments(tuple(parts))


def merge_optional(a: Any, b: Any) -> Any:
    """Return the sum of two statistics; None is that of no rows."""
    if a is None or b is None:
        return a if b is None else b
    return a + b


# ---- one scatter for all classes ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PooledMoments:
    """Means of the classes and one scatter about them; halves merge to the whole.

    Attributes:
        rows: (C,) rows with positive weight. weight: (C,). mean: (C, d).
        scatter: (d, d), summed over the classes, so that memory does not grow with their number.
        rest: (C, d) what the means lost by rounding, or 0.
        triangles: one, R (r, d) with RᵀR = scatter, or (), as those of `ClassMoments`.
    """

    rows: Array
    weight: Array
    mean: Array
    scatter: Array
    rest: Any = 0.0
    triangles: tuple[Array, ...] = ()

    @classmethod
    def of_no_rows(cls, n_classes: int, d: int) -> Self:
        """Return the moments of no rows, in arrays that may be written."""
        rows, weight = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes)
        return cls(rows, weight, np.zeros((n_classes, d)), np.zeros((d, d)), np.zeros((n_classes, d)))

    def __add__(self, other: Self) -> Self:
        both = merge_means(self, other)
        scatter = self.scatter + other.scatter + (both.delta * both.factor).T @ both.delta
        return type(self)(self.rows + other.rows, both.weight, both.mean, scatter, both.rest)

    @property
    def variances(self) -> Array:
        """The variances (d,) of the columns about the means of the classes."""
        return np.asarray(self.scatter.diagonal() / self.weight.sum())

    def over(self, scale: Array) -> Self:
        """Return the moments of the columns over `scale` (d,)."""
        scatter, triangles = self.scatter / np.outer(scale, scale), tuple(R / scale for R in self.triangles)
        return replace(self, mean=self.mean / scale, scatter=scatter, rest=self.rest / scale, triangles=triangles)


def summarise_pooled(block: Block, n_classes: int) -> PooledMoments:
    """Return the means of the classes in a block with classes, and their scatter. Cost b d² flops for any C."""
    if on_device(block.rows):
        return _pool_on_device(block, n_classes)
    total, here = None, PooledMoments.of_no_rows(n_classes, block.rows.shape[1])
    for c, mine in split_by_class(block):
        if here.rows[c]:  # the next piece of the block has rows of this class too
            total, here = merge_optional(total, here), PooledMoments.of_no_rows(n_classes, block.rows.shape[1])
        found = Moments.of(mine)
        here.rows[c], here.weight[c], here.mean[c], here.rest[c] = found.rows, found.weight, found.mean, found.rest
        here.scatter[...] += found.scatter
    found_all: PooledMoments = merge_optional(total, here)
    return found_all


def _pool_on_device(block: Block, n_classes: int) -> PooledMoments:
    """Return the pooled moments of rows on a device: one product for all classes, where others have one for each."""
    marks = block.weight
    codes, weight = marks[:, -1].astype(np.int32, copy=False), None if marks.shape[1] == 1 else marks[:, 0]
    found, lost = _pool_about(_sample_means(block.rows, codes, weight, n_classes), block.rows, codes, weight)
    return _pool_about(found.mean, block.rows, codes, weight)[0] if lost else found


def _pool_about(centre: Array, rows: Any, codes: Array, weight: Array | None) -> tuple[PooledMoments, bool]:
    """Return pooled moments from sums about centres (C, d), and whether those were too far away for their digits."""
    near = centre.astype(tensor_dtype(rows)).astype(np.float64)
    weights, totals, scatter = tensor_pooled_sums(rows, codes, weight, near)
    delta = totals / np.where(weights > 0.0, weights, 1.0)[:, None]
    mean, rest = add_exactly(near, delta)
    moved = (delta * weights[:, None]).T @ delta
    diagonal = np.maximum(scatter.diagonal() - moved.diagonal(), 0.0)
    scatter = scatter - moved
    np.fill_diagonal(scatter, diagonal)  # rounding may leave a constant column below zero
    lost = bool(np.any(moved.diagonal() > diagonal))  # more than the variance itself
    counts = weights if weight is None else np.bincount(codes[weight > 0.0], minlength=len(centre))
    return PooledMoments(counts.astype(np.int64), weights, mean, scatter, rest), lost


def _sample_means(rows: Any, codes: Array, weight: Array | None, n_classes: int) -> Array:
    """Return centres (C, d) near the rows of each class, from some rows; that of all where these have none of it."""
    some = slice(None, None, max(1, len(codes) // SAMPLED_ROWS))
    nowhere, w = np.zeros((n_classes, rows.shape[1])), None if weight is None else weight[some]
    weights, totals, _ = tensor_class_sums(rows[some, :], codes[some], w, nowhere)
    middle = totals.sum(axis=0) / np.maximum(weights.sum(axis=0), 1.0)
    mean = np.where(weights > 0.0, totals / np.where(weights > 0.0, weights, 1.0), middle)
    return np.where(np.isfinite(mean), mean, 0.0)


# ---- the rows themselves, where there are fewer of them than columns ------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassDeviations:
    """The rows with positive weight as deviations from the means of their classes.

    Attributes:
        deviations: (n, d). codes: (n,) the class of each row. each: (n,) the weight of each row.
        mean: (C, d) the means of the classes.
    """

    deviations: Array
    codes: Array
    each: Array
    mean: Array

    @property
    def rows(self) -> Array:
        """The number of rows (C,) of each class."""
        return np.bincount(self.codes, minlength=len(self.mean))

    @property
    def weight(self) -> Array:
        """The total weight (C,) of each class."""
        return np.bincount(self.codes, self.each, minlength=len(self.mean))

    @property
    def variances(self) -> Array:
        """The variances (d,) of the columns about the means of the classes."""
        return np.asarray(self.each @ self.deviations**2 / self.each.sum())

    def over(self, scale: Array) -> ClassDeviations:
        """Return the rows with their columns over `scale` (d,)."""
        return replace(self, deviations=self.deviations / scale, mean=self.mean / scale)

    def of(self, c: int) -> ClassDeviations:
        """Return the rows of class number c, as the only class."""
        mine = self.codes == c
        codes = np.zeros(int(mine.sum()), dtype=np.intp)
        return ClassDeviations(self.deviations[mine], codes, self.each[mine], self.mean[c : c + 1])


def read_class_deviations(source: Source, n_classes: int) -> ClassDeviations:
    """Read all rows of a source with classes into memory, as deviations from the means of their classes."""
    parts = [(c, mine) for block in source.blocks() for c, mine in split_by_class(block)]
    codes = np.concatenate([np.full(mine.rows.shape[0], c) for c, mine in parts])
    each = np.concatenate([np.ones(mine.rows.shape[0]) if mine.weight is None else mine.weight for _, mine in parts])
    X = np.array(dense(stack_rows(tuple(mine.rows for _, mine in parts))))
    share = (codes == np.arange(n_classes)[:, None]) * each
    share /= np.where(share.any(axis=1), share.sum(axis=1), 1.0)[:, None]
    centre = X[0].copy()  # rows far from zero: means are taken about the first, so that no digits are lost
    X -= centre
    mean = share @ X
    X -= mean[codes]
    return ClassDeviations(X, codes, each, centre + mean)
