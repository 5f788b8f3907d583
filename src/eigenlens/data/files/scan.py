"""`scan`: rows in files, read by blocks, as a Source."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.columns import Selection
from eigenlens.data.files.decode import COMPRESSED
from eigenlens.data.files.npy import NpyReader
from eigenlens.data.files.parquet import arrow_reader, parquet_reader
from eigenlens.data.files.paths import PathLike, Stamp, expand, still_the_same
from eigenlens.data.files.text import DelimitedReader
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError

__all__ = ["FORMATS", "FileSource", "scan"]


class Reader(Protocol):
    """What a file format has to offer: see `FORMATS`."""

    names: Any
    dtype: np.dtype[Any]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The features and what they hold."""

    def count(self) -> int:
        """The number of rows."""

    def blocks(self) -> Iterator[Array]:
        """One pass over the features, as arrays (b, d); text is an error."""

    def tables(self) -> Iterator[Any]:
        """One pass over the features, text as levels."""

    def only(self, columns: Sequence[int], /) -> Reader:
        """A reader of some of the features, by number."""

    def column(self, name: Any, /) -> Array:
        """One whole column (n,), numeric or not."""


FORMATS: dict[str, Callable[..., Reader]] = {
    ".csv": DelimitedReader,
    ".tsv": DelimitedReader,
    ".txt": DelimitedReader,
    ".parquet": parquet_reader,
    ".pq": parquet_reader,
    ".arrow": arrow_reader,
    ".feather": arrow_reader,
    ".ipc": arrow_reader,
    ".npy": NpyReader,
}
"""A reader a suffix: called as reader(paths, selection, block_rows=…), text also with its own options."""


class FileSource(Source):
    """Rows of files. Every pass reads them anew, and fails if they changed since the scan.

    `fields` says what each column holds. Text is refused by `rows`; `table()` has it as levels.
    """

    reads_ahead = True

    def __init__(self, stamps: tuple[Stamp, ...], reader: Reader, selection: Selection) -> None:
        self.paths = tuple(stamp.path for stamp in stamps)
        self._opened(reader)
        self._selection = selection
        self._stamps = stamps
        self._text = False
        self._count: int | None = None

    def _opened(self, reader: Reader) -> None:
        self._reader = reader
        self.names, self.dtype, self.fields = reader.names, reader.dtype, reader.fields
        self.n_features = len(self.fields)

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # known on demand: counting text takes a pass
        """The number of rows: by the files' metadata where they have it, else counted once."""
        if self._count is None:
            with still_the_same(self._stamps):
                self._count = self._reader.count()
        return self._count

    def rows(self) -> Iterator[Any]:
        """One pass over the features: arrays (b, d), or blocks of numbers and levels of a `table()`."""
        with still_the_same(self._stamps):
            yield from self._reader.tables() if self._text else self._reader.blocks()

    def table(self) -> FileSource:
        """The same rows for a model that takes text, and integers that floats would round, as levels; or itself."""
        if not any(field.kind in ("text", "mixed", "integer") for field in self.fields):
            return self
        other = copy.copy(self)
        other._text = True
        return other

    def part(self, columns: Sequence[int]) -> FileSource:
        """Some features, by number; the others are not read, as far as the format allows."""
        other = copy.copy(self)
        other._opened(self._reader.only(columns))
        return other

    def read_ids(self) -> Array:
        """The column named by `id=` (n,), in one pass over that column."""
        return self._column(self._selection.id, "id")

    def read_label(self) -> Array:
        """The column named by `label=` (n,), in one pass over that column."""
        return self._column(self._selection.label, "label")

    def _column(self, name: Any, option: str) -> Array:
        if name is None:
            raise OptionError(f"{option}=None: no column was named; scan with {option}=<its name>.")
        with still_the_same(self._stamps):
            return self._reader.column(name)


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
    encoding: str | None = None,
    block_rows: int | None = None,
) -> FileSource:
    """Rows in CSV, Parquet, Arrow/Feather or .npy files, as a source that never holds them all.

    Several files (a pattern such as "sales/*.parquet", or a list) are one stream in sorted order, their columns found
    by name. Missing entries become NaN. float32 stays where all features are float32, everything else becomes float64.
    Columns of text, categories and bytes are levels for `NaiveBayes`; models that need numbers refuse them, unless
    they are named by `drop`, `id` or `label`. Dates and nested values are always refused.

    Args:
        path: a file, a pattern with * and ?, or a list of these.
        columns: the features, by name (by position for .npy); None means all.
        drop: columns to leave out.
        id: a column that names the rows; `read_ids()` gives it.
        label: a column of classes or other outcomes; `read_label()` gives it, and classifiers fit it if y is not given.
        na: text that means missing, in delimited text; an empty cell always does.
        text: columns of delimited text that hold levels although some or all of their cells are numbers (0, 1, 2, 3+).
        separator: between cells of delimited text; None means a tab in .tsv, else what cuts the lines evenly.
        header: whether delimited text starts with a line of names; None means yes, and refuses numbers there.
        encoding: how delimited text is encoded: "latin-1", "cp1252", "shift_jis", … as Python names it; None means
            UTF-8, or UTF-16 or UTF-32 where a file starts with the mark of one.
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
    if block_rows is not None and block_rows < 1:
        raise OptionError(f"block_rows={block_rows} must be at least 1, or None for blocks near 16 MB.")
    paths = expand(path)
    make = _format(paths)
    written = {"na": na, "text": text, "separator": separator, "header": header, "encoding": encoding}
    given = {option: value for option, value in written.items() if value not in (None, (), [])}
    if given and make is not DelimitedReader:
        raise OptionError(f"{next(iter(given))} is an option of delimited text (.csv, .tsv, .txt): leave it out.")
    selection = Selection(columns, drop, id, label)
    # The stamps come first: a change while the schema is read must not go unnoticed.
    stamps = tuple(Stamp.of(path) for path in paths)
    source = FileSource(stamps, make(paths, selection, block_rows=block_rows, **given), selection)
    _require_usable(source)
    if source.n_features == 0 or (make is not DelimitedReader and source.n_rows == 0):
        raise DataError(f"'{paths[0]}' has no rows or no columns; at least 1 of each is needed.")
    return source


def _require_usable(source: FileSource) -> None:
    """Raise where a feature holds what no model takes."""
    for field in source.fields:
        if field.kind == ColumnKind.OTHER:
            raise DataError(
                f"column {field.name!r} holds {field.holds}",
                columns=[str(field.name)],
                fix="leave it out with {drop}, or write it as numbers first",
                settings={"drop": [str(field.name)]},
            )


def _format(paths: tuple[Path, ...]) -> Callable[..., Reader]:
    """The one format of all the files, by their suffixes; text may be compressed."""
    makes = [FORMATS.get(_suffix(path)) for path in paths]
    for path, make in zip(paths, makes, strict=True):
        if make is None or (path.suffix.lower() in COMPRESSED and make is not DelimitedReader):
            known, packed = ", ".join(FORMATS), ", ".join(COMPRESSED)
            raise OptionError(f"path='{path}' has no known suffix: {known} are read, and {packed} after a text one.")
        if make is not makes[0]:
            raise OptionError(f"'{path}' and '{paths[0]}' are of different formats: scan them apart.")
    return makes[0]  # type: ignore[return-value]  # not None: the loop has looked at every one


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
