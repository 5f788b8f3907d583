"""The page of a classifier: who is taken for whom, whether its probabilities can be trusted, regions, and reasons."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenlens.app.report.charts import Chart, facts, frames, heat, layer, marks, points, table
from eigenlens.app.report.judged import Judged, judged
from eigenlens.app.report.packing import Coded, cut
from eigenlens.app.report.rows import ShownRows
from eigenlens.app.report.sheet import Sheet
from eigenlens.arrays import Array, to_numpy
from eigenlens.errors import EigenlensError
from eigenlens.views import class_tables, held_out

__all__ = ["bayes_page"]

SHOWN_CLASSES, BARS, WORST = 30, 30, 30
"""The most classes in a matrix, columns in a chart, and lines in the list of confusions."""

GRID, DOTS = 100, 2_000
"""Cells along each axis of decision regions, and the most rows drawn on them."""

EXPLAINED, ROWS, TERMS = 2_000, 6, 12
"""Rows over which contributions are averaged, rows explained of each sort, and columns in an explanation."""


def bayes_page(model: Any, rows: ShownRows) -> Sheet:
    """All charts of a fitted classifier, and columns to colour by: what was predicted, and how surely."""
    found = judged(model, rows)
    charts = [_about(model, rows, found), _priors(model, found)]
    if found.scored.size:
        charts += [*_confusion(model, found), *_reliability(found)]
    charts += [
        *_directions(model, rows),
        *_regions(model, rows, found),
        *_reasons(model, rows, found),
        *_families(model, rows),
    ]
    return Sheet(charts, _columns(model, found))


def _names(model: Any) -> list[str]:
    return [cut(label, 40) for label in np.asarray(model.classes_).tolist()]


def _columns(model: Any, found: Judged) -> dict[str, Any]:
    names = np.array(_names(model), dtype=object)
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


def _about(model: Any, rows: ShownRows, found: Judged) -> Chart:
    pairs: list[tuple[str, Any]] = [("classes", len(model.classes_)), ("columns", len(rows.names))]
    if found.scored.size:
        codes, proba = found.codes[found.scored], found.proba[found.scored]
        right = float(np.mean(proba.argmax(axis=1) == codes))
        error = float(np.sqrt(right * (1.0 - right) / len(codes)))
        common = float(np.bincount(codes).max() / len(codes))
        pairs += [
            ("accuracy", f"{right:.1%} ± {error:.1%}, on {found.how}"),
            ("always the commonest class", f"{common:.1%}"),
            ("log loss", f"{held_out.log_loss(proba, codes):.4g} nats a row"),
        ]
    return facts("The model", pairs, warnings=list(found.warnings))


def _priors(model: Any, found: Judged) -> Chart:
    names, prior = _names(model), np.asarray(model.class_prior_, dtype=np.float64)
    order = np.argsort(-prior, kind="stable")[:BARS] if len(prior) > BARS else np.arange(len(prior))
    layers = [layer("bar", "prior of the model", x=[names[c] for c in order], y=100.0 * prior[order])]
    if found.scored.size:
        share = 100.0 * np.bincount(found.codes[found.scored], minlength=len(prior)) / found.scored.size
        layers.append(layer("dot", "share of the rows shown", x=[names[c] for c in order], y=share[order]))
    about = "What the model takes a class for before it sees the row."
    about += f" The {BARS} commonest of {len(prior)} classes." if len(prior) > BARS else ""
    return marks("Class priors", *layers, about=about, x={"type": "band"}, y={"label": "%"})


# ---- errors -------------------------------------------------------------------------------------------------


def _confusion(model: Any, found: Judged) -> list[Chart]:
    counts = class_tables.confusion(found.again, None, found.y[found.scored]).counts
    names, C = _names(model), len(counts)
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
    return table("What is confused most", columns)


def _reliability(found: Judged) -> list[Chart]:
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
        f"the line the model is too sure. Mean gap {100 * result.error:.1f}%, Brier score {result.brier:.4g}. "
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


# ---- pictures -----------------------------------------------------------------------------------------------


def _directions(model: Any, rows: ShownRows) -> list[Chart]:
    """Rows on the directions of a linear discriminant."""
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


def _regions(model: Any, rows: ShownRows, found: Judged) -> list[Chart]:
    """The likeliest class over the plane of the two columns that tell the classes apart best."""
    codes = found.codes if found.scored.size else found.proba.argmax(axis=1)
    apart = held_out.separation(rows.X, codes)
    seen = np.flatnonzero(np.isfinite(apart))
    if seen.size < 2:
        return []
    if len(model.classes_) > SHOWN_CLASSES:
        words = f"There is no picture of {len(model.classes_)} classes: no eye could tell their colours apart."
        return [facts("Decision regions", paragraphs=[words])]
    pair = [int(j) for j in np.sort(seen[np.argsort(-apart[seen], kind="stable")[:2]])]
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows.X))[: max(DOTS, 1)])
    some = rows.take(chosen)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # places of a plane are no rows: nothing is wrong if none is likely there
            plane = class_tables.decision(model, some.given, features=pair, grid=GRID)
    except EigenlensError as error:
        return [facts("Decision regions", paragraphs=[f"There is no picture of them: {error}"])]
    names = _names(model)
    top = plane.proba.max(axis=2)
    C = len(names)
    opacity = 0.12 + 0.4 * (np.clip(top, 1.0 / C, 1.0) - 1.0 / C) / (1.0 - 1.0 / C)
    shades = layer("raster", fill=Coded(plane.regions.ravel(), tuple(names)), opacity=opacity.ravel())
    ends = {"x0": plane.x[0], "x1": plane.x[-1], "y0": plane.y[0], "y1": plane.y[-1]}
    shades["grid"] = {name: float(v) for name, v in ends.items()} | {"width": GRID, "height": GRID}
    place = plane.points
    whole = np.isfinite(place).all(axis=1) & (codes[chosen] >= 0)
    dots = layer(
        "dot", x=place[whole, 0], y=place[whole, 1], fill=Coded(codes[chosen][whole], tuple(names)),
        title=[f"{some.name(i)}: {names[codes[chosen][i]]}" for i in np.flatnonzero(whole).tolist()],
    )  # fmt: skip
    about = f"The likeliest class, the stronger coloured the surer; {plane.others or 'there are no other columns'}."
    about += " Dots are rows in the colour of their class" + ("." if found.scored.size else ", as predicted.")
    about += f" {len(chosen):,} rows drawn at random." if len(chosen) < len(rows.X) else ""
    about += f" The {C} classes take the same 11 colours in turn." if C > 11 else ""
    axes: dict[str, Chart] = {"x": {"label": rows.labels[pair[0]]}, "y": {"label": rows.labels[pair[1]]}}
    colour = {"scheme": "category", "domain": names}
    drawn = marks("Decision regions", shades, dots, about=about, **axes, colour=colour, legend=C <= 30, height=460)
    return [drawn]


# ---- reasons ------------------------------------------------------------------------------------------------


def _reasons(model: Any, rows: ShownRows, found: Judged) -> list[Chart]:
    """What columns add on the whole, and for the rows that are wrong or hardly decided."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(rows.X))[:EXPLAINED])
    picked, kinds = _worth_a_look(found)
    every = np.unique(np.concatenate([chosen, picked]))
    some = rows.take(every)
    given = some.given
    parts = held_out.contributions(model, given, some.X, rows.labels)
    if parts is None:
        words = "This density needs every column of a row, so what one of them adds cannot be told apart."
        return [facts("Feature contributions", paragraphs=[words])]
    order = np.argsort(-parts.mean, kind="stable")[:BARS]
    bars = layer("bar", x=[parts.names[j] for j in order], y=parts.mean[order])
    about = f"Mean size, over {len(every):,} rows, of what a column adds for the likeliest class: {parts.what}."
    about += f" The {BARS} columns that add most of {len(parts.names)}." if len(parts.names) > BARS else ""
    whole = marks("Feature contributions", bars, about=about, x={"type": "band"}, y={"label": "mean |log-odds|"})
    places = np.searchsorted(every, picked)
    return [whole, *_rows_explained(model, rows, found, parts, picked, places, kinds)]


