"""The gate of `FactorAnalysis` for covariance matrices, and what is said about a fit that deserves a second look."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.data.source import Source
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, OptionError
from eigenlens.latent.factor.fit import fit_factor_covariance
from eigenlens.latent.factor.goodness_of_fit import max_factors
from eigenlens.latent.factor.n_factors import FACTOR_RULES
from eigenlens.latent.factor.solvers import heywood_columns
from eigenlens.latent.n_components import DimensionChoice
from eigenlens.latent.rotation import Rotation
from eigenlens.missing.result import LatentFit

__all__ = [
    "check_mean",
    "fit_covariance_matrix",
    "warn_gradient",
    "warn_heywood",
    "warn_rotation",
    "without_reported_gradient",
]

GRADIENT_ADVICE = {
    "max_iter": ": raise max_iter={max_iter}, or tol",
    "rounding": ", for rounding hides what is left to gain: more steps would not help, but fewer factors, "
    "a min_uniqueness above {least:g} or leaving out columns that are nearly combinations of others would",
    "interrupted": "",
}
"""What to do about a fit that did not converge, by how it ended."""


def fit_covariance_matrix(
    S: Array, n: float, wanted: int | str, source: Source, options: dict[str, Any]
) -> tuple[LatentFit, DimensionChoice | None]:
    """The fit of a covariance matrix, and how its number of factors was chosen."""
    if not isinstance(wanted, str):
        return fit_factor_covariance(S, n, wanted, **options), None
    if wanted != "bic":
        raise OptionError(f"n_components={wanted!r} needs the rows themselves; give a number, or 'bic'.")

    def fit_each(source: Source, counts: Sequence[int]) -> Iterator[LatentFit]:
        return (fit_factor_covariance(S, n, k, **options) for k in counts)

    most = max(1, min(max_factors(len(S)), round(n) - 2))
    choice = FACTOR_RULES[wanted](fit_each, source, range(1, most + 1), options["rng"])
    assert choice.fit is not None
    return choice.fit, replace(choice, fit=None)


def check_mean(mean: Any, d: int) -> Array:
    """The mean (d,) of a covariance matrix at the gate; None is 0."""
    mu = np.zeros(d) if mean is None else np.asarray(to_numpy(mean), dtype=np.float64)
    if mu.shape != (d,) or not np.all(np.isfinite(mu)):
        raise DataError(f"mean has shape {mu.shape}; it must be {d} finite numbers, one a variable, or None for zeros.")
    return mu


def warn_gradient(fit: LatentFit, asked: Any) -> None:
    """Warn the caller of `fit` of a quasi-Newton method that stopped early; `asked` has the parameters."""
    if fit.solver == "quasi-newton" and not fit.converged:
        what = "was interrupted" if fit.interrupted else "stopped"
        way_out = GRADIENT_ADVICE[fit.ended].format(max_iter=asked.max_iter, least=asked.min_uniqueness)
        warnings.warn(
            f"solver 'quasi-newton' {what} after {fit.n_iter} steps with a gradient of {fit.residual:.1e}, above "
            f"tol={asked.tol:g}; the best model is kept{way_out}.",
            ConvergenceWarning,
            stacklevel=3,
        )


def warn_heywood(fit: LatentFit, asked: Any) -> None:
    """Warn the caller of `fit` of uniquenesses that are practically 0, by the names of their columns."""
    columns = heywood_columns(fit.model, asked.min_uniqueness)
    if columns.size:
        known = getattr(asked, "feature_names_in_", None)
        names = ", ".join(repr(str(known[j])) if known is not None else str(j) for j in columns[:5])
        names += ", …" if columns.size > 5 else ""
        warnings.warn(
            f"Heywood case: the uniqueness of {columns.size} of {fit.model.mean.size} variables ({names}) has run "
            "into its floor, or nearly, so the factors explain them without error; use fewer factors or more rows, "
            "or leave out one of two variables that say the same.",
            DataWarning,
            stacklevel=3,
        )


def warn_rotation(rotation: Any, found: Rotation) -> None:
    """Warn the caller of `fit`, by way of `_rotate`, of a rotation that stopped early."""
    warnings.warn(
        f"rotation={rotation!r} stopped after {found.iterations} steps with a gap of {found.gap:.1e}; the loadings are "
        "rotated, but not to the end.",
        ConvergenceWarning,
        stacklevel=4,
    )


def without_reported_gradient(fit: LatentFit) -> LatentFit:
    """The fit without what has been said of its gradient."""
    return replace(fit, converged=True, interrupted=False) if fit.solver == "quasi-newton" else fit
