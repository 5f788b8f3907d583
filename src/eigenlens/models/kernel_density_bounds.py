"""Densities that end at bounds: mirror images of the points, or kernels cut off and made whole again.

Both keep every kernel's mass at one, so the density integrates to one over the box. They work a dimension at a time, so
the kernel must be a product: one bandwidth a column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import ResourceError
from eigenlens.kernels.smoothing import Smoother

__all__ = ["BOUNDARIES", "Boundary", "Extended", "inside", "open_bounds"]

SEEN = 80.0
"""Images whose exponent falls short of the nearest one's by half of this (e^-40) are left out."""

MOST_ENTRIES = 200_000_000

REACHES: dict[str, Callable[[float], float]] = {
    "gaussian": lambda nearest: float(np.sqrt(nearest**2 + SEEN)),
    "laplace": lambda nearest: nearest + SEEN / 2.0,
}
"""How far images matter, in units of h, when the nearest one is at this distance; other kernels end."""


def _reach(kernel: Smoother, nearest: float) -> float:
    return REACHES[kernel.name](nearest) if kernel.name in REACHES else kernel.radius


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
        draw: from centres and scales (m, d), kernel, bounds and a generator to draws (m, d) within the bounds.
    """

    extend: Callable[[Array, Array, Array, Smoother, Array], Extended]
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
            if sum(map(len, parts)) * points.shape[1] > MOST_ENTRIES:
                raise ResourceError(
                    f"boundary='reflect' makes more than {MOST_ENTRIES // points.shape[1]:,} images of "
                    f"{len(weights):,} rows: bandwidths are wide beside the bounds; use boundary='renormalize'."
                )
        kept = np.concatenate(parts)
        points, origin = points[kept], origin[kept]
        points[:, j] = np.concatenate(own)
    return Extended(points, weights[origin], origin)


def _images(x: Array, bounds: Array, scale: float, kernel: Smoother) -> list[Array]:
    """Mirror images of x (n,) at one bound, or at both again and again as far as any may matter."""
    low, high = bounds
    if not np.isfinite(low) or not np.isfinite(high):
        return [2.0 * (low if np.isfinite(low) else high) - x]
    width = high - low
    reach = scale * _reach(kernel, width / scale)
    most = int(min(np.ceil(reach / (2.0 * width)) + 1, 1e6))
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
            t = np.mod(X[:, j] - low, 2.0 * (high - low))
            X[:, j] = np.clip(low + np.minimum(t, 2.0 * (high - low) - t), low, high)
        elif np.isfinite(low):
            X[:, j] = low + np.abs(X[:, j] - low)
        elif np.isfinite(high):
            X[:, j] = high - np.abs(high - X[:, j])
    return np.asarray(X)


# ---- renormalisation ----------------------------------------------------------------------------------------


def _whole_again(points: Array, weights: Array, scales: Array, kernel: Smoother, bounds: Array) -> Extended:
    """Weights divided by the mass that each kernel has within the bounds."""
    below, upto = _masses(points, scales, kernel, bounds)
    return Extended(points, weights / np.prod(upto - below, axis=1))


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
    u = kernel.quantile(below + rng.random(centres.shape) * (upto - below))
    return np.asarray(np.clip(centres + scales * u, bounds[:, 0], bounds[:, 1]))


BOUNDARIES: dict[str, Boundary] = {
    "reflect": Boundary(_reflected, _folded),
    "renormalize": Boundary(_whole_again, _cut_off),
}
"""What can be done at a bound, by name: the density's slope is 0 there, or its kernels are cut off."""
