"""What is asked of a mixture of Gaussians, and steps of EM towards it: a pass over the rows, and an estimate.

Steps are taken for several mixtures at once: with few rows the arithmetic of one is nothing beside the calls it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.mixture_terms import StackedEStep, Terms
from eigenlens.mixture.prior import Prior
from eigenlens.mixture.state import MixtureState, StackedStates
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.mixture.structures.parameters import PARAMETERS, floor_variances
from eigenlens.optim.em import StepRequest, StepResult, extrapolate

__all__ = [
    "ComponentLost",
    "MakeEStep",
    "Problem",
    "answer_requests",
    "complete_e_step",
    "rows_unchanged",
    "stacked_terms",
]

MIN_ROWS_PER_COMPONENT = 1e-6
"""A component with less than this share of one row is lost."""

MAX_LOG_WEIGHT_CHANGE = 3.0
"""No logarithm of a weight is extrapolated further than this."""


def stacked_terms(mixture: Mixture) -> Terms:
    """The terms of a mixture whose components all have one structure, as those fitted here do."""
    assert mixture.terms is not None
    return mixture.terms


MakeEStep = Callable[[Terms, int], Callable[[Block], StackedEStep]]
"""What a pass for S mixtures, whose terms stand one after the other, makes of a block of rows."""


def complete_e_step(terms: Terms, S: int) -> Callable[[Block], StackedEStep]:
    """The pass over complete rows: the E-step and the sums of the M-step."""
    return partial(terms.stacked_e_step, S=S)


def rows_unchanged(rows: Array) -> Array:
    """Complete rows, which need no filling."""
    return rows


class ComponentLost(Exception):
    """Component k of a mixture has no rows left."""

    def __init__(self, k: int, state: MixtureState) -> None:
        super().__init__(k)
        self.k, self.state = k, state


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, and what is asked of the mixture that they are drawn from.

    Attributes:
        source: the rows. rows: how many count. weight: their Σw.
        mean: (d,) of all rows. covariance: theirs (d, d), or variances (d,) where the structure needs no more.
        structure: of the components' covariances. prior: of the components.
        least: the covariance (d, d), or variances (d,), that no component may be below.
        reading: what a pass for some mixtures makes of a block of rows.
        filled: dense rows (b, d) to complete ones, as far as a start needs it.
        constant: the columns of all rows that have no variance.
    """

    source: Source
    rows: int
    weight: float
    mean: Array
    covariance: Array
    structure: CovarianceStructure
    prior: Prior
    least: Array
    reading: MakeEStep = complete_e_step
    filled: Callable[[Array], Array] = rows_unchanged
    constant: tuple[int, ...] = ()

    @property
    def deviations(self) -> Array:
        """s (d,), those of the columns."""
        return np.sqrt(floor_variances(self.covariance))

    # ---- steps ------------------------------------------------------------------------------------------

    def steps(self, states: Sequence[MixtureState]) -> list[tuple[float, MixtureState] | ComponentLost]:
        """Of each mixture ln p(rows | mixture) + ln p(mixture), and one for which that is at least as large: a pass.

        The mixtures have equally many components; for one that would lose a component, which.
        """
        stack = StackedStates.of(states)
        values, moments = self._read(stack)
        gone = moments.weight.reshape(stack.weights.shape) * self.rows < MIN_ROWS_PER_COMPONENT * self.weight
        kept = ~gone.any(axis=1)
        better = iter(self._estimated(_select_mixtures(moments, kept), stack.some(kept)).states() if kept.any() else ())
        return [
            (float(value), next(better)) if fine else ComponentLost(int(np.argmax(lost)), state)
            for value, fine, lost, state in zip(values, kept, gone, states, strict=True)
        ]

    def _read(self, stack: StackedStates) -> tuple[Array, Any]:
        S, terms = len(stack.weights), self.structure.terms(*stack)
        believed = self.prior.log_densities(terms).reshape(stack.weights.shape).sum(axis=1)
        found = accumulate(self.source, self.reading(terms, S))
        return found.logliks + believed, found.moments

    def _estimated(self, moments: Any, before: StackedStates | None) -> StackedStates:
        """The mixtures with these moments of S K components; S is 1 if there is none `before`."""
        S = 1 if before is None else len(before.weights)
        known = _split_by_mixture(self.prior.applied(moments), S)
        spread = self.structure.spread(known, self.least, None if before is None else before.spread)
        weight = moments.weight.reshape(S, -1)
        return StackedStates(weight / weight.sum(axis=1, keepdims=True), known.mean, spread)

    def estimate(self, moments: Any, start: Mixture | None = None) -> Mixture:
        """The mixture with these moments of its components."""
        before = None if start is None else MixtureState.of(start, self.structure)
        lost = np.flatnonzero(moments.weight * self.rows < MIN_ROWS_PER_COMPONENT * self.weight)
        if before is not None and lost.size:
            raise ComponentLost(int(lost[0]), before)
        (found,) = self._estimated(moments, None if before is None else StackedStates.of([before])).states()
        return found.mixture(self.structure)

    def held(self, mixture: Mixture) -> Array:
        """Which components (K,) are held by the bound in some direction: without it they would collapse.

        Constant columns, in which all are, do not count.
        """
        arrays = self.structure.arrays(mixture.components)
        vary = np.delete(np.arange(self.mean.size), self.constant)
        least = self.least[vary] if self.least.ndim == 1 else self.least[np.ix_(vary, vary)]
        parts = ((PARAMETERS[name], array[None]) for name, array in arrays.items())
        which = [part.held(part.some(array, vary), least)[0] for part, array in parts]
        return np.broadcast_to(np.logical_or.reduce(which), len(mixture.weights))

    # ---- coordinates ------------------------------------------------------------------------------------

    def vectors(self, stack: StackedStates) -> Array:
        """(S, p): logarithms of weights, means about that of all rows in units of the deviations, `mixture_parts`."""
        s, S = self.deviations, len(stack.weights)
        spread = [PARAMETERS[name].vector(array, s) for name, array in stack.spread.items()]
        means = ((stack.means - self.mean) / s).reshape(S, -1)
        return np.concatenate([np.log(stack.weights), means, *spread], axis=1)

    def models(self, v: Array, like: StackedStates) -> StackedStates:
        """The mixtures with coordinates (S, p), not too far from those that they are `like`."""
        s, (S, K, d) = self.deviations, like.means.shape
        near = np.log(like.weights)
        log_weights = near + np.clip(v[:, :K] - near, -MAX_LOG_WEIGHT_CHANGE, MAX_LOG_WEIGHT_CHANGE)
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        spread, start = {}, K + K * d
        for name, array in like.spread.items():
            part = PARAMETERS[name]
            stop = start + part.size(array)
            spread[name] = part.bounded(part.array(v[:, start:stop], s, array), self.least)
            start = stop
        means = self.mean + v[:, K : K + K * d].reshape(S, K, d) * s
        return StackedStates(weights / weights.sum(axis=1, keepdims=True), means, spread)


