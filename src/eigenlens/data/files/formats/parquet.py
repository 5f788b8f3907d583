"""Rows of Parquet and Arrow files by Polars, in bounded memory whatever the size of their row groups.

A row group must be decoded before its rows can be used, and a default writer makes groups of hundreds of
megabytes. So a pass decodes slabs of at most `SLAB_BYTES`, cut at the borders of row groups where those are
smaller, and within a slab a few columns at a time, in several threads, so that little else is in memory. A row
group larger than a slab is decompressed once for every slab that it is cut into: the price of bounded memory.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.data.column_kinds import ColumnKind, Field, stored_field
from eigenlens.data.files.base import Reader, as_array, fill, join_columns, listed_columns, pl, same_columns, unreadable
from eigenlens.data.files.cell_formats import ColumnFormat, format_names, format_units, without_columns
from eigenlens.data.files.cell_formats.dates import days_since_1970, find_date_format
from eigenlens.data.files.cell_formats.stored_text import as_stored_numbers, find_stored_text
from eigenlens.data.files.cells import TextCells, fold_case, missing_numbers, text_error
from eigenlens.data.files.decompress import bomb_error
from eigenlens.data.files.dialect import Dialect
from eigenlens.data.files.partitions import add_partition_keys
from eigenlens.data.source import FILE_BLOCK_BYTES
from eigenlens.data.table import MixedRows, exceeds_float_precision, join_text_columns
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame


SLAB_BYTES = 128 << 20
"""The memory that one slab of decoded rows may take."""

PIECE_ROWS = (1 << 20) - 1
"""The number of rows of one column that are read at once to see where row groups end.

A group that ends where a piece does looks as if it went on; few do, since sizes of groups are round."""

COLUMN_ROWS = 1 << 18
"""The number of rows of one column that are read at once where all of it is wanted."""

GROUP_BYTES = 16 << 20
"""The approximate size in the file of the columns decoded at once: Polars fetches whole column chunks."""

GROUP_BLOCKS = 4
"""The number of blocks in whose memory the row groups of the columns decoded at once fit, where blocks are small."""

TEXT_BYTES = 48
"""The approximate memory of an entry of a column of text."""

WORKERS = max(2, min(8, os.cpu_count() or 2))


class Slab(NamedTuple):
    """Some consecutive rows of one file, and how many columns to decode at once."""

    path: Path
    start: int
    length: int
    columns: int


MAX_STORED_RATIO = 3_000.0
"""Bytes of numbers per byte of a Parquet file above which it is taken for a decompression bomb.

