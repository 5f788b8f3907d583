"""Rows and their classes: moments of each class, or of all about the means of their classes, from one pass.

Rows travel with their classes in the place of their weights, so that any source folds them, on a cluster too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.rows import picked, stacked
from eigenlens.data.source import Block, Source
from eigenlens.stats.moments import Moments, merge_means

__all__ = [
    "ClassMoments",
    "ClassRows",
    "PooledMoments",
    "attach_classes",
    "read_class_rows",
    "split_by_class",
    "summarise_classes",
    "summarise_pooled",
]  # fmt: skip

CLASS_PIECE_ENTRIES = 1 << 22
"""Entries of rows that are shared out among the classes at a time."""


def attach_classes(source: Source, codes: Array) -> Source:
    """The source with (n, 1) classes, or (n, 2) weights and classes, in the place of its weights."""
    columns = [codes] if source.weight is None else [source.weight, codes]
    return source.weighted(np.column_stack(columns).astype(np.float64))


def split_by_class(block: Block) -> Iterator[tuple[int, Block]]:
    """The rows of a labelled block that count, class by class, a piece at a time."""
    step = max(1, CLASS_PIECE_ENTRIES // block.rows.shape[1])
    for start in range(0, block.rows.shape[0], step):
        marks = block.weight[start : start + step]
        codes = marks[:, -1].astype(np.intp)
        index = np.arange(len(codes)) if marks.shape[1] == 1 else np.flatnonzero(marks[:, 0] > 0.0)
        order = index[np.argsort(codes[index], kind="stable")]
        present, first = np.unique(codes[order], return_index=True)
        for c, mine in zip(present, np.split(order, first[1:]), strict=True):
            rows = picked(block.rows, start + mine)
            yield int(c), Block(rows, None if marks.shape[1] == 1 else np.ascontiguousarray(marks[mine, 0]))


@dataclass(frozen=True, eq=False)
class ClassMoments:
    """The moments of each class: `Moments` or `QuarticMoments`, None for a class without rows."""

    parts: tuple[Any, ...]

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(_sum(a, b) for a, b in zip(self.parts, other.parts, strict=True)))

    @property
    def rows(self) -> Array:
        """Rows (C,) of positive weight."""
        return np.array([part.rows if part is not None else 0 for part in self.parts])

    @property
    def weight(self) -> Array:
        """Σw (C,)."""
        return np.array([part.weight if part is not None else 0.0 for part in self.parts])

    @property
    def mean(self) -> Array:
        """Means (C, d)."""
        d = next(part for part in self.parts if part is not None).mean.size
        return np.stack([part.mean if part is not None else np.zeros(d) for part in self.parts])

    @property
    def scatter(self) -> Array:
        """About the means of the classes, summed over these (d, d)."""
        return np.asarray(sum(part.scatter for part in self.parts if part is not None))

    @property
    def variances(self) -> Array:
        """Of the columns (d,), about the means of the classes."""
        return np.asarray(sum(part.scatter.diagonal() for part in self.parts if part is not None) / self.weight.sum())


@dataclass(frozen=True, eq=False)
class PooledMoments:
    """Rows and weight (C,), means (C, d), and one scatter (d, d) about the means of the classes; halves merge."""

    rows: Array
    weight: Array
    mean: Array
    scatter: Array

    def __add__(self, other: Self) -> Self:
        weight, mean, delta, factor = merge_means(self, other)
        between = (delta * factor).T @ delta
        return type(self)(self.rows + other.rows, weight, mean, self.scatter + other.scatter + between)

    @property
    def variances(self) -> Array:
        """Of the columns (d,), about the means of the classes."""
        return np.asarray(self.scatter.diagonal() / self.weight.sum())


def summarise_classes(block: Block, n_classes: int, moments: Callable[[Block], Any]) -> ClassMoments:
    """The moments of each class in a labelled block."""
    parts: list[Any] = [None] * n_classes
    for c, mine in split_by_class(block):
        parts[c] = _sum(parts[c], moments(mine))
    return ClassMoments(tuple(parts))


def summarise_pooled(block: Block, n_classes: int) -> PooledMoments:
    """Means of the classes in a labelled block, and their common scatter. Cost b d² flops, whatever the classes."""
    d = block.rows.shape[1]
    rows, weight, mean = np.zeros(n_classes, dtype=np.int64), np.zeros(n_classes), np.zeros((n_classes, d))
    total = PooledMoments(rows, weight, mean, np.zeros((d, d)))
    for c, mine in split_by_class(block):
        found = Moments.of(mine)
        total = total + _alone(found, c, n_classes)
    return total


def _alone(found: Moments, c: int, n_classes: int) -> PooledMoments:
    chosen = np.arange(n_classes) == c
    return PooledMoments(chosen * found.rows, chosen * found.weight, chosen[:, None] * found.mean, found.scatter)


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return a if b is None else b
    return a + b


# ---- the rows themselves, where there are fewer of them than columns ------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Rows (n, d) that count, their classes (n,), weights (n,), and the means (C, d) of the classes."""

    deviations: Array
    codes: Array
    each: Array
    mean: Array

    @property
    def rows(self) -> Array:
        """Rows (C,)."""
        return np.bincount(self.codes, minlength=len(self.mean))

    @property
    def weight(self) -> Array:
        """Σw (C,)."""
        return np.bincount(self.codes, self.each, minlength=len(self.mean))

    @property
    def variances(self) -> Array:
        """Of the columns (d,), about the means of the classes."""
        return np.asarray(self.each @ self.deviations**2 / self.each.sum())

    def of(self, c: int) -> ClassRows:
        """The rows of one class, as the only one."""
        mine = self.codes == c
        codes = np.zeros(int(mine.sum()), dtype=np.intp)
        return ClassRows(self.deviations[mine], codes, self.each[mine], self.mean[c : c + 1])


def read_class_rows(source: Source, n_classes: int) -> ClassRows:
    """All rows of a labelled source in memory, as deviations from the means of their classes."""
    parts = [(c, mine) for block in source.blocks() for c, mine in split_by_class(block)]
    codes = np.concatenate([np.full(mine.rows.shape[0], c) for c, mine in parts])
    each = np.concatenate([np.ones(mine.rows.shape[0]) if mine.weight is None else mine.weight for _, mine in parts])
    X = np.array(dense(stacked(tuple(mine.rows for _, mine in parts))))
    share = (codes == np.arange(n_classes)[:, None]) * each
    share /= np.where(share.any(axis=1), share.sum(axis=1), 1.0)[:, None]
    centre = X[0].copy()
    X -= centre
    mean = share @ X
    X -= mean[codes]
    return ClassRows(X, codes, each, centre + mean)
