"""The page of a classifier: confusions, calibration of its probabilities, decision regions and explanations."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes import held_out
from eigenlens.bayes import tables as class_tables
from eigenlens.errors import EigenlensError
from eigenlens.reporting.charts import (
    Chart,
    PageContent,
    box_span,
    cell_box,
    facts,
    frames,
    heat,
    layer,
    marks,
    points,
    table_chart,
)
from eigenlens.reporting.page import pack_numbers
from eigenlens.reporting.pages.class_distributions import class_planes, distribution_charts
from eigenlens.reporting.pages.cross_validation import ClassifierEvaluation, class_names, evaluate_classifier
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.names import shorten
from eigenlens.tables.text_table import with_error

SHOWN_CLASSES, MAX_BARS, WORST = 30, 30, 30
"""The largest numbers of classes in a matrix, columns in a chart, and lines in the list of confusions."""

COLOURS, REGIONS = 11, 300
"""The number of distinct colours of the page, and the largest number of classes whose regions are drawn."""

GRID, MEDIAN = 100, 2_000
"""Cells along each axis of decision regions, and the largest number of rows for the medians of other columns."""


def bayes_page(model: Any, rows: ShownRows) -> PageContent:
    """Return the charts of a fitted classifier, and columns to colour by: predictions and their probabilities."""
    found = evaluate_classifier(model, rows)
    main = [*class_planes(model, rows), *distribution_charts(model, rows, found)]
    regions, errors = decision_charts(model, rows, found), confusion_charts(model, found) if found.scored.size else []
    charts = [*main, *errors, *regions] if main else [*regions, *errors]
    charts += explanation_charts(model, rows, found)
    charts += [*_reliability(found), _priors(model, found)] if found.scored.size else [_priors(model, found)]
    charts += [*family_charts(model, rows), describe_classifier(model, rows, found)]
    return PageContent(charts, _columns(model, found), found.warnings)


def _columns(model: Any, found: ClassifierEvaluation) -> dict[str, Any]:
    names = np.array(class_names(model), dtype=object)
    best = found.proba.argmax(axis=1)
    columns = {"predicted class": names[best], "probability of the predicted class": found.proba.max(axis=1)}
    if found.scored.size:
        right = np.full(len(best), None, dtype=object)
        right[found.scored] = np.where(best[found.scored] == found.codes[found.scored], "right", "wrong")
        columns["right or wrong"] = right
    return columns


def describe_classifier(model: Any, rows: ShownRows, found: ClassifierEvaluation) -> Chart:
    """Return the facts about a classifier."""
    pairs: list[tuple[str, Any]] = [("classes", len(model.classes_)), ("columns", len(rows.names))]
    if found.scored.size:
        codes, proba, confusion = found.codes[found.scored], found.proba[found.scored], found.confusion
        common = float(confusion.counts.sum(axis=1).max() / confusion.counts.sum())
        pairs += [
            ("accuracy", f"{_accuracy(confusion)}, on {found.how}"),
            ("always the most frequent class", f"{common:.1%}"),
            ("log loss", f"{held_out.log_loss(proba, codes, found.scored_weight):.4g} nats per row"),
        ]
    return facts("The model", pairs)


def _accuracy(confusion: Any) -> str:
    return with_error(f"{confusion.accuracy:.1%}", confusion.accuracy_error, ".1%")


def _priors(model: Any, found: ClassifierEvaluation) -> Chart:
    names, prior = class_names(model), np.asarray(model.class_prior_, dtype=np.float64)
    order = np.argsort(-prior, kind="stable")[:MAX_BARS] if len(prior) > MAX_BARS else np.arange(len(prior))
    layers = [layer("bar", "prior of the model", x=[names[c] for c in order], y=100.0 * prior[order])]
    if found.scored.size:
        rows = found.confusion.counts.sum(axis=1)
        share = 100.0 * rows / rows.sum()
        layers.append(layer("dot", "share of the rows shown", x=[names[c] for c in order], y=share[order]))
    about = "The probability of each class before a row is seen."
    about += f" The {MAX_BARS} most frequent of {len(prior)} classes." if len(prior) > MAX_BARS else ""
    return marks("Class priors", *layers, about=about, y="%")


# ---- errors -------------------------------------------------------------------------------------------------


def confusion_charts(model: Any, found: ClassifierEvaluation) -> list[Chart]:
    """Return the rows by their true and predicted classes, and the pairs that are confused most."""
    counts = found.confusion.counts
    names, C = class_names(model), len(counts)
    off = counts - np.diag(np.diag(counts))
    order = np.arange(C) if C <= SHOWN_CLASSES else np.sort(np.argsort(-(off.sum(0) + off.sum(1)))[:SHOWN_CLASSES])
    part = counts[np.ix_(order, order)]
    total = counts.sum(axis=1, keepdims=True)[order]
    shares = 100.0 * np.divide(part, total, out=np.zeros_like(part), where=total > 0)
    shown = [names[c] for c in order]
    texts = [f"{value:g}" for value in part.ravel()] if len(order) <= 20 else None
    right = f"{_accuracy(found.confusion)} are right, on {found.how}."
    about = f"{right} True classes down, predicted across; shades are shares of each true class."
    about += f" The {SHOWN_CLASSES} of {C} classes that are confused most." if len(order) < C else ""
    options: dict[str, Any] = {"what": "% of the true class", "about": about, "texts": texts, "whole": 100.0}
    matrix = heat("Confusion", shares, shown, shown, x="predicted", y="true", **options)
    return [matrix, *([_worst(names, off)] if off.any() and C > 2 else [])]


def _worst(names: list[str], off: Array) -> Chart:
    flat = np.argsort(-off.ravel(), kind="stable")[:WORST]
    flat = flat[off.ravel()[flat] > 0]
    true, taken = np.unravel_index(flat, off.shape)
    columns = {
        "true class": [names[c] for c in true], "taken for": [names[c] for c in taken], "rows": off.ravel()[flat],
    }  # fmt: skip
    return table_chart("What is confused most", columns)


def _reliability(found: ClassifierEvaluation) -> list[Chart]:
    weight = found.scored_weight
    result = class_tables.calibration(found.again, None, found.y[found.scored], sample_weight=weight)
    seen = result.weight > 0
    x, y = result.predicted[seen], result.observed[seen]
    low, high = result.limits[seen].T
    titles = [
        f"{n:g} rows, predicted {100 * p:.1f}%, came true {100 * q:.1f}%"
        for n, p, q in zip(result.weight[seen], x, y, strict=True)
    ]
    layers = [
        layer("line", "exactly calibrated", x=[0.0, 100.0], y=[0.0, 100.0], colour="grey", dash=True),
        layer("line", "this model", x=100.0 * x, y=100.0 * y, colour="blue"),
        layer("interval", x=100.0 * x, y=100.0 * y, low=100.0 * low, high=100.0 * high, title=titles, colour="blue"),
    ]
    about = (
        f"How often {result.what} was right, by the probability it was given, with {result.level:.0%} intervals; below "
        f"the line it is too confident. Mean difference {100 * result.error:.1f}%, Brier score {result.brier:.4g}. "
        f"On {found.how}."
    )
    label = "probability of the predicted class (%)"
    axes = {"x": {"label": label, "domain": [0, 100]}, "y": {"label": "came true (%)", "domain": [0, 100]}}
    names = [f"{100 * a:.0f}–{100 * b:.0f}" for a, b in zip(result.edges[:-1], result.edges[1:], strict=True)]
    bars = layer("bar", x=names, y=result.weight)
    words = "Rows by the probability of their predicted class."
    counts = marks("How sure it was", bars, about=words, x=label, y="rows", height=240)
    return [marks("Reliability", *layers, about=about, **axes, height=420), counts]


# ---- plots --------------------------------------------------------------------------------------------------


def _best_pair(rows: ShownRows, found: ClassifierEvaluation) -> list[int]:
    """Return the two columns that separate the classes best; [] where there are no two."""
    codes = found.codes if found.scored.size else found.proba.argmax(axis=1)
    apart = held_out.separation(rows.X, codes)
    seen = np.flatnonzero(np.isfinite(apart))
    return np.sort(seen[np.argsort(-apart[seen], kind="stable")[:2]]).tolist() if seen.size > 1 else []


def decision_charts(
    model: Any, rows: ShownRows, found: ClassifierEvaluation, axes: Sequence[int] | None = None
) -> list[Chart]:
    """Return the most likely class over the plane of two columns; by default those that separate the classes best."""
    pair = _best_pair(rows, found) if axes is None else list(axes)
    if len(pair) < 2:
        return []
    C = len(model.classes_)
    if C > REGIONS:
        words = f"There is no plot of the regions of {C:,} classes: at most {REGIONS} can be distinguished."
        return [facts("Decision regions", paragraphs=[words])]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # places of a plane are no rows: nothing is wrong if none is likely there
            some = _reaching(rows, pair, rows.draw(MEDIAN))
            plane = class_tables.decision(model, some.given, features=pair, grid=GRID)
    except EigenlensError as error:
        return [facts("Decision regions", paragraphs=[f"There is no plot of them: {error}"])]
    about = f"The most likely class, stronger where more certain; {plane.others or 'there are no other columns'}."
    about += " Points are the rows; coloured by class they have the colours of the regions."
    about += f" Of the {C} classes ten have colours of their own, and the others are grey." if C > COLOURS else ""
    (i, j), labels = pair, rows.labels
    drawn = _areas(plane, [shorten(label) for label in np.asarray(model.classes_).tolist()])  # as columns have them
    more = {"regions": drawn, "span": box_span(drawn)}
    return [points("Decision regions", rows.X[:, i], rows.X[:, j], labels[i], labels[j], about, **more)]


def _reaching(rows: ShownRows, pair: list[int], chosen: Array) -> ShownRows:
    """Return some rows and the extreme rows of two columns, so that the plotted range covers all."""
    ends = [f(rows.X[:, j]) for j in pair for f in (np.nanargmin, np.nanargmax)]
    return rows.take(np.union1d(chosen, ends).astype(np.intp))


def _areas(plane: class_tables.DecisionTable, names: list[str]) -> Chart:
    """Return the regions of report.ts: the class of each cell, and how far its probability is above chance."""
    C = len(names)
    sure = (np.clip(plane.proba.max(axis=2), 1.0 / C, 1.0) - 1.0 / C) / max(1.0 - 1.0 / C, 1e-12)
    cells = {"codes": pack_numbers(plane.regions.astype(np.float64)), "sure": pack_numbers(sure)}
    return cell_box(plane.x, plane.y) | {"classes": names} | cells


def family_charts(model: Any, rows: ShownRows, within: str = "class") -> list[Chart]:
    """Return a table of the family that was chosen for each column, with the reason; none of other models."""
    choices = getattr(model, "features_", None)
    if choices is None:
        return []
    columns = {
        "column": list(rows.labels),
        "family": [shorten(getattr(choice.family, "name", choice.family)) for choice in choices],
        "why": [choice.reason for choice in choices],
    }
    return [table_chart("Families of columns", columns, f"The density that each column has within each {within}.")]


EXPLAINED, ROWS, TERMS = 2_000, 6, 12
"""Rows over which contributions are averaged, rows explained of each kind, and columns in an explanation."""


def explanation_charts(model: Any, rows: ShownRows, found: ClassifierEvaluation) -> list[Chart]:
    """Return charts of the contributions of columns on average, and for rows that are wrong or nearly tied."""
    picked, kinds = _worth_a_look(found)
    every = np.union1d(rows.draw(EXPLAINED), picked)
    some = rows.take(every)
    parts = held_out.column_log_odds(model, some.given, some.X, rows.labels)
    if parts is None:
        words = "This density needs every column of a row, so the contribution of one column cannot be separated."
        return [facts("Feature contributions", paragraphs=[words])]
    places = np.searchsorted(every, picked)
    return [_contributions(parts), *_rows_explained(model, rows, found, parts, picked, places, kinds)]


def contribution_chart(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the mean contribution of each column, where columns have one."""
    parts = held_out.column_log_odds(model, rows.given, rows.X, rows.labels)
    return [] if parts is None else [_contributions(parts)]


