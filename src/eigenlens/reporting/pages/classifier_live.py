"""Charts of a classifier that follow each change in the explorer, and the reasons for the class of one row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import to_numpy
from eigenlens.bayes import held_out
from eigenlens.reporting.charts import Chart, facts
from eigenlens.reporting.pages.bayes import (
    confusion_charts,
    contribution_chart,
    decision_charts,
    describe_classifier,
    largest_contributions,
    reason_chart,
)
from eigenlens.reporting.pages.class_distributions import class_planes
from eigenlens.reporting.pages.cross_validation import ClassifierEvaluation, class_names, evaluate_classifier
from eigenlens.reporting.rows import ShownRows

EVALUATED = 2_000
"""The largest number of rows, drawn at random, on which the classifier is evaluated after a change."""


def evaluate_shown(model: Any, rows: ShownRows) -> ClassifierEvaluation:
    """Return the evaluation of a classifier on some of the rows shown, held out in turn."""
    return evaluate_classifier(model, rows.take(rows.draw(EVALUATED)))


def classifier_live(model: Any, rows: ShownRows, axes: Sequence[int], found: ClassifierEvaluation) -> list[Chart]:
    """Return the charts of a fitted classifier over two of its columns, with its evaluation on some of the rows."""
    some = rows.take(rows.draw(EVALUATED))
    regions = decision_charts(model, rows, found, axes)
    planes = class_planes(model, rows)
    errors = confusion_charts(model, found) if found.scored.size else []
    return [*regions, *errors, *planes, *contribution_chart(model, some), describe_classifier(model, rows, found)]


def row_reasons(model: Any, rows: ShownRows, i: int) -> list[Chart]:
    """Return the contributions of columns to the class of the i-th row shown, against the next class."""
    one = rows.take(np.array([i]))
    parts = held_out.column_log_odds(model, one.given, one.X, rows.labels)
    name = rows.name(i)
    if parts is None:
        words = "This density needs every column of a row, so the contribution of one column cannot be separated."
        return [facts(f"Why {name}", paragraphs=[words])]
    proba = np.asarray(to_numpy(model.predict_proba(one.given)))[0]
    best = int(proba.argmax())
    about = f"{name} is put into {class_names(model)[best]}, with probability {proba[best]:.3g}."
    about += f" Contributions to the log-odds of {parts.of[0]} against {parts.against[0]}: up is for it, down against."
    chart = reason_chart(largest_contributions(parts, 0, one, 0))
    return [chart | {"title": f"Why {name}", "about": about}]
