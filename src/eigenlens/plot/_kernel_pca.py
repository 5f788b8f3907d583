"""Plots of kernel PCA: rows on two components, contours of a component over two columns, denoised images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isqrt
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.kernel_pca import tables as kernel_tables
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._plane import scores
from eigenlens.plot._points import MAX_INNER_KEYS, MAX_VECTOR_POINTS, check_color, draw_points
from eigenlens.plot._reconstruction import check_image_shape, make_mosaic
from eigenlens.plot._style import MAX_RANGE_RATIO

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap


MAX_CONTOUR_LEVELS = 14
"""The largest number of bands; more of them hide the rows."""


@checked_plot()
def embedding(
    model: Any,
    X: Any,
    components: int | Sequence[int] | None = None,
    *,
    labels: Iterable[Any] | None = None,
    color: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rows of X on two components in feature space, with equal units; `scores` by another name.

    Args: as for `scores`, which also draws ellipses.

    >>> from eigenlens import KernelPCA, datasets, plot
    >>> circles = datasets.load("two-circles")
    >>> X = circles.frame()
    >>> ax = plot.embedding(KernelPCA(3, gamma=1.0).fit(X), X, components=(1, 3), color=circles.labels)
    >>> ax.get_ylabel()
    'PC3 (14.7%)'
    """
    return scores(model, X, components, labels=labels, color=color, ax=ax)


