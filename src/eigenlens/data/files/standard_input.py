"""Standard input and pipes, copied to temporary files: models read their rows several times, and a pipe only once."""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from eigenlens.errors import DataError, EigenlensError

STANDARD_INPUT = Path("-")

SIGNATURES = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x93NUMPY": ".npy",
    b"\xd0\xcf\x11\xe0": ".xls",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\xfd7zXZ\x00": ".csv.xz",
    b"$FL2": ".sav",
    b"$FL3": ".sav",
    b"<stata_dta>": ".dta",
}
"""The suffixes of formats by the first bytes of their files; anything else is looked at, or is delimited text."""


class TemporaryFile:
    """A file that is removed with this object, at the latest when Python ends. `called`: what it is a copy of."""

    def __init__(self, called: str, fill: Callable[[Path], Path]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="eigenlens-"))
        self.remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.called = called
        try:
            self.path = fill(folder)
        except BaseException:
            self.remove()
            raise


def is_pipe(path: Path) -> bool:
    """Return whether a path is a pipe, as process substitution gives, and not a file."""
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


_kept: dict[str, TemporaryFile] = {}  # standard input cannot be read again, whatever became of its first reader
_pipes: weakref.WeakValueDictionary[tuple[int, int], TemporaryFile] = weakref.WeakValueDictionary()


def copy_stream(path: Path) -> TemporaryFile | None:
    """Return a copy of standard input or of a pipe, made once; None for a file."""
    if path == STANDARD_INPUT:
        if "-" not in _kept:
            _kept["-"] = TemporaryFile("standard input", lambda folder: _copy(_standard(), folder, "standard input"))
        return _kept["-"]
    if not is_pipe(path):
        return None
    status = path.stat()
    key = status.st_dev, status.st_ino
    found = _pipes.get(key)
    if found is None:
        with path.open("rb") as stream:
            found = _pipes[key] = TemporaryFile(str(path), lambda folder: _copy(stream, folder, f"'{path}'"))
    return found


def _standard() -> BinaryIO:
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("standard input is closed", fix="give a file, or pipe one in")
    return stream


def _copy(stream: BinaryIO, folder: Path, called: str) -> Path:
    first = folder / "rows"
    with first.open("wb") as file:
        shutil.copyfileobj(stream, file, 1 << 20)
    if not first.stat().st_size:
        raise DataError(f"{called} is empty (0 bytes)", fix="look at what the command before it prints")
    return first.rename(folder / f"rows{content_suffix(first)}")


def content_suffix(path: Path) -> str:
    """Return the suffix of a file's format, by its content."""
    with path.open("rb") as file:
        head = file.read(4096)
    known = next((suffix for start, suffix in SIGNATURES.items() if head.startswith(start)), None)
    if known is not None:
        return known
    if head.startswith(b"PK\x03\x04"):
        return ".ods" if b"opendocument" in head else ".xlsx"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:1] in (b"[", b"{"):
        return ".json"
    lines = [line.strip().lower() for line in text.splitlines() if line.strip() and not line.startswith(b"%")]
    return ".arff" if lines and lines[0].startswith(b"@relation") else ".csv"


@contextmanager
def name_originals(copies: Mapping[Path, str]) -> Iterator[None]:
    """Raise the errors of the block with what a temporary file is a copy of in place of its path."""
    try:
        yield
    except EigenlensError as error:
        what, fix = error.what, error.fix
        for path, called in copies.items():
            for quoted, name in (
                (f"'{path}'", called if called == "standard input" else f"'{called}'"),
                (str(path), called),
            ):
                what, fix = what.replace(quoted, name), fix.replace(quoted, name)
        if (what, fix) == (error.what, error.fix):
            raise
        raise error.replace(what=what, fix=fix) from error
