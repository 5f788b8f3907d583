"""The triangular factor of centred rows, which keeps the singular values that a covariance matrix loses.

Squaring halves the digits: from XᵀX, singular values below about 1e-8 of the largest are noise, and at 1e-6
of it four digits are left. R with RᵀR = X̃ᵀX̃ keeps them all.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cholesky, qr

from eigenlens.arrays import Array
from eigenlens.linalg.operators import CentredRows

__all__ = ["triangle"]


def triangle(rows: CentredRows) -> Array:
    """R (d, d), upper triangular, with RᵀR = X̃ᵀX̃, for n ≥ d.

    Shifted CholeskyQR3 (Fukaya, Kannan, Nakatsukasa, Yamamoto and Yanagisawa 2020): three passes of moments, each
    over rows whitened by the triangles before. If a Cholesky factorisation breaks down (rows of deficient rank), the
    blocks are merged by Householder QR instead: slower, and always stable.
    """
    try:
        return _cholesky_qr(rows)
    except LinAlgError:
        return _householder(rows)


def _cholesky_qr(rows: CentredRows) -> Array:
    S = rows.dense() * rows.divisor
    shift = 10.0 * S.shape[0] * np.finfo(float).eps * float(np.trace(S))
    R = np.asfortranarray(cholesky(S + shift * np.eye(len(S)), check_finite=False))
    triangles = [R]
    for _ in range(2):
        scatter = rows.whitened_moments(triangles).scatter
        step = np.asfortranarray(cholesky(scatter, check_finite=False))
        if step.diagonal().min() < 1e-6 * step.diagonal().max():
            raise LinAlgError("too ill-conditioned for CholeskyQR")
        triangles.append(step)
        R = step @ R
    return np.asarray(np.triu(R) / np.sqrt(rows.divisor))


def _householder(rows: CentredRows) -> Array:
    """Sequential QR: the triangle so far on top of the next rows, one more triangle."""
    R = np.empty((0, rows.size))
    for block in rows.centred_blocks():
        for start in range(0, len(block), max(rows.size, 1024)):
            stacked = np.vstack([R, block[start : start + max(rows.size, 1024)]])
            R = qr(stacked, mode="r", overwrite_a=True, check_finite=False)[0][: rows.size]
    return np.asarray(R)
