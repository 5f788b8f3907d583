"""`scan`: rows in files, read by blocks, as a Source.

A path may be a pattern for several files, and they must not change between two passes.
"""

from __future__ import annotations

import copy
import glob
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import Reader, Selection
from eigenlens.data.files.decode import COMPRESSED
from eigenlens.data.files.npy import NpyReader
from eigenlens.data.files.parquet import TableReader
from eigenlens.data.files.plink import PlinkReader
from eigenlens.data.files.text import DelimitedReader
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError, SourceChanged, warn_user

if TYPE_CHECKING:
    from polars import DataFrame

    from eigenlens.data.files.decision import Decision
    from eigenlens.data.files.dialect import Dialect

FORMATS: dict[str, Callable[..., Reader]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), DelimitedReader),
    **dict.fromkeys((".parquet", ".pq"), partial(TableReader, scan="scan_parquet")),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), partial(TableReader, scan="scan_ipc")),
    ".npy": NpyReader,
    ".bed": PlinkReader,
}
"""One reader per suffix, called as reader(paths, block_rows=…); readers of text take options of their own too.

A new format is a subclass of `Reader` and one entry here; `scan` and the command line then read it.
"""


class FileSource(Source):
    """Rows of files. Every pass reads them anew, and fails if they changed since the scan.

    `fields` has the kind of each column. Text is an error in `rows`; `table()` has it as categories.
    """

    reads_ahead = True

    def __init__(self, stamps: tuple[Stamp, ...], reader: Reader, selection: Selection | None = None) -> None:
        self.paths = tuple(stamp.path for stamp in stamps)
        self._files = reader
        self._set_reader(reader)
        self._selection = selection or Selection()
        self._stamps = stamps
        self._as_table = False
        self._count: int | None = None

    def _set_reader(self, reader: Reader) -> None:
        self._reader, self.dtype = reader, reader.dtype
        self.names = tuple(map(str, reader.names)) if reader.named else None
        # Columns without names are numbered from 0, whichever of the file's they are.
        self.fields = tuple(f if reader.named else f._replace(name=j) for j, f in enumerate(reader.fields))
        self.n_features = len(self.fields)

    @property
    def dialect(self) -> Dialect | None:
        """How delimited text is written; None for other formats."""
        return self._files.dialect

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions about the files that nobody asked for."""
        return getattr(self._files, "decisions", ())

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # known on demand: counting text takes a pass
        """The number of rows: by the files' metadata where they have it, else counted once."""
        if self._count is None:
            with _check_unchanged(self._stamps):
                self._count = self._reader.count()
        return self._count

    def rows(self) -> Iterator[Any]:
        """Yield the features: arrays (b, d), or blocks of numbers and categories of a `table()`."""
        with _check_unchanged(self._stamps):
            yield from self._reader.tables() if self._as_table else self._reader.blocks()

    def frames(self) -> Iterator[DataFrame]:
        """Yield the features as Polars frames of numbers and text, null where an entry is missing."""
        with _check_unchanged(self._stamps):
            yield from self._reader.frames()

    def cells(self) -> Iterator[DataFrame]:
        """Yield the columns of delimited text as they are written; those of other formats as `frames` has them."""
        with _check_unchanged(self._stamps):
            yield from getattr(self._reader, "cells", self._reader.frames)()

    def table(self) -> FileSource:
        """Return the same rows for a model that takes text, and integers that floats would round, as categories."""
        if not any(f.kind in (ColumnKind.TEXT, ColumnKind.MIXED, ColumnKind.INTEGER) for f in self.fields):
            return self
        other = copy.copy(self)
        other._as_table = True
        return other

    def part(self, columns: Sequence[int]) -> FileSource:
        """Return some features, by number; the others are not read where the format allows it."""
        other = copy.copy(self)
        other._set_reader(self._reader.only(columns))
        return other

    def select(self, selection: Selection) -> FileSource:
        """Return the features that a selection names; dates, times and nested values are an error."""
        names = list(self._files.names)
        selection = selection.by_name(names) if names else selection
        features = selection.features(names) if names else ()
        places = {name: place for place, name in enumerate(names)}
        other = self.part([places[name] for name in features])
        other._selection = selection
        for field in other.fields:
            if field.kind == ColumnKind.OTHER:
                fix = "leave it out with {drop}, or write it as numbers first"
                what, columns = f"column {field.name!r} holds {field.holds}", [str(field.name)]
                raise DataError(what, columns=columns, fix=fix, settings={"drop": columns})
        return other

    def read_column(self, name: Any) -> Array:
        """Return one whole column (n,) of the files, a feature or not, in one pass over it."""
        with _check_unchanged(self._stamps):
            return self._files.column(name)

    def read_ids(self) -> Array:
        """Return the column named by `id=` (n,), in one pass over that column."""
        return self._role(self._selection.id, "id")

    def read_label(self) -> Array:
        """Return the column named by `label=` (n,), in one pass over that column."""
        return self._role(self._selection.label, "label")

    def _role(self, name: Any, option: str) -> Array:
        if name is None:
            raise OptionError("names no column", argument=option, value=None, fix=f"scan with {option}=<its name>")
        return self.read_column(name)


