"""Climbing a likelihood by steps that never lose, such as EM's, and shortening the crawl at the end.

A step maps a model to a better one. Where the gains shrink slowly, Anderson's extrapolation guesses where the steps
lead; a guess that loses is replaced by the plain step it grew from, so the likelihood never falls.

A climb is a generator: it says which model it wants to hear of, and whoever runs it answers. So many climbs can go on
side by side, and what they want at the same time is worked out at once: `together`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from eigenlens.arrays import Array

__all__ = [
    "Ascent",
    "Chart",
    "Found",
    "LookBack",
    "Passes",
    "Wanted",
    "ascend",
    "climbing",
    "extrapolated",
    "still_to_gain",
    "together",
]

MEMORY = 6
"""Steps that the extrapolation looks back."""

WINDOW = 5
"""Values that an estimate of what is left looks at."""

SLOW = 0.25
"""Gains that shrink more slowly than this from step to step are worth extrapolating."""

RANK = 1e-8
"""Directions of the last moves that are shorter than this part of the longest say nothing."""

TINY = float(np.finfo(float).tiny)

M = TypeVar("M")


@dataclass(frozen=True, eq=False)
class Chart(Generic[M]):
    """A model as a vector of parameters on comparable scales, and back: `model(v, like)` is like `like` beside v."""

    vector: Callable[[M], Array]
    model: Callable[[Array, M], M]


class LookBack:
    """The last points of a climb and where a step leads from each, as vectors."""

    def __init__(self) -> None:
        self.points: list[Array] = []
        self.images: list[Array] = []

    def add(self, point: Array, image: Array) -> None:
        """Remember one more step, and forget the oldest."""
        self.points, self.images = [*self.points[-MEMORY:], point], [*self.images[-MEMORY:], image]


class Wanted(NamedTuple, Generic[M]):
    """What a climb wants to hear of next: a model, or a guess of where the steps lead that took `before` to it.

    There may be no guess: without `before`, or where too little is known.
    """

    model: M
    before: M | None
    look_back: LookBack


class Found(NamedTuple, Generic[M]):
    """The answer: the model, its value, a better one, and whether the model was a guess."""

    model: M
    value: float
    better: M
    guessed: bool


@dataclass(frozen=True, eq=False)
class Ascent(Generic[M]):
    """Where a climb ended: the best model, the values of those accepted, and what is estimated to be left to gain.

    `ended` says by what: "converged", "rounding" (a plain step no longer gained), "max_iter" or "interrupted"; `last`
    is the last answer that was accepted.
    """

    best: M
    path: tuple[float, ...]
    gap: float
    interrupted: bool = False
    ended: str = "converged"
    last: Found[M] | None = None


@dataclass(eq=False)
class Passes:
    """How many steps were asked for, of how many at most."""

    most: int
    steps: int = 0

    @property
    def left(self) -> int:
        """How many there may still be; one always, so that there is something to return."""
        return max(1, self.most - self.steps)


Climbing = Generator[Wanted[M], Found[M], Ascent[M]]


def climbing(
    start: M, passes: Passes, *, tol: float, note: Callable[[int, float], None], known: Found[M] | None = None
) -> Climbing[M]:
    """A climb as in `ascend`, one answer after the other; `known` is the first, where it is known already."""
    path, gap, look_back, last = list[float](), np.inf, LookBack(), known
    wanted, ended = Wanted(start, None, look_back), "max_iter"
    best = plain = start
    try:
        for _ in range(passes.left):
            if known is None:
                passes.steps += 1
                found = yield wanted
            else:
                found, known = known, None
            if path and not found.value >= path[-1]:
                if not found.guessed:  # a plain step loses by rounding alone: nothing more can be seen
                    ended = "rounding"
                    break
                look_back = LookBack()
                wanted = Wanted(plain, None, look_back)
                continue
            path.append(found.value)
            best, plain, gap, last = found.model, found.better, still_to_gain(path), found
            note(len(path), found.value)
            if gap <= tol:
                ended = "converged"
                break
            wanted = Wanted(plain, best if _slow(path) else None, look_back)
    except KeyboardInterrupt:
        if not path:
            raise
        return Ascent(best, tuple(path), gap, interrupted=True, ended="interrupted", last=last)
    return Ascent(best, tuple(path), gap, ended=ended, last=last)


def ascend(
    step: Callable[[M], tuple[float, M]],
    start: M,
    chart: Chart[M],
    *,
    tol: float,
    max_iter: int,
    note: Callable[[int, float], None] = lambda steps, value: None,
) -> Ascent[M]:
    """Steps from `start` until no more than tol is left to gain, or there were max_iter of them.

    `step(model)` gives the value of a model and a better one; `note(steps, value)` is told of each that is accepted. An
    interrupt ends the climb with the best so far.

    >>> chart = Chart(lambda x: np.array([x]), lambda v, like: float(v[0]))
    >>> found = ascend(lambda x: (-(x**2), 0.99 * x), 1.0, chart, tol=1e-12, max_iter=50)
    >>> abs(found.best) < 1e-5, len(found.path) < 10
    (True, True)
    """

    def answer(wanted: Sequence[Wanted[M]]) -> list[Found[M]]:
        (one,) = wanted
        model, guessed = one.model, False
        if one.before is not None:
            one.look_back.add(chart.vector(one.before), chart.vector(model))
            (guess,) = extrapolated([one.look_back])
            model, guessed = (model, False) if guess is None else (chart.model(guess, model), True)
        return [Found(model, *step(model), guessed)]

    (end,) = together([climbing(start, Passes(max_iter), tol=tol, note=note)], answer)
    if end is None:
        raise KeyboardInterrupt
    return end


# ---- many climbs --------------------------------------------------------------------------------------------


class End(Protocol):
    """What a climb comes to."""

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        ...


E = TypeVar("E", bound=End)


def together(
    climbs: Sequence[Generator[Wanted[Any], Any, E]], answer: Callable[[list[Wanted[Any]]], Sequence[Any]]
) -> list[E | None]:
    """The ends of climbs that go on side by side; `answer` is asked for what all of them want next.

    An exception among the answers is raised in the climb that it is for, and an interrupt in every climb that has not
    ended: None for one that has nothing to keep.
    """
    ends: list[E | None] = [None] * len(climbs)
    waiting = dict[int, Wanted[Any]]()
    interrupted = False

    def resume(i: int, go: Callable[[], Wanted[Any]]) -> bool:
        try:
            waiting[i] = go()
        except StopIteration as end:
            ends[i] = end.value
            return bool(end.value.interrupted)
        except KeyboardInterrupt:
            return True
        return False

    for i, climb in enumerate(climbs):
        interrupted |= resume(i, partial(next, climb))
    while waiting:
        asked, waiting = waiting, {}
        try:
            answers = [KeyboardInterrupt()] * len(asked) if interrupted else answer(list(asked.values()))
        except KeyboardInterrupt:
            answers = [KeyboardInterrupt()] * len(asked)
        for i, found in zip(asked, answers, strict=True):
            go = climbs[i].throw if isinstance(found, BaseException) else climbs[i].send
            interrupted |= resume(i, partial(go, found))
    return ends


# ---- how far there is to go ---------------------------------------------------------------------------------


def still_to_gain(path: Sequence[float]) -> float:
    """The rest of the geometric series of gains, by the slowest of the last ratios (Aitken).

    >>> still_to_gain([0.0, 0.5, 0.75, 0.875])
    0.125
    """
    if len(path) < 3:
        return np.inf
    r = max(_ratios(path))
    return (path[-1] - path[-2]) * r / (1.0 - r)


def _ratios(path: Sequence[float]) -> list[float]:
    gains = [after - before for before, after in pairwise(path[-WINDOW:])]
    return [min(max(after / max(before, TINY), 0.0), 0.999) for before, after in pairwise(gains)]


def _slow(path: Sequence[float]) -> bool:
    return len(path) > 3 and _ratios(path)[-1] > SLOW


def extrapolated(known: Sequence[LookBack]) -> list[Array | None]:
    """Where the last moves of each climb seem to lead, or None while too few are known.

    Anderson's extrapolation of a fixed-point iteration (Walker and Ni 2011, type II). Climbs that look equally far back
    are worked on at once.
    """
    found: list[Array | None] = [None] * len(known)
    for m in {len(one.points) for one in known} - {1}:
        some = [i for i, one in enumerate(known) if len(one.points) == m]
        points, images = (
            np.concatenate(vectors).reshape(len(some), m, -1)
            for vectors in ([v for i in some for v in known[i].points], [v for i in some for v in known[i].images])
        )
        for i, v in zip(some, _extrapolated(points, images), strict=True):
            found[i] = v
    return found


def _extrapolated(points: Array, images: Array) -> Array:
    """Guesses (S, p) from points and images (S, m, p): the combination of the images whose move is the shortest."""
    moves = images - points
    U, s, Vt = np.linalg.svd(np.swapaxes(np.diff(moves, axis=1), 1, 2), full_matrices=False)
    some = s > RANK * s[:, :1]
    along = (moves[:, -1][:, None, :] @ U)[:, 0] * some / np.where(some, s, 1.0)
    gamma = along[:, None, :] @ Vt
    return np.asarray(images[:, -1] - (gamma @ np.diff(images, axis=1))[:, 0])
