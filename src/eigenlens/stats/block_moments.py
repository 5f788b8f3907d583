"""Mean and spread of one block of rows, dense, sparse or on a device, without the cancellation of XᵀX − n m mᵀ.

At a mean of 1e6 that textbook formula loses every digit. Rows are shifted by a provisional mean first, and the sums
about the shift are then moved to the mean itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, singledispatch
from operator import add
from typing import Any

import numpy as np
from scipy import sparse

from eigenlens.arrays import Array, namespace, slices, to_numpy
from eigenlens.gpu.moments import tensor_moments, tensor_squares
from eigenlens.native.moments import moments_about, moments_about_mean
from eigenlens.native.runtime import kernels
from eigenlens.resources import in_slices

MAX_SHIFT_ERROR = {np.dtype(np.float64): 1e4, np.dtype(np.float32): 1.0}
"""A squared distance of the shift from the mean above this many variances costs too many digits.

1e4 variances cost 4 of the 16 digits of float64; float32 rows have 7 digits and none to spare.
"""

CENTRE_STEP, MAX_EXACT_STEPS = 2.0**-12, 2.0**52
"""Centres are multiples of this share of a deviation, so near the mean that moving to it costs no digit; numbers below
the second have all integers near them."""

SHIFT_ROWS = 128
"""Rows whose mean is the provisional mean of a block: enough to come within a tenth of a deviation."""

NEARLY_CONSTANT = 1e-10
"""A deviation below this share of the mean may be nothing but the rounding of that mean."""

OUTER_ROWS = 64
"""Rows of a matrix to which an outer product is added at a time, so that no second d×d matrix is made."""

CACHE_ENTRIES = 1 << 17
"""Entries of a panel of float64 that stays in cache while its sums and squares are taken."""

THREADED_ENTRIES = 1 << 19
"""Sums over fewer entries than this are made before threads have started."""


def add_outer(A: Array, factor: Any, v: Array) -> Array:
    """Add factor v vᵀ to A (..., d, d) in place and return A; factor broadcasts against v (..., d).

    Not by BLAS, whose threads would keep spinning beside the work that follows.
    """
    scaled = factor * v
    for part in slices(v.shape[-1], OUTER_ROWS):
        A[..., part, :] += scaled[..., part, None] * v[..., None, :]
    return A


def add_exactly(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b as it is rounded, and what the rounding lost (Knuth 1969, 4.2.2, theorem B).

    >>> add_exactly(np.array([1e16]), np.array([1.0]))
    (array([1.e+16]), array([1.]))
    """
    total = np.asarray(a + b)
    from_b = total - a
    return total, np.asarray((a - (total - from_b)) + (b - from_b))


def move_to_mean(shift: Array, weight: Any, total: Array, scatter: Array) -> tuple[Array, Array, Array]:
    """Return mean and scatter from the sums about a shift, S − weight δδᵀ with δ = total / weight; S is overwritten.

    The last result is what the mean lost by rounding. Weights broadcast against the totals (..., d).
    """
    delta = total / np.where(weight > 0.0, weight, 1.0)
    centred = add_outer(scatter, -weight, delta)
    diagonal = np.einsum("...ii->...i", centred)
    np.maximum(diagonal, 0.0, out=diagonal)  # rounding may leave a constant column below zero
    mean, rest = add_exactly(shift, delta)
    return mean, centred, rest


# ---- mean and scatter -----------------------------------------------------------------------------------------


@singledispatch
def mean_and_scatter(rows: Any, weight: Array | None, n: float) -> tuple[Array, Array, Array]:
    """Return the mean (d,) and scatter (d, d) of rows of total weight n, and what the mean lost by rounding (d,).

    This implementation is for tensors.
    """
    shift = _tensor_shift(rows, weight)
    return _centre(lambda c: tensor_moments(rows, weight, c), shift, n, tensor_dtype(rows))


