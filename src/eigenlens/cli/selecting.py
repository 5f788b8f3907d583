"""Which columns `--columns` and `--drop` mean: names, ranges such as a:f, and types such as @number."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from eigenlens.cli.errors import fail

__all__ = ["TYPES", "chosen"]

TYPES: dict[str, frozenset[str]] = {
    "@number": frozenset({"float", "integer", "boolean"}),
    "@float": frozenset({"float"}),
    "@integer": frozenset({"integer"}),
    "@boolean": frozenset({"boolean"}),
    "@text": frozenset({"text", "mixed"}),
    "@other": frozenset({"other"}),
}
"""What the names of types mean, in the kinds that columns have."""


def chosen(words: Sequence[str] | None, kinds: Mapping[Any, str], option: str) -> list[Any] | None:
    """The columns that the words of an option mean, in that order, each once; None where there are no words.

    `kinds` maps each column of the file, in its order, to what it holds. A word that is a column's whole name means
    that column, whatever signs are in it.

    >>> kinds = {"id": "text", "a": "float", "b": "integer", "c": "float", "x,y": "float"}
    >>> chosen(["a:c"], kinds, "columns"), chosen(["@float,b"], kinds, "columns"), chosen(["x,y"], kinds, "columns")
    (['a', 'b', 'c'], ['a', 'c', 'x,y', 'b'], ['x,y'])
    """
    if not words:
        return None
    known = {str(name): name for name in kinds}
    parts = [part for word in words for part in ([word] if word in known else word.split(","))]
    found = [name for part in parts if part.strip() for name in _meant(part.strip(), known, kinds, option)]
    return list(dict.fromkeys(found))


def _meant(part: str, known: dict[str, Any], kinds: Mapping[Any, str], option: str) -> list[Any]:
    if part in known:
        return [known[part]]
    if part in TYPES:
        return [name for name, kind in kinds.items() if kind in TYPES[part]]
    if part.startswith("@"):
        fail(f"--{option} {part} is no type of column", f"use one of {', '.join(TYPES)}")
    if ":" in part:
        return _range(part, known, option)
    return _unknown(part, known, option)


def _range(part: str, known: dict[str, Any], option: str) -> list[Any]:
    """a:f, :f or a: in the order of the file, both ends included; an end may hold colons itself."""
    names = list(known)
    for cut in (i for i, c in enumerate(part) if c == ":"):
        first, last = part[:cut], part[cut + 1 :]
        if (not first or first in known) and (not last or last in known):
            low, high = names.index(first) if first else 0, names.index(last) if last else len(names) - 1
            if low > high:
                fail(f"--{option} {part} runs backwards: '{first}' comes after '{last}'", f"write {last}:{first}")
            return [known[name] for name in names[low : high + 1]]
    ends = [end for end in part.split(":") if end and end not in known]
    return _unknown(ends[0], known, option)


def _unknown(part: str, known: dict[str, Any], option: str) -> list[Any]:
    near = difflib.get_close_matches(part, list(known), n=3, cutoff=0.5)
    listed = ", ".join(list(known)[:8]) + (", …" if len(known) > 8 else "")
    fix = f"did you mean {' or '.join(near)}?" if near else f"it has {listed}"
    fail(f"--{option} {part}: the file has no such column", fix)
