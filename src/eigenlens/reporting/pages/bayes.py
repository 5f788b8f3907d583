"""The page of a classifier: confusions, calibration of its probabilities, decision regions and explanations."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes import held_out
from eigenlens.bayes import tables as class_tables
from eigenlens.errors import EigenlensError
from eigenlens.reporting.charts import Chart, facts, heat, layer, marks, points, table_chart
from eigenlens.reporting.packing import shorten
from eigenlens.reporting.page import pack_numbers
from eigenlens.reporting.page_content import PageContent
from eigenlens.reporting.pages.cross_validation import ClassifierEvaluation, class_names, evaluate_classifier
from eigenlens.reporting.pages.explanations import explanation_charts
from eigenlens.reporting.rows import ShownRows

SHOWN_CLASSES, BARS, WORST = 30, 30, 30
"""The largest numbers of classes in a matrix, columns in a chart, and lines in the list of confusions."""

COLOURS, REGIONS = 11, 300
"""The number of distinct colours of the page, and the largest number of classes whose regions are drawn."""

GRID, MEDIAN = 100, 2_000
"""Cells along each axis of decision regions, and the largest number of rows for the medians of other columns."""


def bayes_page(model: Any, rows: ShownRows) -> PageContent:
    """Return the charts of a fitted classifier, and columns to colour by: predictions and their probabilities."""
    found = evaluate_classifier(model, rows)
    charts = [_about(model, rows, found), _priors(model, found)]
    if found.scored.size:
        charts += [*_confusion(model, found), *_reliability(found)]
    charts += [
        *_directions(model, rows),
        *_regions(model, rows, found),
        *explanation_charts(model, rows, found),
        *_families(model, rows),
    ]
    return PageContent(charts, _columns(model, found))


def _columns(model: Any, found: ClassifierEvaluation) -> dict[str, Any]:
    names = np.array(class_names(model), dtype=object)
    best = found.proba.argmax(axis=1)
    columns: dict[str, Any] = {
        "predicted class": names[best],
        "probability of the predicted class": found.proba.max(axis=1),
    }
    if found.scored.size:
        right = np.full(len(best), None, dtype=object)
        right[found.scored] = np.where(best[found.scored] == found.codes[found.scored], "right", "wrong")
        columns["right or wrong"] = right
    return columns


def _about(model: Any, rows: ShownRows, found: ClassifierEvaluation) -> Chart:
    pairs: list[tuple[str, Any]] = [("classes", len(model.classes_)), ("columns", len(rows.names))]
    if found.scored.size:
        codes, proba = found.codes[found.scored], found.proba[found.scored]
        right = float(np.mean(proba.argmax(axis=1) == codes))
        error = float(np.sqrt(right * (1.0 - right) / len(codes)))
        common = float(np.bincount(codes).max() / len(codes))
        pairs += [
            ("accuracy", f"{right:.1%} ± {error:.1%}, on {found.how}"),
            ("always the most frequent class", f"{common:.1%}"),
            ("log loss", f"{held_out.log_loss(proba, codes):.4g} nats a row"),
        ]
    return facts("The model", pairs, warnings=list(found.warnings))


def _priors(model: Any, found: ClassifierEvaluation) -> Chart:
    names, prior = class_names(model), np.asarray(model.class_prior_, dtype=np.float64)
    order = np.argsort(-prior, kind="stable")[:BARS] if len(prior) > BARS else np.arange(len(prior))
    layers = [layer("bar", "prior of the model", x=[names[c] for c in order], y=100.0 * prior[order])]
    if found.scored.size:
        share = 100.0 * np.bincount(found.codes[found.scored], minlength=len(prior)) / found.scored.size
        layers.append(layer("dot", "share of the rows shown", x=[names[c] for c in order], y=share[order]))
    about = "What the model takes a class for before it sees the row."
    about += f" The {BARS} most frequent of {len(prior)} classes." if len(prior) > BARS else ""
    return marks("Class priors", *layers, about=about, x={"type": "band"}, y={"label": "%"})


# ---- errors -------------------------------------------------------------------------------------------------


def _confusion(model: Any, found: ClassifierEvaluation) -> list[Chart]:
    counts = class_tables.confusion(found.again, None, found.y[found.scored]).counts
    names, C = class_names(model), len(counts)
    off = counts - np.diag(np.diag(counts))
    order = np.arange(C) if C <= SHOWN_CLASSES else np.sort(np.argsort(-(off.sum(0) + off.sum(1)))[:SHOWN_CLASSES])
    part = counts[np.ix_(order, order)]
    total = counts.sum(axis=1, keepdims=True)[order]
    shares = 100.0 * np.divide(part, total, out=np.zeros_like(part), where=total > 0)
    shown = [names[c] for c in order]
    texts = [f"{value:g}" for value in part.ravel()] if len(order) <= 20 else None
    about = f"True classes down, predicted across; shades are shares of each true class. On {found.how}."
    about += f" The {SHOWN_CLASSES} of {C} classes that are confused most." if len(order) < C else ""
    matrix = heat("Confusion", shares, shown, shown, what="% of the true class", about=about, texts=texts,
                  x="predicted", y="true")  # fmt: skip
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
    result = class_tables.calibration(found.again, None, found.y[found.scored])
    seen = result.weight > 0
    x, y = result.predicted[seen], result.observed[seen]
    low, high = result.limits[seen].T
    titles = [
        f"{n:g} rows, predicted {100 * p:.1f}%, came true {100 * q:.1f}%"
        for n, p, q in zip(result.weight[seen], x, y, strict=True)
    ]
    layers = [
        layer("line", "exactly calibrated", x=[0.0, 100.0], y=[0.0, 100.0], colour="#888888", dash=True),
        layer("line", "this model", x=100.0 * x, y=100.0 * y, colour="#3b8fc4"),
        layer("interval", x=100.0 * x, y=100.0 * y, low=100.0 * low, high=100.0 * high, title=titles, colour="#3b8fc4"),
    ]
    about = (
        f"How often {result.what} was right, by the probability it was given, with {result.level:.0%} intervals; below "
        f"the line it is too confident. Mean difference {100 * result.error:.1f}%, Brier score {result.brier:.4g}. "
        f"On {found.how}."
    )
    axes: dict[str, Chart] = {
        "x": {"label": "probability of the predicted class (%)", "domain": [0, 100]},
        "y": {"label": "came true (%)", "domain": [0, 100]},
    }
    names = [f"{100 * a:.0f}–{100 * b:.0f}" for a, b in zip(result.edges[:-1], result.edges[1:], strict=True)]
    bars = layer("bar", x=names, y=result.weight)
    across: Chart = {"label": "probability of the predicted class (%)", "type": "band"}
    words = "Rows by the probability of their predicted class."
    counts = marks("How sure it was", bars, about=words, x=across, y={"label": "rows"}, height=240)
    return [marks("Reliability", *layers, about=about, **axes, height=420), counts]


# ---- plots --------------------------------------------------------------------------------------------------


def _directions(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the rows projected on the directions of a linear discriminant."""
    if not hasattr(model, "transform"):
        return []
    Z = np.asarray(to_numpy(model.transform(rows.given)), dtype=np.float64)
    shares = 100.0 * np.asarray(to_numpy(model.explained_variance_ratio_), dtype=np.float64)
    axes = [f"LD{j + 1} ({share:.1f}%)" for j, share in enumerate(shares[:2])]
    about = "Rows on the directions that part the classes best, in units of the spread within classes."
    if Z.shape[1] == 1:
        jitter = np.random.default_rng(0).uniform(-1.0, 1.0, len(Z))
        words = about + " Height is chance, so that rows do not hide each other."
        return [points("Discriminant direction", Z[:, 0], jitter, axes[0], "", words)]
    return [points("Discriminant plane", Z[:, 0], Z[:, 1], axes[0], axes[1], about, equal=True)]


