"""Kernel densities along a line whose bias near bounds is of second order, as it is away from them.

Near a bound the kernel sees rows on one side only. The local linear estimate of Jones (1993) fits a line through what
is seen; Jones and Foster (1996) keep it positive. With f₀ the sum of unbounded kernels, and with the mass a₀, mean m
and variance v of that part of the kernel which lies within the bounds, seen from y,

    f(y) ∝ f₀(y) / a₀ · exp(m (m − r) / v),    r = Σ_i w_i u_i K(u_i) / Σ_i w_i K(u_i),    u_i = (y − x_i) / h.

Where the whole kernel lies within the bounds, m = 0 and f is f₀. What is left is normalised to an integral of one.

M. C. Jones, Stat. Comput. 3 (1993) 135; M. C. Jones and P. J. Foster, Statistica Sinica 6 (1996) 1005.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.kde.bounded_column import INTERVAL_NODES, INTERVAL_WEIGHTS, SHORT_INTERVAL
from eigenlens.kde.bounds import BOUNDED_PAIRS
from eigenlens.kde.kernels import SmoothingKernel
from eigenlens.kde.line import CANCELLATION, TAIL_RADII, IntegralTable, Line, pair_sums, tabulate_integral
from eigenlens.native.kernel_sums import gaussian_sums, laplace_sums, window_sums

PANEL_WIDTH = 0.5
"""The width of the panels of integrals, in units of h."""

MAX_PANELS = 20_000
"""The number of panels beyond which kinks of the density, then very many and very small, are no longer edges."""

CALLABLE_PANELS = 1000
"""Panels on either side of 0 for the integrals of a user's kernel, which may have kinks anywhere."""

FAR = 1e4
"""The distance from all points, in bandwidths, beyond which no kernel has any mass left."""


