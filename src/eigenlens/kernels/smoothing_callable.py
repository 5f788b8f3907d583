"""A user's own smoothing kernel: what has to be known of it, by quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError

__all__ = ["Measured", "measured"]

FARTHEST = 100.0
PANELS = 2000
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
STEP = 1e-5
WHOLE = 1e-6
"""How far the integral of a kernel may be from one."""


@dataclass(frozen=True, eq=False)
class Measured:
    """A callable K(u), and its constants.

    Attributes:
        function: the callable.
        radius: K is 0 beyond it.
    """

    function: Callable[[Array], Any]
    radius: float

    def profile(self, u: Array) -> Array:
        """K(u), and 0 beyond the radius."""
        u = np.asarray(u, dtype=np.float64)
        return np.where(np.abs(u) <= self.radius, values_of(self.function, np.clip(u, -self.radius, self.radius)), 0.0)

    def derivative(self, u: Array) -> Array:
        """K′(u) by central differences."""
        step = STEP * min(self.radius, 1.0)
        return (self.profile(np.asarray(u) + step) - self.profile(np.asarray(u) - step)) / (2.0 * step)

    def cdf(self, u: Array) -> Array:
        """∫ K from −∞ to u: whole panels, and the last one in part."""
        u = np.clip(np.asarray(u, dtype=np.float64), -self.radius, self.radius)
        panel = np.clip(np.searchsorted(self._edges, u, side="right") - 1, 0, len(self._edges) - 2)
        half = 0.5 * (u - self._edges[panel])
        places = self._edges[panel][..., None] + half[..., None] * (1.0 + NODES)
        return np.asarray(np.clip(self._below[panel] + half * (self.profile(places) @ WEIGHTS), 0.0, 1.0))

    def quantile(self, q: Array) -> Array:
        """The inverse of `cdf`, by bisection within a panel."""
        q = np.asarray(q, dtype=np.float64)
        panel = np.clip(np.searchsorted(self._below, q, side="left") - 1, 0, len(self._edges) - 2)
        low, high = self._edges[panel], self._edges[panel + 1]
        for _ in range(45):
            middle = 0.5 * (low + high)
            under = self.cdf(middle) < q
            low, high = np.where(under, middle, low), np.where(under, high, middle)
        return 0.5 * (low + high)

    @property
    def total(self) -> float:
        """∫ K."""
        return float(np.sum(self._integrals(lambda u, K: K)))

    @property
    def variance(self) -> float:
        """∫ u² K."""
        return float(np.sum(self._integrals(lambda u, K: u * u * K)))

    @property
    def roughness(self) -> float:
        """∫ K²."""
        return float(np.sum(self._integrals(lambda u, K: K * K)))

    @cached_property
    def _edges(self) -> Array:
        """Of panels that are finest about 0, where kernels bend."""
        half = self.radius * np.linspace(0.0, 1.0, PANELS // 2 + 1) ** 2
        return np.concatenate([-half[:0:-1], half])

    @cached_property
    def _below(self) -> Array:
        """The integral up to each edge, that of all being one."""
        parts = np.cumsum(self._integrals(lambda u, K: K))
        return np.asarray(np.concatenate([[0.0], parts / parts[-1]]))

    def _integrals(self, integrand: Callable[[Array, Array], Array]) -> Array:
        low, half = self._edges[:-1, None], 0.5 * np.diff(self._edges)[:, None]
        u = low + half * (1.0 + NODES)
        return np.asarray((half * integrand(u, self.profile(u))) @ WEIGHTS)


def values_of(function: Callable[[Array], Any], u: Array) -> Array:
    """The answer of a user's kernel, checked."""
    called = f"kernel={getattr(function, '__name__', repr(function))}"
    try:
        K = np.asarray(function(u), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"{called} failed on an array of shape {u.shape}: {error}. It is called with arrays u and must give "
            "K(u) in their shape."
        ) from error
    if K.shape != u.shape:
        raise OptionError(f"{called} gave shape {K.shape} for an array of shape {u.shape}; it must give the same.")
    if not np.all(np.isfinite(K)) or np.any(K < 0.0):
        raise OptionError(f"{called} gave values that are negative or not finite; a density must be neither.")
    return K


def measured(function: Callable[[Array], Any]) -> Measured:
    """A callable with its radius, once it is known to be a symmetric density.

    >>> K = measured(lambda u: np.maximum(1.0 - np.abs(u), 0.0))
    >>> K.radius, round(K.roughness, 9)
    (1.0, 0.666666667)
    """
    called = f"kernel={getattr(function, '__name__', repr(function))}"
    K = Measured(function, _radius(function))
    u = K.radius * np.linspace(0.0, 1.0, 1001)[1:-1]
    right, left = K.profile(u), K.profile(-u)
    if np.max(np.abs(right - left)) > 1e-9 * max(float(right.max()), 1e-300):
        raise OptionError(f"{called} is not symmetric: K(u) and K(−u) differ; use a kernel with K(u) = K(−u).")
    if abs(K.total - 1.0) > WHOLE:
        raise OptionError(
            f"{called} has the integral {K.total:.8g} over |u| ≤ {K.radius:g}; it must be 1, so divide by that."
        )
    return K


def _radius(function: Callable[[Array], Any]) -> float:
    """Where K has fallen to 0 for good, to ten digits; `FARTHEST` if it does not before."""
    grid = np.linspace(0.0, FARTHEST, 100_001)
    alive = np.flatnonzero(values_of(function, grid) > 0.0)
    if not alive.size:
        raise OptionError("kernel: K(u) is 0 on a grid of |u| ≤ 100; it must be a density at scale about one.")
    if alive[-1] == len(grid) - 1:
        return FARTHEST
    low, high = grid[alive[-1]], grid[alive[-1] + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        alive_there = bool(values_of(function, np.asarray([middle]))[0] > 0.0)
        low, high = (middle, high) if alive_there else (low, middle)
    nearest = round(float(high), 9)  # K(1) = 0 puts the end of the support just below 1
    return nearest if abs(nearest - high) < 1e-12 else float(high)
