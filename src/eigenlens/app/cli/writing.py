"""Tables and texts into files: whole or not at all, never over an old one unasked."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from eigenlens.app.cli.errors import refuse

__all__ = ["FORMATS", "checked_target", "size_of", "write_table", "write_whole"]


def checked_target(path: str | None, force: bool, suffixes: Mapping[str, Any] | tuple[str, ...]) -> Path | None:
    """The path to write to, refused before any work is done if it cannot be or must not be written."""
    if path is None:
        return None
    target = Path(path).expanduser()
    if suffixes and target.suffix.lower() not in suffixes:
        refuse(f"-o {path} has the suffix {target.suffix or '(none)'!r}", f"use one of {', '.join(suffixes)}")
    if target.is_dir():
        refuse(f"'{path}' is a folder", "name a file in it")
    if target.exists() and not force:
        refuse(f"'{path}' exists already", "choose another name, or replace it with --force")
    if not target.parent.is_dir():
        refuse(f"the folder '{target.parent}' does not exist", f"create it first: mkdir -p '{target.parent}'")
    return target


def write_whole(target: Path, fill: Callable[[Path], Any]) -> Path:
    """Complete the file under another name in its folder, then rename it: whatever interrupts, `target` is whole."""
    final = Path(os.path.realpath(target))
    temporary = final.with_name(f".{final.stem}-{secrets.token_hex(6)}{final.suffix}")
    try:
        fill(temporary)
        os.replace(temporary, final)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def write_table(columns: Mapping[str, Any], target: Path | None) -> None:
    """Named columns (n,) into a file by its suffix, or as CSV to standard output."""
    if target is None:
        sys.stdout.write(_frame(columns).write_csv())
        return
    write_whole(target, lambda path: FORMATS[target.suffix.lower()](columns, path))


def size_of(path: Path) -> str:
    """A file's size in words."""
    size = float(path.stat().st_size)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000.0:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000.0
    return f"{size:.1f} GB"


def _frame(columns: Mapping[str, Any]) -> Any:
    import numpy as np

    from eigenlens.data.tables import import_polars

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
    from eigenlens.app.cli.running import plain

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
