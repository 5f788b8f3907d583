"""Names of columns, rows and classes, cut to the room there is, and still told apart."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["shortened", "told_apart"]


def shortened(name: str, most: int) -> str:
    """A name of at most so many characters: its ends tell most.

    >>> shortened("petal length as measured in the field", 20)
    'petal leng…the field'
    """
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most - most // 2 - 1) :]}"


def told_apart(names: Sequence[str], most: int) -> list[str]:
    """Names of at most so many characters: where the ends of long ones would not tell them apart, where they differ.

    Of what the long ones begin with alike, as much stays as there is room for.

    >>> told_apart(["a house on hill 1 of the old town", "a house on hill 2 of the old town", "ours"], 10)
    ['…n hill 1…', '…n hill 2…', 'ours']
    >>> told_apart(["setosa", "versicolor"], 10)
    ['setosa', 'versicolor']
    """
    made = [shortened(name, most) for name in names]
    if len(set(made)) == len(set(names)):
        return made
    long = [name for name in names if len(name) > most]
    start, end = _shared(long), _shared([name[_shared(long) :][::-1] for name in long])
    apart = max(len(name) - start - end for name in long)
    start -= min(start, max(0, most - 2 - apart))
    return [name if len(name) <= most else _middle(name, start, end, most) for name in names]


def _middle(name: str, start: int, end: int, most: int) -> str:
    kept = shortened(name[start : len(name) - end], most - 2)
    return f"{'…' * bool(start)}{kept}{'…' * bool(end)}"


def _shared(names: Sequence[str]) -> int:
    """How many letters all names begin with."""
    for i, letters in enumerate(zip(*names, strict=False)):
        if len(set(letters)) > 1:
            return i
    return min(map(len, names), default=0)
