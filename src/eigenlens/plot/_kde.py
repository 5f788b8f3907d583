"""Plots of densities: a curve with its rows and a band, bandwidth criteria, contours of the mass over a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.kde import tables as density_tables
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._points import MAX_VECTOR_POINTS, draw_points
from eigenlens.plot._style import BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MAX_RUG_STROKES = 5_000
"""The largest number of strokes in a rug; of more rows, this many at even ranks are drawn."""


@checked_plot()
def density(
    model: Any,
    X: Any = None,
    *,
    column: int | str | None = None,
    band: str | None = "auto",
    level: float = 0.95,
    rug: bool = True,
    histogram: Any = False,
    color: Any = None,
    label: str | None = None,
    random_state: Any = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw the density of one column as a curve, with a band around it and a stroke for each row below.

    The band covers, at each point, the mean of the estimate with the probability `level`: the true density smoothed by
    the same kernel, not the true density itself. "asymptotic": from the variance of a kernel density on the scale of
    √f, where it is nearly constant; "bootstrap": percentiles of 200 densities of resampled rows with the same
    bandwidth.

    Args:
        model: a fitted KernelDensity, or another estimator with a density, or any density of `eigenlens.densities`; or
            several by name, {name: model}, with one legend, and the rows of the first below.
        X: rows for the strokes; those of the kernel density if None. column: which of several, by number or name.
        band: "asymptotic" or "bootstrap", for kernel densities; None for none; "auto" for the first where possible,
            and for none of several densities.
        level: its coverage. rug: whether to draw the strokes.
        histogram: True for a histogram of the rows under the curve; or its number of bins, their edges, or a rule.
        color: of curve, band and strokes; of several densities, one colour each.
        label: a name in the legend, for several densities on the same axes. random_state: of the bootstrap.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import KernelDensity, datasets, plot
    >>> geyser = datasets.load("old-faithful").frame()
    >>> minutes = geyser[["eruption minutes"]]
    >>> ax = plot.density(KernelDensity(bandwidth="isj").fit(minutes), histogram=True)
    >>> ax.get_title(loc="left")
    'gaussian kernel, h = 0.1248; band: 95% at each place, asymptotic'
    >>> several = {f"h = {h}": KernelDensity(bandwidth=h).fit(minutes) for h in (0.05, 0.2, 1.0)}
    >>> [text.get_text() for text in plot.density(several).get_legend().get_texts()]
    ['h = 0.05', 'h = 0.2', 'h = 1.0']
    """
    several = isinstance(model, Mapping)
    models = _check_densities(model, band, label) if several else {None if label is None else str(label): model}
    colours = _check_colors(color, len(models), 0 if ax is None else _curves_drawn(ax))
    band = None if several and band == "auto" else band
    options: Any = {"column": column, "band": band, "level": level, "random_state": random_state}
    found = {name: density_tables.density(each, X, **options) for name, each in models.items()}
    first = next(iter(models.values()))
    bars = None
    if histogram is not False:
        bins = "auto" if histogram is True else histogram
        bars = density_tables.histogram(first, X, column=column, bins=bins)
    shared = ax is not None and bool(ax.lines)
    ax = _style.new_axes(ax)
    if bars is not None:
        _bars(ax, bars)
    for (name, table), colour in zip(found.items(), colours, strict=True):
        _curve(ax, table, colour, name)
    table = next(iter(found.values()))
    drawn = checks.boolean("rug", rug) and (X is not None or table.kernel != "")
    if drawn:
        _rug(ax, table.rows[(table.rows >= table.x[0]) & (table.rows <= table.x[-1])], colours[0], several or shared)
    _finish(ax, table, shared, [] if several else _remarks(table, drawn))
    return ax


def _check_densities(models: Mapping[str, Any], band: str | None, label: str | None) -> dict[str, Any]:
    if not models:
        raise OptionError("is empty", argument="model", fix="give at least one density, {name: model}")
    if label is not None:
        raise OptionError("is for one density", argument="label", value=label, fix="the names of several are the keys")
    return {str(name): model for name, model in models.items()}


def _curves_drawn(ax: Axes) -> int:
    return sum(line.get_gid() == CURVE_MARK for line in ax.lines)


