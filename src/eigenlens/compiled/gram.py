"""Gaussian kernel values, and products with a symmetric matrix that is filled above its diagonal."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled.runtime import aligned, kernels, readable, threads

__all__ = ["DEEPEST", "gaussian_values", "gaussian_values_numpy", "symmetric_product", "symmetric_product_numpy"]

DEEPEST = 1024
"""Up to this many columns the fused tile is used; beyond, products are nearly all of the work, and BLAS does them."""

PANEL_ROWS, PANEL_COLUMNS = 64, 2048


def gaussian_values(
    X: Array, Y: Array | None, gamma: float, centre: Array, out: Array, *, double: bool = False
) -> Array:
    """exp(−gamma |x − y|²) of X (n, d) and Y (m, d), written to `out` (n, m), whose rows are contiguous.

    Products, differences and exponentials of a tile are made in registers. The rows are taken about a centre (d,),
    which must be near them beside their spread. Without Y: the Gram matrix of X, of which only the entries on and
    above the diagonal are promised. float32 rows are multiplied in float32, or in float64 if `double`.
    Cost 2 n m d flops and n m exponentials; half of that without Y.

    >>> gaussian_values(np.eye(2), np.zeros((1, 2)), 1.0, np.zeros(2), np.empty((2, 1))).ravel()
    array([0.3679, 0.3679])
    """
    if kernels is None or X.shape[1] > DEEPEST:
        return gaussian_values_numpy(X, Y, gamma, centre, out, double=double)
    name = f"gaussian_{X.dtype.name}" + ("_by_float64" if double and X.dtype == np.float32 else "")
    left, right = (rows if rows is None or readable(rows) else np.ascontiguousarray(rows) for rows in (X, Y))
    getattr(kernels, name)(left, right, gamma, np.ascontiguousarray(centre, dtype=np.float64), out, threads())
    if Y is None:
        np.fill_diagonal(out, 1.0)
    return out


def gaussian_values_numpy(
    X: Array, Y: Array | None, gamma: float, centre: Array, out: Array, *, double: bool = False
) -> Array:
    """The twin of `gaussian_values`: one matrix product a panel, then the exponential in place.

    −gamma |x − y|² = a·b − |a|²/2 − |b|²/2   with a = √(2 gamma) (x − c), and b likewise
    """
    dtype = np.dtype(np.float64 if double else X.dtype)
    scale, c = np.sqrt(2.0 * gamma).astype(dtype), centre.astype(dtype)
    right = scale * (np.asarray(X if Y is None else Y, dtype=dtype) - c)
    level = _half_squares(right)
    step = max(PANEL_ROWS, (1 << 19) // len(right))
    for start in range(0, len(X), step):
        rows, first = slice(start, min(start + step, len(X))), start if Y is None else 0
        left = scale * (np.asarray(X[rows], dtype=dtype) - c)
        P = left @ right[first:].T
        P -= level[first:]
        P -= _half_squares(left)[:, None]
        np.minimum(P, 0.0, out=P)
        out[rows, first:] = np.exp(P, out=P)
    if Y is None:
        np.fill_diagonal(out, 1.0)
    return out


def _half_squares(A: Array) -> Array:
    return np.asarray(0.5 * np.einsum("ij,ij->i", A, A, dtype=np.float64), dtype=A.dtype)


def symmetric_product(K: Array, V: Array) -> Array:
    """K V (n, b) in float64, of a symmetric K (n, n) in float32 or float64 of which the upper triangle is read, once.

    Each tile serves both its place and its mirror image, so half the memory of K moves. Cost 2 n² b flops.

    >>> symmetric_product(np.array([[1.0, 2.0], [np.nan, 3.0]]), np.array([[1.0], [1.0]])).ravel()
    array([3., 5.])
    """
    n, b = V.shape
    if kernels is None or not (readable(K) and K.strides[1] == K.itemsize):
        return symmetric_product_numpy(K, V)
    width = -(-b // 8) * 8
    right, left = aligned(n, width), aligned(n, width)
    right[:, :b], right[:, b:] = V, 0.0
    getattr(kernels, f"symmetric_{K.dtype.name}")(K, right, left, threads())
    return left[:, :b]


def symmetric_product_numpy(K: Array, V: Array) -> Array:
    """The twin of `symmetric_product`, a tile at a time by BLAS."""
    n, out = len(K), np.zeros(V.shape)
    for i in range(0, n, PANEL_ROWS):
        stop = min(i + PANEL_ROWS, n)
        square = np.triu(np.asarray(K[i:stop, i:stop], dtype=np.float64))
        out[i:stop] += square @ V[i:stop] + np.triu(square, 1).T @ V[i:stop]
        for j in range(stop, n, PANEL_COLUMNS):
            tile = np.asarray(K[i:stop, j : j + PANEL_COLUMNS], dtype=np.float64)
            out[i:stop] += tile @ V[j : j + PANEL_COLUMNS]
            out[j : j + PANEL_COLUMNS] += tile.T @ V[i:stop]
    return out
