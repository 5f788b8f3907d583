"""The solver "svd": singular values of the centred rows themselves, which keep what a covariance matrix loses.

Squaring halves the digits: from XᵀX, singular values below about 1e-8 of the largest are noise, and at 1e-6 of it four
digits are left. The triangular factor R with RᵀR = X̃ᵀX̃ keeps them all.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack, qr
from scipy.linalg import svd as lapack_svd

from eigenlens.arrays import Array
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient
from eigenlens.resources import interruptible, one_thread_for

MAX_CHOLESKY_STEPS = 4
"""Rows that are not nearly orthonormal after this many corrections have deficient rank and go to Householder's QR."""

SAMPLE_ROWS_PER_COLUMN = 8
"""Rows per column in the sample whose triangle is the start: Gaussian rows, whitened by it, have a condition number
near 2 (Marchenko and Pastur 1967)."""

MAX_CONDITION = 30.0
"""A whitened condition number up to this costs its Cholesky factor no more than three of its sixteen digits."""

ZERO_SINGULAR_SHARE = 1e-15
"""Singular values below this share of the largest are zero, with columns of equal length."""

MAX_JACOBI_SIZE = 64
"""Up to this many columns Jacobi's rotations take a millisecond at most."""

HOUSEHOLDER_ROWS = 1024
"""The smallest number of rows that are merged at a time: fewer spend their time on overhead."""


def svd(rows: CentredRows, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    """Return eigenpairs from singular values, to full accuracy: of the triangular factor (n ≥ d) or of X̃ itself.

    Columns go in the order of their lengths: then even values far below the rounding of the largest keep their digits,
    where they come from columns of small units (Higham 2000).
    """
    known, tall = rows.known_triangle, rows.n_rows >= rows.size
    A = known if known is not None else triangular_factor(rows) if tall else np.concatenate(list(rows.centred_blocks()))
    order = np.argsort(-np.abs(A).max(axis=0), kind="stable")
    A = _qr_triangle(A[:, order]) if tall else A[:, order]
    with one_thread_for(len(A)):
        _, s, Vt = interruptible(partial(np.linalg.svd, A, full_matrices=False), A.size)
        Vt[:, order] = Vt.copy()
        A[:, order] = A.copy()
        values, total = np.where(_differ_from_zero(A, s), s**2, 0.0), rows.trace
        k = wanted.choose(values, total)
        k = min(wanted.limit, values.size) if k is None else min(k, wanted.limit)
        V = Vt[:k].T
        residuals = np.linalg.norm(A.T @ (A @ V) - V * values[:k], axis=0) / max(values[0], np.finfo(float).tiny)
    return Spectrum(values[:k], orient(V), total, Outcome("svd", residuals=residuals))


def right_singular_vectors(A: Array) -> tuple[Array, Array]:
    """Return the singular values (r,) of A, descending, and its right singular vectors (d, r).

    Of few columns by Jacobi's rotations, which keep the digits of small values where rows or columns have different
    lengths, as those of a triangle have (Drmač and Veselić 2008); of many by bidiagonalisation.

    >>> s, V = right_singular_vectors(np.array([[3.0, 0.0], [0.0, 4.0]]))
    >>> s, np.abs(V)
    (array([4., 3.]), array([[0., 1.], [1., 0.]]))
    """
    if A.shape[1] <= min(len(A), MAX_JACOBI_SIZE):
        s, _, V, work, _, failed = lapack.dgejsv(np.asfortranarray(A), joba=0, jobu=3, jobv=0, jobp=0)
        if not failed:
            return s * (work[0] / work[1]), V
    _, s, Vt = np.linalg.svd(A, full_matrices=False)
    return s, Vt.T


def _differ_from_zero(A: Array, s: Array) -> Array:
    """Return a mask of the singular values of A that are more than rounding.

    They are as many as A has with columns of equal size: the units of the columns do not decide.
    """
    if s[-1] > ZERO_SINGULAR_SHARE * s[0]:
        return np.ones(s.size, dtype=bool)
    size = np.abs(A).max(axis=0)
    unit = lapack_svd(A / np.where(size > 0.0, size, 1.0), compute_uv=False, check_finite=False)
    return np.arange(s.size) < np.count_nonzero(unit > ZERO_SINGULAR_SHARE * unit[0])


def triangular_factor(rows: CentredRows) -> Array:
    """Return R (d, d), upper triangular, with RᵀR = X̃ᵀX̃, for n ≥ d.

    CholeskyQR with a head start: whiten the rows by the triangle so far, correct it by the Cholesky factor of what
    that leaves, one pass each, until the whitened rows are nearly orthonormal. The first triangle is that of a sample
    of rows, which mostly makes one pass enough; or else the Cholesky factor of the shifted scatter (Fukaya, Kannan,
    Nakatsukasa, Yamamoto and Yanagisawa 2020). If a factorisation breaks down (rows of deficient rank), the blocks are
    merged by Householder QR instead: slower, and always stable.
    """
    try:
        return _cholesky_qr(rows)
    except LinAlgError:
        return _householder(rows)


def _cholesky_qr(rows: CentredRows) -> Array:
    R = _sample_triangle(rows)
    for _ in range(MAX_CHOLESKY_STEPS):
        scatter = rows.whitened_scatter(R)
        with one_thread_for(rows.size):
            step = cholesky(scatter, check_finite=False)
            R = np.triu(step @ R)
        size = step.diagonal()
        if size.min() < 1e-6 * size.max():
            raise LinAlgError("too ill-conditioned for CholeskyQR")
        if size.max() < MAX_CONDITION * size.min():
            signs = np.where(R.diagonal() < 0.0, -1.0, 1.0)
            return np.asarray(R * signs[:, None] / np.sqrt(rows.divisor))
    raise LinAlgError("CholeskyQR did not converge")


def _sample_triangle(rows: CentredRows) -> Array:
    """Return the triangle of rows spread over a block; of the shifted scatter where that has deficient rank."""
    R = _qr_triangle(rows.sample(SAMPLE_ROWS_PER_COLUMN * rows.size))[: rows.size]
    size = np.abs(R.diagonal())
    if len(R) == rows.size and size.min() > 1e-14 * size.max():
        return np.asarray(R)
    S = rows.dense() * rows.divisor
    shift = 10.0 * len(S) * np.finfo(float).eps * float(np.trace(S))
    return np.asarray(cholesky(S + shift * np.eye(len(S)), check_finite=False))


def _qr_triangle(A: Array) -> Array:
    """Return R of A = QR, with as many rows as A has."""
    with one_thread_for(A.shape[1]):
        return np.asarray(interruptible(partial(qr, A, mode="r", check_finite=False), A.size)[0])


def _householder(rows: CentredRows) -> Array:
    """Return the triangle by sequential QR: each step factorises the triangle so far stacked above the next rows."""
    R = np.empty((0, rows.size))
    for block in rows.centred_blocks():
        step = max(rows.size, HOUSEHOLDER_ROWS)
        for start in range(0, len(block), step):
            stacked = np.vstack([R, block[start : start + step]])
            R = _qr_triangle(stacked)[: rows.size]
    return np.asarray(R)
