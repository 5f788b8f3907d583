"""Algorithms of factor analysis on a correlation matrix, by name, from several starts; canonical form of loadings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Progress
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.correlation_operator import Correlations, DenseCorrelations
from eigenlens.latent.factor.em import minimise_by_em
from eigenlens.latent.factor.newton import ProfileStack, minimise_by_newton
from eigenlens.latent.factor.profile_likelihood import ProfileMinimum, minimise_profile, profile_point
from eigenlens.latent.factor.starts import (
    CLEAR_IF_CHEAP,
    CLEAR_IF_COSTLY,
    MAX_ALTERNATIONS,
    SAME_MAXIMUM,
    alternate_updates,
    few_starts,
    is_clear_maximum,
    many_starts,
    neighbour_starts,
    random_uniquenesses,
)
from eigenlens.linalg.spectrum import orient
from eigenlens.resources import one_thread

MANY_VARIABLES, INITIAL_EM_STEPS = 200, 10
"""Beyond so many variables the quasi-Newton method begins with that many EM steps, which cost less than its own."""

MAX_VARIABLES_ONE_THREAD = 640
"""Up to so many variables products gain little from threads, which would keep cores busy between LAPACK's calls."""

MAX_VARIABLES_NEWTON_FIRST = 40
"""Up to so many variables Newton's method costs little, from many starts at once, and is the first to be used."""

MAX_NEIGHBOUR_ROUNDS = 4
"""How often the neighbours of the best end are tried."""

SAME_VALUE = 1e-8
"""Of ends whose f differ by no more, the first that converged is kept: beyond (d − k)² ≥ d + k many models fit equally
well."""

MAX_VARIABLES_STACKED = 80
"""Up to so many variables further starts are made by Newton's method, all at once."""

MAX_VARIABLES_TWO_STARTS = 200
"""Up to so many variables a second start costs milliseconds, and more are tried where the first two leave doubt."""

HEYWOOD_FLOOR_FACTOR, HEYWOOD_UNIQUENESS = 10.0, 1e-5
"""Uniquenesses within this factor of the floor, or below this value, are Heywood cases."""

FactorSolver = Callable[[Correlations, int, Array, "FactorOptions"], ProfileMinimum]


@dataclass(frozen=True)
class FactorOptions:
    """The options of a fit of factor analysis.

    Attributes:
        tol: bound on the entries of the gradient of −2/n log-likelihood in log psi; EM stops where the log-likelihood
            per entry still to be gained is below its square.
        max_iter: the largest number of steps. floor: the smallest uniqueness, a share of the variable's variance.
        n_init: 1 for the starts that are always made, and one random start for each beyond; the best end is kept.
        standardize: whether signs are decided on the loadings of correlations, or of the rows as given.
        rng: for the random starts. progress: called after passes.
        thorough: whether more starts are made where the first leave doubt. lead: (d,) one of these, or None.
        note: called after each step on correlations, with its number and f.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    floor: float = 1e-8
    n_init: int = 1
    standardize: bool = False
    rng: np.random.Generator | None = None
    progress: Progress | None = None
    thorough: bool = True
    lead: Array | None = None
    note: Callable[[int, float], None] = lambda step, f: None


def _quasi_newton(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    if correlations.size > MANY_VARIABLES:
        few_steps = replace(options, max_iter=min(INITIAL_EM_STEPS, options.max_iter))
        start = _em(correlations, k, start, few_steps).uniquenesses
    return minimise_profile(correlations, k, start, **_limits(options))


def _em(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    return minimise_by_em(correlations, k, start, **_limits(options))


def _limits(options: FactorOptions) -> dict[str, Any]:
    return {"floor": options.floor, "tol": options.tol, "max_iter": options.max_iter, "note": options.note}


FACTOR_SOLVERS: dict[str, FactorSolver] = {
    "quasi-newton": _quasi_newton,
    "em": _em,
}
"""Solvers by name: (R, k, uniquenesses to start from, options) → the minimum reached."""


def first_starts(correlations: Correlations, k: int, options: FactorOptions) -> list[Array]:
    """Return uniquenesses (d,) to start from: by formula, all equal where that costs little, and random ones.

    The likelihood can have more than one maximum, and neither of the first two starts always finds the higher one.
    """
    rng = np.random.default_rng(0) if options.rng is None else options.rng
    d = correlations.size
    equal = [np.full(d, 0.99)] if d <= MAX_VARIABLES_TWO_STARTS else []
    others = [random_uniquenesses(rng, d) for _ in range(options.n_init - 1)]
    return [correlations.uniquenesses(k), *equal, *others]


def minimise_from_starts(correlations: Correlations, k: int, solver: str, options: FactorOptions) -> ProfileMinimum:
    """Return the best minimum of several starts.

    | variables, if R is in memory | first          | where these leave doubt (`is_clear_maximum`)                    |
    |------------------------------|----------------|-----------------------------------------------------------------|
    | up to 40                     | 2 Newton       | 2 quasi-Newton; 2d + 32 Newton, beyond 20 variables 18; nearby  |
    | up to 80                     | 2 quasi-Newton | 2 quasi-Newton; 4 Newton                                        |
    | up to 200                    | 2 quasi-Newton | 6 quasi-Newton, the best of them finished by Newton             |
    | more                         | 1 quasi-Newton | none                                                            |

    "em" makes the first starts only. No finite number of starts is proof: of small random problems made to be badly
    determined, about one in a thousand still has a higher maximum that scikit-learn or ten random starts find.
    """
    with one_thread() if correlations.size <= MAX_VARIABLES_ONE_THREAD else nullcontext():
        ends = list[ProfileMinimum]()
        try:
            for end in _run_starts(correlations, k, solver, options, ends):
                ends.append(end)
                if end.interrupted:  # the user who stops one start wants no other
                    break
        except KeyboardInterrupt:
            if not ends:
                raise
            ends[0] = replace(ends[0], interrupted=True)
        lowest = _best(ends).path[-1]
        best = min((end for end in ends if end.path[-1] <= lowest + SAME_VALUE), key=lambda each: not each.converged)
        interrupted = any(end.interrupted for end in ends)
        return replace(best, interrupted=True, converged=False, ended="interrupted") if interrupted else best


def _run_starts(
    correlations: Correlations, k: int, solver: str, options: FactorOptions, ends: Sequence[ProfileMinimum]
) -> Iterator[ProfileMinimum]:
    """Yield the ends of all starts, one by one; `ends` holds those yielded before."""

    def solve(start: Array) -> ProfileMinimum:
        return FACTOR_SOLVERS[solver](correlations, k, start, options)

    newton = _newton_solver(correlations, k, options) if solver == "quasi-newton" else None
    newton_first = newton if correlations.size <= MAX_VARIABLES_NEWTON_FIRST else None
    starts = first_starts(correlations, k, options)
    yield from map(newton_first or solve, starts)
    if solver != "quasi-newton" or not options.thorough or correlations.size > MAX_VARIABLES_TWO_STARTS:
        return
    if is_clear_maximum(correlations, k, ends, CLEAR_IF_CHEAP if newton_first else CLEAR_IF_COSTLY):
        return
    base, rng = np.clip(starts[0], options.floor, 1.0), np.random.default_rng(0)
    led = map(solve, _leading_starts(correlations, k, options))  # Newton's longer steps may leave the basin
    if newton is None or correlations.size > MAX_VARIABLES_STACKED:
        yield from led
        yield from map(solve, few_starts(base, rng))
        if newton is not None:
            yield newton(_best(ends).uniquenesses)
        return
    more_starts = many_starts if newton_first else few_starts
    yield newton(np.stack([*(end.uniquenesses for end in [*ends, *led]), *more_starts(base, rng)]))
    if newton_first is not None:
        yield from _try_neighbours(newton_first, ends)


def _leading_starts(correlations: Correlations, k: int, options: FactorOptions) -> Array:
    """Return where (1 or 2, d) scikit-learn's iteration leads, from 1 and from 1 in units of the rows, its start."""
    ones = np.ones(correlations.size)
    starts = [ones] if options.lead is None or np.allclose(options.lead, ones) else [ones, options.lead]
    steps = min(MAX_ALTERNATIONS, options.max_iter)
    return np.stack([alternate_updates(correlations, k, start, options.floor, steps) for start in starts])


