"""Bandwidths from the spread of a sample, and from estimates of the roughness of its density (plug-in rules)."""

from __future__ import annotations

import math
from collections.abc import Callable

import scipy.optimize

from eigenlens.arrays import Array
from eigenlens.kde.bandwidth.binned import Sample, Waves, make_sample
from eigenlens.kde.bandwidth.ties import warn_comb

ROOT_SEARCH_RATIO = 0.85
"""The ratio of one trial bandwidth to the previous, downwards."""


def silverman(x: Array, weight: Array | None = None) -> float:
    """Return h = 0.9 min(s, q / 1.34) n^(−1/5), s the standard deviation and q the quartile range of x (n,).

    (Silverman 1986, Density estimation, eq. 3.31; R's bw.nrd0.) Cost: O(n).
    """
    return 0.9 * _reference_scale(make_sample(x, weight))


def scott(x: Array, weight: Array | None = None) -> float:
    """Return h = 1.06 min(s, q / 1.34) n^(−1/5) (Scott 1992; R's bw.nrd). Cost: O(n)."""
    return 1.06 * _reference_scale(make_sample(x, weight))


def _reference_scale(sample: Sample) -> float:
    robust = sample.quartile_range / 1.34
    scale = min(sample.deviation, robust) if robust > 0.0 else sample.deviation
    return sample.span * scale * math.pow(sample.n, -0.2)


def sheather_jones_direct(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the two-stage direct plug-in bandwidth of Sheather and Jones (1991, J. R. Statist. Soc. B 53, section 3).

    h = [1 / (2√π n S(g))]^(1/5), S an estimate of ∫ f''² by pairs at the pilot bandwidth g = [2.394 / (n T(b))]^(1/7),
    T one of ∫ f'''² at b = 1.23 s n^(−1/9), s the smaller of the standard deviation and the quartile range / 1.349.
    Warns of a comb as `sheather_jones` does. Cost: O(n), and a few hundred terms more.
    """
    sample = make_sample(x, weight)
    b = 1.23 * sample.scale * sample.n ** (-1.0 / 9.0)
    finest = b / 2.0
    while True:
        waves = sample.waves(finest, b)
        g = (2.394 / (sample.n * _roughness(sample, waves, 3, b))) ** (1.0 / 7.0)
        if waves.serves(g, finest):
            h = _optimum(sample, waves, g)
            warn_comb(sample, h, "sheather-jones-dpi", name)
            return sample.span * h
        finest = 0.8 * g


def sheather_jones(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the bandwidth that solves the equation of Sheather and Jones (1991, eq. 12), to 1e-12.

    h = [1 / (2√π n S(α h^(5/7)))]^(1/5),   α = 1.357 [S(a) / T(b)]^(1/7),   a, b = 1.24 s n^(−1/7), 1.23 s n^(−1/9),

    S and T the estimates by pairs of ∫ f''² and ∫ f'''². Of several solutions the largest. Where values repeat, h may
    be below half their usual step; then a warning refers to the values as `name`. Cost: O(n), then a few hundred terms
    per trial.

    >>> import numpy as np
    >>> round(sheather_jones(np.random.default_rng(0).standard_normal(1000)), 2)
    0.26
    """
    sample = make_sample(x, weight)
    h = solve_sheather_jones(sample)
    warn_comb(sample, h, "sheather-jones", name)
    return sample.span * h


def solve_sheather_jones(sample: Sample) -> float:
    """Return the h of `sheather_jones`, in units of the sample's range."""
    a, b = 1.24 * sample.scale * sample.n ** (-1.0 / 7.0), 1.23 * sample.scale * sample.n ** (-1.0 / 9.0)
    most = 1.144 * sample.scale * sample.n**-0.2
    widest = max(a, b)
    finest = a / 4.0
    while True:
        waves = sample.waves(finest, widest)
        alpha = 1.357 * (_roughness(sample, waves, 2, a) / _roughness(sample, waves, 3, b)) ** (1.0 / 7.0)
        h = largest_root(_equation(sample, waves, alpha), 2.0 * most, 10.0 * sample.deviation) or most
        g = alpha * h ** (5.0 / 7.0)
        if waves.serves(g, finest):
            return h
        finest = 0.8 * g


def _equation(sample: Sample, waves: Waves, alpha: float) -> Callable[[float], float]:
    return lambda h: h - _optimum(sample, waves, alpha * h ** (5.0 / 7.0))


def _roughness(sample: Sample, waves: Waves, r: int, g: float) -> float:
    """Return an estimate of ∫ (f^(r))², by pairs at the pilot bandwidth g."""
    return waves.pair_sum(r, 0.5 * g * g) / (sample.n * (sample.n - 1.0))


def _optimum(sample: Sample, waves: Waves, g: float) -> float:
    """Return the bandwidth of smallest asymptotic error for the roughness estimated at the pilot bandwidth g."""
    return math.pow(2.0 * math.sqrt(math.pi) * sample.n * _roughness(sample, waves, 2, g), -0.2)


def largest_root(function: Callable[[float], float], start: float, limit: float) -> float | None:
    """Return the largest root of a function that is positive above it, or None if it lies above `limit`."""
    high = start
    while function(high) <= 0.0:
        high /= ROOT_SEARCH_RATIO
        if high > limit:
            return None
    low = high * ROOT_SEARCH_RATIO
    while function(low) > 0.0:
        high, low = low, low * ROOT_SEARCH_RATIO
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-13 * low, rtol=1e-13))
