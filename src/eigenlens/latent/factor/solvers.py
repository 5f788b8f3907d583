"""Algorithms of factor analysis on a correlation matrix, by name, from several starts; canonical form of loadings.

The likelihood has several maxima, and one start does not show which is the highest. Two starts agree on it where the
factors are distinct and no uniqueness is near 0. Elsewhere, on small random problems, the highest maximum often has a
uniqueness at its floor, and which one is not known beforehand. So further starts put each variable near the floor in
turn, and a few are random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.latent.factor.correlation_operator import Correlations, DenseCorrelations
from eigenlens.latent.factor.em import minimise_by_em
from eigenlens.latent.factor.least_squares import iterate_principal_axes, minimise_residuals
from eigenlens.latent.factor.newton import ProfileStack, minimise_by_newton
from eigenlens.latent.factor.profile_likelihood import FactorOptions, ProfileMinimum, minimise_profile, profile_point
from eigenlens.linalg.spectrum import orient
from eigenlens.missing.units import rotate_to_diagonal
from eigenlens.optim.em import SETTLED_STEP
from eigenlens.resources import one_thread

MANY_VARIABLES, INITIAL_EM_STEPS = 200, 10
"""Beyond this many variables the quasi-Newton method begins with EM steps, this many, which cost less than its own."""

MAX_VARIABLES_ONE_THREAD = 640
"""Up to this many variables products gain little from threads, which would keep cores busy between LAPACK's calls."""

MAX_VARIABLES_NEWTON_FIRST = 40
"""Up to this many variables Newton's method costs little, from many starts at once, and is used first."""

MAX_NEIGHBOUR_ROUNDS = 4
"""The number of times that the neighbours of the best end are tried."""

SAME_VALUE = 1e-8
"""Of ends whose f differ by no more, the first that converged is kept: beyond (d − k)² ≥ d + k many models fit equally
well."""

MAX_VARIABLES_STACKED = 80
"""Up to this many variables further starts are made by Newton's method, all at once."""

MAX_VARIABLES_TWO_STARTS = 200
"""Up to this many variables a second start costs milliseconds, and more are tried where the first two leave doubt."""

HEYWOOD_FLOOR_FACTOR, HEYWOOD_UNIQUENESS = 1.1, 1e-5
"""Uniquenesses within this factor of the floor, or below this value, are Heywood cases."""

SAME_MAXIMUM = 1e-7
"""Ends whose f differ by less than this are one maximum."""

DISTINCT_FACTOR_RATIO = 2.0
"""The last factor is distinct if its eigenvalue is this many times the next one."""

MAX_VARIABLES_IN_TURN = 20
"""Up to this many variables, each is put near the floor in turn, from two bases."""

N_RANDOM_STARTS, N_RANDOM_STARTS_WIDE = 32, 8
"""The number of random starts for at most `MAX_VARIABLES_IN_TURN` variables, and for more."""

N_IN_TURN = 10
"""With more variables, only this many of smallest uniqueness are put near the floor."""

MAX_ALTERNATIONS = 100
"""Alternations of loadings and uniquenesses: enough to enter a basin, from where other methods go on."""

NEAR_FLOOR = 1e-3
"""A uniqueness near the floor, but not so near that the gradient in log psi vanishes."""

FactorSolver = Callable[[Correlations, int, Array, FactorOptions], ProfileMinimum]


