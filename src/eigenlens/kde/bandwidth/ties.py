"""Values that repeat: the usual step from one to the next, bandwidths that separate their peaks, and the warnings."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import warn_user
from eigenlens.kde.bandwidth.binned import RANGE_CELLS, Sample

SEPARATE_PEAKS_SHARE = 0.35
"""Share of the step between values: with a smaller h the density varies by a fifth or more from one to the next."""


def usual_step(sample: Sample) -> float:
    """Return the weighted median of the distance from a value to the nearest other one.

    >>> from eigenlens.kde.bandwidth.binned import make_sample
    >>> usual_step(make_sample(np.array([0.0, 0.0, 1.0, 1.0, 2.0, 10.0]), None))
    0.1
    """
    points, copies = sample.values
    steps = np.diff(points)
    nearest = np.minimum(np.append(steps, np.inf), np.insert(steps, 0, np.inf))
    if not has_repeats(copies) and copies.min() == 1.0:
        return float(np.partition(nearest, (nearest.size - 1) // 2)[(nearest.size - 1) // 2])
    order = np.argsort(nearest, kind="stable")
    below = np.cumsum(copies[order])
    return float(nearest[order[np.searchsorted(below, 0.5 * below[-1])]])


def has_repeats(copies: Array) -> bool:
    """Return whether any value counts more than once."""
    return bool(np.any(copies > 1.0))


def half_step(sample: Sample) -> float:
    """Return half the usual step where values repeat, else 0: a lower limit of reasonable bandwidths."""
    return 0.5 * usual_step(sample) if has_repeats(sample.values[1]) else 0.0


def separates_peaks(sample: Sample, h: float) -> bool:
    """Return whether a density of bandwidth h has a separate peak at every repeated value.

    Existing cells mostly decide this without a sort: if most of the mass were farther than 2h from its neighbours, it
    would lie in cells with empty neighbours.
    """
    if sample.n > RANGE_CELLS and h >= sample.cells.width:
        mass = sample.cells.moments[0]
        beside = np.append(mass[1:], 0.0) + np.insert(mass[:-1], 0, 0.0)
        if float(mass[beside == 0.0].sum()) < 0.5 * sample.n:
            return False
    return h < 2.0 * SEPARATE_PEAKS_SHARE * half_step(sample)


def warn_separate_peaks(sample: Sample, h: float, rule: str, name: str) -> None:
    """Warn where h is so small that the density has a separate peak at every repeated value; h is not changed."""
    if separates_peaks(sample, h):
        warn_user(
            f"{name} holds many equal values ({sample.values[0].size} distinct among {sample.n:g}), and h = "
            f"{sample.span * h:.3g} of rule {rule!r} is far below their usual step of "
            f"{sample.span * usual_step(sample):.3g}: the density has a separate peak at each value. Give a "
            "bandwidth above the step as a number, or use a model of counts."
        )