def _contributions(parts: held_out.ColumnLogOdds) -> Chart:
    order = np.argsort(-parts.mean, kind="stable")[:MAX_BARS]
    bars = layer("bar", x=[parts.names[j] for j in order], y=parts.mean[order])
    count = len(parts.values)
    about = f"Mean absolute contribution of a column to the most likely class, over {count:,} rows: {parts.what}."
    about += f" The {MAX_BARS} largest of {len(parts.names)} columns." if len(parts.names) > MAX_BARS else ""
    return marks("Feature contributions", bars, about=about, y="mean |log-odds|")


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
    reasons = [largest_contributions(parts, int(p), rows, int(i)) for p, i in zip(places, picked, strict=True)]
    columns = {
        "row": [rows.name(int(i)) for i in picked], "why here": kinds, "true class": true, "predicted": taken,
        "probability": found.proba[picked].max(axis=1), "log-odds of": pair,
        "largest contributions": [_listed(each) for each in reasons],
    }  # fmt: skip
    about = f"The most confident wrong predictions and the least certain ones, on {found.how or 'the rows shown'}."
    about += " Contributions are those of the model."
    listed = table_chart("Rows worth a look", columns, about)
    titles = [f"{row} ({kind}): {odds}" for row, kind, odds in zip(columns["row"], kinds, pair, strict=True)]
    steps = [(title, [reason_chart(each)]) for title, each in zip(titles, reasons, strict=True)]
    words = "Contributions to the log-odds of the most likely class against the next: up is for it, down against it."
    return [listed, frames("Why", "row", steps, about=words)]


