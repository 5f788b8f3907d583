"""Mixtures of any family by EM: a table to a naive Bayes model whose classes are not known.

A component is a product of columns, p_k(x) = Π_j p_kj(x_j), and every family of naive Bayes whose statistics merge is
fitted to rows that the components share: the M-step is naive Bayes with the responsibilities as weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add

import numpy as np
from scipy.special import logsumexp

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.base import NaiveOptions
from eigenlens.bayes.naive.families.gaussian import GaussianColumns
from eigenlens.bayes.naive.families.multinomial import MultinomialFactor
from eigenlens.bayes.naive.fit import NaiveStatistics, attach_labels, estimate_naive, row_slices
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.naive.plan import Plan
from eigenlens.data.source import Block, FieldSums, Progress, Source, accumulate
from eigenlens.errors import DataError
from eigenlens.missing.result import step_label
from eigenlens.optim.em import EMResult, StepBudget, StepRequest, StepResult, em_iterations, run_together

SEED_SHARE = 0.5
"""A component starts as all rows with one row of this share of the weight: near that row, and wide enough for all."""

SHORT_RUN_STEPS = 20
"""The steps of EM from each start before the best go on (Biernacki, Celeux and Govaert 2003)."""

FINAL_STARTS = 3
"""The number of starts that are run to the end: the best after a short run need not remain so."""


@dataclass(frozen=True, eq=False)
class LatentClassOptions:
    """The options of a fit.

    Attributes:
        n_init: starts. tol: log-likelihood per row that may be left to gain. max_iter: the most passes from one start.
        naive: the options of the families.
    """

    n_init: int = 10
    tol: float = 1e-8
    max_iter: int = 1000
    naive: NaiveOptions = field(default_factory=lambda: NaiveOptions(smoothing=0.0))


@dataclass(frozen=True, eq=False)
class LatentClassFit:
    """A mixture, and how it was fitted.

    Attributes:
        model: the frozen `NaiveModel`, whose prior has the weights of the components.
        statistics: of the columns in each component, from which the model follows.
        loglik: Σ w ln p(x). path: the log-likelihood after each step, never decreasing.
        n_iter: passes of EM. remaining_gain: an estimate of what is left to gain per row. converged: whether it is
            within tol. interrupted: whether the user stopped it. weight: Σ w. rows: of positive weight.
        clamped: the number of Gaussian columns of components that the floor keeps from collapsing.
    """

    model: NaiveModel
    statistics: NaiveStatistics
    loglik: float
    path: tuple[float, ...]
    n_iter: int
    remaining_gain: float
    converged: bool
    interrupted: bool
    weight: float
    rows: int
    clamped: int = 0

    @property
    def lost(self) -> tuple[()]:
        """No component is ever removed: every row has a share in each."""
        return ()


@dataclass(frozen=True, eq=False)
class _Mixture:
    """A model on its way: its statistics, and the model that follows from them."""

    statistics: NaiveStatistics
    model: NaiveModel


@dataclass(frozen=True, eq=False)
class _StepSums(FieldSums):
    loglik: float
    statistics: NaiveStatistics


def fit_latent_classes(
    source: Source,
    weight: Array,
    K: int,
    plan: Plan,
    options: LatentClassOptions,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> LatentClassFit:
    """Return the mixture of K components that maximises the likelihood of a table, weights (n,) counting its rows.

    One pass per step, in memory O(block). Missing values leave their factors out, which is exact for this model.
    """
    total, step = float(weight.sum()), partial(_em_step, source.weighted(weight), plan, options)
    starts = [_start(source, weight, K, plan, options, each) for each in rng.spawn(options.n_init if K > 1 else 1)]
    rank = partial(_rank_result, floor=options.naive.floor)
    if len(starts) > 1:
        short = _run(step, starts, tol=0.0, max_iter=SHORT_RUN_STEPS)
        if any(end.interrupted for end in short):
            return _make_fit(min(short, key=rank), total, weight, options)
        starts = [end.best for end in sorted(short, key=rank)[:FINAL_STARTS]]
    ends = _run(step, starts, options.tol * total, options.max_iter, progress)
    return _make_fit(_largest_first(step, min(ends, key=rank)), total, weight, options)


def _run(
    step: Callable[[_Mixture], tuple[float, _Mixture]],
    starts: Sequence[_Mixture],
    tol: float,
    max_iter: int,
    progress: Progress | None = None,
) -> list[EMResult[_Mixture]]:
    """Run plain EM from each start, side by side; an interrupt is raised again where there is nothing to keep."""

    def evaluate(requests: list[StepRequest[_Mixture]]) -> list[StepResult[_Mixture]]:
        return [StepResult(request.model, *step(request.model), False) for request in requests]

    def note(done: int, value: float) -> None:
        if progress is not None:
            progress(done, max_iter, step_label(done, value))

    runs = [em_iterations(start, StepBudget(max_iter), tol=tol, note=note) for start in starts]
    ends = [end for end in run_together(runs, evaluate) if end is not None]
    if not ends:
        raise KeyboardInterrupt
    return ends


def _rank_result(end: EMResult[_Mixture], floor: float) -> tuple[int, float]:
    """Return the key by which results are sorted, best first: fewest components clamped at the floor, most likely."""
    return _count_clamped(end.best, floor), -end.path[-1]


def _count_clamped(here: _Mixture, floor: float) -> int:
    """Return the number of Gaussians that the floor keeps from collapsing on a few equal values."""
    clamped = 0
    for (_, conditional), part in zip(here.model.groups, here.statistics.parts, strict=True):
        if isinstance(conditional, GaussianColumns):
            pooled = part.pooled
            total = pooled.square / np.where(pooled.weight > 0.0, pooled.weight, 1.0)
            clamped += int(np.count_nonzero((conditional.variances <= 1.001 * floor * total) & (total > 0.0)))
    return clamped


def _largest_first(step: Callable[..., tuple[float, _Mixture]], end: EMResult[_Mixture]) -> EMResult[_Mixture]:
    """Return the result with its components sorted by weight, by one more EM step, which no order changes.

    Components have no order of their own, and the result should not depend on the start.
    """
    order = np.argsort(-end.best.model.prior, kind="stable")
    if end.interrupted or np.all(order == np.arange(len(order))):
        return end
    _, ordered = step(end.best, order)
    value, _ = step(ordered)
    return replace(end, best=ordered, path=(*end.path, max(value, end.path[-1])))  # equal up to rounding


def _make_fit(end: EMResult[_Mixture], total: float, weight: Array, options: LatentClassOptions) -> LatentClassFit:
    remaining = 0.0 if end.ended == "rounding" else end.remaining_gain / total
    return LatentClassFit(
        end.best.model, end.best.statistics, end.path[-1], end.path, len(end.path), remaining,
        remaining <= options.tol, end.interrupted, total, int(np.count_nonzero(weight)),
        _count_clamped(end.best, options.naive.floor),
    )  # fmt: skip


# ---- steps ------------------------------------------------------------------------------------------------------


def _estimate(statistics: NaiveStatistics, plan: Plan, options: LatentClassOptions) -> _Mixture:
    """Return the model of statistics: one M-step."""
    weights = statistics.weight / statistics.weight.sum()
    return _Mixture(statistics, estimate_naive(statistics, plan, weights, options.naive))


def _em_step(
    source: Source, plan: Plan, options: LatentClassOptions, here: _Mixture, order: Array | None = None
) -> tuple[float, _Mixture]:
    """Return the log-likelihood of a mixture, and one that is at least as likely, its components in this order."""
    found = accumulate(source, partial(_e_step, model=here.model, plan=plan, order=order))
    return found.loglik, _estimate(found.statistics, plan, options)


def _e_step(block: Block, model: NaiveModel, plan: Plan, order: Array | None = None) -> _StepSums:
    """Return Σ w ln p(x) of a block, and the statistics of its rows shared out by responsibilities."""
    parts, first = [], 0
    for rows in row_slices(block.rows, copied=True):
        w = block.weight[first : first + rows.shape[0]]
        first += rows.shape[0]
        joint = model.log_joint(rows)
        log_density = logsumexp(joint, axis=1)
        shares = np.exp(joint - np.where(np.isfinite(log_density), log_density, 0.0)[:, None]) * w[:, None]
        shares = shares if order is None else shares[:, order]
        parts.append(_StepSums(float(w[w > 0.0] @ log_density[w > 0.0]), share_out(rows, shares, plan)))
    return reduce(add, parts)


def share_out(rows: object, shares: Array, plan: Plan) -> NaiveStatistics:
    """Return the statistics of rows of which component k has the weights shares[:, k] (n, K)."""
    n, K = shares.shape
    parts = [
        reduce(
            add,
            (
                factor.summarise(rows, np.array(columns), np.full(n, k, dtype=np.int32), np.ascontiguousarray(share), K)
                for k, share in enumerate(shares.T)
            ),
        )
        for factor, columns in plan.groups
    ]
    return NaiveStatistics(shares.sum(axis=0), tuple(parts))


# ---- starts -----------------------------------------------------------------------------------------------------


def _start(
    source: Source, weight: Array, K: int, plan: Plan, options: LatentClassOptions, rng: np.random.Generator
) -> _Mixture:
    """Return components that are all rows together, each with one row drawn at random counting more.

    That needs no distance between rows, so it works for columns of any kind.
    """
    count = min(K, int(np.count_nonzero(weight)))
    seeds = rng.choice(len(weight), size=count, replace=False, p=weight / weight.sum())
    labels = np.full(len(weight), -1, dtype=np.int32)
    labels[seeds] = np.arange(count)
    labelled = attach_labels(source, labels, weight)
    summarise = partial(_seeded_block, plan=plan, K=K, total=float(weight.sum()))
    found = accumulate(labelled, summarise)
    _require_complete_counts(found, plan)
    return _estimate(found, plan, options)


def _require_complete_counts(statistics: NaiveStatistics, plan: Plan) -> None:
    """Raise where a block of counts has missing entries: its shares have no closed form then."""
    for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True):
        if isinstance(factor, MultinomialFactor) and np.any(part.weight < part.rows[:, None] * (1.0 - 1e-9)):
            names = [str(plan.fields[j].name) for j in columns]
            what = "has missing counts in a 'multinomial' block, which EM cannot share out"
            fix = "replace them by 0 where that is what they mean, or leave out the rows"
            raise DataError(what, argument="X", columns=names, fix=fix)


def _seeded_block(block: Block, plan: Plan, K: int, total: float) -> NaiveStatistics:
    parts, first = [], 0
    for rows in row_slices(block.rows, copied=True):
        label, w = (block.weight[name][first : first + rows.shape[0]] for name in ("label", "weight"))
        first += rows.shape[0]
        shares = np.repeat(w[:, None], K, axis=1) * ((1.0 - SEED_SHARE) / K if K > 1 else 1.0)
        seed = np.flatnonzero(label >= 0)
        if K > 1:
            shares[seed, label[seed]] += SEED_SHARE * total / K
        parts.append(share_out(rows, shares, plan))
    return reduce(add, parts)
