"""Shares of the features in the log density of a Gaussian, which sum to it, and explanations by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.classifier.class_density import finite_blocks
from eigenlens.bayes.classifier.degenerate_classes import InColumns
from eigenlens.bayes.explain import Explanation, explain_terms
from eigenlens.densities.base import rows_by_pattern
from eigenlens.densities.covariance import Covariance, Full
from eigenlens.densities.covariance_axes import Axes
from eigenlens.densities.gaussian import Gaussian, GaussianFamily
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import OptionError
from eigenlens.latent.factor.estimator import FactorAnalysis
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.latent.ppca.estimator import ProbabilisticPCA
from eigenlens.mixture.estimator import GaussianMixture

LOG_TAU = float(np.log(2.0 * np.pi))


def is_gaussian(density: Any) -> bool:
    """Return whether an unfitted density, or a family, is Gaussian whatever the rows are."""
    if isinstance(density, GaussianMixture):
        return density.n_components == 1
    return isinstance(density, GaussianFamily | PPCAFamily | FactorFamily | ProbabilisticPCA | FactorAnalysis)


def explain_gaussian_classes(estimator: Any, densities: Sequence[Any], X: Any, of: Any, against: Any) -> Explanation:
    """Explain the rows of X (n, d) by a classifier whose classes have these densities."""
    rows = np.concatenate(list(finite_blocks(estimator, X)))
    terms = np.stack([gaussian_shares(density, rows) for density in densities], axis=2)
    names = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))
    with np.errstate(divide="ignore"):
        log_prior = np.log(estimator.class_prior_)
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
