"""Components that bend: where they put the rows, and their contour lines over the plane of two columns.

Images before and after noise, and what models make of them: one line a row, one column a panel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.kernel_pca import tables as kernel_tables
from eigenlens.plot._plane import component_pair, draw_scores
from eigenlens.plot._points import MAX_INNER_KEYS, MAX_VECTOR_POINTS, check_color, draw_points
from eigenlens.plot._reconstruction import check_image_shape, make_mosaic
from eigenlens.plot._style import (
    MAX_RANGE_RATIO,
    component_label,
    draw_legend,
    is_dark,
    muted_color,
    name_axes,
    name_ticks,
    new_axes,
    page_color,
    set_aspect,
    small_size,
    style_axes,
    text_color,
    write_note,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from eigenlens.kernel_pca.tables import ContourTable, DenoisingTable

__all__ = ["component_contours", "denoising", "embedding"]

MAX_CONTOUR_LEVELS = 14
"""Bands at most; more of them hide the rows."""


def embedding(
    model: Any,
    X: Any,
    components: tuple[int, int] = (1, 2),
    *,
    labels: Iterable[Any] | None = None,
    color: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """The rows of X on two components in feature space, one unit as long on both.

    Args:
        model: a fitted KernelPCA (or PCA). X: rows (n, d), fitted or new. components: two numbers counted from 1.
        labels: one a row, written beside it where there is room.
        color: a colour; or one value a row: categories get a legend, numbers a scale.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> food = datasets.load("uk-food")
    >>> plot.embedding(PCA().fit(food.data), food.data, labels=food.rows).get_ylabel()
    'PC2 (29.1%)'
    """
    return draw_scores(kernel_tables.scores(model, X, component_pair(components), labels=labels), color, ax)


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
    """Contour lines of one component's score over the plane of two columns, the rows on top (Schölkopf et al. 1998).

    Rows between the same two lines look alike to the component. Lines below zero are dashed, the one at zero is
    thick: those of PCA are straight and evenly spaced, those of kernel PCA follow the shape of the data.

    Args:
        model: a fitted KernelPCA (or PCA) of two columns. X: rows (n, 2), fitted or new. component: counted from 1.
        names: column names, if the model has none. color: as for `embedding`.
        resolution: the grid has as many places along each axis.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, plot
    >>> X = np.random.default_rng(0).standard_normal((50, 2)) * [2.0, 1.0]
    >>> ax = plot.component_contours(PCA().fit(X), X, names=["height", "width"])
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('height', 'width')
    """
    table = kernel_tables.contours(model, X, component, names=names, resolution=resolution)
    colours = check_color(color, len(table.rows))
    ax = new_axes(ax, _size(table))
    style_axes(ax, None)
    _surface(ax, table)
    _rows(ax, table.rows, colours)
    ax.set(xlim=(table.x[0], table.x[-1]), ylim=(table.y[0], table.y[-1]))
    set_aspect(ax, np.ptp(table.x), np.ptp(table.y))
    name_axes(ax, *table.names)
    return ax


def _size(table: ContourTable) -> tuple[float, float]:
    """Inches that fit the plane, so that the scale beside it is as high as it is."""
    ratio = float(np.ptp(table.y) / np.ptp(table.x))
    ratio = ratio if 1.0 / MAX_RANGE_RATIO <= ratio <= MAX_RANGE_RATIO else 0.9
    return 1.5 + 4.2 * min(1.0, 1.0 / ratio), 0.8 + 4.2 * min(1.0, ratio)


def _rows(ax: Axes, rows: Array, colours: str | Array) -> None:
    """The rows with white rims, apart from the lines below them, and their legend above, where it hides nothing."""
    before = len(ax.collections)
    draw_points(ax, rows, colours)
    for points in list(ax.collections)[before:]:
        points.set(edgecolor=page_color(), linewidth=0.3 if len(rows) < MAX_VECTOR_POINTS else 0.0)
    made = ax.get_legend()
    if made is not None and len(made.get_texts()) > MAX_INNER_KEYS:
        made.remove()  # no room beside the scale
        write_note(ax, f"{np.unique(colours).size} categories, without a key")
    elif made is not None:
        names = [text.get_text() for text in made.get_texts()]
        draw_legend(ax, list(made.legend_handles), names, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)


def _surface(ax: Axes, table: ContourTable) -> None:
    """Pale bands, the lines between them, and a scale."""
    levels = _levels(table.values)
    limit = float(np.abs(levels).max())
    colours: Any = {"cmap": _pale(), "vmin": -limit, "vmax": limit}
    bands = ax.contourf(table.x, table.y, table.values, levels, zorder=0, **colours)
    inner = levels[(levels > table.values.min()) & (levels < table.values.max())]
    if inner.size:
        widths = np.where(inner == 0.0, 1.4, 0.7)
        dashes = ["dashed" if level < 0.0 else "solid" for level in inner]
        ax.contour(
            table.x, table.y, table.values, inner, colors=muted_color(), linewidths=widths, linestyles=dashes, zorder=1
        )
    even = np.round(levels / (levels[1] - levels[0])) % 2 == 0  # every other level, zero among them
    bar = ax.figure.colorbar(bands, ax=ax, shrink=0.8, pad=0.02, ticks=levels[even])
    bar.set_label(f"score on {component_label(table.component, table.share)}", fontsize=small_size())
    bar.ax.tick_params(labelsize=small_size(), colors=muted_color(), labelcolor=text_color())
    bar.outline.set_visible(False)


def _levels(values: Array) -> Array:
    """Round numbers, zero among them where the values change sign, that hold all values between them."""
    from matplotlib.ticker import MaxNLocator

    return np.asarray(
        MaxNLocator(MAX_CONTOUR_LEVELS, steps=[1, 2, 2.5, 5, 10]).tick_values(float(values.min()), float(values.max()))
    )


def _pale() -> Colormap:
    """As near to the page as points of any colour need: cool below zero, the page itself at zero, warm above."""
    from matplotlib.colors import LinearSegmentedColormap

    below, above = ("#2C4257", "#57472C") if is_dark(page_color()) else ("#B9CBDD", "#E6D3B3")
    return LinearSegmentedColormap.from_list("eigenlens-pale", [below, page_color(), above])


MAX_IMAGE_LINES = 5

PIXELS_BETWEEN = 1
"""Blank pixels between images, as in a mosaic."""


def denoising(
    panels: Mapping[str, Any],
    *,
    image_shape: tuple[int, int] | None = None,
    original: str | None = None,
    n_rows: int | None = None,
    labels: Iterable[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The first rows of each panel as images side by side, and each panel's mean squared error over all of its rows.

    Every line of images has one scale of grey, that of its original; without one, that of the whole line.

    Args:
        panels: a name and rows (n, d) for each column: `{"original": X, "noisy": Y, "kernel PCA": model.denoise(Y)}`.
        image_shape: (height, width) of a row; a square if None.
        original: the panel that the others should equal; "original" if None, and no errors if there is none.
        n_rows: how many rows to show; 5 at most if None. labels: one a row.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import plot
    >>> X = np.eye(4)
    >>> ax = plot.denoising({"original": X, "noisy": X + 0.5})
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['original', 'noisy\\nMSE 0.25']
    """
    limit = MAX_IMAGE_LINES if n_rows is None else n_rows
    table = kernel_tables.denoising(panels, original=original, limit=limit, labels=labels)
    shape = _shape(image_shape, table.values.shape[2])
    ax = new_axes(ax, _image_size(table, shape))
    _images(ax, table, shape)
    p, n = table.values.shape[:2]
    letters = ax.bbox.width / ax.figure.dpi * 72.0 / p / small_size(0.6)
    name_ticks(ax, "x", _middles(p, shape[1]), _captions(table, int(letters)), fontsize=small_size())
    name_ticks(ax, "y", _middles(n, shape[0]), table.labels or [""] * n, fontsize=small_size())
    ax.tick_params(length=0, labelcolor=text_color(), top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    ax.set_anchor("NW")  # where the names stand: the layout leaves room beside the frame, not beside the images in it
    measured = "" if table.original is None else f"; errors over all {table.rows_given}"
    said = f"{n} of {table.rows_given} rows{measured}" if n < table.rows_given else ""
    ax.set_xlabel(said, loc="left", fontsize=small_size(), color=muted_color())  # below: the captions stand above
    return ax


def _shape(image_shape: tuple[int, int] | None, d: int) -> tuple[int, int]:
    if image_shape is not None:
        return check_image_shape(image_shape, d)
    side = isqrt(d)
    if side * side != d:
        raise OptionError(
            f"image_shape=None needs rows that are square images, but {d} columns are no square; give it."
        )
    return side, side


def _image_size(table: DenoisingTable, shape: tuple[int, int]) -> tuple[float, float]:
    """Inches for images of about one, smaller where there are many, never too small for a caption."""
    (p, n), ratio = table.values.shape[:2], shape[0] / shape[1]
    width = min(1.15, 5.4 / p, max(7.5 / (n * ratio), 0.6))
    return max(2.0, 0.4 + p * width), 0.6 + n * width * ratio


def _middles(count: int, length: int) -> Array:
    return np.arange(count) * (length + PIXELS_BETWEEN) + length / 2.0


def _captions(table: DenoisingTable, letters: int) -> list[str]:
    """The panels' names in lines of so many letters, each with its error if there is an original to compare with."""
    captions = []
    for j, (name, error) in enumerate(zip(table.names, table.errors, strict=True)):
        measured = [] if table.original in (None, j) else [f"MSE {error:.3g}"]
        captions.append("\n".join(part for text in [name, *measured] for part in wrap(text, max(letters, 8))))
    return captions


def _images(ax: Axes, table: DenoisingTable, shape: tuple[int, int]) -> None:
    """One image a line, since each line has a scale of its own."""
    height, width = shape
    p, n = table.values.shape[:2]
    right, bottom = p * (width + PIXELS_BETWEEN) - PIXELS_BETWEEN, n * (height + PIXELS_BETWEEN) - PIXELS_BETWEEN
    for i, (low, high) in enumerate(table.limits):
        top = i * (height + PIXELS_BETWEEN)
        line, where = make_mosaic(table.values[None, :, i], shape), (0.0, right, top + height, top)
        ax.imshow(line, cmap="gray", vmin=low, vmax=high, extent=where, interpolation="nearest")
    ax.set(xlim=(0.0, right), ylim=(bottom, 0.0))
