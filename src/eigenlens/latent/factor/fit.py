"""Factor analysis by maximum likelihood: x = W z + mu + e with e ~ N(0, Psi), Psi diagonal.

The maximum does not depend on the units of the columns, so all computations use correlations; the model is returned in
the units of the rows. Incomplete rows are fitted by the exact likelihood of their observed entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import MappedSource
from eigenlens.data.rows import row_count
from eigenlens.data.source import Source
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.covariance_matrix import correlations_from_covariance
from eigenlens.latent.factor.correlation_operator import Correlations, DenseCorrelations, choose_correlations
from eigenlens.latent.factor.goodness_of_fit import max_factors
from eigenlens.latent.factor.profile_likelihood import FactorOptions, profile_point
from eigenlens.latent.factor.solvers import (
    FACTOR_SOLVERS,
    LEAST_SQUARES_SOLVERS,
    canonical_factors,
    first_starts,
    minimise_from_starts,
    principal_factors,
    random_uniquenesses,
)
from eigenlens.latent.n_components import DimensionChoice, choose_by_bic, choose_by_partial_correlations
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.fit import fit_incomplete_rows, more_start_count
from eigenlens.missing.noise_alone import fit_noise
from eigenlens.missing.result import (
    LatentFit,
    complete_or_observed,
    constant_column_indices,
    fill_with_mean,
    needs_complete_rows,
)
from eigenlens.stats.moments import ColumnMoments, Moments

MIN_START_UNIQUENESS = 0.05
"""The smallest uniqueness to start from where entries are missing: EM leaves very small ones slowly."""

Models = list[LinearGaussian]


def fit_factor(source: Source, k: int, *, solver: str = "auto", **options: Any) -> LatentFit:
    """Fit k factors to the rows of a source; NaN is missing. The options are those of `FactorOptions`.

    | solver       | complete rows                                        | rows with NaN                |
    |--------------|------------------------------------------------------|------------------------------|
    | auto         | quasi-newton                                         | em                           |
    | quasi-newton | the profile likelihood in Psi, from one pass         | an error                     |
    | em           | expectation-maximisation on the correlation matrix   | that of the observed entries |
    | minres       | least squares of the correlations, by L-BFGS         | an error                     |
    | principal-axis | the same by iterated principal axes                | an error                     |

    Beyond (d − k)² ≥ d + k the fit is not unique: there are fewer correlations than parameters. Loadings have their
    canonical form: Wᵀ Psi⁻¹ W, or WᵀW of correlations for least squares, is diagonal and descends, with the signs of
    `linalg.spectrum.orient`.

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
    """Yield the fits for several numbers of factors, each made on request; complete rows are read once for all."""
    given: dict[str, Any] = {"counts": counts, "solver": solver, "settings": FactorOptions(**options)}
    yield from complete_or_observed(source, partial(_fit_each_complete, **given), partial(_fit_each_missing, **given))


def _fit_each_complete(
    source: Source, counts: Sequence[int], solver: str, settings: FactorOptions
) -> Iterator[LatentFit]:
    rows = CentredRows(source, standardize=True, progress=settings.progress)
    correlations, reason = choose_correlations(rows)
    columns = rows.columns
    variance = columns.square / columns.weight
    _require_variance(variance, columns.mean, source.names)

    def fit(k: int) -> LatentFit:
        found = _fit(correlations, columns.mean, variance, columns.weight, k, solver, settings)
        return replace(found, rows=rows.n_rows, moments=rows.known_moments, reason=reason, passes=rows.passes)

    return map(fit, _feasible(counts, rows.n_rows))  # rows are read here, so that missing values show before a fit


def _fit_each_missing(
    source: Source, observed: ColumnMoments, counts: Sequence[int], solver: str, settings: FactorOptions
) -> Iterator[LatentFit]:
    if solver not in ("auto", "em"):
        raise needs_complete_rows(solver)
    _require_variance(observed.square / observed.weight, observed.mean, source.names)
    for k in _feasible(counts, row_count(source)):
        yield _fit_missing(source, k, observed, settings) if k else fit_noise(source, observed, shared=False)


def _feasible(counts: Sequence[int], n: int) -> Iterator[int]:
    """Yield the numbers of factors that n rows can have; the first must be one of them.

    The others need not: a fold of few rows ends early.
    """
    for k in counts:
        if k != counts[0] and k > n - 2:
            return
        _require_rows(k, n)
        yield k


def fit_factor_covariance(
    S: Array,
    n: float,
    k: int,
    *,
    mean: Array | None = None,
    names: tuple[str, ...] | None = None,
    solver: str = "auto",
    **options: Any,
) -> LatentFit:
    """Fit k factors to a covariance or correlation matrix S (d, d) of n rows with this mean (d,), or 0.

    The divisor of S does not matter for loadings of correlations, and is n for the log-likelihood. Where S is singular,
    the floor under the uniquenesses is what keeps the likelihood finite.

    >>> R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
    >>> fit_factor_covariance(R, 100, 1).model.loadings.ravel().round(4)
    array([0.8000, 0.7000, 0.6000])
    """
    S = np.asarray(S, dtype=np.float64)
    R = correlations_from_covariance(S, names)
    _require_rows(k, round(n))
    mu = np.zeros(len(S)) if mean is None else np.asarray(mean, dtype=np.float64)
    fit = _fit(DenseCorrelations(R), mu, S.diagonal().copy(), float(n), k, solver, FactorOptions(**options))
    return replace(fit, rows=round(n), moments=Moments(float(n), mu, S * n, round(n)), reason="of a covariance matrix")


