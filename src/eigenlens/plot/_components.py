"""Plots of the components of PCA: their shares of variance, loadings as cells or lines, contributions as bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.latent import tables as latent_tables
from eigenlens.pca import tables
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._reconstruction import check_image_shape
from eigenlens.plot._style import BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.pca.bootstrap import Bootstrap
    from eigenlens.tables.values import ValueTable, VarianceTable


@checked_plot(bootstrap="interval")
def scree(
    model: Any,
    *,
    threshold: float = 0.9,
    bootstrap: Bootstrap | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw bars of each component's share of the variance, their sum as a line, and the number that reach `threshold`.

    Args:
        model: a fitted PCA.
        threshold: the share of variance to mark, between 0 and 1.
        bootstrap: the result of `model.bootstrap(X)`, for intervals on the bars; `level` is their coverage.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> wine = datasets.load("wine").frame()
    >>> pca = PCA(standardize=True).fit(wine)
    >>> ax = plot.scree(pca, bootstrap=pca.bootstrap(wine, n=200, random_state=0))
    >>> [round(float(bar.get_height()), 1) for bar in ax.patches[:4]]
    [36.2, 19.2, 11.1, 7.1]
    """
    percent, level = 100.0 * checks.real("threshold", threshold, 0.0, 1.0), checks.real("level", level, 0.0, 1.0)
    checks.has_components(model)
    return draw_shares(_style.new_axes(ax), tables.variance(model), percent, bootstrap, level)


def draw_shares(
    ax: Axes, table: VarianceTable, percent: float = 90.0, bootstrap: Bootstrap | None = None, level: float = 0.95
) -> Axes:
    """Draw the shares of the components of any model, and their sum; `percent` is the sum that is marked."""
    numbers = np.arange(1, table.variances.size + 1)
    bars = ax.bar(numbers, table.shares, color=BLUE, width=0.8 if numbers.size <= 60 else 1.0)
    few = {"marker": "o", "markersize": 3.5} if numbers.size <= 40 else {}
    if numbers.size <= 12 and bootstrap is None:
        _print_shares(ax, table)
    line = ax.plot(numbers, table.cumulative, color=VERMILLION, linewidth=1.4, **few)[0]  # type: ignore[arg-type]
    handles, names = [bars, line], ["each component", "all up to it"]
    if bootstrap is not None:
        handles.append(_intervals(ax, table, bootstrap, level))
        names.append(f"{100 * level:g}% bootstrap interval")
    _threshold(ax, table, percent)
    _axes(ax, numbers.size)
    _style.draw_legend_above(ax, handles, names, 3)
    return ax


def _print_shares(ax: Axes, table: VarianceTable) -> None:
    """Write the share of each bar: inside a tall one, above a low one."""
    for number, share in enumerate(table.shares, start=1):
        tall = share > 9.0
        look = {"va": "top", "color": "white"} if tall else {"va": "bottom"}
        _style.write_at(ax, f"{share:.1f}", (number, share), (0, -7 if tall else 2), ha="center", **look)


def _axes(ax: Axes, k: int) -> None:
    _style.style_axes(ax, "y")
    _style.count_in_integers(ax.xaxis)
    ax.set(xlim=(0.4, k + 0.6), ylim=(0.0, 105.0), xlabel="component", ylabel="share of variance (%)")


def _intervals(ax: Axes, table: VarianceTable, bootstrap: Bootstrap, level: float) -> Any:
    low, high = bootstrap.interval("ratios", level)
    middle = (low + high) * 50.0  # resampling is biased, so an interval need not contain its bar
    numbers = np.arange(1, table.variances.size + 1)
    look: Any = {"fmt": "none", "ecolor": _style.text_color(), "elinewidth": 1.0, "capsize": 2.5}
    return ax.errorbar(numbers, middle, (high - low) * 50.0, **look)