def _check_colors(color: Any, count: int, drawn: int) -> list[str]:
    """Return one colour per density, by default those that follow the colours of the densities drawn before."""
    if color is None or isinstance(color, str):
        return [color or _style.category_color(drawn + i) for i in range(count)]
    colours = checks.listed("color", color)
    if len(colours) != count:
        what = f"has {len(colours)} colours, but there are {count} densities"
        raise OptionError(what, argument="color", fix="give one colour per density")
    return colours


def _curve(ax: Axes, table: density_tables.DensityTable, color: str, name: str | None) -> None:
    """Draw one density, with its band and its name in the legend, where it has them."""
    if table.low is not None and table.high is not None:
        ax.fill_between(table.x, table.low, table.high, color=color, alpha=0.2, linewidth=0.0)
    (curve,) = ax.plot(table.x, table.values, color=color, linewidth=1.6, gid=CURVE_MARK)
    if name is not None:
        curve.set_label(name)  # so that a legend that the user draws has it too
        _add_to_legend(ax, curve, name)


def _bars(ax: Axes, table: density_tables.HistogramTable) -> None:
    """Draw a histogram behind the curves, in the colour of the grid."""
    look: Any = {"color": _style.grid_color(), "edgecolor": _style.page_color(), "linewidth": 0.8, "zorder": 0.8}
    ax.bar(table.edges[:-1], table.heights, width=np.diff(table.edges), align="edge", **look)


def _finish(ax: Axes, table: density_tables.DensityTable, shared: bool, remarks: list[str]) -> None:
    """Name the axes by the first density; remarks on one bandwidth do not belong above several."""
    _style.style_axes(ax)
    ax.set_ylim(bottom=0.0)
    if not shared:
        _style.name_axes(ax, table.name)
        ax.set_ylabel("density")
        _style.write_note(ax, *remarks)
    elif table.kernel:
        _style.write_note(ax)


CURVE_MARK, RUG_MARK = "eigenlens-density", "eigenlens-rug"
"""The `gid` of a curve, and of a rug, by which another density on the same axes finds them."""


def _rug(ax: Axes, rows: Array, color: str, several: bool) -> None:
    """Draw a stroke at the axis for each row, fainter where there are many; once for the same rows.

    Where several densities share the axes, and the rows, the strokes have the colour of none of them.
    """
    ranks = np.linspace(0, rows.size - 1, min(rows.size, MAX_RUG_STROKES)).round().astype(np.intp)
    strokes = np.sort(rows)[ranks]
    for line in ax.lines:
        if line.get_gid() == RUG_MARK and _same_rows(line.get_xdata(), strokes):
            line.set_color(_style.muted_color())
            return
    color = _style.muted_color() if several else color
    faint = float(np.clip(8.0 / np.sqrt(strokes.size), 0.1, 0.8))
    ax.plot(
        strokes, np.full(strokes.size, 0.012), "|", transform=ax.get_xaxis_transform(), color=color, markersize=7.0,
        markeredgewidth=0.7, alpha=faint, zorder=3, rasterized=strokes.size > 1_000, gid=RUG_MARK,
    )  # fmt: skip


def _same_rows(drawn: Any, strokes: Array) -> bool:
    """Return whether one set of strokes contains the other: frames of different width cut off different rows."""
    fewer, more = sorted((np.asarray(drawn), strokes), key=len)
    return bool(np.isin(fewer, more).all())


def _remarks(table: density_tables.DensityTable, rug: bool) -> list[str]:
    kernel = f"{table.kernel} kernel, h = {table.bandwidth:.4g}" if table.kernel else ""
    band = f"band: {100.0 * table.level:g}% at each place, {table.band}" if table.band else ""
    many = rug and table.rows.size > MAX_RUG_STROKES
    thinned = f"strokes: {MAX_RUG_STROKES:,} of {table.rows.size:,} rows" if many else ""
    strokes_and_kernel = "\n".join(filter(None, (thinned, kernel)))
    return [strokes_and_kernel, band, describe_hidden_rows(table.beyond if rug else 0)]


def describe_hidden_rows(count: int) -> str:
    """Return a remark on the number of rows outside the frame, "" if there are none."""
    return f"{count:,} row{'s lie' if count > 1 else ' lies'} far off, beyond the frame" if count else ""


