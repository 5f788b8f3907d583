"""Factor analysis of rows with missing entries: the exact likelihood of what is observed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.memory import MappedSource
from eigenlens.data.source import Source
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.correlation_operator import correlations_of
from eigenlens.latent.factor.profile_likelihood import profile_at
from eigenlens.latent.factor.solvers import SOLVERS, FactorOptions, canonical_factors, starts_of
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.fit import fit_best, further_starts
from eigenlens.missing.result import LatentFit
from eigenlens.stats.moments import ColumnMoments

__all__ = ["fit_gaps"]

GAP_START = 0.05
"""The least uniqueness to start from where entries are missing: EM leaves very small ones slowly."""


def fit_gaps(source: Source, k: int, observed: ColumnMoments, options: FactorOptions) -> LatentFit:
    """Maximum likelihood of the observed entries, from the factors of rows filled with means and from other starts."""
    starts, others = _gap_starts(source, k, observed, options)
    found = fit_best(
        source, starts, others, noise="diagonal", tol=options.tol**2, max_iter=options.max_iter, floor=options.floor,
        observed=observed, progress=options.progress,
    )  # fmt: skip
    scale = np.sqrt(observed.square / observed.weight) if options.standardize else np.ones(source.n_features)
    return LatentFit(
        canonical_factors(found.model, scale), found.path[-1], found.path, len(found.path), found.converged, found.gap,
        found.weight, found.rows, None, "X has missing entries", "em", found.interrupted, found.passes + 2,
        ended=found.ended,
    )  # fmt: skip


def _gap_starts(
    source: Source, k: int, observed: ColumnMoments, options: FactorOptions
) -> tuple[list[LinearGaussian], list[LinearGaussian]]:
    """Models to start from, and more of them for where these leave doubt about the highest maximum."""
    filled = CentredRows(MappedSource(source, partial(_filled, mean=observed.mean)), standardize=True)
    correlations, _ = correlations_of(filled)
    first, *others = starts_of(correlations, k, options)
    near = SOLVERS["quasi-newton"](correlations, k, first, replace(options, floor=GAP_START, tol=1e-3)).uniquenesses
    root = np.sqrt(observed.square / observed.weight)
    rng, d = np.random.default_rng(0), correlations.size
    more = [rng.uniform(0.05, 0.95, d) for _ in range(further_starts(observed, k))]

    def model(psi: Array) -> LinearGaussian:
        W = profile_at(correlations, k, np.log(psi)).loadings
        return LinearGaussian(observed.mean, W * root[:, None], psi * root**2)

    return [model(psi) for psi in (near, *others)], [model(psi) for psi in more]


def _filled(rows: Any, mean: Array) -> Array:
    values = dense(rows)
    return np.asarray(np.where(np.isnan(values), mean, values))
