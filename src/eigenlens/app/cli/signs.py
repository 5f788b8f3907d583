"""How the numbers of delimited text are written: the decimal sign, and the sign between thousands if there is one."""

from __future__ import annotations

import re

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.options import Parsing

__all__ = ["grouped", "is_number", "plain_number", "signs_of"]

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")


def signs_of(rows: list[list[str]], separator: str, reading: Parsing) -> tuple[str, str | None]:
    """The decimal sign, and the sign between thousands if there is one: 1.234,5 and 1,234.5 show both."""
    given = reading.thousands
    if given is not None and (len(given) != 1 or given.isalnum() or given in "+-"):
        refuse(f"--thousands {given!r} must be one sign", "write --thousands . for numbers such as 1.234,5")
    if given is not None and given == reading.decimal:
        refuse(f"--thousands and --decimal are both {given!r}", "give each its own sign")
    cells = [cell for row in rows for cell in row]
    both = next((pair for pair, number in BOTH.items() if any(number.fullmatch(cell) for cell in cells)), None)
    if both and both[0] != separator and reading.decimal in (None, both[0]) and given in (None, both[1]):
        return both
    other = {".": ",", ",": "."}.get(given or "", "")
    return reading.decimal or other or _decimal(rows, separator), given


BOTH = {
    (",", "."): re.compile(r"[+-]?\d{1,3}(\.\d{3})+,\d+"),
    (".", ","): re.compile(r"[+-]?\d{1,3}(,\d{3})+\.\d+"),
}
"""Numbers that show both signs, by these: the decimal one, and that between thousands."""


def _decimal(rows: list[list[str]], separator: str) -> str:
    """A comma where cells such as 3,14 are met, and none such as 3.14."""
    cells = [cell for row in rows for cell in row]
    commas = any(COMMA_NUMBER.fullmatch(cell) for cell in cells)
    points = any("." in cell and NUMBER.fullmatch(cell) for cell in cells)
    return "," if separator != "," and commas and not points else "."


def is_number(cell: str) -> bool:
    """Whether a cell is a number with a decimal point, or a whole one."""
    return NUMBER.fullmatch(cell) is not None


def plain_number(cell: str, decimal: str, thousands: str | None) -> str:
    """A cell with a point in its number and nothing between its thousands.

    >>> plain_number("1.234,5", ",", "."), plain_number("3,14", ",", None), plain_number("1.5", ".", ",")
    ('1234.5', '3.14', '1.5')
    """
    if thousands and re.fullmatch(grouped(decimal, thousands), cell):
        cell = cell.replace(thousands, "")
    return cell.replace(",", ".") if decimal == "," else cell


def grouped(decimal: str, thousands: str) -> str:
    """A pattern of numbers with signs between thousands."""
    return rf"[+-]?\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})+(?:{re.escape(decimal)}\d*)?"
