"""Newton's method for observed-data likelihoods: steps that never lower the likelihood, and a search for saddles."""

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
    directional_sums,
    expected_information,
    hessian_product,
    join_parameters,
    likelihood_gradient,
    partial_derivatives,
    remove_rotation,
    split_parameters,
)
from eigenlens.missing.expectation import ExpectedStatistics, IncompleteRowPasses, expected_statistics
from eigenlens.missing.units import NoiseStructure, rotate_to_diagonal
from eigenlens.optim.em import EMResult
from eigenlens.optim.trust_region import NewtonStep, negative_curvature_step, newton_step

NEWTON_RESIDUAL_SHARE = 0.1
"""The residual at which the linear system of a Newton step is solved well enough, as a share of the gradient.

Far from the maximum the quadratic model is wrong by more (inexact Newton: Dembo, Eisenstat and Steihaug 1982).
"""

SETTLING_RESIDUAL_SHARE = 1e-4
"""The same for the step after the last: what it leaves of the distance from the maximum."""

MAX_SETTLING_STEPS, SETTLED_LENGTH = 4, 1e-7
"""The most steps of that kind, and the length of a step, in standard errors, after which none is worth its passes."""

LOSS_BY_ROUNDING = 1e-12
"""The share of a log-likelihood by which rounding alone may lower it."""

STEP_SHRINKAGE, MAX_STEP_TRIALS = 0.25, 12
"""A step that lowers the likelihood is shortened by this factor, at most this many times."""

MAX_SADDLE_PASSES, PASSES_PER_SADDLE_PASS = 24, 4
"""A search for a saddle takes at most this many passes, and at most one per this many passes made before it."""


@dataclass(frozen=True, eq=False)
class StoppingRule:
    """When an optimisation stops, and the callback that it reports to.

    Attributes:
        tol: the log-likelihood that may remain to be gained. max_steps: the largest number of steps.
        note: called with the number of steps and the log-likelihood. checks_saddle: whether the curvature at the end is
            checked: a gradient of 0 does not tell a saddle from a maximum.
    """

    tol: float
    max_steps: int
    note: Callable[[int, float], None]
    checks_saddle: bool = True


@dataclass(frozen=True, eq=False)
class Iterate:
    """A model of an optimisation with its expected statistics.

    Attributes:
        original: the model as given. model: the same with its latent space rotated by Q. expected: its statistics.
        value: its log-likelihood.
    """

    original: LinearGaussian
    model: LinearGaussian
    Q: Array
    expected: ExpectedStatistics
    value: float


def evaluate_model(passes: IncompleteRowPasses, original: LinearGaussian) -> Iterate:
    """Compute the expected statistics and the log-likelihood of a model, in one pass."""
    model, Q = rotate_to_diagonal(original)
    expected = passes.total(model, partial(expected_statistics, model=model))
    return Iterate(original, model, Q, expected, expected.loglik(model))


def run_newton(
    passes: IncompleteRowPasses,
    result: EMResult[LinearGaussian],
    noise: NoiseStructure,
    here: Iterate,
    stop: StoppingRule,
) -> EMResult[LinearGaussian]:
    """Take Newton steps from where `result` ended until no more than tol remains to be gained.

    `here` is the last model evaluated. Where the end is a saddle and the rule checks for that, the iteration goes on
    along the direction in which the likelihood curves upwards.
    """
    best, path, remaining, ended = result.best, list(result.path), result.remaining_gain, "max_iter"
    try:
        if here.original is not best:
            here = evaluate_model(passes, best)
        # In the norm of the information a step of this length changes the parameters by about 1: none need be longer.
        radius = largest = float(np.sqrt(here.expected.outer[-1].sum()))
        while True:
            local = _QuadraticModel.at(passes, here, noise)
            step, better = local.newton_step(radius, stop.tol), None
            remaining = step.remaining_gain if np.isfinite(step.remaining_gain) else max(step.predicted_gain, stop.tol)
            if step.remaining_gain > stop.tol:
                if len(path) >= stop.max_steps:
                    break
                better, share = _take_step(passes, here, noise, step)
            if better is None:
                ended = "converged" if step.remaining_gain <= stop.tol else "rounding"
                upward = local.saddle_step(largest, passes.count) if stop.checks_saddle else None
                if upward is None:
                    if stop.checks_saddle:
                        best = _settle(passes, here, noise, local, radius)
                    break
                step, (better, share) = upward, _take_step(passes, here, noise, upward)
                if better is None or len(path) >= stop.max_steps:
                    break
            radius = _next_radius(radius, step, share, better.value - here.value)
            here, best, ended = better, better.model, "max_iter"
            path.append(max(here.value, path[-1]))
            stop.note(len(path), path[-1])
    except KeyboardInterrupt:
        ended = "interrupted"
    return EMResult(best, tuple(path), remaining, ended)


