"""Where EM starts: several guesses, a short climb from each, and the best of them (Biernacki, Celeux and Govaert 2003).

Guesses are made on rows in memory, a sample where there are many. Each has a generator of its own, drawn from the one
given, so what comes out does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import counted, dense_rows, draw_rows, take_rows
from eigenlens.data.source import Block, Source
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.em import Climb, Lost, climb_all, rank
from eigenlens.mixture.em_step import Problem, as_they_are
from eigenlens.mixture.prior import PRIORS
from eigenlens.resources import thread_count

__all__ = [
    "STARTS",
    "Centres",
    "Start",
    "Starting",
    "from_centres",
    "from_mixture",
    "from_shares",
    "k_means_centres",
    "seeds",
]

ROWS_EACH, FEWEST_ROWS, MOST_ENTRIES = 500, 10_000, 1 << 24
"""Guesses are made on so many rows for each component, and on no fewer than that, but on less where rows are long."""

SHORT = 15
"""Steps of a short climb."""

LLOYD = 10
"""Steps of k-means after its seeds."""

LONG, NEAR = 200, 1e-5
"""Steps of a climb where rows are few, so that none is judged too soon, or until so much a row is left to gain."""

FEW = 1 << 21
"""Rows are few if a pass over them for all guesses takes no more multiplications than this."""

SIDE_BY_SIDE = 1 << 17
"""Entries of the covariances of all guesses that are climbed from side by side."""

FINISHED = 3
"""How many guesses are climbed to the end where that is the only way to know which is best."""

Centres = Callable[[Array, Array, int, np.random.Generator], Array]
"""Centres (K, d) for rows (n, d) with weights (n,), in coordinates where all directions or columns are alike."""


def seeds(Y: Array, weight: Array, K: int, rng: np.random.Generator) -> Array:
    """K rows far from each other (Arthur and Vassilvitskii 2007), of a few candidates each the best.

    A row is drawn with probability proportional to its squared distance from the rows before it. Cost n d K log K.

    >>> Y = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> np.sort(seeds(Y, np.ones(4), 2, np.random.default_rng(0)).ravel()).round()
    array([0., 9.])
    """
    chosen = [int(draw_rows(weight, 1, rng)[0])]
    nearest = _squared(Y, Y[chosen])[:, 0]
    for _ in range(1, K):
        mass = weight * nearest
        candidates = draw_rows(mass if mass.any() else weight, 2 + int(np.log(K)), rng)
        closer = np.minimum(nearest[:, None], _squared(Y, Y[candidates]))
        best = int(np.argmin(weight @ closer))
        chosen.append(int(candidates[best]))
        nearest = closer[:, best]
    return np.asarray(Y[chosen])


def k_means_centres(Y: Array, weight: Array, K: int, rng: np.random.Generator) -> Array:
    """The centres of k-means after a few steps from `seeds`."""
    centres = seeds(Y, weight, K, rng)
    for _ in range(LLOYD):
        labels = _squared(Y, centres).argmin(axis=1)
        mass = np.bincount(labels, weight, minlength=K)
        sums = np.stack([np.bincount(labels, weight * y, minlength=K) for y in Y.T], axis=1)
        centres = np.where(mass[:, None] > 0.0, sums / np.where(mass > 0.0, mass, 1.0)[:, None], centres)
    return centres


def _random_rows(Y: Array, weight: Array, K: int, rng: np.random.Generator) -> Array:
    return np.asarray(Y[draw_rows(weight, K, rng)])


def _squared(Y: Array, centres: Array) -> Array:
    """Squared distances (n, K)."""
    return np.stack([np.sum((Y - centre) ** 2, axis=1) for centre in centres], axis=1)


STARTS: dict[str, Centres] = {"k-means++": seeds, "k-means": k_means_centres, "random": _random_rows}
"""How centres are guessed, by name."""


class Start(NamedTuple):
    """A mixture from which EM starts, the components it had lost by then, and whether the user stopped the guessing."""

    mixture: Mixture
    lost: tuple[Lost, ...] = ()
    interrupted: bool = False


Starting = Callable[[Problem, int, np.random.Generator], list[Start]]
"""Where EM starts for a problem and K components, the most promising first."""


def from_mixture(mixture: Mixture) -> Starting:
    """EM starts from a mixture that is known."""
    return lambda problem, K, rng: [Start(mixture)]


def from_shares(shares: Array, weight: Array | None = None) -> Starting:
    """EM starts from responsibilities (n, K), one row of them a row; the rows have these weights (n,).

    A source may have dropped its rows of weight 0 by then, so theirs are dropped here too.
    """
    kept = shares if weight is None else shares[weight > 0.0]

    def start(problem: Problem, K: int, rng: np.random.Generator) -> list[Start]:
        parts, first = [], 0
        for block in counted(problem.source).blocks():
            stop = first + block.rows.shape[0]
            parts.append(problem.structure.grouped(_filled(problem, block), kept[first:stop]))
            first = stop
        return [Start(problem.estimate(sum(parts[1:], parts[0])))]

    return start


def _filled(problem: Problem, block: Block) -> Block:
    return block if problem.filled is as_they_are else Block(problem.filled(dense(block.rows)), block.weight)


def from_centres(centres: Centres, n_init: int) -> Starting:
    """EM starts from the best of n_init guesses, each climbed a little from the rows nearest to its centres.

    Every other guess beside `seeds` is at random, and there are twice as many of both where rows are few: where groups
    overlap, rows far from each other are no centres. Where the guesses were made on all rows, the best few are given,
    since the best may not remain it; else the best. An interrupt ends the guessing with those made so far.
    """

    def start(problem: Problem, K: int, rng: np.random.Generator) -> list[Start]:
        sample = _sample(problem, K, rng)
        source = ArraySource(sample.X).weighted(sample.weight)
        small = replace(problem, source=source, rows=len(sample.X), weight=float(sample.weight.sum()))
        n = max(small.rows, small.weight)  # the same for weights as for copies
        few = n * small.mean.size**2 * K * n_init <= FEW
        steps, near = (LONG, NEAR * small.weight) if few else (SHORT, 0.0)
        guesses = n_init * (2 if few and centres is seeds else 1) if K > 1 else 1  # one component has but one start
        make = partial(_guess, problem=small, centres=centres, K=K, sample=sample)
        each = map(make, range(guesses), rng.spawn(guesses))
        made, interrupted = _climbed(small, each, _at_once(small, K), near, steps)
        found = sorted(made, key=partial(rank, small))
        most = FINISHED if small.rows == problem.rows and not interrupted else 1
        return [Start(one.mixture, one.lost, interrupted) for one in found[:most]]

    return start


def _at_once(problem: Problem, K: int) -> int:
    """How many guesses are climbed from side by side: as many as their arrays fit in cache, and one for each thread."""
    d = problem.mean.size
    return max(thread_count(), SIDE_BY_SIDE // (K * d * (d if problem.structure.joint else 1)))


def _climbed(
    problem: Problem, guesses: Iterable[Mixture], at_once: int, tol: float, steps: int
) -> tuple[list[Climb], bool]:
    """Climbs from guesses, some at once, and whether an interrupt ended them: it goes on if there is none to keep."""
    made, left, interrupted = list[Climb](), iter(guesses), False
    try:
        while not interrupted and (some := list(islice(left, at_once))):
            found = climb_all(problem, some, tol=tol, max_iter=steps)
            made += [one for one in found if one is not None]
            interrupted = any(one is None or one.interrupted for one in found)
    except KeyboardInterrupt:  # while guesses were made
        interrupted = True
    if not made:
        raise KeyboardInterrupt
    return made, interrupted


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows in memory: as they are (n, d), without gaps, as starts see them in turn (n, d), and their weights (n,)."""

    X: Array
    filled: Array
    views: tuple[Array, ...]
    weight: Array


