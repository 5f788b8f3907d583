"""The arrays that the covariances of K components are made of: how each is bounded, and how it is extrapolated.

Extrapolation needs coordinates without bounds and on comparable scales: logarithms of variances, covariances by the
logarithm of the diagonal of their Cholesky factor, all in units of the columns' deviations s (d,).

The bound is a covariance `least` (d, d), or variances (d,), that no component may be below in any direction. Where the
likeliest covariance would be, the likeliest one within the bound has its eigenvalues raised: so EM still climbs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array

__all__ = ["PARAMETERS", "CovarianceParameter", "floor_variances", "raise_to_floor"]

MAX_LOG_CHANGE = 3.0
"""No logarithm is extrapolated further than this."""

MAX_PIVOT_COLUMNS = 32
"""Up to so many it is worth looking for the covariances that are below the bound."""

FLOOR_FACTOR = 1.0 + 1e-3
"""What is above its bound by less than this factor is held by it."""


@dataclass(frozen=True, eq=False)
class CovarianceParameter:
    """What can be done with one array.

    Attributes:
        size: (array) to the number p of its coordinates. vector: (array, s) to coordinates (S, p).
        array: (coordinates, s, like) to an array of the shape of `like`, near it.
        bounded: (array, least) to one that keeps the bound. held: (array, least) to which components it holds (S, K).
        some: (array, columns) to that of these columns.

    Arrays are those of S mixtures, (S, …).
    """

    size: Callable[[Array], int]
    vector: Callable[[Array, Array], Array]
    array: Callable[[Array, Array, Array], Array]
    bounded: Callable[[Array, Array], Array]
    held: Callable[[Array, Array], Array]
    some: Callable[[Array, Array], Array]


def raise_to_floor(C: Array, least: Array) -> Array:
    """Covariances (..., d, d), each raised to `least` (d, d) where it is below in some direction.

    With L Lᵀ = least, eigenvalues of L⁻¹ C L⁻ᵀ below 1 become 1: the likeliest covariance C ≥ least.

    >>> raise_to_floor(np.diag([4.0, 1.0])[None], np.diag([2.0, 2.0]))[0]
    array([[4., 0.], [0., 2.]])
    """
    try:
        np.linalg.cholesky(C - least)
    except np.linalg.LinAlgError:
        low, found = _below(C, least), C.copy()
        L = np.linalg.cholesky(least)
        lam, V = np.linalg.eigh(_whitened(C[low], L))
        half = L @ (V * np.sqrt(np.maximum(lam, 1.0))[:, None, :])
        found[low] = half @ np.swapaxes(half, 1, 2)
        return found
    return C


def _below(C: Array, least: Array) -> Array:
    """Which of the covariances (..., d, d) are below in some direction: of C − least some pivot is not positive.

    Where columns are many that would take longer than to raise those that need not be raised, which changes nothing.
    """
    A, low = C - least, np.zeros(C.shape[:-2], dtype=bool)
    if len(least) > MAX_PIVOT_COLUMNS:
        return ~low
    with np.errstate(all="ignore"):
        for j in range(len(least)):
            pivot, row = A[..., j, j], A[..., j, j + 1 :]
            low |= ~(pivot > 0.0)
            A[..., j + 1 :, j + 1 :] -= (row / pivot[..., None])[..., None] * row[..., None, :]
    return low


def _whitened(C: Array, L: Array) -> Array:
    left = np.linalg.solve(L, C)
    A = np.linalg.solve(L, np.swapaxes(left, -2, -1))
    return np.asarray(0.5 * (A + np.swapaxes(A, -2, -1)))


def floor_variances(least: Array) -> Array:
    """The variances (d,) of a bound."""
    return least if least.ndim == 1 else np.asarray(least.diagonal())


# ---- covariance matrices ------------------------------------------------------------------------------------


@functools.cache
def _lower(d: int) -> tuple[Array, Array]:
    return np.tril_indices(d)


def _log_cholesky(C: Array, s: Array) -> Array:
    L = np.linalg.cholesky(C) / s[:, None]
    diagonal = np.einsum("...ii->...i", L)
    diagonal[...] = np.log(diagonal)
    return np.asarray(L[..., *_lower(s.size)].reshape(len(C), -1))


def _from_log_cholesky(v: Array, s: Array, like: Array) -> Array:
    L = np.zeros(like.shape)
    L[..., *_lower(s.size)] = v.reshape(*like.shape[:2], -1)
    diagonal = np.einsum("...ii->...i", L)
    near = np.log(np.einsum("...ii->...i", np.linalg.cholesky(like)) / s)
    diagonal[...] = np.exp(near + np.clip(diagonal - near, -MAX_LOG_CHANGE, MAX_LOG_CHANGE))
    L *= s[:, None]
    return np.asarray(L @ np.swapaxes(L, -2, -1))


def _held_matrices(C: Array, least: Array) -> Array:
    return np.asarray(np.linalg.eigvalsh(_whitened(C, np.linalg.cholesky(least)))[..., 0] <= FLOOR_FACTOR)


def _triangles(C: Array) -> int:
    k, d, _ = C.shape[1:]
    return int(k * d * (d + 1) // 2)


# ---- variances ----------------------------------------------------------------------------------------------


def _logarithms(variances: Array, s: Array) -> Array:
    return np.asarray(np.log(variances / _unit(variances, s)).reshape(len(variances), -1))


def _from_logarithms(v: Array, s: Array, like: Array) -> Array:
    near = np.log(like)
    change = v.reshape(like.shape) + np.log(_unit(like, s)) - near
    return np.asarray(np.exp(near + np.clip(change, -MAX_LOG_CHANGE, MAX_LOG_CHANGE)))


def _unit(variances: Array, s: Array) -> Array | float:
    """s² beside variances (S, K, d); their mean beside one variance a component (S, K)."""
    return s * s if variances.ndim == 3 else float(np.mean(s * s))


def _least(variances: Array, least: Array) -> Array | float:
    each = floor_variances(least)
    return each if variances.ndim == 3 else float(each.mean())


def _held_variances(variances: Array, least: Array) -> Array:
    held = variances <= _least(variances, least) * FLOOR_FACTOR
    return np.asarray(held.any(axis=2) if held.ndim == 3 else held)


def _raised_variances(variances: Array, least: Array) -> Array:
    return np.maximum(variances, _least(variances, least))


def _held_altogether(variances: Array, least: Array) -> Array:
    """One variance may be 0 and the covariance not singular: a column that is the factor itself (Heywood)."""
    return np.asarray((variances <= _least(variances, least) * FLOOR_FACTOR).all(axis=2))


def _some_variances(variances: Array, columns: Array) -> Array:
    return variances[:, :, columns] if variances.ndim == 3 else variances


def _entries(array: Array) -> int:
    return int(array[0].size)


PARAMETERS: dict[str, CovarianceParameter] = {
    "covariances": CovarianceParameter(
        _triangles,
        _log_cholesky,
        _from_log_cholesky,
        raise_to_floor,
        _held_matrices,
        lambda C, j: C[:, :, j[:, None], j],
    ),
    "variances": CovarianceParameter(
        _entries, _logarithms, _from_logarithms, _raised_variances, _held_variances, _some_variances
    ),
    "uniquenesses": CovarianceParameter(
        _entries, _logarithms, _from_logarithms, _raised_variances, _held_altogether, _some_variances
    ),
    "loadings": CovarianceParameter(
        _entries,
        lambda W, s: np.asarray((W / s[:, None]).reshape(len(W), -1)),
        lambda v, s, like: v.reshape(like.shape) * s[:, None],
        lambda W, least: W,
        lambda W, least: np.zeros(W.shape[:2], dtype=bool),
        lambda W, columns: W[:, :, columns],
    ),
}
"""Of each of S mixtures: covariances (K, d, d), or one of all (1, d, d); variances (K, d) or (K,); uniquenesses (K, d);
loadings (K, d, q)."""
