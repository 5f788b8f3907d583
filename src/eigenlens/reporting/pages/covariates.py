"""Columns that took no part in the fit of a PCA, against its components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource
from eigenlens.pca import tables
from eigenlens.pca.interpret import Supplementary
from eigenlens.reporting.charts import Chart, category_point, table_chart
from eigenlens.reporting.packing import RowNumbers
from eigenlens.reporting.rows import ShownRows, colour_column
from eigenlens.tables.names import axis_names

SHOWN, LEVELS = 6, 25
"""The largest numbers of components in the table, and of categories in the plot."""


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
    """Return a table of r of numbers, and of η² of categories, with each of the first components.

    rows: how many rows these are, where they are not all that are shown.
    """
    if found is None or not (found.names or found.categories):
        return []
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
    about += f" Of {rows:,} rows, drawn at random." if rows else ""
    return [table_chart("Covariates against components", columns, about) | {"lines": True}]


def _values(values: Any) -> Array:
    """Return numbers, or names where the page colours by categories: few whole numbers are classes."""
    found = colour_column(values, classes=True)
    return found.values if isinstance(found, RowNumbers) else found.values()
