"""The Tracy–Widom law F₁ of the largest eigenvalue of a real sample covariance matrix, by a Fredholm determinant."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import airy

from eigenlens.arrays import Array

NODES = 80
"""Points of the Gauss–Legendre rule, which converges exponentially: 80 leave nothing but rounding."""

MIN_END, DECAY = 12.0, 16.0
"""The integrals end at s + 16, or at 12 if that is more: the kernel is below 1e-16 of its size beyond."""

LOWEST = -12.0
"""F₁(−12) is below 1e-30, and a determinant has no digits left there."""


def tracy_widom_cdf(s: Any) -> Array:
    """Return F₁(s) = P(S ≤ s), of the shape of s.

        F₁(s) = det(I − K),   K(x, y) = ½ Ai((x + y) / 2) on (s, ∞)

    (Ferrari and Spohn 2005, J. Phys. A 38, L557), by the method of Bornemann (2010, Math. Comp. 79, 871): the
    determinant of the kernel on the nodes of a quadrature. The absolute error is near 1e-15.

    >>> tracy_widom_cdf([0.9793, 2.0234]).round(4)
    array([0.95, 0.99])
    """
    return np.exp(_log_cdf(s))


def tracy_widom_sf(s: Any) -> Array:
    """Return 1 − F₁(s), the p-value of a statistic s, with a small relative error however small it is.

    >>> tracy_widom_sf([0.9793, 2.0234]).round(4), f"{tracy_widom_sf(30.0):.4g}"
    (array([0.05, 0.01]), '2.916e-50')
    """
    return np.abs(np.expm1(_log_cdf(s)))  # 0, not −0, where it underflows


def _log_cdf(s: Any) -> Array:
    given = np.asarray(s, dtype=np.float64)
    return np.array([_log_determinant(float(value)) for value in given.ravel()]).reshape(given.shape)


@cache
def _rule() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(NODES)


def _log_determinant(s: float) -> float:
    """Return log det(I − K) on (s, ∞) by the eigenvalues of K, so that nothing cancels where they are small."""
    if np.isnan(s) or s >= 150.0:  # the kernel underflows: F₁ is 1
        return s if np.isnan(s) else 0.0
    if s < LOWEST:
        return -np.inf
    nodes, weights = _rule()
    half = 0.5 * (max(s + DECAY, MIN_END) - s)
    x, root = s + half * (nodes + 1.0), np.sqrt(half * weights)
    K = 0.5 * root[:, None] * airy(0.5 * (x[:, None] + x))[0] * root
    return float(np.log1p(-np.minimum(np.linalg.eigvalsh(K), 1.0 - 1e-16)).sum())
