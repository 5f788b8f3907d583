"""Densities that end at bounds: mirror images of the points, or kernels cut off and made whole again.

Both keep every kernel's mass at one, so the density integrates to one over the box. They work a dimension at a time, so
the kernel must be a product: one bandwidth a column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.kernels.smoothing import Smoother
from eigenlens.models.kernel_density_columns import masses

__all__ = ["BOUNDARIES", "Boundary", "Extended", "inside", "open_bounds"]

SEEN = 80.0
"""Images whose exponent falls short of the nearest one's by half of this (e^-40) are left out."""

MOST_EACH, MOST_ENTRIES, FEW_EACH = 16.0, 30_000_000, 4.0
"""Images a point on the average, and entries in all, beyond which kernels are folded instead; never below a few."""

WIDE = 64.0
"""Of the width between bounds: kernels cut off so much wider than that are integrated without differences."""

LEVEL = 1e7
"""Of the width: kernels so much wider than that are level between the bounds, as far as draws could show."""

REACHES: dict[str, Callable[[Array], Array]] = {
    "gaussian": lambda nearest: np.sqrt(nearest**2 + SEEN),
    "laplace": lambda nearest: nearest + SEEN / 2.0,
}
"""How far images matter, in units of h, when the nearest one is at this distance; other kernels end."""


def _reach(kernel: Smoother, nearest: float) -> float:
    return float(REACHES[kernel.name](np.asarray(nearest))) if kernel.name in REACHES else kernel.radius


@dataclass(frozen=True)
class Extended:
    """Points (k, d) that, with open kernels, make the density inside the bounds.

    Attributes:
        points: the points, with images of them.
        weights: (k,).
        origin: (k,) the point that each is an image of; None where every point stands for itself.
    """

    points: Array
    weights: Array
    origin: Array | None = None


@dataclass(frozen=True)
class Boundary:
    """What is done at a bound.

    Attributes:
        extend: from points (n, d), weights (n,), scales (n, d), kernel and bounds (d, 2) to `Extended`.
        crowded: from points, scales, kernel and bounds to whether `extend` should be left alone: kernels are wide.
        draw: from centres and scales (m, d), kernel, bounds and a generator to draws (m, d) within the bounds.
    """

    extend: Callable[[Array, Array, Array, Smoother, Array], Extended]
    crowded: Callable[[Array, Array, Smoother, Array], bool]
    draw: Callable[[Array, Array, Smoother, Array, np.random.Generator], Array]


def inside(X: Array, bounds: Array) -> Array:
    """Whether each row (n,) of X (n, d) is finite and lies within bounds (d, 2), or on them."""
    held = np.ones(len(X), dtype=bool)
    for column, (low, high) in zip(X.T, bounds, strict=True):  # a column at a time: reductions of short rows are slow
        held &= (column >= low) & (column <= high) & np.isfinite(column)
    return held


def open_bounds(d: int) -> Array:
    """No bounds (d, 2)."""
    return np.tile([-np.inf, np.inf], (d, 1))


# ---- reflection ---------------------------------------------------------------------------------------------


def _reflected(points: Array, weights: Array, scales: Array, kernel: Smoother, bounds: Array) -> Extended:
    """Images in every bounded dimension, of images in the dimensions before."""
    origin = np.arange(len(points))
    for j in np.flatnonzero(np.isfinite(bounds).any(axis=1)):
        column, parts, own = points[:, j], [np.arange(len(points))], [points[:, j]]
        for image in _images(column, bounds[j], float(scales[:, j].max()), kernel):
            near = np.flatnonzero(_matters(image, column, scales[origin, j], bounds[j], kernel))
            parts.append(near)
            own.append(image[near])
        kept = np.concatenate(parts)
        points, origin = points[kept], origin[kept]
        points[:, j] = np.concatenate(own)
    return Extended(points, weights[origin], origin)


def _too_many(points: Array, scales: Array, kernel: Smoother, bounds: Array) -> bool:
    """Whether there would be too many images, without making one."""
    n, d = points.shape
    counts = np.ones(n)
    with np.errstate(over="ignore"):
        for j in np.flatnonzero(np.isfinite(bounds).any(axis=1)):
            counts *= _image_counts(points[:, j], scales[:, j], kernel, bounds[j])
    total = float(counts.sum())
    each = MOST_EACH * (4.0 if d > 1 or kernel.name not in FAST else 1.0)
    return bool(total > each * n or (total * d > MOST_ENTRIES and total > FEW_EACH * n))


FAST = ("gaussian", "box", "epanechnikov", "triangular", "biweight", "triweight", "cosine", "laplace")


