"""The distribution of each column within each class, and the classes on the plane that separates them best."""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes import held_out
from eigenlens.bayes.naive.distributions import ColumnDistribution, column_distributions, count_contrasts
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.planes import ellipse, separating_plane
from eigenlens.reporting.charts import (
    Chart,
    axes_points,
    category_point,
    frames,
    heat,
    layer,
    marks,
    plane_points,
    points,
)
from eigenlens.reporting.pages.cross_validation import ClassifierEvaluation, class_names
from eigenlens.reporting.rows import ShownRows, density_backdrops

TOGETHER, MOST_COLUMNS, CURVES, BAR_CLASSES = 6, 60, 11, 5
"""Columns shown at a time, columns in all, and the largest numbers of classes with curves and with bars."""

CATEGORIES, MOST_ELLIPSES, FISHER = 20, 30, 500
"""The largest numbers of categories of a column that are shown, of classes with an ellipse, and of columns of a plane
that is sought."""

LEVEL = 0.95

LARGEST = 4.0
"""The largest power of 2 by which the share of a column is shown to differ."""


# ---- columns ------------------------------------------------------------------------------------------------


def distribution_charts(model: Any, rows: ShownRows, found: ClassifierEvaluation) -> list[Chart]:
    """Return the curves, or the bars, of the columns of a naive Bayes model, best separating columns first."""
    if not isinstance(getattr(model, "model_", None), NaiveModel):
        return []
    codes = found.codes if found.scored.size else found.proba.argmax(axis=1)
    order = _most_different(model.model_, rows, codes)[:MOST_COLUMNS]
    shown, names = column_distributions(model.model_, rows.X, order), class_names(model)
    counts = _counts(model.model_, rows, names)
    if not shown:
        return counts
    charts = [_distribution(each, rows.labels[each.column], names) for each in shown]
    groups = [charts[i : i + TOGETHER] for i in range(0, len(charts), TOGETHER)]
    steps = [(", ".join(chart["title"] for chart in group), group) for group in groups]
    about = "What each column looks like in each class: the more two classes overlap, the less the column says."
    about += " Those that say most come first." if len(shown) > 1 else ""
    total = len(rows.labels)
    about += f" The {len(shown)} of {total} columns that separate the classes best." if len(shown) < total else ""
    return [frames("Distributions within classes", "columns", steps, about=about), *counts]


def _counts(model: NaiveModel, rows: ShownRows, classes: list[str]) -> list[Chart]:
    """Return the columns of counts whose shares differ most between classes, as shades about their mean share."""
    columns, contrasts = count_contrasts(model)
    if not len(columns):
        return []
    finite = np.clip(np.nan_to_num(contrasts), -LARGEST, LARGEST)
    most = np.sort(np.argsort(-np.ptp(finite, axis=0), kind="stable")[:CATEGORIES])
    chosen = np.sort(np.argsort(-model.prior, kind="stable")[:MOST_ELLIPSES])
    names, shown = [rows.labels[columns[j]] for j in most], [classes[c] for c in chosen]
    about = f"How much more often a column is counted in a class than in all, as a power of 2, up to ±{LARGEST:g}."
    about += f" The {len(most)} of {len(columns)} columns that differ most." if len(most) < len(columns) else ""
    values = finite[np.ix_(chosen, most)].T
    texts = [f"{value:.1f}" for value in values.ravel()] if len(chosen) <= CURVES else None
    options: dict[str, Any] = {"what": "log₂ of the ratio", "about": about, "texts": texts, "top": LARGEST}
    return [heat("Counts within classes", values, names, shown, **options)]


def _most_different(model: NaiveModel, rows: ShownRows, codes: Array) -> list[int]:
    """Return the columns by how well they separate the classes, columns of text as their categories' codes do."""
    X = rows.X.copy()
    for j, values in rows.texts.items():
        X[:, j] = np.unique([str(value) for value in values.tolist()], return_inverse=True)[1]
    apart = np.nan_to_num(held_out.separation(X, codes), nan=-1.0, posinf=1e300)
    return [int(j) for j in np.argsort(-apart, kind="stable")]


