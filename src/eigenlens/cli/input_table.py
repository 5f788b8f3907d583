"""From the files and options of a command line to rows, with their ids, labels and weights."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse
from eigenlens.cli.advice.missing_entries import missing_mask, row_blocks
from eigenlens.cli.column_profile import profile_first_rows
from eigenlens.cli.column_roles import ColumnRoles, choose_roles
from eigenlens.cli.errors import fail, warning_line
from eigenlens.cli.files import exceeds_memory, format_size, memory_limit, remark_memory
from eigenlens.cli.guess_roles import HEAD_ROWS, GuessedRole, Role, guess_roles, role_decisions
from eigenlens.cli.model_options import takes_genotypes, takes_text
from eigenlens.cli.options import TEXT_OPTIONS, ParsingOptions, ReadingOptions, RunningOptions
from eigenlens.cli.remembered_table import (
    recall_columns,
    recall_text,
    recall_words,
    script_arguments,
    select_features,
)
from eigenlens.cli.selection import RowTest, choose_columns, find_rows, parse_row_numbers, parse_test
from eigenlens.cli.session import Session
from eigenlens.cli.table_checks import as_classes, as_weights, check_label, check_width, is_missing, reject_unlabelled
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import Selection, pl
from eigenlens.data.files.cell_formats import without_columns
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.file_parts import in_bounded_blocks, stack_frames
from eigenlens.data.files.scan import FileSource, open_files
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import ChosenRows
from eigenlens.data.source import Source
from eigenlens.tables.text_table import count_noun


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to work on.

    Attributes:
        paths: the files. source: the rows, a Source in memory where they fit; a frame where columns may be text.
        n, d: rows and columns. missing: missing entries, None while rows are in files. skipped: rows left out.
        roles: the columns by their role. beside: reads a column that is not a feature, of the rows that are kept.
        label, weight: (n,) or None; labels are classes where a model needs them.
        supplementary: (n,) which rows take no part in a fit, or None where all do.
        decisions: those about the file that nobody asked for.
        columns: what `reading_script` takes besides the files; None where rows are left out.
        files: all columns of the files. kept: which of their rows (n,) these are; None for all.
        frame_reader: reads columns of the files, of the rows of a part of a table; None for a whole one.
        scores: (n, k) of the rows, where they are known already.
        late_label: the column of `label`, where that is None because rows in files are shown part by part.
    """

    paths: tuple[Path, ...]
    source: Any
    n: int
    d: int
    missing: int | None
    skipped: int
    roles: ColumnRoles
    beside: Callable[[Any], Array]
    label: Array | None
    weight: Array | None
    supplementary: Array | None = None
    decisions: tuple[Decision, ...] = ()
    columns: dict[str, Any] | None = None
    files: FileSource | None = None
    kept: Array | None = None
    frame_reader: Callable[..., Any] | None = None
    scores: Array | None = None
    late_label: Any = None

    @property
    def words(self) -> dict[str, str]:
        """The names of the formats of features whose words are read as numbers."""
        known = {} if self.files is None else self.files.words
        return {str(name): known[str(name)] for name in self.roles.features if str(name) in known}

    @property
    def ids(self) -> Array | None:
        """(n,) the names of the rows, or None."""
        return None if self.roles.id is None else self.beside(self.roles.id)

    @property
    def classes(self) -> Array | None:
        """The column of classes that was asked for, or None; of a part of a table, those of its rows."""
        return self.label if self.late_label is None else self.beside(self.late_label)

    @property
    def labels(self) -> dict[str, Array]:
        """The columns of classes and colours, by name; the first as `label` has it."""
        first = {} if self.label is None else {str(self.roles.labels[0]): self.label}
        return first | {str(name): self.beside(name) for name in self.roles.labels[len(first) :]}

    @property
    def shown_columns(self) -> dict[str, Array]:
        """The columns that a report shows beside the features: those of `labels`, and supplementary ones."""
        return self.labels | {str(name): self.beside(name) for name in self.roles.supplementary}

    @property
    def fitted(self) -> Table:
        """The rows that take part in a fit."""
        if self.supplementary is None:
            return self
        keep = ~self.supplementary
        label, weight = (None if each is None else each[keep] for each in (self.label, self.weight))
        return replace(
            self, source=_keep_rows(self.source, keep), n=int(keep.sum()), label=label, weight=weight,
            beside=lambda name: self.beside(name)[keep], supplementary=None,
        )  # fmt: skip

    @property
    def weight_of_fit(self) -> Array | None:
        """(n,) the weights, 0 for rows that take no part in a fit; None for ones."""
        if self.supplementary is None:
            return self.weight
        return np.where(self.supplementary, 0.0, 1.0 if self.weight is None else self.weight)

    def scored(self, estimator: Any) -> Table:
        """Return the table that a report of a fitted model shows: the same, unless the rows are too wide for it."""
        return self

    @property
    def without_rows(self) -> Table:
        """The same table where it holds a covariance matrix, whose lines are not rows."""
        roles = replace(self.roles, id=None, labels=(), weight=None, supplementary=())
        return replace(self, source=None, n=0, roles=roles, label=None, weight=None, supplementary=None, columns=None)

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

    @property
    def shown_paths(self) -> str:
        """The path of the file, or the number of files."""
        return str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"

    def __str__(self) -> str:
        parts = [f"{count_noun(self.n, 'row')}, {count_noun(self.d, 'column')}"]
        if self.missing:
            entries = "1 missing entry" if self.missing == 1 else f"{self.missing:,} missing entries"
            parts.append(f"{entries} ({self.missing / (self.n * self.d):.1%})")
        parts += [f"{count_noun(self.skipped, 'row')} left out"] if self.skipped else []
        parts += ["read by blocks"] if self.missing is None else []
        return f"{self.shown_paths}: {', '.join(parts)}"


