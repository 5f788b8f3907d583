"""Bandwidths from the spread of a sample, and from estimates of the roughness of its density (plug-in rules)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.optimize

from eigenlens.arrays import Array
from eigenlens.errors import warn_user
from eigenlens.kde.bandwidth.binned import PowerSpectrum, Sample, make_sample
from eigenlens.kde.bandwidth.ties import half_step, separates_peaks, warn_separate_peaks

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
    Warns of separate peaks as `sheather_jones` does. Cost: O(n), and a few hundred terms more.
    """
    sample = make_sample(x, weight)
    b = 1.23 * sample.scale * sample.n ** (-1.0 / 9.0)
    finest = b / 2.0
    while True:
        spectrum = sample.spectrum(finest, b)
        g = (2.394 / (sample.n * _roughness(sample, spectrum, 3, b))) ** (1.0 / 7.0)
        if spectrum.serves(g, finest):
            h = _optimum(sample, spectrum, g)
            warn_separate_peaks(sample, h, "sheather-jones-dpi", name)
            return sample.span * h
        finest = 0.8 * g


def sheather_jones(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the bandwidth that solves the equation of Sheather and Jones (1991, eq. 12), to 1e-12.

    h = [1 / (2√π n S(α h^(5/7)))]^(1/5),   α = 1.357 [S(a) / T(b)]^(1/7),   a, b = 1.24 s n^(−1/7), 1.23 s n^(−1/9),

    S and T the estimates by pairs of ∫ f''² and ∫ f'''². It is the largest solution. Where values repeat, h may
    be below half their usual step; then a warning refers to the values as `name`. Cost: O(n), then a few hundred terms
    per trial.

    >>> import numpy as np
    >>> round(sheather_jones(np.random.default_rng(0).standard_normal(1000)), 2)
    0.26
    """
    sample = make_sample(x, weight)
    h = solve_sheather_jones(sample)
    warn_separate_peaks(sample, h, "sheather-jones", name)
    return sample.span * h


def solve_sheather_jones(sample: Sample) -> float:
    """Return the h of `sheather_jones`, in units of the sample's range."""
    a, b = 1.24 * sample.scale * sample.n ** (-1.0 / 7.0), 1.23 * sample.scale * sample.n ** (-1.0 / 9.0)
    most = 1.144 * sample.scale * sample.n**-0.2
    widest = max(a, b)
    finest = a / 4.0
    while True:
        spectrum = sample.spectrum(finest, widest)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            ratio = float(np.float64(_roughness(sample, spectrum, 2, a)) / _roughness(sample, spectrum, 3, b))
        if not 0.0 < ratio < np.inf:  # the roughness is beyond floats
            return float(most)
        alpha = 1.357 * ratio ** (1.0 / 7.0)
        h = _largest_root(_equation(sample, spectrum, alpha), 2.0 * most, 10.0 * sample.deviation) or most
        g = alpha * h ** (5.0 / 7.0)
        if spectrum.serves(g, finest):
            return h
        finest = 0.8 * g


def _equation(sample: Sample, spectrum: PowerSpectrum, alpha: float) -> Callable[[float], float]:
    return lambda h: h - _optimum(sample, spectrum, alpha * h ** (5.0 / 7.0))


def _roughness(sample: Sample, spectrum: PowerSpectrum, r: int, g: float) -> float:
    """Return an estimate of ∫ (f^(r))², by pairs at the pilot bandwidth g."""
    return spectrum.pair_sum(r, 0.5 * g * g) / (sample.n * (sample.n - 1.0))


def _optimum(sample: Sample, spectrum: PowerSpectrum, g: float) -> float:
    """Return the bandwidth of smallest asymptotic error for the roughness estimated at the pilot bandwidth g."""
    return math.pow(2.0 * math.sqrt(math.pi) * sample.n * _roughness(sample, spectrum, 2, g), -0.2)


def _largest_root(function: Callable[[float], float], start: float, limit: float) -> float | None:
    """Return the largest root of a function that is positive above it; None if there is none up to `limit`."""
    high = start
    while function(high) <= 0.0:
        high /= ROOT_SEARCH_RATIO
        if high > limit:
            return None
    low = high * ROOT_SEARCH_RATIO
    while function(low) > 0.0:
        high, low = low, low * ROOT_SEARCH_RATIO
    if math.isnan(function(low)) or math.isnan(function(high)):  # the roughness is beyond floats
        return None
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-13 * low, rtol=1e-13))


ISJ_STAGES = 7
"""The derivative that the chain of pilot estimates begins with."""

SUSPICIOUS_SHARE = 0.05
"""A fixed point below this share of the largest reasonable bandwidth may be that of repeated values."""


def isj(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the fixed point h of h² = (2√π n |f''|²)^(−2/5), which uses no normal reference.

    |f^(s)|² is estimated with a pilot bandwidth that is best for it given |f^(s+1)|², s = 6 down to 2, and |f^(7)|²
    with h itself (Botev, Grotowski and Kroese 2010, Ann. Statist. 38, algorithm 1, eqs. 29 and 30). The estimates are
    made on the line, without the boundaries of a cosine transform, in units of the sample's range: h is equivariant
    under shifts and scalings. h is the largest fixed point; two or three rows may have none, and then h is the
    largest reasonable one (Terrell 1990). Where values repeat so often that the fixed point separates their peaks, a
    warning is issued, and h is that of `sheather_jones`, or half the usual step between values if that is larger.
    Cost: O(n), then some thousand terms per trial.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> round(isj(x), 2), abs(isj(1000.0 * x) / isj(x) - 1000.0) < 1e-7
    (0.28, True)
    """
    sample = make_sample(x, weight)
    most = 1.144 * sample.scale * sample.n**-0.2
    finest = most / 4.0
    while True:
        spectrum = sample.spectrum(finest, 8.0 * sample.scale * sample.n**-0.2)
        h = (
            _largest_root(partial(_excess, sample=sample, spectrum=spectrum), 2.0 * most, 2.0 * sample.deviation)
            or most
        )
        precise = spectrum.serves(h, finest)
        if (precise or h < SUSPICIOUS_SHARE * most) and separates_peaks(sample, h):
            return sample.span * _avoid_separate_peaks(sample, name)
        if precise:
            return sample.span * h
        finest = 0.8 * h


def _avoid_separate_peaks(sample: Sample, name: str) -> float:
    """Return the bandwidth to use where the fixed point separates the peaks of repeated values, with a warning."""
    step, other = half_step(sample), solve_sheather_jones(sample)
    h = max(step, other)
    which = "'sheather-jones'" if other >= step else "half the usual step from value to value"
    warn_user(
        f"{name} has many equal values ({sample.values[0].size} distinct among {sample.n:g}), for which the fixed "
        f"point of rule 'isj' is near 0; h = {sample.span * h:.3g} is that of {which}. For rounded values give a "
        "bandwidth above their step as a number."
    )
    return h


def _excess(h: float, sample: Sample, spectrum: PowerSpectrum) -> float:
    """Return h less the bandwidth of the chain of estimates from it; infinite where h smooths everything away."""
    n, t = sample.n, h * h
    for s in range(ISJ_STAGES - 1, 1, -1):
        odd = math.prod(range(1, 2 * s, 2)) / math.sqrt(2.0 * math.pi)
        best = (1.0 + 0.5 ** (s + 0.5)) / 3.0 * 2.0 * odd / n
        roughness = spectrum.pair_sum(s + 1, t) / n**2
        if roughness == 0.0:
            return math.inf
        t = (best / roughness) ** (2.0 / (3.0 + 2.0 * s))
    roughness = spectrum.pair_sum(2, t) / n**2
    return h - (2.0 * math.sqrt(math.pi) * n * roughness) ** -0.2 if roughness > 0.0 else math.inf
