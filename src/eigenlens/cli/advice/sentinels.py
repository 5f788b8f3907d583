"""Numbers that mean missing values: -999 far outside the rest of a column, 99 or -9 beside answers from 1 to 5."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import flag_setting
from eigenlens.data.files.scan import format_options
from eigenlens.errors import join_limited
from eigenlens.tables.text_table import count_noun

SENTINELS = (
    -999.0, -9999.0, -99999.0, -99.0, -999.99, -99.99, -99.9, -999.9, -9999.9, 999.0, 9999.0, 99999.0, 999999.0, 999.9,
    9999.9, 99.9, -999.25, -9999.25, -9999.99,
    32767.0, -32768.0, 65535.0, 2147483647.0, -2147483648.0, -999999.0, 9999999.0,
)  # fmt: skip
"""Numbers that are used for missing values in columns of any kind, the ends of the integers of computers and
-999.25 of well logs among them."""

HUGE, ABOVE_ALL = 1e15, 1e6
"""A number from here on, and so many times larger than all others, is a fill value, such as 1e30 or 9.96921e+36."""

FAR = 10.0
"""Interquartile ranges from the quartiles, and ranges of the other values, beyond which a number is far outside."""

FAR_ROUND = 5.0
"""Ranges of the other values beyond which a round number that repeats is far outside."""

FAR_REPEATED = 3.0
"""The same for a number that occurs more than once, where no other value of the column lies so far out."""

MIN_VALUES = 8
"""Other values of a column that are needed to call one far outside."""

CODES = (
    7.0, 8.0, 9.0, 77.0, 88.0, 97.0, 98.0, 99.0, 777.0, 888.0, 997.0, 998.0, 999.0,
    -1.0, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0, -8.0, -9.0, -77.0, -88.0, -97.0, -98.0,
    -99.0, -777.0, -888.0, -998.0, -999.0,
)  # fmt: skip
"""Codes of questionnaires for no answer, in columns of whole numbers."""

LARGEST_ANSWER, LEAST_ANSWER = 20.0, -5.0
"""Answers are whole numbers within these limits that begin at 1 or below, and most of which somebody gave."""

CLEAR_SPACE = 2
"""Whole numbers between the answers and a code of one digit that nobody gave: 9 beside 1 to 5, not beside 1 to 7."""

CLEAR_SPACE_BELOW = 7.0
"""The distance of a negative code from whole numbers that are not negative, and need not be answers."""

MIN_DECIMALS = 0.8
"""The share of values that are no whole numbers, below which a whole one that repeats may be a code."""

MIN_AT_END, MIN_SHARE_AT_END = 3, 0.05
"""Cells, and the share of them, that the largest and the smallest answer need where a code of one digit is near."""


MIN_COLUMNS = 3
"""The fewest columns, half of all at least, in which a negative number of one digit lies below the answers."""

MAX_RANGE = 100_000.0
"""The most whole numbers between the ends of a column that are counted one by one."""


class Sentinel(NamedTuple):
    """A number of a column that probably means missing.

    Attributes:
        column: its name. value: the number. cells: how often it occurs. least, greatest: of the other values.
        certain: whether this column suffices; otherwise another one must have the same number too.
    """

    column: str
    value: float
    cells: int
    least: float
    greatest: float
    certain: bool = True


def find_sentinels(column: str, values: Array) -> list[Sentinel]:
    """Return the numbers of a column (n,) that probably mean missing: far outside, or codes beside whole numbers.

    >>> heights = np.array([1.7, 1.8, -999.0, 1.65, 1.9, 1.55, 1.72, 1.81, 1.68])
    >>> answers = np.array([1, 5, 4, 9, 3, 3, 2, 4, 5, 9.0])
    >>> [each.value for each in find_sentinels("height", heights) + find_sentinels("answer", answers)]
    [-999.0, 9.0]
    """
    present = values[np.isfinite(values)]
    if not present.size or not may_hold_codes(float(present.min()), float(present.max())):
        return []
    found: dict[float, Sentinel] = {}
    for finder in (_find_far, _find_negative, _find_codes, _find_round):
        for each in finder(column, present):
            found.setdefault(each.value, each)
    return list(found.values())


def _find_far(column: str, values: Array) -> list[Sentinel]:
    """Return the numbers of `SENTINELS` that lie far outside the rest of a column (n,)."""
    known = np.isin(values, SENTINELS) | _are_fill_values(values)
    known |= (values == 99.0) & (
        np.mean(values != np.floor(values)) > MIN_DECIMALS
    )  # whole numbers have a rule of theirs
    rest = values[~known]
    if not known.any() or rest.size < MIN_VALUES:
        return []
    low, high = np.quantile(rest, [0.25, 0.75])
    least, greatest = float(rest.min()), float(rest.max())
    found = []
    for value, count in zip(*np.unique(values[known], return_counts=True), strict=True):
        beyond = max(least - value, value - greatest)  # from the nearest other value
        outside = max(low - value, value - high) > (FAR if count == 1 else FAR_REPEATED) * (high - low)
        if outside and beyond > max(0.0, greatest - least):
            found.append(Sentinel(column, float(value), int(count), least, greatest))
    return found


def _find_round(column: str, values: Array) -> list[Sentinel]:
    """Return the round number that repeats at an end of a column (n,), far from all others, such as -200 or 7777."""
    found = []
    for value in {float(values.min()), float(values.max())}:
        rest = values[values != value]
        if not is_round(value) or np.unique(rest).size < MIN_VALUES:
            continue
        count, least, greatest = values.size - rest.size, float(rest.min()), float(rest.max())
        beyond = max(least - value, value - greatest) / (greatest - least)
        below = value < 0.0 <= least  # beside numbers that are never negative, even -200 twice is one
        if beyond > FAR_ROUND or (below and beyond > 1.0):
            found.append(Sentinel(column, value, count, least, greatest, count > (1 if below else 2)))
    return found


def is_round(value: float) -> bool:
    """Return whether a number is a multiple of 100, or has one digit only, three times or more.

    >>> is_round(-200.0), is_round(7777.0), is_round(77.0), is_round(250.0), is_round(0.0)
    (True, True, False, False, False)
    """
    if not 100.0 <= abs(value) < HUGE or value != int(value):
        return False
    return value % 100.0 == 0.0 or len(set(str(int(abs(value))))) == 1


def _are_fill_values(values: Array) -> Array:
    """Return which of the values (n,) are one and the same number, far too large for the others."""
    large = np.abs(values) >= HUGE
    most = np.abs(values[~large]).max(initial=0.0)
    return np.asarray(large & (np.abs(values) > ABOVE_ALL * most) & (np.unique(values[large]).size == 1))


def _find_negative(column: str, values: Array) -> list[Sentinel]:
    """Return the negative code below a column (n,) of positive numbers, farther from them than they are from another.

    One cell is enough, and the numbers need not be whole.
    """
    rest = values[values >= 0.0]
    below = np.unique(values[values < 0.0])
    if below.size != 1 or below[0] not in CODES or rest.size < MIN_VALUES or rest.min() == 0.0:
        return []
    value, least, greatest = float(below[0]), float(rest.min()), float(rest.max())
    # Two numbers may be codes themselves, such as 1 and 2 beside -1.
    apart = least - value > greatest - least and np.unique(rest).size > 2
    # A whole number that repeats below decimals need not be so far from them.
    count, decimals = values.size - rest.size, float(np.mean(rest != np.floor(rest)))
    apart |= count > 1 and decimals > MIN_DECIMALS and least - value > (greatest - least) / 4.0
    return [Sentinel(column, value, int(values.size - rest.size), least, greatest)] if apart else []


def _find_codes(column: str, values: Array) -> list[Sentinel]:
    """Return the codes of questionnaires that lie apart from the other whole numbers of a column (n,)."""
    low, high = values.min(), values.max()
    if high - low > MAX_RANGE or np.any(values != np.floor(values)):
        return []
    counts = np.bincount((values - low).astype(np.intp))
    numbers = low + np.flatnonzero(counts)
    counts = counts[counts > 0]
    ordinary = _ordinary(numbers)
    if np.array_equal(-numbers[numbers < 0.0][::-1], numbers[numbers > 0.0]):  # from -2 to 2, with or without 0
        return []
    rest, often = numbers[ordinary], counts[ordinary]
    if rest.size < 2 or often.sum() < MIN_VALUES:
        return []
    least, greatest = float(rest[0]), float(rest[-1])
    answers = LEAST_ANSWER <= least <= 1.0 and greatest <= LARGEST_ANSWER
    answers &= 2 * rest.size > greatest - least  # most of them were given
    # Counts and rounded measurements become rare towards their ends, answers need not.
    firm = min(often[0], often[-1]) >= max(MIN_AT_END, MIN_SHARE_AT_END * often.sum())
    found = []
    for value, count in zip(numbers[~ordinary].tolist(), counts[~ordinary].tolist(), strict=True):
        if _lies_apart(value, least, greatest, answers, alone=value == numbers[0]):
            close = min(abs(value - least), abs(value - greatest)) < CLEAR_SPACE_BELOW
            certain = firm and count > 1 if close else count > 1 or abs(value) > FAR * max(greatest, 1.0)
            found.append(Sentinel(column, value, count, least, greatest, bool(certain)))
    return found


def _ordinary(numbers: Array) -> Array:
    """Return which of the different numbers (m,) of a column, which ascend, are not codes at its ends."""
    outer = np.isin(numbers, CODES)
    # 7 and 8 between ordinary numbers, or next to them, are answers.
    inner = np.flatnonzero(~outer)
    if not inner.size:
        return ~outer
    first, last = inner[0], inner[-1]
    while last + 1 < numbers.size and numbers[last + 1] - numbers[last] <= 1.0:
        last += 1
    place = np.arange(numbers.size)
    return np.asarray((place >= first) & (place <= last))


def _lies_apart(value: float, least: float, greatest: float, answers: bool, alone: bool) -> bool:
    """Return whether a code lies clearly apart from whole numbers between `least` and `greatest`.

    `answers`: whether these are answers. alone: whether no number of the column lies below the code.
    """
    if value > 9.0:
        return answers and value - greatest > greatest - least
    if value > 0.0:
        return answers and value - greatest > CLEAR_SPACE
    if least < 0.0:
        return False
    # -1 beside 0 to 4 is a code; -1, 0, 1 and -2 to 2 are answers.
    beside = least == 1.0 or (alone and value == -1.0 and greatest > 2.0)
    return least - value >= CLEAR_SPACE_BELOW or (answers and beside)


_KNOWN_CODES = frozenset({*SENTINELS, *CODES})


def may_hold_codes(least: float, greatest: float) -> bool:
    """Return whether a column between these numbers may have some that mean missing: one of the two is such a number.

    >>> may_hold_codes(1.0, 99.0), may_hold_codes(-999.0, 1.9), may_hold_codes(1.0, 5.0)
    (True, True, False)
    """
    known = not {least, greatest}.isdisjoint(_KNOWN_CODES) or max(-least, greatest) >= HUGE
    return known or is_round(least) or is_round(greatest)


def describe_sentinels(columns: Iterable[tuple[str, Array]], paths: Sequence[Any]) -> list[str]:
    """Return a sentence on each number that probably means missing, with the option that makes it missing."""
    by_value: dict[float, list[Sentinel]] = {}
    columns = list(columns)
    for name, values in columns:
        for each in find_sentinels(name, values):
            by_value.setdefault(each.value, []).append(each)
    sure = {value: alike for value, alike in by_value.items() if _are_certain(value, alike, columns)}
    flags = flag_setting("na", [_written(value) for value in sure])
    marked = "na" in format_options(paths)
    return [_sentence(alike, flags if marked else "") for alike in sure.values()]


def _are_certain(value: float, alike: list[Sentinel], columns: list[tuple[str, Array]]) -> bool:
    """Return whether a number means missing by these columns among all.

    Two columns suffice for a number of two digits or more. One of a single digit must not be an ordinary value of more
    columns, as in a table of counts.
    """
    if abs(value) > 9.0:
        return len(alike) > 1 or alike[0].certain
    having = sum(bool(np.any(values == value)) for _, values in columns)
    # Answers of one scale have the same ends in all columns, measurements have not.
    scale = len(alike) >= max(MIN_COLUMNS, len(columns) / 2) and len({each[3:5] for each in alike}) == 1
    certain = any(each.certain for each in alike) or (value < 0.0 and scale)
    return certain and having <= 2 * len(alike)


def _written(value: float) -> str:
    """Return a number with as many digits as tell it from others."""
    return short if float(short := f"{value:g}") == value else repr(value)


def _sentence(alike: list[Sentinel], flags: str) -> str:
    first, columns = alike[0], join_limited([repr(each.column) for each in alike])
    where = f"{count_noun(sum(each.cells for each in alike), 'cell')} of {columns}"
    value, between = _written(first.value), f"{first.least:g} and {first.greatest:g}"
    what = f"{value} stands in {where}, where other values lie between {between}"
    test = shlex.quote(f"{first.column} != {value}")
    return f"{what}: if it means missing, {f'add {flags}' if flags else f'leave those rows out with --where {test}'}."


def numeric_columns(source: Any) -> list[tuple[str, Array]]:
    """Return the columns of numbers of a frame or of an array in memory, by name."""
    if hasattr(source, "iter_columns"):
        return [(c.name, c.cast(float).to_numpy()) for c in source.iter_columns() if c.dtype.is_numeric()]
    names = source.names or tuple(map(str, range(source.array.shape[1])))
    return list(zip(names, np.asarray(source.array, dtype=np.float64).T, strict=True))
