"""The missing entries of the rows of a table: an array, a frame of mixed columns, or blocks from files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from polars import selectors

from eigenlens.arrays import Array, dense, is_sparse
from eigenlens.data.files.file_parts import in_small_blocks
from eigenlens.data.source import Source
from eigenlens.data.table import MixedRows
from eigenlens.errors import DataWarning, count_empty_rows, warn_user


def row_blocks(rows: Any) -> Iterable[Any]:
    """Return the blocks of a source; a frame is one block."""
    return rows.rows() if isinstance(rows, Source) else [rows]


def missing_mask(block: Any) -> Array:
    """Return which entries (b, d) of a block, of numbers, of numbers and categories, or of a frame, are missing."""
    if isinstance(block, np.ndarray) or is_sparse(block):
        return np.asarray(np.isnan(dense(block) if is_sparse(block) else block))
    if isinstance(block, MixedRows):
        return np.column_stack([np.isnan(block.numbers), block.codes < 0])
    # All columns in one call: one at a time takes a second for each ten thousand.
    return np.asarray(block.with_columns(selectors.float().fill_nan(None)).select(pl.all().is_null()).to_numpy())


def warn_empty_rows(table: Any, method: str) -> None:
    """Warn of rows in which nothing is observed, with what a method makes of them.

    Rows are counted from 1 in the files. Rows that stay in files are read once more for this.
    """
    if table.missing == 0 or method not in WITHOUT_ENTRIES:
        return
    first, n = _empty_rows(table.source)
    if not n:
        return
    numbers = first if table.kept is None else np.flatnonzero(table.kept)[first].tolist()
    listed = ", ".join(str(number + 1) for number in numbers) + ", …" * (n > MAX_LISTED)
    warn_user(DataWarning(f"{count_empty_rows(n)} (row{'s' * (n > 1)} {listed}): {WITHOUT_ENTRIES[method]}"))


def _empty_rows(rows: Any) -> tuple[list[int], int]:
    """Return the numbers of the first rows in which nothing is observed, and how many there are."""
    first, n, start = list[int](), 0, 0
    for block in row_blocks(in_small_blocks(rows, rows.shape[1] if hasattr(rows, "shape") else rows.n_features)):
        empty = np.asarray(missing_mask(block).all(axis=1))
        first += (start + np.flatnonzero(empty)[: MAX_LISTED - len(first)]).tolist()
        n, start = n + int(np.count_nonzero(empty)), start + len(empty)
    return first, n


MAX_LISTED = 5
"""The number of rows that are listed."""

WITHOUT_ENTRIES = {
    "predict": "the class or component of greatest prior probability is predicted",
    "transform": "the scores are those of the mean",
    "inverse_transform": "the means are written",
    "impute": "the means, and the most frequent categories, are filled in",
    "score_samples": "the log density is 0, which counts in the mean",
}
"""What becomes of a row in which nothing is observed, by the method."""
