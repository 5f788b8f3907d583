"""Results as values: what a benchmark found, as a JSON file in results/, and the Markdown that is made of it.

The tables of README.md and those of the documentation are made of these files, and of nothing else:

    python benchmarks/results.py        # write the tables of README.md again
"""

from __future__ import annotations

import datetime
import json
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict

import eigenlens

FOLDER = Path(__file__).with_name("results")
README = Path(__file__).with_name("README.md")


class Table(TypedDict):
    """A row is a dictionary with the columns of the head."""

    head: list[str]
    rows: list[dict[str, str]]


class Found(TypedDict):
    """A run of a benchmark: when, where (None if it was not written down), with what, its tables and remarks.

    `summary` has a row for each kind of work, `contestants` one for each contestant of it, the first of them ours;
    `folded` holds further tables by title.
    """

    name: str
    date: str
    machine: str | None
    versions: str
    remarks: list[str]
    summary: Table
    contestants: Table
    folded: dict[str, Table]


class Part(TypedDict):
    """A table between the sentence that introduces it and the one that is drawn from it; either may be empty."""

    before: str
    table: Table
    after: str


class Compared(TypedDict):
    """A comparison of how often or how nearly methods are right, where time is not what counts.

    `of` says what the figures are: of which run, and what is not known of it.
    """

    name: str
    date: str
    of: str
    parts: list[Part]


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    return {"head": list(head), "rows": [dict(zip(head, row, strict=True)) for row in rows]}


def today() -> str:
    return datetime.date.today().isoformat()


def versions(libraries: tuple[str, ...]) -> str:
    """Python and libraries with their versions, as a sentence."""
    found = [f"{library} {metadata.version(library)}" for library in libraries]
    return ", ".join([f"Python {platform.python_version()}", f"eigenlens {eigenlens.__version__}", *found]) + "."


def compared(name: str, libraries: tuple[str, ...], parts: list[Part]) -> Compared:
    """A comparison that has just been made here."""
    return {"name": name, "date": today(), "of": versions(libraries), "parts": parts}


def markdown(found: Found | Compared) -> str:
    """Everything between the markers of the README."""
    return _compared(found) if "parts" in found else _raced(found)


def _compared(found: Compared) -> str:
    parts = [text for part in found["parts"] for text in (part["before"], grid(part["table"]), part["after"]) if text]
    return "\n\n".join([f"Kept on {found['date']}. {found['of']}", *parts])


def _raced(found: Found) -> str:
    machine = [f"Machine: {found['machine']}."] if found["machine"] else []
    folded = [
        f"<details><summary>{title}</summary>\n\n{grid(inner)}\n\n</details>"
        for title, inner in found["folded"].items()
    ]
    heading = [*machine, found["versions"], *found["remarks"]]
    return "\n\n".join([*heading, grid(found["summary"]), grid(found["contestants"]), *folded])


def grid(table: Table) -> str:
    """A Markdown table."""
    head = table["head"]
    rows = [head, ["---"] * len(head), *([row[name] for name in head] for row in table["rows"])]
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in escaped)


def write(found: Found | Compared) -> None:
    """Keep a run: its file, and the table of README.md."""
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    (FOLDER / f"{found['name']}.json").write_text(text, encoding="utf-8")
    put(README, markdown(found), found["name"])


def read(name: str) -> Found | Compared:
    found: Any = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found  # type: ignore[no-any-return]


def between(page: str, name: str) -> str:
    """What stands between the markers of this name."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    match = re.search(f"{re.escape(start)}\n(.*?)\n{re.escape(end)}", page, flags=re.DOTALL)
    if match is None:
        raise SystemExit(f"README.md has no line {start} followed by {end}; add them where the table belongs.")
    return match[1]


def put(path: Path, text: str, name: str) -> None:
    """Replace what stands between the markers of this name in a file."""
    page = path.read_text(encoding="utf-8")
    start, end, old = f"<!-- {name} -->\n", f"\n<!-- /{name} -->", between(page, name)
    path.write_text(page.replace(f"{start}{old}{end}", f"{start}{text}{end}", 1), encoding="utf-8")


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.json")):
        put(README, markdown(read(path.stem)), path.stem)
