"""Climbing the likelihood of observed entries: EM, then Newton; and several starts, of which the highest end counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.linalg.packed import unpack_symmetric
from eigenlens.missing.curvature import join, slopes, split
from eigenlens.missing.expectation import Expected
from eigenlens.missing.newton import Place, finish, place_of
from eigenlens.missing.passes import Passes
from eigenlens.missing.units import Noise
from eigenlens.optim.em import EMResult, ParameterMap, run_em

__all__ = ["Climb", "best_climb", "maximised"]

FARTHEST = 3.0
"""An extrapolated noise variance is at most exp(3) times, or a part of, that of the plain step."""

EM_STEPS = 25
"""Steps of EM before Newton's method takes over."""

NEARER = 0.01
"""EM goes on to this part of tol: a step of it costs less than a product with the Hessian, which then is not needed."""

DOUBTFUL = 0.01
"""A noise variance below this share of its column's puts a maximum in doubt."""

ALIKE = 0.02
"""Two ends whose covariances differ by no more than this share are the same maximum."""

PATIENCE = 75
"""A climb that takes more steps crawls."""

ON_THE_WAY = 0.02
"""With a floor that is not the last a climb ends where no more than this is left to gain."""

End = EMResult[LinearGaussian]
Ends = list[tuple[int, End]]
Models = list[LinearGaussian]


@dataclass(frozen=True, eq=False)
class Way:
    """How to climb: until tol is left, by `most` steps that `note` is told of; `looks` at the curvature at the end."""

    tol: float
    most: int
    note: Callable[[int, float], None]
    looks: bool = True


class Climb:
    """Climbs from a model until no more than tol is left to gain; `weight` and `rows` are those of the rows seen.

    Where columns can be fitted exactly, as with few rows, a climb may crawl along narrow valleys from one set of noise
    variances at their floor to the next. It is then made again with a high floor that is lowered by and by.
    `note` is told of the number of the start, of the steps from it, and of the value.
    """

    def __init__(self, passes: Passes, noise: Noise, max_iter: int, note: Callable[[int, int, float], None]) -> None:
        self._passes, self._noise, self._max_iter, self._note = passes, noise, max_iter, note
        self._last: Place | None = None
        self.weight, self.rows = 0.0, 0

    def __call__(self, start: LinearGaussian, tol: float, number: int = 0, *, looks: bool = True) -> End:
        """From a start; `looks` at the curvature where it ends."""
        way = Way(tol, min(PATIENCE, self._max_iter), partial(self._note, number), looks)
        found, stages = self._climbed(start, way, (self._noise,)), self._noise.stages()
        left = self._max_iter - len(found.path)
        if found.ended != "max_iter" or left == 0:
            return found
        try:
            if len(stages) > 1 and _bounded(found.best, self._noise):
                again = self._climbed(start, replace(way, most=left), stages)
                if again.interrupted or _top(again) > _top(found):
                    return _highest([found, again])
            return self.on(found, tol, number)
        except KeyboardInterrupt:
            return replace(found, interrupted=True, ended="interrupted")

    def on(self, end: End, tol: float, number: int = 0) -> End:
        """From where a climb ended, with its path."""
        before = end.path[:-1]
        way = Way(tol, self._max_iter - len(before), lambda steps, v: self._note(number, len(before) + steps, v))
        found = self._climbed(end.best, way, (self._noise,))
        return replace(found, path=before + found.path)

    def _climbed(self, start: LinearGaussian, way: Way, stages: Sequence[Noise]) -> End:
        step, chart, most = partial(self._step, noise=stages[0]), _chart(stages[0]), min(EM_STEPS, way.most)
        found = run_em(step, start, chart, tol=NEARER * way.tol, max_iter=most, note=way.note)
        for before, noise in zip((None, *stages), stages, strict=False):
            last = noise is stages[-1]
            free = before is not None and not _bounded(found.best, before)  # then a lower floor changes nothing
            if found.interrupted or self._last is None or (free and not last):
                continue
            tol, looks = way.tol if last else max(way.tol, ON_THE_WAY), way.looks and last
            found = finish(
                self._passes, found, noise, self._last, tol=tol, max_iter=way.most, note=way.note, looks=looks
            )
        return found

    def _step(self, model: LinearGaussian, noise: Noise) -> tuple[float, LinearGaussian]:
        """The log-likelihood of a model, and one that is better: a step of EM."""
        self._last = place = place_of(self._passes, model)
        self.weight, self.rows = place.expected.weight, place.expected.rows
        better = maximised(place.expected, place.model, noise)
        return place.value, LinearGaussian(better.mean, better.loadings @ place.Q.T, better.noise)


def _bounded(model: LinearGaussian, noise: Noise) -> bool:
    """Whether a noise variance is at its floor."""
    return bool(np.any(noise.phi(np.asarray(model.noise)) <= noise.least + 1e-9))


