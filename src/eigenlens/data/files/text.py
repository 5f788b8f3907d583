"""Rows of CSV and other delimited text, a piece of the file at a time, compressed or not.

Pieces end where a record ends. Polars parses each as numbers; where it cannot, the cells are looked at one by
one: spaces are forgiven, true and false are 1 and 0, and text among numbers is an error that counts it over the whole
file. Columns of text alone are levels for models that take them, and an error for those that need numbers.
"""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.cells import (
    Found,
    cell_kinds,
    exact,
    joined_kind,
    number,
    plainest,
    text_places,
    without_missing,
)
from eigenlens.data.files.columns import Selection, listed_columns
from eigenlens.data.files.decode import refuse_undecodable, text_encoding
from eigenlens.data.files.dialect import Dialect, column_names, missing_numbers, refuse_numbers, separator_of
from eigenlens.data.files.polars import as_array, fill, import_polars, same_columns, text_error, unreadable
from eigenlens.data.files.records import HEAD_BYTES, PIECE_BYTES, records
from eigenlens.data.source import BLOCK_BYTES
from eigenlens.data.table import MixedRows, large, mixed_rows
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from polars import DataFrame, Series

__all__ = ["DelimitedReader"]

FIELD_KINDS = {
    "text": "text", "boolean": "boolean", "number": "number", "flags": "number", "empty": "number", "mixed": "mixed",
    "whole": "integer",
}  # fmt: skip
"""The kinds of fields by those of cells; a pass over a column that is mixed of text and numbers is an error."""


