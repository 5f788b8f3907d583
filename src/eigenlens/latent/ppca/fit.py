"""Probabilistic PCA by maximum likelihood: in closed form, by EM over any source, and with missing entries.

Covariances here have the divisor Σw of maximum likelihood, not the Σw − 1 of `pca.fit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource, MappedSource
from eigenlens.data.rows import few_rows_in_memory
from eigenlens.data.source import Progress, Source
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.covariance_matrix import GivenCovariance
from eigenlens.estimator.rows import rows_from_moments
from eigenlens.latent.n_components import DIMENSION_RULES, DimensionChoice
from eigenlens.latent.ppca.em import PPCAEMResult, products_and_rest, run_ppca_em
from eigenlens.latent.ppca.plain_em import PPCAStart, random_ppca_start, run_plain_em
from eigenlens.linalg.covariance import MAX_LAPACK_SIZE
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.solve import LOST_DIGITS, LOST_DIGITS_SINGLE
from eigenlens.missing.fit import fit_incomplete_rows, random_starts
from eigenlens.missing.noise_alone import fit_noise
from eigenlens.missing.result import (
    LatentFit,
    complete_or_observed,
    constant_column_indices,
    fill_with_mean,
    missing_or_reraise,
    needs_complete_rows,
    principal_form,
)
from eigenlens.missing.units import Units
from eigenlens.pca.fit import PCAFit, principal_components, weighted_row_count
from eigenlens.stats.moments import ColumnMoments
from eigenlens.tables.text_table import count_noun

ROUNDING_UNITS = 8.0
"""Residuals of no more than this many units in the last place of the rows are their rounding, not noise."""

MIN_TRACE_SHARE = 1e-4
"""The smallest share of the trace whose rest may be computed as a difference: it has twelve digits then."""

NO_NOISE_SHARE = 5e-12
"""With missing values, noise below this share of the mean variance counts as being at its floor, 1e-12 of it."""

HIGHER_FLOORS = (1e-8, 1e-10)
"""The likelihoods with these floors under the noise show whether there is any noise, and whether they are bounded."""

NEGLIGIBLE_GAIN = 1e-6
"""A gain of log-likelihood per row that does not matter."""

MAX_ENTRIES_AT_ONCE = 1 << 27
"""The largest number of entries of rows that are made dense at once (1 GiB)."""

MAX_COMPARED = 100
"""The largest number of dimensions that a rule tries on a covariance matrix."""

N_ROWS_INSPECTED = 64
"""The number of rows of an array that are searched for missing values before it is taken to be complete."""


@dataclass(frozen=True)
class _Options:
    tol: float = 1e-12
    max_iter: int = 1000
    rng: np.random.Generator | None = None
    progress: Progress | None = None
    thorough: bool = True
    init: PPCAStart | None = None

    @property
    def generator(self) -> np.random.Generator:
        return np.random.default_rng() if self.rng is None else self.rng


def fit_ppca(source: Source, k: int, *, solver: str = "auto", **options: Any) -> LatentFit:
    """Fit x = W z + mu + e with e ~ N(0, sigma² I) and k latent dimensions by maximum likelihood.

    | solver         | complete rows                                  | rows with NaN                                |
    |----------------|------------------------------------------------|----------------------------------------------|
    | auto           | closed-form                                    | em                                           |
    | closed-form    | W = U (L − sigma² I)^½, from one spectrum      | an error                                     |
    | em             | EM as it is taught, one pass per step          | EM of the observed entries, accelerated      |
    | accelerated-em | sigma² and lengths maximised in each step      | the same                                     |

    U and L are the leading eigenvectors and eigenvalues of the covariance S, and sigma² is the mean of the other d − k
    eigenvalues, by the trace (Tipping and Bishop 1999, eq. 7 and 8). NaN shows in the first pass of the closed form, so
    complete rows are never searched for it.

    Options: tol, the log-likelihood per entry that EM may fall short of its limit; max_iter; rng; progress; thorough,
    whether several starts are made with NaN, since there can be several maxima; init, the one that EM starts from.

    >>> from eigenlens.data.memory import ArraySource
    >>> X = np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> fit = fit_ppca(ArraySource(X), 1)
    >>> fit.model.noise, fit.model.loadings.ravel(), fit.solver
    (0.1875, array([1.346, 0.   , 0.   ]), 'closed-form')
    """
    if k == 0:
        return _noise_alone(source)
    return PPCA_SOLVERS[solver](source, k, _Options(**options))


def fit_each_ppca(
    source: Source, counts: Sequence[int], *, solver: str = "auto", **options: Any
) -> Iterator[LatentFit]:
    """Yield the fits for increasing numbers of latent dimensions, each made on request.

    In closed form one spectrum serves all. It ends early where more dimensions would leave no noise.
    """
    checked, spectrum = _Options(**options), None
    iterative = solver if solver in EM_SOLVERS else "em"
    if solver not in EM_SOLVERS:
        try:
            spectrum = _spectrum(source, counts[-1], checked)
        except DataError as error:
            source, observed = missing_or_reraise(source, error)
            if observed is not None and solver == "closed-form":
                raise needs_complete_rows(solver) from None
            spectrum = _spectrum(source, counts[-1], checked) if observed is None else None
    yield from _until_no_noise(
        fit_ppca(source, k, solver=iterative, **options) if spectrum is None else _from_spectrum(spectrum, k)
        for k in counts
    )


def fit_ppca_covariance(
    given: GivenCovariance, wanted: int | str, rng: np.random.Generator, *, standardize: bool = False
) -> tuple[LatentFit, DimensionChoice | None]:
    """Fit the wanted number of dimensions, or that of the smallest BIC, to a covariance matrix with divisor n."""
    units = None
    if standardize:
        units = Units.of(ColumnMoments(given.n, given.mean, given.S.diagonal() * given.n))
        given = given._replace(S=given.S / np.outer(units.scale, units.scale), mean=given.mean / units.scale)
    rows = rows_from_moments(given.moments(given.n))
    most = min(rows.size - 1, max(1, round(given.n) - 2), MAX_COMPARED)
    if isinstance(wanted, int):
        _require_rows(wanted, round(given.n))
    elif wanted != "bic":
        what = "needs the rows themselves"
        raise OptionError(what, argument="n_components", value=wanted, fix="give a number, or 'bic'")
    leading = _Leading.of(principal_components(rows, None, "covariance", 1e-9, rng), 0.0)

    def fit_each(source: Source, counts: Sequence[int]) -> Iterator[LatentFit]:
        found = (replace(_from_spectrum(leading, k), reason="of a covariance matrix", moments=None) for k in counts)
        scaled = found if units is None else (fit.scaled(units.scale, units.log_scale) for fit in found)
        return _until_no_noise(scaled)

    if isinstance(wanted, int):
        return next(fit_each(rows.source, [wanted])), None
    choice = DIMENSION_RULES[wanted](fit_each, rows.source, range(1, most + 1), rng)
    assert choice.fit is not None
    return choice.fit, replace(choice, fit=None)


def _until_no_noise(fits: Iterator[LatentFit]) -> Iterator[LatentFit]:
    """Yield fits until one has too many dimensions to leave noise; the first must not."""
    first = next(fits)
    yield first
    try:
        yield from fits
    except OptionError:
        return


# ---- no latent dimension ----------------------------------------------------------------------------------


def _noise_alone(source: Source) -> LatentFit:
    return complete_or_observed(source, lambda rows: _fit_noise(rows, CentredRows(rows).columns), _fit_noise)


def _fit_noise(source: Source, moments: ColumnMoments) -> LatentFit:
    constant = _constant_columns(moments.mean, moments.square)
    return replace(fit_noise(source, moments, shared=True), constant=constant)


# ---- the closed form --------------------------------------------------------------------------------------


class _Leading(NamedTuple):
    """The leading eigenpairs of complete rows, and the sum of the other eigenvalues, all with PCA's divisor."""

    found: PCAFit
    rest: float
    constant: tuple[int, ...]

    @classmethod
    def of(cls, found: PCAFit, rest: float) -> _Leading:
        """Return them with the constant columns; at least one must vary."""
        return cls(found, rest, _constant_columns(found.model.mean, found.model.column_variances))


