"""Climbing a likelihood by steps that never lose, such as EM's, and shortening the crawl at the end.

A step maps a model to a better one. Where the gains shrink slowly, Anderson's extrapolation guesses where the steps
lead; a guess that loses is replaced by the plain step it grew from, so the likelihood never falls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from eigenlens.arrays import Array

__all__ = ["Ascent", "Chart", "ascend", "still_to_gain"]

MEMORY = 6
"""Steps that the extrapolation looks back."""

WINDOW = 5
"""Values that an estimate of what is left looks at."""

SLOW = 0.25
"""Gains that shrink more slowly than this from step to step are worth extrapolating."""

M = TypeVar("M")


@dataclass(frozen=True, eq=False)
class Chart(Generic[M]):
    """A model as a vector of parameters on comparable scales, and back: `model(v, like)` is like `like` beside v."""

    vector: Callable[[M], Array]
    model: Callable[[Array, M], M]


@dataclass(frozen=True, eq=False)
class Ascent(Generic[M]):
    """Where a climb ended: the best model, the values of those accepted, and what is estimated to be left to gain.

    `ended` says by what: "converged", "rounding" (a plain step no longer gained), "max_iter" or "interrupted".
    """

    best: M
    path: tuple[float, ...]
    gap: float
    interrupted: bool = False
    ended: str = "converged"


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
    path, gap, look_back = list[float](), np.inf, _LookBack()
    best, plain, model, guessed, ended = start, start, start, False, "max_iter"
    try:
        for _ in range(max_iter):
            value, better = step(model)
            if path and not value >= path[-1]:
                if not guessed:  # a plain step loses by rounding alone: nothing more can be seen
                    ended = "rounding"
                    break
                look_back = _LookBack()
                model, guessed = plain, False
                continue
            path.append(value)
            best, plain, gap = model, better, still_to_gain(path)
            note(len(path), value)
            if gap <= tol:
                ended = "converged"
                break
            guess = look_back.extrapolate(chart.vector(model), chart.vector(better)) if _slow(path) else None
            model, guessed = (plain, False) if guess is None else (chart.model(guess, better), True)
    except KeyboardInterrupt:
        if not path:
            raise
        return Ascent(best, tuple(path), gap, interrupted=True, ended="interrupted")
    return Ascent(best, tuple(path), gap, ended=ended)


def still_to_gain(path: Sequence[float]) -> float:
    """The rest of the geometric series of gains, by the slowest of the last ratios (Aitken).

    >>> still_to_gain([0.0, 0.5, 0.75, 0.875])
    0.125
    """
    if len(path) < 3:
        return np.inf
    r = float(_ratios(path).max())
    return (path[-1] - path[-2]) * r / (1.0 - r)


def _ratios(path: Sequence[float]) -> Array:
    gains = np.diff(path[-WINDOW:])
    return np.clip(gains[1:] / np.maximum(gains[:-1], np.finfo(float).tiny), 0.0, 0.999)


def _slow(path: Sequence[float]) -> bool:
    return len(path) > 3 and bool(_ratios(path)[-1] > SLOW)


class _LookBack:
    """Anderson's extrapolation of a fixed-point iteration (Walker and Ni 2011, type II)."""

    def __init__(self) -> None:
        self._points: list[Array] = []
        self._moves: list[Array] = []

    def extrapolate(self, point: Array, image: Array) -> Array | None:
        """Where the last moves seem to lead, or None while too few are known."""
        self._points, self._moves = [*self._points[-MEMORY:], point], [*self._moves[-MEMORY:], image - point]
        if len(self._moves) < 2:
            return None
        moves = np.diff(self._moves, axis=0).T
        images = np.diff(np.add(self._points, self._moves), axis=0).T
        gamma = np.linalg.lstsq(moves, self._moves[-1], rcond=1e-8)[0]
        return np.asarray(image - images @ gamma)
