"""The parameters of latent classes as one vector on comparable scales, which EM extrapolates, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.bernoulli import BernoulliColumns
from eigenlens.bayes.naive.families.categorical import CategoricalColumns
from eigenlens.bayes.naive.families.gaussian import GaussianColumns
from eigenlens.bayes.naive.families.multinomial import MultinomialColumns
from eigenlens.bayes.naive.model import Group, NaiveModel

MAX_LOG_CHANGE = 3.0
"""An extrapolation lowers the logarithm of a probability, and changes that of a variance, by at most this."""


class ColumnScale(NamedTuple):
    """The mean and the variance (g,) of the columns of a group over all rows, and the smallest variance of a class."""

    mean: Array
    variance: Array
    floor: Array


@dataclass(frozen=True, eq=False)
class ModelCoordinates:
    """The map from a model of latent classes to a vector, and back.

    Attributes:
        scales: of each group of columns; None for groups without numbers.

    >>> from eigenlens.bayes.naive.families.bernoulli import BernoulliColumns
    >>> coins = BernoulliColumns(np.array([[0.5], [0.8]]), np.ones((2, 1)), ("vote",))
    >>> model = NaiveModel(np.array([0.5, 0.5]), (Group(np.array([0]), coins),))
    >>> v = ModelCoordinates([None]).vector(model)
    >>> v.round(4), ModelCoordinates([None]).model(v, model).groups[0].conditional.probabilities.ravel()
    (array([0.5, 0.5, 0.5, 0.8]), array([0.5, 0.8]))
    """

    scales: Sequence[ColumnScale | None]

    def vector(self, model: NaiveModel) -> Array:
        """Return the weights, and the coordinates of each group."""
        groups = zip(model.groups, self.scales, strict=True)
        parts = [COORDINATES[type(group.conditional)].vector(group.conditional, scale) for group, scale in groups]
        return np.concatenate([model.prior, *parts])

    def model(self, v: Array, like: NaiveModel) -> NaiveModel:
        """Return the model with coordinates v, kept near the model `like`."""
        K = len(like.prior)
        groups, first = list[Group](), K
        for (columns, conditional), scale in zip(like.groups, self.scales, strict=True):
            part = COORDINATES[type(conditional)]
            last = first + part.vector(conditional, scale).size
            groups.append(Group(columns, part.near(v[first:last], conditional, scale)))
            first = last
        return NaiveModel(_probabilities(v[:K], like.prior), tuple(groups))


def has_coordinates(model: NaiveModel) -> bool:
    """Return whether all families of a model have coordinates; those of the user's own have none."""
    return all(type(conditional) in COORDINATES for _, conditional in model.groups)


# ---- the families -------------------------------------------------------------------------------------------


def _gaussian_vector(columns: GaussianColumns, scale: ColumnScale) -> Array:
    means = (columns.means - scale.mean) / np.sqrt(scale.variance)
    return np.concatenate([means.ravel(), np.log(columns.variances).ravel()])


def _gaussian_near(v: Array, like: GaussianColumns, scale: ColumnScale) -> GaussianColumns:
    shape, logs = like.means.shape, np.log(like.variances)
    means = scale.mean + v[: like.means.size].reshape(shape) * np.sqrt(scale.variance)
    variances = np.exp(_near(v[like.means.size :].reshape(logs.shape), logs))
    return GaussianColumns(means, np.maximum(variances, scale.floor))


def _bernoulli_near(v: Array, like: BernoulliColumns, scale: None) -> BernoulliColumns:
    p = like.probabilities
    ones = v.reshape(p.shape)
    both = _probabilities(np.stack([1.0 - ones, ones], axis=-1), np.stack([1.0 - p, p], axis=-1))
    return replace(like, probabilities=both[..., 1])


def _categorical_near(v: Array, like: CategoricalColumns, scale: None) -> CategoricalColumns:
    ends = np.cumsum([p.size for p in like.probabilities])[:-1]
    parts = zip(np.split(v, ends), like.probabilities, strict=True)
    return replace(like, probabilities=tuple(_probabilities(part.reshape(p.shape), p) for part, p in parts))


def _multinomial_near(v: Array, like: MultinomialColumns, scale: None) -> MultinomialColumns:
    return replace(like, shares=_probabilities(v.reshape(like.shares.shape), like.shares))


class FamilyCoordinates(NamedTuple):
    """The coordinates of the densities of a group of columns, and the densities with given ones near others."""

    vector: Callable[[Any, Any], Array]
    near: Callable[[Array, Any, Any], Any]


COORDINATES: dict[type, FamilyCoordinates] = {
    GaussianColumns: FamilyCoordinates(_gaussian_vector, _gaussian_near),
    BernoulliColumns: FamilyCoordinates(lambda c, _: c.probabilities.ravel(), _bernoulli_near),
    CategoricalColumns: FamilyCoordinates(
        lambda c, _: np.concatenate([p.ravel() for p in c.probabilities]), _categorical_near
    ),
    MultinomialColumns: FamilyCoordinates(lambda c, _: c.shares.ravel(), _multinomial_near),
}
"""Coordinates by the class of the densities."""


def _near(v: Array, known: Array) -> Array:
    return np.asarray(known + np.clip(v - known, -MAX_LOG_CHANGE, MAX_LOG_CHANGE))


def _probabilities(v: Array, known: Array) -> Array:
    """Return v (..., L) as probabilities, none below a small share of the known ones: EM never leaves 0 again."""
    p = np.maximum(v, np.exp(-MAX_LOG_CHANGE) * known)
    return np.asarray(p / p.sum(axis=-1, keepdims=True))
