"""From the files and options of a command line to rows, with their ids, labels and weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.app.cli.columns import column_kinds, text_names
from eigenlens.app.cli.decimal_commas import DecimalCommaReader
from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.frames import gaps, plain, read_frame, typed
from eigenlens.app.cli.kept import KeptRows, parse_test, passes
from eigenlens.app.cli.options import Parsing, Reading, Running
from eigenlens.app.cli.ragged import refuse_ragged
from eigenlens.app.cli.roles import as_classes, as_weights, check_label, gaps_of
from eigenlens.app.cli.selecting import chosen
from eigenlens.app.cli.sniffing import Text, is_text, sniff
from eigenlens.app.cli.words import counted
from eigenlens.app.cli.writing import in_words
from eigenlens.arrays import Array
from eigenlens.data.columns import Selection
from eigenlens.data.files import FileSource, scan
from eigenlens.data.frames import as_array, same_columns
from eigenlens.data.memory import ArraySource
from eigenlens.data.mixed_rows import MixedRows
from eigenlens.data.paths import Stamp, expand
from eigenlens.data.source import Source
from eigenlens.kernels.memory import available_memory

__all__ = ["Table", "check_text", "read_table"]

BYTES_PER_CHARACTER = {True: 40, False: 4}
"""What the numbers of a text file take in memory at most, by its size; compressed or not."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows to work on.

    Attributes:
        paths: the files. source: the rows, a Source in memory where they fit; a frame where columns may be text.
        n, d: rows and columns. missing: missing entries, None while rows are in files. skipped: rows left out.
        ids, label, weight: (n,) or None. unused: columns of the file that play no part.
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

    @property
    def rows(self) -> Array:
        """(n, d) the rows as one array."""
        if self.missing is None:
            size = self.n * self.d * self.source.dtype.itemsize
            refuse(
                f"this needs all {self.n:,} rows in memory ({in_words(size)})",
                "raise --max-memory, or take fewer rows with --where, or fewer columns with --columns",
                "resources",
            )
        return np.asarray(self.source.array)

    @property
    def facts(self) -> dict[str, Any]:
        """The same as `str`, for --json."""
        counts = {"rows": self.n, "columns": self.d, "missing": self.missing, "skipped": self.skipped}
        return {"files": self.paths} | counts

    def __str__(self) -> str:
        files = str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"
        parts = [f"{counted(self.n, 'row')}, {counted(self.d, 'column')}"]
        if self.missing:
            parts.append(f"{self.missing:,} missing entries ({self.missing / (self.n * self.d):.1%})")
        parts += [f"{counted(self.skipped, 'row')} left out"] if self.skipped else []
        parts += ["too large for memory, read by blocks"] if self.missing is None else []
        return f"{files}: {', '.join(parts)}"


def read_table(
    paths: Sequence[str],
    reading: Reading,
    running: Running,
    *,
    model: Any = None,
    need_label: bool = False,
    mixed: bool = False,
) -> Table:
    """The rows of the files, with the columns that the options, or else the model, ask for; `mixed`: text too."""
    files = expand(list(paths))
    text = sniff(files[0], reading) if is_text(files[0]) else None
    check_text(files, text, reading)
    kinds = column_kinds(files[0], text)
    tests = [parse_test(each) for each in reading.where or ()]
    roles = {role: _one(getattr(reading, role), kinds, role) for role in ("id", "label", "weight")}
    features = _features(reading, kinds, roles, [] if mixed else tests, model)
    array = files[0].suffix.lower() == ".npy"
    if mixed and not array and _size(files, text) <= _most(running):
        return _mixed_table(files, text, features, roles, tests, reading, need_label)
    columns = _Columns(files, text, features, reading)
    source = columns.source()
    extra = {role: None if name is None else columns.read(name) for role, name in roles.items()}
    check_label(extra["label"], reading, need_label)
    keep = _kept(columns, tests, kinds, extra["label"])
    held: Source = (
        _streamed_table(source, text, running, files) if mixed and not array else _held(source, text, files, running)
    )
    held, keep = _without_gaps(held, keep) if reading.skip_missing else (held, keep)
    unused = tuple(name for name in kinds if name not in features and name not in roles.values())
    return _table(files, held, keep, extra, unused, reading, need_label)


