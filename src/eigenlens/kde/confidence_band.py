"""Pointwise confidence bands of a kernel density along a line.

Both are bands for the mean of the estimate, E f̂ = K_h ∗ f: the true density smoothed by the same kernel. They do not
cover the bias of f̂ at peaks and in valleys.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from eigenlens.arrays import Array
from eigenlens.kde.model import KernelEstimate

Band = Callable[[KernelEstimate, Array, float, np.random.Generator], tuple[Array, Array]]

BOOTSTRAP_REPLICATES = 200
"""Resampled densities: enough for 2.5 per cent quantiles."""

SQUARED_KERNEL_REACH = 20.0
"""Bandwidths beyond which the square of a kernel of unbounded support has no mass left."""


def asymptotic_band(model: KernelEstimate, y: Array, level: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return limits (m,), (m,) at y (m,): (√f̂ ± z √((R g / f̂ h − f̂) / 4n))², z the normal quantile of the level.

    Var f̂ = (R g / h − (E f̂)²) / n with R = ∫K² and g the density smoothed by K² / R; where g = f and h is small, √f̂
    has the same variance R / 4nh everywhere (Bowman and Azzalini 1997, §2.3). Within a bandwidth of a bound that
    mirrors the rows the variance is up to twice as large: use the bootstrap there. Nothing is drawn from `rng`.
    Cost: two densities.
    """
    f, n = model.density(y), model.total
    rough = model.kernel.roughness / float(model.bandwidth[0])
    # Where less than one row contributes, g / f is shrunk towards one, so that an empty place keeps an upper limit.
    alone = rough / n
    spread = rough * (_squared(model, y) + alone) / (f + alone)
    root = np.sqrt(f)
    half = float(ndtri(0.5 + 0.5 * level)) * np.sqrt(np.maximum(spread - f, 0.0) / (4.0 * n))
    return np.maximum(root - half, 0.0) ** 2, (root + half) ** 2


def _squared(model: KernelEstimate, y: Array) -> Array:
    """Return g (m,) at y (m,): Σ w_i K_i² over points, in units of R / h.

    K² / R is approximated by K narrowed to the same variance, which is exact for Gaussian, Laplace and box kernels.
    """
    u = np.linspace(0.0, min(model.kernel.radius, SQUARED_KERNEL_REACH), 4_001)
    square = model.kernel.profile(u) ** 2
    share = float(u**2 @ square / square.sum()) / model.kernel.variance
    own = model.weights if model.scales is None else model.weights / model.scales
    narrow = replace(model, bandwidth=np.sqrt(share) * model.bandwidth, weights=own)
    return np.asarray(narrow.density(y) * (narrow.total / model.total))


def bootstrap_band(model: KernelEstimate, y: Array, level: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return percentile limits (m,), (m,) of 200 densities of rows drawn with replacement, with their bandwidths.

    A weight of w is w rows to draw. Cost: 200 densities.
    """
    chance, n = model.weights / model.total, max(1, round(model.total))
    drawn = [replace(model, weights=rng.multinomial(n, chance)).density(y) for _ in range(BOOTSTRAP_REPLICATES)]
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return low, high


BANDS: dict[str, Band] = {"asymptotic": asymptotic_band, "bootstrap": bootstrap_band}
"""Bands by name: from an estimate, points y, a level and a generator to limits."""
