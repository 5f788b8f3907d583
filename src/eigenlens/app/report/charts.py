"""Charts as plain data, in the words of web/src/report.ts: what the page draws, and nothing of how."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eigenlens.app.page import packed
from eigenlens.arrays import Array

__all__ = ["Chart", "cells", "column", "facts", "frames", "heat", "images", "layer", "marks", "points", "table"]

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
    """Numbers packed, names as text."""
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
    return found | {"x": packed(x, quantised=True), "y": packed(y, quantised=True)} | more


def heat(
    title: str, values: Array, rows: Sequence[str], columns: Sequence[str], *, what: str, about: str = ""
) -> Chart:
    """A matrix (r, c) as coloured cells: diverging about 0 if it has both signs."""
    names = (
        np.repeat(np.asarray(rows, dtype=object), len(columns)),
        np.tile(np.asarray(columns, dtype=object), len(rows)),
    )
    largest = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    both = bool(np.nanmin(values, initial=0.0) < 0.0)
    colour = {
        "scheme": "diverging" if both else "sequential",
        "label": what,
        "domain": [-largest if both else 0.0, largest],
    }
    cell = layer("cell", x=names[1], y=names[0], fill=np.ravel(values))
    height = int(np.clip(22 * len(rows) + 90, 200, 1200))
    return marks(title, cell, about=about, x={"type": "band"}, y={"type": "band"}, colour=colour, height=height)


def images(title: str, pictures: dict[str, Array], shape: tuple[int, int], columns: int) -> Chart:
    """Rows (h · w,) as pictures of h × w pixels, with their labels."""
    shown = [{"label": label, "pixels": packed(values)} for label, values in pictures.items()]
    return {
        "kind": "images",
        "title": title,
        "height": shape[0],
        "width": shape[1],
        "columns": columns,
        "images": shown,
    }


def frames(title: str, label: str, steps: Iterable[tuple[str, list[Chart]]], *, start: int = 0, **more: Any) -> Chart:
    """The same charts for several values of something: a slider. steps: (value, charts)."""
    found = [{"value": value, "charts": charts} for value, charts in steps]
    return {"kind": "frames", "title": title, "label": label, "start": start, "frames": found} | more


def facts(title: str, pairs: Iterable[tuple[str, Any]] = (), **more: Any) -> Chart:
    """Words: facts by name, and paragraphs, code and warnings."""
    return {"kind": "text", "title": title, "facts": [[name, str(value)] for name, value in pairs]} | more
