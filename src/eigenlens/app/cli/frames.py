"""Whole tables of numbers and text as Polars frames: for descriptions, and for models that take text as categories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.app.cli.columns import judged, kind_of, text_names
from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.sniffing import Text
from eigenlens.data.cells import plainest
from eigenlens.data.frames import import_polars, same_columns, unreadable

__all__ = ["as_numbers", "gaps", "plain", "read_frame", "typed"]


def read_frame(paths: Sequence[Path], text: Text | None) -> Any:
    """All columns of the files; those of delimited text as text, missing cells null."""
    pl = import_polars()
    try:
        parts = [_opened(path, text) for path in paths]
        columns = [part.collect_schema().names() for part in parts]
        same_columns(paths, columns, ordered=False)
        frame = pl.concat([part.select(columns[0]) for part in parts], how="vertical_relaxed").collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(paths[0], error) from error
    if not len(frame):
        refuse(f"'{paths[0]}' has no rows", "write it again, with at least one row", "data")
    return frame


def _opened(path: Path, text: Text | None) -> Any:
    pl = import_polars()
    if text is None:
        scan = pl.scan_parquet if path.suffix.lower() in (".parquet", ".pq") else pl.scan_ipc
        return scan(path, glob=False)
    names = text_names(path, text)
    return pl.read_csv(
        path,
        has_header=False,
        skip_rows=int(text.header),
        separator=text.separator,
        schema=dict.fromkeys(names, pl.String),
        null_values=["", *text.na],
    ).lazy()


def typed(frame: Any, text: Text | None, columns: Iterable[str]) -> Any:
    """Some columns, those of numbers as numbers: integers, floats, and 1 and 0 for true and false."""
    pl = import_polars()
    found = []
    for name in columns:
        column = frame[name]
        kind = kind_of(column.dtype) if text is None else judged(column, text)
        numbers = as_numbers(column, kind, text)
        found.append(column if numbers is None else numbers.cast(pl.Int64) if kind == "integer" else numbers)
    return pl.DataFrame(found)


def plain(frame: Any, text: Text | None, name: str) -> Any:
    """One column as it is for labels, ids and weights: numbers where all entries are, 007 and true as written."""
    if text is None:
        return frame[name]
    return plainest(frame[name]) if text.decimal == "." else typed(frame, text, [name])[name]


def as_numbers(column: Any, kind: str, text: Text | None) -> Any:
    """A column of numbers as floats, missing ones null; None if it holds text."""
    pl = import_polars()
    if kind not in ("float", "integer", "boolean"):
        return None
    if text is None:
        return column.cast(pl.Float64)
    cells = column.str.strip_chars().str.to_lowercase().str.replace("^true$", "1").str.replace("^false$", "0")
    if text.decimal == ",":
        cells = cells.str.replace_all(",", ".", literal=True)
    return cells.cast(pl.Float64, strict=False)


def gaps(column: Any) -> Any:
    """Which entries (n,) are missing."""
    missing = column.is_null()
    return np.asarray(missing | column.is_nan().fill_null(True) if column.dtype.is_float() else missing)
