"""Text files cut into pieces that end where a record ends, so that each can be parsed alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from eigenlens.data.files.decode import open_text
from eigenlens.errors import DataError

__all__ = ["HEAD_BYTES", "PIECE_BYTES", "first_record", "records", "squeezed"]

PIECE_BYTES = 16 << 20
HEAD_BYTES = 1 << 20
LONGEST_RECORD = 256 << 20
BLANK = (b"\n", b"\r\n", b"\xef\xbb\xbf\n", b"\xef\xbb\xbf\r\n")
"""Lines that are passed over where names, or the first row, are looked for."""


def first_record(path: Path, encoding: str | None = None, separator: str | None = None) -> bytes:
    """The first line of the file, in UTF-8; with the next ones where a quoted cell goes on there."""
    with open_text(path, encoding) as file:
        record = _read_record(file).removeprefix(b"\xef\xbb\xbf")
    return squeezed(record) if separator == " " else record


def records(
    path: Path, size: int, *, skip: bool, blanks: bool, encoding: str | None = None, separator: str | None = None
) -> Iterator[bytes]:
    """The file's text in pieces of near `size` bytes of UTF-8, without the first record if `skip`.

    Blank lines stay only if `blanks`: editors leave them at the end of files. Where cells are separated by a space,
    so are they by several, and by tabs.
    """
    pieces = _pieces(path, size, skip, blanks, encoding)
    return map(squeezed, pieces) if separator == " " else pieces


def squeezed(text: bytes) -> bytes:
    r"""Text with one space for each run of spaces and tabs, and none at the ends of lines; quoted cells stay.

    >>> squeezed(b'  1.5   "two  words"\t3 \r\n')
    b'1.5 "two  words" 3\r\n'
    """
    if b'"' in text:
        single = re.sub(rb'("[^"]*")|[ \t]+', lambda found: found[1] or b" ", text)
    else:
        single = re.sub(rb"[ \t]+", b" ", text)
    return single.replace(b" \r\n", b"\r\n").replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def _pieces(path: Path, size: int, skip: bool, blanks: bool, encoding: str | None) -> Iterator[bytes]:
    with open_text(path, encoding) as file:
        if skip:
            _read_record(file)
        rest = b"" if skip else file.read(3).removeprefix(b"\xef\xbb\xbf")
        while chunk := file.read(size):
            rest += chunk
            cut = record_end(rest)
            if not cut and len(rest) > LONGEST_RECORD:
                raise DataError(f"'{path}' has a quote (\") that is never closed, or a row over 256 MB: mend it.")
            if piece := _tidy(rest[:cut], blanks):
                yield piece
            rest = rest[cut:]
    if piece := _tidy(rest, blanks):
        yield piece


def record_end(text: bytes) -> int:
    r"""The length of the longest start of the text that ends with a record: no quoted cell is open there.

    >>> record_end(b'1,"two\nlines"\n2,"three\nmore'), record_end(b"1,2")
    (14, 0)
    """
    cut = text.rfind(b"\n") + 1
    quotes = text.count(b'"', 0, cut)
    while cut and quotes % 2:
        before = text.rfind(b"\n", 0, cut - 1) + 1
        quotes -= text.count(b'"', before, cut)
        cut = before
    return cut


def _tidy(piece: bytes, blanks: bool) -> bytes:
    if blanks:
        return piece
    piece = piece.lstrip(b"\r\n")
    if _has_blank_line(piece):
        # Quoted cells are matched first and kept: blank lines inside them are text.
        return re.sub(rb'("[^"]*")|\n(?:\r?\n)+', lambda found: found[1] or b"\n", piece)
    return piece


def _has_blank_line(piece: bytes) -> bool:
    # Several times faster than looking for two line ends in a row with bytes.find.
    text = np.frombuffer(piece, dtype=np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    gaps = np.diff(ends)
    return bool((gaps == 1).any() or (text[ends[:-1][gaps == 2] + 1] == ord("\r")).any())


def _read_record(file: BinaryIO) -> bytes:
    record = file.readline(LONGEST_RECORD)
    while record in BLANK:
        record = file.readline(LONGEST_RECORD)
    while record.count(b'"') % 2 and (more := file.readline(LONGEST_RECORD)):
        record += more
    return record
