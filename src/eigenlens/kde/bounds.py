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
from typing import Any

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.kde.bounded_column import Column, PeriodicColumn, ReflectedColumn, TruncatedColumn, interval_masses
from eigenlens.kde.kernels import SMOOTHING_KERNELS, SmoothingKernel
from eigenlens.kde.wide_line import WideLine, periodic_line, reflected_line, truncated_line

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
        column: the kernels of one column between its bounds.
        wide_line: from points (n,), weights (n,), h, kernel and the two bounds to the density of one column whose
            kernels are too wide for `extend`; None where none are.
        draw: from centres and scales (m, d), kernel, bounds and a generator to draws (m, d) within the bounds; None
            where the density is not a sum of one kernel per point, so that draws come from its quantiles.
    """

    extend: Callable[[Array, Array, Array, SmoothingKernel, Array], Extended]
    too_wide: Callable[[Array, Array, SmoothingKernel, Array], bool]
    column: type[Column]
    wide_line: Callable[[Array, Array, float, SmoothingKernel, float, float], WideLine] | None
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
    "reflect": Boundary(_reflected, _too_many, ReflectedColumn, reflected_line, _draw_reflected),
    "renormalize": Boundary(_renormalize, _very_wide, TruncatedColumn, truncated_line, _draw_truncated),
    "periodic": Boundary(_repeated, _many_periods, PeriodicColumn, periodic_line, _draw_periodic),
    "linear": Boundary(_unextended, lambda *_: False, TruncatedColumn, None, None),
}
"""Ways to respect bounds by name: the density has slope 0 there, its kernels are truncated, what leaves at one bound
enters at the other, or a line is fitted to what kernels see near a bound."""


BOUNDED_PAIRS = 1 << 17
"""Pairs of queries and points per block."""


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
