"""Bandwidths by least-squares and likelihood cross-validation."""

from __future__ import annotations

import math

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import warn_user
from eigenlens.kde.bandwidth.binned import PowerSpectrum, Sample, make_sample
from eigenlens.kde.bandwidth.likelihood import likelihood_criterion
from eigenlens.kde.bandwidth.plug_in import solve_sheather_jones
from eigenlens.kde.bandwidth.search import BandwidthChoice, Criterion, CrossValidation, Prepare
from eigenlens.kde.bandwidth.ties import half_step, has_repeats, usual_step


def lscv(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the h that minimises Σ_ij φ_{√2h}(x_i − x_j) / n² − 2 Σ_{i≠j} φ_h(x_i − x_j) / n², φ normal densities.

    It is ∫ f̂² less twice the mean of the density at left-out points: up to a constant, an estimate of the integrated
    squared error of f̂ (Rudemo 1982; Bowman 1984; Silverman 1986, eq. 3.39, with n for n − 1 as there).
    Bandwidths from a quarter of the spread of √n neighbours to three times the largest reasonable one (Terrell 1990)
    are tried, and larger ones while the last is the best; then the best is refined.

    Equal values make the criterion fall without bound as h tends to 0. Where the trials show it, a warning is issued
    and h is the largest of the other minima; if there is none, that of the criterion in which equal points are left out
    together; and if that has none, h of `sheather_jones`, or half the usual step between values if that is larger.
    Cost: O(n log n), then O(G) per trial.

    >>> round(lscv(np.random.default_rng(1).standard_normal(500)), 1)
    0.3
    """
    return _least_squares(make_sample(x, weight), name, exact=False)


def lscv_exact(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the h that minimises ∫ f̂² − 2 Σ_i f̂_{−i}(x_i) / n, f̂_{−i} the density of the n − 1 other values.

    The criterion of `lscv`, which is also R's, divides by n there; this one is unbiased. Their minima
    differ by a share of the order of 1 / n; equal values are treated alike.

    >>> x = np.random.default_rng(1).standard_normal(20)
    >>> round(lscv_exact(x) / lscv(x), 2)
    0.95
    """
    return _least_squares(make_sample(x, weight), name, exact=True)


def _least_squares(sample: Sample, name: str, exact: bool) -> float:
    low, high = _min_bandwidth(sample), 3.0 * 1.144 * sample.scale * sample.n**-0.2
    copies = sample.values[1]
    with_equals = float(np.sum(copies**2))
    leave_one_out, leave_ties_out = (_squares_criterion(sample, own, exact) for own in (sample.n, with_equals))
    chosen = CrossValidation(has_repeats(copies), leave_one_out, leave_ties_out, lambda: _fallback(sample))
    return _report(sample, chosen.choose(low, high), "lscv-exact" if exact else "lscv", name)


def mlcv(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the h that maximises Σ_i w_i log f̂_{−i}(x_i), f̂_{−i} the density without one copy of x_i.

    (Habbema, Hermans and van den Broek 1974; Duin 1976.) Isolated points have a large influence: heavy tails lead
    to wide kernels. Where every value occurs twice, the criterion rises without bound as h tends to 0; that is treated
    as in `lscv`. A row of weight below one is left out whole. Cost: O(n log n), then O(G) per trial.

    >>> round(mlcv(np.random.default_rng(0).standard_normal(500)), 1)
    0.3
    """
    sample = make_sample(x, weight)
    copies = sample.values[1]
    leave_one_out, leave_ties_out = (likelihood_criterion(sample, own) for own in (np.minimum(copies, 1.0), copies))
    chosen = CrossValidation(has_repeats(copies), leave_one_out, leave_ties_out, lambda: _fallback(sample))
    return _report(sample, chosen.choose(_min_bandwidth(sample), 2.0 * sample.deviation), "mlcv", name)


def _fallback(sample: Sample) -> BandwidthChoice:
    step, other = half_step(sample), solve_sheather_jones(sample)
    return (
        BandwidthChoice(other, "'sheather-jones'")
        if other >= step
        else BandwidthChoice(step, "half the usual step between values")
    )


def _report(sample: Sample, choice: BandwidthChoice, rule: str, name: str) -> float:
    """Return the chosen bandwidth in the units of x; warn where equal values made a fallback necessary."""
    h = sample.span * choice.h
    if choice.remark:
        warn_user(unbounded_criterion_message(name, rule, f"h = {h:.3g} is that of {choice.remark}"))
    return h


def unbounded_criterion_message(name: str, rule: str, taken: str) -> str:
    """Return the warning for a criterion that falls without bound because of equal values; `taken` is the fallback."""
    return (
        f"{name} holds equal values, and the criterion of {rule!r} falls without bound as the bandwidth tends to 0: "
        f"{taken}."
    )


def _min_bandwidth(sample: Sample) -> float:
    """Return the smallest h worth a trial: a quarter of the lower quartile of the spread of √n neighbours.

    It is at least half the usual distance from a value to the next, which matters where values repeat.
    """
    points, copies = sample.values
    counted = np.cumsum(copies)
    last = np.searchsorted(counted, counted - copies + math.sqrt(sample.n))
    inside = last < points.size
    spread = points[last[inside]] - points[inside]
    return float(max(0.25 * np.quantile(spread, 0.25), 0.5 * usual_step(sample)))


def _squares_criterion(sample: Sample, own: float, exact: bool) -> Prepare:
    """Return the least-squares criterion; `own` counts pairs of points with themselves, or with their equals."""
    left = sample.n - 1.0 if exact else sample.n

    def prepare(low: float, high: float, fine: bool) -> Criterion:
        spectrum = sample.spectrum(0.25 * low if fine else low, math.sqrt(2.0) * high)
        return lambda h: squared_error(spectrum, h, sample.n, own, left)

    return prepare


def squared_error(spectrum: PowerSpectrum, h: float, n: float, own: float, left: float) -> float:
    """Return ∫ f̂² − 2 Σ_{i≠j} φ_h(x_i − x_j) / (n left), the sum over pairs less `own` of them at distance 0.

    `left` is the number of values left, n − 1, or n in the form of the books.
    """
    others = spectrum.pair_sum(0, 0.5 * h * h) - own / (math.sqrt(2.0 * math.pi) * h)
    return (spectrum.pair_sum(0, h * h) - 2.0 * (n / left) * others) / n**2
