"""The search for the bandwidth that minimises a criterion: over the whole range first, then around the best."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.optimize

from eigenlens.arrays import Array

Criterion = Callable[[float], float]
Prepare = Callable[[float, float, bool], Criterion]
"""From the min and max of the bandwidths to come, and whether the search is in its last digits, to a criterion of h:
the cells it needs depend on the range."""

TRIAL_RATIO = 1.15
"""The ratio of one trial bandwidth to the previous."""

TRIALS_PER_CELLS = 15
"""Trial bandwidths that share one set of cells: a factor of seven from the first to the last."""

MIN_BANDWIDTH_SHARE = 1e-6
"""Where no values are equal, h may fall to this share of the first trials."""

WIDENING_FACTOR, MAX_WIDENING = 7.0, 1e4
"""Where the last trial is the best, trials continue by this factor, up to this many times the first range."""

LOG_SLOPE_STEP = 1e-3
"""Half the step, in log h, over which the slope of a criterion is taken."""


def search_bandwidth(prepare: Prepare, low: float, high: float, most: float = 0.0) -> tuple[float, Array, Array]:
    """Return the h in [low, high] of smallest criterion, and the trials: bandwidths and criteria (m,).

    While the last trial is the best and below `most`, the search continues beyond `high`.

    >>> h, tried, values = search_bandwidth(lambda low, high, fine: lambda h: (h - 2.0) ** 2, 0.1, 10.0)
    >>> round(h, 6), bool(values.min() < 0.05)
    (2.0, True)
    """
    tried, values = _trials(prepare, low, high)
    while np.argmin(values) == values.size - 1 and tried[-1] < most:
        more = _trials(prepare, TRIAL_RATIO * float(tried[-1]), WIDENING_FACTOR * float(tried[-1]))
        tried, values = np.append(tried, more[0]), np.append(values, more[1])
    return _refined(prepare, tried, int(np.argmin(values))), tried, values


@dataclass(frozen=True)
class BandwidthChoice:
    """A bandwidth h, and its origin where that deserves a remark."""

    h: float
    remark: str = ""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """A criterion that may fall without bound as h tends to 0 because of equal values, and the fallbacks.

    Attributes:
        ties: whether there are equal values.
        leave_one_out: the criterion. leave_ties_out: the criterion where all equal rows are left out together.
        fallback: returns an h where neither has a minimum.
    """

    ties: bool
    leave_one_out: Prepare
    leave_ties_out: Prepare
    fallback: Callable[[], BandwidthChoice]

    def choose(self, low: float, high: float) -> BandwidthChoice:
        """Return the h of smallest criterion from `low` to `high` or more; also below `low` where there are no ties."""
        low = min(low, 0.5 * high)
        smallest = MIN_BANDWIDTH_SHARE * high
        h, tried, values = search_bandwidth(self.leave_one_out, low, high, MAX_WIDENING * high)
        while not self.ties and h == low and low > smallest:
            low, high = low / 10.0, low * TRIAL_RATIO**2
            h, tried, values = search_bandwidth(self.leave_one_out, low, high)
        return BandwidthChoice(h) if h > low else self._despite_ties(tried, values)

    def _despite_ties(self, tried: Array, values: Array) -> BandwidthChoice:
        """Return the largest minimum above the fall towards 0, or that of `leave_ties_out`, or the fallback."""
        inside = 1 + np.flatnonzero((values[1:-1] < values[:-2]) & (values[1:-1] <= values[2:]))
        if inside.size:
            best = _refined(self.leave_one_out, tried, int(inside[-1]))
            return BandwidthChoice(best, "the largest of its other minima")
        h = search_bandwidth(self.leave_ties_out, float(tried[0]), float(tried[-1]))[0]
        if tried[0] < h < tried[-1]:
            return BandwidthChoice(h, "the criterion that leaves equal values out together")
        return self.fallback()


def _trials(prepare: Prepare, low: float, high: float) -> tuple[Array, Array]:
    count = 2 + math.ceil(math.log(high / low) / math.log(TRIAL_RATIO))
    tried = np.geomspace(low, high, count)
    values = []
    for start in range(0, count, TRIALS_PER_CELLS):
        some = tried[start : start + TRIALS_PER_CELLS]
        criterion = prepare(float(some[0]), float(some[-1]), False)
        values += [criterion(float(h)) for h in some]
    return tried, np.asarray(values)


def _refined(prepare: Prepare, tried: Array, best: int) -> float:
    """Return the minimum next to a trial, where the slope changes sign; the trial itself at the end of the range."""
    if best in (0, tried.size - 1):
        return float(tried[best])
    a, b = math.log(tried[best - 1]), math.log(tried[best + 1])
    criterion = prepare(math.exp(a - LOG_SLOPE_STEP), math.exp(b + LOG_SLOPE_STEP), True)

    def slope(at: float) -> float:
        return criterion(math.exp(at + LOG_SLOPE_STEP)) - criterion(math.exp(at - LOG_SLOPE_STEP))

    if slope(a) < 0.0 < slope(b):
        return math.exp(scipy.optimize.brentq(slope, a, b, xtol=1e-12, rtol=1e-12))
    return math.exp(scipy.optimize.minimize_scalar(lambda at: criterion(math.exp(at)), bounds=(a, b)).x)
