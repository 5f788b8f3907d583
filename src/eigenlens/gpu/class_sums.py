"""Sums within classes over rows on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, slices, to_numpy
from eigenlens.gpu.moments import tensor_moments

MAX_COUNTED_CLASSES = 100
"""Up to this number of classes positions are counted, one class at a time, instead of sorted."""

PANEL_ENTRIES = 1 << 25
"""Entries of rows, or of their membership in classes, that are worked on at a time: 256 MB of float64."""

RUN_ROWS = 1024
"""Rows of one product of memberships and entries: many short products fill a device, and one long one does not. Sums of
float32 over no more rows keep its digits."""


def tensor_class_sums(rows: Any, y: Array, weight: Array | None, centre: Array) -> tuple[Array, Array, Array]:
    """Return weights, totals and squares (C, d) of the entries of each class about its centre (C, d), in float64.

    As `class_sums`, for rows (n, d) that are a tensor; NaN is a missing entry. Sums are products with the membership
    of each class. Cost n d (C + 4).
    """
    xp, about, total = namespace(rows), _tensor(centre, rows), 0.0
    for part, labels, members in _panels(rows, _labels(y, rows), weight, len(centre)):
        delta = rows[part, :] - _of_each(about, labels)
        found = _complete_sums(members, delta)
        if not bool(xp.all(xp.isfinite(found))):  # an entry is missing or infinite, or a row of weight 0 holds anything
            found = _observed_sums(members, delta)
        total = total + found
    found = to_numpy(total)
    return found[0], found[1], found[2]


def tensor_pooled_sums(rows: Any, y: Array, weight: Array | None, centre: Array) -> tuple[Array, Array, Array]:
    """Return the weights (C,), totals (C, d) and one scatter (d, d) of rows (n, d) about the centres (C, d) of classes.

    All classes are one product, since each row is taken less the centre of its class. Centres must be exact in the
    rows' dtype; rows of weight 0 may hold anything. Cost n d (d + C); the deviations are as large as the rows.
    """
    xp, (C, d), labels = namespace(rows), centre.shape, _labels(y, rows)
    weights, totals = 0.0, 0.0
    delta = rows - _of_each(xp.astype(_tensor(centre, rows), rows.dtype), labels)
    if weight is not None:
        delta = xp.where((_tensor(weight, rows) > 0.0)[:, None], delta, xp.zeros_like(delta))
    for part, _, members in _panels(rows, labels, weight, C):
        weights = weights + xp.sum(members, axis=1)
        totals = totals + _sum_rows(xp.astype(members, rows.dtype), delta[part, :])
    _, scatter = tensor_moments(delta, weight, np.zeros(d))
    return to_numpy(weights), to_numpy(totals), scatter


def _panels(rows: Any, labels: Any, weight: Array | None, C: int) -> Iterator[tuple[slice, Any, Any]]:
    """Yield parts of the rows, their labels (b,), and the weight (C, b) of each row in each class."""
    xp = namespace(rows)
    classes = xp.arange(C, dtype=xp.int32, device=rows.device)[:, None]
    for part in slices(rows.shape[0], max(1, PANEL_ENTRIES // max(C, rows.shape[1]))):
        members = xp.astype(labels[part] == classes, xp.float64)
        yield part, labels[part], members if weight is None else members * _tensor(weight[part], rows)


def _of_each(about: Any, labels: Any) -> Any:
    """Return the centre (b, d) of the class of each row, or (1, d) of a single class."""
    return about if about.shape[0] == 1 else namespace(about).take(about, labels, axis=0)


def _complete_sums(members: Any, delta: Any) -> Any:
    """Return weights, totals and squares (3, C, d) of deviations without missing entries."""
    xp, total = namespace(delta), _sum_rows(members, delta)
    weights = xp.sum(members, axis=1)[:, None] + xp.zeros_like(total)
    return xp.stack([weights, total, _sum_rows(members, delta * delta)])


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
    return to_numpy(classes), _pinned(codes)


def _distinct(y: Any) -> Any:
    """Return the distinct integers of y, ascending; of a narrow range without sorting."""
    xp = namespace(y)
    low, high = int(xp.min(y)), int(xp.max(y))
    if high - low >= MAX_COUNTED_CLASSES:
        return xp.unique_values(y)
    found = xp.stack([xp.any(y == value) for value in range(low, high + 1)])
    return xp.arange(low, high + 1, dtype=y.dtype, device=y.device)[found]


def _pinned(codes: Any) -> Array:
    """Return a tensor as a NumPy array, in memory that a CUDA device reads fastest: the codes go back to it."""
    if getattr(codes.device, "type", "") != "cuda":
        return to_numpy(codes)
    import torch

    return np.asarray(torch.empty(codes.shape, dtype=codes.dtype, pin_memory=True).copy_(codes))


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
