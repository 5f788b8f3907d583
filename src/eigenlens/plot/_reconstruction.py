"""Plots of rows beside their reconstructions: images in a grid, or lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.pca import tables
from eigenlens.plot import _style
from eigenlens.plot._arguments import checked_plot
from eigenlens.plot._style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.tables.values import ReconstructionTable


@checked_plot()
def reconstruction(
    model: Any,
    X: Any,
    k: int | Sequence[int] | None = None,
    *,
    image_shape: tuple[int, int] | None = None,
    n_rows: int | None = None,
    labels: Iterable[Any] | None = None,
    names: Iterable[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first rows of X and their reconstructions from `k` components, with the share that is lost.

    Args:
        model: a fitted PCA. X: rows (n, d); no more of them are read than are shown.
        k: one or several numbers of components; up to four, spread over those kept, if None.
        image_shape: (height, width) if a row is an image: a grid, originals on top. Lines if None.
        n_rows: how many rows to show; 10 images or 3 lines at most if None.
        labels: one per row. names: column names, if the model has none.
        ax: where to draw; a new figure if None.

    >>> from eigenlens import PCA, datasets, plot
    >>> digits = datasets.load("digits").data
    >>> ax = plot.reconstruction(PCA(40).fit(digits), digits, k=[2, 10, 40], image_shape=(8, 8))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['original', 'k = 2 (72.5% lost)', 'k = 10 (31.8% lost)', 'k = 40 (0.9% lost)']
    """
    checks.has_components(model)
    limit = (3 if image_shape is None else 10) if n_rows is None else checks.integer("n_rows", n_rows, 1)
    table = tables.reconstruction(model, X, k, limit=limit, labels=labels, names=names)
    if image_shape is None:
        return _lines(table, ax)
    return _images(table, check_image_shape(image_shape, len(table.names)), ax)


def check_image_shape(image_shape: tuple[int, int], d: int) -> tuple[int, int]:
    """Check the height and width of images of d pixels."""
    sides = list(image_shape) if isinstance(image_shape, tuple | list) else []
    if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides) or sides[0] * sides[1] != d:
        what = f"must be (height, width) with a product of {d}, the number of columns"
        raise OptionError(what, argument="image_shape", value=image_shape)
    return image_shape


def _captions(table: ReconstructionTable) -> list[str]:
    return [f"k = {q} ({lost:.1f}% lost)" for q, lost in zip(table.counts, table.lost, strict=True)]


def _images(table: ReconstructionTable, shape: tuple[int, int], ax: Axes | None) -> Axes:
    """Draw one mosaic: a line of originals, then a line per number of components, in the grey scale of the rows."""
    n, lines = len(table.rows), 1 + len(table.counts)
    tile = 4.7 / n * shape[0] / shape[1]  # what is left of six inches beside the captions
    ax = _style.new_axes(ax, (6.0, min(max(1.5, 0.4 + lines * tile), 9.0)))
    mosaic = make_mosaic(np.concatenate([table.rows[None], table.reconstructions]), shape)
    ax.imshow(mosaic, cmap="gray", vmin=float(table.rows.min()), vmax=float(table.rows.max()), interpolation="nearest")
    height, width = shape[0] + 1, shape[1] + 1
    middles = np.arange(lines) * height + (height - 2) / 2.0
    _style.name_ticks(ax, "y", middles, ["original", *_captions(table)])
    _style.name_ticks(ax, "x", np.arange(n) * width + (width - 2) / 2.0, table.labels or [""] * n)
    ax.tick_params(length=0, labelcolor=_style.text_color(), top=False)
    ax.spines[:].set_visible(False)
    return ax


def make_mosaic(images: Array, shape: tuple[int, int]) -> Array:
    """Return images (lines, n, d) side by side with a blank pixel between them: (lines (h+1) − 1, n (w+1) − 1)."""
    lines, n = images.shape[:2]
    framed = np.full((lines, n, shape[0] + 1, shape[1] + 1), np.nan)
    framed[:, :, :-1, :-1] = images.reshape(lines, n, *shape)
    return np.asarray(framed.swapaxes(1, 2).reshape(lines * (shape[0] + 1), -1)[:-1, :-1])


def _lines(table: ReconstructionTable, ax: Axes | None) -> Axes:
    """Draw the rows as lines, each in its own band, the original thick and grey under its reconstructions."""
    n, d = table.rows.shape
    ax = _style.new_axes(ax, (6.0, max(4.5, 1.4 * n)))
    shown = np.concatenate([table.rows[None], table.reconstructions])
    step = 1.15 * float(np.ptp(shown, axis=2).max()) or 1.0
    shift = -step * np.arange(n) - (table.rows.mean(axis=1) if n > 1 else 0.0)
    marks: Any = {"marker": "o", "markersize": 3.0} if d <= 40 else {}
    looks: list[dict[str, Any]] = [{"color": "#BBBBBB", "linewidth": 4.0}]
    looks += [{"color": PALETTE[i % 6], "linewidth": 1.0} | marks for i in range(len(table.counts))]
    handles = [ax.plot(lines.T + shift, **look)[0] for lines, look in zip(shown, looks, strict=True)]
    _style.style_axes(ax, "both" if n == 1 else "x")
    if n > 1:
        _style.name_ticks(ax, "y", -step * np.arange(n), table.labels or [f"row {i}" for i in range(n)])
        ax.tick_params(axis="y", length=0)
    elif table.labels:
        _style.name_axes(ax, y=table.labels[0])
    _name_columns(ax, table.names)
    _style.draw_legend_above(ax, handles, ["original", *_captions(table)], 3)
    return ax


def _name_columns(ax: Axes, names: tuple[str, ...]) -> None:
    ax.margins(x=0.02)
    if len(names) > 40:
        ax.set_xlabel("column (counted from 0)")
        return
    turned: Any = {"rotation": 60, "ha": "right", "rotation_mode": "anchor"}
    _style.name_ticks(ax, "x", range(len(names)), names, most=22, **turned)