def _distribution(found: ColumnDistribution, name: str, classes: list[str]) -> Chart:
    """Return the curves or bars of a column; classes have the order, and so the colours, of rows coloured by them."""
    order = sorted(range(len(classes)), key=lambda c: (_number(classes[c]), classes[c].lower()))
    if len(classes) > CURVES:
        most = set(np.argsort(-found.values.max(axis=1), kind="stable")[:CURVES].tolist())
        order = [c for c in order if c in most]
    if not found.categories:
        layers = [layer("line", classes[c], x=found.x, y=found.values[c]) for c in order]
        return marks(name, *layers, x=name, y={"label": "density", "zero": True}, height=260)
    kept = np.sort(np.argsort(-found.values.max(axis=0), kind="stable")[:CATEGORIES])
    values, categories = 100.0 * found.values[:, kept], [found.categories[i] for i in kept]
    if len(classes) > BAR_CLASSES:
        return heat(name, values[order].T, categories, [classes[c] for c in order], what="% of the class", whole=100.0)
    bars = [layer("bar-x", classes[c], x=values[c], y=categories) for c in order]
    height = int(np.clip(14 * len(categories) * len(classes) + 80, 160, 700))
    return marks(name, *bars, x={"label": "% of the class", "domain": [0.0, 100.0]}, height=height)


def _number(name: str) -> float:
    """Return the number that a name is, so that 2 comes before 10."""
    try:
        return float(name)
    except ValueError:
        return np.inf


# ---- planes -------------------------------------------------------------------------------------------------


def class_planes(model: Any, rows: ShownRows) -> list[Chart]:
    """Return the rows of a discriminant on the directions that separate its classes, with an ellipse per class."""
    if hasattr(model, "transform"):
        return [_discriminants(model, rows)]
    mixture = getattr(model, "model_", None)
    if not isinstance(mixture, Mixture) or not hasattr(model, "covariances_") or not 2 < rows.X.shape[1] <= FISHER:
        return []
    plane = separating_plane(mixture, rows.X, LEVEL)
    about = (
        f"The two directions along which the classes lie farthest apart, in standard deviations within them. {WORDS}"
    )
    (x, y), more = plane.points.T, density_backdrops(rows, plane.points, [(0, 1)], plane.project)[0]
    across, up = plane.separation_names
    drawn = class_ellipses(class_names(model), plane.ellipses)
    return [points("Class plane", x, y, across, up, about + more[1], ellipses=drawn, equal=True, **more[0])]


WORDS = f"Each ellipse is centred at the mean of a class, and holds {LEVEL:.0%} of the rows that it would draw."


def class_ellipses(names: list[str], ellipses: Any) -> list[Chart]:
    """Return the ellipses of report.ts, named by their classes."""
    pairs = list(zip(names, ellipses, strict=True))[:MOST_ELLIPSES]
    return [{"x": e.x, "y": e.y, "a": e.a, "b": e.b, "angle": e.angle, "label": name} for name, e in pairs]


def _discriminants(model: Any, rows: ShownRows) -> Chart:
    """Return the rows projected on the directions of a linear discriminant."""
    Z = np.asarray(to_numpy(model.transform(rows.given)), dtype=np.float64)
    means = (np.asarray(model.means_) - np.asarray(model.model_.centre)) @ np.asarray(model.scalings_)
    shares = 100.0 * np.asarray(to_numpy(model.explained_variance_ratio_), dtype=np.float64)
    axes = [f"LD{j + 1} ({share:.1f}%)" for j, share in enumerate(shares)]
    about = "Rows on the directions that separate the classes best, in units of the spread within classes."
    names = class_names(model)
    if Z.shape[1] == 1:
        lines = [{"x": float(mean), "label": name} for name, mean in zip(names, means[:, 0], strict=True)]
        return plane_points(
            "Discriminant direction", Z, axes, f"{about} Lines are the means of the classes.", lines=lines
        )
    if Z.shape[1] > 2:  # an ellipse has a place in one plane, the means of the classes in all of them
        middles = [category_point(name, mean) for name, mean in zip(names, means, strict=True)][:MOST_ELLIPSES]
        words = f"{about} Triangles are the means of the classes."
        return axes_points("Discriminant plane", Z, axes, words, equal=True, categories=middles)
    drawn = class_ellipses(names, [ellipse(mean, np.eye(2), LEVEL) for mean in means])
    words = f"{about} {WORDS}"
    return points("Discriminant plane", Z[:, 0], Z[:, 1], axes[0], axes[1], words, ellipses=drawn, equal=True)
