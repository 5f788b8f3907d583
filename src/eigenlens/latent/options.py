"""Checks of the parameters of latent Gaussian models, and warnings about fits that deserve a second look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.data.rows import row_count
from eigenlens.data.source import Source
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning, count_empty_rows, list_columns, warn_user
from eigenlens.latent.n_components import DIMENSION_RULES, DimensionChoice
from eigenlens.missing.result import LatentFit

MAX_CANDIDATE = 100
"""The largest number of latent dimensions that a rule tries."""


def check_latent_dimensions(n_components: Any, d: int, most: int, bound: str, least: int = 1) -> int | str:
    """Check n_components: an integer from `least` to `most`, which `bound` expresses in words, or a rule by name."""
    if d < 2:
        # The checks of scikit-learn look for "1 feature(s)" or "n_features = 1" in this message.
        raise DataError(f"X has 1 feature(s) (n_features = {d}); a latent dimension and noise need at least 2")
    if isinstance(n_components, str):
        return checks.name("n_components", n_components, DIMENSION_RULES)
    return checks.integer("n_components", n_components, least, most, bound)


def candidate_dimensions(most: int, source: Source) -> range:
    """Return the numbers of latent dimensions that a rule compares."""
    return range(1, max(1, min(most, _positive_weight_count(source) - 2, MAX_CANDIDATE)) + 1)


CONVERGENCE_ADVICE = {
    "max_iter": "raise {max_iter}, or {tol}",
    "rounding": "rounding hides further gains, so more steps would not help: divide columns of very different sizes by "
    "their standard deviations, use fewer components, or raise {tol}",
    "stalled": "the noise is small beside the variances, where EM as it is taught hardly moves: use {solver}",
}
"""The advice about a fit that did not converge, by why it ended."""


def warn_latent_fit(fit: LatentFit, source: Source, tol: float, max_iter: int) -> None:
    """Warn the caller of `fit` about what deserves a second look: an early stop, empty rows, constant columns."""
    may_be_incomplete = fit.solver == "em" or not fit.model.loadings.size
    empty = _positive_weight_count(source) - fit.rows if may_be_incomplete else 0
    for warning in latent_warnings(fit, source.names, tol, max_iter, empty):
        warn_user(warning)


def latent_warnings(
    fit: LatentFit, names: Sequence[str] | None, tol: float, max_iter: int, empty: int = 0
) -> Iterator[Warning]:
    """Yield what deserves a second look about a fit of columns of these names; `empty` rows have no observed entry."""
    d = fit.model.mean.size
    short = _describe_remaining_gain(fit, float(tol), d)
    if fit.interrupted:
        yield ConvergenceWarning(f"fit was interrupted after {fit.n_iter} steps; the best model is kept ({short})")
    elif not fit.converged:
        fix = CONVERGENCE_ADVICE.get(fit.ended, CONVERGENCE_ADVICE["max_iter"])
        known = {"tol": tol, "max_iter": max_iter, "solver": "accelerated-em"}
        settings = {name: value for name, value in known.items() if f"{{{name}}}" in fix}
        what = f"solver {fit.solver!r} stopped after {fit.n_iter} steps ({short})"
        yield ConvergenceWarning(what, fix=fix, settings=settings)
    if empty > 0:
        what = f"{count_empty_rows(empty)} (NaN in every column), left out of the fit"
        yield DataWarning(f"{what}; their latent values are 0, with the prior's covariance")
    if fit.floored:
        what = (
            "Heywood case: the noise variance has reached its floor, or nearly, so the components explain the observed "
            "entries without noise, and imputed ones may seem more certain than they are"
        )
        several = fit.model.loadings.shape[1] > 1
        yield DataWarning(what, fix="use fewer components or more rows" if several else "more rows are needed")
    if fit.constant:
        what = f"{len(fit.constant)} of {d} columns are constant ({list_columns(fit.constant, names)})"
        yield DataWarning(what, fix="they are taken for columns without noise, so leave them out")


def _describe_remaining_gain(fit: LatentFit, tol: float, d: int) -> str:
    """Return by how much an unfinished fit falls short of its maximum, beside tol."""
    if not np.isfinite(fit.residual):
        return "the log-likelihood still to be gained is not known after so few steps"
    entry = f"log-likelihood per entry still to be gained: about {fit.residual:.1e}"
    if fit.residual > tol:
        return f"{entry}, above tol={tol:g}"
    return f"{entry}, within tol={tol:g}, and at most about {fit.residual * fit.weight * d:.1e} in all"


def warn_interrupted_choice(choice: DimensionChoice) -> None:
    """Warn that the user interrupted the comparison."""
    if not choice.interrupted:
        return
    first, last = int(choice.counts[0]), int(choice.counts[-1])
    tried = f"{first} to {last}" if last > first else str(first)
    what = f"the comparison by {{n_components}} was interrupted when {tried} had been tried"
    what += f"; the best of these, {choice.k}, is kept"
    warn_user(ConvergenceWarning(what, settings={"n_components": choice.rule}))


def _positive_weight_count(source: Source) -> int:
    return row_count(source) if source.weight is None else int(np.count_nonzero(source.weight))
