"""The rows of files in parts, each with other columns of the same rows, in memory that does not depend on their number.

Columns are read by passes of their own, which advance with that over the features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.base import pl
from eigenlens.data.rows import ChosenRows, select_rows
from eigenlens.data.source import BLOCK_BYTES, FILE_BLOCK_BYTES, Source

if TYPE_CHECKING:
    from polars import DataFrame


class BlockRows(Source):
    """One block of the rows of another source, as a source of its own."""

    in_memory = True

    def __init__(self, source: Source, block: Any) -> None:
        self._block = block
        self.n_rows, self.n_features, self.dtype = block.shape[0], source.n_features, source.dtype
        self.names, self.own_names = source.names, source.own_names
        self.fields = getattr(source, "fields", None)

    def rows(self) -> Iterator[Any]:
        """Yield the block."""
        yield self._block


class FilePart(NamedTuple):
    """Some rows: their features, and the rows of the files that were read for them, of which some may be left out.

    Attributes:
        rows: the features. start: the first row that was read. n_read: how many were.
        kept: (n_read,) which of these they are, or None for all.
    """

    rows: BlockRows
    start: int
    n_read: int
    kept: Array | None


def file_parts(source: Source) -> Iterator[FilePart]:
    """Yield the rows of a source part by part; of chosen rows, parts without any are left out."""
    chosen = source if isinstance(source, ChosenRows) else None
    start = 0
    for block in in_small_blocks(source if chosen is None else chosen.source, source.n_features).rows():
        count = int(block.shape[0])
        if chosen is None:
            yield FilePart(BlockRows(source, block), start, count, None)
        else:
            low, high = np.searchsorted(chosen.which, [start, start + count])
            kept = np.zeros(count, dtype=bool)
            kept[chosen.which[low:high] - start] = True
            if high > low:
                yield FilePart(BlockRows(source, select_rows(block, np.flatnonzero(kept))), start, count, kept)
        start += count


def in_small_blocks(source: Any, n_features: int) -> Any:
    """Return rows of files in blocks that are small (4 MB) where they have this many numbers; others unchanged."""
    return source.with_block_rows(small_block(n_features)) if hasattr(source, "with_block_rows") else source


def in_bounded_blocks(source: Any, memory: int) -> Any:
    """Return rows of files in blocks that take little of some memory, but not less than 1 MB.

    A reader of Parquet decodes two of them at once, beside the row groups that they are decompressed from, while those
    before are worked on; and what is freed goes back to the system late.
    """
    if memory // BLOCKS_IN_MEMORY >= FILE_BLOCK_BYTES or not hasattr(source, "with_block_rows"):
        return source
    width = source.n_features
    return source.with_block_rows(max(smallest_block(width), memory // (BLOCKS_IN_MEMORY * 8 * width)))


def least_memory(source: Any) -> int:
    """Return the memory that rows of files take in the smallest blocks, in bytes."""
    block_bytes = 8 * source.n_features * smallest_block(source.n_features)
    return int(BLOCKS_IN_MEMORY * block_bytes + source.group_bytes)


BLOCKS_IN_MEMORY = 32
"""The number of blocks that may be in memory by the time the first of them are freed."""


def small_block(n_features: int) -> int:
    """Return how many rows of this many numbers are in a small block (4 MB)."""
    return max(1, BLOCK_BYTES // (4 * 8 * n_features))


def smallest_block(n_features: int) -> int:
    """Return how many rows of this many numbers are in the smallest blocks (1 MB) to which limits of memory lead."""
    return max(1, small_block(n_features) // 4)


class RowCursor:
    """A stream of frames of consecutive rows, of which parts are taken in order."""

    def __init__(self, frames: Iterator[DataFrame]) -> None:
        self._frames, self._start = frames, 0
        self._waiting: Any = None

    def take(self, part: FilePart) -> DataFrame:
        """Return the rows of a part as one frame; the same part may be asked for again, but none before it."""
        self._advance(part.start)
        while self._waiting is None or len(self._waiting) < part.n_read:
            following = next(self._frames)
            more = [following] if self._waiting is None else [self._waiting, following]
            self._waiting = pl.concat(more, how="vertical_relaxed")
        found: DataFrame = self._waiting[: part.n_read]
        return found if part.kept is None else found.filter(part.kept)

    def _advance(self, start: int) -> None:
        """Leave out the rows before a row."""
        while self._start < start:
            if self._waiting is None or not len(self._waiting):
                self._waiting = next(self._frames)
            skipped = min(start - self._start, len(self._waiting))
            self._waiting, self._start = self._waiting[skipped:], self._start + skipped


FEW_ROWS, PIECES = 100, 4
"""Pieces of wide tables have few rows, and are joined a few at a time."""


def stack_frames(frames: Iterable[Any]) -> Any:
    """Return frames under each other.

    Polars keeps a kilobyte for each piece of a column, more than the entries of pieces of a few rows.
    """
    pieces: list[Any] = []
    for frame in frames:
        pieces.append(frame)
        if len(pieces) > PIECES and len(frame) < FEW_ROWS:
            pieces = [pl.concat(pieces, how="vertical_relaxed").rechunk()]
    found = pl.concat(pieces, how="vertical_relaxed")
    return found.rechunk() if len(found) < FEW_ROWS * len(pieces) else found
