"""Which part of an axis is worth showing: all of it, or all but a few rows so far off that the others are a spike."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array

__all__ = ["beyond", "smallest_range", "worth_showing"]

KEPT, MOST = 0.995, 0.95
"""The share of the weight that is always shown, and the share whose range says how wide the rows lie."""

FAR = 10.0
"""Where all rows take up more than so many such ranges, those that are off are left out."""


def worth_showing(values: Array, weight: Array | None = None, kept: float = KEPT) -> tuple[float, float]:
    """The ends of what to show of values (n,): the least and the greatest, or where 99.5% of the weight lies.

    The smaller range is taken where the whole is ten times as wide as what 95% of the weight needs: it leaves out half
    a per cent of the weight at most (1 − kept), or a single row where that is more. Cost: one sort.

    >>> x = np.append(np.arange(300.0), 1e6)
    >>> worth_showing(x), worth_showing(x[:-1])
    ((0.0, 299.0), (0.0, 299.0))
    """
    whole = float(values.min()), float(values.max())
    inner = smallest_range(values, weight, MOST)
    if not FAR * (inner[1] - inner[0]) < whole[1] - whole[0] or inner[0] == inner[1]:
        return whole
    one = 1.0 / values.size if weight is None else float(weight.min() / weight.sum())
    found = smallest_range(values, weight, min(kept, 1.0 - one))
    # Where more than these few lie far off they are no stray rows, and nothing is gained by leaving some of them out.
    return found if found[1] - found[0] < 0.5 * (whole[1] - whole[0]) else whole


def smallest_range(values: Array, weight: Array | None, share: float) -> tuple[float, float]:
    """The ends of the shortest interval between values (n,) that holds a share of their weight.

    >>> smallest_range(np.array([0.0, 5.0, 6.0, 7.0, 90.0]), None, 0.6)
    (5.0, 7.0)
    """
    order = np.argsort(values, kind="stable")
    x = values[order]
    w = np.ones(x.size) if weight is None else np.asarray(weight, dtype=np.float64)[order]
    held = np.cumsum(w)
    before = held - w
    wanted = before + share * held[-1] * (1.0 - 1e-9)
    last = np.searchsorted(held, wanted)
    there = last < x.size
    wide = np.where(there, x[np.minimum(last, x.size - 1)] - x, np.inf)
    first = int(np.argmin(wide))
    return float(x[first]), float(x[last[first]])


def beyond(rows: Array, low: Array, high: Array) -> int:
    """How many rows (n, d) lie outside low (d,) to high (d,) in some column."""
    return int(np.count_nonzero(np.any((rows < low) | (rows > high), axis=1)))
