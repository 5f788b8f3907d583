"""Densities within bounds: mirror images of points, truncated kernels that are renormalised, or periodic kernels.

All keep every kernel's mass at one, so the density integrates to one over the box. They work column by column, so the
kernel must be a product: one bandwidth per column. A fourth way, which corrects the sum and not its kernels, has a
module of its own, `local_linear`.

`Folded` sums products of kernels between bounds pair by pair, the images of each column within the product: d columns
with c images each make c^d images of a point, but only c d terms there. Only a block of pairs is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.kde.kernels import SMOOTHING_KERNELS, SmoothingKernel
from eigenlens.kde.periodic import SERIES_WIDTH, UNIFORM_GAUSSIAN, gaussian_turns, periodic_kernel, reflected_kernel

LOST_EXPONENT = 80.0
"""Images whose exponent is below that of the nearest image by half of this, e^−40, are left out."""

MAX_IMAGES_PER_POINT, MAX_IMAGE_ENTRIES, FEW_IMAGES_PER_POINT = 16.0, 30_000_000, 4.0
"""Images per point on average, and entries in total, beyond which kernels are reflected in closed form instead; never
with fewer images per point than the last."""

WIDE_CUT_OFF = 64.0
"""h over the distance of the bounds: wider truncated kernels are integrated without differences of cdfs, to avoid
cancellation."""

UNIFORM_WIDTH = 1e7
"""h over the distance of the bounds: draws from kernels wider than this are uniform to the precision of any sample."""

IMAGE_REACHES: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda nearest: np.sqrt(nearest**2 + LOST_EXPONENT),
    "laplace": lambda nearest: nearest + LOST_EXPONENT / 2.0,
}
"""The distance up to which images matter, in units of h, given that of the nearest; other kernels are bounded."""


def _reach(kernel: SmoothingKernel, nearest: float) -> float:
    return float(IMAGE_REACHES[kernel.name](np.asarray(nearest))) if kernel.name in IMAGE_REACHES else kernel.radius


@dataclass(frozen=True)
class Extended:
    """Points (k, d) whose unbounded kernels add up to the density within the bounds.

    Attributes:
        points: the points, with images of them.
        weights: (k,).
        origin: (k,) the point that each is an image of; None where there are no images.
    """

    points: Array
    weights: Array
    origin: Array | None = None


@dataclass(frozen=True)
class Boundary:
    """A way to respect bounds.

    Attributes:
        extend: from points (n, d), weights (n,), scales (n, d), kernel and bounds (d, 2) to `Extended`.
        too_wide: from points, scales, kernel and bounds to whether kernels are too wide for `extend`.
        draw: from centres and scales (m, d), kernel, bounds and a generator to draws (m, d) within the bounds; None
            where the density is not a sum of one kernel per point, so that draws come from its quantiles.
    """

    extend: Callable[[Array, Array, Array, SmoothingKernel, Array], Extended]
    too_wide: Callable[[Array, Array, SmoothingKernel, Array], bool]
    draw: Callable[[Array, Array, SmoothingKernel, Array, np.random.Generator], Array] | None


def within_bounds(X: Array, bounds: Array) -> Array:
    """Return whether each row (n,) of X (n, d) is finite and lies within bounds (d, 2), or on them."""
    inside = np.ones(len(X), dtype=bool)
    for column, (low, high) in zip(X.T, bounds, strict=True):  # reductions of short rows are slow
        inside &= (column >= low) & (column <= high) & np.isfinite(column)
    return inside


def open_bounds(d: int) -> Array:
    """Return bounds (d, 2) that are all infinite."""
    return np.tile([-np.inf, np.inf], (d, 1))


# ---- reflection ---------------------------------------------------------------------------------------------


def _reflected(points: Array, weights: Array, scales: Array, kernel: SmoothingKernel, bounds: Array) -> Extended:
    """Return the points with their images in every bounded column, of images in the columns before."""
    origin = np.arange(len(points))
    for j in np.flatnonzero(np.isfinite(bounds).any(axis=1)):
        column, scale = points[:, j], scales[origin, j]
        images = _images(column, bounds[j], float(scales[:, j].max()), kernel)
        near = [_matters(image, column, scale, bounds[j], kernel) for image in images]
        points, origin = _with_images(points, origin, j, images, near)
    return Extended(points, weights[origin], origin)


def _with_images(
    points: Array, origin: Array, j: Any, images: Sequence[Array], near: Sequence[Array]
) -> tuple[Array, Array]:
    """Return points (k, d) and their origins (k,) with images (n,) of column j appended, those that are `near` (n,)."""
    places = [np.flatnonzero(kept) for kept in near]
    kept = np.concatenate([np.arange(len(points)), *places])
    extended = points[kept]
    extended[len(points) :, j] = np.concatenate([image[place] for image, place in zip(images, places, strict=True)])
    return extended, origin[kept]


def _too_many(points: Array, scales: Array, kernel: SmoothingKernel, bounds: Array) -> bool:
    """Return whether there would be too many images, without making one."""
    n, d = points.shape
    counts = np.ones(n)
    with np.errstate(over="ignore"):
        for j in np.flatnonzero(np.isfinite(bounds).any(axis=1)):
            counts *= _image_counts(points[:, j], scales[:, j], kernel, bounds[j])
    total = float(counts.sum())
    each = MAX_IMAGES_PER_POINT * (4.0 if d > 1 or kernel.name not in SMOOTHING_KERNELS else 1.0)
    return bool(total > each * n or (total * d > MAX_IMAGE_ENTRIES and total > FEW_IMAGES_PER_POINT * n))


def _image_counts(x: Array, scale: Array, kernel: SmoothingKernel, bounds: Array) -> Array:
    """Return how many images of each point (n,) matter, itself included.

    Beyond a bound at distance p they are at p, 2W − p, 2W + p, 4W − p, … from it.
    """
    total = np.ones(x.size)
    width = float(bounds[1] - bounds[0])
    for bound in bounds[np.isfinite(bounds)]:
        p = np.abs(x - bound)
        limit = _reach(kernel, float(np.min(p / scale))) * scale
        if np.isfinite(width):
            total += np.floor(np.maximum(limit - p, -1.0 * width) / (2.0 * width)) + 1.0
            total += np.floor(np.maximum(limit + p, width) / (2.0 * width) - 1.0) + 1.0
        else:
            total += limit >= p
    return total


def _images(x: Array, bounds: Array, scale: float, kernel: SmoothingKernel) -> list[Array]:
    """Return the mirror images of x (n,) at one bound, or repeatedly at both while any may matter."""
    low, high = bounds
    if not np.isfinite(low) or not np.isfinite(high):
        return [2.0 * (low if np.isfinite(low) else high) - x]
    width = high - low
    reach = scale * _reach(kernel, width / scale)
    most = int(np.ceil(reach / (2.0 * width)) + 1)
    shifts = [2.0 * k * width for k in range(-most, most + 1)]
    return [2.0 * low - x + s for s in shifts] + [x + s for s in shifts if s != 0.0]


def _matters(image: Array, x: Array, scale: Array, bounds: Array, kernel: SmoothingKernel) -> Array:
    """Return whether images matter within the interval, relative to the points there."""
    below = image < 0.5 * (bounds[0] + bounds[1]) if np.isfinite(bounds).all() else np.isfinite(bounds[0])
    edge = np.where(below, bounds[0], bounds[1])
    limits = [_reach(kernel, float(np.min(np.abs(x - b) / scale))) if np.isfinite(b) else 0.0 for b in bounds]
    return np.asarray(np.abs(image - edge) <= np.where(below, *limits) * scale)


def _draw_reflected(
    centres: Array, scales: Array, kernel: SmoothingKernel, bounds: Array, rng: np.random.Generator
) -> Array:
    """Draw from unbounded kernels, reflected at the bounds."""
    X = centres + scales * kernel.sample(centres.size, rng).reshape(centres.shape)
    for j, (low, high) in enumerate(bounds):
        if np.isfinite(low) and np.isfinite(high):
            W = high - low
            far = np.where(scales[:, j] > UNIFORM_WIDTH * W, 2.0 * W * rng.random(len(X)), X[:, j] - low)
            t = np.mod(far, 2.0 * W)
            X[:, j] = np.clip(low + np.minimum(t, 2.0 * W - t), low, high)
        elif np.isfinite(low):
            X[:, j] = low + np.abs(X[:, j] - low)
        elif np.isfinite(high):
            X[:, j] = high - np.abs(high - X[:, j])
    return np.asarray(X)


# ---- periodic columns -----------------------------------------------------------------------------------------


def _repeated(points: Array, weights: Array, scales: Array, kernel: SmoothingKernel, bounds: Array) -> Extended:
    """Return the points with their copies in the periods before and after that matter, in every bounded column."""
    origin = np.arange(len(points))
    for j in np.flatnonzero(np.isfinite(bounds).all(axis=1)):
        (low, high), column, scale = bounds[j], points[:, j], scales[origin, j]
        limit = _period_reaches(scale, kernel, high - low)
        most = int(np.ceil(float(limit.max()) / (high - low)))
        images = [column + turn * (high - low) for turn in range(-most - 1, most + 2) if turn]
        near = [np.maximum(image - high, low - image) <= limit for image in images]
        points, origin = _with_images(points, origin, j, images, near)
    return Extended(points, weights[origin], origin)


def _period_reaches(scale: Array, kernel: SmoothingKernel, W: float) -> Array:
    """Return the distance (n,) from the bounds up to which copies matter: the nearest is at most W / 2 away."""
    if kernel.name not in IMAGE_REACHES:
        return np.asarray(scale * kernel.radius)
    return np.asarray(scale * IMAGE_REACHES[kernel.name](0.5 * W / scale))


def _many_periods(points: Array, scales: Array, kernel: SmoothingKernel, bounds: Array) -> bool:
    """Return whether there would be too many copies, so that kernels are made periodic in closed form instead."""
    n, d = points.shape
    counts = np.ones(n)
    for j in np.flatnonzero(np.isfinite(bounds).all(axis=1)):
        W = float(bounds[j, 1] - bounds[j, 0])
        counts = counts * (1.0 + 2.0 * _period_reaches(scales[:, j], kernel, W) / W)
    return bool(counts.sum() > MAX_IMAGES_PER_POINT * (4.0 if d > 1 else 1.0) * n)


def _draw_periodic(
    centres: Array, scales: Array, kernel: SmoothingKernel, bounds: Array, rng: np.random.Generator
) -> Array:
    """Draw from unbounded kernels, modulo the period."""
    X = centres + scales * kernel.sample(centres.size, rng).reshape(centres.shape)
    for j, (low, high) in enumerate(bounds):
        if np.isfinite(low):
            W = high - low
            far = np.where(scales[:, j] > UNIFORM_WIDTH * W, W * rng.random(len(X)), X[:, j] - low)
            X[:, j] = np.clip(low + np.mod(far, W), low, high)
    return np.asarray(X)


# ---- renormalisation ----------------------------------------------------------------------------------------


def _renormalize(points: Array, weights: Array, scales: Array, kernel: SmoothingKernel, bounds: Array) -> Extended:
    """Return the points with weights divided by the mass of each kernel within the bounds."""
    inner = [interval_masses(kernel, x, s, *ends) for x, s, ends in zip(points.T, scales.T, bounds, strict=True)]
    return Extended(points, weights / np.prod(inner, axis=0))


def _very_wide(points: Array, scales: Array, kernel: SmoothingKernel, bounds: Array) -> bool:
    """Return whether a kernel has so little mass within the bounds that differences of cdfs would lose its digits."""
    return bool(np.any(scales.max(axis=0) > WIDE_CUT_OFF * (bounds[:, 1] - bounds[:, 0])))


def _draw_truncated(
    centres: Array, scales: Array, kernel: SmoothingKernel, bounds: Array, rng: np.random.Generator
) -> Array:
    """Draw from kernels truncated at the bounds."""
    below, upto = (kernel.cdf((ends - centres) / scales) for ends in bounds.T)
    share = rng.random(centres.shape)
    u = kernel.quantile(below + share * (upto - below))
    with np.errstate(invalid="ignore"):
        uniform = bounds[:, 0] + share * (bounds[:, 1] - bounds[:, 0])
    flat = scales > UNIFORM_WIDTH * (bounds[:, 1] - bounds[:, 0])
    return np.asarray(np.clip(np.where(flat, uniform, centres + scales * u), bounds[:, 0], bounds[:, 1]))


def _unextended(points: Array, weights: Array, *_: Any) -> Extended:
    """Return the points unchanged: `LocalLinearLine` corrects their sum."""
    return Extended(points, weights)


BOUNDARIES: dict[str, Boundary] = {
    "reflect": Boundary(_reflected, _too_many, _draw_reflected),
    "renormalize": Boundary(_renormalize, _very_wide, _draw_truncated),
    "periodic": Boundary(_repeated, _many_periods, _draw_periodic),
    "linear": Boundary(_unextended, lambda *_: False, None),
}
"""Ways to respect bounds by name: the density has slope 0 there, its kernels are truncated, what leaves at one bound
enters at the other, or a line is fitted to what kernels see near a bound."""


BOUNDED_PAIRS = 1 << 17
"""Pairs of queries and points per block."""

SHORT_INTERVAL = 0.25
"""The mass of an interval shorter than this, in units of the kernel, is by quadrature: differences of cdfs cancel."""

LEAST_EXPONENT = -600.0
"""Exponentials below this are near the smallest floats."""

INTERVAL_NODES, INTERVAL_WEIGHTS = np.polynomial.legendre.leggauss(10)


@dataclass(frozen=True, eq=False)
class Column:
    """The kernels of one column between its bounds.

    Attributes:
        x: (n,). scale: (n,) h s_i. kernel: K. low, high: the bounds, ±inf for none.
        boundary: "reflect", "renormalize" or "periodic".
    """

    x: Array
    scale: Array
    kernel: SmoothingKernel
    low: float
    high: float
    boundary: str

    def density(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) at y (m,): the density of each point is factor · exp(exponent)."""
        if self.boundary == "periodic":
            return self._around(y) if np.isfinite(self.low) else self._open(y)
        if self.boundary == "reflect" and np.isfinite(self.low) and np.isfinite(self.high):
            return self._between(y)
        exponent, factor = self._open(y)
        if self.boundary != "reflect":
            return exponent, factor / self._mass
        for bound in (self.low, self.high):
            if np.isfinite(bound):
                factor = factor + self._at(2.0 * bound - self.x, y, exponent)
        return exponent, factor

    def derivative(self, y: Array) -> Array:
        """Return the derivative (m, n) at y (m,) between two bounds."""
        if self.boundary == "reflect":
            return reflected_kernel(self.kernel, y, self.x, self.scale, self.low, self._width, 1)
        if self.boundary == "periodic":
            return periodic_kernel(self.kernel, y[:, None] - self.x, self.scale, 0.5 * self._width, 1)
        slope = self.kernel.derivative((y[:, None] - self.x) / self.scale) / (self.scale * self._mass)
        return np.asarray(slope / self.scale)

    def integral(self, y: Array) -> Array:
        """Return the mass (m, n) of each point from the lower bound to y (m,), which is within the bounds."""
        if self.boundary == "renormalize":
            return interval_masses(self.kernel, self.x, self.scale, self.low, y[:, None]) / self._mass
        if self.boundary == "periodic" and np.isfinite(self.low):
            ends = (y[:, None] - self.x, np.broadcast_to(self.low - self.x, (len(y), len(self.x))))
            upto, below = (periodic_kernel(self.kernel, t, self.scale, 0.5 * self._width, -1) for t in ends)
            return np.asarray(upto - below)
        if np.isfinite(self.low) and np.isfinite(self.high):
            return reflected_kernel(self.kernel, y, self.x, self.scale, self.low, self._width, -1)
        total = interval_masses(self.kernel, self.x, self.scale, self.low, y[:, None])
        for bound in (self.low, self.high):
            if np.isfinite(bound):
                total = total + interval_masses(self.kernel, 2.0 * bound - self.x, self.scale, self.low, y[:, None])
        return total

    @property
    def _width(self) -> float:
        return self.high - self.low

    @cached_property
    def _mass(self) -> Array:
        return interval_masses(self.kernel, self.x, self.scale, self.low, np.asarray(self.high))

    def _open(self, y: Array) -> tuple[Array, Array]:
        u = (y[:, None] - self.x) / self.scale
        if np.isinf(self.kernel.radius):
            return self.kernel.log_profile(u), np.broadcast_to(1.0 / self.scale, u.shape)
        return np.zeros(u.shape), self.kernel.profile(u) / self.scale

    def _around(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) of periodic kernels; those with tails keep their logarithms."""
        W = self._width
        t = np.abs(y[:, None] - self.x)
        t = np.minimum(t, np.abs(W - t))  # the distance from the nearest copy
        value = periodic_kernel(self.kernel, t, self.scale, 0.5 * W)
        if np.isfinite(self.kernel.radius):
            return np.zeros(t.shape), value
        exponent = np.maximum(self.kernel.log_profile(t / self.scale), LEAST_EXPONENT)
        beyond = exponent <= LEAST_EXPONENT  # where the sum underflows, two copies are all that matter
        exponent = np.where(beyond, self.kernel.log_profile(t / self.scale), exponent)
        second = np.exp(self.kernel.log_profile((W - t) / self.scale) - exponent)
        return exponent, np.where(beyond, (1.0 + second) / self.scale, value * np.exp(-np.where(beyond, 0.0, exponent)))

    def _at(self, image: Array, y: Array, exponent: Array) -> Array:
        """Return the contribution of mirror images to the factor."""
        u = (y[:, None] - image) / self.scale
        if np.isinf(self.kernel.radius):
            return np.asarray(np.exp(self.kernel.log_profile(u) - exponent) / self.scale)
        return self.kernel.profile(u) / self.scale

    def _between(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) between two bounds; kernels with tails keep their logarithms."""
        wide = self.kernel.name == "gaussian" and np.all(self.scale >= SERIES_WIDTH * self._width)
        if wide or np.isfinite(self.kernel.radius):
            value = reflected_kernel(self.kernel, y, self.x, self.scale, self.low, self._width)
            return np.zeros(value.shape), value
        exponent, factor = self._open(y)
        if self.kernel.name == "laplace":
            return exponent, self._laplace_images(y, exponent, factor)
        uniform = self.scale >= UNIFORM_GAUSSIAN * self._width
        factor = self._gaussian_images(y, exponent, factor, self.scale[~uniform])
        return np.where(uniform, 0.0, exponent), np.where(uniform, 1.0 / self._width, factor)

    def _laplace_images(self, y: Array, exponent: Array, factor: Array) -> Array:
        """Add the nearest mirror images and the next copy of the point; the others are a geometric series of these."""
        W = self._width
        mirrors = [2.0 * self.low - self.x, 2.0 * self.high - self.x]
        around = np.exp(-2.0 * (W - np.abs(y[:, None] - self.x)) / self.scale) / self.scale
        total = factor + sum(self._at(image, y, exponent) for image in mirrors) + around
        return np.asarray(total / -np.expm1(-2.0 * W / self.scale))

    def _gaussian_images(self, y: Array, exponent: Array, factor: Array, narrow: Array) -> Array:
        """Add the images that matter for the widest of the `narrow` scales; the point is the nearest of its images."""
        W = self._width
        if not narrow.size:
            return factor
        turns = gaussian_turns(float(narrow.max()) / W)
        shifts = 2.0 * W * np.arange(-turns, turns + 2)
        images = [self.x + shift for shift in shifts[:-1] if shift] + [2.0 * self.low - self.x + s for s in shifts]
        return np.asarray(factor + sum(self._at(image, y, exponent) for image in images))


