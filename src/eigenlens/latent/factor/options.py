"""Checks of the arguments of `FactorAnalysis` for covariance matrices, and warnings about its fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eigenlens.errors import (
    ConvergenceWarning,
    DataWarning,
    OptionError,
    ResourceError,
    list_columns,
    warn_user,
)
from eigenlens.latent.factor.solvers import LEAST_SQUARES_SOLVERS, heywood_columns
from eigenlens.missing.result import LatentFit
from eigenlens.resources import available_memory

GRADIENT_ADVICE = {
    "max_iter": "raise {max_iter}, or {tol}",
    "rounding": "rounding hides what is left to gain: more steps would not help, but fewer factors, a larger "
    "{min_uniqueness} or leaving out columns that are nearly combinations of others would",
    "interrupted": "",
}
"""The advice about a fit that did not converge, by why it ended."""


RESIDUAL_WORDS = {
    "quasi-newton": "a gradient",
    "minres": "a gradient",
    "principal-axis": "a change of the uniquenesses",
}
"""What the residual of each solver is that `warn_gradient` reports on."""


def warn_gradient(fit: LatentFit, estimator: Any) -> None:
    """Warn the caller of `fit` that a search on correlations stopped early; the parameters are the estimator's."""
    if fit.solver in RESIDUAL_WORDS and not fit.converged:
        what = "was interrupted" if fit.interrupted else "stopped"
        what = (
            f"solver {fit.solver!r} {what} after {fit.n_iter} steps with {RESIDUAL_WORDS[fit.solver]} of "
            f"{fit.residual:.1e}, above "
            f"tol={estimator.tol:g}; the best model is kept"
        )
        fix, names = GRADIENT_ADVICE[fit.ended], ("max_iter", "tol", "min_uniqueness")
        settings = {name: getattr(estimator, name) for name in names if f"{{{name}}}" in fix}
        warn_user(ConvergenceWarning(what, fix=fix, settings=settings))


def warn_heywood(fit: LatentFit, estimator: Any) -> None:
    """Warn the caller of `fit` about uniquenesses that are practically 0, naming their columns."""
    columns = heywood_columns(fit.model, estimator.min_uniqueness)
    if columns.size:
        names = list_columns(columns, getattr(estimator, "feature_names_in_", None))
        what = (
            f"Heywood case: the uniqueness of {columns.size} of {fit.model.mean.size} variables ({names}) has reached "
            "its floor, or nearly, so the factors explain them without error"
        )
        fix = "use fewer factors or more rows, or leave out one of two variables that measure the same"
        warn_user(DataWarning(what, fix=fix))


def without_gradient_warning(fit: LatentFit) -> LatentFit:
    """Return the fit as converged if `warn_gradient` is responsible for it, so that it is warned about once."""
    return replace(fit, converged=True, interrupted=False) if fit.solver in RESIDUAL_WORDS else fit


def require_standard_errors(fit: LatentFit, most: int) -> None:
    """Raise an error where loadings have no standard errors: beyond `most` factors, or beyond the memory."""
    d, k = fit.model.loadings.shape
    if k > most:
        what = f"must be at most {most} for standard errors: more factors of {d} columns are not determined"
        raise OptionError(what, argument="n_components", value=k)
    size = d * (k + 1) + k * k
    bytes_needed = 8 * size * (3 * d * d if fit.solver in LEAST_SQUARES_SOLVERS else 8 * size)
    if bytes_needed > available_memory():
        what = f"standard errors of {d * (k + 1):,} parameters need {bytes_needed / 1e9:.1f} GB of memory"
        raise ResourceError(what, fix="fit resampled rows, and take the standard deviations of their loadings")
