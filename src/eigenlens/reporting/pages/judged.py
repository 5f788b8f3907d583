"""How a classifier does on the rows: by cross-validation where it can be had, and said where it cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes.held_out import CrossValidatedModel, cross_validate_classifier
from eigenlens.reporting.packing import cut
from eigenlens.reporting.rows import ShownRows

__all__ = ["CV", "Judged", "class_names", "codes_of_labels", "judged"]

CV = 5
"""Folds."""

FITTED, ENTRIES = 20_000, 2_000_000
"""The most rows, and entries, that are fitted for it; of more rows, a random sample is."""


@dataclass(frozen=True, eq=False)
class Judged:
    """Probabilities of the rows shown, and on which of them the classifier is judged.

    Attributes:
        proba: (m, C), of rows that were held out from the fit without them. codes: (m,) numbers of true classes, −1 if
            they are unknown. y: (m,) true classes, or None.
        scored: (q,) rows that are judged. how: what was done, in words. warnings: what is to be said of it.
    """

    proba: Array
    codes: Array
    y: Any
    scored: Array
    how: str
    warnings: tuple[str, ...]
    classes: Array

    @property
    def again(self) -> CrossValidatedModel:
        """What was predicted of the rows that are judged, as a model."""
        return CrossValidatedModel(self.classes, self.proba[self.scored])


def class_names(model: Any) -> list[str]:
    """The classes of a model as they are shown."""
    return [cut(label, 40) for label in np.asarray(model.classes_).tolist()]


def judged(model: Any, rows: ShownRows) -> Judged:
    """Every row by the model, and as many as it takes by clones that were fitted without them."""
    classes = np.asarray(model.classes_)
    proba = np.asarray(to_numpy(model.predict_proba(rows.given)), dtype=np.float64)
    nobody = np.full(len(proba), -1)
    if rows.y is None:
        words = "y was not given, so nothing is said of errors: report(model, X, path, y=…) has the true classes."
        return Judged(proba, nobody, None, np.empty(0, dtype=np.intp), "", (words,), classes)
    codes = codes_of_labels(classes, rows.y)
    known = np.flatnonzero(codes >= 0)
    warnings = []
    if known.size < len(codes):
        warnings.append(
            f"{len(codes) - known.size:,} rows have a class that the model does not know; they are left out."
        )
    if not known.size:
        return Judged(proba, nobody, None, known, "", tuple(warnings), classes)
    return _held_out(model, rows, proba, codes, known, warnings)


def _held_out(model: Any, rows: ShownRows, proba: Array, codes: Array, known: Array, warnings: list[str]) -> Judged:
    rng = np.random.default_rng(0)
    assert rows.y is not None
    y = np.asarray(model.classes_)[np.maximum(codes, 0)]
    most = int(min(FITTED, max(200, ENTRIES // max(1, rows.X.shape[1]))))
    chosen = known if known.size <= most else np.sort(rng.permutation(known)[:most])
    weight = None if rows.weight is None else rows.weight[chosen]
    found = cross_validate_classifier(
        model, lambda index: rows.take(chosen[index]).given, y[chosen], codes[chosen], min(CV, len(chosen)), rng, weight
    )
    if found.folds is None:
        warnings.append(
            f"Cross-validation failed ({found.failure}); errors are those on the rows of the fit, and too few of them."
        )
        how = "the rows themselves, which the fit may have seen"
        return Judged(proba, codes, y, known, how, tuple(warnings), np.asarray(model.classes_))
    mixed = proba.copy()
    mixed[chosen] = found.proba
    part = f"{len(chosen):,} rows drawn at random, " if chosen.size < known.size else "rows "
    how = f"{part}held out in {int(found.folds.max()) + 1}-fold cross-validation"
    return Judged(mixed, codes, y, chosen, how, tuple(warnings), np.asarray(model.classes_))


def codes_of_labels(classes: Array, y: Array) -> Array:
    """The number (m,) of each label among the classes, by its value, else by its text; −1 for one that is not there."""
    places = {label: c for c, label in enumerate(classes.tolist())}
    texts = {str(label): c for label, c in places.items()}
    return np.array([places.get(_hashed(label), texts.get(str(label), -1)) for label in y.tolist()], dtype=np.intp)


def _hashed(label: Any) -> Any:
    return label if label.__hash__ is not None else str(label)
