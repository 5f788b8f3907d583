"""The equations that rotated loadings satisfy at the optimum of their criterion, for standard errors.

A rotation picks, of all loadings with the same covariances, those that are stationary for its criterion. So a small
change of the unrotated loadings changes the rotated ones by the implicit function theorem, through the derivatives of
these equations (Archer and Jennrich 1973, Psychometrika 38, 581; Jennrich 1973, Psychometrika 38, 593).

All functions here are analytic: they also take complex loadings, so that their derivatives can be found by a complex
step, without rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.rotation.base import unit_rows
from eigenlens.rotation.oblique import geomin_derivatives, oblimin_derivatives
from eigenlens.rotation.orthogonal import varimax


@dataclass(frozen=True, eq=False)
class RotationEquations:
    """The equations of one rotation.

    Attributes:
        oblique: whether Φ is free in them, or the identity.
        residuals: (Λ (d, k), Φ (k, k), Psi (d,)) → the values that are 0 at the optimum: k (k − 1), or half as many
            where Φ = I. The criteria here do not depend on the noise Psi.
        first, step: for a rotation that goes on from another, as promax does from varimax: unrotated loadings → the
            matrix T (k, k) of the other, whose loadings Λ satisfy the equations; and Λ → V (k, k), the reported
            loadings being Λ V⁻ᵀ, up to order and signs. Else None.
    """

    oblique: bool
    residuals: Callable[[Array, Array, Array], Array]
    first: Callable[[Array], Array] | None = None
    step: Callable[[Array], Array] | None = None


def orthomax_residuals(A: Array, Phi: Array, psi: Array, gamma: float, kaiser: bool) -> Array:
    """Return the antisymmetric part of Bᵀ (B³ − gamma B diag(mean B²)), its entries below the diagonal.

    B is A (d, k), with rows of unit length if `kaiser`; Phi is the identity.

    >>> orthomax_residuals(np.array([[0.9, 0.0], [0.0, 0.7]]), np.eye(2), np.ones(2), 1.0, True)
    array([0.])
    """
    B = _divide_rows(A, np.sum(A * A, axis=1)) if kaiser else A
    slopes = B.T @ (B**3 - gamma * B * np.mean(B * B, axis=0))
    return np.asarray((slopes - slopes.T)[np.tril_indices(A.shape[1], -1)])


def oblique_residuals(A: Array, Phi: Array, psi: Array, derivatives: Callable[[Array], Array], kaiser: bool) -> Array:
    """Return the entries of Bᵀ (df/dB) Φ⁻¹ off the diagonal: gradients of f on the T with columns of unit length.

    B is A (d, k), divided by the lengths √diag(A Φ Aᵀ) of its rows before the rotation if `kaiser`.
    """
    k = A.shape[1]
    B = _divide_rows(A, np.sum((A @ Phi) * A, axis=1)) if kaiser else A
    slopes = np.linalg.solve(Phi, derivatives(B).T @ B).T
    return np.asarray(slopes[~np.eye(k, dtype=bool)])


def promax_matrix(A: Array, power: float, normalize: bool) -> Array:
    """Return V (k, k) of `promax_step` for varimax loadings A (d, k), real or complex."""
    B = _divide_rows(A, np.sum(A * A, axis=1)) if normalize else A
    U = np.linalg.solve(B.T @ B, B.T @ (B * (B * B) ** (0.5 * (power - 1.0))))
    V = np.linalg.inv(U).T
    return np.asarray(V / np.sqrt(np.sum(V * V, axis=0)))


def _divide_rows(A: Array, squares: Array) -> Array:
    return np.asarray(A / np.sqrt(np.where(squares.real > 0.0, squares, 1.0))[:, None])


def _orthomax(k: int, gamma: float | None = None, *, kaiser: bool = True, **other: Any) -> RotationEquations:
    """Return the equations of orthomax, with gamma = k/2 (equamax) if None."""
    return RotationEquations(
        False, partial(orthomax_residuals, gamma=0.5 * k if gamma is None else gamma, kaiser=kaiser)
    )


def _promax(
    k: int, *, power: float = 4.0, normalize: bool = False, kaiser: bool = True, **other: Any
) -> RotationEquations:
    def first(A: Array) -> Array:
        return varimax(unit_rows(A) if normalize else A, kaiser=kaiser, **other).matrix

    equations = _orthomax(k, 1.0, kaiser=kaiser or normalize)
    step = partial(promax_matrix, power=power, normalize=normalize)
    return RotationEquations(False, equations.residuals, first, step)


def _oblimin(k: int, *, gamma: float = 0.0, kaiser: bool = False, **other: Any) -> RotationEquations:
    derivatives = partial(oblimin_derivatives, gamma=gamma)
    return RotationEquations(True, partial(oblique_residuals, derivatives=derivatives, kaiser=kaiser))


def _geomin(k: int, *, delta: float = 0.01, kaiser: bool = False, **other: Any) -> RotationEquations:
    derivatives = partial(geomin_derivatives, delta=delta)
    return RotationEquations(True, partial(oblique_residuals, derivatives=derivatives, kaiser=kaiser))


EQUATIONS: Mapping[str, Callable[..., RotationEquations]] = {
    "varimax": partial(_orthomax, gamma=1.0),
    "quartimax": partial(_orthomax, gamma=0.0),
    "equamax": partial(_orthomax, gamma=None),
    "promax": _promax,
    "oblimin": _oblimin,
    "geomin": _geomin,
}
"""Equations by the name of the rotation: functions of k and of the rotation's options.

A rotation without an entry has no standard errors.
"""
