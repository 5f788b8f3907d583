"""Columns of levels, each class with probabilities of its own: looked up in tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.compiled.naive import Lines, add_gathered, class_counts, padded
from eigenlens.data.encoded import MOST_SLOTS, Encoded, encode_numbers
from eigenlens.data.mixed import codes_of
from eigenlens.models.discrete import Categorical
from eigenlens.models.naive import LinearRule, infinite, unknown_levels

__all__ = ["LevelColumns", "counted", "joined"]


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
