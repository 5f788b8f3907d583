"""Rows of a Dask frame of mixed columns, for models that take text: partitions are encoded where they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eigenlens.data.dask import DaskSource
from eigenlens.data.table import MixedSource
from eigenlens.workers import current_client, import_delayed


class DaskTable(DaskSource):
    """Rows of a Dask frame of columns of any kind, one chunk per partition.

    Text has the categories that its partition has; statistics of categories merge whatever these are.
    """

    own_names = True

    def __init__(self, frame: Any) -> None:
        self.array = frame
        columns = MixedSource.of_frame(frame._meta)  # without rows: it checks the names and kinds of the columns
        self.fields, self.names, self.n_features = columns.fields, columns.names, columns.n_features
        self.dtype = np.dtype(np.float64)
        self.on_workers = current_client() is not None
        read = import_delayed()(MixedSource.of_frame, pure=False)
        self._tasks = [read(part) for part in frame.to_delayed()]
        self._lengths, self._weights = None, None

    def part(self, columns: Sequence[int]) -> DaskTable:
        """Return some of the columns, by number."""
        return DaskTable(self.array[[self.array.columns[j] for j in columns]])

    def map_rows(
        self, function: Callable[[Any], Any], n_columns: int | tuple[int, ...] | None, dtype: Any = None
    ) -> Any:
        """Return a Dask array of `function` of each partition, a frame, computed on demand."""
        from dask import array

        library: Any = array  # its functions have no types
        shape = n_columns if isinstance(n_columns, tuple) else () if n_columns is None else (n_columns,)
        call = import_delayed()(function, pure=False)
        result = np.dtype(dtype or self.dtype)
        parts = [library.from_delayed(call(part), (np.nan, *shape), result) for part in self.array.to_delayed()]
        return library.concatenate(parts)
