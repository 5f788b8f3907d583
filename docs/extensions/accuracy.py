"""The page of accuracy, from the file that the tests write: `pytest --record-accuracy`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[1] / "data" / "accuracy.json"


def records() -> list[dict[str, Any]]:
    """What the tests have compared, in the order of the file."""
    found: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))["records"]
    return found


def pages() -> dict[str, str]:
    """generated/accuracy.md: a table for each system."""
    systems = sorted({record["system"] for record in records()}, key=str.lower)
    return {"accuracy.md": "\n\n".join(_section(system) for system in systems) + "\n"}


def _section(system: str) -> str:
    lines = ["| what | numbers | ours | theirs | asked | reached |", "|---|--:|--:|--:|---|--:|"]
    for record in records():
        if record["system"] == system:
            what = record["what"].replace("|", "\\|")
            asked = record["asked"].replace("relative", "rel.").replace("absolute", "abs.")
            figures = f"{record['ours']:.12g} | {record['reference']:.12g}"
            lines.append(f"| {what} | {record['values']:,} | {figures} | {asked} | {record['reached']:.1e} |")
    return f"## {system[0].upper()}{system[1:]}\n\n" + "\n".join(lines)
