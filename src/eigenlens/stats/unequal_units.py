"""Whether the units of the columns decide what has the largest variance, from means, variances and names alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.cell_formats.unit_names import is_known_unit
from eigenlens.errors import DataWarning, list_columns

MIN_COLUMNS = 3
"""With fewer columns one of them always holds a large share."""

UNIT_LIMITS = ((1.5, 10.0), (2.0, 50.0))
"""Columns count as few, and deviations as far apart, below and above one of these pairs.

In thirty tables of measurements in one unit (lengths of flowers, scores of tests, pixels, spectra, genes, prices of
shares, one-hot columns) either the first number was above 2 or the second below 10, except for counts; those of
different units had 1.0 to 1.7 and 19 to 200,000 (wine, arrests, air quality, decathlon, credit, diabetes, vehicles,
hearts, tumours, cars)."""

LARGE_STEP = 20.0
"""Two incomes beside ten ratios: the factor between two neighbours in the order of the standard deviations from which
those above it, at most half of the columns, are taken for another unit. In the tables of one unit it was at most 12."""

NAMED_RATIO = 1.2
"""The factor between deviations from which units that the names of the columns have, such as cm and kg, matter."""

DOMINANT_SHARE = 0.8
"""The share of the variance that the columns that dominate have together."""

COUNT_COLUMNS, COUNT_SHARE = 5, 0.8
"""This many columns, of which this share has means above 0 and below one standard deviation, are counts in one unit."""


class UnequalUnits(NamedTuple):
    """Columns with most of the variance, where standard deviations differ as much as different units make them.

    Attributes:
        columns: their numbers, the largest variance first. share: of the variance of all columns, theirs together.
        ratio: the largest deviation over the smallest. units: those in the names of columns, where they differ.
    """

    columns: tuple[int, ...]
    share: float
    ratio: float
    units: tuple[str, ...] = ()


def unequal_units(mean: Array, variance: Array, names: Sequence[str] | None = None) -> UnequalUnits | None:
    """Return the columns that dominate columns of these means and variances (d,), if units may be the reason.

    Few columns have most of the variance: (Σ v)² / Σ v² of them, if all were equal. Their standard deviations differ by
    a factor of ten or more, or fall by one of twenty from one to the next; or the names of the columns have different
    units. Counts in one unit, where rare things have small means and deviations, are left alone, and so are constant
    columns.

    >>> unequal_units(np.array([13.0, 2.3, 747.0]), np.array([0.66, 1.25, 99167.0]))
    UnequalUnits(columns=(2,), share=0.99998..., ratio=387.6..., units=())
    >>> unequal_units(np.array([5.8, 3.1, 3.8, 1.2]), np.array([0.69, 0.19, 3.12, 0.58])) is None
    True
    >>> unequal_units(np.array([171.0, 68.0]), np.array([80.0, 190.0]), ["height (cm)", "mass_kg"]).units
    ('cm', 'kg')
    """
    varies = np.flatnonzero(variance > 1e-26 * mean**2)
    if varies.size < 2:
        return None
    order = varies[np.argsort(-variance[varies], kind="stable")]
    v = variance[order] / variance[order[0]]
    ratio = float(1.0 / np.sqrt(v[-1]))
    units = units_of_names([names[j] for j in varies.tolist()]) if names is not None and ratio > NAMED_RATIO else ()
    if not units and not (_differ(v, ratio) and not _are_counts(mean[varies], variance[varies])):
        return None
    shares = np.cumsum(v) / v.sum()
    count = int(np.searchsorted(shares, DOMINANT_SHARE)) + 1
    return UnequalUnits(tuple(order[:count].tolist()), float(shares[count - 1]), ratio, units)


def _differ(v: Array, ratio: float) -> bool:
    """Return whether descending variances (d,), the largest one 1, differ as those of different units do."""
    few = float(v.sum() ** 2 / np.sum(v * v))
    steps = np.sqrt(v[:-1] / v[1:])[: max(1, v.size // 2)]
    limits = UNIT_LIMITS if v.size >= MIN_COLUMNS else ()
    return bool(steps.max() >= LARGE_STEP) or any(few < most and ratio > least for most, least in limits)


def _are_counts(mean: Array, variance: Array) -> bool:
    small = (mean > 0.0) & (mean**2 < variance)
    return mean.size >= COUNT_COLUMNS and float(small.mean()) >= COUNT_SHARE


BRACKETED = re.compile(r".*\S\s*[(\[]([^()\[\]]+)[)\]]\s*")
ENDED = re.compile(r".*[^\W_][_ .]([^\W\d_]{2,}|%)")
NOT_AT_THE_END = frozenset({
    "in", "min", "pt", "mi", "da", "ma", "mo", "hp", "cd", "pp", "pm", "us", "gal", "bar", "day", "hour", "week",
    "month", "year", "cell", "item", "unit",
})  # fmt: skip
"""Units that are words of their own at the end of a name without brackets: check_in, temp_min, first_day."""


def units_of_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the different units that names of columns have, in their order; () where there are fewer than two.

    >>> units_of_names(["height (cm)", "mass_kg", "age", "arm (cm)"]), units_of_names(["a (cm)", "b_cm", "temp_min"])
    (('cm', 'kg'), ())
    """
    found = []
    for name in names:
        bracketed, ended = BRACKETED.fullmatch(name), ENDED.fullmatch(name)
        if bracketed is not None and is_known_unit(bracketed[1]):
            found.append(bracketed[1].strip())
        elif ended is not None and ended[1].lower() not in NOT_AT_THE_END and is_known_unit(ended[1]):
            found.append(ended[1])
    units = tuple(dict.fromkeys(found))
    return units if len({unit.lower().removesuffix("s") for unit in units}) > 1 else ()


def unit_warning(found: UnequalUnits, names: Sequence[Any]) -> DataWarning:
    """Return the warning of columns that dominate because of their units, with the option that weighs them alike."""
    several = len(found.columns) > 1
    whose = f"column{'s' * several} {list_columns(found.columns, names)} {'have' if several else 'has'}"
    far = f"differ by a factor of {found.ratio:,.{0 if found.ratio >= 10.0 else 1}f}"
    what, when = (
        f"{whose} {100.0 * found.share:.3g}% of the variance of all columns, whose standard deviations {far}",
        "",
    )
    if found.units:
        what = f"columns are in different units ({', '.join(found.units[:5])}), and their standard deviations {far}"
    else:
        when = "if they are in different units, "
    columns = [str(names[j]) for j in found.columns]
    return DataWarning(what, columns=columns, fix=f"{when}{WEIGH_ALIKE} with {{standardize}}", settings=STANDARDIZE)


STANDARDIZE = {"standardize": True}
WEIGH_ALIKE = "weigh them alike"
"""The words of the warning by which a page knows that it has it already."""