def tensor_dtype(rows: Any) -> np.dtype[Any]:
    """Return the dtype of a floating tensor, float32 or float64, as that of NumPy."""
    return np.dtype(np.float32 if rows.dtype == namespace(rows).float32 else np.float64)


@mean_and_scatter.register
def _(rows: np.ndarray, weight: Array | None, n: float) -> tuple[Array, Array, Array]:
    if kernels is None:
        return _centre(lambda c: moments_about(rows, weight, c), _provisional_mean(rows, weight), n, rows.dtype)
    return moments_about_mean(rows, weight, n)


@mean_and_scatter.register
def _(rows: sparse.csr_matrix, weight: Array | None, n: float) -> tuple[Array, Array, Array]:
    """Centre the columns that are mostly stored as dense ones; the others cannot lose digits.

    For a column of density p the mean squared is at most p / (1 − p) times the variance, so with
    p ≤ 1/2 the textbook formula loses at most one bit.
    """
    mean, _, rest = mean_and_squares(rows, weight, n)
    root = sparse.diags_array(np.ones(rows.shape[0]) if weight is None else np.sqrt(weight))
    each = np.ones(rows.shape[0]) if weight is None else weight
    stored = np.bincount(rows.indices, np.repeat(each, np.diff(rows.indptr)), minlength=rows.shape[1])
    full = np.flatnonzero(stored > 0.5 * n)
    scaled = (root @ rows.astype(np.float64)).tocsr()
    scatter = (scaled.T @ scaled).toarray() - n * np.outer(mean, mean)
    if full.size:
        dense = root @ (rows[:, full].toarray() - mean[full])
        cross = scaled.T @ dense - np.outer(mean, root.diagonal() @ dense)
        scatter[:, full], scatter[full, :] = cross, cross.T
        scatter[np.ix_(full, full)] = dense.T @ dense
    return mean, scatter, rest


def _centre(
    about: Callable[[Array], tuple[Array, Array]], shift: Array, n: float, dtype: np.dtype[Any]
) -> tuple[Array, Array, Array]:
    """Return mean and scatter from sums about a shift; about a better one if the first costs too many digits."""
    total, scatter = about(shift)
    delta = total / n
    lost = n * delta**2
    if np.any(lost > MAX_SHIFT_ERROR[dtype] * np.maximum(scatter.diagonal() - lost, 0.0)):
        shift = (shift + delta).astype(dtype).astype(np.float64)
        total, scatter = about(shift)
    return move_to_mean(shift, n, total, scatter)


# ---- mean and squares of columns ------------------------------------------------------------------------------


@singledispatch
def mean_and_squares(rows: Any, weight: Array | None, n: float) -> tuple[Array, Array, Array]:
    """Return the means and squared deviations (d,) of rows of total weight n, and what the means lost by rounding (d,).

    This implementation is for tensors.
    """
    shift = _tensor_shift(rows, weight)
    total, square = tensor_squares(rows, weight, shift)
    delta = total / n
    mean, rest = add_exactly(shift, delta)
    return mean, np.maximum(square - n * delta * delta, 0.0), rest


