"""What to do about a number that is too large or small, and about cells that look like numbers and are none."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Look", "advised", "look_of"]


class Look(NamedTuple):
    """How a cell is written, and what to do about that; `number`: it is one, so it never means missing."""

    what: str
    advice: str
    number: bool = True


LOOKS: dict[str, Look] = {
    r"[+-]?\d{1,3}([,.\u2019' \u00a0\u202f]\d{3})+([.,]\d+)?": Look(
        "numbers with signs between thousands", "name the sign between thousands with --thousands"
    ),
    r"[+-]?\d{1,3}(_\d{3})+(\.\d+)?": Look(
        "numbers with signs between thousands", "name the sign between thousands with --thousands"
    ),
    r"[−–][\d.,]+": Look("numbers with a printer's minus", "write its numbers with a plain minus (-)"),
    r"[+-]?[\d.,]+\s?%": Look("numbers with %", "write its numbers without %"),
    r"[+-]?[$€£¥]\s?[\d.,]+|[\d.,]+\s?[$€£¥]": Look(
        "numbers with signs of currency", "write its numbers without signs of currency"
    ),
    r"[+-]?\d*,\d+": Look("numbers with decimal commas", "say so with --decimal ','"),
    r"(?i)yes|no|y|n|on|off": Look("yes and no", "write it as 1 and 0", number=False),
    r"\d{4}-\d\d-\d\d.*|\d{1,2}[./]\d{1,2}[./]\d{2,4}.*": Look("dates", "write it as a number of days", number=False),
}
"""Cells that are nearly numbers, by their patterns."""


def look_of(cell: str) -> Look | None:
    """How a cell that is no number is written; None if it is any other text.

    >>> look_of("9,695.54").what, look_of("9.7%").what, look_of("north")
    ('numbers with signs between thousands', 'numbers with %', None)
    """
    return next((look for pattern, look in LOOKS.items() if re.fullmatch(pattern, cell.strip())), None)


def advised(message: str, fix: str) -> tuple[str, str]:
    """An error with the way out that its value suggests: the bound it passed, or how the cell could be written.

    >>> advised("-k 7 must be at most 3, the number of features", "")[1]
    'use -k 3 or less'
    >>> advised("column 'a' has text in 1 row (first: row 1, '9%')", "add --na 9%, or leave it out with --drop a")[1]
    'write its numbers without %, or leave it out with --drop a'
    """
    bound = re.match(r"(--?[\w-]+) \S+ must be at (most|least) (\d[\d.]*\d|\d)(?![\d.]*\w)", message)
    if bound and not fix:
        return message, f"use {bound[1]} {bound[3]} or {'less' if bound[2] == 'most' else 'more'}"
    cell = re.search(r"has text.*?\(first: [^'\"]*(['\"])(.*?)\1\)", message)
    look = look_of(cell[2]) if cell else None
    if look is None:
        return message, fix
    if look.number:
        fix = re.sub(r"^.*(?=leave it out)", "", fix).replace(", or name it with --id or --label", "")
    return message, f"{look.advice}, {'' if ', or' in fix else 'or '}{fix}"
