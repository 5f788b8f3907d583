"""Newton's method on the log-likelihood of observed entries: the end of a climb, and the proof that it is one.

The step is found by conjugate gradients (Steihaug 1983), a pass over the rows a product with the Hessian. They stop at
the edge of a region of trust, or where the likelihood curves upwards. Half the slope along the step is what is left to
gain, and the smallest Ritz value bounds what the iteration has not seen yet.

Where the slope is 0 that is no proof: it is so at a saddle, too. There an iteration from a random vector looks for a
direction in which the likelihood curves upwards (`rising`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from eigenlens.arrays import Array

__all__ = ["Step", "newton_step", "rising"]

MOST = 250
"""Products with the Hessian a step."""

LEAST_RITZ = 1e-6
"""Directions in which the likelihood is flatter than this are flat: rotations of the latent space, to begin with."""

UNSEEN = 0.1
"""What the smallest Ritz value is taken for before the first product with the Hessian."""

UPWARDS = 1e-6
"""A likelihood that curves upwards by no more than this share of its information is flat, as far as rounding shows."""

Linear = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class Step:
    """A step, and what it promises.

    Attributes:
        change: of the parameters. slope: gᵀ change. promise: the gain of the quadratic model.
        gap: the gain that is left, with what the iteration may not have seen; infinite where it met an edge.
        length: in the norm of the preconditioner. bounded: whether it ends at the edge of the region of trust.
    """

    change: Array
    promise: float
    gap: float
    length: float
    bounded: bool


def newton_step(g: Array, hessian: Linear, precondition: Linear, *, radius: float, tol: float, share: float) -> Step:
    """The step p that maximises gᵀp + ½ pᵀHp within the radius, where H is negative definite.

    Stops where the preconditioned residual is below `share` of the gradient's, or where less than tol can hide in it.

    >>> H = np.diag([-1.0, -4.0])
    >>> found = newton_step(np.array([1.0, 4.0]), lambda v: H @ v, lambda v: v, radius=10.0, tol=1e-12, share=1e-6)
    >>> found.change.round(6), round(found.promise, 6), found.bounded
    (array([1., 1.]), 2.5, False)
    """
    p, r = np.zeros_like(g), g.copy()
    s = precondition(r)
    way, rho = s, float(r @ s)
    first, length, along, size = rho, 0.0, 0.0, rho  # |p|², pᵀPd, |d|² in the norm of P
    alphas, betas = list[float](), list[float]()
    ritz = UNSEEN
    for _ in range(MOST):
        if rho <= share**2 * first or 0.5 * rho <= 0.1 * tol * ritz:
            break
        Hd = hessian(way)
        curvature = -float(way @ Hd)
        alpha = rho / curvature if curvature > 0.0 else np.inf
        if curvature <= 0.0 or length + 2.0 * alpha * along + alpha**2 * size >= radius**2:
            return _to_the_edge(g, p, r, way, curvature, (length, along, size), radius)
        p, r = p + alpha * way, r + alpha * Hd
        length += 2.0 * alpha * along + alpha**2 * size
        s = precondition(r)
        rho, before = float(r @ s), rho
        beta = rho / before
        alphas, betas = [*alphas, alpha], [*betas, beta]
        way = s + beta * way
        along, size = beta * (along + alpha * size), rho + beta**2 * size
        ritz = _smallest_ritz(alphas, betas)
    promise = 0.5 * float(g @ p + r @ p)
    return Step(p, promise, promise + 0.5 * max(rho, 0.0) / ritz, float(np.sqrt(length)), bounded=False)


def _to_the_edge(
    g: Array, p: Array, r: Array, way: Array, curvature: float, norms: tuple[float, float, float], radius: float
) -> Step:
    length, along, size = norms
    tau = (-along + np.sqrt(along**2 + size * max(radius**2 - length, 0.0))) / size
    promise = 0.5 * float(g @ p + r @ p) + tau * float(r @ way) - 0.5 * tau**2 * curvature
    return Step(p + tau * way, promise, np.inf, radius, bounded=True)


def rising(g: Array, r: Array, hessian: Linear, precondition: Linear, *, radius: float, most: int) -> Step | None:
    """A step along which the likelihood curves upwards, looked for from r by `most` products with the Hessian.

    Conjugate gradients meet one as soon as Lanczos' tridiagonal matrix has a positive eigenvalue.

    >>> H = np.diag([-1.0, 2.0])
    >>> found = rising(np.zeros(2), np.ones(2), lambda v: H @ v, lambda v: v, radius=1.0, most=2)
    >>> bool(found.change @ H @ found.change > 0.0), found.bounded
    (True, True)
    """
    s = precondition(r)
    way, rho = s, float(r @ s)
    size = rho
    for _ in range(most):
        Hd = hessian(way)
        curvature = -float(way @ Hd)
        if curvature < -UPWARDS * size:
            p = way * (radius / np.sqrt(size) * (1.0 if g @ way >= 0.0 else -1.0))
            return Step(p, float(g @ p) - 0.5 * curvature * radius**2 / size, np.inf, radius, bounded=True)
        if curvature <= UPWARDS * size:
            return None
        r = r + rho / curvature * Hd
        s = precondition(r)
        rho, before = float(r @ s), rho
        way, size = s + rho / before * way, rho + (rho / before) ** 2 * size
    return None


def _smallest_ritz(alphas: list[float], betas: list[float]) -> float:
    """The least eigenvalue of the preconditioned Hessian, as far as the iteration has met it (Lanczos)."""
    a, b = np.array(alphas), np.array(betas[:-1])
    diagonal = 1.0 / a
    diagonal[1:] += b / a[:-1]
    off = np.sqrt(b) / a[:-1]
    found = eigvalsh_tridiagonal(diagonal, off, select="i", select_range=(0, 0)) if len(a) > 1 else diagonal
    return float(max(found[0], LEAST_RITZ))
