"""How the covariances of a mixture of Gaussians are tied down: six structures, each a family of K components at once.

| name      | covariances                                | free numbers              | in mclust |
|-----------|--------------------------------------------|---------------------------|-----------|
| full      | C_k                                        | K d (d + 1) / 2           | VVV       |
| tied      | C for all                                  | d (d + 1) / 2             | EEE       |
| diag      | diag(v_k)                                  | K d                       | VVI       |
| spherical | v_k I                                      | K                         | VII       |
| ppca      | W_k W_kᵀ + v_k I, q columns                | K (d q − q (q − 1)/2 + 1) |           |
| factor    | W_k W_kᵀ + diag(v_k)                       | K (d q − q (q − 1)/2 + d) |           |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Diagonal, Full, Spherical
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture_terms import Terms
from eigenlens.mixture.structures.base import CovarianceArrays, CovarianceStructure, diagonal_terms, full_terms
from eigenlens.mixture.structures.latent import FactorStructure, PPCAStructure
from eigenlens.mixture.structures.parameters import raise_to_floor
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["COVARIANCE_STRUCTURES", "DiagonalStructure", "FullStructure", "SphericalStructure", "TiedStructure"]


@dataclass(frozen=True)
class FullStructure:
    """Each component has a covariance of its own."""

    joint: ClassVar[bool] = True

    def overall(self, block: Block) -> Moments:
        """Mean and scatter of all rows."""
        return Moments.of(block)

    def grouped(self, block: Block, shares: Array) -> Moments:
        """Means and scatters of groups."""
        return Moments.of_groups(block, shares)

    def spread(self, moments: Moments, least: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """C_k = scatter_k / weight_k."""
        return {"covariances": raise_to_floor(moments.scatter / _divisor(moments)[..., None, None], least)}

    def terms(self, weights: Array, means: Array, spread: CovarianceArrays) -> Terms:
        """With a covariance each."""
        return full_terms(weights, means, spread["covariances"])

    def components(self, means: Array, spread: CovarianceArrays) -> tuple[Density, ...]:
        """K Gaussians."""
        return tuple(Gaussian(mean, Full(C)) for mean, C in zip(means, spread["covariances"], strict=True))

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """The covariances (K, d, d)."""
        return {"covariances": self.covariances(components)}

    def covariances(self, components: Sequence[Any]) -> Array:
        """(K, d, d)."""
        return np.stack([component.covariance.matrix() for component in components])

    def shape(self, d: int, K: int) -> tuple[int, ...]:
        """(K, d, d)."""
        return K, d, d

    def given(self, covariances: Array) -> CovarianceArrays:
        """The arrays of covariances of that shape."""
        return {"covariances": covariances}

    def parameters(self, d: int, K: int) -> int:
        """K d (d + 1) / 2."""
        return K * d * (d + 1) // 2

    def pseudo(self, d: int, K: int) -> tuple[float, float]:
        """The prior of C_k has the exponent d + 2 + d + 1, that of mu_k one more."""
        return 2.0 * d + 4.0, 1.0

    def views(self, covariance: Array) -> tuple[Array, ...]:
        """With the identity for a covariance of all rows, since directions are all alike here; and unit variances."""
        return np.linalg.inv(np.linalg.cholesky(covariance)).T, 1.0 / np.sqrt(covariance.diagonal())


@dataclass(frozen=True)
class TiedStructure:
    """All components have the same covariance."""

    joint: ClassVar[bool] = True
    overall = FullStructure.overall
    grouped = FullStructure.grouped
    views = FullStructure.views
    terms = FullStructure.terms

    def spread(self, moments: Moments, least: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """C = Σ scatter_k / Σ weight_k."""
        total = moments.weight.sum(axis=-1)[..., None, None, None]
        return {"covariances": raise_to_floor(moments.scatter.sum(axis=-3, keepdims=True) / total, least)}

    def components(self, means: Array, spread: CovarianceArrays) -> tuple[Density, ...]:
        """K Gaussians that share one covariance."""
        C = Full(spread["covariances"][0])
        return tuple(Gaussian(mean, C) for mean in means)

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """The covariance (1, d, d)."""
        return {"covariances": self.covariances(components)[None]}

    def covariances(self, components: Sequence[Any]) -> Array:
        """(d, d)."""
        return np.asarray(components[0].covariance.matrix())

    def shape(self, d: int, K: int) -> tuple[int, ...]:
        """(d, d)."""
        return d, d

    def given(self, covariances: Array) -> CovarianceArrays:
        """The arrays of covariances of that shape."""
        return {"covariances": covariances[None]}

    def parameters(self, d: int, K: int) -> int:
        """d (d + 1) / 2."""
        return d * (d + 1) // 2

    def pseudo(self, d: int, K: int) -> tuple[float, float]:
        """The prior of C counts once, so each component has a K-th part of it."""
        return (2.0 * d + 3.0 + K) / K, 1.0 / K


@dataclass(frozen=True)
class DiagonalStructure:
    """The columns are independent within a component."""

    joint: ClassVar[bool] = False

    def overall(self, block: Block) -> ColumnMoments:
        """Means and squares of all rows."""
        return ColumnMoments.of(block)

    def grouped(self, block: Block, shares: Array) -> ColumnMoments:
        """Means and squares of groups."""
        return ColumnMoments.of_groups(block, shares)

    def spread(self, moments: ColumnMoments, least: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """v_k = square_k / weight_k."""
        return {"variances": np.maximum(moments.square / _divisor(moments)[..., None], least)}

    def terms(self, weights: Array, means: Array, spread: CovarianceArrays) -> Terms:
        """With variances each."""
        return diagonal_terms(weights, means, spread["variances"])

    def components(self, means: Array, spread: CovarianceArrays) -> tuple[Density, ...]:
        """K Gaussians."""
        return tuple(Gaussian(mean, Diagonal(v)) for mean, v in zip(means, spread["variances"], strict=True))

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """The variances (K, d)."""
        return {"variances": self.covariances(components)}

    def covariances(self, components: Sequence[Any]) -> Array:
        """(K, d)."""
        return np.stack([component.covariance.variances for component in components])

    def shape(self, d: int, K: int) -> tuple[int, ...]:
        """(K, d)."""
        return K, d

    def given(self, covariances: Array) -> CovarianceArrays:
        """The arrays of covariances of that shape."""
        return {"variances": covariances}

    def parameters(self, d: int, K: int) -> int:
        """K d."""
        return K * d

    def pseudo(self, d: int, K: int) -> tuple[float, float]:
        """Each column has an inverse gamma of d + 2 degrees of freedom: exponent d + 4, and one more for the mean."""
        return d + 5.0, 1.0

    def views(self, covariance: Array) -> tuple[Array, ...]:
        """With unit variances: units do not matter here."""
        return (1.0 / np.sqrt(covariance),)


@dataclass(frozen=True)
class SphericalStructure:
    """One variance for each component."""

    joint: ClassVar[bool] = False
    overall = DiagonalStructure.overall
    grouped = DiagonalStructure.grouped

    def spread(self, moments: ColumnMoments, least: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """v_k, the mean over the columns of square_k / weight_k."""
        return {"variances": np.maximum(moments.square.mean(axis=-1) / _divisor(moments), least.mean())}

    def terms(self, weights: Array, means: Array, spread: CovarianceArrays) -> Terms:
        """With one variance each."""
        return diagonal_terms(weights, means, spread["variances"][..., None])

    def components(self, means: Array, spread: CovarianceArrays) -> tuple[Density, ...]:
        """K Gaussians."""
        d = means.shape[1]
        return tuple(Gaussian(mean, Spherical(float(v), d)) for mean, v in zip(means, spread["variances"], strict=True))

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """The variances (K,)."""
        return {"variances": self.covariances(components)}

    def covariances(self, components: Sequence[Any]) -> Array:
        """(K,)."""
        return np.array([component.covariance.variance for component in components])

    def shape(self, d: int, K: int) -> tuple[int, ...]:
        """(K,)."""
        return (K,)

    def given(self, covariances: Array) -> CovarianceArrays:
        """The arrays of covariances of that shape."""
        return {"variances": covariances}

    def parameters(self, d: int, K: int) -> int:
        """K."""
        return K

    def pseudo(self, d: int, K: int) -> tuple[float, float]:
        """v_k has an inverse gamma of d + 2 degrees of freedom, and d columns share what it adds."""
        return (2.0 * d + 4.0) / d, 1.0 / d

    def views(self, covariance: Array) -> tuple[Array, ...]:
        """As they are: units matter here."""
        return (np.ones_like(covariance),)


def _divisor(moments: Moments | ColumnMoments) -> Array:
    return np.asarray(np.where(moments.weight > 0.0, moments.weight, 1.0))


COVARIANCE_STRUCTURES: dict[str, Callable[[int], CovarianceStructure]] = {
    "full": lambda n_factors: FullStructure(),
    "tied": lambda n_factors: TiedStructure(),
    "diag": lambda n_factors: DiagonalStructure(),
    "spherical": lambda n_factors: SphericalStructure(),
    "ppca": PPCAStructure,
    "factor": FactorStructure,
}
"""Structures by name; the last two are made with the number of latent dimensions."""
