"""Tables whose rows are features, such as genes: a column names these, and the line of names the rows.

Other columns that describe the features are left aside; other lines that describe the rows are columns of text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import Reader, pl
from eigenlens.data.files.cells import TextCells, text_error
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.layout.header import HEADER_LINES, continue_groups
from eigenlens.data.source import BLOCK_BYTES
from eigenlens.data.table import MixedRows, mixed_rows
from eigenlens.errors import DataError, join_limited

if TYPE_CHECKING:
    from polars import DataFrame

EXCHANGED = "rows and columns"
DESCRIBED = "rows"
"""The subjects of the decisions to exchange rows and columns, and about lines that describe rows."""

ROW_NAMES = "row"
GROUPS = "group"

DESCRIPTION = re.compile(
    r"(?i)(gene|exon|transcript|tx)?[\W_]*(chr(om|omosome)?|start|end|length|strand|position|pos|entrez\w*)"
)
"""Names of columns of numbers that describe a gene, and are no sample."""


class TransposedReader(Reader):
    """Rows and columns of another reader exchanged, in memory; `row_names` is the column with the names of rows.

    columns: that which names the features, and those with values, by number; None where the columns show it.
    """

    def __init__(
        self, reader: Reader, *, block_rows: int | None = None, columns: tuple[int, list[int]] | None = None
    ) -> None:
        self.copies = reader.copies
        self.named = reader.named
        named, samples = columns or (
            _split_columns(reader) if reader.named else (None, list(range(len(reader.fields))))
        )
        values = reader.only(samples)
        self._rows: Array = np.concatenate([np.asarray(block) for block in values.blocks()]).T
        self.dtype = self._rows.dtype
        names = range(len(self._rows.T)) if named is None else _feature_names(reader, named)
        whole = {field.kind for field in values.fields} <= {ColumnKind.INTEGER, ColumnKind.BOOLEAN}
        features = [Field(name, ColumnKind.INTEGER if whole else ColumnKind.NUMBER) for name in names]
        self._places = {name: place for place, name in enumerate(names)}
        self._block_rows = block_rows or max(1, BLOCK_BYTES // max(1, self._rows.itemsize * len(features)))
        self._beside = _describe_rows(reader, samples, self._places) if reader.named else {}
        self.row_names = next(iter(self._beside), None)
        self.fields = (*(Field(name, ColumnKind.TEXT) for name in self._beside), *features)
        self.decisions = tuple(
            _own_decisions(reader, named if columns is None else None, samples, list(self._beside)[1:])
        )

    def count(self) -> int:
        """Return the number of rows."""
        return len(self._rows)

    def blocks(self) -> Iterator[Array]:
        """Yield blocks of numbers; the names of rows and other text are an error."""
        text = [name for name in self._beside if name in self.names]
        if text:
            raise text_error(text, TextCells("row 1", str(self._beside[text[0]][0]), len(self._rows)))
        places = [self._places[name] for name in self.names]
        rows = self._rows if places == list(range(self._rows.shape[1])) else self._rows[:, places]
        step = self._block_rows or len(rows)
        for start in range(0, len(rows), step):
            yield rows[start : start + step]

    def tables(self) -> Iterator[MixedRows | Array]:
        """Yield one block, with text as categories if it is asked for."""
        if not set(self._beside) & set(self.names):
            yield from self.blocks()
        else:
            yield mixed_rows([self.column(name) for name in self.names], self.fields)

    def frames(self) -> Iterator[DataFrame]:
        """Yield one frame."""
        columns = {str(name): self.column(name) for name in self.names}
        yield pl.DataFrame(columns, nan_to_null=True)

    def column(self, name: Any) -> Array:
        """Return one column (n,): the names of rows or other text, or a feature."""
        return self._beside[name] if name in self._beside else self._rows[:, self._places[name]]


# ---- what describes features, and what describes rows -----------------------------------------------------------


def _split_columns(reader: Reader) -> tuple[int, list[int]]:
    """Return the column that names the features, and those with values: of numbers that do not describe features.

    The first column of text whose entries are all different names the features, else the first column.
    """
    text = [j for j, each in enumerate(reader.fields) if each.kind in (ColumnKind.TEXT, ColumnKind.OTHER)]
    named = next((j for j in text if _tells_apart(reader.column(reader.names[j]))), 0)
    samples = [j for j, name in enumerate(reader.names) if j not in (named, *text) and not DESCRIPTION.fullmatch(name)]
    if not samples:
        what = "the file has one column, which names the features, and none with values"
        raise DataError(what, fix="read it without {transpose}", settings={"transpose": ...})
    return named, samples


def _tells_apart(values: Array) -> bool:
    known = [value for value in values.tolist() if value is not None]
    return len(known) == len(values) == len(set(known))


def _feature_names(reader: Reader, place: int) -> Sequence[str]:
    """Return the entries of a column as names, each different; a missing one is named by its position."""
    entries = reader.column(reader.names[place]).tolist()
    found = [None if name is None or name != name else str(name) for name in entries]
    names = [name or f"column_{number}" for number, name in enumerate(found, 1)]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        what = f"the first column has {repeated[0]!r} {Counter(names)[repeated[0]]} times, and names the columns"
        raise DataError(what, columns=repeated[:5], fix="give each its own name")
    return names


def _describe_rows(reader: Reader, samples: Sequence[int], taken: Collection[Any]) -> dict[str, Array]:
    """Return the columns of text that the lines of names are, by name: first the names of rows.

    These are the first line with a different entry for each; others, such as groups, have names of their own.
    """
    levels = [continue_groups(level) for level in reader.levels] if len(reader.levels) > 1 else []
    chosen = [(level[0], [level[j] for j in samples]) for level in levels]
    place = next((i for i, (_, cells) in enumerate(chosen) if all(cells) and len(set(cells)) == len(cells)), None)
    names = [str(reader.names[j]) for j in samples] if place is None else chosen[place][1]
    found: dict[str, Array] = {}
    others = [each for i, each in enumerate(chosen) if i != place and any(each[1])]
    for title, cells in [(ROW_NAMES, names), *others]:
        name = title or GROUPS
        while name in taken or name in found:
            name += "_"
        found[name] = np.array([cell or None for cell in cells], dtype=None if all(cells) else object)
    return found


def _own_decisions(reader: Reader, named: int | None, samples: Sequence[int], groups: Sequence[str]) -> list[Decision]:
    """Return what was decided about columns that describe features, and lines that describe rows."""
    # What was decided about lines of names, and columns, is decided anew, or is about rows now.
    kept = (each for each in reader.decisions if each.subject not in (HEADER_LINES, EXCHANGED, DESCRIBED))
    found = [replace(each, columns=()) for each in kept]
    aside = [repr(name) for j, name in enumerate(reader.names) if j not in (named, *samples)]
    if aside and named is not None:
        several = "s" * (len(aside) > 1)
        what = f"column{several} {join_limited(aside)} describe{'' if several else 's'} the features, and"
        what += f" {'are' if several else 'is'} left aside; '{reader.names[named]}' names them"
        found.append(Decision("features", what, (), "to name them by another, put it first", surprising=True))
    for name in groups:
        what, fix = f"a line of names describes the rows, and is their column '{name}'", "leave it out with {drop}"
        found.append(Decision(DESCRIBED, what, (name,), fix, {"drop": [name]}))
    return found