def _threshold(ax: Axes, table: VarianceTable, percent: float) -> None:
    """Draw the line at the threshold, and write how many components reach it.

    The sum of the shares crosses the line at `count`: there is room above the line on its left, and below the line on
    its right.
    """
    ax.axhline(percent, color=_style.muted_color(), linewidth=0.9, linestyle=_style.DASHES)
    count, k = table.reaching(percent), table.variances.size
    if count is None:
        words = f"{k} kept hold {table.cumulative[-1]:.1f}%, less than {percent:g}%"
    else:
        words = f"{count} component{'s' if count > 1 else ''} reach{'' if count > 1 else 'es'} {percent:g}%"
        _style.mark_point(ax, count, table.cumulative[count - 1], VERMILLION)
    left = count is None or count - 1 > k - count
    look: Any = {"ha": "left", "va": "bottom"} if left else {"ha": "right", "va": "top"}
    look |= {"xycoords": ("axes fraction", "data"), "fontsize": _style.small_size(1.125), "bbox": _style.text_frame()}
    _style.write_at(ax, words, (0.01 if left else 0.99, percent), (0, 3 if left else -4), **look)


MAX_HEAT_MAP_ROWS = 60
"""A heat map with more columns of the data than this cannot be read; lines are drawn instead."""

MAX_BARS = 30


