"""Classifiers: regions and boundaries, reliability of probabilities, who is taken for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.views import class_tables
from eigenlens.views.draw.points import CROWD
from eigenlens.views.draw.reasons import explanation, shortened
from eigenlens.views.draw.style import (
    BLUE,
    GREY,
    INK,
    MARKERS,
    PALETTE,
    RULE,
    SMALL,
    VERMILLION,
    legend,
    new_axes,
    note,
    plain,
    quiet,
    tick_names,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.views.class_tables import CalibrationTable, ConfusionTable, DecisionTable

__all__ = ["calibration", "confusion", "decision", "explanation"]

FAINT, STRONG = 0.06, 0.38
"""How much of a class's colour its region has where the classes are equally likely, and where it is certain."""

MOST_NUMBERS = 20
"""With more classes than this, the cells of a confusion matrix have no numbers."""


# ---- regions --------------------------------------------------------------------------------------------------


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
    quiet(ax, None)
    extent = (table.x[0], table.x[-1], table.y[0], table.y[-1])
    ax.imshow(_shades(table), origin="lower", extent=extent, aspect="auto", interpolation="bilinear", zorder=0)
    _draw_boundaries(ax, table)
    _draw_rows(ax, table)
    if len(table.classes) > len(PALETTE):
        _draw_names(ax, table)
    plain(ax.set_xlabel(table.names[0]))
    plain(ax.set_ylabel(table.names[1]))
    note(ax, table.others)
    return ax


def _color(c: int) -> str:
    return PALETTE[c % len(PALETTE)]


def _shades(table: DecisionTable) -> Array:
    """Colours (q, p, 3): white mixed with the colour of the likeliest class, by how much likelier than chance it is."""
    from matplotlib.colors import to_rgb

    C = len(table.classes)
    colors = np.array([to_rgb(_color(c)) for c in range(C)])
    top = np.clip(table.proba.max(axis=2), 1.0 / C, 1.0)
    strength = FAINT + (STRONG - FAINT) * (top - 1.0 / C) / (1.0 - 1.0 / C)
    return np.asarray(1.0 - strength[:, :, None] * (1.0 - colors[table.regions]))


def _draw_boundaries(ax: Axes, table: DecisionTable) -> None:
    """Where a class is as likely as the likeliest other, with lines where it has 0.9 of the probability of the two."""
    two = len(table.classes) == 2
    for c in range(1 if two else len(table.classes)):
        if not np.any(table.regions == c) or np.all(table.regions == c):
            continue
        mine, others = table.proba[:, :, c], np.delete(table.proba, c, axis=2).max(axis=2)
        share = mine / np.maximum(mine + others, 1e-300)
        ax.contour(table.x, table.y, share, levels=[0.5], colors=INK, linewidths=1.1, zorder=1)


