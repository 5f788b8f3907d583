"""Values that repeat: the usual step from one to the next, bandwidths that make a comb of them, and what is said."""

from __future__ import annotations

import sys
import warnings

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataWarning
from eigenlens.kde.bandwidth.binned import RANGE_CELLS, Sample

__all__ = ["half_step", "has_repeats", "is_comb", "usual_step", "warn_caller", "warn_comb"]

COMB_SHARE = 0.35
"""Of the step between values: below it the density goes up and down by a fifth from one to the next, or more."""

PACKAGE = __name__.partition(".")[0]


def usual_step(sample: Sample) -> float:
    """The median, over the mass, of the distance from a value to the nearest other one.

    >>> from eigenlens.kde.bandwidth.binned import make_sample
    >>> usual_step(make_sample(np.array([0.0, 0.0, 1.0, 1.0, 2.0, 10.0]), None))
    0.1
    """
    points, copies = sample.values
    gaps = np.diff(points)
    nearest = np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))
    if not has_repeats(copies) and copies.min() == 1.0:
        return float(np.partition(nearest, (nearest.size - 1) // 2)[(nearest.size - 1) // 2])
    order = np.argsort(nearest, kind="stable")
    below = np.cumsum(copies[order])
    return float(nearest[order[np.searchsorted(below, 0.5 * below[-1])]])


def has_repeats(copies: Array) -> bool:
    """Whether any value counts more than once."""
    return bool(np.any(copies > 1.0))


def half_step(sample: Sample) -> float:
    """Half the usual step where values repeat, else 0: what a bandwidth should be at the least."""
    return 0.5 * usual_step(sample) if has_repeats(sample.values[1]) else 0.0


def is_comb(sample: Sample, h: float) -> bool:
    """Whether a density of bandwidth h has a tooth at every repeated value.

    Cells that are there already mostly say so without a sort: were most of the mass further than 2h from its
    neighbours, it would lie in cells with nothing beside them.
    """
    if sample.n > RANGE_CELLS and h >= sample.cells.width:
        mass = sample.cells.moments[0]
        beside = np.append(mass[1:], 0.0) + np.insert(mass[:-1], 0, 0.0)
        if float(mass[beside == 0.0].sum()) < 0.5 * sample.n:
            return False
    return h < 2.0 * COMB_SHARE * half_step(sample)


def warn_comb(sample: Sample, h: float, rule: str, name: str) -> None:
    """A warning where h of this rule makes a comb; h stays as the rule has it."""
    if is_comb(sample, h):
        warn_caller(
            f"{name} holds many equal values ({sample.values[0].size} distinct among {sample.n:g}), and h = "
            f"{sample.span * h:.3g} of rule {rule!r} is far below their usual step of "
            f"{sample.span * usual_step(sample):.3g}: the density is a comb with a tooth at each value. Give a "
            "bandwidth above the step as a number, or take a model of counts."
        )


def warn_caller(message: str) -> None:
    """A warning about the rows, at the line outside this package that asked."""
    level = 2
    while _is_ours(level):
        level += 1
    warnings.warn(message, DataWarning, stacklevel=level)


def _is_ours(level: int) -> bool:
    """Whether the frame that `stacklevel` would name, seen from `warn_caller`, is one of the package with a caller."""
    try:
        frame = sys._getframe(level)
    except ValueError:
        return False
    inside = str(frame.f_globals.get("__name__", "")).partition(".")[0] == PACKAGE
    return inside and frame.f_back is not None
