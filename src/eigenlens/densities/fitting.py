"""What `fit` of a family takes, checked once: rows of numbers as a Source, a column of levels as counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, is_sparse, is_tensor
from eigenlens.data.coerce import as_source
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.stats.counts import Counts

__all__ = ["category_counts", "numeric_source", "pseudo_counts"]


def numeric_source(x: Any, sample_weight: Any = None) -> Source:
    """x (n,) or (n, d) as a Source with its weights: a list, array, Series, frame, sparse matrix, tensor or Source."""
    source = as_source(_as_table(x))
    return source if sample_weight is None else source.weighted(checks.weights(sample_weight, source.n_rows))


def _as_table(x: Any) -> Any:
    """A single column as a table of one."""
    if isinstance(x, Source) or is_sparse(x) or hasattr(x, "columns"):
        return x
    if getattr(x, "ndim", None) == 1 and (is_tensor(x) or isinstance(x, np.ndarray) or _is_dask(x)):
        return x.reshape(-1, 1)
    if hasattr(x, "to_frame"):
        return x.to_frame("x") if x.name in (None, "") else x.to_frame()
    if isinstance(x, list | tuple) and not any(hasattr(value, "__len__") for value in x):
        return np.array([np.nan if value is None else value for value in x]).reshape(-1, 1)
    return np.asarray(x).reshape(-1, 1) if np.ndim(x) == 1 else x


def category_counts(x: Any, sample_weight: Any, summarise: Callable[[Block], Counts]) -> Counts:
    """The counts of a column of levels: a list, array, Series or frame of one column, a Dask array or a Source."""
    if isinstance(x, Source) or _is_dask(x):
        source = numeric_source(x, sample_weight)
        if source.n_features != 1:
            raise DataError(f"x has {source.n_features} columns; a column of levels is needed: choose one.")
        return accumulate(source, summarise)
    if isinstance(x, str | bytes) or not hasattr(x, "__len__") or getattr(x, "ndim", 1) == 0:
        raise DataError(f"x={x!r} is one value; a list, array or Series of values is needed.")
    if isinstance(x, Mapping | Set):
        raise DataError(
            f"x is a {type(x).__name__}, which does not say how often values come; give a list of values, or of levels "
            "with sample_weight=their counts."
        )
    if not len(x):
        raise DataError("x has 0 rows; at least 1 is needed.")
    return summarise(Block(x, checks.weights(sample_weight, len(x))))


def _is_dask(x: Any) -> bool:
    return hasattr(x, "to_delayed")


def pseudo_counts(smoothing: Any, k: int) -> Array:
    """Smoothing, a number or one a level, as (k,) rows that are added before counting."""
    try:
        added = np.asarray(smoothing, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"smoothing={smoothing!r} must be a number, or one number a level.") from None
    if added.shape not in ((), (k,)):
        raise OptionError(f"smoothing has {added.size} numbers for {k} levels; give one number, or one a level.")
    if not np.all(np.isfinite(added) & (added >= 0.0)):
        raise OptionError(f"smoothing={smoothing!r} must be finite and not negative; 0 is maximum likelihood.")
    return np.broadcast_to(added, (k,))