def choose_covariance_factors(
    S: Array, n: float, rule: str, source: Source, options: dict[str, Any]
) -> DimensionChoice:
    """Choose the number of factors of a covariance matrix S (d, d) of n rows by a rule that needs no rows."""
    if rule not in COVARIANCE_RULES:
        fix = f"give a number, {' or '.join(map(repr, COVARIANCE_RULES))}"
        raise OptionError("needs the rows themselves", argument="n_components", value=rule, fix=fix)
    most = max(1, min(max_factors(len(S)), round(n) - 2))
    fit = partial(fit_factor_covariance, S, n, **options)
    return COVARIANCE_RULES[rule](fit, S, source, range(1, most + 1), options["rng"])


FitFactors = Callable[[int], LatentFit]
"""From a number of factors to the fit of a covariance matrix."""


def _choose_by_bic(
    fit: FitFactors, S: Array, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    return choose_by_bic(lambda _, wanted: map(fit, wanted), source, counts, rng)


def _choose_by_map(
    fit: FitFactors, S: Array, source: Source, counts: Sequence[int], rng: np.random.Generator
) -> DimensionChoice:
    choice = choose_by_partial_correlations(correlations_from_covariance(S), counts)
    return replace(choice, fit=fit(choice.k))


COVARIANCE_RULES = {"bic": _choose_by_bic, "map": _choose_by_map}
"""The rules for the number of factors that need a covariance matrix alone, by name."""


def _fit(
    correlations: Correlations, mean: Array, variance: Array, n: float, k: int, solver: str, options: FactorOptions
) -> LatentFit:
    """Return the fit of the best of several starts, in the units of the rows."""
    solver = "quasi-newton" if solver == "auto" else solver
    scale, d = np.sqrt(variance), variance.size
    constant = d * np.log(2.0 * np.pi) + float(np.log(variance).sum())

    def loglik(f: float) -> float:
        return float(-0.5 * n * (constant + f))

    note, lead = _progress_note(options, solver, loglik), 1.0 / variance
    found = minimise_from_starts(correlations, k, solver, replace(options, note=note, lead=lead))
    path = tuple(map(loglik, found.path))
    model = LinearGaussian(mean, found.loadings * scale[:, None], found.uniquenesses * variance)
    signs = scale if options.standardize else np.ones(d)
    if solver in LEAST_SQUARES_SOLVERS:
        model = principal_factors(model, scale, signs)
    else:
        model = canonical_factors(model, signs)
    return LatentFit(
        model, path[-1], path, len(path), found.converged, found.residual, n, 0, solver=solver,
        interrupted=found.interrupted, ended=found.ended,
    )  # fmt: skip


PROGRESS_NAMES = {"quasi-newton": "quasi-Newton", "em": "EM", "minres": "minres", "principal-axis": "principal axes"}
"""The names of the solvers in progress reports."""


def _progress_note(
    options: FactorOptions, solver: str, loglik: Callable[[float], float]
) -> Callable[[int, float], None]:
    """Return a function that reports the best log-likelihood so far, whichever start it is from."""
    best = np.inf

    def note(step: int, f: float) -> None:
        nonlocal best
        best = min(best, f)
        if options.progress is not None:
            what = f"{PROGRESS_NAMES.get(solver, solver)}: step {step}, log-likelihood {loglik(best):.8g}"
            options.progress(step, options.max_iter, what)

    return note


# ---- missing entries --------------------------------------------------------------------------------------


def _fit_missing(source: Source, k: int, observed: ColumnMoments, options: FactorOptions) -> LatentFit:
    """Fit k factors to the observed entries, from the factors of rows filled with means and from other starts."""
    starts, others = _starting_models(source, k, observed, options)
    found = fit_incomplete_rows(
        source, starts, others, noise="diagonal", tol=options.tol**2, max_iter=options.max_iter, floor=options.floor,
        observed=observed, progress=options.progress,
    )  # fmt: skip
    scale = np.sqrt(observed.square / observed.weight) if options.standardize else np.ones(source.n_features)
    return replace(found, model=canonical_factors(found.model, scale), passes=found.passes + 2)


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


# ---- checks of the data -----------------------------------------------------------------------------------


def _require_variance(variance: Array, mean: Array, names: tuple[str, ...] | None) -> None:
    """Raise an error for a constant column: the density of its rows would be infinite."""
    constant = constant_column_indices(mean, variance)
    if constant:
        columns = [names[j] if names else str(j) for j in constant]
        name = repr(columns[0]) if names else columns[0]
        others = f" (and {len(constant) - 1} more)" if len(constant) > 1 else ""
        what = f"column {name} of X is constant{others}, so its uniqueness would be 0 and the likelihood has no maximum"
        raise DataError(what, columns=columns, fix="leave it out", settings={"drop": columns})


def _require_rows(k: int, n: int) -> None:
    if k > n - 2:
        what = (
            f"must be at most {n - 2}, two less than the number of rows, {n}: more factors explain the rows "
            "without error, and the likelihood has no maximum"
        )
        raise OptionError(what, argument="n_components", value=k)
