"""The integral of a smooth density along a line, by a table of its values: for Gaussians with scales of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from eigenlens.arrays import Array

__all__ = ["Table", "panel_edges", "tabulated"]

NODES = 16
STEP, REACH = 0.5, 9.0
"""The width of panels in units of the narrowest scale that reaches into them, and how far a scale reaches."""


@dataclass(frozen=True, eq=False)
class Table:
    """∫ f up to y, of a function f known at Chebyshev's nodes of panels.

    Attributes:
        edges: (p + 1,) ascending. below: (p + 1,) the integral up to each edge.
        coefficients: (NODES + 1, p), Chebyshev's, of the integral from the panel's lower edge.
    """

    edges: Array
    below: Array
    coefficients: Array

    def __call__(self, y: Array) -> Array:
        """The integral (m,) up to y (m,). Cost O(m)."""
        panel = np.clip(np.searchsorted(self.edges, y, side="right") - 1, 0, self.edges.size - 2)
        low, high = self.edges[panel], self.edges[panel + 1]
        t = np.clip((2.0 * y - low - high) / (high - low), -1.0, 1.0)
        return np.asarray(self.below[panel] + chebyshev.chebval(t, self.coefficients[:, panel], tensor=False))


def tabulated(f: Callable[[Array], Array], edges: Array) -> Table:
    """A table of a function that is a polynomial of degree 15 between neighbours of `edges`, to its last digits.

    >>> round(float(tabulated(np.cos, np.array([0.0, 1.0, 2.0]))(np.array([1.5]))[0] - np.sin(1.5)), 12)
    0.0
    """
    angle = np.pi * (np.arange(NODES) + 0.5) / NODES
    half = 0.5 * np.diff(edges)
    places = 0.5 * (edges[1:] + edges[:-1]) + np.multiply.outer(np.cos(angle), half)
    values = f(places.T.ravel()).reshape(places.T.shape).T
    fits = np.cos(np.multiply.outer(np.arange(NODES), angle)) @ values * (2.0 / NODES)
    fits[0] *= 0.5
    integral = chebyshev.chebint(fits, lbnd=-1.0, axis=0) * half
    return Table(edges, np.concatenate([[0.0], np.cumsum(integral.sum(axis=0))]), integral)


def panel_edges(groups: Iterable[tuple[Array, float, float]]) -> Array:
    """Edges of panels for sums of Gaussians: of groups of sorted points, the least and the greatest of their scales."""
    parts = []
    for x, least, most in groups:
        reach = REACH * most
        apart = np.flatnonzero(np.diff(x) > 2.0 * reach)
        lows, highs = x[np.r_[0, apart + 1]] - reach, x[np.r_[apart, x.size - 1]] + reach
        parts += [np.linspace(a, b, int((b - a) / (STEP * least)) + 2) for a, b in zip(lows, highs, strict=True)]
    return np.unique(np.concatenate(parts))
