"""Procrustes analysis: the rotation, scale and shift that bring one set of points closest to another."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.column_range import MAX_ENTRY
from eigenlens.errors import DataError


class Alignment(NamedTuple):
    """Points after Procrustes analysis.

    Attributes:
        rows: (n, k) the points, rotated, scaled and shifted. rotation: (k, k) orthogonal; a reflection if its
            determinant is −1. scale: the factor.
        correlation: of the aligned points with the target, from 0 to 1: the squared distance that is left is
            1 − correlation² of the target's variance.
    """

    rows: Array
    rotation: Array
    scale: float
    correlation: float


def procrustes(points: Any, target: Any, *, scale: bool = True) -> Alignment:
    """Return points Z (n, k) rotated, reflected, scaled and shifted to be closest to a target Y (n, k), row by row.

    The axes of scores are not those of a map or of another analysis, so the two are compared up to a rotation. With Z
    and Y centred and ZᵀY = U D Vᵀ,

        Y ≈ c Z R ,      R = U Vᵀ ,      c = tr D / ‖Z‖² ,      correlation = tr D / (‖Z‖ ‖Y‖)

    (Schönemann 1966; Gower 1975). scale=False keeps c = 1.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> found = procrustes(square, 3.0 * square @ [[0.0, 1.0], [-1.0, 0.0]] + 5.0)
    >>> found.scale, found.correlation, found.rows[0].round(9)
    (3.0, 1.0, array([5., 5.]))
    """
    Z, Y = (_check_points(name, given) for name, given in (("points", points), ("target", target)))
    if Z.shape != Y.shape:
        fix = "give the same number of rows and columns"
        raise DataError(f"has shape {Z.shape}, but the target {Y.shape}", argument="points", fix=fix)
    moved, about = Z - Z.mean(axis=0), Y.mean(axis=0)
    U, D, Vt = np.linalg.svd(moved.T @ (Y - about))
    length, other = np.linalg.norm(moved), np.linalg.norm(Y - about)
    if not length > 0.0 or not other > 0.0:
        what = "all points, or all of the target, are equal, so there is no direction to align"
        raise DataError(what, fix="give points and a target that differ")
    c = float(D.sum() / length**2) if checks.boolean("scale", scale) else 1.0
    R = U @ Vt
    return Alignment(np.asarray(c * moved @ R + about), R, c, float(D.sum() / (length * other)))


def procrustes_rotation(components: Array, target: Array) -> Array:
    """Return the orthogonal R (k, k) that rotates axes (k, d), within their span, as close as possible to the target.

    R = U Vᵀ of target componentsᵀ = U S Vᵀ minimises ‖R components − target‖ (Schönemann 1966).

    >>> axes = np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> (procrustes_rotation(axes, np.eye(2)) @ axes).round(12) + 0.0
    array([[1., 0.], [0., 1.]])
    """
    U, _, Vt = np.linalg.svd(target @ components.T)
    return np.asarray(U @ Vt)


def _check_points(argument: str, points: Any) -> Array:
    found = checks.numbers(argument, points)
    if found.ndim != 2 or not found.size or not np.all(np.isfinite(found)):
        raise DataError(f"has shape {found.shape}; it must be finite numbers (n, k), one or more", argument=argument)
    if np.abs(found).max(initial=0.0) > MAX_ENTRY:
        what = f"has entries as large as {np.abs(found).max():.3g}, and squares overflow"
        raise DataError(what, argument=argument, fix="divide it by a constant")
    return found
