"""Columns of years, months, days, hours and visits, which say when something was measured rather than what.

A column that is called just that is left out, as a date is, or names the rows if none of its entries repeats. One whose
numbers only look like years, or that has a year among other words in its name (the year of a birth, or of a house), may
be a measurement: it is fitted, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataWarning, join_limited


class Calendar(NamedTuple):
    """A part of the calendar: how it is called in several languages, and the ranges of its numbers."""

    names: str
    ranges: tuple[tuple[float, float], ...]


CALENDAR = {
    "calendar years": Calendar(
        "year|yr|yyyy|time[ _.]?period|jahr|ann[ée]e|a[ñn]o|anno|jaar|år|rok|год", ((1000, 2200), (50, 99))
    ),
    "months": Calendar("month|mon|mo|monat|mois|mes|mês|mese|maand|måned|månad|miesiąc|месяц", ((0, 60),)),
    "days": Calendar("day|tag|jour|d[ií]a|giorno|dag|dzień|день|day[ _.]?of[ _.]?(month|year)|doy|yday", ((0, 366),)),
    "days of the week": Calendar("dow|wday|week[ _.]?day|day[ _.]?of[ _.]?week|wochentag", ((0, 7),)),
    "weeks": Calendar("week|wk|isoweek|week[ _.]?of[ _.]?year|woche|semaine|semana|settimana|vecka", ((0, 104),)),
    "quarters": Calendar("quarter|qtr|quartal|trimestre", ((1, 4),)),
    "hours": Calendar("hour|hour[ _.]?of[ _.]?day|stunde|heure|hora|uur|timme", ((0, 96),)),
    "hours of the day": Calendar("hr", ((0, 24),)),  # beyond, heart rates
    "occasions of measurement": Calendar(
        "(visit|wave|time[ _.-]?point|occasion|session|follow[ _.-]?up|replicate|besuch|welle|messzeitpunkt|visite)"
        r"[ _.]?(no|nr|num|number|index)?\.?", ((0, 100),),
    ),
}  # fmt: skip
"""Parts of the calendar, and of a study; their plurals are mostly durations and counts, which are measurements."""

ABOUT = (
    r"(sampl(e|ed|ing)|survey(ed)?|obs(erved|ervation)?|collect(ed|ion)|measure(d|ment)?|record(ed|ing)?|report(ed|ing)?"
    r"|study|visit|calendar|fiscal|season|sale|sold)"
)
"""Words beside the name that still mean the time of the measurement."""

YEAR_NAME = re.compile(r"(?i)(.*[\W_])?yr([\W_].*)?|.*(year(?!ly)|jahr|ann[ée]e).*|(.*[\W_])?a[ñn]o([\W_].*)?")
"""Names with a year in them."""

YEARS = (1800.0, 2100.0)
STEPS = (1.0, 2.0, 4.0, 5.0)
MAX_YEARS, MIN_YEARS = 60, 3
"""How many different years look like those of a calendar, at equal steps, where the name does not tell."""

MIN_ROWS = 10
FEW = 64
"""Rows by which most columns show that they hold no years."""


def calendar_part(name: str, least: float, greatest: float) -> str:
    """Return the part of the calendar that a column of whole numbers holds, by its name and its range; else "".

    >>> calendar_part("Month", 5, 9), calendar_part("sample_year", 1998, 2004), calendar_part("year_built", 1900, 2004)
    ('months', 'calendar years', '')
    """
    for part, (names, ranges) in CALENDAR.items():
        called = re.fullmatch(rf"(?i)({ABOUT}[\W_]?)?({names})([\W_]?{ABOUT})?", name.strip())
        if called and any(low <= least and greatest <= high for low, high in ranges):
            return part
    return ""


def calendar_warnings(X: Array, names: Sequence[str]) -> Iterator[DataWarning]:
    """Yield a warning of the columns of X (n, d) that may hold years though they are not called just that."""
    able = [j for j in range(len(names)) if len(names) > 1 and _are_years(X[:, j])]
    # A column that is called a year is fitted only where the user asks for it.
    able = [j for j in able if not calendar_part(names[j], *YEARS)]
    by_name = [names[j] for j in able if YEAR_NAME.fullmatch(names[j])]
    others = [names[j] for j in able if not YEAR_NAME.fullmatch(names[j]) and are_calendar_years(X[:, j])]
    if by_name:
        yield _warning(by_name, "hold" if len(by_name) > 1 else "holds")
    if others:
        yield _warning(others, "may hold")


def _warning(names: list[str], verb: str) -> DataWarning:
    several = len(names) > 1
    listed = f"column{'s' * several} {join_limited([repr(name) for name in names])}"
    what = f"{listed} {verb} calendar years and {'are' if several else 'is'} fitted like any measurement"
    it = "them" if several else "it"
    fix = f"show {it} beside the result with {{supplementary}}, or leave {it} out with {{drop}}"
    return DataWarning(what, columns=names, fix=fix, settings={"supplementary": names, "drop": names})


def _are_years(values: Array) -> bool:
    """Return whether values (n,) are whole numbers in the range of years, not all the same."""
    few = values[:FEW]
    if np.any((few < YEARS[0]) | (few > YEARS[1])):
        return False
    seen = values[np.isfinite(values)]
    if seen.size < MIN_ROWS or seen.min() < YEARS[0] or seen.max() > YEARS[1]:
        return False
    return bool(np.all(seen == np.floor(seen)) and seen.min() < seen.max())


def are_calendar_years(values: Array) -> bool:
    """Return whether values (n,) are few whole numbers at equal steps that all repeat, like those of a panel.

    >>> panel, heights = np.tile(np.arange(1990.0, 2001.0), 9), np.array([1850.0, 1912, 1998, 2043, 1876, 2001])
    >>> are_calendar_years(panel), are_calendar_years(np.tile(heights, 9))
    (True, False)
    """
    years = np.unique(values[np.isfinite(values)])
    steps = np.unique(np.diff(years))
    few = MIN_YEARS <= years.size <= min(MAX_YEARS, values.size / 2)
    return bool(few and steps.size == 1 and steps[0] in STEPS)
