"""Charts of the criteria by which the number of components of a mixture is chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.mixture import tables as mixture_tables
from eigenlens.mixture.select import SELECTION_CRITERIA, MixtureSelection
from eigenlens.reporting.charts import Chart, layer, marks, table_chart

CRITERION_TITLES = {"bic": "BIC", "icl": "ICL", "aic": "AIC", "held_out": "held-out log density"}
CRITERION_MEANINGS = {
    "bic": "Tends to the true number of components as rows grow. The smallest is best.",
    "icl": "BIC with a penalty for rows that could belong to several components. The smallest is best.",
    "aic": "Aims at the best prediction, and prefers more components. The smallest is best.",
    "held_out": "Mean log density of rows left out of the fit. The largest is best.",
}


def criteria(found: MixtureSelection, own: tuple[int, dict[str, float]] | None = None, words: str = "") -> list[Chart]:
    """Return a chart per criterion, and the table. own: the number of components and the criteria of a given model."""
    there = [name for name in CRITERION_TITLES if np.isfinite(getattr(found, name)).any()]
    return [*(_criterion_curve(found, name, own, words) for name in there), _selection_table(found, there)]


def _criterion_curve(found: MixtureSelection, name: str, own: tuple[int, dict[str, float]] | None, words: str) -> Chart:
    curves = mixture_tables.curves(found, name)
    layers = []
    for t, (kind, x, y) in enumerate(zip(curves.types, curves.components, curves.values, strict=True)):
        label = kind if len(curves.types) > 1 else ""
        titles = [f"{kind}, K = {k}: {v:.6g}" for k, v in zip(x, y, strict=True)]
        layers.append(layer("line", label, x=x, y=y, colour=t))
        layers.append(layer("dot", x=x, y=y, title=titles, colour=t))
    kind, K = curves.best
    text = f"best: {K}" + (f", {kind}" if len(curves.types) > 1 else "")
    best = layer("rule-x", x=[float(K)], text=[text], dash=True, colour="grey")
    if own is not None and name in own[1]:
        title = f"this model, K = {own[0]}: {own[1][name]:.6g}"
        layers.append(layer("dot", "this model", x=[own[0]], y=[own[1][name]], title=[title], colour="orange"))
    title = CRITERION_TITLES[name]
    given = own[1].get(name, np.nan) if own is not None else np.nan
    up, cut = _range(np.concatenate(curves.values), given, SELECTION_CRITERIA[name])
    words = " ".join(filter(None, [CRITERION_MEANINGS[name], words, cut]))
    axis = {"label": title} | up
    return marks(f"{title} by the number of components", *layers, best, about=words, x="components K", y=axis)


CUT, FAR = 4.0, 8.0
"""How many times as far from the best as half of the mixtures an axis goes, if some are this many times as far."""


def _range(values: Array, own: float, sign: float) -> tuple[Chart, str]:
    """Return the range of a criterion without mixtures so bad that all others would look alike, and a note on them.

    own: the value of a given model, which is always shown; NaN without one. sign: of the criterion, −1 for the largest.
    """
    best = sign * float(np.nanmin(sign * values))
    worse = sign * (values[np.isfinite(values)] - best)
    half = float(np.median(worse))
    if not 0.0 < FAR * half < worse.max():
        return {}, ""
    end = float(np.fmax(CUT * half, 1.05 * sign * (own - best)))
    low, high = sorted((best - 0.05 * sign * end, best + sign * end))
    count = int(np.count_nonzero(worse > end))
    note = f"{'1 mixture is' if count == 1 else f'{count} mixtures are'} too far from the best to be shown."
    return {"domain": [low, high], "cut": True}, note


def _selection_table(found: MixtureSelection, there: list[str]) -> Chart:
    columns: dict[str, Any] = {
        found.title_of_types: list(found.types),
        "components": found.components,
        "parameters": found.parameters,
        "log-likelihood": found.loglik,
    }
    for name in there:
        best = "(min)" if SELECTION_CRITERIA[name] > 0 else "(max)"
        columns[f"{CRITERION_TITLES[name]} {best}"] = getattr(found, name)
    if "held_out" in there:
        columns["± se"] = found.held_out_errors
    columns |= {"fit s": found.seconds, "remark": [found.remarks.get(i, "") for i in range(len(found.types))]}
    about = f"Best first, by {CRITERION_TITLES[found.criterion]}; mixtures with a component that collapsed come last."
    return table_chart("Mixtures compared", columns, about)
