"""Gaussian mixtures by maximum likelihood, or with a prior: from a source to a `Mixture`.

The problem is made of the moments of all rows together, which are found by EM where values are missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.coerce import require_finite
from eigenlens.data.source import Progress, Source, accumulate
from eigenlens.data.table import count_observed_rows
from eigenlens.densities.covariance import Diagonal, Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.laws import PATH_RELATIONS, Laws, Relations
from eigenlens.missing.result import complete_or_observed, constant_column_indices, step_label
from eigenlens.missing.units import Units
from eigenlens.mixture.em import (
    LostComponent,
    MixtureEMResult,
    MixtureState,
    clamped_components,
    evaluate_start,
    rank_result,
    run_from_start,
    run_from_starts,
    settle,
)
from eigenlens.mixture.missing import observed_e_step
from eigenlens.mixture.prior import Prior
from eigenlens.mixture.problem import (
    MIN_OVERALL_VARIANCE,
    Overall,
    Problem,
    covariance_floor,
    ensure_variance,
    make_problem,
)
from eigenlens.mixture.starts import Start, StartRule, from_centres, k_means_plus_plus
from eigenlens.mixture.structures import make_structure
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.mixture.structures.full import FullStructure
from eigenlens.optim.em import remaining_gain
from eigenlens.stats.moments import ColumnMoments


@dataclass(frozen=True, eq=False)
class MixtureOptions:
    """The options of a fit.

    Attributes:
        structure: of the covariances, a name in COVARIANCE_STRUCTURES. n_factors: latent dimensions, where it has some.
        starting: makes the mixtures from which EM starts; see `starts`.
        prior: a name in PRIORS.
        floor: a component has at least this share of the variance of all rows in every direction.
        reg_covar: added to the variances of the components in every M-step.
        tol: log-likelihood per row that may be left to gain. max_iter: the most steps from one start.
        accelerate: whether steps are extrapolated.
        in_order: whether components stay in the order of the start; otherwise the largest comes first.
    """

    structure: str = "full"
    n_factors: int = 1
    starting: StartRule = field(default_factory=lambda: from_centres(k_means_plus_plus, 20))
    prior: str = "none"
    floor: float = 1e-8
    reg_covar: float = 0.0
    tol: float = 1e-10
    max_iter: int = 1000
    accelerate: bool = True
    in_order: bool = False

    def make_structure(self) -> CovarianceStructure:
        """Return the covariance structure."""
        return make_structure(self.structure, self.n_factors)

    @property
    def regularisation(self) -> dict[str, Any]:
        """The options of `make_problem` that keep covariances from being singular."""
        return {"prior": self.prior, "floor": self.floor, "reg_covar": self.reg_covar}


@dataclass(frozen=True, eq=False)
class MixtureFit:
    """A mixture, and how it was fitted.

    Attributes:
        model: the frozen `Mixture`.
        loglik: Σ w ln p(x) over the rows.
        path: ln p(rows) + ln p(model) after each accepted step, never decreasing; the second is 0 without a prior.
        n_iter: passes of EM. remaining_gain: an estimate of the log-likelihood per row that is left to gain.
        converged: whether that is within tol. interrupted: whether the user stopped it; the model is the best so far.
        weight: Σw. rows: the number of rows with positive weight. parameters: the number of free parameters.
        clamped: the components that would have collapsed without the floor of covariances.
        lost: the components that were removed. constant: the constant columns.
        empty: the number of rows without an observed entry, which were left out.
    """

    laws: ClassVar[Laws] = {
        "loglik": "finite",
        "path": "(*) finite",
        "n_iter": "not negative",
        "remaining_gain": "any",
        "weight": "positive",
        "rows": "not negative",
        "parameters": "not negative",
        "clamped": "(*) integer, below K",
        "constant": "(*) integer, below d",
        "empty": "not negative",
    }

    relations: ClassVar[Relations] = PATH_RELATIONS

    model: Mixture
    loglik: float
    path: tuple[float, ...]
    n_iter: int
    remaining_gain: float
    converged: bool
    interrupted: bool
    weight: float
    rows: int
    parameters: int
    clamped: tuple[int, ...] = ()
    lost: tuple[LostComponent, ...] = ()
    constant: tuple[int, ...] = ()
    empty: int = 0

    def scaled(self, units: Units) -> MixtureFit:
        """Return a fit to columns over their standard deviations as one to the columns themselves."""
        path = tuple(value - units.log_scale for value in self.path)
        lost = tuple(replace(each, mean=tuple((np.asarray(each.mean) * units.scale).tolist())) for each in self.lost)
        loglik = self.loglik - units.log_scale
        return replace(self, model=self.model.scaled(units.scale), loglik=loglik, path=path, lost=lost)

    def aic(self) -> float:
        """Return −2 loglik + 2 parameters; smaller is better."""
        return -2.0 * self.loglik + 2.0 * self.parameters

    def bic(self) -> float:
        """Return −2 loglik + parameters ln Σw; smaller is better."""
        return -2.0 * self.loglik + self.parameters * float(np.log(self.weight))


def fit_mixture(
    source: Source, K: int, options: MixtureOptions, rng: np.random.Generator, progress: Progress | None = None
) -> MixtureFit:
    """Fit a mixture of K Gaussians by EM, in memory O(block).

    One pass for the moments of all rows, one for a sample of them from which EM starts, and then one pass per step. NaN
    is a missing value: the likelihood is that of the observed entries.

    >>> from eigenlens.data.memory import ArraySource
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0.0, 1.0, (300, 1)), rng.normal(6.0, 2.0, (200, 1))])
    >>> fit = fit_mixture(ArraySource(X), 2, MixtureOptions(), rng)
    >>> np.sort(fit.model.means.ravel()).round(1), fit.converged
    (array([-0.1,  6. ]), True)
    """
    structure = options.make_structure()
    overall = summarise_rows(source, structure, progress)
    problem = make_problem(overall, K, structure, **options.regularisation)
    fit = best_fit(problem, options.starting(problem, K, rng, options.max_iter), options, progress)
    return replace(fit, constant=problem.constant, empty=overall.empty)


def best_fit(
    problem: Problem, starts: list[Start], options: MixtureOptions, progress: Progress | None = None
) -> MixtureFit:
    """Return the best of the fits from some starts, which run side by side; an interrupt leaves the best so far.

    The steps that led to a start count. From one that the user interrupted, EM takes one pass, for its value.
    """
    stopped = any(start.interrupted for start in starts)
    left = max(0, options.max_iter - max(start.steps for start in starts))
    ends = _run_starts(problem, [start.state for start in starts], options, 0 if stopped else left, progress)
    pairs = zip(starts, ends, strict=True)
    results = [replace(end, lost=start.lost + end.lost) for start, end in pairs if end is not None]
    if not results:
        raise KeyboardInterrupt
    stopped |= any(end is None or end.interrupted for end in ends)
    best = replace(min(results, key=partial(rank_result, problem)), interrupted=stopped)
    # With tol=0 the most likely model counts to the last bit, and there is no tolerance within which another may do.
    if best.converged and options.tol > 0.0 and options.accelerate and not (stopped or problem.reg_covar):
        best = settle(problem, best, tol=options.tol, max_iter=left + 1)
    model = best.mixture if options.in_order else _largest_first(best.mixture)
    return _make_fit(model, replace(best, steps=min(best.steps, left)), problem)


def _run_starts(
    problem: Problem, starts: list[MixtureState], options: MixtureOptions, left: int, progress: Progress | None
) -> list[MixtureEMResult | None]:
    if options.max_iter == 0:
        return [evaluate_start(problem, start) for start in starts]
    return run_from_starts(
        problem,
        starts,
        tol=options.tol * problem.weight,
        max_iter=left + 1,  # the first pass is for the value of the start
        accelerate=options.accelerate,
        note=_report_steps(progress, left),
    )


def join_paths(before: MixtureFit, fit: MixtureFit, tol: float) -> MixtureFit:
    """Return a fit with its convergence judged by the steps of the fit that it continues too.

    The remaining gain needs two gains, and a fit that continues another for a single step has only one.
    """
    continued = before.path and len(fit.path) < 3 and np.isclose(fit.path[0], before.path[-1], rtol=1e-12, atol=0.0)
    if not continued or fit.converged:
        return fit
    remaining = remaining_gain(before.path[:-1] + fit.path) / fit.weight
    return replace(fit, remaining_gain=remaining, converged=remaining <= tol)


def _report_steps(progress: Progress | None, most: int) -> Callable[[int, float], None]:
    """Return a callback that reports runs made side by side.

    Each step is reported once, when the first run reaches it, with the best value so far."""
    ahead, best = 0, -np.inf

    def note(step: int, value: float) -> None:
        nonlocal ahead, best
        best = max(best, value)
        if progress is not None and step > ahead:
            ahead = step
            progress(step, most, step_label(step, best))

    return note


def _largest_first(mixture: Mixture) -> Mixture:
    """Sort components by weight: they have no order of their own, and the result should not depend on the start."""
    order = np.argsort(-mixture.weights, kind="stable")
    return Mixture(mixture.weights[order], tuple(mixture.components[k] for k in order))


def mixture_parameters(model: Mixture, structure: CovarianceStructure) -> int:
    """Return the number of free parameters: weights, means and covariances."""
    K, d = map(int, model.means.shape)
    return K - 1 + K * d + structure.n_parameters(d, K)


def _make_fit(model: Mixture, result: MixtureEMResult, problem: Problem) -> MixtureFit:
    assert model.terms is not None
    state = MixtureState.of(model, problem.structure)
    return MixtureFit(
        model=model,
        loglik=result.path[-1] - float(problem.prior.log_densities(model.terms).sum()),
        path=result.path,
        n_iter=result.steps,
        remaining_gain=result.remaining_gain / problem.weight,
        converged=result.converged,
        interrupted=result.interrupted,
        weight=problem.weight,
        rows=problem.rows,
        parameters=mixture_parameters(model, problem.structure),
        clamped=tuple(np.flatnonzero(clamped_components(problem, state)).tolist()),
        lost=result.lost,
    )


SINGLE_GAUSSIAN_TOL, SINGLE_GAUSSIAN_STEPS = 1e-6, 30
"""The tolerance per row, and the most steps, of the single Gaussian of incomplete rows: starts need no more."""


def summarise_rows(source: Source, structure: CovarianceStructure, progress: Progress | None = None) -> Overall:
    """Return the overall moments of the rows of a source, in one pass; in a few more where values are missing.

    Missing values show up as NaN in the moments, so complete rows are never searched for them.
    """
    complete = partial(_summarise_complete, structure=structure, progress=progress)
    return complete_or_observed(source, complete, partial(_summarise_incomplete, structure=structure))


def _summarise_complete(source: Source, structure: CovarianceStructure, progress: Progress | None) -> Overall:
    with np.errstate(all="ignore"):  # entries that are not finite show up in the result, and are explained below
        moments = accumulate(source, structure.moments.of, progress, "moments")
    squares = moments.scatter if structure.joint else moments.square
    require_finite(source, squares)
    return Overall(source, moments.rows, moments.weight, moments.mean, squares / moments.weight)


def _summarise_incomplete(source: Source, observed: ColumnMoments, structure: CovarianceStructure) -> Overall:
    rows, weight, empty = accumulate(source, count_observed_rows)
    mean, variances = observed.mean, observed.square / observed.weight
    overall = Overall(source, int(rows), float(weight), mean, variances, observed_e_step, empty=int(empty))
    constant = constant_column_indices(mean, variances)
    positive = ensure_variance(variances, constant)
    if not structure.joint:
        single = Gaussian(mean, Diagonal(positive))
        return replace(overall, fill_missing=partial(_impute, single))
    single = _fit_single_gaussian(overall, np.diag(positive))
    varies = np.ones(mean.size)
    varies[list(constant)] = 0.0  # constant columns keep their own variance, 0, rather than that of `positive`
    covariance = single.covariance.matrix() * np.outer(varies, varies)
    return replace(overall, mean=single.mean, covariance=covariance, fill_missing=partial(_impute, single))


def _fit_single_gaussian(overall: Overall, covariance: Array) -> Gaussian:
    """Fit one Gaussian to all rows, by EM from independent columns."""
    floor = covariance_floor(covariance, MIN_OVERALL_VARIANCE)
    fields = vars(replace(overall, covariance=covariance))
    problem = Problem(**fields, structure=FullStructure(), prior=Prior(), floor=floor)
    start = MixtureState(np.ones(1), overall.mean[None], {"covariances": covariance[None]})
    tol = SINGLE_GAUSSIAN_TOL * overall.weight
    result = run_from_start(problem, start, tol=tol, max_iter=SINGLE_GAUSSIAN_STEPS)
    if result.interrupted:  # there is no mixture yet that could be kept
        raise KeyboardInterrupt
    return Gaussian(result.mixture.means[0], Full(result.mixture.covariance()))


def _impute(single: Gaussian, rows: Array) -> Array:
    return single.impute(rows) if np.isnan(rows).any() else rows
