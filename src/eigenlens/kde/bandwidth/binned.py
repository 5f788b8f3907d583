"""A sample binned into cells: its spread, quartiles and Fourier transform, which gives sums over pairs in O(G).

Bandwidth rules ask for sums over all pairs of points, Σ_ij w_i w_j K(x_i − x_j) with K a Gaussian or an even derivative
of it. In the Fourier domain these are sums over frequencies of |F|², F(ω) = Σ_i w_i exp(−iω x_i), against a Gaussian:
a few hundred terms for each bandwidth. F comes from cells: with M_p the sums of w o^p over the points of a cell, o
their offsets from its centre c, F(ω) = Σ_c exp(−iωc) [M_0 − iω M_1 − ω² M_2 / 2 + O((ω o)³)]: three FFTs. Linear
binning would need cells ten times smaller for the same error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.fft

from eigenlens.arrays import Array
from eigenlens.errors import DataError

RANGE_CELLS = 1 << 15
"""The number of cells over the range of a sample."""

POINTS_PER_BLOCK = 1 << 15
"""Points that are put into cells at once: they stay in the cache."""

MAX_SAMPLE_CELLS = 1 << 22
"""More cells than this would make the FFTs slower than the sums they save."""

CELLS_PER_WIDTH = 24.0
"""Cells per standard deviation of the narrowest Gaussian that is summed: relative errors of 1e-6 and below."""

MAX_TOTAL_WEIGHT = 1e18
"""The largest total weight: products over pairs overflow far above it, and such weights are a mistake."""

GAUSSIAN_REACH = 9.0
"""Standard deviations beyond which a Gaussian is negligible: exp(−40)."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Sums over the points of each cell of [0, count width): moments (3, count) of w, w o and w o².

    Offsets o are from the cell's centre, in units of width.
    """

    moments: Array
    width: float


@dataclass(frozen=True, eq=False)
class PowerSpectrum:
    """The power spectrum |F(ω)|² of a sample at ω = 2πk / length, k = 0, 1, …

    Attributes:
        frequencies, powers: (K,). length: of the circle that the points lie on, with room beyond the last.
        finest: the smallest standard deviation of a Gaussian whose sums are accurate.
    """

    frequencies: Array
    powers: Array
    length: float
    finest: float

    def serves(self, g: float, asked: float) -> bool:
        """Return whether sums at standard deviation g are accurate, or cells cannot be as small as requested."""
        return self.finest <= 1.01 * g or self.finest > 1.01 * asked

    def pair_sum(self, r: int, v: float) -> float:
        """Return (−1)^r Σ_ij w_i w_j φ^(2r)(x_i − x_j), φ the normal density of variance 2v; positive for every r.

        It equals (1/length) Σ_k ω_k^(2r) |F(ω_k)|² exp(−v ω_k²) over all integers k. Cost: O(length / √v).
        """
        top = int(np.searchsorted(self.frequencies, math.sqrt(50.0 / v)))
        squares = self.frequencies[1:top] ** 2
        total = 2.0 * float((squares**r * np.exp(-v * squares)) @ self.powers[1:top])
        return (total + (float(self.powers[0]) if r == 0 else 0.0)) / self.length


@dataclass(frozen=True, eq=False)
class Sample:
    """Points in units of their range, u = (x − min) / span in [0, 1].

    Attributes:
        points: (n,). weight: (n,), or None where each is one. span: the range. n: Σw.
    """

    points: Array
    weight: Array | None
    span: float
    n: float

    @cached_property
    def cells(self) -> Cells:
        """Cells over [0, 1]."""
        return _fill_cells(self.points, self.weight, 1.0 / RANGE_CELLS, RANGE_CELLS)

    @cached_property
    def deviation(self) -> float:
        """The standard deviation with divisor n − 1."""
        if self.points.size <= RANGE_CELLS:
            w = np.ones(self.points.size) if self.weight is None else self.weight
            return math.sqrt(float(w @ (self.points - w @ self.points / self.n) ** 2) / (self.n - 1.0))
        (zero, one, two), width = self.cells.moments, self.cells.width
        centres = np.arange(zero.size) + 0.5
        centres -= float(zero @ centres + one.sum()) / self.n
        return width * math.sqrt(float(zero @ centres**2 + 2.0 * (one @ centres) + two.sum()) / (self.n - 1.0))

    @cached_property
    def quartile_range(self) -> float:
        """The interquartile range, linear between order statistics (type 7 of Hyndman and Fan 1996)."""
        return self._quantile(0.75) - self._quantile(0.25)

    def _quantile(self, p: float) -> float:
        place = (self.n - 1.0) * p
        k = math.floor(place)
        points, weight, below = self._around(k)
        order = np.argsort(points, kind="stable")
        counted = below + np.cumsum(np.ones(points.size) if weight is None else weight[order])
        # Number k of the points, counted from 0, each as often as its weight, and the one after it.
        found = np.minimum(np.searchsorted(counted, [k, k + 1], side="right"), points.size - 1)
        low, high = points[order[found]]
        return float(low + (place - k) * (high - low))

    def _around(self, k: int) -> tuple[Array, Array | None, float]:
        """Return the few points around order statistics k and k + 1, their weights, and the weight below them."""
        if self.points.size <= RANGE_CELLS:
            return self.points, self.weight, 0.0
        first, last = np.searchsorted(np.cumsum(self.cells.moments[0]), [k, k + 1], side="right")
        # One more cell on either side: points at an edge may be rounded either way.
        under = self.points < (first - 1) * self.cells.width
        above = math.inf if last + 2 >= RANGE_CELLS else (last + 2) * self.cells.width
        inside = np.flatnonzero(~under & (self.points < above))
        if inside.size > RANGE_CELLS:  # a few outliers span most of the range
            return *self.values, 0.0
        if self.weight is None:
            return self.points[inside], None, float(np.count_nonzero(under))
        return self.points[inside], self.weight[inside], float(self.weight[under].sum())

    @cached_property
    def scale(self) -> float:
        """The smaller of the standard deviation and the interquartile range / 1.349; the former where that is zero."""
        robust = self.quartile_range / 1.349
        return min(self.deviation, robust) if robust > 0.0 else self.deviation

    @cached_property
    def values(self) -> tuple[Array, Array]:
        """The distinct points in ascending order, and the weight of each."""
        if self.weight is None:
            points = np.sort(self.points)
            starts = np.flatnonzero(np.diff(points, prepend=-1.0))
            return points[starts], np.diff(starts, append=points.size).astype(np.float64)
        order = np.argsort(self.points, kind="stable")
        points = self.points[order]
        starts = np.flatnonzero(np.diff(points, prepend=-1.0))
        return points[starts], np.add.reduceat(self.weight[order], starts)

    def spectrum(self, finest: float, widest: float) -> PowerSpectrum:
        """Return the spectrum for Gaussians of standard deviations from `finest` to `widest`.

        Where the range is long beside them, empty stretches that no Gaussian bridges are shortened: pairs across
        them add nothing to any sum, and outliers cost no cells.
        """
        width = finest / CELLS_PER_WIDTH
        if self.n > RANGE_CELLS and width >= self.cells.width:
            return _make_power_spectrum(self.cells, 1.0 + GAUSSIAN_REACH * widest)
        y, weight = self.with_short_stretches(GAUSSIAN_REACH * widest), self.values[1]
        width = max(width, y[-1] / MAX_SAMPLE_CELLS)
        return _make_power_spectrum(
            _fill_cells(y, weight, width, int(y[-1] / width) + 1), y[-1] + GAUSSIAN_REACH * widest
        )

    def with_short_stretches(self, reach: float) -> Array:
        """Return the values moved together until no two neighbours are farther apart than `reach`, the first at 0."""
        points = self.values[0]
        y = np.zeros(points.size)
        np.cumsum(np.minimum(np.diff(points), reach), out=y[1:])
        return y


def make_sample(x: Array, weight: Array | None) -> Sample:
    """Return the sample of x (n,) with weights (n,), without rows of weight 0, in units of their range."""
    if weight is not None and not weight.all():
        x, weight = x[weight > 0.0], weight[weight > 0.0]
    n = float(x.size if weight is None else weight.sum())
    if n <= 1.0:
        what = f"the rows count as {n:g}, but a bandwidth rule needs more than one; a weight counts copies of its row"
        fix = "multiply normalised weights by the number of rows, or give the bandwidth as a number"
        raise DataError(what, fix=fix)
    if n > MAX_TOTAL_WEIGHT:
        what = f"the rows count as {n:.3g}, more than {MAX_TOTAL_WEIGHT:g}; a weight says how often its row counts"
        raise DataError(what, fix="divide sample_weight by a constant, or give the bandwidth as a number")
    low = float(x.min())
    span = float(x.max()) - low
    if span <= 0.0 or not math.isfinite(span):
        what = f"has zero spread: every value is {low:g}" if span <= 0.0 else "spans more than a float64 can hold"
        raise DataError(f"x {what}, so no rule has a bandwidth for it", fix="give the bandwidth as a number")
    return Sample((x - low) / span, weight, span, n)


def _fill_cells(points: Array, weight: Array | None, width: float, count: int) -> Cells:
    """Return `count` cells of this width from 0 on. Cost: O(n), in blocks that stay in the cache."""
    moments = np.zeros((3, count))
    step = max(POINTS_PER_BLOCK, 2 * count)
    for start in range(0, points.size, step):
        offsets = points[start : start + step] / width
        cell = offsets.astype(np.intp)
        np.minimum(cell, count - 1, out=cell)
        offsets -= cell
        offsets -= 0.5
        w: Any = None if weight is None else weight[start : start + step]
        first = offsets if w is None else w * offsets
        moments[0] += np.bincount(cell, w, count)
        moments[1] += np.bincount(cell, first, count)
        moments[2] += np.bincount(cell, first * offsets, count)
    return Cells(moments, width)


def transform_cells(moments: Array, size: int, count: int) -> tuple[Array, Array]:
    """Return angles θ = 2πk / size (count,) and Σ_i w_i exp(−iθ x_i), x in cells, from the moments (3, c) of cells.

    Cost: three FFTs.
    """
    angles = 2.0 * math.pi / size * np.arange(count)
    zero, one, two = (scipy.fft.rfft(moment, size)[:count] for moment in moments)
    return angles, zero - 1j * angles * one - 0.5 * angles**2 * two


def _make_power_spectrum(cells: Cells, length: float) -> PowerSpectrum:
    """Return the spectrum of cells on a circle of at least this length."""
    size = scipy.fft.next_fast_len(math.ceil(length / cells.width), real=True)
    angles, F = transform_cells(cells.moments, size, min(size // 2, int(size / (2.0 * math.pi))) + 1)
    return PowerSpectrum(angles / cells.width, np.abs(F) ** 2, size * cells.width, CELLS_PER_WIDTH * cells.width)
