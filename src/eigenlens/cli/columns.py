"""The columns of a file and what they hold: float, integer, boolean, text, text among numbers (mixed) or other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from eigenlens.cli.errors import fail
from eigenlens.cli.signs import grouped, plain_number
from eigenlens.cli.sniffing import Text
from eigenlens.data.files.decode import COMPRESSED
from eigenlens.data.files.dialect import column_names, missing_numbers
from eigenlens.data.files.npy import Header
from eigenlens.data.files.polars import import_polars, unreadable
from eigenlens.data.files.records import HEAD_BYTES, records
from eigenlens.data.files.scan import FORMATS

__all__ = [
    "FLAG",
    "INTEGER",
    "column_kinds",
    "kind_of",
    "plain_cells",
    "scan_table",
    "schema",
    "text_kinds",
    "text_records",
]


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


OTHERS = {
    (".xls", ".xlsx", ".xlsm", ".ods", ".numbers"): (
        "is a spreadsheet", "save its sheet as CSV (UTF-8) and name that file"
    ),
    (".zst", ".zip", ".7z", ".tar", ".tgz", ".lz4", ".br", ".z", *COMPRESSED): (
        "is packed in a way that is not read",
        f"unpack it first, for instance with unzip or zstd -d; only CSV may be compressed, as {', '.join(COMPRESSED)}",
    ),
    (".npz",): ("holds several arrays", "save one of them: numpy.save('rows.npy', numpy.load('….npz')['…'])"),
    (".pkl", ".pickle", ".joblib"): ("is a pickle, which could run anything", "write its table as Parquet or CSV"),
    (".safetensors",): ("is a model, and a table is needed", "give the model first, and a data file after it"),
}  # fmt: skip
"""Files that are known and not read, by suffix: what they are, and the way out."""


def _refuse_suffix(path: Path) -> NoReturn:
    what, fix = next((said for suffixes, said in OTHERS.items() if path.suffix.lower() in suffixes), ("", ""))
    known = f"{', '.join(FORMATS)} are read, and {', '.join(COMPRESSED)} after a text one"
    usual = f"write it in a format that is read, or rename it if it is in one: {known}"
    fail(f"'{path}' {what or 'has no known suffix'}", fix or usual, "data")


def schema(path: Path) -> dict[str, Any]:
    """Names and types of a Parquet or Arrow file."""
    pl = import_polars()
    try:
        return dict(scan_table(path).collect_schema())
    except (pl.exceptions.PolarsError, OSError) as error:
        _refuse_relatives(path)
        raise unreadable(path, error) from error


RELATIVES = {
    b"\xff\xff\xff\xff": ("an Arrow stream", "an Arrow file: polars.read_ipc_stream(…).write_ipc(…)"),
    b"FEA1": ("Feather version 1", "version 2: pyarrow.feather.write_feather(pyarrow.feather.read_table(…), …)"),
}
"""Formats that share their suffixes with those that are read, by their first bytes: what they are, what to write."""


def _refuse_relatives(path: Path) -> None:
    with path.open("rb") as file:
        found = RELATIVES.get(file.read(4))
    if found:
        fail(f"'{path}' is {found[0]}, which cannot be read by blocks", f"write it as {found[1]}", "data")


def scan_table(path: Path) -> Any:
    """A Parquet or Arrow file as a lazy frame of Polars."""
    pl = import_polars()
    return (pl.scan_parquet if path.suffix.lower() in (".parquet", ".pq") else pl.scan_ipc)(path, glob=False)


def kind_of(dtype: Any) -> str:
    """The kind of a Polars type."""
    name = str(dtype)
    if dtype.is_float() or dtype.is_decimal() or name == "Null":
        return "float"
    if dtype.is_integer():
        return "integer"
    return "boolean" if name == "Boolean" else "text" if name.startswith(("String", "Cat", "Enum")) else "other"


def text_records(path: Path, text: Text, size: int, d: int) -> Iterator[bytes]:
    """The rows of delimited text of d columns, in pieces of near `size` bytes."""
    how = {"encoding": text.encoding, "separator": text.separator}
    return records(path, size, skip=text.header, blanks=d == 1, **how)


def _of_text(path: Path, text: Text) -> dict[Any, str]:
    pl = import_polars()
    names = column_names(path, text.dialect)
    pieces = text_records(path, text, HEAD_BYTES, len(names))
    places = {f"column_{place}": pl.String for place in range(1, len(names) + 1)}
    first = next(pieces, None)
    if first is None:
        fail(f"'{path}' has a line of names and no rows", "write it again, with at least one row", "data")
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


INTEGER = "^[+-]?[0-9]+$"
FLAG = "^(?i)(true|false)$"


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
        "flags": cells.select(every.str.contains(FLAG).sum()),
        "integers": cells.select(every.str.contains(INTEGER).sum()),
        "numbers": cells.select(every.cast(pl.Float64, strict=False).count()),
    }
    found = zip(*(counted.row(0) for counted in counts.values()), strict=True)
    return {name: _kind(*each) for name, each in zip(frame.columns, found, strict=True)}


def plain_cells(cells: Any, text: Text) -> Any:
    """Columns of text or one of them without spaces around cells, null where one is missing, points in numbers."""
    pl = import_polars()
    bare = cells.str.strip_chars()
    held = pl.when(~bare.is_in(["", *text.na])).then(bare)
    if text.thousands:
        number = bare.str.contains(f"^{grouped(text.decimal, text.thousands)}$")
        held = pl.when(number).then(bare.str.replace_all(text.thousands, "", literal=True)).otherwise(held)
    # As `plain_number`: a point among decimal commas is no decimal sign.
    plain = held.str.replace_many([",", "."], [".", ","]) if text.decimal == "," else held
    missing = missing_numbers([plain_number(token, text.decimal, text.thousands) for token in text.na])
    return (
        pl.when(~plain.cast(pl.Float64, strict=False).is_in(missing).fill_null(False)).then(plain) if missing else plain
    )


def _kind(held: int, flags: int, integers: int, numbers: int) -> str:
    """The kind of a column by how many cells hold something, true or false, a whole number, any number."""
    if held and flags == held:
        return "boolean"
    if held and integers == held:
        return "integer"
    return "float" if numbers + flags == held else "mixed" if numbers + flags else "text"
