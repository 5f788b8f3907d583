"""Factor analysis of incomplete rows, by the exact likelihood of their observed entries."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import MappedSource
from eigenlens.data.source import Source
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.correlation_operator import choose_correlations
from eigenlens.latent.factor.profile_likelihood import profile_point
from eigenlens.latent.factor.solvers import FACTOR_SOLVERS, FactorOptions, canonical_factors, first_starts
from eigenlens.latent.factor.starts import random_uniquenesses
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.fit import fit_incomplete_rows, more_start_count
from eigenlens.missing.result import LatentFit, fill_with_mean
from eigenlens.stats.moments import ColumnMoments

MIN_START_UNIQUENESS = 0.05
"""The smallest uniqueness to start from where entries are missing: EM leaves very small ones slowly."""

Models = list[LinearGaussian]


def fit_factor_missing(source: Source, k: int, observed: ColumnMoments, options: FactorOptions) -> LatentFit:
    """Fit k factors to the observed entries, from the factors of rows filled with means and from other starts."""
    starts, others = _starting_models(source, k, observed, options)
    found = fit_incomplete_rows(
        source, starts, others, noise="diagonal", tol=options.tol**2, max_iter=options.max_iter, floor=options.floor,
        observed=observed, progress=options.progress,
    )  # fmt: skip
    scale = np.sqrt(observed.square / observed.weight) if options.standardize else np.ones(source.n_features)
    return LatentFit(
        canonical_factors(found.model, scale), found.path[-1], found.path, len(found.path), found.converged,
        found.remaining_gain, found.weight, found.rows, None, "X has missing entries", "em", found.interrupted,
        found.passes + 2, ended=found.ended,
    )  # fmt: skip


def _starting_models(source: Source, k: int, observed: ColumnMoments, options: FactorOptions) -> tuple[Models, Models]:
    """Return models to start from, and more of them for where these leave doubt about the highest maximum."""
    filled = CentredRows(MappedSource(source, partial(fill_with_mean, mean=observed.mean)), standardize=True)
    correlations, _ = choose_correlations(filled)
    first, *others = first_starts(correlations, k, options)
    rough = replace(options, floor=MIN_START_UNIQUENESS, tol=1e-3)
    near = FACTOR_SOLVERS["quasi-newton"](correlations, k, first, rough).uniquenesses
    root = np.sqrt(observed.square / observed.weight)
    rng, d = np.random.default_rng(0), correlations.size
    more = [random_uniquenesses(rng, d) for _ in range(more_start_count(observed, k))]

    def model(psi: Array) -> LinearGaussian:
        W = profile_point(correlations, k, np.log(psi)).loadings
        return LinearGaussian(observed.mean, W * root[:, None], psi * root**2)

    return [model(psi) for psi in (near, *others)], [model(psi) for psi in more]
