"""Mixtures of any family by EM: a table to a naive Bayes model whose classes are not known.

A component is a product of columns, p_k(x) = Π_j p_kj(x_j), and every family of naive Bayes whose statistics merge is
fitted to rows that the components share: the M-step is naive Bayes with the responsibilities as weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar

import numpy as np

from eigenlens.bayes.latent_classes.coordinates import ColumnScale, ModelCoordinates, has_coordinates
from eigenlens.bayes.latent_classes.distinct_rows import find_distinct_rows
from eigenlens.bayes.latent_classes.starts import overall_statistics, share_out, start_statistics, weighted_slices
from eigenlens.bayes.naive.families.base import NaiveOptions, contains_infinity, infinity_error
from eigenlens.bayes.naive.families.categorical import CategoryCounts
from eigenlens.bayes.naive.families.gaussian import GaussianColumns, GaussianFactor
from eigenlens.bayes.naive.fit import NaiveStatistics, estimate_naive
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.naive.plan import Plan
from eigenlens.bayes.rule import log_sum_and_posterior
from eigenlens.data.source import Block, FieldSums, Progress, Source, accumulate
from eigenlens.laws import PATH_RELATIONS, Laws, Relations
from eigenlens.missing.result import step_label
from eigenlens.optim.em import (
    LOSS_BY_ROUNDING,
    SETTLED_STEP,
    EMResult,
    ParameterMap,
    StepBudget,
    StepRequest,
    StepResult,
    answer_request,
    confirmed_em_iterations,
    run_together,
    settling_iterations,
)
from eigenlens.stats.moments import ColumnMoments

SHORT_RUN_STEPS = 15
"""The steps of EM from each start before the best go on (Biernacki, Celeux and Govaert 2003)."""

LONG_RUNS = 3
"""The number of starts that go on: the best after a short run need not remain so."""

LONG_RUN_TOL = 100.0
"""The multiple of the tolerance at which the best of the long runs is chosen, which alone is run to the end."""


@dataclass(frozen=True, eq=False)
class LatentClassOptions:
    """The options of a fit.

    Attributes:
        n_init: starts. tol: log-likelihood per row that may be left to gain. max_iter: the most passes from one start.
        accelerate: whether slow steps are extrapolated. naive: the options of the families.
    """

    n_init: int = 10
    tol: float = 1e-8
    max_iter: int = 1000
    accelerate: bool = True
    naive: NaiveOptions = field(default_factory=lambda: NaiveOptions(smoothing=0.0))


@dataclass(frozen=True, eq=False)
class LatentClassFit:
    """A mixture, and how it was fitted.

    Attributes:
        model: the frozen `NaiveModel`, whose prior has the weights of the components.
        statistics: of the columns in each component, from which the model follows.
        loglik: Σ w ln p(x). path: the log-likelihood after each accepted step, never decreasing.
        n_iter: passes of EM from the best start, rejected extrapolations included.
        remaining_gain: an estimate of what is left to gain per row. converged: whether it is within tol.
        interrupted: whether the user stopped it. weight: Σ w.
        clamped: the number of Gaussian columns of components that the floor keeps from collapsing.
        rows: of positive weight with an observed entry. empty: of positive weight without one.
    """

    laws: ClassVar[Laws] = {
        "loglik": "finite",
        "path": "(*) finite",
        "n_iter": "not negative",
        "remaining_gain": "any",
        "weight": "positive",
        "clamped": "not negative",
        "rows": "not negative",
        "empty": "not negative",
    }

    relations: ClassVar[Relations] = {
        **PATH_RELATIONS,
        "'path' does not end with 'loglik'": lambda fit: not fit.path or np.isclose(fit.path[-1], fit.loglik),
    }

    model: NaiveModel
    statistics: NaiveStatistics
    loglik: float
    path: tuple[float, ...]
    n_iter: int
    remaining_gain: float
    converged: bool
    interrupted: bool
    weight: float
    clamped: int = 0
    rows: int = 0
    empty: int = 0


@dataclass(frozen=True, eq=False)
class _Mixture:
    """A model on its way, and the statistics from which it follows: None for an extrapolated one."""

    model: NaiveModel
    statistics: NaiveStatistics | None


@dataclass(frozen=True, eq=False)
class _StepSums(FieldSums):
    loglik: float
    statistics: NaiveStatistics


Step = Callable[[_Mixture], tuple[float, _Mixture]]
Scales = Sequence[ColumnScale | None]


@dataclass(eq=False)
class _Run:
    """EM from one start: where it is, the steps taken, the values after accepted ones, and how it ended."""

    mixture: _Mixture
    budget: StepBudget = field(default_factory=lambda: StepBudget(0))
    path: tuple[float, ...] = ()
    end: EMResult[_Mixture] | None = None


def fit_latent_classes(
    table: Source,
    K: int,
    plan: Plan,
    options: LatentClassOptions,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> LatentClassFit:
    """Return the mixture of K components that maximises the likelihood of a table with weights.

    One pass per step, in memory O(block). A missing entry leaves its factor out, which is exact for this model.
    """
    assert table.weight is not None
    total = float(table.weight.sum())
    distinct, seeds = find_distinct_rows(table, table.weight), rng.spawn(options.n_init if K > 1 else 1)
    starts = [_estimate(start_statistics(table, distinct, K, plan, seed), plan, options) for seed in seeds]
    overall = overall_statistics(table, plan)
    _reject_infinity(overall, plan)
    scales = _column_scales(overall, plan, options.naive.floor)
    step: Step = partial(_em_step, table, plan, options)
    parameters = _parameter_map(scales) if options.accelerate and has_coordinates(starts[0].model) else None
    evaluate = partial(_answer, step=step, parameters=parameters)
    go_on = partial(_continue, evaluate=evaluate, progress=progress)
    rank = partial(_rank, scales=scales)
    runs, most = [_Run(start) for start in starts], options.max_iter
    if len(runs) > 1:
        runs = sorted(go_on(runs, tol=0.0, max_iter=min(SHORT_RUN_STEPS, most)), key=rank)[:LONG_RUNS]
        runs = sorted(go_on(runs, tol=LONG_RUN_TOL * options.tol * total, max_iter=most), key=rank)[:1]
    (run,) = go_on(runs, tol=options.tol * total, max_iter=most)
    if parameters is not None and run.end is not None and _hidden_gain(run.end) <= options.tol * total:
        run = _settle(run, evaluate, SETTLED_STEP * options.tol)
    return _finish(run, step, scales, options)


def _continue(
    runs: Sequence[_Run],
    *,
    evaluate: Callable[[list[StepRequest[_Mixture]]], list[StepResult[_Mixture]]],
    tol: float,
    max_iter: int,
    progress: Progress | None,
) -> list[_Run]:
    """Continue runs side by side to a tolerance; after an interrupt they stay where they are.

    An interrupt is raised again where there is nothing to keep.
    """

    def note(done: int, value: float) -> None:
        if progress is not None:
            progress(done, max_iter, step_label(done, value))

    if any(run.end is not None and run.end.interrupted for run in runs):
        return list(runs)
    active = [run for run in runs if run.end is None or run.budget.steps < max_iter]
    for run in active:
        run.budget.limit = max_iter
    iterations = [confirmed_em_iterations(run.mixture, run.budget, tol=tol, note=note) for run in active]
    for run, end in zip(active, run_together(iterations, evaluate), strict=True):
        if end is not None:
            run.path += end.path[bool(run.path) :]  # the first value is the last one of the stage before
            run.mixture, run.end = end.best, end
    kept = [run for run in runs if run.end is not None]
    if not kept:
        raise KeyboardInterrupt
    return kept


def _answer(
    requests: list[StepRequest[_Mixture]], step: Step, parameters: ParameterMap[_Mixture] | None
) -> list[StepResult[_Mixture]]:
    return [answer_request(request, step, parameters) for request in requests]


def _settle(run: _Run, evaluate: Callable[[list[StepRequest[_Mixture]]], Any], shortest: float) -> _Run:
    """Return a converged run moved to where a step no longer changes it, so that it depends on no order of sums."""
    assert run.end is not None
    if run.end.interrupted or run.end.last is None:
        return run
    (end,) = run_together([settling_iterations(run.end.last, run.budget, shortest=shortest)], evaluate)
    if end is None:
        return replace(run, end=replace(run.end, ended="interrupted"))
    return replace(run, mixture=end.model, path=(*(value for value in run.path if value < end.value), end.value))


def _hidden_gain(end: EMResult[_Mixture]) -> float:
    """Return the log-likelihood that may be left to gain: where a step has lost by rounding, what rounding hides."""
    return LOSS_BY_ROUNDING * abs(end.path[-1]) if end.ended == "rounding" else end.remaining_gain


def _rank(run: _Run, scales: Scales) -> tuple[int, float]:
    """Return the key by which runs are sorted, best first: fewest columns clamped at the floor, most likely."""
    return _count_clamped(run.mixture.model, scales), -run.path[-1]


def _count_clamped(model: NaiveModel, scales: Scales) -> int:
    """Return the number of Gaussians that the floor keeps from collapsing on a few equal values."""
    return sum(
        int(np.count_nonzero((group.conditional.variances <= 1.001 * scale.floor) & (scale.floor > 0.0)))
        for group, scale in zip(model.groups, scales, strict=True)
        if isinstance(group.conditional, GaussianColumns) and scale is not None
    )


def _finish(run: _Run, step: Step, scales: Scales, options: LatentClassOptions) -> LatentClassFit:
    """Return the fit of a run with its components sorted by weight, by one more EM step, which no order changes.

    Components have no order of their own, and the result should not depend on the start. The step also gives an
    extrapolated model the statistics from which it follows.
    """
    assert run.end is not None
    order = np.argsort(-run.mixture.model.prior, kind="stable")
    _, last = step(_Mixture(run.mixture.model.take(order), None))
    value, _ = step(last)
    assert last.statistics is not None
    total = float(last.statistics.weight.sum())
    remaining = 0.0 if run.end.ended == "rounding" else run.end.remaining_gain / total
    return LatentClassFit(
        last.model,
        last.statistics,
        loglik=max(value, run.path[-1]),  # equal up to rounding
        path=(*run.path, max(value, run.path[-1])),
        n_iter=run.budget.steps + 1,
        remaining_gain=remaining,
        converged=remaining <= options.tol,
        interrupted=run.end.interrupted,
        weight=total,
        clamped=_count_clamped(last.model, scales),
    )


def _reject_infinity(overall: NaiveStatistics, plan: Plan) -> None:
    """Raise for infinity among categories; other families reject it themselves."""
    for (_, columns), part in zip(plan.groups, overall.parts, strict=True):
        if isinstance(part, CategoryCounts):
            for field, categories in zip(plan.fields_in(columns), part.categories, strict=True):
                if contains_infinity(categories):
                    raise infinity_error(field.name)


# ---- steps ------------------------------------------------------------------------------------------------------


def _estimate(statistics: NaiveStatistics, plan: Plan, options: LatentClassOptions) -> _Mixture:
    """Return the model of statistics: one M-step."""
    weights = statistics.weight / statistics.weight.sum()
    return _Mixture(estimate_naive(statistics, plan, weights, options.naive), statistics)


def _em_step(source: Source, plan: Plan, options: LatentClassOptions, here: _Mixture) -> tuple[float, _Mixture]:
    """Return the log-likelihood of a mixture, and one that is at least as likely."""
    found = accumulate(source, partial(_e_step, model=here.model, plan=plan))
    return found.loglik, _estimate(found.statistics, plan, options)


def _e_step(block: Block, model: NaiveModel, plan: Plan) -> _StepSums:
    """Return Σ w ln p(x) of a block, and the statistics of its rows shared out by responsibilities."""
    parts = []
    for rows, w in weighted_slices(block, block.weight):
        log_density, shares = log_sum_and_posterior(model.log_joint(rows))
        shares *= w[:, None]
        loglik = float(np.sum(w * np.where(w > 0.0, log_density, 0.0)))  # BLAS would round it by the threads
        parts.append(_StepSums(loglik, share_out(rows, shares, plan, model)))
    return reduce(add, parts)


# ---- coordinates ------------------------------------------------------------------------------------------------


def _column_scales(overall: NaiveStatistics, plan: Plan, floor: float) -> Scales:
    """Return the means and variances of all rows for the groups of Gaussian columns."""
    groups = zip(plan.groups, overall.parts, strict=True)
    return [_scale(part.pooled, floor) if isinstance(factor, GaussianFactor) else None for (factor, _), part in groups]


def _scale(pooled: ColumnMoments, floor: float) -> ColumnScale:
    variance = pooled.square / np.where(pooled.weight > 0.0, pooled.weight, 1.0)
    return ColumnScale(pooled.mean, np.where(variance > 0.0, variance, 1.0), floor * variance)


def _parameter_map(scales: Scales) -> ParameterMap[_Mixture]:
    """Return the map from mixtures to the vectors that are extrapolated."""
    coordinates = ModelCoordinates(scales)
    return ParameterMap(
        lambda mixture: coordinates.vector(mixture.model),
        lambda v, like: _Mixture(coordinates.model(v, like.model), None),
    )