def _closed_form(source: Source, k: int, options: _Options) -> LatentFit:
    def observed(source: Source, moments: ColumnMoments) -> _Leading:
        raise needs_complete_rows("closed-form")

    leading = complete_or_observed(source, partial(_spectrum, k=k, options=options), observed)
    return replace(_from_spectrum(leading, k), reason="asked for")


def _spectrum(source: Source, k: int, options: _Options) -> _Leading:
    """Return the k leading eigenpairs and the rest of the trace.

    Where the rest is a small difference of large numbers, it is computed by another pass over the rows.
    """
    rows = CentredRows(few_rows_in_memory(source), progress=options.progress)
    found = principal_components(rows, k, "auto", 1e-9, options.generator)
    total = found.model.total
    leading = _Leading.of(found, total - float(found.model.variances.sum()))
    lost = LOST_DIGITS_SINGLE if rows.single_products else LOST_DIGITS
    if leading.rest > max(MIN_TRACE_SHARE, lost) * total:
        return leading
    if found.spectrum.outcome.solver != "svd" and _is_small(rows):
        found = principal_components(rows, k, "svd", 1e-9, options.generator)
    return leading._replace(found=found, rest=products_and_rest(rows, found.model.components.T)[1])


def _is_small(rows: CentredRows) -> bool:
    """Return whether "svd" is affordable: from a d×d triangle, or from all rows at once where they are fewer."""
    n, d = rows.n_rows, rows.size
    return min(n, d) <= MAX_LAPACK_SIZE and (n >= d or n * d <= MAX_ENTRIES_AT_ONCE)


