"""From moments to the covariance of largest likelihood, one pair of functions a structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.resolve import explain_nonfinite
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.models.covariances import Covariance, Diagonal, Full, Spherical, dependent_column
from eigenlens.stats.moments import ColumnMoments, Moments
from eigenlens.stats.observed import ObservedColumns

__all__ = ["FITS", "refuse_out_of_range", "unusable"]

TINY = float(np.finfo(np.float64).tiny)


def _moments(block: Block) -> Moments:
    """Moments of the rows that have an entry; NaN where rows miss some and not all."""
    found = Moments.of(block)
    if np.all(np.isfinite(found.mean)):
        return found
    present = _present(block)
    rows = dense(present.rows)
    some = ~np.isnan(rows).all(axis=1)
    return Moments.of(Block(rows[some], None if present.weight is None else present.weight[some]))


def _present(block: Block) -> Block:
    """The rows that count: one of weight 0 is absent, whatever it holds."""
    if block.weight is None or np.all(block.weight > 0.0):
        return block
    counts = np.flatnonzero(block.weight > 0.0)
    return Block(block.rows[counts], block.weight[counts])


def _observed(block: Block) -> ObservedColumns:
    """Moments of the observed entries; the usual pass where none is missing."""
    found = ColumnMoments.of(block)
    if not np.all(np.isfinite(found.mean)):
        return ObservedColumns.of(_present(block))
    d = found.mean.size
    return ObservedColumns(np.zeros(d, dtype=np.intp), np.full(d, found.weight), found.mean, found.square)


def _full(moments: Moments, names: tuple[str, ...]) -> tuple[Full, float]:
    if not moments.weight > 0.0:
        raise DataError("X has no row with an entry that counts; at least two are needed.")
    C = Full(moments.covariance(0.0))
    _refuse_constant(C.variances, moments.mean, _labels(names))
    try:
        C.factor  # noqa: B018  (worked out now, kept, and refused here with the names of columns)
    except OptionError:
        j = dependent_column(C.entries) or 0
        raise DataError(
            f"the covariance of {moments.weight:g} rows of {C.size} columns is singular: column {names[j]!r} follows "
            "from those before it. Leave it out, use covariance='diagonal', or ProbabilisticPCA for few rows."
        ) from None
    return C, moments.weight


def _columns(found: ObservedColumns, names: tuple[str, ...]) -> tuple[Array, float | Array]:
    """Squared deviations (d,), and the weight of each column, or of all if they are the same."""
    empty = np.flatnonzero(found.weight <= 0.0)
    if empty.size:
        raise DataError(f"column {names[empty[0]]!r} has no entry that counts; leave it out.")
    same = bool(np.all(found.weight == found.weight[0]))
    return found.square, float(found.weight[0]) if same else found.weight


def _diagonal(found: ObservedColumns, names: tuple[str, ...]) -> tuple[Diagonal, float | Array]:
    square, weight = _columns(found, names)
    _refuse_constant(square / weight, found.mean, _labels(names))
    return Diagonal(square / weight), weight


def _spherical(found: ObservedColumns, names: tuple[str, ...]) -> tuple[Spherical, float | Array]:
    square, weight = _columns(found, names)
    variance = float(square.sum() / found.weight.sum())
    largest = found.mean[[np.argmax(np.abs(found.mean))]]
    _refuse_constant(np.array([variance]), largest, ["each column"])
    return Spherical(variance, square.size), weight


def _labels(names: tuple[str, ...]) -> list[str]:
    return [f"column {name!r}" for name in names]


def _refuse_constant(variances: Array, mean: Array, labels: list[str]) -> None:
    """A column of one value has an infinite density there; deviations that are rounding of the mean are none."""
    with np.errstate(over="ignore"):
        flat = np.flatnonzero(~(variances > np.maximum((8.0 * np.finfo(np.float64).eps * mean) ** 2, TINY)))
    if flat.size:
        more = f" (and {flat.size - 1} more)" if flat.size > 1 else ""
        raise DataError(
            f"{labels[flat[0]]}{more} has one value only ({mean[flat[0]]:g}), so its variance is 0 and its density "
            "infinite there; leave it out, or give more rows."
        )


class _Range(tuple[Any, ...]):
    """The least and the greatest entry of each column; they merge."""

    def __add__(self, other: Any) -> _Range:
        return _Range((np.fmin(self[0], other[0]), np.fmax(self[1], other[1])))


def _range(block: Block) -> _Range:
    rows = dense(_present(block).rows)
    gaps = np.isnan(rows)
    least = np.min(np.where(gaps, np.inf, rows), axis=0, initial=np.inf)
    return _Range((least, np.max(np.where(gaps, -np.inf, rows), axis=0, initial=-np.inf)))


def refuse_out_of_range(source: Source, statistics: Any) -> None:
    """Say so if a column has several values, but squared deviations that are no normal numbers."""
    squares = np.diag(statistics.scatter) if isinstance(statistics, Moments) else statistics.square
    odd = ~(np.isfinite(squares) & (squares >= TINY))
    low, high = accumulate(source, _range, label="looking at the range")
    bad = np.flatnonzero(odd & (high > low))
    if bad.size:
        j = int(bad[0])
        name = source.names[j] if source.names else str(j)
        raise DataError(
            f"column {name!r} has entries from {low[j]:g} to {high[j]:g}, whose squared deviations are out of the "
            "range of numbers; multiply or divide it by a constant first."
        )


def unusable(source: Source) -> DataError:
    """Why moments are not finite: infinities, or gaps that a full covariance needs EM for."""
    found = explain_nonfinite(source)
    if "contains NaN" not in str(found):
        return found
    return DataError(
        "X has rows that miss some entries and not all: covariance='diagonal' or 'spherical' uses what is there; "
        "for a full covariance fit GaussianMixture(1), which finds it by EM."
    )


FITS: dict[str, tuple[Callable[[Block], Any], Callable[[Any, tuple[str, ...]], tuple[Covariance, Any]]]] = {
    "full": (_moments, _full), "diagonal": (_observed, _diagonal), "spherical": (_observed, _spherical),
}  # fmt: skip
"""For each structure: a block to statistics, and statistics to the covariance and the weight behind it."""
