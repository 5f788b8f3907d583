"""The distribution function of Gaussians with zero mean, at most three of whose columns depend on each other."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr, owens_t

from eigenlens.arrays import Array, slices

TAIL = 9.0
"""Standard deviations below which a Gaussian has a mass of 1e-19."""

REACH = 40.0
"""Limits beyond this many standard deviations are none."""

MAX_CORRELATION = 1.0 - 1e-15
"""Correlations of two columns given the third are kept off ±1, which rounding can reach."""

NODES, WEIGHTS = np.polynomial.legendre.leggauss(96)

SMOOTH_WIDTH = 0.25
"""Changes of an integrand over at least this many standard deviations need no panels of their own."""

STEP_REACH = 8.0
"""The distance from a step, in units of its width, beyond which the integrand is flat again to rounding."""

MAX_CDF_COLUMNS = 3
"""Dependent columns whose distribution function is computed: each further one multiplies the cost by 96."""

CDF_PAIRS = 1 << 18
"""Pairs of a place and a kernel that are worked on at once."""


def normal_cdf(Y: Array, H: Array) -> Array:
    """Return P(x ≤ y in every column) (m,) for x ~ N(0, H), H (d, d) and y the rows of Y (m, d).

    A product over blocks of columns, of at most three each. The error of a block is of the order of 1e-15 in two
    dimensions, by Owen's function, and 1e-14 in three, by quadrature, however close correlations are to ±1.

    >>> normal_cdf(np.zeros((1, 2)), np.array([[1.0, 0.5], [0.5, 1.0]]))  # 1/4 + arcsin(1/2) / 2π
    array([0.3333])
    """
    s = np.sqrt(np.diag(H))
    R, Z = H / np.outer(s, s), Y / s
    return np.asarray(np.prod([_block_cdf(Z[:, some], R[np.ix_(some, some)]) for some in dependent_columns(H)], axis=0))


def dependent_columns(H: Array) -> list[Array]:
    """Return the blocks of columns of N(0, H) that depend on each other; columns of different blocks do not.

    >>> dependent_columns(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]]))
    [array([0, 2]), array([1])]
    """
    count, block = connected_components(H != 0.0, directed=False)
    return [np.flatnonzero(block == b) for b in range(count)]


def _block_cdf(Z: Array, R: Array) -> Array:
    """Return the distribution function (m,) of one to three standardised columns with the correlations R."""
    if len(R) == 1:
        return np.asarray(ndtr(Z[:, 0]))
    return _two_columns(Z[:, 0], Z[:, 1], R[0, 1]) if len(R) == 2 else _three_columns(Z, R)


def sum_normal_cdfs(Y: Array, points: Array, weights: Array, scales: Array | None, H: Array) -> Array:
    """Return Σ_i w_i P(x_i + s_i e ≤ y) (m,) at the rows of Y (m, d), e ~ N(0, H); −inf in a row makes it 0."""
    never = np.any(-np.inf == Y, axis=1)
    Y, out = np.where(never[:, None], 0.0, Y), np.zeros(len(Y))
    for part in slices(len(Y), max(1, CDF_PAIRS // len(points))):
        D = Y[part, None, :] - points
        if scales is not None:
            D /= scales[:, None]
        out[part] = normal_cdf(D.reshape(-1, Y.shape[1]), H).reshape(D.shape[:2]) @ weights
    return np.where(never, 0.0, out)


def _two_columns(h: Array, k: Array, r: float) -> Array:
    """Return Φ₂(h, k; r) = ½ (Φ(h) + Φ(k)) − T(h, a) − T(k, b) − β, T Owen's function (Owen 1956, eq. 2.1).

    a = (k − r h) / (h √(1 − r²)) and b with h and k exchanged; β is ½ where h and k have different signs, else 0.
    """
    h, k = h + 0.0, k + 0.0  # no negative zeros
    root = np.sqrt((1.0 - r) * (1.0 + r))
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (k - r * h) / (h * root), (h - r * k) / (k * root)
    both = (h == 0.0) & (k == 0.0)
    a, b = np.where(both, (1.0 - r) / root, a), np.where(both, (1.0 - r) / root, b)
    apart = (h * k < 0.0) | ((h * k == 0.0) & (h + k < 0.0))
    value = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, a) - owens_t(k, b) - 0.5 * apart
    return np.asarray(np.clip(value, 0.0, 1.0))


def _three_columns(Z: Array, R: Array) -> Array:
    """Return ∫ φ(t) Φ₂(y₂, y₃ | t) dt over t ≤ y₁ by Gauss–Legendre quadrature in panels where it is smooth."""
    Z = np.clip(Z, -REACH, REACH)
    spread = np.sqrt((1.0 - R[0, 1:]) * (1.0 + R[0, 1:]))
    offset, slope = Z[:, 1:] / spread, R[0, 1:] / spread  # y₂ and y₃ given t, standardised, are offset − slope · t
    r = np.clip((R[1, 2] - R[0, 1] * R[0, 2]) / (spread[0] * spread[1]), -MAX_CORRELATION, MAX_CORRELATION)
    edges = _panel_edges(np.clip(Z[:, 0], -TAIL, TAIL), offset, slope, float(r))
    total = np.zeros(len(Z))
    for low, high in zip(edges.T[:-1], edges.T[1:], strict=True):
        half = 0.5 * (high - low)
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            t = low + half * (1.0 + node)
            given = offset - slope * t[:, None]
            total += weight * half * np.exp(-0.5 * t * t) * _two_columns(given[:, 0], given[:, 1], r)
    return np.asarray(total / np.sqrt(2.0 * np.pi))


def _panel_edges(top: Array, offset: Array, slope: Array, r: float) -> Array:
    """Return the ascending edges (m, p + 1) of panels from −9 to `top` (m,) within which Φ₂(y₂, y₃ | t) is smooth in t.

    It has a step where y₂ or y₃ given t is 0, and a bend where they are equal or opposite, which are the sharper the
    nearer a correlation is to ±1. The sharp ones get panels of their own.
    """
    first, second = offset.T
    changes = (
        (first, slope[0], 1.0),
        (second, slope[1], 1.0),
        (first - second, slope[0] - slope[1], np.sqrt(2.0 * (1.0 - r))),
        (first + second, slope[0] + slope[1], np.sqrt(2.0 * (1.0 + r))),
    )
    edges = [np.full(top.size, -TAIL), top]
    for start, rate, size in changes:
        if abs(rate) * SMOOTH_WIDTH > size:
            edges += [(start + sign * STEP_REACH * size) / rate for sign in (-1.0, 1.0)]
    return np.sort(np.clip(np.stack(edges, axis=1), -TAIL, top[:, None]), axis=1)
