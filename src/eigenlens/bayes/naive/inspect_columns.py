"""Inspect the values of columns, by which families are chosen in the same way for every container."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple, Self

import numpy as np

from eigenlens.arrays import Array, is_integer, is_sparse, slices, to_numpy
from eigenlens.data.categories import encode_numbers
from eigenlens.data.coerce import fields_of
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.data.table import EXACT_FLOAT_LIMIT, MixedRows, MixedSource, codes_of, integers_of, numbers_of
from eigenlens.native.class_sums import code_ranges

MAX_CATEGORIES = 20
"""Whole numbers with at most this many distinct values may be categories."""

MIN_ROWS_PER_CATEGORY = 5
"""Rows needed per distinct value for whole numbers to be categories: 18 ages of 18 people are numbers.

Two values always are categories."""

FIRST_ROWS = 2000
"""Rows that are inspected first: most columns of numbers have a fraction or too many values there."""


INSPECTED_ENTRIES = 1 << 21
"""Entries that are copied at a time: 16 MB of floats."""


class ColumnValues(NamedTuple):
    """The distinct values of a column.

    Attributes:
        values: the values, if they are few whole numbers; None if they are not, or were not inspected.
        rows: Σ w of the observed entries.
    """

    values: frozenset[Any] | None = None
    rows: float = 0.0

    @property
    def are_binary(self) -> bool:
        """Return whether they are 0 and 1, both occurring."""
        return self.values == frozenset({0, 1})

    @property
    def are_categories(self) -> bool:
        """Return whether they are categories: at least two whole numbers, and enough rows for each."""
        return self.values is not None and 2 <= len(self.values) <= max(
            2, min(MAX_CATEGORIES, int(self.rows // MIN_ROWS_PER_CATEGORY))
        )


@dataclass(frozen=True, eq=False)
class DistinctValues:
    """The values of columns, by number, that are few whole numbers so far; those of halves merge.

    >>> halves = [DistinctValues.of(Block(np.array([[x, 0.5], [3.0, 1.0]])), (0, 1)) for x in (1.0, np.nan)]
    >>> (halves[0] + halves[1]).columns
    {0: ColumnValues(values=frozenset({1, 3}), rows=3.0)}
    """

    columns: dict[int, ColumnValues]

    @classmethod
    def of(cls, block: Block, columns: Sequence[int]) -> Self:
        """Return the values of columns of one block, in rows of positive weight."""
        rows: Any = block.rows if isinstance(block.rows, MixedRows) else to_numpy(block.rows)
        weight = block.weight
        if weight is not None and not np.all(weight > 0.0):
            rows, weight = rows[weight > 0.0], weight[weight > 0.0]
        if not rows.shape[0]:
            return cls({j: ColumnValues(frozenset()) for j in columns})
        candidates = _begin_whole(rows, columns)
        if is_integer(rows):
            return cls._of(rows, weight, candidates)
        step = max(FIRST_ROWS, INSPECTED_ENTRIES // rows.shape[1])  # copies of the numbers stay small
        parts = slices(rows.shape[0], step)
        return reduce(add, (cls._of(rows[p], None if weight is None else weight[p], candidates) for p in parts))

    @classmethod
    def _of(cls, rows: Any, weight: Array | None, columns: Sequence[int]) -> Self:
        """Return the values of columns that begin with whole numbers, in rows of positive weight."""
        codes = integers_of(rows, np.array(columns)) if columns else None
        if codes is None:
            found = {j: _of_numbers(rows, j, weight) for j in columns}
        else:
            low, high = code_ranges(codes)
            places = enumerate(columns)
            found = {j: _of_integers(codes[:, k], int(low[k]), int(high[k]), weight) for k, j in places}
        return cls({j: part for j, part in found.items() if part.values is not None})

    def __add__(self, other: Self) -> Self:
        both = {j: (part, other.columns[j]) for j, part in self.columns.items() if j in other.columns}
        joined = {j: _few({*(a.values or ()), *(b.values or ())}, a.rows + b.rows) for j, (a, b) in both.items()}
        return type(self)({j: part for j, part in joined.items() if part.values is not None})


def _of_integers(column: Array, low: int, high: int, weight: Array | None) -> ColumnValues:
    """Return the values of a column of integers from low to high."""
    rows = float(len(column) if weight is None else weight.sum())
    head = frozenset(np.unique(column[:FIRST_ROWS]).tolist())
    if len(head) > MAX_CATEGORIES:
        return ColumnValues()
    if len(head) == high - low + 1:  # the first rows have every value of the range
        return ColumnValues(head, rows)
    return _few(encode_numbers(column).categories, rows)


def _begin_whole(rows: Any, columns: Sequence[int]) -> list[int]:
    """Return the columns whose first entries are whole numbers, found for all at once since most are not."""
    head = numbers_of(rows[:FIRST_ROWS], np.array(columns))
    whole = np.all((head == np.floor(head)) | np.isnan(head), axis=0)
    return [j for j, kept in zip(columns, whole, strict=True) if kept]


def _of_numbers(rows: Any, j: int, weight: Array | None) -> ColumnValues:
    for part in (rows[:FIRST_ROWS], rows):
        column = numbers_of(part, np.array([j]))[:, 0]
        observed = ~np.isnan(column)
        values = column[observed]
        if not np.all(values == np.floor(values)) or np.isinf(values).any():
            return ColumnValues()
        total = float(observed.sum() if weight is None else weight[: len(observed)] @ observed)
        found = _few(_categories(part, j, values), total)
        if found.values is None:
            return found
    return found


def _categories(rows: Any, j: int, values: Array) -> Collection[Any]:
    """Return the distinct values of a column: of its observed `values` (m,), or of the rows where floats round."""
    if not values.size or np.abs(values).max() < EXACT_FLOAT_LIMIT:
        return encode_numbers(values).categories
    coded = codes_of(rows, np.array([j]))
    column = encode_numbers(coded[:, 0]) if isinstance(coded, np.ndarray) else coded[0]
    return column.drop_unused().categories


def _few(values: Collection[Any], rows: float) -> ColumnValues:
    return ColumnValues(frozenset(values), rows) if len(values) <= MAX_CATEGORIES else ColumnValues()


def inspect_columns(
    source: Source, which: Sequence[int], weight: Array | None = None
) -> tuple[list[ColumnValues], bool | None]:
    """Return the values of the columns in question, in rows of weights (n,), and whether a sparse matrix holds counts.

    The first rows leave few columns to be inspected as a whole: only for these is there another pass, over these
    columns alone where they can be read alone. The second answer is None for rows that are not sparse.
    """
    fields = fields_of(source)
    columns = [j for j in which if fields[j].kind in ("number", "integer", "mixed")]
    if not columns:
        return [ColumnValues()] * len(fields), None
    head = _head(source, columns)
    if is_sparse(head):
        return _of_sparse(source.weighted(weight), len(fields))
    places = range(len(columns)) if isinstance(source, MixedSource) else columns
    shown = DistinctValues.of(Block(head, None if weight is None else weight[: head.shape[0]]), places)
    left = [j for place, j in zip(places, columns, strict=True) if place in shown.columns]
    found = _inspect_all(source, left, weight) if left else {}
    return [found.get(j, ColumnValues()) for j in range(len(fields))], None


def _head(source: Source, columns: Sequence[int]) -> Any:
    """Return the first rows: of a table in memory, these columns alone."""
    stream = source.part(columns, FIRST_ROWS).rows() if isinstance(source, MixedSource) else source.rows()
    rows = next(iter(stream))
    if hasattr(stream, "close"):
        stream.close()
    return rows if is_sparse(rows) else rows[: min(FIRST_ROWS, rows.shape[0]), :]


def _inspect_all(source: Source, columns: Sequence[int], weight: Array | None) -> dict[int, ColumnValues]:
    """Return the values of some columns over all rows."""
    narrow, places = (source.part(columns), range(len(columns))) if hasattr(source, "part") else (source, columns)
    met = accumulate(narrow.weighted(weight), partial(DistinctValues.of, columns=places), label="families").columns
    return {j: met[place] for place, j in zip(places, columns, strict=True) if place in met}


def _of_sparse(source: Source, d: int) -> tuple[list[ColumnValues], bool]:
    """Return zeros and ones for all columns of a matrix that holds only these, and whether it holds other counts."""
    whole = binary = True
    for rows, weight in source.blocks():
        values = rows.data if weight is None or np.all(weight > 0.0) else rows[np.flatnonzero(weight > 0.0)].data
        values = values[~np.isnan(values)]
        whole = whole and bool(np.all((values >= 0.0) & (values == np.floor(values))))
        binary = binary and whole and bool(np.all(values <= 1.0))
    return [ColumnValues(frozenset({0, 1}) if binary else None)] * d, whole and not binary
