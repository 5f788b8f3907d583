"""The improved Sheather–Jones bandwidth of Botev, Grotowski and Kroese."""

from __future__ import annotations

import math
from functools import partial

from eigenlens.arrays import Array
from eigenlens.kde.bandwidth.binned import Sample, Waves, make_sample
from eigenlens.kde.bandwidth.plug_in import largest_root, solve_sheather_jones
from eigenlens.kde.bandwidth.ties import half_step, is_comb, warn_caller

ISJ_STAGES = 7
"""The derivative that the chain of pilot estimates begins with."""

COMB_SUSPICION = 0.05
"""A fixed point below this share of the largest reasonable bandwidth may be that of repeated values."""


def isj(x: Array, weight: Array | None = None, name: str = "x") -> float:
    """Return the fixed point h of h² = (2√π n |f''|²)^(−2/5), which uses no normal reference.

    |f^(s)|² is estimated with a pilot bandwidth that is best for it given |f^(s+1)|², s = 6 down to 2, and |f^(7)|²
    with h itself (Botev, Grotowski and Kroese 2010, Ann. Statist. 38, algorithm 1, eqs. 29 and 30). The estimates are
    made on the line, without the boundaries of a cosine transform, in units of the sample's range: h is equivariant
    under shifts and scalings. Of several fixed points the largest; two or three rows may have none, and then h is the
    largest reasonable one (Terrell 1990). Where values repeat so often that the fixed point makes a comb of them, a
    warning is issued, and h is that of `sheather_jones`, or half the usual step between values if that is larger.
    Cost: O(n), then some thousand terms per trial.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> round(isj(x), 2), abs(isj(1000.0 * x) / isj(x) - 1000.0) < 1e-7
    (0.28, True)
    """
    sample = make_sample(x, weight)
    most = 1.144 * sample.scale * sample.n**-0.2
    finest = most / 4.0
    while True:
        waves = sample.waves(finest, 8.0 * sample.scale * sample.n**-0.2)
        h = largest_root(partial(_excess, sample=sample, waves=waves), 2.0 * most, 2.0 * sample.deviation) or most
        precise = waves.serves(h, finest)
        if (precise or h < COMB_SUSPICION * most) and is_comb(sample, h):
            return sample.span * _without_comb(sample, name)
        if precise:
            return sample.span * h
        finest = 0.8 * h


def _without_comb(sample: Sample, name: str) -> float:
    """Return the bandwidth to use where the fixed point makes a comb, with a warning."""
    step, other = half_step(sample), solve_sheather_jones(sample)
    h = max(step, other)
    which = "'sheather-jones'" if other >= step else "half the usual step from value to value"
    warn_caller(
        f"{name} has many equal values ({sample.values[0].size} distinct among {sample.n:g}), for which the fixed "
        f"point of rule 'isj' is near 0; h = {sample.span * h:.3g} is that of {which}. For rounded values give a "
        "bandwidth above their step as a number."
    )
    return h


def _excess(h: float, sample: Sample, waves: Waves) -> float:
    """Return h less the bandwidth of the chain of estimates from it; infinite where h smooths everything away."""
    n, t = sample.n, h * h
    for s in range(ISJ_STAGES - 1, 1, -1):
        odd = math.prod(range(1, 2 * s, 2)) / math.sqrt(2.0 * math.pi)
        best = (1.0 + 0.5 ** (s + 0.5)) / 3.0 * 2.0 * odd / n
        roughness = waves.pair_sum(s + 1, t) / n**2
        if roughness == 0.0:
            return math.inf
        t = (best / roughness) ** (2.0 / (3.0 + 2.0 * s))
    roughness = waves.pair_sum(2, t) / n**2
    return h - (2.0 * math.sqrt(math.pi) * n * roughness) ** -0.2 if roughness > 0.0 else math.inf