def _quasi_newton(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    if correlations.size > MANY_VARIABLES:
        few_steps = replace(options, max_iter=min(INITIAL_EM_STEPS, options.max_iter))
        start = minimise_by_em(correlations, k, start, few_steps).uniquenesses
    return minimise_profile(correlations, k, start, options)


def _em(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    """Run EM, and replace its last step by one to the maximum nearby, where Newton's method costs little.

    EM leaves flat directions undetermined, and a uniqueness that tends to 0 gains less and less on the way: where it
    ends depends on rounding, and so on the order in which rows were added.
    """
    end = minimise_by_em(correlations, k, start, options)
    closer = replace(options, tol=SETTLED_STEP * options.tol, note=FactorOptions.note)
    newton = _newton_solver(correlations, k, closer)
    if newton is None or end.ended not in ("converged", "rounding"):
        return end
    found = newton(end.uniquenesses)
    if found.interrupted or found.residual > options.tol:
        return replace(end, ended=found.ended)
    path = (*end.path[:-1], min(found.value, end.value))  # f is as flat as the square of its gradient
    return replace(found, path=path, residual=found.residual**2, ended="converged")


FACTOR_SOLVERS: dict[str, FactorSolver] = {
    "quasi-newton": _quasi_newton,
    "em": _em,
    "minres": minimise_residuals,
    "principal-axis": iterate_principal_axes,
}
"""Solvers by name: (R, k, uniquenesses to start from, options) → the minimum reached."""

FACTOR_SOLVER_ALIASES = {"ml": "auto", "pa": "principal-axis", "uls": "minres"}
"""Names of the same methods in psych and factor_analyzer."""

LEAST_SQUARES_SOLVERS = ("minres", "principal-axis")
"""Those that do not maximise the likelihood."""


# ---- starts -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClearMaximum:
    """Bounds within which ends that agree are trusted to be the highest maximum.

    Attributes:
        min_uniqueness: the smallest uniqueness. max_rest: the largest eigenvalue of Psi^-½ R Psi^-½ beyond the factors,
            which are 1 where the model is true and the rows are many.
    """

    min_uniqueness: float
    max_rest: float


CLEAR_IF_CHEAP, CLEAR_IF_COSTLY = ClearMaximum(0.05, 1.5), ClearMaximum(1e-4, np.inf)
"""The bounds where further starts cost little, and where they do not."""


def is_clear_maximum(correlations: Correlations, k: int, ends: Sequence[ProfileMinimum], clear: ClearMaximum) -> bool:
    """Return whether more starts are not worth their time: ends agree inside the bounds, with k distinct factors."""
    values = [end.path[-1] for end in ends]
    if len(ends) < 2 or max(values) - min(values) > SAME_MAXIMUM or not all(end.converged for end in ends):
        return False
    psi = ends[0].uniquenesses
    if psi.min() < clear.min_uniqueness or k + 1 > correlations.size:
        return False
    w, _ = correlations.leading(1.0 / np.sqrt(psi), k + 1)
    return bool(w[k - 1] >= DISTINCT_FACTOR_RATIO * w[k] and w[k] <= clear.max_rest)


def random_uniquenesses(rng: np.random.Generator, shape: int | tuple[int, int]) -> Array:
    """Draw uniquenesses to start from, away from both bounds."""
    return rng.uniform(0.05, 0.95, shape)


def many_starts(base: Array, rng: np.random.Generator) -> Array:
    """Return further uniquenesses (s, d) for few variables, by those of the first start, `base` (d,).

    They are `base` and 0.5 with each variable near the floor in turn, and random ones; beyond 20 variables only the ten
    smallest of `base` take turns.

    >>> many_starts(np.full(3, 0.4), np.random.default_rng(0)).shape
    (38, 3)
    """
    d = len(base)
    few = d <= MAX_VARIABLES_IN_TURN
    turns = np.arange(d) if few else np.argsort(base)[:N_IN_TURN]
    near, far = np.tile(base, (len(turns), 1)), np.full((len(turns), d), 0.5)
    near[np.arange(len(turns)), turns], far[np.arange(len(turns)), turns] = NEAR_FLOOR, 10.0 * NEAR_FLOOR
    if not few:
        return np.concatenate([near, random_uniquenesses(rng, (N_RANDOM_STARTS_WIDE, d))])
    return np.concatenate([near, far, random_uniquenesses(rng, (N_RANDOM_STARTS, d))])


def _neighbour_starts(psi: Array) -> Array:
    """Return the neighbours (d, d) of an end psi (d,): in each, one variable leaves the floor or is put near it.

    >>> _neighbour_starts(np.array([1e-8, 0.4]))
    array([[5.e-01, 4.e-01], [1.e-08, 1.e-03]])
    """
    starts = np.tile(psi, (len(psi), 1))
    np.fill_diagonal(starts, np.where(psi < NEAR_FLOOR, 0.5, NEAR_FLOOR))
    return starts


def _few_starts(base: Array, rng: np.random.Generator) -> Array:
    """Return further uniquenesses (4, d): the two smallest of `base` (d,) near the floor in turn, and two random."""
    turns = [np.where(np.arange(len(base)) == j, NEAR_FLOOR, base) for j in np.argsort(base)[:2]]
    return np.concatenate([turns, random_uniquenesses(rng, (2, len(base)))])


def alternate_updates(
    correlations: Correlations, k: int, starts: Array, floor: float, steps: int = MAX_ALTERNATIONS
) -> Array:
    """Return uniquenesses (s, d) after alternating, from each start, the best loadings and psi = 1 − diag W Wᵀ.

    This is the iteration of scikit-learn: it leads into the same basin, where that holds a high maximum.
    """
    psi = starts
    for _ in range(steps):
        psi = np.minimum(np.maximum(1.0 - _communalities(correlations, k, psi), floor), 1.0)
    return psi


def _communalities(correlations: Correlations, k: int, psi: Array) -> Array:
    """Return diag W Wᵀ (s, d) of the best loadings for uniquenesses (s, d).

    Of few variables all are found at once: the calls take longer than the arithmetic.
    """
    if isinstance(correlations, DenseCorrelations) and correlations.size <= MAX_VARIABLES_NEWTON_FIRST:
        r = 1.0 / np.sqrt(psi)
        w, V = np.linalg.eigh(correlations.matrix * r[:, :, None] * r[:, None, :])
        V = V[:, :, -k:]
        return np.asarray(psi * ((V * V) @ np.maximum(w[:, -k:, None] - 1.0, 0.0))[:, :, 0])
    return np.stack([np.sum(profile_point(correlations, k, t).loadings ** 2, axis=1) for t in np.log(psi)])


def first_starts(correlations: Correlations, k: int, options: FactorOptions) -> list[Array]:
    """Return uniquenesses (d,) to start from: by formula, all equal where that costs little, and random ones.

    The likelihood can have more than one maximum, and neither of the first two starts always finds the higher one.
    """
    rng = np.random.default_rng(0) if options.rng is None else options.rng
    d = correlations.size
    equal = [np.full(d, 0.99)] if d <= MAX_VARIABLES_TWO_STARTS else []
    others = [random_uniquenesses(rng, d) for _ in range(options.n_init - 1)]
    return [correlations.uniquenesses(k), *equal, *others]


# ---- the best of several starts -----------------------------------------------------------------------------


def minimise_from_starts(correlations: Correlations, k: int, solver: str, options: FactorOptions) -> ProfileMinimum:
    """Return the best minimum of several starts.

    | variables, if R is in memory | first          | where these leave doubt (`is_clear_maximum`)                    |
    |------------------------------|----------------|-----------------------------------------------------------------|
    | up to 40                     | 2 Newton       | 2 quasi-Newton; 2d + 32 Newton, beyond 20 variables 18; nearby  |
    | up to 80                     | 2 quasi-Newton | 2 quasi-Newton; 4 Newton                                        |
    | up to 200                    | 2 quasi-Newton | 6 quasi-Newton, the best of them finished by Newton             |
    | more                         | 1 quasi-Newton | none                                                            |

    "em" and least squares make the first starts only. No finite number of starts is proof: of small random problems
    made to be badly determined, about one in a thousand still has a higher maximum that scikit-learn or ten random
    starts find.
    """
    d = correlations.size
    if k == 0:  # R is fitted by the identity: f = ln|I| + tr R
        return ProfileMinimum(np.ones(d), np.zeros((d, 0)), (float(d),), 0.0, "converged")
    with one_thread() if d <= MAX_VARIABLES_ONE_THREAD else nullcontext():
        ends = list[ProfileMinimum]()
        try:
            for end in _run_starts(correlations, k, solver, options, ends):
                ends.append(end)
                if end.interrupted:  # the user who stops one start wants no other
                    break
        except KeyboardInterrupt:
            if not ends:
                raise
            ends[0] = replace(ends[0], ended="interrupted")
        lowest = _best(ends).value
        best = min((end for end in ends if end.value <= lowest + SAME_VALUE), key=lambda each: not each.converged)
        return replace(best, ended="interrupted") if any(end.interrupted for end in ends) else best


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
        yield from map(solve, _few_starts(base, rng))
        if newton is not None:
            yield newton(_best(ends).uniquenesses)
        return
    reached = [end.uniquenesses for end in ends] + [end.uniquenesses for end in led]
    more_starts = many_starts(base, rng) if newton_first else _few_starts(base, rng)
    yield newton(np.concatenate([reached, more_starts]))
    if newton_first is not None:
        yield from _try_neighbours(newton_first, ends)


def _leading_starts(correlations: Correlations, k: int, options: FactorOptions) -> Array:
    """Return the uniquenesses (1 or 2, d) to which scikit-learn's iteration leads, from 1 and from its own start."""
    ones = np.ones(correlations.size)
    starts = [ones] if options.lead is None or np.allclose(options.lead, ones) else [ones, options.lead]
    steps = min(MAX_ALTERNATIONS, options.max_iter)
    return alternate_updates(correlations, k, np.stack(starts), options.floor, steps)


def _best(ends: Sequence[ProfileMinimum]) -> ProfileMinimum:
    return min(ends, key=lambda each: each.value)


def _try_neighbours(
    minimise: Callable[[Array], ProfileMinimum], ends: Sequence[ProfileMinimum]
) -> Iterator[ProfileMinimum]:
    """Yield the minimum from the neighbours of the best end, as long as it is better."""
    for _ in range(MAX_NEIGHBOUR_ROUNDS):
        best = _best(ends)
        found = minimise(_neighbour_starts(best.uniquenesses))
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
        found = minimise_by_newton(stack(), np.atleast_2d(starts), options)
        W = profile_point(correlations, k, found.t).loadings
        return ProfileMinimum(np.exp(found.t), W, found.path, found.residual, found.ended)

    return minimise


def canonical_factors(model: LinearGaussian, scale: Array) -> LinearGaussian:
    """Return the same density, its latent space rotated so that Wᵀ Psi⁻¹ W is diagonal and descends.

    Signs are decided on W over `scale` (d,).

    >>> mixed = LinearGaussian(np.zeros(3), np.array([[0.0, 1.0], [-2.0, 0.0], [0.0, 1.0]]), np.ones(3))
    >>> np.abs(canonical_factors(mixed, np.ones(3)).loadings)
    array([[0., 1.], [2., 0.], [0., 1.]])
    """
    W = rotate_to_diagonal(model)[0].loadings
    return LinearGaussian(model.mean, orient(W / scale[:, None]) * scale[:, None], model.noise)


def principal_factors(model: LinearGaussian, scale: Array, signs: Array) -> LinearGaussian:
    """Return the same density, rotated so that WᵀW of the loadings over `scale` (d,) is diagonal and descends.

    Signs are decided on W over `signs` (d,).
    """
    _, _, Vt = np.linalg.svd(model.loadings / scale[:, None], full_matrices=False)
    W = model.loadings @ Vt.T
    return LinearGaussian(model.mean, orient(W / signs[:, None]) * signs[:, None], model.noise)


def heywood_columns(model: LinearGaussian, floor: float = FactorOptions.floor) -> Array:
    """Return the columns whose uniqueness is practically 0: the factors explain all of them, which is hardly ever true.

    >>> heywood_columns(LinearGaussian(np.zeros(2), np.ones((2, 1)), np.array([1.0, 1e-6])))
    array([1])
    """
    psi = np.broadcast_to(model.noise, model.mean.shape)
    total = (model.loadings**2).sum(axis=1) + psi
    return np.flatnonzero(psi <= max(HEYWOOD_FLOOR_FACTOR * floor, HEYWOOD_UNIQUENESS) * total)
