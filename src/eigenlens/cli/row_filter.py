"""Rows kept by `--where`: tests such as 'age >= 18', and expressions of SQL, as expressions of Polars."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.column_choice import choose_one_column
from eigenlens.cli.errors import fail
from eigenlens.data.coerce import fields_of
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.polars import import_polars
from eigenlens.data.source import Source

if TYPE_CHECKING:
    from polars import DataFrame, Expr


SIMPLE_TEST = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<|>|=)\s*(.*?)\s*")


class RowTest(NamedTuple):
    """A test of rows: its text, the columns that it reads, and either its comparison and value or its expression."""

    text: str
    columns: tuple[Any, ...]
    comparison: str = ""
    value: str = ""
    expression: Any = None


def parse_test(text: str, kinds: Mapping[Any, ColumnKind]) -> RowTest:
    """Return the test that 'column comparison value' means, or else an expression of SQL over the columns.

    >>> K = ColumnKind
    >>> parse_test("age >= 18", {"age": K.INTEGER})[1:4]
    (('age',), '>=', '18')
    >>> parse_test("age between 18 and 65", {"age": K.INTEGER}).columns
    ('age',)
    """
    simple = SIMPLE_TEST.fullmatch(text)
    if simple is None or not _is_simple(simple, kinds):
        expression = _parse_sql(text)
        roots = () if expression is None else tuple(dict.fromkeys(expression.meta.root_names()))
        if roots and all(root in kinds for root in roots):
            return RowTest(text, roots, expression=expression)
    if simple is None:
        fail(f"--where {text!r} is no test", "write column, comparison and value: 'age >= 18', 'site == north'")
    return RowTest(text, (choose_one_column(simple[1], kinds, "where"),), simple[2], _unquote(simple[3]))


def _is_simple(test: re.Match[str], kinds: Mapping[Any, ColumnKind]) -> bool:
    """Return whether the left side is a column, and the right side something to compare it with."""
    named = {str(name): kind for name, kind in kinds.items()}
    words = named.get(test[1]) in (ColumnKind.TEXT, ColumnKind.MIXED, ColumnKind.OTHER)
    return test[1] in named and (words or _number(_unquote(test[3])) is not None)


def _parse_sql(text: str) -> Expr | None:
    pl = import_polars()
    # A bare name or number is no test, though it is an expression.
    if not re.search(r"(?i)[<>=(]|\b(between|in|is|like|not|and|or)\b", text):
        return None
    try:
        found: Expr = pl.sql_expr(text.replace("==", "="))
    except pl.exceptions.PolarsError:
        return None
    return found


def find_rows(test: RowTest, read: Callable[[Any], Array]) -> Array:
    """Return which rows (n,) pass a test, by whole columns that `read(name)` gives.

    A missing entry passes no comparison but `!=`.

    >>> test = RowTest("x > 2", ("x",), ">", "2")
    >>> find_rows(test, lambda name: np.array([1.0, np.nan, 3.0])).tolist()
    [False, False, True]
    """
    pl = import_polars()
    frame = pl.DataFrame([_series(str(name), read(name)) for name in test.columns])
    if test.expression is not None:
        return _evaluate(test, frame)
    column = frame.to_series(0)
    compare = COMPARISONS[test.comparison]
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        value = _number(test.value)
        if value is None:
            fail(f"--where compares numbers with the text {test.value!r}", "give a number")
        found = compare(column.cast(pl.Float64).fill_nan(None), value).fill_null(test.comparison == "!=")
    else:
        if test.comparison not in ("==", "!=", "=") and _number(test.value) is not None:
            what = f"--where compares a column of text with the number {test.value}"
            fail(what, "compare a column of numbers, or use ==")
        found = compare(column.cast(pl.String).fill_null(""), test.value)
    return np.asarray(found)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda column, value: column == value,
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<=": lambda column, value: column <= value,
    ">=": lambda column, value: column >= value,
    "<": lambda column, value: column < value,
    ">": lambda column, value: column > value,
}


def _evaluate(test: RowTest, frame: DataFrame) -> Array:
    pl = import_polars()
    try:
        found = frame.with_columns(pl.selectors.float().fill_nan(None)).select(test.expression).to_series()
    except pl.exceptions.PolarsError as error:
        fail(f"--where {test.text!r} cannot be evaluated ({str(error).splitlines()[0]})", "compare like with like")
    if found.dtype != pl.Boolean or len(found) != len(frame):
        fail(f"--where {test.text!r} is no test", "write a comparison such as 'age >= 18 and site = ''north'''")
    return np.asarray(found.fill_null(False))


def _series(name: str, values: Array) -> Any:
    pl = import_polars()
    return pl.Series(name, values.tolist(), dtype=pl.String) if values.dtype.kind in "OU" else pl.Series(name, values)


def _unquote(value: str) -> str:
    return value.strip("'\"")


def _number(value: str) -> float | None:
    """Return a number, 1 and 0 for true and false, or None for text."""
    words = {"true": 1.0, "false": 0.0}
    try:
        return words[value.lower()] if value.lower() in words else float(value)
    except ValueError:
        return None


class KeptRows(Source):
    """The rows of another source where `keep` (n,) is true; every pass reads the source behind."""

    def __init__(self, source: Source, keep: Array) -> None:
        self.source, self.keep = source, keep
        self.n_rows, self.n_features, self.names = int(keep.sum()), source.n_features, source.names
        self.dtype, self.reads_ahead = source.dtype, source.reads_ahead
        self.fields = fields_of(source)

    def table(self) -> KeptRows:
        """Return the same rows for a model that takes text as categories."""
        return KeptRows(self.source.table(), self.keep)

    def rows(self) -> Iterator[Any]:
        """Yield blocks without the rows that are left out."""
        start = 0
        for block in self.source.rows():
            chosen = block[self.keep[start : start + block.shape[0]]]
            start += block.shape[0]
            if chosen.shape[0]:
                yield chosen
