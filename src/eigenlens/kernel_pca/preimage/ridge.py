"""Pre-images by a learned map from scores to rows: kernel ridge regression (Bakır, Weston and Schölkopf 2003)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from eigenlens.arrays import Array
from eigenlens.kernel_pca.gamma import resolve_gamma
from eigenlens.kernel_pca.kernels.rbf import RBF
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.preimage.base import PreImageOptions, RawPreImages, Support

MAX_RIDGE_ROWS = 2000
"""Rows that the map is learned from: it costs their cube."""

RIDGE_GAMMA_FACTOR = 4.0
"""gamma over that of the median heuristic: on digits 8 denoises better, 1 inverts clean scores better, 4 is between."""

RIDGE_POWERS = tuple(float(power) for power in range(-10, 1))
"""Powers of ten that are tried first as ridges, relative to the largest eigenvalue."""


@dataclass(frozen=True, eq=False)
class InverseMap:
    """A map from scores to rows, x(z) = mean + Σ_i k(z, z_i) w_i, k an RBF kernel in the space of scores.

    Attributes:
        scores: z_i (m, k). weights: w (m, d). mean: (d,), the row returned far from all scores.
        gamma: of k. ridge: the penalty chosen. error: its leave-one-out estimate of the mean of |x − x(z)|² over
            new rows.
    """

    scores: Array
    weights: Array
    mean: Array
    gamma: float
    ridge: float
    error: float

    def __call__(self, Z: Array) -> Array:
        """Return rows (n, d) for scores (n, k). Cost n m (k + d)."""
        step = max(1, (16 << 20) // (8 * len(self.scores)))
        k = RBF(self.gamma)
        parts = [k(Z[i : i + step], self.scores) @ self.weights for i in range(0, max(len(Z), 1), step)]
        return np.asarray(np.concatenate(parts) + self.mean)


def ridge_preimages(support: Support, Z: Array, start: Array | None, options: PreImageOptions) -> RawPreImages:
    """Return pre-images of the points with scores Z (n, k) by the map in `options`, or by one learned now."""
    learned = options.learned or _learn(support)
    return RawPreImages.at_once(learned(Z) - support.shift)


def learn_inverse(model: KernelComponents) -> InverseMap:
    """Learn the map from scores to rows from the model's rows: at most 2000 of them, evenly spaced.

        w = (K + ridge I)⁻¹ R̃,    ridge minimises  Σ_i |((I − H) R̃)_i / (1 − H_ii)|² ,    H = K (K + ridge I)⁻¹

    the exact leave-one-out error at a given mean, for all ridges from one eigendecomposition of K. Generalised cross-
    validation, which replaces each H_ii by their mean, takes near-interpolation for a perfect fit here. Cost m³ + m² d.
    """
    return _learn(Support.of(model))


def _learn(support: Support) -> InverseMap:
    R = support.rows[:: -(-len(support.rows) // MAX_RIDGE_ROWS)]
    scores = support.images(R)[:, 1:] - support.model.offset
    mean = R.mean(axis=0)
    gamma = RIDGE_GAMMA_FACTOR * resolve_gamma("median", scores) if np.ptp(scores, axis=0).max() > 0.0 else 1.0
    lam, U = eigh(RBF(gamma)(scores, scores), overwrite_a=True, check_finite=False)
    lam = np.maximum(lam, 0.0)
    Y = U.T @ (R - mean)
    ridge, error = _best_ridge(lam, U, Y)
    weights = U @ (Y / (lam + ridge)[:, None])
    return InverseMap(scores, weights, mean + support.shift, gamma, ridge, error)


def _best_ridge(lam: Array, U: Array, Y: Array) -> tuple[float, float]:
    """Return the ridge of smallest leave-one-out error, to a quarter of a decade, and that error. Cost 15 m² d."""
    square = U * U

    def error(power: float) -> float:
        left = 1.0 / (1.0 + lam / (lam[-1] * 10.0**power))
        residuals = (U @ (left[:, None] * Y)) / (square @ left)[:, None]
        return float(np.mean(np.sum(residuals * residuals, axis=1)))

    errors = {power: error(power) for power in RIDGE_POWERS}
    for step in (0.5, 0.25):
        best = min(errors, key=errors.__getitem__)
        errors |= {power: error(power) for power in (best - step, best + step)}
    best = min(errors, key=errors.__getitem__)
    return float(lam[-1] * 10.0**best), errors[best]
