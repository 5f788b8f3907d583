"""The page of a mixture selection: the table of `select_mixture`, its curves, and the best mixture."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.mixture import tables as mixture_tables
from eigenlens.mixture.select import SELECTION_CRITERIA, MixtureSelection
from eigenlens.reporting.charts import Chart, facts, layer, marks, table_chart
from eigenlens.reporting.page_content import PageContent
from eigenlens.reporting.rows import ShownRows

TITLES = {"bic": "BIC", "icl": "ICL", "aic": "AIC", "held_out": "held-out log density"}
ABOUT = {
    "bic": "Tends to the true number of components as rows grow. The smallest is best.",
    "icl": "BIC with a penalty for rows that could belong to several components. The smallest is best.",
    "aic": "Aims at the best prediction, and prefers more components. The smallest is best.",
    "held_out": "Mean log density of rows left out of the fit. The largest is best.",
}


def selection_page(found: MixtureSelection, rows: ShownRows) -> PageContent:
    """Return the charts of a mixture selection, then those of the best mixture on the rows."""
    from eigenlens.reporting.pages.mixture import mixture_charts

    charts = [_about(found), *criteria(found)]
    if found.best is None:
        return PageContent(charts, {})
    best = mixture_charts(found.best, rows.of(found.best))
    title = f"The best: {_counted(found.components[0])}, {found.types[0]}"
    return PageContent([*charts, best.charts[0] | {"title": title}, *best.charts[1:]], best.columns)


def _about(found: MixtureSelection) -> Chart:
    pairs = [
        ("mixtures compared", len(found.types)),
        ("criterion", TITLES[found.criterion]),
        (
            "best",
            f"{_counted(found.components[0])}, covariances {found.types[0]}" if found.best else "none: all failed",
        ),
    ]
    warnings = [f"{found.types[i]}, {_counted(found.components[i])}: {text}" for i, text in found.remarks.items()]
    return facts("The comparison", pairs, warnings=warnings[:12])


def _counted(k: int) -> str:
    return f"{k} component" + ("" if k == 1 else "s")


def criteria(found: MixtureSelection, own: tuple[int, dict[str, float]] | None = None, words: str = "") -> list[Chart]:
    """Return a chart per criterion, and the table. own: the number of components and the criteria of a given model."""
    there = [name for name in TITLES if np.isfinite(getattr(found, name)).any()]
    return [*(_curve(found, name, own, words) for name in there), _table(found, there)]


def _curve(found: MixtureSelection, name: str, own: tuple[int, dict[str, float]] | None, words: str) -> Chart:
    curves = mixture_tables.curves(found, name)
    layers = []
    for t, (kind, x, y) in enumerate(zip(curves.types, curves.components, curves.values, strict=True)):
        colour, label = COLOURS[t % len(COLOURS)], kind if len(curves.types) > 1 else ""
        titles = [f"{kind}, K = {k}: {v:.6g}" for k, v in zip(x, y, strict=True)]
        layers.append(layer("line", label, x=x, y=y, colour=colour))
        layers.append(layer("dot", x=x, y=y, title=titles, colour=colour))
    kind, K = curves.best
    said = f"best: {K}" + (f", {kind}" if len(curves.types) > 1 else "")
    best = layer("rule-x", x=[float(K)], text=[said], dash=True, colour="#888888")
    if own is not None and name in own[1]:
        title = f"this model, K = {own[0]}: {own[1][name]:.6g}"
        layers.append(layer("dot", "this model", x=[own[0]], y=[own[1][name]], title=[title], colour="#d55e00"))
    words = f"{ABOUT[name]} {words}".strip()
    axes: dict[str, Chart] = {"x": {"label": "components K"}, "y": {"label": TITLES[name]}}
    return marks(f"{TITLES[name]} by the number of components", *layers, best, about=words, **axes)


COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")


def _table(found: MixtureSelection, there: list[str]) -> Chart:
    columns: dict[str, Any] = {
        "covariances": list(found.types),
        "components": found.components,
        "parameters": found.parameters,
        "log-likelihood": found.loglik,
    }
    columns |= {
        TITLES[name] + (" (min)" if SELECTION_CRITERIA[name] > 0 else " (max)"): getattr(found, name) for name in there
    }
    if "held_out" in there:
        columns["± se"] = found.held_out_errors
    columns |= {"fit s": found.seconds, "remark": [found.remarks.get(i, "") for i in range(len(found.types))]}
    about = f"Best first, by {TITLES[found.criterion]}; mixtures with a component that collapsed come last."
    return table_chart("Mixtures compared", columns, about)
