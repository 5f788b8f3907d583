"""Triangles of the rows of classes, for covariances that are nearly singular."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.bayes.class_moments import ClassMoments, PooledMoments, split_by_class
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.densities.covariance_axes import inverse_or_zero
from eigenlens.resources import interruptible_call
from eigenlens.stats.moments import full_rest
from eigenlens.stats.triangles import MAX_CHEAP_FLOPS, triangle

MIN_EXACT_SHARE, MIN_CHEAP_SHARE = 1e-4, 1e-2
"""Correlations with an eigenvalue below these shares of the largest cost moments 4, or 2, of their 16 digits."""

TRIANGLE_ROWS = 1024
"""The smallest number of rows that are merged at a time: fewer spend their time on overhead."""


@dataclass(frozen=True, eq=False)
class ClassTriangles:
    """Deviations of rows from means, or triangles R (r, d) of more than a few, one or one per class; halves merge.

    >>> a, b = ClassTriangles((np.array([[3.0]]),)), ClassTriangles((np.array([[4.0]]),))
    >>> np.abs((a + b).triangles()[0])
    array([[5.]])
    """

    factors: tuple[Array, ...]

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.factors, other.factors, strict=True)
        return type(self)(tuple(_few(np.concatenate(pair)) for pair in pairs))

    def triangles(self) -> tuple[Array, ...]:
        """Return the triangles, of at most d rows each."""
        return tuple(map(triangle, self.factors))


def _few(rows: Array) -> Array:
    """Return rows (r, d), or their triangle where they are many: each triangle of triangles costs digits."""
    return triangle(rows) if len(rows) > 2 * max(rows.shape[1], TRIANGLE_ROWS) else rows


def _summarise(block: Block, means: Array, rest: Array, pooled: bool) -> ClassTriangles:
    """Return the triangles of a block with classes, about the means (C, d), which lost `rest` (C, d) by rounding."""
    d = block.rows.shape[1]
    found = ClassTriangles((np.empty((0, d)),) * (1 if pooled else len(means)))
    for c, mine in split_by_class(block):
        deviations = (dense(mine.rows).astype(np.float64) - means[c]) - rest[c]
        if mine.weight is not None:
            deviations *= np.sqrt(mine.weight)[:, None]
        for start in range(0, len(deviations), max(d, TRIANGLE_ROWS)):
            part = deviations[start : start + max(d, TRIANGLE_ROWS)]
            at = 0 if pooled else c
            parts = [part if each == at else np.empty((0, d)) for each in range(len(found.factors))]
            found = found + ClassTriangles(tuple(parts))
    return found


def add_triangles(
    statistics: ClassMoments | PooledMoments, rows: Source, pooled: bool, progress: Progress | None
) -> Any:
    """Return the moments with triangles, read in a second pass over rows with classes, where moments lose digits."""
    scatters = [statistics.scatter] if pooled else [part.scatter for part in statistics.parts if part is not None]  # type: ignore[union-attr]
    cheap = float(statistics.rows.sum()) * rows.n_features**2 <= MAX_CHEAP_FLOPS
    if _smallest_share(np.stack(scatters)) >= (MIN_CHEAP_SHARE if cheap else MIN_EXACT_SHARE):
        return statistics
    if isinstance(statistics, PooledMoments):
        rest = full_rest(statistics)
    else:
        rest = np.stack(
            [full_rest(part) if part is not None else np.zeros(rows.n_features) for part in statistics.parts]
        )
    summarise = partial(_summarise, means=statistics.mean, rest=rest, pooled=pooled)
    found = accumulate(rows, summarise, progress, "reading classes again")
    return replace(statistics, triangles=found.triangles())


def _smallest_share(S: Array) -> float:
    """Return the smallest eigenvalue of the correlations of scatters (C, d, d), as a share of the largest of each."""
    inverse = inverse_or_zero(np.sqrt(np.maximum(np.einsum("cii->ci", S), 0.0)))
    varies = inverse > 0.0
    if not (varies.all() and np.isfinite(S).all()):
        return min(map(_share_of_varying, S, varies))
    values = interruptible_call(np.linalg.eigvalsh, inverse[:, :, None] * S * inverse[:, None])
    return float((values[:, 0] / values[:, -1]).min())


def _share_of_varying(S: Array, varies: Array) -> float:
    if not np.isfinite(S).all() or not varies.any():
        return 1.0  # nothing that a second pass could find better
    return _smallest_share(S[np.ix_(varies, varies)][None])
