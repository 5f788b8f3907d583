"""Gaussian mixtures of rows that come in chunks and go: EM by steps (Cappé and Moulines 2009).

What is kept of the rows are the moments of the components, s. A chunk of b rows out of N so far, itself among them,
moves them to (1 − g) s + g s(chunk) with the step g = (b / N)^decay; the components are those that s asks for. With
decay 1 every row counts the same, however bad the mixture was when it came; with less the first rows are forgotten, and
above ½ the steps still become small enough for the mixture to settle at a maximum of the likelihood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.rows import counted
from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.mixture_terms import EStep
from eigenlens.errors import DataError
from eigenlens.mixture.em import LostComponent, drop_component
from eigenlens.mixture.em_step import ComponentLost, Problem
from eigenlens.mixture.fit import MixtureFit, MixtureOptions, fit_mixture
from eigenlens.mixture.missing import observed_e_step, single_observed_e_step
from eigenlens.mixture.problem import Overall, count_observed_rows, make_problem
from eigenlens.mixture.structures.families import COVARIANCE_STRUCTURES
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["OnlineFit", "fit_first_chunk", "fit_next_chunk", "resume_fit"]

Grouped = Moments | ColumnMoments


@dataclass(frozen=True, eq=False)
class OnlineFit:
    """A mixture after some chunks.

    Attributes:
        fit: the mixture; its loglik is the sum over the chunks, each by the mixture before it learned from it.
        moments: of the components, Σ weight being that of all rows.
        chunks: how many there were.
    """

    fit: MixtureFit
    moments: Grouped
    chunks: int


def fit_first_chunk(
    source: Source, K: int, options: MixtureOptions, rng: np.random.Generator, progress: Progress | None = None
) -> OnlineFit:
    """The mixture of the first chunk, fitted to the end; it has at least K rows."""
    fit = fit_mixture(source, K, options, rng, progress)
    return OnlineFit(fit, _read(source, fit.model).moments, 1)


def resume_fit(fit: MixtureFit, options: MixtureOptions) -> OnlineFit:
    """Further chunks after a fit: the moments are those that its components have."""
    structure, weight = COVARIANCE_STRUCTURES[options.structure](options.n_factors), fit.weight * fit.model.weights
    parts: list[Any] = list(fit.model.components)
    if not structure.joint:
        v = np.stack([part.covariance.variances for part in parts])
        return OnlineFit(fit, ColumnMoments(weight, fit.model.means, weight[:, None] * v), 1)
    covariances = np.broadcast_to(structure.covariances(parts), (len(weight), *2 * fit.model.means.shape[1:]))
    return OnlineFit(fit, Moments(weight, fit.model.means, weight[:, None, None] * covariances), 1)


def fit_next_chunk(state: OnlineFit, source: Source, options: MixtureOptions, decay: float) -> OnlineFit:
    """One step of EM for another chunk; NaN is missing. One pass over its rows."""
    fit, found = state.fit, _read(source, state.fit.model)
    rows, weight, empty = accumulate(counted(source), count_observed_rows)
    if not rows:
        raise DataError("X has no observed entry in any row (NaN everywhere); leave this chunk out.")
    N = fit.weight + weight
    g = (weight / N) ** decay
    before, chunk = state.moments.scaled((1.0 - g) * N / fit.weight), found.moments.scaled(g * N / weight)
    moments: Any = before + chunk  # type: ignore[operator]
    whole = _overall(source, fit.rows + int(rows), moments)
    structure = COVARIANCE_STRUCTURES[options.structure](options.n_factors)
    problem = make_problem(whole, len(moments.weight), structure, prior=options.prior, floor=options.floor)
    model, moments, lost = _estimate(problem, moments, fit.model, state.chunks + 1)
    K, d = model.means.shape
    kept = replace(
        fit, model=model, loglik=fit.loglik + found.loglik, path=(), n_iter=state.chunks + 1, gap=np.nan,
        converged=False, interrupted=False, weight=float(N), rows=whole.rows,
        parameters=K - 1 + K * d + structure.parameters(d, K), lost=lost,
        held=tuple(np.flatnonzero(problem.held(model)).tolist()), constant=problem.constant, empty=int(empty),
    )  # fmt: skip
    return OnlineFit(kept, moments, state.chunks + 1)


def _read(source: Source, model: Mixture) -> EStep:
    with np.errstate(all="ignore"):  # what is not finite is found in the result, and explained
        found = accumulate(counted(source), single_observed_e_step(model))
    if not (np.isfinite(found.loglik) and np.all(np.isfinite(found.moments.mean))):
        raise explain_nonfinite(source)
    return found


def _overall(source: Source, rows: int, moments: Grouped) -> Overall:
    """All rows so far, by the moments of the components."""
    pooled = moments.pooled
    spread: Array = pooled.scatter if isinstance(moments, Moments) else pooled.square  # type: ignore[union-attr]
    return Overall(source, rows, pooled.weight, pooled.mean, spread / pooled.weight, observed_e_step)


def _estimate(
    problem: Problem, moments: Any, start: Mixture, step: int
) -> tuple[Mixture, Any, tuple[LostComponent, ...]]:
    lost = tuple[LostComponent, ...]()
    while True:
        try:
            return problem.estimate(moments, start), moments, lost
        except ComponentLost as gone:
            lost += (LostComponent(tuple(start.means[gone.k].tolist()), step),)
            start = drop_component(start, gone.k)
            k = gone.k
            moments = moments.regroup(lambda a, k=k: np.delete(a, k, axis=0))
