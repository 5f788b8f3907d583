"""Classifiers in the plane of two columns: regions, boundaries, rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes import tables as class_tables
from eigenlens.plot._points import MAX_VECTOR_POINTS
from eigenlens.plot._style import (
    MARKERS,
    PALETTE,
    as_plain_text,
    category_color,
    draw_legend,
    muted_color,
    name_axes,
    new_axes,
    page_color,
    shorten_names,
    small_size,
    style_axes,
    text_color,
    write_note,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.bayes.tables import DecisionTable

__all__ = ["decision"]

MIN_OPACITY, MAX_OPACITY = 0.06, 0.38
"""How much of a class's colour its region has where the classes are equally likely, and where it is certain."""

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
    """The regions of a classifier in the plane of two columns, the stronger coloured the surer it is there.

    Args:
        model: a fitted classifier with predict_proba. X: rows; they set the range. y: their classes, to draw them.
        features: two columns, by number or name; the first two if None. Other columns are left out of the rule where
            the model can do without them, else held at their medians; a note says which.
        grid: places along each axis. ax: where to draw; a new figure if None.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0, 0.0], [1.0, 0.5], [4.0, 3.0], [5.0, 4.0]]), ["a", "a", "b", "b"]
    >>> decision(GaussianNB().fit(X, y), X, y, features=[1, 0]).get_xlabel()
    '1'
    """
    table = class_tables.decision(model, X, y, features=features, grid=grid)
    ax = new_axes(ax, (6.0, 4.8))
    style_axes(ax, None)
    extent = (table.x[0], table.x[-1], table.y[0], table.y[-1])
    ax.imshow(_shades(table), origin="lower", extent=extent, aspect="auto", interpolation="bilinear", zorder=0)
    _draw_boundaries(ax, table)
    _draw_rows(ax, table)
    if len(table.classes) > len(PALETTE):
        _draw_names(ax, table)
    name_axes(ax, *table.names)
    write_note(ax, table.others, "rows spread about their levels" if any(table.steps) else "")
    return ax


def _shades(table: DecisionTable) -> Array:
    """Colours (q, p, 4): that of the likeliest class, the more opaque the likelier than chance it is."""
    from matplotlib.colors import to_rgb

    C = len(table.classes)
    colors = np.array([to_rgb(category_color(c)) for c in range(C)])
    top = np.clip(table.proba.max(axis=2), 1.0 / C, 1.0)
    strength = MIN_OPACITY + (MAX_OPACITY - MIN_OPACITY) * (top - 1.0 / C) / (1.0 - 1.0 / C)
    return np.concatenate([colors[table.regions], strength[:, :, None]], axis=2)


def _draw_boundaries(ax: Axes, table: DecisionTable) -> None:
    """Where a class is as likely as the likeliest other, with lines where it has 0.9 of the probability of the two."""
    two = len(table.classes) == 2
    for c in range(1 if two else len(table.classes)):
        if not np.any(table.regions == c) or np.all(table.regions == c):
            continue
        ax.contour(table.x, table.y, table.against_next(c), levels=[0.5], colors=text_color(), linewidths=1.1, zorder=1)


def _draw_rows(ax: Axes, table: DecisionTable) -> None:
    n = len(table.points)
    style: dict[str, Any] = {
        "s": float(np.clip(237.0 / np.sqrt(n), 2.0, 30.0)), "linewidths": 0.4 if n < MAX_VECTOR_POINTS else 0.0,
        "edgecolors": page_color(), "rasterized": n >= MAX_VECTOR_POINTS, "zorder": 2,
    }  # fmt: skip
    points, handles = _spread(table), []
    for c in range(len(table.classes)):
        look: dict[str, Any] = {"color": category_color(c), "marker": MARKERS[c % len(MARKERS)]}
        mine = points[table.codes == c] if table.codes is not None else points[:0]
        handles.append(ax.scatter(mine[:, 0], mine[:, 1], **look, **style))
    if table.codes is None:
        ax.scatter(points[:, 0], points[:, 1], color=muted_color(), **style)
    names = list(table.classes)
    if table.codes is not None and np.any(table.codes < 0):
        odd = points[table.codes < 0]
        handles.append(ax.scatter(odd[:, 0], odd[:, 1], color=muted_color(), marker="x", s=style["s"], zorder=2))
        names.append("not known")
    if len(names) <= MAX_CLASS_KEYS:
        made = draw_legend(
            ax, handles, shorten_names(names, MAX_REGION_LETTERS), loc="upper left", bbox_to_anchor=(1.0, 1.0)
        )
        for handle in made.legend_handles:
            handle.set(sizes=[26.0], alpha=1.0)  # type: ignore[union-attr]
    ax.set_xlim(table.x[0], table.x[-1])
    ax.set_ylim(table.y[0], table.y[-1])


def _spread(table: DecisionTable) -> Array:
    """The rows (n, 2), those on levels moved a little, as they would hide one another."""
    if not any(table.steps):
        return table.points
    moves = np.random.default_rng(0).uniform(-0.3, 0.3, table.points.shape)
    return np.asarray(table.points + moves * np.array(table.steps))


def _draw_names(ax: Axes, table: DecisionTable) -> None:
    """The name of each class amid its region, where there are more classes than colours; the largest regions first."""
    from matplotlib.patheffects import withStroke

    names, size = shorten_names(table.classes, 12), small_size(1.25 if len(table.classes) <= MAX_CLASS_KEYS else 1.0)
    area = np.bincount(table.regions.ravel(), minlength=len(names))
    inches, taken = np.asarray(ax.bbox.size) / ax.figure.dpi, list[Array]()
    for c in np.argsort(-area, kind="stable")[: np.count_nonzero(area)]:
        half = 0.5 * np.array([0.6 * len(names[c]), 1.1]) * size / 72.0 / inches
        middle = np.clip(_amid(table, int(c)), half, 1.0 - half)
        if any(np.all(np.abs(middle - other) < half + extent) for other, extent in taken):
            continue  # its colour and marks must do
        taken.append(np.array([middle, half]))
        style: dict[str, Any] = {"ha": "center", "va": "center", "weight": "bold", "fontsize": size, "zorder": 4}
        text = ax.text(*_in_plane(table, middle), names[c], color=text_color(), **style)
        as_plain_text(text).set_path_effects([withStroke(linewidth=3.0, foreground=page_color())])


def _amid(table: DecisionTable, c: int) -> Array:
    """The place (2,) of a region that is nearest to its middle, in shares of the plane; surer places count more."""
    up, across = np.nonzero(table.regions == c)
    places = np.column_stack([across, up]) / [len(table.x) - 1.0, len(table.y) - 1.0]
    centre = np.average(places, axis=0, weights=table.proba[up, across, c])
    return np.asarray(places[np.argmin(np.sum((places - centre) ** 2, axis=1))])


def _in_plane(table: DecisionTable, shares: Array) -> tuple[float, float]:
    x, y = (ends[0] + share * np.ptp(ends) for ends, share in zip((table.x, table.y), shares, strict=True))
    return float(x), float(y)
