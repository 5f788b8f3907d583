"""Folders of files that are partitioned by the values of columns: year=2024/month=1/part-0.parquet."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from eigenlens.data.files.base import pl

if TYPE_CHECKING:
    from polars import LazyFrame

MISSING_KEY = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder of rows whose key is missing."""

WHOLE_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})")


def is_partitioned(folder: Path) -> bool:
    """Return whether a folder has folders named key=value."""
    return any("=" in each.name for each in folder.iterdir() if each.is_dir())


def partition_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a partitioned folder; those whose names begin with _ or . are of other programs."""
    found = (each for suffix in (".parquet", ".pq") for each in folder.rglob(f"*{suffix}"))
    return sorted(each for each in found if not each.name.startswith(("_", ".")))


def partition_keys(path: Path) -> dict[str, str | None]:
    """Return the keys of a file by the folders right above it, None where one is missing.

    >>> partition_keys(Path("data/year=2024/city=San%20Jose/part-0.parquet"))
    {'year': '2024', 'city': 'San Jose'}
    """
    keys: dict[str, str | None] = {}
    for folder in path.absolute().parents:
        name, sign, value = folder.name.partition("=")
        if not sign or not name:
            break
        keys[unquote(name)] = None if value == MISSING_KEY else unquote(value)
    return dict(reversed(keys.items()))


def add_partition_keys(tables: Mapping[Path, LazyFrame]) -> dict[Path, LazyFrame]:
    """Return tables with their partition keys as columns, whole numbers where all values are; those of a file stay."""
    keys = {path: partition_keys(path) for path in tables}
    values: dict[str, list[str]] = {}
    for each in keys.values():
        for name, value in each.items():
            values.setdefault(name, []).extend([] if value is None else [value])
    kinds = {name: pl.Int64 if all(map(WHOLE_NUMBER.fullmatch, some)) else pl.String for name, some in values.items()}
    return {path: _with_keys(table, keys[path], kinds) for path, table in tables.items()}


def _with_keys(table: LazyFrame, keys: Mapping[str, str | None], kinds: Mapping[str, type]) -> LazyFrame:
    if not keys:
        return table
    own = set(table.collect_schema().names())
    added = [pl.lit(value).cast(kinds[name]).alias(name) for name, value in keys.items() if name not in own]
    return table.with_columns(added)
