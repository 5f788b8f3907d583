"""Rows of a table made ready for many passes: text and categories are encoded once, and equal rows are one row.

The rows of latent classes of few columns of few categories have few different values, whose counts are all that the
likelihood needs.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.bernoulli import BernoulliFactor
from eigenlens.bayes.naive.families.categorical import CategoricalFactor
from eigenlens.bayes.naive.plan import Plan
from eigenlens.data.rows import select_rows
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.data.table import MixedRows, encode_columns, numbers_of, observed_rows

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
    numbered = _number_rows(rows)
    if numbered is None:
        return block
    _, first, which = np.unique(numbered, return_index=True, return_inverse=True)
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


class _PerRow:
    """One number per row of a block (b,); those of halves follow each other."""

    def __init__(self, values: Array) -> None:
        self.values = values

    def __add__(self, other: _PerRow) -> _PerRow:
        return _PerRow(np.concatenate([self.values, other.values]))


def find_observed_rows(source: Source) -> Array:
    """Return which rows (n,) of a table have an observed entry, in one pass."""
    return accumulate(source, _presence).values


def _presence(block: Block) -> _PerRow:
    return _PerRow(observed_rows(block.rows))


# ---- rows in an order of their own ------------------------------------------------------------------------------


class DistinctRows(NamedTuple):
    """The distinct rows of a table, in an order that depends on their entries alone.

    Attributes:
        first: (u,) the first row with each content, by number. weight: (u,) Σ w of all with this content.
    """

    first: Array
    weight: Array


def find_distinct_rows(source: Source, weight: Array) -> DistinctRows:
    """Return the distinct rows of positive weight of a table, in one pass: what is drawn from them is reproducible.

    Rows are compared by 64-bit hashes: two different rows of numbers agree by chance in one of some 4 billion tables of
    100,000 rows. Categories enter by 32-bit checksums; where two agree, one row fewer can be drawn.

    >>> from eigenlens.data.memory import ArraySource
    >>> find_distinct_rows(ArraySource(np.array([[5.0], [1.0], [5.0]])), np.ones(3)).weight.sum()
    np.float64(3.0)
    """
    hashes = accumulate(source, _hashes).values
    kept = np.flatnonzero(weight > 0.0)
    _, first, which = np.unique(hashes[kept], return_index=True, return_inverse=True)
    return DistinctRows(kept[first], np.bincount(which.reshape(-1), weight[kept], minlength=len(first)))


def _hashes(block: Block) -> _PerRow:
    rows = block.rows
    found: Array = np.zeros(rows.shape[0], dtype=np.uint64)
    for j in range(rows.shape[1]):
        found = _mix(found ^ _entry_bits(rows, j))
    return _PerRow(found)


def _entry_bits(rows: Any, j: int) -> Array:
    """Return 64 bits (b,) for the entries of a column: those of numbers, encoded or not, or a checksum of text."""
    if isinstance(rows, MixedRows) and rows.places[j] < 0:
        place = -1 - rows.places[j]
        return np.concatenate([*map(_category_bits, rows.categories[place]), _number_bits([np.nan])])[
            rows.codes[:, place]
        ]
    return _number_bits(numbers_of(rows, np.array([j]))[:, 0])


def _category_bits(category: Any) -> Array:
    if isinstance(category, numbers.Real):
        return _number_bits([category])
    return np.array([crc32(repr(category).encode())], dtype=np.uint64)


def _number_bits(values: Any) -> Array:
    x = np.array(values, dtype=np.float64) + 0.0  # −0 is 0
    x[np.isnan(x)] = np.nan  # which has many bit patterns
    return x.view(np.uint64)


def _mix(bits: Array) -> Array:
    """Return well-mixed bits: the finaliser of MurmurHash3 (Appleby 2011)."""
    for shift, factor in ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(bits ^ (bits >> np.uint64(33)))
