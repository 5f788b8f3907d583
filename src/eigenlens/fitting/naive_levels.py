"""Columns of levels of naive Bayes: counts of each level in each class, in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from eigenlens.stats.level_arrays import in_order, listed, ranked
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
        found = [_sorted(values, part) for values, part in zip(levels, counts, strict=True)]
        return cls(tuple(values for values, _ in found), tuple(part for _, part in found))

    def __add__(self, other: Self) -> Self:
        parts = zip(self.levels, self.counts, other.levels, other.counts, strict=True)
        found = [_merged(*part) for part in parts]
        return type(self)(tuple(levels for levels, _ in found), tuple(counts for _, counts in found))


def _sorted(levels: Sequence[Any], counts: Array) -> tuple[tuple[Any, ...], Array]:
    """The levels that have weight, in order, and their counts (C, L)."""
    kept = np.flatnonzero(counts.any(axis=0))
    names = tuple(levels) if len(kept) == len(levels) else tuple(map(levels.__getitem__, kept.tolist()))
    order = ranked(names)
    return tuple(map(names.__getitem__, order)), np.ascontiguousarray(counts[:, kept[np.array(order, dtype=np.intp)]])


def _merged(a: tuple[Any, ...], m: Array, b: tuple[Any, ...], n: Array) -> tuple[tuple[Any, ...], Array]:
    """The levels of two halves in order, and the sums of their counts."""
    if a == b:
        return a, m + n
    known = set(a)
    both = in_order((*a, *(level for level in b if level not in known)))  # two sorted runs: a merge, not a sort
    return both, _spread(a, m, both) + _spread(b, n, both)


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
        known = set(field.levels or ())
        levels = (*field.levels, *(level for level in met if level not in known)) if field.levels else met
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
    total = n.sum(axis=1, keepdims=True)
    if np.all(total > 0.0):
        return np.asarray(n / total)
    overall = n.sum(axis=0)
    if not overall.any():
        return np.full(n.shape, 1.0 / max(1, n.shape[1]))
    return np.where(total > 0.0, n / np.where(total > 0.0, total, 1.0), overall / overall.sum())
