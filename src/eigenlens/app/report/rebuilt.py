"""Rows built again from their first components: a slider over how many."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.app.report.charts import Chart, frames, images, layer, marks
from eigenlens.app.report.rows import ShownRows
from eigenlens.arrays import Array
from eigenlens.views import tables

__all__ = ["reconstruction"]

FEATURES, SIDE = 20, 64
"""The most columns drawn for one row, and pixels along the side of a picture."""


def reconstruction(model: Any, rows: ShownRows) -> Chart:
    """A slider over numbers of components: pictures where rows are pictures, else the columns of one row."""
    k, d = model.n_components_, len(rows.names)
    side = round(d**0.5)
    picture = side * side == d and side >= 6
    counts = sorted({int(q) for q in np.unique(np.geomspace(1, k, min(k, 12)).round())})
    found = tables.reconstruction(model.model_, rows.X, counts, limit=8 if picture else 3, names=rows.labels)
    named = [rows.name(i) for i in range(len(found.rows))]
    steps = []
    for place, q in enumerate(counts):
        charts = [_pictures(found, place, side, named)] if picture else _profiles(model, found, place, named)
        word = "component" if q == 1 else "components"
        share = found.lost[place] if found.lost[place] > 1e-9 else 0.0
        lost = f"{share:.2g}% of these rows' squared distance from the mean lost"
        steps.append((f"{q} {word}, {lost}", charts))
    about = "Rows built again from their first components only."
    about += (
        f" The {FEATURES} columns in which a row is farthest from the mean." if not picture and d > FEATURES else ""
    )
    about += f" Pictures of {side} × {side} are shown smaller." if picture and side > SIDE else ""
    return frames("Reconstruction", "from", steps, start=len(steps) - 1, about=about)


def _pictures(found: Any, place: int, side: int, named: list[str]) -> Chart:
    step = -(-side // SIDE)
    pictures = [(name, _smaller(row, side, step)) for name, row in zip(named, found.rows, strict=True)]
    rebuilt = found.reconstructions[place]
    pictures += [(f"{name}, rebuilt", _smaller(row, side, step)) for name, row in zip(named, rebuilt, strict=True)]
    return images("", pictures, (side // step, side // step), len(found.rows), found.rows)


def _smaller(row: Array, side: int, step: int) -> Array:
    """Means over squares of step × step pixels."""
    whole = side // step * step
    return np.asarray(row.reshape(side, side)[:whole, :whole].reshape(side // step, step, -1, step).mean(axis=(1, 3)))


def _profiles(model: Any, found: Any, place: int, named: list[str]) -> list[Chart]:
    """The columns of some rows beside what the components make of them."""
    charts = []
    given, made = (model.model_.standardised(rows) for rows in (found.rows, found.reconstructions[place]))
    unit = ", in standard deviations" if model.standardize else ""
    for i, name in enumerate(named):
        chosen = np.sort(np.argsort(-np.abs(given[i]), kind="stable")[:FEATURES])
        names = [found.names[j] for j in chosen]
        layers = [
            layer("bar", "as it is", x=names, y=given[i, chosen]),
            layer("dot", "rebuilt", x=names, y=made[i, chosen]),
        ]
        charts.append(marks(name, *layers, x={"type": "band"}, y={"label": f"from the mean{unit}"}, height=300))
    return charts
