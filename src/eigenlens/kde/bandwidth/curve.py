"""Cross-validation criteria as curves over the bandwidth, and the bandwidths of all rules."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError
from eigenlens.kde.bandwidth import BANDWIDTH_RULES
from eigenlens.kde.bandwidth.binned import Sample, make_sample
from eigenlens.kde.bandwidth.cross_validation import squared_error
from eigenlens.kde.bandwidth.likelihood import likelihood_criterion

MAX_SHARED_RATIO = 7.0
"""Bandwidths within this factor of each other share one set of cells."""


def bandwidths_by_rule(x: Array, weight: Array | None = None) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the Gaussian bandwidth of x (n,) by every rule that has one, and the rules' warnings and errors.

    >>> found, remarks = bandwidths_by_rule(np.random.default_rng(0).standard_normal(500))
    >>> len(found), remarks
    (8, ())
    """
    found: dict[str, float] = {}
    remarks: dict[str, None] = {}
    for name, rule in BANDWIDTH_RULES.items():
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found[name] = float(rule(x, weight))
            except DataError as error:
                remarks[f"{name}: {error}"] = None
        remarks |= dict.fromkeys(str(each.message) for each in caught)
    return found, tuple(remarks)


def squared_error_curve(x: Array, weight: Array | None, h: Array) -> Array:
    """Return ∫ f̂² − 2 Σ_{i≠j} φ_h(x_i − x_j) / n² (m,) at ascending bandwidths h (m,): the criterion of `lscv`.

    Up to ∫ f² it estimates the integrated squared error of f̂, in units of 1 / x: smaller is better.
    """
    sample = make_sample(x, weight)

    def values(some: Array) -> list[float]:
        spectrum = sample.spectrum(float(some[0]), math.sqrt(2.0) * float(some[-1]))
        return [squared_error(spectrum, float(u), sample.n, sample.n, sample.n) / sample.span for u in some]

    return _in_pieces(sample, h, values)


def likelihood_curve(x: Array, weight: Array | None, h: Array) -> Array:
    """Return Σ_i w_i log f̂_{−i}(x_i) / Σ w (m,) at ascending bandwidths h (m,), which `mlcv` maximises.

    f̂_{−i} is the density without one copy of x_i (without the whole row if its weight is less than one).
    """
    sample = make_sample(x, weight)
    copies = sample.values[1]
    own = np.minimum(copies, 1.0)
    prepare = likelihood_criterion(sample, own)
    rest = float(copies @ np.log(np.maximum(sample.n - own, np.finfo(float).tiny))) / sample.n
    constant = 0.5 * math.log(2.0 * math.pi) + rest + math.log(sample.span)

    def values(some: Array) -> list[float]:
        criterion = prepare(float(some[0]), float(some[-1]), False)
        return [-criterion(float(u)) / sample.n - constant for u in some]

    return _in_pieces(sample, h, values)


def _in_pieces(sample: Sample, h: Array, values: Callable[[Array], list[float]]) -> Array:
    """Return values (m,) at ascending bandwidths, computed together for those near each other."""
    units = np.asarray(h, dtype=np.float64) / sample.span
    piece = (np.log(units / units[0]) / math.log(MAX_SHARED_RATIO)).astype(np.intp)
    return np.concatenate([values(units[piece == k]) for k in np.unique(piece)])


CROSS_VALIDATION_CURVES: dict[str, Callable[[Array, Array | None, Array], Array]] = {
    "lscv": squared_error_curve,
    "mlcv": likelihood_curve,
}
"""Criteria by the rule that optimises them: from x (n,), weights (n,) or None and h (m,) to values (m,)."""
