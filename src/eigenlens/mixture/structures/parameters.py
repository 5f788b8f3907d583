"""The arrays that covariances are made of: the coordinates in which EM extrapolates them, and their floor.

Extrapolation needs coordinates without bounds and on comparable scales: logarithms of variances, and for covariances
the Cholesky factor with the logarithm of its diagonal, all in units of the columns' standard deviations s (d,).

The floor is a covariance (d, d), or variances (d,), that no component may be below in any direction. Where the most
likely covariance would be below, the most likely one within the floor has its eigenvalues raised, so EM still
increases the likelihood.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array

MAX_LOG_CHANGE = 3.0
"""An extrapolation changes a logarithm by at most this: a longer leap is far more often rejected than accepted."""

MAX_PIVOT_COLUMNS = 32
"""Up to this many columns, eliminating one column at a time to find the covariances below the floor saves time."""

FLOOR_FACTOR = 1.0 + 1e-3
"""A variance less than this factor above its floor counts as clamped: rounding lifts clamped ones a little."""


@dataclass(frozen=True, eq=False)
class CovarianceParameter:
    """The operations on one array, which has a first axis for S mixtures, (S, …).

    Attributes:
        size: (array) to the number p of its coordinates. to_vector: (array, s) to coordinates (S, p).
        from_vector: (coordinates, s, like) to an array of the shape of `like`, near it.
        raise_to_floor: (array, floor) to one that is nowhere below the floor.
        at_floor: (array, floor) to whether each component (S, K) is clamped at the floor.
        select_columns: (array, columns) to the array of these columns.
    """

    size: Callable[[Array], int]
    to_vector: Callable[[Array, Array], Array]
    from_vector: Callable[[Array, Array, Array], Array]
    raise_to_floor: Callable[[Array, Array], Array]
    at_floor: Callable[[Array, Array], Array]
    select_columns: Callable[[Array, Array], Array]


def raise_to_floor(C: Array, floor: Array) -> Array:
    """Return covariances (..., d, d), each raised to the floor (d, d) where it is below in some direction.

    With L Lᵀ = floor, eigenvalues of L⁻¹ C L⁻ᵀ below 1 become 1: the most likely covariance C ≥ floor.

    >>> raise_to_floor(np.diag([4.0, 1.0])[None], np.diag([2.0, 2.0]))[0]
    array([[4., 0.], [0., 2.]])
    """
    try:
        np.linalg.cholesky(C - floor)
    except np.linalg.LinAlgError:
        below, raised = _find_below(C, floor), C.copy()
        L = np.linalg.cholesky(floor)
        lam, V = np.linalg.eigh(_whiten(C[below], L))
        half = L @ (V * np.sqrt(np.maximum(lam, 1.0))[:, None, :])
        raised[below] = half @ np.swapaxes(half, 1, 2)
        return raised
    return C


def _find_below(C: Array, floor: Array) -> Array:
    """Return which covariances (..., d, d) are below in some direction: some pivot of C − floor is not positive.

    With many columns this takes longer than raising all of them, which leaves those above the floor unchanged.
    """
    A, below = C - floor, np.zeros(C.shape[:-2], dtype=bool)
    if len(floor) > MAX_PIVOT_COLUMNS:
        return ~below
    with np.errstate(all="ignore"):
        for j in range(len(floor)):
            pivot, row = A[..., j, j], A[..., j, j + 1 :]
            below |= ~(pivot > 0.0)
            A[..., j + 1 :, j + 1 :] -= (row / pivot[..., None])[..., None] * row[..., None, :]
    return below


def _whiten(C: Array, L: Array) -> Array:
    left = np.linalg.solve(L, C)
    A = np.linalg.solve(L, np.swapaxes(left, -2, -1))
    return np.asarray(0.5 * (A + np.swapaxes(A, -2, -1)))


def floor_variances(floor: Array) -> Array:
    """Return the variances (d,) of a covariance (d, d) or of variances (d,)."""
    return floor if floor.ndim == 1 else np.asarray(floor.diagonal())


# ---- covariance matrices ------------------------------------------------------------------------------------


@functools.cache
def _lower_triangle(d: int) -> tuple[Array, Array]:
    return np.tril_indices(d)


def _to_log_cholesky(C: Array, s: Array) -> Array:
    L = np.linalg.cholesky(C) / s[:, None]
    diagonal = np.einsum("...ii->...i", L)
    diagonal[...] = np.log(diagonal)
    return np.asarray(L[..., *_lower_triangle(s.size)].reshape(len(C), -1))


def _from_log_cholesky(v: Array, s: Array, like: Array) -> Array:
    L = np.zeros(like.shape)
    L[..., *_lower_triangle(s.size)] = v.reshape(*like.shape[:2], -1)
    diagonal = np.einsum("...ii->...i", L)
    near = np.log(np.einsum("...ii->...i", np.linalg.cholesky(like)) / s)
    diagonal[...] = np.exp(near + np.clip(diagonal - near, -MAX_LOG_CHANGE, MAX_LOG_CHANGE))
    L *= s[:, None]
    return np.asarray(L @ np.swapaxes(L, -2, -1))


def _matrices_at_floor(C: Array, floor: Array) -> Array:
    return np.asarray(np.linalg.eigvalsh(_whiten(C, np.linalg.cholesky(floor)))[..., 0] <= FLOOR_FACTOR)


def _triangle_entries(C: Array) -> int:
    k, d, _ = C.shape[1:]
    return int(k * d * (d + 1) // 2)


# ---- variances ----------------------------------------------------------------------------------------------


def _to_logarithms(variances: Array, s: Array) -> Array:
    return np.asarray(np.log(variances / _unit(variances, s)).reshape(len(variances), -1))


def _from_logarithms(v: Array, s: Array, like: Array) -> Array:
    near = np.log(like)
    change = v.reshape(like.shape) + np.log(_unit(like, s)) - near
    return np.asarray(np.exp(near + np.clip(change, -MAX_LOG_CHANGE, MAX_LOG_CHANGE)))


def _unit(variances: Array, s: Array) -> Array | float:
    """Return s² for variances (S, K, d), and its mean for one variance per component (S, K)."""
    return s * s if variances.ndim == 3 else float(np.mean(s * s))


def _floor_of(variances: Array, floor: Array) -> Array | float:
    each = floor_variances(floor)
    return each if variances.ndim == 3 else float(each.mean())


def _variances_at_floor(variances: Array, floor: Array) -> Array:
    clamped = variances <= _floor_of(variances, floor) * FLOOR_FACTOR
    return np.asarray(clamped.any(axis=2) if clamped.ndim == 3 else clamped)


def _raise_variances(variances: Array, floor: Array) -> Array:
    return np.maximum(variances, _floor_of(variances, floor))


def _all_variances_at_floor(variances: Array, floor: Array) -> Array:
    """Return whether all variances of a component are at the floor.

    A single one at 0, a Heywood case, need not make the covariance singular."""
    return np.asarray((variances <= _floor_of(variances, floor) * FLOOR_FACTOR).all(axis=2))


def _select_variances(variances: Array, columns: Array) -> Array:
    return variances[:, :, columns] if variances.ndim == 3 else variances


def _entries(array: Array) -> int:
    return int(array[0].size)


PARAMETERS: dict[str, CovarianceParameter] = {
    "covariances": CovarianceParameter(
        size=_triangle_entries,
        to_vector=_to_log_cholesky,
        from_vector=_from_log_cholesky,
        raise_to_floor=raise_to_floor,
        at_floor=_matrices_at_floor,
        select_columns=lambda C, columns: C[:, :, columns[:, None], columns],
    ),
    "variances": CovarianceParameter(
        _entries, _to_logarithms, _from_logarithms, _raise_variances, _variances_at_floor, _select_variances
    ),
    "uniquenesses": CovarianceParameter(
        _entries, _to_logarithms, _from_logarithms, _raise_variances, _all_variances_at_floor, _select_variances
    ),
    "loadings": CovarianceParameter(
        size=_entries,
        to_vector=lambda W, s: np.asarray((W / s[:, None]).reshape(len(W), -1)),
        from_vector=lambda v, s, like: v.reshape(like.shape) * s[:, None],
        raise_to_floor=lambda W, floor: W,
        at_floor=lambda W, floor: np.zeros(W.shape[:2], dtype=bool),
        select_columns=lambda W, columns: W[:, :, columns],
    ),
}
"""For each of S mixtures: covariances (K, d, d), or one for all (1, d, d); variances (K, d) or (K,); uniquenesses (K,
d); loadings (K, d, q)."""
