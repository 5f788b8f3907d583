"""The Python script that reads the rows of a command, for the script in a report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

MAX_SCRIPT_LETTERS = 5_000
"""A longer script would be hidden by the names of its columns."""

SCAN_DEFAULTS = {"separator": ",", "header": True}
"""Settings that `scan` detects by itself, and need not be written."""


def reading_script(
    files: Sequence[Path], features: list[Any], which: dict[str, Any], how: dict[str, Any], roles: dict[str, Any]
) -> str:
    """Return lines that make X, its labels, ids and weights; "" where they would be too long.

    which, how: arguments of `scan` for the features and for the way text is written.
    roles: {"id", "label", "weight": column or None}.

    >>> roles = {"id": None, "label": "kind", "weight": "w"}
    >>> print(reading_script([Path("a.csv")], ["u", "v"], {"drop": ["w"]}, {"na": ("?",)}, roles))
    X = eigenlens.scan('a.csv', drop=['w'], na=['?'], label='kind')
    y = X.read_label()
    columns = {'kind': y}
    sample_weight = eigenlens.scan('a.csv', columns=['u'], na=['?'], label='w').read_label()
    """
    names = [str(path) for path in files]
    given = {name: value for name, value in how.items() if SCAN_DEFAULTS.get(name) != value}
    beside = {role: roles[role] for role in ("id", "label") if roles[role] is not None}
    lines = [f"X = {_scan(names, which | given | beside)}"]
    if "label" in beside:
        lines += ["y = X.read_label()", f"columns = {{{str(beside['label'])!r}: y}}"]
    lines += ["ids = X.read_ids()"] if "id" in beside else []
    if roles["weight"] is not None:
        alone = {"columns": features[:1]} | given | {"text": None, "label": roles["weight"]}
        lines += [f"sample_weight = {_scan(names, alone)}.read_label()"]
    return "\n".join(lines) if sum(map(len, lines)) <= MAX_SCRIPT_LETTERS else ""


def _scan(names: list[str], options: dict[str, Any]) -> str:
    given = {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}
    words = [f"{name}={value!r}" for name, value in given.items() if value not in (None, [])]
    return f"eigenlens.scan({', '.join([repr(names[0] if len(names) == 1 else names), *words])})"
