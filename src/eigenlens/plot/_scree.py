"""The scree plot: the share of variance of each component, and the number that reach a threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.pca import tables
from eigenlens.plot import _style
from eigenlens.plot._style import BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.pca.bootstrap import Bootstrap
    from eigenlens.tables.values import VarianceTable


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
    >>> food = datasets.load("uk-food")
    >>> ax = plot.scree(PCA().fit(food.data))
    >>> [round(float(bar.get_height()), 1) for bar in ax.patches]
    [67.4, 29.1, 3.5, 0.0]
    """
    percent, level = 100.0 * checks.real("threshold", threshold, 0.0, 1.0), checks.real("level", level, 0.0, 1.0)
    table, ax = tables.variance(model), _style.new_axes(ax)
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
    _style.draw_legend(ax, handles, names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    return ax


def _print_shares(ax: Axes, table: VarianceTable) -> None:
    """Write the share of each bar: inside a tall one, above a low one."""
    for number, share in enumerate(table.shares, start=1):
        tall = share > 9.0
        where: Any = {"xytext": (0, -7 if tall else 2), "textcoords": "offset points", "ha": "center"}
        where |= {"va": "top" if tall else "bottom", "color": "white" if tall else _style.text_color()}
        ax.annotate(f"{share:.1f}", (number, share), fontsize=_style.small_size(), **where)


def _axes(ax: Axes, k: int) -> None:
    from matplotlib.ticker import MaxNLocator

    _style.style_axes(ax, "y")
    ax.set_xlim(0.4, k + 0.6)
    ax.set_ylim(0.0, 105.0)
    ax.xaxis.set_major_locator(MaxNLocator(nbins=12, steps=[1, 2, 5, 10], integer=True, min_n_ticks=1))
    ax.set_xlabel("component")
    ax.set_ylabel("share of variance (%)")


def _intervals(ax: Axes, table: VarianceTable, bootstrap: Bootstrap, level: float) -> Any:
    low, high = bootstrap.interval("ratios", level)
    middle = (low + high) * 50.0  # resampling is biased, so an interval need not contain its bar
    numbers = np.arange(1, table.variances.size + 1)
    return ax.errorbar(
        numbers, middle, (high - low) * 50.0, fmt="none", ecolor=_style.text_color(), elinewidth=1.0, capsize=2.5
    )


def _threshold(ax: Axes, table: VarianceTable, percent: float) -> None:
    """Draw the line at the threshold, and write how many components reach it.

    The sum of the shares crosses the line at `count`: there is room above the line on its left, and below the line on
    its right.
    """
    ax.axhline(percent, color=_style.muted_color(), linewidth=0.9, linestyle=(0, (4, 3)))
    count, k = table.reaching(percent), table.variances.size
    if count is None:
        words = f"{k} kept hold {table.cumulative[-1]:.1f}%, less than {percent:g}%"
    else:
        words = f"{count} component{'s' if count > 1 else ''} reach{'' if count > 1 else 'es'} {percent:g}%"
        reached = table.cumulative[count - 1]
        ax.plot(
            count,
            reached,
            "o",
            color=VERMILLION,
            markersize=7.0,
            markerfacecolor=_style.page_color(),
            markeredgewidth=1.6,
        )
    left = count is None or count - 1 > k - count
    ax.annotate(
        words, (0.01 if left else 0.99, percent), (0, 3 if left else -4), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="left" if left else "right", va="bottom" if left else "top",
        fontsize=_style.small_size(1.125), color=_style.text_color(),
        bbox={"facecolor": _style.page_color(), "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
    )  # fmt: skip
