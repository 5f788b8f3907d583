"""Columns in units of their standard deviations, in which likelihoods of incomplete rows are maximised.

There the noise is always one variance per column, psi_j = exp(phi) share_j. Where the model has one noise variance in
the units of the rows, `share` holds the inverse squares of the scales and there is one phi; otherwise each column has
its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.stats.moments import ColumnMoments

SMALL_NOISE_SHARE = 0.1
"""A noise variance below this share of its column's variance may be on its way to 0."""

FIRST_FLOOR = 1e-2
"""The first of a sequence of floors under the noise that are lowered step by step, a share of the column's variance."""

PERTURBATION = 0.05
"""Size of the random perturbation of starting loadings, in standard deviations of the noise."""

MAX_LOG_NOISE_STEP = 30.0
"""No step multiplies a noise variance by more than exp(30): anything beyond would only overflow."""


@dataclass(frozen=True, eq=False)
class NoiseStructure:
    """The relation of the noise variances psi (d,) to their free logarithms phi, (1,) or (d,).

    Attributes:
        share: (d,) psi over exp(phi). min_phi: the lower bound of phi. pooled: whether all columns share one phi.
    """

    share: Array
    min_phi: float
    pooled: bool

    def psi(self, phi: Array) -> Array:
        """Return psi (d,) from phi (1,) or (d,), clamped at its lower bound."""
        return np.asarray(np.exp(np.maximum(phi, self.min_phi)) * self.share)

    def phi(self, psi: Array) -> Array:
        """Return phi (1,) or (d,) from psi (d,)."""
        phi = np.log(psi / self.share)
        return np.asarray(phi[:1] if self.pooled else phi)

    def at_floor(self, psi: Array) -> Array:
        """Return which phi (1,) or (d,) are at their lower bound."""
        return np.asarray(self.phi(psi) <= self.min_phi + 1e-9)

    def steps_by_root(self, psi: Array) -> Array:
        """Return which phi (1,) or (d,) are better changed by the square root of psi.

        A variance whose maximum is at 0 gets there in one step of its root; in phi it would take a step for every
        few powers of e.
        """
        return np.asarray(np.zeros(1, dtype=bool) if self.pooled else psi < SMALL_NOISE_SHARE)

    def psi_after(self, psi: Array, change: Array) -> Array:
        """Return psi (d,) after a change of phi: exp(phi + change), or, where small, the root times 1 + change / 2."""
        root = np.log(np.maximum(1.0 + 0.5 * change, np.finfo(float).tiny))
        by = np.minimum(np.where(self.steps_by_root(psi), 2.0 * root, change), MAX_LOG_NOISE_STEP)
        return self.psi(self.phi(psi) + by)

    def stages(self) -> tuple[NoiseStructure, ...]:
        """Return the same structure with floors falling by factors of 10 to its own; only itself where it is pooled."""
        floors = np.arange(np.log(FIRST_FLOOR), self.min_phi + 1.0, -np.log(10.0))
        return (*(replace(self, min_phi=float(floor)) for floor in floors if not self.pooled), self)

    def sum_by_phi(self, columns: Array) -> Array:
        """Return the sums of values per column (d,) over the columns that share a phi."""
        return columns.sum(keepdims=True) if self.pooled else columns

    def estimate(self, rest: Array, weight: Array) -> Array:
        """Return psi (d,) from Σ w E[e²] and Σ w of the observed entries of each column (d,)."""
        variance = self.sum_by_phi(rest / self.share) / self.sum_by_phi(weight)
        return self.psi(np.log(np.maximum(variance, np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class Units:
    """Columns y = (x − centre) / scale.

    Attributes:
        centre: (d,) means of the observed entries. scale: (d,) their standard deviations, 1 for constant columns.
        log_scale: Σ w log scale over the observed entries: log p(x) = log p(y) − log_scale.

    >>> observed = ColumnMoments(np.array([4.0]), np.array([5.0]), np.array([16.0]))
    >>> units = Units.of(observed)
    >>> units.scale_model(LinearGaussian(np.array([7.0]), np.array([[4.0]]), 8.0)).noise
    array([2.])
    """

    centre: Array
    scale: Array
    log_scale: float

    @classmethod
    def of(cls, observed: ColumnMoments) -> Units:
        """Return the units of columns with these moments."""
        s = np.sqrt(observed.square / observed.weight)
        s = np.where(s > 0.0, s, 1.0)
        return cls(observed.mean, s, float(np.sum(observed.weight * np.log(s))))

    def scale_model(self, model: LinearGaussian) -> LinearGaussian:
        """Return a model of x as a model of y, with a vector of noise variances."""
        s = self.scale
        return LinearGaussian((model.mean - self.centre) / s, model.loadings / s[:, None], model.noise / s**2)

    def unscale_model(self, model: LinearGaussian, noise: NoiseStructure) -> LinearGaussian:
        """Return a model of y as a model of x."""
        s, psi = self.scale, np.asarray(model.noise)
        variance = float(psi[0] / noise.share[0]) if noise.pooled else psi * s**2
        return LinearGaussian(self.centre + model.mean * s, model.loadings * s[:, None], variance)


def _isotropic(observed: ColumnMoments, units: Units, floor: float) -> NoiseStructure:
    min_phi = np.log(floor * float(observed.square.sum() / observed.weight.sum()))
    return NoiseStructure(units.scale**-2.0, float(min_phi), pooled=True)


def _diagonal(observed: ColumnMoments, units: Units, floor: float) -> NoiseStructure:
    return NoiseStructure(np.ones(units.scale.size), float(np.log(floor)), pooled=False)


NOISE_STRUCTURES: dict[str, Callable[[ColumnMoments, Units, float], NoiseStructure]] = {
    "isotropic": _isotropic,
    "diagonal": _diagonal,
}
"""Noise structures by name; the floor is a share of the columns' variance."""


def perturb_loadings(model: LinearGaussian, rng: np.random.Generator) -> LinearGaussian:
    """Return a starting model with its loadings moved a little at random.

    Zero loadings of a block of columns, for example, would stay 0 forever: their gradient is 0.
    """
    W, psi = model.loadings, np.broadcast_to(model.noise, model.mean.shape)
    moved = W + PERTURBATION * np.sqrt(psi)[:, None] * rng.standard_normal(W.shape)
    return LinearGaussian(model.mean, moved, model.noise)


def rotate_to_diagonal(model: LinearGaussian) -> tuple[LinearGaussian, Array]:
    """Return the same density with Wᵀ Psi⁻¹ W diagonal and descending, and the rotation Q (k, k): its loadings are W Q.

    Latent precisions are then graded, so that small noise variances beside large ones cost no digits.
    """
    W, psi = model.loadings, np.broadcast_to(model.noise, model.mean.shape)
    _, Q = np.linalg.eigh(W.T @ (W / psi[:, None]))
    Q = Q[:, ::-1]
    return LinearGaussian(model.mean, W @ Q, model.noise), Q
