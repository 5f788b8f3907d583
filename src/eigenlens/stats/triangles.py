"""Triangles R of rows, with RᵀR their scatter, which keep the digits that a scatter loses; they merge as moments do.

Squaring halves the digits: of the smallest variance of a scatter with condition number κ, κ·1e-16 is rounding. The
triangle, found from the rows themselves, loses only √κ·1e-16.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Source
from eigenlens.stats.moments import Moments, full_rest, merge_means

MAX_CHEAP_FLOPS = 1 << 22
"""Up to n d² of this, which is a millisecond, two digits are worth a second pass over n rows of d columns."""

MAX_EXTENDED_FLOPS = 1 << 17
"""Up to n d² of this, extended precision, which no BLAS has, takes a millisecond."""


def triangle(rows: Array) -> Array:
    """Return R (r, d), r at most d, with RᵀR = rowsᵀ rows, by Householder's reflections; of few rows more exactly.

    >>> np.abs(triangle(np.array([[3.0], [4.0]])))
    array([[5.]])
    """
    if not len(rows):
        return rows
    if rows.size * rows.shape[1] <= MAX_EXTENDED_FLOPS:
        return _extended_triangle(rows)
    return np.asarray(qr(rows, mode="r", check_finite=False)[0][: rows.shape[1]])


def _extended_triangle(rows: Array) -> Array:
    """Return the triangle by Gram and Schmidt's projections, in extended precision where the machine has one."""
    A, d = rows.astype(np.longdouble), rows.shape[1]
    R = np.zeros((d, d), dtype=np.longdouble)
    for j in range(d):
        R[j, j] = np.sqrt(A[:, j] @ A[:, j])
        if R[j, j] > 0.0:
            q = A[:, j] / R[j, j]
            R[j, j + 1 :] = q @ A[:, j + 1 :]
            A[:, j + 1 :] -= q[:, None] * R[j, j + 1 :]
    return R[: len(rows)].astype(np.float64)


def row_triangle(source: Source | None, moments: Moments) -> Array | None:
    """Return the triangle (r, d) of rows about their mean; None where that costs too much, or cannot be read again."""
    if source is None or not source.in_memory or moments.rows * source.n_features**2 > MAX_CHEAP_FLOPS:
        return None
    parts = []
    for block in source.blocks():
        deviations = (np.asarray(dense(block.rows), dtype=np.float64) - moments.mean) - moments.rest
        parts.append(deviations if block.weight is None else deviations * np.sqrt(block.weight)[:, None])
    return triangle(np.concatenate(parts))


def merge_triangles(R: Array | None, a: Moments, S: Array | None, b: Moments) -> Array | None:
    """Return the triangle of the rows of two moments together, from those of each; None where one is not known."""
    if R is None or S is None:
        return None
    both = merge_means(a, b)
    return triangle(np.concatenate([R, S, (np.sqrt(both.factor) * both.delta)[None]]))


def triangle_about_zero(R: Array, moments: Moments) -> Array:
    """Return the triangle of the rows themselves, from that about their mean."""
    mean = moments.mean + full_rest(moments)
    return triangle(np.concatenate([R, np.sqrt(moments.weight) * mean[None]]))
