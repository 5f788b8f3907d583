"""Checks of the arguments of `FactorAnalysis` for covariance matrices, and warnings about its fits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.errors import ConvergenceWarning, DataError, warn_user
from eigenlens.latent.factor.solvers import heywood_columns
from eigenlens.latent.rotation import Rotation
from eigenlens.missing.result import LatentFit

GRADIENT_ADVICE = {
    "max_iter": ": raise max_iter={max_iter}, or tol",
    "rounding": ", for rounding hides what is left to gain: more steps would not help, but fewer factors, "
    "a min_uniqueness above {least:g} or leaving out columns that are nearly combinations of others would",
    "interrupted": "",
}
"""The advice about a fit that did not converge, by why it ended."""


def check_mean(mean: Any, d: int) -> Array:
    """Check the mean (d,) that belongs to a covariance matrix; None is 0."""
    mu = np.zeros(d) if mean is None else np.asarray(to_numpy(mean), dtype=np.float64)
    if mu.shape != (d,) or not np.all(np.isfinite(mu)):
        what = f"has shape {mu.shape}; it must be {d} finite numbers, one per variable, or None for zeros"
        raise DataError(what, argument="mean")
    return mu


def warn_gradient(fit: LatentFit, estimator: Any) -> None:
    """Warn the caller of `fit` that the quasi-Newton method stopped early; the parameters are the estimator's."""
    if fit.solver == "quasi-newton" and not fit.converged:
        what = "was interrupted" if fit.interrupted else "stopped"
        advice = GRADIENT_ADVICE[fit.ended].format(max_iter=estimator.max_iter, least=estimator.min_uniqueness)
        warn_user(
            f"solver 'quasi-newton' {what} after {fit.n_iter} steps with a gradient of {fit.residual:.1e}, above "
            f"tol={estimator.tol:g}; the best model is kept{advice}.",
            ConvergenceWarning,
        )


def warn_heywood(fit: LatentFit, estimator: Any) -> None:
    """Warn the caller of `fit` about uniquenesses that are practically 0, naming their columns."""
    columns = heywood_columns(fit.model, estimator.min_uniqueness)
    if columns.size:
        known = getattr(estimator, "feature_names_in_", None)
        names = ", ".join(repr(str(known[j])) if known is not None else str(j) for j in columns[:5])
        names += ", …" if columns.size > 5 else ""
        warn_user(
            f"Heywood case: the uniqueness of {columns.size} of {fit.model.mean.size} variables ({names}) has reached "
            "its floor, or nearly, so the factors explain them without error; use fewer factors or more rows, or leave "
            "out one of two variables that measure the same.",
        )


def warn_rotation(rotation: Any, found: Rotation) -> None:
    """Warn that a rotation stopped early."""
    warn_user(
        f"rotation={rotation!r} stopped after {found.iterations} steps with a residual of {found.residual:.1e}; the "
        "loadings are rotated, but the criterion has not reached its optimum.",
        ConvergenceWarning,
    )


def without_gradient_warning(fit: LatentFit) -> LatentFit:
    """Return the fit as converged if `warn_gradient` is responsible for it, so that it is warned about once."""
    return replace(fit, converged=True, interrupted=False) if fit.solver == "quasi-newton" else fit
