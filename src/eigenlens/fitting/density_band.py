"""How sure a kernel density along a line is: bands about it, place by place.

Both are bands for the mean of the estimate, E f̂ = K_h ∗ f: the true density as the same kernel would smooth it. What
smoothing hides, the bias f̂ has at peaks and in valleys, no band of variances can show.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from eigenlens.arrays import Array
from eigenlens.models.kernel_density import KernelEstimate

__all__ = ["BANDS", "asymptotic_band", "bootstrap_band"]

Band = Callable[[KernelEstimate, Array, float, np.random.Generator], tuple[Array, Array]]

REPLICATES = 200


def asymptotic_band(model: KernelEstimate, y: Array, level: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Limits (m,), (m,) at places y (m,): (√f̂ ± z √(R / 4nh))², R = ∫K², z the normal quantile of the level.

    Var f̂ ≈ R f / (nh), so √f̂ has the same variance everywhere (Bowman and Azzalini 1997, §2.3); adaptive kernels count
    by what they are at y. Within a bandwidth of a bound that mirrors the rows the variance is up to twice as large:
    there the bootstrap is right. Nothing is drawn from `rng`. Cost: one density.
    """
    f = model.density(y)
    root, half = np.sqrt(f), float(ndtri(0.5 + 0.5 * level)) * np.sqrt(_root_variance(model, y, f))
    return np.maximum(root - half, 0.0) ** 2, (root + half) ** 2


def _root_variance(model: KernelEstimate, y: Array, f: Array) -> Array:
    """R / (4 n h), or with scales R / (4 n h) times the mean of 1 / s_i over the points near each place (m,)."""
    plain = np.full(y.size, model.kernel.roughness / (4.0 * model.total * float(model.bandwidth[0])))
    if model.scales is None:
        return plain
    narrow = replace(model, weights=model.weights / model.scales)
    share = narrow.density(y) * (narrow.total / model.total)
    widest = 1.0 / float(model.scales.max())
    return np.asarray(plain * np.divide(share, f, out=np.full(y.size, widest), where=f > 0.0))


def bootstrap_band(model: KernelEstimate, y: Array, level: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Percentile limits (m,), (m,) of 200 densities of rows drawn with replacement, their bandwidths kept.

    A weight of w is w rows to draw. Bounds and kernels of any width are as they are. Cost: 200 densities.
    """
    chance, n = model.weights / model.total, max(1, round(model.total))
    drawn = [replace(model, weights=rng.multinomial(n, chance)).density(y) for _ in range(REPLICATES)]
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    return low, high


BANDS: dict[str, Band] = {"asymptotic": asymptotic_band, "bootstrap": bootstrap_band}
"""From an estimate, places, a level and a generator to limits."""
