"""Principal components of incomplete rows, by maximum likelihood of the observed entries."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import require_finite
from eigenlens.data.memory import ArraySource, MappedSource
from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.solve import orthonormal_complement
from eigenlens.linalg.spectrum import Outcome, Spectrum, orient
from eigenlens.missing.fit import fit_incomplete_rows, random_starts
from eigenlens.missing.noise_alone import fit_noise
from eigenlens.missing.result import LatentFit, divide_columns, fill_with_mean, require_observed_columns
from eigenlens.pca.fit import (
    PCAFit,
    PCAOptions,
    fit_pca,
    principal_components,
    requested_components,
    weighted_row_count,
)
from eigenlens.pca.model import PrincipalComponents
from eigenlens.stats.moments import ColumnMoments


def fit_pca_missing(source: Source, n_components: Any, options: PCAOptions, progress: Progress | None = None) -> PCAFit:
    """Return principal components by maximum likelihood of the observed entries; NaN is missing.

    The model is probabilistic PCA; its covariance, with the divisor Σw − 1 of an ordinary fit, has these components. An
    integer n_components is the number of latent dimensions; a share or a rule is applied to the spectrum of the
    saturated model (d − 1 of them). Without missing values it is the ordinary fit.
    """
    with np.errstate(all="ignore"):  # infinities show in the result, and are explained then
        observed = accumulate(source, ColumnMoments.of_observed, progress, "observed entries")
    if not observed.missing.any():
        return fit_pca(source, n_components, options, progress)
    _require_columns(observed, source)
    scale = _observed_scale(observed) if options.standardize else np.ones(source.n_features)
    if options.feature_weight is not None:
        scale = scale / np.sqrt(options.feature_weight)
    scaled = MappedSource(source, partial(divide_columns, scale=scale))
    filled = CentredRows(MappedSource(source, partial(_fill, mean=observed.mean, scale=scale)))
    limit = min(weighted_row_count(source), filled.size)
    if filled.size == 1:
        return _one_column(source, n_components, replace(options, solver="auto"))
    moments = replace(observed, mean=observed.mean / scale, square=observed.square / scale**2)
    if n_components == 0:
        return _from_likelihood(fit_noise(scaled, moments, shared=True), filled, 0, scale)
    k = n_components if isinstance(n_components, int) else limit
    k = max(1, min(k, filled.size - 1, limit - 1))
    first = principal_components(filled, k, "auto", options.tol, options.rng).model
    start = first.gaussian(floor=1e-6)
    begin = LinearGaussian(start.mean, start.loadings, float(np.mean(start.noise)))
    found = fit_incomplete_rows(scaled, [begin, *random_starts(moments, k)], observed=moments, progress=progress)
    return _from_likelihood(found, filled, n_components, scale)


def _one_column(source: Source, n_components: Any, options: PCAOptions) -> PCAFit:
    """Fit the observed entries of a single column: there is no other to learn from."""
    values = np.concatenate([dense(rows)[:, 0] for rows in source.rows()])
    seen = ~np.isnan(values)
    weight = None if source.weight is None else source.weight[seen]
    observed = ArraySource(values[seen][:, None], names=source.names).weighted(weight)
    return replace(fit_pca(observed, n_components, options), moments=None)


def _from_likelihood(fit: LatentFit, filled: CentredRows, n_components: Any, scale: Array) -> PCAFit:
    """Return the components of the fitted covariance W Wᵀ + σ² I, with its divisor changed from Σw to Σw − 1."""
    weight = fit.weight
    factor = weight / (weight - 1.0)
    U, s, _ = np.linalg.svd(fit.model.loadings, full_matrices=False)
    noise = float(fit.model.noise) * factor
    values = s**2 * factor + noise
    total = float((s**2).sum() * factor + filled.size * noise)
    wanted = requested_components(filled, n_components, len(values), np.random.default_rng(0))
    spectrum_of_all = np.append(values, np.full(filled.size - len(values), noise))
    k = min(wanted.choose(spectrum_of_all, total) or len(values), len(values))
    outcome = Outcome("em", "X has missing values", filled.passes + fit.passes, len(fit.path), converged=fit.converged)
    if n_components == filled.size:  # the last axis is the one without a latent dimension
        U, values, k = np.column_stack([U, orthonormal_complement(U, 1)]), spectrum_of_all, filled.size
    spectrum = Spectrum(values[:k], orient(U[:, :k]), total, outcome)
    columns = (fit.model.loadings**2).sum(axis=1) * factor + noise
    mean, axes = fit.model.mean * scale, np.ascontiguousarray(spectrum.vectors.T)
    model = PrincipalComponents(mean, scale, axes, spectrum.values, total, columns, weight)
    return PCAFit(model, spectrum, filled, ended=fit.ended)


def _observed_scale(observed: ColumnMoments) -> Array:
    deviation = np.sqrt(observed.square / np.maximum(observed.weight - 1.0, 1.0))
    return np.where(deviation > 0.0, deviation, 1.0)


def _require_columns(observed: ColumnMoments, source: Source) -> None:
    require_finite(source, observed.square)
    require_observed_columns(observed, source)
    if not np.any(observed.square > 0.0):
        raise DataError("X has no variance: the observed entries of every column are equal, so there is nothing to fit")


def _fill(rows: Any, mean: Array, scale: Array) -> Array:
    return fill_with_mean(rows, mean) / scale
