"""What a column holds: its type, missing entries, range, a few values."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from eigenlens.cli.errors import look_of
from eigenlens.cli.output import count_noun, one_line

__all__ = ["MOST_VALUES", "Numbers", "Profile"]

MOST_VALUES = 10_000
"""So many different texts of a column are told apart; fewer where there are hundreds of columns."""

LOOKED_AT = 20
"""So many different texts of a column must look alike to be called numbers with %, dates, …"""

MARKS = {"na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "nil", "missing", "unknown", "?", "-", "--", ".", "*"}
"""What is often written for a missing entry."""

FEW = 3
"""A column of numbers with at most so many different texts has marks for what is missing, rather than text."""

MANY = 10
"""Of fewer rows it cannot be said that a column numbers or names them."""


class Numbers(NamedTuple):
    """The numbers of a column in a block: how many, how many of them infinite, the least, the greatest, the sum."""

    n: int
    infinite: int
    least: float
    greatest: float
    total: float


@dataclass
class Profile:
    """A column, as far as it has been read.

    Attributes:
        rows, missing: entries, and those that are missing. numbers: entries that are numbers.
        flags, integers: whether all entries so far are true or false, or whole numbers.
        least, greatest, total: of the numbers. infinite: how many of them are. padded: those such as 007.
        values: different texts, at most `most` and one.
        kind: what the file says the column holds; None for text, where the entries say it.
        marks: different texts that are no numbers, a few.
    """

    name: Any
    kind: str | None = None
    most: int = MOST_VALUES
    rows: int = 0
    missing: int = 0
    numbers: int = 0
    flags: bool = True
    integers: bool = True
    least: float = float("inf")
    greatest: float = float("-inf")
    total: float = 0.0
    infinite: int = 0
    padded: int = 0
    values: dict[str, None] = field(default_factory=dict)
    marks: dict[str, None] = field(default_factory=dict)

    def add(self, rows: int, held: int, numbers: Numbers) -> None:
        """Take in a block: its rows, the entries that hold something, and what is known of those that are numbers."""
        self.rows, self.missing = self.rows + rows, self.missing + rows - held
        self.numbers, self.infinite = self.numbers + numbers.n, self.infinite + numbers.infinite
        if numbers.n:
            self.least, self.greatest = min(self.least, numbers.least), max(self.greatest, numbers.greatest)
            self.total += numbers.total

    def remember(self, values: Iterable[Any]) -> None:
        """Keep different values as text, in the order in which they come, up to one more than `most`."""
        _keep(values, self.values, self.most)

    def mark(self, values: Iterable[Any]) -> None:
        """Keep texts that are no numbers, up to one more than may mean missing."""
        _keep(values, self.marks, FEW + len(MARKS))

    @property
    def type(self) -> str:
        """float, integer, boolean, text or other."""
        if self.kind is not None:
            return self.kind
        seen = self.rows - self.missing
        if seen and self.flags:
            return "boolean"
        if self.numbers < seen:
            return "text"
        return "integer" if seen and self.integers else "float"

    @property
    def perhaps_missing(self) -> list[str]:
        """Texts among numbers that may mean missing, such as n/a."""
        strange = [mark for mark in self.marks if mark.lower() not in MARKS]
        numbers = any(look.number for look in map(look_of, strange) if look)
        most = 2 * self.numbers > self.rows - self.missing
        return list(self.marks) if self.type == "text" and most and len(strange) <= FEW and not numbers else []

    @property
    def numbers_rows(self) -> bool:
        """Whether the entries are 0, 1, 2, … or 1, 2, 3, …, in any order: names of rows rather than measurements."""
        whole = self.type == "integer" and self.missing == 0 and self.rows >= MANY and self.least in (0.0, 1.0)
        ends = self.least + self.greatest
        return whole and self.greatest - self.least == self.rows - 1 and 2.0 * self.total == ends * self.rows

    @property
    def names_rows(self) -> bool:
        """Whether every entry is another, as names are; of a text."""
        words = self.type in ("text", "other") and 2 * self.numbers <= self.rows
        return words and self.rows >= MANY and len(self.values) == self.rows

    @property
    def facts(self) -> dict[str, Any]:
        """The column in words and numbers."""
        measured = self.type in ("float", "integer", "boolean") and self.numbers > 0
        span = (self.least, self.total / self.numbers, self.greatest) if measured else (None, None, None)
        return {"name": self.name, "type": self.type, "missing": self.missing, "note": self._note(measured)} | dict(
            zip(("least", "mean", "greatest"), span, strict=True)
        )

    def _note(self, measured: bool) -> str:
        if self.rows == self.missing:
            return "empty"
        if measured and self.numbers_rows:
            return "numbers the rows"
        if measured and self.padded:
            return f"leading zeros in {count_noun(self.padded, 'row')}: names, perhaps"
        if measured and self.infinite:
            return f"infinite in {count_noun(self.infinite, 'row')}"
        if measured:
            return "constant" if self.least == self.greatest else ""
        if self.perhaps_missing:
            listed = ", ".join(map(repr, self.perhaps_missing))
            return f"numbers but for {listed} in {count_noun(self.rows - self.missing - self.numbers, 'row')}"
        count = f"{len(self.values):,}" if len(self.values) <= self.most else f"over {self.most:,}"
        if not self.values:
            return ""
        first = next(iter(self.marks or self.values))
        looks = {look_of(value) for value in itertools.islice(self.marks or self.values, LOOKED_AT)}
        look = looks.pop() if len(looks) == 1 else None
        return f"{count} different, e.g. '{one_line(first, 24)}'{f': {look.what}' if look else ''}"


def _keep(values: Iterable[Any], into: dict[str, None], most: int) -> None:
    for value in values:
        if len(into) > most:
            return
        into.setdefault(str(value), None)