def open_input(
    paths: Sequence[str], parsing: ParsingOptions, text: Sequence[str] = (), *, mixed: bool = False, words: Any = None,
    ignore_case: Sequence[str] = (),
) -> FileSource:  # fmt: skip
    """Open all columns of the files, of whatever kind, as the options say.

    text: columns read as text. mixed: for a model that takes words as categories, though they could be numbers.
    words: how a model has read words as numbers. ignore_case: columns in which the case of letters does not matter.
    """
    text = list(dict.fromkeys(text))
    written = {name: getattr(parsing, name) for name in TEXT_OPTIONS}
    found = open_files(list(paths), text=text, words=words, ignore_case=list(ignore_case), **written)
    return found.table() if mixed else found


def column_kinds(source: FileSource) -> dict[Any, ColumnKind]:
    """Return {column: its kind}, in the order of the first file."""
    return {field.name: field.kind for field in source.fields}


def read_table(
    paths: Sequence[str], reading: ReadingOptions, running: RunningOptions, *, model: Any = None,
    need_label: bool = False, mixed: bool | None = None, guess: bool = False, genotypes: bool = False,
    fitted: Iterable[Any] = (),
) -> Table:  # fmt: skip
    """Read the rows of the files, with the columns that the options, or else the model, ask for.

    `mixed`: columns of text too; None where the model says so. `guess`: columns that nobody named have the role that
    their entries suggest; otherwise all of them are features. `genotypes`: for a model that reads them by variants.
    `fitted`: estimators that the rows are for, some of which take few columns.
    """
    if genotypes or takes_genotypes(model):
        from eigenlens.cli.genotypes.genotype_table import read_genotype_table

        return read_genotype_table(paths, reading)
    if reading.people is not None:
        fail("--people is for genotypes", "leave it out: the columns of a table are its own")
    mixed, reading = takes_text(model) if mixed is None else mixed, recall_text(reading, model, paths)
    how: dict[str, Any] = {"mixed": mixed, "words": recall_words(model, paths)}
    files = open_input(paths, reading, **how)
    text = choose_columns(reading.text, column_kinds(files), "text") or []
    files = open_input(paths, reading, text, **how) if text else files
    kinds = column_kinds(files)
    reading = recall_columns(reading, model, list(map(str, kinds)), paths)
    if reading.ignore_case:
        how["ignore_case"] = choose_columns(reading.ignore_case, kinds, "ignore_case")
        files = open_input(paths, reading, text, **how)
    if reading.id is None and files.row_names is not None:
        reading = replace(reading, id=str(files.row_names))
    tests = [parse_test(each, kinds) for each in reading.where or ()]
    # What is kept as text is a feature only of a model that takes text.
    asked, beside = (reading, []) if mixed else (replace(reading, text=None), text)
    guesses = functools.partial(_guess, files, mixed, beside, reading) if guess else None
    tested = () if mixed else [name for test in tests for name in test.columns]
    roles = choose_roles(asked, kinds, tested, model, guesses, files.decisions)
    applied = model is not None and not guess
    roles = _guess_id(files, roles, choose_columns(reading.drop, kinds, "drop") or ()) if applied else roles
    if any(kinds[name] != ColumnKind.TEXT for name in roles.text):
        files = open_input(paths, reading, [*text, *roles.text], **how)
    if need_label and not reading.label:
        reject_unlabelled(files, _suggest_labels(files, roles, beside, reading) if guess and mixed else roles, model)
    request = _Request(files, roles, tests, reading, need_label, fitted)
    return request.read(memory_limit(running, applied=applied), mixed)


