"""The files that paths and patterns mean, and whether they change between two passes."""

from __future__ import annotations

import glob
import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eigenlens import checks
from eigenlens.arrays import dimensions, is_sparse
from eigenlens.data.files.partitions import is_partitioned, partition_files
from eigenlens.data.files.standard_input import STANDARD_INPUT, is_pipe
from eigenlens.errors import DataError, OptionError, SourceChanged

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Stamp:
    """A file's size and modification time, which show whether it has changed; of a folder, those of all its files."""

    path: Path
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Return the stamp of a file as it is now."""
        states = [each.stat() for each in ([path, *path.rglob("*")] if path.is_dir() else [path])]
        return cls(path, sum(each.st_size for each in states), max(each.st_mtime_ns for each in states))

    def check(self) -> None:
        """Raise SourceChanged unless the file exists and is unchanged."""
        try:
            now = Stamp.of(self.path)
        except OSError as error:
            what = f"'{self.path}' has vanished since it was scanned"
            raise SourceChanged(what, fix="restore it, and scan again") from error
        if now != self:
            what = f"'{self.path}' has changed since it was scanned ({self.size:,} bytes, now {now.size:,})"
            fix = "let its writer finish, and scan again"
            raise SourceChanged(f"{what}: two passes would see different rows", fix=fix)


@contextmanager
def check_unchanged(stamps: Iterable[Stamp]) -> Iterator[None]:
    """Check the files before and after the block; a failure while they changed is a SourceChanged."""
    stamps = tuple(stamps)

    def check() -> None:
        for stamp in stamps:
            stamp.check()

    check()
    try:
        yield
    except Exception:
        check()
        raise
    check()


def expand_paths(path: PathLike | Iterable[PathLike], suffixes: Container[str] = ()) -> tuple[Path, ...]:
    """Return the files that a path, a pattern or a list of either means, in sorted order; each may be named once.

    suffixes: of files that can be read.

    >>> expand_paths("no/such/file.csv")
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: 'no/such/file.csv' does not exist; check the spelling and the folder.
    """
    single = isinstance(path, str | os.PathLike)
    several = isinstance(path, Iterable) and not single and dimensions(path) in (None, 1) and not is_sparse(path)
    given: list[Any] = list(path) if several and not isinstance(path, bytes) else [path]  # type: ignore[arg-type]
    wrong = [one for one in given if not isinstance(one, str | os.PathLike)]
    if wrong:
        fix = "give the path of a file, or a list of them"
        raise OptionError(f"holds a {type(wrong[0]).__name__}", argument="path", value=path, fix=fix)
    for one in given:
        checks.possible_path(os.fspath(one))
    if not given:
        raise DataError("names no file; at least 1 is needed", argument="path", value=[])
    files = [file for one in given for file in _matches(os.path.expanduser(os.fspath(one)))]
    found = tuple(_readable(file, suffixes) for file in sorted(files))
    _reject_repeated(found)
    return found


def _matches(path: str) -> list[Path]:
    if path == "/dev/stdin":
        return [STANDARD_INPUT]
    if os.path.isdir(path) and Path(path).suffix.lower() != ".zarr" and is_partitioned(Path(path)):
        return partition_files(Path(path)) or [Path(path)]
    # An existing path is taken literally, even if its name contains brackets; only otherwise is it a pattern.
    if os.path.exists(path) or not glob.has_magic(path):
        return [Path(path)]
    found = [Path(name) for name in glob.glob(path, recursive=True)]
    files = [file for file in found if not file.is_dir() or file.suffix.lower() == ".zarr"]
    if not files:
        raise DataError(f"'{path}' matches no file", fix="check the pattern and the folder")
    return files


def _readable(path: Path, suffixes: Container[str]) -> Path:
    if path == STANDARD_INPUT or is_pipe(path):
        return path
    if path.is_dir() and path.suffix.lower() != ".zarr":
        met = Counter(file.suffix for file in path.iterdir() if file.suffix in suffixes)
        fix = f"name its files: '{path}/*{met.most_common(1)[0][0]}'" if met else "name a file of a format that is read"
        raise DataError(f"'{path}' is a folder", fix=fix)
    if not path.exists():
        raise DataError(f"'{path}' does not exist", fix="check the spelling and the folder")
    if path.stat().st_size == 0:
        raise DataError(f"'{path}' is empty (0 bytes)", fix="write it again, or leave it out")
    return path


def _reject_repeated(paths: Iterable[Path]) -> None:
    """Raise where two paths are one file, also by a link or by another spelling: its rows would be used twice."""
    met: dict[object, Path] = {}
    for path in paths:
        status = None if path == STANDARD_INPUT else path.stat()
        one = path if status is None else (status.st_dev, status.st_ino)
        if one in met:
            also = f" and as '{path}'" if path != met[one] else ""
            what = f"'{met[one]}' is named twice{also}: its rows would be used twice"
            raise DataError(what, fix="name it once, or copy it if that is meant")
        met[one] = path
