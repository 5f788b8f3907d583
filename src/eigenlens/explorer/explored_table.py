"""The table that is explored: moments of all its numbers from one pass, a sample of its rows, and what columns are.

A change of columns, scale or number of components needs no other pass: the moments of some columns are a part of these.
"""

from __future__ import annotations

import operator
import os
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.column_profile import profile_first_rows
from eigenlens.cli.files import memory_limit
from eigenlens.cli.guess_roles import HEAD_ROWS, NO_ENTRY, GuessedRole, Role, guess_roles
from eigenlens.cli.input_table import open_input
from eigenlens.cli.options import ReadingOptions, RunningOptions
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Block, Progress, Source
from eigenlens.data.table import codes_of, numbers_of
from eigenlens.errors import DataError
from eigenlens.explorer.frames import FrameRows, MemoryFrames
from eigenlens.explorer.row_part import ALL_ROWS, RowPart, part_weights
from eigenlens.stats.moments import Moments
from eigenlens.tables.rows import RowSample, max_rows, sample_rows

GUESSED = {Role.ACTIVE: "active", Role.ID: "name", Role.LABEL: "colour", Role.ASIDE: "ignore"}
"""The role of a column on the shelf, by the role that the command line would give it."""

UNUSABLE = (ColumnKind.OTHER, ColumnKind.MIXED)
"""Kinds of columns that no role but `ignore` fits."""


class ExploredColumn(NamedTuple):
    """A column on the shelf: its name, whether it holds numbers, the role that suits it, why, and missing entries."""

    name: str
    numeric: bool
    role: str
    reason: str
    missing: int = 0
    usable: bool = True


