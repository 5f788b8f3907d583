"""Dates as numbers: days since 1 January 1970, with fractions for times of day."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eigenlens.data.files.base import pl
from eigenlens.data.files.cell_formats.base import ColumnFormat, list_names
from eigenlens.data.files.decision import Decision
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from polars import Expr

DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
        "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y", "%d-%b-%Y")  # fmt: skip
TIMES = ("", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %H:%M:%S%.f", "T%H:%M:%S%.f", "T%H:%M:%S%.fZ")
"""The forms of dates that are read, by the signs of strftime, and of times after them."""

MICROSECONDS_PER_DAY = 86_400e6


@dataclass(frozen=True)
class DateFormat(ColumnFormat):
    """Dates in one form, with or without times."""

    form: str

    def to_plain(self, cells: Expr) -> Expr:
        """Return the days since 1 January 1970."""
        forms = (self.form + time for time in TIMES)
        moments = pl.coalesce(cells.str.strptime(pl.Datetime("us"), form, strict=False) for form in forms)
        days = days_since_1970(moments).cast(pl.String)
        found: Expr = pl.when(days.is_null() & cells.is_not_null()).then(pl.lit("text")).otherwise(days)
        return found

    def decision(self, columns: Sequence[str]) -> Decision:
        """Return in which form dates are read, which only the cells show."""
        what = f"dates in {list_names(columns)} ({self.form}) are read as days since 1970-01-01"
        return Decision("dates", what, tuple(columns))


def days_since_1970(moments: Expr) -> Expr:
    """Return dates or times as days since 1 January 1970."""
    found: Expr = moments.cast(pl.Datetime("us")).dt.epoch("us") / MICROSECONDS_PER_DAY
    return found


def find_date_format(name: str, cells: Collection[str]) -> DateFormat:
    """Return the one form of the dates in a column; it is an error if none fits all cells, or two that disagree.

    >>> find_date_format("day", ["31/01/2026", "01/02/2026"]).form
    '%d/%m/%Y'
    >>> find_date_format("day", ["03/01/2026", "01/02/2026"])
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: dates such as '03/01/2026' in column 'day' can be read in two ways (%d/%m/%Y or
    %m/%d/%Y); write them as 2026-01-31.
    """
    values = pl.DataFrame({"cell": list(cells)}, schema={"cell": pl.String})
    read = {}
    for form in DAYS:
        days = values.select(DateFormat(form).to_plain(pl.col("cell"))).to_series()
        if len(days) and not (days == "text").any():
            read[form] = days.to_list()
    fix = "write them as 2026-01-31"
    if not read:
        what = f"column {name!r} holds no dates in a form that is known (first: {next(iter(cells), '')!r})"
        raise DataError(what, columns=[name], fix=fix)
    first, *others = read
    for other in others:
        if read[other] != read[first]:
            what = (
                f"dates such as {next(iter(cells))!r} in column {name!r} can be read in two ways ({first} or {other})"
            )
            raise DataError(what, columns=[name], fix=fix)
    return DateFormat(first)