def _sample(problem: Problem, K: int, rng: np.random.Generator) -> _Sample:
    enough = max(FEWEST_ROWS, ROWS_EACH * K) * problem.source.n_features
    source = problem.source if problem.filled is as_they_are else _with_entries(problem.source)
    X, w = _drawn(counted(source), rng, min(enough, max(MOST_ENTRIES, 20 * K * source.n_features)))
    order = np.lexsort(X.T)  # so that guesses depend neither on the order of rows nor on copies standing for weights
    X, w = X[order], w[order]
    filled = problem.filled(X)
    centred, ways = filled - problem.mean, problem.structure.views(problem.covariance)
    return _Sample(X, filled, tuple(centred * A if A.ndim == 1 else centred @ A for A in ways), w)


def _with_entries(source: Source) -> Source:
    """The rows of which something is observed: the others have the weight 0."""
    there = np.concatenate([~np.isnan(dense(block.rows)).all(axis=1) for block in source.blocks()])
    if there.all():
        return source
    return source.weighted(there * (1.0 if source.weight is None else source.weight))


def _drawn(source: Source, rng: np.random.Generator, limit: int) -> tuple[Array, Array]:
    """Rows (m, d) and weights (m,), about limit / d of them where there are more; heavy rows are likelier drawn.

    A row drawn with probability p has the weight w / p.
    """
    w = source.weight
    if w is None or w.size * source.n_features <= limit:
        X, weight = dense_rows(source, rng, limit)
        return X, np.ones(len(X)) if weight is None else weight
    p = inclusion(w, max(1, limit // source.n_features))
    chosen = np.flatnonzero(rng.random(p.size) < p)
    return dense(take_rows(source, chosen, p.size)), w[chosen] / p[chosen]


def inclusion(weight: Array, m: int) -> Array:
    """Probabilities (n,) proportional to weights (n,), but for those that would be above 1, with the sum m < n.

    >>> inclusion(np.array([1.0, 1.0, 98.0]), 2)
    array([0.5, 0.5, 1. ])
    """
    p = weight * (m / weight.sum())
    sure = np.zeros(p.size, dtype=bool)
    while np.any((p > 1.0) & ~sure):
        sure |= p > 1.0
        p = np.where(sure, 1.0, weight * ((m - np.count_nonzero(sure)) / weight[~sure].sum()))
    return np.asarray(p)


def _guess(i: int, rng: np.random.Generator, problem: Problem, centres: Centres, K: int, sample: _Sample) -> Mixture:
    turn, view = divmod(i, len(sample.views))
    Y, guess = sample.views[view], _random_rows if centres is seeds and turn % 2 else centres
    labels = _squared(Y, guess(Y, sample.weight, K, rng)).argmin(axis=1)
    return _nearest_rows(problem, sample, labels, K)


def _nearest_rows(problem: Problem, sample: _Sample, labels: Array, K: int) -> Mixture:
    """The mixture of K groups of rows, with the conjugate prior: a group may have too few rows for a covariance.

    A group without rows is as wide as that prior thinks, and counts as one row.
    """
    prior = PRIORS["conjugate"](problem.structure, problem.mean, problem.covariance, K)
    groups = problem.structure.grouped(Block(sample.filled, sample.weight), np.eye(K)[labels])
    found = replace(problem, prior=prior).estimate(groups)
    weights = found.weights + 1.0 / max(len(labels), float(sample.weight.sum()))  # as for copies
    return Mixture(weights / weights.sum(), found.components)