def _table(
    files: tuple[Path, ...],
    held: Source,
    keep: Array | None,
    extra: dict[str, Any],
    unused: tuple[Any, ...],
    reading: Reading,
    need_label: bool,
) -> Table:
    whole = held
    if keep is not None:
        _require_rows(keep)
        extra = {role: None if values is None else values[keep] for role, values in extra.items()}
        whole = KeptRows(held, keep) if not isinstance(held, _Rows) else _Rows(held.array[keep], held.names)
    skipped = 0 if keep is None else int(keep.size - keep.sum())
    missing = int(np.isnan(whole.array).sum()) if isinstance(whole, _Rows) else None
    n = len(whole.array) if isinstance(whole, _Rows) else int(whole.n_rows or 0)
    weight = None if extra["weight"] is None else as_weights(extra["weight"], reading)
    label = as_classes(extra["label"], reading) if need_label else extra["label"]
    return Table(files, whole, n, whole.n_features, missing, skipped, extra["id"], label, weight, unused)


def _mixed_table(
    files: tuple[Path, ...],
    text: Text | None,
    features: list[Any],
    roles: dict[str, Any],
    tests: list[Any],
    reading: Reading,
    need_label: bool,
) -> Table:
    """Columns of numbers and of text, as one frame in memory."""
    whole = read_frame(files, text)
    extra = {role: None if name is None else as_array(plain(whole, text, name)) for role, name in roles.items()}
    check_label(extra["label"], reading, need_label)
    X = typed(whole, text, features)
    keep = np.ones(len(X), dtype=bool)
    for name, comparison, value in tests:
        column = _one(name, dict.fromkeys(whole.columns, ""), "where")
        keep &= passes(as_array(typed(whole, text, [column])[column]), comparison, value)
    holes = np.column_stack([gaps(each) for each in X.iter_columns()])
    if reading.skip_missing:
        keep &= ~holes.any(axis=1) & (True if extra["label"] is None else ~gaps_of(extra["label"]))
    _require_rows(keep)
    extra = {role: None if values is None else values[keep] for role, values in extra.items()}
    n, unused = int(keep.sum()), tuple(name for name in whole.columns if name not in {*features, *roles.values()})
    weight = None if extra["weight"] is None else as_weights(extra["weight"], reading)
    label = as_classes(extra["label"], reading) if need_label else extra["label"]
    return Table(
        files, X.filter(keep), n, len(features), int(holes[keep].sum()), keep.size - n, extra["id"], label, weight,
        unused,
    )  # fmt: skip


def _require_rows(keep: Array) -> None:
    if not keep.any():
        fix = "loosen --where or --skip-missing, or look at the columns with eigenlens info"
        refuse(f"0 of the {keep.size:,} rows are left after the filters", fix, "data")


class _Rows(ArraySource):
    """Rows of files that are held in memory, with their columns' names."""

    def __init__(self, X: Array, names: tuple[str, ...] | None) -> None:
        super().__init__(X, names=names)


@dataclass(frozen=True)
class _Columns:
    """The files, as features or column by column."""

    files: tuple[Path, ...]
    text: Text | None
    features: list[Any]
    reading: Reading

    def source(self, label: Any = None) -> FileSource:
        features = [name for name in self.features if name != label]
        if self.text is None:
            return scan(self.files, columns=features, label=label)
        how: dict[str, Any] = {"na": self.text.na, "separator": self.text.separator, "header": self.text.header}
        if self.text.decimal == ".":
            return scan(self.files, columns=features, label=label, **how)
        selection = Selection(columns=features, label=label)
        stamps = tuple(Stamp.of(path) for path in self.files)
        return FileSource(stamps, DecimalCommaReader(self.files, selection, **how), selection)

    def read(self, name: Any) -> Array:
        """One whole column (n,)."""
        if self.features == [name]:
            return np.concatenate([rows[:, 0] for rows in self.source().rows()])
        return self.source(label=name).read_label()


def check_text(files: Sequence[Path], text: Text | None, reading: Parsing) -> None:
    """Refuse text that is no table, and options of text where there is none."""
    other = next((path for path in files if is_text(path) != (text is not None)), None)
    if other is not None:
        refuse(f"'{other}' and '{files[0]}' are of different formats", "give files of one format", "data")
    if text is None:
        _refuse_text_options(files[0], reading)
        return
    names = text_names(files[0], text)
    same_columns(files, [text_names(path, text) for path in files], ordered=False)
    for name, times in Counter(names).items():
        if times > 1:
            fix = "rename them, so that each has its own name"
            refuse(f"'{files[0]}' has {times} columns named '{name}'", fix, "data")
    for path in files:
        refuse_ragged(path, text, len(names))


def _refuse_text_options(path: Path, reading: Parsing) -> None:
    """Refuse options of delimited text where a file is none."""
    given = [name for name in ("na", "separator", "decimal", "header") if getattr(reading, name) not in (None, [])]
    if given:
        flag = "--no-header" if given[0] == "header" and not reading.header else f"--{given[0]}"
        refuse(f"{flag} is an option of delimited text, and '{path}' is none", "leave it out")


