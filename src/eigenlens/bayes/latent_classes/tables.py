"""The profile of latent classes as a plain table: in each component, probabilities of what every column may hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from eigenlens.arrays import Array, read_only
from eigenlens.bayes.latent_classes.options import check_latent_class_options, warn_latent_class_fit
from eigenlens.bayes.naive.families.gaussian import GaussianColumns
from eigenlens.bayes.naive.families.multinomial import MultinomialColumns
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.errors import OptionError, recorded_warnings
from eigenlens.tables.text_table import format_columns


@dataclass(frozen=True, eq=False)
class ProfileTable:
    """The probabilities that set components apart, one per line and component; it prints as a table.

    A line is a category of a column, the second one alone where there are two; of counts, the share of a column; of
    Gaussian numbers, that they are above the mean of all components.

    Attributes:
        labels: (m,) what a line is the probability of. columns: (m,) the number of its column.
        probabilities: (m, K). weights: (K,) of the components. left_out: columns of families of the user's own.
    """

    labels: tuple[str, ...]
    columns: tuple[int, ...]
    probabilities: Array
    weights: Array
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        read_only(self, "probabilities", "weights")

    @property
    def spread(self) -> Array:
        """How much components differ in a line (m,): the standard deviation of its probabilities by weights."""
        mean = self.probabilities @ self.weights
        return np.asarray(np.sqrt((self.probabilities - mean[:, None]) ** 2 @ self.weights))

    def __str__(self) -> str:
        parts = [[f"{p:.3f}" for p in column] for column in self.probabilities.T]
        header = ["P( … | component)", *(f"{k} ({w:.1%})" for k, w in enumerate(self.weights))]
        return format_columns(header, list(self.labels), *parts)

    __repr__ = __str__


def class_profile(model: Any) -> ProfileTable:
    """Return the profile of a fitted `MixtureModel`, in the order of its columns.

    >>> from eigenlens import MixtureModel
    >>> X = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> print(class_profile(MixtureModel(1).fit(X)))
    P( … | component)  0 (100.0%)
    0                       0.500
    1                       0.750
    """
    if not (isinstance(getattr(model, "model_", None), NaiveModel) and hasattr(model, "weights_")):
        what = f"is a {type(model).__name__}, which has no latent classes"
        raise OptionError(what, argument="model", fix="give a fitted MixtureModel")
    names = [str(field.name) for field in model._plan.fields]
    lines = [(j, place, group) for group in model.model_.groups for place, j in enumerate(group.columns.tolist())]
    found, left_out = list[tuple[str, int, Array]](), list[str]()
    for j, place, group in sorted(lines, key=lambda line: line[0]):
        part = _column_lines(names[j], group.conditional, place, model.model_.prior)
        found += [(label, j, p) for label, p in part]
        left_out += [] if part else [names[j]]
    labels, columns, parts = zip(*found, strict=True) if found else ((), (), ())
    values = np.array(parts).reshape(len(parts), len(model.model_.prior))
    return ProfileTable(tuple(labels), tuple(columns), values, np.array(model.model_.prior), tuple(left_out))


def latent_class_remarks(model: Any) -> list[Warning]:
    """Return what the fit of a MixtureModel warned of: an early stop, columns that collapsed, rows left out."""
    return recorded_warnings(warn_latent_class_fit, model._fitted, check_latent_class_options(model))


def _column_lines(name: str, conditional: Any, place: int, weights: Array) -> list[tuple[str, Array]]:
    """Return the lines of a column: what each is, and its probability (K,)."""
    p = conditional.category_probabilities(place)
    if p is not None:
        categories = conditional.categories_of(place)
        if categories == (0, 1):
            return [(name, p[:, 1])]
        lines = [(f"{name} = {category}", p[:, k]) for k, category in enumerate(categories)]
        return lines[1:] if len(lines) == 2 else lines
    if isinstance(conditional, GaussianColumns):
        means, variances = conditional.means[:, place], np.broadcast_to(conditional.variances, conditional.means.shape)
        middle = float(weights @ means)
        return [(f"{name} > {middle:.4g}", ndtr((means - middle) / np.sqrt(variances[:, place])))]
    if isinstance(conditional, MultinomialColumns):
        return [(f"share of {name}", conditional.shares[:, place])]
    return []
