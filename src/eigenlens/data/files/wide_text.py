"""Delimited text with any number of columns: hundreds of them are parsed as one, which means the same in less time."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import pl
from eigenlens.data.files.cells import parse_numbers
from eigenlens.data.files.layout.wide_rows import MIN_WIDE_COLUMNS, cut_columns, stack_cells
from eigenlens.data.files.text import DelimitedReader

if TYPE_CHECKING:
    from polars import DataFrame, Series


class WideTextReader(DelimitedReader):
    """Columns of delimited text, of which those of wide rows are parsed together."""

    def _typed(self, path: Path, piece: bytes, *, as_text: bool = False) -> Any:
        """Return a piece as numbers and text; as an array (b, d) where it has many columns, all of them numbers."""
        if as_text or not self._is_wide(path, piece) or self._formats.keys() & set(self.names):
            return super()._typed(path, piece, as_text=as_text)
        rows = self._matrix(path, piece)
        return super()._typed(path, piece) if rows is None else rows

    def _matrix(self, path: Path, piece: bytes) -> Array | None:
        """Return a piece of wide rows, all cells of which are parsed as one column; None where one is text."""
        places = self._places[path]
        chosen, kept, one = np.array([places[name] for name in self.names]), np.zeros(len(places), bool), self._single()
        kept[chosen] = True
        numbers = one._parse_cells(path, stack_cells(piece, self.dialect.separator, kept))
        self._null_values = one._null_values
        if numbers is None:
            return None
        rows = numbers.to_numpy().reshape(-1, len(places))
        return rows if np.array_equal(chosen, np.arange(len(places))) else rows[:, chosen]

    def _parse(
        self, path: Path, piece: bytes, names: Sequence[str], text: Collection[str], integers: Collection[str] = ()
    ) -> DataFrame:
        """Return the named columns of a piece, which are cut out where they are few of many."""
        places = self._places[path]
        if 10 * len(names) >= len(places) or not self._is_wide(path, piece):
            return super()._parse(path, piece, names, text, integers)
        few = copy.copy(self)
        few._places = {path: {name: place for place, name in enumerate(names)}}
        cut = cut_columns(piece, self.dialect.separator, [places[name] for name in names], len(places))
        return few._parse(path, cut, names, text, integers)

    def _is_wide(self, path: Path, piece: bytes) -> bool:
        return len(self._places[path]) >= MIN_WIDE_COLUMNS and b'"' not in piece

    def _single(self) -> Self:
        """Return a reader of lines of one number each."""
        other = copy.copy(self)
        other.fields, other._formats = (Field("", ColumnKind.NUMBER),), {}
        other._places = {key: {"": 0} for key in self.paths}
        return other

    def _parse_cells(self, path: Path, cells: bytes) -> Series | None:
        """Return lines of one cell as numbers; None where one of them is text."""
        frame = self._parse_numbers(path, cells, (), ())
        if frame is None:
            plain = self._parse(path, cells, [""], [""]).select(self._plain_columns([""]))
            frame = plain.select(parse_numbers(pl.all()))
            if plain[""].null_count() < frame[""].null_count():
                return None
        return self._mask_missing(frame, [], [""]).to_series()