def _one(name: str | None, kinds: Mapping[Any, str], option: str) -> Any:
    if name is None:
        return None
    found = chosen([name], kinds, option) or []
    if len(found) != 1:
        refuse(f"--{option} {name} names {len(found)} columns", "name one")
    return found[0]


def _features(
    reading: Reading, kinds: Mapping[Any, str], roles: dict[str, Any], tests: Iterable[Any], model: Any
) -> list[Any]:
    """The columns to work on: those asked for, or the model's, or all; less those dropped or with another role."""
    wanted = chosen(reading.columns, kinds, "columns")
    known = getattr(model, "feature_names_in_", None)
    if known is not None and str in {type(name) for name in kinds}:
        return _of_model(list(known), kinds, model, wanted)
    dropped = set(chosen(reading.drop, kinds, "drop") or ()) | {name for name in roles.values() if name is not None}
    # A column of text that only says which rows to keep need not be dropped by hand.
    dropped |= {name for name, _, _ in tests if kinds.get(name) == "text"}
    left = [name for name in (kinds if wanted is None else wanted) if name not in dropped]
    if not left:
        refuse("no column is left to work on", "drop fewer, or see the columns with eigenlens info", "data")
    return left


def _of_model(known: list[str], kinds: Mapping[Any, str], model: Any, wanted: list[Any] | None) -> list[str]:
    """The columns of the model, in its order; others that are asked for are refused."""
    if wanted is not None and set(wanted) != set(known):
        what = f"--columns names {', '.join(map(str, wanted[:5]))}, and the model was fitted on {', '.join(known[:5])}"
        refuse(what, "leave out --columns: a model finds its columns by their names", "data")
    lacking = [name for name in known if name not in kinds]
    if lacking:
        listed = ", ".join(f"'{name}'" for name in lacking[:5]) + (", …" if len(lacking) > 5 else "")
        called = f"{model.called} were" if hasattr(model, "called") else f"{type(model).__name__} was"
        refuse(
            f"the file lacks {len(lacking)} of the {len(known)} columns that the {called} fitted on: {listed}",
            f"rename its columns, or fit a model to it; it has {', '.join(map(str, list(kinds)[:5]))}",
            "data",
        )
    return known


def _kept(columns: _Columns, tests: list[Any], kinds: Mapping[Any, str], label: Array | None) -> Array | None:
    """Which rows (n,) pass all tests; None where all do."""
    keep = None
    for name, comparison, value in tests:
        one = passes(columns.read(_one(name, kinds, "where")), comparison, value)
        keep = one if keep is None else keep & one
    if columns.reading.skip_missing and label is not None:
        keep = ~gaps_of(label) if keep is None else keep & ~gaps_of(label)
    return keep


def _held(source: FileSource, text: Text | None, files: tuple[Path, ...], running: Running) -> Source:
    """The rows in memory where they fit into what they may take, else the files."""
    rows = source.n_rows * source.n_features * source.dtype.itemsize if text is None else _size(files, text)
    return source if rows > _most(running) else _Rows(np.concatenate(list(source.rows())), source.names)


def _streamed_table(source: FileSource, text: Text | None, running: Running, files: tuple[Path, ...]) -> Source:
    """Columns of numbers and of text that are too large for memory, by blocks."""
    if text is not None and text.decimal == ",":  # cells of text would lose their commas
        size, most = in_words(_size(files, text)), in_words(_most(running))
        what = (
            f"text columns beside numbers with decimal commas are held whole, which takes {size}, and {most} are free"
        )
        refuse(what, "raise --max-memory, or write the numbers with points", "resources")
    return source.table()


def _most(running: Running) -> int:
    given = running.max_memory
    return available_memory() // 4 if given is None else checks.memory("max_memory", given)


def _size(files: tuple[Path, ...], text: Text | None) -> int:
    """What the files may take in memory, by their size on disk."""
    many = {path: BYTES_PER_CHARACTER[path.suffix.lower() == ".gz"] if text is not None else 4 for path in files}
    return sum(path.stat().st_size * times for path, times in many.items())


def _without_gaps(source: Source, keep: Array | None) -> tuple[Source, Array]:
    whole = np.concatenate([~_with_gaps(rows) for rows in source.rows()])
    return source, whole if keep is None else whole & keep


def _with_gaps(rows: Any) -> Array:
    """Which rows (b,) of a block, of numbers or of numbers and levels, have a missing entry."""
    if not isinstance(rows, MixedRows):
        return np.asarray(np.isnan(rows).any(axis=1))
    return np.asarray(np.isnan(rows.numbers).any(axis=1) | (rows.codes < 0).any(axis=1))
