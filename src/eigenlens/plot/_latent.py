"""Plots of latent Gaussian models: log-likelihood by step, rotated loadings, noise by variable, imputed values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.latent import tables as latent_tables
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._components import MAX_BARS, captions, draw_cells
from eigenlens.plot._style import BLUE, VERMILLION
from eigenlens.tables.names import shorten_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_IMPUTED_ROWS = 160
"""Rows of a plot of imputations; more points than these overlap."""

MAX_IMPUTED_COLUMNS = 6

HEYWOOD_PERCENT = 1.0
"""A variable with less noise than this, in per cent of its variance, is worth a second look."""


# ---- likelihood -------------------------------------------------------------------------------------------


@checked_plot()
def likelihood_path(model: Any, *, log: bool = False, ax: Axes | None = None) -> Axes:
    """Draw the log-likelihood after each step of a fit, or its distance from the maximum on a logarithmic axis.

    Args:
        model: a fitted ProbabilisticPCA or FactorAnalysis, or a dict with a name for each of several.
        log: show the distance from the maximum over all of them.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import FactorAnalysis, ProbabilisticPCA, datasets, plot
    >>> air = datasets.load("air-quality").frame()
    >>> models = {"probabilistic PCA": ProbabilisticPCA(2).fit(air)}
    >>> models["factor analysis"] = FactorAnalysis(1).fit(air)
    >>> ax = plot.likelihood_path(models, log=True)
    >>> ax.get_ylabel()
    'log-likelihood below the highest'
    """
    paths, log = latent_tables.likelihood_paths(model), checks.boolean("log", log)
    highest = max(float(path.values[-1]) for path in paths)
    if log and not any(path.below(highest).any() for path in paths):
        what = "needs a step below the maximum, but there is only one step"
        raise OptionError(what, argument="log", value=True, fix="use log=False")
    ax = _style.new_axes(ax)
    _style.style_axes(ax)
    handles = [_draw_path(ax, path, highest if log else None, _style.category_color(i)) for i, path in enumerate(paths)]
    _path_axes(ax, log)
    if len(paths) > 1:
        names = [f"{path.name}: {_ending(path)}" for path in paths]
        _style.draw_legend_above(ax, handles, names, 1)
    else:
        _style.write_note(ax, _ending(paths[0]))
    return ax


def _ending(path: latent_tables.PathTable) -> str:
    steps = path.values.size
    last, how = f"{path.values[-1]:,.2f}".replace("-", "−"), f"after {steps} steps" if steps > 1 else "in one step"
    return f"log-likelihood {last} {how}{'' if path.converged else ', not converged'}"


def _draw_path(ax: Axes, path: latent_tables.PathTable, highest: float | None, colour: str) -> Any:
    steps = np.arange(1, path.values.size + 1)
    few: Any = {"marker": "o", "markersize": 4.0} if path.values.size <= 60 else {}
    y = path.values if highest is None else path.below(highest)
    shown = np.ones(y.size, dtype=bool) if highest is None else y > 0.0  # a logarithmic axis has no zero
    line = ax.plot(steps[shown], y[shown], color=colour, linewidth=1.4, **few)[0]
    if shown[-1]:
        _style.mark_point(ax, steps[-1], y[-1], colour)
    return line


def _path_axes(ax: Axes, log: bool) -> None:
    from matplotlib.ticker import StrMethodFormatter

    _style.count_in_integers(ax.xaxis)
    last = max(float(np.max(line.get_xdata(), initial=1.0)) for line in ax.lines)
    ax.set_xlim(0.5, last + 0.5)
    if last == 1.0:  # one point has no path: an axis of numbers beside it would be arbitrary
        ax.set_xticks([1])
    ax.set_xlabel("step")
    ax.set_ylabel("log-likelihood below the highest" if log else "log-likelihood")
    if log:
        ax.set_yscale("log")
    else:
        ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))


# ---- rotation ---------------------------------------------------------------------------------------------


@checked_plot()
def rotation(
    model: Any,
    rotation: str | Callable[..., Any] | None = None,
    *,
    names: Iterable[str] | None = None,
    sort: bool = True,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw loadings before and after a rotation, side by side: simple structure shows as white cells on the right.

    Args:
        model: a fitted FactorAnalysis, ProbabilisticPCA or PCA.
        rotation: a name or a function; the model's own if None, or "varimax" where it has none.
        names: column names, if the model has none. top: only the columns with the largest loadings, 40 at most if None.
        sort: group the columns by the factor that they belong to after the rotation.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import FactorAnalysis, datasets, plot
    >>> answers = datasets.load("questionnaire").frame()
    >>> ax = plot.rotation(FactorAnalysis(3).fit(answers), "varimax")
    >>> [text.get_text() for text in ax.texts[-2:]]
    ['unrotated', 'varimax']
    """
    table = latent_tables.rotation(model, rotation, names=names)
    d, k = table.after.values.shape
    shown = min(d, 40) if top is None else checks.integer("top", top, 1, d, "the number of columns")
    if shown < d:
        order = np.argsort(-np.linalg.norm(table.before.values, axis=1), kind="stable")[:shown]
        table = replace(table, before=table.before.rows(order), after=table.after.rows(order))
    table = table.grouped() if checks.boolean("sort", sort) else table
    ax = _style.new_axes(ax, (min(3.2 + 1.15 * k, 12.0), max(3.5, 1.2 + 0.19 * shown)))
    _side_by_side(ax, table)
    part = f"{shown} of {d} columns, those with the largest loadings" if shown < d else ""
    _style.write_note_below(ax, part, _correlated(table))
    return ax


