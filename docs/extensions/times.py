"""How long the build took to compute what it shows: one line for the gallery, one for the pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import run_blocks

SHOWN = 4
"""How many of the longest are named."""


def of_gallery(folder: Path) -> dict[str, float]:
    """Seconds that each script took when it was last run, as sphinx-gallery keeps them beside it."""
    costs = sorted(folder.rglob("*.cost.json"))
    return {path.name.split(".")[0]: float(json.loads(path.read_text(encoding="utf-8"))["time"]) for path in costs}


def line(what: str, seconds: dict[str, float]) -> str:
    """What, in how many seconds, and the longest of them."""
    longest = sorted(seconds, key=lambda name: -seconds[name])[:SHOWN]
    named = ", ".join(f"{name} {seconds[name]:.0f}" for name in longest)
    return f"{what}: {len(seconds)} in {sum(seconds.values()):.0f} s (longest: {named})"


def say(app: Any, error: Exception | None) -> None:
    """Printed even by a quiet build."""
    if error is None and app.builder.format == "html":
        print(
            line("scripts of the gallery, each when last run", of_gallery(Path(app.srcdir) / "generated" / "gallery"))
        )
        if run_blocks.SECONDS:
            print(line("pages with blocks run now", dict(run_blocks.SECONDS)))


def setup(app: Any) -> dict[str, Any]:
    app.connect("build-finished", say)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
