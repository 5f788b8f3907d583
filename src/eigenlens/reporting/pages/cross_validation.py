"""The evaluation of a classifier on the rows of a report, by cross-validation where that is possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes.held_out import FOLDS, CrossValidatedModel, cross_validate_classifier, max_rows_fitted
from eigenlens.bayes.tables import ConfusionTable, class_codes, count_confusion
from eigenlens.reporting.rows import ShownRows
from eigenlens.tables.names import shorten


@dataclass(frozen=True, eq=False)
class ClassifierEvaluation:
    """Class probabilities of the rows shown, and the rows on which the classifier is evaluated.

    Attributes:
        proba: (m, C), of held-out rows from the fit without them. codes: (m,) codes of the true classes, −1 if they are
            unknown. y: (m,) true classes, or None.
        scored: (q,) rows that are evaluated. how: the procedure in words. warnings: its limits, in words.
        classes: (C,). weight: (m,) sample weights, or None for ones.
    """

    proba: Array
    codes: Array
    y: Any
    scored: Array
    how: str
    warnings: tuple[str, ...]
    classes: Array
    weight: Array | None

    @property
    def again(self) -> CrossValidatedModel:
        """Return the predictions of the evaluated rows as a model."""
        return CrossValidatedModel(self.classes, self.proba[self.scored])

    @property
    def scored_weight(self) -> Array | None:
        """Return the sample weights (q,) of the evaluated rows."""
        return None if self.weight is None else self.weight[self.scored]

    @property
    def confusion(self) -> ConfusionTable:
        """Return the evaluated rows by their true and predicted classes."""
        return count_confusion(self.classes, self.y[self.scored], self.again.predict(None), self.scored_weight)


def class_names(model: Any) -> list[str]:
    """Return the classes of a model as they are shown."""
    return [shorten(label, 40) for label in np.asarray(model.classes_).tolist()]


def evaluate_classifier(model: Any, rows: ShownRows) -> ClassifierEvaluation:
    """Predict every row by the model, and a sample of them by clones that were fitted without them."""
    classes = np.asarray(model.classes_)
    proba = np.asarray(to_numpy(model.predict_proba(rows.given)), dtype=np.float64)
    nobody = np.full(len(proba), -1)
    if rows.y is None:
        words = "y was not given, so there are no error rates: pass the true classes, report(model, X, path, y=…)."
        return ClassifierEvaluation(proba, nobody, None, np.empty(0, dtype=np.intp), "", (words,), classes, rows.weight)
    codes = class_codes(classes, rows.y)
    known = np.flatnonzero(codes >= 0)
    warnings = []
    if known.size < len(codes):
        unknown = f"{len(codes) - known.size:,} rows have a class that the model does not know"
        warnings.append(f"{unknown}; they are left out.")
    if not known.size:
        return ClassifierEvaluation(proba, nobody, None, known, "", tuple(warnings), classes, rows.weight)
    return _held_out(model, rows, proba, codes, known, warnings)


def _held_out(
    model: Any, rows: ShownRows, proba: Array, codes: Array, known: Array, warnings: list[str]
) -> ClassifierEvaluation:
    rng = np.random.default_rng(0)
    assert rows.y is not None
    classes = np.asarray(model.classes_)
    y = classes[np.maximum(codes, 0)]
    most = max_rows_fitted(rows.X.shape[1])
    chosen = known if known.size <= most else np.sort(rng.permutation(known)[:most])
    weight = None if rows.weight is None else rows.weight[chosen]
    folds = min(FOLDS, len(chosen))

    def take(index: Array) -> Any:
        return rows.take(chosen[index]).given

    found = cross_validate_classifier(model, take, y[chosen], codes[chosen], folds, rng, weight)
    if found.folds is None:
        failed = f"Cross-validation failed ({found.failure})"
        warnings.append(f"{failed}; error rates are those on the rows of the fit, and too low.")
        how = "the rows themselves, which the fit may have seen"
        return ClassifierEvaluation(proba, codes, y, known, how, tuple(warnings), classes, rows.weight)
    mixed = proba.copy()
    mixed[chosen] = found.proba
    part = f"{len(chosen):,} rows drawn at random, " if chosen.size < known.size else "rows "
    how = f"{part}held out in {int(found.folds.max()) + 1}-fold cross-validation"
    return ClassifierEvaluation(mixed, codes, y, chosen, how, tuple(warnings), classes, rows.weight)
