"""Differences between two groups of rows: the columns in order of the size of the difference, with intervals.

The difference of numbers is Hedges' g: that of the means over the pooled standard deviation, less its bias in few rows
(Hedges and Olkin 1985, "Statistical Methods for Meta-Analysis", chapter 5, equations 7 and 14). That of a category is
Cohen's h, 2 asin √p₁ − 2 asin √p₂ of its shares (Cohen 1988, "Statistical Power Analysis", section 6.2). Both are in
units of about a standard deviation, so that columns of both kinds can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.errors import DataError
from eigenlens.reporting.charts import Chart, layer, marks, table_chart
from eigenlens.tables.names import shorten
from eigenlens.tables.text_table import count_noun

Z95 = float(ndtri(0.975))

MAX_DRAWN, MAX_LISTED = 20, 200
"""The largest numbers of differences in the plot and in the table."""

MAX_CATEGORIES = 50
"""Columns of more categories are names of rows, and are left out."""


class Difference(NamedTuple):
    """A column, or one category of it, in two groups of rows.

    Attributes:
        what: the column, with the category. effect, low, high: the difference in standard deviations, and its 95%
            interval. first, second: means, or shares in per cent. counts: entries in either group.
    """

    what: str
    effect: float
    low: float
    high: float
    first: float
    second: float
    counts: tuple[int, int]
    share: bool


@dataclass(frozen=True, eq=False)
class Contrast:
    """Two groups of rows (m,), as the positions of those that are in each, and their names."""

    first: Array
    second: Array
    names: tuple[str, str] = ("selection", "other rows")


def rank_differences(columns: Mapping[str, Array], groups: Contrast) -> list[Difference]:
    """Return the differences between two groups of rows in columns (m,) of numbers or text, the largest first.

    >>> x = np.array([1.0, 2.0, 3.0, 7.0, 8.0, 9.0])
    >>> found = rank_differences({"x": x, "y": np.tile([0.0, 1.0], 3)}, Contrast(np.arange(3), np.arange(3, 6)))
    >>> [each.what for each in found], round(found[0].effect, 2)
    (['x', 'y'], -4.8)
    """
    if min(len(groups.first), len(groups.second)) < 2:
        raise DataError("each of the two groups needs at least 2 rows", fix="select more rows, or fewer")
    found = [each for name, values in columns.items() for each in _differences(name, np.asarray(values), groups)]
    return sorted(found, key=lambda each: -abs(each.effect))


def _differences(name: str, values: Array, groups: Contrast) -> list[Difference]:
    if values.dtype.kind == "f":
        numbers = values[groups.first], values[groups.second]
        found = difference_of_means(*(each[np.isfinite(each)] for each in numbers))
        return [] if found is None else [Difference(name, *found, share=False)]
    codes, categories, _ = encode(values)
    if not 1 < len(categories) <= MAX_CATEGORIES:
        return []
    first, second = (np.bincount(codes[part][codes[part] >= 0], minlength=len(categories))
                     for part in (groups.first, groups.second))  # fmt: skip
    if not first.sum() or not second.sum():
        return []
    return [
        Difference(
            f"{name}: {shorten(category, 40)}", *difference_of_shares(a, b, first.sum(), second.sum()), share=True
        )
        for category, a, b in zip(categories, first.tolist(), second.tolist(), strict=True)
    ]


Found = tuple[float, float, float, float, float, tuple[int, int]]
"""Effect, its interval, the two means or shares, and the entries of both groups."""


def difference_of_means(x: Array, y: Array) -> Found | None:
    """Return Hedges' g of x (n,) and y (m,) with its interval; None where neither varies or one has no two entries.

    >>> found = difference_of_means(np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0]))
    >>> [round(value, 3) for value in found[:3]]
    [-0.8, -2.463, 0.863]
    """
    n, m = x.size, y.size
    if min(n, m) < 2:
        return None
    pooled = ((n - 1) * np.var(x, ddof=1) + (m - 1) * np.var(y, ddof=1)) / (n + m - 2)
    if not pooled > 0.0:
        return None
    unbiased = 1.0 - 3.0 / (4.0 * (n + m) - 9.0)
    g = float(unbiased * (x.mean() - y.mean()) / np.sqrt(pooled))
    reach = Z95 * float(np.sqrt((n + m) / (n * m) + g * g / (2.0 * (n + m))))
    return g, g - reach, g + reach, float(x.mean()), float(y.mean()), (n, m)


def difference_of_shares(a: int, b: int, n: int, m: int) -> Found:
    """Return Cohen's h of the shares a / n and b / m with its interval, and the shares in per cent."""
    p, q = a / n, b / m
    h = 2.0 * float(np.arcsin(np.sqrt(p)) - np.arcsin(np.sqrt(q)))
    reach = Z95 * float(np.sqrt(1.0 / n + 1.0 / m))
    return h, h - reach, h + reach, 100.0 * p, 100.0 * q, (int(n), int(m))


def contrast_charts(found: Sequence[Difference], groups: Contrast, *, sampled: bool) -> list[Chart]:
    """Return the largest differences as intervals about their estimates, and a table of them."""
    one, other = groups.names
    sizes = f"{count_noun(len(groups.first), 'row')} against {len(groups.second):,}"
    about = f"{sizes}. Standard deviations by which the {one} lies above the {other}, with 95% intervals."
    about += " Of the rows shown, a sample of all." if sampled else ""
    about += (
        " Rows that were chosen by their values differ in them by this choice: the sizes describe, they test nothing."
    )
    return [_drawn(found[:MAX_DRAWN], about), _listed(found[:MAX_LISTED], one, other)]


TITLE = "What makes the selection different"


def _drawn(found: Sequence[Difference], about: str) -> Chart:
    names, effects = [each.what for each in found], [each.effect for each in found]
    titles = [f"{each.what}: {each.effect:.2f} ({each.low:.2f} to {each.high:.2f})" for each in found]
    ends: dict[str, Any] = {"from": [each.low for each in found], "to": [each.high for each in found]}
    layers = [
        layer("bar-x", x=effects, y=names, colour="#8fbfe0"),
        layer("interval-x", x=effects, y=names, title=titles, colour="currentColor", **ends),
    ]
    height = int(np.clip(24 * len(found) + 80, 160, 900))
    return marks(TITLE, *layers, about=about, x="standard deviations", height=height)


def _listed(found: Sequence[Difference], one: str, other: str) -> Chart:
    return table_chart(
        "Differences",
        {
            "column": [each.what for each in found], "difference": np.array([each.effect for each in found]),
            "low (95%)": np.array([each.low for each in found]), "high (95%)": np.array([each.high for each in found]),
            one: [_value(each, each.first) for each in found], other: [_value(each, each.second) for each in found],
            "entries": [f"{each.counts[0]:,} / {each.counts[1]:,}" for each in found],
        },
        "Of numbers Hedges' g, from the means; of categories Cohen's h, from the shares.",
    )  # fmt: skip


def _value(each: Difference, value: float) -> str:
    return f"{value:.1f}%" if each.share else f"{value:.4g}"
