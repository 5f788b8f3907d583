"""Kernels as piecewise polynomials: those of a callable, found by bisection, and their integrals."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import log

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from eigenlens.arrays import Array
from eigenlens.kde.kernels import PolynomialPiece, SmoothingKernel
from eigenlens.native.kernel_sums import Interval

MAX_PIECE_DEGREE = 7
"""The highest degree that window sums have."""

PIECE_ROUNDING = 1e-14
"""The relative rounding that the highest power of a narrow piece may reach."""

PIECE_ERROR, MIN_PIECE_WIDTH, MAX_PIECES = 2e-13, 1e-13, 160
"""The error of a piece relative to the maximum of K, its minimum width, and the number of pieces per side."""

CHECK_POINTS = np.cos(np.pi * (np.arange(11) + 0.3) / 11.0)
"""The points of a piece, in [−1, 1], at which it is compared with the kernel."""


@lru_cache(maxsize=8)
def polynomial_pieces(kernel: SmoothingKernel) -> tuple[PolynomialPiece, ...]:
    """Return a kernel of bounded support as polynomials of degree 6 to its last digits; () where that takes too many.

    A kink costs some forty pieces: intervals are halved until they do not matter. Cost about 200 values per piece.
    """
    end = _last(kernel)
    top = float(kernel.profile(np.linspace(0.0, end, 257)).max())
    left = [(b, a) for a, b in pairwise(np.linspace(0.0, end, 9))]
    done: list[PolynomialPiece] = []
    while left:
        b, a = left.pop()
        half = 0.5 * (b - a)
        # The integral of a piece has one degree more.
        coefficients = interpolate_polynomial(kernel.profile, a, b, MAX_PIECE_DEGREE - 1)
        u = a + half * (1.0 + CHECK_POINTS)
        error = np.max(np.abs(np.polynomial.polynomial.polyval(u, coefficients) - kernel.profile(u)))
        if error * min(1.0, half / end * 1e4) <= PIECE_ERROR * top or half < MIN_PIECE_WIDTH * end:
            done.append(PolynomialPiece(float(a), float(b), tuple(coefficients)))
        else:
            left += [(b, a + half), (a + half, a)]
        if len(done) + len(left) > MAX_PIECES:
            return ()
    done.sort(key=lambda piece: piece.low)
    signed = [(p, tuple(c * (-1.0) ** i for i, c in enumerate(p.coefficients))) for p in done]
    mirrored = [PolynomialPiece(-p.high, -p.low, coefficients) for p, coefficients in signed]
    return (*reversed(mirrored), *done)


def _last(kernel: SmoothingKernel) -> float:
    """Return where a kernel becomes negligible."""
    u = kernel.radius * np.linspace(0.0, 1.0, 4001)
    K = kernel.profile(u)
    seen = np.flatnonzero(K * kernel.radius > 1e-18 * float(K.max()))
    return float(u[min(int(seen[-1]) + 1, u.size - 1)])


def interpolate_polynomial(
    function: Callable[[Array], Array], a: float, b: float, most: int = MAX_PIECE_DEGREE
) -> list[float]:
    """Return the coefficients of 1, u, u², … of the polynomial that interpolates at Chebyshev nodes between a and b."""
    half = min(0.5 * (b - a), 0.5)
    degree = min(most, max(0, int(log(PIECE_ROUNDING) / log(half))))
    fit = Chebyshev.interpolate(function, degree, domain=[a, b])
    found: list[float] = fit.convert(kind=Polynomial, domain=[-1.0, 1.0], window=[-1.0, 1.0]).coef.tolist()
    return found


def wrong_side_integrals(pieces: tuple[PolynomialPiece, ...]) -> list[Interval]:
    """Return ∫ K from −∞ to u where u < 0, and −∫ K from u to ∞ where u ≥ 0: 0 at both ends, with a jump at 0."""
    halves = [p for piece in pieces for p in _split(piece)]
    below, found = 0.0, []
    for piece in (p for p in halves if p.high <= 0.0):
        primitive = _primitive(piece, piece.low, below)
        below = float(np.polynomial.polynomial.polyval(piece.high, primitive))
        found.append((piece.low, piece.high, primitive.tolist(), False))
    above, right = 0.0, []
    for piece in reversed([p for p in halves if p.low >= 0.0]):
        primitive = _primitive(piece, piece.high, above)
        above = float(np.polynomial.polynomial.polyval(piece.low, primitive))
        right.append((piece.low, piece.high, primitive.tolist(), piece.high == halves[-1].high))
    return found + right[::-1]


def _split(piece: PolynomialPiece) -> list[PolynomialPiece]:
    if piece.low < 0.0 < piece.high:
        c = piece.coefficients
        return [PolynomialPiece(piece.low, 0.0, c), PolynomialPiece(0.0, piece.high, c)]
    return [piece]


def _primitive(piece: PolynomialPiece, at: float, value: float) -> Array:
    """Return the integral of a piece that has this value at `at`."""
    primitive = np.polynomial.polynomial.polyint(piece.coefficients)
    primitive[0] += value - np.polynomial.polynomial.polyval(at, primitive)
    return np.asarray(primitive)
