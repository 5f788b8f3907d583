"""Charts and pages of them as plain data under the names of web/src/report.ts, which decides how to draw them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.reporting.packing import RowNumbers, pixels
from eigenlens.reporting.page import FINE, pack_numbers
from eigenlens.tables.figures import format_rows

Chart = dict[str, Any]
"""One chart: JSON values under the names of report.ts."""


COLOURS = {"blue": "#3b8fc4", "grey": "#888888", "orange": "#d55e00"}
"""Colours of the model's curve, of what it is compared with, and of what stands out."""


def marks(title: str, *layers: Chart, about: str = "", x: str | Chart = "", y: str | Chart = "", **more: Any) -> Chart:
    """Return a chart of layers on common axes, whose labels are x and y; an axis with a domain is {label, domain}.

    >>> marks("", layer("bar", x=["a", "b"], y=[1.0, 2.0]), y="rows")["x"]
    {'type': 'band'}
    """
    axes = {name: _axis(name, given, layers) for name, given in (("x", x), ("y", y))}
    return {"kind": "marks", "title": title, "about": about, "marks": list(layers)} | axes | more


def _axis(name: str, given: str | Chart, layers: Iterable[Chart]) -> Chart:
    """Return an axis of a chart, of bands where a layer has names along it."""
    shown = given if isinstance(given, dict) else {"label": given} if given else {}
    along = [each["data"].get(name) for each in layers]
    named = any(isinstance(values, list) and any(isinstance(value, str) for value in values) for values in along)
    return shown | ({"type": "band"} if named else {})


def layer(kind: str, label: str = "", *, colour: str | int | None = None, dash: bool = False, **data: Any) -> Chart:
    """Return one layer, a "bar", "line", "dot", "band", …, with columns of equal length, numbers or names.

    colour: one of `COLOURS`, as #rrggbb, or a place in the palette of the page, which has a light and a dark form.

    >>> layer("bar", x=["a", "b"], y=[1.0, 2.0])
    {'type': 'bar', 'data': {'x': ['a', 'b'], 'y': [1.0, 2.0]}}
    """
    found: Chart = {"type": kind, "data": {name: cells(values) for name, values in data.items()}}
    style = {"label": label or None, "colour": colour, "dash": dash or None}
    if isinstance(colour, str):
        style["colour"] = COLOURS.get(colour, colour)
    return found | {name: value for name, value in style.items() if value is not None}


def cells(values: Any) -> Any:
    """Return numbers packed for the page, and names as text with None for a missing value."""
    array = values if isinstance(values, np.ndarray) else np.asarray(list(values))
    if array.dtype.kind in "fiub":
        return pack_numbers(array)
    return [None if value is None else str(value) for value in array.tolist()]


def column(name: str, values: Any) -> Chart:
    """Return a named column of a table: numbers, or text with None for a missing value."""
    kind = "number" if np.asarray(values).dtype.kind in "fiub" else "text"
    return {"name": name, "kind": kind, "values": cells(values)}


def table_chart(title: str, columns: dict[str, Any], about: str = "") -> Chart:
    """Return a table of named columns."""
    return {"kind": "table", "title": title, "about": about, "columns": [column(*item) for item in columns.items()]}


MAX_TABLE_COLUMNS, MAX_TABLE_COMPONENTS = 2_000, 20
"""The largest numbers of columns and components in a table of their parameters."""


def component_table(title: str, weights: Array, labels: Sequence[str], means: Array, deviations: Array) -> Chart:
    """Return weights (K,), means (K, d) and standard deviations of components 0 to K − 1.

    Each column of the data has a line, so that many of them need no room across.
    """
    (K, d), shown = means.shape, slice(MAX_TABLE_COLUMNS)
    columns: dict[str, Any] = {"parameter": ["weight", *(f"mean of {label}" for label in labels[shown])]}
    for k in range(min(K, MAX_TABLE_COMPONENTS)):
        columns[f"in {k}"] = np.concatenate([weights[k : k + 1], means[k, shown]])
        columns[f"± sd in {k}"] = np.concatenate([[np.nan], deviations[k, shown]])
    about = f"The first {MAX_TABLE_COLUMNS:,} of {d:,} columns. " if d > MAX_TABLE_COLUMNS else ""
    about += f"The first {MAX_TABLE_COMPONENTS} of {K:,} components." if K > MAX_TABLE_COMPONENTS else ""
    return table_chart(title, columns, about.strip()) | {"lines": True}


