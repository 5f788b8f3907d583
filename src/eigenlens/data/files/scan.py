"""`scan`: rows in files, read by blocks, as a Source.

A path may be a pattern for several files, and they must not change between two passes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.checkpoint.passes import PassUnderWay
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import Reader, Selection, reject_damaged
from eigenlens.data.files.decompress import COMPRESSED
from eigenlens.data.files.formats.arff import open_arff
from eigenlens.data.files.formats.gct import GctReader
from eigenlens.data.files.formats.json_files import open_json
from eigenlens.data.files.formats.npy import NpyReader
from eigenlens.data.files.formats.parquet import TableReader, scan_arrow, scan_parquet
from eigenlens.data.files.formats.plink import PlinkReader
from eigenlens.data.files.formats.spreadsheets import SpreadsheetReader
from eigenlens.data.files.formats.statistics_files import READERS, StatisticsReader
from eigenlens.data.files.formats.stored_arrays import StoredReader
from eigenlens.data.files.other_formats import unknown_format
from eigenlens.data.files.paths import PathLike, Stamp, check_unchanged, expand_paths
from eigenlens.data.files.standard_input import copy_stream, name_originals
from eigenlens.data.files.transpose import TransposedReader
from eigenlens.data.files.wide_text import WideTextReader
from eigenlens.data.files.worker_parts import PartsOnWorkers
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.data.source import Block, Progress, S, Source
from eigenlens.errors import DataError, OptionError, warn_user
from eigenlens.workers import current_client

if TYPE_CHECKING:
    from polars import DataFrame

    from eigenlens.data.files.decision import Decision
    from eigenlens.data.files.dialect import Dialect

FORMATS: dict[str, Callable[..., Reader]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab", ".dat", ".data", ".asc", ".psv", ".prn"), WideTextReader),
    # Text of PLINK, the USGS, astronomers and programs, and tables drawn with rulers and bars.
    **dict.fromkeys((".eigenvec", ".rdb", ".ecsv", ".out", ".md", ".org", ".rst", ".tex", ".lst"), WideTextReader),
    **dict.fromkeys((".parquet", ".pq"), partial(TableReader, open_table=scan_parquet, partitioned=True)),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), partial(TableReader, open_table=scan_arrow)),
    ".npy": NpyReader,
    **dict.fromkeys((".h5", ".hdf5", ".h5ad", ".zarr"), StoredReader),
    ".bed": PlinkReader,
    ".gct": GctReader,
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"), SpreadsheetReader),
    **dict.fromkeys((".json", ".ndjson", ".jsonl"), partial(TableReader, open_table=open_json)),
    ".arff": partial(TableReader, open_table=open_arff),
    **dict.fromkeys(READERS, StatisticsReader),
}
"""One reader per suffix, called as reader(paths, block_rows=…) and with the `options` that it takes.

