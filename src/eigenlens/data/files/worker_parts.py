"""Passes over files on the workers of a Dask cluster: each reads some of the rows, and only sums travel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block, Progress, S
from eigenlens.data.worker_fold import Chunk, fold_chunks
from eigenlens.errors import ClusterError, DataError
from eigenlens.workers import compute_tasks, current_client, hold_values, import_delayed

if TYPE_CHECKING:
    from eigenlens.data.files.scan import FileSource


class PartsOnWorkers:
    """Parts of files that the workers of a cluster read: slabs of row groups, or blocks of rows.

    The workers find out where the parts begin, so that no row is read in this process. `client` is that of the cluster.
    """

    def __init__(self, source: FileSource) -> None:
        self.client = current_client()
        self._dtype, self._width = source.dtype, source.n_features
        files = source.single_files()
        cut = import_delayed()(_cut, pure=False)
        tasks = [cut(file) for file in hold_values(files)]
        ranges = [each for some in compute_tasks(tasks, (), partial(_error, files=files, tasks=tasks)) for each in some]
        ends = pairwise(np.cumsum([0, *(n for n, _ in ranges)]).tolist())
        parts = hold_values([part for _, part in ranges])
        self._chunks = [Chunk(part, *end) for part, end in zip(parts, ends, strict=True) if end[0] < end[1]]
        if not self._chunks:
            raise DataError("has 0 rows; at least 1 is needed", argument="X")

    def fold(self, summarise: Callable[[Block], S], weight: Array | None, progress: Progress | None, label: str) -> S:
        """Return the sum of `summarise(block)` over all parts, as a tree that only they determine."""
        parts = [None if weight is None else weight[chunk.low : chunk.high] for chunk in self._chunks]
        weights = [None] * len(parts) if weight is None else hold_values(parts)
        total = fold_chunks(self._chunks, summarise, weights, self._dtype, self._width)
        if progress is not None:
            progress(self._chunks[-1].high, self._chunks[-1].high, label)
        return total


def _cut(file: FileSource) -> list[tuple[int, FileSource]]:
    """Return the parts of a file with their numbers of rows; runs on a worker, which must see the file."""
    (path,) = file.paths
    if not path.exists():
        what = f"'{path}' is not visible on a worker of the Dask cluster"
        fix = "put the files where all workers see them by the same absolute path, or read them in this process: "
        raise DataError(what, fix=f"{fix}with dask.config.set(scheduler='threads')")
    return file.row_ranges()


def _error(failed: set[Any], words: str, files: list[FileSource], tasks: list[Any]) -> ClusterError:
    hit = [file for file, task in zip(files, tasks, strict=True) if task.key in failed] or files
    return ClusterError(f"'{hit[0].paths[0]}' {words}", fix="see the logs of the workers")
