"""Text files cut into pieces that end where a record ends, so that each can be parsed alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from eigenlens.data.files.decode import open_text
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from eigenlens.data.files.dialect import Dialect

__all__ = ["HEAD_BYTES", "PIECE_BYTES", "first_record", "iterate_pieces", "remove_comments", "squeeze_spaces"]

PIECE_BYTES = 16 << 20
"""The size of a piece: large beside what a call of the parser costs, small beside the file."""

HEAD_BYTES = 1 << 20
"""The size of the first piece, by which the kinds of columns are decided."""

MAX_RECORD = 256 << 20
MARK = b"\xef\xbb\xbf"


def first_record(path: Path, dialect: Dialect) -> bytes:
    """Return the first line of the file, in UTF-8; with the next ones where a quoted cell goes on there."""
    with open_text(path, dialect.encoding) as file:
        record = _read_record(file, dialect.comment).removeprefix(MARK)
    return squeeze_spaces(record) if dialect.separator == " " else record


def iterate_pieces(path: Path, size: int, dialect: Dialect, *, blanks: bool = False) -> Iterator[bytes]:
    """Yield the rows of a file in pieces of near `size` bytes of UTF-8, without names and comments.

    Blank lines stay only if `blanks`: editors leave them at the end of files. Where cells are separated by a space,
    so are they by several, and by tabs.
    """
    for piece in _iterate_records(path, size, dialect):
        if dialect.comment and dialect.comment_everywhere:
            piece = remove_comments(piece, dialect.comment)
        piece = piece if blanks else _remove_blank_lines(piece)
        if piece:
            yield squeeze_spaces(piece) if dialect.separator == " " else piece


def squeeze_spaces(text: bytes) -> bytes:
    r"""Return text with one space for each run of spaces and tabs, none at the ends of lines; quoted cells stay.

    >>> squeeze_spaces(b'  1.5   "two  words"\t3 \r\n')
    b'1.5 "two  words" 3\r\n'
    """
    if b'"' in text:
        single = re.sub(rb'("[^"]*")|[ \t]+', lambda found: found[1] or b" ", text)
    else:
        single = re.sub(rb"[ \t]+", b" ", text)
    return single.replace(b" \r\n", b"\r\n").replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")


def remove_comments(text: bytes, prefix: str, *, everywhere: bool = True) -> bytes:
    r"""Return text without the lines that start with a prefix, or without those at its start only.

    >>> remove_comments(b'# made\na\n# stop\n"x\n# y"\n', "#")
    b'a\n"x\n# y"\n'
    """
    line = rb"[ \t]*" + re.escape(prefix.encode()) + rb"[^\n]*(?:\n|\Z)"
    if not everywhere:
        return re.sub(rb"\A(?:\xef\xbb\xbf)?(?:" + line + rb"|[ \t\r]*\n)+", b"", text)
    if prefix.encode() not in text:
        return text
    # Quoted cells are matched first and kept: such lines inside them are text.
    return re.sub(rb'("[^"]*")|(?m:^' + line + rb")", lambda found: found[1] or b"", text)


def _iterate_records(path: Path, size: int, dialect: Dialect) -> Iterator[bytes]:
    with open_text(path, dialect.encoding) as file:
        # Without names the file is read from its first byte: blank lines are rows where a row is one cell.
        first = _read_record(file, dialect.comment) if dialect.header or dialect.comment else file.read(len(MARK))
        rest = b"" if dialect.header else first.removeprefix(MARK)
        while chunk := file.read(size):
            rest += chunk
            cut = record_end(rest)
            if not cut and len(rest) > MAX_RECORD:
                raise DataError(f"'{path}' has a quote (\") that is never closed, or a row over 256 MB", fix="mend it")
            yield rest[:cut]
            rest = rest[cut:]
    yield rest


def record_end(text: bytes) -> int:
    r"""Return the length of the longest start of the text that ends with a record: no quoted cell is open there.

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


def _remove_blank_lines(piece: bytes) -> bytes:
    piece = piece.lstrip(b"\r\n")
    if _has_blank_line(piece):
        # Quoted cells are matched first and kept: blank lines inside them are text.
        return re.sub(rb'("[^"]*")|\n(?:\r?\n)+', lambda found: found[1] or b"\n", piece)
    return piece


def _has_blank_line(piece: bytes) -> bool:
    # Several times faster than looking for two line ends in a row with bytes.find.
    text = np.frombuffer(piece, dtype=np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    lengths = np.diff(ends)
    return bool((lengths == 1).any() or (text[ends[:-1][lengths == 2] + 1] == ord("\r")).any())


def _read_record(file: BinaryIO, comment: str | None) -> bytes:
    """Read the first record that is neither blank nor a comment."""
    skipped = comment.encode() if comment else None
    record = file.readline(MAX_RECORD)
    while record and (not record.removeprefix(MARK).strip(b"\r\n") or _is_comment(record, skipped)):
        record = file.readline(MAX_RECORD)
    while record.count(b'"') % 2 and (more := file.readline(MAX_RECORD)):
        record += more
    return record


def _is_comment(line: bytes, prefix: bytes | None) -> bool:
    return prefix is not None and line.removeprefix(MARK).lstrip(b" \t").startswith(prefix)