def roles_of(files: FileSource, reading: ReadingOptions) -> ColumnRoles:
    """Return the roles of columns for a model that takes numbers, as the options say or as columns suggest."""
    if reading.id is None and files.row_names is not None:
        reading = replace(reading, id=str(files.row_names))
    return choose_roles(reading, column_kinds(files), (), None, functools.partial(_guess, files, False, [], reading))


def _guess(files: FileSource, mixed: bool, text: Sequence[Any], asked: ReadingOptions) -> Mapping[Any, GuessedRole]:
    """Return the roles of all columns; `text`: columns that were asked to be kept as text, which are never features."""
    found = guess_roles(profile_first_rows(files, HEAD_ROWS), mixed, [asked.id, asked.weight, *(asked.label or ())])
    kept = [name for name in text if found[name].role == Role.ACTIVE]
    return found | {name: GuessedRole(name, Role.LABEL, "kept as text", False) for name in kept}


def _suggest_labels(files: FileSource, roles: ColumnRoles, text: Sequence[Any], asked: ReadingOptions) -> ColumnRoles:
    """Return the roles with columns that may hold classes, among them text that is a feature of models that take it."""
    found = _guess(files, False, text, asked)
    return replace(roles, labels=roles.labels or tuple(name for name in found if found[name].role == Role.LABEL))


def _guess_id(files: FileSource, roles: ColumnRoles, dropped: Collection[Any]) -> ColumnRoles:
    """Return the roles with an unused column as names of the rows, where one looks like that and none is named."""
    free = [name for name in roles.unused if name not in dropped]
    if roles.id is not None or not free:
        return roles
    places = [place for place, field in enumerate(files.fields) if field.name in free]
    found = guess_roles(profile_first_rows(files.part(places), HEAD_ROWS))
    named = {name: each for name, each in found.items() if each.role == Role.ID}
    if not named:
        return roles
    unused = tuple(name for name in roles.unused if name not in named)
    decisions = (*roles.decisions, *role_decisions(named))
    return replace(roles, id=next(iter(named)), unused=unused, decisions=decisions)


def read_aloud(
    now: Session, paths: Sequence[str], reading: ReadingOptions, *, quiet: bool = False, **how: Any
) -> Table:
    """Return `read_table` of these files, with progress, and print what was read unless `quiet`."""
    with now.progress("reading"):
        table = remark_memory(read_table(paths, reading, now.running, **how), now.running)
    if not quiet:
        say_read(now, table)
    now.add_facts(read=table.facts, decisions=[warning_line(each) for each in table.decisions])
    return table


def say_read(now: Session, table: Table) -> None:
    """Print what was read, and what was decided about it."""
    now.say("read", str(table))
    now.say("note", *(warning_line(each) for each in table.decisions))


