"""Mixtures of probabilistic PCA: each component is x = W_k z + mu_k + e with isotropic noise, C_k = W_k W_kᵀ + v_k I.

The M-step has a closed form (Tipping and Bishop 1999b, eq. C.20 to C.22).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.base import Density
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.densities.mixture_terms import Terms
from eigenlens.laws import Laws
from eigenlens.missing.result import free_parameters
from eigenlens.mixture.structures.base import CovarianceArrays, JointStructure, full_terms, positive_weight
from eigenlens.mixture.structures.parameters import floor_variances
from eigenlens.stats.moments import Moments


@dataclass(frozen=True)
class LatentStructure(JointStructure):
    """Components with C_k = W_k W_kᵀ + the noise v_k, where W_k has n_factors columns.

    A subclass names the array of the noise: "variances" (K,), or "uniquenesses" (K, d).
    """

    n_factors: int
    noise: ClassVar[str]

    def terms(self, weights: Array, means: Array, arrays: CovarianceArrays) -> Terms:
        """Return terms with W_k W_kᵀ + v_k each."""
        W, noise = arrays["loadings"], arrays[self.noise].reshape(*weights.shape, -1)
        C = W @ np.swapaxes(W, -2, -1)
        np.einsum("...ii->...i", C)[...] += noise
        return full_terms(weights, means, C)

    def components(self, means: Array, arrays: CovarianceArrays) -> tuple[Density, ...]:
        """Return K linear-Gaussian models."""
        parts = zip(means, arrays["loadings"], arrays[self.noise], strict=True)
        return tuple(LinearGaussian(mean, W, v if v.ndim else float(v)) for mean, W, v in parts)

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """Return loadings (K, d, q) and the noise, (K,) or (K, d)."""
        loadings = np.stack([component.loadings for component in components])
        return {"loadings": loadings, self.noise: np.array([component.noise for component in components])}

    def n_parameters(self, d: int, K: int) -> int:
        """Return K (d q − q (q − 1) / 2 + the number of noise variances of a component)."""
        return K * (free_parameters(d, self.n_factors, scalar_noise=self.noise == "variances") - d)


@dataclass(frozen=True)
class PPCAStructure(LatentStructure):
    """Components with C_k = W_k W_kᵀ + v_k I, where W_k has n_factors columns."""

    laws: ClassVar[Laws] = {"loadings": "(K, d, q) of a finite square", "variances": "(K) between 1e-300 and 1e300"}
    noise: ClassVar[str] = "variances"

    def estimate(self, moments: Moments, floor: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """Return the leading eigenvectors of S_k times √(lambda − v), v the mean of the others. Cost K d³."""
        S, d, q = group_covariances(moments), moments.mean.shape[-1], self.n_factors
        lam, V = np.linalg.eigh(S)
        noise = np.maximum(lam[..., : d - q].mean(axis=-1), floor_variances(floor).mean())
        length = np.sqrt(np.maximum(lam[..., : -q - 1 : -1] - noise[..., None], 0.0))
        W = V[..., : -q - 1 : -1] * length[..., None, :]
        return {"loadings": W if start is None else rotate_towards(W, start["loadings"]), "variances": noise}

    def from_covariances(self, covariances: Array) -> CovarianceArrays:
        """Return the most likely loadings and variances for covariances (K, d, d)."""
        K, d = covariances.shape[:2]
        return self.estimate(Moments(np.ones(K), np.zeros((K, d)), covariances), np.zeros(d), None)

    def in_any_units(self) -> LatentStructure:
        """Return the structure of one noise variance per column, which these have in other units."""
        from eigenlens.mixture.structures.factor import FactorStructure  # a module that imports this one

        return FactorStructure(self.n_factors)

    def start_coordinates(self, covariance: Array) -> tuple[Array, ...]:
        """Return the columns unchanged, since the noise depends on their units."""
        return (np.ones(len(covariance)),)


def group_covariances(moments: Moments) -> Array:
    """Return scatter_k / weight_k (..., K, d, d)."""
    return np.asarray(moments.scatter / positive_weight(moments)[..., None, None])


def rotate_towards(W: Array, like: Array) -> Array:
    """Return loadings (..., d, q) rotated in their latent space to be nearest to others.

    The density is the same. Loadings that do not jump between steps let EM be extrapolated.
    """
    U, _, Vt = np.linalg.svd(np.swapaxes(W, -2, -1) @ like)
    return np.asarray(W @ (U @ Vt))
