"""Sums within classes over rows on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, slices, to_numpy

MAX_COUNTED_CLASSES = 100
"""Up to this number of classes positions are counted, one class at a time, instead of sorted."""

PANEL_ENTRIES = 1 << 25
"""Entries of rows that are worked on at a time: 256 MB of float64."""


def tensor_class_sums(rows: Any, y: Array, weight: Array | None, centre: Array) -> tuple[Array, Array, Array]:
    """Return weights, totals and squares (C, d) of the entries of each class about its centre (C, d), in float64.

    As `class_sums`, for rows (n, d) that are a tensor; NaN is a missing entry. Sums are products with the membership
    of each class. Cost n d (C + 4).
    """
    xp, C = namespace(rows), len(centre)
    about, total = _tensor(centre, rows), 0.0
    classes = xp.arange(C, dtype=xp.int32, device=rows.device)[:, None]
    for part in slices(rows.shape[0], max(1, PANEL_ENTRIES // rows.shape[1])):
        labels = xp.asarray(np.ascontiguousarray(y[part], dtype=np.int32), device=rows.device)
        members = xp.astype(labels == classes, xp.float64)
        x, seen = rows[part, :], ~xp.isnan(rows[part, :])
        if weight is not None:
            w = _tensor(weight[part], rows)
            members, seen = members * w, seen & (w > 0.0)[:, None]
        delta = xp.astype(x, xp.float64) - (xp.take(about, labels, axis=0) if C > 1 else about)
        if bool(xp.all(seen)):
            weights = xp.sum(members, axis=1)[:, None] + xp.zeros_like(about)
        else:
            weights = xp.matmul(members, xp.astype(seen, xp.float64))
            delta = xp.where(seen, delta, xp.zeros_like(delta))
        total = total + xp.stack([weights, *(xp.matmul(members, a) for a in (delta, delta * delta))])
    found = to_numpy(total)
    return found[0], found[1], found[2]


def integer_classes(y: Any) -> tuple[Array, Array] | None:
    """Return the classes (C,) of integer labels y (n,) on a device, and the positions (n,) int32 among them.

    None where they are not integers: their order and missing ones are then decided on the processor.
    """
    xp = namespace(y)
    if not xp.isdtype(y.dtype, "integral") or not y.shape[0]:
        return None
    classes = xp.unique_values(y)
    if classes.shape[0] > MAX_COUNTED_CLASSES:
        return None
    codes = xp.zeros((y.shape[0],), dtype=xp.int32, device=y.device)
    for c in range(1, classes.shape[0]):
        codes += xp.astype(y >= classes[c], xp.int32)
    return to_numpy(classes), _pinned(codes)


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
    xp = namespace(near)
    labels = xp.asarray(np.ascontiguousarray(codes, dtype=np.int32), device=near.device)
    for c in range(int(codes.max(initial=-1)) + 1):
        index = xp.nonzero(labels == c)[0]
        if index.shape[0]:
            yield c, index


def _tensor(a: Array, rows: Any) -> Any:
    xp = namespace(rows)
    return xp.asarray(np.array(a), dtype=xp.float64, device=rows.device)
