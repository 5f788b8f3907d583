"""Mixtures of latent Gaussians: each component is x = W_k z + mu_k + e, with q latent dimensions.

Probabilistic PCA has a closed form (Tipping and Bishop 1999b, eq. C.20 to C.22). Factor analysis takes a few scoring
steps on the likelihood of its noise variances, the loadings being the best for these; so EM climbs all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block
from eigenlens.densities.base import Density
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.densities.mixture_terms import Terms
from eigenlens.missing.result import free_parameters
from eigenlens.mixture.structures.base import CovarianceArrays, full_terms
from eigenlens.mixture.structures.parameters import floor_variances
from eigenlens.stats.moments import Moments

__all__ = ["FactorStructure", "PPCAStructure"]

FIRST_STEPS, LATER_STEPS = 10, 2
"""Scoring steps of a factor analysis: the first time, and from the noise variances of the step before."""

MAX_LOG_STEP, MAX_HALVINGS = 2.0, 6
"""The furthest that a scoring step moves a logarithm, and how often one that loses is halved before it is given up."""

MIN_CURVATURE_SHARE = 1e-14
"""A direction counts for nothing in a scoring step if it has less than this part of the largest curvature."""


@dataclass(frozen=True)
class PPCAStructure:
    """C_k = W_k W_kᵀ + v_k I with q columns of W_k."""

    q: int
    joint: ClassVar[bool] = True

    def overall(self, block: Block) -> Moments:
        """Mean and scatter of all rows."""
        return Moments.of(block)

    def grouped(self, block: Block, shares: Array) -> Moments:
        """Means and scatters of groups."""
        return Moments.of_groups(block, shares)

    def spread(self, moments: Moments, least: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """The leading eigenvectors of S_k by (lambda − v)^½, v the mean of the other eigenvalues. Cost K d³."""
        S, d = _covariances(moments), moments.mean.shape[-1]
        lam, V = np.linalg.eigh(S)
        noise = np.maximum(lam[..., : d - self.q].mean(axis=-1), floor_variances(least).mean())
        length = np.sqrt(np.maximum(lam[..., : -self.q - 1 : -1] - noise[..., None], 0.0))
        W = V[..., : -self.q - 1 : -1] * length[..., None, :]
        return {"loadings": W if start is None else _rotate_towards(W, start["loadings"]), "variances": noise}

    def terms(self, weights: Array, means: Array, spread: CovarianceArrays) -> Terms:
        """With W_k W_kᵀ + v_k I each."""
        return _terms(weights, means, spread["loadings"], spread["variances"][..., None])

    def components(self, means: Array, spread: CovarianceArrays) -> tuple[Density, ...]:
        """K latent Gaussians."""
        parts = zip(means, spread["loadings"], spread["variances"], strict=True)
        return tuple(LinearGaussian(mean, W, float(v)) for mean, W, v in parts)

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """Loadings (K, d, q) and variances (K,)."""
        loadings = np.stack([component.loadings for component in components])
        return {"loadings": loadings, "variances": np.array([component.noise for component in components])}

    def covariances(self, components: Sequence[Any]) -> Array:
        """(K, d, d)."""
        return np.stack([component.covariance() for component in components])

    def shape(self, d: int, K: int) -> tuple[int, ...]:
        """(K, d, d)."""
        return K, d, d

    def given(self, covariances: Array) -> CovarianceArrays:
        """The loadings and variances nearest to covariances (K, d, d)."""
        K, d = covariances.shape[:2]
        return self.spread(Moments(np.ones(K), np.zeros((K, d)), covariances), np.zeros(d), None)

    def parameters(self, d: int, K: int) -> int:
        """K (d q − q (q − 1) / 2 + 1)."""
        return K * (free_parameters(d, self.q, scalar_noise=True) - d)

    def pseudo(self, d: int, K: int) -> tuple[float, float]:
        """As for full covariances."""
        return 2.0 * d + 4.0, 1.0

    def views(self, covariance: Array) -> tuple[Array, ...]:
        """As they are: the noise depends on the units of the columns."""
        return (np.ones(len(covariance)),)


@dataclass(frozen=True)
class FactorStructure:
    """C_k = W_k W_kᵀ + diag(v_k) with q columns of W_k."""

    q: int
    joint: ClassVar[bool] = True
    overall = PPCAStructure.overall
    grouped = PPCAStructure.grouped
    covariances = PPCAStructure.covariances
    shape = PPCAStructure.shape
    pseudo = PPCAStructure.pseudo

    def spread(self, moments: Moments, least: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """A few scoring steps from the variances of `start`, and the best loadings for where they lead. Cost K d³."""
        S, low = _covariances(moments), np.log(floor_variances(least))
        C, shape = S.reshape(-1, *S.shape[-2:]), moments.mean.shape
        first = _first_logarithms(C, self.q) if start is None else np.log(start["uniquenesses"]).reshape(-1, low.size)
        found = _run_scoring(C, self.q, np.maximum(first, low), low, FIRST_STEPS if start is None else LATER_STEPS)
        W, noise = found.loadings.reshape(*shape, -1), np.exp(found.t).reshape(shape)
        return {"loadings": W if start is None else _rotate_towards(W, start["loadings"]), "uniquenesses": noise}

    def terms(self, weights: Array, means: Array, spread: CovarianceArrays) -> Terms:
        """With W_k W_kᵀ + diag(v_k) each."""
        return _terms(weights, means, spread["loadings"], spread["uniquenesses"])

    def given(self, covariances: Array) -> CovarianceArrays:
        """Loadings and variances near covariances (K, d, d)."""
        K, d = covariances.shape[:2]
        least = 1e-12 * np.einsum("kii->ki", covariances).min(axis=0)
        return self.spread(Moments(np.ones(K), np.zeros((K, d)), covariances), least, None)

    def components(self, means: Array, spread: CovarianceArrays) -> tuple[Density, ...]:
        """K latent Gaussians."""
        parts = zip(means, spread["loadings"], spread["uniquenesses"], strict=True)
        return tuple(LinearGaussian(mean, W, v) for mean, W, v in parts)

    def arrays(self, components: Sequence[Any]) -> CovarianceArrays:
        """Loadings (K, d, q) and uniquenesses (K, d)."""
        loadings = np.stack([component.loadings for component in components])
        return {"loadings": loadings, "uniquenesses": np.stack([component.noise for component in components])}

    def parameters(self, d: int, K: int) -> int:
        """K (d q − q (q − 1) / 2 + d)."""
        return K * (free_parameters(d, self.q, scalar_noise=False) - d)

    def views(self, covariance: Array) -> tuple[Array, ...]:
        """With unit variances: units do not matter here."""
        return (1.0 / np.sqrt(covariance.diagonal()),)


def _covariances(moments: Moments) -> Array:
    weight = np.where(moments.weight > 0.0, moments.weight, 1.0)
    return np.asarray(moments.scatter / weight[..., None, None])


def _terms(weights: Array, means: Array, W: Array, noise: Array) -> Terms:
    C = W @ np.swapaxes(W, -2, -1)
    np.einsum("...ii->...i", C)[...] += noise
    return full_terms(weights, means, C)


class _Point(NamedTuple):
    """Minus twice the log-likelihood a row at noise variances exp(t), but for a constant, as in `factor_profile`.

    f = Σ t_j + tr A + Σ_l (ln w_l + 1 − w_l) over the q largest eigenvalues w_l > 1 of A = Psi^-½ S Psi^-½, with the
    gradient 1 − diag A + Σ_l (w_l − 1) V_l ∘ V_l and the best loadings Psi^½ V (w − 1)^½. Of m components at once.
    """

    t: Array  # (m, d)
    f: Array  # (m,)
    gradient: Array  # (m, d)
    V: Array  # (m, d, q)
    excess: Array  # (m, q)

    @property
    def loadings(self) -> Array:
        return np.asarray(np.exp(0.5 * self.t)[:, :, None] * self.V * np.sqrt(self.excess)[:, None, :])


def _point(S: Array, q: int, t: Array) -> _Point:
    s = np.exp(-0.5 * t)
    A = S * s[:, None, :] * s[:, :, None]
    lam, vectors = np.linalg.eigh(A)
    V, excess = vectors[:, :, : -q - 1 : -1], np.maximum(lam[:, : -q - 1 : -1] - 1.0, 0.0)
    diagonal = np.einsum("mii->mi", A)
    f = (t + diagonal).sum(axis=1) + np.sum(np.log1p(excess) - excess, axis=1)
    return _Point(t, f, 1.0 - diagonal + np.einsum("mdq,mdq,mq->md", V, V, excess), V, excess)


def _first_logarithms(S: Array, q: int) -> Array:
    """ln of (1 − q / 2d) / diag S⁻¹ (Jöreskog 1967), of S (m, d, d)."""
    d, ridged = S.shape[1], S.copy()
    diagonal = np.einsum("mii->mi", ridged)
    diagonal += 1e-6 * diagonal + np.finfo(float).tiny
    return np.asarray(np.log((1.0 - 0.5 * q / d) / np.einsum("mii->mi", np.linalg.inv(ridged))))


def _run_scoring(S: Array, q: int, t: Array, low: Array, steps: int) -> _Point:
    """Scoring steps from t (m, d) for S (m, d, d), none of which loses, within t ≥ low (d,)."""
    point = _point(S, q, t)
    for _ in range(steps):
        point = _take_gaining_step(S, q, point, _scoring_step(point, low), low)
    return point


def _scoring_step(point: _Point, low: Array) -> Array:
    """(m, d); 0 for a variance that is held by its bound.

    The second derivatives of f are near (I − V Vᵀ) ∘ (I − V Vᵀ) (Lawley and Maxwell 1971), V those with w > 1. Where a
    variance tends to 0 they vanish, and f is near a exp(t) + b, whose second derivative is its first: that is added.
    """
    free = (point.t > low) | (point.gradient < 0.0)
    g = np.where(free, point.gradient, 0.0)
    V = point.V * free[:, :, None] * (point.excess > 0.0)[:, None, :]
    left = np.eye(low.size) - V @ np.swapaxes(V, 1, 2)
    A = left * left
    np.einsum("mii->mi", A)[...] += np.abs(g)
    lam, U = np.linalg.eigh(A)
    some = lam > MIN_CURVATURE_SHARE * lam[:, -1:]
    along = (g[:, None, :] @ U)[:, 0] * some / np.where(some, lam, 1.0)
    return np.asarray(np.clip((U @ along[:, :, None])[:, :, 0] * free, -MAX_LOG_STEP, MAX_LOG_STEP))


def _take_gaining_step(S: Array, q: int, point: _Point, move: Array, low: Array) -> _Point:
    """Each component after its step, or after the first half, quarter, … of it that gains; if none does, as it is."""
    found, left = _Point(*(array.copy() for array in point)), np.arange(len(S))
    for i in range(MAX_HALVINGS):
        tried = _point(S[left], q, np.maximum(point.t[left] - move[left] / 2.0**i, low))
        better = tried.f < point.f[left]
        for array, values in zip(found, tried, strict=True):
            array[left[better]] = values[better]
        left = left[~better]
        if not left.size:
            break
    return found


def _rotate_towards(W: Array, like: Array) -> Array:
    """Loadings (..., d, q) turned in their latent space to be nearest to others: the same density, a smaller move."""
    U, _, Vt = np.linalg.svd(np.swapaxes(W, -2, -1) @ like)
    return np.asarray(W @ (U @ Vt))
