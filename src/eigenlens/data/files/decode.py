"""Decode text files of any encoding to UTF-8, and cut them into pieces as they are read.

Lines end in the ordinary way, and pieces where a record ends, so that each can be parsed alone.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from eigenlens.data.files.decompress import COMPRESSED, open_bytes
from eigenlens.data.files.layout.drawn import drawn_text, find_drawing
from eigenlens.errors import DataError, OptionError

if TYPE_CHECKING:
    from eigenlens.data.files.dialect import Dialect


CHUNK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 16
MIN_SAMPLE_LINES = 3
MAX_SAMPLE_BYTES = 1 << 25
"""The start of a file that shows how it is written: 64 kB, or more where three lines are longer."""

BYTE_ORDER_MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
         codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
"""Encodings by their byte order marks; the mark of UTF-32 starts with that of UTF-16, so it comes first."""


NOT_WESTERN = re.compile(rb"[\xc2-\xf4][\x80-\xbf]|[\x80-\xff]{3}")
"""Bytes of UTF-8, or of words in another alphabet."""

SEPARATOR_LINE = re.compile(rb'(\xef\xbb\xbf)?"?sep=.?"?\r?\n', re.IGNORECASE)
"""The line that some spreadsheets put above the names, for themselves."""


@contextmanager
def _open_text(
    path: Path, encoding: str | None = None, skip: int = 0, max_ratio: float | None = None
) -> Iterator[BinaryIO]:
    """Open a file as text in UTF-8, each line ended by a line feed, perhaps with a carriage return before it.

    UTF-8 is passed on unchanged; anything else is decoded a megabyte at a time. A table that is drawn with rulers and
    bars becomes delimited text. The first `skip` lines are left out.
    """
    with open_bytes(path, max_ratio) as file:
        head = _peek(file)
        name = encoding or _marked_encoding(head)
        plain = name is None and not _has_returns_alone(head.decode("latin-1"))
        text = file if plain else cast("BinaryIO", io.BufferedReader(_Decoded(path, file, name)))
        if SEPARATOR_LINE.match(_peek(text)):
            text.readline()
        drawing = find_drawing(_peek(text).decode(errors="replace"))
        text = text if drawing is None else drawn_text(text, drawing)
        for _ in range(skip):
            if not text.readline():  # the end of the file
                break
        yield text


def text_encoding(name: str) -> str | None:
    """Return the name of an encoding that Python knows; None for UTF-8, which needs no decoding.

    >>> text_encoding("latin1"), text_encoding("utf8")
    ('latin1', None)
    """
    try:
        found = codecs.lookup(name)
        if not getattr(found, "_is_text_encoding", True):
            raise LookupError
    except (LookupError, ValueError) as error:  # ValueError: a name with a null character
        known = "'utf-8', 'utf-16', 'latin-1', 'cp1252', 'shift_jis' and others that Python knows"
        what = "is not an encoding of text"
        raise OptionError(what, argument="encoding", value=name, fix=f"use one of {known}") from error
    return None if found.name in ("utf-8", "utf-8-sig") else name


def text_head(path: Path, encoding: str | None = None, skip: int = 0, footer: int = 0) -> str:
    """Return the start of the text in whole lines: 64 kB, or more where three lines are longer, as names may be.

    It begins after `skip` lines; the last `footer` lines of the file are left out.
    """
    with _open_text(path, encoding, skip) as file:
        head = file.read(SAMPLE_BYTES)
        while head.count(b"\n") < MIN_SAMPLE_LINES and len(head) < MAX_SAMPLE_BYTES and (more := file.read(len(head))):
            head += more
        if len(head) >= MAX_SAMPLE_BYTES and b"\n" not in head:
            raise _too_long(path, MAX_SAMPLE_BYTES)
        if footer and not file.read(1):
            head = head[: _footer_start(head, footer)]
    # Where quotes do not add up, a line is whole where it ends.
    whole = head if len(head) < SAMPLE_BYTES else head[: _record_end(head) or head.rfind(b"\n") + 1] or head
    try:
        return whole.decode("utf-8-sig")
    except UnicodeDecodeError:
        reject_undecodable(path, encoding)
        raise


def text_tail(path: Path, encoding: str | None = None, skip: int = 0) -> str | None:
    """Return the last whole lines, 64 kB, of a text that is longer; None for a shorter one, which is its own head.

    Nothing, the empty text, if all of it would have to be decoded or decompressed.
    """
    with _open_text(path, encoding, skip) as file:
        if len(file.read(SAMPLE_BYTES)) < SAMPLE_BYTES:
            return None
        if path.suffix.lower() in COMPRESSED or not file.seekable():
            return ""
        file.seek(-SAMPLE_BYTES, io.SEEK_END)
        file.readline()
        return file.read().decode(errors="replace")


def without_footer(text: str, lines: int) -> str:
    """Return a text without its last lines; blank ones do not count."""
    return text.encode()[: _footer_start(text.encode(), lines)].decode()


def western_encoding(path: Path) -> str | None:
    """Return latin-1 or cp1252 where the first 4 MB are certainly one of them; None for UTF-8 and all else.

    They are where a letter beyond ASCII stands among others, as in a Western word, and none is a character of UTF-8.
    """
    with open_bytes(path) as file:
        sample = file.read(PIECE_BYTES)
    if sample.isascii() or b"\x00" in sample or NOT_WESTERN.search(sample):
        return None
    return detect_encoding(sample)


def file_encoding(path: Path, encoding: str | None = None) -> str:
    """Return the encoding that a file is read with: as given, or by its byte order mark, or UTF-8."""
    with open_bytes(path) as file:
        return encoding or _marked_encoding(_peek(file)) or "utf-8"


def is_drawn(path: Path, encoding: str | None = None) -> bool:
    """Return whether a table is drawn with rulers and bars, which are left out."""
    with open_bytes(path) as file:
        head = _peek(file)
        name = encoding or _marked_encoding(head) or "utf-8"
        return find_drawing(head.decode(name, errors="replace")) is not None


def _peek(file: BinaryIO) -> bytes:
    return cast("io.BufferedReader", file).peek(io.DEFAULT_BUFFER_SIZE)


def _marked_encoding(head: bytes) -> str | None:
    return next((name for mark, name in BYTE_ORDER_MARKS.items() if head.startswith(mark)), None)


def _has_returns_alone(text: str) -> bool:
    """Return whether lines end as on old Macintoshes, with a carriage return and no line feed."""
    return "\n" not in text and re.search("\r[^\r]", text) is not None


class _Decoded(io.RawIOBase):
    """Text of another encoding, or with other line ends, as UTF-8; errors name the place of a byte."""

    def __init__(self, path: Path, file: BinaryIO, encoding: str | None) -> None:
        self._path, self._file, self._encoding = path, file, encoding or "utf-8"
        self._decoder = codecs.getincrementaldecoder(self._encoding)()
        self._ready, self._over, self._taken, self._lines = memoryview(b""), False, 0, 0
        self._returns = _has_returns_alone(_peek(file).decode(self._encoding, errors="ignore"))

    def readable(self) -> bool:
        """Return True, as file objects that can be read do."""
        return True

    def readinto(self, target: Any) -> int:
        """Read the next bytes into a buffer and return their number, 0 at the end."""
        while not self._ready and not self._over:
            self._ready = memoryview(self._next())
        size = min(len(target), len(self._ready))
        target[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _next(self) -> bytes:
        chunk = self._file.read(CHUNK_BYTES)
        self._taken, self._over = self._taken + len(chunk), not chunk
        try:
            text = self._decoder.decode(chunk, final=self._over)
        except UnicodeDecodeError as error:
            raise self._decode_error(error) from error
        except UnicodeError as error:  # UTF-16 without the mark that says in which order its bytes are
            raise self._error(str(error), chunk) from error
        text = text.replace("\r", "\n") if self._returns else text
        self._lines += text.count("\n")
        return text.encode("utf-8", errors="replace")  # an unpaired surrogate of UTF-16 cannot be encoded

    def _decode_error(self, error: UnicodeDecodeError) -> DataError:
        whole = bytes(error.object)
        place = self._taken - len(whole) + error.start
        before = whole[: error.start].decode(self._encoding, errors="replace")
        line = self._lines + before.count("\r" if self._returns else "\n") + 1
        what = f"byte 0x{whole[error.start]:02x} at position {place:,}, in line {line:,}" if whole else "it ends early"
        return self._error(what, whole)

    def _error(self, reason: str, sample: bytes) -> DataError:
        called = self._encoding.upper() if self._encoding.lower().startswith("utf") else self._encoding
        guess = detect_encoding(sample)
        fix = "leave out {encoding}, it may be UTF-8" if guess == "utf-8" else "add {encoding}, or save it as UTF-8"
        settings = {"encoding": self._encoding if guess == "utf-8" else guess}
        return DataError(f"'{self._path}' is not {called} ({reason})", fix=fix, settings=settings)


def reject_undecodable(path: Path, encoding: str | None = None) -> None:
    """Raise where a file cannot be decoded, by a pass over it."""
    with open_bytes(path) as file:
        name = encoding or _marked_encoding(_peek(file))
        text = _Decoded(path, file, name)
        while text.read(CHUNK_BYTES):
            pass


def detect_encoding(sample: bytes) -> str:
    """Return the likely encoding of text that is not UTF-8, by alternating zero bytes or by characters of Windows.

    >>> detect_encoding("naïve".encode("latin-1")), detect_encoding("“naïve”".encode("cp1252"))
    ('latin-1', 'cp1252')
    >>> detect_encoding("a,b".encode("utf-16-be"))
    'utf-16-be'
    """
    nulls = sample[0::2].count(0), sample[1::2].count(0)
    if 3 * max(nulls) > len(sample) // 2 > 2 * min(nulls):
        return "utf-16-be" if nulls[0] > nulls[1] else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252" if re.search(rb"[\x80\x82-\x8c\x8e\x91-\x9c\x9e\x9f]", sample) else "latin-1"
    return "utf-8"


PIECE_BYTES = 4 << 20
"""The size of a piece: large enough that the cost of a call of the parser does not matter. A pass takes about ten times
this memory; larger pieces are not faster."""

HEAD_BYTES = 1 << 20
"""The size of the first piece, by which the kinds of columns are decided."""

MAX_RECORD = 64 << 20
MARK = b"\xef\xbb\xbf"


def header_records(path: Path, dialect: Dialect) -> list[bytes]:
    """Return the lines of names in UTF-8, or the first row without names; a quoted cell may continue on the next."""
    with _open_text(path, dialect.encoding, dialect.skip, dialect.max_ratio) as file:
        records = [
            _read_names(file, dialect),
            *(_read_record(file, dialect.comment) for _ in range(dialect.header - 1)),
        ]
        records = [record.removeprefix(MARK) for record in records]
    return [squeeze_spaces(record) if dialect.separator == " " else record for record in records]


def iterate_pieces(path: Path, size: int, dialect: Dialect, *, blanks: bool = False) -> Iterator[bytes]:
    """Yield the rows of a file in pieces of near `size` bytes of UTF-8, without names and comments.

    Blank lines stay only if `blanks`: editors leave them at the end of files. Where the separator is
    a space, runs of spaces and tabs separate cells too.
    """
    records = _iterate_records(path, size, dialect)
    for place, piece in enumerate(_leave_footer(records, dialect.footer) if dialect.footer else records):
        # Others may stand below a comment that has the names.
        if dialect.comment and (dialect.comment_everywhere or (place == 0 and dialect.names_in_comment is not None)):
            piece = remove_comments(piece, dialect.comment, everywhere=dialect.comment_everywhere)
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
    with _open_text(path, dialect.encoding, dialect.skip, dialect.max_ratio) as file:
        # Without names the file is read from its first byte: blank lines are rows where a row is one cell.
        first = _read_names(file, dialect) if dialect.header or dialect.comment else file.read(len(MARK))
        for _ in range(dialect.header - 1):
            _read_record(file, dialect.comment)
        rest = [b"" if dialect.header else first.removeprefix(MARK)]
        is_open = rest[0].count(b'"') % 2 == 1  # whether a quoted cell goes on where the rest ends
        while chunk := file.read(size):
            # At the end of the file the last line need not end with a line feed.
            cut = 0 if len(chunk) < size else _record_end(chunk, is_open)
            if cut:
                yield b"".join([*rest, chunk[:cut]])
                rest, chunk, is_open = [], chunk[cut:], False
            rest.append(chunk)
            is_open ^= chunk.count(b'"') % 2 == 1
            if sum(map(len, rest)) > MAX_RECORD:
                raise _too_long(path, MAX_RECORD)
    yield b"".join(rest)


def _too_long(path: Path, limit: int) -> DataError:
    what = f"'{path}' has a line over {limit >> 20} MB, or a quote (\") that is never closed"
    return DataError(what, fix="look at how its lines end, and mend it")


def _leave_footer(pieces: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """Yield the same text without its last lines; blank ones do not count."""
    rest = b""
    for piece in pieces:
        rest += piece
        cut = _footer_start(rest, lines)
        yield rest[:cut]
        rest = rest[cut:]


def _footer_start(text: bytes, lines: int) -> int:
    r"""Return where the last lines of a text start; blank ones do not count.

    >>> _footer_start(b"a\n1\n\nTotal\n\n", 1), _footer_start(b"a\n1", 5)
    (5, 0)
    """
    start = len(text)
    for _ in range(lines):
        start = text.rfind(b"\n", 0, len(text[:start].rstrip(b"\r\n"))) + 1
        if not start:
            break
    return start


def _record_end(text: bytes, is_open: bool = False) -> int:
    r"""Return the length of the longest start of the text that ends with a record: no quoted cell is open there.

    is_open: whether the text starts inside a quoted cell.

    >>> _record_end(b'1,"two\nlines"\n2,"three\nmore'), _record_end(b"1,2"), _record_end(b'a\nb"\n1,2', is_open=True)
    (14, 0, 5)
    """
    # Most tables have no quotes, and `in` looks for one ten times faster than anything counts them.
    if b'"' not in text:
        return 0 if is_open else text.rfind(b"\n") + 1
    signs = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(signs == ord("\n"))
    closed = ends[(np.searchsorted(np.flatnonzero(signs == ord('"')), ends) + is_open) % 2 == 0]
    return int(closed[-1]) + 1 if closed.size else 0


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


def _read_names(file: BinaryIO, dialect: Dialect) -> bytes:
    """Read the first record, or the comment that has the names instead of it, without its sign."""
    if dialect.names_in_comment is None or not dialect.comment:
        return _read_record(file, dialect.comment)
    for _ in range(dialect.names_in_comment):
        file.readline(MAX_RECORD)
    return file.readline(MAX_RECORD).removeprefix(MARK).lstrip(dialect.comment.encode() + b" \t")


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