def scan(
    path: PathLike | Iterable[PathLike],
    *,
    columns: Sequence[Any] | None = None,
    drop: Sequence[Any] | None = None,
    id: Any | None = None,
    label: Any | None = None,
    na: Sequence[str] = (),
    text: Sequence[str] = (),
    separator: str | None = None,
    header: bool | None = None,
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    encoding: str | None = None,
    block_rows: int | None = None,
) -> FileSource:
    """Return the rows in CSV, Parquet, Arrow/Feather, .npy or PLINK .bed files, as a source that never holds them all.

    Several files (a pattern such as "sales/*.parquet", or a list) are one stream in sorted order, their columns found
    by name. Missing entries become NaN. float32 stays where all features are float32, everything else becomes float64.
    Genotypes (.bed, with .bim and .fam beside it) are rows of people: copies of the first allele of each variant.
    Columns of text, categories and bytes are categories for `NaiveBayes`; for models that need numbers they are an
    error, unless they are named by `drop`, `id` or `label`. Dates and nested values are always an error.

    The format of delimited text is inferred from its first lines unless it is given: 0,5;1,25 and 1.234,5 are numbers.
    Numbers that can be read in two ways, and rows with a cell too few or too many, are errors that name the place.

    Args:
        path: a file, a pattern with * and ?, or a list of these.
        columns: the features, by name (by position for .npy); None means all.
        drop: columns to leave out.
        id: a column that names the rows; `read_ids()` gives it.
        label: a column of classes or other outcomes; `read_label()` gives it, and classifiers fit it if y is not given.
        na: missing-value markers of delimited text; an empty cell is always missing.
        text: columns of delimited text that hold categories though some or all of their cells are numbers (0, 1, 3+).
        separator: between cells of delimited text; None means a tab in .tsv, else the sign that cuts the lines evenly.
        header: whether delimited text starts with a line of names; None means that the first lines show it.
        decimal: the decimal sign, "." or ","; None means that the cells show it.
        thousands: the sign between thousands; None means none, unless numbers can be written in no other way.
        comment: the prefix of lines of delimited text to skip; None skips lines that start with # above the names.
        encoding: of delimited text: "latin-1", "cp1252", "shift_jis", … as Python names it; None means UTF-8, or
            UTF-16 or UTF-32 where a file starts with the byte order mark of one.
        block_rows: the most rows in one block; None means blocks near 16 MB.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "crabs.csv")
    >>> _ = file.write_text("crab,length,width\\na,4.0,2.5\\nb,,2.0\\n")
    >>> source = scan(file, id="crab")
    >>> source.names, source.n_rows, source.read_ids().tolist()
    (('length', 'width'), 2, ['a', 'b'])
    >>> next(source.rows())
    array([[4. , 2.5],
           [nan, 2. ]])
    >>> folder.cleanup()
    """
    written = {"na": na, "text": text, "separator": separator, "header": header, "decimal": decimal,
               "thousands": thousands, "comment": comment, "encoding": encoding}  # fmt: skip
    source = open_files(path, block_rows=block_rows, **written)
    if source.dialect is not None and decimal is None and thousands is None:
        _warn_found_signs(source.dialect)
    return source.select(Selection(columns, drop, id, label))


def open_files(path: PathLike | Iterable[PathLike], *, block_rows: int | None = None, **written: Any) -> FileSource:
    """Return all columns of files, of whatever kind, as a source; `written`: how text is written, as for `scan`."""
    if block_rows is not None and block_rows < 1:
        fix = "or None for blocks near 16 MB"
        raise OptionError("must be at least 1", argument="block_rows", value=block_rows, fix=fix)
    paths = expand_paths(path)
    make = _find_format(paths)
    given = {option: value for option, value in written.items() if value is not None and np.size(value)}
    if given and make is not DelimitedReader:
        option, value = next(iter(given.items()))
        what = f"is an option of delimited text (.csv, .tsv, .txt), and '{paths[0]}' is not that"
        raise OptionError(what, argument=option, value=value, fix="leave it out")
    # The stamps come first: a change while the schema is read must not go unnoticed.
    stamps = tuple(Stamp.of(path) for path in paths)
    source = FileSource(stamps, make(paths, block_rows=block_rows, **given))
    if source.n_features == 0 or (make is not DelimitedReader and source.n_rows == 0):
        raise DataError(f"'{paths[0]}' has no rows or no columns; at least 1 of each is needed")
    return source


def _warn_found_signs(dialect: Dialect) -> None:
    """Warn that numbers are read that were text for version 0.1: to be removed with the release after the next."""
    if dialect.numbers.is_plain:
        return
    given = ", ".join(f"{name}={sign!r}" for name, sign in dialect.numbers._asdict().items() if sign is not None)
    message = f"numbers are read with {given}, as the file shows: pass these to confirm."
    warn_user(message)


