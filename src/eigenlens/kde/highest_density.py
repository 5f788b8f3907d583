"""Highest-density regions: the levels above which given shares of the mass lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array


@dataclass(frozen=True, eq=False)
class MassLevels:
    """Levels of a density, each with the mass above it.

    Attributes:
        masses: (k,) shares of the mass, ascending. levels: (k,) of the density, descending; NaN where the grid holds
            less than that mass. covered: the mass that the whole grid holds.
    """

    masses: Array
    levels: Array
    covered: float


def mass_levels(values: Array, cell: float, masses: Sequence[float]) -> MassLevels:
    """Return the levels t with ∫ f [f ≥ t] = mass: {f ≥ t} is the smallest region of that mass (Hyndman 1996, §2).

    Args:
        values: f at the centres of equal cells, of any shape. cell: their length, area or volume.
        masses: between 0 and 1.

    Mass beyond the grid is assumed to lie below every level. Cost: O(p log p) for p cells.

    >>> f = np.array([1.0, 2.0, 4.0, 2.0, 1.0]) / 10.0
    >>> found = mass_levels(f, 1.0, [0.2, 0.6, 0.99])
    >>> found.levels, found.covered
    (array([0.4, 0.2, 0.1]), 1.0)
    """
    f = np.sort(np.ravel(values))[::-1]
    mass = np.cumsum(f) * cell
    # Half of a cell's own mass counts as above its level: so equal levels make no jump.
    middles = mass - 0.5 * cell * f
    wanted = np.sort(np.asarray(masses, dtype=np.float64))
    levels = np.interp(wanted, middles, f)
    return MassLevels(wanted, np.where(wanted > mass[-1], np.nan, levels), float(mass[-1]))
