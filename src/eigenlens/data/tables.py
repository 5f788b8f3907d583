"""Rows of Parquet and Arrow files by Polars, in bounded memory whatever the size of their row groups.

A row group must be decoded before its rows can be used, and a default writer makes groups of hundreds of
megabytes. So a pass decodes slabs of at most `SLAB_BYTES`, cut at the borders of row groups where those are
smaller, and within a slab a few columns at a time, in several threads, so that little else is held. A row
group larger than a slab is decompressed once for every slab that it is cut into: the price of bounded memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.columns import Selection
from eigenlens.data.source import FILE_BLOCK_BYTES
from eigenlens.errors import DataError, MissingExtra

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame, Series

__all__ = [
    "TableReader",
    "arrow_reader",
    "as_array",
    "fill",
    "import_polars",
    "parquet_reader",
    "same_columns",
    "text_error",
    "unreadable",
]

SLAB_BYTES = 192 << 20
"""What one slab of decoded rows may take."""

GROUP_BYTES = 16 << 20
"""About what the columns being decoded may take in the file: Polars fetches whole column chunks."""

WORKERS = max(2, min(8, os.cpu_count() or 2))


def import_polars() -> Any:
    """The polars module, or the error that says how to install it."""
    try:
        import polars
    except ImportError as error:
        raise MissingExtra("polars", extra="tables", need="reading tables from files") from error
    return polars


class Slab(NamedTuple):
    """Some consecutive rows of one file, and how many columns to decode at once."""

    path: Path
    start: int
    length: int
    columns: int


class TableReader:
    """Blocks of the numeric columns of Parquet or Arrow files; `open_table` makes a file a LazyFrame."""

    def __init__(
        self,
        paths: tuple[Path, ...],
        selection: Selection,
        open_table: Callable[[Path], LazyFrame],
        *,
        block_rows: int | None = None,
    ) -> None:
        # Opened once: a wide file's metadata takes longer to parse than some of its columns.
        self._tables = {path: open_table(path) for path in paths}
        schemas = [_schema(path, table) for path, table in self._tables.items()]
        same_columns(paths, [list(schema) for schema in schemas])
        self._width = len(schemas[0])
        self.names: tuple[str, ...] = selection.features(list(schemas[0]))
        self.n_features = len(self.names)
        self._refuse_others(schemas)
        single = all(str(schema[name]) == "Float32" for schema in schemas for name in self.names)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._block = block_rows or max(1, FILE_BLOCK_BYTES // (self.n_features * self.dtype.itemsize))
        self._slabs: list[Slab] | None = None

    def count(self) -> int:
        """The number of rows, by the files' own metadata."""
        pl = import_polars()
        return sum(int(table.select(pl.len()).collect().item()) for table in self._tables.values())

    def blocks(self) -> Iterator[Array]:
        """One pass over the features: Fortran-ordered blocks, missing entries NaN."""
        if self._slabs is None:
            self._slabs = [slab for path in self._tables for slab in self._cut(path)]
        with ThreadPoolExecutor(WORKERS, thread_name_prefix="eigenlens-decoder") as pool:
            for slab in self._slabs:
                blocks = self._fill(pool, slab)
                blocks.reverse()
                while blocks:  # each is let go as it is taken
                    yield blocks.pop()

    def column(self, name: str) -> Array:
        """One whole column (n,): numbers as they are, text as text."""
        pl = import_polars()
        tables = [table.select(name) for table in self._tables.values()]
        return as_array(pl.concat(tables, how="vertical_relaxed").collect().to_series())

    def _cut(self, path: Path) -> Iterator[Slab]:
        """Slabs of one file, cut where its row groups end."""
        most = max(self._block, SLAB_BYTES // (self.n_features * self.dtype.itemsize))
        # Polars keeps one chunk a row group, so one column tells where they end.
        groups = self._tables[path].select(self.names[0]).collect().to_series().chunk_lengths()
        share = min(1.0, max(most, *groups, 1) / max(1, sum(groups)))
        column_bytes = path.stat().st_size * share / self._width
        columns = min(-(-self.n_features // WORKERS), max(4, int(GROUP_BYTES / WORKERS / column_bytes)))
        return (Slab(path, start, length, columns) for start, length in cut_slabs(groups, most))

    def _fill(self, pool: ThreadPoolExecutor, slab: Slab) -> list[Array]:
        """The blocks of a slab, their columns decoded in groups by the pool."""
        starts = range(0, slab.length, self._block)
        sizes = [(min(self._block, slab.length - start), self.n_features) for start in starts]
        blocks = [np.empty(size, dtype=self.dtype, order="F") for size in sizes]
        firsts = range(0, self.n_features, slab.columns)
        for work in [pool.submit(self._decode, slab, blocks, first) for first in firsts]:
            work.result()
        return blocks

    def _decode(self, slab: Slab, blocks: list[Array], first: int) -> None:
        pl = import_polars()
        names = self.names[first : first + slab.columns]
        table = self._tables[slab.path].select(names).slice(slab.start, slab.length)
        try:
            frame = table.cast(pl.Float32 if self.dtype == np.float32 else pl.Float64).collect()
        except pl.exceptions.PolarsError as error:
            raise unreadable(slab.path, error) from error
        fill(blocks, frame, first)

    def _refuse_others(self, schemas: list[dict[str, Any]]) -> None:
        """Text, dates and nested columns are errors, unless they are ids, labels or dropped."""
        for schema in schemas:
            text = [name for name in self.names if str(schema[name]) in ("String", "Categorical", "Enum")]
            text += [name for name in self.names if str(schema[name]).startswith(("Categorical(", "Enum("))]
            if text:
                raise self._text_error(text)
            for name in self.names:
                _refuse_kind(name, schema[name])

    def _text_error(self, names: list[str]) -> DataError:
        texts = [table.select(names[0]).collect().to_series() for table in self._tables.values()]
        count = sum(len(text) - text.null_count() for text in texts)
        for path, text in zip(self._tables, texts, strict=True):
            present = text.is_not_null().arg_true()
            if len(present):
                where = f"row {present[0] + 1}" + (f" of {path.name}" if len(texts) > 1 else "")
                return text_error(names, count, where, str(text[present[0]]))
        return DataError(f"column {names[0]!r} is a text column without entries: leave it out with drop={names}.")


def parquet_reader(paths: tuple[Path, ...], selection: Selection, *, block_rows: int | None = None) -> TableReader:
    """A reader of Parquet files."""
    pl = import_polars()
    return TableReader(paths, selection, lambda path: pl.scan_parquet(path, glob=False), block_rows=block_rows)


def arrow_reader(paths: tuple[Path, ...], selection: Selection, *, block_rows: int | None = None) -> TableReader:
    """A reader of Arrow IPC files, which Feather files are too."""
    pl = import_polars()
    return TableReader(paths, selection, lambda path: pl.scan_ipc(path, glob=False), block_rows=block_rows)


def cut_slabs(chunks: Sequence[int], most: int) -> Iterator[tuple[int, int]]:
    """(start, count) of slabs of at most `most` rows, cut where chunks end as far as that goes.

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


def fill(blocks: list[Array], frame: DataFrame, first: int = 0) -> None:
    """Copy the columns of a frame into columns `first`… of consecutive blocks; nulls become NaN."""
    for place, column in enumerate(frame.iter_columns(), first):
        values = column.to_numpy()
        start = 0
        for block in blocks:
            block[:, place] = values[start : start + len(block)]
            start += len(block)


def as_array(column: Series) -> Array:
    """A column for the user: numbers as they are, text as NumPy strings, None where an entry is missing."""
    values = column.to_numpy()
    return values.astype(str) if values.dtype == object and not column.null_count() else values


def text_error(names: Sequence[str], count: int, where: str, value: str, na: Sequence[str] = ()) -> DataError:
    """The error for text in columns that should hold numbers, with the ways out."""
    more = f"; so do {len(names) - 1} more" if len(names) > 1 else ""
    out = f"pass na=[{_quoted(na)}] if that means missing, or leave" if na else "leave"
    return DataError(
        f"column '{names[0]}' has text in {count} row{'s' * (count != 1)} (first: {where}, '{value}'){more}: "
        f"{out} it out with drop=[{_quoted(names)}], id= or label=."
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _schema(path: Path, table: LazyFrame) -> dict[str, Any]:
    pl = import_polars()
    try:
        return dict(table.collect_schema())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(path, error) from error


def same_columns(paths: Sequence[Path], columns: list[list[str]]) -> None:
    """Raise unless every file has the columns of the first, in the same order."""
    for path, names in zip(paths, columns, strict=True):
        if names != columns[0]:
            odd = [name for name in names if name not in columns[0]] or [n for n in columns[0] if n not in names]
            differ = f"{odd[0]!r} is in one only" if odd else "their order differs"
            raise DataError(
                f"'{path}' and '{paths[0]}' have different columns ({differ}): "
                "the files of one scan need the same columns in the same order."
            )


def _refuse_kind(name: str, dtype: Any) -> None:
    if not (dtype.is_numeric() or str(dtype) in ("Boolean", "Null")):
        kind = "dates or times" if dtype.is_temporal() else "nested values" if dtype.is_nested() else "no numbers"
        raise DataError(
            f"column '{name}' holds {kind} ({dtype}): leave it out with drop=[\"{name}\"], "
            "or write it as numbers first."
        )


def unreadable(path: Path, error: Exception) -> DataError:
    """What a library said about a file, with the file's name."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return DataError(f"'{path}' cannot be read: {reason}. Write it again, or check its suffix.")