A new format is a subclass of `Reader` and one entry here; `scan` and the command line then read it.
"""

TEXT_READERS = (WideTextReader, GctReader)
"""Readers of text, whose files may be compressed."""


class FileSource(Source):
    """Rows of files. Every pass reads them anew, and fails if they changed since the scan.

    `fields` has the kind of each column. Text is an error in `rows`; `table()` has it as categories.

    Attributes:
        paths: the files that are read. given: the same as they were named; "-" is standard input.
        stamps: the sizes of these files and the times of their last changes.
        decisions: what was decided without being asked for. row_names: a column that names the rows, or None.
    """

    reads_ahead = True

    def __init__(
        self,
        stamps: tuple[Stamp, ...],
        reader: Reader,
        *,
        copies: tuple[Mapping[Path, str], Any],
        given: tuple[Path, ...],
    ) -> None:
        self.paths, self.given = tuple(stamp.path for stamp in stamps), given
        # Temporary copies of streams are removed with the last source that reads them.
        self._copies, self._streams = {**copies[0], **reader.copies}, copies[1]
        self._files = reader
        self._set_reader(reader)
        self._selection = Selection()
        self.stamps = stamps
        self._as_table, self._divisible = False, True
        self._count: int | None = None

    def _with_reader(self, reader: Reader) -> FileSource:
        other = copy.copy(self)
        other._set_reader(reader)
        return other

    def _set_reader(self, reader: Reader) -> None:
        self._reader, self.dtype = reader, reader.dtype
        self._parts: PartsOnWorkers | None = None
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
        """The decisions that nobody asked for, about the files, the features, the ids and the labels."""
        used = {*map(str, self._reader.names), str(self._selection.id), str(self._selection.label)}
        return tuple(each for each in self._files.decisions if not each.columns or used & set(each.columns))

    @property
    def words(self) -> Mapping[str, str]:
        """The names of the formats of features whose words are read as numbers, which `open_files` takes as `words`."""
        return self._reader.words

    @property
    def units(self) -> Mapping[str, str]:
        """The units of columns, {name: unit}, where a line below the names or every cell has them."""
        return self._files.units

    @property
    def row_names(self) -> Any:
        """The column that names the rows, where the file says so, or None."""
        return self._files.row_names

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Check that the files do not change during a pass; errors name what the user knows."""
        with name_originals(self._copies), check_unchanged(self.stamps), reject_damaged(self.paths):
            yield

    @property
    def n_rows(self) -> int:  # type: ignore[override]  # known on demand: counting text takes a pass
        """The number of rows: by the files' metadata where they have it, else counted once."""
        if self._count is None:
            with self._reading():
                self._count = self._reader.count()
        return self._count

    def rows(self) -> Iterator[Any]:
        """Yield the features: arrays (b, d), or blocks of numbers and categories of a `table()`."""
        with self._reading():
            yield from self._reader.tables() if self._as_table else self._reader.blocks()

    @property
    def on_workers(self) -> bool:  # type: ignore[override]  # it depends on the client of the moment
        """Whether the workers of a Dask cluster read the rows: there is one, and parts of the files can be read."""
        return self._divisible and current_client() is not None and bool(self.single_files())

    def single_files(self) -> list[FileSource]:
        """Return a source of each file, where another process can read its rows alone; else none."""
        if self._copies:
            return []
        stamps = {stamp.path: stamp for stamp in self.stamps}
        return [self._of(reader, (stamps[path],)) for path, reader in self._reader.single_files().items()]

    def row_ranges(self) -> list[tuple[int, FileSource]]:
        """Return sources of consecutive rows of a single file, each with its number of rows."""
        with self._reading():
            return [(n, self._of(reader, self.stamps)) for n, reader in self._reader.row_ranges()]

    def _of(self, reader: Reader, stamps: tuple[Stamp, ...]) -> FileSource:
        other = self._with_reader(reader)
        other._files, other.stamps, other.paths = reader, stamps, tuple(stamp.path for stamp in stamps)
        other.weight, other._streams, other._count, other._divisible = None, None, None, False
        return other

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """Return the sum of `summarise(block)` over one pass, made by the workers of a Dask cluster if there are."""
        begun = isinstance(progress, PassUnderWay) and progress.start.blocks > 0
        if begun or not self.on_workers:
            return super().fold(summarise, progress, label)
        if self._parts is None or self._parts.client is not current_client():
            self._parts = PartsOnWorkers(self)
        return self._parts.fold(summarise, self.weight, progress, label)

    def frames(self) -> Iterator[DataFrame]:
        """Yield the features as Polars frames of numbers and text, null where an entry is missing."""
        with self._reading():
            yield from self._reader.frames()

    def cells(self) -> Iterator[DataFrame]:
        """Yield the columns of delimited text as they are written; those of other formats as `frames` has them."""
        with self._reading():
            yield from getattr(self._reader, "cells", self._reader.frames)()

    @property
    def is_written(self) -> bool:
        """Whether `cells` has text as it is written."""
        return hasattr(self._reader, "cells")

    def genotypes(self) -> Genotypes | None:
        """Return the same rows as genotypes that are read by blocks of variants, or None where they are not."""
        for stamp in self.stamps:
            stamp.check()
        return self._reader.genotypes() if isinstance(self._reader, PlinkReader) else None

    def table(self) -> FileSource:
        """Return the same rows for a model that takes text, and integers that floats would round, as categories.

        Words that are read as numbers, such as yes and no, are text again.
        """
        other = self._with_reader(self._reader.with_categories())
        other._files, other._as_table = self._files.with_categories(), True
        return other

    def numbers(self) -> FileSource:
        """Return the same rows for a model that needs numbers, and warn of words that are read as such."""
        kept = self.table().decisions
        _warn_of(decision for decision in self.decisions if decision not in kept)
        return self

    def part(self, columns: Sequence[int]) -> FileSource:
        """Return some features, by number; the others are not read where the format allows it."""
        return self._with_reader(self._reader.only(columns))

    def with_block_rows(self, block_rows: int) -> FileSource:
        """Return the same rows in blocks of at most this many."""
        return self._with_reader(self._reader.with_block_rows(block_rows))

    @property
    def group_bytes(self) -> int:
        """The memory that the rows which the format decodes at once take, however small the blocks are."""
        return self._reader.group_bytes

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
        with self._reading():
            return self._files.column(name)

    def column_frames(self, name: Any, block_rows: int) -> Iterator[DataFrame]:
        """Yield one column of the files, a feature or not, some rows at a time, as frames."""
        with self._reading():
            yield from self._files.column_frames(name, block_rows)

    @property
    def id(self) -> Any:
        """The column named by `id=`, or None."""
        return self._selection.id

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
    na: Sequence[str] | None = None,
    text: Sequence[str] = (),
    dates: Sequence[str] = (),
    separator: str | None = None,
    header: bool | None = None,
    header_rows: int | None = None,
    fill_down: Sequence[str] | None = None,
    ignore_case: Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    comment: str | None = None,
    encoding: str | None = None,
    skip: int | None = None,
    footer: int | None = None,
    max_ratio: float | None = None,
    sheet: str | None = None,
    dataset: str | None = None,
    transpose: bool = False,
    block_rows: int | None = None,
) -> FileSource:
    """Return the rows of files as a source; CSV, Parquet, Arrow, .npy, HDF5, Zarr and PLINK .bed are read in blocks.

    Sheets of Excel and OpenDocument, files of SPSS, Stata and SAS, JSON, ARFF and GCT (whose genes become columns) are
    read whole; `-` is standard input.

    Several files (a pattern such as "sales/*.parquet", or a list) are one stream in sorted order, their columns found
    by name. Missing entries become NaN. float32 stays where all features are float32, everything else becomes float64.
    A folder of Parquet files partitioned as year=2024/part-0.parquet is one table, with a column for each key. In
    AnnData (.h5ad, .zarr) the names of variables and observations become the names of columns and the ids. Genotypes
    (.bed, with .bim and .fam beside it) are rows of people: copies of the first allele of each variant. Columns of
    text, categories and bytes are categories for `NaiveBayes`; for models that need numbers they are an error, unless
    they are named by `drop`, `id` or `label`. Dates and nested values are always an error.

    The format of delimited text is inferred from its first lines unless it is given: 0,5;1,25 and 1.234,5 are numbers.
    Numbers that can be read in two ways, and rows with a cell too few or too many, are errors that name the place. What
    is decided without being asked for (units removed, words read as numbers, a title left out, …) is in `decisions`.

    Args:
        path: a file, a pattern with * and ?, "-" or a pipe, or a list of these; each file is named once.
        columns: the features, by name (by position for .npy); None means all.
        drop: columns to leave out.
        id: a column that names the rows; `read_ids()` gives it.
        label: a column of classes or other outcomes; `read_label()` gives it, and classifiers fit it if y is not given.
        na: missing-value markers besides the usual ones, which are NA, N/A, n/a, #N/A, NaN, nan,
            null, NULL, None, ".", "-", "?" and the like among numbers, and NA in text. An empty cell is always missing,
            and naming it leaves out the usual ones: na=["", "X"] means X alone, na=[] none.
        text: columns of text that hold categories though some or all of their cells are numbers (0, 1, 3+) or would be
            read as such (12 kg, yes), in delimited text and in files with types alike.
        dates: columns of dates to read as days since 1 January 1970.
        separator: between cells of delimited text; None means a tab in .tsv, else the sign that cuts the lines evenly.
        header: whether delimited text starts with a line of names; None means that the first lines show it.
        header_rows: the number of lines that hold names; None means one, or more where units or names of groups are
            found there, which are joined to the names where these are not enough.
        fill_down: columns whose blank cells have the value above them; None means merged cells of Excel, and columns of
            text at the left that look as if they had been merged; [] means none.
        ignore_case: columns of text in which spellings that differ in case or spaces alone are one category, which has
            the name in lower case.
        decimal: the decimal sign, "." or ","; None means that the cells show it.
        thousands: the sign between thousands; None means none, unless numbers can be written in no other way.
        comment: the prefix of lines of delimited text to skip; None skips lines that start with # above the names.
        encoding: of delimited text: "latin-1", "cp1252", "shift_jis", … as Python names it; None means UTF-8, or
            UTF-16 or UTF-32 where a file starts with the byte order mark of one.
        skip: the number of lines above the names to leave out; None means those that are certainly a title.
        footer: the number of lines at the end to leave out, blank ones not counted.
        max_ratio: how many times its size a compressed file, or a spreadsheet, may grow to; None means 250, more being
            a decompression bomb, except that up to 16 MB of text are always read. Of Parquet None means 3,000, and
            256 MB.
        sheet: of a spreadsheet, by name; None means the first with numbers.
        dataset: the matrix of an HDF5 file or a Zarr store, by name; None means X of AnnData, or the only one.
        transpose: exchange rows and columns, in memory: the first column names the columns, the line of names the rows.
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
    written = {"na": na, "text": text, "dates": dates, "separator": separator, "header": header,
               "header_rows": header_rows, "fill_down": fill_down, "ignore_case": ignore_case, "decimal": decimal,
               "thousands": thousands, "comment": comment, "encoding": encoding, "skip": skip,
               "footer": footer, "max_ratio": max_ratio, "sheet": sheet, "dataset": dataset}  # fmt: skip
    source = open_files(path, block_rows=block_rows, transpose=transpose, **written)
    chosen = source.select(Selection(columns, drop, source.row_names if id is None else id, label))
    _warn_of(chosen.table().decisions)
    return chosen


def _warn_of(decisions: Iterable[Decision]) -> None:
    for decision in decisions:
        if decision.surprising:
            warn_user(decision.warning)


def open_files(
    path: PathLike | Iterable[PathLike], *, block_rows: int | None = None, transpose: bool | None = None, **written: Any
) -> FileSource:
    """Return all columns of files, of whatever kind, as a source; `written`: how they are written, as for `scan`."""
    if block_rows is not None:
        checks.integer("block_rows", block_rows, 1)
    checks.boolean("transpose", bool(transpose) if transpose is None else transpose)
    written = {option: _check_option(option, value) for option, value in written.items()}
    given = expand_paths(path, FORMATS)
    streams = {each: copy_stream(each) for each in given}
    paths = tuple(each if (stream := streams[each]) is None else stream.path for each in given)
    copies = {stream.path: stream.called for stream in streams.values() if stream is not None}
    make = _find_format(paths)
    options = _check_options(make, written, given[0])
    # The stamps come first: a change while the schema is read must not go unnoticed.
    stamps = tuple(Stamp.of(path) for path in paths)
    with name_originals(copies), reject_damaged(paths):
        reader = make(paths, block_rows=block_rows, **options)
        if transpose:
            reader = TransposedReader(reader, block_rows=block_rows)
        source = FileSource(stamps, reader, copies=(copies, streams), given=given)
        if source.n_features == 0 or (reader.dialect is None and source.n_rows == 0):
            raise DataError(f"'{paths[0]}' has no rows or no columns; at least 1 of each is needed")
    return source


REPLACED = ("na", "fill_down")
"""Options of which an empty list replaces what is found."""


def _is_empty(value: Any) -> bool:
    return isinstance(value, list | tuple) and not value


def _check_options(make: Callable[..., Reader], written: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the options that are given; one that the format does not have is an error."""
    # An empty list asks for nothing, except that it leaves out the usual missing-value markers and the groups found.
    given = {o: value for o, value in written.items() if value is not None and (not _is_empty(value) or o in REPLACED)}
    for option, value in given.items():
        if option not in _options(make):
            makers = {"dataset": "HDF5 and Zarr (.h5, .h5ad, .zarr)"}
            text = option in WideTextReader.options
            other = makers.get(option, "spreadsheets (.xlsx, .ods)")
            what = f"is an option of {'delimited text (.csv, .tsv, .txt)' if text else other}, and '{path}' is not that"
            raise OptionError(what, argument=option, value=value, fix="leave it out")
    return given


