"""The fit without latent dimensions: x = mu + e, noise of one variance, also of incomplete rows."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.result import LatentFit, check_constant_columns
from eigenlens.stats.moments import ColumnMoments


def fit_noise_alone(source: Source, moments: ColumnMoments) -> LatentFit:
    """Return the fit of independent columns with one variance: the means, and the mean square about them.

    In closed form also for incomplete rows: sigma² = Σ (x − mean)² / N over the N observed entries.
    """
    constant, d = check_constant_columns(moments.mean, moments.square), moments.mean.size
    entries = float(np.sum(np.broadcast_to(moments.weight, (d,))))
    noise = float(moments.square.sum()) / entries
    loglik = -0.5 * entries * (np.log(2.0 * np.pi * noise) + 1.0)
    rows, weight = accumulate(source, _rows_with_entries) if np.any(moments.missing) else (moments.rows, moments.weight)
    return LatentFit(
        LinearGaussian(moments.mean, np.zeros((d, 0)), noise), loglik, (loglik,), 1, True, 0.0, float(weight),
        int(rows), None, "no latent dimension", "closed-form", passes=1, constant=constant,
    )  # fmt: skip


def _rows_with_entries(block: Block) -> Array:
    """Return the number of rows of positive weight with an observed entry, and their weight."""
    seen = np.asarray(~np.isnan(dense(block.rows)).all(axis=1))
    w = np.ones(seen.size) if block.weight is None else block.weight
    return np.array([np.count_nonzero(seen & (w > 0.0)), w[seen].sum()])
