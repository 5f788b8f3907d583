"""The leave-one-out likelihood of a Gaussian kernel density as a function of its bandwidth."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.fft
import scipy.special

from eigenlens.arrays import Array
from eigenlens.kde.bandwidth.binned import GAUSSIAN_REACH, MAX_SAMPLE_CELLS, Sample, transform_cells
from eigenlens.kde.bandwidth.search import Criterion, Prepare

MAX_PAIRED_VALUES = 400
"""Up to this many distinct values all pairs are summed directly."""

LIKELIHOOD_CELLS_PER_WIDTH = 8.0
"""Cells per smallest bandwidth of the trials; positions within cells are exact to second order."""

REFINED_CELLS_FACTOR = 16.0
"""The factor by which cells are smaller in the last digits of the search."""

FFT_ROUNDING_SHARE = 1e-10
"""Below this share of the largest density the rounding errors of an FFT matter."""

ISOLATED_REACH = 4.0
"""Bandwidths beyond the nearest cell in which others add to the density of an isolated point: exp(−35) is left out."""


def likelihood_criterion(sample: Sample, own: Array) -> Prepare:
    """Return minus the leave-one-out log-likelihood, up to a constant; `own` (V,) is left out with each value."""
    points, copies = sample.values
    if points.size > MAX_PAIRED_VALUES:
        return lambda low, high, fine: _by_cells(sample, own, low / REFINED_CELLS_FACTOR if fine else low, high)
    criterion = pair_likelihood((points[:, None] - points) ** 2, copies, own)
    return lambda low, high, fine: criterion


def pair_likelihood(squares: Array, copies: Array, own: Array, d: int = 1) -> Criterion:
    """Return n d log h − Σ_i w_i log Σ_j w_j exp(−D_ij / 2h²), the inner sum without row i, in d dimensions.

    Args:
        squares: (V, V) squared distances D of distinct rows. copies: (V,) the weight w of each.
        own: (V,) the weight left out with it. Cost: O(V²) per h.
    """
    rest = copies - own
    apart = squares.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = np.where(rest > 0.0, 0.0, apart.min(axis=1))
    apart -= nearest[:, None]
    n = float(copies.sum())

    def criterion(h: float) -> float:
        left = np.exp(apart * (-0.5 / (h * h))) @ copies + rest
        return float(n * d * math.log(h) - copies @ (np.log(left) - nearest / (2.0 * h * h)))

    return criterion


@dataclass(frozen=True, eq=False)
class _Rounded:
    """Values in cells: their positions and moments, and the transform of all of them.

    Attributes:
        points: (C,) the mean value of each cell that holds any, in ascending order. cells: (C,) its number along the
        line with long empty stretches shortened. offsets: (C,) of the mean from the cell's centre, in
            cells. mass: (C,) its weight.
        own: (C,) the weight left out with a point of it, on average.
        transform: the FFT of all points, by the moments of their cells. size: its length. width: of a cell.
    """

    points: Array
    cells: Array
    offsets: Array
    mass: Array
    own: Array
    transform: Array
    size: int
    width: float


def _by_cells(sample: Sample, own: Array, low: float, high: float) -> Criterion:
    rounded = _rounded(sample, own, low / LIKELIHOOD_CELLS_PER_WIDTH, GAUSSIAN_REACH * high)
    return lambda h: float(sample.n * math.log(h) - rounded.mass @ _log_left(rounded, h))


def _rounded(sample: Sample, own: Array, width: float, reach: float) -> _Rounded:
    y, (points, copies) = sample.with_short_stretches(reach), sample.values
    width = max(width, y[-1] / MAX_SAMPLE_CELLS)
    count = int(y[-1] / width) + 1
    # Cells are centred on the middle, so that a mirrored sample has mirrored cells.
    place = y / width + 0.5 * (count - y[-1] / width)
    cell = np.minimum(place.astype(np.intp), count - 1)
    starts = np.flatnonzero(np.diff(cell, prepend=-1))
    offsets = place - cell - 0.5
    first = copies * offsets
    moments = [np.add.reduceat(each, starts) for each in (copies, first, first * offsets)]
    size = scipy.fft.next_fast_len(count + math.ceil(reach / width) + 1, real=True)
    line = np.zeros((3, count))
    line[:, cell[starts]] = moments
    transform, mass = transform_cells(line, size, size // 2 + 1)[1], moments[0]
    mean, mean_own = (np.add.reduceat(copies * each, starts) / mass for each in (points, own))
    return _Rounded(mean, cell[starts], moments[1] / mass, mass, mean_own, transform, size, width)


def _log_left(rounded: _Rounded, h: float) -> Array:
    """Return log Σ_j w_j exp(−(x_i − x_j)² / 2h²) (C,) without x_i."""
    angles = (2.0 * math.pi * h / (rounded.size * rounded.width)) * np.arange(rounded.transform.size)
    top = int(np.searchsorted(angles, GAUSSIAN_REACH))
    smooth = rounded.transform[:top] * np.exp(-0.5 * angles[:top] ** 2) * (math.sqrt(2.0 * math.pi) * h / rounded.width)
    u = rounded.offsets * (rounded.width / h)
    whole = np.zeros(u.size)
    factors: list[Any] = [1.0, u, 0.5 * u**2]
    for p, factor in enumerate(factors):
        wave = smooth * (1j * angles[:top]) ** p
        whole += factor * scipy.fft.irfft(wave, rounded.size)[rounded.cells]
    # The point itself is subtracted in the same expansion, so that nothing of it remains.
    left = whole - rounded.own * (1.0 + 0.75 * u**4)
    isolated = np.flatnonzero(left < FFT_ROUNDING_SHARE * whole.max())
    left[isolated] = 1.0
    log_left: Array = np.log(left)
    log_left[isolated] = _isolated(rounded, isolated, h)
    return log_left


def _isolated(rounded: _Rounded, index: Array, h: float) -> Array:
    """Return the same sums for isolated points, from the nearest cells on both sides, without rounding to a grid.

    Eight cells per side mostly suffice; points with more cells within reach are computed again.
    """
    result = np.zeros(index.size)
    waiting = np.arange(index.size)
    for count in (8, 64, math.ceil(ISOLATED_REACH * h / rounded.width)):
        piece = max(1, (1 << 19) // count)
        parts = [_neighbours(rounded, index[waiting[i : i + piece]], h, count) for i in range(0, waiting.size, piece)]
        if not parts:
            break
        result[waiting] = np.concatenate([log_left for log_left, _ in parts])
        waiting = waiting[~np.concatenate([enough for _, enough in parts])]
    return result


def _neighbours(rounded: _Rounded, index: Array, h: float, count: int) -> tuple[Array, Array]:
    """Return log Σ exp over `count` cells on each side, and whether cells beyond them would add nothing."""
    near = index[:, None] + np.concatenate([np.arange(-count, 0), np.arange(1, count + 1)])
    inside = (near >= 0) & (near < rounded.points.size)
    near = np.where(inside, near, 0)
    distances = np.where(inside, np.abs(rounded.points[near] - rounded.points[index, None]), np.inf)
    nearest = distances[:, [count - 1, count]].min(axis=1)
    enough = distances[:, [0, -1]].min(axis=1) > nearest + ISOLATED_REACH * h
    rest = np.maximum(rounded.mass[index] - rounded.own[index], 0.0)
    exponents = np.column_stack([-(distances**2) / (2.0 * h * h), np.zeros(index.size)])
    mass = np.column_stack([rounded.mass[near], rest])
    return scipy.special.logsumexp(exponents, axis=1, b=mass), enough
