"""The linear-Gaussian model x = W z + mu + e: one frozen value, several algorithms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from eigenlens.arrays import Array, read_only

__all__ = ["LinearGaussian"]


@dataclass(frozen=True, eq=False)
class LinearGaussian:
    """x ~ N(mu, W Wᵀ + Psi) with few latent dimensions (Tipping and Bishop 1999, eq. 2).

    Attributes:
        mean: mu (d,).
        loadings: W (d, k).
        noise: variances Psi, a positive scalar or (d,).

    Every method is O(dk) a row by the Woodbury identity; no d×d matrix is made except by `covariance` and `precision`.

    >>> model = LinearGaussian(mean=np.zeros(2), loadings=np.array([[1.0], [1.0]]), noise=1.0)
    >>> model.covariance()
    array([[2., 1.], [1., 2.]])
    >>> model.log_density(np.zeros((1, 2))).round(6)
    array([-2.387183])
    """

    mean: Array
    loadings: Array
    noise: float | Array

    def __post_init__(self) -> None:
        read_only(self, "mean", "loadings")

    @cached_property
    def _psi(self) -> Array:
        return np.broadcast_to(np.asarray(self.noise, dtype=np.float64), self.mean.shape)

    @cached_property
    def _inner(self) -> Array:
        """Lower Cholesky factor of M = I + Wᵀ Psi⁻¹ W (k, k)."""
        W = self.loadings
        M = np.eye(W.shape[1]) + W.T @ (W / self._psi[:, None])
        return np.asarray(np.linalg.cholesky(M))

    def log_density(self, X: Array) -> Array:
        """log N(x | mu, W Wᵀ + Psi) for each row of X (n, d), shape (n,)."""
        R = X - self.mean
        half = solve_triangular(self._inner, ((R / self._psi) @ self.loadings).T, lower=True, check_finite=False)
        distance = np.einsum("ij,ij->i", R / self._psi, R) - np.einsum("ij,ij->j", half, half)
        return np.asarray(-0.5 * (self.mean.size * np.log(2.0 * np.pi) + self.log_determinant + distance))

    @cached_property
    def log_determinant(self) -> float:
        """log |W Wᵀ + Psi| by the matrix determinant lemma."""
        return float(np.sum(np.log(self._psi)) + 2.0 * np.sum(np.log(np.diag(self._inner))))

    def posterior(self, X: Array) -> tuple[Array, Array]:
        """E[z | x] (n, k) and cov[z | x] (k, k), which is the same for every row.

        M⁻¹ Wᵀ Psi⁻¹ (x − mu) and M⁻¹, with M = I + Wᵀ Psi⁻¹ W.
        """
        factor = (self._inner, True)
        mean = cho_solve(factor, ((X - self.mean) / self._psi @ self.loadings).T).T
        return mean, np.asarray(cho_solve(factor, np.eye(self.loadings.shape[1])))

    def impute(self, X: Array) -> Array:
        """X (n, d) with NaN replaced by its conditional mean given the observed entries of the row.

        E[x_missing | x_observed] = mu + W E[z | x_observed], a k×k system a row, all rows at once.
        """
        seen = ~np.isnan(X)
        if seen.all():
            return X
        W, precision = self.loadings, seen / self._psi
        k = W.shape[1]
        outer = (W[:, :, None] * W[:, None, :]).reshape(-1, k * k)
        M = (precision @ outer).reshape(-1, k, k) + np.eye(k)
        b = (precision * np.where(seen, X - self.mean, 0.0)) @ W
        z = np.linalg.solve(M, b[:, :, None])[:, :, 0]
        return np.asarray(np.where(seen, X, self.mean + z @ W.T))

    def covariance(self) -> Array:
        """W Wᵀ + Psi (d, d)."""
        return np.asarray(self.loadings @ self.loadings.T + np.diag(self._psi))

    def precision(self) -> Array:
        """(W Wᵀ + Psi)⁻¹ (d, d) by Woodbury."""
        scaled = self.loadings / self._psi[:, None]
        return np.asarray(np.diag(1.0 / self._psi) - scaled @ cho_solve((self._inner, True), scaled.T))

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws (n, d)."""
        z = rng.standard_normal((n, self.loadings.shape[1]))
        e = rng.standard_normal((n, self.mean.size))
        return np.asarray(self.mean + z @ self.loadings.T + e * np.sqrt(self._psi))
