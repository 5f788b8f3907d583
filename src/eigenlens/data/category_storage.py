"""Categories as values that a model file's header can hold, and back again, each as exactly what it was."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.errors import OptionError

__all__ = ["pack_categories", "unpack_categories"]

PLAIN = (str, int, float, bool, type(None))
"""Types that a header holds as they are."""

WRITERS: dict[type, tuple[str, Any, Any]] = {
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    datetime.datetime: ("datetime", datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
}
"""Other types: what a header calls them, and how they become text and come back."""

READERS = {name: read for name, _, read in WRITERS.values()}


def pack_categories(categories: Sequence[Any], column: Any) -> list[Any]:
    """Categories for a header; those that would come back as something else are refused, naming the column.

    >>> pack_categories(["a", 1, b"x", (1, "b")], "v")
    ['a', 1, {'bytes': '78'}, {'tuple': [1, 'b']}]
    """
    return [_stored(category, column) for category in categories]


def _stored(category: Any, column: Any) -> Any:
    value = category.item() if isinstance(category, np.number | np.bool_ | np.str_) else category
    if type(value) in PLAIN:
        return value
    if type(value) is tuple:
        return {"tuple": pack_categories(value, column)}
    if type(value) not in WRITERS:
        raise OptionError(
            f"column {column!r} has the category {category!r} of type {type(category).__name__}, which a model file "
            "cannot hold; fit its categories as text, column.astype(str), and so in predict."
        )
    name, write, _ = WRITERS[type(value)]
    return {name: write(value)}


def unpack_categories(stored: Sequence[Any]) -> tuple[Any, ...]:
    """The categories of `pack_categories`.

    >>> unpack_categories([1, {"date": "2020-02-29"}])
    (1, datetime.date(2020, 2, 29))
    """
    return tuple(_restored(category) for category in stored)


def _restored(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    [(name, value)] = stored.items()
    return unpack_categories(value) if name == "tuple" else READERS[name](value)
