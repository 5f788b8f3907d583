"""EM for every mixture of Gaussians: its steps, and iterations from several starts until nothing is left to gain.

An iteration works on the arrays of its mixture; a `Mixture` is made only of its result. Steps are taken for several
mixtures at once: with few rows, the arithmetic for one takes less time than the calls. `optim.em` iterates; here it is
decided what happens when a component is lost.

Everything but the pass over the rows is left to one thread of BLAS, so that an iteration, which multiplies differences
of rounding, takes the same steps with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import accumulate
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.problem import Problem
from eigenlens.mixture.structures.base import CovarianceArrays, CovarianceStructure
from eigenlens.mixture.structures.parameters import PARAMETERS
from eigenlens.optim.em import (
    SETTLED_STEP,
    StepBudget,
    StepRequest,
    StepResult,
    confirmed_em_iterations,
    extrapolate,
    run_together,
    settling_iterations,
)
from eigenlens.resources import one_thread

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
        state: the best mixture, as arrays of this structure.
        path: ln p after each accepted step, since the last component was lost.
        steps: passes over the rows, rejected extrapolations included.
        remaining_gain: an estimate of what more steps would gain. converged: whether that is within the tolerance.
        interrupted: whether the user stopped it. lost: the components removed on the way.
        last: the evaluation of the mixture, where a step was taken from it.
    """

    state: MixtureState
    structure: CovarianceStructure
    path: tuple[float, ...]
    steps: int
    remaining_gain: float
    converged: bool
    interrupted: bool
    lost: tuple[LostComponent, ...]
    last: StepResult[MixtureState] | None = None

    @cached_property
    def mixture(self) -> Mixture:
        """The best mixture; made where it is asked for, since most starts do not end best."""
        return self.state.mixture(self.structure)


def run_from_starts(
    problem: Problem,
    starts: Sequence[MixtureState],
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    note: ReportStep = lambda steps, value: None,
    best_end: BestEnd | None = None,
) -> list[MixtureEMResult | None]:
    """Run EM from each start, side by side; None where an interrupt came before there was something to keep.

    `note` is called for the steps of all. Each result is the one that `run_from_start` would return, except that with
    `best_end` runs that cannot reach the best end so far are given up.
    """
    iterations = [_iterate(problem, start, tol, StepBudget(max_iter), note, best_end) for start in starts]
    # Added variances have a fixed point but no function that it maximises, by which to judge an extrapolation.
    return run_together(iterations, _answer_requests(problem, accelerate and problem.reg_covar == 0.0))


def run_from_start(problem: Problem, start: MixtureState, **options: Any) -> MixtureEMResult:
    """Run EM until no more than tol is left to gain, or for max_iter passes; lost components are removed.

    The options are those of `run_from_starts`.
    """
    (result,) = run_from_starts(problem, [start], **options)
    if result is None:
        raise KeyboardInterrupt
    return result


def settle(problem: Problem, result: MixtureEMResult, *, tol: float, max_iter: int) -> MixtureEMResult:
    """Return a converged result moved to where a step no longer changes it, so that it depends on no order of sums.

    tol is the log-likelihood per row that was left to gain, max_iter the most passes of all. A mixture that would lose
    a component stays where it is.
    """
    assert result.last is not None
    budget = StepBudget(max_iter, result.steps)
    iteration = settling_iterations(result.last, budget, shortest=SETTLED_STEP * tol)
    try:
        (end,) = run_together([iteration], _answer_requests(problem))
    except ComponentLost:
        return result
    if end is None:
        return replace(result, interrupted=True)
    kept = tuple(value for value in result.path if value < end.value)  # not those that are larger by rounding
    return replace(result, state=end.model, path=(*kept, end.value), steps=budget.steps)


def evaluate_start(problem: Problem, start: MixtureState) -> MixtureEMResult:
    """Return a start unchanged, with its value, in one pass over the rows; no component is removed."""
    values, _ = _e_step(problem, StackedStates.of([start]))
    return MixtureEMResult(start, problem.structure, (float(values[0]),), 0, np.inf, False, False, ())


def rank_result(problem: Problem, result: MixtureEMResult) -> tuple[int, int, float]:
    """Return the key by which results are sorted, best first: fewest components lost, fewest clamped, most likely."""
    return len(result.lost), int(clamped_components(problem, result.state).sum()), -result.path[-1]


