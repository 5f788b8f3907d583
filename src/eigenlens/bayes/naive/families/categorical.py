"""Columns of levels, each class with probabilities of its own: looked up in tables.

Columns of levels of naive Bayes: counts of each level in each class, in one pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.model import LinearRule, infinite, unknown_levels
from eigenlens.bayes.naive.options import NaiveOptions
from eigenlens.data.column_kinds import Field
from eigenlens.data.encoded import MOST_SLOTS, Encoded, encode_numbers
from eigenlens.data.level_arrays import in_order, listed, ranked
from eigenlens.data.stored_levels import restored, storable
from eigenlens.data.table import codes_of
from eigenlens.densities.discrete import Categorical
from eigenlens.errors import DataError
from eigenlens.native.class_sums import Lines, add_gathered, class_counts, code_ranges, padded

__all__ = ["LevelColumns", "LevelCounts", "LevelFactor", "counted", "joined"]


@dataclass(frozen=True, eq=False)
class LevelColumns:
    """P(x_j = level | c) of g columns.

    Attributes:
        levels: (g,) the levels of each column.
        probabilities: (g,) arrays (C, levels of the column), which sum to one over the levels.
        unknown: (g, C) what a level that is not known counts in each class; 1 for leaving the factor out, NaN for an
            error.
        names: (g,) of the columns, for that error.

    >>> votes = LevelColumns((("no", "yes"),), (np.array([[0.75, 0.25], [0.5, 0.5]]),), np.ones((1, 2)), ("vote",))
    >>> np.exp(votes.terms(np.array([["no"], ["maybe"]], dtype=object), np.array([0])))[:, 0]
    array([[0.75, 0.5 ], [1.  , 1.  ]])
    """

    levels: tuple[tuple[Any, ...], ...]
    probabilities: tuple[Array, ...]
    unknown: Array
    names: tuple[Any, ...]

    def add_log(self, rows: Any, columns: Array, joint: Array) -> None:
        """Adds the log probabilities of the entries that are there to joint (n, C)."""
        codes, lines, table = self._tables(codes_of(rows, columns))
        add_gathered(codes, lines, table, joint)

    def terms(self, rows: Any, columns: Array) -> Array:
        """ln P(x_ij | c) (n, g, C)."""
        codes, lines, table = self._tables(codes_of(rows, columns))
        C = self.unknown.shape[1]
        return np.stack([table[lines.places(codes[:, j], j), :C] for j in range(codes.shape[1])], axis=1)

    def sample(self, labels: Array, rng: np.random.Generator) -> list[Array]:
        """Draws of each column: its levels, as numbers where all of them are."""
        return [self._draw(j, labels, rng) for j in range(len(self.levels))]

    def linear(self) -> LinearRule | None:
        """None: levels have no places on a line."""
        return None

    def density(self, label: int, place: int) -> Categorical:
        """The probabilities of a column in a class."""
        return Categorical(self.probabilities[place][label], self.levels[place])

    # ---- tables -----------------------------------------------------------------------------------------

    def _tables(self, coded: Array | list[Encoded]) -> tuple[Array, Lines, Array]:
        """Codes (n, g), the lines that they stand on, and the table (lines, ≥ C) of log probabilities."""
        if isinstance(coded, np.ndarray):
            if self._integers is not None and not (coded.dtype == np.uint64 and coded.max(initial=0) > 2**62):
                self._refuse_unknown_integers(coded)
                return coded, *self._integers
            coded = [encode_numbers(column) for column in coded.T]
        lines = Lines.of(np.full(len(coded), -1), np.array([len(column.levels) + 1 for column in coded]))
        table = np.concatenate([self._lines(j, column) for j, column in enumerate(coded)])
        return joined(coded), lines, padded(table)

    def _lines(self, j: int, column: Encoded) -> Array:
        """The lines of a column: missing, each of its own levels, and none of these."""
        places = np.fromiter(map(self._places[j].get, column.levels, repeat(-1)), np.intp, len(column.levels))
        odd = [column.levels[k] for k in np.flatnonzero(places < 0)]
        if odd and (np.isnan(self.unknown[j, 0]) or infinite(odd)):
            met = np.bincount(column.codes + 1, minlength=len(places) + 1)[1:] > 0
            self._refuse(j, [column.levels[k] for k in np.flatnonzero((places < 0) & met)])
        known = self._logs[j]
        inner = known[places] if len(places) else known[:0]
        return np.concatenate([np.zeros((1, known.shape[1])), inner, known[-1:]])

    @cached_property
    def _places(self) -> tuple[dict[Any, int], ...]:
        return tuple({level: k for k, level in enumerate(levels)} for levels in self.levels)

    @cached_property
    def _logs(self) -> tuple[Array, ...]:
        """Of each column the log probabilities (levels + 1, C); the last line is for levels that are not known."""
        with np.errstate(divide="ignore"):
            return tuple(np.log(np.vstack([p.T, u])) for p, u in zip(self.probabilities, self.unknown, strict=True))

    @cached_property
    def _integers(self) -> tuple[Lines, Array] | None:
        """Lines and table for codes that are their own levels, by value; None where their range is too wide."""
        whole = [_whole(places) for places in self._places]
        low = np.array([min(values, default=0) for values in whole])
        high = np.array([max(values, default=0) for values in whole])
        if np.any(np.abs(np.r_[low, high]) > 2**62) or np.any(high - low >= MOST_SLOTS):
            return None
        lines = Lines.of(low, high - low + 1)
        unknown = np.stack([logs[-1] for logs in self._logs])
        table = np.repeat(unknown, lines.width + 1, axis=0)
        at = [
            np.array(list(values), dtype=np.int64) + offset
            for values, offset in zip(whole, lines.start - low, strict=True)
        ]
        known = [logs[list(values.values())] for logs, values in zip(self._logs, whole, strict=True)]
        table[np.concatenate(at)] = np.concatenate(known)
        return lines, padded(table)

    def _refuse_unknown_integers(self, codes: Array) -> None:
        if not np.isnan(self.unknown).any():
            return
        for j, column in enumerate(codes.T):
            met = encode_numbers(column).levels
            self._refuse(j, [level for level in met if level not in self._places[j]])

    def _refuse(self, j: int, odd: list[Any]) -> None:
        if odd:
            raise unknown_levels(self.names[j], odd)

    def _draw(self, j: int, labels: Array, rng: np.random.Generator) -> Array:
        levels = self.levels[j]
        if not levels:  # a column that had no entry
            return np.full(len(labels), None, dtype=object)
        cumulated = np.cumsum(self.probabilities[j], axis=1)
        at, places = rng.random(len(labels)) * cumulated[labels, -1], np.empty(len(labels), dtype=np.intp)
        for c in np.unique(labels):
            places[labels == c] = np.searchsorted(cumulated[c], at[labels == c], side="right")
        places = np.minimum(places, len(levels) - 1)
        values = np.empty(len(levels), dtype=object)
        values[:] = levels
        return np.asarray(values[places])


def _whole(places: dict[Any, int]) -> dict[int, int]:
    """The levels that are whole numbers, and where they stand."""
    return {int(v): k for v, k in places.items() if isinstance(v, int) or (isinstance(v, float) and v.is_integer())}


def joined(coded: list[Encoded]) -> Array:
    """The codes of columns as one array (n, g), column after column."""
    codes = np.empty((len(coded[0].codes), len(coded)), dtype=np.int32, order="F")
    for j, column in enumerate(coded):
        codes[:, j] = column.codes
    return codes


def counted(codes: Array, lines: Lines, y: Array, weight: Array | None, C: int) -> list[Array]:
    """Σ w of each class and code, (C, width + 1) a column; the last is of codes out of its range."""
    counts = class_counts(codes, lines, y, weight, C)
    return [counts[start : start + width + 1].T for start, width in zip(lines.start, lines.width, strict=True)]


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