NUMBERS_OF_LINES = {"skip": (0, None), "footer": (0, None), "header_rows": (1, 1_000)}
"""Options that are numbers of lines, and the least and the most of each."""


def _check_option(option: str, value: Any) -> Any:
    """Return an option of how files are written if it is of its type, whatever the format; None is not given."""
    if value is None or option in ("words", "formats"):
        return value
    if option in NUMBERS_OF_LINES:
        return checks.integer(option, value, *NUMBERS_OF_LINES[option])
    if option == "max_ratio":
        return checks.real(option, value, 1.0)
    if option == "header":
        return checks.boolean(option, value)
    if option in ("na", "text", "dates", "fill_down", "ignore_case"):
        # One column may be given by its name or its number.
        single = isinstance(value, str) or (option != "na" and not isinstance(value, Iterable))
        return value if single else checks.listed(option, value)
    if not isinstance(value, str):
        raise OptionError("must be a text", argument=option, value=value)
    return value


def _options(make: Any) -> frozenset[str]:
    found: frozenset[str] = getattr(getattr(make, "func", make), "options", frozenset())
    return found


def _find_format(paths: tuple[Path, ...]) -> Callable[..., Reader]:
    """Return the one format of all the files, by their suffixes; only text may be compressed."""
    makes = [FORMATS.get(_suffix(path)) for path in paths]
    for path, make in zip(paths, makes, strict=True):
        if make is None or (path.suffix.lower() in COMPRESSED and make not in TEXT_READERS):
            raise unknown_format(path, list(FORMATS))
        if make is not makes[0]:
            fix = "give files of one format"
            raise DataError(f"'{path}' and '{paths[0]}' are of different formats", fix=fix)
    assert makes[0] is not None
    return makes[0]


def format_options(paths: Iterable[PathLike]) -> frozenset[str]:
    """Return the options that the format of files takes, by their suffixes; those of text where it is not known."""
    makes = [FORMATS.get(_suffix(Path(path)), WideTextReader) for path in paths]
    return frozenset.intersection(*map(_options, makes)) if makes else frozenset()


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
