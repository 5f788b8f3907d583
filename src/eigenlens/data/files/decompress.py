"""Decompress files as they are read; one that grows without end is an error."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from eigenlens.errors import DataError

BUFFER_BYTES = 1 << 16

COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
"""How files that are compressed are opened, by their last suffix."""

MAX_RATIO = 250.0
"""Bytes of text per byte of a compressed file above which it is taken for a decompression bomb.

Tables of counts with 95% zeros reach 30, and one-hot columns 60; a bomb in gzip has 1,000, in bzip2 and xz far more."""

FREE_BYTES = 16 << 20
"""Up to this much text the ratio does not matter: it is read in seconds."""


@contextmanager
def open_bytes(path: Path, max_ratio: float | None = None) -> Iterator[BinaryIO]:
    """Open a file as bytes, decompressed: at most `max_ratio` times its size, None for `MAX_RATIO`."""
    decompress = COMPRESSED.get(path.suffix.lower())
    try:
        with path.open("rb") as packed:
            if decompress is None:
                yield packed
                return
            with decompress(packed, "rb") as file:
                content = _Decompressed(path, packed, file, max_ratio or MAX_RATIO)
                yield cast("BinaryIO", io.BufferedReader(content, BUFFER_BYTES))
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise _not_intact(path, error) from error
    except OSError as error:
        if error.errno is not None or path.suffix.lower() not in COMPRESSED:
            raise
        raise _not_intact(path, error) from error  # bz2 reports no more than this


class _Decompressed(io.RawIOBase):
    """The content of a compressed file; one that grows without end is an error."""

    def __init__(self, path: Path, packed: BinaryIO, file: BinaryIO, max_ratio: float) -> None:
        self._path, self._packed, self._file, self._max_ratio, self._given = path, packed, file, max_ratio, 0

    def readable(self) -> bool:
        """Return True, as file objects that can be read do."""
        return True

    def readinto(self, target: Any) -> int:
        """Read the next bytes into a buffer and return their number, 0 at the end."""
        size = cast("io.BufferedIOBase", self._file).readinto(target)
        self._given += size
        if self._given > max(FREE_BYTES, self._max_ratio * self._packed.tell()):
            raise bomb_error(self._path, self._given / self._packed.tell())
        return size


def bomb_error(path: Path, ratio: float) -> DataError:
    """Return the error for a file that grows to many times its size."""
    what = f"'{path}' grows to {ratio:,.0f} times its size, as decompression bombs do"
    settings = {"max_ratio": 10 ** len(str(int(ratio)))}
    return DataError(what, fix="if it is a table, allow that with {max_ratio}", settings=settings)


def _not_intact(path: Path, error: Exception) -> DataError:
    what = "is truncated" if isinstance(error, EOFError) else f"is not an intact {path.suffix} file"
    return DataError(f"'{path}' {what}", fix="copy or write it again")
