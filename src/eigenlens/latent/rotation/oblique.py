"""Oblique rotations, which let factors correlate: promax, from varimax, and direct oblimin."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.latent.rotation.base import (
    Rotation,
    RotationSearch,
    best_search,
    rotate_within_rank,
    rotation_starts,
    unit_columns,
    unit_rows,
)
from eigenlens.latent.rotation.orthogonal import varimax


def promax(L: Array, *, power: float = 4.0, **options: Any) -> Rotation:
    """Rotate varimax loadings B by least squares towards B |B|^(power − 1), whose small loadings are smaller.

    U = (BᵀB)⁻¹ Bᵀ Q with Q = B |B|^(power − 1), columns scaled so that the factors have unit variance (Hendrickson and
    White 1964, with the choices of R's `promax`); power 4 is R's. Other options are those of `varimax`, `polish` too.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> promax(simple).correlations
    array([[1., 0.], [0., 1.]])
    """

    def search(A: Array) -> RotationSearch:
        first = varimax(A, **options)
        B = first.loadings
        U = np.linalg.lstsq(B, B * np.abs(B) ** (power - 1.0), rcond=None)[0]
        T = first.matrix @ unit_columns(np.linalg.inv(U).T)
        return RotationSearch(T, first.criterion, first.iterations, first.residual, first.converged)

    return rotate_within_rank(L, search)


def oblimin(
    L: Array,
    *,
    gamma: float = 0.0,
    kaiser: bool = False,
    n_starts: int = 1,
    rng: np.random.Generator | None = None,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Rotation:
    """Rotate by direct oblimin (Jennrich and Sampson 1966): the oblique T that minimises, with Λ = L T⁻ᵀ,

    f = ¼ Σ_{j≠l} [Σ_i λ_ij² λ_il² − (gamma/d) Σ_i λ_ij² Σ_i λ_il²].

    gamma = 0 is quartimin, the default of GPArotation and psych, as are rows that are not normalised; SPSS normalises
    (`kaiser=True`). Above 0 factors correlate more, and f may have no minimum. The minimum is found by gradient
    projection (Jennrich 2002) with Barzilai–Borwein steps and a line search. The first start is the varimax of L, so
    that the result does not depend on how L was rotated; the others (`n_starts`) are random.

    Cost: O(d k²) per step.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> oblique = simple @ np.linalg.cholesky(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> found = oblimin(oblique)
    >>> np.allclose(found.loadings, simple, atol=1e-6), found.correlations.round(3)
    (True, array([[1. , 0.5], [0.5, 1. ]]))
    """

    def search(A: Array) -> RotationSearch:
        B = unit_rows(A) if kaiser else A
        first = varimax(A, polish=True).matrix
        starts = rotation_starts(A.shape[1], n_starts, rng)
        return best_search(_project_gradients(B, first @ T, gamma, tol, max_iter) for T in starts)

    return rotate_within_rank(L, search)


def _oblimin_value(A: Array, T: Array, gamma: float) -> tuple[float, Array]:
    """Return f and its gradient (k, k) in T, with Λ = A T⁻ᵀ (Jennrich 2002)."""
    inverse = np.linalg.inv(T)
    B = A @ inverse.T
    squares = B * B
    centred = squares - gamma * squares.mean(axis=0)
    others = centred.sum(axis=1, keepdims=True) - centred
    G = -(B.T @ (B * others) @ inverse).T
    return 0.25 * float(np.sum(squares * others)), G


def _project_gradients(A: Array, T: Array, gamma: float, tol: float, max_iter: int) -> RotationSearch:
    """Minimise by gradient projection over matrices with columns of unit length, from T."""
    scale = float(np.sum(np.sum(A * A, axis=1) ** 2)) or 1.0
    f, G = _oblimin_value(A, T, gamma)
    P, step = _tangent(G, T), 1.0 / scale
    for iteration in range(max_iter + 1):
        residual = float(np.linalg.norm(P)) / scale
        if residual <= tol or iteration == max_iter:
            break
        before = T, P
        T, f, G = _line_search(A, T, f, P, step, gamma, scale)
        P = _tangent(G, T)
        moved, changed = T - before[0], P - before[1]
        curvature = abs(float(np.sum(moved * changed)))
        step = float(np.sum(moved * moved)) / curvature if curvature > 0.0 else 1.0 / scale
    return RotationSearch(T, f, iteration, residual, residual <= tol)


def _tangent(G: Array, T: Array) -> Array:
    """Return G without its components along the columns of T."""
    return np.asarray(G - T * np.sum(T * G, axis=0))


def _line_search(
    A: Array, T: Array, f: float, P: Array, step: float, gamma: float, scale: float
) -> tuple[Array, float, Array]:
    """Return the first of step, step/2, … along −P, columns scaled to unit length, that lowers f enough (Armijo).

    T may not become singular on the way: the criterion can have its infimum there.
    """
    slope, rounding = float(np.sum(P * P)), 1e-15 * scale
    for _ in range(60):
        tried = unit_columns(T - step * P)
        if np.linalg.cond(tried) < 1e12:
            value, G = _oblimin_value(A, tried, gamma)
            if value <= f - 1e-4 * step * slope + rounding:
                break
        step *= 0.5
    else:
        tried, (value, G) = T, _oblimin_value(A, T, gamma)
    return tried, value, G
