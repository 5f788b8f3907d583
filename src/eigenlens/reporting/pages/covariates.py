"""Columns that took no part in the fit of a PCA, against its components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.pca import tables
from eigenlens.pca.interpret import Supplementary
from eigenlens.reporting.charts import Chart, category_point, heat
from eigenlens.reporting.packing import RowNumbers
from eigenlens.reporting.rows import ShownRows, colour_column
from eigenlens.tables.names import axis_names

TITLE = "Covariates against components"

SHOWN, LEVELS, MAX_LINES = 8, 25, 40
"""The largest numbers of components in the heat map, of categories in the plot, and of columns in the heat map."""


def find_covariates(model: Any, rows: ShownRows, Z: Array) -> Supplementary | None:
    """Return the columns beside those of the fit, on the scores Z (m, k) of the rows; None without any."""
    columns = {name: _values(values) for name, values in rows.extra.items()}
    return tables.covariates(model, columns, Z, ArraySource(rows.X).weighted(rows.weight)) if columns else None


def supplementary_categories(found: Supplementary | None, axes: Sequence[int]) -> list[Chart]:
    """Return the means of categories on some axes, as named points; of many, those that differ most from chance."""
    if found is None:
        return []
    lines = [
        (float(np.abs(each.v_test[i, axes[:2]]).max()), category_point(level, each.coordinates[i, axes], name))
        for name, each in found.categories.items()
        for i, level in enumerate(each.levels)
    ]
    return [point for _, point in sorted(lines, key=lambda line: -line[0])[:LEVELS]]


def covariate_charts(model: Any, found: Supplementary | None, rows: int = 0) -> list[Chart]:
    """Return r of numbers, and η² of categories, with each of the first components, as a heat map.

    rows: how many rows these are, where they are not all that are shown.
    """
    if found is None or not (found.names or found.categories):
        return []
    lines = [(f"{name} (r)", values) for name, values in zip(found.names, found.correlations, strict=True)]
    lines += [(f"{name} (η², {len(each.levels)} categories)", each.eta2) for name, each in found.categories.items()]
    names = axis_names(model, min(SHOWN, len(lines[0][1])))
    values = np.array([line[: len(names)] for _, line in lines])
    best = np.sort(np.argsort(-np.nanmax(np.abs(values), axis=1, initial=0.0), kind="stable")[:MAX_LINES])
    about = (
        "Columns that took no part in the fit: of numbers the correlation r with a component, of categories η², the "
    )
    about += "share of the component's variance that lies between them, which is to be compared with r²."
    about += f" The {MAX_LINES} columns with the largest." if len(values) > MAX_LINES else ""
    about += f" Of {rows:,} rows, drawn at random." if rows else ""
    texts = ["" if np.isnan(value) else f"{value:.2f}" for value in (np.round(values[best], 2) + 0.0).ravel()]
    shown = [lines[j][0] for j in best]
    return [heat(TITLE, values[best], shown, names, what="r or η²", about=about, texts=texts, top=1.0)]


def _values(values: Any) -> Array:
    """Return numbers, or names where the page colours by categories: few whole numbers are classes."""
    found = colour_column(values, classes=True)
    return found.values if isinstance(found, RowNumbers) else found.values()
