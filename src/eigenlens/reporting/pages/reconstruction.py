"""Components of images as images, and rows built again from their first components, by a slider over their number."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.pca import tables
from eigenlens.reporting.charts import Chart, component_images, frames, images, layer, marks
from eigenlens.reporting.packing import RowBytes
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.names import axis_names
from eigenlens.tables.text_table import count_noun

FEATURES, SIDE, MAX_IMAGES = 20, 64, 16
"""The largest number of columns drawn for one row, of pixels along the side of an image, and of components drawn."""


def image_components(model: Any, side: int) -> Chart:
    """Return the first components of rows that are images of side × side pixels, as images."""
    V, shares = np.asarray(model.model_.axes)[:MAX_IMAGES], tables.variance(model).shares
    step = -(-side // SIDE)
    named = zip(axis_names(model, len(V)), shares, V, strict=False)
    shown = {f"{name} ({share:.1f}%)": _smaller(v, side, step) for name, share, v in named}
    about = "Pixels of one colour rise together when a component grows, and those of the other fall."
    return component_images("Components as images", shown, (side // step, side // step), about)


def reconstruction_chart(model: Any, rows: ShownRows, side: int) -> Chart:
    """Return a slider over the number of components: images of side × side pixels, or columns of rows if 0."""
    k, d = model.n_components_, len(rows.names)
    as_images = side > 0
    counts = sorted({int(q) for q in np.unique(np.geomspace(1, k, min(k, 12)).round())})
    found = tables.reconstruction(model.model_, rows.X, counts, limit=8 if as_images else 3, names=rows.labels)
    named = [rows.name(i) for i in range(len(found.rows))]
    steps = []
    for place, q in enumerate(counts):
        charts = [_images(found, place, side, named)] if as_images else _profiles(model, found, place, named)
        share = found.lost[place] if found.lost[place] > 1e-9 else 0.0
        steps.append((f"{count_noun(q, 'component')}, {share:.2g}% lost", charts))
    about = (
        "Rows built again from their first components only; lost is a share of their squared distance from the mean."
    )
    if as_images:
        about += f" Images of {side} × {side} pixels are shown smaller." if side > SIDE else ""
    else:
        about += f" The {FEATURES} columns in which a row is farthest from the mean." if d > FEATURES else ""
    return frames("Reconstruction", "from", steps, start=_telling(found.lost), fitted=len(steps) - 1, about=about)


LITTLE = 10.0
"""Where all components are kept, rows are as they were: the slider begins where at most this share in % is lost."""


def _telling(lost: Array) -> int:
    """Return the first step to show: that of the model, or where that loses nothing, one before that loses little."""
    last = len(lost) - 1
    return last if lost[-1] > 1e-9 else min(int(np.argmax(np.asarray(lost) <= LITTLE)), max(0, last - 1))


MAX_IMAGE_BYTES, MIN_SIDE = 2_000_000, 8
"""The largest size in bytes of all rows as images, and the fewest pixels along the side of one."""


def row_images(rows: ShownRows) -> Chart:
    """Return the rows as small images in 256 shades, for `Rows` of report.ts; nothing if they are no images.

    Where they are too many for the file, squares of pixels become one; {} if too little would be left to recognise.
    """
    side = tables.image_side(rows.X) if len(rows.X) else 0
    steps = range(-(-side // SIDE), side // MIN_SIDE + 1)
    step = next((step for step in steps if len(rows.X) * (side // step) ** 2 <= MAX_IMAGE_BYTES), 0) if side else 0
    if not step:
        return {}
    small = np.stack([_smaller(row, side, step).ravel() for row in rows.X])
    low, high = np.nanmin(small), np.nanmax(small)
    shades = np.nan_to_num((small - low) / ((high - low) or 1.0), nan=0.5)
    size = {"width": side // step, "height": side // step}
    return {"images": size | {"u8": RowBytes(np.round(255.0 * shades).astype(np.uint8))}}


def _images(found: Any, place: int, side: int, named: list[str]) -> Chart:
    step = -(-side // SIDE)
    labels = [*named, *(f"{name}, built again" for name in named)]
    shown = [_smaller(row, side, step) for rows in (found.rows, found.reconstructions[place]) for row in rows]
    return images("", zip(labels, shown, strict=True), (side // step, side // step), len(found.rows), found.rows)


def _smaller(row: Array, side: int, step: int) -> Array:
    """Return the means over squares of step × step pixels."""
    whole = side // step * step
    return np.asarray(row.reshape(side, side)[:whole, :whole].reshape(side // step, step, -1, step).mean(axis=(1, 3)))


def _profiles(model: Any, found: Any, place: int, named: list[str]) -> list[Chart]:
    """Return the columns of some rows beside their reconstructions."""
    charts = []
    given, made = (model.model_.standardised(rows) for rows in (found.rows, found.reconstructions[place]))
    unit = ", in standard deviations" if model.standardize else ""
    for i, name in enumerate(named):
        chosen = np.sort(np.argsort(-np.abs(given[i]), kind="stable")[:FEATURES])
        names = [found.names[j] for j in chosen]
        layers = [
            layer("bar", "as it is", x=names, y=given[i, chosen]),
            layer("dot", "reconstructed", x=names, y=made[i, chosen]),
        ]
        charts.append(marks(name, *layers, y=f"from the mean{unit}", height=300))
    return charts
