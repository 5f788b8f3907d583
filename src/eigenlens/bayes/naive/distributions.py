"""The distribution of each column within each class of a naive Bayes model, as curves or as probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.naive.families.complement import ComplementColumns
from eigenlens.bayes.naive.families.multinomial import MultinomialColumns
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.tables.rows import visible_range

CURVE_POINTS, CURVE_MARGIN = 300, 0.1
"""Points along a curve, enough for a page to pack them, and how far it goes beyond the rows, as a share of their range.
"""


@dataclass(frozen=True, eq=False)
class ColumnDistribution:
    """The distribution of a column within each of C classes: P(category | c), or the density along a line.

    Attributes:
        column: its number. categories: (L,) as text, or () for a density. x: (p,) points of the line, or empty.
        values: (C, L) probabilities, or (C, p) densities.
    """

    column: int
    categories: tuple[str, ...]
    x: Array
    values: Array

    def __post_init__(self) -> None:
        read_only(self, "x", "values")


def column_distributions(model: NaiveModel, X: Array, columns: Sequence[int]) -> list[ColumnDistribution]:
    """Return the distributions of some columns; counts, which are distributed together, have none.

    X: (n, d) rows as numbers, over whose range the curves go.

    >>> from eigenlens import NaiveBayes
    >>> found = NaiveBayes().fit([[1.0], [2.0], [3.0], [11.0], [12.0], [13.0]], [0, 0, 0, 1, 1, 1])
    >>> (curve,) = column_distributions(found.model_, np.array([[1.0], [13.0]]), [0])
    >>> curve.x[curve.values.argmax(axis=1)].round(1)
    array([ 2., 12.])
    """
    found = [_distribution(model, X, int(j)) for j in columns]
    return [each for each in found if each is not None]


def _distribution(model: NaiveModel, X: Array, j: int) -> ColumnDistribution | None:
    columns, conditional = next(group for group in model.groups if j in group.columns)
    place = int(np.flatnonzero(columns == j)[0])
    probabilities = conditional.category_probabilities(place)
    if probabilities is not None:
        names = tuple(map(_category_name, conditional.categories_of(place)))
        return ColumnDistribution(j, names, np.empty(0), np.asarray(probabilities))
    values = X[np.isfinite(X[:, j]), j]
    if isinstance(conditional, MultinomialColumns | ComplementColumns) or not values.size:
        return None
    low, high = visible_range(values)
    more = CURVE_MARGIN * (high - low) or 1.0
    x = np.linspace(low - more, high + more, CURVE_POINTS)
    grid = np.full((len(x), len(columns)), np.nan)
    grid[:, place] = x
    logs = conditional.terms(grid, np.arange(len(columns)))[:, place]
    return ColumnDistribution(j, (), x, np.exp(logs).T)


def count_contrasts(model: NaiveModel) -> tuple[Array, Array]:
    """Return the columns (g,) of counts, and log₂ of their shares (C, g) in each class over their mean share.

    >>> from eigenlens import NaiveBayes
    >>> X = np.array([[3, 1, 4], [6, 1, 8], [1, 3, 4], [1, 6, 8]])
    >>> count_contrasts(NaiveBayes("multinomial").fit(X, [0, 0, 1, 1]).model_)[1].round(1)
    array([[ 0.6, -1.1,  0. ],
           [-1.1,  0.6,  0. ]])
    """
    for columns, conditional in model.groups:
        if isinstance(conditional, MultinomialColumns):
            with np.errstate(divide="ignore", invalid="ignore"):
                return columns, np.log2(conditional.shares / (model.prior @ conditional.shares))
    return np.empty(0, dtype=np.intp), np.empty((len(model.prior), 0))


def _category_name(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)
