"""Numbers that are plain but for their signs: digits of other scripts, exponents with D, cells forced to be text.

A new spelling is one entry in `SPELLINGS`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.number_format import COMMA_NUMBER, is_number

if TYPE_CHECKING:
    from polars import Expr

    from eigenlens.data.files.dialect import Dialect

ZEROS = "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀០᠐０"
"""The zeros of other scripts, each followed by its nine other digits."""

OTHER_SIGNS = {chr(ord(zero) + digit): str(digit) for zero in ZEROS for digit in range(10)}
OTHER_SIGNS |= {"٫": ".", "．": ".", "，": ",", "－": "-", "＋": "+"}


class Spelling(NamedTuple):
    """A way to write a number: the pattern of a cell that shows it, and what the pattern is replaced by."""

    pattern: str
    plain: str


SPELLINGS = {
    "forced text": Spelling(r"""^(?:="([^"]*)"|'([^']*)'?)$""", "${1}${2}"),
    "approximate": Spelling(r"^(?:[~≈∼±]|(?i:c\.|ca\.?|circa|approx\.?|about) ?)\s?([+-]?[0-9.,]+)$", "${1}"),
    "credit": Spelling(r"^([0-9.,]+) ?(?i:cr)\.?$", "${1}"),
    "debit": Spelling(r"^([0-9.,]+) ?(?i:dr)\.?$", "-${1}"),
    "exponent": Spelling(r"^([+-]?(?:[0-9]+[.,][0-9]*|[.,][0-9]+))(?: ?[dD]| [eE]) ?([+-]?[0-9]+)$", "${1}e${2}"),
}
"""Spellings by what they are; one suffices in a column."""

ONE_COMMA = r"^([+-]?[0-9]*),([0-9]+(?:e[+-]?[0-9]+)?)$"


@dataclass(frozen=True)
class NumberSpelling(ColumnFormat):
    """Numbers of a column in which some are spelled as no program computes with them.

    Attributes:
        commas: whether commas are decimal signs, perhaps beside points. example: a cell, for messages.
    """

    commas: bool = False
    example: str = field(default="", compare=False)

    def to_plain(self, cells: Expr) -> Expr:
        """Return the numbers as plain ones, other text as it is."""
        found = cells.str.replace_many(OTHER_SIGNS)
        for pattern, plain in SPELLINGS.values():
            found = found.str.replace(pattern, plain)
        return found.str.replace(ONE_COMMA, "${1}.${2}") if self.commas else found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read these columns as numbers, by an example."""
        value = pl.DataFrame({"cell": [self.example]}).select(self.to_plain(pl.col("cell"))).item()
        what = f"{self.example!r} in {list_names(columns)} is read as {value}"
        return Decision("signs", what, tuple(columns), **keep_text(columns))


def find_number_spelling(cells: Collection[str], dialect: Dialect) -> NumberSpelling | None:
    """Return the format of a column whose different cells are all numbers in one of these spellings, or plain ones.

    Commas beside points are decimal signs if none can separate thousands, and the file shows no other decimal sign.

    >>> from eigenlens.data.files.dialect import Dialect
    >>> find_number_spelling(["1.5D-03", "2.0D+01"], Dialect()), find_number_spelling(["1,5", "2.5"], Dialect()).commas
    (NumberSpelling(commas=False, example='1.5D-03'), True)
    >>> find_number_spelling(["1,500", "2.5"], Dialect()) is None, find_number_spelling(["D5", "D7"], Dialect()) is None
    (True, True)
    """
    given = pl.DataFrame({"cell": list(cells)}, schema={"cell": pl.String})
    plain = given.select(NumberSpelling().to_plain(pl.col("cell"))).to_series().to_list()
    commas = {cell for cell in plain if COMMA_NUMBER.fullmatch(cell)}
    if not all(cell in commas or is_number(cell) for cell in plain):
        return None
    points = {cell for cell in plain if "." in cell}
    unclear = commas and any(re.fullmatch(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", cell) for cell in commas | points)
    if unclear or (commas and points and dialect.numbers.decimal == ","):
        return None
    changed = [cell for cell, found in zip(cells, plain, strict=True) if cell != found or found in commas]
    return NumberSpelling(bool(commas), changed[0]) if changed else None
