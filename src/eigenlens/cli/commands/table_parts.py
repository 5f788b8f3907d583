"""A table in parts: one where its rows are in memory, otherwise one for each block that is read from its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from eigenlens.arrays import Array
from eigenlens.data.files.base import as_array, pl
from eigenlens.data.files.file_parts import FilePart, RowCursor, file_parts, in_small_blocks, small_block
from eigenlens.errors import DataError

T = TypeVar("T")


def is_in_memory(table: Any) -> bool:
    """Return whether the rows of a table are in memory."""
    return table.missing is not None


def map_parts(table: Any, work: Callable[[Any], T]) -> Iterator[tuple[Any, T]]:
    """Yield the parts of a table, which together have its rows in order, as tables, each with what `work` makes of it.

    An error about the rows of one part of several says which rows of the files these are.
    """
    if is_in_memory(table):
        yield table, work(table)
        return
    columns, first = _ColumnReader(table.files), 0
    for part in file_parts(table.source):
        here = _part_of(table, part, columns, first)
        try:
            found = work(here)
        except DataError as error:
            raise error.replace(within=f"rows {part.start + 1:,} to {part.start + part.n_read:,}") from error
        yield here, found
        first += here.n


def _part_of(table: Any, part: FilePart, columns: _ColumnReader, first: int) -> Any:
    """Return the table of a part, whose rows are those of the table from number `first` on."""
    columns.part, n = part, int(part.rows.n_rows or 0)
    label, weight = (None if each is None else each[first : first + n] for each in (table.label, table.weight))
    readers = {"beside": columns.read_column, "frame_reader": columns.read_frame}
    return replace(table, source=part.rows, n=n, label=label, weight=weight, **readers)


class _ColumnReader:
    """Columns of the rows of the part under way, each read by one pass that advances with the parts."""

    part: FilePart

    def __init__(self, files: Any) -> None:
        self._files = files
        self._cursors: dict[Any, RowCursor] = {}
        self._columns: dict[Any, RowCursor] = {}

    def read_frame(self, source: Any, written: bool = False) -> Any:
        key = source.names, written
        if key not in self._cursors:
            small = in_small_blocks(source, self.part.rows.n_features)
            self._cursors[key] = RowCursor(small.cells() if written else small.frames())
        return self._cursors[key].take(self.part)

    def read_column(self, name: Any) -> Array:
        if name not in self._columns:
            frames = self._files.column_frames(name, small_block(self.part.rows.n_features))
            self._columns[name] = RowCursor(frames)
        return as_array(self._columns[name].take(self.part).to_series(0))


def read_frame(table: Any, source: Any, written: bool = False) -> Any:
    """Return columns of the files of a table as a frame of its rows, as they are `written` in text if wanted."""
    if table.frame_reader is not None:
        return table.frame_reader(source, written)
    whole = pl.concat(list(source.cells() if written else source.frames()), how="vertical_relaxed")
    return whole if table.kept is None else whole.filter(table.kept)
