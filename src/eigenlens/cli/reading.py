"""From the files and options of a command line to rows, with their ids, labels and weights."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.commands.apply import class_name
from eigenlens.cli.errors import fail
from eigenlens.cli.features import Parts, one_column, parts_of
from eigenlens.cli.frames import gaps, plain, read_frame, typed
from eigenlens.cli.kept import KeptRows, parse_test, passes
from eigenlens.cli.opening import Opened, memory_limit, opened
from eigenlens.cli.options import ReadingOptions, RunningOptions
from eigenlens.cli.other_numbers import OtherNumbers
from eigenlens.cli.output_files import format_size
from eigenlens.cli.roles import as_classes, as_weights, check_label, gaps_of
from eigenlens.cli.scripts import reading_script
from eigenlens.cli.tables import HeldRows, Table
from eigenlens.data.files.columns import Selection
from eigenlens.data.files.paths import Stamp
from eigenlens.data.files.polars import as_array
from eigenlens.data.files.scan import FileSource, scan
from eigenlens.data.source import Source
from eigenlens.data.table import MixedRows

__all__ = ["read_table"]


def read_table(
    paths: Sequence[str],
    reading: ReadingOptions,
    running: RunningOptions,
    *,
    model: Any = None,
    need_label: bool = False,
    mixed: bool = False,
) -> Table:
    """The rows of the files, with the columns that the options, or else the model, ask for; `mixed`: text too."""
    if reading.text and not mixed:
        fail("--text is for nb, the only model that takes categories", "leave it out")
    found = opened(paths, reading)
    tests = [parse_test(each) for each in reading.where or ()]
    parts = parts_of(reading, found.kinds, [] if mixed else tests, model)
    wanted = _Wanted(found, parts, tests, reading, need_label)
    if need_label and reading.label is None:
        _refuse_unlabelled(wanted, model)
    most = memory_limit(running)
    if mixed and not found.is_array and found.size <= most:
        return _mixed_table(wanted)
    return _streamed(wanted, most, levels=mixed and not found.is_array)


@dataclass(frozen=True)
class _Wanted:
    """What is wanted of the files: columns with their parts, and the rows that pass the tests."""

    opened: Opened
    parts: Parts
    tests: list[Any]
    reading: ReadingOptions
    need_label: bool

    def source(self, label: Any = None) -> FileSource:
        """The features, and beside them one column."""
        files, text = self.opened.files, self.opened.text
        features = [name for name in self.parts.features if name != label]
        which = self._which(features, label) | {"label": label}
        if text is None or self._is_plain:
            return scan(files, **which, **self._how(features))
        selection = Selection(**which)
        stamps = tuple(Stamp.of(path) for path in files)
        how = self._how(features) | {"decimal": text.decimal, "thousands": text.thousands}
        return FileSource(stamps, OtherNumbers(files, selection, **how), selection)

    @property
    def _is_plain(self) -> bool:
        """Whether numbers are written as `scan` reads them."""
        text = self.opened.text
        return text is None or (text.decimal == "." and not text.thousands)

    def _how(self, features: list[Any]) -> dict[str, Any]:
        """How text is written, as `scan` is told."""
        text, levels = self.opened.text, set(self.parts.levels)
        if text is None:
            return {}
        how = {"na": text.na, "separator": text.separator, "header": text.header, "encoding": text.encoding}
        return how | {"text": [name for name in features if name in levels]}

    def _which(self, features: list[Any], *beside: Any) -> dict[str, Any]:
        """The features as `scan` is told, in the fewest names: those left out, if the others stand as in the file."""
        wanted = set(features)
        others = [name for name in self.opened.kinds if name not in wanted and name not in beside]
        ordered = [name for name in self.opened.kinds if name in wanted] == features
        return {"drop": others} if ordered and len(others) < len(features) else {"columns": features}

    def script(self) -> str:
        """Python that reads the same; "" where rows are left out, or numbers are not as `scan` reads them."""
        if self.tests or self.reading.skip_missing or not self._is_plain:
            return ""
        features, roles = self.parts.features, self.parts.roles
        which = self._which(features, roles["id"], roles["label"])
        return reading_script(self.opened.files, features, which, self._how(features), roles)

    def read(self, name: Any) -> Array:
        """One whole column (n,)."""
        if self.parts.features == [name]:
            return np.concatenate([rows[:, 0] for rows in self.source().rows()])
        return self.source(label=name).read_label()

    def table(self, rows: Any, keep: Array | None, missing: int | None, extra: dict[str, Any], n: int) -> Table:
        """The rows that are kept, with what stands beside them."""
        if keep is not None:
            extra = {role: None if values is None else values[keep] for role, values in extra.items()}
        skipped = 0 if keep is None else int(keep.size - keep.sum())
        weight = None if extra["weight"] is None else as_weights(extra["weight"], self.reading)
        label = as_classes(extra["label"], self.reading) if self.need_label else extra["label"]
        d, unused = len(self.parts.features), self.parts.unused
        return Table(self.opened.files, rows, n, d, missing, skipped, extra["id"], label, weight, unused, self.script())


def _refuse_unlabelled(wanted: _Wanted, model: Any) -> NoReturn:
    """Refuse rows whose classes nobody has named; where a column has no entry but the model's classes, it is."""
    known = {class_name(each) for each in np.asarray(getattr(model, "classes_", ())).tolist()}
    for name in wanted.parts.unused if known else ():
        if {class_name(each) for each in set(wanted.read(name).tolist())} <= known:
            what = f"no column of classes is named, and '{name}' has those of the model in every row"
            fail(what, f"add --label {shlex.quote(str(name))}")
    fail("this model learns classes, and no column of classes is named", "add --label COLUMN")


