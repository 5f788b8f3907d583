"""A strip plot: rows on one component, a strip for each category."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.plot import _style
from eigenlens.plot._labels import LabelPlacer
from eigenlens.plot._points import check_color, draw_points
from eigenlens.tables.ellipses import group_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.tables.values import ScoreTable


MAX_LINE_ROWS = 30
"""Up to this many rows lie on one line; more are spread across the strip, the more the denser they are."""

STRIP_HALF_WIDTH = 0.36
"""How far from the middle of its strip a row may lie, in distances between strips."""

GOLDEN_SHARE = 0.5 * (np.sqrt(5.0) - 1.0)
"""Multiples of this, without their whole parts, are spread evenly over (0, 1), however many there are."""


def draw_strip(table: ScoreTable, color: Any, ax: Axes | None) -> Axes:
    """Draw the scores (n, 1) of rows along one axis; categories have a strip each, the first on top."""
    colours = check_color(color, len(table.values))
    categories = group_names(colours)
    ax = _style.new_axes(ax, (6.0, 1.5 + 0.55 * max(1, len(categories))))
    _style.style_axes(ax, "x")
    ax.spines["left"].set_visible(False)
    x, middles = table.values[:, 0], _middles(colours, categories)
    points = np.column_stack([x, middles + _spread(x, middles)])
    ax.axvline(0.0, color=_style.muted_color(), linewidth=0.6, zorder=1)
    draw_points(ax, points, colours)
    key = ax.get_legend()
    if key is not None:  # the strips have their names beside them
        key.remove()
    _style.name_ticks(ax, "y", range(len(categories)), [str(name) for name in categories])
    ax.tick_params(axis="y", length=0)
    ax.set(xlabel=table.axis_labels[0], ylim=(max(len(categories), 1) - 0.45, -0.55))
    ax.margins(x=0.08)
    wanted = LabelPlacer(ax)
    if table.labels is not None:
        wanted.want(points, table.labels, _style.text_color())
        wanted.keep_clear(points[:2000])
    _style.write_note(ax, " ")
    missing = wanted.draw()
    _style.write_note(ax, f"{missing} label{'s' if missing > 1 else ''} without room left out" if missing else "")
    return ax


def _middles(colours: str | Array, categories: list[Any]) -> Array | float:
    """Return the middle of each row's strip (n,)."""
    return np.searchsorted(categories, colours).astype(np.float64) if categories else 0.0


def _spread(x: Array, middles: Array | float) -> Array:
    """Return the distances (n,) of the rows from the middles of their strips: 0 for a few, else wide where dense."""
    found = np.zeros(len(x))
    strips = np.broadcast_to(middles, x.shape)
    for strip in np.unique(strips):
        own = np.flatnonzero(strips == strip)
        if own.size <= MAX_LINE_ROWS:
            continue
        counts, edges = np.histogram(x[own], bins="auto")
        height = counts / counts.max()
        local = np.interp(x[own], 0.5 * (edges[:-1] + edges[1:]), height)
        order = own[np.argsort(x[own], kind="stable")]
        share = np.empty(len(x))
        share[order] = (GOLDEN_SHARE * np.arange(own.size)) % 1.0 - 0.5
        found[own] = 2.0 * STRIP_HALF_WIDTH * share[own] * local
    return found
