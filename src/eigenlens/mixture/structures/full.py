"""One covariance per component, C_k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture_terms import Terms
from eigenlens.mixture.structures.base import CovarianceArrays, JointStructure, full_terms, positive_weight
from eigenlens.mixture.structures.parameters import raise_to_floor
from eigenlens.stats.moments import Moments


@dataclass(frozen=True)
class FullStructure(JointStructure):
    """Components with a covariance C_k each (VVV in mclust)."""

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