def _image_counts(x: Array, scale: Array, kernel: Smoother, bounds: Array) -> Array:
    """How many images of each point (n,) matter, itself among them: beyond a bound at distance p they are at p,
    2W − p, 2W + p, 4W − p, … from it.
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


def _images(x: Array, bounds: Array, scale: float, kernel: Smoother) -> list[Array]:
    """Mirror images of x (n,) at one bound, or at both again and again as far as any may matter."""
    low, high = bounds
    if not np.isfinite(low) or not np.isfinite(high):
        return [2.0 * (low if np.isfinite(low) else high) - x]
    width = high - low
    reach = scale * _reach(kernel, width / scale)
    most = int(np.ceil(reach / (2.0 * width)) + 1)
    shifts = [2.0 * k * width for k in range(-most, most + 1)]
    return [2.0 * low - x + s for s in shifts] + [x + s for s in shifts if s != 0.0]


def _matters(image: Array, x: Array, scale: Array, bounds: Array, kernel: Smoother) -> Array:
    """Whether images reach into the interval, beside the points that are there."""
    below = image < 0.5 * (bounds[0] + bounds[1]) if np.isfinite(bounds).all() else np.isfinite(bounds[0])
    edge = np.where(below, bounds[0], bounds[1])
    limits = [_reach(kernel, float(np.min(np.abs(x - b) / scale))) if np.isfinite(b) else 0.0 for b in bounds]
    return np.asarray(np.abs(image - edge) <= np.where(below, *limits) * scale)


def _folded(centres: Array, scales: Array, kernel: Smoother, bounds: Array, rng: np.random.Generator) -> Array:
    """Draws from open kernels, folded back at the bounds."""
    X = centres + scales * kernel.sample(centres.size, rng).reshape(centres.shape)
    for j, (low, high) in enumerate(bounds):
        if np.isfinite(low) and np.isfinite(high):
            far = np.where(scales[:, j] > LEVEL * (high - low), 2.0 * (high - low) * rng.random(len(X)), X[:, j] - low)
            t = np.mod(far, 2.0 * (high - low))
            X[:, j] = np.clip(low + np.minimum(t, 2.0 * (high - low) - t), low, high)
        elif np.isfinite(low):
            X[:, j] = low + np.abs(X[:, j] - low)
        elif np.isfinite(high):
            X[:, j] = high - np.abs(high - X[:, j])
    return np.asarray(X)


# ---- renormalisation ----------------------------------------------------------------------------------------


def _whole_again(points: Array, weights: Array, scales: Array, kernel: Smoother, bounds: Array) -> Extended:
    """Weights divided by the mass that each kernel has within the bounds."""
    inner = [masses(kernel, x, s, *ends) for x, s, ends in zip(points.T, scales.T, bounds, strict=True)]
    return Extended(points, weights / np.prod(inner, axis=0))


def _very_wide(points: Array, scales: Array, kernel: Smoother, bounds: Array) -> bool:
    """Whether what is left of a kernel is so little that differences of distribution functions would lose it."""
    return bool(np.any(scales.max(axis=0) > WIDE * (bounds[:, 1] - bounds[:, 0])))


def _masses(centres: Array, scales: Array, kernel: Smoother, bounds: Array) -> tuple[Array, Array]:
    """The mass (n, d) of each kernel below the lower bound, and below the upper one."""
    below, upto = np.zeros(centres.shape), np.ones(centres.shape)
    for j, (low, high) in enumerate(bounds):
        if np.isfinite(low):
            below[:, j] = kernel.cdf((low - centres[:, j]) / scales[:, j])
        if np.isfinite(high):
            upto[:, j] = kernel.cdf((high - centres[:, j]) / scales[:, j])
    return below, upto


def _cut_off(centres: Array, scales: Array, kernel: Smoother, bounds: Array, rng: np.random.Generator) -> Array:
    """Draws from kernels cut off at the bounds."""
    below, upto = _masses(centres, scales, kernel, bounds)
    share = rng.random(centres.shape)
    u = kernel.quantile(below + share * (upto - below))
    with np.errstate(invalid="ignore"):
        level = bounds[:, 0] + share * (bounds[:, 1] - bounds[:, 0])
    flat = scales > LEVEL * (bounds[:, 1] - bounds[:, 0])
    return np.asarray(np.clip(np.where(flat, level, centres + scales * u), bounds[:, 0], bounds[:, 1]))


BOUNDARIES: dict[str, Boundary] = {
    "reflect": Boundary(_reflected, _too_many, _folded),
    "renormalize": Boundary(_whole_again, _very_wide, _cut_off),
}
"""What can be done at a bound, by name: the density's slope is 0 there, or its kernels are cut off."""