def _from_spectrum(leading: _Leading, k: int) -> LatentFit:
    """Return the maximum from the k leading eigenvalues and the rest of the trace."""
    found, pca = leading.found, leading.found.model
    n, d, shrink = pca.weight, pca.mean.size, (pca.weight - 1.0) / pca.weight
    values = pca.variances[:k] * shrink
    rest = (leading.rest + float(pca.variances[k:].sum())) * shrink
    _require_noise(rest, values, pca.components[:k].T, found.rows)
    noise = rest / (d - k)
    W = pca.components[:k].T * np.sqrt(np.maximum(values - noise, 0.0))
    loglik = _largest_loglik(values, noise, d, n)
    return LatentFit(
        LinearGaussian(pca.mean, W, noise), loglik, (loglik,), 1, True, 0.0, n, found.rows.n_rows, found.moments,
        "X has no missing entries", "closed-form", passes=found.rows.passes,
        constant=leading.constant,
    )  # fmt: skip


def _largest_loglik(values: Array, noise: float, d: int, n: float) -> float:
    """Return the log-likelihood at its maximum, −n/2 (d log 2π + Σ log λ + (d − k) log sigma² + d)."""
    log_det = float(np.log(values).sum()) + (d - values.size) * np.log(noise)
    return float(-0.5 * n * (d * np.log(2.0 * np.pi) + log_det + d))


def truncated_ppca(fit: LatentFit, k: int) -> LatentFit:
    """Return the maximum with the k leading dimensions of a fit in closed form: the others' variances join the noise.

    >>> from eigenlens.data.memory import ArraySource
    >>> source = ArraySource(np.random.default_rng(0).standard_normal((50, 4)))
    >>> truncated, fitted = truncated_ppca(fit_ppca(source, 3), 1), fit_ppca(source, 1)
    >>> np.allclose(truncated.model.loadings, fitted.model.loadings), round(truncated.loglik - fitted.loglik, 9)
    (True, 0.0)
    """
    if fit.scale is not None:
        volume = fit.weight * float(np.log(fit.scale).sum())
        standardized = replace(fit.scaled(1.0 / fit.scale, -volume), scale=None)
        one_noise = replace(standardized.model, noise=float(np.mean(standardized.model.noise)))
        return truncated_ppca(replace(standardized, model=one_noise), k).scaled(fit.scale, volume)
    model, (d, most) = fit.model, fit.model.loadings.shape
    squares, noise = np.sum(model.loadings**2, axis=0), float(model.noise)
    values = squares + noise
    rest = noise * (d - most) + float(values[k:].sum())
    found = rest / (d - k)
    lengths = np.sqrt(np.maximum(values[:k] - found, 0.0) / np.where(squares[:k] > 0.0, squares[:k], 1.0))
    loglik = _largest_loglik(values[:k], found, d, fit.weight)
    kept = LinearGaussian(model.mean, model.loadings[:, :k] * lengths, found)
    return replace(fit, model=kept, loglik=loglik, path=(loglik,), floored=False)


