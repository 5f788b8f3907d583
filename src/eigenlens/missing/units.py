"""The units in which a likelihood with missing entries is climbed: columns centred and over their deviations.

There the noise is always one variance a column, psi_j = exp(phi) share_j. Where one variance serves all columns as they
come, `share` are the squares of the scales and there is one phi; else each column has its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.stats.moments import ColumnMoments

__all__ = ["NOISES", "Noise", "Units", "stirred", "turned"]

SMALL = 0.1
"""A variance below this share of its column's may be on its way to 0."""

HIGHEST = 1e-2
"""The first of floors that are lowered by and by."""

STIR = 0.05
"""How far a start is moved at random, in deviations of the noise."""

FARTHEST = 30.0
"""No step changes a noise variance by more than exp(30): beyond is nothing but overflow."""


@dataclass(frozen=True, eq=False)
class Noise:
    """A noise structure.

    Attributes:
        share: (d,) psi over exp(phi). least: the least phi. pooled: whether one phi serves all columns.
    """

    share: Array
    least: float
    pooled: bool

    def psi(self, phi: Array) -> Array:
        """(d,) from (1,) or (d,); never below the least."""
        return np.asarray(np.exp(np.maximum(phi, self.least)) * self.share)

    def phi(self, psi: Array) -> Array:
        """(1,) or (d,) from (d,)."""
        found = np.log(psi / self.share)
        return np.asarray(found[:1] if self.pooled else found)

    def small(self, psi: Array) -> Array:
        """Which phi (1,) or (d,) are better changed by their roots: a variance that runs to 0 does so in one step."""
        return np.asarray(np.zeros(1, dtype=bool) if self.pooled else psi < SMALL)

    def moved(self, psi: Array, change: Array) -> Array:
        """psi (d,) after a change of phi: exp(phi + change), or, where small, the root times 1 + change / 2."""
        root = np.log(np.maximum(1.0 + 0.5 * change, np.finfo(float).tiny))
        by = np.minimum(np.where(self.small(psi), 2.0 * root, change), FARTHEST)
        return self.psi(self.phi(psi) + by)

    def stages(self) -> tuple[Noise, ...]:
        """The same with floors that fall from HIGHEST to its own, by factors of 10; where noise is pooled, itself."""
        floors = np.arange(np.log(HIGHEST), self.least + 1.0, -np.log(10.0))
        return (*(replace(self, least=float(least)) for least in floors if not self.pooled), self)

    def gathered(self, columns: Array) -> Array:
        """What belongs to each phi, from (d,)."""
        return columns.sum(keepdims=True) if self.pooled else columns

    def estimate(self, rest: Array, weight: Array) -> Array:
        """psi (d,) from Σ w E[e²] and Σ w of the observed entries of each column (d,)."""
        variance = self.gathered(rest / self.share) / self.gathered(weight)
        return self.psi(np.log(np.maximum(variance, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class Units:
    """Columns y = (x − centre) / scale.

    Attributes:
        centre: (d,) the means of the observed entries. scale: (d,) their deviations, 1 where there is none.
        log_scale: Σ w log scale over the observed entries: log p(x) = log p(y) − log_scale.

    >>> observed = ColumnMoments(np.array([4.0]), np.array([5.0]), np.array([16.0]))
    >>> units = Units.of(observed)
    >>> units.inside(LinearGaussian(np.array([7.0]), np.array([[4.0]]), 8.0)).noise
    array([2.])
    """

    centre: Array
    scale: Array
    log_scale: float

    @classmethod
    def of(cls, observed: ColumnMoments) -> Units:
        """The units of these columns."""
        s = np.sqrt(observed.square / observed.weight)
        s = np.where(s > 0.0, s, 1.0)
        return cls(observed.mean, s, float(observed.weight @ np.log(s)))

    def inside(self, model: LinearGaussian) -> LinearGaussian:
        """A model of x as one of y, its noise a vector."""
        s = self.scale
        return LinearGaussian((model.mean - self.centre) / s, model.loadings / s[:, None], model.noise / s**2)

    def outside(self, model: LinearGaussian, noise: Noise) -> LinearGaussian:
        """A model of y as one of x."""
        s, psi = self.scale, np.asarray(model.noise)
        variance = float(psi[0] / noise.share[0]) if noise.pooled else psi * s**2
        return LinearGaussian(self.centre + model.mean * s, model.loadings * s[:, None], variance)


def _one_variance(observed: ColumnMoments, units: Units, floor: float) -> Noise:
    least = np.log(floor * float(observed.square.sum() / observed.weight.sum()))
    return Noise(units.scale**-2.0, float(least), pooled=True)


def _variance_each(observed: ColumnMoments, units: Units, floor: float) -> Noise:
    return Noise(np.ones(units.scale.size), float(np.log(floor)), pooled=False)


NOISES: dict[str, Callable[[ColumnMoments, Units, float], Noise]] = {
    "isotropic": _one_variance,
    "diagonal": _variance_each,
}
"""Noise structures by name; the floor is a share of the columns' variance."""


def stirred(model: LinearGaussian, rng: np.random.Generator) -> LinearGaussian:
    """A start moved a little: one that is 0 in a block of columns, say, would never leave it by slopes alone."""
    W, psi = model.loadings, np.broadcast_to(model.noise, model.mean.shape)
    return LinearGaussian(model.mean, W + STIR * np.sqrt(psi)[:, None] * rng.standard_normal(W.shape), model.noise)


def turned(model: LinearGaussian) -> tuple[LinearGaussian, Array]:
    """The same density with Wᵀ Psi⁻¹ W diagonal and descending, and the rotation Q (k, k): its loadings are W Q.

    Latent precisions are then graded, and small noise beside large costs no digits.
    """
    W = model.loadings
    _, Q = np.linalg.eigh(W.T @ (W / np.asarray(model.noise)[:, None]))
    Q = Q[:, ::-1]
    return LinearGaussian(model.mean, W @ Q, model.noise), Q
