"""Cross-validation over pairs of rows in several dimensions: criteria for the scale c of a Gaussian kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.spatial
import scipy.special

from eigenlens.arrays import Array
from eigenlens.kde.bandwidth.likelihood import pair_likelihood
from eigenlens.kde.bandwidth.search import Criterion, Prepare
from eigenlens.native.kernel_sums import Cloud, cloud_sums

MAX_PAIR_ROWS = 5000
"""Distinct rows whose pairs are summed; of more, this many are drawn, independently of their order."""

MAX_STORED_ROWS = 1000
"""Up to this many rows the distances of all pairs are stored."""

PAIRS_PER_BLOCK = 1 << 20
"""The number of pairs of rows per block."""

DISTANCE_BINS, LOG_DISTANCE_RANGE = 1 << 13, 40.0
"""Bins of the logarithm of squared distances, and their range below the largest: closer pairs count as distance 0."""

ISOLATED_SHARE = 1e-9
"""Where the other rows have less than this share of a sum, rounding loses them: they are summed without the row."""

PAIR_SUM_TOLERANCE = 1e-15
"""The relative error of sums over pairs."""


def sample_distinct_rows(X: Array, weight: Array, most: int = MAX_PAIR_ROWS) -> tuple[Array, Array]:
    """Return the distinct rows (V, d) with positive weight and their weights; a sample of `most` if there are more.

    The sample depends on the ranks of a row's entries alone: not on order, copies or units. Cost: O(n d log n).

    >>> rows, copies = sample_distinct_rows(np.array([[1.0], [2.0], [1.0]]), np.array([1.0, 1.0, 3.0]))
    >>> rows.ravel(), copies
    (array([1., 2.]), array([4., 1.]))
    """
    counted = np.flatnonzero(weight)
    X, weight = X[counted], weight[counted]
    if len(X) > most:
        keys = _keys(X)
        distinct = np.unique(keys)
        kept = keys <= distinct[min(most, distinct.size) - 1]
        X, weight = X[kept], weight[kept]
    rows, place = np.unique(X, axis=0, return_inverse=True)
    return rows, np.bincount(place.ravel(), weight)


def _keys(X: Array) -> Array:
    """Return a pseudo-random number (n,) for each row, the same for equal rows (the mixing of Steele et al. 2014)."""
    keys = np.zeros(len(X), dtype=np.uint64)
    for column in X.T:
        keys += np.unique(column, return_inverse=True)[1].ravel().astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        keys ^= keys >> np.uint64(31)
    return keys


# ---- least squares ------------------------------------------------------------------------------------------


def _scale_squares_criterion(Y: Array, copies: Array, own: Array, exact: bool = False) -> Prepare:
    """Return ∫ f̂² − 2 Σ_{i≠j} w_i w_j φ_c / n² of rows Y (V, d), by squared distances in bins of their logarithm.

    The exact form has n (n − 1) in place of the last n². A bin is placed at its mean: the error is the square of its
    relative width. Cost: O(V² d) once, O(bins) per c.
    """
    mass, at = _binned(Y, copies)
    n, d = float(copies.sum()), Y.shape[1]
    leaving, twice = float(copies @ own), 2.0 * n / (n - 1.0) if exact else 2.0

    def criterion(c: float) -> float:
        whole = float(mass @ np.exp(-at / (4.0 * c * c)))
        left = float(mass @ np.exp(-at / (2.0 * c * c))) - leaving
        return (whole * math.pow(2.0, -d / 2.0) - twice * left) / (n * n * math.pow(c, d))

    return lambda low, high, fine: criterion


def _binned(Y: Array, copies: Array) -> tuple[Array, Array]:
    """Return the weights (B,) of all pairs by squared distance, those of equal rows at 0, and the mean of each bin."""
    lowest = math.log(float(np.sum(np.ptp(Y, axis=0) ** 2))) - LOG_DISTANCE_RANGE
    mass, moment = np.zeros(DISTANCE_BINS + 1), np.zeros(DISTANCE_BINS + 1)
    step = max(1, PAIRS_PER_BLOCK // len(Y))
    for start in range(0, len(Y), step):
        squares = scipy.spatial.distance.cdist(Y[start : start + step], Y[start:], "sqeuclidean")
        w = np.outer(copies[start : start + step], copies[start:])
        w[:, step:] *= 2.0  # each pair of rows from two blocks occurs once
        with np.errstate(divide="ignore"):
            place = (np.log(squares) - lowest) * (DISTANCE_BINS / LOG_DISTANCE_RANGE)
        bins = np.clip(place + 1.0, 0.0, DISTANCE_BINS).astype(np.intp).ravel()
        mass += np.bincount(bins, w.ravel(), DISTANCE_BINS + 1)
        moment += np.bincount(bins, (w * squares).ravel(), DISTANCE_BINS + 1)
    occupied = mass > 0.0
    return mass[occupied], moment[occupied] / mass[occupied]


# ---- likelihood ---------------------------------------------------------------------------------------------


def _scale_likelihood_criterion(Y: Array, copies: Array, own: Array) -> Prepare:
    """Return n d log c − Σ_i w_i log Σ_j w_j exp(−‖y_i − y_j‖² / 2c²), the inner sum without row i.

    Cost: O(V² d) per c.
    """
    if len(Y) > MAX_STORED_ROWS:
        nearest = _nearest(Y, copies)
        return lambda low, high, fine: _by_sums(Y, copies, own, None if fine else nearest)
    squares = scipy.spatial.distance.cdist(Y, Y, "sqeuclidean")
    criterion = pair_likelihood(squares, copies, own, Y.shape[1])
    return lambda low, high, fine: criterion


def _by_sums(Y: Array, copies: Array, own: Array, nearest: tuple[Array, Array] | None) -> Criterion:
    """Return the criterion by sums over all rows less each row's own share; isolated rows are summed on their own.

    For trials their nearest row is enough: where many rows are isolated, c is much too small.
    """
    n, d = float(copies.sum()), Y.shape[1]

    def criterion(c: float) -> float:
        level, value = cloud_sums(Cloud(Y / c, copies, None, "gaussian"), Y / c, PAIR_SUM_TOLERANCE)
        whole = value * np.exp(level)
        left = whole - own
        isolated = np.flatnonzero(left < ISOLATED_SHARE * whole)
        left[isolated] = 1.0
        logs = np.log(left)
        if nearest is None:
            logs[isolated] = _others(Y, copies, copies - own, isolated, c)
        else:
            logs[isolated] = np.log(nearest[1][isolated]) - nearest[0][isolated] / (2.0 * c * c)
        return float(n * d * math.log(c) - copies @ logs)

    return criterion


def _nearest(Y: Array, copies: Array) -> tuple[Array, Array]:
    """Return the squared distance (V,) of the row nearest to each, and its weight (V,)."""
    square, weight = np.empty(len(Y)), np.empty(len(Y))
    for start in range(0, len(Y), max(1, PAIRS_PER_BLOCK // len(Y))):
        rows = np.arange(start, min(start + max(1, PAIRS_PER_BLOCK // len(Y)), len(Y)))
        squares = _squares_to_others(Y, rows)
        found = squares.argmin(axis=1)
        square[rows], weight[rows] = squares[np.arange(rows.size), found], copies[found]
    return square, weight


def _others(Y: Array, copies: Array, rest: Array, index: Array, c: float) -> Array:
    """Return log Σ_j w_j exp(−‖y_i − y_j‖² / 2c²) (m,) for rows i of `index`, over others and the rest of i."""
    parts = [np.empty(0)]
    for start in range(0, index.size, max(1, PAIRS_PER_BLOCK // len(Y))):
        rows = index[start : start + max(1, PAIRS_PER_BLOCK // len(Y))]
        exponents = _squares_to_others(Y, rows) / (-2.0 * c * c)
        with np.errstate(divide="ignore"):
            own = np.log(np.maximum(rest[rows], 0.0))
        parts.append(np.logaddexp(scipy.special.logsumexp(exponents, axis=1, b=copies), own))
    return np.concatenate(parts)


def _squares_to_others(Y: Array, rows: Array) -> Array:
    squares = scipy.spatial.distance.cdist(Y[rows], Y, "sqeuclidean")
    squares[np.arange(rows.size), rows] = np.inf
    return np.asarray(squares)


SCALE_CRITERIA: dict[str, Callable[[Array, Array, Array], Prepare]] = {
    "lscv": _scale_squares_criterion,
    "lscv-exact": partial(_scale_squares_criterion, exact=True),
    "mlcv": _scale_likelihood_criterion,
}
"""Criteria of a scale, from rows (V, d), the weight of each (V,) and the weight left out with it (V,)."""