def _best(ends: Sequence[ProfileMinimum]) -> ProfileMinimum:
    return min(ends, key=lambda each: each.path[-1])


def _try_neighbours(
    minimise: Callable[[Array], ProfileMinimum], ends: Sequence[ProfileMinimum]
) -> Iterator[ProfileMinimum]:
    """Yield the minimum from the neighbours of the best end, as long as it is better."""
    for _ in range(MAX_NEIGHBOUR_ROUNDS):
        best = _best(ends)
        found = minimise(neighbour_starts(best.uniquenesses))
        yield found
        if not found.path[-1] < best.path[-1] - SAME_MAXIMUM:
            return


def _newton_solver(
    correlations: Correlations, k: int, options: FactorOptions
) -> Callable[[Array], ProfileMinimum] | None:
    """Return Newton's method from starts (d,) or (s, d), for not too many variables whose R is in memory; else None."""
    if not isinstance(correlations, DenseCorrelations) or correlations.size > MAX_VARIABLES_TWO_STARTS:
        return None
    stack = cache(partial(ProfileStack, correlations.matrix, k, options.floor))  # made when it is first needed

    def minimise(starts: Array) -> ProfileMinimum:
        found = minimise_by_newton(stack(), np.atleast_2d(starts), **_limits(options))
        W = profile_point(correlations, k, found.t).loadings
        converged, interrupted = found.ended == "converged", found.ended == "interrupted"
        return ProfileMinimum(np.exp(found.t), W, found.path, found.residual, converged, interrupted, found.ended)

    return minimise


def canonical_factors(model: LinearGaussian, scale: Array) -> LinearGaussian:
    """Return the same density, its latent space rotated so that Wᵀ Psi⁻¹ W is diagonal and descends.

    Signs are decided on W over `scale` (d,).

    >>> mixed = LinearGaussian(np.zeros(3), np.array([[0.0, 1.0], [-2.0, 0.0], [0.0, 1.0]]), np.ones(3))
    >>> np.abs(canonical_factors(mixed, np.ones(3)).loadings)
    array([[0., 1.], [2., 0.], [0., 1.]])
    """
    W, psi = model.loadings, np.broadcast_to(model.noise, model.mean.shape)
    _, Q = np.linalg.eigh(W.T @ (W / psi[:, None]))
    W = W @ Q[:, ::-1]
    return LinearGaussian(model.mean, orient(W / scale[:, None]) * scale[:, None], model.noise)


def heywood_columns(model: LinearGaussian, floor: float = FactorOptions.floor) -> Array:
    """Return the columns whose uniqueness is practically 0: the factors explain all of them, which is hardly ever true.

    >>> heywood_columns(LinearGaussian(np.zeros(2), np.ones((2, 1)), np.array([1.0, 1e-6])))
    array([1])
    """
    psi = np.broadcast_to(model.noise, model.mean.shape)
    total = (model.loadings**2).sum(axis=1) + psi
    return np.flatnonzero(psi <= max(HEYWOOD_FLOOR_FACTOR * floor, HEYWOOD_UNIQUENESS) * total)
