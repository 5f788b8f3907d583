"""Angles between two linear subspaces: whether two models have found the same plane."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import subspace_angles

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import DataError, OptionError


def principal_angles(first: Any, second: Any) -> Array:
    """Return the angles (min(j, k),) between the spans of two models or of the columns of A (d, j) and B (d, k).

    In radians, the largest first (Jordan 1875; Björck and Golub 1973): all are 0 where one span contains the other. A
    fitted model has the span of its `loadings_`, or of its `components_`; a vector (d,) is a direction.

    >>> plane, line = np.eye(3)[:, :2], np.array([[1.0], [0.0], [1.0]])
    >>> np.degrees(principal_angles(plane, line)).round(9)
    array([45.])
    """
    A, B = _span("first", first), _span("second", second)
    if len(A) != len(B):
        what = f"spans columns of length {len(A)}, and the second of length {len(B)}"
        raise DataError(what, argument="first", fix="compare models of the same columns")
    return np.asarray(subspace_angles(A, B))


def _span(argument: str, given: Any) -> Array:
    """Return vectors (d, k) whose span is meant."""
    if hasattr(given, "loadings_") or hasattr(given, "components_"):
        given = given.loadings_ if hasattr(given, "loadings_") else given.components_.T
    elif hasattr(given, "get_params"):
        what = "is not fitted, or has no axes in the space of the columns"
        raise OptionError(what, argument=argument, value=given, fix="fit it first")
    found = checks.numbers(argument, given)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or not np.any(found) or not np.all(np.isfinite(found)):
        what = f"has shape {found.shape}; give a fitted model, or finite numbers (d, k), not all of them 0"
        raise DataError(what, argument=argument)
    return found
