"""Whole tables of numbers and text as Polars frames: for descriptions, and for models that take text as categories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.cli.columns import kind_of, plain_cells, scan_table, text_kinds
from eigenlens.cli.errors import fail
from eigenlens.cli.sniffing import Text
from eigenlens.cli.text_blocks import text_blocks
from eigenlens.data.files.cells import Found, exact, plainest, without_missing
from eigenlens.data.files.polars import import_polars, same_columns, text_error, unreadable
from eigenlens.errors import DataError

__all__ = ["as_numbers", "gaps", "kinds_of", "plain", "read_frame", "typed"]


def read_frame(paths: Sequence[Path], text: Text | None) -> Any:
    """All columns of the files; those of delimited text as text, missing cells null."""
    pl = import_polars()
    found = _tables(paths) if text is None else list(text_blocks(paths, text, ["", *text.na]))
    if not sum(map(len, found)):
        fail(f"'{paths[0]}' has no rows", "write it again, with at least one row", "data")
    frame = pl.concat(found, how="vertical_relaxed")
    marks = () if text is None else text.na
    return frame.with_columns(without_missing(name, marks) for name in frame.columns) if marks else frame


def _tables(paths: Sequence[Path]) -> list[Any]:
    pl = import_polars()
    try:
        tables = [scan_table(path) for path in paths]
        columns = [table.collect_schema().names() for table in tables]
        same_columns(paths, columns, ordered=False)
        return [table.select(columns[0]).collect() for table in tables]
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(paths[0], error) from error


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
    return pl.DataFrame([_typed(frame[name], kinds[name], text) for name in columns])


def _typed(column: Any, kind: str, text: Text | None) -> Any:
    """A column as integers, floats or text; integers are exact, or floats where 64 bits are too few for one."""
    numbers = as_numbers(column, kind, text)
    if numbers is None or kind != "integer":
        return column if numbers is None else numbers
    return column if text is None else exact(_plain_column(column, text), numbers)


def kinds_of(frame: Any, text: Text | None) -> dict[str, str]:
    """What the columns of a frame hold."""
    return text_kinds(frame, text) if text is not None else {c.name: kind_of(c.dtype) for c in frame.iter_columns()}


def _text_among_numbers(frame: Any, text: Text, names: list[str]) -> DataError:
    pl = import_polars()
    cells = _plain_column(frame[names[0]], text)
    places = (cells.is_not_null() & cells.cast(pl.Float64, strict=False).is_null()).arg_true()
    found = Found(Path(), int(places[0]) + 1, str(frame[names[0]][int(places[0])]))
    found.add(frame[names[0]].gather(places).to_list())
    return text_error(
        names, found.count, f"row {found.row}", found.value, found.perhaps_missing(len(frame)), levels=True
    )


def plain(frame: Any, text: Text | None, name: str) -> Any:
    """One column as it is for labels, ids and weights: numbers where all entries are, 007 and true as written."""
    if text is None:
        return frame[name]
    numbers = plainest(_plain_column(frame[name], text))
    return numbers if numbers.dtype.is_numeric() else frame[name]


def as_numbers(column: Any, kind: str, text: Text | None) -> Any:
    """A column of numbers as floats, missing ones null; None if it holds text."""
    pl = import_polars()
    if kind not in ("float", "integer", "boolean"):
        return None
    if text is None:
        return column.cast(pl.Float64)
    cells = _plain_column(column, text)
    words = cells.str.to_lowercase().str.replace("^true$", "1").str.replace("^false$", "0")
    return words.cast(pl.Float64, strict=False)


def _plain_column(column: Any, text: Text) -> Any:
    return column.to_frame().select(plain_cells(import_polars().col(column.name), text)).to_series()


def gaps(column: Any) -> Any:
    """Which entries (n,) are missing."""
    missing = column.is_null()
    return np.asarray(missing | column.is_nan().fill_null(True) if column.dtype.is_float() else missing)
