"""Oblique rotations, which let factors correlate: promax, from varimax; direct oblimin and geomin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.rotation.base import (
    MAX_WEIGHT,
    Rotation,
    RotationSearch,
    best_search,
    check_search,
    rotate_within_rank,
    rotation_starts,
    unit_columns,
    unit_rows,
)
from eigenlens.rotation.orthogonal import varimax

MAX_POWER = 50.0
"""The largest power of promax: with larger ones all loadings but the largest of a factor are 0."""


def promax(L: Array, *, power: float = 4.0, normalize: bool = False, **options: Any) -> Rotation:
    """Rotate varimax loadings B by least squares towards B |B|^(power − 1), whose small loadings are smaller.

    U = (BᵀB)⁻¹ Bᵀ Q with Q = B |B|^(power − 1), columns scaled so that the factors have unit variance (Hendrickson and
    White 1964, with the choices of R's `promax`); power 4 is R's. `normalize` gives the rows of L unit length first, so
    that the target is made of normalised loadings, as psych and SPSS have it (`kPromax`). Other options are those of
    `varimax`, `polish` too.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> promax(simple).correlations
    array([[1., 0.], [0., 1.]])
    """
    power, normalize = checks.real("power", power, 1.0, MAX_POWER), checks.boolean("normalize", normalize)

    def search(A: Array) -> RotationSearch:
        A = unit_rows(A) if normalize else A
        first = varimax(A, **options)
        T = first.matrix @ promax_step(first.loadings / np.abs(first.loadings).max(), power)
        return RotationSearch(T, first.criterion, first.iterations, first.residual, first.converged)

    return rotate_within_rank(L, search)


def promax_step(B: Array, power: float) -> Array:
    """Return the V (k, k) by which promax rotates varimax loadings B (d, k), to B V⁻ᵀ."""
    U = np.linalg.lstsq(B, B * np.abs(B) ** (power - 1.0), rcond=None)[0]
    return unit_columns(np.linalg.inv(U).T)


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
    gamma = checks.real("gamma", gamma, -MAX_WEIGHT, MAX_WEIGHT)
    return rotate_within_rank(
        L, _search(partial(oblimin_criterion, gamma=gamma), _fourth_powers, kaiser, n_starts, rng, tol, max_iter)
    )


def geomin(
    L: Array,
    *,
    delta: float = 0.01,
    kaiser: bool = False,
    n_starts: int = 10,
    rng: np.random.Generator | None = None,
    tol: float = 1e-9,
    max_iter: int = 2_000,
) -> Rotation:
    """Rotate by oblique geomin (Yates 1987; Browne 2001): the T that minimises, with Λ = L T⁻ᵀ (d, k),

    f = Σ_i Π_j (λ_ij² + delta)^(1/k).

    A row costs little as soon as one of its loadings is near 0, so variables may load on several factors. delta = 0.01
    and rows that are not normalised are the defaults of GPArotation and psych; delta is meant for loadings of
    correlations. f has several minima: the lowest of `n_starts` is kept, the first from the varimax of L, the others
    random.

    Cost: O(d k²) per step.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> found = geomin(simple @ np.linalg.cholesky(np.array([[1.0, 0.5], [0.5, 1.0]])), delta=1e-4)
    >>> np.allclose(found.loadings, simple, atol=1e-3), found.correlations.round(2)
    (True, array([[1. , 0.5], [0.5, 1. ]]))
    """
    criterion = partial(geomin_criterion, delta=checks.real("delta", delta, 0.0, MAX_WEIGHT))
    return rotate_within_rank(L, _search(criterion, _squares, kaiser, n_starts, rng, tol, max_iter))


Criterion = Callable[[Array], tuple[float, Array]]
"""A criterion: loadings Λ (d, k) → its value, and its derivatives (d, k) in Λ."""


def oblimin_criterion(B: Array, gamma: float) -> tuple[float, Array]:
    """Return ¼ Σ_{j≠l} [Σ_i λ_ij² λ_il² − (gamma/d) Σ_i λ_ij² Σ_i λ_il²] and its derivatives."""
    derivatives = oblimin_derivatives(B, gamma)
    return 0.25 * float(np.sum(B * derivatives)), derivatives


def oblimin_derivatives(B: Array, gamma: float) -> Array:
    """Return the derivatives (d, k) of the criterion of oblimin; B may be complex."""
    squares = B * B
    centred = squares - gamma * squares.mean(axis=0)
    return np.asarray(B * (centred.sum(axis=1, keepdims=True) - centred))


def geomin_criterion(B: Array, delta: float) -> tuple[float, Array]:
    """Return Σ_i Π_j (λ_ij² + delta)^(1/k) and its derivatives."""
    squares = B * B + delta
    means = np.exp(np.log(squares).mean(axis=1))
    return float(means.sum()), _geomin_derivatives(B, squares, means)


def geomin_derivatives(B: Array, delta: float) -> Array:
    """Return the derivatives (d, k) of the criterion of geomin; B may be complex."""
    squares = B * B + delta
    return _geomin_derivatives(B, squares, np.exp(np.log(squares).mean(axis=1)))


def _geomin_derivatives(B: Array, squares: Array, means: Array) -> Array:
    return np.asarray((2.0 / B.shape[1]) * (B / squares) * means[:, None])


def _fourth_powers(A: Array) -> float:
    return float(np.sum(np.sum(A * A, axis=1) ** 2)) or 1.0


def _squares(A: Array) -> float:
    return float(np.sum(A * A)) or 1.0


def _search(
    criterion: Criterion, size: Callable[[Array], float], kaiser: bool, n_starts: int, rng: Any, tol: float,
    max_iter: int,
) -> Callable[[Array], RotationSearch]:  # fmt: skip
    """Return the search for the lowest minimum of a criterion, whose values are of this size."""
    rng = check_search(kaiser, n_starts, rng, tol, max_iter)

    def search(A: Array) -> RotationSearch:
        B = unit_rows(A) if kaiser else A
        problem = ObliqueProblem(B, criterion, size(B))
        first = varimax(A, polish=True).matrix
        starts = rotation_starts(A.shape[1], n_starts, rng)
        return best_search(_project_gradients(problem, first @ T, tol, max_iter) for T in starts)

    return search


@dataclass(frozen=True, eq=False)
class ObliqueProblem:
    """A criterion of Λ = A T⁻ᵀ as a function of T (k, k); `scale` is the size of its values."""

    A: Array
    criterion: Criterion
    scale: float

    def __call__(self, T: Array) -> tuple[float, Array]:
        """Return f and its gradient (k, k) in T (Jennrich 2002)."""
        inverse = np.linalg.inv(T)
        B = self.A @ inverse.T
        f, derivatives = self.criterion(B)
        return f, -(B.T @ derivatives @ inverse).T


def _project_gradients(problem: ObliqueProblem, T: Array, tol: float, max_iter: int) -> RotationSearch:
    """Minimise by gradient projection over matrices with columns of unit length, from T."""
    scale = problem.scale
    f, G = problem(T)
    P, step = _tangent(G, T), 1.0 / scale
    for iteration in range(max_iter + 1):
        residual = float(np.linalg.norm(P)) / scale
        if residual <= tol or iteration == max_iter:
            break
        before = T, P
        T, f, G = _line_search(problem, T, f, P, step)
        P = _tangent(G, T)
        moved, changed = T - before[0], P - before[1]
        curvature = abs(float(np.sum(moved * changed)))
        step = float(np.sum(moved * moved)) / curvature if curvature > 0.0 else 1.0 / scale
    return RotationSearch(T, f, iteration, residual, residual <= tol)


def _tangent(G: Array, T: Array) -> Array:
    """Return G without its components along the columns of T."""
    return np.asarray(G - T * np.sum(T * G, axis=0))


def _line_search(problem: ObliqueProblem, T: Array, f: float, P: Array, step: float) -> tuple[Array, float, Array]:
    """Return the first of step, step/2, … along −P, columns scaled to unit length, that lowers f enough (Armijo).

    T may not become singular on the way: the criterion can have its infimum there.
    """
    slope, rounding = float(np.sum(P * P)), 1e-15 * problem.scale
    for _ in range(60):
        tried = unit_columns(T - step * P)
        if np.linalg.cond(tried) < 1e12:
            value, G = problem(tried)
            if value <= f - 1e-4 * step * slope + rounding:
                break
        step *= 0.5
    else:
        tried, (value, G) = T, problem(T)
    return tried, value, G
