"""The conjugate prior of Fraley and Raftery (2007), which keeps components from collapsing whatever the units.

A component's covariance is inverse Wishart with d + 2 degrees of freedom and scale cov(X) / K^(2/d), a K-th part of the
volume that the rows take up; its mean is N(mean of X, C_k / 0.01). The prior acts as a few more rows: their scatter is
added to that of the component, and the estimate is then that of maximum likelihood. A singular cov(X), as that of fewer
rows than columns is, would not keep components from collapsing, so it is shrunk towards its diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.mixture_terms import Terms
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.stats.moments import ColumnMoments, Moments

MEAN_ROWS = 0.01
"""The number of rows that the overall mean counts as, beside those of a component (Fraley and Raftery 2007)."""

MIN_DIRECTION_VARIANCE = 1e-7
"""A direction counts as without variance below this, in units of the columns."""

MomentsT = TypeVar("MomentsT", Moments, ColumnMoments)


@dataclass(frozen=True)
class Prior:
    """The flat prior of maximum likelihood, and the base of those that act as additional rows of the components."""

    def add_rows(self, moments: MomentsT) -> MomentsT:
        """Return the moments of the components with the rows that the prior adds: here none."""
        return moments

    def log_densities(self, terms: Terms) -> Array:
        """Return ln p(component k) (K,), up to a constant: here zeros."""
        return np.zeros(len(terms.means))


@dataclass(frozen=True, eq=False)
class ConjugatePrior(Prior):
    """ln p(mu_k, C_k) = −½ (a ln |C_k| + tr C_k⁻¹ S + kappa (mu_k − m)ᵀ C_k⁻¹ (mu_k − m)), up to a constant.

    Attributes:
        rows: a, which is added to the weight of a component. scatter: S (d, d), or its diagonal (d,).
        mean: m (d,). mean_rows: kappa.

    >>> prior = ConjugatePrior(6.0, np.array([2.0]), np.zeros(1), 1.0)
    >>> some = prior.add_rows(ColumnMoments(np.array([3.0]), np.array([[4.0]]), np.array([[1.0]])))
    >>> some.weight, some.mean, some.square
    (array([9.]), array([[3.]]), array([[15.]]))
    """

    rows: float
    scatter: Array
    mean: Array
    mean_rows: float = MEAN_ROWS

    def add_rows(self, moments: MomentsT) -> MomentsT:
        """Return weights n_k + a, means (n_k m_k + kappa m) / (n_k + kappa), and scatters with S added."""
        centre = type(moments)(
            np.full(len(moments.weight), self.mean_rows),
            np.broadcast_to(self.mean, moments.mean.shape),
            np.broadcast_to(self.scatter, (len(moments.weight), *self.scatter.shape)),
        )
        return replace(moments + centre, weight=moments.weight + self.rows)

    def log_densities(self, terms: Terms) -> Array:
        """Return ln p(component k) (K,), up to a constant."""
        distances = terms.traces(self.scatter) + self.mean_rows * terms.distances(self.mean)
        return -0.5 * (self.rows * terms.log_determinants + distances)


def _none(structure: CovarianceStructure, mean: Array, covariance: Array, K: int) -> Prior:
    return Prior()


def _conjugate(structure: CovarianceStructure, mean: Array, covariance: Array, K: int) -> Prior:
    d = mean.size
    rows, share = structure.prior_rows(d, K)
    return ConjugatePrior(rows, _shrink_if_singular(covariance) * (share / K ** (2.0 / d)), mean)


def _shrink_if_singular(covariance: Array) -> Array:
    """Return the covariance (d, d), shrunk towards its diagonal by the share of directions without variance.

    >>> _shrink_if_singular(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[1., 1.], [1., 4.]])
    """
    if covariance.ndim == 1:
        return covariance
    s = np.sqrt(covariance.diagonal())
    share = float(np.mean(np.linalg.eigvalsh(covariance / np.outer(s, s)) < MIN_DIRECTION_VARIANCE))
    return (1.0 - share) * covariance + share * np.diag(covariance.diagonal())


PRIORS: dict[str, Callable[[CovarianceStructure, Array, Array, int], Prior]] = {"none": _none, "conjugate": _conjugate}
"""Priors by name, made from the mean (d,) and covariance (d, d) or variances (d,) of all rows, for K components."""
