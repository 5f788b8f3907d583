"""The page of a comparison: which density fits held-out rows best, and with what certainty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from eigenlens.comparison.compare import Comparison
from eigenlens.reporting.charts import Chart, PageContent, facts, layer, marks, points, table_chart
from eigenlens.reporting.rows import ShownRows

LEVEL = 0.95


def comparison_page(found: Comparison, rows: ShownRows) -> PageContent:
    """Return the charts of a comparison. rows: those that were compared on, for the plot row by row."""
    seen = np.flatnonzero(np.isfinite(found.behind))
    charts = [_behind(found, seen), _table(found), _folds(found, seen)] if seen.size else [_table(found)]
    if seen.size > 1 and found.values.shape[1] == rows.total:
        charts.append(_row_by_row(found, rows, int(seen[0]), int(seen[1])))
    return PageContent([*charts, _about(found)], {}, _failures(found))


def _about(found: Comparison) -> Chart:
    n, k = found.folds.size, int(found.folds.max()) + 1
    pairs = [("rows", f"{n:,}"), ("folds", k), ("best", found.best)]
    words = "Each estimator was fitted without a fold and asked for the log density of its rows, in the same units."
    return facts("The comparison", pairs, paragraphs=[words])


def _failures(found: Comparison) -> list[str]:
    """Return what went wrong with some estimators, for the top of the page."""
    lost = np.flatnonzero(~np.isfinite(found.means))
    without = [found.names[i] for i in lost if found.names[i] not in found.failures]
    failed = [f"{name} failed {why}" for name, why in found.failures.items()]
    return [*failed, *(f"{name} gives a held-out row density zero" for name in without)]


def _table(found: Comparison) -> Chart:
    columns: dict[str, Any] = {
        "estimator": list(found.names), "log density": found.means, "± se": found.errors, "behind": found.behind,
        "± se, paired": found.behind_errors, "fit s": found.fit_seconds,
    }  # fmt: skip
    about = "Means per row, best first; standard errors of differences from the best are computed row by row."
    return table_chart("Held-out log density", columns, about)


def _behind(found: Comparison, seen: Any) -> Chart:
    half = float(ndtri(0.5 + 0.5 * LEVEL)) * np.nan_to_num(found.behind_errors[seen])
    middle, names = -found.behind[seen], [found.names[i] for i in seen]
    titles = [f"{name}: {a:.4g} ± {b:.2g}" for name, a, b in zip(names, middle, half, strict=True)]
    dots = layer("interval", x=names, y=middle, low=middle - half, high=middle + half, title=titles, colour="blue")
    best = layer("rule-y", y=[0.0], text=[f"{found.best}, the best"], colour="grey", dash=True)
    about = f"With {LEVEL:.0%} intervals of the paired difference: an interval that reaches the line may be a tie."
    return marks("Behind the best", best, dots, about=about, y="log density per row, less that of the best")


def _folds(found: Comparison, seen: Any) -> Chart:
    """Return the mean of each fold minus that of the best estimator, one line per estimator."""
    k = int(found.folds.max()) + 1
    weight = found.weight / np.maximum(np.bincount(found.folds, found.weight, k)[found.folds], np.finfo(float).tiny)
    lines = [
        layer("line", found.names[i], x=[str(f + 1) for f in range(k)],
              y=np.bincount(found.folds, weight * (found.values[i] - found.values[0]), k))
        for i in seen
    ]  # fmt: skip
    folds, label = "fold", "log density per row, less the best's"
    return marks("Fold by fold", *lines, about="Does the order hold in every fold?", x=folds, y=label)


def _row_by_row(found: Comparison, rows: ShownRows, first: int, second: int) -> Chart:
    a, b = found.values[first][rows.chosen], found.values[second][rows.chosen]
    names = found.names[first], found.names[second]
    about = f"Right: rows that both fit well. Above the line: rows that {names[0]} fits better than {names[1]}."
    labels = "mean of both log densities", f"log density by {names[0]}, less by {names[1]}"
    lines = [{"y": 0.0, "label": ""}]
    return points(f"{names[0]} against {names[1]}", 0.5 * (a + b), a - b, *labels, about, lines=lines)
