"""The parameters `rotation` and `rotation_options` of an estimator: checked, and carried out with its warning."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import ConvergenceWarning, OptionError, warn_user
from eigenlens.rotation import ROTATION_ALIASES, ROTATIONS, Rotation, rotate


def check_rotation(rotation: Any, rotation_options: Any) -> None:
    """Raise an error unless the rotation is None, a known name or a callable, and its options are those it takes."""
    if rotation is not None:
        checks.choice("rotation", rotation, ROTATIONS, ROTATION_ALIASES)
    if not isinstance(rotation_options, dict | None):
        raise OptionError("must be a dictionary, or None", argument="rotation_options", value=rotation_options)
    if rotation is None and rotation_options:
        what, fix = "are of no use where {rotation}", "name a rotation, or leave them out"
        settings = {"rotation": None}
        raise OptionError(what, argument="rotation_options", value=rotation_options, fix=fix, settings=settings)
    if isinstance(rotation, str) and rotation_options:
        _rotate(np.eye(2), np.ones(2), rotation, rotation_options)


def find_rotation(L: Array, deviations: Array, rotation: Any, rotation_options: Any) -> Array | None:
    """Return the matrix T (k, k) that rotates loadings L (d, k) of columns with these standard deviations (d,).

    None for no rotation. A rotation that stopped early is warned of; options that it does not take are an error.
    """
    if rotation is None:
        return None
    found = _rotate(L, deviations, rotation, rotation_options)
    if not found.converged:
        what = (
            f"stopped after {found.iterations} steps with a residual of {found.residual:.1e}; the loadings are "
            "rotated, but the criterion has not reached its optimum"
        )
        warn_user(ConvergenceWarning(what, argument="rotation", value=rotation))
    return np.asarray(found.matrix)


def _rotate(L: Array, deviations: Array, rotation: Any, rotation_options: Any) -> Rotation:
    try:
        return rotate(L, rotation, scale=deviations, **(rotation_options or {}))
    except TypeError as error:
        raise OptionError(
            f"do not fit {{rotation}}: {error}",
            argument="rotation_options",
            value=rotation_options,
            settings={"rotation": rotation},
        ) from error
