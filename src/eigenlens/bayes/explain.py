"""Explanations of predictions: the contribution of each feature to the log-odds of a row's class.

Where features are not independent, the log density of a Gaussian is divided into shares of the features that sum to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.classifier.class_density import finite_blocks
from eigenlens.bayes.classifier.degenerate_classes import InColumns
from eigenlens.bayes.labels import class_per_row
from eigenlens.data.coerce import require_finite
from eigenlens.densities.base import rows_by_pattern
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.densities.intervals import format_numbers
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import OptionError
from eigenlens.latent.factor.estimator import FactorAnalysis
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.latent.ppca.estimator import ProbabilisticPCA
from eigenlens.mixture.estimator import GaussianMixture
from eigenlens.tables.text_table import titled_table


@dataclass(frozen=True, eq=False)
class Explanation:
    """The log-odds of each row, class a against class b: ln p(a | x) / p(b | x) = prior + Σ_j contribution_j.

    Attributes:
        names: (d,) the features. of: (n,) the class a of each row. against: (n,) its class b.
        contributions: (n, d) ln p(x_j | a) − ln p(x_j | b), 0 where the entry is missing.
        prior: (n,) ln p(a) − ln p(b).
        order: (n, d) the features of each row by the size of their contributions, the largest first.

    >>> terms = np.array([[[-1.0, -4.0], [-2.0, -1.5]]])
    >>> print(explain_terms(["height", "words"], np.array(["child", "adult"]), terms, np.zeros(2)))
    child against adult: log-odds 2.5
    feature  contribution
    height              3
    words            -0.5
    prior               0
    """

    names: tuple[Any, ...]
    of: Array
    against: Array
    contributions: Array
    prior: Array

    @property
    def log_odds(self) -> Array:
        """Return the log-odds (n,): all contributions and the prior."""
        return np.asarray(self.contributions.sum(axis=1) + self.prior)

    @property
    def order(self) -> Array:
        """Return the features (n, d) of each row by the size of their contributions, the largest first."""
        return np.argsort(-np.abs(self.contributions), axis=1, kind="stable")

    def row(self, i: int) -> list[tuple[Any, float]]:
        """Return (feature, contribution) of a row, the largest first."""
        i = checks.integer("i", i, 0, len(self.of) - 1, "the number of rows less one")
        return [(self.names[j], float(self.contributions[i, j])) for j in self.order[i]]

    def __str__(self) -> str:
        return "\n\n".join(self._text(i) for i in range(min(3, len(self.of))))

    def _text(self, i: int) -> str:
        rows = [*self.row(i), ("prior", float(self.prior[i]))]
        title = f"{self.of[i]} against {self.against[i]}: log-odds {format_numbers(self.log_odds[i : i + 1])[0]}"
        names, values = [str(name) for name, _ in rows], [f"{value:.4g}" for _, value in rows]
        return titled_table(title, ["feature", "contribution"], names, values)


def explain_terms(
    names: Any, classes: Array, terms: Array, log_prior: Array, of: Any = None, against: Any = None
) -> Explanation:
    """Return the explanation of rows with the terms ln p(x_j | c) (n, d, C): the most likely class against the next.

    `of` and `against` give other classes, for all rows or one per row. A row of density 0 in every class is explained
    by the prior.
    """
    joint = terms.sum(axis=1) + log_prior
    lost = ~(joint.max(axis=1) > -np.inf)
    if lost.any():
        terms, joint = np.where(lost[:, None, None], 0.0, terms), np.where(lost[:, None], log_prior, joint)
    rows = np.arange(len(terms))
    a, b = classes_to_compare(classes, joint, of, against)
    with np.errstate(invalid="ignore"):
        parts = terms[rows, :, a] - terms[rows, :, b]
    return Explanation(
        tuple(names), classes[a], classes[b], np.where(np.isnan(parts), 0.0, parts), log_prior[a] - log_prior[b]
    )


def classes_to_compare(classes: Array, joint: Array, of: Any, against: Any) -> tuple[Array, Array]:
    """Return two classes (n,) of each row by number: those given, else the most likely by ln p(x, c) and the next.

    >>> classes_to_compare(np.array(["x", "y", "z"]), np.array([[-1.0, -3.0, -2.0]]), None, "x")
    (array([2]), array([0]))
    """
    of = class_per_row(classes, "of", of, len(joint))
    against = class_per_row(classes, "against", against, len(joint))
    ranked = np.argsort(-joint, axis=1, kind="stable")
    first, second = ranked[:, 0], ranked[:, 1 % ranked.shape[1]]
    a = of if of is not None else first if against is None else np.where(first == against, second, first)
    b = against if against is not None else np.where(first == a, second, first)
    if of is not None and against is not None and np.any(a == b):
        raise OptionError("of and against name the same class", fix="give two that differ")
    return a, b


# ---- Gaussian classes -----------------------------------------------------------------------------------------

LOG_TAU = float(np.log(2.0 * np.pi))


def is_gaussian(density: Any) -> bool:
    """Return whether an unfitted density, or a family, is Gaussian whatever the rows are."""
    if isinstance(density, GaussianMixture):
        return density.n_components == 1
    return isinstance(density, GaussianFamily | PPCAFamily | FactorFamily | ProbabilisticPCA | FactorAnalysis)


def explain_gaussian_classes(estimator: Any, densities: Sequence[Any], X: Any, of: Any, against: Any) -> Explanation:
    """Explain the rows of X (n, d) by a classifier whose classes have these densities."""
    rows = np.concatenate(list(finite_blocks(estimator, X)))
    with np.errstate(over="ignore", invalid="ignore"):
        terms = np.stack([gaussian_shares(density, rows) for density in densities], axis=2)
    require_finite(rows, terms)
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    with np.errstate(divide="ignore"):
        log_prior = np.log(estimator._prior)
    return explain_terms(names, estimator.classes_, terms, log_prior, of, against)


def gaussian_shares(density: Any, X: Array) -> Array:
    """Return the shares (n, d) of the features in ln N(x | m, C) for rows X (n, d); 0 where an entry is missing.

        t_j = −½ (ln 2π + ln C_jj + (ln R)_jj + (x − m)_j (C⁻¹ (x − m))_j)

    R is the correlation matrix and ln R its logarithm, whose trace is ln |R|, so that Σ_j t_j = ln N(x). Half of a
    cross term goes to each of its features: the Shapley values of the quadratic form. Units do not matter, and t_j is
    ln p(x_j) if features are uncorrelated. Cost 9 d³ per pattern of missing values, then d² per row.

    >>> part = Gaussian(np.zeros(2), Full(np.array([[2.0, 1.0], [1.0, 2.0]])))
    >>> X = np.array([[1.0, 0.0], [1.0, np.nan]])
    >>> gaussian_shares(part, X).round(4), part.log_density(X).round(4)
    (array([[-1.5269, -1.1936], [-1.5155,  0.    ]]), array([-2.7205, -1.5155]))
    """
    if isinstance(density, InColumns):
        return _shares_of_columns(density, X)
    model = _find_gaussian(density)
    found = np.zeros(X.shape)
    for rows, seen in rows_by_pattern(X):
        if len(seen):
            which = np.arange(len(X))[rows]
            part = model if len(seen) == X.shape[1] else model.marginal(seen)
            found[np.ix_(which, seen)] = _shares(X[np.ix_(which, seen)] - part.mean, part.covariance)
    return found


def _find_gaussian(density: Any) -> Gaussian:
    model = getattr(density, "model_", density)
    if isinstance(model, Mixture) and len(model.components) == 1:
        model = model.components[0]
    if isinstance(model, LinearGaussian):
        return Gaussian(model.mean, Full(model.covariance()))
    if isinstance(model, Gaussian):
        return model
    what = f"explain is for Gaussian classes; the shares of features in a {type(density).__name__} have no closed form"
    fix = "use GaussianFamily(), GaussianMixture(1), ProbabilisticPCA or FactorAnalysis, or NaiveBayes"
    raise OptionError(what, fix=fix)


def _shares_of_columns(density: InColumns, X: Array) -> Array:
    found = np.zeros(X.shape)
    found[:, density.columns] = gaussian_shares(density.density, X[:, density.columns])
    if density.others.size:
        found[:, density.others] = gaussian_shares(density.rest, X[:, density.others])
    return found


def _shares(deviations: Array, C: Covariance) -> Array:
    """Return the shares (n, o) of complete rows."""
    quadratic = deviations * _solve(C, deviations)
    return np.asarray(-0.5 * (quadratic + _volumes(C)))


def _solve(C: Covariance, deviations: Array) -> Array:
    """Return C⁻¹ x for each row x."""
    if isinstance(C, Axes):
        return C.solve(deviations)
    if isinstance(C, Full):
        return np.asarray(C.whiten(deviations) @ C.root)
    return np.asarray(deviations / C.variances)


def _volumes(C: Covariance) -> Array:
    """Return ln 2π + ln C_jj + (ln R)_jj (o,), whose sum is o ln 2π + ln |C|; 0 for a column that is left out."""
    kept = np.flatnonzero(C.variances > 0.0)
    found = np.zeros(C.size)
    found[kept] = LOG_TAU + np.log(C.variances[kept])
    if kept.size and isinstance(C, Axes | Full):
        scale = np.sqrt(C.variances[kept])
        values, V = np.linalg.eigh(C.matrix()[np.ix_(kept, kept)] / np.outer(scale, scale))
        found[kept] += V**2 @ np.log(np.maximum(values, np.finfo(np.float64).tiny))
        found[kept] += (C.size * LOG_TAU + C.log_determinant - found.sum()) / kept.size  # distribute the rounding error
    return found
