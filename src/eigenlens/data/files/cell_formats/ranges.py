"""Ranges of numbers, as forms ask for ages and incomes: 18-24, 25–34, 65+, under 18, $10k–20k, $100,000 or more.

A range means its middle, and an open one its end: the number depends on the cell alone, so that cells of a new file,
with other ranges or with numbers, mean the same. Cells are read so only where they can hardly be dates, scores or
names: three or more, of which none overlaps another.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, keep_text, list_names
from eigenlens.data.files.cell_formats.unit_names import CURRENCIES
from eigenlens.data.files.decision import Decision
from eigenlens.data.files.number_format import is_number

if TYPE_CHECKING:
    from polars import Expr

NUMERAL = r"([1-9][0-9]{0,2}(?:,[0-9]{3})+|(?:0|[1-9][0-9]*)(?:\.[0-9]{1,2})?)([kKM]?)"
"""A number with commas between thousands, and its factor. 10.000 may be ten thousand, and 01 a part of a date."""

MONEY = rf"(?:(?:{CURRENCIES})\s?)?"
UNIT = rf"(?:\s?(?:{CURRENCIES}|%|[a-z]{{1,10}}(?:/[a-z]{{1,10}}| old)?))?"
MORE = "over|above|older|more|up|plus|greater|higher"
LESS = "under|below|younger|less|fewer|lower"

CLOSED = rf"{MONEY}{NUMERAL}{UNIT}\s?(?:[-–—−]|to|bis|à)\s?{MONEY}{NUMERAL}{UNIT}"
ABOVE = (
    rf"(?:[>≥]=?|over|above|more than|greater than|at least)\s?{MONEY}{NUMERAL}{UNIT}"
    rf"|{MONEY}{NUMERAL}{UNIT}\s?(?:\+|(?:and|or) (?:{MORE})|(?:and|or)? ?plus){UNIT}"
)
BELOW = (
    rf"(?:[<≤]=?|under|below|less than|fewer than|up to|at most)\s?{MONEY}{NUMERAL}{UNIT}"
    rf"|{MONEY}{NUMERAL}{UNIT} (?:and|or) (?:{LESS})"
)

NO_UNITS = frozenset(f"{MORE}|{LESS}|to|bis|à|than|at|least|most|and|or|old".split("|"))
"""Words of ranges that are not units."""

FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}
MIN_RANGES, MAX_RANGES = 3, 40
YEARS = (1800.0, 2100.0)
"""Ranges of years are periods, not measurements."""


class Range(NamedTuple):
    """A range from `low` to `high`, one of them infinite if it is open; `value`: the number that it means."""

    low: float
    high: float

    @property
    def value(self) -> float:
        """The middle, or the end of an open range."""
        ends = [end for end in self if abs(end) < float("inf")]
        return sum(ends) / len(ends)


def parse_range(cell: str) -> Range | None:
    """Return the range that a cell means; None for other text.

    >>> [tuple(parse_range(cell)) for cell in ("18-24", "$10–20k", "65 and over", "<18")]
    [(18.0, 24.0), (10000.0, 20000.0), (65.0, inf), (-inf, 18.0)]
    """
    bare = _lower_words(cell)
    if found := re.fullmatch(CLOSED, bare):
        low, factor, high, own = found.groups()
        return Range(_number(low, factor or own), _number(high, own))
    for pattern, open_above in ((ABOVE, True), (BELOW, False)):
        if found := re.fullmatch(pattern, bare):
            end, factor = (each or "" for each in (found[1] or found[3], found[2] or found[4]))
            number = _number(end, factor)
            return Range(number, float("inf")) if open_above else Range(-float("inf"), number)
    return None


def _lower_words(cell: str) -> str:
    """Return a cell with its words in lower case; k, K and M after a number are factors."""
    return re.sub(r"[A-Z][a-z]+", lambda word: word[0].lower(), cell.strip())


def _number(text: str, factor: str) -> float:
    return float(text.replace(",", "")) * FACTORS[factor]


@dataclass(frozen=True)
class Ranges(ColumnFormat):
    """Cells that are ranges. `first`, `last`: the lowest and the highest, for messages."""

    words = True
    first: str = field(default="", compare=False)
    last: str = field(default="", compare=False)

    def to_plain(self, cells: Expr) -> Expr:
        """Return the number of each range, and a plain number as it is; other cells are text."""

        def plain(cell: str) -> str:
            found = parse_range(cell)
            return cell if found is None else f"{found.value:.17g}"

        found: Expr = cells.map_batches(
            lambda column: column.replace_strict(
                (different := column.drop_nulls().unique()), [plain(cell) for cell in different], default=None,
                return_dtype=pl.String,
            ),
            return_dtype=pl.String,
        )  # fmt: skip
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return the decision to read ranges as numbers, by the lowest and the highest."""
        ends = [_range_or_number(cell) or Range(0.0, 0.0) for cell in (self.first, self.last)]
        values = " … ".join(f"{each.value:g}" for each in ends)
        opened = any(float("inf") in map(abs, each) for each in ends)
        what = f"ranges in {list_names(columns)}, '{self.first}' … '{self.last}', are read as their middles, {values}"
        what += ", an open one as its end" * opened
        return Decision("words", what, tuple(columns), **keep_text(columns))


def find_ranges(cells: Collection[str], known: bool = False) -> Ranges | None:
    """Return the format of a column whose different cells are ranges of which none overlaps another; else None.

    Plain numbers may be among them. known: whether the column had ranges in an earlier file, so that one cell suffices.

    >>> find_ranges(["18-24", "25-34", "65+"]).last, find_ranges(["1-2", "3-1", "0-0"]), find_ranges(["1-2", "1-3"])
    ('65+', None, None)
    """
    parsed = {cell: _range_or_number(cell) for cell in cells} if known or len(cells) <= MAX_RANGES else {}
    ranges = {cell: found for cell, found in parsed.items() if found is not None}
    if not ranges or len(ranges) < len(parsed) or len(set().union(*map(_units, ranges))) > 1:
        return None
    ordered = sorted(ranges, key=ranges.__getitem__)
    written = Ranges(ordered[0], ordered[-1])
    return written if known or _are_certain([ranges[cell] for cell in ordered]) else None


def _range_or_number(cell: str) -> Range | None:
    found = parse_range(cell)
    if found is None:
        return Range(float(cell), float(cell)) if is_number(cell) else None
    return found if found.low < found.high else None


def _units(cell: str) -> set[str]:
    """Return the unit of a cell, if it has one."""
    bare = re.sub(NUMERAL, "", _lower_words(cell))
    words = re.findall(rf"{CURRENCIES}|%|[a-zà/]+", bare)
    return {word if len(word) < 3 else word.removesuffix("s") for word in words if word not in NO_UNITS}


def _are_certain(ranges: Sequence[Range]) -> bool:
    """Return whether ranges in their order can hardly be anything else: enough of them, apart, and not of years."""
    ends = [end for each in ranges for end in each if abs(end) < float("inf")]
    closed = sum(each.low < each.high and float("inf") not in map(abs, each) for each in ranges)
    apart = all(a.high <= b.low for a, b in itertools.pairwise(ranges))
    return apart and len(ranges) >= MIN_RANGES and closed > 1 and not all(YEARS[0] <= end <= YEARS[1] for end in ends)
