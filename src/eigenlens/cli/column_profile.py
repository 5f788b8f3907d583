"""Profiles of the columns of files: type, missing entries, range, a few values, by one pass over blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.output import one_line
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.total_names import names_statistic
from eigenlens.data.files.cells import BOOLEAN, INTEGER, MAX_MARKERS, describe_cell, parse_numbers, plain_cells
from eigenlens.data.files.dialect import MISSING_MARKERS, Dialect
from eigenlens.data.files.layout.wide_rows import MIN_WIDE_COLUMNS
from eigenlens.data.files.scan import FileSource
from eigenlens.data.table import numbers_of
from eigenlens.tables.text_table import count_noun

if TYPE_CHECKING:
    from polars import DataFrame


TYPE_NAMES = {ColumnKind.NUMBER: "float", ColumnKind.EMPTY: "float"}
"""How kinds of columns are called where that is not their name."""

NUMERIC = (ColumnKind.NUMBER, ColumnKind.EMPTY, ColumnKind.INTEGER, ColumnKind.BOOLEAN)

MIN_ROWS = 10
"""With fewer rows it cannot be known whether a column numbers or names them."""

MAX_VALUES = 10_000
"""The number of different texts of a column that are counted; fewer where there are hundreds of columns."""

SPACING_TOLERANCE = 1e-3
"""The share of a step by which numbers of a clock, which are rounded, may differ on average."""

MAX_LOOKS = 20
"""The number of different texts of a column that must look alike to be called numbers with %, dates, …"""


class Numbers(NamedTuple):
    """The numbers of a column in a block: how many, how many of them infinite or whole, and what they are like.

    `step` is the smallest difference from a number to the next one; None where there is none.
    """

    n: int
    infinite: int
    least: float
    greatest: float
    total: float
    whole: int
    first: float
    last: float
    step: float | None


@dataclass
class Profile:
    """The summary of the part of a column that has been read.

    Attributes:
        rows, missing: entries, and those that are missing. numbers: entries that are numbers.
        flags, integers: whether all entries so far are true or false, or whole numbers.
        least, greatest, total: of the numbers. infinite: how many of them are. padded: those such as 007.
        whole: those that are whole. increasing: whether each number is larger than the one before, the last one `last`;
            `step`: the smallest difference between two successive ones.
        values: different texts and whole numbers, at most `most` and one.
        kind: the kind that the file declares; None for delimited text, where the entries show it.
        marks: different texts that are not numbers, a few. last_text: the last entry, of delimited text.
    """

    name: Any
    kind: ColumnKind | None = None
    most: int = MAX_VALUES
    rows: int = 0
    missing: int = 0
    numbers: int = 0
    flags: bool = True
    integers: bool = True
    least: float = float("inf")
    greatest: float = float("-inf")
    total: float = 0.0
    infinite: int = 0
    padded: int = 0
    whole: int = 0
    last: float = float("-inf")
    increasing: bool = True
    step: float = float("inf")
    values: dict[str, None] = field(default_factory=dict)
    marks: dict[str, None] = field(default_factory=dict)
    last_text: str = ""

    def add(self, rows: int, held: int, numbers: Numbers | None = None) -> None:
        """Add a block: its rows, the entries that are present, and a summary of those that are numbers."""
        self.rows, self.missing = self.rows + rows, self.missing + rows - held
        if numbers is not None and numbers.n:
            self.numbers, self.infinite = self.numbers + numbers.n, self.infinite + numbers.infinite
            self.least, self.greatest = min(self.least, numbers.least), max(self.greatest, numbers.greatest)
            self.total, self.whole = self.total + numbers.total, self.whole + numbers.whole
            between = numbers.first - self.last
            self.step = min(self.step, between, float("inf") if numbers.step is None else numbers.step)
            self.increasing &= between > 0.0 and (numbers.step is None or numbers.step > 0.0)
            self.last = numbers.last

    def remember(self, values: Iterable[Any]) -> None:
        """Keep different values as text, in the order in which they come, up to one more than `most`."""
        _keep(values, self.values, self.most)

    @property
    def type(self) -> str:
        """The type of the column: "float", "integer", "boolean", "text" or "other"."""
        if self.kind is not None:
            return TYPE_NAMES.get(self.kind, str(self.kind))
        seen = self.rows - self.missing
        if seen and self.flags:
            return "boolean"
        if self.numbers < seen:
            return "text"
        return "integer" if seen and self.integers else "float"

    @property
    def perhaps_missing(self) -> list[str]:
        """Texts among numbers that may mean missing, such as n/a."""
        strange = [mark for mark in self.marks if mark.lower() not in MISSING_MARKERS]
        numbers = any(look.number for look in map(describe_cell, strange) if look)
        most = 2 * self.numbers > self.rows - self.missing
        perhaps = self.type == "text" and most and len(strange) <= MAX_MARKERS and not numbers
        # A name in its own column is a second line of names, and a total is not missing.
        perhaps &= not any(mark == str(self.name) or names_statistic(mark) for mark in strange)
        return list(self.marks) if perhaps else []

    @property
    def numbers_rows(self) -> bool:
        """Whether the entries are 0, 1, 2, … or 1, 2, 3, …, in any order: names of rows rather than measurements."""
        whole = self.type == "integer" and self.missing == 0 and self.rows >= MIN_ROWS and self.least in (0.0, 1.0)
        ends = self.least + self.greatest
        return whole and self.greatest - self.least == self.rows - 1 and 2.0 * self.total == ends * self.rows

    @property
    def evenly_spaced(self) -> bool:
        """Whether each number is one and the same step above the one before, up to rounding: a clock or a grid."""
        known = self.increasing and not self.missing and self.numbers == self.rows >= MIN_ROWS
        return known and self.greatest - self.least <= (1.0 + SPACING_TOLERANCE) * self.step * (self.rows - 1)

    @property
    def names_rows(self) -> bool:
        """Whether no entry of a text column repeats, as in a column of row names."""
        words = self.type in ("text", "other") and 2 * self.numbers <= self.rows
        return words and self.rows >= MIN_ROWS and len(self.values) == self.rows

    @property
    def facts(self) -> dict[str, Any]:
        """The column in words and numbers, for --json."""
        measured = self.type in ("float", "integer", "boolean") and self.numbers > 0
        least, mean, greatest = (self.least, self.total / self.numbers, self.greatest) if measured else (None,) * 3
        told = {"name": self.name, "type": self.type, "missing": self.missing, "note": self._note(measured)}
        return told | {"least": least, "mean": mean, "greatest": greatest}

    def _note(self, measured: bool) -> str:
        if self.rows == self.missing:
            return "empty"
        if measured and self.numbers_rows:
            return "numbers the rows"
        if measured and self.padded:
            return f"leading zeros in {count_noun(self.padded, 'row')}: names, perhaps"
        if measured and self.infinite:
            return f"infinite in {count_noun(self.infinite, 'row')}"
        if measured:
            return "constant" if self.least == self.greatest else ""
        if self.perhaps_missing:
            listed = ", ".join(map(repr, self.perhaps_missing))
            return f"numbers but for {listed} in {count_noun(self.rows - self.missing - self.numbers, 'row')}"
        count = f"{len(self.values):,}" if len(self.values) <= self.most else f"over {self.most:,}"
        if not self.values:
            return ""
        first = next(iter(self.marks or self.values))
        looks = {describe_cell(value) for value in itertools.islice(self.marks or self.values, MAX_LOOKS)}
        look = looks.pop() if len(looks) == 1 else None
        return f"{count} different, e.g. '{one_line(first, 24)}'{f': {look.what}' if look else ''}"


def _keep(values: Iterable[Any], into: dict[str, None], most: int) -> None:
    for value in values:
        if len(into) > most:
            return
        into.setdefault(str(value), None)


# ---- the pass over blocks -------------------------------------------------------------------------------------

MAX_ALL_VALUES = 1_000_000
"""The number of different texts of all columns that are counted."""

PADDED = "^[+-]?0[0-9]+$"

MAX_FIRST_COLUMNS = 50
"""Of tables with hundreds of columns, these are looked at cell by cell: names, dates and codes stand at the left."""


def profile_columns(source: FileSource, rows: int | None = None) -> tuple[list[Profile], int]:
    """Return profiles of all columns of files and the number of rows, or of the first `rows`; memory O(block)."""
    most = min(MAX_VALUES, max(100, MAX_ALL_VALUES // source.n_features))
    dialect = source.dialect if source.is_written else None
    found = [Profile(f.name, None if dialect else f.kind, most) for f in source.fields]
    # Files of columns decode a whole block before its first rows are there.
    source = source if rows is None else source.with_block_rows(rows)
    plain = [] if dialect is None else _plain_columns(source)
    for block in _first_rows(source.part(plain).rows(), rows) if plain else ():
        _add_numbers([found[j] for j in plain], numbers_of(block, np.arange(len(plain))))
    rest = sorted(set(range(len(found))) - set(plain))
    for frame in _first_rows(source.part(rest).cells(), rows):
        # All columns of a block are looked at together: one at a time, thousands of them take seconds.
        if dialect is None:
            _add_values(found, frame)
        else:
            _add_cells([found[j] for j in rest], frame, dialect)
    return found, found[0].rows


def _plain_columns(source: FileSource) -> list[int]:
    """Return the columns of delimited text with hundreds of them of which the numbers show enough, cells aside.

    The first columns, which may number, name or date the rows, are not among them.
    """
    if source.n_features < MIN_WIDE_COLUMNS:
        return []
    kinds, words = (ColumnKind.NUMBER, ColumnKind.INTEGER), source.words
    rest = list(enumerate(source.fields))[MAX_FIRST_COLUMNS:]
    return [j for j, each in rest if each.kind in kinds and each.name not in words]


def profile_first_rows(source: FileSource, rows: int) -> list[Profile]:
    """Return profiles of all columns by the first rows; one that is constant or empty there is read to its end."""
    found, n = profile_columns(source, rows)
    doubtful = [j for j, column in enumerate(found) if len(column.values) <= 1 and column.least >= column.greatest]
    if doubtful and n >= rows:
        whole, _ = profile_columns(source.part(doubtful))
        for j, column in zip(doubtful, whole, strict=True):
            found[j] = column
    return found


def _first_rows(blocks: Iterable[Any], rows: int | None) -> Iterator[Any]:
    """Yield frames or arrays up to a number of rows; all of them for None."""
    left = float("inf") if rows is None else rows
    for frame in blocks:
        yield frame if len(frame) <= left else frame[: int(left)]
        left -= len(frame)
        if left <= 0:
            return


def _add_cells(found: list[Profile], frame: DataFrame, dialect: Dialect) -> None:
    every = pl.all()
    cells = frame.select(plain_cells(every, dialect))
    numbers = cells.select(parse_numbers(every))
    raw = frame.select(pl.when(plain_cells(every, dialect).is_not_null()).then(every.str.strip_chars()))
    integers, flags, padded = (cells.select(every.str.contains(p).sum()).row(0) for p in (INTEGER, BOOLEAN, PADDED))
    nans = numbers.select(every.is_nan().sum()).row(0)
    values = raw.select(every.drop_nulls().unique(maintain_order=True).head(found[0].most + 1).implode()).row(0)
    present, known = raw.select(every.count()).row(0), _summarise(numbers)
    for j, column in enumerate(found):
        column.add(len(frame), present[j] - nans[j], known[j])
        column.integers &= integers[j] == present[j]
        column.flags &= flags[j] == present[j]
        column.padded += padded[j] or 0
        column.remember(values[j])
        column.last_text = str(raw[-1, j] or "")
    odd = [j for j in range(len(found)) if known[j].n + nans[j] < present[j]]
    for j, texts in zip(odd, _texts(raw[:, odd], numbers[:, odd]), strict=True):
        _keep(texts, found[j].marks, MAX_MARKERS + len(MISSING_MARKERS))


def _texts(cells: DataFrame, numbers: DataFrame) -> tuple[Iterable[str], ...]:
    """Return the first different cells of each column that are not numbers, of all columns at once."""
    places = range(cells.width)
    both = pl.DataFrame([*(cells.to_series(j).rename(f"cell {j}") for j in places),
                         *(numbers.to_series(j).rename(f"number {j}") for j in places)])  # fmt: skip
    texts = (pl.col(f"cell {j}").filter(pl.col(f"number {j}").is_null()).drop_nulls() for j in places)
    return both.select(text.unique(maintain_order=True).head(10).implode() for text in texts).row(0) if places else ()


def _add_numbers(found: list[Profile], rows: Array) -> None:
    """Add rows (b, d) of the numbers of delimited text, NaN where missing, to the profiles of d columns."""
    whole, present = (rows == np.floor(rows)).sum(axis=0), np.isfinite(rows).sum(axis=0) + np.isinf(rows).sum(axis=0)
    for j, (column, known) in enumerate(zip(found, _summarise_rows(rows, present), strict=True)):
        column.add(len(rows), int(present[j]), known)
        column.integers &= bool(whole[j] == present[j])
        column.flags &= not present[j]
        if len(column.values) <= (column.most if column.integers else 1):  # of measurements, whether they differ
            kept = rows[:, j][~np.isnan(rows[:, j])].tolist()
            column.remember(map(int, kept) if column.integers and not known.infinite else kept[:2])


def _summarise_rows(rows: Array, present: Array) -> list[Numbers]:
    """Return a summary of each column of an array, in which NaN is missing."""
    missing = np.isnan(rows)
    with np.errstate(all="ignore"):
        least, greatest = np.where(missing, np.inf, rows).min(axis=0), np.where(missing, -np.inf, rows).max(axis=0)
        total, whole = np.nansum(rows, axis=0), (rows == np.floor(rows)).sum(axis=0)
        steps = np.diff(rows, axis=0).min(axis=0, initial=np.inf)
    between = steps.tolist() if len(rows) > 1 else [None] * len(steps)
    ends = list(zip(rows[0].tolist(), rows[-1].tolist(), between, strict=True))
    for j in np.flatnonzero(missing.any(axis=0)):  # there the first and the last are others, and so are the steps
        each = rows[~missing[:, j], j]
        ends[j] = (each[0], each[-1], float(np.diff(each).min()) if each.size > 1 else None) if each.size else ends[j]
    parts = (present, np.isinf(rows).sum(axis=0), least, greatest, total, whole)
    return [Numbers(*numbers, *end) for *numbers, end in zip(*(part.tolist() for part in parts), ends, strict=True)]


def _add_values(found: list[Profile], frame: DataFrame) -> None:
    columns = list(zip(found, frame.columns, strict=True))
    measured = [column for column, _ in columns if column.kind in NUMERIC]
    names = [name for column, name in columns if column.kind in NUMERIC]
    known = _summarise(frame.select(pl.col(names).cast(pl.Float64))) if names else []
    for column, name, numbers in zip(measured, names, known, strict=True):
        column.add(len(frame), numbers.n, numbers)
        # Files of statistics programs have floats only, also for ids and codes.
        if column.kind == ColumnKind.INTEGER or (column.kind == ColumnKind.NUMBER and numbers.whole == numbers.n):
            whole = frame[name].drop_nulls().unique(maintain_order=True)
            column.remember(whole.cast(pl.Int64, strict=False) if whole.dtype.is_float() else whole)
    for column, name in columns:
        if column.kind not in NUMERIC:
            cells = frame[name]
            column.add(len(cells), len(cells) - cells.null_count())
            # Polars cannot tell all kinds of nested values apart, so all of these are offered.
            present = cells.drop_nulls()
            column.remember(present.to_list() if cells.dtype.is_nested() else present.unique(maintain_order=True))


def _summarise(frame: DataFrame) -> list[Numbers]:
    """Return a summary of each column of floats; NaN is missing."""
    every = pl.all()
    plain = frame.select(every.fill_nan(None))
    present = every.drop_nulls()
    asked = (
        every.count(), every.is_infinite().sum(), every.min(), every.max(), every.sum(), (every == every.floor()).sum(),
        present.first(), present.last(), present.diff().min(),
    )  # fmt: skip
    return [Numbers(*each) for each in zip(*(plain.select(what).row(0) for what in asked), strict=True)]
