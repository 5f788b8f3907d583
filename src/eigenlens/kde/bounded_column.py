"""The kernels of one column between its bounds: truncated, reflected or periodic, one class each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eigenlens.arrays import Array
from eigenlens.kde.kernels import SmoothingKernel
from eigenlens.kde.periodic import SERIES_WIDTH, UNIFORM_GAUSSIAN, gaussian_turns, periodic_kernel, reflected_kernel

SHORT_INTERVAL = 0.25
"""The mass of an interval shorter than this, in units of the kernel, is by quadrature: differences of cdfs cancel."""

LEAST_EXPONENT = -600.0
"""Exponentials below this are near the smallest floats."""

INTERVAL_NODES, INTERVAL_WEIGHTS = np.polynomial.legendre.leggauss(10)


@dataclass(frozen=True, eq=False)
class Column(ABC):
    """The kernels of one column, one per point, between its bounds.

    Attributes:
        x: (n,). scale: (n,) h s_i. kernel: K. low, high: the bounds, ±inf for none.
    """

    x: Array
    scale: Array
    kernel: SmoothingKernel
    low: float
    high: float

    @abstractmethod
    def density(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) at y (m,): the density of each point is factor · exp(exponent)."""

    @abstractmethod
    def derivative(self, y: Array) -> Array:
        """Return the derivative (m, n) at y (m,) between two bounds."""

    @abstractmethod
    def integral(self, y: Array) -> Array:
        """Return the mass (m, n) of each point from the lower bound to y (m,), which is within the bounds."""

    @property
    def _width(self) -> float:
        return self.high - self.low

    def _open(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) of unbounded kernels."""
        u = (y[:, None] - self.x) / self.scale
        if np.isinf(self.kernel.radius):
            return self.kernel.log_profile(u), np.broadcast_to(1.0 / self.scale, u.shape)
        return np.zeros(u.shape), self.kernel.profile(u) / self.scale


class TruncatedColumn(Column):
    """Kernels that are cut at the bounds, and divided by the mass that is left of each."""

    def density(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) at y (m,)."""
        exponent, factor = self._open(y)
        return exponent, factor / self._mass

    def derivative(self, y: Array) -> Array:
        """Return the derivative (m, n) at y (m,)."""
        slope = self.kernel.derivative((y[:, None] - self.x) / self.scale) / (self.scale * self._mass)
        return np.asarray(slope / self.scale)

    def integral(self, y: Array) -> Array:
        """Return the mass (m, n) of each point from the lower bound to y (m,)."""
        return interval_masses(self.kernel, self.x, self.scale, self.low, y[:, None]) / self._mass

    @cached_property
    def _mass(self) -> Array:
        return interval_masses(self.kernel, self.x, self.scale, self.low, np.asarray(self.high))


class PeriodicColumn(Column):
    """Kernels whose mass beyond one bound enters at the other; there are two bounds or none."""

    def density(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) at y (m,)."""
        return self._around(y) if np.isfinite(self.low) else self._open(y)

    def derivative(self, y: Array) -> Array:
        """Return the derivative (m, n) at y (m,) between two bounds."""
        return periodic_kernel(self.kernel, y[:, None] - self.x, self.scale, 0.5 * self._width, 1)

    def integral(self, y: Array) -> Array:
        """Return the mass (m, n) of each point from the lower bound to y (m,)."""
        if not np.isfinite(self.low):
            return interval_masses(self.kernel, self.x, self.scale, self.low, y[:, None])
        ends = (y[:, None] - self.x, np.broadcast_to(self.low - self.x, (len(y), len(self.x))))
        upto, below = (periodic_kernel(self.kernel, t, self.scale, 0.5 * self._width, -1) for t in ends)
        return np.asarray(upto - below)

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


class ReflectedColumn(Column):
    """Kernels whose mass beyond a bound is folded back: the point has mirror images at one bound, or at both."""

    def density(self, y: Array) -> tuple[Array, Array]:
        """Return exponent and factor (m, n) at y (m,)."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return self._between(y)
        exponent, factor = self._open(y)
        for bound in (self.low, self.high):
            if np.isfinite(bound):
                factor = factor + self._at(2.0 * bound - self.x, y, exponent)
        return exponent, factor

    def derivative(self, y: Array) -> Array:
        """Return the derivative (m, n) at y (m,) between two bounds."""
        return reflected_kernel(self.kernel, y, self.x, self.scale, self.low, self._width, 1)

    def integral(self, y: Array) -> Array:
        """Return the mass (m, n) of each point from the lower bound to y (m,)."""
        if np.isfinite(self.low) and np.isfinite(self.high):
            return reflected_kernel(self.kernel, y, self.x, self.scale, self.low, self._width, -1)
        total = interval_masses(self.kernel, self.x, self.scale, self.low, y[:, None])
        for bound in (self.low, self.high):
            if np.isfinite(bound):
                total = total + interval_masses(self.kernel, 2.0 * bound - self.x, self.scale, self.low, y[:, None])
        return total

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