@dataclass(frozen=True, eq=False)
class ExploredTable:
    """All that questions are answered from.

    Attributes:
        title: the name of the file, or of the rows in memory. path: the file, or None for rows in memory.
        columns: all of them, in the order of the file. sample: the rows shown, of the columns that can be used.
        moments: of all columns of numbers, `numeric`; NaN for columns with missing entries.
        X: (n, p) all numbers, where they fit into memory. source: all rows, for another pass.
        decisions: those about the file. reading: how the file is read.
    """

    title: str
    path: Path | None
    columns: tuple[ExploredColumn, ...]
    sample: RowSample
    numeric: tuple[str, ...]
    moments: Moments
    X: Array | None
    source: Source
    decisions: tuple[Any, ...] = ()
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    _weighted: OrderedDict[tuple[str | None, RowPart], Moments] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    @cached_property
    def standard(self) -> Array:
        """(m, p) the numbers of the rows shown, about their means and in standard deviations: scores are one product.

        Of many rows in single precision, which is more than a screen shows; 0 in columns with missing entries.
        """
        X = self.sample.numbers[:, _numeric_places(self.source)]
        with np.errstate(all="ignore"):
            X = np.nan_to_num((X - self.moments.mean) / self.deviations, copy=False, posinf=0.0, neginf=0.0)
        return np.ascontiguousarray(X, dtype=np.float32 if X.size > MAX_DOUBLE_ENTRIES else np.float64)

    @cached_property
    def looked_at(self) -> tuple[Array, Array]:
        """Which of the rows shown (q,) have their columns looked at, beside their scores, and their numbers (q, d)."""
        m = len(self.sample.chosen)
        which = np.sort(np.random.default_rng(0).permutation(m)[:MAX_COLUMN_ROWS])
        return which, self.sample.numbers if m <= MAX_COLUMN_ROWS else self.sample.numbers[which]

    @cached_property
    def deviations(self) -> Array:
        """(p,) the standard deviations of the columns of numbers, 1 for those without any."""
        with np.errstate(all="ignore"):
            found = np.sqrt(np.diag(self.moments.scatter) / np.maximum(self.moments.weight, 1.0))
        return np.where(found > 0.0, found, 1.0)

    def project(self, names: tuple[str, ...], mean: Array, V: Array) -> Array:
        """Return (x − mean) V (m, k) of the rows shown, for V (d, k) and the mean (d,) of some complete columns.

        The other columns get zeros in V, so that no column is copied. Cost: one product of (m, p) and (p, k).
        """
        places = np.array([self.numeric.index(name) for name in names])
        whole = np.zeros((len(self.numeric), V.shape[1]))
        whole[places] = V * self.deviations[places, None]
        shift = (self.moments.mean[places] - mean) @ V
        return np.asarray(self.standard @ whole.astype(self.standard.dtype) + shift, dtype=np.float64)

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.sample.total

    def column(self, name: str) -> ExploredColumn:
        """Return a column by its name; an unknown one is an error."""
        found = next((each for each in self.columns if each.name == name), None)
        if found is None:
            raise DataError(f"the table has no column {name!r}", fix="choose one that is on the shelf")
        return found

    def shown(self, name: str) -> Array:
        """Return the entries (m,) of a column in the rows shown: numbers, or text with None where missing."""
        names = self.source.names or ()
        place = names.index(name)
        return self.sample.texts.get(place, self.sample.numbers[:, place])

    def incomplete(self, names: tuple[str, ...]) -> list[str]:
        """Return which of these columns have missing or infinite entries."""
        bad = {name for name, value in zip(self.numeric, self.moments.mean, strict=True) if not np.isfinite(value)}
        return [name for name in names if name in bad]

    def moments_of(self, names: tuple[str, ...], weight: str | None, part: RowPart = ALL_ROWS) -> Moments:
        """Return the moments of some columns; the first time that rows have these weights, by a pass."""
        places = np.array([self.numeric.index(name) for name in names])
        if weight is None and part.whole:
            return self.moments.subset(places)
        key = (weight, part)
        with self._lock:
            if key not in self._weighted:
                while len(self._weighted) >= KEPT_PASSES:
                    self._weighted.popitem(last=False)
                self._weighted[key] = self._weighted_moments(weight, part)
            self._weighted.move_to_end(key)
            return self._weighted[key].subset(places)

    def weights(self, name: str | None, part: RowPart = ALL_ROWS) -> Array | None:
        """Return the weights (n,), 0 of rows that take no part; negative or missing ones are an error."""
        weight = None if name is None else self._column_of_weights(name)
        found = part_weights(part, self.sample.chosen, self.n, weight)
        if found is not None and not found.any():
            raise DataError("all rows that are fitted have the weight 0", fix=OTHER_ROWS)
        return found

    def _column_of_weights(self, name: str) -> Array:
        values = self.rows_of((name,)).ravel()
        if not np.all(np.isfinite(values)) or values.min(initial=0.0) < 0.0 or not values.any():
            what = f"column {name!r} has entries that are missing, negative or all zero, so it cannot weight rows"
            raise DataError(what, columns=[name], fix="choose a column of counts or of survey weights")
        return np.ascontiguousarray(values)

    def _weighted_moments(self, weight: str | None, part: RowPart) -> Moments:
        """Return moments of the rows that are fitted: of marked ones alone without a pass, since they are shown."""
        w = None if weight is None and part.kind == "only" else self.weights(weight, part)
        with np.errstate(all="ignore"):
            if part.kind == "only":
                X = self.sample.numbers[part.marked][:, _numeric_places(self.source)]
                return Moments.of(Block(X, None if w is None else w[self.sample.chosen[part.marked]]))
            return reduce(operator.add, self._weighted_blocks(w))

    def _weighted_blocks(self, w: Array | None) -> Iterator[Moments]:
        start = 0
        for block in self._blocks():
            own = None if w is None else w[start : start + len(block)]
            start += len(block)
            if own is None or own.any():
                yield Moments.of(Block(block, own))

    def _blocks(self) -> Iterator[Array]:
        """Yield all numbers (b, p), from memory or in another pass over the file."""
        if self.X is not None:
            yield from ArraySource(self.X, block_rows=BLOCK_ROWS).rows()
            return
        places = _numeric_places(self.source)
        for rows in self.source.rows():
            yield np.asarray(numbers_of(rows, places), dtype=np.float64)

    def blocks_of(self, names: tuple[str, ...]) -> Iterator[Array]:
        """Yield all rows of some columns of numbers in blocks (b, d)."""
        places = [self.numeric.index(name) for name in names]
        return (block[:, places] for block in self._blocks())

    def rows_of(self, names: tuple[str, ...]) -> Array:
        """Return all rows (n, d) of some columns of numbers."""
        places = [self.numeric.index(name) for name in names]
        if self.X is not None:
            return self.X[:, places]
        return np.concatenate([block[:, places] for block in self._blocks()])

    def entries(self, name: str) -> Array:
        """Return all entries (n,) of a column, numbers or text."""
        if name in self.numeric:
            return self.rows_of((name,)).ravel()
        place = np.array([(self.source.names or ()).index(name)])
        return np.concatenate([codes_of(rows, place)[0].values() for rows in self.source.rows()])


MAX_COLUMN_ROWS = 10_000
"""Rows of which the columns are looked at after each change: more would hardly change r and η²."""

MAX_DOUBLE_ENTRIES = 5_000_000
"""Rows shown of up to this many numbers are kept in double precision for their scores: 40 MB."""

OTHER_ROWS = "fit other rows, or weight by another column"

KEPT_PASSES = 4
"""Moments of rows with other weights that are kept: each is as large as the covariance of all columns."""

BLOCK_ROWS = 65_536
"""Rows of a block of numbers in memory: a block of 100 columns is 50 MB."""


