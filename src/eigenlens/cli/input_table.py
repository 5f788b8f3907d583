"""From the files and options of a command line to rows, with their ids, labels and weights."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import fail
from eigenlens.cli.files import format_size
from eigenlens.cli.model_options import takes_text
from eigenlens.cli.options import TEXT_OPTIONS, ParsingOptions, ReadingOptions, RunningOptions
from eigenlens.cli.selection import ColumnRoles, RowTest, choose_roles, find_rows, parse_test
from eigenlens.cli.session import Session
from eigenlens.cli.table_checks import as_classes, as_weights, check_label, is_missing
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import Selection, pl
from eigenlens.data.files.decode import COMPRESSED
from eigenlens.data.files.scan import FileSource, open_files
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import ChosenRows
from eigenlens.data.source import Source
from eigenlens.data.table import MixedRows
from eigenlens.tables.text_table import count_noun

BYTES_PER_BYTE, BYTES_PER_COMPRESSED = 4, 40
"""The memory that the numbers of a file take at most, for each byte on disk."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to work on.

    Attributes:
        paths: the files. source: the rows, a Source in memory where they fit; a frame where columns may be text.
        n, d: rows and columns. missing: missing entries, None while rows are in files. skipped: rows left out.
        ids, label, weight: (n,) or None. unused: columns of the file without a role.
        columns: what `reading_script` takes besides the files; None where rows are left out.
    """

    paths: tuple[Path, ...]
    source: Any
    n: int
    d: int
    missing: int | None
    skipped: int
    ids: Array | None
    label: Array | None
    weight: Array | None
    unused: tuple[Any, ...]
    columns: dict[str, Any] | None = None

    @property
    def script(self) -> str:
        """Python that reads the rows again; "" where it is not known."""
        from eigenlens.reporting.code import reading_script

        return "" if self.columns is None else reading_script(self.paths, **self.columns)

    @property
    def rows(self) -> Array:
        """(n, d) the rows as one array."""
        self.require_in_memory()
        return np.asarray(self.source.array)

    def require_in_memory(self) -> None:
        """Raise where the rows have stayed in their files."""
        if self.missing is None:
            size = self.n * self.d * self.source.dtype.itemsize
            fix = "raise --max-memory, or take fewer rows with --where, or fewer columns with --columns"
            fail(f"this needs all {self.n:,} rows in memory ({format_size(size)})", fix, "resources")

    @property
    def named_rows(self) -> Any:
        """(n, d) the rows as one array, or as a frame where the columns have names: for warnings that name them."""
        if not isinstance(self.source, Source):  # a frame, in which columns may be text
            return self.source
        X = self.rows
        return X if self.source.names is None else pl.DataFrame(X, schema=list(self.source.names))

    @property
    def facts(self) -> dict[str, Any]:
        """The same as `str`, for --json."""
        counts = {"rows": self.n, "columns": self.d, "missing": self.missing, "skipped": self.skipped}
        return {"files": self.paths} | counts

    def __str__(self) -> str:
        files = str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"
        parts = [f"{count_noun(self.n, 'row')}, {count_noun(self.d, 'column')}"]
        if self.missing:
            parts.append(f"{self.missing:,} missing entries ({self.missing / (self.n * self.d):.1%})")
        parts += [f"{count_noun(self.skipped, 'row')} left out"] if self.skipped else []
        parts += ["too large for memory, read by blocks"] if self.missing is None else []
        return f"{files}: {', '.join(parts)}"


def open_input(paths: Sequence[str], parsing: ParsingOptions, text: Sequence[str] = ()) -> FileSource:
    """Open all columns of the files, of whatever kind, as the options say; `text`: columns read as text."""
    return open_files(list(paths), text=text, **{name: getattr(parsing, name) for name in TEXT_OPTIONS})


def column_kinds(source: FileSource) -> dict[Any, ColumnKind]:
    """Return {column: its kind}, in the order of the first file."""
    return {field.name: field.kind for field in source.fields}


def memory_limit(running: RunningOptions, share: int = 4) -> int:
    """Return the memory that rows may take: what the options say, or else a share of what is free."""
    from eigenlens import checks
    from eigenlens.resources import available_memory

    given = running.max_memory
    if given is None:
        return available_memory() // share
    return checks.memory("max_memory", int(given) if given.strip().isdecimal() else given)


def read_table(
    paths: Sequence[str],
    reading: ReadingOptions,
    running: RunningOptions,
    *,
    model: Any = None,
    need_label: bool = False,
    mixed: bool | None = None,
) -> Table:
    """Read the rows of the files, with the columns that the options, or else the model, ask for.

    `mixed`: columns of text too; None where the model says so.
    """
    mixed = takes_text(model) if mixed is None else mixed
    if reading.text and not mixed:
        fail("--text is for nb, the only model that takes categories", "leave it out")
    files = open_input(paths, reading)
    kinds = column_kinds(files)
    tests = [parse_test(each, kinds) for each in reading.where or ()]
    filters = () if mixed else [name for test in tests for name in test.columns]
    roles = choose_roles(reading, kinds, filters, model)
    if any(kinds[name] != ColumnKind.TEXT for name in roles.text):
        files = open_input(paths, reading, roles.text)
    request = _Request(files, roles, tests, reading, need_label)
    if need_label and reading.label is None:
        _reject_unlabelled(request, model)
    return request.read(memory_limit(running), mixed)


def read_aloud(
    now: Session, paths: Sequence[str], reading: ReadingOptions, *, quiet: bool = False, **how: Any
) -> Table:
    """Return `read_table` of these files, with progress, and print what was read unless `quiet`."""
    with now.progress("reading"):
        table = read_table(paths, reading, now.running, **how)
    if not quiet:
        now.say("read", str(table))
    now.add_facts(read=table.facts)
    return table


@dataclass(frozen=True)
class _Request:
    """A request to the files: columns with their roles, and the rows that pass the tests."""

    files: FileSource
    roles: ColumnRoles
    tests: list[RowTest]
    reading: ReadingOptions
    need_label: bool

    def read(self, most: int, mixed: bool) -> Table:
        """Read the table, into memory where it takes at most `most` bytes."""
        source = self.files.select(Selection(**self._selection()))
        beside = {role: None if n is None else self.files.read_column(n) for role, n in self.roles.beside.items()}
        check_label(beside["label"], self.reading, self.need_label)
        keep = self._passing(beside["label"])
        rows = self._load(source, most, mixed and source.names is not None)
        if self.reading.skip_missing:
            complete = np.concatenate([~_has_missing(block) for block in _blocks(rows)])
            keep = complete if keep is None else complete & keep
        if keep is not None and not keep.any():
            fix = "loosen --where or --skip-missing, or look at the columns with eigenlens info"
            fail(f"0 of the {keep.size:,} rows are left after the filters", fix, "data")
        rows = rows if keep is None else _keep_rows(rows, keep)
        return self._table(rows, keep, beside)

    def _selection(self) -> dict[str, Any]:
        """Return the features in the fewest names: those left out, if the others are in the order of the file."""
        features, kinds = self.roles.features, column_kinds(self.files)
        wanted, named = set(features), (self.roles.beside["id"], self.roles.beside["label"])
        others = [name for name in kinds if name not in wanted and name not in named]
        ordered = [name for name in kinds if name in wanted] == features
        which = {"drop": others} if ordered and len(others) < len(features) else {"columns": features}
        return which | {role: name for role, name in zip(("id", "label"), named, strict=True) if name not in wanted}

    def _passing(self, label: Array | None) -> Array | None:
        """Return which rows (n,) pass all tests; None where all do."""
        keeps = [find_rows(test, self.files.read_column) for test in self.tests]
        keeps += [~is_missing(label)] if self.reading.skip_missing and label is not None else []
        return np.logical_and.reduce(keeps) if keeps else None

    def _load(self, source: FileSource, most: int, mixed: bool) -> Any:
        """Return the rows in memory where they fit, as an array or a frame of mixed columns; else the files."""
        text = source.dialect is not None
        if mixed and self._size <= most:
            return pl.concat(list(source.frames()), how="vertical_relaxed")
        size = self._size if text else source.n_rows * source.n_features * source.dtype.itemsize
        if mixed or size > most:
            return source.table() if mixed else source
        return ArraySource(np.concatenate(list(source.rows())), names=source.names)

    @property
    def _size(self) -> int:
        """The memory that the files may take, by their size on disk."""
        each = {True: BYTES_PER_COMPRESSED, False: BYTES_PER_BYTE}
        return sum(path.stat().st_size * each[path.suffix.lower() in COMPRESSED] for path in self.files.paths)

    def _table(self, rows: Any, keep: Array | None, beside: dict[str, Any]) -> Table:
        """Return the rows that are kept, with the columns beside them."""
        if keep is not None:
            beside = {role: None if values is None else values[keep] for role, values in beside.items()}
        skipped = 0 if keep is None else int(keep.size - keep.sum())
        weight = None if beside["weight"] is None else as_weights(beside["weight"], self.reading)
        label = as_classes(beside["label"], self.reading) if self.need_label else beside["label"]
        missing = (
            None
            if isinstance(rows, FileSource | ChosenRows)
            else sum(int(_missing(block).sum()) for block in _blocks(rows))
        )
        n = int(rows.n_rows or 0) if isinstance(rows, Source) else len(rows)
        d, unused = len(self.roles.features), self.roles.unused
        return Table(
            self.files.given, rows, n, d, missing, skipped, beside["id"], label, weight, unused, self._reading()
        )

    def _reading(self) -> dict[str, Any] | None:
        """Return what a script that reads the same needs; None where rows are left out."""
        if self.tests or self.reading.skip_missing:
            return None
        which, roles = self._selection(), self.roles
        return {"features": roles.features, "which": which, "how": self._written(), "roles": roles.beside}

    def _written(self) -> dict[str, Any]:
        """Return the text format options, as `scan` takes them."""
        dialect = self.files.dialect
        if dialect is None:
            return {}
        decimal = None if dialect.numbers.is_plain else dialect.numbers.decimal
        comment = dialect.comment if dialect.comment_everywhere else None
        return dialect.settings | {"decimal": decimal, "comment": comment, "text": self.roles.text}


def _reject_unlabelled(request: _Request, model: Any) -> NoReturn:
    """Raise where no column of classes is named; a column with no entry but the model's classes is suggested."""
    from eigenlens.bayes.tables import class_codes

    classes = getattr(model, "classes_", None)
    for name in () if classes is None else request.roles.unused:
        if np.all(class_codes(classes, request.files.read_column(name)) >= 0):
            what = f"no column of classes is named, and '{name}' has those of the model in every row"
            fail(what, f"add --label {shlex.quote(str(name))}")
    fail("this model learns classes, and no column of classes is named", "add --label COLUMN")


def _blocks(rows: Any) -> Any:
    return rows.rows() if isinstance(rows, Source) else [rows]


def _has_missing(rows: Any) -> Array:
    """Return which rows (b,) of a block, of numbers, of numbers and categories, or of a frame, have a missing entry."""
    if isinstance(rows, MixedRows):
        return np.asarray(np.isnan(rows.numbers).any(axis=1) | (rows.codes < 0).any(axis=1))
    return np.asarray(_missing(rows).any(axis=1))


def _missing(rows: Any) -> Array:
    if isinstance(rows, np.ndarray):
        return np.asarray(np.isnan(rows))
    columns = (c.fill_nan(None) if c.dtype.is_float() else c for c in rows.iter_columns())
    return np.column_stack([np.asarray(column.is_null()) for column in columns])


def _keep_rows(rows: Any, keep: Array) -> Any:
    if isinstance(rows, ArraySource):
        return ArraySource(rows.array[keep], names=rows.names)
    return ChosenRows(rows, np.flatnonzero(keep)) if isinstance(rows, Source) else rows.filter(keep)
