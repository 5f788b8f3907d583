"""Validation of what `fit` of a density takes: rows of numbers as a Source, a column of categories as counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, is_sparse, is_tensor
from eigenlens.data.coerce import as_source, is_dask
from eigenlens.data.source import Block, Source, accumulate
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
    flat = len(x.shape) == 1 if hasattr(x, "shape") else np.ndim(x) == 1
    return np.asarray(x).reshape(-1, 1) if flat else x


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
    if isinstance(x, str | bytes) or not hasattr(x, "__len__") or getattr(x, "ndim", 1) == 0:
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
    try:
        added = np.asarray(smoothing, dtype=np.float64)
    except (TypeError, ValueError):
        what = "must be a number, or one number per category"
        raise OptionError(what, argument="smoothing", value=smoothing) from None
    if added.shape not in ((), (k,)):
        what = f"has {added.size} numbers for {k} categories"
        raise OptionError(what, argument="smoothing", fix="give one number, or one per category")
    if not np.all(np.isfinite(added) & (added >= 0.0)):
        what = "must be finite and not negative; 0 is maximum likelihood"
        raise OptionError(what, argument="smoothing", value=smoothing)
    return np.broadcast_to(added, (k,))
