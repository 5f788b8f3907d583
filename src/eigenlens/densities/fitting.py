"""Validation of what `fit` of a density takes: rows of numbers as a Source, a column of categories as counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, check_tensor, dimensions, is_plain, is_sparse, is_tensor
from eigenlens.data.coerce import as_source, is_dask
from eigenlens.data.memory import SparseSource
from eigenlens.data.number_array import number_matrix
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.densities.base import as_rows
from eigenlens.errors import DataError, OptionError
from eigenlens.stats.counts import Counts


def numeric_source(x: Any, sample_weight: Any = None) -> Source:
    """Return x (n,) or (n, d), an array, list, Series, frame, tensor or Source, as a Source with its weights."""
    source = as_source(single_column_table(x))
    return source if sample_weight is None else source.weighted(checks.weights(sample_weight, source.n_rows))


def single_column_table(x: Any) -> Any:
    """Return a single column as a table of one column.

    >>> single_column_table([1.0, None]).shape, single_column_table(np.ones((2, 3))).shape
    ((2, 1), (2, 3))
    """
    if isinstance(x, Source) or is_sparse(x) or hasattr(x, "collect_schema"):
        return x  # a lazy frame warns of the cost of its columns, so it is known by another attribute
    if hasattr(x, "columns") and getattr(x, "ndim", 2) != 1:  # a Series of Dask has columns too
        return x
    if hasattr(x, "to_frame"):
        return x.to_frame("x") if x.name in (None, "") else x.to_frame()
    if getattr(x, "ndim", None) == 1 and (is_tensor(x) or isinstance(x, np.ndarray) or is_dask(x)):
        return x.reshape(-1, 1)
    if isinstance(x, list | tuple) and not any(hasattr(value, "__len__") for value in x):
        return np.array([np.nan if value is None else value for value in x]).reshape(-1, 1)
    return np.asarray(x).reshape(-1, 1) if _is_flat(x) else x


def _is_flat(x: Any) -> bool:
    if dimensions(x) is not None:
        return dimensions(x) == 1
    if isinstance(x, list | tuple):  # whose entries are rows, perhaps of several lengths, or text
        return all(isinstance(value, str | bytes) for value in x)
    return isinstance(x, Iterable) and np.asarray(x).ndim == 1


def check_block(block: Block) -> Block:
    """Return a block of rows if its weights, where it has some, are one finite number from 0 on per row."""
    checks.instance("block", block, Block, "give densities.Block(rows, weight)")
    if is_tensor(block.rows):
        check_tensor(block.rows, "block")
    if block.weight is None:
        return block
    n = _row_count(block.rows)
    w = checks.numbers("weight", block.weight)
    if w.shape != (n,) or not w.min(initial=0.0) >= 0.0 or not w.max(initial=0.0) <= checks.MAX_TOTAL_WEIGHT:
        what = f"of a block of {n} rows must be None, or {n} finite numbers from 0 on, at most 1e100"
        raise OptionError(what, argument="weight", value=block.weight)
    return Block(block.rows, w)


def _row_count(rows: Any) -> int:
    shape = getattr(rows, "shape", None)
    if is_dask(rows) or shape == () or not (shape or hasattr(rows, "__len__")):
        what = f"holds a {type(rows).__name__}, and its rows must be in memory: an array, a sparse matrix or a tensor"
        raise OptionError(what, argument="block", fix="give densities.Block(rows, weight)")
    return int(shape[0]) if shape else len(rows)


def number_block(block: Block) -> Block:
    """Return a block whose rows are numbers (b, d): arrays of floats, CSR matrices and tensors unchanged."""
    rows, weight = check_block(block)
    if is_sparse(rows) and rows.ndim == 2:
        return Block(next(SparseSource(number_matrix(rows)).rows()), weight)
    floats = is_tensor(rows) or (is_plain(rows) and rows.dtype in (np.float32, np.float64))
    return Block(rows if floats and rows.ndim == 2 else as_rows(rows, argument="block"), weight)


def positive_weight_block(block: Block) -> Block:
    """Return the rows with positive weight: one of weight 0 is absent, whatever its entries."""
    if block.weight is None or np.all(block.weight > 0.0):
        return block
    counts = np.flatnonzero(block.weight > 0.0)
    return Block(block.rows[counts], block.weight[counts])


def category_counts(x: Any, sample_weight: Any, summarise: Callable[[Block], Counts]) -> Counts:
    """Return the counts of a column of categories, a list, array, Series, one-column frame, Dask array or Source."""
    if isinstance(x, Source) or is_dask(x):
        source = numeric_source(x, sample_weight)
        if source.n_features != 1:
            what = f"has {source.n_features} columns; one column of categories is needed"
            raise DataError(what, argument="x", fix="choose one")
        return accumulate(source, summarise)
    if isinstance(x, str | bytes | type) or not hasattr(x, "__len__") or getattr(x, "ndim", 1) == 0:
        raise DataError("is one value; a list, array or Series of values is needed", argument="x", value=x)
    if isinstance(x, Mapping | Set):
        what = f"is a {type(x).__name__}, without the number of times that each value occurs"
        fix = "give a list of values, or of categories with their counts as sample_weight"
        raise DataError(what, argument="x", fix=fix)
    n = x.shape[0] if is_sparse(x) else len(x)
    if not n:
        raise DataError("has 0 rows; at least 1 is needed", argument="x")
    weight = checks.weights(sample_weight, n)
    try:
        return summarise(Block(x, weight))
    except DataError as error:
        raise error.replace(argument=error.argument and "x") from None


def pseudo_counts(smoothing: Any, k: int) -> Array:
    """Return smoothing, a number or one per category, as (k,) rows that are added before counting."""
    added = check_smoothing(smoothing)
    if added.shape not in ((), (k,)):
        what = f"has {added.size} numbers for {k} categories"
        raise OptionError(what, argument="smoothing", fix="give one number, or one per category")
    return np.broadcast_to(added, (k,))


MAX_ADDED = 1e150
"""The largest number that smoothing adds: sums over categories are floats, and so are their products with weights."""


def check_smoothing(smoothing: Any) -> Array:
    """Return smoothing as an array, () or (k,), of numbers from 0 to `MAX_ADDED`."""
    try:
        added = checks.numbers("smoothing", smoothing)
    except OptionError:
        added = np.empty((0, 0))
    if added.ndim > 1:
        what = "must be a number, or one number per category"
        raise OptionError(what, argument="smoothing", value=smoothing)
    if not np.all((added >= 0.0) & (added <= MAX_ADDED)):
        what = f"must be from 0 to {MAX_ADDED:g}; 0 is maximum likelihood"
        raise OptionError(what, argument="smoothing", value=smoothing)
    return added
