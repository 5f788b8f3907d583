"""Families of latent Gaussians for mixtures and classes: from the moments of a group of rows to its model.

Both take the model of the previous step as `start`. Given the moments, the model returned is never less likely than
that one, so the likelihood of an EM that calls them never falls, although factor analysis takes only a few steps of its
own at each call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.correlation_operator import DenseCorrelations
from eigenlens.latent.factor.profile_likelihood import FactorOptions, ProfileMinimum, minimise_profile
from eigenlens.latent.factor.solvers import canonical_factors, minimise_from_starts
from eigenlens.laws import Laws
from eigenlens.linalg.spectrum import Requested, orient
from eigenlens.linalg.symmetric import leading_eigenpairs
from eigenlens.missing.result import free_parameters
from eigenlens.resources import one_thread
from eigenlens.stats.moments import Moments

MIN_VARIANCE_SHARE, ROUNDING_VARIANCE_SHARE, MIN_VARIANCE = 1e-12, 1e-26, 1e-200
"""A variance is at least these shares of the columns' mean variance and of their mean squared mean, and never 0.

So a group has a density even if columns are constant in it, as all are in a group of one row.
"""


@dataclass(frozen=True, eq=False)
class PPCAFamily:
    """Gaussians N(mu, W Wᵀ + sigma² I) with k latent dimensions (Tipping and Bishop 1999, eq. 7 and 8).

    Attributes:
        k: below d.
        floor: the smallest sigma², as a share of the mean variance of the columns.
        prior: scatter (d, d), or a multiple of the identity, that is added to that of the rows.
        prior_weight: the number of rows that this scatter counts for.

    >>> X = np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> family = PPCAFamily(1)
    >>> model = family.estimate(family.summarise(Block(X)))
    >>> model.noise, model.loadings.ravel(), family.free_parameters(3)
    (0.1875, array([1.346, 0.   , 0.   ]), 7)
    """

    laws: ClassVar[Laws] = {
        "k": "positive",
        "floor": "not negative",
        "prior": "() not negative | (d, d) covariance",
        "prior_weight": "not negative",
    }

    k: int
    floor: float = 1e-6
    prior: float | Array = 0.0
    prior_weight: float = 0.0

    def summarise(self, block: Block) -> Moments:
        """Return weight, mean and scatter of a block of rows; the moments of parts add up."""
        return Moments.of(block)

    def estimate(self, moments: Moments, start: LinearGaussian | None = None) -> LinearGaussian:
        """Return the maximum, in closed form; a `start` with noise below the floor keeps it. Cost: 4/3 d³ flops."""
        S = _covariance(moments, self.prior, self.prior_weight)
        d, total = len(S), float(np.trace(S))
        _, values, V = leading_eigenpairs(S, Requested.count(self.k, d))
        least = self.floor * total / d
        if start is not None:
            least = min(least, float(np.min(start.noise)))
        noise = max((total - float(values.sum())) / (d - self.k), least)
        return LinearGaussian(moments.mean, orient(V) * np.sqrt(np.maximum(values - noise, 0.0)), noise)

    def free_parameters(self, d: int) -> int:
        """Return the number of free parameters for rows (n, d)."""
        return free_parameters(d, self.k, scalar_noise=True)


@dataclass(frozen=True, eq=False)
class FactorFamily:
    """Gaussians N(mu, W Wᵀ + Psi) with k factors, Psi diagonal.

    Attributes:
        k: below d.
        floor: the smallest uniqueness, a share of the variable's variance.
        steps: quasi-Newton steps from a `start`; without one they go on to the maximum.
        prior, prior_weight: as for `PPCAFamily`.

    >>> R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
    >>> FactorFamily(1).estimate(Moments(100.0, np.zeros(3), 100.0 * R)).loadings.ravel().round(4)
    array([0.8000, 0.7000, 0.6000])
    """

    laws: ClassVar[Laws] = {
        "k": "positive",
        "floor": "not negative",
        "steps": "not negative",
        "prior": "() not negative | (d, d) covariance",
        "prior_weight": "not negative",
    }

    k: int
    floor: float = FactorOptions.floor
    steps: int = 4
    prior: float | Array = 0.0
    prior_weight: float = 0.0

    def summarise(self, block: Block) -> Moments:
        """Return weight, mean and scatter of a block of rows; the moments of parts add up."""
        return Moments.of(block)

    def estimate(self, moments: Moments, start: LinearGaussian | None = None) -> LinearGaussian:
        """Return the maximum, or from a `start` a model that is at least as likely. Cost: d³ flops per step.

        For fixed psi the loadings of the profile likelihood are the best; and where psi exceeds a variable's variance,
        that variance is a better psi. So the first step begins with a likelihood no lower than that of `start`.
        """
        S = _covariance(moments, self.prior, self.prior_weight)
        scale = np.sqrt(np.diag(S))
        correlations = DenseCorrelations(S / np.outer(scale, scale))
        if start is None:
            found = minimise_from_starts(correlations, self.k, "quasi-newton", FactorOptions(floor=self.floor))
        else:
            found = self._continue(correlations, np.minimum(start.noise / scale**2, 1.0))
        if found.interrupted:  # the EM iteration that called has the better model to return
            raise KeyboardInterrupt
        model = LinearGaussian(moments.mean, found.loadings * scale[:, None], found.uniquenesses * scale**2)
        return canonical_factors(model, np.ones(len(S)))

    def _continue(self, correlations: DenseCorrelations, psi: Array) -> ProfileMinimum:
        """Take a few steps from uniquenesses psi (d,), which remain allowed where they are below the floor."""
        options = FactorOptions(floor=min(self.floor, float(psi.min())), max_iter=self.steps)
        with one_thread():
            return minimise_profile(correlations, self.k, psi, options)

    def free_parameters(self, d: int) -> int:
        """Return the number of free parameters for rows (n, d)."""
        return free_parameters(d, self.k, scalar_noise=False)


def _covariance(moments: Moments, prior: float | Array, prior_weight: float) -> Array:
    """Return (scatter + prior) / (Σw + prior_weight) (d, d), with a positive variance of every column."""
    d = moments.mean.size
    added = prior * np.eye(d) if np.ndim(prior) == 0 else np.asarray(prior)
    S = (moments.scatter + added) / (moments.weight + prior_weight)
    variance, centre = S.diagonal(), float(np.mean(moments.mean**2))
    least = max(MIN_VARIANCE_SHARE * float(variance.mean()), ROUNDING_VARIANCE_SHARE * centre, MIN_VARIANCE)
    np.fill_diagonal(S, np.maximum(variance, least))
    return np.asarray(S)
