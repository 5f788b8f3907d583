"""Columns of delimited text whose cells mean numbers though they are not plain ones, found by their cells."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from eigenlens.data.files.cell_formats.answer_codes import CODE_FORMATS, find_answer_codes
from eigenlens.data.files.cell_formats.base import ColumnFormat
from eigenlens.data.files.cell_formats.dates import find_date_format
from eigenlens.data.files.cell_formats.footnotes import FOOTNOTE_FORMATS, find_footnoted
from eigenlens.data.files.cell_formats.multiples import Multiples, find_multiples
from eigenlens.data.files.cell_formats.number_spellings import find_number_spelling
from eigenlens.data.files.cell_formats.ranges import Ranges, find_ranges
from eigenlens.data.files.cell_formats.several_parts import PART_FORMATS, describe_other_meanings, find_several_parts
from eigenlens.data.files.cell_formats.signed_numbers import find_signed_numbers, find_units
from eigenlens.data.files.cell_formats.total_names import names_statistic
from eigenlens.data.files.cell_formats.words import WORD_FORMATS, find_word_formats, recall_word_formats
from eigenlens.data.files.decision import Decision
from eigenlens.errors import join_limited

if TYPE_CHECKING:
    from eigenlens.data.files.dialect import Dialect

__all__ = [
    "NAMED_FORMATS",
    "ColumnFormat",
    "find_formats",
    "find_markers",
    "format_decisions",
    "format_names",
    "without_columns",
]

RANGES, MULTIPLES = "ranges", "multiples"

NAMED_FORMATS: dict[str, ColumnFormat] = {
    **WORD_FORMATS, **PART_FORMATS, **FOOTNOTE_FORMATS, **CODE_FORMATS, RANGES: Ranges(),
    MULTIPLES: Multiples(),
}  # fmt: skip
"""Formats by the names that model files keep: a new file may have too few cells to show them."""


def format_names(formats: Mapping[str, ColumnFormat]) -> dict[str, str]:
    """Return the names of the formats of columns, by which model files keep them; those without one are left out."""
    names = {written: name for name, written in NAMED_FORMATS.items()}
    return {name: names[written] for name, written in formats.items() if written in names}


def format_units(formats: Mapping[str, ColumnFormat]) -> dict[str, str]:
    """Return the units of columns by their formats; those without one are left out."""
    return {name: written.unit for name, written in formats.items() if written.unit}


def without_columns(decisions: Iterable[Decision], names: Collection[str]) -> tuple[Decision, ...]:
    """Return decisions without those that are about some columns alone."""
    return tuple(each for each in decisions if not set(names).issuperset(each.columns) or not each.columns)


def find_formats(
    columns: Mapping[str, Collection[str]],
    dialect: Dialect,
    dates: Collection[str] = (),
    words: Mapping[str, str] | None = None,
) -> dict[str, ColumnFormat]:
    """Return the formats of columns of text, by their different cells; columns without one are left out.

    dates: columns that hold dates. words: the names of formats that columns had in an earlier file.
    """
    found: dict[str, ColumnFormat] = {name: find_date_format(name, columns[name]) for name in dates}
    rest = {name: cells for name, cells in columns.items() if name not in found}
    known = words or {}
    found |= recall_word_formats(rest, known)
    rest = {name: cells for name, cells in rest.items() if name not in found}
    found |= find_word_formats(rest)
    found |= find_answer_codes({name: cells for name, cells in rest.items() if name not in found}, known)
    for name, cells in rest.items():
        if name not in found and _may_be_numbers(cells):
            written = _find_numbers(cells, dialect, known.get(name))
            found |= {} if written is None else {name: written}
    return found


def _find_numbers(cells: Collection[str], dialect: Dialect, known: str | None) -> ColumnFormat | None:
    """Return how cells mean numbers, whatever is around or between these; known: the name of an earlier format."""
    return (
        find_footnoted(cells, dialect.numbers.decimal, known)  # before estimates: 3583 [1] beside plain numbers
        or find_several_parts(cells, known)
        or find_signed_numbers(cells, dialect)
        or find_multiples(cells, known=known == MULTIPLES)
        or find_ranges(cells, known == RANGES)
        or find_number_spelling(cells, dialect)
    )


def _may_be_numbers(cells: Collection[str]) -> bool:
    """Return whether a first cell has a digit: most columns of text show by them that they hold no numbers."""
    return any(map(str.isnumeric, "".join(itertools.islice(cells, 3))))


MAX_WORDS, MIN_NUMBERS = 3, 4
"""The most words among cells that mean numbers, and the fewest different numbers for each, that may mean missing."""


def find_markers(cells: Collection[str], dialect: Dialect) -> list[str]:
    """Return the few words, and limits, among cells that all mean numbers but for them: they may mean missing.

    >>> from eigenlens.data.files.dialect import Dialect
    >>> find_markers(["45%", "n.a.", "38%", "51%", "7%"], Dialect())
    ['n.a.']
    """
    words = [cell for cell in cells if not any(map(str.isnumeric, cell)) or cell[0] in "<>≤≥"]
    numbers = [cell for cell in cells if cell not in words]
    few = 0 < len(words) <= MAX_WORDS and len(numbers) >= MIN_NUMBERS * len(words)
    return words if few and _find_numbers(numbers, dialect, None) is not None else []


def format_decisions(
    formats: Mapping[str, ColumnFormat], others: Mapping[str, Collection[str]], dialect: Dialect
) -> Iterable[Decision]:
    """Yield one decision for each format, and one for each other column of text that may be numbers after all."""
    for written in dict.fromkeys(formats.values()):
        yield written.decision([name for name, one in formats.items() if one == written])
    for name, cells in others.items():
        if not _may_be_numbers(cells):
            continue
        markers = find_markers(cells, dialect)
        if any(map(names_statistic, markers)):
            continue  # a row of totals is left out, rather than that its name becomes a missing number
        if markers:
            listed = join_limited([repr(each) for each in markers])
            what = f"column {name!r} stays text: {listed} {'is' if len(markers) == 1 else 'are'} among its numbers"
            fix, settings = "if that means missing, give {na}", {"na": [*(dialect.na or ()), *markers]}
            yield Decision("missing values", what, (name,), fix, settings, surprising=True, stays_text=True)
            continue
        units, unclear = find_units(cells), describe_other_meanings(name, cells)
        if unclear is not None:
            yield unclear
        elif units:
            listed = " and ".join(f"'{unit}'" if unit else "none" for unit in units[:3])
            what = f"column {name!r} stays text: its cells have different units ({listed})"
            yield Decision("units", what, (name,), "write its numbers in one unit", surprising=True, stays_text=True)
