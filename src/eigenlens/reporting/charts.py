"""Charts as plain data, in the words of web/src/report.ts: what the page draws, and nothing of how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.reporting.packing import Coded, Places, pixels
from eigenlens.reporting.page import packed

__all__ = [
    "Chart",
    "cells",
    "climb",
    "column",
    "facts",
    "far_off",
    "frames",
    "heat",
    "images",
    "layer",
    "marks",
    "points",
    "table",
]

Chart = dict[str, Any]
"""One chart: JSON values under the names of report.ts."""


def marks(
    title: str, *layers: Chart, about: str = "", x: Chart | None = None, y: Chart | None = None, **more: Any
) -> Chart:
    """Layers of marks on common axes; x and y say label, type ("band" for names) and domain."""
    return {"kind": "marks", "title": title, "about": about, "marks": list(layers), "x": x or {}, "y": y or {}, **more}


def layer(kind: str, label: str = "", *, colour: str | None = None, dash: bool = False, **data: Any) -> Chart:
    """One layer: "bar", "line", "dot", "band", … with columns of one length, numbers or names.

    >>> layer("bar", x=["a", "b"], y=[1.0, 2.0])
    {'type': 'bar', 'data': {'x': ['a', 'b'], 'y': [1.0, 2.0]}}
    """
    found: Chart = {"type": kind, "data": {name: cells(values) for name, values in data.items()}}
    if label:
        found["label"] = label
    if colour:
        found["colour"] = colour
    return found | ({"dash": True} if dash else {})


def cells(values: Any) -> Any:
    """Numbers packed, names as text or as codes."""
    if isinstance(values, Coded):
        return values
    array = values if isinstance(values, np.ndarray) else np.asarray(list(values))
    return packed(array) if array.dtype.kind in "fiub" else [str(value) for value in array.tolist()]


def column(name: str, values: Any) -> Chart:
    """A named column of a table: numbers, or text where None is a missing entry."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return {"name": name, "kind": "number", "values": packed(array)}
    texts = [None if value is None else str(value) for value in array.tolist()]
    return {"name": name, "kind": "text", "values": texts}


def table(title: str, columns: dict[str, Any], about: str = "") -> Chart:
    """A table of named columns."""
    return {"kind": "table", "title": title, "about": about, "columns": [column(*item) for item in columns.items()]}


def points(title: str, x: Array, y: Array, xlabel: str, ylabel: str, about: str = "", **more: Any) -> Chart:
    """A point for each row shown, linked with the other charts; more: arrows, ellipses, lines, equal, density."""
    found = {"kind": "rows", "title": title, "about": about, "xlabel": xlabel, "ylabel": ylabel}
    places = (Places(np.asarray(values, dtype=np.float64)) for values in (x, y))
    return found | dict(zip(("x", "y"), places, strict=True)) | more


def heat(
    title: str, values: Array, rows: Sequence[str], columns: Sequence[str], *, what: str, about: str = "",
    texts: Sequence[str] | None = None, x: str = "", y: str = "", top: float | None = None,
) -> Chart:  # fmt: skip
    """A matrix (r, c) as coloured cells: diverging about 0 if it has both signs, or if `top` says so.

    texts: (r · c,) what stands on the cells. top: the largest value of a scale from −top to top.
    """
    names = (
        np.repeat(np.asarray(rows, dtype=object), len(columns)),
        np.tile(np.asarray(columns, dtype=object), len(rows)),
    )
    largest = top or float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    both = top is not None or bool(np.nanmin(values, initial=0.0) < 0.0)
    colour = {
        "scheme": "diverging" if both else "sequential",
        "label": what,
        "domain": [-largest if both else 0.0, largest],
    }
    words: dict[str, Any] = {} if texts is None else {"text": list(texts)}
    cell = layer("cell", x=names[1], y=names[0], fill=np.ravel(values), **words)
    height = int(np.clip(22 * len(rows) + 90, 200, 1200))
    across, up = ({"type": "band"} | ({"label": label} if label else {}) for label in (x, y))
    return marks(title, cell, about=about, x=across, y=up, colour=colour, height=height)


def images(
    title: str, pictures: Iterable[tuple[str, Array]], shape: tuple[int, int], columns: int, like: Array
) -> Chart:
    """Rows (h · w,) as pictures of h × w pixels, with their labels; one scale for all, from the least to the greatest
    entry of `like`."""
    seen = np.asarray(like)[np.isfinite(like)]
    shown = [{"label": label, "pixels": pixels(values)} for label, values in pictures]
    return {
        "kind": "images",
        "title": title,
        "height": shape[0],
        "width": shape[1],
        "columns": columns,
        "images": shown,
        "range": [float(seen.min()), float(seen.max())] if seen.size else [0.0, 1.0],
    }


def frames(title: str, label: str, steps: Iterable[tuple[str, list[Chart]]], *, start: int = 0, **more: Any) -> Chart:
    """The same charts for several values of something: a slider. steps: (value, charts)."""
    found = [{"value": value, "charts": charts} for value, charts in steps]
    return {"kind": "frames", "title": title, "label": label, "start": start, "frames": found} | more


def facts(title: str, pairs: Iterable[tuple[str, Any]] = (), **more: Any) -> Chart:
    """Words: facts by name, and paragraphs, code and warnings."""
    return {"kind": "text", "title": title, "facts": [[name, str(value)] for name, value in pairs]} | more


def far_off(count: int, way: str = "") -> str:
    """A sentence on rows that a picture does not reach, with the way to them; "" where there are none.

    >>> far_off(1)
    ' 1 row lies far off, and is not to be seen here.'
    """
    words = "1 row lies far off, and is" if count == 1 else f"{count:,} rows lie far off, and are"
    return f" {words} not to be seen here{way}." if count else ""


def climb(path: Array) -> list[Chart]:
    """The log-likelihood after each step; none where there was one step only."""
    if len(path) < 2:
        return []
    x, y = np.arange(1, len(path) + 1), path - path[-1]
    y = np.where(np.abs(y) > 1e-13 * abs(path[-1]), y, 0.0)  # the last digits are rounding, no step down
    layers = layer("line", x=x, y=y, colour="#0072b2"), layer("dot", x=x, y=y, colour="#0072b2")
    about = f"The log-likelihood after each step, less the last, {path[-1]:.7g}; it never falls."
    axes: dict[str, Chart] = {"x": {"label": "step"}, "y": {"label": "log-likelihood, less the last"}}
    return [marks("Likelihood path", *layers, about=about, **axes)]
