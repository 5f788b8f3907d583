"""Gaussian mixtures of rows that arrive in chunks and need not be kept: online EM (Cappé and Moulines 2009).

The moments of the components, s, are kept of the rows. A chunk of b rows out of N so far, itself included, moves them
to (1 − g) s + g s(chunk) with the step g = (b / N)^decay; the components are estimated from s. With decay 1 every row
counts the same, however poor the mixture was at the time; with less the first rows are forgotten, and above ½ the steps
still become small enough for convergence to a maximum of the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.coerce import require_finite
from eigenlens.data.rows import positive_weight_rows
from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.data.table import count_observed_rows
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.mixture_terms import EStep
from eigenlens.errors import DataError
from eigenlens.mixture.em import (
    ComponentLost,
    LostComponent,
    MixtureState,
    clamped_components,
    drop_component,
    estimate_state,
)
from eigenlens.mixture.fit import MixtureFit, MixtureOptions, fit_mixture, mixture_parameters
from eigenlens.mixture.missing import observed_e_step
from eigenlens.mixture.problem import Overall, Problem, make_problem
from eigenlens.stats.moments import ColumnMoments, Moments


@dataclass(frozen=True, eq=False)
class OnlineFit:
    """A mixture after some chunks.

    Attributes:
        fit: the mixture; its loglik is the sum over the chunks, each by the mixture before it learned from it.
        moments: of the components, with Σ weight that of all rows.
        chunks: the number of chunks.
    """

    fit: MixtureFit
    moments: Moments | ColumnMoments
    chunks: int


def fit_first_chunk(
    source: Source, K: int, options: MixtureOptions, rng: np.random.Generator, progress: Progress | None = None
) -> OnlineFit:
    """Fit a mixture to the first chunk, of at least K rows, to convergence."""
    fit = fit_mixture(source, K, options, rng, progress)
    return OnlineFit(fit, _e_step(source, fit.model).moments, 1)


def resume_fit(fit: MixtureFit, options: MixtureOptions) -> OnlineFit:
    """Return the state for further chunks after a fit: the moments are those that its components imply."""
    structure, weight = options.make_structure(), fit.weight * fit.model.weights
    parts: list[Any] = list(fit.model.components)
    if not structure.joint:
        v = np.stack([part.covariance.variances for part in parts])
        return OnlineFit(fit, ColumnMoments(weight, fit.model.means, weight[:, None] * v), 1)
    covariances = np.broadcast_to(structure.covariances(parts), (len(weight), *2 * fit.model.means.shape[1:]))
    return OnlineFit(fit, Moments(weight, fit.model.means, weight[:, None, None] * covariances), 1)


def fit_next_chunk(state: OnlineFit, source: Source, options: MixtureOptions, decay: float) -> OnlineFit:
    """Take one EM step for another chunk, in which NaN is a missing value, in one pass over its rows."""
    fit, step = state.fit, _e_step(source, state.fit.model)
    rows, weight, empty = accumulate(positive_weight_rows(source), count_observed_rows)
    if not rows:
        raise DataError("X has no observed entry in any row (NaN everywhere)", fix="leave this chunk out")
    N = fit.weight + weight
    g = (weight / N) ** decay
    before, chunk = state.moments.scaled((1.0 - g) * N / fit.weight), step.moments.scaled(g * N / weight)
    moments: Any = before + chunk  # type: ignore[operator]
    overall = _overall(source, fit.rows + int(rows), moments)
    structure = options.make_structure()
    problem = make_problem(overall, len(moments.weight), structure, **options.regularisation)
    model, moments, lost = _estimate(problem, moments, fit.model, state.chunks + 1)
    new = replace(
        fit, model=model, loglik=fit.loglik + float(step.logliks[0]), path=(), n_iter=state.chunks + 1,
        remaining_gain=np.nan, converged=False, interrupted=False, weight=float(N), rows=overall.rows,
        parameters=mixture_parameters(model, structure), lost=lost, constant=problem.constant, empty=int(empty),
        clamped=tuple(np.flatnonzero(clamped_components(problem, MixtureState.of(model, structure))).tolist()),
    )  # fmt: skip
    return OnlineFit(new, moments, state.chunks + 1)


def _e_step(source: Source, model: Mixture) -> EStep:
    assert model.terms is not None
    with np.errstate(all="ignore"):  # entries that are not finite show up in the result, and are explained below
        found = accumulate(positive_weight_rows(source), observed_e_step(model.terms))
    require_finite(source, found.logliks[0], found.moments.mean)
    return found


def _overall(source: Source, rows: int, moments: Moments | ColumnMoments) -> Overall:
    """Return the overall moments of all rows so far, from those of the components."""
    pooled = moments.pooled
    squares: Array = pooled.scatter if isinstance(moments, Moments) else pooled.square  # type: ignore[union-attr]
    return Overall(source, rows, pooled.weight, pooled.mean, squares / pooled.weight, observed_e_step)


def _estimate(
    problem: Problem, moments: Any, start: Mixture, step: int
) -> tuple[Mixture, Any, tuple[LostComponent, ...]]:
    lost = tuple[LostComponent, ...]()
    while True:
        try:
            state = estimate_state(problem, moments, MixtureState.of(start, problem.structure))
            return state.mixture(problem.structure), moments, lost
        except ComponentLost as gone:
            k = gone.k
            lost += (LostComponent(tuple(start.means[k].tolist()), step),)
            start = drop_component(start, k)
            moments = moments.regroup(lambda a, k=k: np.delete(a, k, axis=0))
