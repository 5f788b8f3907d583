"""Eigenpairs of a symmetric matrix in memory: reduce it once, find all values, then only the vectors needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.gpu.eigen import device_eigenpairs
from eigenlens.gpu.runtime import on_device
from eigenlens.linalg.spectrum import Requested
from eigenlens.linalg.unlocked_lapack import (
    MAX_DIVIDED_SIZE,
    divide_and_conquer,
    largest_tridiagonal_eigenpairs,
    times_reflectors,
    tridiagonal_eigenvalues,
    tridiagonal_form,
)
from eigenlens.resources import MAX_UNTHREADED, interruptible_call, one_thread_for

MAX_DIVIDE_AND_CONQUER = 300
"""Up to this size all vectors by divide and conquer cost less than a reduction and those that are needed."""

FEW_VECTORS_SHARE = 1 / 15
"""Up to this share of the vectors, the reduction and the few that are needed cost less from `MAX_UNTHREADED` on."""

MIN_DEVICE_SIZE = 128
"""From this size on a device is faster than the processor, the copies included."""

MANY_VECTORS_SHARE = 1 / 6
"""From this share of the vectors on, divide and conquer is faster than one vector at a time."""


def leading_eigenpairs(
    A: Array, wanted: Requested, all_values: bool = False, *, near: Any = None
) -> tuple[Array, Array, Array]:
    """Return the eigenvalues found, the k wanted (k,) and their vectors (d, k), descending.

    With `all_values`, or where their number depends on them, all eigenvalues (d,) are found.

    Small matrices go to divide and conquer. Larger ones, and those of which few vectors are wanted, are reduced to
    tridiagonal form (4/3 d³ flops); all eigenvalues of that cost O(d²), and `wanted` then decides how many vectors to
    make: few from the reduced form (2 d² k flops), many by divide and conquer, which is faster from about d/6 on.
    Where `near` is a tensor on a device, large ones are computed there.

    >>> values, leading, vectors = leading_eigenpairs(np.diag([1.0, 3.0, 2.0]), Requested.count(1, 3), all_values=True)
    >>> values, leading, np.abs(vectors.ravel())
    (array([3., 2., 1.]), array([3.]), array([0., 1., 0.]))
    """
    if len(A) >= MIN_DEVICE_SIZE and on_device(near):
        return device_eigenpairs(A, near, lambda values: _count(wanted, values, float(np.trace(A))))
    with one_thread_for(len(A)):
        if len(A) > MAX_DIVIDE_AND_CONQUER or _few_of(A, wanted):
            return _by_need(A, wanted, all_values or wanted.fixed_count is None)
        return _all_at_once(A, wanted)


def _few_of(A: Array, wanted: Requested) -> bool:
    k = wanted.fixed_count
    return k is not None and len(A) > MAX_UNTHREADED and 0 < k <= FEW_VECTORS_SHARE * len(A)


def _all_at_once(A: Array, wanted: Requested) -> tuple[Array, Array, Array]:
    ascending, vectors = interruptible_call(np.linalg.eigh, A)
    values = ascending[::-1]
    k = _count(wanted, values, float(np.trace(A)))
    return values, values[:k], vectors[:, ::-1][:, :k]


def _by_need(A: Array, wanted: Requested, all_values: bool) -> tuple[Array, Array, Array]:
    reduced, diagonal, off, tau = tridiagonal_form(A)
    values = tridiagonal_eigenvalues(diagonal, off)[::-1] if all_values else np.empty(0)
    k = _count(wanted, values, float(np.trace(A)))
    leading, vectors = _vectors(reduced, diagonal, off, tau, k)
    return values if all_values else leading, leading, vectors


def _count(wanted: Requested, values: Array, total: float) -> int:
    k = wanted.choose(np.maximum(values, 0.0), total)
    return min(wanted.limit if k is None else k, wanted.limit)


def _vectors(reduced: Array, diagonal: Array, off: Array, tau: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenpairs: those of the tridiagonal matrix, with the vectors transformed back."""
    d = diagonal.size
    one_by_one = k <= MANY_VECTORS_SHARE * d or d > MAX_DIVIDED_SIZE
    few = largest_tridiagonal_eigenpairs(diagonal, off, k) if one_by_one else None
    w, z = _many(diagonal, off, k) if few is None else few
    # The reflectors lie below the subdiagonal, as a QR factorisation of the trailing block would leave them.
    reflectors, tail = np.asfortranarray(reduced[1:, :-1]), np.asfortranarray(z[1:])
    z[1:] = times_reflectors(reflectors, tau, tail)
    return w[::-1], z[:, ::-1]


def _many(diagonal: Array, off: Array, k: int) -> tuple[Array, Array]:
    """Return k eigenpairs by divide and conquer, which makes all vectors in matrix products."""
    w, z = divide_and_conquer(diagonal, off)
    return w[-k:], np.asfortranarray(z[:, -k:])
