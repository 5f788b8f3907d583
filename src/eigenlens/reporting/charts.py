"""Charts as plain data under the names of web/src/report.ts; the page decides how to draw them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.reporting.packing import EncodedNames, RowNumbers, pixels
from eigenlens.reporting.page import pack_numbers

Chart = dict[str, Any]
"""One chart: JSON values under the names of report.ts."""


def marks(
    title: str, *layers: Chart, about: str = "", x: Chart | None = None, y: Chart | None = None, **more: Any
) -> Chart:
    """Return a chart of layers on common axes; x and y give label, type ("band" for names) and domain."""
    return {"kind": "marks", "title": title, "about": about, "marks": list(layers), "x": x or {}, "y": y or {}, **more}


def layer(kind: str, label: str = "", *, colour: str | None = None, dash: bool = False, **data: Any) -> Chart:
    """Return one layer, a "bar", "line", "dot", "band", …, with columns of equal length, numbers or names.

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
    """Return numbers packed for the page, and names as text or as codes."""
    if isinstance(values, EncodedNames):
        return values
    array = values if isinstance(values, np.ndarray) else np.asarray(list(values))
    return pack_numbers(array) if array.dtype.kind in "fiub" else [str(value) for value in array.tolist()]


def column(name: str, values: Any) -> Chart:
    """Return a named column of a table: numbers, or text with None for a missing value."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return {"name": name, "kind": "number", "values": pack_numbers(array)}
    texts = [None if value is None else str(value) for value in array.tolist()]
    return {"name": name, "kind": "text", "values": texts}


def table_chart(title: str, columns: dict[str, Any], about: str = "") -> Chart:
    """Return a table of named columns."""
    return {"kind": "table", "title": title, "about": about, "columns": [column(*item) for item in columns.items()]}


def points(title: str, x: Array, y: Array, xlabel: str, ylabel: str, about: str = "", **more: Any) -> Chart:
    """Return a scatter plot of the rows, linked with other charts; more: arrows, ellipses, lines, equal, density."""
    found = {"kind": "rows", "title": title, "about": about, "xlabel": xlabel, "ylabel": ylabel}
    places = (RowNumbers(np.asarray(values, dtype=np.float64)) for values in (x, y))
    return found | dict(zip(("x", "y"), places, strict=True)) | more


def heat(
    title: str, values: Array, rows: Sequence[str], columns: Sequence[str], *, what: str, about: str = "",
    texts: Sequence[str] | None = None, x: str = "", y: str = "", top: float | None = None,
) -> Chart:  # fmt: skip
    """Return a matrix (r, c) as coloured cells; the colours diverge about 0 if it has both signs or `top` is given.

    texts: (r · c,) texts on the cells. top: the largest value of a scale from −top to top.
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
    title: str, shown_images: Iterable[tuple[str, Array]], shape: tuple[int, int], columns: int, like: Array
) -> Chart:
    """Return rows (h · w,) as images of h × w pixels with labels, on one scale from the min to the max of `like`."""
    seen = np.asarray(like)[np.isfinite(like)]
    shown = [{"label": label, "pixels": pixels(values)} for label, values in shown_images]
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
    """Return a slider: the same charts for several values of a parameter. steps: (value, charts)."""
    found = [{"value": value, "charts": charts} for value, charts in steps]
    return {"kind": "frames", "title": title, "label": label, "start": start, "frames": found} | more


def facts(title: str, pairs: Iterable[tuple[str, Any]] = (), **more: Any) -> Chart:
    """Return a text block: facts by name, and paragraphs, code and warnings."""
    return {"kind": "text", "title": title, "facts": [[name, str(value)] for name, value in pairs]} | more


def note_rows_outside(count: int, way: str = "") -> str:
    """Return a sentence on rows outside the plotted range, and how to see them; "" if there are none.

    >>> note_rows_outside(1)
    ' 1 row lies outside the plotted range.'
    """
    words = "1 row lies" if count == 1 else f"{count:,} rows lie"
    return f" {words} outside the plotted range{way}." if count else ""


def likelihood_path_chart(path: Array) -> list[Chart]:
    """Return the log-likelihood after each EM step as a chart; no chart for a single step."""
    if len(path) < 2:
        return []
    x, y = np.arange(1, len(path) + 1), path - path[-1]
    y = np.where(
        np.abs(y) > 1e-13 * abs(path[-1]), y, 0.0
    )  # differences in the last digits are rounding, not a decrease
    layers = layer("line", x=x, y=y, colour="#0072b2"), layer("dot", x=x, y=y, colour="#0072b2")
    about = f"The log-likelihood after each step, less the last, {path[-1]:.7g}; it never falls."
    axes: dict[str, Chart] = {"x": {"label": "step"}, "y": {"label": "log-likelihood, less the last"}}
    return [marks("Likelihood path", *layers, about=about, **axes)]
