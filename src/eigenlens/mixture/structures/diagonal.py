"""Variances: one per component and column, diag(v_k), or one per component, v_k I."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.base import Density
from eigenlens.densities.covariance import Diagonal, Spherical
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture_terms import Terms
from eigenlens.laws import Laws
from eigenlens.mixture.structures.base import CovarianceArrays, IndependentStructure, diagonal_terms, positive_weight
from eigenlens.stats.moments import ColumnMoments


@dataclass(frozen=True)
class DiagonalStructure(IndependentStructure):
    """Components with independent columns, of variances v_k (VVI in mclust)."""

    laws: ClassVar[Laws] = {"variances": "(K, d) between 1e-300 and 1e300"}

    def estimate(self, moments: ColumnMoments, floor: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """Return v_k = square_k / weight_k, raised to the floor."""
        return {"variances": np.maximum(moments.square / positive_weight(moments)[..., None], floor)}

    def terms(self, weights: Array, means: Array, arrays: CovarianceArrays) -> Terms:
        """Return terms with variances (d,) each."""
        return diagonal_terms(weights, means, arrays["variances"])

    def components(self, means: Array, arrays: CovarianceArrays) -> tuple[Density, ...]:
        """Return K Gaussians."""
        return tuple(Gaussian(mean, Diagonal(v)) for mean, v in zip(means, arrays["variances"], strict=True))

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """Return the variances (K, d)."""
        return {"variances": self.covariances(components)}

    def covariances(self, components: Sequence[Any]) -> Array:
        """Return the variances (K, d)."""
        return np.stack([component.covariance.variances for component in components])

    def covariance_shape(self, d: int, K: int) -> tuple[int, ...]:
        """Return the shape (K, d) of the stored variances."""
        return K, d

    def from_covariances(self, covariances: Array) -> CovarianceArrays:
        """Return the variances (K, d) unchanged."""
        return {"variances": covariances}

    def n_parameters(self, d: int, K: int) -> int:
        """Return the number of free variances, K d."""
        return K * d

    def prior_rows(self, d: int, K: int) -> tuple[float, float]:
        """Return d + 5 and 1: each variance has an inverse gamma prior of exponent d + 4, and the mean adds one."""
        return d + 5.0, 1.0

    def start_coordinates(self, covariance: Array) -> tuple[Array, ...]:
        """Return coordinates of unit variance, since units do not matter here."""
        return (1.0 / np.sqrt(covariance),)


@dataclass(frozen=True)
class SphericalStructure(DiagonalStructure):
    """Components with one variance v_k for all columns (VII in mclust)."""

    laws: ClassVar[Laws] = {"variances": "(K) between 1e-300 and 1e300"}

    def estimate(self, moments: ColumnMoments, floor: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """Return v_k, the mean over the columns of square_k / weight_k, raised to the mean of the floor."""
        return {"variances": np.maximum(moments.square.mean(axis=-1) / positive_weight(moments), floor.mean())}

    def terms(self, weights: Array, means: Array, arrays: CovarianceArrays) -> Terms:
        """Return terms with one variance each."""
        return diagonal_terms(weights, means, arrays["variances"][..., None])

    def components(self, means: Array, arrays: CovarianceArrays) -> tuple[Density, ...]:
        """Return K Gaussians."""
        d = means.shape[1]
        return tuple(Gaussian(mean, Spherical(float(v), d)) for mean, v in zip(means, arrays["variances"], strict=True))

    def covariances(self, components: Sequence[Any]) -> Array:
        """Return the variances (K,)."""
        return np.array([component.covariance.variance for component in components])

    def in_any_units(self) -> DiagonalStructure:
        """Return the structure of one variance per column, which these have in other units."""
        return DiagonalStructure()

    def covariance_shape(self, d: int, K: int) -> tuple[int, ...]:
        """Return the shape (K,) of the stored variances."""
        return (K,)

    def n_parameters(self, d: int, K: int) -> int:
        """Return the number of free variances, K."""
        return K

    def prior_rows(self, d: int, K: int) -> tuple[float, float]:
        """Return (2 d + 4) / d and 1 / d: v_k has one inverse gamma prior, and d columns share the rows it adds."""
        return (2.0 * d + 4.0) / d, 1.0 / d

    def start_coordinates(self, covariance: Array) -> tuple[Array, ...]:
        """Return the columns unchanged, since units matter here."""
        return (np.ones_like(covariance),)
