"""Tables in JSON: a list of records, columns by name, or one record per line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eigenlens.data.files.base import pl, unreadable
from eigenlens.data.files.dialect import USUAL_MARKERS
from eigenlens.errors import DataError

if TYPE_CHECKING:
    from polars import DataFrame, LazyFrame


def open_json(path: Path) -> LazyFrame:
    """Return the table of a JSON file, which is read whole."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(path, error) from error
    try:
        found = (
            [json.loads(line) for line in text.splitlines() if line.strip()]
            if _is_lines(path, text)
            else json.loads(text)
        )
    except ValueError as error:
        raise unreadable(path, error) from error
    columns = _columns(path, found)
    try:
        frame: DataFrame = pl.DataFrame({name: _values(path, name, values) for name, values in columns.items()})
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise unreadable(path, error) from error
    return frame.lazy()


def _is_lines(path: Path, text: str) -> bool:
    """Return whether each line is a value of its own, by the suffix or by the first line."""
    if path.suffix.lower() in (".ndjson", ".jsonl"):
        return True
    first, _, rest = text.strip().partition("\n")
    return first.startswith("{") and first.rstrip().endswith("}") and rest.lstrip().startswith("{")


def _columns(path: Path, found: Any) -> dict[str, list[Any]]:
    """Return the columns of records, of columns by name (as lists, or by the names of rows), or of rows with names."""
    if isinstance(found, dict) and isinstance(found.get("data"), list):
        found = (
            [dict(zip(found["columns"], row, strict=True)) for row in found["data"]]
            if "columns" in found
            else found["data"]
        )
    found = _only_records(found)
    if isinstance(found, list) and found and all(isinstance(record, dict) for record in found):
        records = [_flat(record) for record in found]
        names = dict.fromkeys(name for record in records for name in record)
        return {name: [record.get(name) for record in records] for name in names}
    if isinstance(found, dict) and found and all(isinstance(values, list | dict) for values in found.values()):
        columns = {name: list(v.values()) if isinstance(v, dict) else v for name, v in found.items()}
        if len(set(map(len, columns.values()))) == 1:
            return columns
    what = f"'{path}' is not a table: neither a list of records nor columns of one length"
    raise DataError(what, fix='write it as [{"a": 1, "b": 2}, …] or {"a": [1, …], "b": [2, …]}')


def _only_records(found: Any) -> Any:
    """Return the one list of records among the values of an object, as interfaces of web sites answer; else `found`."""
    inner = found.values() if isinstance(found, dict) else ()
    lists = [value for value in inner if isinstance(value, list) and value and all(isinstance(r, dict) for r in value)]
    others = [value for value in inner if isinstance(value, list) and value not in lists]
    return lists[0] if len(lists) == 1 and not others else found


def _flat(record: dict[str, Any], start: str = "") -> dict[str, Any]:
    """Return a record with the values of records and lists of numbers inside it, as user.age and scores.1.

    >>> _flat({"id": 1, "user": {"age": 30}, "scores": [4, 2.5], "tags": ["a", "b"]})
    {'id': 1, 'user.age': 30, 'scores.1': 4, 'scores.2': 2.5, 'tags': 'a, b'}
    """
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, list) and value and all(isinstance(each, int | float) for each in value):
            value = {str(place): each for place, each in enumerate(value, 1)}
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            value = ", ".join(value) or None
        flat |= _flat(value, f"{start}{name}.") if isinstance(value, dict) and value else {f"{start}{name}": value}
    return flat


def _values(path: Path, name: str, values: Iterable[Any]) -> list[Any]:
    """Return the values of a column; among numbers, missing-value markers are missing and other text is an error."""
    values = list(values)
    kinds = {type(value) for value in values if value is not None}
    if str not in kinds or not kinds & {int, float}:
        return [float(value) if type(value) is int else value for value in values] if kinds == {int, float} else values
    for row, value in enumerate(values, 1):
        if isinstance(value, str) and value.strip() not in ("", *USUAL_MARKERS):
            what = f"column {name!r} of '{path}' has text among numbers (first: row {row}, {value!r})"
            raise DataError(what, columns=[name], fix="write it as numbers, with null where one is missing")
    return [None if isinstance(value, str | None) else float(value) for value in values]
