"""Tables whose rows are features, such as genes: the first column names these, and the line of names the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import Reader, pl
from eigenlens.data.files.cells import TextCells, text_error
from eigenlens.data.source import BLOCK_BYTES
from eigenlens.data.table import MixedRows, mixed_rows
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from polars import DataFrame

ROW_NAMES = "row"


class TransposedReader(Reader):
    """Rows and columns of another reader exchanged, in memory; `row_names` is the column with the names of rows."""

    def __init__(self, reader: Reader, *, block_rows: int | None = None) -> None:
        self.copies = reader.copies
        self.decisions = tuple(replace(each, columns=()) for each in reader.decisions)
        self.named = reader.named
        count = len(reader.fields)
        if reader.named and count < 2:
            what = "has one column, which names the features, and none with values"
            raise DataError(f"the file {what}", fix="read it without {transpose}", settings={"transpose": ...})
        values = reader.only(range(1, count)) if reader.named else reader
        self._rows: Array = np.concatenate([np.asarray(block) for block in values.blocks()]).T
        self.dtype = self._rows.dtype
        names = _feature_names(reader) if reader.named else range(len(self._rows.T))
        whole = {field.kind for field in values.fields} <= {ColumnKind.INTEGER, ColumnKind.BOOLEAN}
        kind = ColumnKind.INTEGER if whole else ColumnKind.NUMBER
        features = [Field(name, kind) for name in names]
        self._places = {name: place for place, name in enumerate(names)}
        self._names = np.array([str(name) for name in values.names])
        self._block_rows = block_rows or max(1, BLOCK_BYTES // max(1, self._rows.itemsize * len(features)))
        while reader.named and self.row_names in self._places:
            self.row_names += "_"
        self.fields = (Field(self.row_names, ColumnKind.TEXT), *features) if reader.named else tuple(features)
        self.row_names = self.row_names if reader.named else None

    row_names: Any = ROW_NAMES

    def count(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def blocks(self) -> Iterator[Array]:
        """Yield blocks of numbers; the names of rows are text, and an error."""
        if self.row_names in self.names:
            raise text_error([str(self.row_names)], TextCells("row 1", str(self._names[0]), len(self._names)))
        places = [self._places[name] for name in self.names]
        rows = self._rows if places == list(range(self._rows.shape[1])) else self._rows[:, places]
        for start in range(0, len(rows), self._block_rows):
            yield rows[start : start + self._block_rows]

    def tables(self) -> Iterator[MixedRows | Array]:
        """Yield one block, with the names of rows as categories if they are asked for."""
        if self.row_names not in self.names:
            yield from self.blocks()
        else:
            yield mixed_rows([self.column(name) for name in self.names], self.fields)

    def frames(self) -> Iterator[DataFrame]:
        """Yield one frame."""
        columns = {str(name): self.column(name) for name in self.names}
        yield pl.DataFrame(columns, nan_to_null=True)

    def column(self, name: Any) -> Array:
        """Return one column (n,): the names of rows, or a feature."""
        return self._names if name == self.row_names else self._rows[:, self._places[name]]


def _feature_names(reader: Reader) -> Sequence[str]:
    """Return the entries of the first column as names, each different; a missing one is named by its position."""
    found = [None if name is None or name != name else str(name) for name in reader.column(reader.names[0]).tolist()]
    names = [name or f"column_{place}" for place, name in enumerate(found, 1)]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        what = f"the first column has {repeated[0]!r} {Counter(names)[repeated[0]]} times, and names the columns"
        raise DataError(what, columns=repeated[:5], fix="give each its own name")
    return names