def _split_by_mixture(moments: Any, S: int) -> Any:
    """The moments of S K groups as those of K in each of S mixtures, (S, K, …)."""
    return moments.regroup(lambda a: a.reshape(S, -1, *a.shape[1:]))


def _select_mixtures(moments: Any, kept: Array) -> Any:
    """The moments of the groups of those mixtures that are kept (S,)."""
    if kept.all():
        return moments
    groups = np.repeat(kept, len(moments.weight) // len(kept))
    return moments.regroup(lambda a: a[groups])


# ---- answers to climbs --------------------------------------------------------------------------------------

Answers = Sequence[StepResult[MixtureState] | ComponentLost]


def answer_requests(problem: Problem, accelerate: bool = True) -> Callable[[list[StepRequest[MixtureState]]], Answers]:
    """What climbs want to hear, for all of them at once; with `accelerate`, guesses of where their steps lead."""

    def answer(wanted: list[StepRequest[MixtureState]]) -> Answers:
        found: dict[int, StepResult[MixtureState] | ComponentLost] = {}
        for alike in _group_by_size(wanted):
            some = [wanted[i] for i in alike]
            guesses = _extrapolate(problem, some) if accelerate else {}
            found |= zip(alike, _answer_group(problem, some, guesses), strict=True)
        return [found[i] for i in range(len(wanted))]

    return answer


def _group_by_size(wanted: list[StepRequest[MixtureState]]) -> Iterator[list[int]]:
    """The climbs that have equally many components."""
    numbers = [len(one.model.weights) for one in wanted]
    for K in sorted(set(numbers)):
        yield [i for i, number in enumerate(numbers) if number == K]


def _answer_group(
    problem: Problem, wanted: list[StepRequest[MixtureState]], guesses: dict[int, MixtureState]
) -> Answers:
    models = [guesses.get(i, one.model) for i, one in enumerate(wanted)]
    return [
        _answer(model, i in guesses, step)
        for i, (model, step) in enumerate(zip(models, problem.steps(models), strict=True))
    ]


def _answer(
    model: MixtureState, guessed: bool, step: tuple[float, MixtureState] | ComponentLost
) -> StepResult[MixtureState] | ComponentLost:
    """A component that a mere guess loses is no loss: the guess has no value, and will be refused."""
    if not isinstance(step, ComponentLost):
        return StepResult(model, *step, guessed)
    return StepResult(model, -np.inf, model, True) if guessed else step


def _extrapolate(problem: Problem, wanted: list[StepRequest[MixtureState]]) -> dict[int, MixtureState]:
    """Where the steps of those climbs lead that know enough."""
    slow = [(i, one.previous, one.model, one.history) for i, one in enumerate(wanted) if one.previous is not None]
    _set_coordinates(problem, [state for _, *ends, _ in slow for state in ends])
    for _, before, model, look_back in slow:
        assert before.vector is not None
        assert model.vector is not None
        look_back.add(before.vector, model.vector)
    led = extrapolate([look_back for *_, look_back in slow])
    known = [(i, v, model) for (i, _, model, _), v in zip(slow, led, strict=True) if v is not None]
    if not known:
        return {}
    guesses = problem.models(np.stack([v for _, v, _ in known]), StackedStates.of([model for *_, model in known]))
    return dict(zip((i for i, *_ in known), guesses.states(), strict=True))


def _set_coordinates(problem: Problem, states: list[MixtureState]) -> None:
    """Keep the coordinates of those mixtures that have none yet."""
    some = [state for state in states if state.vector is None]
    if some:
        for state, v in zip(some, problem.vectors(StackedStates.of(some)), strict=True):
            state.vector = v
