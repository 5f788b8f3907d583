"""Smoothing kernels wrapped around a ring: what all mirror images between two bounds add up to, in closed form.

A point x between bounds L and L + W has images at x + 2kW and 2L − x + 2kW, for every integer k. So its density at y is

    R(y) = P(y − x) + P(y + x − 2L),    P(t) = Σ_k K((t + 2kW) / h) / h,

P being K wound around a ring of length 2W. Where h is large beside W the sum is long, and P has another form: a Fourier
series (Gaussian), a geometric one (Laplace), the ring's own waves (cosine), or, for polynomials of pieces, 1 / 2W and a
Bernoulli polynomial for every jump of K or a derivative of it (Euler and Maclaurin). Costs no longer depend on h.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.kde.kernels import SmoothingKernel

__all__ = ["NARROW", "reflected", "wound"]

NARROW = 1.0 / 3.0
"""Of the width: a Gaussian below it is summed over a few images, above it as a short series."""

SERIES = 9
"""Terms e^(−(kπh/W)²/2) of a Gaussian that is not narrow; the next is below 1e-17."""

MOST_TURNS = 128
"""A callable that goes around more often is taken as level."""


def wound(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int = 0) -> Array:
    """P(t) for |t| ≤ 2W; order 1: its derivative; order −1: its integral from 0 to t. h is a number a last index of t.

    >>> from eigenlens.kde.kernels import SMOOTHING_KERNELS
    >>> wound(SMOOTHERS["box"], np.array([0.0, 1.9]), np.array([1.0, 1e20]), 2.0)
    array([0.5 , 0.25])
    """
    t, h = np.broadcast_arrays(t, h)
    limit, closed = WINDINGS.get(kernel.name, (1.0 / kernel.radius, _level))
    wide = h >= limit * W
    out = np.empty(t.shape)
    if wide.any():
        out[wide] = closed(kernel, t[wide], h[wide], W, order)
    if not wide.all():
        out[~wide] = _summed(kernel, t[~wide], h[~wide], W, order, 2)
    return out


def reflected(kernel: SmoothingKernel, y: Array, x: Array, h: Array, low: float, W: float, order: int = 0) -> Array:
    """R (m, n) at y (m,) of points x (n,) with scales h (n,); order 1: its derivative; −1: its integral from `low`."""
    if kernel.name == "gaussian" and np.all(h >= NARROW * W):
        return _gaussian_reflected(y, x, h, low, W, order)
    mirrored = (y - low)[:, None] + (x - low)
    return wound(kernel, y[:, None] - x, h, W, order) + wound(kernel, mirrored, h, W, order)


def _summed(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int, turns: int) -> Array:
    """The sum itself, over |k| ≤ turns."""
    total = np.zeros(t.shape)
    for k in range(-turns, turns + 1):
        u = (t + 2.0 * k * W) / h
        if order == 0:
            total += kernel.profile(u) / h
        elif order == 1:
            total += kernel.derivative(u) / h / h
        else:
            total += kernel.cdf(u) - kernel.cdf(2.0 * k * W / h)
    return total


def _level(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int) -> Array:
    """A callable: its sum, or where that is long its limit."""
    turns = float(np.max(h)) * kernel.radius / (2.0 * W) + 2.0
    if turns <= MOST_TURNS:
        return _summed(kernel, t, h, W, order, int(turns))
    return {0: np.full(t.shape, 0.5 / W), 1: np.zeros(t.shape), -1: t / (2.0 * W)}[order]


# ---- Gauss: Poisson's sum -------------------------------------------------------------------------------------


def _waves(h: Array, W: float) -> tuple[Array, Array]:
    """Frequencies kπ/W (K, 1) and what is left of them (K, …) by a Gaussian of scale h."""
    omega = np.pi / W * np.arange(1.0, SERIES + 1.0).reshape(-1, *[1] * h.ndim)
    return omega, np.exp(-0.5 * (omega * np.minimum(h, 40.0 * W)) ** 2)


def _gaussian(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int) -> Array:
    omega, left = _waves(h, W)
    if order == 0:
        return np.asarray((0.5 + np.sum(left * np.cos(omega * t), axis=0)) / W)
    if order == 1:
        return np.asarray(-np.sum(left * omega * np.sin(omega * t), axis=0) / W)
    return np.asarray((0.5 * t + np.sum(left / omega * np.sin(omega * t), axis=0)) / W)


def _gaussian_reflected(y: Array, x: Array, h: Array, low: float, W: float, order: int) -> Array:
    """cos(ω(y − x)) + cos(ω(y + x)) = 2 cos ωy cos ωx, so that the pairs are one product of matrices."""
    omega, left = _waves(h, W)
    right = 2.0 / W * left * np.cos(omega * (x - low))
    angle = np.multiply.outer(y - low, omega[:, 0])
    if order == 0:
        return np.asarray(np.cos(angle) @ right + 1.0 / W)
    if order == 1:
        return np.asarray((-np.sin(angle) * omega[:, 0]) @ right)
    return np.asarray((np.sin(angle) / omega[:, 0]) @ right + ((y - low) / W)[:, None])


# ---- Laplace: a geometric series; cosine: a wave with a kink at each end of the kernel ------------------------


def _laplace(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int) -> Array:
    near, far, all_round = np.abs(t) / h, (2.0 * W - np.abs(t)) / h, -np.expm1(-2.0 * W / h)
    if order == 0:
        return np.asarray((np.exp(-near) + np.exp(-far)) / (2.0 * h * all_round))
    if order == 1:
        return np.asarray(np.where(t < 0.0, 1.0, -1.0) * (np.exp(-near) - np.exp(-far)) / (2.0 * h * all_round) / h)
    return np.asarray(np.sign(t) * -np.expm1(-near) * (1.0 + np.exp(-far)) / (2.0 * all_round))


def _cosine(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int) -> Array:
    """P″ + κ² P = 0 but where K ends, κ = π/2h: there P′ jumps by π²/8h²."""
    kappa = 0.5 * np.pi / h
    total = np.zeros(t.shape)
    for end in (-h, h):
        first = np.mod(-end, 2.0 * W)
        turns, past = np.divmod(first + t, 2.0 * W)  # t − end would lose t beside a wide kernel's end
        if order == 0:
            total += 0.25 * kappa * np.cos(kappa * (W - past))
        elif order == 1:
            total += 0.25 * kappa**2 * np.sin(kappa * (W - past))
        else:
            total += 0.5 * np.cos(kappa * (W - 0.5 * (past + first))) * np.sin(0.5 * kappa * (past - first))
            total += 0.5 * np.sin(kappa * W) * turns
    return np.asarray(total / np.sin(kappa * W))


# ---- polynomials: Euler and Maclaurin -------------------------------------------------------------------------


def _polynomial(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int) -> Array:
    """1 / 2W − Σ J (2W)^m B_{m+1}({(t − hb) / 2W}) / (m + 1)!, J the jump at b of the m-th derivative of K(·/h)/h."""
    base = {0: np.full(t.shape, 0.5 / W), 1: np.zeros(t.shape), -1: t / (2.0 * W)}[order]
    for b, m, jump in _jumps(kernel):
        if m + 1 - order < 1:
            continue  # what jumps has no derivative there
        B = _bernoulli(m + 1 - order)
        size = jump * (2.0 * W / h) ** (m + 1) / (2.0 * W) ** (order + 1)
        first = np.mod(-h * b / (2.0 * W), 1.0)  # t − hb would lose t beside a wide kernel's end
        value = np.polynomial.polynomial.polyval(np.mod(first + t / (2.0 * W), 1.0), B)
        if order == -1:
            value = value - np.polynomial.polynomial.polyval(first, B)
        base = base - size * value
    return np.asarray(base)


def _jumps(kernel: SmoothingKernel) -> list[tuple[float, int, float]]:
    """Where K or a derivative of it jumps: the place, which derivative, and by how much."""
    polynomials = np.polynomial.polynomial
    found = []
    for b in sorted({end for piece in kernel.pieces for end in (piece.low, piece.high)}):
        for m in range(max(len(piece.coefficients) for piece in kernel.pieces)):
            left = [polynomials.polyder(p.coefficients, m) for p in kernel.pieces if p.high == b]
            right = [polynomials.polyder(p.coefficients, m) for p in kernel.pieces if p.low == b]
            before, after = (sum(float(polynomials.polyval(b, c)) for c in side) for side in (left, right))
            if abs(after - before) > 1e-9:
                found.append((b, m, after - before))
    return found


@lru_cache
def _bernoulli(k: int) -> Array:
    """The coefficients of B_k(τ) / k!: of 1, τ, τ², …"""
    B = [Fraction(1)]
    for n in range(1, k + 1):
        B.append(-sum(comb(n + 1, i) * B[i] for i in range(n)) / Fraction(n + 1))
    return np.array([float(B[k - i]) / (factorial(k - i) * factorial(i)) for i in range(k + 1)])


Winding = Callable[[SmoothingKernel, Array, Array, float, int], Array]

WINDINGS: dict[str, tuple[float, Winding]] = {
    "gaussian": (NARROW, _gaussian),
    "laplace": (0.0, _laplace),
    "cosine": (1.0, _cosine),
    **dict.fromkeys(("box", "epanechnikov", "triangular", "biweight", "triweight"), (1.0, _polynomial)),
}
"""For each kernel: the h / W from which its closed form is used, and that form."""
