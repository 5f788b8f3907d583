"""Eigenpairs of a symmetric matrix in memory: reduce it once, find all values, then only the vectors needed."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
from scipy.linalg import eigh, lapack

from eigenlens.arrays import Array
from eigenlens.linalg.spectrum import Requested
from eigenlens.resources import one_thread

MAX_DIVIDE_AND_CONQUER = 300
"""Up to this size all vectors by divide and conquer cost less than a reduction and the few that are needed."""

MAX_ONE_THREAD = 640
"""Up to this size one thread is fast enough, and leaves none spinning beside the products that follow."""

MANY_VECTORS_SHARE = 1 / 6
"""From this share of the vectors on, divide and conquer is faster than one vector at a time."""


def leading_eigenpairs(A: Array, wanted: Requested) -> tuple[Array, Array, Array]:
    """Return all eigenvalues (d,), the k wanted (k,) and their vectors (d, k), descending.

    Small matrices go to divide and conquer. Larger ones are reduced to tridiagonal form (4/3 d³ flops); all eigenvalues
    of that cost O(d²), and `wanted` then decides how many vectors to make: few from the reduced form (2 d² k flops),
    many by divide and conquer, which is faster from about d/6 on.

    >>> values, leading, vectors = leading_eigenpairs(np.diag([1.0, 3.0, 2.0]), Requested.count(1, 3))
    >>> values, leading, np.abs(vectors.ravel())
    (array([3., 2., 1.]), array([3.]), array([0., 1., 0.]))
    """
    with one_thread() if A.shape[0] <= MAX_ONE_THREAD else nullcontext():
        return _all_at_once(A, wanted) if A.shape[0] <= MAX_DIVIDE_AND_CONQUER else _by_need(A, wanted)


def _all_at_once(A: Array, wanted: Requested) -> tuple[Array, Array, Array]:
    ascending, vectors = eigh(A, driver="evd", check_finite=False)
    values = ascending[::-1]
    k = _count(wanted, values, float(np.trace(A)))
    return values, values[:k], vectors[:, ::-1][:, :k]


def _by_need(A: Array, wanted: Requested) -> tuple[Array, Array, Array]:
    reduced, diagonal, off, tau = _tridiagonal(A)
    values = lapack.dsterf(diagonal, off)[0][::-1]
    k = _count(wanted, values, float(np.trace(A)))
    return (values, *_vectors(reduced, diagonal, off, tau, k))


def _count(wanted: Requested, values: Array, total: float) -> int:
    k = wanted.choose(np.maximum(values, 0.0), total)
    return min(wanted.limit if k is None else k, wanted.limit)


def _tridiagonal(A: Array) -> tuple[Array, Array, Array, Array]:
    work, _ = lapack.dsytrd_lwork(A.shape[0], lower=1)
    reduced, diagonal, off, tau, _ = lapack.dsytrd(A, lower=1, lwork=int(work))
    return reduced, diagonal, off, tau


def _vectors(reduced: Array, diagonal: Array, off: Array, tau: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenpairs: those of the tridiagonal matrix, with the vectors transformed back."""
    d = diagonal.size
    w, z = _few(diagonal, off, k) if k <= MANY_VECTORS_SHARE * d else _many(diagonal, off, k)
    # The reflectors lie below the subdiagonal, as a QR factorisation of the trailing block would leave them.
    reflectors, tail = np.asfortranarray(reduced[1:, :-1]), np.asfortranarray(z[1:])
    _, work, _ = lapack.dormqr("L", "N", reflectors, tau, tail, -1)
    z[1:], _, _ = lapack.dormqr("L", "N", reflectors, tau, tail, int(work[0]), overwrite_c=1)
    return w[::-1], z[:, ::-1]


def _few(diagonal: Array, off: Array, k: int) -> tuple[Array, Array]:
    """Return k eigenpairs by relatively robust representations, in O(d k)."""
    d = diagonal.size
    found, w, z, info = lapack.dstemr(diagonal, np.append(off, 0.0), 3, 0.0, 0.0, d - k + 1, d, compute_v=1)
    if info != 0 or found != k:
        return _many(diagonal, off, k)
    return w[:k], np.asfortranarray(z[:, :k])


def _many(diagonal: Array, off: Array, k: int) -> tuple[Array, Array]:
    """Return k eigenpairs by divide and conquer, which makes all vectors in matrix products."""
    w, z, _ = lapack.dstevd(diagonal, off, compute_v=1)
    return w[-k:], np.asfortranarray(z[:, -k:])