def maximised(expected: Expected, model: LinearGaussian, noise: Noise) -> LinearGaussian:
    """W, mu and Psi from one least-squares problem a column, then the latent space whitened again.

    The regressions are those of the residuals on (z, 1): what is solved for is the change of (w_j, mu_j).
    """
    W, psi, N = model.loadings, np.asarray(model.noise), expected.outer[-1]
    k = W.shape[1]
    by_mean, by_loadings, by_log_psi = slopes(expected, model)
    right = np.column_stack([by_loadings, by_mean]) * psi[:, None]
    normal = unpack_symmetric(expected.outer, k + 1)
    normal[:, :k, :k] += unpack_symmetric(expected.spread, k)
    change = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
    rest = psi * (2.0 * by_log_psi + N) - np.einsum("jq,jq->j", change, right)
    loadings = W + change[:, :k]
    latent = unpack_symmetric(expected.latent[:, None], k + 1)[0] / expected.weight
    m = latent[:k, k]
    root = np.linalg.cholesky(latent[:k, :k] - np.outer(m, m))
    mean = model.mean + change[:, k] + loadings @ m
    return LinearGaussian(mean, loadings @ root, noise.estimate(rest, N))


def _chart(noise: Noise) -> ParameterMap[LinearGaussian]:
    """mu, W and phi, which stays near the step's."""

    def vector(model: LinearGaussian) -> Array:
        return join(model.mean, model.loadings, noise.phi(np.asarray(model.noise)))

    def model(v: Array, like: LinearGaussian) -> LinearGaussian:
        mean, loadings, phi = split(v, *like.loadings.shape)
        near = noise.phi(np.asarray(like.noise))
        return LinearGaussian(mean, loadings, noise.psi(near + np.clip(phi - near, -FARTHEST, FARTHEST)))

    return ParameterMap(vector, model)


# ---- several starts ---------------------------------------------------------------------------------------


def best_climb(climb: Climb, starts: Models, others: Models, *, rough: float, tol: float) -> End:
    """The highest end of several starts: all are climbed until `rough` is left, the promising ones until tol is."""
    if len(starts) + len(others) == 1:
        return climb(starts[0], tol)
    numbered = [*enumerate([*starts, *others], 1)]
    first, more = numbered[: len(starts)], numbered[len(starts) :]
    ends = _gathered(((i, climb(start, rough, i, looks=False)) for i, start in first), [])
    if not ends[-1][1].interrupted and _in_doubt([end for _, end in ends]):
        ends = _gathered(((i, climb(start, rough, i, looks=False)) for i, start in more), ends)
    if not ends[-1][1].interrupted:
        ends = _gathered(((i, climb.on(end, tol, i)) for i, end in _promising(ends)), ends)
    return _highest([end for _, end in ends])


def _in_doubt(ends: list[End]) -> bool:
    """Whether there may be a higher maximum than these: they differ, or a noise variance runs to 0."""
    first, *rest = ends
    return bool(np.min(first.best.noise) < DOUBTFUL) or not all(_alike(first.best, end.best) for end in rest)


def _highest(ends: list[End]) -> End:
    """The best end, interrupted if the last one was; of the same value the last, which was climbed to its end."""
    best = max(reversed(ends), key=_top)
    return replace(best, interrupted=True, ended="interrupted") if ends[-1].interrupted else best


def _top(end: End) -> float:
    return end.path[-1]


def _gathered(climbs: Iterable[tuple[int, End]], before: Ends) -> Ends:
    """More ends, with the numbers of their starts, beside those there are; an interrupt marks the last, if any."""
    ends = [*before]
    try:
        for number, end in climbs:
            ends.append((number, end))
            if end.interrupted:
                break
    except KeyboardInterrupt:
        if not ends:
            raise
        number, end = ends[-1]
        ends[-1] = (number, replace(end, interrupted=True))
    return ends


def _promising(ends: Ends) -> Ends:
    """The highest end, and those that may be parts of higher climbs, none of them twice."""
    best, *others = sorted(ends, key=lambda each: _top(each[1]), reverse=True)
    found = [best]
    for number, end in others:
        higher = _top(end) + 2.0 * end.remaining_gain > _top(best[1])
        if higher and not any(_alike(end.best, one.best) for _, one in found):
            found.append((number, end))
    return found


def _alike(a: LinearGaussian, b: LinearGaussian) -> bool:
    """Whether two covariances are about the same, without making them."""
    A, B = a.loadings, b.loadings
    size = float(np.sum((A.T @ A) ** 2))
    change = size + float(np.sum((B.T @ B) ** 2)) - 2.0 * float(np.sum((A.T @ B) ** 2))
    psi, other = np.asarray(a.noise), np.asarray(b.noise)
    return bool(change <= ALIKE**2 * size and np.sum((psi - other) ** 2) <= ALIKE**2 * np.sum(psi**2))
