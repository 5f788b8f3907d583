"""The files that a path or a pattern means, and whether they changed between two passes."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eigenlens.errors import DataError, SourceChanged

PathLike = str | os.PathLike[str]
COMMON_SUFFIXES = (".parquet", ".csv", ".tsv", ".txt", ".arrow", ".feather", ".npy")


@dataclass(frozen=True)
class Stamp:
    """A file's size and time of change: enough to notice that it is not what it was."""

    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Return the stamp of a file as it is now."""
        status = path.stat()
        return cls(path, status.st_size, status.st_mtime_ns)

    def check(self) -> None:
        """Raise SourceChanged unless the file is there and as it was."""
        try:
            now = Stamp.of(self.path)
        except OSError as error:
            what = f"'{self.path}' has vanished since it was scanned"
            raise SourceChanged(what, fix="restore it, and scan again") from error
        if now != self:
            raise SourceChanged(
                f"'{self.path}' has changed since it was scanned ({self.size:,} bytes, now {now.size:,}): "
                "two passes would see different rows",
                fix="let its writer finish, and scan again",
            )


@contextmanager
def check_unchanged(stamps: Iterable[Stamp]) -> Iterator[None]:
    """Check the files before and after the block; a failure while they changed is a SourceChanged."""
    stamps = tuple(stamps)
    for stamp in stamps:
        stamp.check()
    try:
        yield
    except GeneratorExit:
        raise
    except Exception:
        for stamp in stamps:
            stamp.check()
        raise
    for stamp in stamps:
        stamp.check()


def expand_paths(path: PathLike | Iterable[PathLike]) -> tuple[Path, ...]:
    """Return the files that a path, a pattern or a list of either means, in sorted order, each once.

    >>> expand_paths("no/such/file.csv")
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: 'no/such/file.csv' does not exist; check the spelling and the folder.
    """
    given = [path] if isinstance(path, str | os.PathLike) else list(path)
    if not given:
        raise DataError("names no file; at least 1 is needed", argument="path", value=[])
    files = {file for one in given for file in _matches(os.path.expanduser(os.fspath(one)))}
    return tuple(_readable(file) for file in sorted(files))


def _matches(path: str) -> list[Path]:
    # A file whose own name has brackets is that file; only then is it a pattern.
    if os.path.exists(path) or not glob.has_magic(path):
        return [Path(path)]
    found = [Path(name) for name in glob.glob(path, recursive=True)]
    files = [file for file in found if not file.is_dir()]
    if not files:
        raise DataError(f"'{path}' matches no file", fix="check the pattern and the folder")
    return files


def _readable(path: Path) -> Path:
    if path.is_dir():
        met = Counter(file.suffix for file in path.iterdir() if file.suffix in COMMON_SUFFIXES)
        suffix = met.most_common(1)[0][0] if met else COMMON_SUFFIXES[0]
        raise DataError(f"'{path}' is a folder", fix=f"name its files, for instance '{path}/*{suffix}'")
    if not path.exists():
        raise DataError(f"'{path}' does not exist", fix="check the spelling and the folder")
    if path.stat().st_size == 0:
        raise DataError(f"'{path}' is empty (0 bytes)", fix="write it again, or leave it out")
    return path