@mean_and_squares.register
def _(rows: np.ndarray, weight: Array | None, n: float) -> tuple[Array, Array, Array]:
    shift, count = _provisional_mean(rows, weight), rows.shape[0]

    def sums(part: slice) -> Array:
        panel = rows[part] - shift
        w = np.ones(len(panel)) if weight is None else weight[part]
        total = w @ panel
        panel *= panel
        return np.stack([total, w @ panel])

    step = max(1, CACHE_ENTRIES // rows.shape[1])
    several = rows.size >= THREADED_ENTRIES
    parts = in_slices(sums, count, step) if several else [sums(part) for part in slices(count, step)]
    total, square = reduce(add, parts, np.zeros((2, rows.shape[1])))
    mean, rest = add_exactly(shift, total / n)
    return mean, np.maximum(square - total * total / n, 0.0), rest


@mean_and_squares.register
def _(rows: sparse.csr_matrix, weight: Array | None, n: float) -> tuple[Array, Array, Array]:
    """Sum the squares of stored entries about the mean, and for zeros (Σw − stored weight) times the mean squared."""
    each = np.ones(rows.shape[0]) if weight is None else weight
    w = np.repeat(each, np.diff(rows.indptr))
    d = rows.shape[1]
    data = rows.data.astype(np.float64, copy=False)
    mean = np.bincount(rows.indices, w * data, minlength=d) / n
    # A column that stores every entry has no zeros, however the sums of weights are rounded.
    full = np.bincount(rows.indices, minlength=d) == rows.shape[0]
    zeros = np.where(full, 0.0, np.maximum(n - np.bincount(rows.indices, w, minlength=d), 0.0))
    deviation = data - mean[rows.indices]
    square = np.bincount(rows.indices, w * deviation * deviation, minlength=d) + zeros * mean * mean
    constant = full & (square <= n * (NEARLY_CONSTANT * mean) ** 2)
    if constant.any():  # correct the rounding of the mean: a constant column must have no variance at all
        left = np.bincount(rows.indices, w * deviation, minlength=d)
        mean, square = np.where(constant, mean + left / n, mean), np.where(constant, square - left * left / n, square)
    return mean, np.maximum(square, 0.0), np.zeros(d)


# ---- provisional means ----------------------------------------------------------------------------------------


def _sample_rows(n: int, weight: Array | None) -> tuple[Any, Array | None]:
    """Return the indices of some rows with positive weight, spread evenly over all of them, and their weights."""
    if weight is None:
        return slice(0, n, max(1, n // SHIFT_ROWS)), None
    positive = np.flatnonzero(weight)
    chosen = positive[:: max(1, len(positive) // SHIFT_ROWS)]
    return chosen, weight[chosen]


def _provisional_mean(rows: Array, weight: Array | None) -> Array:
    """Return a centre (d,) near the rows with positive weight, exact in their dtype.

    Where every column is within a third of a deviation of zero, the centre is zero: that costs a sixth of a bit, and
    BLAS can read the rows in place. Elsewhere it is the multiple of a power of two, small beside the deviation of the
    column, that is nearest to the mean: rows about another such offset have the same deviations, bit by bit.
    """
    mean, square = _sample_moments(rows, weight)
    if (9.0 * mean * mean < square).all():
        return np.zeros(rows.shape[1])
    unit = np.ldexp(CENTRE_STEP, np.frexp(np.sqrt(square))[1])
    steps = np.rint(mean / unit)
    centre = np.where((np.abs(steps) < MAX_EXACT_STEPS) & (square > 0.0), steps * unit, mean)
    return np.asarray(centre.astype(rows.dtype), dtype=np.float64)


def _sample_moments(rows: Array, weight: Array | None) -> tuple[Array, Array]:
    """Return the means and variances (d,) of some of the rows."""
    chosen, w = _sample_rows(len(rows), weight)
    some = rows[chosen].astype(np.float64)
    if w is None:
        mean = np.add.reduce(some) / len(some)
        some -= mean
        return mean, np.add.reduce(some * some) / len(some)
    w, total = w[:, None], w.sum()
    mean = (w * some).sum(axis=0) / total
    return mean, (w * (some - mean) ** 2).sum(axis=0) / total


def _tensor_shift(rows: Any, weight: Array | None) -> Array:
    """Return a centre (d,) near the rows of a tensor, exact in their dtype."""
    xp = namespace(rows)
    chosen, w = _sample_rows(rows.shape[0], weight)
    some = to_numpy(
        rows[chosen, :] if isinstance(chosen, slice) else xp.take(rows, xp.asarray(chosen, device=rows.device), axis=0)
    )
    return np.asarray(np.average(some.astype(np.float64), axis=0, weights=w), dtype=some.dtype).astype(np.float64)
