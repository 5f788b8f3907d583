"""One EM for every mixture of Gaussians, from a start to where no more is to be gained.

The state of a climb are the arrays of its mixture. `ascent` does the climbing and `mixture_steps` the steps; here is
when a climb has really ended, and what happens when a component is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.em_step import ComponentLost, Problem, answer_requests
from eigenlens.mixture.state import MixtureState
from eigenlens.optim.em import EMResult, StepBudget, StepRequest, StepResult, em_iterations, run_together

__all__ = ["LostComponent", "MixtureEMResult", "drop_component", "rank_result", "run_em", "run_em_from_each"]

CONFIRMATION_TOL = 0.1
"""The climb that confirms the end of another goes on to this part of the tolerance."""

ReportStep = Callable[[int, float], None]


@dataclass(frozen=True)
class LostComponent:
    """A component that was removed, since no row was left to it: where it was, and after how many steps."""

    mean: tuple[float, ...]
    step: int


@dataclass(frozen=True, eq=False)
class MixtureEMResult:
    """Where a climb ended.

    Attributes:
        mixture: the best. path: ln p after each accepted step, since the last component was lost.
        steps: passes over the rows, those of guesses that were refused among them.
        gap: what is estimated to be left to gain. converged: whether that is within the tolerance.
        lost: the components removed on the way.
    """

    mixture: Mixture
    path: tuple[float, ...]
    steps: int
    gap: float
    converged: bool
    interrupted: bool
    lost: tuple[LostComponent, ...]


def run_em_from_each(
    problem: Problem,
    starts: Sequence[Mixture],
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    note: ReportStep = lambda steps, value: None,
) -> list[MixtureEMResult | None]:
    """As `run_em` from each start, side by side; None where an interrupt came before there was something to keep.

    `note` is told of the steps of all. Each climb is the one that it would be alone.
    """
    states = [MixtureState.of(start, problem.structure) for start in starts]
    climbs = [_run_one(problem, state, tol, StepBudget(max_iter), note) for state in states]
    return run_together(climbs, answer_requests(problem, accelerate))


def run_em(
    problem: Problem,
    start: Mixture,
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    note: ReportStep = lambda steps, value: None,
) -> MixtureEMResult:
    """EM from `start` until no more than tol is left to gain, or after max_iter passes; lost components are removed."""
    (found,) = run_em_from_each(problem, [start], tol=tol, max_iter=max_iter, accelerate=accelerate, note=note)
    if found is None:
        raise KeyboardInterrupt
    return found


def rank_result(problem: Problem, found: MixtureEMResult) -> tuple[int, int, float]:
    """Climbs in this order, the best first: most components left, fewest held by the bound, likeliest."""
    return len(found.lost), int(problem.held(found.mixture).sum()), -found.path[-1]


def _run_one(
    problem: Problem, start: MixtureState, tol: float, passes: StepBudget, note: ReportStep
) -> Generator[StepRequest[MixtureState], StepResult[MixtureState], MixtureEMResult]:
    lost = tuple[LostComponent, ...]()
    while True:
        try:
            found = yield from _run_and_confirm(start, passes, tol, note)
            break
        except ComponentLost as gone:
            lost += (LostComponent(tuple(gone.state.means[gone.k].tolist()), passes.steps),)
            start = MixtureState.of(drop_component(gone.state.mixture(problem.structure), gone.k), problem.structure)
    gap = 0.0 if found.ended == "rounding" else found.remaining_gain  # no gain is left that could be seen
    mixture = found.best.mixture(problem.structure)
    return MixtureEMResult(mixture, found.path, passes.steps, gap, gap <= tol, found.interrupted, lost)


def _run_and_confirm(
    start: MixtureState, passes: StepBudget, tol: float, note: ReportStep
) -> Generator[StepRequest[MixtureState], StepResult[MixtureState], EMResult[MixtureState]]:
    """A climb that has ended twice: what is left to gain is estimated from gains, and extrapolated ones mislead.

    From the end of one climb another, which knows nothing of the first, goes on to a part of the tolerance. If it
    gained more than tol on the way, the first had stopped early, and the second must be confirmed in its turn.
    """
    found = yield from em_iterations(start, passes, tol=tol, note=note)
    while found.ended == "converged" and passes.steps < passes.limit:
        before = found.path
        again = yield from em_iterations(found.best, passes, tol=CONFIRMATION_TOL * tol, note=note, known=found.last)
        left = again.remaining_gain
        gap = left if np.isfinite(left) else found.remaining_gain  # too few passes were left for another estimate
        found = replace(again, path=before + again.path[1:], remaining_gain=gap)
        if found.path[-1] - before[-1] + found.remaining_gain <= tol:
            break
    return found


def drop_component(mixture: Mixture, k: int) -> Mixture:
    """The mixture of the other components."""
    weights = np.delete(mixture.weights, k)
    return Mixture(weights / weights.sum(), mixture.components[:k] + mixture.components[k + 1 :])
