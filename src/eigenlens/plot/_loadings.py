"""Plots with one number per column or row: loadings as a heat map or lines, contributions as sorted bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.latent import tables as latent_tables
from eigenlens.pca import tables
from eigenlens.plot import _style
from eigenlens.plot._style import BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.tables.values import ValueTable


MAX_HEAT_MAP_ROWS = 60
"""A heat map with more columns of the data than this cannot be read; lines are drawn instead."""

MAX_BARS = 30


def loadings(
    model: Any,
    components: Sequence[int] | None = None,
    *,
    names: Iterable[str] | None = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loadings: a heat map with one named row per column up to 60 columns, else one line per component.

    Args:
        model: a fitted PCA (V √λ), ProbabilisticPCA or FactorAnalysis (W, rotated if it rotates; see `plot.rotation`).
        components: numbers counted from 1; the first 8 (heat map) or 4 (lines) if None.
        names: column names, if the model has none. top: only the columns with the largest loadings, in order.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> food = datasets.load("uk-food")
    >>> plot.loadings(PCA(2).fit(food.data), names=food.columns).get_yticklabels()[0].get_text()
    'Alcoholic drinks'
    """
    names = None if names is None else tuple(names)
    d, k = latent_tables.latent_loadings(model, names=names).values.shape
    shown = d if top is None else checks.integer("top", top, 1, d, "the number of columns")
    as_lines = shown > MAX_HEAT_MAP_ROWS
    chosen = range(1, min(k, 4 if as_lines else 8) + 1) if components is None else components
    table = latent_tables.latent_loadings(model, list(chosen), names=names)
    if top is not None:
        table = table.largest(shown)
    ax = _lines(table, ax) if as_lines else _heat_map(table, ax)
    _style.write_note(ax, f"{shown} of {d} columns, largest first" if shown < d else "")
    return ax


def _heat_map(table: ValueTable, ax: Axes | None) -> Axes:
    ax = _style.new_axes(ax, (6.0, max(4.5, 0.8 + 0.19 * len(table.names))))
    draw_cells(ax, table.values, table.names, captions(table))
    return ax


def captions(table: ValueTable) -> list[str]:
    """Return the name of each component with its share below it."""
    pairs = zip(table.components, table.shares, strict=True)
    return [_style.component_label(*pair, table.stem).replace(" ", "\n") for pair in pairs]


def draw_cells(ax: Axes, values: Array, names: Sequence[str], labels: Sequence[str], most: int = 8) -> None:
    """Draw values (d, m) as coloured cells with a scale, and as numbers for up to `most` columns; NaN is left blank."""
    d, m = values.shape
    limit = float(np.nanmax(np.abs(values))) or 1.0
    image = ax.imshow(values, cmap=_style.diverging_colors(), vmin=-limit, vmax=limit, aspect="auto")
    _style.name_ticks(ax, "y", range(d), names, fontsize=_style.small_size())
    _style.name_ticks(ax, "x", range(m), labels, fontsize=_style.small_size())
    ax.tick_params(length=0, labelcolor=_style.text_color())
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, m) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, d) - 0.5, minor=True)
    ax.grid(which="minor", color=_style.page_color(), linewidth=1.0)
    ax.tick_params(which="minor", length=0)
    if m <= most:
        _print_values(ax, values, limit)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6, pad=0.02)
    bar.set_label("loading", fontsize=_style.small_size())
    bar.ax.tick_params(labelsize=_style.small_size(), colors=_style.muted_color(), labelcolor=_style.text_color())
    bar.outline.set_visible(False)


def _print_values(ax: Axes, values: Array, limit: float) -> None:
    """Write the numbers into their cells: light on dark ones."""
    decimals = int(np.clip((2 if limit >= 1.0 else 1) - np.floor(np.log10(limit)), 0, 4))
    colors = _style.diverging_colors()
    for i, j in np.argwhere(~np.isnan(values)):
        value = values[i, j]
        text = f"{round(float(value), decimals) + 0.0:.{decimals}f}"  # the sum turns -0.0 into 0.0
        color = _style.text_color_on(colors(0.5 + 0.5 * value / limit)[:3])
        ax.text(j, i, text, ha="center", va="center", fontsize=_style.small_size(0.8125), color=color)


def _lines(table: ValueTable, ax: Axes | None) -> Axes:
    ax = _style.new_axes(ax)
    position = np.arange(len(table.names))
    handles = [
        ax.plot(position, values, color=_style.category_color(i), linewidth=1.0, zorder=3 - 0.01 * i)[0]
        for i, values in enumerate(table.values.T)
    ]
    _style.style_axes(ax)
    ax.axhline(0.0, color=_style.muted_color(), linewidth=0.8)
    ax.margins(x=0.01)
    ax.set_xlabel("column (counted from 0)")
    ax.set_ylabel("loading")
    names = [_style.component_label(*pair, table.stem) for pair in zip(table.components, table.shares, strict=True)]
    _style.draw_legend(ax, handles, names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(4, len(names)))
    return ax


def contributions(
    model: Any,
    component: int = 1,
    *,
    X: Any = None,
    names: Iterable[str] | None = None,
    labels: Iterable[Any] | None = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw sorted bars: the contributions of columns, or of the rows of X, to a component, and their average as a line.

    Args:
        model: a fitted PCA. component: its number, counted from 1.
        X: rows, to show their contributions instead of the columns'; `labels` are their names.
        names: column names, if the model has none. top: how many bars; the 30 largest at most if None.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> food = datasets.load("uk-food")
    >>> plot.contributions(PCA(2).fit(food.data), names=food.columns).get_yticklabels()[0].get_text()
    'Fresh fruit'
    """
    if X is None:
        table, kind = tables.column_contributions(model, [component], names=names), "columns"
    else:
        table, kind = tables.row_contributions(model, X, [component], labels=labels), "rows"
    total, average = len(table.names), 100.0 / len(table.names)
    shown = min(total, MAX_BARS) if top is None else checks.integer("top", top, 1, total, f"the number of {kind}")
    table = table.largest(shown)
    ax = _style.new_axes(ax, (6.0, max(4.5, 1.0 + 0.19 * shown)))
    ax.barh(np.arange(shown), table.values[:, 0], color=BLUE, height=0.75)
    _style.name_ticks(ax, "y", range(shown), table.names, fontsize=_style.small_size())
    ax.set_ylim(shown - 0.4, -0.6)
    _style.style_axes(ax, "x")
    ax.tick_params(axis="y", length=0)
    ax.axvline(average, color=_style.text_color(), linewidth=0.9, linestyle=(0, (4, 3)))
    name = _style.component_label(component, float(table.shares[0]))
    ax.set_xlabel(f"contribution to {name}, per cent; dashed: the average, {average:.3g}", wrap=True)
    held = float(table.values.sum())
    _style.write_note(ax, f"{shown} of {total} {kind}, together {held:.1f}%" if shown < total else "")
    return ax
