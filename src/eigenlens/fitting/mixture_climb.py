"""One EM for every mixture of Gaussians: a pass over the rows, the components that its moments ask for, and so on up.

The state of the climb is the mixture itself. `ascend` does the climbing; here is what a step is, in which coordinates
steps are extrapolated, and what happens when a component is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.fitting.ascent import Ascent, Chart, ascend
from eigenlens.fitting.mixture_parts import PARTS, diagonal_of
from eigenlens.fitting.mixture_prior import Prior
from eigenlens.fitting.mixture_structure import Structure
from eigenlens.models.mixture import Mixture
from eigenlens.models.mixture_terms import Reading, Terms

__all__ = [
    "Climb",
    "ComponentLost",
    "Lost",
    "Problem",
    "as_they_are",
    "climb",
    "complete_rows",
    "stacked",
    "without",
]

LOST = 1e-6
"""A component with less than this share of one row is lost."""

CLOSER = 0.1
"""The climb that confirms the end of another goes on to this part of the tolerance."""

FARTHEST = 3.0
"""No logarithm of a weight is extrapolated further than this."""


def stacked(mixture: Mixture) -> Terms:
    """The terms of a mixture whose components all have one structure, as those fitted here do."""
    assert mixture.terms is not None
    return mixture.terms


def complete_rows(mixture: Mixture) -> Callable[[Block], Reading]:
    """What a pass for this mixture makes of a block of complete rows: the E-step and the sums of the M-step."""
    return stacked(mixture).read


def as_they_are(rows: Array) -> Array:
    """Complete rows, which need no filling."""
    return rows


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, and what is asked of the mixture that they are drawn from.

    Attributes:
        source: the rows. rows: how many count. weight: their Σw.
        mean: (d,) of all rows. covariance: theirs (d, d), or variances (d,) where the structure needs no more.
        structure: of the components' covariances. prior: of the components.
        least: the covariance (d, d), or variances (d,), that no component may be below.
        reading: what a pass for a mixture makes of a block of rows.
        filled: dense rows (b, d) to complete ones, as far as a start needs it.
        constant: the columns of all rows that have no variance.
    """

    source: Source
    rows: int
    weight: float
    mean: Array
    covariance: Array
    structure: Structure
    prior: Prior
    least: Array
    reading: Callable[[Mixture], Callable[[Block], Reading]] = complete_rows
    filled: Callable[[Array], Array] = as_they_are
    constant: tuple[int, ...] = ()

    @property
    def deviations(self) -> Array:
        """s (d,), those of the columns."""
        return np.sqrt(diagonal_of(self.covariance))

    def step(self, mixture: Mixture) -> tuple[float, Mixture]:
        """ln p(rows | mixture) + ln p(mixture), and a mixture for which that is at least as large: one pass."""
        found = accumulate(self.source, self.reading(mixture))
        return found.loglik + self.prior.log_density(stacked(mixture)), self.estimate(found.moments, mixture)

    def estimate(self, moments: Any, start: Mixture | None = None) -> Mixture:
        """The mixture with these moments of its components."""
        lost = np.flatnonzero(moments.weight * self.rows < LOST * self.weight)
        if start is not None and lost.size:
            raise ComponentLost(int(lost[0]), start)
        known = self.prior.applied(moments)
        before = None if start is None else self.structure.arrays(start.components)
        spread = self.structure.spread(known, self.least, before)
        return Mixture(moments.weight / moments.weight.sum(), self.structure.components(known.mean, spread))

    def held(self, mixture: Mixture) -> Array:
        """Which components (K,) are held by the bound in some direction: without it they would collapse.

        Constant columns, in which all are, do not count.
        """
        arrays = self.structure.arrays(mixture.components)
        vary = np.delete(np.arange(self.mean.size), self.constant)
        least = self.least[vary] if self.least.ndim == 1 else self.least[np.ix_(vary, vary)]
        which = [PARTS[name].held(PARTS[name].some(array, vary), least) for name, array in arrays.items()]
        return np.broadcast_to(np.logical_or.reduce(which), len(mixture.weights))

    def rank(self, found: Climb) -> tuple[int, int, float]:
        """Climbs in this order, the best first: most components left, fewest held by the bound, likeliest."""
        return len(found.lost), int(self.held(found.mixture).sum()), -found.path[-1]

    @property
    def chart(self) -> Chart[Mixture]:
        """Logarithms of the weights, means about that of all rows in units of the deviations, and `mixture_parts`."""
        return Chart(self._vector, self._model)

    def _vector(self, mixture: Mixture) -> Array:
        s, arrays = self.deviations, self.structure.arrays(mixture.components)
        spread = [PARTS[name].vector(array, s) for name, array in arrays.items()]
        return np.concatenate([np.log(mixture.weights), ((mixture.means - self.mean) / s).ravel(), *spread])

    def _model(self, v: Array, like: Mixture) -> Mixture:
        s, (K, d) = self.deviations, like.means.shape
        near = np.log(like.weights)
        log_weights = near + np.clip(v[:K] - near, -FARTHEST, FARTHEST)
        weights = np.exp(log_weights - log_weights.max())
        spread, start = {}, K + K * d
        for name, array in self.structure.arrays(like.components).items():
            part = PARTS[name]
            stop = start + part.vector(array, s).size
            spread[name] = part.bounded(part.array(v[start:stop], s, array), self.least)
            start = stop
        means = self.mean + v[K : K + K * d].reshape(K, d) * s
        return Mixture(weights / weights.sum(), self.structure.components(means, spread))


