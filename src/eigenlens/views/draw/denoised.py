"""Images before and after noise, and what models make of them: one line a row, one column a panel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.views import kernel_tables
from eigenlens.views.draw.rebuilt import checked_shape, mosaic_of
from eigenlens.views.draw.style import grey, ink, new_axes, small, tick_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eigenlens.views.kernel_tables import DenoisingTable

__all__ = ["denoising"]

MOST_LINES = 5

GAP = 1
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
    limit = MOST_LINES if n_rows is None else n_rows
    table = kernel_tables.denoising(panels, original=original, limit=limit, labels=labels)
    shape = _shape(image_shape, table.values.shape[2])
    ax = new_axes(ax, _size(table, shape))
    _images(ax, table, shape)
    p, n = table.values.shape[:2]
    letters = ax.bbox.width / ax.figure.dpi * 72.0 / p / small(0.6)
    tick_names(ax, "x", _middles(p, shape[1]), _captions(table, int(letters)), fontsize=small())
    tick_names(ax, "y", _middles(n, shape[0]), table.labels or [""] * n, fontsize=small())
    ax.tick_params(length=0, labelcolor=ink(), top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.spines[:].set_visible(False)
    ax.set_anchor("NW")  # where the names stand: the layout leaves room beside the frame, not beside the images in it
    measured = "" if table.original is None else f"; errors over all {table.rows_given}"
    said = f"{n} of {table.rows_given} rows{measured}" if n < table.rows_given else ""
    ax.set_xlabel(said, loc="left", fontsize=small(), color=grey())  # below: the captions stand above
    return ax


def _shape(image_shape: tuple[int, int] | None, d: int) -> tuple[int, int]:
    if image_shape is not None:
        return checked_shape(image_shape, d)
    side = isqrt(d)
    if side * side != d:
        raise OptionError(
            f"image_shape=None needs rows that are square images, but {d} columns are no square; give it."
        )
    return side, side


def _size(table: DenoisingTable, shape: tuple[int, int]) -> tuple[float, float]:
    """Inches for images of about one, smaller where there are many, never too small for a caption."""
    (p, n), ratio = table.values.shape[:2], shape[0] / shape[1]
    width = min(1.15, 5.4 / p, max(7.5 / (n * ratio), 0.6))
    return max(2.0, 0.4 + p * width), 0.6 + n * width * ratio


def _middles(count: int, length: int) -> Array:
    return np.arange(count) * (length + GAP) + length / 2.0


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
    right, bottom = p * (width + GAP) - GAP, n * (height + GAP) - GAP
    for i, (low, high) in enumerate(table.limits):
        top = i * (height + GAP)
        line, where = mosaic_of(table.values[None, :, i], shape), (0.0, right, top + height, top)
        ax.imshow(line, cmap="gray", vmin=low, vmax=high, extent=where, interpolation="nearest")
    ax.set(xlim=(0.0, right), ylim=(bottom, 0.0))
