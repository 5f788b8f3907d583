"""Ellipses of groups, drawn under their points in the colours of the groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from eigenlens.plot import _style
from eigenlens.tables.ellipses import MIN_ELLIPSE_POINTS, GroupEllipse, group_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ELLIPSE_NOTES = {
    "concentration": "ellipses: {:g}% of a Gaussian",
    "mean": "ellipses: {:g}% confidence of the mean",
}
"""What the ellipses of each kind show, above the axes."""


def describe_ellipses(ellipses: Sequence[GroupEllipse], colors: Any, kind: str, level: float) -> str:
    """Return what the ellipses show, and how many groups have none."""
    without = max(1, len(group_names(colors))) - len(ellipses)
    few = f"{without} group{'s' * (without > 1)} with fewer than {MIN_ELLIPSE_POINTS} rows left out" if without else ""
    return ", ".join(filter(None, (ELLIPSE_NOTES[kind].format(100.0 * level), few)))


def draw_ellipses(ax: Axes, ellipses: Iterable[GroupEllipse], colors: Any) -> None:
    """Draw ellipses with a pale area and a thin edge, and the means of the groups as crosses."""
    from matplotlib.patches import Polygon

    groups = list(map(str, group_names(colors)))
    for ellipse in ellipses:
        if groups:
            color = _style.category_color(groups.index(ellipse.name))
        else:
            color = colors if isinstance(colors, str) else _style.text_color()
        outline = ellipse.outline()
        ax.add_patch(Polygon(outline, facecolor=color, alpha=0.12, linewidth=0.0, zorder=1.5))
        ax.add_patch(Polygon(outline, fill=False, edgecolor=color, linewidth=1.5, zorder=2.2))
        ax.plot(*ellipse.mean, "+", color=_style.text_color(), markersize=6.0, markeredgewidth=1.2, zorder=2.3)
        ax.update_datalim(outline)
    ax.autoscale_view()
