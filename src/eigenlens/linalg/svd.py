"""The triangular factor of centred rows, which keeps the singular values that a covariance matrix loses.

Squaring halves the digits: from XᵀX, singular values below about 1e-8 of the largest are noise, and at 1e-6
of it four digits are left. R with RᵀR = X̃ᵀX̃ keeps them all.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr

from eigenlens.arrays import Array
from eigenlens.linalg.operators import CentredRows

__all__ = ["triangular_factor"]

MAX_CHOLESKY_STEPS = 4
SAMPLE_ROWS_PER_COLUMN = 8
MAX_CONDITION = 30.0
"""A whitened condition number up to this costs its Cholesky factor no more than three of its sixteen digits."""


def triangular_factor(rows: CentredRows) -> Array:
    """R (d, d), upper triangular, with RᵀR = X̃ᵀX̃, for n ≥ d.

    CholeskyQR with a head start: whiten the rows by the triangle so far, correct it by the Cholesky factor of what
    that leaves, a pass each, until the whitened rows are nearly orthonormal. The first triangle is that of a sample
    of rows, which mostly makes one pass enough; or else the Cholesky factor of the shifted scatter (Fukaya,
    Kannan, Nakatsukasa, Yamamoto and Yanagisawa 2020). If a factorisation breaks down (rows of deficient rank), the
    blocks are merged by Householder QR instead: slower, and always stable.
    """
    try:
        return _cholesky_qr(rows)
    except LinAlgError:
        return _householder(rows)


def _cholesky_qr(rows: CentredRows) -> Array:
    R = _sampled(rows)
    for _ in range(MAX_CHOLESKY_STEPS):
        step = cholesky(rows.whitened_moments(R).scatter, check_finite=False)
        size = step.diagonal()
        if size.min() < 1e-6 * size.max():
            raise LinAlgError("too ill-conditioned for CholeskyQR")
        R = np.triu(step @ R)
        if size.max() < MAX_CONDITION * size.min():
            signs = np.where(R.diagonal() < 0.0, -1.0, 1.0)
            return np.asarray(R * signs[:, None] / np.sqrt(rows.divisor))
    raise LinAlgError("CholeskyQR did not settle")


def _sampled(rows: CentredRows) -> Array:
    """The triangle of some rows, spread over a block; of the shifted scatter where that has deficient rank."""
    R = qr(rows.sample(SAMPLE_ROWS_PER_COLUMN * rows.size), mode="r", check_finite=False)[0][: rows.size]
    size = np.abs(R.diagonal())
    if len(R) == rows.size and size.min() > 1e-14 * size.max():
        return np.asarray(R)
    S = rows.dense() * rows.divisor
    shift = 10.0 * len(S) * np.finfo(float).eps * float(np.trace(S))
    return np.asarray(cholesky(S + shift * np.eye(len(S)), check_finite=False))


def _householder(rows: CentredRows) -> Array:
    """Sequential QR: the triangle so far on top of the next rows, one more triangle."""
    R = np.empty((0, rows.size))
    for block in rows.centred_blocks():
        for start in range(0, len(block), max(rows.size, 1024)):
            stacked = np.vstack([R, block[start : start + max(rows.size, 1024)]])
            R = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][: rows.size]
    return np.asarray(R)
