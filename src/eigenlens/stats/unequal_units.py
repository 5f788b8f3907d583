"""Whether the units of the columns decide what has the largest variance, from means and variances alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array

MIN_COLUMNS = 3
"""With fewer columns one of them always holds a large share."""

UNIT_LIMITS = ((1.5, 10.0), (2.0, 50.0))
"""Columns count as few, and deviations as far apart, below and above one of these pairs.

In twenty tables of measurements in one unit (lengths of flowers, scores of tests, pixels, spectra, genes, one-hot
columns) either the first number was above 2 or the second below 10; those of different units had 1.0 to 1.7 and 19 to
200,000 (wine, arrests, air quality, decathlon, credit, diabetes, vehicles, hearts, tumours)."""

COUNT_COLUMNS, COUNT_SHARE = 8, 0.8
"""This many columns, of which this share has means above 0 and below one standard deviation, are counts in one unit."""


class UnequalUnits(NamedTuple):
    """A column with most of the variance, where standard deviations differ as much as different units make them.

    Attributes:
        column: its number. share: of the variance of all columns. ratio: the largest deviation over the smallest.
    """

    column: int
    share: float
    ratio: float


def unequal_units(mean: Array, variance: Array) -> UnequalUnits | None:
    """Return the column that dominates columns of these means and variances (d,), if units may be the reason.

    Few columns have most of the variance: (Σ v)² / Σ v² of them, if all were equal. Their standard deviations differ by
    a factor of ten or more. Counts in one unit, where rare things have small means and deviations, are left alone, and
    so are constant columns.

    >>> unequal_units(np.array([13.0, 2.3, 747.0]), np.array([0.66, 1.25, 99167.0]))
    UnequalUnits(column=2, share=0.99998..., ratio=387.6...)
    >>> unequal_units(np.array([5.8, 3.1, 3.8, 1.2]), np.array([0.69, 0.19, 3.12, 0.58])) is None
    True
    """
    varies = np.flatnonzero(variance > 1e-26 * mean**2)
    v, m = variance[varies], mean[varies]
    if v.size < MIN_COLUMNS:
        return None
    v = v / v.max()
    few, ratio = float(v.sum() ** 2 / np.sum(v * v)), float(1.0 / np.sqrt(v.min()))
    if not any(few < most and ratio > least for most, least in UNIT_LIMITS) or _are_counts(m, variance[varies]):
        return None
    return UnequalUnits(int(varies[v.argmax()]), float(1.0 / v.sum()), ratio)


def _are_counts(mean: Array, variance: Array) -> bool:
    small = (mean > 0.0) & (mean**2 < variance)
    return mean.size >= COUNT_COLUMNS and float(small.mean()) >= COUNT_SHARE
