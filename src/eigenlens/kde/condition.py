"""Kernel estimates given some of the columns: points weighted by their kernels at the values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from eigenlens.arrays import Array

if TYPE_CHECKING:
    from eigenlens.kde.model import KernelEstimate


def condition_points(f: KernelEstimate, columns: Array, values: Array, rest: Array) -> tuple[Array, Array, Array]:
    """Return points, weights and bandwidth of the other columns `rest`, given the values (c,) of `columns`."""
    if f.bandwidth.ndim == 2:
        return _of_matrix(f, columns, values, rest)
    logs = np.log(f.weights)
    for j, value in zip(columns, values, strict=True):
        logs = logs + _column(f, int(j), float(value))
    return f.points[:, rest], _weights(logs), f.bandwidth[rest]


def _weights(logs: Array) -> Array:
    """Return exp(logs) scaled to a maximum of one; zeros if all are −inf."""
    most = float(logs.max())
    return np.exp(logs - most) if np.isfinite(most) else np.zeros(len(logs))


def _column(f: KernelEstimate, j: int, value: float) -> Array:
    """Return ln of each point's kernel (n,) at a value of column j, with its images, up to a constant."""
    level, factor = f.column(j).density(np.array([value]))
    with np.errstate(divide="ignore"):
        return np.asarray(level[0] + np.log(factor[0] * f.bandwidth[j]))


def _of_matrix(f: KernelEstimate, columns: Array, values: Array, rest: Array) -> tuple[Array, Array, Array]:
    """Return each point's Gaussian given the values: mean x_r + H_ro H_oo⁻¹ (v − x_o), covariance by Schur."""
    own = np.ones(len(f.points)) if f.scales is None else f.scales
    H_rr, H_ro = f.bandwidth[np.ix_(rest, rest)], f.bandwidth[np.ix_(rest, columns)]
    if not columns.size:
        return f.points[:, rest], f.weights, H_rr
    factor = cho_factor(f.bandwidth[np.ix_(columns, columns)], lower=True)
    deviations = values - f.points[:, columns]
    solved = cho_solve(factor, deviations.T).T
    logs = np.log(f.weights) - 0.5 * np.sum(deviations * solved, axis=1) / own**2 - columns.size * np.log(own)
    return f.points[:, rest] + solved @ H_ro.T, _weights(logs), H_rr - H_ro @ cho_solve(factor, H_ro.T)