def _entry(rows: ShownRows, i: int, j: int) -> str:
    """Return a column of a row and its value, as text."""
    value = rows.texts[j][i] if j in rows.texts else rows.X[i, j]
    missing = value is None or value != value
    shown = "missing" if missing else f"{value:.4g}" if isinstance(value, float) else shorten(value, 20)
    return f"{rows.labels[j]} = {shown}"


def largest_contributions(parts: held_out.ColumnLogOdds, p: int, rows: ShownRows, i: int) -> list[tuple[str, float]]:
    """Return the largest contributions of row i, by column and value, the sum of the others, and the prior."""
    values = np.clip(parts.values[p], -700.0, 700.0)
    order = np.argsort(-np.abs(values), kind="stable")
    most = TERMS if len(order) > TERMS + 1 else len(order)
    pairs = [(_entry(rows, i, int(j)), float(values[j])) for j in order[:most]]
    if len(order) > most:
        pairs.append((f"{len(order) - most} others", float(values[order[most:]].sum())))
    return pairs if parts.prior is None else [*pairs, ("prior", float(parts.prior[p]))]


def _listed(pairs: list[tuple[str, float]]) -> str:
    """Return the largest contributions as words; those of missing values are nothing.

    >>> _listed([("x = 2", -1.0), ("y = missing", 0.0)]), _listed([("y = missing", 0.0)])
    ('x = 2: −1', 'none')
    """
    found = [f"{name}: {value:+.3g}".replace(": -", ": −") for name, value in pairs[:4] if value]
    return "; ".join(found) or "none"


def reason_chart(pairs: list[tuple[str, float]]) -> Chart:
    """Return contributions to the log-odds as bars."""
    bars = layer("bar", x=[name for name, _ in pairs], y=[value for _, value in pairs])
    return marks("", bars, y="log-odds", height=300)