@dataclass(eq=False)
class BestEnd:
    """The largest ln p at which a run converged with no component lost or clamped; other runs are compared with it.

    >>> best = BestEnd(-10.0)
    >>> best.is_out_of_reach(-15.0, 0.1), best.is_out_of_reach(-15.0, 0.001)
    (False, True)
    """

    value: float = -np.inf

    def is_out_of_reach(self, value: float, remaining: float) -> bool:
        """Return whether a run with this value stays below, even if the estimate of its gain is far too small."""
        return value + OUT_OF_REACH * remaining < self.value

    def compare(self, problem: Problem, end: MixtureEMResult) -> None:
        """Take the end of a run for the best so far if it is."""
        if end.converged and not end.lost and end.path[-1] > self.value:
            self.value = self.value if clamped_components(problem, end.state).any() else end.path[-1]


def _iterate(
    problem: Problem,
    start: MixtureState,
    tol: float,
    budget: StepBudget,
    note: ReportStep,
    best_end: BestEnd | None = None,
) -> Generator[StepRequest[MixtureState], StepResult[MixtureState], MixtureEMResult]:
    lost, monotone = tuple[LostComponent, ...](), problem.reg_covar == 0.0
    options: dict[str, Any] = {"tol": tol, "note": note, "monotone": monotone}
    options["give_up"] = None if best_end is None else best_end.is_out_of_reach
    while True:
        try:
            end = yield from confirmed_em_iterations(start, budget, **options)
            break
        except ComponentLost as gone:
            lost += (LostComponent(tuple(gone.state.means[gone.k].tolist()), budget.steps),)
            rest = drop_component(gone.state.mixture(problem.structure), gone.k)
            start = MixtureState.of(rest, problem.structure)
    remaining = 0.0 if end.ended == "rounding" else end.remaining_gain  # no gain is left that could be seen
    reached = remaining <= tol
    found = MixtureEMResult(
        end.best, problem.structure, end.path, budget.steps, remaining, reached, end.interrupted, lost, end.last
    )
    if best_end is not None:
        best_end.compare(problem, found)
    return found


def drop_component(mixture: Mixture, k: int) -> Mixture:
    """Return the mixture of the other components, their weights scaled to sum to 1."""
    weights = np.delete(mixture.weights, k)
    return Mixture(weights / weights.sum(), mixture.components[:k] + mixture.components[k + 1 :])


MIN_ROWS_PER_COMPONENT = 1e-6
"""A component with less than this share of one row is lost: its moments are nothing but rounding."""

OUT_OF_REACH = 100.0
"""A run is given up where this many times what it seems to gain would not bring it to the best end."""

MAX_LOG_WEIGHT_CHANGE = 3.0
"""An extrapolation changes the logarithm of a weight by at most this; see `parameters.MAX_LOG_CHANGE`."""


# ---- mixtures as arrays -------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class MixtureState:
    """One mixture as arrays.

    Attributes:
        weights: (K,). means: (K, d). arrays: those of its covariances. vector: its coordinates once they are known.

    >>> from eigenlens.mixture.structures import make_structure
    >>> structure = make_structure("spherical")
    >>> state = MixtureState(np.ones(1), np.zeros((1, 2)), {"variances": np.ones(1)})
    >>> MixtureState.of(state.mixture(structure), structure).arrays
    {'variances': array([1.])}
    """

    weights: Array
    means: Array
    arrays: CovarianceArrays
    vector: Array | None = None

    @classmethod
    def of(cls, mixture: Mixture, structure: CovarianceStructure) -> MixtureState:
        """Return the arrays of a mixture whose components have that structure."""
        return cls(mixture.weights, mixture.means, structure.arrays(mixture.components))

    def mixture(self, structure: CovarianceStructure) -> Mixture:
        """Return the frozen mixture."""
        return Mixture(self.weights, structure.components(self.means, self.arrays))


class StackedStates(NamedTuple):
    """S mixtures of equally many components: weights (S, K), means (S, K, d), and arrays (S, …) of the covariances."""

    weights: Array
    means: Array
    arrays: CovarianceArrays

    @classmethod
    def of(cls, states: Sequence[MixtureState]) -> StackedStates:
        """Stack one mixture after the other."""
        return cls(
            _stack(state.weights for state in states),
            _stack(state.means for state in states),
            {name: _stack(state.arrays[name] for state in states) for name in states[0].arrays},
        )

    def states(self) -> list[MixtureState]:
        """Return one mixture after the other."""
        arrays = ({name: array[s] for name, array in self.arrays.items()} for s in range(len(self.weights)))
        return [MixtureState(*parts) for parts in zip(self.weights, self.means, arrays, strict=True)]

    def select(self, which: Array) -> StackedStates:
        """Return the mixtures that are chosen by booleans (S,)."""
        if which.all():
            return self
        arrays = {name: array[which] for name, array in self.arrays.items()}
        return StackedStates(self.weights[which], self.means[which], arrays)


