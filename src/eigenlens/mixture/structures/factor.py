"""Mixtures of factor analysers: each component is x = W_k z + mu_k + e, with C_k = W_k W_kᵀ + diag(v_k).

The M-step has no closed form. A few scoring steps raise the likelihood of the noise variances, with the best loadings
for them, which is enough for EM to increase the likelihood of the mixture.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.laws import Laws
from eigenlens.mixture.structures.base import CovarianceArrays
from eigenlens.mixture.structures.parameters import floor_variances
from eigenlens.mixture.structures.ppca import LatentStructure, group_covariances, rotate_towards
from eigenlens.stats.moments import Moments

FIRST_SCORING_STEPS, LATER_SCORING_STEPS = 10, 2
"""Scoring steps of the first M-step, which starts from a rule of thumb, and of later ones, which start near the end."""

MAX_LOG_STEP = 2.0
"""A scoring step changes the logarithm of a variance by at most this: far from the maximum f is not quadratic."""

MAX_HALVINGS = 6
"""The number of times that a step is halved before it is given up, if it does not increase the likelihood."""

ROUNDING_UNITS = 8.0
"""f may be wrong by this many units in the last place of the terms that it is the sum of."""

MIN_EIGENVALUE_RATIO = 1e-8
"""Correlation matrices with a smaller ratio of eigenvalues have no inverse that could be trusted."""

MIN_CURVATURE_SHARE = 1e-14
"""Directions with less than this share of the largest curvature are rounding error, and a step leaves them alone."""


@dataclass(frozen=True)
class FactorStructure(LatentStructure):
    """Components with C_k = W_k W_kᵀ + diag(v_k), where W_k has n_factors columns."""

    laws: ClassVar[Laws] = {
        "loadings": "(K, d, q) of a finite square",
        "uniquenesses": "(K, d) between 1e-300 and 1e300",
    }
    noise: ClassVar[str] = "uniquenesses"

    def estimate(self, moments: Moments, floor: Array, start: CovarianceArrays | None) -> CovarianceArrays:
        """Return the result of a few scoring steps from the variances of `start`, with the best loadings. Cost K d³."""
        S, low, q = group_covariances(moments), np.log(floor_variances(floor)), self.n_factors
        C, shape = S.reshape(-1, *S.shape[-2:]), moments.mean.shape
        first = _first_logarithms(C, q) if start is None else np.log(start["uniquenesses"]).reshape(-1, low.size)
        steps = FIRST_SCORING_STEPS if start is None else LATER_SCORING_STEPS
        found = _run_scoring(_Covariances.of(C, low), q, np.maximum(first, low), low, steps)
        W, noise = found.loadings.reshape(*shape, -1), np.exp(found.t).reshape(shape)
        return {"loadings": W if start is None else rotate_towards(W, start["loadings"]), "uniquenesses": noise}

    def from_covariances(self, covariances: Array) -> CovarianceArrays:
        """Return likely loadings and uniquenesses for covariances (K, d, d)."""
        K, d = covariances.shape[:2]
        floor = 1e-12 * np.einsum("kii->ki", covariances).min(axis=0)
        return self.estimate(Moments(np.ones(K), np.zeros((K, d)), covariances), floor, None)

    def start_coordinates(self, covariance: Array) -> tuple[Array, ...]:
        """Return coordinates of unit variance, since units do not matter here."""
        return (1.0 / np.sqrt(covariance.diagonal()),)


class _Covariances(NamedTuple):
    """Covariances S (m, d, d) with their inverses, which are 0 where those would not be accurate enough."""

    S: Array
    inverse: Array
    invertible: Array  # (m,)

    @classmethod
    def of(cls, S: Array, low: Array) -> _Covariances:
        """Return them with inverses; a variance far below its floor exp(low) (d,) is rounding, and has none."""
        s = np.sqrt(np.maximum(np.einsum("mii->mi", S), np.exp(low)))
        units = s[:, :, None] * s[:, None, :]
        lam, U = np.linalg.eigh(S / units)
        invertible = lam[:, 0] > MIN_EIGENVALUE_RATIO * lam[:, -1]
        share = invertible[:, None] / np.where(invertible[:, None], lam, 1.0)
        return cls(S, (U * share[:, None, :]) @ np.swapaxes(U, 1, 2) / units, invertible)

    def select(self, which: Array) -> _Covariances:
        return _Covariances(*(array[which] for array in self))

    def eigenpairs(self, t: Array, q: int) -> tuple[Array, Array]:
        """Return the eigenvalues w (m, d), descending, and eigenvectors (m, d, d) of A = Psi^-½ S Psi^-½.

        They are those of (Psi^½ S⁻¹ Psi^½)⁻¹, in which a small variance takes no digits from the others; the q largest,
        which lose them instead, are computed from A again.
        """
        r, invertible = np.exp(0.5 * t), self.invertible[:, None]
        units = r[:, :, None] * r[:, None, :]
        A = self.S / units
        lam, V = np.linalg.eigh(np.where(invertible[:, :, None], self.inverse * units, A))
        w = np.where(invertible, 1.0 / np.maximum(lam, np.finfo(float).tiny), lam[:, ::-1])
        V = np.where(invertible[:, :, None], V, V[:, :, ::-1])
        w[:, :q] = np.einsum("mdq,mdq->mq", V[:, :, :q], A @ V[:, :, :q])
        return w, V


class _Profile(NamedTuple):
    """Minus twice the log-likelihood per row at noise variances exp(t), up to a constant, for m components at once.

    With the eigenpairs w, V of A = Psi^-½ S Psi^-½, "top" the q largest where w > 1 and "rest" the others,
    f = Σ t_j + Σ_rest w + Σ_top (1 + ln w), with the gradient Σ_rest (1 − w) V ∘ V and the best loadings
    Psi^½ V (w − 1)^½; see `latent.factor.newton`.
    """

    t: Array  # (m, d)
    f: Array  # (m,)
    gradient: Array  # (m, d)
    V: Array  # (m, d, q)
    excess: Array  # (m, q)

    @property
    def rounding(self) -> Array:
        """Bounds (m,) of the rounding errors of f."""
        return np.asarray(ROUNDING_UNITS * np.finfo(float).eps * (np.abs(self.t) + 1.0).sum(axis=1))

    def slope(self, low: Array) -> Array:
        """Return the largest entry (m,) of the gradient that no floor stops."""
        return np.asarray(np.abs(np.where(self.is_free(low), self.gradient, 0.0)).max(axis=1))

    def is_free(self, low: Array) -> Array:
        """Return which variances (m, d) are not stopped by their floor."""
        return np.asarray((self.t > low) | (self.gradient < 0.0))

    @property
    def loadings(self) -> Array:
        return np.asarray(np.exp(0.5 * self.t)[:, :, None] * self.V * np.sqrt(self.excess)[:, None, :])


def _profile(C: _Covariances, q: int, t: Array) -> _Profile:
    w, V = C.eigenpairs(t, q)
    top = (np.arange(w.shape[1]) < q) & (w > 1.0)
    f = t.sum(axis=1) + np.where(top, 1.0 + np.log(np.where(top, w, 1.0)), w).sum(axis=1)
    gradient = ((V * V) @ np.where(top, 0.0, 1.0 - w)[:, :, None])[:, :, 0]
    return _Profile(t, f, gradient, V[:, :, :q], np.maximum(w[:, :q] - 1.0, 0.0))


def _first_logarithms(S: Array, q: int) -> Array:
    """Return ln of (1 − q / 2d) / diag S⁻¹ (Jöreskog 1967) for S (m, d, d); a ridge lets a singular S pass."""
    d, ridged = S.shape[1], S.copy()
    diagonal = np.einsum("mii->mi", ridged)
    diagonal += 1e-6 * diagonal + np.finfo(float).tiny
    return np.asarray(np.log((1.0 - 0.5 * q / d) / np.einsum("mii->mi", np.linalg.inv(ridged))))


def _run_scoring(C: _Covariances, q: int, t: Array, low: Array, steps: int) -> _Profile:
    """Take scoring steps from t (m, d), none of which lowers the likelihood, within t ≥ low (d,)."""
    point = _profile(C, q, t)
    for _ in range(steps):
        point = _take_gaining_step(C, q, point, _scoring_step(point, low), low)
    return point


def _scoring_step(point: _Profile, low: Array) -> Array:
    """Return the scoring step (m, d), which is 0 for a variance that its floor stops.

    The second derivatives of f are near (I − V Vᵀ) ∘ (I − V Vᵀ) (Lawley and Maxwell 1971), V those with w > 1. Where a
    variance tends to 0 they vanish, and f is near a exp(t) + b, whose second derivative is its first: that is added.
    """
    free = point.is_free(low)
    g = np.where(free, point.gradient, 0.0)
    V = point.V * free[:, :, None] * (point.excess > 0.0)[:, None, :]
    left = np.eye(low.size) - V @ np.swapaxes(V, 1, 2)
    A = left * left
    np.einsum("mii->mi", A)[...] += np.abs(g)
    lam, U = np.linalg.eigh(A)
    some = lam > MIN_CURVATURE_SHARE * lam[:, -1:]
    along = (g[:, None, :] @ U)[:, 0] * some / np.where(some, lam, 1.0)
    return np.asarray(np.clip((U @ along[:, :, None])[:, :, 0] * free, -MAX_LOG_STEP, MAX_LOG_STEP))


def _take_gaining_step(C: _Covariances, q: int, point: _Profile, move: Array, low: Array) -> _Profile:
    """Return each component after its step, or the first half, quarter, … of it that gains; unchanged if none does.

    Where rounding hides what f gains, the gradient must shrink instead: near its end, a step taken or not by chance
    would be no function of the point, and EM would not settle.
    """
    best, left = _Profile(*(array.copy() for array in point)), np.arange(len(point.f))
    for i in range(MAX_HALVINGS):
        tried = _profile(C.select(left), q, np.maximum(point.t[left] - move[left] / 2.0**i, low))
        gain, hidden = point.f[left] - tried.f, tried.rounding
        shorter = tried.slope(low) < point.slope(low)[left]
        better = (gain > hidden) | ((gain >= -hidden) & shorter)
        for array, values in zip(best, tried, strict=True):
            array[left[better]] = values[better]
        left = left[~better]
        if not left.size:
            break
    return best