def _add_to_legend(ax: Axes, curve: Any, label: str) -> None:
    """Add one name to the legend."""
    made = ax.get_legend()
    handles = [] if made is None else list(made.legend_handles)
    names = [] if made is None else [text.get_text() for text in made.get_texts()]
    _style.draw_legend(ax, [*handles, curve], [*names, label], loc="best")


@checked_plot()
def bandwidth_curve(
    model: Any, criterion: str = "lscv", *, column: int | str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a cross-validation criterion against the bandwidth, with the bandwidths of all rules marked on the curve.

    "lscv": ∫f̂² − 2 Σ f̂_{−i}(x_i) / n, the squared error up to a constant; its minimum is best. "mlcv": the mean log
    density of a row left out; its maximum is best.

    Args:
        model: a fitted KernelDensity; its rows are used. criterion: "lscv" or "mlcv".
        column: which of several, by number or name; that column alone is used. ax: where to draw; a new
            figure if None.

    >>> from eigenlens import KernelDensity, datasets, plot
    >>> geyser = datasets.load("old-faithful").frame()
    >>> ax = plot.bandwidth_curve(KernelDensity().fit(geyser[["waiting minutes"]]), "mlcv")
    >>> ax.get_ylabel()
    'mean log density of rows left out'
    """
    table = density_tables.bandwidths(model, criterion, column=column)
    ax = _style.new_axes(ax, (7.0, 4.5))
    ax.plot(table.h, table.values, color=BLUE, linewidth=1.6, zorder=2)
    ax.set_xscale("log")
    ax.set_xlim(table.h[0], table.h[-1])
    ax.set_ylim(*_height(table))
    _style.style_axes(ax)
    _mark_rules(ax, table)
    _round_ticks(ax)
    name = f"bandwidth h of {table.name}" + ("" if table.kernel == "gaussian" else f" ({table.kernel} kernel)")
    # Below, for the names of the rules stand above.
    ax.set_xlabel("\n".join([name, *_curve_notes(table)]), parse_math=False)
    ax.set_ylabel(CURVE_LABELS[table.criterion])
    return ax


CURVE_LABELS = {"lscv": "squared error, less ∫f²", "mlcv": "mean log density of rows left out"}


def _curve_notes(table: density_tables.BandwidthTable) -> list[str]:
    """Return the remarks that fit below an axis."""
    ties = any("equal values" in remark for remark in table.remarks)
    hidden = [f"{rule}: h = {h:.3g}, not shown" for rule, h in table.hidden.items()]
    return ["equal values: a criterion has no bound as h tends to 0"] * ties + hidden


def _height(table: density_tables.BandwidthTable) -> tuple[float, float]:
    """Return limits for the part of the curve between the rules, with a margin: its ends may diverge."""
    rules = list(table.rules.values())
    inner = table.values[(table.h > 0.6 * rules[0]) & (table.h < 1.7 * rules[-1])]
    low, high = float(inner.min()), float(inner.max())
    more = 0.12 * (high - low) or 1.0
    return low - more, high + more


def _mark_rules(ax: Axes, table: density_tables.BandwidthTable) -> None:
    """Mark each rule by a dot on the curve and a line to its name; the names are in steps and do not overlap."""
    above = ax.get_xaxis_transform()
    for i, (rule, h) in enumerate(reversed(table.rules.items())):
        chosen = bool(np.isclose(h, table.fitted, rtol=1e-6))
        colour = VERMILLION if chosen else _style.muted_color()
        ax.plot([h, h], [table.at(h), ax.get_ylim()[1]], color=colour, linewidth=0.7, zorder=1)
        ax.plot([h], [table.at(h)], "o", color=colour, markersize=4.5, zorder=3)
        stalk = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "shrinkA": 0.0, "shrinkB": 0.0, "relpos": (0, 0)}
        look: Any = {"xycoords": above, "annotation_clip": False, "arrowprops": stalk}
        look |= {"color": colour} if chosen else {}
        _style.write_at(ax, f" {rule}  {h:.3g}", (h, 1.0), (0.0, 5.0 + 11.0 * i), **look)
    if not np.isclose(list(table.rules.values()), table.fitted, rtol=1e-6).any():
        ax.axvline(table.fitted, color=VERMILLION, linewidth=0.9, linestyle=_style.DASHES)
        look = {"transform": above, "fontsize": _style.small_size(), "color": VERMILLION, "clip_on": True}
        ax.text(table.fitted, 0.02, f" h = {table.fitted:.3g}", **look)


def _round_ticks(ax: Axes) -> None:
    """Label ticks at 1, 2, 5 and their decades by plain numbers, not powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


@checked_plot()
def density_contours(
    model: Any,
    X: Any = None,
    *,
    columns: Sequence[int | str] | None = None,
    masses: Sequence[float] = (0.5, 0.8, 0.95),
    resolution: int = 200,
    points: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw a density over the plane of two columns: the smallest regions that contain given shares of its mass.

    The edge of a region is a level of the density: no other region with that share is smaller (Hyndman 1996). From
    5,000 rows on only those outside all regions are drawn.

    Args:
        model: a fitted KernelDensity or GaussianMixture, or any density. X: rows to show; those of the kernel density
            if None. columns: two of more, by number or name: their marginal is drawn. masses: the shares.
        resolution: the number of grid points along each axis. points: whether to draw the rows.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import KernelDensity, datasets, plot
    >>> geyser = datasets.load("old-faithful").frame()
    >>> ax = plot.density_contours(KernelDensity().fit(geyser))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('eruption minutes', 'waiting minutes')
    """
    table = density_tables.masses_of_plane(model, X, columns=columns, masses=masses, resolution=resolution)
    ax = _style.new_axes(ax, (5.4, 5.0))
    _style.style_axes(ax, None)
    points = checks.boolean("points", points)
    only_outside = points and len(table.rows) >= MAX_VECTOR_POINTS
    remarks = [*_doubts(table), "points: rows outside the regions" if only_outside else ""]
    remarks.append(describe_hidden_rows(table.beyond) if points else "")
    _regions(ax, table, 1.05 if any(remarks) else 1.0)
    if points:
        draw_points(ax, table.outside() if only_outside else table.rows, _style.muted_color())
    ax.set(xlim=(table.x[0], table.x[-1]), ylim=(table.y[0], table.y[-1]))
    _style.set_aspect(ax, np.ptp(table.x), np.ptp(table.y))
    _style.name_axes(ax, *table.names)
    _style.write_note(ax, *remarks)
    return ax


def _regions(ax: Axes, table: density_tables.MassTable, top: float) -> None:
    """Draw pale areas, darker for smaller shares of the mass, their edges, and their shares in a legend above."""
    from matplotlib.patches import Patch

    seen = np.isfinite(table.mass.levels) & (table.mass.levels > 0.0)
    levels, first = np.unique(table.mass.levels[seen], return_index=True)
    if not levels.size:
        return
    shades = [_shade((i + 1.0) / levels.size) for i in range(levels.size)]
    ax.contourf(table.x, table.y, table.values, [*levels, np.inf], colors=shades, zorder=0)
    ax.contour(table.x, table.y, table.values, levels, colors=BLUE, linewidths=0.9, zorder=3)
    patches = [Patch(facecolor=shade, edgecolor=BLUE, linewidth=0.9) for shade in shades[::-1]]
    words = [f"{100.0 * share:g}%" for share in table.mass.masses[seen][first][::-1]]
    words[-1] += " of the mass"
    look: Any = {"ncols": len(words), "columnspacing": 1.2}
    _style.draw_legend(ax, patches, words, loc="lower left", bbox_to_anchor=(0.0, top), **look)


def _shade(share: float) -> tuple[float, float, float, float]:
    """Return blue, from nearly transparent to half opaque: pale on a light page, dim on a dark one."""
    from matplotlib.colors import to_rgba

    return to_rgba(BLUE, 0.1 + 0.38 * share)


def _doubts(table: density_tables.MassTable) -> list[str]:
    lost = [f"{100.0 * share:g}%" for share in table.mass.masses[np.isnan(table.mass.levels)]]
    off = abs(table.mass.covered - 1.0) > 0.02
    return [
        f"the grid holds {100.0 * table.mass.covered:.3g}% of the mass" if off else "",
        f"no region for {', '.join(lost)}" if lost else "",
    ]
