"""Rows with positive weight, random rows, and rows by number.

A row of weight 0 is absent, whatever its entries, NaN and infinity among them. Methods that need entries rather than
moments take rows into memory here: all of them, a random sample, or those of given numbers.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, is_tensor, namespace, slices
from eigenlens.checkpoint.passes import current_call
from eigenlens.data.dask import DaskSource
from eigenlens.data.memory import ArraySource, SparseSource, TensorSource
from eigenlens.data.source import BLOCK_BYTES, Block, Progress, S, Source, accumulate
from eigenlens.errors import DataError
from eigenlens.resources import available_memory


class ChosenRows(Source):
    """A source with some of the rows (m,) of another, by number and in the same order."""

    def __init__(self, source: Source, which: Array) -> None:
        self.source, self.which = source.weighted(None), which
        self.n_rows, self.n_features, self.dtype = len(which), source.n_features, source.dtype
        self.names, self.reads_ahead = source.names, source.reads_ahead
        self.fields = getattr(source, "fields", None)

    def table(self) -> ChosenRows:
        """Return the same rows for a model that takes text as categories."""
        return ChosenRows(self.source.table(), self.which)

    def rows(self) -> Iterator[Any]:
        """Yield the chosen rows of each block."""
        start = 0
        for rows in self.source.rows():
            stop = start + rows.shape[0]
            low, high = np.searchsorted(self.which, [start, stop])
            if high > low:
                yield select_rows(rows, self.which[low:high] - start)
            start = stop


MAX_ROWS = 2**53
"""Up to here every number of rows is a float."""


def mean_over_rows(values: Array, weight: Array | None = None) -> float:
    """Return the weighted mean of one number (n,) per row; what a row of weight 0 has, −inf too, is left out.

    >>> mean_over_rows(np.array([1.0, -np.inf]), np.array([2.0, 0.0]))
    1.0
    """
    if weight is not None:
        values, weight = values[weight > 0.0], weight[weight > 0.0]
    if not len(values):  # chunks of unknown length may turn out to have none
        raise DataError("has 0 rows; at least 1 is needed", argument="X")
    return float(np.average(values, weights=weight))


def positive_weight_rows(source: Source) -> Source:
    """Return the rows with positive weight, sparse ones in blocks that are small (16 MB) when they are made dense.

    >>> from eigenlens.data.memory import ArraySource
    >>> source = ArraySource(np.array([[1.0], [np.nan], [3.0]])).weighted(np.array([1.0, 0.0, 2.0]))
    >>> source = positive_weight_rows(source)
    >>> source.n_rows, [block.rows.ravel().tolist() for block in source.blocks()]
    (2, [[1.0, 3.0]])
    """
    if isinstance(source, SparseSource):
        small = SparseSource(source.matrix, names=source.names, block_rows=_portion(source.n_features))
        source = small.weighted(source.weight)
    return source if source.weight is None or np.all(source.weight > 0.0) else PositiveWeightRows(source)


class PositiveWeightRows(Source):
    """The rows with positive weight of another source, which has weights."""

    def __init__(self, source: Source) -> None:
        assert source.weight is not None
        self.source = source
        self._counts = source.weight > 0.0
        self.weight = source.weight[self._counts]
        self.n_rows, self.n_features = int(np.count_nonzero(self._counts)), source.n_features
        self.names, self.dtype = source.names, source.dtype
        self.in_memory, self.reads_ahead, self.on_workers = source.in_memory, source.reads_ahead, source.on_workers

    def rows(self) -> Iterator[Any]:
        """Yield the rows with positive weight."""
        return (block.rows for block in self.blocks())

    def blocks(self) -> Iterator[Block]:
        """Yield the same rows with their weights, in portions of about 16 MB."""
        return (portion for block in self.source.blocks() for portion in _portions(block))

    def weighted(self, weight: Array | None) -> Self:
        """Return these rows, row i of them counting weight[i] times."""
        full = np.zeros(self._counts.size)
        full[self._counts] = 1.0 if weight is None else weight
        return type(self)(self.source.weighted(full))

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """Fold the underlying source, where its rows are."""
        return self.source.fold(partial(_summarise_positive, summarise=summarise), progress, label)


def _summarise_positive(block: Block, summarise: Callable[[Block], S]) -> S:
    if not np.any(block.weight > 0.0):
        return summarise(Block(block.rows[:0, :], block.weight[:0]))
    return functools.reduce(operator.add, map(summarise, _portions(block)))


def _portions(block: Block) -> Iterator[Block]:
    step = _portion(block.rows.shape[1])
    for part in slices(block.rows.shape[0], step):
        weight = block.weight[part]
        counts = np.flatnonzero(weight > 0.0)
        if counts.size:
            yield Block(select_rows(block.rows[part, :], counts), weight[counts])


def _portion(d: int) -> int:
    """Return the number of rows whose dense form fills a block."""
    return max(1, BLOCK_BYTES // (8 * d))


MAX_DENSE_ENTRIES = 50_000_000
"""The most entries of a dense sample of rows: 400 MB of float64."""


def dense_rows(source: Source, rng: np.random.Generator, limit: int = MAX_DENSE_ENTRIES) -> tuple[Array, Array | None]:
    """Return rows (m, d) as float64 and their weights (m,) or None; a random subset if n d exceeds `limit`.

    >>> from eigenlens.data.memory import ArraySource
    >>> dense_rows(ArraySource(np.eye(100)), np.random.default_rng(0), limit=1000)[0].shape[1]
    100
    """
    n = row_count(source)
    share = min(1.0, limit / max(1, n * source.n_features))
    if source.on_workers and share < 1.0:  # the same draws, but only the rows that were drawn travel
        keep = _drawn(n, share, rng)
        return dense(take_rows(source, keep, n)), None if source.weight is None else source.weight[keep]
    parts, weights = [], []
    for rows, weight in source.blocks():
        if share < 1.0:
            keep = np.flatnonzero(rng.random(rows.shape[0]) < share)
            rows, weight = select_rows(rows, keep), None if weight is None else weight[keep]
        parts.append(dense(rows))
        weights.append(weight)
    X = np.concatenate(parts)
    return X, None if source.weight is None else np.concatenate([w for w in weights if w is not None])


def _drawn(n: int, share: float, rng: np.random.Generator) -> Array:
    """Return the numbers of rows out of n, each drawn with probability `share`; numbers are drawn in portions."""
    parts = (part.start + np.flatnonzero(rng.random(part.stop - part.start) < share) for part in slices(n, 1 << 20))
    return np.concatenate(list(parts))


def row_count(source: Source) -> int:
    """Return the number n of rows, counted in a pass of its own where the source does not know it."""
    return source.n_rows if source.n_rows is not None else accumulate(source, _length)


MIN_COLLECTED_COLUMNS = 2_000
"""Rows of fewer columns are read again in every pass."""

MAX_COLLECTED_BYTES = 512 << 20
"""The most memory that rows of files take, and at most an eighth of what is free."""


def few_rows_in_memory(source: Source) -> Source:
    """Return the rows of files in memory where they are few and have thousands of columns; else the source itself.

    Such rows have a small matrix of inner products, by which all components are known, and which needs columns of all
    rows at once. From files the same would take dozens of passes.
    """
    d = source.n_features
    if d < MIN_COLLECTED_COLUMNS or source.in_memory or source.on_workers or current_call() is not None:
        return source
    most = min(d // 2, min(MAX_COLLECTED_BYTES, available_memory() // 8) // (8 * d))
    parts, n = [], 0
    for rows in source.rows():
        n += rows.shape[0]
        if n > most or not isinstance(rows, np.ndarray):
            return source
        parts.append(rows)
    return ArraySource(np.concatenate(parts), names=source.names).weighted(source.weight) if parts else source


def _length(block: Block) -> int:
    return int(block.rows.shape[0])


def draw_rows(mass: Array, count: int, rng: np.random.Generator) -> Array:
    """Draw row numbers (count,) independently with probabilities proportional to `mass` (n,): a weight acts as copies.

    >>> draw_rows(np.array([0.0, 2.0, 0.0]), 3, np.random.default_rng(0))
    array([1, 1, 1])
    """
    below = np.cumsum(mass)
    drawn = np.searchsorted(below, rng.random(count) * below[-1], side="right")
    return np.asarray(np.minimum(drawn, np.flatnonzero(mass)[-1]))


def take_rows(source: Source, index: Array, n: int, progress: Progress | None = None) -> Any:
    """Return the rows (c, d) of these numbers out of n: by lookup where that is possible, else in one pass."""
    wanted, place = np.unique(index, return_inverse=True)
    look_up = ROW_LOOKUPS.get(type(source))
    found = _collect_marked(source, wanted, n, progress) if look_up is None else look_up(source, wanted)
    return select_rows(found, place)


def _collect_marked(source: Source, wanted: Array, n: int, progress: Progress | None) -> Any:
    mark = np.zeros(n)
    mark[wanted] = 1.0  # blocks do not know their row numbers, but their weights come with them
    return stack_rows(accumulate(source.weighted(mark), _marked, progress, "fetching landmarks"))


def _marked(block: Block) -> tuple[Any, ...]:
    inside = np.flatnonzero(block.weight)
    return (select_rows(block.rows, inside),) if inside.size else ()


def select_rows(rows: Any, index: Any) -> Any:
    """Return the rows (c, d) of these numbers, of an array, a sparse matrix or a tensor."""
    if not is_tensor(rows):
        return rows[index]
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(np.asarray(index), device=rows.device), axis=0)


def stack_rows(parts: tuple[Any, ...]) -> Any:
    """Return blocks of rows of one kind as one block, one below the other."""
    if not parts:
        raise DataError("has 0 rows; at least 1 is needed", argument="X")
    if is_sparse(parts[0]):
        from scipy import sparse  # late: commands that look at a file need no SciPy, which takes 0.1 s

        return sparse.csr_matrix(sparse.vstack(parts, format="csr"))
    return namespace(parts[0]).concat(parts, axis=0)


def _tensor_rows(source: TensorSource, index: Array) -> Any:
    xp = namespace(source.tensor)
    return xp.astype(select_rows(source.tensor, index), getattr(xp, source.dtype.name))


ROW_LOOKUPS: dict[type[Source], Callable[[Any, Array], Any]] = {
    ArraySource: lambda source, index: np.asarray(source.array[index], dtype=source.dtype),
    SparseSource: lambda source, index: source.matrix[index].astype(source.dtype),
    TensorSource: _tensor_rows,
    DaskSource: lambda source, index: stack_rows(tuple(source.take(index))),
}
"""Functions that take rows by number, for the sources that need no pass for that."""


def random_folds(n: int, k: int, rng: np.random.Generator) -> Array:
    """Return the fold (n,) of each row, from 0 to k − 1, drawn at random; their sizes differ by at most one.

    >>> np.bincount(random_folds(7, 3, np.random.default_rng(0)))
    array([3, 2, 2])
    """
    return rng.permutation(n) % k
