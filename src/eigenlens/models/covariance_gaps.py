"""Deviations with missing entries under any covariance, one pattern of gaps after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eigenlens.arrays import Array
from eigenlens.models.density import other_columns, rows_by_pattern

if TYPE_CHECKING:
    from eigenlens.models.covariances import Covariance

__all__ = ["expected_by_pattern", "log_density_by_pattern"]


def log_density_by_pattern(C: Covariance, deviations: Array) -> Array:
    """ln N(x_o | 0, C_oo) (n,) of deviations (n, d) in which NaN is missing; 0 where all are."""
    found = np.zeros(len(deviations))
    for mine, seen in rows_by_pattern(deviations):
        if seen.size:
            part = C.part(seen)
            z = part.whiten(deviations[mine][:, seen])
            found[mine] = np.einsum("ij,ij->i", z, z) + seen.size * np.log(2.0 * np.pi) + part.log_determinant
    return -0.5 * found


def expected_by_pattern(C: Covariance, deviations: Array) -> tuple[Array, Array]:
    """Those deviations with what is expected in the place of NaN, and its deviation there (n, d), else 0."""
    filled, spread, numbers = deviations.copy(), np.zeros(deviations.shape), np.arange(len(deviations))
    for mine, seen in rows_by_pattern(deviations):
        gaps = other_columns(seen, deviations.shape[1])
        shift, left = C.given(seen, gaps, deviations[mine][:, seen])
        where = np.ix_(numbers[mine], gaps)
        filled[where], spread[where] = shift, np.sqrt(np.maximum(left.variances, 0.0))
    return filled, spread
