"""Sums of smoothing kernels over points: along a line, where points are sorted, and in space, by tiles.

Kernels are without their normalising constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from eigenlens.arrays import Array, slices
from eigenlens.native.runtime import kernels, plain
from eigenlens.resources import thread_count

PAIRS = 1 << 18
"""The number of pairs of queries and points that a NumPy twin works on at a time."""

WIDEST = 2.2
"""The largest product of half a group's width and the reach, in units of h², for which the expansion is accurate."""

FEW_QUERIES = 32

Interval = tuple[float, float, Sequence[float], bool]
"""An interval: low, high, the coefficients of 1, u, u², … between them, and whether it includes u = high."""


def sorted_with_order(values: Array) -> tuple[Array, Array]:
    """Return values (n,) without NaN in ascending order, and their former positions; equal ones stay in their order.

    >>> sorted_with_order(np.array([3.0, 1.0, 2.0]))
    (array([1., 2., 3.]), array([1, 2, 0]))
    """
    values = plain(values)
    if kernels is None or values.size < 1000:
        order = np.argsort(values, kind="stable")
        return values[order], order
    out, order = np.empty(values.size), np.empty(values.size, dtype=np.int64)
    kernels.sort_order(values, out, order, thread_count())
    return out, order


def window_blocks(x: Array, y: Array, reach: float) -> Iterator[tuple[slice, slice]]:
    """Yield ranges of sorted queries y with the points within reach of any of them, of not too many pairs each."""
    low, high = np.searchsorted(x, y - reach, side="left"), np.searchsorted(x, y + reach, side="right")
    start = 0
    while start < y.size:
        count = max(1, PAIRS // max(1, int(high[start] - low[start])))
        while count > 1 and count * int(high[min(start + count, y.size) - 1] - low[start]) > 4 * PAIRS:
            count //= 2
        stop = min(y.size, start + count)
        yield slice(start, stop), slice(int(low[start]), int(high[stop - 1]))
        start = stop


# ---- polynomials on a window --------------------------------------------------------------------------------


def window_sums(x: Array, w: Array | None, y: Array, h: float, pieces: Sequence[Interval]) -> tuple[Array, Array]:
    """Return Σ_i w_i p(u_i), u_i = (y − x_i) / h, for a piecewise polynomial p that is 0 outside its intervals.

    The second result is the weight of the points in the intervals. x (n,) and y (m,) are sorted. Cost
    O((n + m) degree²), error about 1e-15 of the weight in the window, whatever lies outside it (see kde/window.hpp).

    >>> window_sums(np.array([0.0, 1.0]), None, np.array([0.5]), 1.0, [(-1.0, 1.0, [0.75, 0.0, -0.75], True)])
    (array([1.125]), array([2.]))
    """
    if kernels is None:
        return window_sums_numpy(x, w, y, h, pieces)
    sums, line = np.zeros((2, y.size)), (*map(plain, (x, w, y)), h)
    for low, high, coefficients, closed in pieces:
        kernels.window_powers(*line, low, high, closed, _addition(coefficients), sums, thread_count())
    return sums[0], sums[1]


def _addition(coefficients: Sequence[float]) -> Array:
    """Return M with p(s − t) = Σ_jl M_jl t^j s^l, by the binomial theorem."""
    M = np.zeros((len(coefficients), len(coefficients)))
    for k, c in enumerate(coefficients):
        for j in range(k + 1):
            M[j, k - j] += c * math.comb(k, j) * (-1.0) ** j
    return M


def window_sums_numpy(x: Array, w: Array | None, y: Array, h: float, pieces: Sequence[Interval]) -> tuple[Array, Array]:
    """The twin of `window_sums`: every pair within reach."""
    sums, mass = np.zeros(y.size), np.zeros(y.size)
    reach = 1.001 * h * max(max(abs(low), abs(high)) for low, high, *_ in pieces)
    for queries, points in window_blocks(x, y, reach):
        u = (y[queries, None] - x[points]) / h
        for low, high, coefficients, closed in pieces:
            inside = ((u >= low) & ((u <= high) if closed else (u < high))) * (1.0 if w is None else w[points])
            sums[queries] += np.sum(np.polynomial.polynomial.polyval(u, np.asarray(coefficients)) * inside, axis=1)
            mass[queries] += np.sum(inside, axis=1)
    return sums, mass


def wave_sums(x: Array, w: Array | None, y: Array, h: float) -> tuple[Array, Array, Array]:
    """Return Σ w cos(πu/2), Σ w sin(πu/2) and Σ w over the points with |u| ≤ 1, u = (y − x) / h; x and y are sorted.

    >>> wave_sums(np.array([0.0, 1.0]), None, np.array([0.0]), 2.0)
    (array([1.7071]), array([-0.7071]), array([2.]))
    """
    if kernels is None:
        return wave_sums_numpy(x, w, y, h)
    sums = np.zeros((3, y.size))
    kernels.window_waves(*map(plain, (x, w, y)), h, sums, thread_count())
    return sums[0], sums[1], sums[2]


def wave_sums_numpy(x: Array, w: Array | None, y: Array, h: float) -> tuple[Array, Array, Array]:
    """The twin of `wave_sums`: every pair within reach."""
    sums = np.zeros((3, y.size))
    for queries, points in window_blocks(x, y, 1.001 * h):
        u = (y[queries, None] - x[points]) / h
        inside = (np.abs(u) <= 1.0) * (1.0 if w is None else w[points])
        sums[0, queries] = np.sum(np.cos(0.5 * np.pi * u) * inside, axis=1)
        sums[1, queries] = np.sum(np.sin(0.5 * np.pi * u) * inside, axis=1)
        sums[2, queries] = np.sum(inside, axis=1)
    return sums[0], sums[1], sums[2]


# ---- Laplace ------------------------------------------------------------------------------------------------


def laplace_sums(x: Array, w: Array | None, y: Array, h: float) -> tuple[Array, Array, Array, Array]:
    """Return Σ w exp(−|y − x| / h) over points x ≤ y as sum · exp(−distance to the nearest); then over x > y.

    x (n,) and y (m,) are sorted; a side without points has sum 0 and distance inf. Two sweeps, O(n + m).

    >>> laplace_sums(np.array([0.0, 1.0]), None, np.array([3.0]), 1.0)
    (array([1.3679]), array([2.]), array([0.]), array([inf]))
    """
    if kernels is None:
        return laplace_sums_numpy(x, w, y, h)
    sums = np.empty((4, y.size))
    kernels.laplace(*map(plain, (x, w, y)), h, sums, thread_count())
    return sums[0], sums[1], sums[2], sums[3]


def laplace_sums_numpy(x: Array, w: Array | None, y: Array, h: float) -> tuple[Array, Array, Array, Array]:
    """The twin of `laplace_sums`: every pair."""
    sums = np.zeros((4, y.size))
    split = np.searchsorted(x, y, side="right")
    sums[1], sums[3] = np.inf, np.inf
    before, behind = split > 0, split < x.size
    sums[1, before] = (y[before] - x[split[before] - 1]) / h
    sums[3, behind] = (x[split[behind]] - y[behind]) / h
    for part in slices(y.size, max(1, PAIRS // x.size)):
        left = np.arange(x.size) < split[part, None]
        nearest = np.where(left, sums[1, part, None], sums[3, part, None])
        terms = np.exp(nearest - np.abs(y[part, None] - x) / h) * (1.0 if w is None else w)
        sums[0, part], sums[2, part] = np.sum(terms * left, axis=1), np.sum(terms * ~left, axis=1)
    return sums[0], sums[1], sums[2], sums[3]


# ---- Gauss --------------------------------------------------------------------------------------------------


def gaussian_sums(x: Array, w: Array | None, y: Array, h: float, tol: float) -> tuple[Array, Array, Array]:
    """Return e, v and s (m,): Σ w exp(−u²/2) = v exp(e), and its derivative in y is s exp(e).

    u = (y − x) / h; x (n,) and y (m,) are sorted. The relative error is about tol everywhere, however far from the
    points. Queries in groups of width h/2 share one expansion; cost O(n + m) with a constant of some hundreds.

    >>> gaussian_sums(np.array([0.0]), None, np.array([2.0, 10.0]), 1.0, 1e-8)
    (array([ -2., -50.]), array([1., 1.]), array([ -2., -10.]))
    """
    if kernels is None:
        return gaussian_sums_numpy(x, w, y, h, tol)
    sums = np.empty((3, y.size))
    given = map(plain, (x, w, np.empty(0), y))
    kernels.gaussian_line(*given, h, *_plan(x, w, tol), False, sums, thread_count())
    return sums[0], sums[1], sums[2] / h


def _plan(x: Array, w: Array | None, tol: float) -> tuple[float, float, int]:
    """Return the squared reach beyond the nearest point, in units of h², half a group's width, and the terms."""
    ratio = float(x.size) if w is None else float(np.sum(w) / np.min(w))
    span = 2.0 * (math.log(ratio) - math.log(tol)) + 1.0
    half = min(0.25, WIDEST / math.sqrt(span))
    enough = math.exp(WIDEST) * WIDEST**16 / math.factorial(16) <= tol
    return span, half, 16 if enough else 24


def gaussian_sums_numpy(x: Array, w: Array | None, y: Array, h: float, tol: float) -> tuple[Array, Array, Array]:
    """The twin of `gaussian_sums`: every pair within reach."""
    exponent, value, slope = np.empty(y.size), np.empty(y.size), np.empty(y.size)
    span = _plan(x, w, tol)[0]
    for queries, points in _within(x, y, h, span):
        u = (y[queries, None] - x[points]) / h
        power = -0.5 * u * u
        exponent[queries] = power.max(axis=1)
        terms = np.exp(power - exponent[queries, None]) * (1.0 if w is None else w[points])
        value[queries], slope[queries] = terms.sum(axis=1), np.sum(-u * terms, axis=1) / h
    return exponent, value, slope


def _within(x: Array, y: Array, h: float, span: float) -> Iterator[tuple[slice, slice]]:
    """Yield ranges of sorted queries with the points that `span` allows beyond their nearest one."""
    right = np.searchsorted(x, y)
    nearest = np.minimum(np.abs(y - x[np.maximum(right - 1, 0)]), np.abs(x[np.minimum(right, x.size - 1)] - y)) / h
    for some in slices(y.size, FEW_QUERIES):
        reach = h * np.hypot(nearest[some].max(), np.sqrt(span))
        for queries, points in window_blocks(x, y[some], reach):
            yield slice(some.start + queries.start, some.start + queries.stop), points


def gaussian_integrals(x: Array, w: Array | None, y: Array, h: float, tol: float) -> Array:
    """Return Σ w Φ((y − x) / h) (m,) for sorted x (n,) and y (m,), Φ the normal distribution function.

    >>> gaussian_integrals(np.array([0.0, 1.0]), None, np.array([0.5]), 1.0, 1e-12)
    array([1.])
    """
    if kernels is None:
        return gaussian_integrals_numpy(x, w, y, h, tol)
    value = np.empty(y.size)
    given = map(plain, (x, w, _below(x, w), y))
    kernels.gaussian_line(*given, h, *_plan(x, w, tol), True, value, thread_count())
    return value


def _below(x: Array, w: Array | None) -> Array:
    """Return the weight before each point, and the total (n + 1,)."""
    return np.arange(x.size + 1.0) if w is None else np.concatenate([[0.0], np.cumsum(w)])


def gaussian_integrals_numpy(x: Array, w: Array | None, y: Array, h: float, tol: float) -> Array:
    """The twin of `gaussian_integrals`: every pair within reach."""
    below, value = _below(x, w), np.empty(y.size)
    for queries, points in _within(x, y, h, _plan(x, w, tol)[0]):
        terms: Any = special.ndtr((y[queries, None] - x[points]) / h)
        value[queries] = below[points.start] + np.sum(terms * (1.0 if w is None else w[points]), axis=1)
    return value


TILE_PAIRS = 1 << 17

SCALES = {"gaussian": math.sqrt(0.5 / math.log(2.0)), "laplace": 1.0 / math.log(2.0)}
"""Factors that turn exponentials into powers of two."""


def _product(profile: Callable[[Array], Array]) -> Callable[[Array], tuple[Array, Array]]:
    """Return the exponent 0, and the product of the profile over the last axis."""
    return lambda u: (np.zeros(u.shape[:-1]), np.prod(profile(u), axis=-1))


def _bell(p: int) -> Callable[[Array], Array]:
    return lambda u: np.where(np.abs(u) <= 1.0, ((1.0 - np.abs(u)) * (1.0 + np.abs(u))) ** p, 0.0)


def _wave(u: Array) -> Array:
    return np.sin(0.5 * np.pi * np.maximum(1.0 - np.abs(u), 0.0))


FORMS: dict[str, Callable[[Array], tuple[Array, Array]]] = {
    "gaussian": lambda u: (-0.5 * np.sum(u * u, axis=-1), np.ones(u.shape[:-1])),
    "laplace": lambda u: (-np.sum(np.abs(u), axis=-1), np.ones(u.shape[:-1])),
    "box": _product(_bell(0)),
    "epanechnikov": _product(_bell(1)),
    "triangular": _product(lambda u: np.maximum(1.0 - np.abs(u), 0.0)),
    "biweight": _product(_bell(2)),
    "triweight": _product(_bell(3)),
    "cosine": _product(_wave),
}
"""The kernel of differences u (…, d) as (logarithm, factor), without its constant."""


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points (n, d) in units of the bandwidth, prepared for many sums.

    Attributes:
        points: (n, d).
        weights: (n,), positive.
        inverse: (n,) of the points' own scales, or None where they are one.
        form: one of `FORMS`.
    """

    points: Array
    weights: Array
    inverse: Array | None
    form: str

    @cached_property
    def packed(self) -> Any:
        """The points in the layout of the compiled kernel."""
        points = self.points * SCALES.get(self.form, 1.0)
        return kernels.tiles(*map(plain, (points, self.weights, self.inverse)), thread_count())


def cloud_sums(cloud: Cloud, Y: Array, tol: float) -> tuple[Array, Array]:
    """Return exponent and value (m,): Σ_i w_i Π_j K(r_i (y_j − x_ij)) = value · exp(exponent) for queries Y (m, d).

    Points and queries are ordered so that neighbours fill small boxes; boxes too far apart are left out, at a
    relative error of at most tol. Sums so small that they would underflow are computed again relative to the nearest
    point. Cost at most n m (2d + 20) flops; nothing of size n m is stored.

    >>> cloud = Cloud(np.zeros((1, 2)), np.ones(1), None, "gaussian")
    >>> exponent, value = cloud_sums(cloud, np.array([[1.0, 1.0], [300.0, 400.0]]), 1e-8)
    >>> exponent + np.log(value)
    array([-1.0e+00, -1.25e+05])
    """
    if kernels is None:
        return cloud_sums_numpy(cloud, Y, tol)
    sums = np.empty((2, len(Y)))
    queries = plain(Y * SCALES.get(cloud.form, 1.0))
    kernels.tile_sums(cloud.packed, queries, cloud.form, tol, sums, thread_count())
    return -math.log(2.0) * sums[0], sums[1]


def cloud_sums_numpy(cloud: Cloud, Y: Array, tol: float) -> tuple[Array, Array]:
    """The twin of `cloud_sums`: every pair, in blocks; tol is not used."""
    exponent, value = np.empty(len(Y)), np.empty(len(Y))
    inverse = 1.0 if cloud.inverse is None else cloud.inverse[:, None]
    for part in slices(len(Y), max(1, TILE_PAIRS // cloud.points.size)):
        power, factor = FORMS[cloud.form]((Y[part, None, :] - cloud.points) * inverse)
        exponent[part] = power.max(axis=1)
        value[part] = (np.exp(power - exponent[part, None]) * factor) @ cloud.weights
    return exponent, value
