"""Where to start factor analysis: the likelihood has several maxima, and one start does not tell which is the highest.

Two starts agree on the highest where the factors stand out and no uniqueness is near 0. Elsewhere, on small random
problems, the highest maximum often has a uniqueness at its floor, and which one is not known beforehand. So further
starts put each variable near the floor in turn, and a few are random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.latent.factor.correlation_operator import Correlations
from eigenlens.latent.factor.profile_likelihood import ProfileMinimum, profile_point

__all__ = [
    "CLEAR_IF_STARTS_ARE_CHEAP",
    "CLEAR_IF_STARTS_ARE_COSTLY",
    "MAX_ALTERNATIONS",
    "SAME_MAXIMUM",
    "ClearMaximum",
    "alternate_updates",
    "few_starts",
    "is_clear_maximum",
    "many_starts",
    "neighbour_starts",
]

SAME_MAXIMUM = 1e-7
"""Ends whose f differ by less than this are one maximum."""

MIN_EIGENVALUE_RATIO = 2.0
"""The last factor is clear if its eigenvalue is this many times the next one."""


@dataclass(frozen=True)
class ClearMaximum:
    """When ends that agree are believed: uniquenesses of at least `interior`, what is left over of at most `rest`.

    Eigenvalues of Psi^-½ R Psi^-½ beyond the factors are 1 where the model is true and the rows are many.
    """

    interior: float
    rest: float


CLEAR_IF_STARTS_ARE_CHEAP, CLEAR_IF_STARTS_ARE_COSTLY = ClearMaximum(0.05, 1.5), ClearMaximum(1e-4, np.inf)
"""Where further starts cost little, and where they do not."""

MAX_VARIABLES_ALL_IN_TURN = 20
"""Up to so many variables every one is put near the floor, from two sides."""

N_RANDOM_STARTS = {True: 32, False: 8}
"""Random starts for so few variables, and for more."""

N_IN_TURN = 10
MAX_ALTERNATIONS = 100
NEAR_FLOOR = 1e-3
"""A uniqueness near the floor."""


def is_clear_maximum(correlations: Correlations, k: int, ends: Sequence[ProfileMinimum], doubt: ClearMaximum) -> bool:
    """Whether more starts are not worth their time: all ends are alike, inside the bounds, and k factors stand out."""
    values = [end.path[-1] for end in ends]
    if len(ends) < 2 or max(values) - min(values) > SAME_MAXIMUM or not all(end.converged for end in ends):
        return False
    psi = ends[0].uniquenesses
    if psi.min() < doubt.interior or k + 1 > correlations.size:
        return False
    w, _ = correlations.leading(1.0 / np.sqrt(psi), k + 1)
    return bool(w[k - 1] >= MIN_EIGENVALUE_RATIO * w[k] and w[k] <= doubt.rest)


def many_starts(base: Array, rng: np.random.Generator) -> Array:
    """Further uniquenesses (s, d) for few variables, by those of the first start, `base` (d,).

    `base` and 0.5 with each variable near the floor in turn, and random ones; beyond 20 variables only the ten least of
    `base` take turns.

    >>> many_starts(np.full(3, 0.4), np.random.default_rng(0)).shape
    (38, 3)
    """
    d = len(base)
    turns = np.arange(d) if d <= MAX_VARIABLES_ALL_IN_TURN else np.argsort(base)[:N_IN_TURN]
    near, far = np.tile(base, (len(turns), 1)), np.full((len(turns), d), 0.5)
    near[np.arange(len(turns)), turns], far[np.arange(len(turns)), turns] = NEAR_FLOOR, 10.0 * NEAR_FLOOR
    return np.concatenate(
        [
            near,
            far if d <= MAX_VARIABLES_ALL_IN_TURN else far[:0],
            rng.uniform(0.05, 0.95, (N_RANDOM_STARTS[d <= MAX_VARIABLES_ALL_IN_TURN], d)),
        ]
    )


def neighbour_starts(psi: Array) -> Array:
    """Neighbours (d, d) of an end psi (d,): one variable after the other leaves the floor, or is put near it.

    >>> neighbour_starts(np.array([1e-8, 0.4]))
    array([[5.e-01, 4.e-01], [1.e-08, 1.e-03]])
    """
    found = np.tile(psi, (len(psi), 1))
    np.fill_diagonal(found, np.where(psi < NEAR_FLOOR, 0.5, NEAR_FLOOR))
    return found


def few_starts(base: Array, rng: np.random.Generator) -> Array:
    """Further uniquenesses (4, d) for more variables: the two least of `base` near the floor in turn; two random."""
    turns = [np.where(np.arange(len(base)) == j, NEAR_FLOOR, base) for j in np.argsort(base)[:2]]
    return np.concatenate([turns, rng.uniform(0.05, 0.95, (2, len(base)))])


def alternate_updates(
    correlations: Correlations, k: int, start: Array, floor: float, steps: int = MAX_ALTERNATIONS
) -> Array:
    """Uniquenesses (d,) after alternations from `start` (d,): the best loadings for psi, then psi = 1 − diag W Wᵀ.

    The iteration of scikit-learn: where it ends high, this leads into the same basin.
    """
    psi = start
    for _ in range(steps):
        W = profile_point(correlations, k, np.log(psi)).loadings
        psi = np.clip(1.0 - np.sum(W * W, axis=1), floor, 1.0)
    return psi
