"""Latent Gaussians without a latent dimension: independent columns, with one variance or one each."""

from __future__ import annotations

import numpy as np

from eigenlens.data.source import Source, accumulate
from eigenlens.data.table import count_observed_rows
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.result import LatentFit
from eigenlens.stats.moments import ColumnMoments


def fit_noise(source: Source, moments: ColumnMoments, *, shared: bool) -> LatentFit:
    """Return the fit of independent columns, whose variance is shared by all, or one per column.

    In closed form also for incomplete rows: sigma² = Σ (x − mean)² / N over the N observed entries.
    """
    d = moments.mean.size
    entries = np.broadcast_to(moments.weight, (d,))
    noise = moments.square.sum() / entries.sum() if shared else moments.square / entries
    loglik = -0.5 * float(np.sum(entries * (np.log(2.0 * np.pi * noise) + 1.0)))
    rows, weight = moments.rows, moments.weight
    if np.any(moments.missing):
        rows, weight, _ = accumulate(source, count_observed_rows)
    model = LinearGaussian(moments.mean, np.zeros((d, 0)), float(noise) if shared else noise)
    return LatentFit(
        model, loglik, (loglik,), 1, True, 0.0, float(weight), int(rows), None, "no latent dimension", "closed-form",
        passes=1,
    )  # fmt: skip
