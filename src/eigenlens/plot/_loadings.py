"""One number a column (or a row): loadings as a heat map or lines, contributions as sorted bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.latent import tables as latent_tables
from eigenlens.pca import tables
from eigenlens.plot._style import (
    BLUE,
    component_label,
    diverging,
    grey,
    ink,
    legend,
    new_axes,
    note,
    paper,
    quiet,
    readable_on,
    shade,
    small,
    tick_names,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.tables.values import ValueTable

__all__ = ["contributions", "loadings"]

MOST_ROWS = 60
"""A heat map with more columns of the data than this cannot be read; lines are drawn instead."""

MOST_BARS = 30


def loadings(
    model: Any,
    components: Sequence[int] | None = None,
    *,
    names: Iterable[str] | None = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The loadings: a heat map with a name a row for up to 60 columns, one line a component for more.

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
    as_lines = shown > MOST_ROWS
    chosen = range(1, min(k, 4 if as_lines else 8) + 1) if components is None else components
    table = latent_tables.latent_loadings(model, list(chosen), names=names)
    if top is not None:
        table = table.largest(shown)
    ax = _lines(table, ax) if as_lines else _heat_map(table, ax)
    note(ax, f"{shown} of {d} columns, largest first" if shown < d else "")
    return ax


def _heat_map(table: ValueTable, ax: Axes | None) -> Axes:
    ax = new_axes(ax, (6.0, max(4.5, 0.8 + 0.19 * len(table.names))))
    draw_cells(ax, table.values, table.names, captions(table))
    return ax


def captions(table: ValueTable) -> list[str]:
    """A component and its share below it, for each."""
    pairs = zip(table.components, table.shares, strict=True)
    return [component_label(*pair, table.stem).replace(" ", "\n") for pair in pairs]


def draw_cells(ax: Axes, values: Array, names: Sequence[str], labels: Sequence[str], most: int = 8) -> None:
    """Values (d, m) as coloured cells with a scale, and in figures for up to `most` columns; NaN is a gap."""
    d, m = values.shape
    limit = float(np.nanmax(np.abs(values))) or 1.0
    image = ax.imshow(values, cmap=diverging(), vmin=-limit, vmax=limit, aspect="auto")
    tick_names(ax, "y", range(d), names, fontsize=small())
    tick_names(ax, "x", range(m), labels, fontsize=small())
    ax.tick_params(length=0, labelcolor=ink())
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, m) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, d) - 0.5, minor=True)
    ax.grid(which="minor", color=paper(), linewidth=1.0)
    ax.tick_params(which="minor", length=0)
    if m <= most:
        _print_values(ax, values, limit)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.6, pad=0.02)
    bar.set_label("loading", fontsize=small())
    bar.ax.tick_params(labelsize=small(), colors=grey(), labelcolor=ink())
    bar.outline.set_visible(False)


def _print_values(ax: Axes, values: Array, limit: float) -> None:
    """The numbers in their cells: light on dark ones."""
    decimals = int(np.clip((2 if limit >= 1.0 else 1) - np.floor(np.log10(limit)), 0, 4))
    colors = diverging()
    for i, j in np.argwhere(~np.isnan(values)):
        value = values[i, j]
        text = f"{round(float(value), decimals) + 0.0:.{decimals}f}"  # the sum turns -0.0 into 0.0
        color = readable_on(colors(0.5 + 0.5 * value / limit)[:3])
        ax.text(j, i, text, ha="center", va="center", fontsize=small(0.8125), color=color)


def _lines(table: ValueTable, ax: Axes | None) -> Axes:
    ax = new_axes(ax)
    position = np.arange(len(table.names))
    handles = [
        ax.plot(position, values, color=shade(i), linewidth=1.0, zorder=3 - 0.01 * i)[0]
        for i, values in enumerate(table.values.T)
    ]
    quiet(ax)
    ax.axhline(0.0, color=grey(), linewidth=0.8)
    ax.margins(x=0.01)
    ax.set_xlabel("column (counted from 0)")
    ax.set_ylabel("loading")
    names = [component_label(*pair, table.stem) for pair in zip(table.components, table.shares, strict=True)]
    legend(ax, handles, names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=min(4, len(names)))
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
    """Sorted bars: what columns, or the rows of X if given, contribute to a component, and the average as a line.

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
    shown = min(total, MOST_BARS) if top is None else checks.integer("top", top, 1, total, f"the number of {kind}")
    table = table.largest(shown)
    ax = new_axes(ax, (6.0, max(4.5, 1.0 + 0.19 * shown)))
    ax.barh(np.arange(shown), table.values[:, 0], color=BLUE, height=0.75)
    tick_names(ax, "y", range(shown), table.names, fontsize=small())
    ax.set_ylim(shown - 0.4, -0.6)
    quiet(ax, "x")
    ax.tick_params(axis="y", length=0)
    ax.axvline(average, color=ink(), linewidth=0.9, linestyle=(0, (4, 3)))
    name = component_label(component, float(table.shares[0]))
    ax.set_xlabel(f"contribution to {name}, per cent; dashed: the average, {average:.3g}", wrap=True)
    held = float(table.values.sum())
    note(ax, f"{shown} of {total} {kind}, together {held:.1f}%" if shown < total else "")
    return ax
