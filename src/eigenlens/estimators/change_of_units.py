"""What a transformation of the columns does to a density: p(x) = p(T(x)) |det T′(x)|, for any transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, is_tensor
from eigenlens.errors import DataError

__all__ = ["log_stretch"]

STEP = 1e-5
"""Of a column's spread, for differences where T is not linear: errors of 1e-10."""

PIECE = 1 << 20


def log_stretch(transform: Callable[[Any], Any], X: Any) -> Array:
    """log |det T′(x)| (n,) at the rows of X (n, d), by differences of T, which are exact where T is affine.

    An affine T is recognised by its prediction of T(X); then it costs 2d rows, otherwise 2d n.

    >>> X = np.array([[1.0, 2.0], [3.0, 5.0]])
    >>> log_stretch(lambda X: X * [2.0, 4.0] - 1.0, X).round(6)
    array([2.079442, 2.079442])
    >>> log_stretch(np.exp, X).round(6)
    array([3., 8.])
    """
    rows = _numbers(X)
    images = _numbers(transform(X))
    if images.shape != rows.shape:
        raise DataError(
            f"its steps turn {rows.shape[1]} columns into {images.shape[1]}, so its density is not one of the rows of "
            "X and cannot be compared; keep the number of columns."
        )
    spread = np.ptp(rows, axis=0)
    spread[spread == 0.0] = 1.0
    centre = rows.mean(axis=0)
    J = _derivative(transform, X, centre[None], 0.25 * spread)[0]
    at_centre = _numbers(transform(_like(X, centre[None])))[0]
    missed = np.abs(images - at_centre - (rows - centre) @ J.T).max(axis=0)
    if np.all(missed <= 1e-9 * (np.ptp(images, axis=0) + np.abs(at_centre))):
        return np.full(len(rows), np.linalg.slogdet(J)[1])
    step = max(1, PIECE // rows.shape[1] ** 2)
    parts = [_derivative(transform, X, rows[i : i + step], STEP * spread) for i in range(0, len(rows), step)]
    return np.asarray(np.linalg.slogdet(np.concatenate(parts))[1])


def _derivative(transform: Callable[[Any], Any], X: Any, rows: Array, steps: Array) -> Array:
    """T′ (n, d, d) at rows of the kind of X, by central differences."""
    columns = []
    for j, step in enumerate(steps):
        up, down = rows.copy(), rows.copy()
        up[:, j] += step
        down[:, j] -= step
        change = _numbers(transform(_like(X, up))) - _numbers(transform(_like(X, down)))
        columns.append(change / (up[:, j] - down[:, j])[:, None])
    return np.stack(columns, axis=2)


def _numbers(X: Any) -> Array:
    return dense(X) if is_sparse(X) or is_tensor(X) else np.asarray(X, dtype=np.float64)


def _like(X: Any, rows: Array) -> Any:
    """The rows as a frame with the columns of X where X is one."""
    if not hasattr(X, "columns"):
        return rows
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    return nw.from_dict(dict(zip(frame.columns, rows.T, strict=True)), backend=frame.implementation).to_native()
