"""The algorithms of factor analysis on a correlation matrix, by name, and the form in which loadings are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled import one_thread
from eigenlens.data.source import Progress
from eigenlens.fitting.correlations import Correlations
from eigenlens.fitting.factor_em import minimise_by_em
from eigenlens.fitting.factor_profile import Climb, minimise_profile
from eigenlens.fitting.latent import LatentFit
from eigenlens.linalg.spectrum import orient
from eigenlens.models.linear_gaussian import LinearGaussian

__all__ = ["SOLVERS", "FactorOptions", "best_climb", "canonical_factors", "heywood", "starts_of", "until_interrupted"]

F = TypeVar("F", Climb, LatentFit)

MANY, WARMING = 200, 10
"""Beyond so many variables quasi-Newton begins with that many steps of EM."""

ALONE = 640
"""Up to so many variables products gain little from threads, which would spin on beside LAPACK's."""

NEAR_FLOOR = 10.0
"""Uniquenesses within this factor of the floor are Heywood cases."""


@dataclass(frozen=True)
class FactorOptions:
    """How to fit.

    Attributes:
        tol: the largest entry of the gradient of −2/n log-likelihood in log psi; EM stops where what is left to gain an
            entry is below its square.
        max_iter: steps. floor: the least uniqueness, a share of the variable's variance.
        n_init: starts; the first is Jöreskog's, the others are random, and the best end counts.
        standardize: whether signs are decided on loadings of correlations, or of the rows as they are.
        rng: of the random starts. progress: called after passes.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    floor: float = 1e-6
    n_init: int = 1
    standardize: bool = False
    rng: np.random.Generator | None = None
    progress: Progress | None = None


TWICE = 200
"""Up to so many variables a second start costs milliseconds."""


def _quasi_newton(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> Climb:
    """L-BFGS on the profile likelihood; many variables are first brought near by a few steps of EM, which cost less."""
    if correlations.size > MANY:
        start = _em(correlations, k, start, replace(options, max_iter=min(WARMING, options.max_iter))).uniquenesses
    return minimise_profile(correlations, k, start, floor=options.floor, tol=options.tol, max_iter=options.max_iter)


def _em(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> Climb:
    return minimise_by_em(correlations, k, start, floor=options.floor, tol=options.tol, max_iter=options.max_iter)


SOLVERS: dict[str, Callable[[Correlations, int, Array, FactorOptions], Climb]] = {
    "quasi-newton": _quasi_newton,
    "em": _em,
}
"""Solvers by name: (R, k, uniquenesses to start from, options) → where it stopped."""


def starts_of(correlations: Correlations, k: int, options: FactorOptions) -> list[Array]:
    """Uniquenesses (d,) to start from: by formula, all alike where that costs little, and random ones if asked for.

    The likelihood can have more than one maximum, and neither of the first two starts always finds the higher one.
    """
    rng = np.random.default_rng(0) if options.rng is None else options.rng
    d = correlations.size
    alike = [np.full(d, 0.99)] if d <= TWICE else []
    others = [rng.uniform(0.05, 0.95, d) for _ in range(options.n_init - 1)]
    return [correlations.uniquenesses(k), *alike, *others]


def best_climb(correlations: Correlations, k: int, solver: str, options: FactorOptions) -> Climb:
    """The best of several starts."""
    with one_thread() if correlations.size <= ALONE else nullcontext():
        found = (SOLVERS[solver](correlations, k, start, options) for start in starts_of(correlations, k, options))
        return min(until_interrupted(found), key=lambda each: each.path[-1])


def until_interrupted(found: Iterable[F]) -> Iterator[F]:
    """The ends of several starts; the user who stops one wants no other."""
    for each in found:
        yield each
        if each.interrupted:
            return


def canonical_factors(model: LinearGaussian, scale: Array) -> LinearGaussian:
    """The same density, its latent space turned so that Wᵀ Psi⁻¹ W is diagonal and descends; signs by W over `scale`.

    >>> turned = LinearGaussian(np.zeros(3), np.array([[0.0, 1.0], [-2.0, 0.0], [0.0, 1.0]]), np.ones(3))
    >>> np.abs(canonical_factors(turned, np.ones(3)).loadings)
    array([[0., 1.], [2., 0.], [0., 1.]])
    """
    W, psi = model.loadings, np.broadcast_to(model.noise, model.mean.shape)
    _, Q = np.linalg.eigh(W.T @ (W / psi[:, None]))
    W = W @ Q[:, ::-1]
    return LinearGaussian(model.mean, orient(W / scale[:, None]) * scale[:, None], model.noise)


def heywood(model: LinearGaussian, floor: float = FactorOptions.floor) -> Array:
    """The columns whose uniqueness has run into its floor: the factors explain all of them, which is hardly ever true.

    >>> heywood(LinearGaussian(np.zeros(2), np.ones((2, 1)), np.array([1.0, 1e-6])))
    array([1])
    """
    psi = np.broadcast_to(model.noise, model.mean.shape)
    total = (model.loadings**2).sum(axis=1) + psi
    return np.flatnonzero(psi <= NEAR_FLOOR * floor * total)
