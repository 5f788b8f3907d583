"""Scores of rows on axes, in the rows' own dtype, library and device."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array, Like, is_sparse, namespace, slices


def project_rows(rows: Any, mean: Array, V: Array) -> Any:
    """Return the scores (X − 1 mᵀ) V (b, k) of rows X (b, d), a NumPy array, CSR matrix or tensor.

    The mean is split into its value in the rows' dtype and the rest, so float32 rows far from zero lose nothing.

    >>> project_rows(np.array([[2.0, 3.0]]), np.array([1.0, 1.0]), np.eye(2))
    array([[1., 2.]])
    """
    if is_sparse(rows):
        return np.asarray(rows @ V - mean @ V, dtype=rows.dtype)
    single = "float32" in str(rows.dtype)
    like = Like(rows, np.dtype(np.float32 if single else np.float64))
    near = mean.astype(like.dtype)
    rest, m, right = like((mean - near) @ V), like(near), like(V)
    step = max(64, (4 << 20) // (like.dtype.itemsize * V.shape[0]))
    return concatenate([(rows[part, :] - m) @ right - rest for part in slices(rows.shape[0], step)])


def concatenate(parts: list[Any]) -> Any:
    """Return arrays of one library below each other."""
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts)
