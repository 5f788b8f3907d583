"""Rows of a Dask array: the fold runs where the chunks are, and only statistics travel."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import is_sparse, working_dtype
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.data.source import Block, Progress, S, Source
from eigenlens.errors import DataError, MissingExtra


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

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows, for which chunks of unknown length are measured."""
        if np.isnan(self.array.shape[0]):
            self.array.compute_chunk_sizes()  # it changes the array
        return int(self.array.shape[0])

    def rows(self) -> Iterator[Any]:
        """Yield the rows in this process, one chunk at a time."""
        for chunk, _, _ in self._chunks():
            yield from _in_memory(chunk.compute(), self.dtype).rows()

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """Return the sum of `summarise(block)` as a tree of tasks on the scheduler in force.

        The tree is fixed by the chunks alone, so the sum does not depend on the number of workers.
        """
        delayed = _import_delayed()
        client = _cluster()
        shared = _everywhere(client, delayed, summarise)
        part, merge = delayed(_summarise_chunk, pure=False), delayed(operator.add, pure=False)
        chunks = list(self._chunks())
        if not chunks:
            raise DataError("has 0 rows; at least 1 is needed", argument="X")
        weights = _placed(client, [None if self.weight is None else self.weight[low:high] for _, low, high in chunks])
        sums = [part(shared, c[0], weight, self.dtype) for c, weight in zip(chunks, weights, strict=True)]
        while len(sums) > 1:
            pairs = zip(sums[::2], sums[1::2], strict=False)
            sums = [merge(*pair) for pair in pairs] + sums[len(sums) & ~1 :]
        total: S = sums[0].compute()
        if progress is not None:
            progress(self.n_rows, self.n_rows, label)
        return total

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any = None) -> Any:
        """Return a Dask array (n, n_columns), (n,) for None: `function` of each chunk of rows, computed on demand."""
        width = () if n_columns is None else ((n_columns,),)
        result = np.dtype(dtype or self.dtype)
        return self.array.astype(self.dtype).map_blocks(
            function,
            dtype=result,
            chunks=(self.array.chunks[0], *width),
            drop_axis=1 if n_columns is None else None,
            meta=np.empty((0,) * (1 + len(width)), result),
        )

    def _chunks(self) -> Iterator[tuple[Any, int, int]]:
        """Yield (the delayed chunk, its first row, the row after its last), without the empty ones."""
        _, stops = self.n_rows, np.cumsum(self.array.chunks[0]).tolist()  # the first measures the second
        for chunk, low, high in zip(self.array.to_delayed()[:, 0], [0, *stops], stops, strict=False):
            if high > low:
                yield chunk, low, high


def _import_delayed() -> Any:
    try:
        from dask.delayed import delayed
    except ImportError as error:
        raise MissingExtra("dask", extra="dask", need="a Dask array") from error
    return delayed


def _in_memory(chunk: Any, dtype: np.dtype[Any]) -> Source:
    """Return a chunk as a source of its own: large chunks are then read by blocks, sparse ones stay sparse."""
    source: Source = SparseSource(chunk) if is_sparse(chunk) else ArraySource(np.asarray(chunk))
    source.dtype = dtype
    return source


def _summarise_chunk(summarise: Callable[[Block], S], chunk: Any, weight: Any, dtype: np.dtype[Any]) -> S:
    return _in_memory(chunk, dtype).weighted(weight).fold(summarise)


def _cluster() -> Any:
    """Return the client of the cluster that does the work, or None where the scheduler is one of this process."""
    from dask.base import get_scheduler

    client = getattr(get_scheduler(), "__self__", None)  # type: ignore[no-untyped-call]
    return client if hasattr(client, "scatter") else None


# A graph of many megabytes slows the scheduler, so large values are sent to the workers beforehand. Keys by content
# would be shared with the previous pass, whose release may come after this placement.


def _everywhere(client: Any, delayed: Callable[..., Any], summarise: Callable[[Block], S]) -> Any:
    """Send `summarise` to every worker once: tasks would otherwise pile up on the worker with the only copy."""
    if client is None:
        return delayed(summarise, name=f"summarise-{uuid.uuid4().hex}", traverse=False)
    return client.scatter([summarise], broadcast=True, hash=False)[0]


def _placed(client: Any, weights: list[Any]) -> list[Any]:
    """Return the weights (b,) of each chunk, distributed over the workers."""
    return weights if client is None or weights[0] is None else list(client.scatter(weights, hash=False))
