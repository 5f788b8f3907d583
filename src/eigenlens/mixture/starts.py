"""Starts of EM: several guesses, a short run from each, and the best of them (Biernacki, Celeux and Govaert 2003).

Guesses are made on rows in memory, a sample where there are many. Each has a generator of its own, drawn from the one
given, so the result does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array, dense, slices
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import dense_rows, draw_rows, positive_weight_rows, take_rows
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.data.table import observed_rows
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.em import (
    BestEnd,
    LostComponent,
    MixtureEMResult,
    MixtureState,
    estimate_state,
    evaluate_start,
    rank_result,
    run_from_starts,
)
from eigenlens.mixture.prior import PRIORS
from eigenlens.mixture.problem import Problem, rows_unchanged
from eigenlens.mixture.structures.base import CovarianceArrays
from eigenlens.native.mixture import mixture_log_joint
from eigenlens.resources import in_slices, one_thread, thread_count

SAMPLE_ROWS_PER_COMPONENT, MIN_SAMPLE_ROWS, MAX_SAMPLE_ENTRIES = 500, 10_000, 1 << 24
"""Guesses are made on this many rows per component, at least this many in all, and this many entries at most."""

SHORT_RUN_STEPS = 15
"""The steps of a short run: enough to rank guesses, few enough to try many (Biernacki, Celeux and Govaert 2003)."""

K_MEANS_STEPS = 10
"""The steps of k-means after k-means++."""

LONG_RUN_STEPS, LONG_RUN_TOL = 200, 1e-5
"""Where rows are few, a run has at most this many steps, or stops at this remaining gain per row, so that no guess is
judged too soon."""

MAX_CHEAP_PASS_FLOPS = 1 << 21
"""Rows are few if a pass over them for all guesses takes no more multiplications than this."""

MAX_STACKED_ENTRIES = 1 << 17
"""The entries of the covariances of all guesses that are run side by side: they should stay in cache."""

MIN_THREADED_ENTRIES = 1 << 16
"""Guesses on fewer entries than this are made before a thread has started."""

SAME_DISTANCE = 1e-6
"""Distances that differ by less than this share are equal: copies of rows and weights round them differently."""

MAX_FINAL_STARTS = 3
"""The number of guesses that are run to the end where that is the only way to find the best."""

CentreRule = Callable[[Array, Array, int, np.random.Generator], Array]
"""Centres (K, d) for rows (n, d) with weights (n,), in coordinates where all directions or columns are alike."""


def k_means_plus_plus(Y: Array, weight: Array, K: int, rng: np.random.Generator) -> Array:
    """Return K rows far from each other (Arthur and Vassilvitskii 2007), each the best of a few candidates.

    A row is drawn with probability proportional to its squared distance from the rows before it. Cost n d K log K.

    >>> Y = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> np.sort(k_means_plus_plus(Y, np.ones(4), 2, np.random.default_rng(0)).ravel()).round()
    array([0., 9.])
    """
    chosen = [int(draw_rows(weight, 1, rng)[0])]
    nearest = _squared_distances(Y, Y[chosen])[:, 0]
    for _ in range(1, K):
        mass = weight * nearest
        candidates = draw_rows(mass if mass.any() else weight, 2 + int(np.log(K)), rng)
        closer = np.minimum(nearest[:, None], _squared_distances(Y, Y[candidates]))
        best = int(_smallest((weight @ closer)[None])[0])
        chosen.append(int(candidates[best]))
        nearest = closer[:, best]
    return np.asarray(Y[chosen])


def k_means_centres(Y: Array, weight: Array, K: int, rng: np.random.Generator) -> Array:
    """Return the centres of k-means after a few steps from `k_means_plus_plus`."""
    centres = k_means_plus_plus(Y, weight, K, rng)
    for _ in range(K_MEANS_STEPS):
        labels = _smallest(_squared_distances(Y, centres))
        mass = np.bincount(labels, weight, minlength=K)
        sums = np.stack([np.bincount(labels, weight * y, minlength=K) for y in Y.T], axis=1)
        centres = np.where(mass[:, None] > 0.0, sums / np.where(mass > 0.0, mass, 1.0)[:, None], centres)
    return centres


def _random_rows(Y: Array, weight: Array, K: int, rng: np.random.Generator) -> Array:
    return np.asarray(Y[draw_rows(weight, K, rng)])


def _squared_distances(Y: Array, centres: Array) -> Array:
    """Return squared distances (n, K), by the kernel of Gaussians of covariance I; none is above 2e300.

    >>> _squared_distances(np.array([[3.0, 4.0]]), np.array([[0.0, 0.0], [3.0, 3.0]]))
    array([[25.,  1.]])
    """
    joint = mixture_log_joint(Y, np.zeros(len(centres)), centres, np.ones(centres.shape))
    joint *= -2.0
    return joint


def _smallest(values: Array) -> Array:
    """Return the place of the smallest value of each row; values that are equal up to rounding count as equal.

    Where rows are no more than columns, all of them are equally far from each other once they have covariance I.

    >>> _smallest(np.array([[2.0, 1.0 + 1e-9, 1.0], [0.0, 0.0, -0.0]]))
    array([1, 0])
    """
    return np.asarray((values <= (1.0 + SAME_DISTANCE) * values.min(axis=1, keepdims=True)).argmax(axis=1))


CENTRE_RULES: dict[str, CentreRule] = {
    "k-means++": k_means_plus_plus,
    "k-means": k_means_centres,
    "random": _random_rows,
}
"""Rules for guessing centres, by name."""

CENTRE_RULE_ALIASES = {"kmeans": "k-means", "random_from_data": "random"}
"""Names of scikit-learn for the same rules."""


class Start(NamedTuple):
    """A mixture from which EM starts.

    Attributes:
        state: the mixture as arrays. lost: the components that it had lost by then.
        interrupted: whether the user stopped the guessing. steps: of EM that led to it.
    """

    state: MixtureState
    lost: tuple[LostComponent, ...] = ()
    interrupted: bool = False
    steps: int = 0


@dataclass(frozen=True, eq=False)
class StartParts:
    """The parts of a start that the user gives, None where they are guessed.

    Attributes:
        weights: (K,), of sum 1. means: (K, d). arrays: those of the covariances.
    """

    weights: Array | None = None
    means: Array | None = None
    arrays: CovarianceArrays | None = None

    def put_into(self, state: MixtureState) -> MixtureState:
        """Return the mixture with these parts in place of its own."""
        weights = state.weights if self.weights is None else self.weights
        means = state.means if self.means is None else self.means
        return MixtureState(weights, means, state.arrays if self.arrays is None else self.arrays)


StartRule = Callable[[Problem, int, np.random.Generator, int], list[Start]]
"""The starts of EM for a problem, K components and the most steps max_iter from each; the most promising first."""


def from_mixture(mixture: Mixture) -> StartRule:
    """Return the rule that starts EM from a known mixture."""
    return lambda problem, K, rng, max_iter: [Start(MixtureState.of(mixture, problem.structure))]


def from_responsibilities(shares: Array, weight: Array | None = None) -> StartRule:
    """Return the rule that starts EM from responsibilities (n, K), one row of them per row, of weights (n,).

    A source may have dropped its rows of weight 0 by then, so their responsibilities are dropped here too.
    """
    kept = shares if weight is None else shares[weight > 0.0]

    def start(problem: Problem, K: int, rng: np.random.Generator, max_iter: int) -> list[Start]:
        parts, first = [], 0
        for block in positive_weight_rows(problem.source).blocks():
            stop = first + block.rows.shape[0]
            parts.append(problem.structure.moments.of_groups(_fill_block(problem, block), kept[first:stop]))
            first = stop
        return [Start(estimate_state(problem, sum(parts[1:], parts[0])))]

    return start


def _fill_block(problem: Problem, block: Block) -> Block:
    if problem.fill_missing is rows_unchanged:
        return block
    return Block(problem.fill_missing(dense(block.rows)), block.weight)


def from_means(parts: StartParts) -> StartRule:
    """Return the rule that starts EM from given means; what else is not given is that of the rows nearest to each.

    Rows are compared with the means in units of the columns' standard deviations.
    """

    def start(problem: Problem, K: int, rng: np.random.Generator, max_iter: int) -> list[Start]:
        assert parts.means is not None
        sample, s = _sample(problem, K, rng), problem.deviations
        labels = _smallest(_squared_distances(sample.filled / s, parts.means / s))
        guess = _estimate_from_groups(_with_conjugate_prior(problem, K), sample, labels, K)
        return [Start(parts.put_into(guess))]

    return start


def from_centres(centres: CentreRule, n_init: int, parts: StartParts | None = None) -> StartRule:
    """Return the rule that starts EM from the best of n_init guesses, after a short run of EM from each.

    With `k_means_plus_plus`, every other guess is random, and there are twice as many of both where rows are few: where
    groups overlap, rows far from each other are no centres. Where the guesses were made on all rows, the best few are
    returned, since the best may not remain so; otherwise only the best. An interrupt keeps the guesses made so far.
    Given `parts` replace those of every guess. Short runs take at most half of the max_iter steps that a guess has.
    """

    def start(problem: Problem, K: int, rng: np.random.Generator, max_iter: int) -> list[Start]:
        sample = _sample(problem, K, rng)
        source = ArraySource(sample.X).weighted(sample.weight)
        small = replace(problem, source=source, rows=len(sample.X), weight=float(sample.weight.sum()))
        n = max(small.rows, small.weight)  # the same for weights as for copies
        few = n * small.mean.size**2 * K * n_init <= MAX_CHEAP_PASS_FLOPS
        usual, tol = (LONG_RUN_STEPS, LONG_RUN_TOL * small.weight) if few else (SHORT_RUN_STEPS, 0.0)
        steps = min(usual, max_iter // 2)
        twice = few and centres is k_means_plus_plus
        guesses = n_init * (2 if twice else 1) if K > 1 else 1  # one component has only one start
        make = partial(_guess, problem=_with_conjugate_prior(small, K), centres=centres, K=K, sample=sample)
        at_once = _starts_at_once(small, K)
        each: Iterable[MixtureState] = _make_guesses(make, rng.spawn(guesses), at_once, sample.X.size)
        if parts is not None:
            each = map(parts.put_into, each)
        if steps:
            results, interrupted = _run_guesses(small, each, at_once, tol, steps)
        else:
            results, interrupted = [evaluate_start(small, guess) for guess in each], False
        best = sorted(results, key=partial(rank_result, small))
        most = MAX_FINAL_STARTS if small.rows == problem.rows and not interrupted else 1
        return [Start(one.state, one.lost, interrupted, max(0, one.steps - 1)) for one in best[:most]]

    return start


def _make_guesses(
    make: Callable[[int, np.random.Generator], MixtureState],
    rngs: list[np.random.Generator],
    at_once: int,
    entries: int,
) -> Iterator[MixtureState]:
    """Yield a guess for each generator; some are made at once, each on a thread of its own where rows are many."""
    for some in slices(len(rngs), at_once):

        def guesses(part: slice, first: int = some.start) -> list[MixtureState]:
            return [make(first + i, rngs[first + i]) for i in range(part.start, part.stop)]

        count = some.stop - some.start
        for made in in_slices(guesses, count, 1 if entries >= MIN_THREADED_ENTRIES else count):
            yield from made


def _starts_at_once(problem: Problem, K: int) -> int:
    """Return how many guesses are run side by side: as many as their arrays fit in cache, and one for each thread."""
    d = problem.mean.size
    return max(thread_count(), MAX_STACKED_ENTRIES // (K * d * (d if problem.structure.joint else 1)))


def _run_guesses(
    problem: Problem, guesses: Iterable[MixtureState], at_once: int, tol: float, steps: int
) -> tuple[list[MixtureEMResult], bool]:
    """Run EM from guesses, some at once; return the results, and whether an interrupt ended the runs.

    The interrupt is raised again if there is no result to keep.
    """
    results, left, interrupted, best_end = list[MixtureEMResult](), iter(guesses), False, BestEnd()
    try:
        while not interrupted and (some := list(islice(left, at_once))):
            ends = run_from_starts(problem, some, tol=tol, max_iter=steps, best_end=best_end)
            results += [one for one in ends if one is not None]
            interrupted = any(one is None or one.interrupted for one in ends)
    except KeyboardInterrupt:  # while guesses were made
        interrupted = True
    if not results:
        raise KeyboardInterrupt
    return results, interrupted


@dataclass(frozen=True, eq=False)
class _Sample:
    """Rows in memory.

    Attributes:
        X: (n, d), as given. filled: (n, d) without missing values. weight: (n,).
        views: the rows (n, d) in each of the structure's start coordinates.
    """

    X: Array
    filled: Array
    views: tuple[Array, ...]
    weight: Array


def _sample(problem: Problem, K: int, rng: np.random.Generator) -> _Sample:
    enough = max(MIN_SAMPLE_ROWS, SAMPLE_ROWS_PER_COMPONENT * K) * problem.source.n_features
    source = problem.source if problem.fill_missing is rows_unchanged else _nonempty_rows(problem.source)
    X, w = _draw_sample(
        positive_weight_rows(source), rng, min(enough, max(MAX_SAMPLE_ENTRIES, 20 * K * source.n_features))
    )
    order = _sorted_order(X)  # so that guesses depend neither on the order of rows nor on weights given as copies
    X, w = X[order], w[order]
    filled = problem.fill_missing(X)
    with one_thread():
        centred, coordinates = filled - problem.mean, problem.structure.start_coordinates(problem.covariance)
        return _Sample(X, filled, tuple(centred * A if A.ndim == 1 else centred @ A for A in coordinates), w)


def _sorted_order(X: Array) -> Array:
    """Return np.lexsort(X.T), which sorts by every column: by the last alone where that decides."""
    order = np.argsort(X[:, -1])
    sorted_last = X[order, -1]
    return order if np.all(sorted_last[1:] > sorted_last[:-1]) else np.lexsort(X.T)


def _nonempty_rows(source: Source) -> Source:
    """Return the rows with an observed entry; the others have weight 0."""
    parts = accumulate(source, _empty_rows)
    if not any(empty.size for _, empty in parts):
        return source
    observed = np.concatenate([np.isin(np.arange(n), empty, invert=True) for n, empty in parts])
    return source.weighted(observed * (1.0 if source.weight is None else source.weight))


def _empty_rows(block: Block) -> tuple[tuple[int, Array], ...]:
    """Return the number of rows of a block, and those of them without an observed entry."""
    return ((block.rows.shape[0], np.flatnonzero(~observed_rows(block.rows))),)


def _draw_sample(source: Source, rng: np.random.Generator, limit: int) -> tuple[Array, Array]:
    """Draw rows (m, d) and weights (m,), about limit / d of them where there are more; heavy rows more often.

    A row drawn with probability p has the weight w / p.
    """
    w = source.weight
    if w is None or w.size * source.n_features <= limit:
        X, weight = dense_rows(source, rng, limit)
        return X, np.ones(len(X)) if weight is None else weight
    p = inclusion_probabilities(w, max(1, limit // source.n_features))
    chosen = np.flatnonzero(rng.random(p.size) < p)
    return dense(take_rows(source, chosen, p.size)), w[chosen] / p[chosen]


def inclusion_probabilities(weight: Array, m: int) -> Array:
    """Return probabilities (n,) of sum m < n, proportional to weights (n,) except where they would exceed 1.

    >>> inclusion_probabilities(np.array([1.0, 1.0, 98.0]), 2)
    array([0.5, 0.5, 1. ])
    """
    p = weight * (m / weight.sum())
    certain = np.zeros(p.size, dtype=bool)
    while np.any((p > 1.0) & ~certain):
        certain |= p > 1.0
        p = np.where(certain, 1.0, weight * ((m - np.count_nonzero(certain)) / weight[~certain].sum()))
    return np.asarray(p)


def _guess(
    i: int, rng: np.random.Generator, problem: Problem, centres: CentreRule, K: int, sample: _Sample
) -> MixtureState:
    turn, view = divmod(i, len(sample.views))
    Y, rule = sample.views[view], _random_rows if centres is k_means_plus_plus and turn % 2 else centres
    with one_thread():
        labels = _smallest(_squared_distances(Y, rule(Y, sample.weight, K, rng)))
    return _estimate_from_groups(problem, sample, labels, K)


def _with_conjugate_prior(problem: Problem, K: int) -> Problem:
    """Return the problem with the conjugate prior: a group of rows may be too small for a covariance."""
    return replace(problem, prior=PRIORS["conjugate"](problem.structure, problem.mean, problem.covariance, K))


def _estimate_from_groups(problem: Problem, sample: _Sample, labels: Array, K: int) -> MixtureState:
    """Return the mixture of K groups of rows, for a problem with the conjugate prior.

    A group without rows is as wide as that prior makes it, and counts as one row.
    """
    groups = problem.structure.moments.of_groups(Block(sample.filled, sample.weight), np.eye(K)[labels])
    state = estimate_state(problem, groups)
    weights = state.weights + 1.0 / max(len(labels), float(sample.weight.sum()))  # the same for weights as for copies
    return replace(state, weights=weights / weights.sum())
