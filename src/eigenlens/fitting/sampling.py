"""Rows in memory for methods that need entries, not moments: all of them, or a stated random sample."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Source

__all__ = ["dense_rows"]

MAX_ENTRIES = 50_000_000


def dense_rows(source: Source, rng: np.random.Generator, limit: int = MAX_ENTRIES) -> tuple[Array, Array | None]:
    """Rows (m, d) as float64 and their weights (m,) or None; a random subset of rows if n d exceeds `limit`.

    >>> from eigenlens.data.memory import ArraySource
    >>> dense_rows(ArraySource(np.eye(100)), np.random.default_rng(0), limit=1000)[0].shape[1]
    100
    """
    n = source.n_rows if source.n_rows is not None else sum(block.rows.shape[0] for block in source.blocks())
    share = min(1.0, limit / max(1, n * source.n_features))
    parts, weights = [], []
    for rows, weight in source.blocks():
        keep = slice(None) if share == 1.0 else np.flatnonzero(rng.random(rows.shape[0]) < share)
        parts.append(dense(rows[keep]))
        weights.append(None if weight is None else weight[keep])
    X = np.concatenate(parts)
    return X, None if source.weight is None else np.concatenate([w for w in weights if w is not None])
