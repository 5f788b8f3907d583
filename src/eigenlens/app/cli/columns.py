"""The columns of a file and what they hold: float, integer, boolean, text or other."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.sniffing import Text
from eigenlens.data.files import FORMATS
from eigenlens.data.frames import import_polars, unreadable
from eigenlens.data.npy import Header
from eigenlens.data.records import HEAD_BYTES, first_record, records

__all__ = ["column_kinds", "judged", "kind_of", "text_names"]


def column_kinds(path: Path, text: Text | None) -> dict[Any, str]:
    """What each column of a file holds, in its order; text is judged by its first megabyte."""
    if text is not None:
        return _of_text(path, text)
    if path.suffix.lower() not in FORMATS:
        refuse(f"'{path}' has no known suffix", f"{', '.join(FORMATS)} are read, and .gz after a text one", "data")
    if path.suffix.lower() == ".npy":
        header = Header.of(path)
        kind = {"f": "float", "b": "boolean"}.get(header.dtype.kind, "integer")
        return dict.fromkeys(range(header.shape[1]), kind)
    return {name: kind_of(dtype) for name, dtype in schema(path).items()}


def schema(path: Path) -> dict[str, Any]:
    """Names and types of a Parquet or Arrow file."""
    pl = import_polars()
    scan = pl.scan_parquet if path.suffix.lower() in (".parquet", ".pq") else pl.scan_ipc
    try:
        return dict(scan(path, glob=False).collect_schema())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(path, error) from error


def kind_of(dtype: Any) -> str:
    """The kind of a Polars type."""
    name = str(dtype)
    if dtype.is_float() or dtype.is_decimal() or name == "Null":
        return "float"
    if dtype.is_integer():
        return "integer"
    return "boolean" if name == "Boolean" else "text" if name.startswith(("String", "Cat", "Enum")) else "other"


def text_names(path: Path, text: Text) -> list[str]:
    """The columns of delimited text, as `scan` names them."""
    record = first_record(path).decode("utf-8", errors="replace")
    cells = next(iter(csv.reader(io.StringIO(record), delimiter=text.separator)), [""])
    given = [cell.strip() if text.header else "" for cell in cells]
    return [name or f"column_{place}" for place, name in enumerate(given, 1)]


def _of_text(path: Path, text: Text) -> dict[Any, str]:
    pl = import_polars()
    names = text_names(path, text)
    pieces = records(path, HEAD_BYTES, skip=text.header, blanks=len(names) == 1)
    places = {f"column_{place}": pl.String for place in range(1, len(names) + 1)}
    first = next(pieces, None)
    if first is None:
        refuse(f"'{path}' has a line of names and no rows", "write it again, with at least one row", "data")
    try:
        frame = pl.read_csv(first, has_header=False, separator=text.separator, schema=places,
                            null_values=list(text.na) or None)  # fmt: skip
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error
    return {name: judged(frame[place], text) for name, place in zip(names, places, strict=True)}


def judged(cells: Any, text: Text) -> str:
    """What the cells of a column of text hold, missing ones aside."""
    pl = import_polars()
    seen = cells.str.strip_chars().drop_nulls()
    seen = seen.filter(~seen.is_in(["", *text.na]))
    if text.decimal == ",":
        seen = seen.str.replace_all(",", ".", literal=True)
    if len(seen) and seen.str.contains("^(?i)(true|false)$").all():
        return "boolean"
    if len(seen) and seen.str.contains(r"^[+-]?\d+$").all():
        return "integer"
    return "text" if seen.cast(pl.Float64, strict=False).null_count() else "float"
