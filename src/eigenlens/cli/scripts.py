"""The Python that reads what a command has read, for the script in a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["reading_script"]

LONG = 5_000
"""Letters beyond which the names of columns would bury the script."""

PLAIN = {"separator": ",", "header": True}
"""What `scan` takes for granted, and finds again."""


def reading_script(
    files: Sequence[Path], features: list[Any], which: dict[str, Any], how: dict[str, Any], roles: dict[str, Any]
) -> str:
    """Lines that make X and what stands beside it; "" where they would be too long.

    which, how: what `scan` is told of the features, and of how text is written. roles: {"id", "label", "weight": column
    or None}.

    >>> roles = {"id": None, "label": "kind", "weight": "w"}
    >>> print(reading_script([Path("a.csv")], ["u", "v"], {"drop": ["w"]}, {"na": ("?",)}, roles))
    X = eigenlens.scan('a.csv', drop=['w'], na=['?'], label='kind')
    y = X.read_label()
    columns = {'kind': y}
    sample_weight = eigenlens.scan('a.csv', columns=['u'], na=['?'], label='w').read_label()
    """
    names = [str(path) for path in files]
    said = {name: value for name, value in how.items() if PLAIN.get(name) != value}
    beside = {role: roles[role] for role in ("id", "label") if roles[role] is not None}
    lines = [f"X = {_scan(names, which | said | beside)}"]
    if "label" in beside:
        lines += ["y = X.read_label()", f"columns = {{{str(beside['label'])!r}: y}}"]
    lines += ["ids = X.read_ids()"] if "id" in beside else []
    if roles["weight"] is not None:
        alone = {"columns": features[:1]} | said | {"text": None, "label": roles["weight"]}
        lines += [f"sample_weight = {_scan(names, alone)}.read_label()"]
    return "\n".join(lines) if sum(map(len, lines)) <= LONG else ""


def _scan(names: list[str], options: dict[str, Any]) -> str:
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    words = [f"{name}={value!r}" for name, value in given.items() if value not in (None, [])]
    return f"eigenlens.scan({', '.join([repr(names[0] if len(names) == 1 else names), *words])})"
