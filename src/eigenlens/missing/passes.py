"""Passes over rows with missing entries under a model; small rows are prepared once for all of them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import TypeVar

from eigenlens.data.source import Addable, Block, Progress, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.linalg.packed import packed_size
from eigenlens.missing.expectation import Posterior, Rows, pieces_of, posterior_of
from eigenlens.missing.units import Units

__all__ = ["Passes"]

REMEMBERED_BYTES = 256 << 20
"""Rows are prepared once, and what a model says of them is kept, if that takes no more than this."""

A = TypeVar("A", bound=Addable)
T = TypeVar("T")


class Passes:
    """Sums over the rows of a source of what a model (in `units`) says of them.

    Rows that cost a pass to read, too, are read once where they are small.
    """

    def __init__(self, source: Source, units: Units, k: int, progress: Progress | None) -> None:
        self._source, self._units, self._k, self._progress = source, units, k, progress
        n, d = source.n_rows, source.n_features
        self._pieces: list[Rows] | None = None
        self._keeps = n is not None and 8 * n * (3 * d + packed_size(k)) <= REMEMBERED_BYTES
        if n is not None and 16 * n * d <= REMEMBERED_BYTES:
            self._pieces = [piece for block in source.blocks() for piece in self._prepared(block)]
        self.count = 1

    def total(self, model: LinearGaussian, summarise: Callable[[Posterior], A]) -> A:
        """Σ summarise(posterior of a piece): one pass."""
        self.count += 1

        def of(pieces: Iterable[Rows]) -> A:
            return _sum(lambda piece: summarise(posterior_of(piece, model)), pieces)

        if self._pieces is not None:
            return of(self._pieces)
        return accumulate(self._source, lambda block: of(self._prepared(block)), self._progress, "EM")

    def standing(self, model: LinearGaussian) -> Callable[[Callable[[Posterior], A]], A]:
        """`total` for one model and many sums: what the model says of the rows is kept if it is small."""
        if self._pieces is None or not self._keeps:
            return functools.partial(self.total, model)
        found = [posterior_of(piece, model) for piece in self._pieces]

        def total(summarise: Callable[[Posterior], A]) -> A:
            self.count += 1
            return _sum(summarise, found)

        return total

    def _prepared(self, block: Block) -> list[Rows]:
        return pieces_of(block, self._units.centre, self._units.scale, self._k)


def _sum(function: Callable[[T], A], items: Iterable[T]) -> A:
    """The parts added in their order. Threads would wait for each other: most steps along n are too short for them."""
    return functools.reduce(operator.add, map(function, items))
