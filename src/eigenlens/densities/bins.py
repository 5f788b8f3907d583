"""Rules for the bins of a histogram: from values and weights to a number of bins of one width between two ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError

MAX_TRIED_BINS = 1000
"""Numbers of bins that "knuth" and "cv" compare: each takes one search of its edges among the sorted values."""

MAX_BINS = 1_000_000
"""More bins than this are a mistake, such as a width chosen for most values and one value far away."""

SCOTT_FACTOR = (24.0 * np.pi**0.5) ** (1.0 / 3.0)
"""3.491: the width of least integrated squared error for Gaussian values, over σ n^(−1/3)."""

UNEVEN = 1e-4
"""Middles of bins of one width may differ by this share of it from equal distances, by rounding."""


def range_edges(values: Array, bins: Any) -> Array:
    """Return the edges of bins of equal width over the range of values, by their number or by a rule of NumPy's.

    One bin where the values differ by rounding only, so that none of its parts had a width.

    >>> range_edges(np.array([0.0, 1.0]), 2), range_edges(np.array([1e16, 1e16 + 2.0]), 9).size
    (array([0. , 0.5, 1. ]), 2)
    """
    try:
        return np.histogram_bin_edges(values, bins)
    except ValueError:
        return np.nextafter([values.min(), values.max()], [-np.inf, np.inf])


def bin_edges(centres: Any) -> Array:
    """Return the edges (K + 1,) of bins of one width from their middles (K,), as published tables often have them.

    >>> bin_edges([0.5, 1.5, 2.5])
    array([0., 1., 2., 3.])
    """
    middles = checks.numbers("centres", centres)
    widths = np.diff(middles) if middles.ndim == 1 else np.empty(0)
    width = float(widths.mean()) if widths.size else 0.0
    if not width > 0.0 or np.any(np.abs(widths - width) > UNEVEN * width):
        what = "must be at least two numbers, ascending by one width, or the edges do not follow from them"
        raise OptionError(what, argument="centres", value=middles.tolist(), fix="give the edges instead")
    return np.asarray(middles[0] + width * (np.arange(middles.size + 1) - 0.5))


class SortedValues(NamedTuple):
    """Values (n,) in ascending order, and the weight of all up to each (n,): a value of weight 3 is three of them."""

    values: Array
    below: Array

    @classmethod
    def of(cls, x: Array, weight: Array | None = None) -> SortedValues:
        """Return values with their weights, sorted.

        >>> SortedValues.of(np.array([3.0, 1.0]), np.array([2.0, 1.0]))
        SortedValues(values=array([1., 3.]), below=array([1., 3.]))
        """
        order = np.argsort(x, kind="stable")
        return cls(x[order], np.cumsum(np.ones(len(x)) if weight is None else weight[order]))

    @property
    def total(self) -> float:
        """The weight of all values, n."""
        return float(self.below[-1])

    def counts(self, edges: Array) -> Array:
        """Return the weight (K,) in each of K bins, which hold their lower edge; the last holds its upper one too."""
        upto = np.searchsorted(self.values, edges, side="left")
        upto[-1] = np.searchsorted(self.values, edges[-1], side="right")
        return np.diff(np.concatenate([[0.0], self.below])[upto])

    def quantile(self, q: float) -> float:
        """Return a quantile, linear between order statistics (type 7 of Hyndman and Fan 1996)."""
        place = q * max(self.total - 1.0, 0.0)
        low = np.floor(place)
        i, j = np.searchsorted(self.below, np.array([low, low + 1.0]) * (1.0 + 1e-12), side="right")
        last = len(self.values) - 1
        a, b = self.values[min(i, last)], self.values[min(j, last)]
        return float(a + (place - low) * (b - a))

    @property
    def deviation(self) -> float:
        """The standard deviation with the divisor n."""
        w, spread = np.diff(self.below, prepend=0.0), float(self.values[-1] - self.values[0])
        share = (self.values - self.values[0]) / (spread or 1.0)  # squares of values themselves may underflow
        return spread * float(np.sqrt(w @ (share - w @ share / self.total) ** 2 / self.total))


def scott_bins(x: SortedValues, low: float, high: float) -> int:
    """Return the number of bins of width 3.491 σ n^(−1/3), the best for Gaussian values (Scott 1979)."""
    return _of_width(SCOTT_FACTOR * x.deviation * x.total ** (-1.0 / 3.0), low, high)


def freedman_diaconis_bins(x: SortedValues, low: float, high: float) -> int:
    """Return the number of bins of width 2 IQR n^(−1/3) (Freedman and Diaconis 1981); Scott's if the IQR is 0."""
    width = 2.0 * (x.quantile(0.75) - x.quantile(0.25)) * x.total ** (-1.0 / 3.0)
    return _of_width(width, low, high) if width > 0.0 else scott_bins(x, low, high)


def knuth_bins(x: SortedValues, low: float, high: float) -> int:
    """Return the most probable number of bins given the values (Knuth 2006).

    n ln M + ln Γ(M/2) − M ln Γ(½) − ln Γ(n + M/2) + Σ_k ln Γ(n_k + ½)  →  max over M
    """

    def log_posterior(counts: Array) -> float:
        n, M = x.total, len(counts)
        prior = n * np.log(M) + gammaln(M / 2.0) - M * gammaln(0.5) - gammaln(n + M / 2.0)
        return float(prior + gammaln(counts + 0.5).sum())

    return _best(lambda counts: -log_posterior(counts), x, low, high)


def cross_validated_bins(x: SortedValues, low: float, high: float) -> int:
    """Return the number of bins of least integrated squared error by leave-one-out cross-validation (Rudemo 1982).

    J(M) = ∫ f² − (2/n) Σ_i f₋ᵢ(x_i) = 2 / ((n − 1) h) − (n + 1) / ((n − 1) h) Σ_k (n_k / n)²,    h = (high − low) / M
    """

    def risk(counts: Array) -> float:
        n, h = x.total, (high - low) / len(counts)
        return float((2.0 - (n + 1.0) * np.sum((counts / n) ** 2)) / ((n - 1.0) * h))

    return _best(risk, x, low, high)


BIN_RULES: dict[str, Callable[[SortedValues, float, float], int]] = {
    "freedman-diaconis": freedman_diaconis_bins,
    "scott": scott_bins,
    "knuth": knuth_bins,
    "cv": cross_validated_bins,
}
"""Rules by name: (values, low, high) → number of bins of one width from low to high."""

BIN_RULE_ALIASES = {"fd": "freedman-diaconis"}
"""NumPy's names of the rules."""


def _of_width(width: float, low: float, high: float) -> int:
    count = (high - low) / width if width > 0.0 else 1.0
    if count > MAX_BINS:
        what = f"would be {count:.3g} of width {width:.3g} from {low:g} to {high:g}"
        raise OptionError(what, argument="bins", fix="give their number, their edges, or bounds without far values")
    return max(1, int(np.ceil(count)))


def _best(loss: Callable[[Array], float], x: SortedValues, low: float, high: float) -> int:
    """Return the number of bins, up to 1000 and to that of the values, with the smallest loss of its counts."""
    if x.total <= 1.0:
        return 1
    most = min(MAX_TRIED_BINS, max(1, int(x.total)))
    return 1 + int(np.argmin([loss(x.counts(np.linspace(low, high, M + 1))) for M in range(1, most + 1)]))
