"""How the numbers of delimited text are written: the decimal sign, and the sign between thousands if there is one.

A sign between thousands is believed by itself only where a number can be written in no other way: 1.234,5 or
1.234.567. What may be read in two ways, 1,234, is read in one only where somebody or something else says which.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence

from eigenlens.cli.errors import fail
from eigenlens.cli.options import ParsingOptions
from eigenlens.data.files.dialect import MISSING, is_number
from eigenlens.errors import DataWarning

__all__ = ["BESIDE", "grouped", "plain_number", "signs_of"]

COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
SWAPPED = str.maketrans(",.", ".,")
BESIDE = str.maketrans("", "", " '\u2019\u00a0\u202f")
"""Leaves out signs that may stand between thousands and are never decimal."""


def signs_of(rows: list[list[str]], separator: str, reading: ParsingOptions) -> tuple[str, str | None]:
    """The decimal sign, and the sign between thousands if there is one: what the options say, or else the cells."""
    _check_options(reading)
    missing = MISSING | {token.lower() for token in reading.na or ()}
    columns = [[c for c in column if c.lower() not in missing] for column in zip(*(rows[1:] or rows), strict=True)]
    for decimal, thousands in ((",", "."), (".", ",")):
        asked = reading.decimal in (None, decimal) and reading.thousands in (None, thousands)
        if asked and decimal != separator and _shown(columns, decimal, thousands):
            return decimal, thousands
    other = {".": ",", ",": "."}.get(reading.thousands or "", "")
    return reading.decimal or other or _decimal(columns, separator), reading.thousands


def _check_options(reading: ParsingOptions) -> None:
    given = reading.thousands
    if reading.decimal not in (None, ".", ","):
        fail(f"--decimal {reading.decimal!r} must be '.' or ','", "write --decimal , for numbers such as 3,14")
    if given is not None and (len(given) != 1 or given.isalnum() or given in "+-"):
        fail(f"--thousands {given!r} must be one sign", "write --thousands . for numbers such as 1.234,5")
    if given is not None and given == reading.decimal:
        fail(f"--thousands and --decimal are both {given!r}", "give each its own sign")


def _shown(columns: Sequence[Sequence[str]], decimal: str, thousands: str) -> bool:
    """Whether a column can be numbers with these two signs only, and nothing shows that its sign is a decimal one."""
    sign, point = re.escape(thousands), re.escape(decimal)
    proof = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(({sign}[0-9]{{3}})+{point}[0-9]+|({sign}[0-9]{{3}}){{2,}})")
    group = re.compile(grouped(decimal, thousands))
    odd = (c for column in columns for c in column if thousands in c and not group.fullmatch(c))
    if any(is_number(cell.replace(thousands, ".")) for cell in odd):
        return False
    return any(
        any(map(proof.fullmatch, column)) and all(is_number(plain_number(c, decimal, thousands)) for c in column)
        for column in columns
    )


def _decimal(columns: Sequence[Collection[str]], separator: str) -> str:
    """A comma where cells such as 3,14 are met, and none such as 3.14; other signs than these are passed over."""
    cells = [cell.translate(BESIDE) for column in columns for cell in column]
    commas = [cell for cell in cells if COMMA_NUMBER.fullmatch(cell)]
    points = [cell for cell in cells if "." in cell and is_number(cell)]
    decimal = "." if separator == "," or not commas or points else ","
    met = {",": commas, ".": [] if commas else points}[decimal]
    if met and all(re.fullmatch(grouped("", decimal), cell) for cell in met):
        _doubt(met[0], decimal, separator)
    return decimal


def _doubt(cell: str, sign: str, separator: str) -> None:
    """Say that a sign may be the decimal one or stand between thousands.

    Points are decimal everywhere but where semicolons separate cells; commas there, and elsewhere nobody knows.
    """
    one, other = cell.replace(sign, "."), cell.replace(sign, "")
    if sign == "," and separator != ";":
        fail(f"numbers such as '{cell}' may mean {one} or {other}", "say which: --decimal , or --thousands ,", "data")
    if separator == ";":
        said = f"numbers such as '{cell}' are read as {one}: add --decimal {sign} if that is right"
        warnings.warn(f"{said}, --thousands {sign} if they mean {other}.", DataWarning, stacklevel=2)


def plain_number(cell: str, decimal: str, thousands: str | None) -> str:
    """A cell with a point in its number and nothing between its thousands.

    With decimal commas points and commas are exchanged: 3.14, which may be 314, is no number there.

    >>> plain_number("1.234,5", ",", "."), plain_number("3,14", ",", None), plain_number("1.5", ".", ",")
    ('1234.5', '3.14', '1.5')
    >>> plain_number("3.14", ",", None), plain_number("0.123", ",", ".")
    ('3,14', '0,123')
    """
    if thousands and re.fullmatch(grouped(decimal, thousands), cell):
        cell = cell.replace(thousands, "")
    return cell.translate(SWAPPED) if decimal == "," else cell


def grouped(decimal: str, thousands: str) -> str:
    """A pattern of numbers with signs between thousands, whole ones if there is no decimal sign; 0.123 is none."""
    rest = f"(?:{re.escape(decimal)}[0-9]*)?" if decimal else ""
    return rf"[+-]?[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+{rest}"
