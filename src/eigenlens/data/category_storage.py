"""Categories in the header of a model file, and back again, each with its own type."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.errors import OptionError

HEADER_TYPES = (str, int, float, bool, type(None))
"""Types that a header holds unchanged."""

TEXT_FORMS: dict[type, tuple[str, Any, Any]] = {
    bytes: ("bytes", bytes.hex, bytes.fromhex),
    datetime.datetime: ("datetime", datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
}
"""Other types: their names in a header, and the functions that write them as text and parse them."""

PARSERS = {name: read for name, _, read in TEXT_FORMS.values()}


def pack_categories(categories: Sequence[Any], column: Any) -> list[Any]:
    """Return categories for a header; raise for those that would come back as something else.

    >>> pack_categories(["a", 1, b"x", (1, "b")], "v")
    ['a', 1, {'bytes': '78'}, {'tuple': [1, 'b']}]
    """
    return [_pack(category, column) for category in categories]


def _pack(category: Any, column: Any) -> Any:
    value = category.item() if isinstance(category, np.number | np.bool_ | np.str_) else category
    if type(value) in HEADER_TYPES:
        return value
    if type(value) is tuple:
        return {"tuple": pack_categories(value, column)}
    if type(value) not in TEXT_FORMS:
        raise OptionError(
            f"column {column!r} has the category {category!r} of type {type(category).__name__}, which a model file "
            "cannot hold",
            columns=[str(column)],
            fix="fit its categories as text, column.astype(str), and so in predict",
        )
    name, write, _ = TEXT_FORMS[type(value)]
    return {name: write(value)}


def unpack_categories(stored: Sequence[Any]) -> tuple[Any, ...]:
    """Return the categories that `pack_categories` stored.

    >>> unpack_categories([1, {"date": "2020-02-29"}])
    (1, datetime.date(2020, 2, 29))
    """
    return tuple(_unpack(category) for category in stored)


def _unpack(stored: Any) -> Any:
    if not isinstance(stored, dict):
        return stored
    [(name, value)] = stored.items()
    return unpack_categories(value) if name == "tuple" else PARSERS[name](value)