def _require_noise(rest: float, values: Array, V: Array, rows: CentredRows) -> None:
    """Raise an error for rows that lie, up to rounding, in the space of the orthonormal V (d, k).

    Their density would be infinite.

    An entry x is stored to within eps |x|. Beyond V that amounts to a variance of eps² Σ_j (1 − Σ_l V_jl²) E x_j², with
    the eps of the rows, and computing the residuals in float64 adds eps² Σ_j E x_j².
    """
    square = rows.columns.mean**2 + rows.variances
    outside = np.maximum(1.0 - np.einsum("jl,jl->j", V, V), 0.0)
    stored, computed = (ROUNDING_UNITS * float(np.finfo(dtype).eps) for dtype in (rows.source.dtype, np.float64))
    rounding = stored**2 * float(square @ outside) + computed**2 * float(square.sum())
    if rest > rounding and np.all(values[-1:] > 0.0):
        return
    rank = int(np.count_nonzero(values > stored**2 * float(square.sum())))
    what = (
        f"keeps all the variance: the {rows.n_rows} rows fill only {rank} of {rows.size} dimensions, so "
        "the noise variance would be 0 and the likelihood has no maximum"
    )
    raise OptionError(what, argument="n_components", value=values.size, **_advise_fewer(rank))


def _advise_fewer(rank: int, more: str = "") -> dict[str, Any]:
    """Return the way out, and its settings, where the rows fill only so many dimensions."""
    few = "choose {n_components} or fewer" if rank > 1 else "more rows or other columns are needed"
    return {"fix": few + more, "settings": {"n_components": rank - 1} if rank > 1 else {}}


# ---- EM ---------------------------------------------------------------------------------------------------


def _em(source: Source, k: int, options: _Options, solver: str) -> LatentFit:
    given: dict[str, Any] = {"k": k, "options": options}
    complete = partial(_complete_em, **given, solver=solver)
    found = complete_or_observed(source, complete, partial(_observed_em, **given))
    return replace(found, reason="asked for")


def _run_plain(rows: CentredRows, k: int, options: _Options) -> PPCAEMResult:
    trace = rows.trace * rows.divisor / rows.columns.weight
    start = options.init or random_ppca_start(trace, rows.size, k, options.generator)
    return run_plain_em(rows, start, options.tol, options.max_iter, options.progress)


def _run_accelerated(rows: CentredRows, k: int, options: _Options) -> PPCAEMResult:
    W = options.generator.standard_normal((rows.size, k)) if options.init is None else options.init.loadings
    return run_ppca_em(rows, np.linalg.qr(W)[0], options.tol, options.max_iter, options.progress)


EM_SOLVERS = {"em": _run_plain, "accelerated-em": _run_accelerated}
"""Iterations for complete rows, by the name of the solver."""


def _complete_em(source: Source, k: int, options: _Options, solver: str) -> LatentFit:
    rows = CentredRows(source, progress=options.progress)
    mean, n, d = rows.columns.mean, rows.columns.weight, rows.size
    _require_rows(k, rows.n_rows)
    constant = _constant_columns(mean, rows.variances)
    found = EM_SOLVERS[solver](rows, k, options)
    model = principal_form(LinearGaussian(mean, found.loadings, found.noise))
    lengths = np.linalg.norm(model.loadings, axis=0)
    axes = model.loadings / np.where(lengths > 0.0, lengths, 1.0)
    _require_noise(found.rest, lengths**2 + found.noise, axes, rows)
    return LatentFit(
        model, found.path[-1], found.path, len(found.path), found.converged, found.remaining_gain / (n * d), n,
        rows.n_rows, None, "", solver, found.ended == "interrupted", rows.passes, constant, found.ended,
    )  # fmt: skip


def _constant_columns(mean: Array, variance: Array) -> tuple[int, ...]:
    """Return the indices of the constant columns, of which at least one must vary."""
    constant = constant_column_indices(mean, variance)
    if len(constant) == variance.size:
        raise DataError("X has no variance: every column is constant, so there is nothing to model")
    return constant


def _require_rows(k: int, n: int) -> None:
    if n < 3:
        what = f"has {count_noun(n, 'sample')}, but at least 3 rows are needed"
        raise DataError(f"{what}, or nothing is left for the noise", argument="X", fix="give more rows")
    if k > n - 2:
        what = (
            f"must be at most {n - 2}, two less than the number of rows, {n}: with more, nothing is left for the noise"
        )
        raise OptionError(what, argument="n_components", value=k)


# ---- missing entries --------------------------------------------------------------------------------------


def _auto(source: Source, k: int, options: _Options) -> LatentFit:
    def complete(source: Source) -> LatentFit:
        if _is_plainly_incomplete(source):
            raise needs_complete_rows("closed-form")
        return _from_spectrum(_spectrum(source, k, options), k)

    return complete_or_observed(source, complete, partial(_observed_em, k=k, options=options))


