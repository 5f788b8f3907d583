"""The page of a PCA: variance, scores, columns, reconstruction and outliers."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.app.report.charts import Chart, facts, frames, heat, images, layer, marks, points, table
from eigenlens.app.report.rows import ShownRows
from eigenlens.arrays import Array
from eigenlens.fitting import reading
from eigenlens.views import tables

__all__ = ["pca_page"]

BARS, CELLS, ARROWS, FEATURES = 30, 40, 25, 12
"""The most components in a scree, rows in a heat map, arrows in a plane, and columns drawn for one row."""


def pca_page(model: Any, rows: ShownRows, band: Array | None = None) -> list[Chart]:
    """All charts of a fitted PCA. band: (q,) upper points of eigenvalues of noise, from parallel analysis."""
    Z = tables.plain_scores(model.model_, rows.X)
    charts = [_about(model), _scree(model, band), _scores(model, Z, (0, 1))]
    if Z.shape[1] > 3:
        charts.append(_scores(model, Z, (2, 3)))
    if Z.shape[1] > 1:
        charts += [_biplot(model, rows), _circle(model, rows)]
    charts += [_loadings(model, rows), _contributions(model, rows), _cos2(model, Z, rows)]
    return [*charts, _reconstruction(model, rows), _outliers(model, Z, rows)]


def _about(model: Any) -> Chart:
    variance = tables.variance(model)
    kept = 100.0 * float(np.sum(model.model_.variances)) / model.model_.total if model.model_.total else 0.0
    return facts(
        "The model",
        [
            ("components", model.n_components_),
            ("variance kept", f"{kept:.1f}%"),
            ("90% of the variance", f"{variance.reaching(90.0) or 'more than are kept'} components"),
            ("columns", "standardised" if model.standardize else "centred, in their own units"),
            ("solver", model.solver_),
        ],
    )


def _scree(model: Any, band: Array | None) -> Chart:
    variance = tables.variance(model)
    q = min(BARS, len(variance.shares))
    x = [str(i) for i in range(1, q + 1)]
    layers = [
        layer("bar", "share of a component", x=x, y=variance.shares[:q]),
        layer("line", "cumulative", x=x, y=variance.cumulative[:q]),
        layer("dot", x=x, y=variance.cumulative[:q], colour="#e69f00"),
        layer("rule-y", y=[90.0], text=["90%"], colour="#888888", dash=True),
    ]
    if band is not None and len(band):
        shares = 100.0 * band[:q] / model.model_.total
        layers.append(layer("line", "noise at most (parallel analysis)", x=x[: len(shares)], y=shares, dash=True))
    about = "How much of the variance each component holds; those above the dashed line of noise are worth a look."
    axes: dict[str, Chart] = {"x": {"label": "component", "type": "band"}, "y": {"label": "% of the variance"}}
    return marks("Scree", *layers, about=about, **axes)


def _axis(model: Any, j: int) -> str:
    return f"PC{j + 1} ({tables.variance(model).shares[j]:.1f}%)"


def _scores(model: Any, Z: Array, pair: tuple[int, int]) -> Chart:
    i, j = pair if Z.shape[1] > pair[1] else (0, 0)
    if Z.shape[1] == 1:
        return points("Scores", Z[:, 0], np.zeros(len(Z)), _axis(model, 0), "", "The rows on the only component.")
    about = "Every row at its place on two components; rows near each other are alike."
    names = _axis(model, i), _axis(model, j)
    return points(f"Scores on components {i + 1} and {j + 1}", Z[:, i], Z[:, j], *names, about, equal=True)


def _biplot(model: Any, rows: ShownRows) -> Chart:
    found = tables.biplot(model.model_, rows.X, [1, 2], names=rows.names)
    longest = np.argsort(-np.hypot(*found.columns.T))[:ARROWS]
    stretch = float(np.abs(found.rows).max() / (np.abs(found.columns).max() or 1.0)) * 0.9
    arrows = [
        {"x": stretch * float(a), "y": stretch * float(b), "label": rows.names[j]}
        for j, (a, b) in zip(longest, found.columns[longest], strict=True)
    ]
    about = "Rows and columns together: a row lies far along an arrow if it is high in that column."
    if len(rows.names) > ARROWS:
        about += f" The {ARROWS} longest arrows of {len(rows.names)}."
    return points("Biplot", found.rows[:, 0], found.rows[:, 1], _axis(model, 0), _axis(model, 1), about, arrows=arrows)


def _circle(model: Any, rows: ShownRows) -> Chart:
    found = tables.correlations(model.model_, [1, 2], names=rows.names).values
    longest = np.argsort(-np.hypot(*found.T))[:ARROWS]
    turn = np.linspace(0.0, 2.0 * np.pi, 181)
    x, y = found[longest].T
    layers = [
        layer("line", x=np.cos(turn), y=np.sin(turn), colour="#888888"),
        layer("link", x1=np.zeros(len(x)), y1=np.zeros(len(x)), x2=x, y2=y),
        layer("text", x=x, y=y, text=[rows.names[j] for j in longest]),
    ]
    axes: dict[str, Chart] = {
        "x": {"label": _axis(model, 0), "domain": [-1.15, 1.15]},
        "y": {"label": _axis(model, 1), "domain": [-1.15, 1.15]},
    }
    about = "Correlations of columns with components: an arrow near the circle is well shown by these two."
    return marks("Correlation circle", *layers, about=about, **axes, equal=True, height=460)


def _most(values: Array, limit: int) -> Array:
    """The rows of a matrix with the largest entries, in their own order."""
    return np.sort(np.argsort(-np.abs(values).max(axis=1))[:limit])


def _loadings(model: Any, rows: ShownRows) -> Chart:
    values = tables.loadings(model.model_, names=rows.names).values[:, :8]
    chosen = _most(values, CELLS)
    about = "How a column moves when a component moves by one standard deviation."
    about += f" The {CELLS} columns that move most." if len(values) > CELLS else ""
    components = [f"PC{j + 1}" for j in range(values.shape[1])]
    return heat("Loadings", values[chosen], [rows.names[j] for j in chosen], components, what="loading", about=about)


def _contributions(model: Any, rows: ShownRows) -> Chart:
    shown = [1, 2] if model.n_components_ > 1 else [1]
    found = tables.column_contributions(model.model_, shown, names=rows.names).values
    order = np.argsort(-found[:, 0])[:BARS]
    layers = [
        layer("bar" if c == 0 else "dot", f"PC{c + 1}", x=[rows.names[j] for j in order], y=found[order, c])
        for c in range(len(shown))
    ]
    even = layer("rule-y", y=[100.0 / len(rows.names)], text=["if all were equal"], colour="#888888", dash=True)
    axes: dict[str, Chart] = {"x": {"type": "band"}, "y": {"label": "% of the component"}}
    return marks("Contributions of columns", *layers, even, about="What each component is made of.", **axes)


def _cos2(model: Any, Z: Array, rows: ShownRows) -> Chart:
    cos2 = reading.row_cos2(Z, model.model_.squared_error(rows.X))
    contributions = reading.row_contributions(model.model_, Z, None)
    best = np.argsort(-contributions[:, 0])[:BARS]
    columns: dict[str, Any] = {"row": [rows.name(i) for i in best]}
    for c in range(min(2, Z.shape[1])):
        columns |= {f"PC{c + 1} contribution %": contributions[best, c], f"PC{c + 1} cos²": cos2[best, c]}
    about = f"The {len(best)} rows that make up most of PC1; cos² says how well a component shows the row."
    return table("Rows that matter most", columns, about)


def _reconstruction(model: Any, rows: ShownRows) -> Chart:
    k = model.n_components_
    counts = sorted({int(q) for q in np.unique(np.geomspace(1, k, min(k, 12)).round())})
    found = tables.reconstruction(model.model_, rows.X, counts, limit=8, names=rows.names)
    side = round(len(rows.names) ** 0.5)
    picture = side * side == len(rows.names) and side >= 6
    steps = []
    for place, q in enumerate(counts):
        chart = _pictures(found, place, side) if picture else _profile(found, place)
        steps.append(
            (f"{q} components, {found.lost[place]:.2g}% of these rows' squared distance from the mean lost", [chart])
        )
    about = "Rows built again from their first components only."
    return frames("Reconstruction", "from", steps, start=len(steps) - 1, about=about)


def _pictures(found: Any, place: int, side: int) -> Chart:
    pictures = {f"row {i + 1}": row for i, row in enumerate(found.rows)}
    pictures |= {f"rebuilt {i + 1}": row for i, row in enumerate(found.reconstructions[place])}
    return images("", pictures, (side, side), len(found.rows))


def _profile(found: Any, place: int) -> Chart:
    names = list(found.names[:FEATURES])
    m = len(names)
    layers = [
        layer("bar", "row 1", x=names, y=found.rows[0, :m]),
        layer("dot", "rebuilt", x=names, y=found.reconstructions[place][0, :m]),
    ]
    return marks("", *layers, x={"type": "band"}, y={"label": "value"})


def _outliers(model: Any, Z: Array, rows: ShownRows) -> Chart:
    found = reading.distances(model.model_, Z, model.model_.squared_error(rows.X))
    limits = (("x", found.limits[0], f"{found.level:.0%} of normal rows"), ("y", found.limits[1], f"{found.level:.0%}"))
    lines = [{axis: limit, "label": label} for axis, limit, label in limits if np.isfinite(limit)]
    about = "To the right: far from the mean within the components. Above: badly shown by them."
    names = "Hotelling's T²", "squared residual"
    return points("Outliers", found.within, found.beside, *names, about, lines=lines)
