"""The columns of a file and what they hold: float, integer, boolean, text, text among numbers (mixed) or other."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, NoReturn

from eigenlens.app.cli.errors import refuse
from eigenlens.app.cli.sniffing import Text
from eigenlens.data.files import FORMATS
from eigenlens.data.frames import import_polars, unreadable
from eigenlens.data.npy import Header
from eigenlens.data.records import HEAD_BYTES, first_record, records

__all__ = ["column_kinds", "kind_of", "plain_cells", "schema", "text_kinds", "text_names"]


def column_kinds(path: Path, text: Text | None) -> dict[Any, str]:
    """What each column of a file holds, in its order; text is judged by its first megabyte."""
    if text is not None:
        return _of_text(path, text)
    if path.suffix.lower() not in FORMATS:
        _refuse_suffix(path)
    if path.suffix.lower() == ".npy":
        header = Header.of(path)
        kind = {"f": "float", "b": "boolean"}.get(header.dtype.kind, "integer")
        return dict.fromkeys(range(header.shape[1]), kind)
    return {name: kind_of(dtype) for name, dtype in schema(path).items()}


SHEETS = (".xls", ".xlsx", ".xlsm", ".ods", ".numbers")


def _refuse_suffix(path: Path) -> NoReturn:
    if path.suffix.lower() in SHEETS:
        refuse(f"'{path}' is a spreadsheet", "save its sheet as CSV (UTF-8) and name that file", "data")
    known = ", ".join(FORMATS)
    refuse(f"'{path}' has no known suffix", f"rename it: {known} are read, and .gz after a text one", "data")


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
    kinds = _plain_kinds(first, text, list(places)) if text.decimal == "." else {}
    rest = [place for place in places if place not in kinds]
    try:
        frame = pl.read_csv(first, has_header=False, separator=text.separator, schema=places, columns=rest)
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error
    kinds |= text_kinds(frame, text) if rest else {}
    return dict(zip(names, (kinds[place] for place in places), strict=True))


def _plain_kinds(piece: bytes, text: Text, places: list[str]) -> dict[str, str]:
    """The kinds of columns that Polars itself knows for numbers: quick where there are thousands of columns."""
    pl = import_polars()
    how = {"has_header": False, "separator": text.separator, "null_values": list(text.na) or None}
    try:
        frame = pl.read_csv(piece, infer_schema_length=None, **how)
    except pl.exceptions.PolarsError:
        return {}
    columns = zip(places, frame.iter_columns(), strict=True)
    return {place: kind_of(c.dtype) for place, c in columns if c.dtype.is_numeric() and c.null_count() < len(c)}


def text_kinds(frame: Any, text: Text) -> dict[str, str]:
    """What the cells of columns of text hold, missing ones aside; "mixed": text among numbers.

    >>> pl, text = import_polars(), Text(",", True, ".", ("?",))
    >>> text_kinds(pl.DataFrame({"a": ["1", "?", ""], "b": ["1", "2.5", "x"], "c": ["true", None, " False"]}), text)
    {'a': 'integer', 'b': 'mixed', 'c': 'boolean'}

    All columns are looked at together: one at a time, ten thousand of them take ten seconds.
    """
    if not frame.columns:
        return {}
    pl = import_polars()
    cells = frame.select(plain_cells(pl.all(), text))
    every = pl.all()
    counts = {
        "held": cells.select(every.count()),
        "flags": cells.select(every.str.contains("^(?i)(true|false)$").sum()),
        "integers": cells.select(every.str.contains(r"^[+-]?\d+$").sum()),
        "numbers": cells.select(every.cast(pl.Float64, strict=False).count()),
    }
    found = zip(*(counted.row(0) for counted in counts.values()), strict=True)
    return {name: _kind(*each) for name, each in zip(frame.columns, found, strict=True)}


def plain_cells(cells: Any, text: Text) -> Any:
    """Columns of text or one of them without spaces around cells, null where one is missing, points in numbers."""
    pl = import_polars()
    bare = cells.str.strip_chars()
    held = pl.when(~bare.is_in(["", *text.na])).then(bare)
    return held.str.replace_all(",", ".", literal=True) if text.decimal == "," else held


def _kind(held: int, flags: int, integers: int, numbers: int) -> str:
    """The kind of a column by how many cells hold something, true or false, a whole number, any number."""
    if held and flags == held:
        return "boolean"
    if held and integers == held:
        return "integer"
    return "float" if numbers + flags == held else "mixed" if numbers + flags else "text"
