"""Probabilistic PCA by maximum likelihood: in closed form, by EM over any source, and with missing entries.

Covariances here have the divisor Σw of maximum likelihood, not the Σw − 1 of `fitting.pca`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.memory import Mapped
from eigenlens.data.source import Progress, Source
from eigenlens.errors import DataError, OptionError
from eigenlens.fitting.latent import LatentFit, canonical, constant_columns, observed_columns
from eigenlens.fitting.missing import fit_observed
from eigenlens.fitting.pca import PCAFit, principal_components, row_count
from eigenlens.fitting.ppca_em import iterate
from eigenlens.linalg.operators import CentredRows
from eigenlens.models.linear_gaussian import LinearGaussian
from eigenlens.stats.observed import ObservedColumns

__all__ = ["SOLVERS", "fit_each_ppca", "fit_ppca", "observed_start"]

NO_NOISE = {"complete": 1e-12, "observed": 1e-9}
"""Discarded variance below this share of the total is none, and then the likelihood has no maximum."""

NEEDS_COMPLETE = "solver='closed-form' needs complete rows, but X has missing entries (NaN); use solver='auto' or 'em'."


@dataclass(frozen=True)
class _Options:
    tol: float = 1e-12
    max_iter: int = 1000
    rng: np.random.Generator | None = None
    progress: Progress | None = None

    @property
    def generator(self) -> np.random.Generator:
        return np.random.default_rng() if self.rng is None else self.rng


def fit_ppca(source: Source, k: int, *, solver: str = "auto", **options: Any) -> LatentFit:
    """x = W z + mu + e with e ~ N(0, sigma² I) and k latent dimensions, by maximum likelihood.

    | solver      | complete rows                                 | rows with NaN                     |
    |-------------|-----------------------------------------------|-----------------------------------|
    | auto        | closed-form                                   | em                                |
    | closed-form | W = U (L − sigma² I)^½, from one spectrum     | refused                           |
    | em          | expectation-maximisation, a pass a step       | that of the observed entries      |

    U and L are the leading eigenvectors and eigenvalues of the covariance S, and sigma² is the mean of the other d − k
    eigenvalues, by the trace (Tipping and Bishop 1999, eq. 7 and 8). That there is NaN is found by the first pass of
    the closed form, so complete rows are never searched for it.

    Options: tol, the log-likelihood an entry that EM may be short of its limit; max_iter; rng; progress.

    >>> from eigenlens.data.memory import ArraySource
    >>> X = np.array([[2.0, 0.0, 0.0], [-2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> fit = fit_ppca(ArraySource(X), 1)
    >>> fit.model.noise, fit.model.loadings.ravel(), fit.solver
    (0.1875, array([1.346, 0.   , 0.   ]), 'closed-form')
    """
    return SOLVERS[solver](source, k, _Options(**options))


def fit_each_ppca(
    source: Source, counts: Sequence[int], *, solver: str = "auto", **options: Any
) -> Iterator[LatentFit]:
    """The fits for ascending numbers of latent dimensions, each made when it is asked for.

    In closed form one spectrum serves all. It ends early where more dimensions would leave no noise.
    """
    checked = _Options(**options)
    try:
        spectrum = None if solver == "em" else _spectrum(source, counts[-1], checked)
    except DataError as error:
        _require_gaps(source, error)
        if solver == "closed-form":
            raise DataError(NEEDS_COMPLETE) from None
        spectrum = None
    for i, k in enumerate(counts):
        try:
            yield fit_ppca(source, k, solver="em", **options) if spectrum is None else _from_spectrum(spectrum, k)
        except OptionError:
            if i == 0:
                raise
            return


# ---- the closed form --------------------------------------------------------------------------------------


def _closed_form(source: Source, k: int, options: _Options) -> LatentFit:
    try:
        return replace(_from_spectrum(_spectrum(source, k, options), k), reason="asked for")
    except DataError as error:
        _require_gaps(source, error)
        raise DataError(NEEDS_COMPLETE) from None


def _spectrum(source: Source, k: int, options: _Options) -> PCAFit:
    rows = CentredRows(source, progress=options.progress)
    return principal_components(rows, k, "auto", 1e-9, options.generator)


def _from_spectrum(found: PCAFit, k: int) -> LatentFit:
    """The maximum from the k leading of the eigenvalues found, and the trace."""
    pca, d = found.model, found.model.mean.size
    n, shrink = pca.weight, (pca.weight - 1.0) / pca.weight
    values, total = pca.variances[:k] * shrink, pca.total * shrink
    noise = (total - float(values.sum())) / (d - k)
    constant = constant_columns(pca.mean, pca.column_variances)
    _require_noise("complete", noise, 0.0 if len(constant) == d else total, values, d, found.rows.n_rows)
    W = pca.components[:k].T * np.sqrt(np.maximum(values - noise, 0.0))
    log_det = float(np.log(values).sum()) + (d - k) * np.log(noise)
    loglik = -0.5 * n * (d * np.log(2.0 * np.pi) + log_det + d)
    return LatentFit(
        LinearGaussian(pca.mean, W, noise), loglik, (loglik,), 1, True, 0.0, n, found.rows.n_rows, found.moments,
        "X has no missing entries", "closed-form", passes=found.rows.passes, constant=constant,
    )  # fmt: skip


def _require_noise(entries: str, noise: float, total: float, values: Array, d: int, n: int) -> None:
    """Refuse a noise variance of 0: the density of the rows would be infinite."""
    k, least = values.size, NO_NOISE[entries] * total
    if total <= 0.0:
        raise DataError("X has no variance: every column is constant, so there is nothing to model.")
    if noise * (d - k) > least:
        return
    rank = int(np.count_nonzero(values > least))
    way_out = f"choose n_components below {rank}" if rank > 1 else "more rows or other columns are needed"
    raise OptionError(
        f"n_components={k} keeps all the variance: the rows (n_samples={n}) fill only {rank} of {d} dimensions, so the "
        f"noise variance would be 0 and the likelihood has no maximum; {way_out}."
    )


# ---- EM ---------------------------------------------------------------------------------------------------


def _em(source: Source, k: int, options: _Options) -> LatentFit:
    rows = CentredRows(source, progress=options.progress)
    try:
        mean = rows.columns.mean
    except DataError as error:
        return replace(_observed_em(source, k, _require_gaps(source, error), options), reason="asked for")
    n, d = rows.columns.weight, rows.size
    _require_rows(k, rows.n_rows)
    constant = constant_columns(mean, rows.variances)
    total = 0.0 if len(constant) == d else rows.trace
    _require_noise("complete", total, total, np.zeros(k), d, rows.n_rows)
    found = iterate(rows, k, options.tol, options.max_iter, options.generator, options.progress)
    _require_noise("complete", found.noise, total, (found.loadings**2).sum(axis=0), d, rows.n_rows)
    model = canonical(LinearGaussian(mean, found.loadings, found.noise))
    return LatentFit(
        model, found.path[-1], found.path, len(found.path), found.converged, found.gap / (n * d), n, rows.n_rows, None,
        "asked for", "em", found.interrupted, rows.passes, constant,
    )  # fmt: skip


def _require_rows(k: int, n: int) -> None:
    if n < 3:
        raise DataError(f"n_samples={n}: at least 3 rows are needed, or nothing is left for the noise.")
    if k > n - 2:
        raise OptionError(
            f"n_components={k} must be at most {n - 2}, two less than the number of rows (n_samples={n}): with more, "
            "nothing is left for the noise."
        )


# ---- missing entries --------------------------------------------------------------------------------------


def _auto(source: Source, k: int, options: _Options) -> LatentFit:
    try:
        return _from_spectrum(_spectrum(source, k, options), k)
    except DataError as error:
        return _observed_em(source, k, _require_gaps(source, error), options)


def _require_gaps(source: Source, error: DataError) -> ObservedColumns:
    """The moments of the observed entries, if gaps are what the error is about; else it is raised."""
    observed = observed_columns(source)
    if not observed.missing.any():
        raise error
    return observed


def _observed_em(source: Source, k: int, observed: ObservedColumns, options: _Options) -> LatentFit:
    """Maximum likelihood of the observed entries, from the principal components of rows filled with means."""
    _require_rows(k, row_count(source))
    start = observed_start(source, k, observed.mean, options.generator)
    found = fit_observed(
        source, start, tol=options.tol, max_iter=options.max_iter, observed=observed, progress=options.progress
    )
    model = canonical(found.model)
    variances = observed.square / observed.weight
    _require_noise(
        "observed",
        float(model.noise),
        float(variances.sum()),
        (model.loadings**2).sum(axis=0),
        source.n_features,
        found.rows,
    )
    return LatentFit(
        model, found.path[-1], found.path, len(found.path), found.converged, found.gap, found.weight, found.rows, None,
        "X has missing entries", "em", found.interrupted, len(found.path) + 4,
        constant_columns(observed.mean, variances),
    )  # fmt: skip


def observed_start(source: Source, k: int, mean: Array, rng: np.random.Generator) -> LinearGaussian:
    """Where EM starts: the probabilistic PCA of the rows with their gaps filled by `mean` (d,)."""
    filled = CentredRows(Mapped(source, partial(_fill, mean=mean)))
    first = principal_components(filled, k, "auto", 1e-9, rng).model.gaussian(floor=1e-6)
    return LinearGaussian(first.mean, first.loadings, float(np.mean(first.noise)))


def _fill(rows: Any, mean: Array) -> Array:
    values = dense(rows)
    return np.asarray(np.where(np.isnan(values), mean, values))


SOLVERS: dict[str, Callable[[Source, int, _Options], LatentFit]] = {
    "auto": _auto,
    "closed-form": _closed_form,
    "em": _em,
}
"""How probabilistic PCA is fitted, by name."""
