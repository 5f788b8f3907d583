"""Rows in memory for methods that need entries, not moments: all, a random sample, or those of given numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array, dense, is_sparse, is_tensor, namespace
from eigenlens.data.memory import ArraySource, SparseSource, TensorSource
from eigenlens.data.source import Block, Progress, Source, accumulate

__all__ = ["dense_rows", "draw_rows", "picked", "row_count", "stacked", "take_rows"]

MAX_ENTRIES = 50_000_000


def dense_rows(source: Source, rng: np.random.Generator, limit: int = MAX_ENTRIES) -> tuple[Array, Array | None]:
    """Rows (m, d) as float64 and their weights (m,) or None; a random subset of rows if n d exceeds `limit`.

    >>> from eigenlens.data.memory import ArraySource
    >>> dense_rows(ArraySource(np.eye(100)), np.random.default_rng(0), limit=1000)[0].shape[1]
    100
    """
    n = row_count(source)
    share = min(1.0, limit / max(1, n * source.n_features))
    parts, weights = [], []
    for rows, weight in source.blocks():
        keep = slice(None) if share == 1.0 else np.flatnonzero(rng.random(rows.shape[0]) < share)
        parts.append(dense(rows[keep]))
        weights.append(None if weight is None else weight[keep])
    X = np.concatenate(parts)
    return X, None if source.weight is None else np.concatenate([w for w in weights if w is not None])


def row_count(source: Source) -> int:
    """The number n of rows, counted in a pass of its own where the source does not know it."""
    return source.n_rows if source.n_rows is not None else accumulate(source, _length)


def _length(block: Block) -> int:
    return int(block.rows.shape[0])


def draw_rows(mass: Array, count: int, rng: np.random.Generator) -> Array:
    """Rows (count,) drawn independently with probabilities proportional to `mass` (n,); weights draw as copies do.

    >>> draw_rows(np.array([0.0, 2.0, 0.0]), 3, np.random.default_rng(0))
    array([1, 1, 1])
    """
    below = np.cumsum(mass)
    drawn = np.searchsorted(below, rng.random(count) * below[-1], side="right")
    return np.asarray(np.minimum(drawn, np.flatnonzero(mass)[-1]))


def take_rows(source: Source, index: Array, n: int, progress: Progress | None = None) -> Any:
    """The rows (c, d) of these numbers out of n: looked up where rows are in memory, else picked out in one pass."""
    wanted, place = np.unique(index, return_inverse=True)
    look_up = LOOK_UP.get(type(source))
    return picked(_picked_out(source, wanted, n, progress) if look_up is None else look_up(source, wanted), place)


def _picked_out(source: Source, wanted: Array, n: int, progress: Progress | None) -> Any:
    mark = np.zeros(n)
    mark[wanted] = 1.0  # blocks do not know where they stand, but their weights come with them
    return stacked(accumulate(source.weighted(mark), _marked, progress, "fetching landmarks"))


def _marked(block: Block) -> tuple[Any, ...]:
    inside = np.flatnonzero(block.weight)
    return (picked(block.rows, inside),) if inside.size else ()


def picked(rows: Any, index: Any) -> Any:
    """The rows (c, d) of these numbers, of any kind."""
    if not is_tensor(rows):
        return rows[index]
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(np.asarray(index), device=rows.device), axis=0)


def stacked(parts: tuple[Any, ...]) -> Any:
    """Rows of one kind under each other."""
    if is_sparse(parts[0]):
        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))
    return namespace(parts[0]).concat(parts, axis=0)


def _tensor_rows(source: TensorSource, index: Array) -> Any:
    xp = namespace(source.tensor)
    return xp.astype(picked(source.tensor, index), getattr(xp, source.dtype.name))


LOOK_UP: dict[type[Source], Callable[[Any, Array], Any]] = {
    ArraySource: lambda source, index: np.asarray(source.array[index], dtype=source.dtype),
    SparseSource: lambda source, index: source.matrix[index].astype(source.dtype),
    TensorSource: _tensor_rows,
}
"""Sources whose rows can be had by number."""