Columns of flags with one in a thousand set reach 800; columns of zeros alone 5,000 and more."""

FREE_STORED_BYTES = 256 << 20
"""Up to this size the ratio does not matter."""


class TableReader(Reader):
    """Columns of Parquet files, of Arrow IPC files (Feather files are such), or of any table that Polars reads.

    open_table: returns the table of a path. dates: columns of dates to read as days since 1 January 1970. partitioned:
    whether folders named key=value above a file are columns of it. text: columns of text whose cells mean no numbers,
    though they may look so. words: formats of an earlier file. na: missing-value markers of columns of text that mean
    numbers, and of numbers. ignore_case: columns of text in which the case of letters does not matter.
    """

    options: ClassVar[frozenset[str]] = frozenset({"dates", "text", "words", "na", "ignore_case", "max_ratio"})
    _slab_rows: int | None = None
    _workers = WORKERS

    def __init__(
        self,
        paths: tuple[Path, ...],
        *,
        open_table: Callable[[Path], LazyFrame],
        dates: Sequence[str] = (),
        partitioned: bool = False,
        text: Sequence[str] = (),
        words: Mapping[str, str] | None = None,
        na: Sequence[str] | None = None,
        ignore_case: Sequence[str] = (),
        max_ratio: float | None = None,
        block_rows: int | None = None,
    ) -> None:
        self._markers = Dialect(na=None if na is None else (na,) if isinstance(na, str) else tuple(na))
        # Opened once: a wide file's metadata takes longer to parse than some of its columns.
        self._tables: dict[Path, LazyFrame] = {path: open_table(path) for path in paths}
        self._by_scan = open_table in (scan_parquet, scan_arrow)
        if partitioned:
            self._tables = add_partition_keys(self._tables)
        self._schemas = {path: _schema(path, table) for path, table in self._tables.items()}
        same_columns(paths, [list(schema) for schema in self._schemas.values()])
        if open_table is scan_parquet:
            for path, table in self._tables.items():
                _reject_bomb(path, table, len(self._schemas[path]), max_ratio or MAX_STORED_RATIO)
        for name in listed_columns(dates, "dates", list(self._schemas[paths[0]])) or ():
            self._read_dates(name)
        first = self._schemas[paths[0]]
        self._width, self._block_rows = len(first), block_rows
        self._mask_numbers()
        self._fold_text(listed_columns(ignore_case, "ignore_case", list(first)) or ())
        self._stored = self._tables, self._schemas
        strings = [name for name in first if all(schema[name] == pl.String for schema in self._schemas.values())]
        as_text = listed_columns(text, "text", list(first)) or []
        found = find_stored_text(list(self._tables.values()), strings, as_text, words or {}, self._markers)
        self.decisions = found.decisions
        self._read_numbers(found.formats)

    def _mask_numbers(self) -> None:
        """Make null of numbers that are missing-value markers, such as -999."""
        if not (missing := missing_numbers(self._markers)):
            return
        for path, schema in self._schemas.items():
            every = pl.col([name for name, dtype in schema.items() if dtype.is_numeric()])
            masked = pl.when(~every.cast(pl.Float64).is_in(missing).fill_null(False)).then(every)
            self._tables[path] = self._tables[path].with_columns(masked)

    def _fold_text(self, names: Sequence[str]) -> None:
        """Make one category of the spellings in columns of text that differ in case or spaces alone."""
        for path, schema in self._schemas.items():
            texts = [name for name in names if schema[name] in (pl.String, pl.Categorical, pl.Enum)]
            folded = [fold_case(pl.col(name).cast(pl.String).str.strip_chars()) for name in texts]
            self._tables[path] = self._tables[path].with_columns(folded)
            self._schemas[path] = schema | dict.fromkeys(texts, pl.String())

    def _read_numbers(self, formats: Mapping[str, ColumnFormat]) -> None:
        """Make numbers of the columns of text that have a format, of no others, and set the fields."""
        tables, schemas = self._stored
        numbers = [as_stored_numbers(written, name, self._markers) for name, written in formats.items()]
        self._formats = formats
        self.units = format_units(formats)
        self._tables = {path: table.with_columns(numbers) for path, table in tables.items()} if numbers else tables
        self._schemas = {path: _schema(path, table) for path, table in self._tables.items()} if numbers else schemas
        first = next(iter(self._schemas.values()))
        types = ({path: schema[name] for path, schema in self._schemas.items()} for name in first)
        self._set_fields(tuple(map(stored_field, first, types)))

    @property
    def words(self) -> dict[str, str]:
        """The names of the formats of columns whose words, or numbers in several parts, are read as numbers."""
        return format_names({name: self._formats[name] for name in self.names if name in self._formats})

    def with_categories(self) -> Self:
        """Return the same columns for a model that takes categories: words that were read as numbers are text."""
        words = {name for name, written in self._formats.items() if written.words}
        if not words:
            return self
        other, places = copy.copy(self), list(self.names)
        other._read_numbers({name: written for name, written in self._formats.items() if name not in words})
        other.decisions = without_columns(self.decisions, words)
        return other.only([other.names.index(name) for name in places])

    def _read_dates(self, name: str) -> None:
        """Make days since 1 January 1970 of a column of dates, or of text that means dates."""
        for path, table in self._tables.items():
            column = pl.col(name)
            if self._schemas[path][name] == pl.String:
                found = find_date_format(
                    name, table.select(column.drop_nulls().unique()).collect().to_series().to_list()
                )
                column = found.to_plain(column).cast(pl.Float64)
            elif self._schemas[path][name].is_temporal():
                column = days_since_1970(column)
            self._tables[path] = table.with_columns(column.alias(name))
            self._schemas[path] = self._schemas[path] | {name: pl.Float64()}

    def _set_fields(self, fields: tuple[Field, ...]) -> None:
        self.fields = fields
        single = all(str(schema[name]) == "Float32" for schema in self._schemas.values() for name in self.names)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._numeric = [field.name for field in fields if field.kind != ColumnKind.TEXT]
        self._text = [field.name for field in fields if field.kind == ColumnKind.TEXT]
        self._row_bytes = max(1, len(self._numeric) * self.dtype.itemsize + len(self._text) * TEXT_BYTES)
        self._block = self._block_rows or max(1, FILE_BLOCK_BYTES // self._row_bytes)
        self._slabs: list[Slab] | None = None

    def only(self, columns: Sequence[int]) -> Self:
        """Return a reader of some of the columns, by their places."""
        other = copy.copy(self)
        other._set_fields(tuple(self.fields[j] for j in columns))
        return other

    def with_block_rows(self, block_rows: int) -> Self:
        """Return a reader of the same rows in smaller blocks, of which a slab has two, decoded one after the other."""
        other = super().with_block_rows(block_rows)
        other._slab_rows, other._workers = 2 * min(block_rows, other._block_rows or block_rows), 1
        other._set_fields(self.fields)
        return other

    def single_files(self) -> dict[Path, Self]:
        """Return a reader of each Parquet or Arrow file; tables of other formats are in this process."""
        return {path: self._of(path) for path in self._tables} if self._by_scan else {}

    def row_ranges(self) -> list[tuple[int, Self]]:
        """Return readers of the slabs of a single file, for which one of its columns is read."""
        found = []
        for slab in self._all_slabs():
            other = copy.copy(self)
            other._slabs = [slab]
            found.append((slab.length, other))
        return found

    def _of(self, path: Path) -> Self:
        other = copy.copy(self)
        other._tables, other._schemas, other._slabs = {path: self._tables[path]}, {path: self._schemas[path]}, None
        tables, schemas = self._stored
        other._stored = {path: tables[path]}, {path: schemas[path]}
        return other

    @property
    def group_bytes(self) -> int:
        """The memory that one column of the longest row group takes: bytes and numbers in three passes, and text."""
        longest = max((max(self._group_lengths(path), default=0) for path in self._tables), default=0)
        text = any(pl.String in schema.values() for schema in self._schemas.values())
        return longest * (3 * 16 + text * TEXT_BYTES)

    def count(self) -> int:
        """Return the number of rows, by the files' own metadata."""
        return sum(int(table.select(pl.len()).collect().item()) for table in self._tables.values())

    def blocks(self) -> Iterator[Array]:
        """Yield Fortran-ordered blocks, missing entries NaN; text is an error."""
        if self._text:
            raise self._text_error()
        for _, blocks, _ in self._decoded():
            blocks.reverse()
            while blocks:  # each block is freed once it has been used
                yield blocks.pop()

    def tables(self) -> Iterator[MixedRows]:
        """Yield blocks with text as categories, and integers that floats would round; the rest as numbers."""
        for slab, blocks, text in self._decoded():
            whole = self._rounded(slab, blocks)
            start = 0
            for numbers in blocks:
                rows = slice(start, start + len(numbers))
                exact = {self.names.index(name): encode(column[rows]) for name, column in whole.items()}
                yield join_text_columns(numbers, list(text[rows].iter_columns()), self.fields, exact)
                start = rows.stop

    def frames(self) -> Iterator[DataFrame]:
        """Yield the rows as frames of the types that the files declare."""
        for slab in self._all_slabs():
            for start in range(slab.start, slab.start + slab.length, self._block):
                length = min(self._block, slab.start + slab.length - start)
                yield self._collect_by_columns(slab._replace(start=start, length=length), self.names)

    def _rounded(self, slab: Slab, blocks: list[Array]) -> dict[str, Any]:
        """Return the columns of integers that floats have rounded in a slab, read again as integers."""
        import narwhals.stable.v2 as nw

        kinds = {field.name: field.kind for field in self.fields}
        names = [
            name
            for place, name in enumerate(self._numeric)
            if kinds[name] == ColumnKind.INTEGER and any(exceeds_float_precision(block[:, place]) for block in blocks)
        ]
        return {name: nw.from_native(self._collect(slab, [name])[name], series_only=True) for name in names}

    def column(self, name: Any) -> Array:
        """Return one whole column (n,): numbers unchanged, text as text."""
        worded = name in self._formats and self._formats[name].words
        tables = [table.select(name) for table in (self._stored[0] if worded else self._tables).values()]
        whole = pl.concat(tables, how="vertical_relaxed")
        starts = range(0, max(1, whole.select(pl.len()).collect().item()), COLUMN_ROWS)
        return join_columns(as_array(whole.slice(start, COLUMN_ROWS).collect().to_series()) for start in starts)

    def _decoded(self) -> Iterator[tuple[Slab, list[Array], DataFrame]]:
        """Yield slab by slab the blocks of the columns of numbers, and the columns of text."""
        with ThreadPoolExecutor(self._workers, thread_name_prefix="eigenlens-decoder") as pool:
            for slab in self._all_slabs():
                yield slab, *self._fill(pool, slab)

    def _all_slabs(self) -> list[Slab]:
        if self._slabs is None:
            self._slabs = [slab for path in self._tables for slab in self._cut(path)]
        return self._slabs

    def _cut(self, path: Path) -> Iterator[Slab]:
        """Yield the slabs of one file, cut where its row groups end."""
        most = max(self._block, min(self._slab_rows or SLAB_BYTES, SLAB_BYTES // self._row_bytes))
        groups = self._group_lengths(path)
        share = min(1.0, max(most, *groups, 1) / max(1, sum(groups)))
        column_bytes = path.stat().st_size * share / self._width
        columns = max(4, int(GROUP_BYTES / WORKERS / column_bytes))
        if self._slab_rows:
            columns = max(1, GROUP_BLOCKS * self._block * self._row_bytes // (8 * max(1, *groups)))
        columns = min(-(-len(self.names) // self._workers), columns)
        return (Slab(path, start, length, columns) for start, length in cut_slabs(groups, most))

    def _group_lengths(self, path: Path) -> list[int]:
        """Return the numbers of rows of the row groups of one file; some of billions of rows are taken together."""
        # Polars keeps one chunk per row group, so one column shows where they end. It is read in pieces, since a file
        # of a few bytes may have more rows than memory holds; where a piece ends, a group may go on.
        schema = self._schemas[path]  # of all columns: a cell of text takes much more memory than a number
        column = self._tables[path].select(next((name for name in schema if schema[name].is_numeric()), self.names[0]))
        groups: list[int] = []
        for start in range(0, int(column.select(pl.len()).collect().item()), PIECE_ROWS):
            lengths = column.slice(start, PIECE_ROWS).collect().to_series().chunk_lengths()
            if groups:
                groups[-1] += lengths.pop(0)
            groups += lengths
        return groups

    def _fill(self, pool: ThreadPoolExecutor, slab: Slab) -> tuple[list[Array], DataFrame]:
        """Return the blocks of a slab, their columns decoded in groups by the pool, and its columns of text."""
        starts = range(0, slab.length, self._block)
        sizes = [(min(self._block, slab.length - start), len(self._numeric)) for start in starts]
        blocks = [np.empty(size, dtype=self.dtype, order="F") for size in sizes]
        text = pool.submit(self._collect_by_columns, slab, self._text)
        firsts = range(0, len(self._numeric), slab.columns)
        for work in [pool.submit(self._decode, slab, blocks, first) for first in firsts]:
            work.result()
        return blocks, text.result()

    def _decode(self, slab: Slab, blocks: list[Array], first: int) -> None:
        kind = pl.Float32 if self.dtype == np.float32 else pl.Float64
        fill(blocks, self._collect(slab, self._numeric[first : first + slab.columns], kind), first)

    def _collect(self, slab: Slab, names: list[str], kind: Any = None) -> DataFrame:
        table = self._tables[slab.path].select(names).slice(slab.start, slab.length)
        try:
            return (table if kind is None else table.cast(kind)).collect()
        except pl.exceptions.PolarsError as error:
            raise unreadable(slab.path, error) from error

    def _collect_by_columns(self, slab: Slab, names: Sequence[str]) -> DataFrame:
        """Return rows of some columns, decoded a few columns at a time: of each the whole row group is decoded."""
        groups = (names[first : first + slab.columns] for first in range(0, len(names), slab.columns))
        parts = [self._collect(slab, list(group)) for group in groups]
        return pl.concat(parts, how="horizontal") if parts else self._collect(slab, [])

    def _text_error(self) -> DataError:
        names = self._text
        texts = [table.select(names[0]).collect().to_series() for table in self._tables.values()]
        count = sum(len(text) - text.null_count() for text in texts)
        for path, text in zip(self._tables, texts, strict=True):
            present = text.is_not_null().arg_true()
            if len(present):
                where = f"row {present[0] + 1}" + (f" of {path.name}" if len(texts) > 1 else "")
                return text_error(names, TextCells(where, str(text[present[0]]), count))
        what, fix = f"column {names[0]!r} is a text column without entries", "leave it out with {drop}"
        return DataError(what, columns=names, fix=fix, settings={"drop": names})


def scan_parquet(path: Path) -> LazyFrame:
    """Return the table of a Parquet file."""
    return cast("LazyFrame", pl.scan_parquet(path, glob=False))


def _reject_bomb(path: Path, table: LazyFrame, d: int, max_ratio: float) -> None:
    """Raise for a file whose columns, as numbers, take so many times its size that hardly any can be a measurement."""
    size = 8 * d * table.select(pl.len()).collect().item()
    if size > FREE_STORED_BYTES and size > max_ratio * path.stat().st_size:
        raise bomb_error(path, size / path.stat().st_size)


def scan_arrow(path: Path) -> LazyFrame:
    """Return the table of an Arrow IPC file."""
    return cast("LazyFrame", pl.scan_ipc(path, glob=False))


def cut_slabs(chunks: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """Yield (start, count) of slabs of at most `most` rows, cut where chunks end if possible.

    >>> list(cut_slabs([3, 3, 3, 10], most=6))
    [(0, 6), (6, 3), (9, 5), (14, 5)]
    """
    start = count = 0
    for chunk in chunks:
        if count and count + chunk > most:
            yield start, count
            start, count = start + count, 0
        if chunk <= most:
            count += chunk
            continue
        parts = -(-chunk // most)
        step = -(-chunk // parts)
        for done in range(0, chunk, step):
            yield start + done, min(step, chunk - done)
        start += chunk
    if count:
        yield start, count


def _schema(path: Path, table: LazyFrame) -> dict[str, Any]:
    try:
        return dict(table.collect_schema())
    except (pl.exceptions.PolarsError, OSError) as error:
        _reject_relatives(path)
        raise unreadable(path, error) from error


RELATIVES = {
    b"\xff\xff\xff\xff": ("an Arrow stream", "an Arrow file: polars.read_ipc_stream(…).write_ipc(…)"),
    b"FEA1": ("Feather version 1", "version 2: pyarrow.feather.write_feather(pyarrow.feather.read_table(…), …)"),
}
"""Formats that share a suffix with one that is read, by their first bytes: what they are, and what to write instead."""


def _reject_relatives(path: Path) -> None:
    with path.open("rb") as file:
        found = RELATIVES.get(file.read(4))
    if found:
        raise DataError(f"'{path}' is {found[0]}, which cannot be read by blocks", fix=f"write it as {found[1]}")
