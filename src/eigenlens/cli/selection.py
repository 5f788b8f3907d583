"""The columns and rows that options choose.

Columns are named, or given by ranges such as a:f and kinds such as @number. Rows are kept by the tests of `--where`,
such as 'age >= 18', or by expressions of SQL.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import fail
from eigenlens.data.column_kinds import ColumnKind
from eigenlens.data.files.base import pl
from eigenlens.errors import closest, suggest

if TYPE_CHECKING:
    from polars import DataFrame, Expr

COLUMN_TYPES: dict[str, frozenset[ColumnKind]] = {
    "@number": frozenset({ColumnKind.NUMBER, ColumnKind.INTEGER, ColumnKind.BOOLEAN, ColumnKind.EMPTY}),
    "@float": frozenset({ColumnKind.NUMBER, ColumnKind.EMPTY}),
    "@integer": frozenset({ColumnKind.INTEGER}),
    "@boolean": frozenset({ColumnKind.BOOLEAN}),
    "@text": frozenset({ColumnKind.TEXT, ColumnKind.MIXED}),
    "@other": frozenset({ColumnKind.OTHER}),
}
"""The kinds of columns that a name of a type means."""

Kinds = Mapping[Any, ColumnKind]


def choose_columns(words: Sequence[str] | None, kinds: Kinds, option: str) -> list[Any] | None:
    """Return the columns that the words of an option mean, in that order, each once; None where there are no words.

    `kinds` maps each column of the file, in its order, to its kind. A word that is a column's whole name means that
    column, whatever signs are in it.

    >>> K = ColumnKind
    >>> kinds = {"id": K.TEXT, "a": K.NUMBER, "b": K.INTEGER, "c": K.NUMBER, "x,y": K.NUMBER}
    >>> choose_columns(["a:c"], kinds, "columns"), choose_columns(["@float,b"], kinds, "columns")
    (['a', 'b', 'c'], ['a', 'c', 'x,y', 'b'])
    """
    if not words:
        return None
    known = {str(name): name for name in kinds}
    parts = [part for word in words for part in ([word] if word in known else word.split(","))]
    found = [name for part in parts if part.strip() for name in _choose_part(part.strip(), known, kinds, option)]
    return list(dict.fromkeys(found))


def choose_one_column(name: str | None, kinds: Kinds, option: str) -> Any:
    """Return the one column that a word means, or None for None."""
    if name is None:
        return None
    found = choose_columns([name], kinds, option) or []
    if len(found) != 1:
        fail(f"--{option} {name} names {len(found)} columns", "name one")
    return found[0]


def _choose_part(part: str, known: dict[str, Any], kinds: Kinds, option: str) -> list[Any]:
    if part in known:
        return [known[part]]
    if part in COLUMN_TYPES:
        return [name for name, kind in kinds.items() if kind in COLUMN_TYPES[part]]
    if part.startswith("@"):
        fail(f"--{option} {part} is not a column type", f"use one of {', '.join(COLUMN_TYPES)}")
    return _choose_range(part, known, option) if ":" in part else _reject_unknown(part, known, option)


def _choose_range(part: str, known: dict[str, Any], option: str) -> list[Any]:
    """Return the columns a:f, :f or a: in the order of the file, both ends included; an end may hold colons itself."""
    names = list(known)
    for cut in (i for i, c in enumerate(part) if c == ":"):
        first, last = part[:cut], part[cut + 1 :]
        if (not first or first in known) and (not last or last in known):
            low, high = names.index(first) if first else 0, names.index(last) if last else len(names) - 1
            if low > high:
                fail(f"--{option} {part} runs backwards: '{first}' comes after '{last}'", f"write {last}:{first}")
            return [known[name] for name in names[low : high + 1]]
    return _reject_unknown(next(end for end in part.split(":") if end and end not in known), known, option)


def _reject_unknown(part: str, known: Collection[str], option: str) -> NoReturn:
    fail(f"--{option} {part}: the file has no such column", suggest(closest(part, known, 3), known))


# ---- rows ----------------------------------------------------------------------------------------------------

SIMPLE_TEST = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<|>|=)\s*(.*?)\s*")
QUOTES = "'\""


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
        fail(
            f"--where {text!r} is not a valid test", "write column, comparison and value: 'age >= 18', 'site == north'"
        )
    return RowTest(text, (choose_one_column(simple[1], kinds, "where"),), simple[2], simple[3].strip(QUOTES))


def _is_simple(test: re.Match[str], kinds: Mapping[Any, ColumnKind]) -> bool:
    """Return whether the left side is a column, and the right side something to compare it with."""
    named = {str(name): kind for name, kind in kinds.items()}
    words = named.get(test[1]) in (ColumnKind.TEXT, ColumnKind.MIXED, ColumnKind.OTHER)
    return test[1] in named and (words or _number(test[3].strip(QUOTES)) is not None)


def _parse_sql(text: str) -> Expr | None:
    # A bare name or number is not a valid test, though it is an expression.
    if not re.search(r"(?i)[<>=(]|\b(between|in|is|like|not|and|or)\b", text):
        return None
    try:
        found: Expr = pl.sql_expr(text.replace("==", "="))
    except pl.exceptions.PolarsError:
        return None
    return found


ROW_RANGE = re.compile(r"(\d+)(?:[:-](\d+))?")


def parse_row_numbers(text: str, n: int) -> Array | None:
    """Return which of n rows numbers and ranges mean, counted from 1; None for text that is not these.

    >>> parse_row_numbers("2,4:5", 6).tolist(), parse_row_numbers("age > 3", 6)
    ([False, True, False, True, True, False], None)
    >>> parse_row_numbers("2-3", 4).tolist()
    [False, True, True, False]
    """
    parts = [ROW_RANGE.fullmatch(part.strip()) for part in text.split(",")]
    found = np.zeros(n, dtype=bool)
    for part in parts:
        if part is None:
            return None
        low, high = int(part[1]), int(part[2] or part[1])
        if not 1 <= low <= high <= n:
            fail(f"--supplementary-rows {part[0]} is not within the {n:,} rows, counted from 1", "check the numbers")
        found[low - 1 : high] = True
    return found


def find_rows(test: RowTest, read: Callable[[Any], Array]) -> Array:
    """Return which rows (n,) pass a test, by whole columns that `read(name)` gives.

    A missing entry passes no comparison but `!=`.

    >>> test = RowTest("x > 2", ("x",), ">", "2")
    >>> find_rows(test, lambda name: np.array([1.0, np.nan, 3.0])).tolist()
    [False, False, True]
    """
    columns = {str(name): read(name) for name in test.columns}
    text = {name: values for name, values in columns.items() if values.dtype.kind in "OU"}
    frame = pl.DataFrame(columns | {name: pl.Series(values.tolist(), dtype=pl.String) for name, values in text.items()})
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
    "==": eq, "=": eq, "!=": ne, "<=": le, ">=": ge, "<": lt, ">": gt,
}  # fmt: skip


def _evaluate(test: RowTest, frame: DataFrame) -> Array:
    try:
        found = frame.with_columns(pl.selectors.float().fill_nan(None)).select(test.expression).to_series()
    except pl.exceptions.PolarsError as error:
        fail(f"--where {test.text!r} cannot be evaluated ({str(error).splitlines()[0]})", "compare like with like")
    if found.dtype != pl.Boolean or len(found) != len(frame):
        fail(
            f"--where {test.text!r} is not a valid test", "write a comparison such as 'age >= 18 and site = ''north'''"
        )
    return np.asarray(found.fill_null(False))


def _number(value: str) -> float | None:
    """Return a number, 1 and 0 for true and false, or None for text."""
    words = {"true": 1.0, "false": 0.0}
    try:
        return words[value.lower()] if value.lower() in words else float(value)
    except ValueError:
        return None
