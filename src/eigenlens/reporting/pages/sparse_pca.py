"""The page of a sparse PCA: the rows on the components, what these are made of, and what each adds."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.reporting.charts import Chart, axes_points, facts, layer, loading_heat, marks, table_chart
from eigenlens.reporting.rows import ShownRows
from eigenlens.sparse_pca.tables import component_terms, sparse_loadings


def sparse_page(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the charts of a fitted SparsePCA."""
    found, table = model.model_, sparse_loadings(model, rows.labels)
    names = [f"{table.stem}{number}" for number in table.components]
    about = "Change of a column when a component changes by one standard deviation; 0 for columns that it does not use."
    axes = [f"{name} ({share:.1f}%)" for name, share in zip(names, table.shares, strict=True)]
    words = "Rows on two components; the share is what a component adds."
    Z = np.asarray(model.transform(rows.given)) if rows.total else None
    return [
        *([] if Z is None else [axes_points("Scores", Z, axes, words, equal=True)]),
        loading_heat(
            "Loadings",
            table.values[:, :8],
            table.names,
            names[:8],
            what="loading",
            about=about,
            standardised=bool(model.standardize),
        ),
        _variance(table.shares, 100.0 * np.asarray(model.bound_) / found.total, names),
        _components(model, names, rows),
        _about(model),
    ]


def _about(model: Any) -> Chart:
    pairs = [
        ("components", model.n_components_),
        ("columns", "standardised" if model.standardize else "centred, in their own units"),
    ]
    return facts("The model", pairs)


def _components(model: Any, names: list[str], rows: ShownRows) -> Chart:
    made = component_terms(model.model_, rows.labels)
    proved = ["yes" if best else "not proved" for best in model.optimal_]
    columns = {"component": names, "columns": model.model_.counts, "the best": proved, "made of": made}
    about = "The best: no component with as few columns adds more variance to those before."
    return table_chart("Components", columns, about)


def _variance(shares: Any, bounds: Any, names: list[str]) -> Chart:
    layers = [layer("bar", "adds", x=names, y=shares), layer("line", "together", x=names, y=np.cumsum(shares))]
    if np.any(bounds > shares * (1.0 + 1e-6)):
        layers.append(layer("dot", "at most", x=names, y=bounds))
    about = "What each component adds to the share of the variance that those before explain."
    return marks("Variance", *layers, about=about, x="component", y="%")