@dataclass(frozen=True)
class _Request:
    """A request to the files: columns with their roles, and the rows that pass the tests."""

    files: FileSource
    roles: ColumnRoles
    tests: list[RowTest]
    reading: ReadingOptions
    need_label: bool
    fitted: Iterable[Any] = ()

    def read(self, most: int, mixed: bool) -> Table:
        """Read the table, into memory where it takes at most `most` bytes."""
        check_width(self.fitted, len(self.roles.features))
        source, roles = self.files.select(Selection(**select_features(self.files, self.roles))), self.roles
        # Only classes and weights are needed by every command; names and colours are read where they are shown.
        in_files = exceeds_memory(source, most, mixed and source.names is not None)
        early = self.need_label or self.reading.skip_missing or not in_files
        named = roles.labels[0] if roles.labels and self.reading.label else None
        label = self.files.read_column(named) if named is not None and early else None
        check_label(label, self.reading, self.need_label)
        keep = self._passing(label)
        rows = self._load(source, most, mixed and source.names is not None)
        if self.reading.skip_missing:
            complete = np.concatenate([~missing_mask(block).any(axis=1) for block in row_blocks(rows)])
            keep = complete if keep is None else complete & keep
        if keep is not None and not keep.any():
            fix = "loosen --where or --skip-missing, or look at the columns with eigenlens info"
            fail(f"0 of the {keep.size:,} rows are left after the filters", fix, "data")
        rows = rows if keep is None else _keep_rows(rows, keep)
        return replace(self._table(rows, keep, label), late_label=None if early else named)

    def _passing(self, label: Array | None) -> Array | None:
        """Return which rows (n,) pass all tests; None where all do."""
        keeps = [find_rows(test, self.files.read_column) for test in self.tests]
        keeps += [~is_missing(label)] if self.reading.skip_missing and label is not None else []
        return np.logical_and.reduce(keeps) if keeps else None

    def _load(self, source: FileSource, most: int, mixed: bool) -> Any:
        """Return the rows in memory where they fit, as an array or a frame of mixed columns; else the files."""
        if exceeds_memory(source, most, mixed):
            return in_bounded_blocks(source.table() if mixed else source, most)
        if mixed:
            return stack_frames(source.frames())
        blocks = [dense(rows) if is_sparse(rows) else rows for rows in source.rows()]
        return ArraySource(np.concatenate(blocks), names=source.names)

    def _table(self, rows: Any, keep: Array | None, label: Array | None) -> Table:
        """Return the rows that are kept, with the columns beside them."""

        @functools.cache
        def beside(name: Any) -> Array:
            values = self.files.read_column(name)
            return values if keep is None else values[keep]

        label = label if label is None or keep is None else label[keep]
        weight = None if self.roles.weight is None else as_weights(beside(self.roles.weight), self.reading)
        missing = (
            None
            if isinstance(rows, FileSource | ChosenRows)
            else sum(int(missing_mask(block).sum()) for block in row_blocks(rows))
        )
        n = int(rows.n_rows or 0) if isinstance(rows, Source) else len(rows)
        skipped = 0 if keep is None else int(keep.size - keep.sum())
        return Table(
            self.files.given, rows, n, len(self.roles.features), missing, skipped, self.roles, beside,
            as_classes(label, self.reading) if self.need_label else label, weight,
            self._supplementary(keep, n), self._decisions, self._reading(), self.files, keep,
        )  # fmt: skip

    @property
    def _decisions(self) -> tuple[Decision, ...]:
        """The decisions about the files and the roles, of columns that are used."""
        beside, features = ({str(name) for name in names} for names in (self.roles.beside, self.roles.features))
        # Words of a column of classes stay words.
        known = without_columns(self.files.decisions, beside & set(self.files.words))
        # What was left out without being asked for may be so for a reason that the file shows.
        guessed = {name for each in self.roles.decisions for name in each.columns}
        about = (
            each
            for each in known
            if not each.columns or set(each.columns) & (beside | features | (guessed if each.surprising else set()))
        )
        return (*about, *self.roles.decisions)

    def _supplementary(self, keep: Array | None, n: int) -> Array | None:
        """Return which of the rows (n,) that are kept take no part in a fit; None where all do."""
        words = self.reading.supplementary_rows
        if not words:
            return None
        kinds, found = column_kinds(self.files), np.zeros(n if keep is None else keep.size, dtype=bool)
        for word in words:
            places = parse_row_numbers(word, found.size)
            found |= find_rows(parse_test(word, kinds), self.files.read_column) if places is None else places
        found = found if keep is None else found[keep]
        if found.all():
            fail("--supplementary-rows leaves no row to fit", "name fewer", "data")
        return found if found.any() else None

    def _reading(self) -> dict[str, Any] | None:
        """Return what a script that reads the same needs; None where rows are left out."""
        if self.tests or self.reading.skip_missing or self.reading.supplementary_rows:
            return None
        return script_arguments(self.files, self.roles, self.reading)


def _keep_rows(rows: Any, keep: Array) -> Any:
    if isinstance(rows, ArraySource):
        return ArraySource(rows.array[keep], names=rows.names)
    return ChosenRows(rows, np.flatnonzero(keep)) if isinstance(rows, Source) else rows.filter(keep)
