"""Passes over incomplete rows under a model; rows that are small enough are prepared once for all passes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import TypeVar

from eigenlens.data.source import Addable, Block, Progress, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.linalg.packed import packed_size
from eigenlens.missing.expectation import IncompleteRows, Posterior, split_block
from eigenlens.missing.units import Units

MAX_PREPARED_BYTES = 256 << 20
"""Prepared rows, and their posteriors under one model, are kept in memory if they take no more than this."""

A = TypeVar("A", bound=Addable)
T = TypeVar("T")


class IncompleteRowPasses:
    """Sums over the rows of a source of statistics of their posteriors under a model in `units`.

    `count` is the number of passes made. Rows that are small enough are read only once, even from files.
    """

    def __init__(self, source: Source, units: Units, k: int, progress: Progress | None) -> None:
        self._source, self._units, self._k, self._progress = source, units, k, progress
        n, d = source.n_rows, source.n_features
        self._pieces: list[IncompleteRows] | None = None
        self._keeps = n is not None and 8 * n * (3 * d + packed_size(k)) <= MAX_PREPARED_BYTES
        if n is not None and 16 * n * d <= MAX_PREPARED_BYTES:
            self._pieces = [piece for block in source.blocks() for piece in self._split(block)]
        self.count = 1

    def total(self, model: LinearGaussian, summarise: Callable[[Posterior], A]) -> A:
        """Return Σ summarise(posterior) over all pieces of the rows, in one pass."""
        self.count += 1

        def total_of(pieces: Iterable[IncompleteRows]) -> A:
            return _sum(lambda piece: summarise(Posterior(piece, model)), pieces)

        if self._pieces is not None:
            return total_of(self._pieces)
        return accumulate(self._source, lambda block: total_of(self._split(block)), self._progress, "EM")

    def totals_at(self, model: LinearGaussian) -> Callable[[Callable[[Posterior], A]], A]:
        """Return `total` for one model and many statistics; posteriors are kept in between if they are small."""
        if self._pieces is None or not self._keeps:
            return functools.partial(self.total, model)
        posteriors = [Posterior(piece, model) for piece in self._pieces]

        def total(summarise: Callable[[Posterior], A]) -> A:
            self.count += 1
            return _sum(summarise, posteriors)

        return total

    def _split(self, block: Block) -> list[IncompleteRows]:
        return split_block(block, self._units.centre, self._units.scale, self._k)


def _sum(function: Callable[[T], A], items: Iterable[T]) -> A:
    """Add the parts in their order, in this thread: most steps along n are too short to be worth several."""
    return functools.reduce(operator.add, map(function, items))