def _stack(arrays: Iterable[Array]) -> Array:
    """Return np.stack of arrays; NumPy's own checks take longer than the copy, and this runs in every step."""
    rows = list(arrays)
    return rows[0][None] if len(rows) == 1 else np.concatenate(rows).reshape(len(rows), *rows[0].shape)


class ComponentLost(Exception):
    """The signal that component k of a mixture has no rows left."""

    def __init__(self, k: int, state: MixtureState) -> None:
        super().__init__(k)
        self.k, self.state = k, state


# ---- steps --------------------------------------------------------------------------------------------------


def em_steps(problem: Problem, states: Sequence[MixtureState]) -> list[tuple[float, MixtureState] | ComponentLost]:
    """Take one EM step from each of several mixtures of equally many components, in one pass over the rows.

    Returns ln p(rows | mixture) + ln p(mixture) of each mixture and one for which that is at least as large; for a
    mixture that would lose a component, the signal of that.
    """
    stack = StackedStates.of(states)
    values, moments = _e_step(problem, stack)
    lost = moments.weight.reshape(stack.weights.shape) * problem.rows < MIN_ROWS_PER_COMPONENT * problem.weight
    kept = ~lost.any(axis=1)
    better = iter(_m_step(problem, _select_mixtures(moments, kept), stack.select(kept)).states() if kept.any() else ())
    return [
        (float(value), next(better)) if fine else ComponentLost(int(np.argmax(gone)), state)
        for value, fine, gone, state in zip(values, kept, lost, states, strict=True)
    ]


def _e_step(problem: Problem, stack: StackedStates) -> tuple[Array, Any]:
    """Return ln p(rows | mixture) + ln p(mixture) (S,), and the moments of the S K components."""
    with one_thread():
        S, terms = len(stack.weights), problem.structure.terms(*stack)
        log_prior = problem.prior.log_densities(terms).reshape(stack.weights.shape).sum(axis=1)
    found = accumulate(problem.source, problem.make_e_step(terms, S))
    return found.logliks + log_prior, found.moments


def _m_step(problem: Problem, moments: Any, previous: StackedStates | None) -> StackedStates:
    """Return the mixtures with these moments of S K components; S is 1 if there are no `previous` ones."""
    S = 1 if previous is None else len(previous.weights)
    posterior = problem.prior.add_rows(moments).regroup(lambda a: a.reshape(S, -1, *a.shape[1:]))
    posterior = posterior.with_variance(problem.reg_covar) if problem.reg_covar else posterior
    with one_thread():
        arrays = problem.structure.estimate(posterior, problem.floor, None if previous is None else previous.arrays)
    weight = moments.weight.reshape(S, -1)
    return StackedStates(weight / weight.sum(axis=1, keepdims=True), posterior.mean, arrays)


