"""EM for every mixture of Gaussians, from a start until no more is to be gained.

The state of an iteration are the arrays of its mixture. `optim.em` iterates and `em_step` takes the steps; here it is
decided when an iteration has really converged, and what happens when a component is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.em_step import ComponentLost, MixtureState, answer_requests, clamped_components
from eigenlens.mixture.problem import Problem
from eigenlens.optim.em import EMResult, StepBudget, StepRequest, StepResult, em_iterations, run_together

CONFIRMATION_TOL = 0.1
"""The iteration that confirms the end of another goes on to this part of the tolerance."""

ReportStep = Callable[[int, float], None]
"""Called with the number of steps and the value after each accepted step."""


@dataclass(frozen=True)
class LostComponent:
    """A component that was removed because no rows were left to it.

    Attributes:
        mean: where it was. step: the number of steps by then.
    """

    mean: tuple[float, ...]
    step: int


@dataclass(frozen=True, eq=False)
class MixtureEMResult:
    """The end of EM from one start.

    Attributes:
        mixture: the best one. path: ln p after each accepted step, since the last component was lost.
        steps: passes over the rows, rejected extrapolations included.
        remaining_gain: an estimate of what more steps would gain. converged: whether that is within the tolerance.
        interrupted: whether the user stopped it. lost: the components removed on the way.
    """

    mixture: Mixture
    path: tuple[float, ...]
    steps: int
    remaining_gain: float
    converged: bool
    interrupted: bool
    lost: tuple[LostComponent, ...]


def run_from_starts(
    problem: Problem,
    starts: Sequence[Mixture],
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    note: ReportStep = lambda steps, value: None,
) -> list[MixtureEMResult | None]:
    """Run EM from each start, side by side; None where an interrupt came before there was something to keep.

    `note` is called for the steps of all. Each result is the one that `run_from_start` would return.
    """
    states = [MixtureState.of(start, problem.structure) for start in starts]
    iterations = [_iterate(problem, state, tol, StepBudget(max_iter), note) for state in states]
    return run_together(iterations, answer_requests(problem, accelerate))


def run_from_start(problem: Problem, start: Mixture, **options: Any) -> MixtureEMResult:
    """Run EM until no more than tol is left to gain, or for max_iter passes; lost components are removed.

    The options are those of `run_from_starts`.
    """
    (result,) = run_from_starts(problem, [start], **options)
    if result is None:
        raise KeyboardInterrupt
    return result


def rank_result(problem: Problem, result: MixtureEMResult) -> tuple[int, int, float]:
    """Return the key by which results are sorted, best first: fewest components lost, fewest clamped, most likely."""
    return len(result.lost), int(clamped_components(problem, result.mixture).sum()), -result.path[-1]


def _iterate(
    problem: Problem, start: MixtureState, tol: float, budget: StepBudget, note: ReportStep
) -> Generator[StepRequest[MixtureState], StepResult[MixtureState], MixtureEMResult]:
    lost = tuple[LostComponent, ...]()
    while True:
        try:
            end = yield from _iterate_and_confirm(start, budget, tol, note)
            break
        except ComponentLost as gone:
            lost += (LostComponent(tuple(gone.state.means[gone.k].tolist()), budget.steps),)
            rest = drop_component(gone.state.mixture(problem.structure), gone.k)
            start = MixtureState.of(rest, problem.structure)
    remaining = 0.0 if end.ended == "rounding" else end.remaining_gain  # no gain is left that could be seen
    mixture = end.best.mixture(problem.structure)
    return MixtureEMResult(mixture, end.path, budget.steps, remaining, remaining <= tol, end.interrupted, lost)


def _iterate_and_confirm(
    start: MixtureState, budget: StepBudget, tol: float, note: ReportStep
) -> Generator[StepRequest[MixtureState], StepResult[MixtureState], EMResult[MixtureState]]:
    """Iterate until the end is confirmed: the remaining gain is estimated from gains, and extrapolated ones mislead.

    From the end of one iteration another, which knows nothing of the first, goes on to a part of the tolerance. If it
    gained more than tol on the way, the first had stopped early, and the second must be confirmed in its turn.
    """
    end = yield from em_iterations(start, budget, tol=tol, note=note)
    while end.ended == "converged" and budget.steps < budget.limit:
        path = end.path
        again = yield from em_iterations(end.best, budget, tol=CONFIRMATION_TOL * tol, note=note, known=end.last)
        left = again.remaining_gain
        remaining = left if np.isfinite(left) else end.remaining_gain  # too few passes were left for a new estimate
        end = replace(again, path=path + again.path[1:], remaining_gain=remaining)
        if end.path[-1] - path[-1] + end.remaining_gain <= tol:
            break
    return end


def drop_component(mixture: Mixture, k: int) -> Mixture:
    """Return the mixture of the other components, their weights scaled to sum to 1."""
    weights = np.delete(mixture.weights, k)
    return Mixture(weights / weights.sum(), mixture.components[:k] + mixture.components[k + 1 :])
