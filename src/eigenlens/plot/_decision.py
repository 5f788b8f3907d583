"""Plots of classifiers over two columns: regions, boundaries, rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes import tables as class_tables
from eigenlens.plot import _style
from eigenlens.plot._points import MAX_VECTOR_POINTS
from eigenlens.plot._style import MARKERS, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.bayes.tables import DecisionTable


MIN_OPACITY, MAX_OPACITY = 0.06, 0.38
"""The opacity of a region where the classes are equally likely, and where its class is certain."""

MAX_REGION_LETTERS = 28
"""Characters of the name of a class."""

MAX_CLASS_KEYS = 24
"""With more classes than this, regions have names and no key."""


def decision(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[Any] | None = None,
    grid: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Draw the regions of a classifier in the plane of two columns, more opaque where it is more certain.

    Args:
        model: a fitted classifier with predict_proba. X: rows; they set the range. y: their classes, to draw them.
        features: two columns, by number or name; the first two if None. Other columns are left out of the rule where
            the model can do without them, else fixed at their medians; a note names which.
        grid: points along each axis. ax: where to draw; a new figure if None.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.5], [4.0, 3.0], [5.0, 4.0]]), ["a", "a", "b", "b"]
    >>> decision(GaussianNB().fit(X, y), X, y, features=[1, 0]).get_xlabel()
    '1'
    """
    table = class_tables.decision(model, X, y, features=features, grid=grid)
    ax = _style.new_axes(ax, (6.0, 4.8))
    _style.style_axes(ax, None)
    extent = (table.x[0], table.x[-1], table.y[0], table.y[-1])
    ax.imshow(_shades(table), origin="lower", extent=extent, aspect="auto", interpolation="bilinear", zorder=0)
    _draw_boundaries(ax, table)
    _draw_rows(ax, table)
    if len(table.classes) > len(PALETTE):
        _draw_names(ax, table)
    _style.name_axes(ax, *table.names)
    _style.write_note(ax, table.others, "rows spread about their levels" if any(table.steps) else "")
    return ax


def _shades(table: DecisionTable) -> Array:
    """Return colours (q, p, 4): that of the most likely class, more opaque where it is more likely."""
    from matplotlib.colors import to_rgb

    C = len(table.classes)
    colors = np.array([to_rgb(_style.category_color(c)) for c in range(C)])
    top = np.clip(table.proba.max(axis=2), 1.0 / C, 1.0)
    strength = MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * (top - 1.0 / C) / (1.0 - 1.0 / C)
    return np.concatenate([colors[table.regions], strength[:, :, None]], axis=2)


def _draw_boundaries(ax: Axes, table: DecisionTable) -> None:
    """Draw lines where a class is as likely as the most likely other."""
    two = len(table.classes) == 2
    for c in range(1 if two else len(table.classes)):
        if not np.any(table.regions == c) or np.all(table.regions == c):
            continue
        ax.contour(
            table.x, table.y, table.against_next(c), levels=[0.5], colors=_style.text_color(), linewidths=1.1, zorder=1
        )


def _draw_rows(ax: Axes, table: DecisionTable) -> None:
    n = len(table.points)
    style: dict[str, Any] = {
        "s": float(np.clip(237.0 / np.sqrt(n), 2.0, 30.0)), "linewidths": 0.4 if n < MAX_VECTOR_POINTS else 0.0,
        "edgecolors": _style.page_color(), "rasterized": n >= MAX_VECTOR_POINTS, "zorder": 2,
    }  # fmt: skip
    points, handles = _spread(table), []
    for c in range(len(table.classes)):
        look: dict[str, Any] = {"color": _style.category_color(c), "marker": MARKERS[c % len(MARKERS)]}
        mine = points[table.codes == c] if table.codes is not None else points[:0]
        handles.append(ax.scatter(mine[:, 0], mine[:, 1], **look, **style))
    if table.codes is None:
        ax.scatter(points[:, 0], points[:, 1], color=_style.muted_color(), **style)
    names = list(table.classes)
    if table.codes is not None and np.any(table.codes < 0):
        odd = points[table.codes < 0]
        handles.append(ax.scatter(odd[:, 0], odd[:, 1], color=_style.muted_color(), marker="x", s=style["s"], zorder=2))
        names.append("not known")
    if len(names) <= MAX_CLASS_KEYS:
        made = _style.draw_legend(
            ax, handles, _style.shorten_names(names, MAX_REGION_LETTERS), loc="upper left", bbox_to_anchor=(1.0, 1.0)
        )
        for handle in made.legend_handles:
            handle.set(sizes=[26.0], alpha=1.0)  # type: ignore[union-attr]
    ax.set_xlim(table.x[0], table.x[-1])
    ax.set_ylim(table.y[0], table.y[-1])


def _spread(table: DecisionTable) -> Array:
    """Return the rows (n, 2), those of few distinct values jittered, as they would hide one another."""
    if not any(table.steps):
        return table.points
    moves = np.random.default_rng(0).uniform(-0.3, 0.3, table.points.shape)
    return np.asarray(table.points + moves * np.array(table.steps))


def _draw_names(ax: Axes, table: DecisionTable) -> None:
    """Write the names of classes into their regions, where there are more classes than colours; largest first."""
    from matplotlib.patheffects import withStroke

    names, size = (
        _style.shorten_names(table.classes, 12),
        _style.small_size(1.25 if len(table.classes) <= MAX_CLASS_KEYS else 1.0),
    )
    area = np.bincount(table.regions.ravel(), minlength=len(names))
    inches, taken = np.asarray(ax.bbox.size) / ax.figure.dpi, list[Array]()
    for c in np.argsort(-area, kind="stable")[: np.count_nonzero(area)]:
        half = 0.5 * np.array([0.6 * len(names[c]), 1.1]) * size / 72.0 / inches
        middle = np.clip(_amid(table, int(c)), half, 1.0 - half)
        if any(np.all(np.abs(middle - other) < half + extent) for other, extent in taken):
            continue  # no room: its colour and markers identify it
        taken.append(np.array([middle, half]))
        style: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "fontsize": size, "zorder": 4}
        text = ax.text(*_in_plane(table, middle), names[c], color=_style.text_color(), **style)
        _style.as_plain_text(text).set_path_effects([withStroke(linewidth=3.0, foreground=_style.page_color())])


def _amid(table: DecisionTable, c: int) -> Array:
    """Return the point (2,) of a region nearest to its centre, weighted by certainty, in shares of the plane."""
    up, across = np.nonzero(table.regions == c)
    places = np.column_stack([across, up]) / [len(table.x) - 1.0, len(table.y) - 1.0]
    centre = np.average(places, axis=0, weights=table.proba[up, across, c])
    return np.asarray(places[np.argmin(np.sum((places - centre) ** 2, axis=1))])


def _in_plane(table: DecisionTable, shares: Array) -> tuple[float, float]:
    x, y = (ends[0] + share * np.ptp(ends) for ends, share in zip((table.x, table.y), shares, strict=True))
    return float(x), float(y)
