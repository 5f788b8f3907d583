"""Numbers with marks of footnotes: stars of significance, 3583 [1], 12.3 p; and the flags of offices of statistics."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.cell_formats.signed_numbers import MINUS
from eigenlens.data.files.cell_formats.unit_names import NOT_UNITS, is_known_unit
from eigenlens.data.files.decision import Decision

if TYPE_CHECKING:
    from polars import Expr

STARS = r"\s?(?:\*{1,4}|[†‡§¶])"
"""Marks that can mean nothing else."""

LETTERS = r"\s?\[[0-9A-Za-z]{1,2}\]|\s?\([A-Za-z]{1,2}\)|\s[a-z]{1,3}|\s[A-Z]{1,2}|\s\|"
"""Marks that are read as such only beside numbers without one, among which theirs lies."""

NO_ENTRY = r"^:\s?[a-z]{0,3}$"
"""A missing entry with its flag, as Eurostat writes it."""

FLAGS = frozenset("bcdefnprsuz")
"""Flags of Eurostat, of which a cell may have several: break in the series, confidential, estimate, provisional, …"""

MULTIPLES = frozenset({"k", "mio", "mrd", "tsd", "mn", "bn", "m", "K", "M", "B", "G", "T"})
"""Words after a number that multiply it."""

QUALIFIERS = frozenset("JUEHNRDP")
"""Letters by which laboratories qualify a number: J is estimated and U not detected, whatever units they are."""


@dataclass(frozen=True)
class Footnoted(ColumnFormat):
    """Numbers, some of them with a mark. `decimal`: the decimal sign. `example`: a cell with a mark, for messages."""

    decimal: str = "."
    example: str = field(default="", compare=False)
    shows_number = True

    @property
    def pattern(self) -> str:
        """The pattern of a whole cell: the sign, the numeral and the mark as groups."""
        point = re.escape(self.decimal)
        numeral = rf"(?:[0-9]+(?:{point}[0-9]*)?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        return rf"^([+{MINUS}]?)({numeral})({STARS}|{LETTERS}|)$"

    def to_plain(self, cells: Expr) -> Expr:
        """Return the numbers without marks; a flag beside no number is missing."""
        numeral = cells.str.extract(self.pattern, 2).str.replace(self.decimal, ".", literal=True)
        minus = cells.str.extract(self.pattern, 1).is_in(list(MINUS))
        signed = pl.when(minus).then(pl.concat_str(pl.lit("-"), numeral)).otherwise(numeral)
        other = pl.when(cells.is_not_null() & ~cells.str.contains(NO_ENTRY)).then(pl.lit("text"))
        found: Expr = pl.when(cells.str.contains(self.pattern)).then(signed).otherwise(other)
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read these columns as numbers, by an example."""
        value = pl.DataFrame({"cell": [self.example]}).select(self.to_plain(pl.col("cell"))).item()
        what = f"{self.example!r} in {list_names(columns)} is read as {value or 'missing'}, without its mark"
        return Decision("footnotes", what, tuple(columns), **keep_text(columns))


FOOTNOTE_FORMATS = {f"footnotes {decimal}": Footnoted(decimal) for decimal in ".,"}
"""The format by decimal sign, by names that model files keep."""


def find_footnoted(cells: Collection[str], decimal: str, known: str | None = None) -> Footnoted | None:
    """Return the format of a column of numbers, some of which have a mark; else None.

    known: the format that the column had in an earlier file.

    >>> find_footnoted(["3.2**", "-1.1", "0.4†"], ".").example
    '3.2**'
    >>> find_footnoted(["3583 [1]", "2330", "4100"], ".").example, find_footnoted(["12 kg", "13", "11"], ".")
    ('3583 [1]', None)
    """
    written = Footnoted(decimal)
    rest = [cell for cell in cells if not re.search(NO_ENTRY, cell)]
    found = {cell: match for cell in rest if (match := re.search(written.pattern, cell)) is not None}
    marked = {cell: match for cell, match in found.items() if match[3]}
    if len(found) < len(rest) or not found or not (marked or len(rest) < len(cells)):
        return None
    by_letters = [match for match in marked.values() if not re.fullmatch(STARS, match[3])]
    plain = [_value(match, decimal) for match in found.values() if not match[3]]
    if by_letters and known not in FOOTNOTE_FORMATS and not _are_flags(by_letters, plain, decimal):
        return None
    return Footnoted(decimal, next(iter(marked or set(cells) - set(rest))))


def _are_flags(matches: Sequence[re.Match[str]], plain: Sequence[float], decimal: str) -> bool:
    """Return whether letters after numbers are marks: no units, and the numbers lie among those without one."""
    marks = {match[3].strip("[]() ") for match in matches}
    official = len(marks) > 1 and all(FLAGS.issuperset(mark) for mark in marks)
    official |= all(QUALIFIERS.issuperset(mark) for mark in marks)
    words = {mark for match in matches if (mark := match[3].strip()).isalpha()}
    if words & (NOT_UNITS | MULTIPLES) or (any(map(is_known_unit, words)) and not official):
        return False
    values = [_value(match, decimal) for match in matches]
    if len(plain) < max(2, len(values)):
        return False
    low, high = min(plain), max(plain)
    return low - (high - low) <= min(values) and max(values) <= high + (high - low)


def _value(match: re.Match[str], decimal: str) -> float:
    number = float(match[2].replace(decimal, "."))
    return -number if match[1] and match[1] in MINUS else number
