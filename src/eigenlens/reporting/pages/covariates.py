"""Columns that took no part in the fit of a PCA, against its components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.pca import tables
from eigenlens.pca.interpret import Supplementary
from eigenlens.reporting.charts import Chart, layer, marks, table_chart
from eigenlens.reporting.packing import RowNumbers
from eigenlens.reporting.rows import ShownRows, colour_column
from eigenlens.tables.names import axis_names

SHOWN, LEVELS = 6, 40
"""The largest numbers of components in the table, and of categories in the plot."""


class Covariates(NamedTuple):
    """Charts of supplementary columns, and what they show; None without any."""

    charts: list[Chart]
    supplementary: Supplementary | None


def covariate_charts(model: Any, rows: ShownRows, Z: Array) -> Covariates:
    """Return a table of correlations and correlation ratios, and a plot of the means of categories."""
    source = ArraySource(rows.X).weighted(rows.weight)
    columns = {name: _values(values) for name, values in rows.extra.items()}
    found = tables.covariates(model, columns, Z, source) if columns else None
    if found is None or not (found.names or found.categories):
        return Covariates([], None)
    plot = [_category_means(model, found)] if found.categories and Z.shape[1] > 1 else []
    return Covariates([*plot, _covariate_table(model, found)], found)


def _values(values: Any) -> Array:
    """Return numbers, or names where the page colours by categories: few whole numbers are classes."""
    found = colour_column(values, classes=True)
    return found.values if isinstance(found, RowNumbers) else found.values()


def _covariate_table(model: Any, found: Supplementary) -> Chart:
    """Return r of numbers, and η² of categories, with each of the first components."""
    lines: list[tuple[str, str, Array]] = [
        (name, "r", values) for name, values in zip(found.names, found.correlations, strict=True)
    ]
    lines += [(name, f"η², {len(each.levels)} categories", each.eta2) for name, each in found.categories.items()]
    names = axis_names(model, min(SHOWN, len(lines[0][2])))
    columns: dict[str, Any] = {"column": [line[0] for line in lines], "measure": [line[1] for line in lines]}
    columns |= {name: np.array([line[2][k] for line in lines]) for k, name in enumerate(names)}
    about = (
        "Columns that took no part in the fit: of numbers the correlation r with a component, of categories η², the "
    )
    about += "share of the component's variance that lies between them."
    return table_chart("Covariates against components", columns, about)


def _category_means(model: Any, found: Supplementary) -> Chart:
    """Return the categories at the mean scores of their rows, those that differ most from chance if they are many."""
    lines = [
        (float(np.abs(each.v_test[i, :2]).max()), name, i) for name, each in found.categories.items()
        for i in range(len(each.levels))
    ]  # fmt: skip
    kept = sorted(lines, key=lambda line: -line[0])[:LEVELS]
    layers = []
    for name, each in found.categories.items():
        mine = sorted(i for _, of, i in kept if of == name)
        if not mine:
            continue
        x, y = each.coordinates[mine, :2].T
        texts = [each.levels[i] for i in mine]
        tests = [f"{name} = {each.levels[i]}: v-test {_written(each.v_test[i, :2])}" for i in mine]
        layers += [layer("dot", name, x=x, y=y, title=tests), layer("text", x=x, y=y, text=texts)]
    about = "Each category of a supplementary column at the mean of its rows; a v-test beyond ±2 is more than chance."
    about += f" The {LEVELS} of {len(lines)} that differ most." if len(lines) > LEVELS else ""
    first, second = axis_names(model, 2)
    zero = [layer("rule-x", x=[0.0], colour="grey", dash=True), layer("rule-y", y=[0.0], colour="grey", dash=True)]
    axes = {"x": {"label": first, "domain": _around(found, 0)}, "y": {"label": second, "domain": _around(found, 1)}}
    return marks("Categories on the components", *zero, *layers, about=about, **axes, equal=True, height=420)


def _around(found: Supplementary, k: int) -> list[float]:
    """Return a range with room around the means of all categories on a component."""
    values = np.concatenate([[0.0], *(each.coordinates[:, k] for each in found.categories.values())])
    room = 0.25 * float(np.ptp(values)) or 1.0
    return [float(values.min()) - room, float(values.max()) + room]


def _written(values: Array) -> str:
    return " and ".join(f"{value:.1f}" for value in values)
