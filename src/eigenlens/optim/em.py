"""Maximise a likelihood by steps that never decrease it, such as EM's, and shorten their slow end by extrapolation.

A step maps a model to a better one. Where the gains shrink slowly, Anderson's extrapolation guesses the limit of the
steps; a guess that decreases the likelihood is replaced by the plain step it started from, so the likelihood never
falls. SciPy has no counterpart: its optimisers need gradients, and run one start at a time.

An iteration is a generator: it requests a model to be evaluated, and its caller sends the result. So many starts can
be iterated together, and the models that they request at the same time are evaluated at once: `run_together`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from eigenlens.arrays import Array

EXTRAPOLATION_STEPS = 6
"""Differences of previous steps that the extrapolation combines: more cost memory and hardly shorten the iteration."""

GAIN_WINDOW = 5
"""Last values of the likelihood from which the remaining gain is estimated."""

SLOW_GAIN_RATIO = 0.25
"""Gains that shrink more slowly than this from step to step are worth extrapolating."""

MIN_SINGULAR_RATIO = 1e-8
"""Directions of the last steps shorter than this share of the longest are rounding error, and are left out."""

CONFIRMATION_TOL = 0.1
"""The share of the tolerance to which a second run confirms that an extrapolated one had converged."""

SETTLED_STEP = 1e-3
"""A model has settled where a step changes no coordinate by more than this share of the tolerance."""

MAX_STALLS = 6
"""Steps within which their length must halve; where it does not, the rest is taken for rounding."""

LOSS_BY_ROUNDING, LOSS_ON_THE_WAY = 1e-12, 1e-9
"""The share of a value by which rounding alone may lower it, and that by which a step to where it settles may."""

SMALLEST_GAIN = float(np.finfo(float).tiny)

M = TypeVar("M")


@dataclass(frozen=True, eq=False)
class ParameterMap(Generic[M]):
    """The map from a model to a vector of parameters on comparable scales, and back.

    `model(v, like)` has the parameters v, and everything else from the model `like`.
    """

    vector: Callable[[M], Array]
    model: Callable[[Array, M], M]


class StepHistory:
    """The last iterates and the results of a step from each, as vectors."""

    def __init__(self) -> None:
        self.points: list[Array] = []
        self.images: list[Array] = []

    def add(self, point: Array, image: Array) -> None:
        """Remember one more step, and forget the oldest."""
        last = slice(-EXTRAPOLATION_STEPS, None)
        self.points, self.images = [*self.points[last], point], [*self.images[last], image]

    @property
    def last_step(self) -> float:
        """The largest change of a coordinate by the last step."""
        return float(np.abs(self.images[-1] - self.points[-1]).max())


class StepRequest(NamedTuple, Generic[M]):
    """A request to evaluate a model, or the extrapolation of the steps of which the last took `previous` to it.

    The model itself is evaluated where `previous` is None, or where too few steps are known.
    """

    model: M
    previous: M | None
    history: StepHistory


class StepResult(NamedTuple, Generic[M]):
    """The evaluation of a model: its value, a better model, and whether the model was an extrapolation."""

    model: M
    value: float
    better: M
    extrapolated: bool


@dataclass(frozen=True, eq=False)
class EMResult(Generic[M]):
    """The end of an iteration.

    Attributes:
        best: the best model. path: the values of the accepted models.
        remaining_gain: an estimate of what more steps would gain.
        ended: "converged", "rounding" (a plain step no longer gained), "given up", "max_iter" or "interrupted".
        last: the last accepted evaluation.
    """

    best: M
    path: tuple[float, ...]
    remaining_gain: float
    ended: str
    last: StepResult[M] | None = None

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.ended == "interrupted"


@dataclass(eq=False)
class StepBudget:
    """The number of steps taken so far, and the largest number allowed."""

    limit: int
    steps: int = 0

    @property
    def left(self) -> int:
        """The number of steps still allowed; at least one, so that there is something to return."""
        return max(1, self.limit - self.steps)


GiveUp = Callable[[float, float], bool]
"""Whether an iteration is not worth its further steps, by its value and an estimate of what they would gain."""

EMIterations = Generator[StepRequest[M], StepResult[M], EMResult[M]]


def em_iterations(
    start: M,
    budget: StepBudget,
    *,
    tol: float,
    note: Callable[[int, float], None],
    known: StepResult[M] | None = None,
    monotone: bool = True,
    give_up: GiveUp | None = None,
) -> EMIterations[M]:
    """Iterate as in `run_em`, one request after the other; `known` is the first result, where it is known already.

    Steps that maximise no function may lower the value; without `monotone` they are accepted all the same. An iteration
    ends where `give_up` says so of its value and of the gain that remains.
    """
    path, remaining, history, last = list[float](), np.inf, StepHistory(), known
    request, ended = StepRequest(start, None, history), "max_iter"
    best = plain = start
    try:
        for _ in range(budget.left):
            if known is None:
                budget.steps += 1
                result = yield request
            else:
                result, known = known, None
            if path and monotone and not result.value >= path[-1]:
                if not result.extrapolated:  # a plain step loses by rounding alone: nothing more can be gained
                    ended = "rounding"
                    break
                history = StepHistory()
                request = StepRequest(plain, None, history)
                continue
            path.append(result.value)
            best, plain, last = result.model, result.better, result
            remaining, slow = _outlook(path)
            note(len(path), result.value)
            if remaining <= tol or (give_up is not None and give_up(result.value, remaining)):
                ended = "converged" if remaining <= tol else "given up"
                break
            request = StepRequest(plain, best if slow else None, history)
    except KeyboardInterrupt:
        if not path:
            raise
        ended = "interrupted"
    return EMResult(best, tuple(path), remaining, ended, last)


def confirmed_em_iterations(
    start: M,
    budget: StepBudget,
    *,
    tol: float,
    note: Callable[[int, float], None],
    monotone: bool = True,
    give_up: GiveUp | None = None,
) -> EMIterations[M]:
    """Iterate as in `em_iterations` until a second run confirms convergence.

    The remaining gain is estimated from past gains, which extrapolation distorts, so a run without history continues to
    a fraction of the tolerance. If it gains more than tol, the first had stopped early, and the second must be
    confirmed in turn.
    """
    options: dict[str, Any] = {"note": note, "monotone": monotone, "give_up": give_up}
    end = yield from em_iterations(start, budget, tol=tol, **options)
    while end.ended == "converged" and budget.steps < budget.limit:
        path = end.path
        again = yield from em_iterations(end.best, budget, tol=CONFIRMATION_TOL * tol, known=end.last, **options)
        left = again.remaining_gain
        remaining = left if np.isfinite(left) else end.remaining_gain  # too few passes were left for a new estimate
        end = replace(again, path=path + again.path[1:], remaining_gain=remaining)
        if abs(end.path[-1] - path[-1]) + end.remaining_gain <= tol:
            break
    return end


def settling_iterations(
    first: StepResult[M], budget: StepBudget, *, shortest: float
) -> Generator[StepRequest[M], StepResult[M], StepResult[M]]:
    """Iterate by extrapolated steps until one is no longer than `shortest`; return the evaluation of where it starts.

    Where EM converged, the likelihood is flat: models that differ by 1e-6 have the same, and which of them came last
    depends on rounding, and so on the order in which rows were added. The length of steps tells them apart. It is
    judged instead of the value; where it shrinks no further, the shortest counts. If that has a lower value than
    the first, the first is returned.
    """
    history, stalls, length, halved = StepHistory(), 0, np.inf, np.inf
    result = best = first
    lowest = first.value - LOSS_ON_THE_WAY * abs(first.value)
    while stalls < MAX_STALLS and length > shortest and budget.steps < budget.limit:
        budget.steps += 1
        following = yield StepRequest(result.better, result.model, history)
        step = history.last_step
        stalls, halved = (0, step) if step < 0.5 * halved else (stalls + 1, halved)
        best, length = (result, step) if step < length else (best, length)
        if following.extrapolated and not following.value >= lowest:
            history = StepHistory()
            budget.steps += 1
            following = yield StepRequest(best.better, None, history)
        result = following
    return best if best.value >= first.value - LOSS_BY_ROUNDING * abs(first.value) else first


def run_em(
    step: Callable[[M], tuple[float, M]],
    start: M,
    parameters: ParameterMap[M],
    *,
    tol: float,
    max_iter: int,
    note: Callable[[int, float], None] = lambda steps, value: None,
) -> EMResult[M]:
    """Iterate from `start` until no more than tol remains to be gained, or max_iter steps were taken.

    `step(model)` returns the value of a model and a better model; `note(steps, value)` is called for each accepted one.
    A keyboard interrupt ends the iteration with the best model so far.

    >>> parameters = ParameterMap(lambda x: np.array([x]), lambda v, like: float(v[0]))
    >>> found = run_em(lambda x: (-(x**2), 0.99 * x), 1.0, parameters, tol=1e-12, max_iter=50)
    >>> abs(found.best) < 1e-5, len(found.path) < 10
    (True, True)
    """

    def evaluate(requests: Sequence[StepRequest[M]]) -> list[StepResult[M]]:
        return [answer_request(request, step, parameters) for request in requests]

    (end,) = run_together([em_iterations(start, StepBudget(max_iter), tol=tol, note=note)], evaluate)
    if end is None:
        raise KeyboardInterrupt
    return end


def answer_request(
    request: StepRequest[M], step: Callable[[M], tuple[float, M]], parameters: ParameterMap[M] | None
) -> StepResult[M]:
    """Return the result of a step from the requested model, or from the extrapolation of the last steps to it.

    Without a map to parameters there is no extrapolation.
    """
    model, extrapolated = request.model, False
    if request.previous is not None and parameters is not None:
        request.history.add(parameters.vector(request.previous), parameters.vector(model))
        (guess,) = extrapolate([request.history])
        model, extrapolated = (model, False) if guess is None else (parameters.model(guess, model), True)
    return StepResult(model, *step(model), extrapolated)


# ---- many iterations together -------------------------------------------------------------------------------


E = TypeVar("E")
"""The end of an iteration; its attribute `interrupted` is whether the user stopped it."""


def run_together(
    iterations: Sequence[Generator[StepRequest[Any], Any, E]],
    evaluate: Callable[[list[StepRequest[Any]]], Sequence[Any]],
) -> list[E | None]:
    """Run several iterations side by side and return their ends; `evaluate` gets the requests of all of them at once.

    An exception among the results is raised in the iteration that it belongs to, and a keyboard interrupt in every
    iteration that has not ended: None for one that has nothing to return.
    """
    ends: list[E | None] = [None] * len(iterations)
    waiting = dict[int, StepRequest[Any]]()
    interrupted = False

    def resume(i: int, go: Callable[[], StepRequest[Any]]) -> bool:
        try:
            waiting[i] = go()
        except StopIteration as end:
            ends[i] = end.value
            return bool(getattr(end.value, "interrupted", False))
        except KeyboardInterrupt:
            return True
        return False

    for i, iteration in enumerate(iterations):
        interrupted |= resume(i, partial(next, iteration))
    while waiting:
        requests, waiting = waiting, {}
        try:
            results = [KeyboardInterrupt()] * len(requests) if interrupted else evaluate(list(requests.values()))
        except KeyboardInterrupt:
            results = [KeyboardInterrupt()] * len(requests)
        for i, result in zip(requests, results, strict=True):
            go = iterations[i].throw if isinstance(result, BaseException) else iterations[i].send
            interrupted |= resume(i, partial(go, result))
    return ends


# ---- the remaining gain, and the extrapolation --------------------------------------------------------------


def remaining_gain(path: Sequence[float]) -> float:
    """Return the rest of the geometric series of gains, by the slowest of the last ratios (Aitken).

    Losses, of steps that are not monotone, count as gains: the series ends at a fixed point either way.

    >>> remaining_gain([0.0, 0.5, 0.75, 0.875])
    0.125
    """
    return _outlook(path)[0]


def _outlook(path: Sequence[float]) -> tuple[float, bool]:
    """Return the remaining gain, and whether the gains shrink so slowly that an extrapolation is worth its time."""
    ratios = _gain_ratios(path)
    if not ratios:
        return np.inf, False
    r = max(ratios)
    return abs(path[-1] - path[-2]) * r / (1.0 - r), len(path) > 3 and ratios[-1] > SLOW_GAIN_RATIO


def _gain_ratios(path: Sequence[float]) -> list[float]:
    gains = [abs(after - before) for before, after in pairwise(path[-GAIN_WINDOW:])]
    # Ratios at or above 1 are rounding error or an early phase; the series must stay summable.
    return [min(max(after / max(before, SMALLEST_GAIN), 0.0), 0.999) for before, after in pairwise(gains)]


def extrapolate(histories: Sequence[StepHistory]) -> list[Array | None]:
    """Return the limit to which the last steps of each iteration seem to lead, or None while too few are known.

    Anderson's extrapolation of a fixed-point iteration (Walker and Ni 2011, type II). Histories of equal length are
    worked on at once.
    """
    limits: list[Array | None] = [None] * len(histories)
    for m in {len(history.points) for history in histories} - {1}:
        some = [i for i, history in enumerate(histories) if len(history.points) == m]
        points = [v for i in some for v in histories[i].points]
        images = [v for i in some for v in histories[i].images]
        stacked = (np.concatenate(vectors).reshape(len(some), m, -1) for vectors in (points, images))
        for i, v in zip(some, _anderson(*stacked), strict=True):
            limits[i] = v
    return limits


def _anderson(points: Array, images: Array) -> Array:
    """Return limits (S, p) from points and images (S, m, p): the combination of images whose step is the shortest."""
    steps = images - points
    U, s, Vt = np.linalg.svd(np.swapaxes(np.diff(steps, axis=1), 1, 2), full_matrices=False)
    kept = s > MIN_SINGULAR_RATIO * s[:, :1]
    along = (steps[:, -1][:, None, :] @ U)[:, 0] * kept / np.where(kept, s, 1.0)
    gamma = along[:, None, :] @ Vt
    return np.asarray(images[:, -1] - (gamma @ np.diff(images, axis=1))[:, 0])
