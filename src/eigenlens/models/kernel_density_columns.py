"""Products of kernels between bounds, pair by pair, the images of each column summed within the product.

d columns with c images each make c^d images of a point, but only c d terms here. Nothing of the size of the pairs is
held but for a block of queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenlens.arrays import Array
from eigenlens.kernels.smoothing import Smoother
from eigenlens.models.kernel_density_rings import NARROW, reflected

__all__ = ["Column", "Folded", "masses"]

PAIRS = 1 << 17
SHORT = 0.25
"""An interval so short in units of the kernel has its mass by quadrature: a difference would cancel."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)


@dataclass(frozen=True, eq=False)
class Column:
    """The kernels of one column.

    Attributes:
        x: (n,). scale: (n,) h s_i. kernel: K. low, high: the bounds, ±inf for none.
        boundary: "reflect" or "renormalize".
    """

    x: Array
    scale: Array
    kernel: Smoother
    low: float
    high: float
    boundary: str

    def density(self, y: Array) -> tuple[Array, Array]:
        """Level and factor (m, n) at y (m,): the density of each point is factor · exp(level)."""
        if self.boundary == "reflect" and np.isfinite(self.low) and np.isfinite(self.high):
            return self._between(y)
        level, factor = self._open(y)
        if self.boundary != "reflect":
            return level, factor / self._mass
        for bound in (self.low, self.high):
            if np.isfinite(bound):
                factor = factor + self._at(2.0 * bound - self.x, y, level)
        return level, factor

    def derivative(self, y: Array) -> Array:
        """The derivative (m, n) by y between two bounds."""
        if self.boundary == "reflect":
            return reflected(self.kernel, y, self.x, self.scale, self.low, self._width, 1)
        slope = self.kernel.derivative((y[:, None] - self.x) / self.scale) / (self.scale * self._mass)
        return np.asarray(slope / self.scale)

    def integral(self, y: Array) -> Array:
        """The mass (m, n) of each point from the lower bound to y (m,), which is within the bounds."""
        if self.boundary == "renormalize":
            return masses(self.kernel, self.x, self.scale, self.low, y[:, None]) / self._mass
        if np.isfinite(self.low) and np.isfinite(self.high):
            return reflected(self.kernel, y, self.x, self.scale, self.low, self._width, -1)
        total = masses(self.kernel, self.x, self.scale, self.low, y[:, None])
        for bound in (self.low, self.high):
            if np.isfinite(bound):
                total = total + masses(self.kernel, 2.0 * bound - self.x, self.scale, self.low, y[:, None])
        return total

    @property
    def _width(self) -> float:
        return self.high - self.low

    @cached_property
    def _mass(self) -> Array:
        return masses(self.kernel, self.x, self.scale, self.low, np.asarray(self.high))

    def _open(self, y: Array) -> tuple[Array, Array]:
        u = (y[:, None] - self.x) / self.scale
        if np.isinf(self.kernel.radius):
            return self.kernel.log_profile(u), np.broadcast_to(1.0 / self.scale, u.shape)
        return np.zeros(u.shape), self.kernel.profile(u) / self.scale

    def _at(self, image: Array, y: Array, level: Array) -> Array:
        """What points at other places add to the factor."""
        u = (y[:, None] - image) / self.scale
        if np.isinf(self.kernel.radius):
            return np.asarray(np.exp(self.kernel.log_profile(u) - level) / self.scale)
        return self.kernel.profile(u) / self.scale

    def _between(self, y: Array) -> tuple[Array, Array]:
        """Kernels with tails keep their logarithms where they are narrow; the point is the nearest of its images."""
        if np.isfinite(self.kernel.radius):
            value = reflected(self.kernel, y, self.x, self.scale, self.low, self._width)
            return np.zeros(value.shape), value
        limit = NARROW if self.kernel.name == "gaussian" else 1.0
        narrow = self.scale < limit * self._width
        if not narrow.any():
            value = reflected(self.kernel, y, self.x, self.scale, self.low, self._width)
            return np.zeros(value.shape), value
        level, factor = self._open(y)
        factor = self._images(y, level, factor)
        wide = ~narrow
        if wide.any():
            level, factor = np.where(narrow, level, 0.0), np.array(factor)
            factor[:, wide] = reflected(self.kernel, y, self.x[wide], self.scale[wide], self.low, self._width)
        return level, factor

    def _images(self, y: Array, level: Array, factor: Array) -> Array:
        """The few images that count beside a narrow kernel; a geometric series counts the Laplace kernel's others."""
        W = self._width
        if self.kernel.name == "laplace":
            mirrors = [2.0 * self.low - self.x, 2.0 * self.high - self.x]
            there = y[:, None] - self.x
            around = np.exp(-2.0 * (W - np.abs(there)) / self.scale) / self.scale
            total = factor + sum(self._at(image, y, level) for image in mirrors) + around
            return np.asarray(total / -np.expm1(-2.0 * W / self.scale))
        images = [self.x - 2.0 * W, self.x + 2.0 * W]
        images += [2.0 * self.low - self.x + 2.0 * k * W for k in (-1, 0, 1, 2)]
        return np.asarray(factor + sum(self._at(image, y, level) for image in images))


