"""Packing of a report into one small file: repeated numbers are written once, and rows are sampled if too many."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import EncodedColumn, encode
from eigenlens.errors import CategoryError, OptionError
from eigenlens.reporting.page import FINE, MAX_16_BIT, pack_16_bits, pack_numbers
from eigenlens.tables.names import shorten

MAX_FILE_BYTES = 9_500_000
"""The largest size of a file in bytes: browsers and mail programs take 10 MB."""

MIN_ROWS = 500
"""The smallest number of rows shown, if there are as many."""

Key = tuple[Any, ...]

MIN_SHARED = 256
"""Arrays of at smallest so many numbers that occur repeatedly are written once."""


@dataclass(frozen=True, eq=False)
class RowNumbers:
    """One number (m,) per row shown; which rows are written is decided when the size of the file is known."""

    values: Array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.values, dtype=dtype)


@dataclass(frozen=True, eq=False)
class RowPositions:
    """The position (m,) of each row shown among all, ascending; written as exact steps, so that none is off by one."""

    places: Array


@dataclass(frozen=True, eq=False)
class RowBytes:
    """Some bytes (m, p) per row shown: the shades of its pixels."""

    values: Array


@dataclass(frozen=True, eq=False)
class RowTexts:
    """One text (m,) per row shown."""

    values: tuple[str, ...]


def encode_names(values: Any) -> EncodedColumn:
    """Return names as codes; None, NaN and other missing values have the code −1.

    >>> encode_names(["b", None, "a", "b"]).codes.tolist()
    [0, -1, 1, 0]
    """
    try:
        codes, categories, _ = encode(values).drop_unused()
    except CategoryError:  # lists and dictionaries are shown as text
        codes, categories, _ = encode(list(map(str, values)))
    names: dict[str, int] = {}
    positions = [names.setdefault(shorten(category), len(names)) for category in categories]
    return EncodedColumn(np.array([*positions, -1], dtype=np.int32)[codes], tuple(names))


def pixels(values: Array) -> Any:
    """Return the shades of an image: unchanged if few, else as 16 bits between the min and the max."""
    return pack_numbers(values, fine=MIN_SHARED if np.isfinite(values).any() else np.inf)


def fit_page(
    whole: Callable[[Array | None], dict[str, Any]], m: int, write: Callable[[dict[str, Any]], str],
    rng: np.random.Generator,
) -> str:  # fmt: skip
    """Return the page of `whole(keep)` with all m rows shown, or with as many as the file has room for.

    keep: (q,) which of the rows shown are written; None for all.
    """
    text = write(whole(None))
    size = len(text.encode("utf-8"))
    if size <= MAX_FILE_BYTES:
        return text
    few = min(MIN_ROWS, m)
    smallest = write(whole(np.arange(few)))
    bare = len(smallest.encode("utf-8"))
    if bare > MAX_FILE_BYTES:
        limit = f"more than the {MAX_FILE_BYTES / 1e6:g} MB of one file"
        what = f"make a report of {bare / 1e6:.1f} MB even for {few} rows, {limit}"
        raise OptionError(what, argument="models", fix="give fewer models, or write a report of each")
    count = m
    while size > MAX_FILE_BYTES and count > few:
        room = (MAX_FILE_BYTES - bare) / max(1.0, (size - bare) / max(1, count - few))
        count = max(few, min(count - 1, few + int(0.97 * room)))
        text = write(whole(np.sort(rng.choice(m, count, replace=False))))
        size = len(text.encode("utf-8"))
    return text if size <= MAX_FILE_BYTES else smallest


def share_repeats(report: dict[str, Any], keep: Array | None) -> dict[str, Any]:
    """Return a report with the rows of `keep` written out, or all rows, and repeated arrays as references."""
    seen: dict[Key, int] = {}
    counts: dict[Key, int] = {}
    plain = _written(report, keep)
    _count(plain, counts)
    shared: list[Any] = []

    def refer(value: Any) -> Any:
        if isinstance(value, dict):
            key = _key(value)
            if key is None or counts[key] < 2:
                return {name: refer(part) for name, part in value.items()}
            if key not in seen:
                seen[key] = len(shared)
                shared.append(value)
            return {"ref": seen[key]}
        return (
            [part if isinstance(part, PLAIN) else refer(part) for part in value] if isinstance(value, list) else value
        )

    found: dict[str, Any] = refer(plain)
    return found | ({"shared": shared} if shared else {})


PLAIN = (str, float, int, type(None))
"""Types of which most parts of a report are, asked for first: they are written unchanged."""


def _written(value: Any, keep: Array | None) -> Any:
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, RowNumbers):
        return pack_numbers(value.values if keep is None else value.values[keep], fine=FINE)
    if isinstance(value, RowPositions):
        return _steps(value.places if keep is None else value.places[keep])
    if isinstance(value, EncodedColumn):
        return _codes(value if keep is None else value._replace(codes=value.codes[keep]))
    if isinstance(value, RowBytes):
        kept = value.values if keep is None else value.values[keep]
        return base64.b64encode(kept.tobytes()).decode("ascii")
    if isinstance(value, RowTexts):
        return list(value.values) if keep is None else [value.values[i] for i in keep]
    if isinstance(value, dict):
        return {name: _written(part, keep) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [part if isinstance(part, PLAIN) else _written(part, keep) for part in value]
    return value


def _steps(places: Array) -> Any:
    """Return the exact steps between positions: unchanged if few or large, else as 16-bit integers."""
    steps = np.diff(places, prepend=0)
    if steps.size <= MIN_SHARED or steps.max() > MAX_16_BIT:
        return steps.tolist()
    return pack_16_bits(steps, 0.0, float(MAX_16_BIT))


def _codes(value: EncodedColumn) -> Any:
    """Return codes where they are shorter and 16 bits are enough for the categories; else the names."""
    if len(value.codes) <= MIN_SHARED or len(value.categories) > 30_000:
        return value.values().tolist()
    return {"levels": list(value.categories), "codes": pack_numbers(value.codes.astype(np.float64), fine=FINE)}


def _key(value: dict[str, Any]) -> Key | None:
    """Return a key that equal packed numbers share; None for anything else."""
    return tuple(value.values()) if value.keys() in ({"f32"}, {"f32", "from"}, {"u16", "low", "high"}) else None


def _count(value: Any, counts: dict[Key, int]) -> None:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    key = _key(value) if isinstance(value, dict) else None
    if key is not None:
        counts[key] = counts.get(key, 0) + 1
        return
    for part in parts:
        if not isinstance(part, PLAIN):
            _count(part, counts)
