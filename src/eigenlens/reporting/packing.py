"""How a report becomes small enough for one file: what charts share is written once, and rows are fewer if need be."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.errors import CategoryError, OptionError
from eigenlens.reporting.page import GAP_16, packed

__all__ = ["LARGEST", "Ascending", "Coded", "Places", "Words", "coded", "cut", "fitted", "pixels", "settled"]

LARGEST = 9_500_000
"""The most bytes that a file may have."""

FEWEST = 500
"""Rows that are shown at least."""

LONGEST = 160
"""Characters that are shown of a name."""

Key = tuple[Any, ...]

SHARED = 256
"""From so many numbers on, those that occur again are written once."""


@dataclass(frozen=True, eq=False)
class Places:
    """A number (m,) for each row shown; which of the rows are written is decided when all is known."""

    values: Array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.values, dtype=dtype)


@dataclass(frozen=True, eq=False)
class Ascending:
    """The place (m,) of each row shown among all, ascending: written as steps, since none may be off by one."""

    places: Array


@dataclass(frozen=True, eq=False)
class Coded:
    """A name (m,) for each row shown, as the number of a level, −1 for none."""

    codes: Array
    levels: tuple[str, ...]

    @property
    def texts(self) -> list[str | None]:
        """The names, one by one."""
        return [None if code < 0 else self.levels[code] for code in self.codes]


@dataclass(frozen=True, eq=False)
class Words:
    """A text (m,) for each row shown."""

    values: tuple[str, ...]


def coded(values: Any) -> Coded:
    """Names as codes; None, NaN and other signs of a missing entry have none.

    >>> coded(["b", None, "a", "b"]).codes.tolist()
    [0, -1, 1, 0]
    """
    try:
        codes, categories, _ = encode(values).drop_unused()
    except CategoryError:  # lists and dictionaries are shown as text
        codes, categories, _ = encode(list(map(str, values)))
    names: dict[str, int] = {}
    positions = [names.setdefault(cut(category), len(names)) for category in categories]
    return Coded(np.array([*positions, -1], dtype=np.int64)[codes], tuple(names))


def cut(name: Any, longest: int = LONGEST) -> str:
    """A name as it is shown: its beginning, if it is long.

    >>> cut("abcdef", 4)
    'abc…'
    """
    text = str(name).encode("utf-8", "replace").decode("utf-8")  # names of files may hold bytes that are no text
    return text if len(text) <= longest else text[: longest - 1] + "…"


def pixels(values: Array) -> Any:
    """The shades of a picture: as they are if few, else 16 bits between the darkest and the brightest."""
    array = np.asarray(values, dtype=np.float64).ravel()
    seen = np.isfinite(array)
    if array.size <= SHARED or not seen.any():
        return packed(array)
    low, high = float(array[seen].min()), float(array[seen].max())
    steps = np.where(seen, (array - low) / ((high - low) or 1.0) * GAP_16, GAP_16 + 1).round().astype("<u2")
    return {"u16": base64.b64encode(steps.tobytes()).decode("ascii"), "low": low, "high": high}


def fitted(
    whole: Callable[[Array | None], dict[str, Any]], m: int, write: Callable[[dict[str, Any]], str],
    rng: np.random.Generator,
) -> str:  # fmt: skip
    """The page of `whole(keep)`, of all m rows shown, or of as many as it has room for.

    keep: (q,) which of the rows shown are written; None for all.
    """
    text = write(whole(None))
    size = len(text.encode("utf-8"))
    if size <= LARGEST:
        return text
    few = min(FEWEST, m)
    least = write(whole(np.arange(few)))
    bare = len(least.encode("utf-8"))
    if bare > LARGEST:
        raise OptionError(
            f"models make a report of {bare / 1e6:.1f} MB even for {few} rows, more than the {LARGEST / 1e6:g} MB of "
            "one file; give fewer models, or write a report of each."
        )
    count = m
    while size > LARGEST and count > few:
        room = (LARGEST - bare) / max(1.0, (size - bare) / max(1, count - few))
        count = max(few, min(count - 1, few + int(0.97 * room)))
        text = write(whole(np.sort(rng.choice(m, count, replace=False))))
        size = len(text.encode("utf-8"))
    return text if size <= LARGEST else least


def settled(report: dict[str, Any], keep: Array | None) -> dict[str, Any]:
    """A report with its rows written out, those of `keep` or all, and what occurs again referred to."""
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
        return [refer(part) for part in value] if isinstance(value, list) else value

    found: dict[str, Any] = refer(plain)
    return found | ({"shared": shared} if shared else {})


def _written(value: Any, keep: Array | None) -> Any:
    if isinstance(value, Places):
        return packed(value.values if keep is None else value.values[keep], quantised=True)
    if isinstance(value, Ascending):
        return _steps(value.places if keep is None else value.places[keep])
    if isinstance(value, Coded):
        return _codes(value if keep is None else Coded(value.codes[keep], value.levels))
    if isinstance(value, Words):
        return list(value.values) if keep is None else [value.values[i] for i in keep]
    if isinstance(value, dict):
        return {name: _written(part, keep) for name, part in value.items()}
    return [_written(part, keep) for part in value] if isinstance(value, list | tuple) else value


def _steps(places: Array) -> Any:
    """From each place to the next, exactly: as they are if few or far apart, else whole numbers of 16 bits."""
    steps = np.diff(places, prepend=0)
    if steps.size <= SHARED or steps.max() > GAP_16:
        return steps.tolist()
    return {"u16": base64.b64encode(steps.astype("<u2").tobytes()).decode("ascii"), "low": 0.0, "high": float(GAP_16)}


def _codes(value: Coded) -> Any:
    """Codes where they are shorter, and 16 bits can tell the levels apart; else the names themselves."""
    if len(value.codes) <= SHARED or len(value.levels) > 30_000:
        return value.texts
    return {"levels": list(value.levels), "codes": packed(value.codes.astype(np.float64), quantised=True)}


def _key(value: dict[str, Any]) -> Key | None:
    """What packed numbers are told by; None for anything else."""
    return tuple(value.values()) if value.keys() in ({"f32"}, {"f32", "from"}, {"u16", "low", "high"}) else None


def _count(value: Any, counts: dict[Key, int]) -> None:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    key = _key(value) if isinstance(value, dict) else None
    if key is not None:
        counts[key] = counts.get(key, 0) + 1
        return
    for part in parts:
        _count(part, counts)
