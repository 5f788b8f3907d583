"""Some rows of a source: those that pass tests such as 'age >= 18'."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import fail
from eigenlens.data.coerce import fields_of
from eigenlens.data.source import Source

__all__ = ["KeptRows", "parse_test", "passes"]

TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}


class KeptRows(Source):
    """The rows of another source where `keep` (n,) is true; every pass reads the source behind."""

    def __init__(self, source: Source, keep: Array) -> None:
        self.source, self.keep = source, keep
        self.n_rows, self.n_features, self.names = int(keep.sum()), source.n_features, source.names
        self.dtype, self.reads_ahead = source.dtype, source.reads_ahead
        self.fields = fields_of(source)

    def table(self) -> KeptRows:
        """The same rows for a model that takes text as levels."""
        return KeptRows(self.source.table(), self.keep)

    def rows(self) -> Iterator[Any]:
        """One pass: blocks without the rows that are left out."""
        start = 0
        for block in self.source.rows():
            chosen = block[self.keep[start : start + block.shape[0]]]
            start += block.shape[0]
            if chosen.shape[0]:
                yield chosen


def parse_test(text: str) -> tuple[str, str, str]:
    """Column, comparison and value of a test.

    >>> parse_test("age >= 18")
    ('age', '>=', '18')
    """
    found = re.fullmatch(r"\s*(.+?)\s*(==|!=|<=|>=|<|>|=)\s*(.*?)\s*", text)
    if found is None:
        fail(f"--where {text!r} is no test", "write column, comparison and value: 'age >= 18', 'site == north'")
    return found[1], found[2], found[3].strip("'\"")


def passes(values: Array, comparison: str, value: str) -> Array:
    """Which entries (n,) of a column pass; a missing one passes no test but `!=`.

    >>> passes(np.array([1.0, np.nan, 3.0]), ">", "2").tolist()
    [False, False, True]
    """
    test = TESTS[comparison]
    if values.dtype.kind in "fiub":
        try:
            return np.asarray(test(values.astype(np.float64), _number(value)))
        except ValueError:
            fail(f"--where compares numbers with the text {value!r}", "give a number")
    if comparison not in ("==", "!=", "=") and _is_number(value):
        fail(f"--where compares a column of text with the number {value}", "compare a column of numbers, or use ==")
    text = np.array(["" if each is None else str(each) for each in values])
    return np.asarray(test(text, value))


def _number(value: str) -> float:
    """A number, or 1 and 0 for true and false."""
    word = value.lower()
    return float(word == "true") if word in ("true", "false") else float(value)


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