def masses(kernel: Smoother, x: Array, scale: Array, low: float, high: Array) -> Array:
    """∫ K((t − x) / scale) / scale from low to high; of short intervals by quadrature on either side of x."""
    a, b = np.broadcast_arrays((low - x) / scale, (high - x) / scale)
    short = (b - a < SHORT) & (np.maximum(np.abs(a), np.abs(b)) < 0.5 * kernel.radius)
    if not short.any():
        return np.asarray(np.maximum(kernel.cdf(b) - kernel.cdf(a), 0.0))
    out = np.asarray(np.maximum(kernel.cdf(b) - kernel.cdf(a), 0.0))
    a, b = a[short], b[short]
    middle = np.clip(0.0, a, b)  # K may have a kink at 0
    out[short] = _quadrature(kernel, a, middle) + _quadrature(kernel, middle, b)
    return out


def _quadrature(kernel: Smoother, a: Array, b: Array) -> Array:
    half = 0.5 * (b - a)
    return np.asarray(half * sum(w * kernel.profile(a + half * (1.0 + z)) for z, w in zip(NODES, WEIGHTS, strict=True)))


@dataclass(frozen=True, eq=False)
class Folded:
    """Σ_i w_i Π_j k_ij(y_j), the kernels k_ij those of `columns`.

    Attributes:
        columns: (d,), each of n points. weights: (n,).
    """

    columns: tuple[Column, ...]
    weights: Array

    def log_density(self, Y: Array) -> Array:
        """The logarithm of the sum (m,) at Y (m, d), or (m,) for one column."""
        rows, out = Y.reshape(len(Y), len(self.columns)), np.empty(len(Y))
        for part in self._blocks(len(Y)):
            level, factor = self.columns[0].density(rows[part, 0])
            for j, column in enumerate(self.columns[1:], 1):
                more, times = column.density(rows[part, j])
                level, factor = level + more, factor * times
            most = level.max(axis=1)
            with np.errstate(divide="ignore"):
                out[part] = most + np.log((factor * np.exp(level - most[:, None])) @ self.weights)
        return out

    def integral(self, Y: Array, low: Array | None = None) -> Array:
        """Of the sum from the lower bounds to each row of Y (m, d)."""
        rows, out = Y.reshape(len(Y), len(self.columns)), np.empty(len(Y))
        for part in self._blocks(len(Y)):
            mass = self.columns[0].integral(rows[part, 0])
            for j, column in enumerate(self.columns[1:], 1):
                mass = mass * column.integral(rows[part, j])
            out[part] = mass @ self.weights
        return out

    def derivative(self, y: Array) -> Array:
        """Of the sum (m,) at y (m,), for one column between two bounds."""
        parts = [self.columns[0].derivative(y[part]) @ self.weights for part in self._blocks(len(y))]
        return np.concatenate([np.empty(0), *parts])

    def _blocks(self, m: int) -> list[slice]:
        step = max(1, PAIRS // self.weights.size)
        return [slice(start, start + step) for start in range(0, m, step)]
