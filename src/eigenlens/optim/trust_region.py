"""One step of Newton's method on a log-likelihood, within a trust region, by products with the Hessian alone.

The step is found by conjugate gradients (Steihaug 1983); each product with the Hessian is one pass over the rows. They
stop at the edge of the trust region, or where the likelihood curves upwards. Half the slope along the step is the
remaining gain, and the smallest Ritz value bounds what the iteration has not seen yet: SciPy's trust-region methods
return no such bound.

A slope of 0 is no proof of a maximum: it is 0 at a saddle point, too. There an iteration from a random vector searches
for a direction in which the likelihood curves upwards (`negative_curvature_step`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from eigenlens.arrays import Array

MAX_HESSIAN_PRODUCTS = 250
"""The largest number of products with the Hessian per step: each is a pass over the rows."""

MIN_RITZ_VALUE = 1e-6
"""Directions of less curvature than this count as flat, such as rotations of the latent space."""

INITIAL_RITZ_VALUE = 0.1
"""The smallest Ritz value assumed before the first product with the Hessian."""

MIN_CURVATURE = 1e-6
"""A likelihood that curves upwards by no more than this share of its information is flat: that much is rounding."""

LinearMap = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class NewtonStep:
    """A step of Newton's method, with the gain that it predicts.

    Attributes:
        change: the change of the parameters. predicted_gain: the gain of the quadratic model.
        remaining_gain: the largest gain still possible, with what the iteration may not have seen; infinite at the edge
            of the trust region.
        length: in the norm of the preconditioner. bounded: whether it ends at the edge of the trust region.
    """

    change: Array
    predicted_gain: float
    remaining_gain: float
    length: float
    bounded: bool


def newton_step(
    g: Array, hessian: LinearMap, precondition: LinearMap, *, radius: float, tol: float, share: float
) -> NewtonStep:
    """Return the step p that maximises gᵀp + ½ pᵀHp within the radius, where H is negative definite.

    Stops where the preconditioned residual is below `share` of the gradient's, or where less than tol can hide in it.

    >>> H = np.diag([-1.0, -4.0])
    >>> found = newton_step(np.array([1.0, 4.0]), lambda v: H @ v, lambda v: v, radius=10.0, tol=1e-12, share=1e-6)
    >>> found.change.round(6), round(found.predicted_gain, 6), found.bounded
    (array([1., 1.]), 2.5, False)
    """
    p, r = np.zeros_like(g), g.copy()
    s = precondition(r)
    direction, rho = s, float(r @ s)
    first, length, along, size = rho, 0.0, 0.0, rho  # |p|², pᵀPd, |d|² in the norm of P
    alphas, betas = list[float](), list[float]()
    ritz = INITIAL_RITZ_VALUE
    for _ in range(MAX_HESSIAN_PRODUCTS):
        if rho <= share**2 * first or 0.5 * rho <= 0.1 * tol * ritz:
            break
        Hd = hessian(direction)
        curvature = -float(direction @ Hd)
        alpha = rho / curvature if curvature > 0.0 else np.inf
        if curvature <= 0.0 or length + 2.0 * alpha * along + alpha**2 * size >= radius**2:
            return _to_the_edge(g, p, r, direction, curvature, (length, along, size), radius)
        p, r = p + alpha * direction, r + alpha * Hd
        length += 2.0 * alpha * along + alpha**2 * size
        s = precondition(r)
        rho, before = float(r @ s), rho
        beta = rho / before
        alphas, betas = [*alphas, alpha], [*betas, beta]
        direction = s + beta * direction
        along, size = beta * (along + alpha * size), rho + beta**2 * size
        ritz = _smallest_ritz(alphas, betas)
    predicted = 0.5 * float(g @ p + r @ p)
    return NewtonStep(p, predicted, predicted + 0.5 * max(rho, 0.0) / ritz, float(np.sqrt(length)), bounded=False)


def _to_the_edge(
    g: Array, p: Array, r: Array, direction: Array, curvature: float, norms: tuple[float, float, float], radius: float
) -> NewtonStep:
    length, along, size = norms
    tau = (-along + np.sqrt(along**2 + size * max(radius**2 - length, 0.0))) / size
    predicted = 0.5 * float(g @ p + r @ p) + tau * float(r @ direction) - 0.5 * tau**2 * curvature
    return NewtonStep(p + tau * direction, predicted, np.inf, radius, bounded=True)


def negative_curvature_step(
    g: Array, r: Array, hessian: LinearMap, precondition: LinearMap, *, radius: float, max_products: int
) -> NewtonStep | None:
    """Return a step along which the likelihood curves upwards, or None if `max_products` with the Hessian find none.

    The search starts from r. Conjugate gradients meet such a step as soon as the tridiagonal matrix of Lanczos has a
    positive eigenvalue.

    >>> H = np.diag([-1.0, 2.0])
    >>> found = negative_curvature_step(np.zeros(2), np.ones(2), lambda v: H @ v, np.copy, radius=1.0, max_products=2)
    >>> bool(found.change @ H @ found.change > 0.0), found.bounded
    (True, True)
    """
    s = precondition(r)
    direction, rho = s, float(r @ s)
    size = rho
    for _ in range(max_products):
        Hd = hessian(direction)
        curvature = -float(direction @ Hd)
        if curvature < -MIN_CURVATURE * size:
            p = direction * (radius / np.sqrt(size) * (1.0 if g @ direction >= 0.0 else -1.0))
            return NewtonStep(p, float(g @ p) - 0.5 * curvature * radius**2 / size, np.inf, radius, bounded=True)
        if curvature <= MIN_CURVATURE * size:
            return None
        r = r + rho / curvature * Hd
        s = precondition(r)
        rho, before = float(r @ s), rho
        direction, size = s + rho / before * direction, rho + (rho / before) ** 2 * size
    return None


def _smallest_ritz(alphas: list[float], betas: list[float]) -> float:
    """Return the smallest eigenvalue of the preconditioned Hessian that the iteration has met (Lanczos)."""
    a, b = np.array(alphas), np.array(betas[:-1])
    diagonal = 1.0 / a
    diagonal[1:] += b / a[:-1]
    off = np.sqrt(b) / a[:-1]
    found = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(0, 0)) if len(a) > 1 else diagonal
    return float(max(found[0], MIN_RITZ_VALUE))
