"""Kernel densities along a line: the density, its derivative and its integral at any points, by fast exact sums.

`LINE_SUMS` has the method for each kernel: polynomials by sums of powers over a sliding window, the cosine by
sums of waves, the Laplace kernel by two sweeps, the Gaussian by short expansions. A callable is approximated by
polynomials once. Points with scales of their own are summed pair by pair, those of like scale over a window. Where
kernels have unbounded support and pairs are many, integrals come from a table of the density (Gaussian), or by
interpolation between a few scales (Laplace).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from eigenlens.arrays import Array
from eigenlens.kde.kernels import ROOT_2PI, PolynomialPiece, SmoothingKernel
from eigenlens.kde.pieces import polynomial_pieces, wrong_side_integrals
from eigenlens.native.kernel_sums import (
    FORMS,
    Cloud,
    Interval,
    cloud_sums,
    gaussian_integrals,
    gaussian_sums,
    laplace_sums,
    sorted_with_order,
    wave_sums,
    window_blocks,
    window_sums,
)
from eigenlens.resources import in_slices

MIN_TOLERANCE = 1e-15
"""The tolerance of integrals, the smallest possible: it costs hardly more than a larger one."""

SLICE_QUERIES = 1 << 16
"""Queries that a thread puts in their places at a time."""

CANCELLATION = 1e-6
"""A sum smaller than this share of the weight in its window is computed again, pair by pair, without cancellation."""


@dataclass(frozen=True, eq=False)
class Line:
    """The sum Σ_i w_i K((y − x_i) / (h s_i)) / (h s_i) along a line, with its derivative and integral.

    Attributes:
        points: (n,) in any order. weights: (n,), positive. h: the bandwidth. kernel: K.
        scales: (n,) s_i, or None where they are one. tol: the relative error that Gaussian sums may have.
    """

    points: Array
    weights: Array
    h: float
    kernel: SmoothingKernel
    scales: Array | None
    tol: float

    def log_density(self, y: Array) -> Array:
        """Return the logarithm of the sum (m,) at y (m,); −inf only where K is 0."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return self._sorted(lambda line, y: (_logarithm(*self.route.density(line, y)),), y)[0]

    def derivative(self, y: Array) -> Array:
        """Return the derivative of the sum (m,) at y (m,)."""
        return self._sorted(lambda line, y: (self.route.derivative(line, y),), y)[0]

    def integral(self, y: Array) -> Array:
        """Return the integral of the sum from −∞ to y (m,)."""
        return self._sorted(lambda line, y: (self.route.integral(line, y),), y)[0]

    @property
    def route(self) -> LineSums:
        """The functions that sum this kernel."""
        if self.scales is not None:
            return PAIRWISE_SUMS
        return LINE_SUMS.get(self.kernel.name, POLYNOMIAL_SUMS if self.pieces else PAIRWISE_SUMS)

    @cached_property
    def pieces(self) -> tuple[PolynomialPiece, ...]:
        """The kernel as piecewise polynomials; () where it is not approximated by them."""
        return self.kernel.pieces or (polynomial_pieces(self.kernel) if self.kernel.name not in LINE_SUMS else ())

    def _sorted(self, function: Callable[[Line, Array], tuple[Array, ...]], y: Array) -> tuple[Array, ...]:
        """Apply a function of sorted points to points in any order."""
        if all(in_slices(lambda part: _ascends(y, part), y.size, SLICE_QUERIES)):
            return function(self, np.ascontiguousarray(y))
        places, order = sorted_with_order(y)
        found = function(self, places)
        out = tuple(np.empty(y.size) for _ in found)

        def fill(part: slice) -> None:
            for into, values in zip(out, found, strict=True):
                into[order[part]] = values[part]

        in_slices(fill, y.size, SLICE_QUERIES)
        return out

    # ---- the points in order ----------------------------------------------------------------------------

    @cached_property
    def _order(self) -> tuple[Array, Array]:
        return sorted_with_order(self.points)

    @property
    def x(self) -> Array:
        """The points in ascending order."""
        return self._order[0]

    @cached_property
    def w(self) -> Array | None:
        """Their weights, or None where all of them are one."""
        return None if np.all(self.weights == 1.0) else np.ascontiguousarray(self.weights[self._order[1]])

    @cached_property
    def s(self) -> Array | None:
        """The scales of the sorted points."""
        return None if self.scales is None else self.scales[self._order[1]]

    @cached_property
    def below(self) -> Array:
        """The weight before each point, and all of it (n + 1,)."""
        return np.arange(self.x.size + 1.0) if self.w is None else np.concatenate([[0.0], np.cumsum(self.w)])

    def at_most(self, y: Array) -> Array:
        """Return the weight of the points x ≤ y (m,)."""
        return np.asarray(self.below[np.searchsorted(self.x, y, side="right")])

    @cached_property
    def octaves(self) -> list[Line]:
        """The points by their scales: those of one line differ by less than a factor of two."""
        if self.s is None:
            return [self]
        octave = np.floor(np.log2(self.s))
        w = np.ones(self.x.size) if self.w is None else self.w
        parts = (octave == k for k in np.unique(octave))
        return [Line(self.x[p], w[p], self.h, self.kernel, self.s[p], self.tol) for p in parts]

    @cached_property
    def table(self) -> IntegralTable:
        """A table of the integral, for Gaussians."""
        fine = Line(self.points, self.weights, self.h, self.kernel, self.scales, MIN_TOLERANCE)

        def density(y: Array) -> Array:
            with np.errstate(under="ignore", over="ignore"):
                exponent, value = fine.route.density(fine, y)
                return np.asarray(value * np.exp(exponent))

        groups = ((part.x, part.s) for part in self.octaves)
        edges = _panel_edges((x, self.h * s.min(), self.h * s.max()) for x, s in groups if s is not None)
        return tabulate_integral(density, edges)

    @cached_property
    def cloud(self) -> Cloud:
        """Points with scales of their own, as a cloud in one dimension."""
        assert self.s is not None
        w = (np.ones(self.x.size) if self.w is None else self.w) / self.s
        middle = self.x[self.x.size // 2]
        return Cloud(((self.x - middle) / self.h)[:, None], w, 1.0 / self.s, self.kernel.name)


def _ascends(y: Array, part: slice) -> bool:
    """Return whether no entry of a slice is below the one before it."""
    here = y[max(0, part.start - 1) : part.stop]
    return bool(np.all(here[1:] >= here[:-1]))


def _logarithm(exponent: Array, value: Array) -> Array:
    """Return the logarithm (m,) of value · exp(exponent); the value is overwritten."""

    def fill(part: slice) -> None:
        np.log(value[part], out=value[part])
        value[part] += exponent[part]

    in_slices(fill, value.size, SLICE_QUERIES)
    return value


class LineSums(NamedTuple):
    """Sums over a line at sorted y (m,): density as (exponent, value), meaning value · exp(exponent)."""

    density: Callable[[Line, Array], tuple[Array, Array]]
    derivative: Callable[[Line, Array], Array]
    integral: Callable[[Line, Array], Array]


# ---- polynomials --------------------------------------------------------------------------------------------


def _intervals(pieces: tuple[PolynomialPiece, ...], change: Callable[[PolynomialPiece], Array]) -> list[Interval]:
    last = pieces[-1]
    return [(piece.low, piece.high, change(piece).tolist(), piece is last) for piece in pieces]


def _polynomial_density(line: Line, y: Array) -> tuple[Array, Array]:
    intervals = _intervals(line.pieces, lambda piece: np.asarray(piece.coefficients))
    value, mass = window_sums(line.x, line.w, y, line.h, intervals)
    return np.zeros(y.size), _without_cancellation(line, y, value / line.h, mass / line.h)


def _without_cancellation(line: Line, y: Array, value: Array, mass: Array) -> Array:
    """Return densities without cancellation errors: small sums are computed again, pair by pair."""
    small = (value < CANCELLATION * float(line.kernel.profile(np.zeros(1))[0]) * mass) & (mass > 0.0)
    if line.pieces and line.pieces[-1].high < line.kernel.radius:
        small |= mass == 0.0  # the tail of a callable extends beyond its polynomials
    few = np.flatnonzero(small)
    if few.size:
        value[few] = pair_sums(line, y[few], line.kernel.profile, 1)
    return np.maximum(value, 0.0)


def _polynomial_derivative(line: Line, y: Array) -> Array:
    intervals = _intervals(line.pieces, lambda piece: np.polynomial.polynomial.polyder(piece.coefficients))
    return window_sums(line.x, line.w, y, line.h, intervals)[0] / line.h**2


def _polynomial_integral(line: Line, y: Array) -> Array:
    """Return the weight up to y, plus the mass of kernels near y beyond it, which is 0 at the window's ends."""
    return line.at_most(y) + window_sums(line.x, line.w, y, line.h, wrong_side_integrals(line.pieces))[0]


# ---- waves, exponentials ------------------------------------------------------------------------------------

COSINE_FREQUENCY = 0.5 * float(np.pi)


def _wave_density(line: Line, y: Array) -> tuple[Array, Array]:
    cosines, _, mass = wave_sums(line.x, line.w, y, line.h)
    return np.zeros(y.size), _without_cancellation(line, y, cosines * (0.5 * COSINE_FREQUENCY / line.h), mass / line.h)


def _wave_derivative(line: Line, y: Array) -> Array:
    return wave_sums(line.x, line.w, y, line.h)[1] * (-0.5 * COSINE_FREQUENCY**2 / line.h**2)


def _wave_integral(line: Line, y: Array) -> Array:
    _, sines, mass = wave_sums(line.x, line.w, y, line.h)
    before = window_sums(line.x, line.w, y, line.h, [(0.0, 1.0, [1.0], True)])[1]
    return line.at_most(y) - before + 0.5 * (mass + sines)


def _laplace_density(line: Line, y: Array) -> tuple[Array, Array]:
    before, nearest, behind, next_one = laplace_sums(line.x, line.w, y, line.h)
    exponent = -np.minimum(nearest, next_one)
    return exponent, (before * np.exp(-nearest - exponent) + behind * np.exp(-next_one - exponent)) / (2.0 * line.h)


def _laplace_derivative(line: Line, y: Array) -> Array:
    before, nearest, behind, next_one = laplace_sums(line.x, line.w, y, line.h)
    return np.asarray((behind * np.exp(-next_one) - before * np.exp(-nearest)) / (2.0 * line.h**2))


def _laplace_integral(line: Line, y: Array) -> Array:
    before, nearest, behind, next_one = laplace_sums(line.x, line.w, y, line.h)
    return np.asarray(line.at_most(y) + 0.5 * (behind * np.exp(-next_one) - before * np.exp(-nearest)))


def _gaussian_density(line: Line, y: Array) -> tuple[Array, Array]:
    exponent, value, _ = gaussian_sums(line.x, line.w, y, line.h, line.tol)
    value /= ROOT_2PI * line.h
    return exponent, value


def _gaussian_derivative(line: Line, y: Array) -> Array:
    exponent, _, slope = gaussian_sums(line.x, line.w, y, line.h, line.tol)
    return slope * np.exp(exponent) / (ROOT_2PI * line.h)


def _gaussian_integral(line: Line, y: Array) -> Array:
    return gaussian_integrals(line.x, line.w, y, line.h, MIN_TOLERANCE)


# ---- any kernel, points with scales of their own ------------------------------------------------------------


def pair_sums(line: Line, y: Array, function: Callable[[Array], Array], power: int) -> Array:
    """Return Σ w f(u) / (h s)^power over the points within reach of sorted y (m,), pair by pair."""
    total, reach = np.zeros(y.size), 1.001 * TAIL_RADII.get(line.kernel.name, line.kernel.radius)
    for part in line.octaves:
        scale = np.broadcast_to(part.h if part.s is None else part.h * part.s, part.x.shape)
        for queries, points in window_blocks(part.x, y, reach * float(scale.max())):
            weight = scale[points] ** -float(power) * (1.0 if part.w is None else part.w[points])
            total[queries] += function((y[queries, None] - part.x[points]) / scale[points]) @ weight
    return total


def _pair_density(line: Line, y: Array) -> tuple[Array, Array]:
    if line.s is None or line.kernel.name not in FORMS:
        return np.zeros(y.size), pair_sums(line, y, line.kernel.profile, 1)
    exponent, value = cloud_sums(line.cloud, ((y - line.x[line.x.size // 2]) / line.h)[:, None], line.tol)
    return exponent, value * float(line.kernel.profile(np.zeros(1))[0]) / line.h


def _pair_derivative(line: Line, y: Array) -> Array:
    return pair_sums(line, y, line.kernel.derivative, 2)


def _pair_integral(line: Line, y: Array) -> Array:
    if line.kernel.name in MANY_PAIR_INTEGRALS and line.x.size * y.size > MANY_PAIRS:
        return MANY_PAIR_INTEGRALS[line.kernel.name](line, y)
    return line.at_most(y) + pair_sums(line, y, _wrong_side(line), 0)


def _wrong_side(line: Line) -> Callable[[Array], Array]:
    """Return u → the mass of a kernel about 0 on the wrong side of u: below u < 0, and minus that above u ≥ 0."""
    right = [(b, np.asarray(c)) for _, b, c, _ in wrong_side_integrals(line.pieces) if b > 0.0]
    if len(right) == 1:  # a polynomial is cheaper than the distribution function
        end, coefficients = right[0]
        return lambda u: np.copysign(np.polynomial.polynomial.polyval(np.minimum(np.abs(u), end), -coefficients), -u)
    return lambda u: np.copysign(line.kernel.cdf(-np.abs(u)), -u)


def _between_scales(line: Line, y: Array) -> Array:
    """Return Σ w F((y − x) / (h s)) by interpolation in ln s: a fast sum for each of some scales per octave.

    The weights are Lagrange polynomials. F(u e^−σ) is analytic in σ, and the error falls below the last digits.
    """
    total = np.zeros(y.size)
    for part in line.octaves:
        assert part.s is not None
        w = np.ones(part.x.size) if part.w is None else part.w
        nodes, shares = _lagrange(np.log(part.s))
        for node, share in zip(nodes, shares, strict=True):
            one = Line(part.x, share * w, line.h * float(np.exp(node)), line.kernel, None, line.tol)
            total += one.route.integral(one, y)
    return total


def _lagrange(sigma: Array) -> tuple[Array, Array]:
    """Return Chebyshev nodes (q,) on the range of sigma (n,), and the Lagrange polynomials (q, n) of these nodes."""
    low, high = float(sigma.min()), float(sigma.max())
    if high - low < 1e-12:
        return np.array([low]), np.ones((1, sigma.size))
    angle = (np.arange(SCALE_NODES) + 0.5) * np.pi / SCALE_NODES
    t = np.clip((2.0 * sigma - low - high) / (high - low), -1.0, 1.0)
    waves = np.cos(np.multiply.outer(np.arange(SCALE_NODES), np.arccos(t)))
    basis = np.cos(np.multiply.outer(angle, np.arange(SCALE_NODES))) * np.where(np.arange(SCALE_NODES) > 0, 2.0, 1.0)
    return 0.5 * (low + high) + 0.5 * (high - low) * np.cos(angle), basis @ waves / SCALE_NODES


TAIL_RADII = {"gaussian": 9.0, "laplace": 42.0}
"""Scales beyond which kernels of unbounded support are below 1e-17 of their maximum."""

MANY_PAIRS = 10_000_000
"""Pairs beyond which integrals come from a table or by interpolation."""

SCALE_NODES = 16
"""Nodes per octave: the error is about 9^−16 of the weight (the ellipse in which exp(−u e^−σ) stays small)."""

MANY_PAIR_INTEGRALS: dict[str, Callable[[Line, Array], Array]] = {
    "gaussian": lambda line, y: line.table(y),
    "laplace": _between_scales,
}
"""Integrals of kernels of unbounded support that do not go through all pairs."""


PAIRWISE_SUMS = LineSums(_pair_density, _pair_derivative, _pair_integral)
POLYNOMIAL_SUMS = LineSums(_polynomial_density, _polynomial_derivative, _polynomial_integral)

LINE_SUMS: dict[str, LineSums] = {
    "gaussian": LineSums(_gaussian_density, _gaussian_derivative, _gaussian_integral),
    "cosine": LineSums(_wave_density, _wave_derivative, _wave_integral),
    "laplace": LineSums(_laplace_density, _laplace_derivative, _laplace_integral),
}
"""The fast sums of kernels that are not polynomials."""


CHEBYSHEV_NODES = 16
"""Nodes per panel of the table."""

TABLE_STEP, TABLE_REACH = 0.5, 9.0
"""The width of panels in units of the narrowest scale that reaches into them, and the reach in units of the scale."""


@dataclass(frozen=True, eq=False)
class IntegralTable:
    """The integral ∫ f up to y of a function f known at Chebyshev nodes of panels.

    Attributes:
        edges: (p + 1,) ascending. below: (p + 1,) the integral up to each edge.
        coefficients: (CHEBYSHEV_NODES + 1, p), of the integral from the panel's lower edge.
    """

    edges: Array
    below: Array
    coefficients: Array

    def __call__(self, y: Array) -> Array:
        """Return the integral (m,) up to y (m,). Cost O(m)."""
        panel = np.clip(np.searchsorted(self.edges, y, side="right") - 1, 0, self.edges.size - 2)
        low, high = self.edges[panel], self.edges[panel + 1]
        t = np.clip((2.0 * y - low - high) / (high - low), -1.0, 1.0)
        return np.asarray(self.below[panel] + chebyshev.chebval(t, self.coefficients[:, panel], tensor=False))


def tabulate_integral(f: Callable[[Array], Array], edges: Array) -> IntegralTable:
    """Return the integral table of a function that is a polynomial of degree 15 between neighbours of `edges`.

    >>> round(float(tabulate_integral(np.cos, np.array([0.0, 1.0, 2.0]))(np.array([1.5]))[0] - np.sin(1.5)), 12)
    0.0
    """
    angle = np.pi * (np.arange(CHEBYSHEV_NODES) + 0.5) / CHEBYSHEV_NODES
    half = 0.5 * np.diff(edges)
    places = 0.5 * (edges[1:] + edges[:-1]) + np.multiply.outer(np.cos(angle), half)
    values = f(places.T.ravel()).reshape(places.T.shape).T
    fits = np.cos(np.multiply.outer(np.arange(CHEBYSHEV_NODES), angle)) @ values * (2.0 / CHEBYSHEV_NODES)
    fits[0] *= 0.5
    integral = chebyshev.chebint(fits, lbnd=-1.0, axis=0) * half
    return IntegralTable(edges, np.concatenate([[0.0], np.cumsum(integral.sum(axis=0))]), integral)


def _panel_edges(groups: Iterable[tuple[Array, float, float]]) -> Array:
    """Return panel edges for sums of Gaussians, from groups of sorted points with the min and max of their scales."""
    parts = []
    for x, least, most in groups:
        reach = TABLE_REACH * most
        apart = np.flatnonzero(np.diff(x) > 2.0 * reach)
        lows, highs = x[np.r_[0, apart + 1]] - reach, x[np.r_[apart, x.size - 1]] + reach
        parts += [np.linspace(a, b, int((b - a) / (TABLE_STEP * least)) + 2) for a, b in zip(lows, highs, strict=True)]
    return np.unique(np.concatenate(parts))
