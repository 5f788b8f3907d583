"""Sums within classes over rows on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, slices, to_numpy

MAX_COUNTED_CLASSES = 100
"""Up to this number of classes positions are counted, one class at a time, instead of sorted."""

PANEL_ENTRIES = 1 << 27
"""Entries of rows, or of their membership in classes, that are worked on at a time: 512 MB of float32, few enough
launches that the device does not wait for them."""

RUN_ROWS = 1024
"""Rows of one product of memberships and entries: many short products fill a device, and one long one does not. Sums of
float32 over no more rows keep its digits."""


def tensor_class_sums(rows: Any, y: Array, weight: Array | None, centre: Array) -> tuple[Array, Array, Array]:
    """Return weights, totals and squares (C, d) of the entries of each class about its centre (C, d), in float64.

    As `class_sums`, for rows (n, d) that are a tensor; NaN is a missing entry. Sums are products with the membership
    of each class, in the dtype of the rows where its range allows it. Cost n d (C + 4).
    """
    xp, labels = namespace(rows), _labels(y, rows)
    for dtype, sums in ((rows.dtype, _complete_sums), (xp.float64, _observed_sums)):
        about = xp.astype(_tensor(centre, rows), dtype)
        weights, totals, squares = to_numpy(sum(sums(*panel) for panel in _panels(rows, labels, weight, about)))
        if _in_range(squares, weights, xp.finfo(dtype)):  # else an entry may be missing, or in a row of weight 0
            break
    apart = to_numpy(about).astype(np.float64) - centre
    return weights, totals + weights * apart, squares + (2.0 * totals + weights * apart) * apart


def tensor_pooled_sums(rows: Any, y: Array, weight: Array | None, centre: Array) -> tuple[Array, Array, Array]:
    """Return the weights (C,), totals (C, d) and one scatter (d, d) of rows (n, d) about the centres (C, d) of classes.

    All classes are one product, since each row is taken less the centre of its class. Centres must be exact in the
    rows' dtype; rows of weight 0 may hold anything. Cost n d (d + C).
    """
    xp, labels = namespace(rows), _labels(y, rows)
    for dtype in dict.fromkeys((rows.dtype, xp.float64)):
        about = xp.astype(_tensor(centre, rows), dtype)
        weights, totals, scatter = 0.0, 0.0, 0.0
        for members, delta in _panels(rows, labels, weight, about):
            each = xp.sum(members, axis=0)[:, None]
            if weight is not None:
                delta = xp.where(each > 0.0, delta, xp.zeros_like(delta))
            weights = weights + xp.sum(members, axis=1)
            totals = totals + _sum_rows(xp.astype(members, dtype), delta)
            scatter = scatter + _sum_rows((delta if weight is None else xp.astype(each, dtype) * delta).T, delta)
        found = to_numpy(weights), to_numpy(totals), to_numpy(scatter)
        if _in_range(found[2].diagonal(), found[0].sum(), xp.finfo(dtype)):
            break
    return found


def _in_range(squares: Array, weight: Any, dtype: Any) -> bool:
    """Return whether sums of squares are finite, and so large that those of a dtype have not lost digits near zero."""
    return bool(np.isfinite(squares).all() and np.all(squares >= weight * (dtype.smallest_normal / dtype.eps)))


def _panels(rows: Any, labels: Any, weight: Array | None, about: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the weight (C, b) in float64 of rows in each class, and the rows (b, d) less the centres of theirs."""
    xp, C = namespace(rows), about.shape[0]
    classes = xp.arange(C, dtype=xp.int32, device=rows.device)[:, None]
    for part in slices(rows.shape[0], max(1, PANEL_ENTRIES // max(C, rows.shape[1]))):
        members = xp.astype(labels[part] == classes, xp.float64)
        members = members if weight is None else members * _tensor(weight[part], rows)
        centres = about if C == 1 else xp.take(about, labels[part], axis=0)
        yield members, xp.astype(rows[part, :], about.dtype, copy=False) - centres


def _complete_sums(members: Any, delta: Any) -> Any:
    """Return weights, totals and squares (3, C, d) of deviations without missing entries."""
    xp = namespace(delta)
    each = xp.astype(members, delta.dtype)
    total = _sum_rows(each, delta)
    weights = xp.sum(members, axis=1)[:, None] + xp.zeros_like(total)
    return xp.stack([weights, total, _sum_rows(each, delta * delta)])


def _observed_sums(members: Any, delta: Any) -> Any:
    """Return the same of the observed entries in rows of positive weight."""
    xp = namespace(delta)
    seen = ~xp.isnan(delta) & xp.any(members > 0.0, axis=0)[:, None]
    delta = xp.where(seen, delta, xp.zeros_like(delta))
    weights = _sum_rows(members, xp.astype(seen, xp.float64))
    return xp.stack([weights, _sum_rows(members, delta), _sum_rows(members, delta * delta)])


def _sum_rows(members: Any, entries: Any) -> Any:
    """Return members (C, b) times entries (b, d), as a sum in float64 of products of `RUN_ROWS` rows in their dtype."""
    xp, (C, b), d = namespace(entries), members.shape, entries.shape[1]
    runs = b // RUN_ROWS
    whole = runs * RUN_ROWS
    short = xp.permute_dims(xp.reshape(members[:, :whole], (C, runs, RUN_ROWS)), (1, 0, 2))
    parts = xp.matmul(short, xp.reshape(entries[:whole, :], (runs, RUN_ROWS, d)))
    rest = xp.matmul(members[:, whole:], entries[whole:, :])
    return xp.sum(parts, axis=0, dtype=xp.float64) + xp.astype(rest, xp.float64)


def integer_classes(y: Any) -> tuple[Array, Array] | None:
    """Return the classes (C,) of integer labels y (n,) on a device, and the positions (n,) int32 among them.

    None where they are not integers that a device compares: their order and missing ones are then decided on the
    processor.
    """
    xp = namespace(y)
    if not xp.isdtype(y.dtype, ("signed integer", xp.uint8)) or not y.shape[0]:
        return None
    classes = _distinct(y)
    if classes.shape[0] > MAX_COUNTED_CLASSES:
        return None
    codes = xp.zeros((y.shape[0],), dtype=xp.int32, device=y.device)
    for c in range(1, classes.shape[0]):
        codes += xp.astype(y >= classes[c], xp.int32)
    return to_numpy(classes), to_numpy(codes)


def _distinct(y: Any) -> Any:
    """Return the distinct integers of y, ascending; of a narrow range without sorting."""
    xp = namespace(y)
    low, high = int(xp.min(y)), int(xp.max(y))
    if high - low >= MAX_COUNTED_CLASSES:
        return xp.unique_values(y)
    found = xp.stack([xp.any(y == value) for value in range(low, high + 1)])
    return xp.arange(low, high + 1, dtype=y.dtype, device=y.device)[found]


def class_members(codes: Array, near: Any) -> Iterator[tuple[int, Any]]:
    """Yield each class among integer codes (n,) and the numbers of its rows, a tensor on the device of `near`.

    Codes below 0 are left out.
    """
    xp, labels = namespace(near), _labels(codes, near)
    for c in range(int(xp.max(labels)) + 1 if len(codes) else 0):
        index = xp.nonzero(labels == c)[0]
        if index.shape[0]:
            yield c, index


def _labels(codes: Array, rows: Any) -> Any:
    return namespace(rows).asarray(np.ascontiguousarray(codes, dtype=np.int32), device=rows.device)


def _tensor(a: Array, rows: Any) -> Any:
    xp = namespace(rows)
    return xp.asarray(np.array(a), dtype=xp.float64, device=rows.device)