def _worth_a_look(found: Judged) -> tuple[Array, list[str]]:
    """Rows that were taken for a wrong class most surely, then those that were hardly decided."""
    sure = found.proba.max(axis=1)
    wrong = np.empty(0, dtype=np.intp)
    if found.scored.size:
        off = found.scored[found.proba[found.scored].argmax(axis=1) != found.codes[found.scored]]
        wrong = off[np.argsort(-sure[off], kind="stable")][:ROWS]
    unsure = np.array([i for i in np.argsort(sure, kind="stable")[: 4 * ROWS] if i not in set(wrong.tolist())][:ROWS])
    kinds = ["wrong"] * len(wrong) + ["hardly decided"] * len(unsure)
    return np.concatenate([wrong, unsure]).astype(np.intp), kinds


def _rows_explained(
    model: Any, rows: ShownRows, found: Judged, parts: held_out.Contributions, picked: Array, places: Array,
    kinds: list[str],
) -> list[Chart]:  # fmt: skip
    if not len(picked):
        return []
    names = _names(model)
    true = ["" if found.codes[i] < 0 else names[found.codes[i]] for i in picked]
    taken = [names[c] for c in found.proba[picked].argmax(axis=1)]
    pair = [f"{cut(parts.of[p], 40)} against {cut(parts.against[p], 40)}" for p in places]
    reasons = [_largest(parts, int(p)) for p in places]
    columns = {
        "row": [rows.name(int(i)) for i in picked], "why here": kinds, "true class": true, "predicted": taken,
        "probability": found.proba[picked].max(axis=1), "log-odds of": pair,
        "largest contributions": ["; ".join(f"{name} {value:+.3g}" for name, value in each[:4]) for each in reasons],
    }  # fmt: skip
    about = f"Rows taken for a wrong class most surely, and rows hardly decided, on {found.how or 'the rows shown'}."
    about += " Reasons are those of the model."
    listed = table("Rows worth a look", columns, about)
    steps = [
        (f"{columns['row'][i]} ({kinds[i]}): {pair[i]}", [_reason(reasons[i])]) for i in range(len(picked))
    ]  # fmt: skip
    words = (
        "What each column adds to the log-odds of the likeliest class against the next: up speaks for it, down against."
    )
    return [listed, frames("Why", "row", steps, about=words)]


