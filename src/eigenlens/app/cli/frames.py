"""Whole tables of numbers and text as Polars frames: for descriptions, and for models that take text as categories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.app.cli.columns import kind_of, plain_cells, text_kinds, text_names
from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.sniffing import Text
from eigenlens.data.cells import Found, plainest
from eigenlens.data.frames import import_polars, same_columns, text_error, unreadable
from eigenlens.errors import DataError

__all__ = ["as_numbers", "gaps", "kinds_of", "plain", "read_frame", "typed"]


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


def typed(frame: Any, text: Text | None, columns: Sequence[str], levels: Collection[str] = ()) -> Any:
    """Some columns, those of numbers as numbers: integers, floats, and 1 and 0 for true and false; `levels`: as text.

    Text among numbers is refused: a mark for what is missing would make every number of its column a category.
    """
    pl = import_polars()
    own = [name for name in columns if name not in levels]
    kinds = kinds_of(frame.select(own), text) | dict.fromkeys(levels, "text")
    mixed = [name for name in own if kinds[name] == "mixed"]
    if mixed and text is not None:
        raise _text_among_numbers(frame, text, mixed)
    found = []
    for name in columns:
        numbers = as_numbers(frame[name], kinds[name], text)
        found.append(
            frame[name] if numbers is None else numbers.cast(pl.Int64) if kinds[name] == "integer" else numbers
        )
    return pl.DataFrame(found)


def kinds_of(frame: Any, text: Text | None) -> dict[str, str]:
    """What the columns of a frame hold."""
    return text_kinds(frame, text) if text is not None else {c.name: kind_of(c.dtype) for c in frame.iter_columns()}


def _text_among_numbers(frame: Any, text: Text, names: list[str]) -> DataError:
    pl = import_polars()
    cells = frame.select(plain_cells(pl.col(names[0]), text)).to_series()
    places = (cells.is_not_null() & cells.cast(pl.Float64, strict=False).is_null()).arg_true()
    found = Found(Path(), int(places[0]) + 1, str(frame[names[0]][int(places[0])]))
    found.add(frame[names[0]].gather(places))
    return text_error(
        names, found.count, f"row {found.row}", found.value, found.perhaps_missing(len(frame)), levels=True
    )


def plain(frame: Any, text: Text | None, name: str) -> Any:
    """One column as it is for labels, ids and weights: numbers where all entries are, 007 and true as written."""
    if text is None:
        return frame[name]
    if text.decimal == ".":
        return plainest(frame[name])
    return typed(frame, text, [name], [name] if kinds_of(frame.select(name), text)[name] == "mixed" else [])[name]


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
