"""Plots of Gaussian mixtures: ellipses over the rows, densities over a histogram, responsibilities, criteria by K."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.mixture import tables as mixture_tables
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._kde import describe_hidden_rows
from eigenlens.plot._points import MAX_VECTOR_POINTS, check_color, draw_points, marker_area
from eigenlens.plot._style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.mixture.select import MixtureSelection


MAX_STRIPS = 2000
"""More rows than this are shown by the means of neighbours."""

FAR_BEHIND = 8.0
"""Fits this many times as far behind the best as the median are outside the frame."""

MAX_NAMED_COMPONENTS = 12
"""Components in a legend."""

CRITERION_LABELS = {"bic": "BIC", "aic": "AIC", "icl": "ICL", "held_out": "held-out log density per row"}


@checked_plot()
def mixture(
    model: Any,
    X: Any = None,
    columns: Sequence[Any] = (0, 1),
    *,
    levels: Sequence[float] = (0.5, 0.95),
    names: Iterable[str] | None = None,
    color: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the components as ellipses in the plane of two columns, over the rows of X.

    Each ellipse contains a share of its component's mass, by default 50 and 95 per cent; the larger the weight of a
    component, the thicker its line. A mixture of a single column is drawn by `mixture_density`.

    Args:
        model: a fitted GaussianMixture, or a `Mixture`. X: rows (n, d), fitted or new, or None.
        columns: two columns by number or name. levels: shares of the mass. names: column names, if the model has none.
        color: of the rows; None for that of their most likely component, or as for `plot.scores`.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import GaussianMixture, datasets, plot
    >>> geyser = datasets.load("old-faithful").frame()
    >>> ax = plot.mixture(GaussianMixture(2, random_state=0).fit(geyser), geyser)
    >>> ax.get_xlabel()
    'eruption minutes'
    """
    if mixture_tables.frozen_mixture(model).means.shape[1] == 1:
        return mixture_density(model, X, names=names, ax=ax)
    table = mixture_tables.ellipses(model, X, columns, levels=levels, names=names)
    colours = None if color is None else check_color(color, len(table.rows) + table.hidden)
    colours = colours[table.positions] if isinstance(colours, np.ndarray) else colours
    ax = _style.new_axes(ax, (6.0, 5.0))
    _style.style_axes(ax)
    _rows(ax, table, colours)
    _ellipses(ax, table)
    borders = table.outlines.reshape(-1, 2) if table.outlines.size else table.means
    _style.set_aspect(ax, np.ptp(borders[:, 0]), np.ptp(borders[:, 1]), "datalim")
    _style.name_axes(ax, *table.names)
    masses = " and ".join(f"{100 * level:g}%" for level in table.levels)
    hidden = f"{table.hidden} rows with missing values here not shown" if table.hidden else ""
    _style.write_note(ax, f"ellipses of {masses} of the mass" if masses else "", hidden)
    return ax


def _rows(ax: Axes, table: mixture_tables.EllipseTable, colours: str | Array | None) -> None:
    if not len(table.rows):
        return
    if colours is not None:
        draw_points(ax, table.rows, colours)
        return
    for k in range(len(table.weights)):
        mine = table.rows[table.labels == k]
        if len(mine):
            draw_points(ax, mine, _style.category_color(k))
    for points in ax.collections:
        points.set(alpha=0.45, sizes=[marker_area(len(table.rows), largest=14.0)])


def _ellipses(ax: Axes, table: mixture_tables.EllipseTable) -> None:
    handles = []
    for k, (pi, mean, outlines) in enumerate(zip(table.weights, table.means, table.outlines, strict=True)):
        width = 0.8 + 1.8 * float(np.sqrt(pi))
        for outline in outlines:
            ax.plot(*outline.T, color=_style.category_color(k), linewidth=width, zorder=3)
        look = _style.category_look(k) | {"markeredgecolor": _style.page_color()}
        (dot,) = ax.plot(*mean, linestyle="none", markersize=7.0, zorder=4, **look)
        handles.append(dot)
    shown = min(len(handles), MAX_NAMED_COMPONENTS)
    words = [f"{k}: {100 * pi:.3g}%" for k, pi in enumerate(table.weights[:shown])]
    words[-1] += f" … {len(handles) - 1}" if shown < len(handles) else ""
    _name_components(ax, handles[:shown], words)