def _largest(parts: held_out.Contributions, p: int) -> list[tuple[str, float]]:
    """The largest contributions of a row, the sum of the others, and the prior."""
    values = np.clip(parts.values[p], -700.0, 700.0)
    order = np.argsort(-np.abs(values), kind="stable")
    pairs = [(parts.names[j], float(values[j])) for j in order[:TERMS]]
    if len(order) > TERMS:
        pairs.append((f"{len(order) - TERMS} others", float(values[order[TERMS:]].sum())))
    return pairs if parts.prior is None else [*pairs, ("prior", float(parts.prior[p]))]


def _reason(pairs: list[tuple[str, float]]) -> Chart:
    bars = layer("bar", x=[name for name, _ in pairs], y=[value for _, value in pairs])
    return marks("", bars, x={"type": "band"}, y={"label": "log-odds"}, height=300)


def _families(model: Any, rows: ShownRows) -> list[Chart]:
    """Which family naive Bayes took for each column, and why."""
    choices = getattr(model, "features_", None)
    if choices is None:
        return []
    columns = {
        "column": list(rows.labels),
        "family": [cut(getattr(choice.family, "name", choice.family)) for choice in choices],
        "why": [choice.reason for choice in choices],
    }
    return [table("Families of columns", columns, "The density that each column has within each class.")]
