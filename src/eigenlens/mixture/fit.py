"""Gaussian mixtures by maximum likelihood, or with a prior: from a source to a `Mixture`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from eigenlens.data.source import Progress, Source
from eigenlens.densities.mixture import Mixture
from eigenlens.missing.result import step_label
from eigenlens.mixture.em import LostComponent, MixtureEMResult, rank_result, run_em_from_each
from eigenlens.mixture.em_step import Problem, stacked_terms
from eigenlens.mixture.problem import make_problem, summarise_rows
from eigenlens.mixture.starts import Start, StartRule, from_centres, k_means_plus_plus
from eigenlens.mixture.structures.families import COVARIANCE_STRUCTURES

__all__ = ["MixtureFit", "MixtureOptions", "best_fit", "fit_mixture"]


@dataclass(frozen=True, eq=False)
class MixtureOptions:
    """How a mixture is fitted.

    Attributes:
        structure: of the covariances, a name in STRUCTURES. n_factors: latent dimensions of "ppca" and "factor".
        starting: makes the mixtures from which EM starts; see `mixture_starts`.
        prior: a name in PRIORS.
        floor: a component has at least this share of the variance of all rows in every direction.
        tol: log-likelihood a row that may be left to gain. max_iter: the most passes of a climb.
        accelerate: whether steps are extrapolated.
        in_order: whether components stay in the order of the start; else the largest comes first.
    """

    structure: str = "full"
    n_factors: int = 1
    starting: StartRule = field(default_factory=lambda: from_centres(k_means_plus_plus, 20))
    prior: str = "none"
    floor: float = 1e-8
    tol: float = 1e-10
    max_iter: int = 1000
    accelerate: bool = True
    in_order: bool = False


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """A mixture, and how it was found.

    Attributes:
        model: the frozen `Mixture`.
        loglik: Σ w ln p(x) over the rows.
        path: ln p(rows) + ln p(model) after each accepted step, never decreasing; the second is 0 without a prior.
        n_iter: passes of the climb. gap: log-likelihood a row that is estimated to be left to gain.
        converged: whether that is within tol. interrupted: whether the user stopped it: the model is the best so far.
        weight: Σw. rows: how many rows count. parameters: how many numbers of the mixture are free.
        held: the components that would have collapsed, but for the bound of covariances.
        lost: the components that were removed. constant: the columns without variance.
        empty: how many rows have no entry at all, and were left out.
    """

    model: Mixture
    loglik: float
    path: tuple[float, ...]
    n_iter: int
    gap: float
    converged: bool
    interrupted: bool
    weight: float
    rows: int
    parameters: int
    held: tuple[int, ...] = ()
    lost: tuple[LostComponent, ...] = ()
    constant: tuple[int, ...] = ()
    empty: int = 0

    def aic(self) -> float:
        """−2 loglik + 2 parameters."""
        return -2.0 * self.loglik + 2.0 * self.parameters

    def bic(self) -> float:
        """−2 loglik + parameters ln Σw; the smaller the better."""
        return -2.0 * self.loglik + self.parameters * float(np.log(self.weight))


def fit_mixture(
    source: Source, K: int, options: MixtureOptions, rng: np.random.Generator, progress: Progress | None = None
) -> MixtureFit:
    """A mixture of K Gaussians by EM, in memory O(block).

    A pass for the moments of all rows, one for a sample of them from which EM starts, and then a pass a step. NaN is a
    missing entry: the likelihood is that of what is observed.

    >>> from eigenlens.data.memory import ArraySource
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0.0, 1.0, (300, 1)), rng.normal(6.0, 2.0, (200, 1))])
    >>> fit = fit_mixture(ArraySource(X), 2, MixtureOptions(), rng)
    >>> np.sort(fit.model.means.ravel()).round(1), fit.converged
    (array([-0.1,  6. ]), True)
    """
    structure = COVARIANCE_STRUCTURES[options.structure](options.n_factors)
    whole = summarise_rows(source, structure, progress)
    problem = make_problem(whole, K, structure, prior=options.prior, floor=options.floor)
    fit = best_fit(problem, options.starting(problem, K, rng), options, progress)
    return replace(fit, constant=problem.constant, empty=whole.empty)


def best_fit(
    problem: Problem, starts: list[Start], options: MixtureOptions, progress: Progress | None = None
) -> MixtureFit:
    """The best of the climbs from some starts, which go on side by side; an interrupt leaves the best so far.

    A start that the user interrupted is climbed from by no more than a pass, for its value.
    """
    stopped = any(start.interrupted for start in starts)
    found = run_em_from_each(
        problem,
        [start.mixture for start in starts],
        tol=options.tol * problem.weight,
        max_iter=1 if stopped else options.max_iter,
        accelerate=options.accelerate,
        note=_report_steps(progress, options.max_iter),
    )
    pairs = zip(starts, found, strict=True)
    climbs = [replace(one, lost=start.lost + one.lost) for start, one in pairs if one is not None]
    if not climbs:
        raise KeyboardInterrupt
    stopped |= any(one is None or one.interrupted for one in found)
    best = replace(min(climbs, key=partial(rank_result, problem)), interrupted=stopped)
    model = best.mixture if options.in_order else _largest_first(best.mixture)
    return _make_fit(model, best, problem)


def _report_steps(progress: Progress | None, most: int) -> Callable[[int, float], None]:
    """Tells of climbs that go on side by side: of the one that is ahead, once a step, and of the best value of all."""
    ahead, best = 0, -np.inf

    def note(step: int, value: float) -> None:
        nonlocal ahead, best
        best = max(best, value)
        if progress is not None and step > ahead:
            ahead = step
            progress(step, most, step_label(step, best))

    return note


def _largest_first(mixture: Mixture) -> Mixture:
    """The same mixture whatever the start: without an order of their own, components come by their weight."""
    order = np.argsort(-mixture.weights, kind="stable")
    return Mixture(mixture.weights[order], tuple(mixture.components[k] for k in order))


def _make_fit(model: Mixture, found: MixtureEMResult, problem: Problem) -> MixtureFit:
    K, d = model.means.shape
    return MixtureFit(
        model=model,
        loglik=found.path[-1] - float(problem.prior.log_densities(stacked_terms(model)).sum()),
        path=found.path,
        n_iter=found.steps,
        gap=found.gap / problem.weight,
        converged=found.converged,
        interrupted=found.interrupted,
        weight=problem.weight,
        rows=problem.rows,
        parameters=K - 1 + K * d + problem.structure.parameters(d, K),
        held=tuple(np.flatnonzero(problem.held(model)).tolist()),
        lost=found.lost,
    )
