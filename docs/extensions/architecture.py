"""The architecture page: packages, sizes and imports are read from the source tree and drawn as one SVG."""

from __future__ import annotations

import ast
import html
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "eigenlens"
ROW, BOX, LEFT, RIGHT = 42, 30, 150, 560
"""Height of a row and of a box, where boxes begin, and where arcs begin."""


def pages() -> dict[str, str]:
    """Return the drawing and the table below it, by file name."""
    layers, edges = listed_layers(), imports_between_layers()
    return {"architecture.svg": drawing(layers, edges), "architecture-table.md": table(layers, edges)}


def listed_layers() -> list[str]:
    """Return the packages from the top, in the order that import-linter checks; neighbours may be independent."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    return [name.strip().removeprefix("eigenlens.") for layer in contracts[0]["layers"] for name in layer.split("|")]


def imports_between_layers() -> Counter[tuple[str, str]]:
    """Count the imports of modules from one package to another: {(importer, imported): pairs of modules}."""
    import grimp

    graph = grimp.build_graph("eigenlens", cache_dir=None)
    found: Counter[tuple[str, str]] = Counter()
    for module in sorted(graph.modules):
        for other in graph.find_modules_directly_imported_by(module):
            pair = (layer_of(module), layer_of(other))
            if pair[0] and pair[1] and pair[0] != pair[1]:
                found[pair] += 1
    return found


def layer_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def files_of(layer: str) -> list[Path]:
    single = PACKAGE / f"{layer}.py"
    if single.exists():
        return [single]
    return sorted(path for path in (PACKAGE / layer).rglob("*") if path.suffix in (".py", ".cpp", ".hpp"))


def lines_of(layer: str) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files_of(layer))


def about(layer: str) -> str:
    """Return the first paragraph of the package's docstring."""
    single, folder = PACKAGE / f"{layer}.py", PACKAGE / layer / "__init__.py"
    text = ast.get_docstring(ast.parse((single if single.exists() else folder).read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def drawing(layers: list[str], edges: Counter[tuple[str, str]]) -> str:
    """Return the SVG: one box per package from the top down, and an arc per pair of packages with imports."""
    place = {name: i for i, name in enumerate(layers)}
    largest = max(lines_of(name) for name in layers)
    height = ROW * len(layers) + 12
    parts = [f'<svg class="architecture" viewBox="0 0 860 {height}" role="img" aria-label="Packages and imports">']
    for name in layers:
        out = sorted(((a, b), n) for (a, b), n in edges.items() if a == name and b in place)
        arcs = [_arc(place[a], place[b], n) for (a, b), n in out]
        width = 40 + (RIGHT - LEFT - 50) * (lines_of(name) / largest) ** 0.5
        parts.append(f'<g class="layer">{"".join(arcs)}{_box(name, place[name], width)}</g>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _box(name: str, i: int, width: float) -> str:
    y, files, lines = ROW * i + 6, files_of(name), lines_of(name)
    size = f"{lines:,} lines in {len(files)} files" if len(files) > 1 else f"{lines:,} lines"
    middle = y + BOX / 2
    inside = width > 190
    at, kind = (LEFT + 12, "size inside") if inside else (LEFT + width + 10, "size")
    return (
        f"<title>{html.escape(name)}: {html.escape(about(name))}</title>"
        f'<text class="name" x="{LEFT - 12}" y="{middle:.0f}">{html.escape(name)}</text>'
        f'<rect x="{LEFT}" y="{y}" width="{width:.0f}" height="{BOX}" rx="5"/>'
        f'<text class="{kind}" x="{at:.0f}" y="{middle:.0f}">{size}</text>'
    )


def _arc(i: int, j: int, count: int) -> str:
    """Return the arc from row i to row j; its width grows with the number of imports."""
    start, end = ROW * i + 6 + BOX * 0.65, ROW * j + 6 + BOX * 0.35
    reach = RIGHT + 30 + 21.5 * abs(j - i)
    stroke = 0.7 + 0.55 * count**0.5
    path = f"M{RIGHT} {start:.1f} C{reach:.1f} {start:.1f} {reach:.1f} {end:.1f} {RIGHT + 7} {end:.1f}"
    head = f"M{RIGHT} {end:.1f} l9 -4 v8 z"
    kind = "arc" if j > i else "arc upward"
    return (
        f'<g class="{kind}"><path d="{path}" fill="none" stroke-width="{stroke:.2f}"/>'
        f'<path class="head" d="{head}"/><title>{count} imports</title></g>'
    )


def table(layers: list[str], edges: Counter[tuple[str, str]]) -> str:
    """Return a table with one line per package: what it is, its size, and which packages it imports."""
    lines = ["| package | what it is | files | lines | imports from |", "|---|---|--:|--:|---|"]
    for name in layers:
        below = [other for other in layers if edges[name, other]]
        what = about(name).replace("|", "\\|")
        lines.append(f"| `{name}` | {what} | {len(files_of(name))} | {lines_of(name):,} | {', '.join(below) or '—'} |")
    return "\n".join(lines) + "\n"
