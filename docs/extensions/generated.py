"""What is made before the pages are read, under docs/generated: reference, command line, import graph, measurements.

A file is touched only when its text changes, so that an unchanged page is not read again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import accuracy
import architecture
import campaign_figures
import chooser
import command_line
import public_names
import speed

PAGES = {
    "reference": public_names.pages,
    "command-line": command_line.pages,
    "architecture": architecture.pages,
    "chooser": chooser.pages,
    "accuracy": accuracy.pages,
    "campaigns": campaign_figures.pages,
    "speed": speed.pages,
}
"""Each returns the text of files by their names under docs/generated."""


def write(app: Any) -> None:
    folder = Path(app.srcdir) / "generated"
    wanted = {name: text for make in PAGES.values() for name, text in make().items()}
    for name, text in wanted.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in (folder / "reference").glob("*.rst"):
        if f"reference/{path.name}" not in wanted:
            path.unlink()  # a public name that is gone


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write, priority=100)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