# ---- numbers, in memory or in files ---------------------------------------------------------------------------


def _streamed(wanted: _Wanted, most: int, levels: bool) -> Table:
    source = wanted.source()
    extra = {role: None if name is None else wanted.read(name) for role, name in wanted.parts.roles.items()}
    check_label(extra["label"], wanted.reading, wanted.need_label)
    keep = _passing(wanted, extra["label"])
    held: Source = _levels(source, wanted.opened, most) if levels else _held(source, wanted.opened, most)
    if wanted.reading.skip_missing:
        whole = np.concatenate([~_with_gaps(rows) for rows in held.rows()])
        keep = whole if keep is None else whole & keep
    if keep is not None:
        _require_rows(keep)
        held = HeldRows(held.array[keep], held.names) if isinstance(held, HeldRows) else KeptRows(held, keep)
    if isinstance(held, HeldRows):
        return wanted.table(held, keep, int(np.isnan(held.array).sum()), extra, len(held.array))
    return wanted.table(held, keep, None, extra, int(held.n_rows or 0))


def _passing(wanted: _Wanted, label: Array | None) -> Array | None:
    """Which rows (n,) pass all tests; None where all do."""
    keep = None
    for name, comparison, value in wanted.tests:
        one = passes(wanted.read(one_column(name, wanted.opened.kinds, "where")), comparison, value)
        keep = one if keep is None else keep & one
    if wanted.reading.skip_missing and label is not None:
        keep = ~gaps_of(label) if keep is None else keep & ~gaps_of(label)
    return keep


def _held(source: FileSource, found: Opened, most: int) -> Source:
    """The rows in memory where they fit into what they may take, else the files."""
    size = source.n_rows * source.n_features * source.dtype.itemsize if found.text is None else found.size
    return source if size > most else HeldRows(np.concatenate(list(source.rows())), source.names)


def _levels(source: FileSource, found: Opened, most: int) -> Source:
    """Columns of numbers and of text that are too large for memory, by blocks."""
    if found.text is not None and (found.text.decimal == "," or found.text.thousands):  # cells of text would lose them
        size, free = format_size(found.size), format_size(most)
        what = f"text columns beside numbers with such signs are held whole, which takes {size}, and {free} are free"
        fail(what, "raise --max-memory, or write the numbers as 1234.5", "resources")
    return source.table()


def _with_gaps(rows: Any) -> Array:
    """Which rows (b,) of a block, of numbers or of numbers and levels, have a missing entry."""
    if not isinstance(rows, MixedRows):
        return np.asarray(np.isnan(rows).any(axis=1))
    return np.asarray(np.isnan(rows.numbers).any(axis=1) | (rows.codes < 0).any(axis=1))


# ---- numbers and text in memory -------------------------------------------------------------------------------


def _mixed_table(wanted: _Wanted) -> Table:
    """Columns of numbers and of text, as one frame in memory."""
    text, parts, reading = wanted.opened.text, wanted.parts, wanted.reading
    whole = read_frame(wanted.opened.files, text)
    extra = {role: None if name is None else as_array(plain(whole, text, name)) for role, name in parts.roles.items()}
    check_label(extra["label"], reading, wanted.need_label)
    X = typed(whole, text, parts.features, parts.levels)
    keep = np.ones(len(X), dtype=bool)
    for name, comparison, value in wanted.tests:
        column = one_column(name, dict.fromkeys(whole.columns, ""), "where")
        keep &= passes(as_array(plain(whole, text, column)), comparison, value)
    holes = np.column_stack([gaps(each) for each in X.iter_columns()])
    if reading.skip_missing:
        keep &= ~holes.any(axis=1) & (True if extra["label"] is None else ~gaps_of(extra["label"]))
    _require_rows(keep)
    return wanted.table(X.filter(keep), keep, int(holes[keep].sum()), extra, int(keep.sum()))


def _require_rows(keep: Array) -> None:
    if not keep.any():
        fix = "loosen --where or --skip-missing, or look at the columns with eigenlens info"
        fail(f"0 of the {keep.size:,} rows are left after the filters", fix, "data")