def _draw_rows(ax: Axes, table: DecisionTable) -> None:
    n = len(table.points)
    style: dict[str, Any] = {
        "s": float(np.clip(237.0 / np.sqrt(n), 2.0, 30.0)), "linewidths": 0.4 if n < CROWD else 0.0,
        "edgecolors": "white", "rasterized": n >= CROWD, "zorder": 2,
    }  # fmt: skip
    handles = []
    for c in range(len(table.classes)):
        look: dict[str, Any] = {"color": _color(c), "marker": MARKERS[c % len(MARKERS)]}
        mine = table.points[table.codes == c] if table.codes is not None else table.points[:0]
        handles.append(ax.scatter(mine[:, 0], mine[:, 1], **look, **style))
    if table.codes is None:
        ax.scatter(table.points[:, 0], table.points[:, 1], color=GREY, **style)
    names = list(table.classes)
    if table.codes is not None and np.any(table.codes < 0):
        odd = table.points[table.codes < 0]
        handles.append(ax.scatter(odd[:, 0], odd[:, 1], color=GREY, marker="x", s=style["s"], zorder=2))
        names.append("not known")
    made = legend(ax, handles, names, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    for handle in made.legend_handles:
        handle.set(sizes=[26.0], alpha=1.0)  # type: ignore[union-attr]
    ax.set_xlim(table.x[0], table.x[-1])
    ax.set_ylim(table.y[0], table.y[-1])


def _draw_names(ax: Axes, table: DecisionTable) -> None:
    """The name of each class amid its region, where there are more classes than colours."""
    from matplotlib.patheffects import withStroke

    for c, name in enumerate(table.classes):
        up, across = np.nonzero(table.regions == c)
        if not up.size:
            continue
        sure = table.proba[up, across, c]
        centre = np.average(np.column_stack([table.x[across], table.y[up]]), axis=0, weights=sure)
        span = [np.ptp(table.x), np.ptp(table.y)]
        nearest = np.argmin(np.sum(((np.column_stack([table.x[across], table.y[up]]) - centre) / span) ** 2, axis=1))
        place = (float(table.x[across[nearest]]), float(table.y[up[nearest]]))
        text = ax.text(*place, shortened(name, 16), ha="center", va="center", color=INK, weight="bold", zorder=4)
        plain(text).set_path_effects([withStroke(linewidth=3.0, foreground="white")])


# ---- reliability ----------------------------------------------------------------------------------------------


def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    label: Any = None,
    bins: int = 10,
    level: float = 0.95,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Reliability: how often predictions came true, against their probability; on the line they can be trusted.

    Args:
        model: a fitted classifier with predict_proba, or a dict with a name for each of several.
        X, y: rows and classes that it was not fitted on; on its own rows every model looks too good.
        label: the class whose probability is looked at; None for that of the predicted class.
        bins: of equal width from 0 to 1. level: the coverage of the intervals (Wilson). ax: where to draw.

    Grey bars below the curve are the shares of the rows in each bin, of the first model; marks are the larger the more
    rows stand behind them.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), ["a", "a", "b", "b"]
    >>> calibration(GaussianNB().fit(X, y), X, y).get_ylabel()
    'share that came true (95% intervals)'
    """
    models = model if isinstance(model, dict) else {"": model}
    given = {"label": label, "bins": bins, "level": level, "sample_weight": sample_weight}
    tables = {name: class_tables.calibration(one, X, y, **given) for name, one in models.items()}
    if not tables:
        raise OptionError("model is an empty dict; give a fitted classifier, or some by name.")
    ax = new_axes(ax, (5.6, 4.8))
    quiet(ax)
    first = next(iter(tables.values()))
    _draw_shares(ax, first)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=GREY, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    handles = [_draw_curve(ax, table, _color(i), MARKERS[i % len(MARKERS)]) for i, table in enumerate(tables.values())]
    said = [f"{name}: {_quality(table)}" for name, table in tables.items()]
    if isinstance(model, dict):
        legend(ax, handles, said, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    else:
        note(ax, _quality(first))
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
        ylabel=f"share that came true ({100 * first.level:g}% intervals)",
    )
    plain(ax.set_xlabel(f"probability of {first.what} (bars: share of the rows)"))
    return ax


def _quality(table: CalibrationTable) -> str:
    return f"Brier score {table.brier:.3f}, calibration error {table.error:.3f}"


def _draw_shares(ax: Axes, table: CalibrationTable) -> None:
    width = np.diff(table.edges)
    shares = table.weight / table.weight.sum()
    ax.bar(table.edges[:-1], 0.22 * shares, width=width, align="edge", color=RULE, edgecolor="white", zorder=0.5)


def _draw_curve(ax: Axes, table: CalibrationTable, color: str, marker: str) -> Any:
    shown = table.weight > 0.0
    x, observed, limits = table.predicted[shown], table.observed[shown], table.limits[shown]
    share = np.sqrt(table.weight[shown] / table.weight.sum())
    ax.vlines(x, limits[:, 0], limits[:, 1], color=color, linewidth=1.0, alpha=0.55, zorder=2)
    ax.scatter(x, observed, s=(3.0 + 6.0 * share) ** 2, color=color, marker=marker, zorder=4)
    return ax.plot(x, observed, color=color, linewidth=1.2, alpha=0.8, marker=marker, markersize=3.0, zorder=3)[0]


# ---- errors ---------------------------------------------------------------------------------------------------


def confusion(model: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Who is taken for whom: for each true class, the share of its rows that was given each class, and their number.

    Args:
        model: a fitted classifier. X, y: rows and their classes. sample_weight: (n,). ax: where to draw.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), ["a", "a", "b", "b"]
    >>> [text.get_text() for text in confusion(GaussianNB().fit(X, y), X, y).get_yticklabels()]
    ['a', 'b']
    """
    table = class_tables.confusion(model, X, y, sample_weight=sample_weight)
    C = len(table.classes)
    side = float(np.clip(1.6 + 0.62 * C, 3.4, 9.0))
    ax = new_axes(ax, (side, side))
    ax.imshow(_cells(table), zorder=0)
    between = np.arange(-0.5, C)
    ax.vlines(between, -0.5, C - 0.5, color=RULE, linewidth=0.6, zorder=1)
    ax.hlines(between, -0.5, C - 0.5, color=RULE, linewidth=0.6, zorder=1)
    if C <= MOST_NUMBERS:
        _draw_numbers(ax, table)
    quiet(ax, None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0.0)
    long = max(map(len, table.classes)) > 4
    tick_names(ax, "x", range(C), table.classes, rotation=45.0 if long else 0.0, ha="right" if long else "center")
    tick_names(ax, "y", range(C), table.classes)
    ax.set(xlabel="given class", ylabel="true class")
    note(ax, f"accuracy {100.0 * table.accuracy:.2f}%")
    return ax


def _cells(table: ConfusionTable) -> Array:
    """Colours (C, C, 3): blue for what is right, vermillion for what is wrong, the stronger the larger the share."""
    from matplotlib.colors import to_rgb

    right = np.eye(len(table.classes), dtype=bool)[:, :, None]
    colors = np.where(right, to_rgb(BLUE), to_rgb(VERMILLION))
    shares = np.nan_to_num(table.shares) / 100.0
    strength = np.where(right[:, :, 0], 0.85 * shares, np.minimum(0.9, 2.5 * shares))
    return np.asarray(1.0 - strength[:, :, None] * (1.0 - colors))


def _draw_numbers(ax: Axes, table: ConfusionTable) -> None:
    cells = _cells(table)
    size = SMALL if len(table.classes) <= 10 else 0.7 * SMALL
    for i, j in np.ndindex(*table.counts.shape):
        if table.counts[i, j] > 0.0:
            dark = float(cells[i, j] @ [0.299, 0.587, 0.114]) < 0.55
            said = f"{table.shares[i, j]:.1f}%\n{table.counts[i, j]:g}"
            ax.text(j, i, said, ha="center", va="center", fontsize=size, color="white" if dark else INK)
