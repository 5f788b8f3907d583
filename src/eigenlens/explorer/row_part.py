"""Rows of a table that a fit is of, while the others are passive: they have scores, and take no part in the fit."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import DataError, OptionError

PARTS = ("all", "without", "only")
"""What a fit is of: all rows, all without the marked ones, or the marked ones alone."""


def rows_from_bits(text: Any, m: int) -> Array:
    """Return which rows (m,) are marked, from the base64 of one bit per row, the lowest first.

    >>> rows_from_bits("BQ==", 3)
    array([ True, False,  True])
    """
    try:
        bits = np.unpackbits(np.frombuffer(base64.b64decode(str(text), validate=True), np.uint8), bitorder="little")
    except ValueError:
        bits = np.zeros(0, dtype=np.uint8)
    if not m <= bits.size < m + 8:
        raise OptionError("a selection has one bit per row shown", fix="reload the page")
    return bits[:m].astype(bool)


@dataclass(frozen=True)
class RowPart:
    """The rows of a fit: a plain value, so that the same question has the same answer.

    Attributes:
        kind: one of PARTS. bits: which of the m rows shown are marked, as of `rows_from_bits`; "" for none.
        m: the number of rows shown.
    """

    kind: str = "all"
    bits: str = ""
    m: int = 0

    @cached_property
    def marked(self) -> Array:
        """(m,) whether each row shown is marked."""
        return rows_from_bits(self.bits, self.m)

    @property
    def whole(self) -> bool:
        """Whether the fit is of all rows."""
        return self.kind == "all"

    @property
    def fitted(self) -> Array:
        """(m,) whether each row shown takes part in the fit."""
        return self.marked if self.kind == "only" else ~self.marked

    def count(self, n: int) -> int:
        """Return how many of n rows the fit is of: those that are not shown are not marked."""
        if self.whole:
            return n
        count = int(self.marked.sum())
        return count if self.kind == "only" else n - count

    def as_json(self) -> dict[str, str]:
        """Return the part as the page has it."""
        return {"kind": self.kind, "bits": self.bits}


ALL_ROWS = RowPart()


def read_part(given: Any, m: int, n: int) -> RowPart:
    """Return the part of n rows that a page asks for, m of them shown; at least two rows are fitted."""
    if given is None:
        return ALL_ROWS
    if not isinstance(given, Mapping) or given.get("kind") not in PARTS:
        raise OptionError(f"the rows of a fit are one of {', '.join(PARTS)}", fix="reload the page")
    if given["kind"] == "all":
        return ALL_ROWS
    found = RowPart(str(given["kind"]), str(given.get("bits", "")), m)
    if found.kind == "without" and not found.marked.any():
        return ALL_ROWS
    if found.count(n) < 2:
        raise DataError(f"{found.count(n)} of {n:,} rows would be fitted", fix="keep at least two")
    return found


def part_weights(part: RowPart, chosen: Array, n: int, weight: Array | None) -> Array | None:
    """Return the weights (n,) of all rows, 0 of those that take no part; None where all are one.

    chosen: (m,) the positions of the rows shown.
    """
    if part.whole:
        return weight
    found = np.zeros(n) if part.kind == "only" else np.ones(n) if weight is None else weight.copy()
    if part.kind == "only":
        found[chosen[part.marked]] = 1.0 if weight is None else weight[chosen[part.marked]]
    else:
        found[chosen[part.marked]] = 0.0
    return found