@checked_plot()
def loadings(
    model: Any,
    components: Sequence[int] | None = None,
    *,
    names: Iterable[str] | None = None,
    top: int | None = None,
    image_shape: tuple[int, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loadings: a heat map with one named row per column up to 60 columns, else one line per component.

    Where a row is an image, so is a component: x ≈ mean + Σ_j z_j u_j adds these images.

    Args:
        model: a fitted PCA (V √λ), ProbabilisticPCA or FactorAnalysis (W, rotated if it rotates; see `plot.rotation`).
        components: numbers counted from 1; the first 8 (heat map) or 4 (lines) if None.
        names: column names, if the model has none. top: only the columns with the largest loadings, in order.
        image_shape: (height, width) if a row is an image: a grid of the first 8 components, each on its own scale,
            positive loadings in one colour and negative ones in another.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import FactorAnalysis, datasets, plot
    >>> answers = datasets.load("questionnaire").frame()
    >>> ax = plot.loadings(FactorAnalysis(3, rotation="varimax").fit(answers))
    >>> [text.get_text() for text in ax.get_yticklabels()[:3]]
    ['calm 1', 'calm 2', 'calm 3']
    """
    names = None if names is None else checks.listed("names", names)
    checks.has_components(model)
    d, k = latent_tables.latent_loadings(model, names=names).values.shape
    if image_shape is not None:
        shape = check_image_shape(image_shape, d)
        if top is not None:
            raise OptionError("would leave pixels out", argument="top", value=top, fix="give image_shape without top")
        chosen = range(1, min(k, 8) + 1) if components is None else components
        return _component_images(latent_tables.latent_loadings(model, list(chosen), names=names), shape, ax)
    shown = d if top is None else checks.integer("top", top, 1, d, "the number of columns")
    as_lines = shown > MAX_HEAT_MAP_ROWS
    chosen = range(1, min(k, 4 if as_lines else 8) + 1) if components is None else components
    listed = checks.listed("components", chosen)
    if not listed:
        raise OptionError("is empty", argument="components", value=components, fix="give at least one, counted from 1")
    table = latent_tables.latent_loadings(model, listed, names=names)
    if top is not None:
        table = table.largest(shown)
    ax = _lines(table, ax) if as_lines else _heat_map(table, ax)
    _style.write_note(ax, f"{shown} of {d} columns, largest first" if shown < d else "")
    return ax


MAX_IMAGES_IN_LINE = 4
IMAGE_STEP = (1.32, 1.1)
"""Distances of images from one another, in heights, with room for a caption above each, and in widths."""


def _component_images(table: ValueTable, shape: tuple[int, int], ax: Axes | None) -> Axes:
    """Draw components as images in lines of up to four, each over its largest loading, with its name above."""
    from matplotlib.patches import Rectangle

    m = len(table.components)
    across = min(m, MAX_IMAGES_IN_LINE)
    lines = -(-m // across)
    down, right = IMAGE_STEP[0] * shape[0], IMAGE_STEP[1] * shape[1]
    ax = _style.new_axes(ax, (6.0, float(np.clip(6.0 * lines * down / (across * right), 1.6, 9.0))))
    ax.axis("off")
    look: Any = {"cmap": _style.diverging_colors(), "vmin": -1.0, "vmax": 1.0, "interpolation": "nearest"}
    for i, values in enumerate(table.values.T):
        top, left = down * (i // across), right * (i % across)
        image = values.reshape(shape) / (float(np.abs(values).max()) or 1.0)
        ax.imshow(image, extent=(left, left + shape[1], top + shape[0], top), **look)
        frame: Any = {"fill": False, "clip_on": False, "edgecolor": _style.grid_color(), "linewidth": 0.8}
        ax.add_patch(Rectangle((left, top), shape[1], shape[0], **frame))
        name = _style.component_label(table.components[i], float(table.shares[i]), table.stem)
        _style.write_at(ax, name, (left + shape[1] / 2.0, top), (0.0, 3.0), ha="center", va="bottom")
    ax.set(xlim=(0.0, across * right - 0.1 * shape[1]), ylim=(lines * down - 0.3 * shape[0], -0.3 * shape[0]))
    return ax


def _heat_map(table: ValueTable, ax: Axes | None) -> Axes:
    ax = _style.new_axes(ax, (6.0, max(4.5, 0.8 + 0.19 * len(table.names))))
    draw_cells(ax, table.values, table.names, captions(table))
    return ax


def captions(table: ValueTable) -> list[str]:
    """Return the name of each component with its share below it."""
    pairs = zip(table.components, table.shares, strict=True)
    return [_style.component_label(*pair, table.stem).replace(" ", "\n") for pair in pairs]


def draw_cells(
    ax: Axes, values: Array, names: Sequence[str], labels: Sequence[str], most: int = 8, what: str = "loading"
) -> None:
    """Draw values (d, m) as coloured cells with a scale, and as numbers for up to `most` columns; NaN is left blank."""
    d, m = values.shape
    limit = float(np.nanmax(np.abs(values))) or 1.0
    image = ax.imshow(values, cmap=_style.diverging_colors(), vmin=-limit, vmax=limit, aspect="auto")
    _style.name_ticks(ax, "y", range(d), names)
    _style.name_ticks(ax, "x", range(m), labels)
    ax.tick_params(length=0, labelcolor=_style.text_color())
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, m) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, d) - 0.5, minor=True)
    ax.grid(which="minor", color=_style.page_color(), linewidth=1.0)
    ax.tick_params(which="minor", length=0)
    if m <= most:
        _print_values(ax, values, limit)
    _style.draw_color_scale(ax, image, 0.6, what)


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
    ax.set(xlabel="column (counted from 0)", ylabel="loading")
    names = [_style.component_label(*pair, table.stem) for pair in zip(table.components, table.shares, strict=True)]
    _style.draw_legend_above(ax, handles, names, min(4, len(names)))
    return ax


@checked_plot()
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
    >>> ax = plot.contributions(PCA(2).fit(datasets.load("uk-food").frame()))
    >>> ax.get_yticklabels()[0].get_text()
    'Fresh fruit'
    """
    checks.integer("component", component, 1)
    if X is None:
        table, kind = tables.column_contributions(model, [component], names=names), "columns"
    else:
        table, kind = tables.row_contributions(model, X, [component], labels=labels), "rows"
    total, average = len(table.names), 100.0 / len(table.names)
    shown = min(total, MAX_BARS) if top is None else checks.integer("top", top, 1, total, f"the number of {kind}")
    table = table.largest(shown)
    ax = _style.new_axes(ax, (6.0, max(4.5, 1.0 + 0.19 * shown)))
    ax.barh(np.arange(shown), table.values[:, 0], color=BLUE, height=0.75)
    _style.style_axes(ax, "x")
    _style.name_bars(ax, table.names)
    ax.axvline(average, color=_style.text_color(), linewidth=0.9, linestyle=_style.DASHES)
    name = _style.component_label(component, float(table.shares[0]), table.stem)
    ax.set_xlabel(f"contribution to {name}, per cent; dashed: the average, {average:.3g}", wrap=True)
    together = float(table.values.sum())
    _style.write_note(ax, f"{shown} of {total} {kind}, together {together:.1f}%" if shown < total else "")
    return ax
