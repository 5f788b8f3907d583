"""What the cells of delimited text are: numbers, true and false, missing, or text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eigenlens.data.files.polars import import_polars

if TYPE_CHECKING:
    from polars import DataFrame, Expr, Series

__all__ = ["Found", "cell_kinds", "exact", "joined_kind", "number", "plainest", "text_places", "without_missing"]


@dataclass
class Found:
    """The text met in one column: its first place and value, how often, and a few different values."""

    path: Path
    row: int
    value: str
    count: int = 0
    values: set[str] = field(default_factory=set)

    def add(self, texts: Sequence[str]) -> None:
        """Take in the texts of one more piece."""
        self.count += len(texts)
        if len(self.values) <= 3:
            self.values |= set(itertools.islice(dict.fromkeys(text.strip() for text in texts), 4))

    def perhaps_missing(self, rows: int) -> list[str]:
        """The texts that may stand for missing numbers: a handful, and not in every row."""
        return sorted(self.values) if len(self.values) <= 3 and self.count < rows else []


def number(name: str) -> Expr:
    """A text column as numbers: spaces are forgiven, true and false are 1 and 0, the rest is null."""
    pl = import_polars()
    cell = pl.col(name).str.strip_chars()
    word = cell.str.to_lowercase()
    flag = pl.when(word == "true").then(1.0).when(word == "false").then(0.0)
    found: Expr = flag.otherwise(cell.cast(pl.Float64, strict=False)).alias(name)
    return found


def exact(cells: Series, numbers: Series) -> Series:
    """The numbers of a text column as integers of 64 bits, which floats may have rounded; as they are if one is none.

    >>> import polars as pl
    >>> exact(pl.Series(["9007199254740993", None]), pl.Series([2.0**53, None])).to_list()
    [9007199254740993, None]
    """
    pl = import_polars()
    integers = cells.str.strip_chars().cast(pl.Int64, strict=False)
    return integers if integers.null_count() == numbers.null_count() else numbers


def without_missing(name: str, na: Sequence[str]) -> Expr:
    """A text column as it is written, null where a cell means missing, spaces around that forgiven."""
    pl = import_polars()
    missing = pl.col(name).str.strip_chars().is_in(list(na))
    found: Expr = pl.when(missing).then(None).otherwise(pl.col(name)).alias(name)
    return found


def text_places(cells: Series, numbers: Series, na: Sequence[str]) -> Series:
    """The places (0-based) where a cell holds something, and it is neither a number nor missing."""
    bare = cells.str.strip_chars()
    return (numbers.is_null() & cells.is_not_null() & ~bare.is_in(["", *na])).arg_true()


def cell_kinds(frame: DataFrame, na: Sequence[str]) -> list[str]:
    """What the cells of text columns are: "text", "boolean" or "number" where all that are there are, else "mixed".

    Numbers among true and false are "flags"; a column without an entry is "empty".

    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": ["x", None], "b": ["1", "?"], "c": [" True", "false"]})
    >>> cell_kinds(frame, ()), cell_kinds(frame, ["?"])[1]
    (['text', 'mixed', 'boolean'], 'number')
    """
    pl = import_polars()
    every = pl.all()
    numbers = frame.select(number(name) for name in frame.columns)
    held = frame.select(every.is_not_null() & ~every.str.strip_chars().is_in(["", *na])).sum().row(0)
    words = frame.select(every.str.contains(r"(?i)^\s*(true|false)\s*$")).sum().row(0)
    gaps = numbers.null_count().row(0)
    return [_kind(len(frame) - gap, n, word or 0) for n, gap, word in zip(held, gaps, words, strict=True)]


def _kind(numbers: int, held: int, words: int) -> str:
    """The kind of a column of which so many cells are numbers or words for them, hold something, and are words."""
    if not numbers:
        return "text" if held else "empty"
    return "mixed" if held > numbers else "boolean" if words == numbers else "flags" if words else "number"


def joined_kind(kinds: Sequence[str]) -> str:
    """The kind of a column that has these kinds in several files; text in one and numbers in another are mixed.

    >>> joined_kind(["empty", "text"]), joined_kind(["number", "text"]), joined_kind(["boolean", "number"])
    ('text', 'mixed', 'flags')
    """
    met = set(kinds) - {"empty"}
    if len(met) < 2:
        return met.pop() if met else "empty"
    return "mixed" if met & {"text", "mixed"} else "whole" if met == {"number", "whole"} else "flags"


def plainest(text: Series) -> Series:
    """Text as integers, or else floats, where every entry is one; 007 is a name, not a number."""
    pl = import_polars()
    integers = text.cast(pl.Int64, strict=False)
    if (integers.cast(pl.String) == text).all() and integers.null_count() == text.null_count():
        return integers
    floats = text.cast(pl.Float64, strict=False)
    if floats.null_count() == text.null_count() and not text.str.contains(r"^[+-]?0\d").any():
        return floats
    return text
