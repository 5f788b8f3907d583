"""What a transformation of the columns does to a density: p(x) = p(T(x)) |det T′(x)|, for any that has an inverse."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, is_tensor
from eigenlens.errors import DataError

__all__ = ["log_abs_det_jacobian"]

Transform = Callable[[Any], Any]

FIRST, SMALLER, LEVELS = 0.01, 0.25, 18
"""The first step of differences, in ranges of a column; how much smaller the next is; and how many there are."""

SETTLED = 1e-9
"""Relative to the largest entry of its column: where two steps in turn agree so well, a derivative is found."""

SINGULAR, ERRORS = 1e-9, 4.0
"""Where T stretches a direction by less than this share of others, or so many errors, it is not told from nothing."""

ROUND_TRIP = 1e-4
"""In ranges of a column: an inverse that misses a row by more is none."""

PIECE = 1 << 20

CENTRAL = ((-2.0, -1.0, 1.0, 2.0), (1.0, -8.0, 8.0, -1.0))
ONE_SIDED = ((1.0, 2.0, 3.0, 4.0), (48.0, -36.0, 16.0, -3.0))
"""Places and twelfths of weights of differences of the fourth order; the second has −25 / 12 at 0 too."""


def log_abs_det_jacobian(transform: Transform, X: Any, inverse: Transform | None = None) -> Array:
    """log |det T′(x)| (n,) at the rows of X (n, d); an error where T has no inverse there.

    An affine T is recognised by a fit to the rows and their images, which is then exact. Otherwise differences of the
    fourth order are taken at every row, never beyond the range of a column, in steps that become smaller until two in
    turn agree or T is finite. That T is one-to-one is checked by `inverse`, if it is given, and by the sign of det T′,
    which an invertible smooth T never changes. Cost: nothing more if T is affine, otherwise some 8d n rows.

    >>> X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    >>> log_abs_det_jacobian(lambda X: X * [2.0, 4.0] - 1.0, X).round(6)
    array([2.079442, 2.079442, 2.079442])
    >>> log_abs_det_jacobian(np.exp, X).round(6)
    array([3., 8., 8.])
    """
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transformed = transform(X)
        rows, images = _numbers(X), _numbers(transformed)
        if images.shape != rows.shape:
            raise DataError(
                f"its steps turn {rows.shape[1]} columns into {images.shape[1]}, so its density is not one of the rows "
                "of X and cannot be compared; keep the number of columns."
            )
        if inverse is not None:
            _check_round_trip(inverse, transformed, rows)
        J = _affine(rows, images)
        if J is not None:
            return np.full(len(rows), _log_determinants(J[None], np.zeros(1))[0])
        return _log_determinants(*_derivatives(lambda some: _numbers(transform(_like(X, some))), rows, images))


def _log_determinants(J: Array, errors: Array) -> Array:
    """log |det J| (n,) of the derivatives J (n, d, d), known to relative errors (n,): all invertible, of one sign."""
    lengths = np.linalg.norm(J, axis=1, keepdims=True)
    known = np.all(np.isfinite(J), axis=(1, 2))
    flat = np.zeros(len(J), dtype=bool)
    flat[known] = np.any(lengths[known] == 0.0, axis=(1, 2))
    sound = known & ~flat
    least = np.linalg.svd(J[sound] / lengths[sound], compute_uv=False)[:, -1]
    flat[sound] = least < np.maximum(SINGULAR, ERRORS * errors[sound])
    if flat.any():
        raise DataError(
            f"its steps have no inverse at {int(flat.sum())} of {len(J)} rows: they press different rows into one, so "
            "there is no density of the rows of X to compare; leave such steps out."
        )
    signs, logs = np.linalg.slogdet(np.where(known[:, None, None], J, np.nan))
    if np.any(signs[known] > 0.0) and np.any(signs[known] < 0.0):
        raise DataError(
            "its steps turn back between the rows (the determinant of their derivative changes sign), so different "
            "rows share an image and there is no density of the rows of X to compare; leave such steps out."
        )
    return np.asarray(logs)


def _check_round_trip(inverse: Transform, images: Any, rows: Array) -> None:
    try:
        back = _numbers(inverse(images))
    except Exception:  # an inverse that does not work says nothing about the transformation
        return
    if back.shape != rows.shape:
        return
    missed = np.abs(back - rows) > ROUND_TRIP * (np.ptp(rows, axis=0) + 1e-6 * np.abs(rows))
    lost = int(np.any(missed, axis=1).sum())
    if lost:
        raise DataError(
            f"its steps do not lead back: {lost} of {len(rows)} rows differ after transform and inverse_transform, so "
            "different rows share an image and there is no density of the rows of X to compare; leave such steps out."
        )


def _affine(rows: Array, images: Array) -> Array | None:
    """J (d, d) where images = J x + b at all rows, and these span the space well enough to know."""
    if len(rows) < rows.shape[1] + 2 or not (np.all(np.isfinite(images)) and np.all(np.isfinite(rows))):
        return None
    centred, lifted = rows - rows.mean(axis=0), images - images.mean(axis=0)
    spread = np.ptp(rows, axis=0)
    if np.any(spread == 0.0):
        return None
    B, _, _, lengths = np.linalg.lstsq(centred / spread, lifted, rcond=None)
    if lengths[-1] < 1e-6 * lengths[0]:
        return None
    missed = np.abs(lifted - centred / spread @ B).max(axis=0)
    if np.any(missed > 1e-9 * np.ptp(images, axis=0) + 1e-14 * np.abs(images).max(axis=0)):
        return None
    return np.asarray((B / spread[:, None]).T)


# ---- differences --------------------------------------------------------------------------------------------


def _derivatives(transform: Callable[[Array], Array], rows: Array, images: Array) -> tuple[Array, Array]:
    """T′ (n, d, d) at rows (n, d) whose images (n, d) are known, and its relative error (n,).

    It is NaN where T is finite in no step around a row.
    """
    low, high = rows.min(axis=0), rows.max(axis=0)
    step = max(1, PIECE // rows.shape[1] ** 2)
    parts, errors = [], []
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        columns = [_along(transform, rows[some], images[some], j, low[j], high[j]) for j in range(rows.shape[1])]
        parts.append(np.stack([column for column, _ in columns], axis=2))
        errors.append(np.max([error for _, error in columns], axis=0))
    return np.concatenate(parts), np.concatenate(errors)


def _along(
    transform: Callable[[Array], Array], rows: Array, images: Array, j: int, low: float, high: float
) -> tuple[Array, Array]:
    """∂T/∂x_j (n, d) by differences that become smaller row by row, those that changed least, and how much (n,)."""
    single = high == low
    reach = np.abs(rows[:, j]) + (rows[:, j] == 0.0) if single else np.full(len(rows), high - low)
    ends = (-np.inf, np.inf) if single else (low, high)
    best, last = np.full(images.shape, np.nan), np.full(images.shape, np.nan)
    error, open_rows = np.full(len(rows), np.inf), np.arange(len(rows))
    for level in range(LEVELS):
        steps = FIRST * SMALLER**level * reach[open_rows]
        found = _differences(transform, rows[open_rows], images[open_rows], j, steps, ends)
        change = np.abs(found - last[open_rows]).max(axis=1)
        size = np.abs(found).max(axis=1)
        relative = np.where(size > 0.0, change / size, change)
        better = (relative < error[open_rows]) | (np.isnan(best[open_rows, 0]) & np.isfinite(found).all(axis=1))
        best[open_rows[better]], last[open_rows] = found[better], found
        error[open_rows] = np.fmin(error[open_rows], relative)
        open_rows = open_rows[~(error[open_rows] <= SETTLED)]
        if not open_rows.size:
            break
    return best, error


def _differences(
    transform: Callable[[Array], Array], rows: Array, images: Array, j: int, steps: Array, ends: tuple[float, float]
) -> Array:
    """∂T/∂x_j (n, d) with these steps (n,): on both sides, or on the inner one next to an end of the column."""
    x = rows[:, j]
    inward = np.where(x - 2.0 * steps < ends[0], 1.0, np.where(x + 2.0 * steps > ends[1], -1.0, 0.0))
    # A power of two is added and taken away without an error.
    steps = np.exp2(np.round(np.log2(steps))) * np.where(inward == 0.0, 1.0, inward)
    total = np.where(inward == 0.0, 0.0, -25.0)[:, None] * images
    for k in range(4):
        place = np.where(inward == 0.0, CENTRAL[0][k], ONE_SIDED[0][k])
        weight = np.where(inward == 0.0, CENTRAL[1][k], ONE_SIDED[1][k])
        moved = rows.copy()
        moved[:, j] = x + place * steps
        total += weight[:, None] * _finite_images(transform, moved)
    return np.asarray(total / (12.0 * steps)[:, None])


def _finite_images(transform: Callable[[Array], Array], rows: Array) -> Array:
    """T of rows (n, d); NaN for all where T refuses one of them, so that smaller steps are taken."""
    try:
        return transform(rows)
    except ValueError:
        return np.full(rows.shape, np.nan)


def _numbers(X: Any) -> Array:
    return dense(X) if is_sparse(X) or is_tensor(X) else np.asarray(X, dtype=np.float64)


def _like(X: Any, rows: Array) -> Any:
    """The rows as a frame with the columns of X where X is one."""
    if not hasattr(X, "columns"):
        return rows
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X, eager_only=True)
    return nw.from_dict(dict(zip(frame.columns, rows.T, strict=True)), backend=frame.implementation).to_native()
