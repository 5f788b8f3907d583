"""Plots of classifiers on rows of known classes: calibration and confusion matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes import tables as class_tables
from eigenlens.errors import OptionError
from eigenlens.plot import _style
from eigenlens.plot._style import BLUE, MARKERS, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.bayes.tables import CalibrationTable, ConfusionTable


MAX_CLASS_LETTERS = 28
"""Characters of the name of a class, or of a model."""

MAX_NUMBERED_CLASSES = 20
"""With more classes than this, the cells of a confusion matrix have no numbers."""


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
    """Draw how often predictions came true against their probability; calibrated ones lie on the diagonal.

    Args:
        model: a fitted classifier with predict_proba, or a dict with a name for each of several.
        X, y: rows and classes that it was not fitted on; on its own rows every model looks too good.
        label: the class whose probability is used; None for the predicted class.
        bins: of equal width from 0 to 1. level: the coverage of the intervals (Wilson). ax: where to draw.

    Grey bars below the curve are the shares of the rows in each bin, of the first model; markers are larger for bins
    with more rows.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), ["a", "a", "b", "b"]
    >>> calibration(GaussianNB().fit(X, y), X, y).get_ylabel()
    'share that came true (95% intervals)'
    """
    models = model if isinstance(model, dict) else {"": model}
    given = {"label": label, "bins": bins, "level": level, "sample_weight": sample_weight}
    tables = {name: class_tables.calibration(one, X, y, **given) for name, one in models.items()}
    if not tables:
        raise OptionError("is an empty dict", argument="model", fix="give a fitted classifier, or some by name")
    ax = _style.new_axes(ax, (5.6, 4.8))
    _style.style_axes(ax)
    first = next(iter(tables.values()))
    _draw_shares(ax, first)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=_style.muted_color(), linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    handles = [
        _draw_curve(ax, table, _style.category_color(i), MARKERS[i % len(MARKERS)])
        for i, table in enumerate(tables.values())
    ]
    names = [f"{_style.shorten(str(name), MAX_CLASS_LETTERS)}: {_quality(table)}" for name, table in tables.items()]
    if isinstance(model, dict):
        _style.draw_legend(ax, handles, names, loc="lower left", bbox_to_anchor=(0.0, 1.0))
    else:
        _style.write_note(ax, _quality(first))
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        aspect="equal",
        ylabel=f"share that came true ({100 * first.level:g}% intervals)",
    )
    _style.as_plain_text(ax.set_xlabel(f"probability of {first.what} (bars: share of the rows)", wrap=True))
    return ax


def _quality(table: CalibrationTable) -> str:
    return f"Brier score {table.brier:.3f}, calibration error {table.error:.3f}"


def _draw_shares(ax: Axes, table: CalibrationTable) -> None:
    width = np.diff(table.edges)
    shares = table.weight / table.weight.sum()
    ax.bar(
        table.edges[:-1],
        0.22 * shares,
        width=width,
        align="edge",
        color=_style.grid_color(),
        edgecolor=_style.page_color(),
        zorder=0.5,
    )


def _draw_curve(ax: Axes, table: CalibrationTable, color: str, marker: str) -> Any:
    shown = table.weight > 0.0
    x, observed, limits = table.predicted[shown], table.observed[shown], table.limits[shown]
    share = np.sqrt(table.weight[shown] / table.weight.sum())
    ax.vlines(x, limits[:, 0], limits[:, 1], color=color, linewidth=1.0, alpha=0.55, zorder=2)
    ax.scatter(x, observed, s=(3.0 + 6.0 * share) ** 2, color=color, marker=marker, zorder=4)
    return ax.plot(x, observed, color=color, linewidth=1.2, alpha=0.8, marker=marker, markersize=3.0, zorder=3)[0]


# ---- errors ---------------------------------------------------------------------------------------------------


def confusion(model: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the confusion matrix: for each true class, the share of its rows assigned to each class, and their number.

    Args:
        model: a fitted classifier. X, y: rows and their classes. sample_weight: (n,). ax: where to draw.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), ["a", "a", "b", "b"]
    >>> [text.get_text() for text in confusion(GaussianNB().fit(X, y), X, y).get_yticklabels()]
    ['a', 'b']
    """
    table = class_tables.confusion(model, X, y, sample_weight=sample_weight)
    C, names = len(table.classes), _style.shorten_names(table.classes, MAX_CLASS_LETTERS)
    longest = max(map(len, names))
    side = float(np.clip(1.6 + 0.62 * C + 0.06 * longest, 3.6, 9.0))
    ax = _style.new_axes(ax, (side, side))
    ax.imshow(_cells(table), zorder=0)
    between = np.arange(-0.5, C)
    ax.vlines(between, -0.5, C - 0.5, color=_style.grid_color(), linewidth=0.6, zorder=1)
    ax.hlines(between, -0.5, C - 0.5, color=_style.grid_color(), linewidth=0.6, zorder=1)
    if C <= MAX_NUMBERED_CLASSES:
        _draw_numbers(ax, table)
    _style.style_axes(ax, None)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0.0)
    turned: dict[str, Any] = {"rotation": 45.0, "ha": "right", "rotation_mode": "anchor"}
    turned = turned if longest > 4 or longest * C > 60 else {}
    _style.name_ticks(ax, "x", range(C), names, **turned)
    _style.name_ticks(ax, "y", range(C), names)
    ax.set(xlabel="given class", ylabel="true class")
    _style.write_note(ax, f"accuracy {100.0 * table.accuracy:.2f}%")
    return ax


def _cells(table: ConfusionTable) -> Array:
    """Return colours (C, C, 4): blue for correct, vermillion for wrong, more opaque for larger shares."""
    from matplotlib.colors import to_rgb

    right = np.eye(len(table.classes), dtype=bool)[:, :, None]
    colors = np.where(right, to_rgb(BLUE), to_rgb(VERMILLION))
    shares = np.nan_to_num(table.shares) / 100.0
    strength = np.where(right[:, :, 0], 0.85 * shares, np.minimum(0.9, 2.5 * shares))
    return np.concatenate([colors, strength[:, :, None]], axis=2)


def _draw_numbers(ax: Axes, table: ConfusionTable) -> None:
    from matplotlib.colors import to_rgb

    cells, page = _cells(table), np.array(to_rgb(_style.page_color()))
    size = _style.small_size(1.0 if len(table.classes) <= 10 else 0.7)
    for i, j in np.ndindex(*table.counts.shape):
        if table.counts[i, j] > 0.0:
            color, opacity = cells[i, j, :3], cells[i, j, 3]
            seen = opacity * color + (1.0 - opacity) * page
            text = f"{table.shares[i, j]:.1f}%\n{table.counts[i, j]:g}"
            ax.text(j, i, text, ha="center", va="center", fontsize=size, color=_style.text_color_on(seen))
