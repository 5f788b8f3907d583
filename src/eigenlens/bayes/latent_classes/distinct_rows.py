"""Rows of a table made ready for many passes: text and categories are encoded once, and equal rows are one row.

The rows of latent classes of few columns of few categories have few different values, whose counts are all that the
likelihood needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.bernoulli import BernoulliFactor
from eigenlens.bayes.naive.families.categorical import CategoricalFactor
from eigenlens.bayes.naive.plan import Plan
from eigenlens.data.rows import select_rows
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.data.table import MixedRows, encode_columns, observed_rows

MAX_POSSIBLE_ROWS = 2**62
"""Rows are numbered by their categories, which must fit into 64 bits."""

MAX_DISTINCT_SHARE = 0.7
"""Equal rows are merged where at most this share of the rows is left: the merged rows are a copy."""


class EncodedTable(Source):
    """Rows of a table in memory with their weights, encoded.

    >>> table = EncodedTable([Block(encode_columns(np.array([[1.0], [2.0]]), [0]), np.array([3.0, 1.0]))])
    >>> table.n_rows, next(table.blocks()).weight
    (2, array([3., 1.]))
    """

    in_memory = True

    def __init__(self, parts: Sequence[Block]) -> None:
        self._parts = parts
        self.n_features = parts[0].rows.shape[1]
        self.weight = np.concatenate([part.weight for part in parts])
        self.n_rows, self.dtype = len(self.weight), np.dtype(np.float64)

    def rows(self) -> Iterator[Any]:
        """Yield the blocks."""
        return (part.rows for part in self._parts)


def encode_table(source: Source, weight: Array, plan: Plan) -> Source:
    """Return the rows of positive weight of a table for many passes, equal ones merged where that saves much.

    Rows of files and of Dask arrays stay where they are, and so do those of arrays without categories.
    """
    if not source.in_memory:
        return source.weighted(weight)
    coded = _coded_columns(plan)
    discrete = all(isinstance(factor, CategoricalFactor | BernoulliFactor) for factor, _ in plan.groups)
    if not (coded or discrete):
        return source.weighted(weight)
    parts, first = list[Block](), 0
    for rows in source.rows():
        w = weight[first : first + rows.shape[0]]
        first += rows.shape[0]
        kept = np.flatnonzero(w > 0.0)
        if kept.size:
            part = Block(encode_columns(rows if kept.size == w.size else select_rows(rows, kept), coded), w[kept])
            parts.append(merge_equal_rows(part) if discrete else part)
    return EncodedTable(parts)


def _coded_columns(plan: Plan) -> list[int]:
    """Return the columns with categories, and those of text whatever their family."""
    grouped = {j for factor, columns in plan.groups if isinstance(factor, CategoricalFactor) for j in columns}
    return sorted(grouped | {j for j, field in enumerate(plan.fields) if field.kind == "text"})


def merge_equal_rows(block: Block) -> Block:
    """Return a block of categories and of zeros and ones with equal rows merged; unchanged where few are equal.

    >>> rows = encode_columns(np.array([[1.0, 0.0], [2.0, 1.0], [1.0, 0.0]]), [0])
    >>> merge_equal_rows(Block(rows, np.ones(3))).weight
    array([2., 1.])
    """
    rows, weight = block
    numbers = _number_rows(rows)
    if numbers is None:
        return block
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    if len(first) > MAX_DISTINCT_SHARE * len(weight):
        return block
    return Block(rows[first], np.bincount(which.reshape(-1), weight, minlength=len(first)))


def _number_rows(rows: MixedRows) -> Array | None:
    """Return a number (n,) for each row, equal for equal rows; None where numbers are not 0 and 1, or too many."""
    sizes = [len(categories) + 1 for categories in rows.categories] + [3] * rows.numbers.shape[1]
    if sum(map(np.log2, sizes)) > np.log2(MAX_POSSIBLE_ROWS):
        return None
    found, missing = np.zeros(len(rows), dtype=np.int64), np.isnan(rows.numbers)
    if not np.all(missing | (rows.numbers == 0.0) | (rows.numbers == 1.0)):
        return None
    codes = [*rows.codes.T, *np.where(missing, -1.0, rows.numbers).astype(np.int8).T]
    for column, size in zip(codes, sizes, strict=True):
        found = found * size + (column + 1)
    return found


class _ObservedRows:
    """Which rows (b,) of a block have an observed entry; those of halves follow each other."""

    def __init__(self, present: Array) -> None:
        self.present = present

    def __add__(self, other: _ObservedRows) -> _ObservedRows:
        return _ObservedRows(np.concatenate([self.present, other.present]))


def rows_with_entries(source: Source) -> Array:
    """Return which rows (n,) of a table have an observed entry, in one pass."""
    return accumulate(source, lambda block: _ObservedRows(observed_rows(block.rows))).present
