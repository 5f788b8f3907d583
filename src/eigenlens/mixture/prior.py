"""The conjugate prior of Fraley and Raftery (2007), which keeps components from collapsing and knows no units.

A component's covariance is inverse Wishart with d + 2 degrees of freedom and scale cov(X) / K^(2/d), a K-th part of the
volume that the rows take up; its mean is N(mean of X, C_k / 0.01). All of that acts as a few more rows: their scatter
is added to that of the component, and the estimate is then that of maximum likelihood. A cov(X) that is singular, as
that of fewer rows than columns is, would not keep components from collapsing: it is shrunk towards its diagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.mixture_terms import Terms
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["PRIORS", "ConjugatePrior", "NoPrior", "Prior"]

SHRINKAGE = 0.01
"""Rows that the mean of all rows counts as, beside those of a component."""

MIN_DIRECTION_VARIANCE = 1e-7
"""A direction has no variance if it has less than this, in units of the columns."""

G = TypeVar("G", Moments, ColumnMoments)


class Prior(Protocol):
    """What is believed of the components before rows are seen."""

    def applied(self, moments: G) -> G:
        """The moments of the components with the rows that the prior stands for."""
        ...

    def log_densities(self, terms: Terms) -> Array:
        """ln p(component k) (K,), but for a constant."""
        ...


@dataclass(frozen=True)
class NoPrior:
    """Maximum likelihood."""

    def applied(self, moments: G) -> G:
        """The moments as they are."""
        return moments

    def log_densities(self, terms: Terms) -> Array:
        """0 (K,)."""
        return np.zeros(len(terms.levels))


@dataclass(frozen=True, eq=False)
class ConjugatePrior:
    """ln p(mu_k, C_k) = −½ (a ln |C_k| + tr C_k⁻¹ S + kappa (mu_k − m)ᵀ C_k⁻¹ (mu_k − m)), but for a constant.

    Attributes:
        rows: a, what is added to the weight of a component. scatter: S (d, d), or its diagonal (d,).
        mean: m (d,). shrinkage: kappa.

    >>> prior = ConjugatePrior(6.0, np.array([2.0]), np.zeros(1), 1.0)
    >>> some = prior.applied(ColumnMoments(np.array([3.0]), np.array([[4.0]]), np.array([[1.0]])))
    >>> some.weight, some.mean, some.square
    (array([9.]), array([[3.]]), array([[15.]]))
    """

    rows: float
    scatter: Array
    mean: Array
    shrinkage: float = SHRINKAGE

    def applied(self, moments: G) -> G:
        """Weights n_k + a, means (n_k m_k + kappa m) / (n_k + kappa), scatters with S and what the means are off."""
        centre = type(moments)(
            np.full(len(moments.weight), self.shrinkage),
            np.broadcast_to(self.mean, moments.mean.shape),
            np.broadcast_to(self.scatter, (len(moments.weight), *self.scatter.shape)),
        )
        return replace(moments + centre, weight=moments.weight + self.rows)

    def log_densities(self, terms: Terms) -> Array:
        """ln p(component k) (K,), but for a constant."""
        spread = terms.traces(self.scatter) + self.shrinkage * terms.distances(self.mean)
        return -0.5 * (self.rows * terms.log_determinants + spread)


class HasPseudoRows(Protocol):
    """A structure, as far as the prior asks."""

    def pseudo(self, d: int, K: int) -> tuple[float, float]:
        """How many rows the prior of one component adds, and which share of the scale."""
        ...


def _none(structure: HasPseudoRows, mean: Array, covariance: Array, K: int) -> Prior:
    return NoPrior()


def _conjugate(structure: HasPseudoRows, mean: Array, covariance: Array, K: int) -> Prior:
    d = mean.size
    rows, share = structure.pseudo(d, K)
    return ConjugatePrior(rows, shrink_if_singular(covariance) * (share / K ** (2.0 / d)), mean)


def shrink_if_singular(covariance: Array) -> Array:
    """The covariance (d, d), shrunk towards its diagonal by the share of directions in which it has no variance.

    >>> shrink_if_singular(np.array([[1.0, 2.0], [2.0, 4.0]]))
    array([[1., 1.], [1., 4.]])
    """
    if covariance.ndim == 1:
        return covariance
    s = np.sqrt(covariance.diagonal())
    share = float(np.mean(np.linalg.eigvalsh(covariance / np.outer(s, s)) < MIN_DIRECTION_VARIANCE))
    return (1.0 - share) * covariance + share * np.diag(covariance.diagonal())


PRIORS: dict[str, Callable[[HasPseudoRows, Array, Array, int], Prior]] = {"none": _none, "conjugate": _conjugate}
"""Priors by name, made from the mean (d,) and covariance (d, d) or variances (d,) of all rows, for K components."""
