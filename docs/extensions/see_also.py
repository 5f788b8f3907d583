"""Links back: pages of the gallery and of the reference name the pages and scripts that lead there."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

FOLDERS = ("methods", "course", "howto")
SCRIPT = re.compile(r"\]\(\.\./generated/(gallery/\w+/plot_\w+)\.rst\)")
ESTIMATOR = re.compile(r"\{py:class\}`eigenlens\.(\w+)`")
USED = re.compile(r"\b([A-Z]\w+)\(|\beigenlens\.(plot)\.")
"""Estimators and plots in the code of a script, which are pages of the reference."""
BELOW = re.compile(r"^\.\. (?:rst-class:: sphx-glr-timing|_sphx_glr_download_)", re.MULTILINE)
"""What sphinx-gallery writes below the last block of a script: its time, where it took a second, and its downloads."""


def links_back(root: Path) -> dict[str, list[str]]:
    """Return the pages under `root` that link to each page of the gallery and the reference."""
    found = defaultdict(list)
    for path in (path for folder in FOLDERS for path in sorted((root / folder).glob("*.md"))):
        text = path.read_text(encoding="utf-8")
        targets = set(SCRIPT.findall(text)) | {f"reference/{name}" for name in ESTIMATOR.findall(text)}
        for target in targets:
            found[f"generated/{target}"].append(f"/{path.parent.name}/{path.stem}")
    for path in sorted((root / "gallery").rglob("plot_*.py")):
        names = {name for pair in USED.findall(path.read_text(encoding="utf-8")) for name in pair if name}
        for name in names:
            found[f"generated/reference/{name}"].append(f"/generated/gallery/{path.parent.name}/{path.stem}")
    return dict(found)


def with_links(text: str, pages: list[str]) -> str:
    """Return a page with a line of links: below the code of a script, or below the title of a reference page."""
    line = "\n.. rst-class:: see-also\n\nSee also: " + ", ".join(f":doc:`{page}`" for page in pages) + ".\n"
    below = BELOW.search(text)
    if below:
        return f"{text[: below.start()]}{line[1:]}\n{text[below.start() :]}"
    title, rule, rest = text.split("\n", 2)
    return f"{title}\n{rule}\n{line}{rest}"


def add(app: Any, docname: str, source: list[str]) -> None:
    pages = links_back(Path(app.srcdir)).get(docname) if docname.startswith("generated/") else None
    if pages:
        source[0] = with_links(source[0], pages)


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", add)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
