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

__all__ = ["PARTS", "Part", "diagonal_of", "raised"]

FARTHEST = 3.0
"""No logarithm is extrapolated further than this."""

AT = 1.0 + 1e-3
"""What is above its bound by less than this factor is held by it."""


@dataclass(frozen=True, eq=False)
class Part:
    """What can be done with one array.

    Attributes:
        vector: (array, s) to coordinates. array: (coordinates, s, like) to an array of the shape of `like`, near it.
        bounded: (array, least) to one that keeps the bound. held: (array, least) to which components it holds (K,).
        some: (array, columns) to that of these columns.
    """

    vector: Callable[[Array, Array], Array]
    array: Callable[[Array, Array, Array], Array]
    bounded: Callable[[Array, Array], Array]
    held: Callable[[Array, Array], Array]
    some: Callable[[Array, Array], Array]


def raised(C: Array, least: Array) -> Array:
    """Covariances (K, d, d), each raised to `least` (d, d) where it is below in some direction.

    With L Lᵀ = least, eigenvalues of L⁻¹ C L⁻ᵀ below 1 become 1: the likeliest covariance C ≥ least.

    >>> raised(np.diag([4.0, 1.0])[None], np.diag([2.0, 2.0]))[0]
    array([[4., 0.], [0., 2.]])
    """
    try:
        np.linalg.cholesky(C - least)
    except np.linalg.LinAlgError:
        L = np.linalg.cholesky(least)
        lam, V = np.linalg.eigh(_whitened(C, L))
        half = L @ (V * np.sqrt(np.maximum(lam, 1.0))[:, None, :])
        return np.asarray(half @ np.swapaxes(half, 1, 2))
    return C


def _whitened(C: Array, L: Array) -> Array:
    left = np.linalg.solve(L, C)
    A = np.linalg.solve(L, np.swapaxes(left, 1, 2))
    return np.asarray(0.5 * (A + np.swapaxes(A, 1, 2)))


def diagonal_of(least: Array) -> Array:
    """The variances (d,) of a bound."""
    return least if least.ndim == 1 else np.asarray(least.diagonal())


# ---- covariance matrices ------------------------------------------------------------------------------------


@functools.cache
def _lower(d: int) -> tuple[Array, Array]:
    return np.tril_indices(d)


def _log_cholesky(C: Array, s: Array) -> Array:
    L = np.linalg.cholesky(C) / s[:, None]
    diagonal = np.einsum("kii->ki", L)
    diagonal[...] = np.log(diagonal)
    return np.asarray(L[:, *_lower(s.size)].ravel())


def _from_log_cholesky(v: Array, s: Array, like: Array) -> Array:
    L = np.zeros(like.shape)
    L[:, *_lower(s.size)] = v.reshape(len(like), -1)
    diagonal = np.einsum("kii->ki", L)
    near = np.log(np.einsum("kii->ki", np.linalg.cholesky(like)) / s)
    diagonal[...] = np.exp(near + np.clip(diagonal - near, -FARTHEST, FARTHEST))
    L *= s[:, None]
    return np.asarray(L @ np.swapaxes(L, 1, 2))


def _held_matrices(C: Array, least: Array) -> Array:
    return np.asarray(np.linalg.eigvalsh(_whitened(C, np.linalg.cholesky(least)))[:, 0] <= AT)


# ---- variances ----------------------------------------------------------------------------------------------


def _logarithms(variances: Array, s: Array) -> Array:
    return np.asarray(np.log(variances / _unit(variances, s)).ravel())


def _from_logarithms(v: Array, s: Array, like: Array) -> Array:
    near = np.log(like)
    change = v.reshape(like.shape) + np.log(_unit(like, s)) - near
    return np.asarray(np.exp(near + np.clip(change, -FARTHEST, FARTHEST)))


def _unit(variances: Array, s: Array) -> Array | float:
    """s² beside variances (K, d); their mean beside one variance a component (K,)."""
    return s * s if variances.ndim == 2 else float(np.mean(s * s))


def _least(variances: Array, least: Array) -> Array | float:
    each = diagonal_of(least)
    return each if variances.ndim == 2 else float(each.mean())


def _held_variances(variances: Array, least: Array) -> Array:
    held = variances <= _least(variances, least) * AT
    return np.asarray(held.any(axis=1) if held.ndim == 2 else held)


def _raised_variances(variances: Array, least: Array) -> Array:
    return np.maximum(variances, _least(variances, least))


def _held_altogether(variances: Array, least: Array) -> Array:
    """One variance may be 0 and the covariance not singular: a column that is the factor itself (Heywood)."""
    return np.asarray((variances <= _least(variances, least) * AT).all(axis=1))


def _some_variances(variances: Array, columns: Array) -> Array:
    return variances[:, columns] if variances.ndim == 2 else variances


PARTS: dict[str, Part] = {
    "covariances": Part(_log_cholesky, _from_log_cholesky, raised, _held_matrices, lambda C, j: C[:, j[:, None], j]),
    "variances": Part(_logarithms, _from_logarithms, _raised_variances, _held_variances, _some_variances),
    "uniquenesses": Part(_logarithms, _from_logarithms, _raised_variances, _held_altogether, _some_variances),
    "loadings": Part(
        lambda W, s: np.asarray((W / s[:, None]).ravel()),
        lambda v, s, like: v.reshape(like.shape) * s[:, None],
        lambda W, least: W,
        lambda W, least: np.zeros(len(W), dtype=bool),
        lambda W, columns: W[:, columns],
    ),
}
"""Covariances (K, d, d), or one of all (1, d, d); variances (K, d) or (K,); uniquenesses (K, d); loadings (K, d, q)."""
