"""Rows of many cells as bytes: some of their columns, or all cells below each other.

A parser takes some microseconds for a column, whatever it holds. For a piece of few rows and thousands of columns that
is nearly all of its time; as one column of all cells they take a fiftieth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eigenlens.arrays import Array

MIN_WIDE_COLUMNS = 500
"""Tables with fewer columns are parsed column by column."""

LINE_FEED, ZERO = b"\n0"


def stack_cells(piece: bytes, separator: str, kept: Array) -> bytes:
    r"""Return the cells of rows one per line, row by row; those of columns that are not kept (d,) become zeros.

    The rows have d cells each, without quotes.

    >>> stack_cells(b"x1,2,\r\nx2,4,5", ",", np.array([False, True, True]))
    b'00\n2\n\n00\n4\n5\n'
    """
    piece = _with_plain_ends(piece)
    if kept.all():
        return piece.replace(separator.encode(), b"\n")
    text = np.frombuffer(piece, dtype=np.uint8).copy()
    starts, ends = (bounds[:, ~kept].ravel() for bounds in _cell_bounds(text, separator, kept.size))
    change = np.zeros(text.size + 1, dtype=np.int8)  # +1 where a cell begins, -1 after its end; 0 for an empty cell
    change[starts[starts < ends]] += 1
    change[ends[starts < ends]] -= 1
    text[np.cumsum(change[:-1], dtype=np.int8) > 0] = ZERO
    return text.tobytes().replace(separator.encode(), b"\n")


def cut_columns(piece: bytes, separator: str, places: Sequence[int], d: int) -> bytes:
    r"""Return some columns of rows of d cells without quotes, in the order of `places`.

    >>> cut_columns(b"a,1,x\r\nb,2,\r\n", ",", [2, 0], 3)
    b'x,a\n,b\n'
    """
    piece = _with_plain_ends(piece)
    starts, ends = _cell_bounds(np.frombuffer(piece, dtype=np.uint8), separator, d)
    rows = zip(starts[:, places].tolist(), ends[:, places].tolist(), strict=True)
    cut = separator.encode()
    return b"".join(cut.join([piece[a:b] for a, b in zip(*row, strict=True)]) + b"\n" for row in rows)


def _with_plain_ends(piece: bytes) -> bytes:
    """Return rows that all end with a line feed alone."""
    piece = piece.replace(b"\r\n", b"\n") if b"\r\n" in piece else piece
    return piece if piece.endswith(b"\n") else piece.removesuffix(b"\r") + b"\n"


def _cell_bounds(text: Array, separator: str, d: int) -> tuple[Array, Array]:
    """Return where the cells of rows start and end, (n, d) each."""
    ends = np.flatnonzero((text == ord(separator)) | (text == LINE_FEED))
    return np.append(0, ends[:-1] + 1).reshape(-1, d), ends.reshape(-1, d)
