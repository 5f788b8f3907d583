"""Quantiles of a distribution function that can only be evaluated."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eigenlens.arrays import Array

MAX_QUANTILE_STEPS = 200
"""The largest number of steps: more than bisection alone ever takes."""

QUANTILE_PRECISION = 4.0 * float(np.finfo(np.float64).eps)
"""A bracket narrower than this, relative to the quantile, is one number."""


def invert_cdf(
    cdf: Callable[[Array], Array], density: Callable[[Array], Array], q: Array, low: Array, high: Array, table: Array
) -> Array:
    """Return the smallest y (m,) with cdf(y) ≥ q (m,), known to lie between low and high (m,).

    Values at a sorted `table` (t,) of points bracket each y; then Newton steps while they stay within the bracket
    and more than halve the error, else bisection. A few evaluations for all q together.

    >>> q = np.array([0.25, 0.81])
    >>> invert_cdf(np.square, lambda y: 2.0 * y, q, np.zeros(2), np.ones(2), np.array([0.7]))
    array([0.5, 0.9])
    """
    low, high, y = _bracketed(cdf(table), table, q, low, high)
    before, active = np.full(q.size, np.inf), np.arange(q.size)
    for _ in range(MAX_QUANTILE_STEPS):
        at, a, b = y[active], low[active], high[active]
        miss = cdf(at) - q[active]
        a, b = np.where(miss < 0.0, at, a), np.where(miss < 0.0, b, at)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = at - miss / density(at)
        fits = (newton >= a) & (newton <= b) & (np.abs(miss) <= 0.5 * before[active])
        low[active], high[active], before[active] = a, b, np.abs(miss)
        y[active] = np.where(fits, newton, 0.5 * (a + b))
        near = QUANTILE_PRECISION * np.maximum(np.abs(a), np.abs(b))
        narrow, still = b - a <= near, fits & (np.abs(newton - at) <= near)
        y[active[narrow]] = b[narrow]
        active = active[~(narrow | still)]
        if not active.size:
            break
    return y


def _bracketed(values: Array, table: Array, q: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Return narrower brackets from the values (t,) at the table's places, and a start by linear interpolation."""
    values = np.maximum.accumulate(values)
    after = np.searchsorted(values, q, side="left")
    left = np.where(after > 0, table[np.maximum(after - 1, 0)], low)
    right = np.where(after < table.size, table[np.minimum(after, table.size - 1)], high)
    below = np.where(after > 0, values[np.maximum(after - 1, 0)], 0.0)
    above = np.where(after < table.size, values[np.minimum(after, table.size - 1)], 1.0)
    left, right = np.maximum(left, low), np.minimum(right, high)
    share = np.clip((q - below) / np.maximum(above - below, 1e-300), 0.01, 0.99)
    return left, right, left + share * (right - left)
