"""Routines of LAPACK called without Python's lock, so that other threads, and Ctrl-C, are answered meanwhile.

SciPy's wrappers of these routines hold the lock until they return: minutes, for a matrix of 10,000 columns. The same
routines have addresses for Cython, which `ctypes` calls without the lock. Where the addresses are not those that are
expected here, SciPy's wrappers do the work.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cython_lapack, lapack

from eigenlens.arrays import Array
from eigenlens.resources import interruptible

MIN_UNLOCKED_SIZE = 500
"""Matrices with fewer columns take less than a tenth of a second."""

MAX_DIVIDED_SIZE = 46_338
"""Up to this size d the 1 + 4 d + d² numbers of dstevd's work space can be counted by integers of 32 bits."""


def tridiagonal_form(A: Array) -> tuple[Array, Array, Array, Array]:
    """Return Q T Qᵀ = A, A (d, d) symmetric: the reflectors of Q (d, d) and tau, T's diagonal and what is off it.

    As dsytrd leaves them: (reflectors, diagonal, off, tau), reflectors below the subdiagonal.
    """
    d, (work, _) = len(A), lapack.dsytrd_lwork(len(A), lower=1)
    call = _routine("dsytrd", 10) if d >= MIN_UNLOCKED_SIZE else None
    if call is None:
        return lapack.dsytrd(A, lower=1, lwork=int(work))[:4]
    reduced = np.array(A, dtype=np.float64, order="F")
    diagonal, off, tau, space = (np.empty(size) for size in (d, d - 1, d - 1, int(work)))
    interruptible(lambda: call("L", d, reduced, d, diagonal, off, tau, space, len(space), 0))
    return reduced, diagonal, off, tau


def times_reflectors(reflectors: Array, tau: Array, C: Array) -> Array:
    """Return Q C for C (d, k), Q the product of reflectors (d, m); both in column order, and C is overwritten."""
    _, size, _ = lapack.dormqr("L", "N", reflectors, tau, C, -1)
    call = _routine("dormqr", 13) if len(C) >= MIN_UNLOCKED_SIZE else None
    if call is None:
        return np.asarray(lapack.dormqr("L", "N", reflectors, tau, C, int(size[0]), overwrite_c=1)[0])
    (d, k), space = C.shape, np.empty(int(size[0]))
    interruptible(lambda: call("L", "N", d, k, tau.size, reflectors, len(reflectors), tau, C, d, space, len(space), 0))
    return C


def divide_and_conquer(diagonal: Array, off: Array) -> tuple[Array, Array]:
    """Return all eigenvalues (d,), ascending, and vectors (d, d) of a tridiagonal matrix, by dstevd."""
    d = diagonal.size
    if d > MAX_DIVIDED_SIZE:
        raise LinAlgError(f"divide and conquer takes at most {MAX_DIVIDED_SIZE:,} columns, and there are {d:,}")
    call = _routine("dstevd", 11) if d >= MIN_UNLOCKED_SIZE else None
    if call is None:
        w, z, info = lapack.dstevd(diagonal, off, compute_v=1)
    else:
        w, rest, z = diagonal.copy(), np.append(off, 0.0), np.empty((d, d), order="F")
        space, places = np.empty(1 + 4 * d + d * d), np.empty(3 + 5 * d, dtype=np.intc)
        status = np.zeros(1, dtype=np.intc)
        interruptible(lambda: call("V", d, w, rest, z, d, space, len(space), places, len(places), status))
        info = status[0]
    _require_success("dstevd", info, w)
    return w, z


def tridiagonal_eigenvalues(diagonal: Array, off: Array) -> Array:
    """Return all eigenvalues (d,) of a tridiagonal matrix, ascending, by dsterf.

    >>> tridiagonal_eigenvalues(np.array([2.0, 2.0]), np.array([1.0]))
    array([1., 3.])
    """
    d = diagonal.size
    call = _routine("dsterf", 4) if d >= MIN_UNLOCKED_SIZE else None
    if call is None:
        w, info = lapack.dsterf(diagonal, off)
    else:
        w, rest, status = diagonal.copy(), off.copy(), np.zeros(1, dtype=np.intc)
        interruptible(lambda: call(d, w, rest, status))
        info = status[0]
    _require_success("dsterf", info, w)
    return np.asarray(w)


def largest_tridiagonal_eigenpairs(diagonal: Array, off: Array, k: int) -> tuple[Array, Array] | None:
    """Return the k largest eigenvalues (k,), ascending, and vectors (d, k) of a tridiagonal matrix, in O(d k).

    By relatively robust representations, dstemr; None where it fails.
    """
    d, rest = diagonal.size, np.append(off, 0.0)
    call = _routine("dstemr", 21) if d >= MIN_UNLOCKED_SIZE else None
    if call is None:
        found, w, z, info = lapack.dstemr(diagonal, rest, 3, 0.0, 0.0, d - k + 1, d, compute_v=1)
    else:
        w, z, support = np.empty(d), np.empty((d, k), order="F"), np.empty(2 * k, dtype=np.intc)
        space, places, counts = np.empty(18 * d), np.empty(10 * d, dtype=np.intc), np.zeros((2, 1), dtype=np.intc)
        ends, own = np.zeros((2, 1)), diagonal.copy()
        interruptible(
            lambda: call(
                "V", "I", d, own, rest, ends[0], ends[1], d - k + 1, d, counts[0], w, z, d, k, support, 1,
                space, len(space), places, len(places), counts[1],
            )
        )  # fmt: skip
        found, info = counts[:, 0]
    return (w[:k], np.asfortranarray(z[:, :k])) if info == 0 and found == k else None


def _require_success(routine: str, info: int, values: Array) -> None:
    """Raise LinAlgError unless a routine found all eigenvalues: infinite entries give NaN without a word."""
    if info != 0 or not np.isfinite(values).all():
        raise LinAlgError(f"{routine} of LAPACK did not find the eigenvalues of {values.size:,} columns")


@cache
def _routine(name: str, n_arguments: int) -> Any:
    """Return a function of numbers, letters and arrays that calls a routine; None where it is not as expected."""
    capsule = getattr(cython_lapack, "__pyx_capi__", {}).get(name)
    if capsule is None:
        return None
    name_of, address_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address_of.restype, address_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature = name_of(capsule)
    if signature.count(b"*") != n_arguments or b" int *" not in signature or b"int64" in signature:
        return None  # a build with integers of 64 bits, or of another signature
    routine = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(address_of(capsule, signature))
    return lambda *arguments: routine(*map(_pointer, arguments))


def _pointer(value: str | int | Array) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.ctypes.data)
    return ctypes.cast(
        ctypes.pointer(ctypes.c_char(value.encode()) if isinstance(value, str) else ctypes.c_int(value)),
        ctypes.c_void_p,
    )
