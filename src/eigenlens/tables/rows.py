"""Rows to show: all of a small table, a random sample of a large one; and the range of an axis that shows most rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import as_source, fields_of
from eigenlens.data.rows import select_rows
from eigenlens.data.source import Source
from eigenlens.data.table import MixedRows, codes_of, numbers_of
from eigenlens.errors import DataError

MAX_POINTS = 200_000
"""The largest number of rows drawn as points; of more rows, a random sample is drawn in front of their density."""

MAX_ENTRIES = 20_000_000
"""The largest number of entries kept in memory: with many columns, fewer rows are shown."""

MAX_DENSE_ENTRIES = 2_000_000
"""Entries that are made dense at a time: 16 MB."""


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some rows of a table.

    Attributes:
        source: all rows. numbers: (m, d) float64, NaN where missing or text. texts: (m,) objects, by text column.
        chosen: (m,) positions of the rows, ascending. total: the number of all rows.
    """

    source: Source
    numbers: Array
    texts: dict[int, Array]
    chosen: Array
    total: int


def max_rows(d: int) -> int:
    """Return how many rows of d columns are shown at most.

    >>> max_rows(10), max_rows(5_000)
    (200000, 4000)
    """
    return min(MAX_POINTS, max(1_000, MAX_ENTRIES // max(1, d)))


def sample_rows(source: Source, limit: int, rng: np.random.Generator) -> RowSample:
    """Return all rows if there are at most `limit`, else that many drawn without replacement, in one pass.

    Every row draws a random number, and those with the `limit` smallest are kept (a reservoir, Vitter 1985): every set
    of rows is as likely as any other, and the number of rows need not be known. Memory: `limit` rows and a block.

    >>> from eigenlens.data.memory import ArraySource
    >>> sample_rows(ArraySource(np.arange(20.0)[:, None]), 5, np.random.default_rng(0)).numbers.ravel().size
    5
    """
    text = [j for j, field in enumerate(fields_of(source)) if field.kind == "text"]
    kept: list[tuple[Array, Array, Array, list[Array]]] = []
    total, kept_count, most = 0, 0, np.inf
    for rows in source.rows():
        b = rows.shape[0]
        draws = rng.random(b)
        inside = np.flatnonzero(draws < most)
        if inside.size > limit:
            inside = np.sort(inside[np.argsort(draws[inside])[:limit]])
        numbers, texts = _entries(_take_rows(rows, inside, b), text, source.n_features)
        kept.append((draws[inside], total + inside, numbers, texts))
        total, kept_count = total + b, kept_count + inside.size
        if kept_count > 2 * limit:
            kept, most = [_smallest(kept, limit)], np.inf
            kept_count, most = limit, float(kept[0][0].max())
    if not total:
        raise DataError("X has 0 rows, but at least 1 is needed")
    draws, places, numbers, texts = _smallest(kept, limit)
    return RowSample(source, numbers, dict(zip(text, texts, strict=True)), places, total)


def first_rows(X: Any, limit: int | None = None) -> Array:
    """Return the first `limit` rows of X, of any kind, as a dense float64 array; no more of them are read."""
    parts: list[Array] = []
    left = limit
    for rows in as_source(X).rows():
        parts.append(dense(rows if left is None else rows[:left]))
        left = None if left is None else left - len(parts[-1])
        if left == 0:
            break
    return np.concatenate(parts)


def _take_rows(rows: Any, index: Array, b: int) -> Any:
    """Return the rows of these positions."""
    if index.size == b:
        return rows
    if isinstance(rows, MixedRows):
        return MixedRows(rows.numbers[index], rows.codes[index], rows.categories, rows.places)
    return select_rows(rows, index)


def _entries(rows: Any, text: list[int], d: int) -> tuple[Array, list[Array]]:
    numbers = np.asarray(numbers_of(rows, np.arange(d)), dtype=np.float64)
    return numbers, [encoded.values() for encoded in codes_of(rows, np.array(text))] if text else []


def _smallest(kept: list[Any], limit: int) -> tuple[Array, Array, Array, list[Array]]:
    """Return the rows with the smallest draws, in their own order."""
    draws, places, numbers = (np.concatenate(parts) for parts in list(zip(*kept, strict=True))[:3])
    texts = [np.concatenate(parts) for parts in zip(*(each[3] for each in kept), strict=True)]
    if len(draws) <= limit:
        return draws, places, numbers, texts
    chosen = np.sort(np.argpartition(draws, limit - 1)[:limit])
    return draws[chosen], places[chosen], numbers[chosen], [text[chosen] for text in texts]


def numeric_blocks(source: Source, columns: Array) -> Iterator[Array]:
    """Yield all rows of some columns as dense blocks (b, d), text as NaN, in one pass."""
    step = max(1, MAX_DENSE_ENTRIES // max(1, source.n_features))
    for rows in source.rows():
        for start in range(0, rows.shape[0], step):
            yield np.asarray(numbers_of(rows[start : start + step], columns), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class PlaneCounts:
    """Counts of rows in the cells of a plane.

    Attributes:
        x, y: ends of the plane. counts: (h, w), from the lowest y upwards. outside: the number of rows outside it.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    counts: Array
    outside: int


def plane_counts(
    places: Iterator[Array], pairs: list[tuple[int, int]], shown: Array, cells: tuple[int, int]
) -> list[PlaneCounts]:
    """Count rows, given as coordinates (b, k) on k axes, in the planes of pairs of axes, all in one pass.

    The planes extend over the coordinates `shown` (m, k), with a small margin.
    """
    ends = [_ends(shown[:, j]) for j in range(shown.shape[1])]
    counts = [np.zeros((cells[1], cells[0])) for _ in pairs]
    n = [0 for _ in pairs]
    for Z in places:
        for p, (i, j) in enumerate(pairs):
            seen = np.isfinite(Z[:, i]) & np.isfinite(Z[:, j])
            box = [ends[j], ends[i]]
            counts[p] += np.histogram2d(Z[seen, j], Z[seen, i], bins=(cells[1], cells[0]), range=box)[0]
            n[p] += int(seen.sum())
    return [
        PlaneCounts(ends[i], ends[j], found, m - int(found.sum()))
        for (i, j), found, m in zip(pairs, counts, n, strict=True)
    ]


def _ends(values: Array) -> tuple[float, float]:
    seen = values[np.isfinite(values)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    more = 0.03 * (high - low) or 1.0
    return low - more, high + more


MIN_VISIBLE_SHARE, BULK_SHARE = 0.995, 0.95
"""The share of the weight that is always shown, and the share whose range measures how spread out the rows are."""

FAR_OFF_RANGES = 10.0
"""Where all rows extend over more than this many such ranges, rows far off are left out."""


def visible_range(values: Array, weight: Array | None = None, kept: float = MIN_VISIBLE_SHARE) -> tuple[float, float]:
    """Return the ends of the range of values (n,) to show: min and max, or an interval with 99.5% of the weight.

    The interval is used where the whole range is ten times as wide as the shortest interval with 95% of the weight: it
    leaves out at most half a per cent of the weight (1 − kept), or a single row where that is more. Cost: one sort.

    >>> x = np.append(np.arange(300.0), 1e6)
    >>> visible_range(x), visible_range(x[:-1])
    ((0.0, 299.0), (0.0, 299.0))
    """
    whole = float(values.min()), float(values.max())
    inner = shortest_interval(values, weight, BULK_SHARE)
    if not FAR_OFF_RANGES * (inner[1] - inner[0]) < whole[1] - whole[0] or inner[0] == inner[1]:
        return whole
    one = 1.0 / values.size if weight is None else float(weight.min() / weight.sum())
    found = shortest_interval(values, weight, min(kept, 1.0 - one))
    # Where more rows than these few lie far off they are not outliers, and leaving some of them out gains nothing.
    return found if found[1] - found[0] < 0.5 * (whole[1] - whole[0]) else whole


def shortest_interval(values: Array, weight: Array | None, share: float) -> tuple[float, float]:
    """Return the ends of the shortest interval between values (n,) that contains a share of their weight.

    >>> shortest_interval(np.array([0.0, 5.0, 6.0, 7.0, 90.0]), None, 0.6)
    (5.0, 7.0)
    """
    order = np.argsort(values, kind="stable")
    x = values[order]
    w = np.ones(x.size) if weight is None else np.asarray(weight, dtype=np.float64)[order]
    cumulated = np.cumsum(w)
    before = cumulated - w
    wanted = before + share * cumulated[-1] * (1.0 - 1e-9)
    last = np.searchsorted(cumulated, wanted)
    there = last < x.size
    wide = np.where(there, x[np.minimum(last, x.size - 1)] - x, np.inf)
    first = int(np.argmin(wide))
    return float(x[first]), float(x[last[first]])


def count_outside(rows: Array, low: Array, high: Array) -> int:
    """Return how many rows (n, d) lie outside low (d,) to high (d,) in some column."""
    return int(np.count_nonzero(np.any((rows < low) | (rows > high), axis=1)))
