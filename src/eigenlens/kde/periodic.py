"""Smoothing kernels made periodic: the sum of all mirror images of a point between two bounds.

A point x between bounds L and L + W has images at x + 2kW and 2L − x + 2kW, for every integer k. So its density at y is

    R(y) = P(y − x) + P(y + x − 2L),    P(t) = Σ_k K((t + 2kW) / h) / h,

P being K with period 2W. It is the sum of the images that matter while these are few. For a wider Gaussian P is
constant to 1e-13, and for the Laplace kernel the sum is a geometric series. Kernels of bounded support are piecewise
polynomials, or approximated by them: their P tends to a constant so slowly, as 1 / h for the box, that the
Euler–Maclaurin formula is needed, which is exact for polynomials and whose cost does not depend on h.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil, factorial

import numpy as np
from numpy.polynomial import polynomial

from eigenlens.arrays import Array
from eigenlens.kde.kernels import PolynomialPiece, SmoothingKernel
from eigenlens.kde.pieces import polynomial_pieces

UNIFORM_GAUSSIAN = 2.5
"""h / W from which a periodic Gaussian is constant: the first Fourier term, 2 e^(−(πh/W)²/2), is 1e-13."""

SERIES_WIDTH, SERIES_TERMS = 1.0 / 3.0, 9
"""h / W from which sums over pairs use the Fourier series of a Gaussian, and its terms: the next is below 1e-17."""

BERNOULLI_NUMBERS = (1.0, -1.0 / 2.0, 1.0 / 6.0, 0.0, -1.0 / 30.0, 0.0, 1.0 / 42.0, 0.0, -1.0 / 30.0)
"""The Bernoulli numbers that the integrals of pieces of degree 6 need; SciPy's have only eleven correct digits."""

MAX_TURNS = 128
"""Images on either side for a callable that is not approximated by polynomials; it is taken as constant beyond."""


def periodic_kernel(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int = 0) -> Array:
    """Return P(t) for |t| ≤ 2W; order 1: its derivative; order −1: its integral from 0 to t. h broadcasts with t.

    >>> from eigenlens.kde.kernels import SMOOTHING_KERNELS
    >>> periodic_kernel(SMOOTHING_KERNELS["box"], np.array([0.0, 1.9]), np.array([1.0, 1e20]), 2.0)
    array([0.5 , 0.25])
    """
    t, h = np.broadcast_arrays(t, h)
    if kernel.name == "laplace":
        return _geometric_series(t, h, W, order)
    pieces = _pieces(kernel)
    few = h < _max_image_width(kernel, pieces) * W
    out = np.empty(t.shape)
    if few.any():
        out[few] = _sum_images(kernel, t[few], h[few], W, order)
    if not few.all():
        out[~few] = _euler_maclaurin(pieces, t[~few], h[~few], W, order)
    return out


def reflected_kernel(
    kernel: SmoothingKernel, y: Array, x: Array, h: Array, low: float, W: float, order: int = 0
) -> Array:
    """Return R (m, n) at y (m,) of points x (n,) with scales h (n,); order 1: its derivative; −1: its integral."""
    if kernel.name == "gaussian" and np.all(h >= SERIES_WIDTH * W):
        return _fourier_series(y, x, h, low, W, order)
    mirrored = (y - low)[:, None] + (x - low)
    return periodic_kernel(kernel, y[:, None] - x, h, W, order) + periodic_kernel(kernel, mirrored, h, W, order)


def _fourier_series(y: Array, x: Array, h: Array, low: float, W: float, order: int) -> Array:
    """Return R of Gaussians; cos ω(y − x) + cos ω(y + x) = 2 cos ωy cos ωx makes all pairs one product of matrices."""
    omega = np.pi / W * np.arange(1.0, SERIES_TERMS + 1.0)
    left = np.exp(-0.5 * np.multiply.outer(omega, np.minimum(h, 40.0 * W)) ** 2)
    right = 2.0 / W * left * np.cos(np.multiply.outer(omega, x - low))
    angle = np.multiply.outer(y - low, omega)
    if order == 0:
        return np.asarray(np.cos(angle) @ right + 1.0 / W)
    if order == 1:
        return np.asarray((-np.sin(angle) * omega) @ right)
    return np.asarray((np.sin(angle) / omega) @ right + ((y - low) / W)[:, None])