@dataclass(frozen=True, eq=False)
class LocalLinearLine:
    """A sum of kernels along a line, corrected near its bounds; its integral is the total weight.

    Attributes:
        line: the sum of unbounded kernels of one bandwidth. low, high: the bounds, ±inf for none.
    """

    line: Line
    low: float
    high: float

    def log_density(self, y: Array) -> Array:
        """Return the logarithm of the sum (m,) at y (m,); outside the bounds that at the next bound."""
        return self._log_unscaled(np.clip(y, self.low, self.high)) + self._log_scale

    def derivative(self, y: Array) -> Array:
        """Return the derivative of the sum (m,) at y (m,)."""
        slope, near = self.line.derivative(y), self._near(y)
        slope[near] = self._slopes_near(y[near])
        return np.asarray(slope * np.exp(self._log_scale))

    def integral(self, y: Array) -> Array:
        """Return the integral of the sum from the lower bound, or −∞, to y (m,)."""
        return np.asarray(self._unscaled_integral(y) * np.exp(self._log_scale))

    # ---- near the bounds --------------------------------------------------------------------------------

    def _log_unscaled(self, y: Array) -> Array:
        out, near = self.line.log_density(y), self._near(y)
        mass, mean, variance = self._window(y[near])
        out[near] += mean * (mean - mean_offsets(self.line, y[near])) / variance - np.log(mass)
        return out

    def _near(self, y: Array) -> Array:
        """Return the places (k,) in y of those within reach of a bound, by ascending y."""
        places = np.flatnonzero((y - self.low < self._reach) | (self.high - y < self._reach))
        return places[np.argsort(y[places], kind="stable")]

    @property
    def _reach(self) -> float:
        return self.line.h * _kernel_reach(self.line.kernel)

    def _window(self, y: Array) -> tuple[Array, Array, Array]:
        return window_moments(self.line.kernel, (y - self.high) / self.line.h, (y - self.low) / self.line.h)

    def _slopes_near(self, y: Array) -> Array:
        """Return the derivative at sorted y: f times that of ln f₀ − ln a₀ + m (m − r) / v."""
        line, K, dK = self.line, self.line.kernel.profile, self.line.kernel.derivative
        f, (mass, mean, variance) = np.exp(self._log_unscaled(y)), self._window(y)
        d_mass, d_mean, d_variance = self._window_slopes(y, mass, mean, variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = pair_sums(line, y, K, 0)
            d_log = pair_sums(line, y, dK, 0) / seen
            r = pair_sums(line, y, lambda u: u * K(u), 0) / seen
            d_r = 1.0 + pair_sums(line, y, lambda u: u * dK(u), 0) / seen - r * d_log
            d_exponent = (d_mean * (2.0 * mean - r) - mean * d_r - mean * (mean - r) * d_variance / variance) / variance
            return np.where(seen > 0.0, f * (d_log - d_mass / mass + d_exponent) / line.h, 0.0)

    def _window_slopes(self, y: Array, mass: Array, mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        """Return the derivatives of the window's mass, mean and variance, in units of h."""
        d_mass, d_mean, d_variance = np.zeros((3, y.size))
        for sign, end in ((1.0, self.low), (-1.0, self.high)):
            if np.isfinite(end):
                u = (y - end) / self.line.h
                K = sign * self.line.kernel.profile(u)
                d_mass += K
                d_mean += K * (u - mean) / mass
                d_variance += K * ((u - mean) ** 2 - variance) / mass
        return d_mass, d_mean, d_variance

    # ---- the integral -----------------------------------------------------------------------------------

    @cached_property
    def _log_scale(self) -> float:
        total = float(self._unscaled_integral(self._ends[1:])[0])
        return float(np.log(self.line.below[-1] / total))

    def _unscaled_integral(self, y: Array) -> Array:
        return np.asarray(sum(integral(np.clip(y, start, end)) for start, end, integral in self._parts))

    @cached_property
    def _ends(self) -> Array:
        far, x = FAR * self.line.h, self.line.x
        return np.array([x[0] - far, x[-1] + far]).clip(self.low, self.high)

    @cached_property
    def _parts(self) -> list[tuple[float, float, Callable[[Array], Array]]]:
        """Intervals and the integral from the start of each: a table near a bound, that of f₀ elsewhere."""
        (start, end), reach = map(float, self._ends), self._reach
        left = self.low + reach if np.isfinite(self.low) else start
        right = self.high - reach if np.isfinite(self.high) else end
        if left >= right:
            return [(start, end, self._table(start, end))]
        zones = [(start, left), (right, end)]
        tables = [(a, b, self._table(a, b)) for a, b in zones if a < b]
        return [*tables, (left, right, partial(self._open_integral, left))]

    def _open_integral(self, start: float, y: Array) -> Array:
        return self.line.integral(y) - self.line.integral(np.array([start]))

    def _table(self, start: float, end: float) -> IntegralTable:
        """Return the integral from `start`, in panels between which the density may have kinks."""
        steps = int(np.ceil((end - start) / (PANEL_WIDTH * self.line.h)))
        edges = np.linspace(start, end, min(max(steps, 1), MAX_PANELS) + 1)
        ends = np.array([self.low + self._reach, self.high - self._reach])  # where K begins to be cut
        kinks = np.concatenate([ends, *(self.line.x + self.line.h * u for u in _kinks(self.line.kernel))])
        kinks = kinks[(kinks > start) & (kinks < end)]
        if kinks.size > MAX_PANELS:
            kinks = np.linspace(start, end, MAX_PANELS)
        return tabulate_integral(lambda y: np.exp(self._log_unscaled(y)), np.unique(np.concatenate([edges, kinks])))


def _kernel_reach(kernel: SmoothingKernel) -> float:
    """Return the distance, in units of h, beyond which a kernel is 0 or below 1e-17 of its maximum."""
    return TAIL_RADII.get(kernel.name, kernel.radius)


def _kinks(kernel: SmoothingKernel) -> tuple[float, ...]:
    """Return where a kernel may have kinks."""
    if kernel.name == "gaussian":
        return ()
    return (0.0,) if np.isinf(kernel.radius) else (-kernel.radius, 0.0, kernel.radius)


# ---- the part of a kernel within the bounds -------------------------------------------------------------------


def window_moments(kernel: SmoothingKernel, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return the mass (m,) of a kernel between a ≤ 0 and b ≥ 0 (m,), and the mean and variance of u there.

    >>> from eigenlens.kde.kernels import SMOOTHING_KERNELS
    >>> box = SMOOTHING_KERNELS["box"]
    >>> [x.round(6) for x in window_moments(box, np.array([-9.0, 0.0]), np.array([1.0, 0.5]))]
    [array([1.  , 0.25]), array([0.  , 0.25]), array([0.333333, 0.020833])]
    """
    reach = _kernel_reach(kernel)
    a, b = np.clip(a, -reach, reach), np.clip(b, -reach, reach)
    tables = _moment_tables(kernel)
    mass, first, second = (table(b) - table(a) for table in tables)
    mean = first / mass
    variance = second / mass - mean**2
    short = np.flatnonzero(b - a < SHORT_INTERVAL)  # where differences of integrals would cancel
    if short.size:
        mass[short], mean[short], variance[short] = _short_moments(kernel, a[short], b[short])
    return mass, mean, variance


@lru_cache(maxsize=8)
def _moment_tables(kernel: SmoothingKernel) -> tuple[IntegralTable, ...]:
    """Return the integrals of K, u K and u² K."""
    reach = _kernel_reach(kernel)
    panels = CALLABLE_PANELS if kernel.name == "callable" else int(np.ceil(reach / PANEL_WIDTH))
    half = np.linspace(0.0, reach, panels + 1)
    edges = np.concatenate([-half[:0:-1], half])
    return tuple(tabulate_integral(lambda u, j=j: u**j * kernel.profile(u), edges) for j in range(3))  # type: ignore[misc]


def _short_moments(kernel: SmoothingKernel, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return mass, mean and variance between a and b by quadrature on either side of 0, where K may have a kink."""
    middle = np.clip(0.0, a, b)
    halves = [(low, 0.5 * (high - low)) for low, high in ((a, middle), (middle, b))]
    u = np.concatenate([low[:, None] + half[:, None] * (1.0 + INTERVAL_NODES) for low, half in halves], axis=1)
    parts = [half[:, None] * INTERVAL_WEIGHTS for _, half in halves]
    weight = np.concatenate(parts, axis=1) * kernel.profile(u)
    mass = weight.sum(axis=1)
    mean = np.sum(weight * u, axis=1) / mass
    return mass, mean, np.sum(weight * (u - mean[:, None]) ** 2, axis=1) / mass


# ---- where the rows lie that a kernel sees ----------------------------------------------------------------------


def mean_offsets(line: Line, y: Array) -> Array:
    """Return r (m,), the mean of u = (y − x) / h over the points seen from sorted y (m,); 0 where none is seen."""
    if line.kernel.name == "gaussian":  # K′(u) = −u K(u)
        _, value, slope = gaussian_sums(line.x, line.w, y, line.h, line.tol)
        return np.asarray(-line.h * slope / value)
    if line.kernel.name == "laplace":
        return _laplace_offsets(line, y)
    r = np.zeros(y.size)
    many = np.arange(y.size)
    if line.kernel.pieces:
        pieces = [(p.low, p.high, p.coefficients, p is line.kernel.pieces[-1]) for p in line.kernel.pieces]
        seen, mass = window_sums(line.x, line.w, y, line.h, pieces)
        turned, _ = window_sums(line.x, line.w, y, line.h, [(a, b, (0.0, *c), end) for a, b, c, end in pieces])
        safe = seen > CANCELLATION * mass
        r[safe] = turned[safe] / seen[safe]
        many = np.flatnonzero(~safe & (mass > 0.0))
    for part in _pair_blocks(line, many.size):
        r[many[part]] = _mean_offsets_by_pairs(line, y[many[part]])
    return r


def _laplace_offsets(line: Line, y: Array) -> Array:
    """Return r (m,) of Laplace kernels, by sums of weights and of weights times u, from the middle of the y."""
    middle = y[y.size // 2] if y.size else 0.0
    w = np.ones(line.x.size) if line.w is None else line.w
    before, nearest, behind, next_one = laplace_sums(line.x, w, y, line.h)
    moments = laplace_sums(line.x, w * (line.x - middle) / line.h, y, line.h)
    exponent = -np.minimum(nearest, next_one)
    left, right = np.exp(-nearest - exponent), np.exp(-next_one - exponent)
    return np.asarray(
        (y - middle) / line.h - (moments[0] * left + moments[2] * right) / (before * left + behind * right)
    )


def _pair_blocks(line: Line, m: int) -> Iterator[slice]:
    return slices(m, max(1, BOUNDED_PAIRS // line.x.size))


def _mean_offsets_by_pairs(line: Line, y: Array) -> Array:
    u = (y[:, None] - line.x) / line.h
    log_K = line.kernel.log_profile(u)
    most = log_K.max(axis=1, keepdims=True)
    weight = np.exp(log_K - np.where(np.isfinite(most), most, 0.0)) * (1.0 if line.w is None else line.w)
    total = weight.sum(axis=1)
    return np.asarray(np.sum(weight * u, axis=1) / np.where(total > 0.0, total, 1.0))