OTHER_SUFFIXES = {
    (".xls", ".xlsx", ".xlsm", ".ods", ".numbers"): (
        "is a spreadsheet", "save its sheet as CSV (UTF-8) and name that file"
    ),
    (".zst", ".zip", ".7z", ".tar", ".tgz", ".lz4", ".br", ".z", *COMPRESSED): (
        "is packed in a way that is not read",
        f"unpack it first, for instance with unzip or zstd -d; only CSV may be compressed, as {', '.join(COMPRESSED)}",
    ),
    (".npz",): ("holds several arrays", "save one of them: numpy.save('rows.npy', numpy.load('….npz')['…'])"),
    (".pkl", ".pickle", ".joblib"): ("is a pickle, which could run anything", "write its table as Parquet or CSV"),
    (".safetensors",): ("is a model, and a table is needed", "give the model first, and a data file after it"),
}  # fmt: skip
"""Known formats that are not read, by suffix: what they are, and what to do."""


def _find_format(paths: tuple[Path, ...]) -> Callable[..., Reader]:
    """Return the one format of all the files, by their suffixes; only text may be compressed."""
    makes = [FORMATS.get(_suffix(path)) for path in paths]
    for path, make in zip(paths, makes, strict=True):
        if make is None or (path.suffix.lower() in COMPRESSED and make is not DelimitedReader):
            raise _unknown_suffix(path)
        if make is not makes[0]:
            fix = "give files of one format"
            raise DataError(f"'{path}' and '{paths[0]}' are of different formats", fix=fix)
    assert makes[0] is not None
    return makes[0]


def is_delimited(paths: Iterable[PathLike]) -> bool:
    """Return whether all files are delimited text, by their suffixes."""
    return all(FORMATS.get(_suffix(Path(path))) is DelimitedReader for path in paths)


def _unknown_suffix(path: Path) -> DataError:
    known = f"{', '.join(FORMATS)} are read, and {', '.join(COMPRESSED)} after a text one"
    usual = "has no known suffix", f"write it in a format that is read, or rename it if it is in one: {known}"
    found = (said for suffixes, said in OTHER_SUFFIXES.items() if path.suffix.lower() in suffixes)
    what, fix = next(found, usual)
    return DataError(f"'{path}' {what}", fix=fix)


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Stamp:
    """A file's size and modification time, which show whether it has changed."""

    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Return the stamp of a file as it is now."""
        status = path.stat()
        return cls(path, status.st_size, status.st_mtime_ns)

    def check(self) -> None:
        """Raise SourceChanged unless the file exists and is unchanged."""
        try:
            now = Stamp.of(self.path)
        except OSError as error:
            what = f"'{self.path}' has vanished since it was scanned"
            raise SourceChanged(what, fix="restore it, and scan again") from error
        if now != self:
            what = f"'{self.path}' has changed since it was scanned ({self.size:,} bytes, now {now.size:,})"
            fix = "let its writer finish, and scan again"
            raise SourceChanged(f"{what}: two passes would see different rows", fix=fix)


@contextmanager
def _check_unchanged(stamps: Iterable[Stamp]) -> Iterator[None]:
    """Check the files before and after the block; a failure while they changed is a SourceChanged."""
    stamps = tuple(stamps)

    def check() -> None:
        for stamp in stamps:
            stamp.check()

    check()
    try:
        yield
    except Exception:
        check()
        raise
    check()


def expand_paths(path: PathLike | Iterable[PathLike]) -> tuple[Path, ...]:
    """Return the files that a path, a pattern or a list of either means, in sorted order, each once.

    >>> expand_paths("no/such/file.csv")
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: 'no/such/file.csv' does not exist; check the spelling and the folder.
    """
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not given:
        raise DataError("names no file; at least 1 is needed", argument="path", value=[])
    files = {file for one in given for file in _matches(os.path.expanduser(os.fspath(one)))}
    return tuple(_readable(file) for file in sorted(files))


def _matches(path: str) -> list[Path]:
    # An existing path is taken literally, even if its name contains brackets; only otherwise is it a pattern.
    if os.path.exists(path) or not glob.has_magic(path):
        return [Path(path)]
    found = [Path(name) for name in glob.glob(path, recursive=True)]
    files = [file for file in found if not file.is_dir()]
    if not files:
        raise DataError(f"'{path}' matches no file", fix="check the pattern and the folder")
    return files


def _readable(path: Path) -> Path:
    if path.is_dir():
        met = Counter(file.suffix for file in path.iterdir() if file.suffix in FORMATS)
        suffix = met.most_common(1)[0][0] if met else ".parquet"
        raise DataError(f"'{path}' is a folder", fix=f"name its files, for instance '{path}/*{suffix}'")
    if not path.exists():
        raise DataError(f"'{path}' does not exist", fix="check the spelling and the folder")
    if path.stat().st_size == 0:
        raise DataError(f"'{path}' is empty (0 bytes)", fix="write it again, or leave it out")
    return path
