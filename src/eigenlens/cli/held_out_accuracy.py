"""The accuracy of a classifier on held-out rows of the table that it was fitted to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.held_out import FOLDS, cross_validate_classifier, max_rows_fitted
from eigenlens.bayes.tables import class_codes, count_confusion
from eigenlens.data.memory import ArraySource


class HeldOutAccuracy(NamedTuple):
    """The accuracy by cross-validation, its standard error, and the number of folds."""

    accuracy: float
    error: float
    folds: int


def cross_validated_accuracy(model: Any, table: Any, seed: int) -> HeldOutAccuracy | str:
    """Return the accuracy on held-out rows, or the reason why it is not known."""
    if table.missing is None:
        return "the rows are read by blocks"
    rng = np.random.default_rng(seed)
    most = max_rows_fitted(table.d)
    kept = np.arange(table.n) if table.n <= most else np.sort(rng.permutation(table.n)[:most])
    y, weight = table.label[kept], None if table.weight is None else table.weight[kept]
    codes = class_codes(model.classes_, y)
    found = cross_validate_classifier(model, lambda rows: _take(table.source, kept[rows]), y, codes, FOLDS, rng, weight)
    if found.folds is None:
        return found.failure
    confusion = count_confusion(found.classes_, y, found.predict(None), weight)
    return HeldOutAccuracy(confusion.accuracy, confusion.accuracy_error, FOLDS)


def _take(source: Any, rows: Array) -> Any:
    """Return some rows of a source in memory, or of a frame."""
    return ArraySource(source.array[rows], names=source.names) if isinstance(source, ArraySource) else source[rows]
