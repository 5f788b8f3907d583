"""Columns of text in files with types, such as Parquet and JSON, whose cells mean numbers as those of CSV may."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats import ColumnFormat
from eigenlens.data.files.cell_formats.base import keep_text, list_names
from eigenlens.data.files.cell_formats.first_rows import FirstRows
from eigenlens.data.files.cells import parse_numbers, present_cells, without_numbers
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import DataFrame, Expr, LazyFrame

    from eigenlens.data.files.dialect import Dialect

HEAD_ROWS = 20_000
"""The number of rows of each table that show how the cells of a column are written."""

NUMERIC = (ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.BOOLEAN)


@dataclass(frozen=True)
class StoredNumbers(ColumnFormat):
    """Plain numbers that are stored as text: categories to models that take these, as their writer declared them."""

    kind: ColumnKind
    words = True

    def to_plain(self, cells: Expr) -> Expr:
        """Return the cells unchanged."""
        return cells

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read these columns as numbers."""
        what = f"numbers that are stored as text in {list_names(columns)} are read as numbers"
        return Decision("numbers", what, tuple(columns), **keep_text(columns))


class StoredText(NamedTuple):
    """How columns of text mean numbers, by their names, and what was decided about them."""

    formats: Mapping[str, ColumnFormat]
    decisions: tuple[Decision, ...]


def find_stored_text(
    tables: Sequence[LazyFrame],
    names: Sequence[str],
    text: Collection[str],
    words: Mapping[str, str],
    dialect: Dialect,
) -> StoredText:
    """Return how columns of text mean numbers in all rows of all tables.

    text: columns that stay text. words: the names of formats that columns had in an earlier file. dialect: how numbers
    are written, and missing-value markers.
    """
    heads = [table.select(names).head(HEAD_ROWS + 1).collect() for table in tables] if names else []
    if not any(map(len, heads)):
        return StoredText({}, ())
    found = _first_rows(heads, names, text, words, dialect)
    plain = {name: StoredNumbers(kind) for name, kind in found.kinds.items() if kind in NUMERIC}
    written: dict[str, ColumnFormat] = {**plain, **found.formats}
    failed = _misfits(written, tables, dialect)
    formats = {name: one for name, one in written.items() if name not in failed}
    rest = [name for name in names if name not in failed]
    numbers = [name for name in rest if isinstance(formats.get(name), StoredNumbers)]
    decisions = [StoredNumbers(ColumnKind.NUMBER).decision(numbers)] if numbers else []
    if rest:
        decisions += _first_rows([head[rest] for head in heads], rest, text, words, dialect).decisions()
    return StoredText(formats, tuple(decisions))


def as_stored_numbers(written: ColumnFormat, name: str, dialect: Dialect) -> Expr:
    """Return a column of text as the numbers that it means, of the kind that the format has."""
    types: dict[ColumnKind, Any] = {ColumnKind.INTEGER: pl.Int64, ColumnKind.BOOLEAN: pl.Boolean}
    return parse_numbers(_plain(written, name, dialect)).cast(types.get(written.kind, pl.Float64)).alias(name)


def _first_rows(
    heads: Sequence[DataFrame], names: Sequence[str], text: Collection[str], words: Mapping[str, str], dialect: Dialect
) -> FirstRows:
    found = FirstRows(dialect, text, (), words)
    for head in heads:
        found.add({}, head[:HEAD_ROWS], min(len(head), HEAD_ROWS), len(head) > HEAD_ROWS)
    found.finish(names)
    return found


def _plain(written: ColumnFormat, name: str, dialect: Dialect) -> Expr:
    return without_numbers(written.to_plain(present_cells(pl.col(name), dialect.number_markers)), dialect)


def _misfits(formats: Mapping[str, ColumnFormat], tables: Sequence[LazyFrame], dialect: Dialect) -> set[str]:
    """Return the columns of which a cell is neither missing nor a number by its format; 007 is a name."""
    counts = []
    for name, written in formats.items():
        plain = _plain(written, name, dialect)
        other = plain.is_not_null() & parse_numbers(plain).is_null()
        other |= plain.str.contains(r"^[+-]?0\d").fill_null(False) & isinstance(written, StoredNumbers)
        counts.append(other.sum().alias(name))
    found = [table.select(counts).collect().row(0, named=True) for table in tables] if counts else []
    return {name for counted in found for name, n in counted.items() if n}
