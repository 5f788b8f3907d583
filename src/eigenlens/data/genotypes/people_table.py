"""A table of people, such as their populations, joined to genotypes by the names of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.files.scan import open_files
from eigenlens.data.genotypes.variants import People
from eigenlens.errors import DataError, OptionError, closest, suggest

FAMILY_NAMES = {"fid", "#fid", "family", "family_id", "famid"}
"""Names of columns of families, in small letters."""


@dataclass(frozen=True, eq=False)
class JoinedPeople:
    """Columns of a table in the order of people of genotypes.

    Attributes:
        key: the column with the names of people. found: (n,) whether a person is in the table.
        columns: {name: (n,)} the other columns, None or NaN for people who are absent.
    """

    key: str
    found: Array
    columns: dict[str, Array]


def join_people(people: People, path: Any, id: str | None = None, **written: Any) -> JoinedPeople:
    """Return the columns of a table for people, found by their names, and by their families too where it has them.

    id: the column of names; by default the one in which most of the people are found. written: how the file is
    written, as for `scan`.
    """
    names = [str(field.name) for field in open_files(path, **written).fields]
    texts = open_files(path, **(written | {"text": names}))  # names such as 007 are text
    cells = {name: np.array([_text(value) for value in texts.read_column(name)], dtype=object) for name in names}
    key = _find_key(people, cells, id, path)
    family = next((name for name in names if name.lower() in FAMILY_NAMES and name != key), None)
    rows = _rows(people, cells[key], None if family is None else cells[family], path)
    plain = open_files(path, **written)
    others = [name for name in names if name not in (key, family)]
    return JoinedPeople(key, rows >= 0, {name: _take(plain.read_column(name), rows) for name in others})


def _text(value: Any) -> str:
    return "" if value is None or value != value else str(value)


def _find_key(people: People, cells: Mapping[str, Array], id: str | None, path: Any) -> str:
    """Return the column that names the people."""
    if id is not None and id not in cells:
        fix = suggest(closest(id, cells), cells)
        raise OptionError(f"is not a column of '{path}'", argument="id", value=id, fix=fix)
    known = set(people.name)
    counts = {name: len(known.intersection(values)) for name, values in cells.items() if id in (None, name)}
    key = max(counts, key=lambda name: counts[name])
    if not counts[key]:
        what = f"none of the {len(people):,} people (such as {people.name[0]!r}) is in '{path}'"
        raise DataError(what, fix="give a table with a column of their names (IID)")
    return key


def _rows(people: People, names: Array, families: Array | None, path: Any) -> Array:
    """Return the row (n,) of each person in the table, −1 for those who are absent."""
    by_name: Callable[[int], Any] = lambda i: people.name[i]  # noqa: E731
    keys: list[Any] = list(names)
    if families is not None and len(set(keys)) < len(keys):
        pairs = people.pairs
        by_name, keys = lambda i: pairs[i], list(zip(families, names, strict=True))
    places: dict[Any, int] = {}
    wanted = {by_name(i) for i in range(len(people))}
    for place, key in enumerate(keys):
        if key in wanted and places.setdefault(key, place) != place:
            who = key if isinstance(key, str) else " ".join(map(str, key))
            raise DataError(
                f"'{path}' has person {who} twice", fix="keep one line per person, or add the families (FID)"
            )
    return np.array([places.get(by_name(i), -1) for i in range(len(people))])


def _take(values: Array, rows: Array) -> Array:
    """Return the values (n,) at rows, None or NaN where these are −1."""
    found = np.asarray(values)[rows]
    if found.dtype.kind in "iub":
        found = found.astype(np.float64)
    found[rows < 0] = np.nan if found.dtype.kind == "f" else None
    return found
