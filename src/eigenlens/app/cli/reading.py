"""From the files and options of a command line to rows, with their ids, labels and weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.app.cli.columns import column_kinds
from eigenlens.app.cli.decimal_commas import DecimalCommaReader
from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.frames import gaps, read_frame, typed
from eigenlens.app.cli.kept import KeptRows, parse_test, passes
from eigenlens.app.cli.options import Reading, Running
from eigenlens.app.cli.selecting import chosen
from eigenlens.app.cli.sniffing import Text, is_text, sniff
from eigenlens.arrays import Array
from eigenlens.data.columns import Selection
from eigenlens.data.files import FileSource, scan
from eigenlens.data.memory import ArraySource
from eigenlens.data.paths import Stamp, expand
from eigenlens.data.source import Source
from eigenlens.data.tables import as_array
from eigenlens.kernels.memory import available_memory

__all__ = ["Table", "read_table"]

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
                f"this needs all {self.n:,} rows in memory ({size / 1e9:.1f} GB)",
                "raise --max-memory, or take fewer rows with --where, or fewer columns with --columns",
                "resources",
            )
        return np.asarray(self.source.array)

    def __str__(self) -> str:
        files = str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files"
        parts = [f"{self.n:,} row{'s' * (self.n != 1)}, {self.d:,} column{'s' * (self.d != 1)}"]
        if self.missing:
            parts.append(f"{self.missing:,} missing entries ({self.missing / (self.n * self.d):.1%})")
        parts += [f"{self.skipped:,} rows left out"] if self.skipped else []
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
    kinds = column_kinds(files[0], text)
    tests = [parse_test(each) for each in reading.where or ()]
    roles = {role: _one(getattr(reading, role), kinds, role) for role in ("id", "label", "weight")}
    features = _features(reading, kinds, roles, [] if mixed else tests, model)
    if mixed and files[0].suffix.lower() != ".npy":
        return _mixed_table(files, text, features, roles, tests, reading, need_label)
    columns = _Columns(files, text, features, reading)
    source = columns.source()
    extra = {role: None if name is None else columns.read(name) for role, name in roles.items()}
    _check_label(extra["label"], reading, need_label, any_gap_ok=reading.skip_missing)
    keep = _kept(columns, tests, kinds, extra["label"])
    held = _held(source, text, files, running)
    held, keep = _without_gaps(held, keep) if reading.skip_missing else (held, keep)
    unused = tuple(name for name in kinds if name not in features and name not in roles.values())
    return _table(files, held, keep, extra, unused)


def _table(
    files: tuple[Path, ...], held: Source, keep: Array | None, extra: dict[str, Any], unused: tuple[Any, ...]
) -> Table:
    whole = held
    if keep is not None:
        _require_rows(keep)
        extra = {role: None if values is None else values[keep] for role, values in extra.items()}
        whole = KeptRows(held, keep) if not isinstance(held, _Rows) else _Rows(held.array[keep], held.names)
    skipped = 0 if keep is None else int(keep.size - keep.sum())
    missing = int(np.isnan(whole.array).sum()) if isinstance(whole, _Rows) else None
    n = len(whole.array) if isinstance(whole, _Rows) else int(whole.n_rows or 0)
    weight = None if extra["weight"] is None else checks.weights(extra["weight"], n)
    return Table(files, whole, n, whole.n_features, missing, skipped, extra["id"], extra["label"], weight, unused)


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

    def column(name: Any) -> Array:
        return as_array(typed(whole, text, [name])[name])

    extra = {role: None if name is None else column(name) for role, name in roles.items()}
    _check_label(extra["label"], reading, need_label, any_gap_ok=reading.skip_missing)
    X = typed(whole, text, features)
    keep = np.ones(len(X), dtype=bool)
    for name, comparison, value in tests:
        keep &= passes(column(_one(name, dict.fromkeys(whole.columns, ""), "where")), comparison, value)
    holes = np.column_stack([gaps(each) for each in X.iter_columns()])
    if reading.skip_missing:
        keep &= ~holes.any(axis=1) & (True if extra["label"] is None else ~_gaps(extra["label"]))
    _require_rows(keep)
    extra = {role: None if values is None else values[keep] for role, values in extra.items()}
    n, unused = int(keep.sum()), tuple(name for name in whole.columns if name not in {*features, *roles.values()})
    weight = None if extra["weight"] is None else checks.weights(extra["weight"], n)
    return Table(
        files, X.filter(keep), n, len(features), int(holes[keep].sum()), keep.size - n, extra["id"], extra["label"],
        weight, unused,
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
            self._refuse_text_options()
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

    def _refuse_text_options(self) -> None:
        given = [option for option in ("na", "separator", "decimal", "header") if getattr(self.reading, option)]
        if given:
            refuse(f"--{given[0]} is an option of delimited text, and '{self.files[0]}' is none", "leave it out")


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
    if wanted is None and known is not None and str in {type(name) for name in kinds}:
        return _of_model(list(known), kinds, model)
    dropped = set(chosen(reading.drop, kinds, "drop") or ()) | {name for name in roles.values() if name is not None}
    # A column of text that only says which rows to keep need not be dropped by hand.
    dropped |= {name for name, _, _ in tests if kinds.get(name) == "text"}
    left = [name for name in (kinds if wanted is None else wanted) if name not in dropped]
    if not left:
        refuse("no column is left to work on", "drop fewer, or see the columns with eigenlens info", "data")
    return left


def _of_model(known: list[str], kinds: Mapping[Any, str], model: Any) -> list[str]:
    lacking = [name for name in known if name not in kinds]
    if lacking:
        listed = ", ".join(f"'{name}'" for name in lacking[:5]) + (", …" if len(lacking) > 5 else "")
        refuse(
            f"the file lacks {len(lacking)} of the {len(known)} columns that the {type(model).__name__} was fitted on: "
            f"{listed}",
            f"rename its columns, or fit a model to it; it has {', '.join(map(str, list(kinds)[:5]))}",
            "data",
        )
    return known


def _check_label(label: Array | None, reading: Reading, needed: bool, any_gap_ok: bool) -> None:
    if needed and label is None:
        refuse("this model learns classes, and no column of classes is named", "add --label COLUMN")
    if needed and label is not None and not any_gap_ok and _gaps(label).any():
        first = int(np.flatnonzero(_gaps(label))[0]) + 1
        what = f"the label column '{reading.label}' is empty in {int(_gaps(label).sum())} rows (first: row {first})"
        refuse(what, "leave those rows out with --skip-missing", "data")


def _gaps(values: Array) -> Array:
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([value is None or value == "" for value in values.tolist()])


def _kept(columns: _Columns, tests: list[Any], kinds: Mapping[Any, str], label: Array | None) -> Array | None:
    """Which rows (n,) pass all tests; None where all do."""
    keep = None
    for name, comparison, value in tests:
        one = passes(columns.read(_one(name, kinds, "where")), comparison, value)
        keep = one if keep is None else keep & one
    if columns.reading.skip_missing and label is not None:
        keep = ~_gaps(label) if keep is None else keep & ~_gaps(label)
    return keep


def _held(source: FileSource, text: Text | None, files: tuple[Path, ...], running: Running) -> Source:
    """The rows in memory where they fit into what they may take, else the files."""
    given = running.max_memory
    most = available_memory() // 4 if given is None else checks.memory("max_memory", given)
    if text is None:
        size = source.n_rows * source.n_features * source.dtype.itemsize
    else:
        size = sum(path.stat().st_size * BYTES_PER_CHARACTER[path.suffix.lower() == ".gz"] for path in files)
    return source if size > most else _Rows(np.concatenate(list(source.rows())), source.names)


def _without_gaps(source: Source, keep: Array | None) -> tuple[Source, Array]:
    whole = np.concatenate([~np.isnan(rows).any(axis=1) for rows in source.rows()])
    return source, whole if keep is None else whole & keep
