"""How the numbers of delimited text are written: their decimal sign, and the sign between thousands.

A sign between thousands is accepted without being asked for only where a number can be written in no other way:
1.234,5 or 1.234.567. A number that can be read in two ways, such as 1,234, is an error or a warning.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from eigenlens.errors import DataError, DataWarning, OptionError, warn_user

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA_NUMBER = re.compile(r"[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?")
SWAPPED = str.maketrans(",.", ".,")

THOUSANDS_LIKE = str.maketrans("", "", " '\u2019\u00a0\u202f")
"""Deletes signs that may separate thousands and are never decimal signs."""

MISSING_WORDS = frozenset({"", "na", "nan", "null", "none"})
"""Cells, in lower case, that are ignored where the format of a file is inferred from its cells."""


def is_number(cell: str) -> bool:
    """Return whether a cell is a number with a decimal point, or a whole number."""
    return NUMBER.fullmatch(cell) is not None


class NumberFormat(NamedTuple):
    """The decimal sign of numbers, and the sign between thousands or None."""

    decimal: str = "."
    thousands: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether numbers are written as Python writes them."""
        return self == PLAIN_NUMBERS

    def to_plain(self, cell: str) -> str:
        """Return a cell with a point in its number and nothing between its thousands.

        With decimal commas points and commas are exchanged: 3.14, which may mean 314, is not a number then.

        >>> NumberFormat(",", ".").to_plain("1.234,5"), NumberFormat(",").to_plain("3,14")
        ('1234.5', '3.14')
        >>> NumberFormat(",").to_plain("3.14"), NumberFormat(",", ".").to_plain("0.123")
        ('3,14', '0,123')
        """
        if self.thousands and re.fullmatch(self.grouped, cell):
            cell = cell.replace(self.thousands, "")
        return cell.translate(SWAPPED) if self.decimal == "," else cell

    @property
    def grouped(self) -> str:
        """The pattern of numbers with signs between thousands; 0.123 is not one."""
        return _grouped_pattern(self.decimal, self.thousands or "")


PLAIN_NUMBERS = NumberFormat()
"""Numbers as Python writes them."""


def _grouped_pattern(decimal: str, thousands: str) -> str:
    """Return the pattern of numbers with signs between thousands, whole ones if there is no decimal sign."""
    rest = f"(?:{re.escape(decimal)}[0-9]*)?" if decimal else ""
    return rf"[+-]?[1-9][0-9]{{0,2}}(?:{re.escape(thousands)}[0-9]{{3}})+{rest}"


# ---- signs, as given or found ----------------------------------------------------------------------------------


def detect_number_format(
    rows: Sequence[Sequence[str]],
    separator: str,
    *,
    decimal: str | None = None,
    thousands: str | None = None,
    na: Sequence[str] = (),
) -> NumberFormat:
    """Return how numbers are written: as given, or else as the cells of the first rows show."""
    _check_signs(decimal, thousands)
    missing = MISSING_WORDS | {token.lower() for token in na}
    columns = [[c for c in column if c.lower() not in missing] for column in zip(*(rows[1:] or rows), strict=True)]
    for one in (NumberFormat(",", "."), NumberFormat(".", ",")):
        possible = decimal in (None, one.decimal) and thousands in (None, one.thousands)
        if possible and one.decimal != separator and _is_proved(columns, one):
            return one
    if decimal in (None, ",") and thousands in (None, ".") and separator != "," and _has_grouped_points(columns):
        return NumberFormat(",", ".")
    implied = {".": ",", ",": "."}.get(thousands or "", "")
    return NumberFormat(decimal or implied or _find_decimal(columns, separator), thousands)


def _check_signs(decimal: str | None, thousands: str | None) -> None:
    if decimal not in (None, ".", ","):
        fix = "for numbers such as 3,14 it is ','"
        raise OptionError("must be '.' or ','", argument="decimal", value=decimal, fix=fix)
    if thousands is not None and (len(thousands) != 1 or thousands.isalnum() or thousands in "+-"):
        fix = "for numbers such as 1.234,5 it is '.'"
        raise OptionError("must be one sign", argument="thousands", value=thousands, fix=fix)
    if thousands is not None and thousands == decimal:
        fix = "give each its own sign"
        raise OptionError("is also the decimal sign", argument="thousands", value=thousands, fix=fix)


def _is_proved(columns: Sequence[Sequence[str]], written: NumberFormat) -> bool:
    """Return whether a column can be numbers in this format only, and no cell contradicts it."""
    thousands = written.thousands or ""
    sign, point = re.escape(thousands), re.escape(written.decimal)
    proof = re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(({sign}[0-9]{{3}})+{point}[0-9]+|({sign}[0-9]{{3}}){{2,}})")
    group = re.compile(written.grouped)
    odd = (c for column in columns for c in column if thousands in c and not group.fullmatch(c))
    if any(is_number(cell.replace(thousands, ".")) for cell in odd):
        return False
    return any(
        any(map(proof.fullmatch, column)) and all(is_number(written.to_plain(cell)) for cell in column)
        for column in columns
    )


def _has_grouped_points(columns: Sequence[Collection[str]]) -> bool:
    """Return whether commas are decimal signs and every point could separate thousands, as in 52.503 beside 0,25.

    >>> _has_grouped_points([["52.503"], ["0,25"]]), _has_grouped_points([["52.50"], ["0,25"]])
    (True, False)
    """
    cells = [cell for column in columns for cell in column]
    points = [cell for cell in cells if "." in cell and is_number(cell)]
    decimal = any(COMMA_NUMBER.fullmatch(cell) and not re.fullmatch(_grouped_pattern("", ","), cell) for cell in cells)
    return decimal and bool(points) and all(re.fullmatch(_grouped_pattern("", "."), cell) for cell in points)


def _find_decimal(columns: Sequence[Collection[str]], separator: str) -> str:
    """Return a comma where cells such as 3,14 occur and none such as 3.14, else a point."""
    cells = [cell.translate(THOUSANDS_LIKE) for column in columns for cell in column]
    commas = [cell for cell in cells if COMMA_NUMBER.fullmatch(cell)]
    points = [cell for cell in cells if "." in cell and is_number(cell.rstrip(" %"))]
    decimal = "." if separator == "," or not commas or points else ","
    shown = {",": commas, ".": [] if commas else points}[decimal]
    if shown and all(re.fullmatch(_grouped_pattern("", decimal), cell) for cell in shown):
        _report_ambiguity(shown[0], decimal, separator)
    return decimal


def _report_ambiguity(cell: str, sign: str, separator: str) -> None:
    """Raise or warn where a sign may be the decimal sign or separate thousands.

    Points are decimal everywhere, except perhaps where semicolons separate cells; commas are decimal there, and
    elsewhere they may be either.
    """
    one, other = cell.replace(sign, "."), cell.replace(sign, "")
    either = {"decimal": sign, "thousands": sign}
    if sign == "," and separator != ";":
        what = f"numbers such as '{cell}' may mean {one} or {other}"
        raise DataError(what, fix="choose one: {decimal} or {thousands}", settings=either)
    if separator == ";":
        what = f"numbers such as '{cell}' are read as {one}"
        fix = f"give {{decimal}} if that is right, {{thousands}} if they mean {other}"
        warn_user(DataWarning(what, fix=fix, settings=either))
