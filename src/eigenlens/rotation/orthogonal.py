"""Orthogonal rotations: varimax, quartimax and equamax, special cases of one criterion (orthomax)."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.rotation.base import (
    MAX_WEIGHT,
    Rotation,
    RotationSearch,
    as_loadings,
    best_search,
    check_search,
    rotate_within_rank,
    rotation_starts,
    unit_rows,
)

R_VARIMAX_TOL = 1e-5
"""The relative growth of the sum of singular values in one step at which R's `varimax` stops (its `eps`)."""

STALLED_SHARE = 0.01
"""R's iteration may stop at its second step, far from the maximum: where it misses this share of the criterion."""


def varimax(L: Array, *, polish: bool = False, **options: Any) -> Rotation:
    """Rotate so that the squared loadings of each column vary most (Kaiser 1958); see `orthomax` for the options.

    The iteration stops where R's `varimax`, and the programs that follow it, stop, so that published loadings are
    reproduced: on R's own examples they are within 0.003 of those at the maximum, which `polish=True` goes on to. Where
    R stops with more than 1% of the criterion still to gain, which is rare, the result is the maximum.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> mixed = simple @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> np.abs(varimax(mixed, polish=True).loadings).round(6)
    array([[0.9, 0. ], [0.8, 0. ], [0. , 0.7], [0. , 0.6]])
    """
    return orthomax(L, 1.0, polish=polish, **options)


def quartimax(L: Array, **options: Any) -> Rotation:
    """Rotate so that the squared loadings of each row vary most, often to one general factor.

    See Neuhaus and Wrigley (1954), and `orthomax` for the options.
    """
    return orthomax(L, 0.0, **options)


def equamax(L: Array, **options: Any) -> Rotation:
    """Rotate by orthomax with gamma = k/2, between varimax and columns of equal size (Saunders 1962)."""
    return orthomax(L, as_loadings(L).shape[1] / 2.0, **options)


def orthomax(
    L: Array,
    gamma: float = 1.0,
    *,
    kaiser: bool = True,
    polish: bool = True,
    n_starts: int = 1,
    rng: np.random.Generator | None = None,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> Rotation:
    """Rotate by the orthogonal T that maximises Σ_j [Σ_i b_ij⁴ − (gamma/d) (Σ_i b_ij²)²], B = L T.

    The criterion is that of Harman (1976, eq. 14.26). First comes the iteration of R's `varimax` (polar factors of the
    gradient), stopped where R stops it, so that it leads to the same maximum; then sweeps of plane rotations, each by
    its best angle in closed form (Kaiser 1959), up to the maximum. R itself stops up to 0.003 short of it, in loadings,
    on its own examples.

    Args:
        L: loadings (d, k).
        kaiser: rotate rows of unit length, so that every variable counts the same; rows of zeros stay zeros.
        polish: False returns what R's `varimax` returns, unless that is far from a maximum; with gamma above 1 the
            maximum is always sought.
        n_starts: the best of this many runs, the first from L as given and the others from random rotations by `rng`.
        tol: bound on the residual. max_iter: of the steps, and of the sweeps.

    Cost: O(d k²) per step or sweep; 5 to 20 of each.
    """

    rng = check_search(kaiser, n_starts, rng, tol, max_iter)
    gamma, polish = checks.real("gamma", gamma, -MAX_WEIGHT, MAX_WEIGHT), checks.boolean("polish", polish)

    def maximise(B: Array, T: Array) -> RotationSearch:
        if gamma > 1.0:  # polar steps may then lower the criterion, or stand still
            return _plane_sweeps(B, T, gamma, tol, max_iter)
        near, steps = _polar_steps(B, T, gamma, max_iter)
        stop = RotationSearch(near, -_orthomax_value(B @ near, gamma), steps, R_VARIMAX_TOL, steps < max_iter)
        if not polish and not stop.converged:
            return stop
        higher = max(T, near, key=lambda start: _orthomax_value(B @ start, gamma))
        best = _plane_sweeps(B, higher, gamma, tol, max_iter)
        return best if polish or stop.value > (1.0 - STALLED_SHARE) * best.value else stop

    def search(A: Array) -> RotationSearch:
        B = unit_rows(A) if kaiser else A
        found = best_search(maximise(B, T) for T in rotation_starts(A.shape[1], n_starts, rng))
        return replace(found, value=-found.value)

    return rotate_within_rank(L, search)


def _orthomax_value(B: Array, gamma: float) -> float:
    squares = B * B
    return float(np.sum(squares**2) - gamma / len(B) * np.sum(squares.sum(axis=0) ** 2))


def _polar_steps(A: Array, T: Array, gamma: float, max_iter: int) -> tuple[Array, int]:
    """Iterate T ← polar factor of Aᵀ (B³ − gamma B diag(mean B²)), B = A T, as R does; return T and the steps taken."""
    before, total, step = 0.0, np.inf, 0
    while total >= before * (1.0 + R_VARIMAX_TOL) and step < max_iter:
        B, before, step = A @ T, total if step else 0.0, step + 1
        U, values, Vt = np.linalg.svd(A.T @ (B**3 - gamma * B * np.mean(B * B, axis=0)))
        T, total = U @ Vt, float(values.sum())
    return T, step


def _plane_sweeps(A: Array, T: Array, gamma: float, tol: float, max_iter: int) -> RotationSearch:
    """Rotate every pair of columns by its best angle, sweep after sweep; the criterion never falls."""
    B, T = np.ascontiguousarray((A @ T).T), np.ascontiguousarray(T.T)
    scale = float(np.sum(np.sum(A * A, axis=1) ** 2)) or 1.0
    residual, sweep = np.inf, 0
    while residual > tol and sweep < max_iter:
        residual, sweep = 0.0, sweep + 1
        for j, l in combinations(range(len(B)), 2):
            angle, slope = _plane_angle(B[j], B[l], gamma)
            residual = max(residual, slope / scale)
            if slope > 0.1 * tol * scale:
                plane = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
                B[[j, l]], T[[j, l]] = plane @ B[[j, l]], plane @ T[[j, l]]
    T = _orthonormal(T.T)
    return RotationSearch(T, -_orthomax_value(A @ T, gamma), sweep, residual, residual <= tol)


def _plane_angle(x: Array, y: Array, gamma: float) -> tuple[float, float]:
    """Return the best angle for two columns, and the slope of the criterion at 0 (at a minimum: how deep it is).

    With u = x² − y², v = 2xy the criterion is a constant + ¼ (p cos 4φ + q sin 4φ), p = Σ(u² − v²) − (gamma/d)((Σu)² −
    (Σv)²), q = 2 Σ uv − 2 (gamma/d) Σu Σv: highest at φ = ¼ atan2(q, p).
    """
    u, v = x * x - y * y, 2.0 * x * y
    share, U, V = gamma / x.size, float(u.sum()), float(v.sum())
    p = float(u @ u - v @ v) - share * (U * U - V * V)
    q = 2.0 * float(u @ v) - 2.0 * share * U * V
    return float(np.arctan2(q, p)) / 4.0, abs(q) if p > 0.0 else float(np.hypot(p, q))


def _orthonormal(T: Array) -> Array:
    """Return the orthogonal matrix nearest to T: after many plane rotations rounding errors have added up."""
    U, _, Vt = np.linalg.svd(T)
    return np.asarray(U @ Vt)
