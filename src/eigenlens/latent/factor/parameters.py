"""The parameters of rotated factors as one vector, whose covariance matrix gives the standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array

Equations = Callable[[Array, Array, Array], Array]
"""Loadings (d, k), correlations (k, k) and noise (d,) of columns of unit variance → values that are 0."""


class Estimates(NamedTuple):
    """Loadings Λ (d, k), correlations Φ (k, k) and noise variances psi (d,) of the factors, real or complex."""

    loadings: Array
    correlations: Array
    noise: Array

    def standardized(self) -> Estimates:
        """Return the estimates of columns over the standard deviations √diag(Λ Φ Λᵀ + Psi) of the model."""
        variance = np.sum((self.loadings @ self.correlations) * self.loadings, axis=1) + self.noise
        return Estimates(self.loadings / np.sqrt(variance)[:, None], self.correlations, self.noise / variance)

    def rotated(self, V: Array) -> Estimates:
        """Return the estimates for the loadings Λ V⁻ᵀ of factors that are uncorrelated before."""
        return Estimates(np.linalg.solve(V, self.loadings.T).T, V.T @ V, self.noise)


@dataclass(frozen=True, eq=False)
class FactorParameters:
    """The vector of free parameters: Λ by rows, the correlations of factors where they are free, and psi.

    Attributes:
        at: where they are estimated, for columns of unit variance. oblique: whether Φ is free, or the identity.
        fixed: (d,) the psi that are not free.
    """

    at: Estimates
    oblique: bool
    fixed: Array

    @cached_property
    def pairs(self) -> tuple[Array, Array]:
        """The pairs of factors whose correlations are free."""
        k = self.at.loadings.shape[1]
        return np.tril_indices(k, -1) if self.oblique else (np.zeros(0, np.intp), np.zeros(0, np.intp))

    @property
    def vector(self) -> Array:
        """Return the parameters as one vector (p,)."""
        free = self.at.noise[~self.fixed]
        return np.concatenate([self.at.loadings.ravel(), self.at.correlations[self.pairs], free])

    def unpack(self, vector: Array) -> Estimates:
        """Return the estimates that a vector of parameters, real or complex, represents."""
        (d, k), m = self.at.loadings.shape, self.pairs[0].size
        loadings, phi, free = np.split(vector, [d * k, d * k + m])
        Phi, psi = np.eye(k, dtype=vector.dtype), self.at.noise.astype(vector.dtype)
        Phi[self.pairs] = Phi.T[self.pairs] = phi
        psi[~self.fixed] = free
        return Estimates(loadings.reshape(d, k), Phi, psi)
