"""A table as frames of numbers and text, pass by pass: files as the command line reads them, or rows in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.data.coerce import fields_of
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import pl
from eigenlens.data.source import Source
from eigenlens.data.table import codes_of, mixed_rows, numbers_of

if TYPE_CHECKING:
    from polars import DataFrame


class MemoryFrames:
    """Rows in memory under the methods by which columns of files are profiled."""

    is_written, dialect = False, None

    def __init__(self, source: Source, columns: Sequence[int] | None = None) -> None:
        whole = fields_of(source)
        self.columns = list(range(len(whole)) if columns is None else columns)
        self.fields = tuple(_named(whole[j], j, source.names is not None) for j in self.columns)
        self.n_features, self._source = len(self.fields), source

    def cells(self) -> Iterator[DataFrame]:
        """Yield the rows as Polars frames, null where an entry is missing."""
        for rows in self._source.rows():
            yield pl.DataFrame([pl.Series(str(f.name), _values(rows, j, f.kind)) for j, f in self._placed()])

    frames = cells

    def rows(self) -> Iterator[Any]:
        """Yield the rows (b, d) of columns that are all numbers."""
        for rows in self._source.rows():
            yield numbers_of(rows, np.array(self.columns))

    def with_block_rows(self, block_rows: int) -> MemoryFrames:
        """Return these rows: those in memory are there already, and smaller blocks would save nothing."""
        return self

    def part(self, columns: Sequence[int]) -> MemoryFrames:
        """Return some of the columns, by number."""
        return MemoryFrames(self._source, [self.columns[j] for j in columns])

    def _placed(self) -> Iterator[tuple[int, Field]]:
        return zip(self.columns, self.fields, strict=True)


def _named(field: Field, place: int, named: bool) -> Field:
    return field._replace(name=str(field.name) if named else f"x{place}")


def _values(rows: Any, column: int, kind: ColumnKind) -> Any:
    where = np.array([column])
    if kind == ColumnKind.TEXT:
        encoded: Any = codes_of(rows, where)
        return [None if value is None else str(value) for value in encoded[0].values().tolist()]
    values = np.asarray(numbers_of(rows, where)[:, 0], dtype=np.float64)
    return pl.Series(values).fill_nan(None)


class FrameRows(Source):
    """The rows of frames as blocks of numbers and categories."""

    dtype = np.dtype(np.float64)
    n_rows = None

    def __init__(self, frames: Any) -> None:
        self._frames, self.fields = frames, frames.fields
        self.names = tuple(str(field.name) for field in frames.fields)
        self.n_features = len(self.names)

    def rows(self) -> Iterator[Any]:
        """Yield blocks of the rows: arrays (b, d) where no column is text, which need not become frames first."""
        if all(field.kind != ColumnKind.TEXT for field in self.fields):
            yield from self._frames.rows()
            return
        for frame in self._frames.frames():
            yield mixed_rows(frame.get_columns(), self.fields)
