"""Covariance matrices: one per component, C_k, or one for all components, C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture_terms import Terms
from eigenlens.laws import Laws
from eigenlens.mixture.structures.base import CovarianceArrays, JointStructure, full_terms, positive_weight
from eigenlens.mixture.structures.parameters import raise_to_floor
from eigenlens.stats.moments import Moments


@dataclass(frozen=True)
class FullStructure(JointStructure):
    """Components with a covariance C_k each (VVV in mclust)."""

    laws: ClassVar[Laws] = {"covariances": "(K, d, d) positive definite"}

    def estimate(self, moments: Moments, floor: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """Return C_k = scatter_k / weight_k, raised to the floor."""
        return {"covariances": raise_to_floor(moments.scatter / positive_weight(moments)[..., None, None], floor)}

    def terms(self, weights: Array, means: Array, arrays: CovarianceArrays) -> Terms:
        """Return terms with a covariance each."""
        return full_terms(weights, means, arrays["covariances"])

    def components(self, means: Array, arrays: CovarianceArrays) -> tuple[Density, ...]:
        """Return K Gaussians."""
        return tuple(Gaussian(mean, Full(C)) for mean, C in zip(means, arrays["covariances"], strict=True))

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """Return the covariances (K, d, d)."""
        return {"covariances": self.covariances(components)}

    def from_covariances(self, covariances: Array) -> CovarianceArrays:
        """Return the covariances (K, d, d) unchanged."""
        return {"covariances": covariances}

    def n_parameters(self, d: int, K: int) -> int:
        """Return K d (d + 1) / 2."""
        return K * d * (d + 1) // 2

    def start_coordinates(self, covariance: Array) -> tuple[Array, ...]:
        """Return coordinates in which all rows have covariance I, since no direction is special, and unit variances."""
        return np.linalg.inv(np.linalg.cholesky(covariance)).T, 1.0 / np.sqrt(covariance.diagonal())


@dataclass(frozen=True)
class TiedStructure(FullStructure):
    """Components that share one covariance C (EEE in mclust)."""

    laws: ClassVar[Laws] = {"covariances": "(1, d, d) positive definite"}

    def estimate(self, moments: Moments, floor: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """Return C = Σ scatter_k / Σ weight_k, raised to the floor."""
        total = moments.weight.sum(axis=-1)[..., None, None, None]
        return {"covariances": raise_to_floor(moments.scatter.sum(axis=-3, keepdims=True) / total, floor)}

    def components(self, means: Array, arrays: CovarianceArrays) -> tuple[Density, ...]:
        """Return K Gaussians with the same covariance, which is factored once."""
        C = Full(arrays["covariances"][0])
        return tuple(Gaussian(mean, C) for mean in means)

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """Return the covariance (1, d, d)."""
        return {"covariances": self.covariances(components)[None]}

    def covariances(self, components: Sequence[Any]) -> Array:
        """Return the covariance (d, d)."""
        return np.asarray(components[0].covariance.matrix())

    def covariance_shape(self, d: int, K: int) -> tuple[int, ...]:
        """Return the shape (d, d) of the stored covariance."""
        return d, d

    def from_covariances(self, covariances: Array) -> CovarianceArrays:
        """Return the covariance (d, d) as (1, d, d)."""
        return {"covariances": covariances[None]}

    def n_parameters(self, d: int, K: int) -> int:
        """Return d (d + 1) / 2."""
        return d * (d + 1) // 2

    def prior_rows(self, d: int, K: int) -> tuple[float, float]:
        """Return (2 d + 3 + K) / K and 1 / K: the prior of C counts once, so each component has a K-th part of it."""
        return (2.0 * d + 3.0 + K) / K, 1.0 / K
