"""The plot of a comparison of densities: the distance of each from the best on held-out rows, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.errors import DataError
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._style import BLUE, VERMILLION
from eigenlens.tables.names import shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.comparison.compare import Comparison


@checked_plot(table="margins")
def comparison(table: Comparison, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Draw each estimator's mean held-out log density less that of the best, with its paired interval.

    Args:
        table: the result of `eigenlens.compare`. level: the coverage of the intervals, by the normal approximation.
        ax: where to draw; a new figure if None.

    Estimators that failed, and those with density zero at a held-out row, are named above the axes.

    >>> from eigenlens import GaussianMixture, KernelDensity, ProbabilisticPCA, compare, datasets, plot
    >>> models = {f"{K} Gaussians": GaussianMixture(K, random_state=0) for K in (2, 3)}
    >>> models |= {"kernel density": KernelDensity(), "probabilistic PCA": ProbabilisticPCA(1)}
    >>> table = compare(models, datasets.load("old-faithful").data, random_state=0)
    >>> [text.get_text() for text in plot.comparison(table).get_yticklabels()]
    ['kernel density', '2 Gaussians', '3 Gaussians', 'probabilistic PCA']
    """
    widths = table.margins(level)
    shown = np.flatnonzero(np.isfinite(table.behind))
    if not shown.size:
        raise DataError("no estimator of the comparison has a finite mean log density, so there is nothing to draw")
    ax = _style.new_axes(ax, (6.0, 1.2 + 0.42 * shown.size))
    heights = np.arange(shown.size)
    ax.axvline(0.0, color=_style.muted_color(), linewidth=0.9, linestyle=_style.DASHES)
    ax.errorbar(-table.behind[shown], heights, xerr=widths[shown], fmt="none", ecolor=BLUE, elinewidth=1.4, capsize=3.0)
    colors = [VERMILLION, *[BLUE] * (shown.size - 1)]
    ax.scatter(-table.behind[shown], heights, s=34.0, c=colors, zorder=3)
    _beside(ax, table, shown)
    _style.style_axes(ax, "x")
    _style.name_ticks(ax, "y", heights, [table.names[i] for i in shown])
    ax.set_ylim(shown.size - 0.5, -0.5)
    best = shorten(table.best, 28)
    label = f"held-out log density per row, less that of {best} ({100 * float(level):g}% paired intervals)"
    _style.as_plain_text(ax.set_xlabel(label, wrap=True))
    _style.write_note(ax, *_left_out(table))
    return ax


def _beside(ax: Axes, table: Comparison, shown: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> None:
    """Write the mean log density and the time of a fit beside each line."""
    for height, i in enumerate(shown):
        words = f"{table.means[i]:.3f}   {table.fit_seconds[i]:.2g} s"
        look: Any = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
        _style.write_at(ax, words, (1.0, height), (4, 0), **look)


def _left_out(table: Comparison) -> list[str]:
    lost = [table.names[i] for i in np.flatnonzero(~np.isfinite(table.behind))]
    zero = [f"{name}: density zero at a held-out row" for name in lost if name not in table.failures]
    return [*zero, *(f"{name}: failed" for name in table.failures)]
