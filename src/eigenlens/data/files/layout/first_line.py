"""Whether the first line of delimited text holds the names of columns or a row.

Text above numbers is a name. Numbers are names only where much speaks for it, as a row that is taken for names is lost:
wavelengths, times and years in order, unlike what is below them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eigenlens.data.files.decision import Decision
from eigenlens.data.files.number_format import MISSING_WORDS, is_number

INFINITE = {f"{sign}{word}" for sign in ("", "+", "-") for word in ("inf", "infinity")}

CORNER_NAME = re.compile(
    r"(?i)(.*[\W_])?(who|names?|ids?|labels?|index|keys?|codes?|n[or]|samples?|specimens?|subjects?|patients?"
    r"|participants?|persons?|students?|cases?|rows?|obs(ervations?)?|countr(y|ies)|states?|regions?|cit(y|ies)|sites?|plots?"
    r"|stations?|genes?|probes?|species|strains?|compounds?|groups?|class(es)?|types?|kinds?|times?|dates?|days?|years?"
    r"|wells?|plates?|wavelengths?|wavenumbers?|products?|items?|customers?|land|länder|jahr|proben?|pays"
    r"|pa[ií]s|año|ann[ée]e)"
    r"|(?-i:.*[a-z](ID|Id|Nr|No|Name))"
)
"""What a column of row names or of groups is called, and no row."""

MIN_EVEN, MIN_LONG, MIN_YEARS = 4, 10, 5
"""The fewest numbers that are an axis: evenly spaced and unlike the rows; any in order; years in succession."""

MIN_ROWS = 4
"""The fewest rows whose range shows that a number is unlike them."""

Cells = Sequence[str]


class FirstLine(NamedTuple):
    """Whether the first line holds names; `doubtful` where these are numbers, so that it may be a row all the same."""

    named: bool
    doubtful: bool = False


def judge_first_line(rows: Sequence[Cells], na: Cells) -> FirstLine:
    """Return whether the first line holds column names rather than data, and whether that can be doubted.

    A cell that may be a missing or an infinite number is not taken for a name by itself.

    >>> judge_first_line([["who", "age"], ["Ada", "36"], ["Bob", "41"]], ())
    FirstLine(named=True, doubtful=False)
    >>> judge_first_line([["Ada", "2", "3"], ["Bob", "5", "7"], ["Cem", "1", "1"]], ())
    FirstLine(named=False, doubtful=False)
    """
    if len(rows) < 2:
        return FirstLine(True)
    odd = MISSING_WORDS | INFINITE | {token.lower() for token in na}
    first, columns = rows[0], _columns_below(rows, odd)
    texts = [j for j, cell in enumerate(first) if cell.lower() not in odd and not is_number(cell)]
    numbers = [j for j, cell in enumerate(first) if is_number(cell)]
    above_numbers = [j for j in texts if columns[j] and all(map(is_number, columns[j]))]
    if above_numbers:
        return _judge_text_above_numbers(first, columns, above_numbers, numbers)
    recurring = sum(_shape(first[j]) in set(map(_shape, columns[j])) for j in texts)
    if not numbers:
        return FirstLine(bool(texts) and 2 * recurring < len(texts))
    named = not recurring and (_has_corner_name(first, columns, numbers) or _is_axis(rows, columns, numbers))
    return FirstLine(named, doubtful=named)


def first_line_decisions(named: bool, doubtful: Cells) -> Iterator[Decision]:
    """Yield the decision that the first line holds no names, or that it does though it may be a row (`doubtful`)."""
    if not named:
        what, fix = "the first line holds no names, so columns are numbered", "if it does, give {header}"
        yield Decision("names", what, (), fix, {"header": True})
    if not doubtful:
        return
    found = [cell for cell in doubtful if cell]
    shown = ", ".join([*found[:3], *(["…"] if len(found) > 3 else [])])
    what, fix = f"the first line, {shown}, is read as column names", "if it is a row of data, give {header}"
    yield Decision("names", what, (), fix, {"header": False}, surprising=all(map(is_number, doubtful)))


def _columns_below(rows: Sequence[Cells], odd: frozenset[str]) -> list[list[str]]:
    """Return the cells below each one of the first line, without those that may be missing or infinite numbers."""
    return [[row[j] for row in rows[1:] if j < len(row) and row[j].lower() not in odd] for j in range(len(rows[0]))]


def _judge_text_above_numbers(
    first: Cells, columns: Sequence[Cells], texts: Sequence[int], numbers: Sequence[int]
) -> FirstLine:
    """Return that the line holds names, unless text is the exception in it and its numbers are like those below."""
    like = len(numbers) >= len(texts) and all(_is_within(first[j], columns[j], 0.5) for j in numbers)
    counted = is_consecutive([first[j] for j in numbers])
    named = not like or counted or _has_corner_name(first, columns, numbers)
    return FirstLine(named, doubtful=named and like)


def _has_corner_name(first: Cells, columns: Sequence[Cells], numbers: Sequence[int]) -> bool:
    """Return whether no number repeats below a first cell that is the name of a column, or blank above row names."""
    if len({float(first[j]) for j in numbers}) < len(numbers):
        return False
    if first[0]:
        return CORNER_NAME.fullmatch(first[0]) is not None
    texts = bool(columns[0]) and not any(map(is_number, columns[0]))
    counted = columns[0][:2] in (["0", "1"], ["1", "2"]) and is_consecutive(columns[0])
    return len(numbers) > 1 and _have_one_sign(_steps(first)) and (texts or counted)


def _is_axis(rows: Sequence[Cells], columns: Sequence[Cells], numbers: Sequence[int]) -> bool:
    """Return whether the numbers of the first line are an axis, such as times or wavelengths, and no row below is."""
    first, rest = rows[0], rows[1:]
    found, steps, below = [first[j] for j in numbers], _steps(first), [_steps(row) for row in rest]
    continued = any(is_consecutive([first[j], *columns[j]]) for j in numbers)  # ids, from the first line on
    if continued or not _have_one_sign(steps):
        return False
    unlike = all(_is_unlike(first[j], columns[j]) for j in numbers)
    if is_consecutive(found) and 1500 <= int(found[0]) < 2100:
        apart = not any(1500 <= float(cell) < 2100 for j in numbers for cell in columns[j] if is_number(cell))
        return apart or (len(found) >= MIN_YEARS and not any(map(_are_even, below)))
    if is_consecutive(found) and found[0] in ("0", "1") and unlike:  # as pandas numbers columns
        return True
    if len(found) >= MIN_LONG:
        return unlike or not any(map(_have_one_sign, below))
    return len(found) >= MIN_EVEN and _are_even(steps) and unlike and not any(map(_are_even, below))


def _is_unlike(cell: str, column: Cells) -> bool:
    """Return whether a number is whole where others mostly are not, or lies outside their range.

    >>> _is_unlike("400", ["0.31", "0.28"]), _is_unlike("3", ["1", "5", "2", "9"]), _is_unlike("3", ["5", "7"])
    (True, False, False)
    """
    if "." not in cell and 2 * sum("." in other for other in column) > len(column):
        return True
    return len(column) >= MIN_ROWS and all(map(is_number, column)) and not _is_within(cell, column)


def _is_within(cell: str, column: Cells, margin: float = 0.0) -> bool:
    """Return whether a number lies in the range of a column, widened at both ends by a multiple of its width."""
    values = [float(other) for other in column if is_number(other)]
    if not values:
        return False
    low, high = min(values), max(values)
    return low - margin * (high - low) <= float(cell) <= high + margin * (high - low)


def _steps(cells: Cells) -> list[float]:
    """Return the differences of successive numbers of a line, text before and after them aside; [] for any other."""
    found = list(itertools.dropwhile(lambda cell: not is_number(cell), cells))
    found = list(itertools.dropwhile(lambda cell: not is_number(cell), found[::-1]))[::-1]
    return [b - a for a, b in itertools.pairwise(map(float, found))] if all(map(is_number, found)) else []


def _are_even(steps: Sequence[float]) -> bool:
    """Return whether all steps are the same up to rounding, and not zero."""
    return bool(steps) and steps[0] != 0.0 and all(abs(step - steps[0]) <= 1e-3 * abs(steps[0]) for step in steps)


def _have_one_sign(steps: Sequence[float]) -> bool:
    return bool(steps) and (min(steps) > 0.0 or max(steps) < 0.0)


def is_consecutive(cells: Cells) -> bool:
    """Return whether the cells are consecutive integers, such as years in a header."""
    if len(cells) < 2 or not all(cell.isdigit() for cell in cells):
        return False
    return all(int(after) == int(before) + 1 for before, after in itertools.pairwise(cells))


def _shape(cell: str) -> str:
    """Return a cell with 0 in place of each number of it: '12 kg' and '7.5 kg' have one shape."""
    return re.sub(r"\d+([.,]\d+)*", "0", cell)