def _regions(model: Any, rows: ShownRows, found: ClassifierEvaluation) -> list[Chart]:
    """Return the most likely class over the plane of the two columns that separate the classes best."""
    codes = found.codes if found.scored.size else found.proba.argmax(axis=1)
    apart = held_out.separation(rows.X, codes)
    seen = np.flatnonzero(np.isfinite(apart))
    if seen.size < 2:
        return []
    C = len(model.classes_)
    if C > REGIONS:
        words = f"There is no plot of the regions of {C:,} classes: at most {REGIONS} can be distinguished."
        return [facts("Decision regions", paragraphs=[words])]
    pair = [int(j) for j in np.sort(seen[np.argsort(-apart[seen], kind="stable")[:2]])]
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows.X))[:MEDIAN])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # places of a plane are no rows: nothing is wrong if none is likely there
            plane = class_tables.decision(model, _reaching(rows, pair, chosen).given, features=pair, grid=GRID)
    except EigenlensError as error:
        return [facts("Decision regions", paragraphs=[f"There is no plot of them: {error}"])]
    about = f"The most likely class, stronger where more certain; {plane.others or 'there are no other columns'}."
    about += " Points are the rows; coloured by class they have the colours of the regions."
    about += f" Of the {C} classes ten have colours of their own, and the others are grey." if C > COLOURS else ""
    (i, j), labels = pair, rows.labels
    drawn = _areas(plane, [shorten(label) for label in np.asarray(model.classes_).tolist()])  # as columns have them
    more = {"regions": drawn, "span": {axis: [drawn[f"{axis}0"], drawn[f"{axis}1"]] for axis in "xy"}}
    return [points("Decision regions", rows.X[:, i], rows.X[:, j], labels[i], labels[j], about, **more)]


def _reaching(rows: ShownRows, pair: list[int], chosen: Array) -> ShownRows:
    """Return some rows and the extreme rows of two columns, so that the plotted range covers all."""
    ends = [f(rows.X[:, j]) for j in pair for f in (np.nanargmin, np.nanargmax)]
    return rows.take(np.union1d(chosen, ends).astype(np.intp))


def _areas(plane: class_tables.DecisionTable, names: list[str]) -> Chart:
    """Return the regions of report.ts: the class of each cell, and how far its probability is above chance."""
    C = len(names)
    sure = (np.clip(plane.proba.max(axis=2), 1.0 / C, 1.0) - 1.0 / C) / max(1.0 - 1.0 / C, 1e-12)
    step = plane.x[1] - plane.x[0], plane.y[1] - plane.y[0]
    ends = {"x0": plane.x[0] - step[0] / 2, "x1": plane.x[-1] + step[0] / 2,
            "y0": plane.y[0] - step[1] / 2, "y1": plane.y[-1] + step[1] / 2}  # fmt: skip
    size = {"width": len(plane.x), "height": len(plane.y)}
    cells = {"codes": pack_numbers(plane.regions.astype(np.float64)), "sure": pack_numbers(sure)}
    return {name: float(v) for name, v in ends.items()} | size | {"classes": names} | cells


def _families(model: Any, rows: ShownRows) -> list[Chart]:
    """Return a table of the family that naive Bayes chose for each column, with the reason."""
    choices = getattr(model, "features_", None)
    if choices is None:
        return []
    columns = {
        "column": list(rows.labels),
        "family": [shorten(getattr(choice.family, "name", choice.family)) for choice in choices],
        "why": [choice.reason for choice in choices],
    }
    return [table_chart("Families of columns", columns, "The density that each column has within each class.")]
