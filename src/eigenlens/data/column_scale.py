"""Rows whose columns are divided by one number each, of whatever kind they are.

Sparse rows stay sparse, tensors on their device, float32 stays float32, and what is not in memory is divided as it is
read: rows of files block by block, those of a Dask array where its chunks are.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, Like, is_sparse, slices
from eigenlens.data.memory import VIEW_BYTES, ArraySource, MappedSource, SparseSource, TensorSource
from eigenlens.data.source import BLOCK_BYTES, Block, Progress, S, Source


def over_scale(rows: Any, scale: Array) -> Any:
    """Return rows (b, d) of any kind, in their kind and dtype, with column j divided by scale[j]; NaN stays NaN.

    >>> over_scale(np.array([[2.0, np.nan]]), np.array([4.0, 2.0]))
    array([[0.5, nan]])
    """
    if not is_sparse(rows):
        return rows / Like(rows)(scale)
    divided = rows.copy()
    divided.data = divided.data / scale.astype(rows.dtype)[rows.indices]
    return divided


class ScaledSource(MappedSource):
    """The rows of another source with column j divided by scale[j], in portions of about 16 MB.

    >>> source = ScaledSource(ArraySource(np.array([[2.0, 3.0]], dtype=np.float32)), np.array([2.0, 1.0]))
    >>> source.dtype, next(source.rows())
    (dtype('float32'), array([[1., 3.]], dtype=float32))
    """

    def __init__(self, source: Source, scale: Array) -> None:
        super().__init__(source, partial(over_scale, scale=scale))
        self.dtype = source.dtype

    def rows(self) -> Iterator[Any]:
        """Yield the rows, divided."""
        return (self.function(part.rows) for rows in self.source.rows() for part in _portions(Block(rows)))

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """Fold the underlying source, where its rows are."""
        divided = partial(_summarise_divided, function=self.function, summarise=summarise)
        return self.source.weighted(self.weight).fold(divided, progress, label)


def _portions(block: Block) -> Iterator[Block]:
    """Yield a block of views, which may be large, in portions that can be copied; sparse rows as they are."""
    n, d = block.rows.shape
    for part in slices(n, n if is_sparse(block.rows) else max(1, BLOCK_BYTES // (8 * d))) if n else [slice(0, 0)]:
        yield Block(block.rows[part, :], None if block.weight is None else block.weight[part])


def _summarise_divided(block: Block, function: Callable[[Any], Any], summarise: Callable[[Block], S]) -> S:
    parts = (summarise(Block(function(part.rows), part.weight)) for part in _portions(block))
    return functools.reduce(operator.add, parts)


def _divide_array(source: ArraySource, scale: Array) -> Source:
    """Return an array in memory as a divided copy, which later passes read as it is; a large one as it is read."""
    X = source.array
    if isinstance(X, np.memmap) or X.size * source.dtype.itemsize > VIEW_BYTES:
        return ScaledSource(source, scale)
    return ArraySource(over_scale(np.asarray(X, dtype=source.dtype), scale))


DIVIDED: dict[type[Source], Callable[[Any, Array], Source]] = {
    ArraySource: _divide_array,
    SparseSource: lambda source, scale: SparseSource(over_scale(source.matrix.astype(source.dtype), scale)),
    TensorSource: lambda source, scale: TensorSource(
        over_scale(next(TensorSource(source.tensor, block_rows=source.n_rows).rows()), scale)
    ),
}
"""Functions for the sources that hold their rows in memory: the copy has their kind, and later passes only read it."""


def divide_source(source: Source, scale: Array) -> Source:
    """Return the rows of a source, and their weights, with column j divided by scale[j]."""
    made = DIVIDED.get(type(source), ScaledSource)(source, scale)
    made.names = source.names
    return made.weighted(source.weight)
