"""Ellipses of groups of points in a plane: where their rows lie, and where their means lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import fdtri

from eigenlens import checks
from eigenlens.arrays import Array

ELLIPSE_TURN = np.linspace(0.0, 2.0 * np.pi, 181)
"""Angles of the points that an ellipse is drawn by."""


@dataclass(frozen=True, eq=False)
class GroupEllipse:
    """The ellipse {x : (x − mean)ᵀ covariance⁻¹ (x − mean) ≤ radius²} of a group of points.

    Attributes:
        name: of the group. mean: (2,). covariance: (2, 2), divisor n − 1. radius: in standard deviations.
    """

    name: str
    mean: Array
    covariance: Array
    radius: float

    def outline(self) -> Array:
        """Return points (p, 2) along the ellipse; a segment where the covariance is singular."""
        values, vectors = np.linalg.eigh(self.covariance)
        axes = vectors * np.sqrt(np.maximum(values, 0.0))
        circle = np.column_stack([np.cos(ELLIPSE_TURN), np.sin(ELLIPSE_TURN)])
        return np.asarray(self.mean + self.radius * circle @ axes.T)


def concentration_radius(n: int, level: float) -> float:
    """Return √(−2 log(1 − level)): the distance within which a Gaussian in the plane has this share of its mass.

    It is the root of the quantile of chi² with 2 degrees of freedom, whatever n is.

    >>> round(concentration_radius(50, 0.95), 4)
    2.4477
    """
    return float(np.sqrt(-2.0 * np.log1p(-level)))


def mean_radius(n: int, level: float) -> float:
    """Return √(2 (n − 1) / (n (n − 2)) F), F the quantile of F(2, n − 2): the region of the mean (Hotelling 1931).

    >>> round(mean_radius(50, 0.95), 4)
    0.361
    """
    return float(np.sqrt(2.0 * (n - 1.0) / (n * (n - 2.0)) * fdtri(2.0, n - 2.0, level)))


ELLIPSES: dict[str, Callable[[int, float], float]] = {"concentration": concentration_radius, "mean": mean_radius}
"""Kinds of ellipses by name: functions of the number of points of a group and the level."""

MIN_ELLIPSE_POINTS = 3
"""Fewer points than this have no covariance of full rank, and their group no ellipse."""


def group_names(groups: Any) -> list[Any]:
    """Return the categories among one value per row, sorted; none for a single value, and none for numbers.

    >>> group_names(np.array(["b", "a", "b"])), group_names("red"), group_names(np.array([0.5, 1.0]))
    ([np.str_('a'), np.str_('b')], [], [])
    """
    given = np.asarray(groups)
    return list(np.unique(given)) if given.ndim and given.dtype.kind != "f" else []


def group_ellipses(points: Array, groups: Any, kind: str, level: float = 0.95) -> tuple[GroupEllipse, ...]:
    """Return one ellipse per group of points (n, 2), in the order of `np.unique`; points with NaN do not count.

    Args:
        groups: (n,) categories; one ellipse for all points if it is one colour, or numbers.
        kind: a name of `ELLIPSES`. level: the share of the mass, or the confidence.
    """
    checks.name("ellipses", kind, ELLIPSES)
    level = checks.real("level", level, 0.0, 1.0)
    names = group_names(groups)
    labels = np.asarray(groups).astype(str) if names else np.full(len(points), "")
    finite = np.all(np.isfinite(points), axis=1)
    found = []
    for name in map(str, names or [""]):
        rows = points[finite & (labels == name)]
        if len(rows) >= MIN_ELLIPSE_POINTS:
            found.append(GroupEllipse(name, rows.mean(axis=0), np.cov(rows.T), ELLIPSES[kind](len(rows), level)))
    return tuple(found)