def _name_components(ax: Axes, handles: list[Any], words: list[str]) -> None:
    title: Any = {"title": "component", "title_fontsize": _style.small_size()}
    _style.draw_legend(ax, handles, words, loc="center left", bbox_to_anchor=(1.0, 0.5), **title)


@checked_plot()
def mixture_density(
    model: Any,
    X: Any = None,
    column: Any = 0,
    *,
    bins: int | tuple[Any, Any] | None = None,
    names: Iterable[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the density of one column and those of its components, over a histogram of the rows.

    Args:
        model: a fitted GaussianMixture, or a `Mixture`. X: rows (n, d), fitted or new, or None. column: by number or
            name; of several columns the marginal density is drawn.
        bins: how many, or None for the rule of Freedman and Diaconis; or (edges, counts), as `fit_binned` takes them,
            without X.
        names: column names, if the model has none. ax: where to draw; a new figure if None.

    >>> from eigenlens import GaussianMixture, datasets, plot
    >>> geyser = datasets.load("old-faithful").frame()
    >>> model = GaussianMixture(2, random_state=0).fit(geyser)
    >>> ax = plot.mixture_density(model, geyser, "waiting minutes")
    >>> ax.get_xlabel()
    'waiting minutes'
    """
    table = mixture_tables.line(model, X, column, bins=bins, names=names)
    ax = _style.new_axes(ax)
    _style.style_axes(ax, "y")
    if table.edges.size:
        ax.stairs(table.heights, table.edges, fill=True, color=_style.grid_color(), zorder=1)
        ax.stairs(table.heights, table.edges, color=_style.muted_color(), linewidth=0.5, zorder=1)
    _parts(ax, table)
    ax.set_ylim(bottom=0.0)
    ax.margins(x=0.0)
    _style.name_axes(ax, table.name)
    ax.set_ylabel("density")
    _style.write_note(ax, describe_hidden_rows(table.beyond))
    return ax


def _parts(ax: Axes, table: mixture_tables.LineTable) -> None:
    handles = []
    several = len(table.weights) > 1
    for k, part in enumerate(table.parts if several else ()):
        ax.fill_between(table.x, part, color=_style.category_color(k), alpha=0.12, linewidth=0.0, zorder=2)
        (line,) = ax.plot(table.x, part, color=_style.category_color(k), linewidth=1.3, zorder=3)
        handles.append(line)
    (whole,) = ax.plot(table.x, table.density, color=_style.text_color(), linewidth=1.8, zorder=4)
    shown = min(len(handles), MAX_NAMED_COMPONENTS)
    words = [f"component {k}: {100 * pi:.3g}%" for k, pi in enumerate(table.weights[:shown])]
    if several:
        _style.draw_legend(ax, [whole, *handles[:shown]], ["mixture", *words], loc="best")


@checked_plot()
def responsibilities(model: Any, X: Any, *, ax: Axes | None = None) -> Axes:
    """Draw P(component | row) as coloured heights that add to 1, rows beside each other.

    Rows are sorted by their most likely component, the most certain first: a sharp step between two colours is a clear
    boundary, a long slope is made of rows that could belong to either.

    Args:
        model: a fitted GaussianMixture or MixtureModel, or a `Mixture`. X: rows (n, d). ax: where to draw; a new
            figure if None.

    >>> from eigenlens import GaussianMixture, datasets, plot
    >>> iris = datasets.load("iris").frame()
    >>> ax = plot.responsibilities(GaussianMixture(3, random_state=0).fit(iris), iris)
    >>> ax.get_ylabel()
    'P(component | row)'
    """
    table = mixture_tables.shares(model, X)
    ax = _style.new_axes(ax, (6.5, 3.4))
    _style.style_axes(ax, None)
    _strips(ax, table)
    n, K = table.values.shape
    ax.set(xlim=(0, n), ylim=(0.0, 1.0), ylabel="P(component | row)")
    ax.set_xlabel(f"{n} rows, by component and then by certainty")
    shown = min(K, MAX_NAMED_COMPONENTS)
    _name_components(ax, list(ax.collections)[:shown], [str(k) for k in range(shown)])
    _style.write_note(ax, f"{table.uncertain} rows have no component of probability 0.9 or more" if K > 1 else "")
    return ax


def _strips(ax: Axes, table: mixture_tables.ShareTable) -> None:
    n = len(table.values)
    starts = np.unique(np.linspace(0, n, min(n, MAX_STRIPS), endpoint=False).astype(np.intp))
    counts = np.diff(np.append(starts, n))
    heights = np.cumsum(np.add.reduceat(table.values, starts, axis=0) / counts[:, None], axis=1)
    x = np.append(starts, n)
    below = np.zeros(len(starts) + 1)
    for k, top in enumerate(np.vstack([heights, heights[-1:]]).T):
        look: Any = {"color": _style.category_color(k), "alpha": 0.85 if k < len(PALETTE) else 0.5, "linewidth": 0.0}
        ax.fill_between(x, below, top, step="post", rasterized=n >= MAX_VECTOR_POINTS, **look)
        below = top
    for border in np.flatnonzero(np.diff(table.labels)) + 1:
        ax.axvline(float(border), color=_style.page_color(), linewidth=1.0)


@checked_plot(table="criterion")
def mixture_selection(table: MixtureSelection, criterion: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw a criterion against the number of components, one curve per covariance structure, the best marked.

    Args:
        table: the result of `select_mixture`. criterion: "bic", "aic", "icl" or "held_out"; None for that of the table.
        ax: where to draw; a new figure if None.

    Fits with a collapsed component are hollow: their likelihood is unbounded, and they are not chosen.

    >>> from eigenlens import datasets, plot, select_mixture
    >>> table = select_mixture(datasets.load("old-faithful").data, range(1, 5), random_state=0)
    >>> plot.mixture_selection(table).get_ylabel()
    'BIC'
    """
    found = mixture_tables.curves(table, criterion)
    ax = _style.new_axes(ax)
    _style.style_axes(ax)
    handles = [_curve(ax, found, t) for t in range(len(found.types))]
    _mark_best(ax, found)
    numbers = np.unique(np.concatenate(found.components))
    ax.set_xticks(numbers if len(numbers) <= 15 else numbers[:: -(-len(numbers) // 15)])
    ax.set(xlabel="components", ylabel=CRITERION_LABELS[found.criterion])
    _style.draw_legend(ax, handles, list(found.types), loc="best")
    hollow = any(not usable.all() for usable in found.usable)
    lost = f"{len(found.failed)} fits failed" if found.failed else ""
    beyond = _near_the_best(ax, found)
    hidden = f"{beyond} fits outside the frame" if beyond else ""
    best = f"best: {found.best[0]}, {found.best[1]} components"
    _style.write_note(ax, best, "hollow: a component collapsed" if hollow else "", hidden, lost)
    return ax


def _near_the_best(ax: Axes, found: mixture_tables.CurveTable) -> int:
    """Limit the axis to the fits nearest to the best, where others flatten the curves; return how many are hidden."""
    behind = np.abs(np.concatenate(found.values) - found.best_value)
    near, far = float(np.median(behind)), float(behind.max())
    if not 0.0 < near < far / FAR_BEHIND:
        return 0
    ends = found.best_value + np.array([-0.3, 2.2]) * near * (-1.0 if found.criterion == "held_out" else 1.0)
    ax.set_ylim(*np.sort(ends))
    return int(np.count_nonzero(behind > 2.2 * near))


def _curve(ax: Axes, found: mixture_tables.CurveTable, t: int) -> Any:
    x, y, usable = found.components[t], found.values[t], found.usable[t]
    look = _style.category_look(t) | {"markersize": 5.0}
    (line,) = ax.plot(x, np.where(usable, y, np.nan), linewidth=1.3, **look)
    ax.plot(x[~usable], y[~usable], linestyle="none", fillstyle="none", **look)
    return line


def _mark_best(ax: Axes, found: mixture_tables.CurveTable) -> None:
    name, K = found.best
    t = found.types.index(name)
    value = found.values[t][found.components[t] == K]
    ax.plot([K], value[:1], "o", markersize=13.0, fillstyle="none", color=_style.text_color(), zorder=5)
