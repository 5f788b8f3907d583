"""Columns of rows in memory or in blocks, read and centred some at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, to_numpy
from eigenlens.data.memory import ArraySource, SparseSource, TensorSource
from eigenlens.data.source import Source

MEAN_CHECK_ROWS = 16
"""Rows whose variance shows whether a mean is so large that subtracting it once leaves rounding error."""


def centre_columns(panel: Array, weight: Array | None, total: float) -> tuple[Array, Array, Array]:
    """Return columns (n, c) about their means and times √w, the means, and the sums of their squares."""

    def average(values: Array) -> Array:
        return np.asarray(values.sum(axis=0) if weight is None else np.einsum("i,ij->j", weight, values)) / total

    mean = average(panel)
    panel -= mean
    if np.any(mean**2 > 1e4 * panel[:MEAN_CHECK_ROWS].var(axis=0)):  # rounding may have left some of the mean
        rest = average(panel)
        panel -= rest
        mean += rest
    if weight is not None:
        panel *= np.sqrt(weight)[:, None]
    return panel, mean, np.einsum("ij,ij->j", panel, panel)


def column_reader(source: Source) -> tuple[Callable[[slice], Array], int]:
    """Return a function from a range of columns to those of all rows (n, c), which may be a view of them, and n."""
    if isinstance(source, ArraySource):
        return lambda part: source.array[:, part], source.array.shape[0]
    if isinstance(source, SparseSource):
        columns = source.matrix.tocsc()
        return lambda part: columns[:, part].toarray().astype(np.float64, copy=False), columns.shape[0]
    if isinstance(source, TensorSource):
        return lambda part: to_numpy(source.tensor[:, part]).astype(np.float64), source.tensor.shape[0]
    n = sum(block.rows.shape[0] for block in source.blocks())
    return lambda part: np.concatenate([dense_columns(block.rows, part) for block in source.blocks()]), n


def dense_columns(rows: Any, part: slice) -> Array:
    """Return a copy of some columns of rows of any kind."""
    return np.array(dense(rows[:, part]))
