"""Descriptions of the rows of X that tell them from others: the state of their files, or a digest of entries."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.checkpoint.describe import digest
from eigenlens.data.coerce import as_table
from eigenlens.data.files.paths import Stamp
from eigenlens.data.files.scan import FileSource
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Source


def describe_rows(X: Any) -> dict[str, str]:
    """Return descriptions, by names for messages, that differ where X has other rows.

    Rows in memory enter by all their entries. Those of files, also of memory maps, enter by the size and the time of
    the last change of each file, and those of streams and clusters by their shape; both by their first block too.

    >>> list(describe_rows(np.eye(2))), describe_rows(np.eye(2)) == describe_rows(2.0 * np.eye(2))
    (['the shape of X', 'the entries of X'], False)
    """
    source = as_table(X)
    files = {f"the file '{stamp.path}'": _state(stamp) for stamp in _stamps(source)}
    blocks = itertools.islice(source.blocks(), None if source.in_memory and not files else 1)
    entries = digest(source.names, source.weight, *(block.rows for block in blocks))
    return {"the shape of X": _shape(source), **files, "the entries of X": entries}


def _shape(source: Source) -> str:
    # Counting the rows of text takes a pass, and its size is known.
    rows = "" if isinstance(source, FileSource) else f"{source.n_rows} rows of "
    return f"{rows}{source.n_features} columns of {source.dtype}"


def _state(stamp: Stamp) -> str:
    return f"{stamp.size:,} bytes, changed at {np.datetime64(stamp.changed, 'ns')}"


def _stamps(source: Any) -> tuple[Stamp, ...]:
    """Return the stamps of the files of a source, or of the one that it is made of."""
    if isinstance(source, FileSource):
        return source.stamps
    if isinstance(source, ArraySource) and isinstance(source.array, np.memmap) and source.array.filename:
        return (Stamp.of(Path(source.array.filename)),)
    return _stamps(source.source) if hasattr(source, "source") else ()
