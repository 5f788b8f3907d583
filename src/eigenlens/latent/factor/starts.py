"""Starts for factor analysis: its likelihood has several maxima, and one start does not show which is the highest.

Two starts agree on the highest maximum where the factors are distinct and no uniqueness is near 0. Elsewhere, on small
random problems, the highest maximum often has a uniqueness at its floor, and which one is not known beforehand. So
further starts put each variable near the floor in turn, and a few are random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.latent.factor.correlation_operator import Correlations
from eigenlens.latent.factor.profile_likelihood import ProfileMinimum, profile_point

SAME_MAXIMUM = 1e-7
"""Ends whose f differ by less than this are one maximum."""

DISTINCT_FACTOR_RATIO = 2.0
"""The last factor is distinct if its eigenvalue is this many times the next one."""


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

MAX_VARIABLES_IN_TURN = 20
"""Up to so many variables every one is put near the floor, from two sides."""

N_RANDOM_STARTS = {True: 32, False: 8}
"""The number of random starts for that few variables, and for more."""

N_IN_TURN = 10
"""With more variables only the ones of smallest uniqueness are put near the floor, so many of them."""

MAX_ALTERNATIONS = 100
"""Alternations of loadings and uniquenesses: enough to enter a basin, from where other methods go on."""

NEAR_FLOOR = 1e-3
"""A uniqueness near the floor, but not so near that the gradient in log psi vanishes."""


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
    return np.concatenate([near, far if few else far[:0], random_uniquenesses(rng, (N_RANDOM_STARTS[few], d))])


def neighbour_starts(psi: Array) -> Array:
    """Return the neighbours (d, d) of an end psi (d,): in each, one variable leaves the floor or is put near it.

    >>> neighbour_starts(np.array([1e-8, 0.4]))
    array([[5.e-01, 4.e-01], [1.e-08, 1.e-03]])
    """
    starts = np.tile(psi, (len(psi), 1))
    np.fill_diagonal(starts, np.where(psi < NEAR_FLOOR, 0.5, NEAR_FLOOR))
    return starts


def few_starts(base: Array, rng: np.random.Generator) -> Array:
    """Return further uniquenesses (4, d): the two smallest of `base` (d,) near the floor in turn, and two random."""
    turns = [np.where(np.arange(len(base)) == j, NEAR_FLOOR, base) for j in np.argsort(base)[:2]]
    return np.concatenate([turns, random_uniquenesses(rng, (2, len(base)))])


def alternate_updates(
    correlations: Correlations, k: int, start: Array, floor: float, steps: int = MAX_ALTERNATIONS
) -> Array:
    """Return uniquenesses (d,) after alternating, from `start` (d,), the best loadings for psi and psi = 1 − diag W Wᵀ.

    This is the iteration of scikit-learn: it leads into the same basin, where that holds a high maximum.
    """
    psi = start
    for _ in range(steps):
        W = profile_point(correlations, k, np.log(psi)).loadings
        psi = np.clip(1.0 - np.sum(W * W, axis=1), floor, 1.0)
    return psi
