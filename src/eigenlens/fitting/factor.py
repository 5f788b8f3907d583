"""Factor analysis by maximum likelihood: x = W z + mu + e with e ~ N(0, Psi), Psi diagonal.

The maximum does not depend on the units of the columns, so all the work is done on correlations; the model is returned
in the units of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.fitting.correlations import Correlations, DenseCorrelations, correlations_of
from eigenlens.fitting.factor_missing import fit_gaps
from eigenlens.fitting.factor_solvers import FactorOptions, best_climb, canonical_factors
from eigenlens.fitting.latent import LatentFit, observed_columns
from eigenlens.fitting.sampling import row_count
from eigenlens.linalg.operators import CentredRows
from eigenlens.models.linear_gaussian import LinearGaussian
from eigenlens.stats.moments import Moments
from eigenlens.stats.observed import ObservedColumns

__all__ = ["fit_each_factor", "fit_factor", "fit_factor_covariance"]


def fit_factor(source: Source, k: int, *, solver: str = "auto", **options: Any) -> LatentFit:
    """Factor analysis of the rows of a source with k factors; NaN is missing. Options: see `FactorOptions`.

    | solver       | complete rows                                        | rows with NaN                |
    |--------------|------------------------------------------------------|------------------------------|
    | auto         | quasi-newton                                         | em                           |
    | quasi-newton | the profile likelihood in Psi, from one pass         | refused                      |
    | em           | expectation-maximisation on the correlation matrix   | that of the observed entries |

    Beyond (d − k)² ≥ d + k the fit is not unique: there are fewer correlations than parameters. Loadings come in
    canonical form: Wᵀ Psi⁻¹ W is diagonal and descends, signs by `linalg.spectrum.orient`.

    >>> from eigenlens.data.memory import ArraySource
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((1000, 1))
    >>> X = z @ np.array([[2.0, 1.0, -1.0, 1.0]]) + rng.standard_normal((1000, 4)) * [1.0, 0.5, 1.0, 2.0]
    >>> fit = fit_factor(ArraySource(X), 1)
    >>> fit.model.loadings.ravel().round(1), np.sqrt(fit.model.noise).round(1)
    (array([ 1.9,  1. , -1. ,  1. ]), array([1. , 0.5, 1. , 2. ]))
    """
    return next(fit_each_factor(source, [k], solver=solver, **options))


def fit_each_factor(
    source: Source, counts: Sequence[int], *, solver: str = "auto", **options: Any
) -> Iterator[LatentFit]:
    """The fits for several numbers of factors, each made when it is asked for; complete rows are read once for all."""
    settings = FactorOptions(**options)
    rows = CentredRows(source, standardize=True, progress=settings.progress)
    try:
        correlations, reason = correlations_of(rows)
    except DataError as error:
        observed = _require_gaps(source, solver, error)
        _require_variance(observed.square / observed.weight, observed.mean, source.names)
        for k in counts:
            if k != counts[0] and k >= row_count(source) - 1:
                return  # a fold of few rows has no more to try
            _require_rows(k, row_count(source))
            yield fit_gaps(source, k, observed, settings)
        return
    columns = rows.columns
    variance = columns.square / columns.weight
    _require_variance(variance, columns.mean, source.names)
    name = "quasi-newton" if solver == "auto" else solver
    for k in counts:
        if k != counts[0] and k >= rows.n_rows - 1:
            return
        _require_rows(k, rows.n_rows)
        fit = _fit(correlations, columns.mean, variance, columns.weight, k, name, settings)
        yield replace(fit, rows=rows.n_rows, moments=rows.known_moments, reason=reason, passes=rows.passes)


def _require_gaps(source: Source, solver: str, error: DataError) -> ObservedColumns:
    """The moments of the observed entries, if gaps are what the error is about, and the solver can do with them."""
    observed = observed_columns(source)
    if not observed.missing.any():
        raise error
    if solver == "quasi-newton":
        raise DataError(
            "solver='quasi-newton' needs complete rows, but X has missing entries (NaN); use solver='auto' or 'em'."
        )
    return observed


def fit_factor_covariance(S: Array, n: float, k: int, *, solver: str = "auto", **options: Any) -> LatentFit:
    """Factor analysis of a covariance or correlation matrix S (d, d) of n rows; the mean of the model is 0.

    The divisor of S does not matter for loadings of correlations, and is n for the log-likelihood.

    >>> R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
    >>> fit_factor_covariance(R, 100, 1).model.loadings.ravel().round(4)
    array([0.8000, 0.7000, 0.6000])
    """
    S = np.asarray(S, dtype=np.float64)
    _require_covariance(S)
    variance = np.diag(S).copy()
    _require_variance(variance, np.zeros(len(S)), None)
    scale = np.sqrt(variance)
    correlations = DenseCorrelations((S + S.T) / (2.0 * np.outer(scale, scale)))
    name = "quasi-newton" if solver == "auto" else solver
    fit = _fit(correlations, np.zeros(len(S)), variance, float(n), k, name, FactorOptions(**options))
    return replace(fit, rows=round(n), moments=Moments(round(n), float(n), np.zeros(len(S)), S * n))


def _fit(
    correlations: Correlations, mean: Array, variance: Array, n: float, k: int, solver: str, options: FactorOptions
) -> LatentFit:
    """The best of several starts, in the units of the rows."""
    climb = best_climb(correlations, k, solver, options)
    scale, d = np.sqrt(variance), variance.size
    constant = d * np.log(2.0 * np.pi) + float(np.log(variance).sum())
    path = tuple(float(-0.5 * n * (constant + value)) for value in climb.path)
    psi = climb.uniquenesses
    model = LinearGaussian(mean, climb.loadings * scale[:, None], psi * variance)
    model = canonical_factors(model, scale if options.standardize else np.ones(d))
    return LatentFit(
        model, path[-1], path, len(path), climb.converged, climb.gap, n, 0, None, "", solver, climb.interrupted
    )


# ---- what may go in ---------------------------------------------------------------------------------------


def _require_variance(variance: Array, mean: Array, names: tuple[str, ...] | None) -> None:
    """Refuse a column that does not vary: the density of its rows would be infinite."""
    constant = np.flatnonzero(variance <= 1e-26 * mean**2)
    if constant.size:
        first = int(constant[0])
        name = repr(names[first]) if names else str(first)
        raise DataError(
            f"column {name} of X is constant (and {constant.size - 1} more), so its uniqueness would be 0 and the "
            "likelihood has no maximum; leave it out."
        )


def _require_rows(k: int, n: int) -> None:
    if k > n - 2:
        raise OptionError(
            f"n_components={k} must be at most {n - 2}, two less than the number of rows (n_samples={n}): more factors "
            "explain the rows without error, and the likelihood has no maximum."
        )


def _require_covariance(S: Array) -> None:
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.all(np.isfinite(S)):
        raise DataError(f"S has shape {S.shape}; it must be a square matrix of finite numbers.")
    size = float(np.abs(S).max(initial=0.0))
    if np.abs(S - S.T).max(initial=0.0) > 1e-8 * size:
        raise DataError("S is not symmetric; a covariance matrix is: use (S + S.T) / 2 if the difference is rounding.")
    least = float(np.linalg.eigvalsh(S)[0])
    if least < -1e-8 * size * len(S):
        raise DataError(
            f"S has the eigenvalue {least:.3g}, but a covariance matrix has none below 0 (correlations taken pair by "
            "pair from rows with gaps may have); fit the rows themselves, NaN where an entry is missing."
        )
