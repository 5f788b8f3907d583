"""The profile plot of latent classes: a line per component through the probabilities of what columns hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.bayes.latent_classes.tables import ProfileTable, class_profile
from eigenlens.errors import DataError
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.tables.names import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_LINES, MAX_NAMED = 30, 12
"""The largest number of lines of the profile that are drawn, unless more are asked for, and of components named."""


@checked_plot()
def profile(model: Any, *, most: int = MAX_LINES, ax: Axes | None = None) -> Axes:
    """Draw the probabilities of the categories of each column in every component, a line per component.

    Columns of two categories have one place, that of the second; numbers are above or below the mean of all components;
    counts have the share of each column. Components are numbered by their weight, the largest first.

    Args:
        model: a fitted `MixtureModel`. most: the largest number of places, those in which components differ most.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import MixtureModel, datasets, plot
    >>> conflict = datasets.load("role-conflict")
    >>> model = MixtureModel(2, random_state=0).fit(conflict.frame(), sample_weight=conflict.weight)
    >>> ax = plot.profile(model)
    >>> ax.get_ylabel()
    'probability in the component'
    """
    table = class_profile(model)
    m = len(table.labels)
    if not m:
        raise DataError(f"the families of {', '.join(table.left_out[:3])} have no probabilities that could be drawn")
    kept = np.sort(np.argsort(-table.spread, kind="stable")[: checks.integer("most", most, 1)])
    ax = _style.new_axes(ax, (max(5.0, 2.2 + 0.42 * len(kept)), 4.0))
    _style.style_axes(ax, "both")
    handles = _lines(ax, table, kept)
    labels = [shorten(table.labels[i], 24) for i in kept]
    style: dict[str, Any] = {"rotation": 40.0, "ha": "right"} if max(map(len, labels)) * len(labels) > 60 else {}
    _style.name_ticks(ax, "x", np.arange(len(kept)), labels, **style)
    ax.set(xlim=(-0.4, len(kept) - 0.6), ylim=(-0.03, 1.03), ylabel="probability in the component")
    words = [f"{k}: {w:.1%}" for k, w in enumerate(table.weights[:MAX_NAMED])]
    _style.draw_legend(ax, handles[: len(words)], words, loc="center left", bbox_to_anchor=(1.0, 0.5))
    _style.write_note(ax, *_remarks(table, len(kept)))
    return ax


def _lines(ax: Axes, table: ProfileTable, kept: Any) -> list[Any]:
    x = np.arange(len(kept))
    return [
        ax.plot(x, table.probabilities[kept, k], linewidth=1.6, markersize=6.0, **_style.category_look(k))[0]
        for k in range(len(table.weights))
    ]


def _remarks(table: ProfileTable, shown: int) -> list[str]:
    fewer = f"the {shown} of {len(table.labels)} that differ most" if shown < len(table.labels) else ""
    without = f"without {', '.join(shorten(name, 20) for name in table.left_out[:4])}" if table.left_out else ""
    return [fewer, without]
