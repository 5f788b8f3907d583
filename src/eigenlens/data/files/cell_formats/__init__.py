"""Columns of delimited text whose cells mean numbers though they are not plain ones, found by their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from eigenlens.data.files.cell_formats.base import ColumnFormat
from eigenlens.data.files.cell_formats.dates import find_date_format
from eigenlens.data.files.cell_formats.signed_numbers import find_signed_numbers, find_units
from eigenlens.data.files.cell_formats.words import find_word_formats, recall_word_formats
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from eigenlens.data.files.dialect import Dialect

__all__ = ["ColumnFormat", "find_formats", "format_decisions"]


def find_formats(
    columns: Mapping[str, Collection[str]],
    dialect: Dialect,
    dates: Collection[str] = (),
    words: Mapping[str, str] | None = None,
) -> dict[str, ColumnFormat]:
    """Return the formats of columns of text, by their different cells; columns without one are left out.

    dates: columns that hold dates. words: the names of formats that columns of words had in an earlier file.
    """
    found: dict[str, ColumnFormat] = {name: find_date_format(name, columns[name]) for name in dates}
    rest = {name: cells for name, cells in columns.items() if name not in found}
    found |= recall_word_formats(rest, words or {})
    rest = {name: cells for name, cells in rest.items() if name not in found}
    found |= find_word_formats(rest)
    for name, cells in rest.items():
        # Most columns of text show by their first cell that they hold no numbers.
        if name not in found and any(map(str.isdigit, next(iter(cells), ""))):
            written = find_signed_numbers(cells, dialect)
            found |= {} if written is None else {name: written}
    return found


def format_decisions(formats: Mapping[str, ColumnFormat], others: Mapping[str, Collection[str]]) -> Iterable[Decision]:
    """Yield one decision for each format, and one for each other column of text in which units differ."""
    for written in dict.fromkeys(formats.values()):
        yield written.decision([name for name, one in formats.items() if one == written])
    for name, cells in others.items():
        units = find_units(cells) if any(map(str.isdigit, next(iter(cells), ""))) else []
        if units:
            listed = " and ".join(f"'{unit}'" if unit else "none" for unit in units[:3])
            what = f"column {name!r} stays text: its cells have different units ({listed})"
            yield Decision("units", what, (name,), "write its numbers in one unit", surprising=True)
