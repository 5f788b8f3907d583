"""The improved Sheather–Jones bandwidth of Botev, Grotowski and Kroese."""

from __future__ import annotations

import math
import warnings
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataWarning
from eigenlens.fitting.bandwidth_binned import Sample, Waves, sample_of
from eigenlens.fitting.bandwidth_plugin import largest_root, sheather_jones

__all__ = ["isj"]

STAGES = 7
"""The derivative that the chain of pilot estimates begins with."""

SUSPICIOUS = 0.05
"""A fixed point below this share of the largest reasonable bandwidth may be that of repeated values."""


def isj(x: Array, weight: Array | None = None) -> float:
    """The fixed point t = h² of h² = (2√π n |f''|²)^(−2/5), with no normal reference anywhere in it.

    |f^(s)|² is estimated with a pilot bandwidth that is best for it given |f^(s+1)|², s = 6 down to 2, and |f^(7)|²
    with h itself (Botev, Grotowski and Kroese 2010, Ann. Statist. 38, algorithm 1, eqs. 29 and 30). The estimates are
    made on the line, without the walls of a cosine transform, in units of the sample's range: h goes with the data
    under every shift and scaling. Of several fixed points the largest; two or three rows may have none, and then h is
    the largest reasonable one (Terrell 1990). Where values repeat so often that the fixed point is at 0, a warning says
    so, and h is that of `sheather_jones`, or half the usual step between values. Cost: O(n), then some thousand terms a
    trial.

    >>> x = np.random.default_rng(0).standard_normal(1000)
    >>> round(isj(x), 2), abs(isj(1000.0 * x) / isj(x) - 1000.0) < 1e-7
    (0.28, True)
    """
    sample = sample_of(x, weight)
    most = 1.144 * sample.scale * sample.n**-0.2
    finest = most / 4.0
    while True:
        waves = sample.waves(finest, 8.0 * sample.scale * sample.n**-0.2)
        h = largest_root(partial(_excess, sample=sample, waves=waves), 2.0 * most, 2.0 * sample.deviation) or most
        if h < SUSPICIOUS * most and h < _least(sample):
            warnings.warn(
                "x has many equal values, for which the fixed point of rule 'isj' is at 0; the bandwidth is that of "
                "'sheather-jones', or half the usual step from value to value if that is more. Rounded values want a "
                "bandwidth above their step: give one as a number.",
                DataWarning,
                stacklevel=3,
            )
            return max(sheather_jones(x, weight), sample.span * _least(sample))
        if waves.serves(h, finest):
            return sample.span * h
        finest = 0.8 * h


def _least(sample: Sample) -> float:
    """Half the usual distance from a value to the next where values repeat; a smaller h sees them one by one."""
    points, _ = sample.values
    return 0.5 * float(np.median(np.diff(points))) if points.size < sample.points.size else 0.0


def _excess(h: float, sample: Sample, waves: Waves) -> float:
    """h less what the chain of estimates that starts from it makes of it; infinite where h smooths everything away."""
    n, t = sample.n, h * h
    for s in range(STAGES - 1, 1, -1):
        odd = math.prod(range(1, 2 * s, 2)) / math.sqrt(2.0 * math.pi)
        best = (1.0 + 0.5 ** (s + 0.5)) / 3.0 * 2.0 * odd / n
        roughness = waves.pair_sum(s + 1, t) / n**2
        if roughness == 0.0:
            return math.inf
        t = (best / roughness) ** (2.0 / (3.0 + 2.0 * s))
    roughness = waves.pair_sum(2, t) / n**2
    return h - (2.0 * math.sqrt(math.pi) * n * roughness) ** -0.2 if roughness > 0.0 else math.inf
