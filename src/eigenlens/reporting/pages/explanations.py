"""Explanations of a classifier: the contributions of columns on average, and for rows worth a look."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes import held_out
from eigenlens.reporting.charts import Chart, facts, frames, layer, marks, table_chart
from eigenlens.reporting.packing import shorten
from eigenlens.reporting.pages.cross_validation import ClassifierEvaluation, class_names
from eigenlens.reporting.rows import ShownRows

EXPLAINED, ROWS, TERMS = 2_000, 6, 12
"""Rows over which contributions are averaged, rows explained of each kind, and columns in an explanation."""

BARS = 30
"""The largest number of columns in a chart."""


def explanation_charts(model: Any, rows: ShownRows, found: ClassifierEvaluation) -> list[Chart]:
    """Return charts of the contributions of columns on average, and for rows that are wrong or nearly tied."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows.X))[:EXPLAINED])
    picked, kinds = _worth_a_look(found)
    every = np.unique(np.concatenate([chosen, picked]))
    some = rows.take(every)
    given = some.given
    parts = held_out.column_log_odds(model, given, some.X, rows.labels)
    if parts is None:
        words = "This density needs every column of a row, so the contribution of one column cannot be separated."
        return [facts("Feature contributions", paragraphs=[words])]
    order = np.argsort(-parts.mean, kind="stable")[:BARS]
    bars = layer("bar", x=[parts.names[j] for j in order], y=parts.mean[order])
    about = f"Mean absolute contribution of a column to the most likely class, over {len(every):,} rows: {parts.what}."
    about += f" The {BARS} largest of {len(parts.names)} columns." if len(parts.names) > BARS else ""
    whole = marks("Feature contributions", bars, about=about, x={"type": "band"}, y={"label": "mean |log-odds|"})
    places = np.searchsorted(every, picked)
    return [whole, *_rows_explained(model, rows, found, parts, picked, places, kinds)]


def _worth_a_look(found: ClassifierEvaluation) -> tuple[Array, list[str]]:
    """Return the most confident wrong predictions, then the least certain predictions."""
    sure = found.proba.max(axis=1)
    wrong = np.empty(0, dtype=np.intp)
    if found.scored.size:
        off = found.scored[found.proba[found.scored].argmax(axis=1) != found.codes[found.scored]]
        wrong = off[np.argsort(-sure[off], kind="stable")][:ROWS]
    unsure = np.array([i for i in np.argsort(sure, kind="stable")[: 4 * ROWS] if i not in set(wrong.tolist())][:ROWS])
    kinds = ["wrong"] * len(wrong) + ["least certain"] * len(unsure)
    return np.concatenate([wrong, unsure]).astype(np.intp), kinds


def _rows_explained(
    model: Any, rows: ShownRows, found: ClassifierEvaluation, parts: held_out.ColumnLogOdds, picked: Array,
    places: Array, kinds: list[str],
) -> list[Chart]:  # fmt: skip
    if not len(picked):
        return []
    names = class_names(model)
    true = ["" if found.codes[i] < 0 else names[found.codes[i]] for i in picked]
    taken = [names[c] for c in found.proba[picked].argmax(axis=1)]
    pair = [f"{shorten(parts.of[p], 40)} against {shorten(parts.against[p], 40)}" for p in places]
    reasons = [_largest(parts, int(p)) for p in places]
    columns = {
        "row": [rows.name(int(i)) for i in picked], "why here": kinds, "true class": true, "predicted": taken,
        "probability": found.proba[picked].max(axis=1), "log-odds of": pair,
        "largest contributions": ["; ".join(f"{name} {value:+.3g}" for name, value in each[:4]) for each in reasons],
    }  # fmt: skip
    about = f"The most confident wrong predictions and the least certain ones, on {found.how or 'the rows shown'}."
    about += " Contributions are those of the model."
    listed = table_chart("Rows worth a look", columns, about)
    steps = [
        (f"{columns['row'][i]} ({kinds[i]}): {pair[i]}", [_reason(reasons[i])]) for i in range(len(picked))
    ]  # fmt: skip
    words = "Contributions to the log-odds of the most likely class against the next: up is for it, down against it."
    return [listed, frames("Why", "row", steps, about=words)]


def _largest(parts: held_out.ColumnLogOdds, p: int) -> list[tuple[str, float]]:
    """Return the largest contributions of a row, the sum of the others, and the prior."""
    values = np.clip(parts.values[p], -700.0, 700.0)
    order = np.argsort(-np.abs(values), kind="stable")
    most = TERMS if len(order) > TERMS + 1 else len(order)
    pairs = [(parts.names[j], float(values[j])) for j in order[:most]]
    if len(order) > most:
        pairs.append((f"{len(order) - most} others", float(values[order[most:]].sum())))
    return pairs if parts.prior is None else [*pairs, ("prior", float(parts.prior[p]))]


def _reason(pairs: list[tuple[str, float]]) -> Chart:
    bars = layer("bar", x=[name for name, _ in pairs], y=[value for _, value in pairs])
    return marks("", bars, x={"type": "band"}, y={"label": "log-odds"}, height=300)
