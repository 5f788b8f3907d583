"""Rotations of loadings towards simple structure: orthogonal by orthomax, oblique by promax, direct oblimin and geomin.

x = L z + e and x = (L T⁻ᵀ)(Tᵀ z) + e are one model. A rotation finds the T for which the rotated loadings Λ = L T⁻ᵀ are
easiest to read; the rotated factors Tᵀ z have the correlations Φ = Tᵀ T, and Λ Φ Λᵀ = L Lᵀ. T is orthogonal and Φ = I
for varimax, quartimax and equamax.

All rotations end in the same way: factors are ordered by their sums of squared loadings, largest first, and signed by
`linalg.spectrum.orient` (the loading of largest modulus is positive), as components are everywhere in this package; R
makes the sum of a column positive, which gives a few factors the opposite sign. Where L has a lower rank than columns,
the rotation stays inside its row space, and the remaining factors have loadings of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.rotation.base import Rotation, as_loadings
from eigenlens.rotation.oblique import geomin, oblimin, promax
from eigenlens.rotation.orthogonal import equamax, orthomax, quartimax, varimax

__all__ = [
    "ROTATIONS",
    "ROTATION_ALIASES",
    "Rotation",
    "equamax",
    "geomin",
    "oblimin",
    "orthomax",
    "promax",
    "quartimax",
    "rotate",
    "varimax",
]

ROTATIONS: dict[str, Callable[..., Any]] = {
    "varimax": varimax,
    "quartimax": quartimax,
    "equamax": equamax,
    "promax": promax,
    "oblimin": oblimin,
    "geomin": geomin,
}
"""Rotations by name: each takes loadings (d, k) and its own options, and returns a `Rotation` or its matrix T (k, k).

`FactorAnalysis(rotation=name)`, error texts and the checks of names read this dictionary.
"""

ROTATION_ALIASES = {"Promax": "promax", "geominQ": "geomin", "geomin_obl": "geomin", "quartimin": "oblimin"}
"""Names of the same rotations in psych, GPArotation and factor_analyzer."""


def rotate(L: Array, rotation: str | Callable[..., Any], *, scale: Array | None = None, **options: Any) -> Rotation:
    """Rotate L (d, k) by name, or by the user's own function of L, which returns a `Rotation` or the matrix T (k, k).

    With `scale` (d,), the standard deviations of the variables, T is found from L / scale, the loadings of
    correlations: criteria compare variables with each other, so T would otherwise depend on their units.

    >>> rotate(np.array([[0.6, 0.8]]), lambda L: np.eye(2)[:, ::-1]).loadings
    array([[0.8, 0.6]])
    """
    checks.choice("rotation", rotation, ROTATIONS, ROTATION_ALIASES)
    L = as_loadings(L)
    A = L if scale is None else L / _check_scale(scale, len(L))[:, None]
    found = _run_rotation(A, rotation, options)
    if scale is None:
        return found
    outcome = {name: getattr(found, name) for name in ("converged", "criterion", "iterations", "residual")}
    return replace(Rotation.by(L, found.matrix), **outcome)


def _check_scale(scale: Any, d: int) -> Array:
    found = checks.finite("scale", scale)
    if found.shape != (d,) or not np.all(found > 0.0):
        raise OptionError(f"must be {d} numbers above 0, one per variable", argument="scale", value=scale)
    return found


def _run_rotation(A: Array, rotation: str | Callable[..., Any], options: dict[str, Any]) -> Rotation:
    method = ROTATIONS[ROTATION_ALIASES.get(rotation, rotation)] if isinstance(rotation, str) else rotation
    found = method(A, **options)
    return found if isinstance(found, Rotation) else Rotation.by(A, _check_matrix(rotation, found, A.shape[1]))


def _check_matrix(rotation: Any, matrix: Any, k: int) -> Array:
    name = getattr(rotation, "__name__", str(rotation))
    try:
        T = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        what = f"returned a {type(matrix).__name__}"
        fix = f"return a Rotation, or T of shape ({k}, {k})"
        raise OptionError(what, argument="rotation", value=name, fix=fix) from None
    if T.shape != (k, k):
        what = f"returned an array of shape {T.shape}"
        raise OptionError(what, argument="rotation", value=name, fix=f"return a Rotation, or T of shape ({k}, {k})")
    lengths = np.linalg.norm(T, axis=0)
    if not np.all(np.abs(lengths - 1.0) < 1e-6) or np.linalg.cond(T) > 1e12:
        what = f"returned a matrix that is singular or has columns of length {lengths.round(6).tolist()}"
        fix = "its columns must have length 1, so that the rotated factors have unit variance"
        raise OptionError(what, argument="rotation", value=name, fix=fix)
    return T