@dataclass(frozen=True, eq=False)
class _QuadraticModel:
    """The quadratic model of the likelihood about an iterate: gradient g, products with the Hessian and an inverse.

    Noise variances at their floor stay there while the gradient points below it: `free` is 0 for them, else 1.
    """

    g: Array
    free: Array
    loadings: Array
    hessian: Callable[[Array], Array]
    inverse: Callable[[Array], Array]

    @classmethod
    def at(cls, passes: IncompleteRowPasses, here: Iterate, noise: NoiseStructure) -> _QuadraticModel:
        model, expected = here.model, here.expected
        d, k = model.loadings.shape
        g = likelihood_gradient(expected, model, noise)
        fixed = noise.at_floor(np.asarray(model.noise)) & (g[d + d * k :] <= 0.0)
        free = join_parameters(np.ones(d), np.ones((d, k)), 1.0 - fixed)
        total = passes.totals_at(model)
        information = total(partial(expected_information, model=model))
        inverse = Preconditioner(information, model, noise, partial_derivatives(expected, model)[2])

        def hessian(v: Array) -> Array:
            mean, loadings, change = split_parameters(v, d, k)
            along = Direction(mean, loadings, np.broadcast_to(change, (d,)))
            sums = total(partial(directional_sums, model=model, along=along))
            return free * hessian_product(sums, expected, model, noise, along)

        return cls(free * g, free, model.loadings, hessian, lambda v: free * inverse(v))

    def newton_step(self, radius: float, tol: float) -> NewtonStep:
        """Return the Newton step within the trust radius."""
        return newton_step(self.g, self.hessian, self.inverse, radius=radius, tol=tol, share=NEWTON_RESIDUAL_SHARE)

    def settling_step(self, radius: float) -> NewtonStep:
        """Return an accurate Newton step without rotations, along which slope and curvature are rounding alone."""
        d, k = self.loadings.shape

        def rigid(v: Array) -> Array:
            mean, loadings, phi = split_parameters(v, d, k)
            return join_parameters(mean, remove_rotation(loadings, self.loadings), phi)

        options = {"radius": radius, "tol": 0.0, "share": SETTLING_RESIDUAL_SHARE}
        return newton_step(rigid(self.g), lambda v: rigid(self.hessian(v)), lambda v: rigid(self.inverse(v)), **options)

    def saddle_step(self, radius: float, passes_before: int) -> NewtonStep | None:
        """Return a step that leaves a saddle, or None if no direction of upward curvature is found."""
        max_products = min(MAX_SADDLE_PASSES, passes_before // PASSES_PER_SADDLE_PASS)
        r = self.free * np.random.default_rng(0).standard_normal(self.g.size)
        return negative_curvature_step(self.g, r, self.hessian, self.inverse, radius=radius, max_products=max_products)


def _take_step(
    passes: IncompleteRowPasses, here: Iterate, noise: NoiseStructure, step: NewtonStep
) -> tuple[Iterate | None, float]:
    """Return the iterate after a step, shortened until the likelihood rises, and the share of the step taken."""
    model, share = here.model, 1.0
    psi = np.asarray(model.noise)
    mean, loadings, change = split_parameters(step.change, *model.loadings.shape)
    for _ in range(MAX_STEP_TRIALS):
        variances = noise.psi_after(psi, share * change)
        there = LinearGaussian(model.mean + share * mean, model.loadings + share * loadings, variances)
        tried = evaluate_model(passes, there)
        if tried.value > here.value:
            return tried, share
        share *= STEP_SHRINKAGE
    return None, share


def _settle(
    passes: IncompleteRowPasses, here: Iterate, noise: NoiseStructure, local: _QuadraticModel, radius: float
) -> LinearGaussian:
    """Return the model a few accurate Newton steps on, or one before if that is better by more than rounding.

    At the maximum the likelihood is flat: models some 1e-7 apart have the same, and which of them came last depends on
    the order in which rows were added. The steps lead to the one where the gradient vanishes.
    """
    lowest = here.value - LOSS_BY_ROUNDING * abs(here.value)
    for _ in range(MAX_SETTLING_STEPS):
        step = local.settling_step(radius)
        mean, loadings, change = split_parameters(step.change, *here.model.loadings.shape)
        variances = noise.psi_after(np.asarray(here.model.noise), change)
        there = LinearGaussian(here.model.mean + mean, here.model.loadings + loadings, variances)
        reached = evaluate_model(passes, there)
        if step.bounded or not reached.value >= lowest:
            break
        here = reached
        if step.length <= SETTLED_LENGTH:
            break
        local = _QuadraticModel.at(passes, here, noise)
    return here.original


def _next_radius(radius: float, step: NewtonStep, share: float, gained: float) -> float:
    """Return the next trust radius: the length of the step taken, or more if the gain was as predicted."""
    length = share * step.length
    if share < 1.0 or gained < 0.25 * step.predicted_gain:
        return max(length, 1e-12)
    return max(radius, 2.0 * length) if gained > 0.75 * step.predicted_gain or not step.bounded else radius
