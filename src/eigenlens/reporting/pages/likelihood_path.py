"""The likelihood path of an iteration: how far each step is from the end, from the start of the model and others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigenlens.arrays import Array
from eigenlens.reporting.charts import Chart, layer, marks

ROUNDING = 1e-12
"""Differences below this share of the log-likelihood are rounding."""


def likelihood_path_chart(path: Array, others: Sequence[Array] = (), words: str = "") -> list[Chart]:
    """Return how far the log-likelihood after each step is below the largest that was found, on a log scale.

    others: the paths of further starts, each alone; words: what these are. No chart for a path of a single step.
    """
    if len(path) < 2:
        return []
    best = max(float(each.max()) for each in (path, *others) if len(each))
    lines = [_below(each, best) for each in others]
    layers = [layer("line", "other starts" * (i == 0), x=x, y=y, colour="grey") for i, (x, y) in enumerate(lines)]
    x, y = _below(path, best)
    layers += [layer("line", "this model", x=x, y=y, colour="blue"), layer("dot", x=x, y=y, colour="blue")]
    if not any(np.isfinite(each).any() for each in (y, *(y for _, y in lines))):
        return []
    largest = f"{best:.7g}".replace("-", "−")
    about = f"How far below the largest value, {largest}, each step is: a straight line is steady progress."
    if others:
        ends = np.array([path[-1], *(each[-1] for each in others)])
        near = int(np.count_nonzero(best - ends <= MUCH))
        about += (
            f" {words} {near} of {len(ends)} starts end within {MUCH:g} of it; those that end above are local maxima."
        )
        lost = best - float(path[-1])
        about += f" This model is one of them, {lost:.3g} below: give it more starts (n_init)." if lost > MUCH else ""
    up = {"label": "log-likelihood below the best", "type": "log"}
    return [marks("Likelihood path", *layers, about=about, x="step", y=up)]


MUCH = 0.01
"""A difference of log-likelihoods that does not matter."""


def _below(path: Array, best: float) -> tuple[Array, Array]:
    """Return steps and distances from the best, NaN where they are rounding: a log scale has no zero."""
    distance = best - path
    floor = ROUNDING * max(1.0, abs(best))
    return np.arange(1, len(path) + 1), np.where(distance > floor, distance, np.nan)
