"""The file of a checkpoint: records that are only ever appended, each with its length and a digest.

The file appears with its first record, whole. A process that is killed while it appends leaves a last record that is
cut short, which is left out; any other damage is an error. The file is locked while a process writes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from eigenlens.checkpoint.encode import Buffer, decode_value, encode_value
from eigenlens.errors import DataError, OptionError, ResourceError
from eigenlens.file_replacement import HAS_LOCKS, move_into_place, temporary_folder

MAGIC = b"eigenlens checkpoint 1\n"

LENGTH_BYTES, CHECK_BYTES, DIGEST_BYTES = 8, 4, 16
FRAME = LENGTH_BYTES + CHECK_BYTES + DIGEST_BYTES
"""The bytes before a record: its length, a checksum of that, and the digest of the record."""

DELETE = "delete it, or give another path: the fit then begins anew"
"""The way out of a file that cannot be used."""


class Span(NamedTuple):
    """A record in the file: where its frame starts, and its length without the frame."""

    start: int
    length: int

    @property
    def stop(self) -> int:
        """The place after the record."""
        return self.start + FRAME + self.length


class JournalFile:
    """The records of a file: those that were found when it was opened, and those appended since."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.spans: list[Span] = []
        self._file: FileIO | None = None
        if path.exists():
            self._open()
            try:
                self.spans = list(self._whole_records())
            except BaseException:
                self.close(remove=False)
                raise

    def __len__(self) -> int:
        return len(self.spans)

    @property
    def size(self) -> int:
        """The bytes of the records, frames included."""
        return sum(FRAME + span.length for span in self.spans)

    def read(self, place: int) -> Any:
        """Return the value of a record, by its place among them; one whose bytes have changed is an error."""
        span = self.spans[place]
        whole = memoryview(self._framed(span)[0])
        marked, data = whole[LENGTH_BYTES + CHECK_BYTES : FRAME], whole[FRAME:]
        if marked != _digest([data]):
            raise self._damaged(f"its record {place + 1} was altered, or written only in part")
        try:
            return decode_value(data)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise self._damaged(f"its record {place + 1} is not understood: {error}") from error

    def append(self, *framed: list[Buffer]) -> None:
        """Append records, each by its `frame`; what an error leaves of them is cut off. The first make the file."""
        with self._explain():
            if self._file is None:
                self._create(framed)
                return
            end = self.spans[-1].stop
            try:
                self._file.seek(end)
                for part in itertools.chain(*framed):
                    _write_all(self._file, part)
            except BaseException:
                self._cut(end)
                raise
            self.spans += _spans(map(buffers_size, framed), end)

    def drop(self, places: set[int]) -> None:
        """Write the file anew without some records, whole or not at all."""
        assert self._file is not None
        kept = [span for place, span in enumerate(self.spans) if place not in places]
        with self._explain():
            self._create(map(self._framed, kept))

    def sync(self) -> None:
        """Make the records survive a loss of power."""
        if self._file is not None:
            with self._explain():
                os.fsync(self._file.fileno())

    def close(self, *, remove: bool) -> None:
        """Close the file, and remove it if wanted."""
        if self._file is not None:
            if remove:
                self.path.unlink(missing_ok=True)
            self._file.close()
            self._file = None

    # ---- the file itself ------------------------------------------------------------------------------------

    def _framed(self, span: Span) -> list[Buffer]:
        assert self._file is not None
        self._file.seek(span.start)
        return [_read_all(self._file, FRAME + span.length)]

    def _create(self, framed: Iterable[list[Buffer]]) -> None:
        """Write a file of these records, and open it."""
        place, lengths = Path(os.path.realpath(self.path)), list[int]()
        with temporary_folder(place.parent) as folder:
            with (folder / place.name).open("wb") as file:
                file.write(MAGIC)
                for each in framed:
                    file.writelines(each)
                    lengths.append(buffers_size(each))
            move_into_place(folder / place.name, place)
        if self._file is not None:
            self._file.close()
        self._open()
        self.spans = list(_spans(lengths, len(MAGIC)))

    def _cut(self, end: int) -> None:
        """Remove what was written after a place; where the disk does not allow it, the next open does so."""
        assert self._file is not None
        with contextlib.suppress(OSError):
            self._file.truncate(end)

    def _open(self) -> None:
        try:
            self._file = self.path.open("rb+", buffering=0)  # what a full disk rejects is not tried again
        except OSError as error:
            fix = "give the path of a file that can be written"
            what = f"cannot be opened ({error.strerror})"
            raise OptionError(what, argument="checkpoint", value=str(self.path), fix=fix) from error
        if not HAS_LOCKS:
            return
        import fcntl

        try:
            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            fix = "wait for it, or give another path"
            what = "is in use by another fit"
            raise OptionError(what, argument="checkpoint", value=str(self.path), fix=fix) from error
        except OSError:  # a file system without locks
            pass

    def _whole_records(self) -> Iterator[Span]:
        """Yield the records that are complete, and cut off one that is not."""
        assert self._file is not None
        if self._file.read(len(MAGIC)) != MAGIC:
            fix = "give another path, or delete the file if it is not needed"
            what = "is not a checkpoint"
            raise OptionError(what, argument="checkpoint", value=str(self.path), fix=fix)
        start, end = len(MAGIC), self._file.seek(0, os.SEEK_END)
        while end - start >= FRAME:
            self._file.seek(start)
            length, check = self._file.read(LENGTH_BYTES), self._file.read(CHECK_BYTES)
            if check != _check(length):
                raise self._damaged(f"the length of a record after {start:,} bytes was altered")
            span = Span(start, int.from_bytes(length, "little"))
            if span.stop > end:
                break
            yield span
            start = span.stop
        self._file.truncate(start)

    @contextlib.contextmanager
    def _explain(self) -> Iterator[None]:
        """Raise an error that says what to do where the file cannot be written, on a full disk for example."""
        try:
            yield
        except OSError as error:
            what = f"the checkpoint '{self.path}' cannot be written ({error.strerror or error})"
            fix = "make room on its disk and call again, which goes on from what was written, or give another path"
            raise ResourceError(what, fix=fix) from error

    def _damaged(self, what: str) -> DataError:
        return DataError(f"the checkpoint '{self.path}' is damaged: {what}", fix=DELETE)


def frame(value: Any) -> list[Buffer]:
    """Return a value as a record: its length, a checksum of that, its digest, and its parts."""
    parts = encode_value(value)
    length = buffers_size(parts).to_bytes(LENGTH_BYTES, "little")
    return [length, _check(length), _digest(parts), *parts]


def buffers_size(parts: Iterable[Buffer]) -> int:
    """Return the bytes of parts together."""
    return sum(map(len, parts))


def _write_all(file: FileIO, part: Buffer) -> None:
    waiting = memoryview(part)
    while waiting:  # one call may write less than it is given
        waiting = waiting[file.write(waiting) :]


def _read_all(file: FileIO, size: int) -> bytearray:
    found = bytearray(size)
    waiting = memoryview(found)
    while waiting and (got := file.readinto(waiting)):
        waiting = waiting[got:]
    return found


def _digest(parts: Iterable[Buffer]) -> bytes:
    found = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        found.update(part)
    return found.digest()


def _check(length: bytes) -> bytes:
    return zlib.crc32(length).to_bytes(CHECK_BYTES, "little")


def _spans(lengths: Iterable[int], start: int) -> Iterator[Span]:
    """Yield the records of these lengths, frames included, one after the other."""
    for length in lengths:
        span = Span(start, length - FRAME)
        yield span
        start = span.stop
