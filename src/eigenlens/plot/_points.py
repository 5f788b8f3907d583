"""Scatter plots of any number of points, in one colour, by category or by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array, dimensions, to_numpy
from eigenlens.errors import DataError, OptionError
from eigenlens.plot import _style
from eigenlens.plot._style import BLUE
from eigenlens.tables.names import shorten_names, text_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend


MAX_VECTOR_POINTS = 5_000
"""From this many points on they are drawn as pixels, in vector formats too."""

MAX_INNER_KEYS, MAX_OUTER_KEYS, MAX_KEY_LETTERS = 12, 20, 28
"""Categories of a legend inside the axes, lines of a legend beside them, and characters of a name in it."""

MAX_INTEGER_CATEGORIES = 12
"""Integers with more distinct values than this are numbers, not categories."""


def check_color(color: Any, n: int) -> str | Array:
    """Check `color` and return one colour, or one value per row: floats for numbers, else categories."""
    from matplotlib.colors import is_color_like

    if color is None or (isinstance(color, str) and is_color_like(color)):
        return color or BLUE
    if isinstance(color, str):
        fix = "give one such as 'red' or '#4c72b0', or one value per row"
        raise OptionError("is not a colour", argument="color", value=color, fix=fix)
    values = to_numpy(color, "color") if dimensions(color) is not None else _object_values(color)
    if values.shape != (n,):
        what = f"has shape {values.shape}, but X has {n} rows"
        raise DataError(what, argument="color", fix="give a colour, or one value per row")
    if values.dtype.kind in "iu" and np.unique(values).size > MAX_INTEGER_CATEGORIES:
        return values.astype(np.float64)
    return values if values.dtype.kind in "fiub" else np.array([text_of(value) or "missing" for value in values])


def _object_values(color: Any) -> Array:
    """Return a list of values as an array; lists of different lengths are no values of rows."""
    try:
        return np.asarray(color)
    except ValueError:
        raise OptionError("must be a colour, or one value per row", argument="color", value=color) from None


def draw_points(ax: Axes, points: Array, color: str | Array, *, scale: bool = True) -> Any:
    """Draw points (n, 2) in the colours of `check_color`, the smaller and fainter the more there are.

    Points with NaN are not drawn. Returns what was drawn by value, if anything, for a scale of colours elsewhere.
    """
    n = len(points)
    style: dict[str, Any] = {"s": marker_area(n), "linewidths": 0.0, "zorder": 2}
    style |= {"alpha": float(np.clip(1.35 - 0.22 * np.log10(n), 0.25, 0.9)), "rasterized": n >= MAX_VECTOR_POINTS}
    if isinstance(color, str):
        ax.scatter(points[:, 0], points[:, 1], color=color, **style)
    elif color.dtype.kind == "f":
        return _by_value(ax, points, color, style, scale)
    else:
        _by_category(ax, points, color, style)
    return None


def marker_area(n: int, smallest: float = 1.0, largest: float = 30.0) -> float:
    """Return the area of a marker in square points: 30 for a few rows, 1 for a hundred thousand.

    >>> [round(marker_area(n), 1) for n in (4, 150, 10_000, 100_000)]
    [30.0, 19.4, 2.4, 1.0]
    """
    return float(np.clip(237.0 / np.sqrt(n), smallest, largest))


def _by_value(ax: Axes, points: Array, values: Array, style: dict[str, Any], scale: bool) -> Any:
    """Draw points by their values, those without one in the colour of category 1, which the scale does not have."""
    from matplotlib import colormaps

    shades = colormaps["cividis"].with_extremes(bad=_style.category_color(1))
    drawn = ax.scatter(points[:, 0], points[:, 1], c=values, cmap=shades, plotnonfinite=True, **style)
    if scale:
        draw_value_scale(ax, drawn)
    return drawn


def draw_value_scale(ax: Axes, drawn: Any) -> None:
    """Draw the scale of points that were drawn by value, and a legend if some have none."""
    _style.draw_color_scale(ax, drawn, 0.8).solids.set_alpha(1.0)  # type: ignore[union-attr]
    if np.ma.getmaskarray(drawn.get_array()).any():
        without = ax.scatter([], [], s=24.0, color=_style.category_color(1))
        _style.draw_legend(ax, [without], ["missing"], loc="best")


def _key(ax: Axes, handles: list[Any], names: list[str], *, many: bool) -> Legend:
    """Draw a legend inside the axes for a few categories, beside them for more; of very many, the first and a count."""
    if len(names) <= MAX_INNER_KEYS:
        return _style.draw_legend(ax, handles, names, loc="upper right" if many else "best")
    if len(names) > MAX_OUTER_KEYS:
        others, shown = f"and {len(names) - MAX_OUTER_KEYS + 1} others", slice(0, MAX_OUTER_KEYS - 1)
        handles, names = [*handles[shown], ax.scatter([], [], color="none")], [*names[shown], others]
    return _style.draw_legend(ax, handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _by_category(ax: Axes, points: Array, values: Array, style: dict[str, Any]) -> None:
    names = np.unique(values)
    handles = []
    for i, name in enumerate(names):
        part = points[values == name]
        handles.append(ax.scatter(part[:, 0], part[:, 1], **_style.category_look(i), **style))
    words = shorten_names([str(name) for name in names], MAX_KEY_LETTERS)
    made = _key(ax, handles, words, many=len(points) >= MAX_VECTOR_POINTS)
    for handle in made.legend_handles:
        handle.set(sizes=[24.0], alpha=None)  # type: ignore[union-attr]