def points(title: str, x: Array, y: Array, xlabel: str, ylabel: str, about: str = "", **more: Any) -> Chart:
    """Return a scatter plot of the rows, linked with other charts.

    more: equal, span, arrows, categories, ellipses, lines, priority, density, contours and regions of report.ts.
    """
    found = {"kind": "rows", "title": title, "about": about, "xlabel": xlabel, "ylabel": ylabel}
    places = (RowNumbers(np.asarray(values, dtype=np.float64)) for values in (x, y))
    return found | dict(zip(("x", "y"), places, strict=True)) | more


MAX_AXES, MAX_AXIS_BYTES = 8, 2_200_000
"""The largest number of axes that a scatter plot offers, and their largest size in bytes: four axes of 200,000 rows."""


def axes_points(
    title: str, Z: Array, labels: Sequence[str], about: str = "", *, scales: Array | None = None, **more: Any
) -> Chart:
    """Return a scatter plot of the rows on any two columns of Z (m, k), which the page lets its readers choose.

    labels: (k,) of the axes, with their shares. scales: (k,) factors of the axes: equal columns of Z in several charts
    are written once. more: as of `points`; arrows and categories have a place on every axis (see `arrow`).
    """
    if Z.shape[1] == 1:
        return plane_points(title, Z, labels, about, **more)
    count = axes_shown(*Z.shape)
    factors = [{}] * count if scales is None else [{"times": float(value)} for value in scales[:count]]
    axes = [
        {"label": labels[j], "values": RowNumbers(np.asarray(Z[:, j], dtype=np.float64))} | factors[j]
        for j in range(count)
    ]
    return {"kind": "rows", "title": title, "about": about, "axes": axes} | more


def axes_shown(m: int, k: int) -> int:
    """Return how many of k axes a scatter plot of m rows offers, at least two, so that the file stays small.

    >>> axes_shown(150, 4), axes_shown(150, 30), axes_shown(200_000, 30)
    (4, 8, 4)
    """
    size = m * (16 if m > FINE else 32) / 6.0
    return min(k, MAX_AXES, max(2, int(MAX_AXIS_BYTES / max(1.0, size))))


def arrow(label: str, place: Iterable[float], *, supplementary: bool = False) -> Chart:
    """Return a column as an arrow of a scatter plot, by its place (k,) on the axes; dashed if it is supplementary.

    >>> arrow("sugar", [0.5, 1.0], supplementary=True)
    {'label': 'sugar', 'at': [0.5, 1.0], 'dash': True}
    """
    return {"label": label, "at": [float(v) for v in place]} | ({"dash": True} if supplementary else {})


def category_point(label: str, place: Iterable[float], of: str = "") -> Chart:
    """Return a supplementary category of the column `of` as a named point of a scatter plot, by its place (k,).

    >>> category_point("red", [0.5, 1.0], "colour")
    {'label': 'red', 'at': [0.5, 1.0], 'of': 'colour'}
    """
    return {"label": label, "at": [float(v) for v in place]} | ({"of": of} if of else {})


def contour_regions(x: Array, y: Array, values: Array, levels: Mapping[str, float]) -> Chart:
    """Return the regions of a plane where values (h, w) at the nodes y (h,) and x (w,) reach a level, for `points`.

    levels: the value at the edge of each region by its name, the widest region first.
    """
    # A grid that is too coarse for the density has no level that holds a share of it.
    edges = [{"label": label, "at": float(at)} for label, at in levels.items() if np.isfinite(at)]
    return cell_box(x, y) | {"values": pack_numbers(values, fine=0), "levels": edges}


def plane_points(title: str, Z: Array, labels: Sequence[str], about: str = "", **more: Any) -> Chart:
    """Return a scatter plot of the first two columns of Z (m, k), or of its only column, at heights drawn at random."""
    if Z.shape[1] > 1:
        return points(title, Z[:, 0], Z[:, 1], labels[0], labels[1], about, **more)
    heights = np.random.default_rng(0).uniform(-1.0, 1.0, len(Z))
    words = f"{about} Height is chance, so that rows do not hide each other.".strip()
    return points(title, Z[:, 0], heights, labels[0], "", words, **more | {"equal": False})


def cell_box(x: Array, y: Array) -> Chart:
    """Return the edges and the size of a grid of cells, by the middles of its columns and rows.

    >>> cell_box(np.array([0.0, 1.0, 2.0]), np.array([0.0, 4.0]))
    {'x0': -0.5, 'x1': 2.5, 'width': 3, 'y0': -2.0, 'y1': 6.0, 'height': 2}
    """
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    return {
        "x0": float(x[0] - half[0]), "x1": float(x[-1] + half[0]), "width": len(x),
        "y0": float(y[0] - half[1]), "y1": float(y[-1] + half[1]), "height": len(y),
    }  # fmt: skip


