"""The fold of chunks on the workers of a cluster: one task per chunk, and a tree of sums that the chunks alone fix."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import is_sparse
from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.data.source import Block, S, Source
from eigenlens.errors import ClusterError
from eigenlens.workers import LOGS, compute_tasks, hold_values


class Chunk(NamedTuple):
    """A task that gives the rows of a chunk, or what became of them; the first row, and the one after the last.

    The rows are an array, a sparse matrix, or a source that reads them on the worker.
    """

    rows: Any
    low: int
    high: int


MAX_FAN_IN, NARROW_COLUMNS = 16, 128
"""How many sums one task adds up where rows have at most this many columns; of wider rows 2, whose sums are large."""


def fold_chunks(
    chunks: list[Chunk],
    summarise: Callable[[Block], S],
    weights: list[Any],
    dtype: np.dtype[Any],
    n_features: int,
    X: Any = (),
) -> S:
    """Return the sum of `summarise` over chunks as a tree of tasks: pairs, pairs of pairs and so on.

    The graph is made by hand: as many objects of Dask's interface would take longer than a pass over small chunks.
    X is the collection of the chunks, if they are of one; `weights` has a task or None for each.
    """
    from dask.delayed import Delayed
    from dask.highlevelgraph import HighLevelGraph
    from dask.task_spec import List, Task, TaskRef

    name, fan_in = f"fold-{uuid.uuid4().hex}", MAX_FAN_IN if n_features <= NARROW_COLUMNS else 2
    (shared,) = hold_values([summarise])
    graph, keys = dict[Any, Any](), [(name, 0, i) for i in range(len(chunks))]
    for key, chunk, w in zip(keys, chunks, weights, strict=True):
        needs = [TaskRef(shared.key), TaskRef(chunk.rows.key), None if w is None else TaskRef(w.key)]
        graph[key] = Task(key, _summarise_chunk, *needs, dtype)
    parts, level = keys, 0
    while len(keys) > 1:
        level += 1
        groups = [keys[i : i + fan_in] for i in range(0, len(keys), fan_in)]
        keys = [(name, level, i) for i in range(len(groups))]
        graph |= {k: Task(k, add_pairs, List(*map(TaskRef, group))) for k, group in zip(keys, groups, strict=True)}
    others = [c.rows for c in chunks[1:] if c.rows.dask is not chunks[0].rows.dask]  # none of a Dask array
    given = [chunks[0].rows, *others, shared, *(w for w in weights if w is not None)]
    whole = HighLevelGraph.from_collections(name, graph, given)
    task: Callable[..., Any] = partial(Delayed, dsk=whole, layer=name)
    failing = [c._replace(rows=task(key)) for c, key in zip(chunks, parts, strict=True)]
    total: S = compute_named([task(keys[0])], failing, X)[0]
    return total


def add_pairs(parts: list[S]) -> S:
    """Return the sum of pairs, of pairs of pairs and so on; a last one without a partner waits for the next level."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [a + b for a, b in pairs] + parts[len(parts) & ~1 :]
    return parts[0]


def _summarise_chunk(summarise: Callable[[Block], S], chunk: Any, weight: Any, dtype: np.dtype[Any]) -> S:
    return chunk_source(chunk, dtype).weighted(weight).fold(summarise)


def chunk_source(chunk: Any, dtype: np.dtype[Any]) -> Source:
    """Return a chunk as a source of its own: large chunks are then read by blocks, sparse ones stay sparse."""
    if isinstance(chunk, Source):
        return chunk
    source: Source = SparseSource(chunk) if is_sparse(chunk) else ArraySource(np.asarray(chunk))
    source.dtype = dtype
    return source


def compute_named(tasks: list[Any], chunks: list[Chunk], X: Any) -> list[Any]:
    """Return the results of tasks; the error of one that failed names the rows of the chunk that it is of."""
    return compute_tasks(tasks, X, partial(_chunk_error, tasks=tasks, chunks=chunks))


def _chunk_error(failed: set[Any], words: str, tasks: list[Any], chunks: list[Chunk]) -> ClusterError:
    """Return the error about the rows of which a task failed: one that their sum needs, or one that needs their sum."""
    graph = dict.fromkeys(failed) | {key: node for task in tasks for key, node in dict(task.dask).items()}
    hit = [chunk for chunk in chunks if failed & _needed(graph, {chunk.rows.key})]
    hit = hit or [chunk for chunk in chunks if chunk.rows.key in _needed(graph, failed)]
    if hit:
        return ClusterError(f"rows {hit[0].low} to {hit[-1].high - 1} of X: their chunk {words}", fix=LOGS)
    places = [i for i, task in enumerate(tasks) if failed & _needed(graph, {task.key})]  # its length was not known yet
    return ClusterError(f"{f'chunk {places[0]}' if places else 'a chunk'} of X {words}", fix=LOGS)


def _needed(graph: dict[Any, Any], keys: set[Any]) -> set[Any]:
    """Return the keys and those of all tasks that they need."""
    from dask.core import get_dependencies

    found, new = set(keys), set(keys)
    while new:
        new = {need for key in new for need in get_dependencies(graph, key)} - found
        found |= new
    return found