def open_explored(
    given: Any, *, reading: ReadingOptions | None = None, progress: Progress | None = None
) -> ExploredTable:
    """Return the table of a file, or of rows in memory, in one pass over it."""
    reading = reading or ReadingOptions()
    if isinstance(given, str | os.PathLike):
        files = open_input([os.fspath(given)], reading)
        return _explore(files, Path(os.fspath(given)).name, Path(os.fspath(given)), reading, progress)
    from eigenlens.reporting.inputs import report_table  # and with it all models, which a file does not need

    return _explore(MemoryFrames(report_table(given)), "Rows in memory", None, reading, progress)


def _explore(frames: Any, title: str, path: Path | None, reading: ReadingOptions, progress: Any) -> ExploredTable:
    taken = [frames.row_names] if getattr(frames, "row_names", None) is not None else []
    guessed = guess_roles(profile_first_rows(frames, HEAD_ROWS), taken=taken)
    usable = [j for j, each in enumerate(frames.fields) if each.kind not in UNUSABLE]
    if not usable:
        raise DataError("the table has no column of numbers or text", fix="see its columns with eigenlens info")
    rows = _PassOverRows(FrameRows(frames.part(usable)), memory_limit(RunningOptions()), progress)
    sample = sample_rows(rows, max_rows(rows.n_features), np.random.default_rng(0))
    columns = tuple(_column(each, guessed[each.name], rows) for each in frames.fields)
    decided = tuple(getattr(frames, "decisions", ()))
    return ExploredTable(
        title, path, _with_row_names(columns, taken), sample, rows.numeric, rows.moments, rows.kept, rows.inner,
        decided, reading,
    )  # fmt: skip


def _with_row_names(columns: tuple[ExploredColumn, ...], taken: list[Any]) -> tuple[ExploredColumn, ...]:
    """Return the columns with the one that the file declares as names of rows in that role, and no other."""
    if not taken:
        return columns
    declared, roles = str(taken[0]), {"name": "ignore"}
    return tuple(
        each._replace(role="name", reason="the file names its rows by it")
        if each.name == declared
        else each._replace(role=roles.get(each.role, each.role))
        for each in columns
    )


def _column(each: Any, guess: GuessedRole, rows: _PassOverRows) -> ExploredColumn:
    name, numeric = str(each.name), each.kind not in (ColumnKind.TEXT, *UNUSABLE)
    role, reason = GUESSED[guess.role], guess.reason
    if each.kind in UNUSABLE:
        role, reason = "ignore", reason or "numbers and text mixed"
    usable = each.kind not in UNUSABLE and guess.reason != NO_ENTRY
    return ExploredColumn(name, numeric, role, reason, rows.missing.get(name, 0), usable)


def _numeric_places(source: Any) -> Array:
    return np.array([j for j, each in enumerate(source.fields) if each.kind != ColumnKind.TEXT], dtype=np.intp)


class _PassOverRows(Source):
    """Rows that are summed up while they are sampled: moments, missing entries, and the numbers themselves if few."""

    dtype = np.dtype(np.float64)
    n_rows = None

    def __init__(self, inner: FrameRows, most: int, progress: Progress | None) -> None:
        self.inner, self._most, self._progress = inner, most, progress
        self.names, self.n_features, self.fields = inner.names, inner.n_features, inner.fields
        self.places = _numeric_places(inner)
        self.numeric = tuple(str(inner.fields[j].name) for j in self.places)
        self._missing = np.zeros(self.places.size, dtype=np.int64)
        self._parts: list[Array] | None = []
        self._total: Moments | None = None

    def rows(self) -> Iterator[Any]:
        """Yield the rows, each block once it is added to the sums."""
        done = 0
        for rows in self.inner.rows():
            if self.places.size:
                self._add(np.asarray(numbers_of(rows, self.places), dtype=np.float64))
            done += rows.shape[0]
            if self._progress is not None:
                self._progress(done, None, "reading")
            yield rows

    def _add(self, X: Array) -> None:
        with np.errstate(all="ignore"):
            part = Moments.of(Block(X))
        self._total = part if self._total is None else self._total + part
        self._missing += np.isnan(X).sum(axis=0)
        if self._parts is not None:
            self._parts.append(X)
            if sum(each.nbytes for each in self._parts) > self._most:
                self._parts = None

    @property
    def moments(self) -> Moments:
        return Moments(0.0, np.zeros(0), np.zeros((0, 0))) if self._total is None else self._total

    @property
    def missing(self) -> Mapping[str, int]:
        return dict(zip(self.numeric, self._missing.tolist(), strict=True))

    @property
    def kept(self) -> Array | None:
        """(n, p) all numbers, where they fit into memory."""
        return np.concatenate(self._parts) if self._parts else None