class DelimitedReader:
    """Blocks of the columns of delimited text files.

    A first line of names is expected. `header=False` says that there is none (columns are then column_1, …),
    `header=True` that a first line of numbers is names all the same. Whether a column holds numbers or text is seen in
    the first megabyte of each file, unless it is named in `text`. Text that is not UTF-8 is decoded as it is read.
    """

    def __init__(
        self,
        paths: tuple[Path, ...],
        selection: Selection,
        *,
        separator: str | None = None,
        header: bool | None = None,
        na: Sequence[str] = (),
        text: Sequence[str] = (),
        encoding: str | None = None,
        block_rows: int | None = None,
    ) -> None:
        na = (na,) if isinstance(na, str) else tuple(na)
        self.paths = paths
        encoding = None if encoding is None else text_encoding(encoding)
        self.dialect = Dialect(separator or separator_of(paths[0], encoding), header is not False, na, encoding)
        columns = [column_names(path, self.dialect) for path in paths]
        same_columns(paths, columns, ordered=False)
        if header is None:
            refuse_numbers(paths[0], columns[0])
        self._places = {path: _numbered(names) for path, names in zip(paths, columns, strict=True)}
        self.names: tuple[str, ...] = selection.features(columns[0])
        self.dtype = np.dtype(np.float64)
        self._block_rows = block_rows
        self._kinds = self._look_at_heads(listed_columns(text, "text", columns[0]))

    @property
    def fields(self) -> tuple[Field, ...]:
        """The features and what they hold."""
        return tuple(Field(name, ColumnKind(FIELD_KINDS[self._kinds[name]])) for name in self.names)

    def only(self, columns: Sequence[int]) -> Self:
        """A reader of some of the features, by number."""
        other = copy.copy(self)
        other.names = tuple(self.names[j] for j in columns)
        return other

    def count(self) -> int:
        """The number of rows, by a pass over the text."""
        return sum(self._length(path, piece) for path, piece in self._pieces())

    def blocks(self) -> Iterator[Array]:
        """One pass over the features: Fortran-ordered float64 blocks, empty cells NaN; text is refused."""
        if self._of_kind("text", "mixed"):
            raise self._text_error()
        for part in self._frames():
            block = np.empty(part.shape, order="F")
            fill([block], part)
            yield block

    def tables(self) -> Iterator[MixedRows]:
        """One pass over the features: text as levels, and integers that floats would round; the rest as numbers."""
        if self._of_kind("mixed"):
            raise self._found_error(levels=True)
        for part in self._frames(levels=True):
            paired = zip(part.iter_columns(), self.fields, strict=True)
            coded = ("text", "integer")
            yield mixed_rows([c if field.kind in coded else c.to_numpy() for c, field in paired], self.fields)

    def column(self, name: str) -> Array:
        """One whole column (n,): integers or floats where every entry is one, else text as it is written."""
        pl = import_polars()
        parts = [self._parse(path, piece, [name], text=[name]) for path, piece in self._pieces()]
        cells = pl.concat(parts).select(without_missing(name, self.dialect.na)).to_series()
        numbers = plainest(self._spelled(cells.str.strip_chars().replace("", None)))
        if numbers.dtype.is_numeric():
            cells = self._without_numbers(numbers.to_frame(), [name]).to_series()
        return as_array(cells)

    def _spelled(self, cells: Series) -> Series:
        """Text whose numbers are written as Polars reads them."""
        return cells

    def _in_file(self, cell: str) -> str:
        """A cell as the file has it, of text that this reader has changed to see its numbers."""
        return cell

    def _of_kind(self, *kinds: str) -> list[str]:
        return [name for name in self.names if self._kinds[name] in kinds]

    def _frames(self, levels: bool = False) -> Iterator[DataFrame]:
        for path, piece in self._pieces():
            frame = self._typed(path, piece, levels)
            step = self._block_rows or max(1, BLOCK_BYTES // (8 * len(self.names)))
            for start in range(0, len(frame), step):
                yield frame[start : start + step]

    def _length(self, path: Path, piece: bytes) -> int:
        if len(self._places[path]) > 1 and b'"' not in piece:  # then a line is a row, and counting them is quick
            return piece.count(b"\n") + (not piece.endswith(b"\n"))
        first = [next(iter(self._places[path]))]
        return len(self._parse(path, piece, first, text=first))

    def _pieces(self) -> Iterator[tuple[Path, bytes]]:
        for path in self.paths:
            for piece in self._records(path):
                yield path, piece

    def _records(self, path: Path, size: int | None = None) -> Iterator[bytes]:
        # A blank line is a row of its own only where a row is one cell.
        how = {"skip": self.dialect.header, "blanks": len(self._places[path]) == 1}
        return records(
            path, size or PIECE_BYTES, **how, encoding=self.dialect.encoding, separator=self.dialect.separator
        )

    def _parse(self, path: Path, piece: bytes, names: Sequence[str], text: Collection[str]) -> DataFrame:
        """The named columns of a piece, some as text and some as numbers; ValueError where these are none."""
        pl = import_polars()
        places = {name: self._places[path][name] for name in names}
        kinds = {place: pl.String if name in text else pl.Float64 for name, place in self._places[path].items()}
        how = {
            "has_header": False,
            "separator": self.dialect.separator,
            "null_values": list(self.dialect.na) or None,
        }
        try:
            frame = pl.read_csv(piece, schema=kinds, columns=list(places.values()), **how)
        except pl.exceptions.PolarsError as error:
            if "utf-8" in str(error).lower():
                refuse_undecodable(path, self.dialect.encoding)
            raise unreadable(path, error) from error
        chosen: DataFrame = frame.select(pl.col(place).alias(name) for name, place in places.items())
        return chosen

    def _typed(self, path: Path, piece: bytes, levels: bool = False) -> DataFrame:
        """The features of a piece as numbers and text; cell by cell where Polars found something that is no number."""
        text, whole = self._of_kind("text"), self._of_kind("whole") if levels else []
        words = self._of_kind("boolean", "flags") + whole
        try:
            frame = self._parse(path, piece, self.names, {*text, *words})
        except DataError:
            words = [name for name in self.names if self._kinds[name] != "text"]
            frame = self._parse(path, piece, self.names, self.names)
        typed = frame.with_columns(number(name) for name in words) if words else frame
        if any(len(text_places(frame[name], typed[name], self.dialect.na)) for name in words):
            raise self._found_error(levels=True) if levels else self._text_error()
        typed = typed.with_columns(without_missing(name, self.dialect.na) for name in text) if text else typed
        typed = typed.with_columns(exact(frame[name], typed[name]) for name in whole) if whole else typed
        return self._without_numbers(typed, [name for name in self.names if name not in text])

    def _without_numbers(self, frame: DataFrame, names: Sequence[str]) -> DataFrame:
        """Columns of numbers, null where one means missing however it is written."""
        missing = missing_numbers(self.dialect.na)
        if not missing:
            return frame
        pl = import_polars()
        return frame.with_columns(
            pl.when(pl.col(name).cast(pl.Float64).is_in(missing)).then(None).otherwise(pl.col(name)).alias(name)
            for name in names
        )

    def _look_at_heads(self, text: Collection[str]) -> dict[str, str]:
        """The kind of each feature, by the first megabyte of each file; those named in `text` are that."""
        heads = [(path, piece) for path in self.paths for piece in itertools.islice(self._records(path, HEAD_BYTES), 1)]
        if not heads:
            raise DataError(f"'{self.paths[0]}' has a line of names and no rows; at least 1 row is needed.")
        found = [self._head_kinds(path, piece) for path, piece in heads]
        kinds = zip(self.names, map(joined_kind, zip(*found, strict=True)), strict=True)
        return {name: "text" if name in text else kind for name, kind in kinds}

    def _head_kinds(self, path: Path, piece: bytes) -> list[str]:
        """The kind of each feature in a piece; where Polars can read all of it as numbers, no cell is looked at."""
        try:
            numbers = self._parse(path, piece, self.names, ())
            kinds = ["number" if gaps < len(numbers) else "empty" for gaps in numbers.null_count().row(0)]
        except DataError:
            cells = self._parse(path, piece, self.names, self.names)
            numbers, kinds = cells.select(number(name) for name in self.names), cell_kinds(cells, self.dialect.na)
        paired = zip(self.names, kinds, strict=True)
        rounded = [name for name, kind in paired if kind == "number" and large(numbers[name].to_numpy())]
        texts = self._parse(path, piece, rounded, rounded) if rounded else numbers
        whole = {name for name in rounded if exact(texts[name], numbers[name]).dtype.is_integer()}
        return ["whole" if name in whole else kind for name, kind in zip(self.names, kinds, strict=True)]

    def _text_error(self) -> DataError:
        """The error for text where numbers are needed."""
        return self._found_error(levels=False)

    def _found_error(self, levels: bool) -> DataError:
        """Where the text is, by a pass over everything; `levels`: where columns of nothing else are taken as such."""
        names = [name for name in self.names if not (levels and self._kinds[name] == "text")]
        found: dict[str, Found] = {}
        rows: Counter[Path] = Counter()
        for path, piece in self._pieces():
            frame = self._parse(path, piece, names, names)
            numbers = frame.select(number(name) for name in names)
            for name in names:
                places = text_places(frame[name], numbers[name], self.dialect.na)
                if len(places):
                    texts = [self._in_file(text) for text in frame[name].gather(places)]
                    found.setdefault(name, Found(path, rows[path] + int(places[0]) + 1, texts[0])).add(texts)
            rows[path] += len(frame)
        names = [name for name in names if name in found]
        first = found[names[0]]
        where = f"row {first.row}" + (f" of {first.path.name}" if len(self.paths) > 1 else "")
        return text_error(names, first.count, where, first.value, first.perhaps_missing(rows.total()), levels)


def _numbered(names: Sequence[str]) -> dict[str, str]:
    """What Polars calls the columns of a file without names."""
    return {name: f"column_{place}" for place, name in enumerate(names, 1)}
