"""A small report by hand, with every kind of chart and names that try to be markup."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np

from eigenlens.reporting.page import render_page

EVIL = "<script>window.hit=1</script>"
IMAGE = "<img src=x onerror=window.hit=1>"

N = 60
PLACE = np.arange(N)
ACROSS, UP = (PLACE % 10).astype(float), (PLACE // 10).astype(float)
"""Chart "Grid": ten points across, six up."""
TURNED, DEEP = np.cos(PLACE * 2.399963) * np.sqrt(PLACE + 1.0), np.sin(PLACE * 2.399963) * np.sqrt(PLACE + 1.0)
"""Chart "Spiral": the same rows elsewhere."""
HEIGHTS = np.where(PLACE == 7, np.nan, 150.0 + PLACE)
GROUPS = np.array(["first", "second", EVIL])[PLACE % 3]
IDS = [f"person {i:02d}" for i in range(N - 1)] + [EVIL]
BARS, SHARES = ["a", "b", IMAGE], [3.0, 2.5, 0.125]


def listed(values) -> list[float | None]:
    return [None if np.isnan(v) else float(v) for v in values]


def floats(values) -> dict[str, str]:
    return {"f32": base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()}


def points(title, x, y, **more):
    labels = {"xlabel": "x of it", "ylabel": "y of it"}
    return {"kind": "rows", "title": title, "x": listed(x), "y": listed(y), **labels, **more}


def bars(title, values):
    data = {"x": BARS, "y": values}
    return {"kind": "marks", "title": title, "marks": [{"type": "bar", "label": "share", "data": data}],
            "x": {"type": "band", "label": "name"}, "y": {"label": "share"}}  # fmt: skip


def report() -> dict:
    rows = {
        "total": N, "shown": N, "note": "All 60 rows are shown.", "ids": IDS,
        "columns": [
            {"name": "group", "kind": "text", "values": GROUPS.tolist()},
            {"name": "height", "kind": "number", "values": listed(HEIGHTS)},
            {"name": EVIL, "kind": "number", "values": listed(ACROSS)},
        ],
    }  # fmt: skip
    frames = [{"value": f"step {k}", "charts": [bars("", [s * k for s in SHARES])]} for k in (1, 2, 3)]
    turns = [
        {"value": "x", "charts": [points("straight", ACROSS, UP)]},
        {"value": "y", "charts": [points("turned", UP, ACROSS)]},
    ]
    images = [{"label": f"{IMAGE} {k}", "pixels": listed(np.arange(4.0) * k)} for k in (1, 2)]
    first = [
        {"kind": "text", "title": "Words", "facts": [["rows", "60"], [EVIL, IMAGE]], "warnings": [f"mind {EVIL}"],
         "code": [{"label": "Python", "text": f"print({EVIL!r})"}]},
        {"kind": "table", "title": "A table", "columns": [{"name": IMAGE, "kind": "text", "values": [EVIL]}]},
    ]  # fmt: skip
    second = [
        points("Grid", ACROSS, UP, arrows=[{"at": [4.0, 3.0], "label": EVIL}]),
        points("Spiral", TURNED, DEEP, equal=True),
        bars("Bars", SHARES),
        {"kind": "frames", "title": "Steps", "label": "step", "start": 0, "frames": frames,
         "marks": [{"at": 2, "label": "last"}]},
        {"kind": "frames", "title": "Turning", "label": "way", "start": 0, "frames": turns},
        {"kind": "images", "title": "Pictures", "width": 2, "height": 2, "columns": 2, "images": images},
    ]  # fmt: skip
    third = [bars("More", SHARES)]
    pages = [("overview", "Overview", first), ("page-points", "Points", second), ("page-more", EVIL, third)]
    return {
        "title": f"Report of {EVIL}", "subtitle": "60 rows", "version": "0", "rows": rows,
        "pages": [{"id": id, "title": title, "charts": charts} for id, title, charts in pages],
    }  # fmt: skip


def many(n: int) -> dict:
    """A report of two scatters of n rows, packed as many rows are."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, n))
    rows = {"total": n, "shown": n, "note": "", "columns": [{"name": "x", "kind": "number", "values": floats(x)}]}
    places = {"Cloud": (x, y), "Turned": (y, -x)}
    charts = [points(title, [], []) | {"x": floats(a), "y": floats(b)} for title, (a, b) in places.items()]
    pages = [{"id": "all", "title": "All", "charts": charts}]
    return {"title": "Many", "subtitle": "", "version": "0", "rows": rows, "pages": pages}


def written(folder: Path, found: dict | None = None) -> Path:
    path = folder / "report.html"
    path.write_text(render_page(found or report()), encoding="utf-8")
    return path