def box_span(box: Chart) -> Chart:
    """Return the range of a plot that shows a box of cells and nothing outside it."""
    return {"x": [box["x0"], box["x1"]], "y": [box["y0"], box["y1"]]}


def histogram_layer(edges: Array, heights: Array) -> Chart:
    """Return a histogram (b,) behind a curve, as an area whose edge follows the bars."""
    corners = np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    return layer("area", "histogram", x=np.repeat(edges, 2), y=corners, colour="grey")


def heat(
    title: str, values: Array, rows: Sequence[str], columns: Sequence[str], *, what: str, about: str = "",
    texts: Sequence[str] | None = None, x: str = "", y: str = "", top: float | None = None, whole: float | None = None,
) -> Chart:  # fmt: skip
    """Return a matrix (r, c) as coloured cells; the colours diverge about 0 if it has both signs or `top` is given.

    texts: (r · c,) texts on the cells. top: the largest value of a scale from −top to top. whole: of a scale
    from 0, as 100 is of shares in percent.
    """
    largest = top or whole or float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    both = top is not None or bool(np.nanmin(values, initial=0.0) < 0.0)
    scheme = "diverging" if both else "sequential"
    colour = {"scheme": scheme, "label": what, "domain": [-largest if both else 0.0, largest]}
    words: dict[str, Any] = {} if texts is None else {"text": list(texts)}
    across, up = np.meshgrid(np.asarray(columns, dtype=object), np.asarray(rows, dtype=object))
    cell = layer("cell", x=across.ravel(), y=up.ravel(), fill=np.ravel(values), **words)
    height = int(np.clip(22 * len(rows) + 90, 200, 1200))
    return marks(title, cell, about=about, x=x, y=y, colour=colour, height=height)


MAX_HEAT_ROWS = 40
"""The largest number of columns of the table in a heat map of loadings."""


def loading_heat(
    title: str,
    values: Array,
    names: Sequence[str],
    factors: Sequence[str],
    *,
    what: str,
    about: str,
    standardised: bool,
) -> Chart:
    """Return loadings (d, k) as a heat map of the columns with the largest, in the order of the table.

    Numbers in the cells have two decimals if columns are standardised, else as many as the unit of their row needs.
    """
    chosen = np.sort(np.argsort(-np.abs(values).max(axis=1))[:MAX_HEAT_ROWS])
    about += f" The {MAX_HEAT_ROWS} columns that move most." if len(values) > MAX_HEAT_ROWS else ""
    top = float(np.abs(values).max()) or 1.0  # zero has the same colour whether or not some are negative
    shown = values[chosen]
    plain = [f"{value:.2f}" for value in (np.round(shown, 2) + 0.0).ravel()]  # no minus before a zero
    texts = plain if standardised else [text for row in format_rows(shown) for text in row]  # left out of narrow cells
    rows = [names[j] for j in chosen]
    return heat(title, shown, rows, factors, what=what, about=about, texts=texts, top=top) | {"loadings": True}


def images(
    title: str, shown_images: Iterable[tuple[str, Array]], shape: tuple[int, int], columns: int, like: Array
) -> Chart:
    """Return rows (h · w,) as images of h × w pixels with labels, on one scale from the min to the max of `like`."""
    seen = np.asarray(like)[np.isfinite(like)]
    shown = [{"label": label, "pixels": pixels(values)} for label, values in shown_images]
    shades = [float(seen.min()), float(seen.max())] if seen.size else [0.0, 1.0]
    size = {"height": shape[0], "width": shape[1], "columns": columns}
    return {"kind": "images", "title": title} | size | {"images": shown, "range": shades}


def component_images(title: str, components: Mapping[str, Array], shape: tuple[int, int], about: str = "") -> Chart:
    """Return components (h · w,) of images by name as images, each in colours that diverge about 0."""
    shown = [{"label": label, "pixels": pixels(values)} for label, values in components.items()]
    size = {"height": shape[0], "width": shape[1], "columns": min(8, len(shown))}
    return {"kind": "images", "title": title, "about": about, "scheme": "diverging"} | size | {"images": shown}


def frames(title: str, label: str, steps: Iterable[tuple[str, list[Chart]]], *, start: int = 0, **more: Any) -> Chart:
    """Return a slider: the same charts for several values of a parameter.

    steps: (value, charts). more: about; marks, {at, label} of values with a name; fitted, the step of the model.
    """
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


class PageContent(NamedTuple):
    """Charts, columns (m,) of the rows shown by name, to colour by, and warnings for the top of the page."""

    charts: list[Chart]
    columns: Mapping[str, Any]
    warnings: Sequence[str] = ()
