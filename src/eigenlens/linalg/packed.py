"""Inverses, determinants and products of many small symmetric matrices at once, stored side by side.

The lower triangle of a k×k matrix is one column of p = k (k + 1) / 2 entries, row after row, and n matrices are an
array (p, n). Each operation then runs along n, so a loop over k² entries in Python costs next to nothing.
"""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array

MAX_SWEPT_SIZE = 32
"""Up to this k operations along n are faster; beyond, one LAPACK call per matrix is."""


def packed_size(k: int) -> int:
    """Return the number of packed entries, k (k + 1) / 2."""
    return k * (k + 1) // 2


def packed_diagonal(k: int) -> Array:
    """Return the positions (k,) of the diagonal among the packed entries."""
    return np.cumsum(np.arange(1, k + 1)) - 1


def unpack_symmetric(P: Array, k: int) -> Array:
    """Return packed triangles (p, n) as full matrices (n, k, k)."""
    rows, columns = np.tril_indices(k)
    A = np.empty((P.shape[1], k, k))
    A[:, rows, columns] = P.T
    A[:, columns, rows] = P.T
    return A


def invert_packed(P: Array, k: int) -> Array:
    """Replace n positive definite matrices (p, n) by their inverses, in place; return log determinants (n,).

    By sweeping: after the sweep of pivot j, a_il ← a_il − a_ij a_jl / a_jj, which is Gauss–Jordan elimination on
    half the matrix (Goodnight 1979). Cost: k³ / 2 multiplications per matrix.

    >>> P = np.array([[2.0], [1.0], [2.0]])
    >>> invert_packed(P, 2).round(4), P.ravel().round(4)
    (array([1.0986]), array([ 0.6667, -0.3333,  0.6667]))
    """
    if k > MAX_SWEPT_SIZE:
        return _invert_by_lapack(P, k)
    starts = [packed_size(i) for i in range(k)]
    log_det = np.zeros(P.shape[1])
    column, scaled, change = (np.empty((k, P.shape[1])) for _ in range(3))
    for j in range(k):
        at = [starts[j] + i if i <= j else starts[i] + j for i in range(k)]
        np.take(P, at, axis=0, out=column)
        log_det += np.log(column[j])
        np.divide(column, column[j], out=scaled)
        for i in range(k):
            if i != j:
                row = P[starts[i] : starts[i] + i + 1]
                row -= np.multiply(column[: i + 1], scaled[i], out=change[: i + 1])
        P[at] = scaled
        np.divide(-1.0, column[j], out=P[at[j]])
    np.negative(P, out=P)
    return log_det


def _invert_by_lapack(P: Array, k: int) -> Array:
    rows, columns = np.tril_indices(k)
    A = unpack_symmetric(P, k)
    L = np.linalg.cholesky(A)
    P[...] = np.linalg.inv(A)[:, rows, columns].T
    return np.asarray(2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1))


def apply_packed(P: Array, B: Array) -> Array:
    """Return A_i b_i for each of n packed matrices (p, n) and vectors B (k, n), as (k, n).

    >>> apply_packed(np.array([[2.0], [1.0], [3.0]]), np.array([[1.0], [10.0]])).ravel()
    array([12., 31.])
    """
    Z = np.zeros_like(B)
    for i in range(len(B)):
        row = P[packed_size(i) : packed_size(i + 1)]
        Z[i] += np.einsum("jn,jn->n", row, B[: i + 1])
        Z[:i] += row[:i] * B[i]
    return Z
