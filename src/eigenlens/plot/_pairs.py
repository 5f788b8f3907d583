"""A matrix of scatter plots of all pairs of columns, with histograms on its diagonal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.coerce import as_source
from eigenlens.densities.bins import range_edges
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._points import check_color, draw_points, draw_value_scale
from eigenlens.tables.ellipses import group_names
from eigenlens.tables.names import feature_names, shorten_names
from eigenlens.tables.rows import first_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_PAIR_COLUMNS = 8
"""The most columns that are shown unless more are asked for: panels of more cannot be read."""

PANEL_SPACE = 0.12
"""The space between two panels, in distances of their middles."""

MAX_PANEL_LETTERS = 14
"""Letters of a column's name beside a panel."""


@checked_plot()
def pairs(
    X: Any,
    columns: Sequence[int | str] | None = None,
    *,
    names: Iterable[str] | None = None,
    color: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every pair of columns of X against each other, and a histogram of each column on the diagonal.

    Args:
        X: rows (n, d) of any kind; a missing entry leaves its row out of the panels of that column.
        columns: by number, or by name; the first 8 if None.
        names: column names, if X has none. color: a colour; or one value per row: categories get a legend.
        ax: where to draw; a new figure if None.

    Returns:
        The Axes, whose `child_axes` are the panels, line by line.

    >>> from eigenlens import datasets, plot
    >>> iris = datasets.load("iris")
    >>> panels = plot.pairs(iris.frame(), columns=[0, 2, 3], color=iris.labels).child_axes
    >>> len(panels), panels[6].get_xlabel(), panels[6].get_ylabel()
    (9, 'sepal length', 'petal width')
    """
    source, rows = as_source(X), first_rows(X)
    known = feature_names(None, rows.shape[1], source.names if names is None else names)
    chosen = _check_columns(columns, known)
    values, labels = rows[:, chosen], shorten_names([known[j] for j in chosen], MAX_PANEL_LETTERS)
    colours = check_color(color, len(values))
    side = float(np.clip(1.6 * len(chosen), 4.0, 12.0))
    ax = _style.new_axes(ax, (side, side))
    panels = _panels(ax, len(chosen))
    by_value = [_draw_panel(panels[i, j], values, i, j, colours) for i, j in np.ndindex(panels.shape)]
    _name_panels(panels, labels)
    if len(by_value) > 1 and by_value[1] is not None:
        draw_value_scale(ax, by_value[1])
    hidden = columns is None and len(known) > len(chosen)
    _style.write_note(ax, f"the first {len(chosen)} of {len(known)} columns" if hidden else "")
    _move_legend(ax, panels, 1.04 if hidden else 1.0)
    return ax


def _check_columns(columns: Sequence[int | str] | None, names: tuple[str, ...]) -> list[int]:
    """Return the positions of the columns to show."""
    if columns is None:
        return list(range(min(len(names), MAX_PAIR_COLUMNS)))
    return checks.column_numbers("columns", columns, len(names), names, low=1, high=len(names))


def _panels(ax: Axes, m: int) -> Any:
    """Return m × m panels inside the axes, whose own frame is hidden."""
    ax.set_axis_off()
    step, room = 1.0 / m, PANEL_SPACE / m
    made = [
        ax.inset_axes((j * step, 1.0 - (i + 1) * step, step - room, step - room)) for i in range(m) for j in range(m)
    ]
    return np.array(made, dtype=object).reshape(m, m)


def _draw_panel(ax: Axes, values: Array, i: int, j: int, colours: str | Array) -> Any:
    """Draw one panel, and return what was drawn by value, if anything."""
    _style.style_axes(ax, None)
    if i != j:
        return draw_points(ax, values[:, [j, i]], colours, scale=False)
    _histogram(ax, values[:, i], colours)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    return None


def _histogram(ax: Axes, x: Array, colours: str | Array) -> None:
    """Draw a histogram of a column, its categories on top of each other."""
    names, finite = group_names(colours), np.isfinite(x)
    groups = [finite & (colours == name) for name in names] or [finite]
    shades = [_style.category_color(g) for g in range(len(names))] or _plain(colours)
    edges = range_edges(x[finite], "auto") if finite.any() else np.array([0.0, 1.0])
    look: Any = {"stacked": True, "linewidth": 0.5, "edgecolor": _style.page_color()}
    ax.hist([x[group] for group in groups], bins=edges.tolist(), color=shades, **look)


def _plain(colours: str | Array) -> list[str]:
    return [colours if isinstance(colours, str) else _style.muted_color()]


def _name_panels(panels: Any, names: Sequence[str]) -> None:
    """Write the names of the columns along the left and the bottom, and numbers only there.

    Panels of a column share their x axis, and those of a line their y axis, except on the diagonal: its heights are
    counts.
    """
    m = len(names)
    for i, j in np.ndindex(panels.shape):
        if i != j:
            panels[i, j].sharey(panels[i, int(i == 0)])
        panels[i, j].sharex(panels[0, j])
        panels[i, j].tick_params(labelbottom=i == m - 1, labelleft=j == 0 and i != 0)
    for i, name in enumerate(names):
        _style.name_axes(panels[i, 0], y=name)
        _style.name_axes(panels[m - 1, i], x=name)


def _move_legend(ax: Axes, panels: Any, top: float) -> None:
    """Keep one legend of all panels, above them."""
    made = [panel.get_legend() for panel in panels.flat if panel.get_legend() is not None]
    for legend in made:
        legend.remove()
    if made:
        handles, texts = list(made[0].legend_handles), [text.get_text() for text in made[0].get_texts()]
        across = int(
            ax.figure.canvas.figure.get_figwidth() / (0.5 + 0.07 * max(map(len, texts)))
        )  # a letter has 0.07 inches
        look: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, top), "ncols": max(1, min(6, across))}
        _style.draw_legend(ax, handles, texts, **look)