def interval_masses(kernel: SmoothingKernel, x: Array, scale: Array, low: float, high: Array) -> Array:
    """Return ∫ K((t − x) / scale) / scale from low to high; of short intervals by quadrature on either side of x."""
    a, b = np.broadcast_arrays((low - x) / scale, (high - x) / scale)
    short = (b - a < SHORT_INTERVAL) & (np.maximum(np.abs(a), np.abs(b)) < 0.5 * kernel.radius)
    out = np.asarray(np.maximum(kernel.cdf(b) - kernel.cdf(a), 0.0))
    if short.any():
        a, b = a[short], b[short]
        middle = np.clip(0.0, a, b)  # K may have a kink at 0
        out[short] = _quadrature(kernel, a, middle) + _quadrature(kernel, middle, b)
    return out


def _quadrature(kernel: SmoothingKernel, a: Array, b: Array) -> Array:
    half = 0.5 * (b - a)
    nodes = zip(INTERVAL_NODES, INTERVAL_WEIGHTS, strict=True)
    return np.asarray(half * sum(w * kernel.profile(a + half * (1.0 + z)) for z, w in nodes))


@dataclass(frozen=True, eq=False)
class Folded:
    """A sum of products of bounded kernels, Σ_i w_i Π_j k_ij(y_j), the kernels k_ij being those of `columns`.

    Attributes:
        columns: (d,), each of n points. weights: (n,).
    """

    columns: tuple[Column, ...]
    weights: Array

    def log_density(self, Y: Array) -> Array:
        """Return the logarithm of the sum (m,) at Y (m, d), or (m,) for one column."""
        rows, out = Y.reshape(len(Y), len(self.columns)), np.empty(len(Y))
        for part in self._blocks(len(Y)):
            exponent, factor = self.columns[0].density(rows[part, 0])
            for j, column in enumerate(self.columns[1:], 1):
                more, times = column.density(rows[part, j])
                exponent, factor = exponent + more, factor * times
            most = exponent.max(axis=1)
            with np.errstate(divide="ignore"):
                out[part] = most + np.log((factor * np.exp(exponent - most[:, None])) @ self.weights)
        return out

    def integral(self, Y: Array, low: Array | None = None) -> Array:
        """Return the integral of the sum from the lower bounds to each row of Y (m, d)."""
        rows, out = Y.reshape(len(Y), len(self.columns)), np.empty(len(Y))
        for part in self._blocks(len(Y)):
            mass = self.columns[0].integral(rows[part, 0])
            for j, column in enumerate(self.columns[1:], 1):
                mass = mass * column.integral(rows[part, j])
            out[part] = mass @ self.weights
        return out

    def derivative(self, y: Array) -> Array:
        """Return the derivative of the sum (m,) at y (m,), for one column between two bounds."""
        parts = [self.columns[0].derivative(y[part]) @ self.weights for part in self._blocks(len(y))]
        return np.concatenate([np.empty(0), *parts])

    def _blocks(self, m: int) -> Iterator[slice]:
        return slices(m, max(1, BOUNDED_PAIRS // self.weights.size))
