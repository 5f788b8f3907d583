"""Sums along a line of kernels that are wide beside its bounds: a few polynomials in y − x, over sliding windows.

Between two bounds the periodic kernel of period 2W is smooth except at a few places. So whatever h is, sums over n
points at m places cost O(n + m).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from eigenlens.arrays import Array
from eigenlens.kde.bounded_column import interval_masses
from eigenlens.kde.kernels import SmoothingKernel
from eigenlens.kde.periodic import periodic_kernel
from eigenlens.kde.pieces import interpolate_polynomial
from eigenlens.native.kernel_sums import Interval, sorted_with_order, window_sums

PIECE_STEPS = {"gaussian": 0.1, "laplace": 0.25, "cosine": 0.25}
"""Widths of pieces, in units of h, on which kernels are polynomials of degree 7 to the last digits."""


@dataclass(frozen=True, eq=False)
class WideLine:
    """A sum Σ_i w_i f((y − x_i) / W) / W along a line, with its derivative and integral.

    Attributes:
        points: (k,) with images. weights: (k,). width: W.
        pieces: of f. primitives: of the integral of f from 0.
    """

    points: Array
    weights: Array
    width: float
    pieces: list[Interval]
    primitives: list[Interval]

    def log_density(self, y: Array) -> Array:
        """Return the logarithm of the sum (m,) at y (m,), which is within the bounds."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(self._sums(self.pieces, y), 0.0) / self.width)

    def derivative(self, y: Array) -> Array:
        """Return the derivative of the sum (m,) at y (m,)."""
        slopes = [(a, b, np.polynomial.polynomial.polyder(c).tolist() or [0.0], end) for a, b, c, end in self.pieces]
        return self._sums(slopes, y) / self.width**2

    def integral(self, y: Array) -> Array:
        """Return the integral of the sum (m,) up to y (m,), up to a constant."""
        return self._sums(self.primitives, y)

    def _sums(self, pieces: list[Interval], y: Array) -> Array:
        x, w = self._order
        places, order = sorted_with_order(y)
        out = np.empty(y.size)
        out[order] = window_sums(x, w, places, self.width, pieces)[0]
        return out

    @cached_property
    def _order(self) -> tuple[Array, Array]:
        x, order = sorted_with_order(self.points)
        return x, np.ascontiguousarray(self.weights[order])


def reflected_line(x: Array, weights: Array, h: float, kernel: SmoothingKernel, low: float, high: float) -> WideLine:
    """Return the sum of kernels reflected at both bounds."""
    W = high - low
    end = np.mod(h * kernel.radius / W, 2.0) if np.isfinite(kernel.radius) else 0.0
    ends = [sign * end + turn for sign in (-1.0, 1.0) for turn in (-2.0, 0.0, 2.0)]
    edges = _edges(2.0, [0.0, *ends], PIECE_STEPS.get(kernel.name, 1.0) * h / W)
    scale = np.asarray(h)
    pieces = _interpolate_pieces(lambda t: W * periodic_kernel(kernel, W * t, scale, W), edges)
    primitives = _interpolate_pieces(lambda t: periodic_kernel(kernel, W * t, scale, W, -1), edges)
    return WideLine(np.concatenate([x, 2.0 * low - x]), np.tile(weights, 2), W, pieces, primitives)


def periodic_line(x: Array, weights: Array, h: float, kernel: SmoothingKernel, low: float, high: float) -> WideLine:
    """Return the sum of kernels with the period of the bounds."""
    line = reflected_line(
        x, weights, h, kernel, low, 0.5 * (low + high)
    )  # whose kernels have twice the period of its bounds
    return replace(line, points=x, weights=weights)


def truncated_line(x: Array, weights: Array, h: float, kernel: SmoothingKernel, low: float, high: float) -> WideLine:
    """Return the sum of kernels much wider than the bounds, truncated there and renormalised."""
    W = high - low
    scale = np.asarray(h / W)
    whole = interval_masses(kernel, (x - low) / W, np.broadcast_to(scale, x.shape), 0.0, np.asarray(1.0)) * scale
    edges = _edges(1.0, [0.0], 0.5)
    pieces = _interpolate_pieces(lambda t: kernel.profile(t / scale), edges)
    primitives = _interpolate_pieces(
        lambda t: scale * np.sign(t) * interval_masses(kernel, np.zeros(t.shape), scale, 0.0, np.abs(t)), edges
    )
    return WideLine(x, weights / whole, W, pieces, primitives)


def _edges(span: float, breaks: list[float], step: float) -> Array:
    """Return edges from −span to span: all places where a kernel may have a kink, and steps of at most this length."""
    known = np.unique(np.clip([-span, span, *breaks], -span, span))
    parts = [np.linspace(a, b, int(np.ceil((b - a) / min(step, 0.5))) + 1)[:-1] for a, b in pairwise(known)]
    return np.concatenate([*parts, known[-1:]])


def _interpolate_pieces(function: Callable[[Array], Array], edges: Array) -> list[Interval]:
    """Return a function as polynomials between neighbours of `edges` (k,)."""
    pairs = [(float(a), float(b)) for a, b in pairwise(edges)]
    return [(a, b, interpolate_polynomial(function, a, b), b == edges[-1]) for a, b in pairs]
