"""Tables and texts into files: whole or not at all, never over an old one unasked."""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import re
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from eigenlens.cli.errors import refuse

__all__ = ["FORMATS", "checked_target", "free_name", "in_words", "size_of", "write_table", "write_whole"]


def checked_target(path: str | None, force: bool, suffixes: Mapping[str, Any] | tuple[str, ...]) -> Path | None:
    """The path to write to, refused before any work is done if it cannot be or must not be written."""
    if path is None:
        return None
    target = Path(os.path.expanduser(path))
    if suffixes and target.suffix.lower() not in suffixes:
        known = f"{'one of ' * (len(suffixes) > 1)}{', '.join(suffixes)}"
        refuse(f"-o {path} has {f'the suffix {target.suffix!r}' if target.suffix else 'no suffix'}", f"use {known}")
    if target.is_dir():
        refuse(f"'{path}' is a folder", "name a file in it")
    if target.exists() and not force:
        refuse(f"'{path}' exists already", "choose another name, or replace it with --force")
    if not target.parent.is_dir():
        refuse(f"the folder '{target.parent}' does not exist", f"create it first: mkdir -p '{target.parent}'")
    if not os.access(target.parent, os.W_OK):
        refuse(f"nothing may be written into the folder '{target.parent}'", "choose another place for it", "data")
    return target


def write_whole(*files: tuple[Path, Callable[[Path], Any]], check: Callable[[], None] = lambda: None) -> None:
    """Complete all files in folders of their own beside their places, then move them there.

    Whatever interrupts this, every file is what it was before or whole, and none is new unless all are ready. `check`
    is asked before the move, and raises where an interrupt was taken for a wish to stop early.
    """
    ready: list[tuple[Path, Path]] = []
    try:
        for target, fill in files:
            final = Path(os.path.realpath(target))
            folder = final.with_name(f".{final.stem}-{secrets.token_hex(6)}")
            ready.append((folder / final.name, final))
            folder.mkdir()
            with _said_by_the_system():
                fill(folder / final.name)
        check()
        for temporary, final in ready:
            if final.exists():
                shutil.copymode(final, temporary)
            os.replace(temporary, final)
    finally:
        for temporary, _ in ready:
            shutil.rmtree(temporary.parent, ignore_errors=True)


@contextlib.contextmanager
def _said_by_the_system() -> Iterator[None]:
    """Libraries wrap what the system said, or leave it out: a full disk must still be known as one."""
    try:
        yield
    except Exception as error:
        said = re.search(r"os error (\d+)", str(error))
        short = isinstance(error, OSError) and error.errno is None
        if said is None and not short:
            raise
        number = errno.ENOSPC if said is None else int(said[1])
        raise OSError(number, os.strerror(number)) from error


def free_name(name: str) -> str:
    """The name, with a number in it if a file of this name exists: what a suggestion writes must not be there yet."""
    path = Path(name)
    names = itertools.chain([path], (path.with_name(f"{path.stem}-{i}{path.suffix}") for i in itertools.count(2)))
    return str(next(each for each in names if not each.exists()))


def write_table(columns: Mapping[str, Any], target: Path | None, check: Callable[[], None] = lambda: None) -> None:
    """Named columns (n,) into a file by its suffix, or as CSV to standard output; `check` as in `write_whole`."""
    if target is None:
        sys.stdout.write(_frame(columns).write_csv())
        return
    write_whole((target, lambda path: FORMATS[target.suffix.lower()](columns, path)), check=check)


def size_of(*paths: Path) -> str:
    """The size of files, together, in words."""
    return in_words(sum(path.stat().st_size for path in paths))


def in_words(size: float) -> str:
    """Bytes in words.

    >>> in_words(12), in_words(1234567)
    ('12 bytes', '1.2 MB')
    """
    for unit in ("bytes", "kB", "MB"):
        if size < 1000.0:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000.0
    return f"{size:.1f} GB"


def _frame(columns: Mapping[str, Any]) -> Any:
    import numpy as np

    from eigenlens.data.files.polars import import_polars

    pl = import_polars()
    made = {}
    for name, values in columns.items():
        array = np.asarray(values)
        made[name] = pl.Series(name, array.tolist() if array.dtype.kind in "UO" else array)
    frame = pl.DataFrame(made)
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def _to_npy(columns: Mapping[str, Any], path: Path) -> None:
    import numpy as np

    arrays = {name: np.asarray(values) for name, values in columns.items()}
    numbers = [array for array in arrays.values() if array.dtype.kind in "fiub"]
    if len(numbers) < len(arrays):
        text = next(name for name, array in arrays.items() if array.dtype.kind not in "fiub")
        refuse(
            f"the column '{text}' is text, which .npy cannot hold",
            "write .parquet or .csv, or leave out --id and --label",
        )
    np.save(path, np.column_stack(numbers), allow_pickle=False)


def _to_json(columns: Mapping[str, Any], path: Path) -> None:
    from eigenlens.cli.session import plain

    path.write_text(json.dumps(plain(dict(columns)), ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


FORMATS: dict[str, Callable[[Mapping[str, Any], Path], None]] = {
    ".csv": lambda columns, path: _frame(columns).write_csv(path),
    ".tsv": lambda columns, path: _frame(columns).write_csv(path, separator="\t"),
    ".parquet": lambda columns, path: _frame(columns).write_parquet(path),
    ".arrow": lambda columns, path: _frame(columns).write_ipc(path),
    ".feather": lambda columns, path: _frame(columns).write_ipc(path),
    ".npy": _to_npy,
    ".json": _to_json,
}
"""How columns are written, by suffix."""
