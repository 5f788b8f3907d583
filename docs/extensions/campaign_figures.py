"""The figures of the page "How it is tested", from the file that campaigns write: `python -m campaigns --record`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "data" / "campaigns.json"
FINE = ("ok", "clear error")


def figures() -> dict[str, dict[str, Any]]:
    """The figures of each campaign by its name."""
    found: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["campaigns"]
    return found


def pages() -> dict[str, str]:
    """generated/campaigns.md: a line per campaign, and what failed; and a file of all cases per small campaign."""
    found = figures()
    each = {f"campaign-{name}.md": _each(entry["each"]) for name, entry in found.items() if "each" in entry}
    return {"campaigns.md": _table(found) + _failures(found), **each}


def _table(found: dict[str, dict[str, Any]]) -> str:
    head = "| campaign | cases | right | clear error | anything else | seed | date and version |\n"
    return head + "|---|--:|--:|--:|---|--:|---|\n" + "".join(_line(name, entry) for name, entry in found.items())


def _line(name: str, entry: dict[str, Any]) -> str:
    outcomes = entry["outcomes"]
    other = [f"{n:,} {outcome}" for outcome, n in outcomes.items() if n and outcome not in FINE]
    cells = [
        f"`{name}`", f"{entry['cases']:,}", f"{outcomes['ok']:,}", f"{outcomes['clear error']:,}",
        ", ".join(other) or "none", str(entry["seed"]), f"{entry['date']}, {entry['version']}",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |\n"


def _failures(found: dict[str, dict[str, Any]]) -> str:
    """The cases that did not end well, each with what repeats it."""
    lines = [line for entry in found.values() for line in entry["failures"]]
    if not lines:
        return ""
    listed = "\n".join(line.replace("```", "'''") for line in lines)
    return f"\nThe cases that did not end as they should, and how to repeat each:\n\n```text\n{listed}\n```\n"


def _each(cases: list[list[str]]) -> str:
    lines = "".join(f"| {what.replace('|', chr(92) + '|')} | {figure} |\n" for what, figure in cases)
    return "| case | figure |\n|---|---|\n" + lines
