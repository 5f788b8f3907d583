"""The gate of latent Gaussian models, and what is said about a fit that deserves a second look."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.data.source import Source
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning
from eigenlens.estimator.rows import count_rows
from eigenlens.latent.n_components import DIMENSION_RULES, DimensionChoice
from eigenlens.missing.result import LatentFit

__all__ = ["candidate_dimensions", "check_latent_dimensions", "warn_interrupted_choice", "warn_latent_fit"]

MAX_CANDIDATE = 100
"""Rules look at no more latent dimensions than this."""


def check_latent_dimensions(n_components: Any, d: int, most: int, bound: str) -> int | str:
    """n_components at the gate: an integer from 1 to `most`, which `bound` says in words, or the name of a rule."""
    if d < 2:
        raise DataError(f"X has 1 feature(s) (n_features = {d}); a latent dimension and noise need at least 2.")
    if isinstance(n_components, str):
        return checks.name("n_components", n_components, DIMENSION_RULES)
    return checks.integer("n_components", n_components, 1, most, bound)


def candidate_dimensions(most: int, source: Source) -> range:
    """The numbers of latent dimensions that a rule compares."""
    return range(1, max(1, min(most, _rows_that_count(source) - 2, MAX_CANDIDATE)) + 1)


CONVERGENCE_ADVICE = {
    "max_iter": "raise max_iter={max_iter}, or tol",
    "rounding": "rounding hides further gains, so more steps would not help: divide columns of very different sizes by "
    "their standard deviations, use fewer components, or raise tol",
}
"""What to do about a fit that did not converge, by how it ended."""


def warn_latent_fit(fit: LatentFit, source: Source, tol: float, max_iter: int) -> None:
    """Warn the caller of `fit` of what deserves a second look: an early stop, empty rows, constant columns."""
    short = _still_to_gain(fit, tol, source.n_features)
    if fit.interrupted:
        _warn(
            f"fit was interrupted after {fit.n_iter} steps; the best model is kept ({short}).",
            ConvergenceWarning,
        )
    elif not fit.converged:
        way_out = CONVERGENCE_ADVICE.get(fit.ended, CONVERGENCE_ADVICE["max_iter"]).format(max_iter=max_iter)
        _warn(f"solver {fit.solver!r} stopped after {fit.n_iter} steps ({short}); {way_out}.", ConvergenceWarning)
    empty = _rows_that_count(source) - fit.rows if fit.solver == "em" else 0
    if empty > 0:
        _warn(
            f"{empty} rows of X have no observed entry (NaN in every column) and were left out; their latent values "
            "are 0, with the prior's covariance.",
            DataWarning,
        )
    if fit.floored:
        way_out = "use fewer components or more rows" if fit.model.loadings.shape[1] > 1 else "more rows are needed"
        _warn(
            "Heywood case: the noise variance has run into its floor, or nearly, so the components explain what is "
            f"observed without noise, and what is not may seem surer than it is; {way_out}.",
            DataWarning,
        )
    if fit.constant:
        names = [repr(source.names[j]) if source.names else str(j) for j in fit.constant[:5]]
        _warn(
            f"{len(fit.constant)} of {source.n_features} columns are constant ({', '.join(names)}); they count as "
            "columns without noise, so leave them out.",
            DataWarning,
        )


def _still_to_gain(fit: LatentFit, tol: float, d: int) -> str:
    """What an unfinished fit is short of, beside tol."""
    if not np.isfinite(fit.residual):
        return "how much log-likelihood is still to gain cannot be told after so few"
    entry = f"log-likelihood an entry still to gain: about {fit.residual:.1e}"
    if fit.residual > tol:
        return f"{entry}, above tol={tol:g}"
    return f"{entry}, within tol={tol:g}, and at most about {fit.residual * fit.weight * d:.1e} in all"


def warn_interrupted_choice(choice: DimensionChoice) -> None:
    """Warn the caller of `fit`, by way of `_keep`, of a comparison that the user cut short."""
    if not choice.interrupted:
        return
    first, last = int(choice.counts[0]), int(choice.counts[-1])
    tried = f"{first} to {last}" if last > first else str(first)
    _warn(
        f"the comparison by n_components={choice.rule!r} was interrupted when {tried} had been tried; the best of "
        f"these, {choice.k}, is kept.",
        ConvergenceWarning,
        stacklevel=5,
    )


def _warn(message: str, kind: type[Warning], stacklevel: int = 4) -> None:
    warnings.warn(message, kind, stacklevel=stacklevel)


def _rows_that_count(source: Source) -> int:
    return count_rows(source) if source.weight is None else int(np.count_nonzero(source.weight))
