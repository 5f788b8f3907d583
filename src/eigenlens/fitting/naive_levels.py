"""Columns of levels of naive Bayes: counts of each level in each class, in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled.naive import Lines, code_ranges
from eigenlens.data.encoded import MOST_SLOTS, Encoded, encode_numbers
from eigenlens.data.mixed import Field, codes_of
from eigenlens.errors import DataError
from eigenlens.fitting.naive_options import NaiveOptions
from eigenlens.models.naive_levels import LevelColumns, counted, joined
from eigenlens.stats.levels import in_order, listed
from eigenlens.stats.stored_levels import restored, storable

__all__ = ["LevelCounts", "LevelFactor"]

SHOWN = 4096
"""Rows that show the range of integers."""


@dataclass(frozen=True, eq=False)
class LevelCounts:
    """How often each level occurs in each class, column by column; halves merge to the whole.

    Attributes:
        levels: (g,) the levels met in each column, in order. counts: (g,) arrays (C, L) of Σ w.

    >>> y = np.zeros(2, dtype=np.int32)
    >>> halves = [LevelCounts.of(np.array(part), y, None, 1) for part in ([[3], [1]], [[1], [2]])]
    >>> (halves[0] + halves[1]).levels, (halves[0] + halves[1]).counts
    (((1, 2, 3),), (array([[2., 1., 1.]]),))
    """

    levels: tuple[tuple[Any, ...], ...]
    counts: tuple[Array, ...]

    @classmethod
    def of(cls, coded: Array | list[Encoded], y: Array, weight: Array | None, C: int) -> Self:
        """The counts of codes, of integers that are their own levels or of encoded columns."""
        if isinstance(coded, np.ndarray):
            found = cls._of_integers(coded, y, weight, C)
            if found is not None:
                return found
            coded = [encode_numbers(column) for column in coded.T]
        lines = Lines.of(np.full(len(coded), -1), np.array([len(column.levels) + 1 for column in coded]))
        counts = counted(joined(coded), lines, y, weight, C)
        return cls._met([column.levels for column in coded], [part[:, 1:-1] for part in counts])

    @classmethod
    def _of_integers(cls, codes: Array, y: Array, weight: Array | None, C: int) -> Self | None:
        """Counted by value; None where a range is too wide. Some rows mostly show the range, which saves a pass."""
        for some in (codes[:: max(1, len(codes) // SHOWN)], codes):
            low, high = code_ranges(some)
            if np.any(high.astype(np.float64) - low.astype(np.float64) >= MOST_SLOTS):
                return None
            counts = counted(codes, Lines.of(low, high - low + 1), y, weight, C)
            if not any(part[:, -1].any() for part in counts):
                levels = [range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True)]
                return cls._met(levels, [part[:, :-1] for part in counts])
        return None

    @classmethod
    def _met(cls, levels: list[Any], counts: list[Array]) -> Self:
        """In order, without the levels that have no weight."""
        kept = [np.flatnonzero(part.any(axis=0)) for part in counts]
        names = [tuple(values[k] for k in which) for values, which in zip(levels, kept, strict=True)]
        parts = [np.ascontiguousarray(part[:, which]) for part, which in zip(counts, kept, strict=True)]
        sorted_names = [in_order(values) for values in names]
        return cls(
            tuple(sorted_names),
            tuple(_spread(a, part, b) for a, part, b in zip(names, parts, sorted_names, strict=True)),
        )

    def __add__(self, other: Self) -> Self:
        levels, counts = [], []
        for a, m, b, n in zip(self.levels, self.counts, other.levels, other.counts, strict=True):
            both = a if a == b else in_order({*a, *b})
            levels.append(both)
            counts.append(_spread(a, m, both) + _spread(b, n, both))
        return type(self)(tuple(levels), tuple(counts))


def _spread(levels: tuple[Any, ...], counts: Array, wanted: tuple[Any, ...]) -> Array:
    """Counts (C, L) of levels as those of the wanted levels, 0 for one that is not there."""
    if levels == wanted:
        return counts
    places = {level: k for k, level in enumerate(levels)}
    wide = np.concatenate([counts, np.zeros((len(counts), 1))], axis=1)
    return wide[:, [places.get(level, -1) for level in wanted]]


@dataclass(frozen=True)
class LevelFactor:
    """Each class has a probability for every level. `two`: columns of two levels only."""

    two: bool = False
    takes_text = True
    keeps_rows = False

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> LevelCounts:
        """The counts in each class."""
        return LevelCounts.of(codes_of(rows, columns), y, weight, C)

    def estimate(self, statistics: LevelCounts, fields: tuple[Field, ...], options: NaiveOptions) -> LevelColumns:
        """p_l = (n_l + a_l) / (n + Σ a), a the smoothing: the mean under a Dirichlet prior; with 0, as counted."""
        found = [
            self._column(levels, counts, field, options)
            for levels, counts, field in zip(statistics.levels, statistics.counts, fields, strict=True)
        ]
        names = tuple(field.name for field in fields)
        return LevelColumns(
            tuple(f[0] for f in found), tuple(f[1] for f in found), np.array([f[2] for f in found]), names
        )

    def _column(
        self, met: tuple[Any, ...], counts: Array, field: Field, options: NaiveOptions
    ) -> tuple[tuple[Any, ...], Array, Array]:
        declared = field.levels or ()
        known = set(declared)
        levels = declared + tuple(level for level in met if level not in known)
        if self.two and len(levels) > 2:
            raise DataError(
                f"column {field.name!r} holds {len(levels)} levels {listed(levels)}, and 'bernoulli' takes two: use "
                "'categorical'."
            )
        n = _spread(met, counts, levels)
        added = options.smoothing_of(field.name, levels)
        p = _fractions(n + added)
        return levels, p, options.unknown_of(n.sum(axis=1), added)

    def pack(self, statistics: LevelCounts, conditional: LevelColumns) -> tuple[dict[str, Array], Any]:
        """The counts, and the levels in the header."""
        arrays = {f"counts.{j}": counts for j, counts in enumerate(statistics.counts)}
        return arrays, list(map(storable, statistics.levels, conditional.names))

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions
    ) -> tuple[LevelCounts, LevelColumns]:
        """The counts, and what follows from them."""
        levels = tuple(map(restored, header))
        statistics = LevelCounts(levels, tuple(arrays[f"counts.{j}"] for j in range(len(levels))))
        return statistics, self.estimate(statistics, fields, options)


def _fractions(n: Array) -> Array:
    """Each line of counts (C, L) as shares; one without counts has the shares of all lines, or equal ones."""
    total, overall = n.sum(axis=1, keepdims=True), n.sum(axis=0)
    if not overall.any():
        return np.full(n.shape, 1.0 / max(1, n.shape[1]))
    return np.where(total > 0.0, n / np.where(total > 0.0, total, 1.0), overall / overall.sum())
