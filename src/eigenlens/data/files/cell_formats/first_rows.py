"""The first rows of text files, and what they show of columns: kinds, formats of cells, missing-value markers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from eigenlens.data.column_kinds import ColumnKind, join_kinds
from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats import ColumnFormat, find_formats, format_decisions
from eigenlens.data.files.cell_formats.base import list_names
from eigenlens.data.files.cells import cell_kinds
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.dialect import Dialect

if TYPE_CHECKING:
    from polars import DataFrame

MAX_CELLS = 2_000
"""The number of different cells of a column that show its format."""


class FirstRows:
    """The first rows of each file, added one file at a time, and what they show once all have been.

    Attributes:
        kinds: {column: its kind}. formats: {column: how its cells mean numbers}, where they are not plain numbers.
        rows: the number of rows. partial: whether files have more. dates: columns of dates.
    """

    def __init__(
        self, dialect: Dialect, text: Collection[str], dates: Collection[str], words: Mapping[str, str]
    ) -> None:
        self._dialect, self._text, self.dates, self._words = dialect, set(text), list(dates), words
        self._found: dict[str, list[ColumnKind]] = defaultdict(list)
        self._cells: dict[str, dict[str, None]] = defaultdict(dict)
        self._markers: dict[str, Counter[str]] = defaultdict(Counter)
        self.kinds: dict[str, ColumnKind] = {}
        self.formats: dict[str, ColumnFormat] = {}
        self.rows, self.partial = 0, False

    def add(self, kinds: Mapping[str, ColumnKind], cells: DataFrame, rows: int, partial: bool) -> None:
        """Add the rows of a file: the kinds of columns of numbers, and the cells of others and of incomplete ones."""
        self.rows, self.partial = self.rows + rows, self.partial or partial
        for name, kind in kinds.items():
            self._found[name].append(kind)
        if not cells.width:
            return
        others = [name for name in cells.columns if name not in kinds]
        if others:
            for name, kind in zip(others, cell_kinds(cells[others], self._dialect), strict=True):
                self._found[name].append(kind)
        odd = {name for name in others if self._found[name][-1] in (ColumnKind.TEXT, ColumnKind.MIXED)}
        self._count_cells(cells, odd | set(self.dates))

    def _count_cells(self, cells: DataFrame, kept: Collection[str]) -> None:
        """Count each missing-value marker in each column, empty cells as '', and keep the other cells of some columns.

        All columns are one long one for this: one at a time, thousands of them take seconds.
        """
        # Names are read without spaces around them, so that no column of the file is called so.
        column, cell = " column", " cell"
        bare = cells.unpivot(variable_name=column, value_name=cell).with_columns(
            pl.col(cell).str.strip_chars().fill_null("")
        )
        counts = bare.group_by(column, cell, maintain_order=True).len(" n")
        marked = pl.col(cell).is_in(["", *self._dialect.number_markers])
        for name, marker, n in counts.filter(marked).rows():
            self._markers[marker][name] += n
        values = counts.filter(~marked & pl.col(column).is_in(list(kept)))
        for name, some in values.group_by(column, maintain_order=True).agg(pl.col(cell).head(MAX_CELLS)).rows():
            self._cells[name] |= dict.fromkeys(some)

    def finish(self, names: Sequence[str]) -> None:
        """Decide the kinds of all columns: text for those named so, else by the cells of all files."""
        text = ColumnKind.TEXT
        self.kinds = {name: text if name in self._text else join_kinds(self._found[name]) for name in names}
        odd = {name: self._cells[name] for name in names if self.kinds[name] in (text, ColumnKind.MIXED)}
        odd |= {name: self._cells[name] for name in self.dates}
        asked = {name: cells for name, cells in odd.items() if name not in self._text}
        found = find_formats(asked, self._dialect, self.dates, self._words)
        self.formats = {name: found[name] for name in names if name in found}
        self.kinds |= {name: written.kind for name, written in self.formats.items()}
        self._odd = {name: cells for name, cells in asked.items() if name not in self.formats}

    @property
    def markers(self) -> tuple[str, ...]:
        """The missing-value markers met in columns of numbers, and those that were given."""
        given = self._dialect.na or ()
        return tuple(m for m in self._dialect.number_markers if m in given or any(self._columns_with(m)))

    def _columns_with(self, marker: str) -> Iterator[str]:
        for name, n in self._markers[marker].items():
            text = self.kinds[name] in (ColumnKind.TEXT, ColumnKind.MIXED)
            if n and (not text or marker in ("", *self._dialect.text_markers)):
                yield name

    def decisions(self) -> Iterator[Decision]:
        """Yield the decisions about formats of cells, and the counts of missing-value markers."""
        yield from format_decisions(self.formats, self._odd, self._dialect)
        guessed = [marker for marker in self.markers if marker not in (self._dialect.na or ())]
        columns = {marker: list(self._columns_with(marker)) for marker in ("", *guessed)}
        counts = {marker: sum(self._markers[marker][n] for n in names) for marker, names in columns.items() if names}
        if not set(counts) - {""}:
            return  # an empty cell can mean nothing else
        listed = [f"{n:,} {'is' if n == 1 else 'are'} {m!r}" if m else f"{n:,} empty" for m, n in counts.items()]
        first = listed.pop(1 if "" in counts else 0)
        first = first.replace(" is ", " cell is ", 1) if " is " in first else first.replace(" are ", " cells are ", 1)
        among = list(dict.fromkeys(name for marker in counts if marker for name in columns[marker]))
        where = f"in the first {self.rows:,} rows " if self.partial else ""
        what = f"{where}{', '.join([first, *listed])} in {list_names(among)}: missing values"
        yield Decision("missing values", what, tuple(among), "if they are not, give {na}", {"na": []})
