"""Dot products and distances between all rows of X (n, d) and Y (m, d): arrays, CSR matrices or tensors.

The results are dense (n, m), new, and of the rows' dtype.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from eigenlens.arrays import Array, dense, is_sparse, is_tensor, namespace, overwrite, slices, to_numpy

TILE_BYTES = 1 << 20
"""Bytes of a tile that is changed in place: it stays in the second-level cache."""

MIN_CITYBLOCK_SIDE = 64
"""The smallest side of a tile of city-block distances: below it the calls cost more than the sums."""

MEDIAN_SAMPLE_ROWS = 128
"""Rows whose median is the shift of all: a robust centre, not a precise one."""


def squared_distances(X: Any, Y: Any, error: float = np.inf) -> Any:
    """Return |x_i − y_j|² (n, m) by one matrix product on rows shifted by a median m of Y.

        |x − y|² = [x', |x'|², 1] · [−2 y', 1, |y'|²]   with x' = x − m, y' = y − m

    The shift keeps the digits of rows whose mean is large beside their spread; sparse rows are not shifted. Where
    float32 could be wrong by more than `error`, the products are computed in float64. Symmetric and exactly 0 on the
    diagonal if X is Y. Cost 2 n m d.

    >>> squared_distances(np.array([[1e8, 0.0]]), np.array([[1e8, 1.0], [1e8 + 2.0, 0.0]]))
    array([[1., 4.]])
    """
    shifted = _shifted(X, Y)
    if error < np.inf and not float32_suffices(error, *shifted):
        D = _widened(X, Y)
    elif is_sparse(shifted[0]) or is_sparse(shifted[1]):
        D = _sparse_distances(*shifted)
    else:
        D = _dense_distances(*shifted)
    return symmetrize(D, constant_vector(X, 0.0)) if X is Y else D


def _shifted(X: Any, Y: Any) -> tuple[Any, Any]:
    """Return both less a median of Y; sparse rows unchanged."""
    if is_sparse(X) or is_sparse(Y):
        return X, Y
    centre = sample_median(Y)
    B = Y - centre
    return (B if X is Y else X - centre), B


def sample_median(Y: Any) -> Any:
    """Return the median (d,) of some rows, in their dtype: any shift that both sides share will do, if robust."""
    some = Y[:: max(1, Y.shape[0] // MEDIAN_SAMPLE_ROWS), :]
    half = some.shape[0] // 2
    middle = np.partition(to_numpy(some), half, axis=0)[half]
    return namespace(Y).asarray(middle, device=Y.device) if is_tensor(Y) else middle


def float32_suffices(error: float, *shifted: Any) -> bool:
    """Return whether products of these rows in their dtype keep |x − y|² within `error`; float64 always does."""
    if "float32" not in str(shifted[0].dtype):
        return True
    with np.errstate(over="ignore"):
        squares = [squared_norms(rows) for rows in shifted]
        reach = max(float(namespace(square).max(square)) for square in squares)
    return bool(2.0 * reach * float(np.finfo(np.float32).eps) <= error)


def _widened(X: Any, Y: Any) -> Any:
    """Return the distances of float32 rows by float64 products of shifted rows, block by block, rounded once."""
    xp = namespace(X) if is_tensor(X) else np
    thin = is_sparse(X) or is_sparse(Y)
    centre = 0.0 if thin else _float64(sample_median(Y))
    right = _float64(Y) if thin else _float64(Y) - centre
    D = xp.empty((X.shape[0], Y.shape[0]), dtype=xp.float32, **_place(X))
    for part in row_tiles(D):
        left = _float64(X[part, :])
        found = _sparse_distances(left, right) if thin else _dense_distances(left - centre, right)
        D[part, :] = xp.astype(found, xp.float32)
    return D


def _float64(rows: Any) -> Any:
    return namespace(rows).astype(rows, namespace(rows).float64) if is_tensor(rows) else rows.astype(np.float64)


def _dense_distances(A: Any, B: Any) -> Any:
    xp, d = namespace(A), A.shape[1]
    left = xp.empty((A.shape[0], d + 2), dtype=A.dtype, **_place(A))
    right = xp.empty((B.shape[0], d + 2), dtype=B.dtype, **_place(B))
    left[:, :d], left[:, d], left[:, d + 1] = A, squared_norms(A), 1.0
    right[:, :d], right[:, d], right[:, d + 1] = B, 1.0, squared_norms(B)
    right[:, :d] *= -2.0
    D = xp.matmul(left, right.T)
    return overwrite("clip", D, 0.0, None)


def _sparse_distances(X: Any, Y: Any) -> Array:
    D = dot_products(X, Y)
    D *= -2.0
    D += squared_norms(X)[:, None]
    D += squared_norms(Y)
    return np.asarray(np.maximum(D, 0.0, out=D))


def symmetrize(K: Any, diagonal: Any) -> Any:
    """Make a square matrix symmetric to the last digit, in place, with this diagonal (n,)."""
    xp = namespace(_mirrored(K))
    for rows in row_tiles(K):
        here = xp.eye(rows.stop - rows.start, dtype=K.dtype, **_place(K)) > 0.0
        K[rows, rows] = xp.where(here, diagonal[rows, None], K[rows, rows])
    return K


def _mirrored(K: Any) -> Any:
    """Make a nearly symmetric matrix symmetric to the last digit, in place: rounding depends on the order of sums."""
    for rows in row_tiles(K):
        K[rows.stop :, rows] = K[rows, rows.stop :].T
        square = K[rows, rows]
        K[rows, rows] = (square + square.T) / 2.0
    return K


def dot_products(X: Any, Y: Any) -> Any:
    """Return x_i·y_j (n, m), always a new dense array."""
    if is_sparse(X):
        P = X @ Y.T
        return P.toarray() if is_sparse(P) else P
    if is_sparse(Y):
        return (Y @ X.T).T
    P = namespace(X).matmul(X, Y.T)
    return _mirrored(P) if X is Y and is_tensor(X) else P  # NumPy recognises X Xᵀ and returns a symmetric matrix


def squared_norms(X: Any) -> Any:
    """Return |x_i|² (n,) in the dtype of X, summed in float64 for NumPy and sparse rows."""
    if is_sparse(X):
        return np.asarray(X.multiply(X).sum(axis=1, dtype=np.float64), dtype=X.dtype).reshape(-1)
    if is_tensor(X):
        return namespace(X).sum(X * X, axis=1)
    return np.einsum("ij,ij->i", X, X, dtype=np.float64).astype(X.dtype)


def nonzero_norms(X: Any) -> Any:
    """Return |x_i| (n,), and 1 for a row of zeros, so that dividing by it leaves zeros."""
    length = squared_norms(X) ** 0.5
    return namespace(length).where(length == 0.0, constant_vector(X, 1.0), length)


def cityblock_distances(X: Any, Y: Any) -> Any:
    """Return Σ_j |x_j − y_j| (n, m), tile by tile in float64; sparse rows become dense panel by panel."""
    if is_tensor(X):
        return _tensor_cityblock(X, Y)
    D = np.empty((X.shape[0], Y.shape[0]), dtype=X.dtype)
    step = int(np.clip(TILE_BYTES // (8 * X.shape[1]), MIN_CITYBLOCK_SIDE, 4 * MIN_CITYBLOCK_SIDE))
    for j in range(0, D.shape[1], step):
        right = dense(Y[j : j + step])
        for i in range(0, D.shape[0], step):
            D[i : i + step, j : j + step] = cdist(dense(X[i : i + step]), right, "cityblock")
    return D


def _tensor_cityblock(X: Any, Y: Any) -> Any:
    """Return the city-block distances of tensors, column by column: nothing larger than the result is allocated."""
    xp = namespace(X)
    D = xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype, device=X.device)
    for j in range(X.shape[1]):
        D += xp.abs(X[:, j, None] - Y[None, :, j])
    return D


def constant_vector(X: Any, value: float) -> Any:
    """Return a constant vector (n,) of the library, device and dtype of X."""
    xp = namespace(X) if is_tensor(X) else np
    return xp.full((X.shape[0],), value, dtype=X.dtype, **_place(X))


def _place(X: Any) -> dict[str, Any]:
    """Return the keyword that puts a new array on the device of X."""
    return {"device": X.device} if is_tensor(X) else {}


def row_tiles(K: Any) -> Iterator[slice]:
    """Return ranges of rows of K that fit a cache."""
    wide = K.shape[1] if K.ndim > 1 else 1
    step = max(1, TILE_BYTES // (8 * max(1, wide)))
    return slices(K.shape[0], step)
