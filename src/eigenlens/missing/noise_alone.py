"""Latent Gaussians without a latent dimension: independent columns, with one variance or one each."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block, Source, accumulate
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
    rows, weight = accumulate(source, _rows_with_entries) if np.any(moments.missing) else (moments.rows, moments.weight)
    model = LinearGaussian(moments.mean, np.zeros((d, 0)), float(noise) if shared else noise)
    return LatentFit(
        model, loglik, (loglik,), 1, True, 0.0, float(weight), int(rows), None, "no latent dimension", "closed-form",
        passes=1,
    )  # fmt: skip


def _rows_with_entries(block: Block) -> Array:
    """Return the number of rows of positive weight with an observed entry, and their weight."""
    seen = np.asarray(~np.isnan(dense(block.rows)).all(axis=1))
    w = np.ones(seen.size) if block.weight is None else block.weight
    return np.array([np.count_nonzero(seen & (w > 0.0)), w[seen].sum()])