def _side_by_side(ax: Axes, table: latent_tables.RotationTable) -> None:
    before, after = table.before, table.after
    d, k = before.values.shape
    values = np.column_stack([before.values, np.full(d, np.nan), after.values])
    draw_cells(ax, values, before.names, [*captions(before), "", *captions(after)], most=13)
    for middle, words in (((k - 1) / 2, "unrotated"), (k + 1 + (k - 1) / 2, table.name)):
        place: Any = {"xycoords": ("data", "axes fraction"), "ha": "center", "va": "bottom"}
        _style.write_at(ax, words, (middle, 1.0), (0, 4), fontsize=_style.small_size(1.25), **place)


def _correlated(table: latent_tables.RotationTable) -> str:
    """Return a remark on the correlations of the factors of an oblique rotation."""
    k = len(table.correlations)
    between = table.correlations[np.triu_indices(k, 1)]
    if not np.any(np.abs(between) > 1e-9):
        return ""
    if k == 2:
        return f"the factors correlate {between[0]:.2f}"
    return f"correlations of the factors from {between.min():.2f} to {between.max():.2f}".replace("-", "−")


# ---- noise ------------------------------------------------------------------------------------------------


@checked_plot()
def noise(
    model: Any,
    *,
    share: bool = True,
    names: Iterable[str] | None = None,
    top: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw bars by variable, most noise first: the part of its variance that is its own, and the part explained.

    Args:
        model: a fitted ProbabilisticPCA or FactorAnalysis.
        share: per cent of each variable's variance (its uniqueness); False for variances in the data's units.
        names: column names, if the model has none. top: how many bars; the 30 largest at most if None.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import FactorAnalysis, datasets, plot
    >>> ax = plot.noise(FactorAnalysis(2).fit(datasets.load("wine").frame()))
    >>> ax.get_yticklabels()[0].get_text()
    'ash'
    """
    table = latent_tables.noise(model, names=names)
    d = len(table.names)
    shown = min(d, MAX_BARS) if top is None else checks.integer("top", top, 1, d, "the number of columns")
    share = checks.boolean("share", share)
    table = table.sorted(table.shares if share else table.noise)
    ax = _style.new_axes(ax, (6.0, 1.1 + 0.19 * max(shown, 4)))
    own = (table.shares if share else table.noise)[:shown]
    rest = (100.0 - table.shares if share else table.common)[:shown]
    _noise_bars(ax, own, rest, table.names[:shown])
    ax.set_xlim(0.0, 100.0 if share else None)
    part = f"{shown} of {d} columns, most noise first" if shown < d else ""
    lines = ["share of the variable's variance (%)" if share else "variance", part, _heywood(table)]
    _style.as_plain_text(ax.set_xlabel("\n".join(line for line in lines if line), wrap=True))
    return ax


def _noise_bars(ax: Axes, own: Array, rest: Array, names: tuple[str, ...]) -> None:
    places = np.arange(own.size)
    noisy = ax.barh(places, own, color=BLUE, height=0.75)
    explained = ax.barh(places, rest, left=own, color=_style.grid_color(), height=0.75)
    _style.style_axes(ax, None)
    _style.name_bars(ax, names)
    ax.spines["left"].set_visible(False)
    widest = float((own + rest).max())
    for place, value in enumerate(own):
        inside = value > 0.12 * widest
        look: Any = {"ha": "right", "color": "white"} if inside else {"ha": "left"}
        look |= {"va": "center", "fontsize": _style.small_size(0.875)}
        _style.write_at(ax, _figure(value, widest), (value, place), (-3 if inside else 3, 0), **look)
    _style.draw_legend_above(ax, [noisy, explained], ["noise, the variable's own", "common, by the factors"], 2)


def _figure(value: float, widest: float) -> str:
    """Return two digits, or all before the decimal point; a value that is negligible beside the widest bar as <0.01.

    >>> [_figure(value, 2000.0) for value in (1234.5, 66.2, 3.07, 0.42, 0.004)], _figure(0.004, 0.02)
    (['1,234', '66', '3.1', '0.42', '<0.01'], '0.004')
    """
    if 0.0 < value < 0.01 and widest >= 1.0:
        return "<0.01"
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def _heywood(table: latent_tables.NoiseTable) -> str:
    """Return a remark that names variables with almost no noise, where each variable has its own noise."""
    if np.ptp(table.noise) == 0.0:
        return ""
    few = [name for name, share in zip(table.names, table.shares, strict=True) if share < HEYWOOD_PERCENT]
    few = shorten_names(few, 24)
    return f"with almost no noise: {', '.join(few[:4])}{', …' if len(few) > 4 else ''}" if few else ""


# ---- imputation -------------------------------------------------------------------------------------------


@checked_plot()
def imputed(
    model: Any,
    X: Any,
    columns: Any = None,
    *,
    rows: Iterable[int] | None = None,
    level: float = 0.95,
    labels: Iterable[Any] | None = None,
    names: Iterable[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw imputed values with their intervals beside the observed values of the same columns, row after row.

    Args:
        model: a fitted ProbabilisticPCA or FactorAnalysis. X: rows (n, d) with NaN for missing values.
        columns: by name or index, each in a band of its own; the 3 with most missing values if None.
        rows: which rows; the first 160 if None. labels: one per row. level: coverage of the intervals.
        names: column names, if the model has none.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import ProbabilisticPCA, datasets, plot
    >>> air = datasets.load("air-quality").frame()
    >>> ax = plot.imputed(ProbabilisticPCA(2).fit(air), air, ["ozone (ppb)", "radiation (Ly)"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['observed', 'imputed, with 95% interval']
    """
    table = latent_tables.imputed(
        model, X, columns, rows=rows, limit=MAX_IMPUTED_ROWS, level=level, labels=labels, names=names
    )
    shown = table.names[:3] if columns is None else table.names
    if len(shown) > MAX_IMPUTED_COLUMNS:
        what = f"has {len(shown)} entries, but at most {MAX_IMPUTED_COLUMNS} can be read in one figure"
        raise OptionError(what, argument="columns")
    ax = _style.new_axes(ax, (8.0, 3.4 if len(shown) == 1 else 0.9 + 1.7 * len(shown)))
    _style.style_axes(ax)
    bands = _bands(table, len(shown))
    handles = _draw_imputed(ax, table, bands)
    _name_bands(ax, table, bands)
    _name_rows(ax, table)
    words = ["observed", f"imputed, with {100 * table.level:g}% interval"]
    _style.draw_legend(ax, handles, words, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2)
    _style.write_note(ax, f"the first {len(table.rows)} rows" if table.more else "")
    return ax


def _bands(table: latent_tables.ImputedTable, m: int) -> Array:
    """Return shift and scale (m, 2) of each column: bands of height 1, the first on top; a single one is unchanged."""
    if m == 1:
        return np.array([[0.0, 1.0]])
    low, high = _ranges(table, m)
    height = np.where(high > low, high - low, 1.0)
    return np.column_stack([-1.25 * np.arange(m) - low / height, 1.0 / height])


def _ranges(table: latent_tables.ImputedTable, m: int) -> tuple[Array, Array]:
    values, margin = table.values[:, :m], table.margin[:, :m]
    return (values - margin).min(axis=0), (values + margin).max(axis=0)


def _draw_imputed(ax: Axes, table: latent_tables.ImputedTable, bands: Array) -> list[Any]:
    places = np.arange(len(table.rows))
    few = len(places) <= 60
    for j, (shift, scale) in enumerate(bands):
        y, margin, missing = shift + scale * table.values[:, j], scale * table.margin[:, j], table.missing[:, j]
        ax.plot(places, np.where(missing, np.nan, y), color=BLUE, linewidth=0.7, alpha=0.5, zorder=2)
        observed = ax.plot(places[~missing], y[~missing], "o", color=BLUE, markersize=4.5 if few else 3.0, zorder=3)[0]
        filled = ax.errorbar(
            places[missing], y[missing], margin[missing], fmt="o", color=VERMILLION, markersize=5.0 if few else 3.5,
            markerfacecolor=_style.page_color(), markeredgewidth=1.2, elinewidth=1.4 if few else 1.0,
            capsize=0.0, zorder=4,
        )  # fmt: skip
    return [observed, filled]


def _name_bands(ax: Axes, table: latent_tables.ImputedTable, bands: Array) -> None:
    """Write the name of one column on the axis; of several, on their bands, with round numbers of their own."""
    from matplotlib.ticker import MaxNLocator

    m = len(bands)
    if m == 1:
        _style.name_axes(ax, y=table.names[0])
        return
    places, words, names = [], [], shorten_names(table.names, 60)
    for j, (low, high) in enumerate(zip(*_ranges(table, m), strict=True)):
        ticks = [t for t in MaxNLocator(4).tick_values(low, high) if low <= t <= high]
        places += [bands[j, 0] + bands[j, 1] * t for t in ticks]
        words += [f"{t:g}".replace("-", "−") for t in ticks]
        if j:
            ax.axhline(-1.25 * j + 1.125, color=_style.muted_color(), linewidth=0.6)
        top: Any = {"xycoords": ("axes fraction", "data"), "ha": "left", "va": "top"}
        top |= {"fontsize": _style.small_size(1.125), "bbox": _style.text_frame()}
        _style.write_at(ax, names[j], (0.005, -1.25 * j + 1.09), (0, 0), **top)
    _style.name_ticks(ax, "y", places, words)
    ax.set_ylim(-1.25 * (m - 1) - 0.06, 1.13)


def _name_rows(ax: Axes, table: latent_tables.ImputedTable) -> None:
    n = len(table.rows)
    ax.set_xlim(-0.02 * n - 0.5, 1.02 * n - 0.5)
    step = int(np.ceil(n / 16))
    numbers = np.arange(0, n, step)
    if table.labels is None:
        _style.name_ticks(ax, "x", numbers, [str(table.rows[i]) for i in numbers])
        ax.set_xlabel("row (counted from 0)")
    else:
        long = max(len(table.labels[i]) for i in numbers) > 5
        turned: Any = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}
        _style.name_ticks(ax, "x", numbers, [table.labels[i] for i in numbers], **turned)