PLAIN: Chart[Mixture] = Chart(lambda mixture: np.zeros(1), lambda v, like: like)
"""Coordinates that see nothing: every guess is the plain step."""


@dataclass(frozen=True)
class Lost:
    """A component that was removed, since no row was left to it: where it was, and after how many steps."""

    mean: tuple[float, ...]
    step: int


@dataclass(frozen=True, eq=False)
class Climb:
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
    lost: tuple[Lost, ...]


class ComponentLost(Exception):
    """Component k of a mixture has no rows left."""

    def __init__(self, k: int, mixture: Mixture) -> None:
        super().__init__(k)
        self.k, self.mixture = k, mixture


def climb(
    problem: Problem,
    start: Mixture,
    *,
    tol: float,
    max_iter: int,
    accelerate: bool = True,
    note: Callable[[int, float], None] = lambda steps, value: None,
) -> Climb:
    """EM from `start` until no more than tol is left to gain, or after max_iter passes; lost components are removed."""
    passes, lost = _Passes(problem, max_iter), tuple[Lost, ...]()
    chart = Chart(problem.chart.vector, passes.guess) if accelerate else PLAIN
    while True:
        try:
            found = _confirmed(passes, start, chart, tol, note)
            break
        except ComponentLost as gone:
            lost += (Lost(tuple(gone.mixture.means[gone.k].tolist()), passes.steps),)
            start = without(gone.mixture, gone.k)
    gap = 0.0 if found.ended == "rounding" else found.gap  # no gain is left that could be seen
    return Climb(found.best, found.path, passes.steps, gap, gap <= tol, found.interrupted, lost)


class _Passes:
    """Steps of EM, counted. A component that a mere guess loses is no loss, and the last step is not taken twice."""

    def __init__(self, problem: Problem, most: int) -> None:
        self.problem, self.most, self.steps = problem, most, 0
        self._guess: Mixture | None = None
        self._last: tuple[Mixture, tuple[float, Mixture]] | None = None

    @property
    def left(self) -> int:
        """How many passes there may still be; one always, so that there is something to return."""
        return max(1, self.most - self.steps)

    def guess(self, v: Array, like: Mixture) -> Mixture:
        """The mixture of extrapolated coordinates."""
        self._guess = self.problem.chart.model(v, like)
        return self._guess

    def __call__(self, mixture: Mixture) -> tuple[float, Mixture]:
        """The value of a mixture, and a better one."""
        if self._last is None or self._last[0] is not mixture:
            self.steps += 1
            self._last = mixture, self._step(mixture)
        return self._last[1]

    def _step(self, mixture: Mixture) -> tuple[float, Mixture]:
        try:
            return self.problem.step(mixture)
        except ComponentLost:
            if mixture is not self._guess:
                raise
            return -np.inf, mixture  # which will be refused


def _confirmed(
    passes: _Passes, start: Mixture, chart: Chart[Mixture], tol: float, note: Callable[[int, float], None]
) -> Ascent[Mixture]:
    """A climb that has ended twice: what is left to gain is estimated from gains, and extrapolated ones mislead.

    From the end of one climb another, which knows nothing of the first, goes on to a part of the tolerance. If it
    gained more than tol on the way, the first had stopped early, and the second must be confirmed in its turn.
    """
    found = ascend(passes, start, chart, tol=tol, max_iter=passes.left, note=note)
    while found.ended == "converged" and passes.steps < passes.most:
        before = found.path
        again = ascend(passes, found.best, chart, tol=CLOSER * tol, max_iter=passes.left, note=note)
        gap = again.gap if np.isfinite(again.gap) else found.gap  # too few passes were left for another estimate
        found = replace(again, path=before + again.path[1:], gap=gap)
        if found.path[-1] - before[-1] + found.gap <= tol:
            break
    return found


def without(mixture: Mixture, k: int) -> Mixture:
    """The mixture of the other components."""
    weights = np.delete(mixture.weights, k)
    return Mixture(weights / weights.sum(), mixture.components[:k] + mixture.components[k + 1 :])
