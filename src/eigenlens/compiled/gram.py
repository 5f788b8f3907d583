"""Gaussian kernel values, and products with a symmetric matrix that is filled above its diagonal."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled.runtime import aligned, kernels, readable, threads

__all__ = [
    "DEEPEST",
    "Points",
    "gaussian_values",
    "gaussian_values_numpy",
    "symmetric_product",
    "symmetric_product_numpy",
]

DEEPEST = 1024
"""Up to this many columns the fused tile is used; beyond, products are nearly all of the work, and BLAS does them."""

PANEL_ROWS, PANEL_COLUMNS = 64, 2048


@dataclass(frozen=True, eq=False)
class Points:
    """Rows (m, d) made ready for `gaussian_values`: one side of many kernel matrices.

    Attributes:
        rows: as they were given.
        gamma: of the kernel.
        centre: (d,), near the rows beside their spread.
        double: whether float32 rows are multiplied in float64.
    """

    rows: Array
    gamma: float
    centre: Array
    double: bool = False

    @cached_property
    def packed(self) -> Any:
        """In the layout of the compiled kernel."""
        rows = self.rows if readable(self.rows) else np.ascontiguousarray(self.rows)
        suffix = "_by_float64" if self.double and rows.dtype == np.float32 else ""
        pack = getattr(kernels, f"points_{rows.dtype.name}{suffix}")
        return pack(rows, self.gamma, np.ascontiguousarray(self.centre, dtype=np.float64), threads())

    def beside(self, X: Array) -> Points:
        """Other rows about the same centre."""
        return Points(X, self.gamma, self.centre, self.double)


def gaussian_values(x: Points, y: Points | None, out: Array) -> Array:
    """exp(−gamma |x − y|²) of rows x (n, d) and y (m, d), written to `out` (n, m), whose rows are contiguous.

    Products, differences and exponentials of a tile are made in registers. Without y: the Gram matrix of x, of which
    only the entries on and above the diagonal are promised. Cost 2 n m d flops and n m exponentials; half of that
    without y.

    >>> y = Points(np.zeros((1, 2)), 1.0, np.zeros(2))
    >>> gaussian_values(y.beside(np.eye(2)), y, np.empty((2, 1))).ravel()
    array([0.3679, 0.3679])
    """
    if kernels is None or x.rows.shape[1] > DEEPEST:
        return gaussian_values_numpy(x, y, out)
    kernels.gaussian(x.packed, x.packed if y is None else y.packed, out, threads())
    if y is None:
        np.fill_diagonal(out, 1.0)
    return out


def gaussian_values_numpy(x: Points, y: Points | None, out: Array) -> Array:
    """The twin of `gaussian_values`: one matrix product a panel, then the exponential in place.

    −gamma |x − y|² = a·b − |a|²/2 − |b|²/2   with a = √(2 gamma) (x − c), and b likewise
    """
    right = _scaled(x if y is None else y)
    level = _half_squares(right)
    n, step = len(x.rows), max(PANEL_ROWS, (1 << 19) // len(right))
    for start in range(0, n, step):
        rows, first = slice(start, min(start + step, n)), start if y is None else 0
        left = _scaled(x.beside(x.rows[rows]))
        P = left @ right[first:].T
        P -= level[first:]
        P -= _half_squares(left)[:, None]
        np.minimum(P, 0.0, out=P)
        out[rows, first:] = np.exp(P, out=P)
    if y is None:
        np.fill_diagonal(out, 1.0)
    return out


def _scaled(points: Points) -> Array:
    dtype = np.dtype(np.float64 if points.double else points.rows.dtype)
    shifted = np.asarray(points.rows, dtype=dtype) - points.centre.astype(dtype)
    return np.asarray(shifted * dtype.type(np.sqrt(2.0 * points.gamma)))


def _half_squares(A: Array) -> Array:
    return np.asarray(0.5 * np.einsum("ij,ij->i", A, A, dtype=np.float64), dtype=A.dtype)


def symmetric_product(K: Array, V: Array, workers: int | None = None) -> Array:
    """K V (n, b) in float64, of a symmetric K (n, n) in float32 or float64 of which the upper triangle is read, once.

    Each tile serves both its place and its mirror image, so half the memory of K moves. Cost 2 n² b flops, on as many
    threads as are given, or as BLAS may use.

    >>> symmetric_product(np.array([[1.0, 2.0], [np.nan, 3.0]]), np.array([[1.0], [1.0]])).ravel()
    array([3., 5.])
    """
    n, b = V.shape
    if kernels is None or not (readable(K) and K.strides[1] == K.itemsize):
        return symmetric_product_numpy(K, V)
    width = -(-b // 8) * 8
    right, left = aligned(n, width), aligned(n, width)
    right[:, :b], right[:, b:] = V, 0.0
    getattr(kernels, f"symmetric_{K.dtype.name}")(K, right, left, workers or threads())
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
