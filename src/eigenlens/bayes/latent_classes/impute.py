"""Missing entries of rows by their expectation over latent classes: means of numbers, most likely categories."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.gaussian import GaussianColumns
from eigenlens.bayes.naive.families.multinomial import MultinomialColumns, observed_entries_of
from eigenlens.bayes.naive.families.per_class_density import (
    JointDensityPerClass,
    block_values,
    column_values,
    missing_rows,
)
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.errors import OptionError


class Filled(NamedTuple):
    """Values (b,) for all rows of a column, and their standard deviations, NaN where there are none."""

    values: Array
    deviations: Array | float = np.nan


def impute_block(model: NaiveModel, rows: Any, shares: Array) -> tuple[list[Array], Array]:
    """Return the columns (b,) of a block with missing entries replaced, and standard deviations (b, d), 0 if observed.

    shares: P(component | observed entries) (b, K). Within a component columns are independent, so that an entry has the
    mixture of its own densities, weighted by the shares.
    """
    columns: list[Array] = [np.empty(0)] * model.n_features
    deviations = np.zeros((rows.shape[0], model.n_features))
    for group, conditional in model.groups:
        for place, j in enumerate(group.tolist()):
            values = column_values(rows, j)
            gone = missing_rows(values)
            columns[j] = values[:, 0]
            if gone.any():
                filled = _fill(conditional, place, shares, rows, group)
                kind = np.result_type(values, filled.values) if values.dtype != object else np.dtype(object)
                columns[j] = np.where(gone, filled.values, columns[j]).astype(kind)
                deviations[:, j] = np.where(gone, filled.deviations, 0.0)
    return columns, deviations


def _fill(conditional: Any, place: int, shares: Array, rows: Any, group: Array) -> Filled:
    """Return what a missing entry of a column would be, for every row of a block."""
    p = conditional.category_probabilities(place)
    if p is not None:
        return Filled(_categories(conditional, place)[(shares @ p).argmax(axis=1)])
    if isinstance(conditional, GaussianColumns):
        means = conditional.means[:, place]
        variances = np.broadcast_to(conditional.variances, conditional.means.shape)[:, place]
        mean = shares @ means
        between = shares * (means - mean[:, None]) ** 2
        return Filled(mean, np.sqrt(shares @ variances + between.sum(axis=1)))
    if isinstance(conditional, MultinomialColumns):
        return Filled(_expected_counts(conditional, place, shares, rows, group))
    densities = [conditional.density(k, place) for k in range(shares.shape[1])]
    if isinstance(conditional, JointDensityPerClass):
        return Filled(_conditional_means(densities, place, shares, block_values(rows, group)))
    if not all(hasattr(density, "mean") for density in densities):
        what = f"a missing entry needs the attribute mean of densities, which {type(densities[0]).__name__} has not"
        raise OptionError(what, fix="add it")
    return Filled(shares @ np.array([float(np.ravel(density.mean)[0]) for density in densities]))


def _conditional_means(densities: list[Any], place: int, shares: Array, values: Array) -> Array:
    """Return the mean (b,) of a column of a block given the other columns, for the rows in which it is missing."""
    found, gone = np.zeros(len(values)), np.isnan(values)
    for i in np.flatnonzero(gone[:, place]):
        known, rest = np.flatnonzero(~gone[i]), np.flatnonzero(gone[i])
        means = [density.condition(known, values[i, known]).mean[rest.tolist().index(place)] for density in densities]
        found[i] = shares[i] @ np.array(means)
    return found


def _categories(conditional: Any, place: int) -> Array:
    categories = conditional.categories_of(place)
    if all(isinstance(category, int | float) for category in categories):
        return np.array(categories, dtype=np.float64)
    values = np.empty(len(categories), dtype=object)
    values[:] = categories
    return values


def _expected_counts(conditional: MultinomialColumns, place: int, shares: Array, rows: Any, group: Array) -> Array:
    """Return n θ_kj / s_k, averaged over components: n counts are observed, in columns of joint share s_k."""
    x, observed = observed_entries_of(rows, group)
    assert observed is not None
    joint_share = observed @ conditional.shares.T
    each = conditional.shares[:, place] / np.where(joint_share > 0.0, joint_share, 1.0)
    return np.asarray((shares * each).sum(axis=1) * x.sum(axis=1))