@checked_plot()
def component_contours(
    model: Any,
    X: Any,
    component: int = 1,
    *,
    names: Iterable[str] | None = None,
    color: Any = None,
    resolution: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Draw contour lines of a component's score over the plane of two columns, under the rows (Schölkopf et al. 1998).

    Rows between the same two lines have similar scores. Lines below zero are dashed, the one at zero is thick: those of
    PCA are straight and evenly spaced, those of kernel PCA follow the shape of the data.

    Args:
        model: a fitted KernelPCA (or PCA) of two columns. X: rows (n, 2), fitted or new. component: counted from 1.
        names: column names, if the model has none. color: as for `embedding`.
        resolution: the number of grid points along each axis.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import KernelPCA, datasets, plot
    >>> circles = datasets.load("two-circles")
    >>> X = circles.frame()
    >>> ax = plot.component_contours(KernelPCA(3, gamma=1.0).fit(X), X, component=3, color=circles.labels)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x', 'y')
    """
    table = kernel_tables.contours(model, X, component, names=names, resolution=resolution)
    colours = check_color(color, len(table.rows))
    ax = _style.new_axes(ax, _size(table))
    _style.style_axes(ax, None)
    _surface(ax, table)
    _rows(ax, table.rows, colours)
    ax.set(xlim=(table.x[0], table.x[-1]), ylim=(table.y[0], table.y[-1]))
    _style.set_aspect(ax, np.ptp(table.x), np.ptp(table.y))
    _style.name_axes(ax, *table.names)
    return ax


def _size(table: kernel_tables.ContourTable) -> tuple[float, float]:
    """Return a size in inches that fits the plane, so that the scale beside it is as high."""
    ratio = float(np.ptp(table.y) / np.ptp(table.x))
    ratio = ratio if 1.0 / MAX_RANGE_RATIO <= ratio <= MAX_RANGE_RATIO else 0.9
    return 1.5 + 4.2 * min(1.0, 1.0 / ratio), 0.8 + 4.2 * min(1.0, ratio)


def _rows(ax: Axes, rows: Array, colours: str | Array) -> None:
    """Draw the rows with white rims, distinct from the lines below them, and their legend above the axes."""
    before = len(ax.collections)
    draw_points(ax, rows, colours)
    for points in list(ax.collections)[before:]:
        points.set(edgecolor=_style.page_color(), linewidth=0.3 if len(rows) < MAX_VECTOR_POINTS else 0.0)
    made = ax.get_legend()
    if made is not None and len(made.get_texts()) > MAX_INNER_KEYS:
        made.remove()  # no room beside the scale
        _style.write_note(ax, f"{np.unique(colours).size} categories, without a key")
    elif made is not None:
        names = [text.get_text() for text in made.get_texts()]
        _style.draw_legend_above(ax, list(made.legend_handles), names, 4)


def _surface(ax: Axes, table: kernel_tables.ContourTable) -> None:
    """Draw pale bands, the lines between them, and a scale."""
    levels = _levels(table.values)
    limit = float(np.abs(levels).max())
    colours: Any = {"cmap": _pale(), "vmin": -limit, "vmax": limit}
    bands = ax.contourf(table.x, table.y, table.values, levels, zorder=0, **colours)
    inner = levels[(levels > table.values.min()) & (levels < table.values.max())]
    if inner.size:
        look: Any = {"colors": _style.muted_color(), "linewidths": np.where(inner == 0.0, 1.4, 0.7), "zorder": 1}
        dashes = ["dashed" if level < 0.0 else "solid" for level in inner]
        ax.contour(table.x, table.y, table.values, inner, linestyles=dashes, **look)
    even = np.round(levels / (levels[1] - levels[0])) % 2 == 0  # every other level, zero among them
    label = f"score on {_style.component_label(table.component, table.share, table.stem)}"
    _style.draw_color_scale(ax, bands, 0.8, label, ticks=levels[even])


def _levels(values: Array) -> Array:
    """Return round numbers that enclose all values, zero among them where the values change sign."""
    from matplotlib.ticker import MaxNLocator

    rounds = MaxNLocator(MAX_CONTOUR_LEVELS, steps=[1, 2, 2.5, 5, 10])
    return np.asarray(rounds.tick_values(float(values.min()), float(values.max())))


def _pale() -> Colormap:
    """Return a pale colour map, on which points of any colour are visible: cool below zero, warm above."""
    from matplotlib.colors import LinearSegmentedColormap

    below, above = ("#2C4257", "#57472C") if _style.is_dark(_style.page_color()) else ("#B9CBDD", "#E6D3B3")
    return LinearSegmentedColormap.from_list("eigenlens-pale", [below, _style.page_color(), above])


MAX_IMAGE_LINES = 5

PIXELS_BETWEEN = 1
"""Blank pixels between images, as in a mosaic."""


@checked_plot()
def denoising(
    panels: Mapping[str, Any],
    *,
    image_shape: tuple[int, int] | None = None,
    original: str | None = None,
    n_rows: int | None = None,
    labels: Iterable[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first rows of each panel as images side by side, with each panel's mean squared error over all rows.

    Every line of images has one scale of grey, that of its original; without one, that of the whole line.

    Args:
        panels: a name and rows (n, d) for each column: `{"original": X, "noisy": Y, "kernel PCA": model.denoise(Y)}`.
        image_shape: (height, width) of a row; a square if None.
        original: the panel that the others should equal; "original" if None, and no errors if there is none.
        n_rows: how many rows to show; 5 at most if None. labels: one per row.
        ax: where to draw; a new figure if None.

    >>> import numpy as np
    >>> from eigenlens import KernelPCA, PCA, datasets, plot
    >>> digits = datasets.load("digits").data
    >>> known, new = digits[100:600], digits[:100]
    >>> noisy = new + np.random.default_rng(0).normal(0.0, 4.0, new.shape)
    >>> kernel = KernelPCA(80, gamma=5e-4).fit(known)
    >>> linear = PCA(30).fit(known)
    >>> panels = {"original": new, "noisy": noisy, "PCA": linear.inverse_transform(linear.transform(noisy))}
    >>> ax = plot.denoising({**panels, "kernel PCA": kernel.denoise(noisy)})
    >>> [text.get_text().split()[0] for text in ax.get_xticklabels()]
    ['original', 'noisy', 'PCA', 'kernel']
    """
    limit = MAX_IMAGE_LINES if n_rows is None else n_rows
    table = kernel_tables.denoising(panels, original=original, limit=limit, labels=labels)
    shape = _shape(image_shape, table.values.shape[2])
    ax = _style.new_axes(ax, _image_size(table, shape))
    _images(ax, table, shape)
    p, n = table.values.shape[:2]
    letters = ax.bbox.width / ax.figure.dpi * 72.0 / p / _style.small_size(0.6)
    _style.name_ticks(ax, "x", _middles(p, shape[1]), _captions(table, int(letters)))
    _style.name_ticks(ax, "y", _middles(n, shape[0]), table.labels or [""] * n)
    ax.tick_params(length=0, labelcolor=_style.text_color(), top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    ax.set_anchor("NW")  # beside the names: the layout leaves room around the frame, not around the images in it
    measured = "" if table.original is None else f"; errors over all {table.rows_given}"
    remark = f"{n} of {table.rows_given} rows{measured}" if n < table.rows_given else ""
    _style.write_note_below(ax, remark, loc="left")
    return ax


def _shape(image_shape: tuple[int, int] | None, d: int) -> tuple[int, int]:
    if image_shape is not None:
        return check_image_shape(image_shape, d)
    side = isqrt(d)
    if side * side != d:
        what = f"needs rows that are square images, but {d} columns are not a square"
        raise OptionError(what, argument="image_shape", value=None, fix="give (height, width)")
    return side, side


def _image_size(table: kernel_tables.DenoisingTable, shape: tuple[int, int]) -> tuple[float, float]:
    """Return a size in inches: images of about one inch, smaller where there are many, but wide enough for captions."""
    (p, n), ratio = table.values.shape[:2], shape[0] / shape[1]
    width = min(1.15, 5.4 / p, max(7.5 / (n * ratio), 0.6))
    return max(2.0, 0.4 + p * width), 0.6 + n * width * ratio


def _middles(count: int, length: int) -> Array:
    return np.arange(count) * (length + PIXELS_BETWEEN) + length / 2.0


def _captions(table: kernel_tables.DenoisingTable, letters: int) -> list[str]:
    """Return the panels' names, wrapped, each with its error if there is an original to compare with."""
    captions = []
    for j, (name, error) in enumerate(zip(table.names, table.errors, strict=True)):
        measured = [] if table.original in (None, j) else [f"MSE {error:.3g}"]
        captions.append("\n".join(part for text in [name, *measured] for part in wrap(text, max(letters, 8))))
    return captions


def _images(ax: Axes, table: kernel_tables.DenoisingTable, shape: tuple[int, int]) -> None:
    """Draw one image per line, since each line has its own scale."""
    height, width = shape
    p, n = table.values.shape[:2]
    right, bottom = p * (width + PIXELS_BETWEEN) - PIXELS_BETWEEN, n * (height + PIXELS_BETWEEN) - PIXELS_BETWEEN
    for i, (low, high) in enumerate(table.limits):
        top = i * (height + PIXELS_BETWEEN)
        line, where = make_mosaic(table.values[None, :, i], shape), (0.0, right, top + height, top)
        ax.imshow(line, cmap="gray", vmin=low, vmax=high, extent=where, interpolation="nearest")
    ax.set(xlim=(0.0, right), ylim=(bottom, 0.0))