def gaussian_turns(ratio: float) -> int:
    """Return how many images of a Gaussian with h = ratio W matter on either side.

    With T of them, those left out fall short of the nearest by e^(−2T(T + 1) / ratio²), which is below e^−40.
    """
    return max(1, ceil(4.5 * ratio - 0.5))


def _pieces(kernel: SmoothingKernel) -> tuple[PolynomialPiece, ...]:
    return kernel.pieces or (polynomial_pieces(kernel) if np.isfinite(kernel.radius) else ())


def _max_image_width(kernel: SmoothingKernel, pieces: tuple[PolynomialPiece, ...]) -> float:
    """Return the h / W up to which images are summed: there they cost no more than the formula for the pieces."""
    if kernel.name == "gaussian":
        return UNIFORM_GAUSSIAN
    return (1.0 if kernel.pieces else 2.0 * (len(pieces) or MAX_TURNS)) / kernel.radius


def _sum_images(kernel: SmoothingKernel, t: Array, h: Array, W: float, order: int) -> Array:
    """Return the sum over the images that matter for the widest of these kernels."""
    ratio = float(h.max()) / W
    turns = gaussian_turns(ratio) + 1 if kernel.name == "gaussian" else int(0.5 * ratio * kernel.radius + 2.0)
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


def _geometric_series(t: Array, h: Array, W: float, order: int) -> Array:
    """Return P of the Laplace kernel, whose images on either side are a geometric series."""
    near, far, ratio = np.abs(t) / h, (2.0 * W - np.abs(t)) / h, -np.expm1(-2.0 * W / h)
    if order == 0:
        return np.asarray((np.exp(-near) + np.exp(-far)) / (2.0 * h * ratio))
    if order == 1:
        return np.asarray(np.where(t < 0.0, 1.0, -1.0) * (np.exp(-near) - np.exp(-far)) / (2.0 * h * ratio) / h)
    return np.asarray(np.sign(t) * -np.expm1(-near) * (1.0 + np.exp(-far)) / (2.0 * ratio))


def _euler_maclaurin(pieces: tuple[PolynomialPiece, ...], t: Array, h: Array, W: float, order: int) -> Array:
    """Return 1 / 2W − Σ J (2W)^m B_{m+1}({(t − hb) / 2W}) / (m + 1)!, its derivative or its integral.

    J is the jump at b of the m-th derivative of K(·/h)/h. Without pieces P is the constant 1 / 2W.
    """
    total = {0: np.full(t.shape, 0.5 / W), 1: np.zeros(t.shape), -1: t / (2.0 * W)}[order]
    widest = 2.0 * W / float(h.min())
    for b, jumps in _jumps(pieces):
        start = np.mod(-h * b / (2.0 * W), 1.0)  # t − hb would lose t beside the end of a wide kernel
        place = np.mod(start + t / (2.0 * W), 1.0)
        for m, jump in jumps:
            # Where K itself jumps, there is no derivative; high derivatives of wide kernels are below the last digit.
            if m + 1 - order < 1 or abs(jump) * widest ** (m + 1) < 1e-18:
                continue
            B = _bernoulli(m + 1 - order)
            value = polynomial.polyval(place, B) - (polynomial.polyval(start, B) if order == -1 else 0.0)
            total = total - jump * (2.0 * W / h) ** (m + 1) / (2.0 * W) ** (order + 1) * value
    return np.asarray(total)


@lru_cache(maxsize=16)
def _jumps(pieces: tuple[PolynomialPiece, ...]) -> list[tuple[float, list[tuple[int, float]]]]:
    """Return the points where K or a derivative of it jumps, each with the orders of the derivatives and the jumps."""
    found = []
    for b in sorted({end for piece in pieces for end in (piece.low, piece.high)}):
        here = []
        for m in range(max(len(piece.coefficients) for piece in pieces)):
            slopes = [(p, float(polynomial.polyval(b, polynomial.polyder(p.coefficients, m)))) for p in pieces]
            jump = sum(v for p, v in slopes if p.low == b) - sum(v for p, v in slopes if p.high == b)
            if abs(jump) > 1e-14:
                here.append((m, jump))
        found.append((b, here))
    return found


@lru_cache
def _bernoulli(k: int) -> Array:
    """Return the coefficients of the Bernoulli polynomial B_k(τ) / k!: of 1, τ, τ², …"""
    return np.array([BERNOULLI_NUMBERS[k - i] / (factorial(k - i) * factorial(i)) for i in range(k + 1)])
