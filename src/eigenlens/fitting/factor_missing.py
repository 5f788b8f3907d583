"""Factor analysis of rows with missing entries: the exact likelihood of what is observed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.memory import Mapped
from eigenlens.data.source import Source
from eigenlens.fitting.correlations import correlations_of
from eigenlens.fitting.factor_profile import profile_at
from eigenlens.fitting.factor_solvers import SOLVERS, FactorOptions, canonical_factors, starts_of, until_interrupted
from eigenlens.fitting.latent import LatentFit
from eigenlens.fitting.missing import fit_observed
from eigenlens.linalg.operators import CentredRows
from eigenlens.models.linear_gaussian import LinearGaussian
from eigenlens.stats.observed import ObservedColumns

__all__ = ["fit_gaps"]

GAP_START = 0.05
"""The least uniqueness to start from where entries are missing: EM leaves very small ones slowly."""


def fit_gaps(source: Source, k: int, observed: ObservedColumns, options: FactorOptions) -> LatentFit:
    """Maximum likelihood of the observed entries by EM, from the factors of rows filled with means."""
    variance = observed.square / observed.weight
    starts = _gap_starts(source, k, observed, options)
    found = until_interrupted(_climb_gaps(source, start, observed, options) for start in starts)
    best = max(found, key=lambda each: each.loglik)
    scale = np.sqrt(variance) if options.standardize else np.ones(len(variance))
    return replace(best, model=canonical_factors(best.model, scale))


def _climb_gaps(source: Source, start: LinearGaussian, observed: ObservedColumns, options: FactorOptions) -> LatentFit:
    found = fit_observed(
        source, start, noise="diagonal", tol=options.tol**2, max_iter=options.max_iter, floor=options.floor,
        observed=observed, progress=options.progress,
    )  # fmt: skip
    return LatentFit(
        found.model, found.path[-1], found.path, len(found.path), found.converged, found.gap, found.weight, found.rows,
        None, "X has missing entries", "em", found.interrupted, len(found.path) + 3,
    )  # fmt: skip


def _gap_starts(source: Source, k: int, observed: ObservedColumns, options: FactorOptions) -> list[LinearGaussian]:
    filled = CentredRows(Mapped(source, partial(_filled, mean=observed.mean)), standardize=True)
    correlations, _ = correlations_of(filled)
    first, *others = starts_of(correlations, k, options)
    near = SOLVERS["quasi-newton"](correlations, k, first, replace(options, floor=GAP_START, tol=1e-3)).uniquenesses
    root = np.sqrt(observed.square / observed.weight)
    return [
        LinearGaussian(observed.mean, profile_at(correlations, k, np.log(psi)).loadings * root[:, None], psi * root**2)
        for psi in (near, *others)
    ]


def _filled(rows: Any, mean: Array) -> Array:
    values = dense(rows)
    return np.asarray(np.where(np.isnan(values), mean, values))
