"""The last part of a climb to the maximum of an observed-data likelihood: Newton's steps that never lose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.missing.curvature import (
    Direction,
    Preconditioner,
    gradient,
    information_of,
    join,
    product,
    slopes,
    split,
    turn_of,
)
from eigenlens.missing.expectation import Expected, expected_of
from eigenlens.missing.passes import Passes
from eigenlens.missing.units import Noise, turned
from eigenlens.optim.em import EMResult
from eigenlens.optim.trust_region import NewtonStep, negative_curvature_step, newton_step

__all__ = ["Place", "finish", "place_of"]

FORCING = 0.1
"""The residual of a Newton step, as a share of the gradient, far from the top."""

SHRINK, TRIES = 0.25, 12
"""A step that loses is shortened by this factor, so many times."""

LOOKS, SHARE = 24, 4
"""A look for a saddle takes at most so many passes, and at most one for so many that were made before."""


@dataclass(frozen=True, eq=False)
class Place:
    """A model as it was given, the same with its latent space turned by Q, and what one pass says of it."""

    given: LinearGaussian
    model: LinearGaussian
    Q: Array
    expected: Expected
    value: float


def place_of(passes: Passes, given: LinearGaussian) -> Place:
    """One pass."""
    model, Q = turned(given)
    expected = passes.total(model, partial(expected_of, model=model))
    return Place(given, model, Q, expected, expected.loglik(model))


def finish(
    passes: Passes,
    found: EMResult[LinearGaussian],
    noise: Noise,
    place: Place,
    *,
    tol: float,
    max_iter: int,
    note: Callable[[int, float], None],
    looks: bool = True,
) -> EMResult[LinearGaussian]:
    """Newton's steps from where `found` ended, until no more than tol is left to gain; `place` is the last one seen.

    With `looks` the curvature at the end is looked at, and where that is a saddle the climb goes on.
    """
    best, path, gap, ended = found.best, list(found.path), found.remaining_gain, "max_iter"
    try:
        if place.given is not best:
            place = place_of(passes, best)
        radius = farthest = float(np.sqrt(place.expected.outer[-1].sum()))
        while True:
            near = _Quadratic.at(passes, place, noise)
            step, better = near.step(radius, tol), None
            gap = step.remaining_gain if np.isfinite(step.remaining_gain) else max(step.predicted_gain, tol)
            if step.remaining_gain > tol:
                if len(path) >= max_iter:
                    break
                better, share = _tried(passes, place, noise, step)
            if better is None:
                ended = "converged" if step.remaining_gain <= tol else "rounding"
                upward = near.upward(farthest, min(LOOKS, passes.count // SHARE)) if looks else None
                if upward is None:
                    break
                step, (better, share) = upward, _tried(passes, place, noise, upward)
                if better is None or len(path) >= max_iter:
                    break
            radius = _radius(radius, step, share, better.value - place.value)
            place, best, ended = better, better.model, "max_iter"
            path.append(max(place.value, path[-1]))
            note(len(path), path[-1])
    except KeyboardInterrupt:
        return EMResult(best, tuple(path), gap, interrupted=True, ended="interrupted")
    return EMResult(best, tuple(path), gap, ended=ended)


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """The likelihood about a place: its slope g, products with its Hessian and with an approximate inverse.

    Noise at its floor stays there while the slope says so: `free` is 0 for it, else 1.
    """

    g: Array
    free: Array
    hessian: Callable[[Array], Array]
    inverse: Callable[[Array], Array]

    @classmethod
    def at(cls, passes: Passes, place: Place, noise: Noise) -> _Quadratic:
        model, expected = place.model, place.expected
        d, k = model.loadings.shape
        g = gradient(expected, model, noise)
        phi = noise.phi(np.asarray(model.noise))
        free = join(np.ones(d), np.ones((d, k)), 1.0 - ((phi <= noise.least + 1e-9) & (g[d + d * k :] <= 0.0)))
        total = passes.standing(model)
        information = total(partial(information_of, model=model))
        inverse = Preconditioner(information, model, noise, slopes(expected, model)[2])

        def hessian(v: Array) -> Array:
            mean, loadings, change = split(v, d, k)
            way = Direction(mean, loadings, np.broadcast_to(change, (d,)))
            turn = total(partial(turn_of, model=model, way=way))
            return free * product(turn, expected, model, noise, way)

        return cls(free * g, free, hessian, lambda v: free * inverse(v))

    def step(self, radius: float, tol: float) -> NewtonStep:
        """Newton's."""
        return newton_step(self.g, self.hessian, self.inverse, radius=radius, tol=tol, share=FORCING)

    def upward(self, radius: float, most: int) -> NewtonStep | None:
        """One that leaves a saddle; None where there seems to be no such."""
        r = self.free * np.random.default_rng(0).standard_normal(self.g.size)
        return negative_curvature_step(self.g, r, self.hessian, self.inverse, radius=radius, max_products=most)


def _tried(passes: Passes, place: Place, noise: Noise, step: NewtonStep) -> tuple[Place | None, float]:
    """The place a step leads to, shortened until it gains, and the share of it that was taken."""
    model, share = place.model, 1.0
    psi = np.asarray(model.noise)
    mean, loadings, change = split(step.change, *model.loadings.shape)
    for _ in range(TRIES):
        moved = noise.moved(psi, share * change)
        there = LinearGaussian(model.mean + share * mean, model.loadings + share * loadings, moved)
        found = place_of(passes, there)
        if found.value > place.value:
            return found, share
        share *= SHRINK
    return None, share


def _radius(radius: float, step: NewtonStep, share: float, gained: float) -> float:
    """The next radius of trust: the length that was taken, more if it was as good as promised."""
    length = share * step.length
    if share < 1.0 or gained < 0.25 * step.predicted_gain:
        return max(length, 1e-12)
    return max(radius, 2.0 * length) if gained > 0.75 * step.predicted_gain or not step.bounded else radius