def _select_mixtures(moments: Any, kept: Array) -> Any:
    """Return the moments of the components of those mixtures that are kept (S,)."""
    if kept.all():
        return moments
    groups = np.repeat(kept, len(moments.weight) // len(kept))
    return moments.regroup(lambda a: a[groups])


def estimate_state(problem: Problem, moments: Any, previous: MixtureState | None = None) -> MixtureState:
    """Return the mixture with these moments of its components: one M-step."""
    lost = np.flatnonzero(moments.weight * problem.rows < MIN_ROWS_PER_COMPONENT * problem.weight)
    if previous is not None and lost.size:
        raise ComponentLost(int(lost[0]), previous)
    (state,) = _m_step(problem, moments, None if previous is None else StackedStates.of([previous])).states()
    return state


def clamped_components(problem: Problem, state: MixtureState) -> Array:
    """Return which components (K,) are clamped at the floor in some direction: without it they would collapse.

    Constant columns, in which every component is clamped, are ignored.
    """
    vary = np.delete(np.arange(problem.mean.size), problem.constant)
    if not vary.size:
        return np.zeros(len(state.weights), dtype=bool)
    floor = problem.floor[vary] if problem.floor.ndim == 1 else problem.floor[np.ix_(vary, vary)]
    parts = ((PARAMETERS[name], array[None]) for name, array in state.arrays.items())
    clamped = [part.at_floor(part.select_columns(array, vary), floor)[0] for part, array in parts]
    return np.broadcast_to(np.logical_or.reduce(clamped), len(state.weights))


# ---- coordinates --------------------------------------------------------------------------------------------


def _to_vectors(problem: Problem, stack: StackedStates) -> Array:
    """Return (S, p): logarithms of weights, standardised means, and the coordinates of `PARAMETERS`."""
    s, S = problem.deviations, len(stack.weights)
    arrays = [PARAMETERS[name].to_vector(array, s) for name, array in stack.arrays.items()]
    means = ((stack.means - problem.mean) / s).reshape(S, -1)
    return np.concatenate([np.log(stack.weights), means, *arrays], axis=1)


def _from_vectors(problem: Problem, v: Array, like: StackedStates) -> StackedStates:
    """Return the mixtures with coordinates (S, p), kept near the mixtures `like`."""
    s, (S, K, d) = problem.deviations, like.means.shape
    near = np.log(like.weights)
    log_weights = near + np.clip(v[:, :K] - near, -MAX_LOG_WEIGHT_CHANGE, MAX_LOG_WEIGHT_CHANGE)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    arrays, start = {}, K + K * d
    for name, array in like.arrays.items():
        part = PARAMETERS[name]
        stop = start + part.size(array)
        arrays[name] = part.raise_to_floor(part.from_vector(v[:, start:stop], s, array), problem.floor)
        start = stop
    means = problem.mean + v[:, K : K + K * d].reshape(S, K, d) * s
    return StackedStates(weights / weights.sum(axis=1, keepdims=True), means, arrays)


# ---- answers to iterations ----------------------------------------------------------------------------------

Answers = Sequence[StepResult[MixtureState] | ComponentLost]


def _answer_requests(problem: Problem, accelerate: bool = True) -> Callable[[list[StepRequest[MixtureState]]], Answers]:
    """Return the function that takes the next step of several iterations at once.

    With `accelerate`, an iteration that knows enough of its last steps is answered at their extrapolation.
    """

    def answer(requests: list[StepRequest[MixtureState]]) -> Answers:
        answers: dict[int, StepResult[MixtureState] | ComponentLost] = {}
        for alike in _group_by_size(requests):
            some = [requests[i] for i in alike]
            with one_thread():
                guesses = _extrapolate_states(problem, some) if accelerate else {}
            answers |= zip(alike, _answer_group(problem, some, guesses), strict=True)
        return [answers[i] for i in range(len(requests))]

    return answer


def _group_by_size(requests: list[StepRequest[MixtureState]]) -> Iterator[list[int]]:
    """Yield the iterations with equally many components, which can be stacked."""
    sizes = [len(request.model.weights) for request in requests]
    for K in sorted(set(sizes)):
        yield [i for i, size in enumerate(sizes) if size == K]


def _answer_group(
    problem: Problem, requests: list[StepRequest[MixtureState]], guesses: dict[int, MixtureState]
) -> Answers:
    models = [guesses.get(i, request.model) for i, request in enumerate(requests)]
    steps = zip(models, em_steps(problem, models), strict=True)
    return [_answer(model, i in guesses, step) for i, (model, step) in enumerate(steps)]


def _answer(
    model: MixtureState, extrapolated: bool, step: tuple[float, MixtureState] | ComponentLost
) -> StepResult[MixtureState] | ComponentLost:
    """Return the answer to one request; an extrapolation that loses a component has value −∞, and is rejected."""
    if not isinstance(step, ComponentLost):
        return StepResult(model, *step, extrapolated)
    return StepResult(model, -np.inf, model, True) if extrapolated else step


def _extrapolate_states(problem: Problem, requests: list[StepRequest[MixtureState]]) -> dict[int, MixtureState]:
    """Return the extrapolation of the steps of those iterations that know enough of them, by their position."""
    slow = [(i, one.previous, one.model, one.history) for i, one in enumerate(requests) if one.previous is not None]
    _set_coordinates(problem, [state for _, *ends, _ in slow for state in ends])
    for _, previous, model, history in slow:
        assert previous.vector is not None
        assert model.vector is not None
        history.add(previous.vector, model.vector)
    limits = extrapolate([history for *_, history in slow])
    known = [(i, v, model) for (i, _, model, _), v in zip(slow, limits, strict=True) if v is not None]
    if not known:
        return {}
    like = StackedStates.of([model for *_, model in known])
    guesses = _from_vectors(problem, np.stack([v for _, v, _ in known]), like)
    return dict(zip((i for i, *_ in known), guesses.states(), strict=True))


def _set_coordinates(problem: Problem, states: list[MixtureState]) -> None:
    """Keep the coordinates of those mixtures that have none yet."""
    some = [state for state in states if state.vector is None]
    if some:
        for state, v in zip(some, _to_vectors(problem, StackedStates.of(some)), strict=True):
            state.vector = v
