"""Validation of the options of Gaussian mixtures, and the warnings of a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.source import Source
from eigenlens.errors import (
    ConvergenceWarning,
    DataError,
    DataWarning,
    OptionError,
    count_empty_rows,
    join_limited,
    list_columns,
    warn_user,
)
from eigenlens.mixture.fit import MixtureFit, MixtureOptions
from eigenlens.mixture.prior import PRIORS
from eigenlens.mixture.start_rule import gives_start, make_start_rule
from eigenlens.mixture.structures import COVARIANCE_STRUCTURES, has_factors, make_structure

MAX_ADDED_VARIANCE = 1e150
"""The largest `reg_covar`."""


def check_mixture_options(
    estimator: Any, source: Source, *, starts: bool = True, scale: Array | None = None
) -> tuple[int, MixtureOptions]:
    """Check the parameters of a `GaussianMixture`; return K and the options of `fit_mixture`.

    Without `starts`, for a mixture that continues to learn, `init` is ignored. The mixture is one of columns over
    `scale` (d,), where that is given.
    """
    K, d = checks.integer("n_components", estimator.n_components, 1), source.n_features
    name = checks.name("covariance_type", estimator.covariance_type, COVARIANCE_STRUCTURES)
    most = d - 1 if has_factors(name) else None
    if most == 0:
        raise OptionError("needs at least 2 features, but X has 1 feature(s)", argument="covariance_type", value=name)
    bound = f"one less than the number of features, for {name!r} covariances"
    n_factors = checks.integer("n_factors", estimator.n_factors, 1, most, bound)
    given = (
        {"starting": make_start_rule(estimator, make_structure(name, n_factors), K, source, scale)} if starts else {}
    )
    return K, MixtureOptions(
        **given,
        structure=name,
        n_factors=n_factors,
        prior="none" if estimator.prior is None else checks.name("prior", estimator.prior, PRIORS),
        floor=checks.real("floor", estimator.floor, 0.0, 1.0),
        reg_covar=_check_added_variance(estimator.reg_covar),
        tol=checks.not_negative("tol", estimator.tol),
        max_iter=checks.integer("max_iter", estimator.max_iter, 0),
        accelerate=checks.boolean("accelerate", estimator.accelerate),
        in_order=gives_start(estimator),
    )


def check_total_weight(source: Source) -> None:
    """Check that weights count as more than one row: with less, likelihoods and criteria would mean nothing."""
    w = source.weight
    if w is not None and np.count_nonzero(w) > 1:
        checks.total_weight(w.sum())


# ---- bins ---------------------------------------------------------------------------------------------------


def check_bins(edges: Any, counts: Any, n_components: Any) -> tuple[Array, Array]:
    """Return edges (m + 1,) that ascend, the outer ones perhaps infinite, and counts (m,), none negative."""
    ends, weight = checks.numbers("edges", edges), checks.numbers("counts", counts)
    if ends.ndim != 1 or weight.shape != (max(0, ends.size - 1),):
        what = f"has shape {ends.shape} and counts {weight.shape}; they must be (m + 1,) and (m,), one count per bin"
        raise DataError(what, argument="edges", fix="densities.bin_edges(middles) makes edges of the middles of bins")
    inner = ends[1:-1]
    if not np.all(np.diff(ends) > 0.0) or not np.all(np.isfinite(inner)) or np.count_nonzero(np.isfinite(ends)) < 2:
        what = "must ascend, with at least 2 that are finite; only the first and last may be infinite"
        raise DataError(what, argument="edges")
    if not np.all((weight >= 0.0) & np.isfinite(weight)):
        what = "has entries that are negative, NaN or infinite; they must be numbers of rows"
        raise DataError(what, argument="counts")
    filled = int(np.count_nonzero(weight))
    if filled < 2:
        what = f"is positive in {filled} bins; at least 2 are needed to estimate a variance"
        raise DataError(what, argument="counts")
    checks.integer("n_components", n_components, 1, filled, "the number of bins with a count")
    return ends, weight


# ---- warnings -----------------------------------------------------------------------------------------------


def warn_mixture_fit(fit: MixtureFit, source: Source, tol: float, max_iter: int) -> None:
    """Warn the caller of `fit` of an early stop, components that collapsed or were lost, and constant columns."""
    convergence = _convergence_warnings(fit, tol, max_iter) if fit.path and max_iter else []
    for warning in (*convergence, *_component_warnings(fit), *_row_warnings(fit, source)):
        warn_user(warning)


def _convergence_warnings(fit: MixtureFit, tol: float, max_iter: int) -> Iterator[Warning]:
    known = np.isfinite(fit.remaining_gain)
    about = f"about {fit.remaining_gain:.1e}" if known else "not known after so few steps"
    left = f"log-likelihood per row still to gain: {about}, tol={tol:g}"
    if fit.interrupted:
        yield ConvergenceWarning(f"fit was interrupted after {fit.n_iter} steps; the best mixture is kept ({left})")
    elif not fit.converged:
        settings = {"max_iter": max_iter, "tol": tol}
        what = f"EM stopped after {max_iter} steps ({left})"  # n_iter lacks those that led to the start
        yield ConvergenceWarning(what, fix="raise {max_iter}, or {tol}", settings=settings)


def _component_warnings(fit: MixtureFit) -> Iterator[Warning]:
    settings = {"prior": "conjugate"}
    for lost in fit.lost:
        what = (
            f"the component at {_format_point(lost.mean)} had no rows left after {lost.step} steps and was removed; "
            f"{len(fit.model.weights)} are left"
        )
        yield DataWarning(what, fix="ask for fewer, or give {prior}", settings=settings)
    if fit.clamped:
        sizes = fit.model.weights * fit.weight
        which = [f"{k} at {_format_point(fit.model.means[k])} of {sizes[k]:.4g} rows" for k in fit.clamped]
        what = (
            f"{len(fit.clamped)} of {len(sizes)} components have collapsed: in some direction their rows have no "
            f"variance, and theirs is clamped at the smallest that floor allows (component {join_limited(which)})"
        )
        yield DataWarning(what, fix="give {prior}, or fewer components", settings=settings)


def _row_warnings(fit: MixtureFit, source: Source) -> Iterator[Warning]:
    if fit.empty:
        yield DataWarning(f"{count_empty_rows(fit.empty)} (NaN in every column), left out of the fit")
    if fit.constant:
        names = list_columns(fit.constant, source.names)
        what = f"{len(fit.constant)} of {source.n_features} columns are constant ({names})"
        yield DataWarning(f"{what}, so only floor and reg_covar bound their density", fix="leave them out")


def _format_point(mean: Sequence[float] | Array) -> str:
    shown = ", ".join(f"{value:.4g}" for value in mean[:4])
    return f"({shown}{', …' if len(mean) > 4 else ''})"


def _check_added_variance(value: Any) -> float:
    """Return `reg_covar`, which is at most 1e150: variances and their weighted sums stay finite."""
    found = checks.not_negative("reg_covar", value)
    if found > MAX_ADDED_VARIANCE:
        raise OptionError(f"must be at most {MAX_ADDED_VARIANCE:g}", argument="reg_covar", value=value)
    return found
