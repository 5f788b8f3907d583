"""The parameters of a fitted naive Bayes by class: Gaussians as arrays, and the probabilities of all categories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.naive.families.categorical import CategoricalColumns
from eigenlens.bayes.naive.families.gaussian import GaussianColumns
from eigenlens.bayes.naive.families.multinomial import ClassTotals
from eigenlens.bayes.naive.families.per_class_density import DensityPerClass, JointDensityPerClass
from eigenlens.bayes.naive.fit import NaiveStatistics
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.naive.plan import Plan
from eigenlens.tables.text_table import format_columns


def gaussian_parameters(model: NaiveModel) -> tuple[Array, Array]:
    """Return means and variances (C, d) of the columns, NaN for a column that is not Gaussian."""
    means = np.full((len(model.prior), model.n_features), np.nan)
    variances = means.copy()
    for columns, conditional in model.groups:
        if isinstance(conditional, GaussianColumns):
            means[:, columns], variances[:, columns] = conditional.means, conditional.variances
        elif isinstance(conditional, DensityPerClass) and not isinstance(conditional, JointDensityPerClass):
            means[:, columns], variances[:, columns] = conditional.gaussian_parameters()
    return means, variances


def log_probabilities(model: NaiveModel) -> Array | list[Array | None]:
    """Return ln P(x_j = 1 | c) of zeros and ones and ln θ_cj of counts as (C, d), NaN for any other column.

    Those of "complement" are its weights w_cj. With a column of categories it is a list of (C, L) for all columns, None
    for one without categories.
    """
    with np.errstate(divide="ignore"):
        if any(_has_table(conditional) for _, conditional in model.groups):
            return [None if p is None else np.log(p) for p in category_probabilities(model)]
    found = np.full((len(model.prior), model.n_features), np.nan)
    for columns, conditional in model.groups:
        known = conditional.log_probabilities()
        if known is not None:
            found[:, columns] = known
    return found


def _has_table(conditional: Any) -> bool:
    """Return whether columns have probabilities of categories that are not those of zeros and ones alone."""
    own = isinstance(conditional, DensityPerClass) and any(
        map(conditional.categories_of, range(len(conditional.densities)))
    )
    return own or isinstance(conditional, CategoricalColumns)


def category_probabilities(model: NaiveModel) -> list[Array | None]:
    """Return P(x_j = category | c) (C, L) of each column, None for one without categories."""
    found: list[Array | None] = [None] * model.n_features
    for columns, conditional in model.groups:
        for place, j in enumerate(columns):
            found[j] = conditional.category_probabilities(place)
    return found


def class_category_counts(model: NaiveModel, statistics: NaiveStatistics, plan: Plan) -> list[Array | None]:
    """Return Σ w (C, L) of each category of each column, None for one without categories."""
    found: list[Array | None] = [None] * model.n_features
    for (factor, columns), part, group in zip(plan.groups, statistics.parts, model.groups, strict=True):
        for place, j in enumerate(columns):
            found[j] = factor.category_counts(part, group.conditional, place)
    return found


def count_parameters(model: NaiveModel) -> int:
    """Return the number of free parameters of the densities of all columns and classes.

    A density of the user's own family has them in its attribute `n_parameters`, or in the record of its fit,
    `fitted.free`.
    """
    return sum(conditional.n_parameters() for _, conditional in model.groups)


def class_feature_counts(model: NaiveModel, statistics: NaiveStatistics) -> Array:
    """Return Σ w x (C, d) of zeros and ones and of counts, before smoothing; NaN for any other column."""
    found = np.full((len(model.prior), model.n_features), np.nan)
    for (columns, _), part in zip(model.groups, statistics.parts, strict=True):
        if isinstance(part, ClassTotals):
            found[:, columns] = part.total
    return found


@dataclass(frozen=True, eq=False)
class ProbabilityTable:
    """P(x_j = k | c) of every category k of every column j in every class c; it prints as a table.

    Attributes:
        columns: (m,) the column of each row of the table. categories: (m,) the category. classes: (C,).
        probabilities: (m, C). counts: (m, C) the weight of the rows with this category in the class.
        totals: (m, C) the weight of the rows of the class in which the column is observed.
    """

    columns: tuple[Any, ...]
    categories: tuple[Any, ...]
    classes: Array
    probabilities: Array
    counts: Array
    totals: Array

    def __post_init__(self) -> None:
        read_only(self, "probabilities", "counts", "totals")

    def __len__(self) -> int:
        return len(self.columns)

    def __str__(self) -> str:
        by_class = [[f"{p:.4g}" for p in column] for column in self.probabilities.T]
        header = ["column", "category", *(str(label) for label in self.classes.tolist())]
        return format_columns(header, list(map(str, self.columns)), list(map(str, self.categories)), *by_class)

    __repr__ = __str__


def class_probability_table(
    model: NaiveModel, statistics: NaiveStatistics, plan: Plan, classes: Array
) -> ProbabilityTable:
    """Return the probabilities of all categories of all columns."""
    known, counts = category_probabilities(model), class_category_counts(model, statistics, plan)
    categories = {
        int(j): conditional.categories_of(place)
        for columns, conditional in model.groups
        for place, j in enumerate(columns)
    }
    kept = [j for j, p in enumerate(known) if p is not None]
    stack = np.empty((0, len(classes)))
    found, seen = ([stack, *(np.asarray(part[j]).T for j in kept)] for part in (known, counts))
    totals = [stack, *(np.repeat(part.sum(axis=0)[None], len(part), axis=0) for part in seen[1:])]
    return ProbabilityTable(
        tuple(plan.fields[j].name for j in kept for _ in categories[j]),
        tuple(category for j in kept for category in categories[j]),
        classes,
        np.concatenate(found),
        np.concatenate(seen),
        np.concatenate(totals),
    )
