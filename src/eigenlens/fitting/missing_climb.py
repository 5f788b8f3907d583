"""Climbing the likelihood of observed entries: EM, then Newton; and several starts, of which the highest end counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from eigenlens.arrays import Array
from eigenlens.fitting.ascent import Ascent, Chart, ascend
from eigenlens.fitting.missing_curvature import join, slopes, split
from eigenlens.fitting.missing_finish import Place, finish, place_of
from eigenlens.fitting.missing_passes import Passes
from eigenlens.fitting.missing_units import Noise
from eigenlens.fitting.observed_rows import Expected
from eigenlens.linalg.packed import unpack
from eigenlens.models.linear_gaussian import LinearGaussian

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

End = Ascent[LinearGaussian]
Models = list[LinearGaussian]


class Climb:
    """Climbs from a model until no more than tol is left to gain; `weight` and `rows` are those of the rows seen.

    `note` is told of the rows, of the steps so far of all climbs, and of the value.
    """

    def __init__(self, passes: Passes, noise: Noise, max_iter: int, note: Callable[[int, int, float], None]) -> None:
        self._passes, self._noise, self._max_iter, self._note = passes, noise, max_iter, note
        self._last: Place | None = None
        self.weight, self.rows, self._steps = 0.0, 0, 0

    def __call__(self, start: LinearGaussian, tol: float, path: tuple[float, ...] = ()) -> End:
        """`path` are the values that led to the start, the last being its own."""
        before = path[:-1]
        left = self._max_iter - len(before)

        def note(_: int, value: float) -> None:
            self._steps += 1
            self._note(self.rows, self._steps, value)

        chart, most = _chart(self._noise), min(EM_STEPS, left)
        found = ascend(self._step, start, chart, tol=NEARER * tol, max_iter=most, note=note)
        if not found.interrupted and self._last is not None:
            found = finish(self._passes, found, self._noise, self._last, tol=tol, max_iter=left, note=note)
        return replace(found, path=before + found.path)

    def _step(self, model: LinearGaussian) -> tuple[float, LinearGaussian]:
        """The log-likelihood of a model, and one that is better: a step of EM."""
        self._last = place = place_of(self._passes, model)
        self.weight, self.rows = place.expected.weight, place.expected.rows
        better = maximised(place.expected, place.model, self._noise)
        return place.value, LinearGaussian(better.mean, better.loadings @ place.Q.T, better.noise)


def maximised(expected: Expected, model: LinearGaussian, noise: Noise) -> LinearGaussian:
    """W, mu and Psi from one least-squares problem a column, then the latent space whitened again.

    The regressions are those of the residuals on (z, 1): what is solved for is the change of (w_j, mu_j).
    """
    W, psi, N = model.loadings, np.asarray(model.noise), expected.outer[-1]
    k = W.shape[1]
    by_mean, by_loadings, by_log_psi = slopes(expected, model)
    right = np.column_stack([by_loadings, by_mean]) * psi[:, None]
    normal = unpack(expected.outer, k + 1)
    normal[:, :k, :k] += unpack(expected.spread, k)
    change = np.linalg.solve(normal, right[:, :, None])[:, :, 0]
    rest = psi * (2.0 * by_log_psi + N) - np.einsum("jq,jq->j", change, right)
    loadings = W + change[:, :k]
    latent = unpack(expected.latent[:, None], k + 1)[0] / expected.weight
    m = latent[:k, k]
    root = np.linalg.cholesky(latent[:k, :k] - np.outer(m, m))
    mean = model.mean + change[:, k] + loadings @ m
    return LinearGaussian(mean, loadings @ root, noise.estimate(rest, N))


def _chart(noise: Noise) -> Chart[LinearGaussian]:
    """mu, W and phi, which stays near the step's."""

    def vector(model: LinearGaussian) -> Array:
        return join(model.mean, model.loadings, noise.phi(np.asarray(model.noise)))

    def model(v: Array, like: LinearGaussian) -> LinearGaussian:
        mean, loadings, phi = split(v, *like.loadings.shape)
        near = noise.phi(np.asarray(like.noise))
        return LinearGaussian(mean, loadings, noise.psi(near + np.clip(phi - near, -FARTHEST, FARTHEST)))

    return Chart(vector, model)


# ---- several starts ---------------------------------------------------------------------------------------


def best_climb(climb: Climb, starts: Models, others: Models, *, rough: float, tol: float) -> End:
    """The highest end of several starts: all are climbed until `rough` is left, the promising ones until tol is."""
    if len(starts) + len(others) == 1:
        return climb(starts[0], tol)
    ends = _gathered((climb(start, rough) for start in starts), [])
    if not ends[-1].interrupted and _in_doubt(ends):
        ends = _gathered((climb(start, rough) for start in others), ends)
    if not ends[-1].interrupted:
        ends = _gathered((climb(end.best, tol, end.path) for end in _promising(ends)), ends)
    best = max(reversed(ends), key=_top)  # of the same value the last, which was climbed to its end
    return replace(best, interrupted=True, ended="interrupted") if ends[-1].interrupted else best


def _in_doubt(ends: list[End]) -> bool:
    """Whether there may be a higher maximum than these: they differ, or a noise variance runs to 0."""
    first, *rest = ends
    return bool(np.min(first.best.noise) < DOUBTFUL) or not all(_alike(first.best, end.best) for end in rest)


def _top(end: End) -> float:
    return end.path[-1]


def _gathered(climbs: Iterable[End], before: list[End]) -> list[End]:
    """More ends beside those there are; an interrupt makes the last one interrupted, if there is any."""
    ends = [*before]
    try:
        for end in climbs:
            ends.append(end)
            if end.interrupted:
                break
    except KeyboardInterrupt:
        if not ends:
            raise
        ends[-1] = replace(ends[-1], interrupted=True)
    return ends


def _promising(ends: list[End]) -> list[End]:
    """The highest end, and those that may be parts of higher climbs, none of them twice."""
    best, *others = sorted(ends, key=_top, reverse=True)
    found = [best]
    for end in others:
        if end.path[-1] + 2.0 * end.gap > best.path[-1] and not any(_alike(end.best, one.best) for one in found):
            found.append(end)
    return found


def _alike(a: LinearGaussian, b: LinearGaussian) -> bool:
    """Whether two covariances are about the same, without making them."""
    A, B = a.loadings, b.loadings
    size = float(np.sum((A.T @ A) ** 2))
    change = size + float(np.sum((B.T @ B) ** 2)) - 2.0 * float(np.sum((A.T @ B) ** 2))
    psi, other = np.asarray(a.noise), np.asarray(b.noise)
    return bool(change <= ALIKE**2 * size and np.sum((psi - other) ** 2) <= ALIKE**2 * np.sum(psi**2))
