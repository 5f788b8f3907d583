"""The rows that count: those of positive weight. What stands in a row of weight 0, NaN or infinity, says nothing."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import SparseSource
from eigenlens.data.source import BLOCK_BYTES, Block, Progress, S, Source
from eigenlens.fitting.sampling import picked

__all__ = ["Counted", "counted"]


def counted(source: Source) -> Source:
    """The rows of positive weight, sparse ones in blocks that are small (16 MB) when they are made dense.

    >>> from eigenlens.data.memory import ArraySource
    >>> source = counted(ArraySource(np.array([[1.0], [np.nan], [3.0]])).weighted(np.array([1.0, 0.0, 2.0])))
    >>> source.n_rows, [block.rows.ravel().tolist() for block in source.blocks()]
    (2, [[1.0, 3.0]])
    """
    if isinstance(source, SparseSource):
        small = SparseSource(source.matrix, names=source.names, block_rows=_portion(source.n_features))
        source = small.weighted(source.weight)
    return source if source.weight is None or np.all(source.weight > 0.0) else Counted(source)


class Counted(Source):
    """The rows of positive weight of another source, which has weights."""

    def __init__(self, source: Source) -> None:
        assert source.weight is not None
        self.source = source
        self._counts = source.weight > 0.0
        self.weight = source.weight[self._counts]
        self.n_rows, self.n_features = int(np.count_nonzero(self._counts)), source.n_features
        self.names, self.dtype = source.names, source.dtype
        self.in_memory, self.reads_ahead = source.in_memory, source.reads_ahead

    def rows(self) -> Iterator[Any]:
        """One pass over the rows that count."""
        return (block.rows for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        """The same with their weights, in portions of about 16 MB."""
        return (portion for block in self.source.blocks() for portion in _portions(block))

    def weighted(self, weight: Array | None) -> Self:
        """The rows that count, row i of them counting weight[i] times."""
        full = np.zeros(self._counts.size)
        full[self._counts] = 1.0 if weight is None else weight
        return type(self)(self.source.weighted(full))

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """The fold of the source behind, where its rows are."""
        return self.source.fold(partial(_summarise_counted, summarise=summarise), progress, label)


def _summarise_counted(block: Block, summarise: Callable[[Block], S]) -> S:
    if not np.any(block.weight > 0.0):
        return summarise(Block(block.rows[:0], block.weight[:0]))
    return functools.reduce(operator.add, map(summarise, _portions(block)))


def _portions(block: Block) -> Iterator[Block]:
    step = _portion(block.rows.shape[1])
    for start in range(0, block.rows.shape[0], step):
        weight = block.weight[start : start + step]
        counts = np.flatnonzero(weight > 0.0)
        if counts.size:
            yield Block(picked(block.rows[start : start + step], counts), weight[counts])


def _portion(d: int) -> int:
    """Rows whose dense form takes a block."""
    return max(1, BLOCK_BYTES // (8 * d))
