"""Eigenpairs of a symmetric matrix in memory: reduce once, look at all values, then make the vectors needed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import eigh, lapack

from eigenlens.arrays import Array
from eigenlens.linalg.spectrum import Wanted

__all__ = ["leading_eigenpairs"]

SMALL = 300
MANY = 1 / 6


def leading_eigenpairs(A: Array, wanted: Wanted) -> tuple[Array, Array, Array]:
    """All eigenvalues (d,), the k wanted (k,) and their vectors (d, k), descending.

    Small matrices by divide and conquer. Larger ones are reduced to tridiagonal form (4/3 d³ flops); all
    eigenvalues of that cost O(d²), and `wanted` then says how many vectors to make: few from the reduced
    form (2 d² k flops), many by divide and conquer, which is faster from about d/6 on.

    >>> values, leading, vectors = leading_eigenpairs(np.diag([1.0, 3.0, 2.0]), Wanted.exactly(1, 3))
    >>> values, leading, np.abs(vectors.ravel())
    (array([3., 2., 1.]), array([3.]), array([0., 1., 0.]))
    """
    d, total = A.shape[0], float(np.trace(A))
    if d <= SMALL:
        return _all_pairs(A, lambda values: _count(wanted, values, total))
    reduced, diagonal, off, tau = _tridiagonal(A)
    values = lapack.dsterf(diagonal, off)[0][::-1]
    k = _count(wanted, values, total)
    if k > MANY * d:
        return _all_pairs(A, lambda values: k)
    return (values, *_vectors(reduced, diagonal, off, tau, k))


def _all_pairs(A: Array, count: Callable[[Array], int]) -> tuple[Array, Array, Array]:
    ascending, vectors = eigh(A, driver="evd", check_finite=False)
    values = ascending[::-1]
    k = count(values)
    return values, values[:k], vectors[:, ::-1][:, :k]


def _count(wanted: Wanted, values: Array, total: float) -> int:
    k = wanted.choose(np.maximum(values, 0.0), total)
    return min(wanted.limit if k is None else k, wanted.limit)


def _tridiagonal(A: Array) -> tuple[Array, Array, Array, Array]:
    work, _ = lapack.dsytrd_lwork(A.shape[0], lower=1)
    reduced, diagonal, off, tau, _ = lapack.dsytrd(A, lower=1, lwork=int(work))
    return reduced, diagonal, off, tau


def _vectors(reduced: Array, diagonal: Array, off: Array, tau: Array, k: int) -> tuple[Array, Array]:
    """The k largest eigenpairs: of the tridiagonal matrix by relatively robust representations, then turned back."""
    d = diagonal.size
    padded = np.append(off, 0.0)
    found, w, z, info = lapack.dstemr(diagonal, padded, 3, 0.0, 0.0, d - k + 1, d, compute_v=1)
    if info != 0 or found != k:  # never seen; the full decomposition cannot fail this way
        w, z = eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1), subset_by_index=(d - k, d - 1))
    z = np.asfortranarray(z[:, :k])
    # The reflectors sit below the subdiagonal, as a QR factorisation of the trailing block would leave them.
    reflectors = np.asfortranarray(reduced[1:, :-1])
    turned, work, _ = lapack.dormqr("L", "N", reflectors, tau, np.asfortranarray(z[1:]), -1)
    turned, _, _ = lapack.dormqr("L", "N", reflectors, tau, np.asfortranarray(z[1:]), int(work[0]))
    z[1:] = turned
    return w[:k][::-1], z[:, ::-1]
