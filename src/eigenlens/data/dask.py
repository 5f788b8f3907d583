"""Rows of a Dask array or frame: the fold runs where the chunks are, and only statistics travel."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, is_sparse, working_dtype
from eigenlens.data.column_kinds import ColumnKind, Field, frame_field
from eigenlens.data.memory import FrameSource
from eigenlens.data.source import Block, Progress, S, Source
from eigenlens.data.worker_fold import Chunk, chunk_source, compute_named, fold_chunks
from eigenlens.errors import DataError
from eigenlens.workers import current_client, hold_values, import_delayed


class DaskSource(Source):
    """Rows of a Dask array (n, d), one task per chunk of rows.

    Columns in several chunks are brought together, since statistics are taken of whole rows. Chunks of
    unknown length (after a filter) are measured once, which runs the graph behind them, but not for `map_rows`.

    >>> import dask.array as da
    >>> source = DaskSource(da.ones((10, 3), chunks=(4, 2)))
    >>> source.n_rows, source.fold(lambda block: block.rows.sum(axis=0))
    (10, array([10., 10., 10.]))
    """

    reads_ahead = True

    def __init__(self, X: Any) -> None:
        if X.ndim != 2:
            what = f"has {X.ndim} dimension{'s' * (X.ndim != 1)}; 2 are needed"
            raise DataError(what, argument="X", fix="give X.reshape(len(X), -1)")
        if X.dtype.kind not in "fiub":
            what = f"has dtype {X.dtype}; numbers are needed"
            raise DataError(what, argument="X", fix="convert it with X.astype(float)")
        if np.isnan(X.shape[1]):
            X = X.compute_chunk_sizes()
        self.array = X if X.numblocks[1] == 1 else X.rechunk({1: -1})
        self.n_features = int(self.array.shape[1])
        self.dtype = working_dtype(X.dtype)
        kind = ColumnKind.BOOLEAN if X.dtype == bool else ColumnKind.NUMBER
        self.fields = tuple(Field(place, kind) for place in range(self.n_features))
        lengths = self.array.chunks[0]
        self._lengths: tuple[int, ...] | None = None if np.isnan(lengths).any() else lengths
        self.on_workers = current_client() is not None
        self._tasks: list[Any] | None = None  # one for each chunk of rows
        self._weights: tuple[Any, list[Any]] | None = None  # the client, and the weights of each chunk on its cluster

    @classmethod
    def of_frame(cls, X: Any) -> Self:
        """Return the rows of a Dask frame of numeric columns, one chunk per partition."""
        from dask import array

        library: Any = array  # its functions have no types
        columns = FrameSource(X._meta)  # without rows: it checks the names and kinds of the columns
        read, shape = import_delayed()(_frame_rows, pure=True), (np.nan, columns.n_features)
        parts = [library.from_delayed(read(part), shape, columns.dtype) for part in X.to_delayed()]
        source = cls(library.concatenate(parts))
        source.names, source.own_names = columns.names, True
        source.fields = tuple(frame_field(name, columns.frame[name]) for name in columns.frame.columns)
        return source

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows, for which chunks of unknown length are measured."""
        return sum(self._chunk_lengths())

    def rows(self) -> Iterator[Any]:
        """Yield the rows in this process, one chunk at a time."""
        for chunk in self._chunks():
            yield from chunk_source(self._compute([chunk.rows], [chunk])[0], self.dtype).rows()

    def take(self, index: Array) -> list[Any]:
        """Return the rows of these numbers, which ascend, chunk by chunk: only they leave their workers."""
        pick = import_delayed()(_picked_rows, pure=False)
        ends = [(chunk, *np.searchsorted(index, [chunk.low, chunk.high])) for chunk in self._chunks()]
        picked = [
            chunk._replace(rows=pick(chunk.rows, index[first:stop] - chunk.low, self.dtype))
            for chunk, first, stop in ends
            if stop > first
        ]
        return self._compute([each.rows for each in picked], picked) or [np.empty((0, self.n_features), self.dtype)]

    def weighted(self, weight: Array | None) -> Self:
        """Return the same rows, row i counting weight[i] times; the weights are sent to the cluster once."""
        other = super().weighted(weight)
        other._weights = None
        return other

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """Return the sum of `summarise(block)` as a tree of tasks on the scheduler in force.

        The tree is fixed by the chunks alone, so the sum depends neither on the number of workers nor on their deaths.
        """
        chunks = self._chunks()
        weights = self._weight_chunks(chunks)
        total = fold_chunks(chunks, summarise, weights, self.dtype, self.n_features, self.array)
        if progress is not None:
            progress(self.n_rows, self.n_rows, label)
        return total

    def map_rows(
        self, function: Callable[[Any], Any], n_columns: int | tuple[int, ...] | None, dtype: Any = None
    ) -> Any:
        """Return a Dask array (n, n_columns), (n,) for None: `function` of each chunk of rows, computed on demand.

        n_columns: several for an array per row.
        """
        shape = n_columns if isinstance(n_columns, tuple) else () if n_columns is None else (n_columns,)
        result = np.dtype(dtype or self.dtype)
        return self.array.astype(self.dtype).map_blocks(
            function,
            dtype=result,
            chunks=(self.array.chunks[0], *((width,) for width in shape)),
            drop_axis=1 if n_columns is None else None,
            new_axis=list(range(2, 1 + len(shape))) or None,
            meta=np.empty((0,) * (1 + len(shape)), result),
        )

    def times_weights(self, values: Any, function: Callable[[Array], Array]) -> Any:
        """Return a Dask array (n, k) of these rows, row i times function(weight)[i]; unchanged without weights."""
        if self.weight is None:
            return values
        from dask import array

        library: Any = array
        lengths = self._chunk_lengths()
        values._chunks = (lengths, *values.chunks[1:])  # weights need them, so they are known by now
        return values * library.from_array(function(self.weight), chunks=(lengths,))[:, None]

    def _chunk_lengths(self) -> tuple[int, ...]:
        """Return the number of rows of each chunk, measured once where it is not known."""
        if self._lengths is None:
            length = import_delayed()(_length, pure=False)
            tasks = [length(rows) for rows in self._chunk_tasks()]
            self._lengths = tuple(self._compute(tasks, []))
        return self._lengths

    def _chunk_tasks(self) -> list[Any]:
        """Return the task of each chunk of rows; the graph is optimised once, not in every pass."""
        if self._tasks is None:
            self._tasks = self.array.to_delayed()[:, 0].tolist()
        return self._tasks

    def _chunks(self) -> list[Chunk]:
        """Return the chunks that have rows, at least one: those of unknown length may all be empty."""
        stops = np.cumsum(self._chunk_lengths()).tolist()
        tasks = self._chunk_tasks()
        chunks = [Chunk(rows, low, high) for rows, low, high in zip(tasks, [0, *stops], stops, strict=False)]
        if not stops or not stops[-1]:
            raise DataError("has 0 rows; at least 1 is needed", argument="X")
        return [chunk for chunk in chunks if chunk.high > chunk.low]

    def _weight_chunks(self, chunks: list[Chunk]) -> list[Any]:
        """Return the weights (b,) of each chunk, kept by the cluster for the passes to come."""
        if self.weight is None:
            return [None] * len(chunks)
        client = current_client()
        if self._weights is None or self._weights[0] is not client:
            self._weights = client, hold_values([self.weight[low:high] for _, low, high in chunks])
        return self._weights[1]

    def _compute(self, tasks: list[Any], chunks: list[Chunk]) -> list[Any]:
        return compute_named(tasks, chunks, self.array)


def _frame_rows(frame: Any) -> Array:
    """Return a partition of numeric columns as an array."""
    source = FrameSource(frame)
    return np.concatenate([*source.rows(), np.empty((0, source.n_features), source.dtype)])


def _picked_rows(rows: Any, places: Array, dtype: np.dtype[Any]) -> Any:
    return (rows if is_sparse(rows) else np.asarray(rows))[places].astype(dtype)


def _length(rows: Any) -> int:
    return int(rows.n_rows or 0) if isinstance(rows, Source) else int(rows.shape[0])