def _is_plainly_incomplete(source: Source) -> bool:
    """Return whether some of the rows of an array have missing values: then the closed form need not be tried."""
    if not isinstance(source, ArraySource) or source.array.dtype.kind != "f":
        return False
    return bool(np.isnan(source.array[:: max(1, len(source.array) // N_ROWS_INSPECTED)]).any())


def _observed_em(source: Source, observed: ColumnMoments, k: int, options: _Options) -> LatentFit:
    """Maximise the likelihood of the observed entries, from the principal components of rows filled with means."""
    _require_rows(k, weighted_row_count(source))
    variances = observed.square / observed.weight
    constant = _constant_columns(observed.mean, variances)
    found = fit_incomplete_rows(
        source, _observed_starts(source, observed, k, options), tol=options.tol, max_iter=options.max_iter,
        observed=observed, progress=options.progress,
    )  # fmt: skip
    model, floored = principal_form(found.model), not _has_noise(found, source, observed)
    return replace(found, model=model, passes=found.passes + 4, constant=constant, floored=floored)


def _observed_starts(source: Source, observed: ColumnMoments, k: int, options: _Options) -> list[LinearGaussian]:
    """Return the models to start from: the one given, or else that of filled rows and, if thorough, random ones."""
    if options.init is not None:
        return [LinearGaussian(observed.mean, *options.init)]
    more = random_starts(observed, k) if options.thorough else []
    return [_mean_filled_start(source, k, observed.mean, options.generator), *more]


def _has_noise(result: LatentFit, source: Source, observed: ColumnMoments) -> bool:
    """Return whether there is noise above its floor; if not, raise an error unless the likelihood is bounded."""
    model, variance = result.model, float((observed.square / observed.weight).mean())
    if model.noise > HIGHER_FLOORS[0] * variance or result.interrupted:
        return True
    before, last = _gains_of_lower_floors(result, source, observed, variance)
    if before + last <= NEGLIGIBLE_GAIN * result.weight:
        return False
    if model.noise > NO_NOISE_SHARE * variance:
        return True
    if last <= max(before / 3.0, NEGLIGIBLE_GAIN * result.weight):
        return False
    values = (model.loadings**2).sum(axis=0)
    rank, (d, k) = int(np.count_nonzero(values > NO_NOISE_SHARE * variance)), model.loadings.shape
    what = (
        f"keeps all the variance: the observed entries of the {result.rows} rows fill only {rank} of {d} "
        f"dimensions, so the noise variance, {float(model.noise) / variance:.1e} of the mean variance, cannot be "
        f"distinguished from 0 (the bound is {NO_NOISE_SHARE:g}), where the likelihood has no maximum"
    )
    more = ", or divide columns of very different sizes by their standard deviations"
    raise OptionError(what, argument="n_components", value=k, **_advise_fewer(rank, more))


def _gains_of_lower_floors(
    result: LatentFit, source: Source, observed: ColumnMoments, variance: float
) -> tuple[float, float]:
    """Return the gains of log-likelihood as the floor under the noise falls, from one to the next, and to its own.

    An unbounded likelihood gains the same each time that the floor is divided by 100. A bounded one gains less and
    less, in proportion to the floor, since no row is then fitted without error.
    """
    model, values = result.model, list[float]()
    for floor in HIGHER_FLOORS:
        start = LinearGaussian(model.mean, model.loadings, max(float(model.noise), floor * variance))
        values.append(fit_incomplete_rows(source, [start], floor=floor, observed=observed).path[-1])
    before, last = np.diff([*values, result.path[-1]])
    return float(before), float(last)


def _mean_filled_start(source: Source, k: int, mean: Array, rng: np.random.Generator) -> LinearGaussian:
    """Return the model that EM starts from: the probabilistic PCA of rows with missing values replaced by `mean`."""
    filled: Source = MappedSource(source, partial(fill_with_mean, mean=mean))
    n, d = source.n_rows, source.n_features
    if (
        source.in_memory and n is not None and 2 * n <= d and n * d <= MAX_ENTRIES_AT_ONCE
    ):  # half of a d×d matrix at most
        filled = ArraySource(np.concatenate(list(filled.rows()))).weighted(source.weight)
    first = principal_components(CentredRows(filled), k, "auto", 1e-9, rng).model.gaussian(floor=1e-6)
    return LinearGaussian(first.mean, first.loadings, float(np.mean(first.noise)))


PPCA_SOLVERS: dict[str, Callable[[Source, int, _Options], LatentFit]] = {
    "auto": _auto,
    "closed-form": _closed_form,
    **{name: partial(_em, solver=name) for name in EM_SOLVERS},
}
"""Solvers of probabilistic PCA, by name."""
