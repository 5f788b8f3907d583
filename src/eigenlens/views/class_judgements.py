"""How a classifier fares on rows whose classes are known: how far its probabilities can be trusted, and its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.errors import DataError, OptionError
from eigenlens.models.fitted import proportion_intervals

__all__ = ["CalibrationTable", "ConfusionTable", "calibration", "class_codes", "confusion"]


@dataclass(frozen=True, eq=False)
class CalibrationTable:
    """How often what was predicted with some probability came true, in bins of that probability.

    Attributes:
        what: whose probability, in words. edges: (b + 1,). weight: (b,) Σw of the rows in each bin.
        predicted: (b,) mean probability. observed: (b,) share that came true. limits: (b, 2) of that share (Wilson).
        level: the coverage of the limits. brier: mean squared error. error: Σ weight |observed − predicted| / Σ weight.
    """

    what: str
    edges: Array
    weight: Array
    predicted: Array
    observed: Array
    limits: Array
    level: float
    brier: float
    error: float


@dataclass(frozen=True, eq=False)
class ConfusionTable:
    """Rows of each class by the class they were given.

    Attributes:
        classes: (C,) as text. counts: (C, C) Σw, true classes down, predicted across.
    """

    classes: tuple[str, ...]
    counts: Array

    @property
    def shares(self) -> Array:
        """Per cent (C, C) of the rows of each true class; NaN for a class without rows."""
        total = self.counts.sum(axis=1, keepdims=True)
        return np.asarray(
            100.0 * np.divide(self.counts, total, out=np.full_like(self.counts, np.nan), where=total > 0.0)
        )

    @property
    def accuracy(self) -> float:
        """The share of rows that were given their class."""
        return float(np.trace(self.counts) / self.counts.sum())


def class_codes(model: Any, y: Any, n: int) -> Array:
    """The number (n,) of each label among the classes of the model; −1 for a class that it does not know."""
    labels = np.asarray(to_numpy(y)).ravel().tolist()
    if len(labels) != n:
        raise DataError(f"y has {len(labels)} labels, but X has {n} rows; give one a row.")
    places = {label: k for k, label in enumerate(np.asarray(model.classes_).tolist())}
    return np.array([places.get(label, -1) for label in labels], dtype=np.intp)


def _known_codes(model: Any, y: Any, n: int) -> Array:
    """`class_codes` of labels that must all be classes of the model."""
    codes = class_codes(model, y, n)
    if np.any(codes < 0):
        labels, classes = np.asarray(to_numpy(y)).ravel().tolist(), np.asarray(model.classes_).tolist()
        odd = sorted({str(label) for label, c in zip(labels, codes, strict=True) if c < 0})
        raise DataError(f"y has classes that the model does not know: {odd[:5]}; its classes are {classes[:8]}.")
    return codes


def calibration(
    model: Any,
    X: Any,
    y: Any,
    *,
    label: Any = None,
    bins: int = 10,
    level: float = 0.95,
    sample_weight: Any = None,
) -> CalibrationTable:
    """How often predictions came true, in bins of equal width: those of class `label`, or of the class predicted.

    A bin has its upper edge, not its lower one, but for the first, which has both: 0.3 is in the third of ten.
    """
    proba = np.asarray(to_numpy(model.predict_proba(X)), dtype=np.float64)
    n, classes = len(proba), np.asarray(model.classes_).tolist()
    codes, edges = _known_codes(model, y, n), np.linspace(0.0, 1.0, checks.integer("bins", bins, 1) + 1)
    weight = checks.weights(sample_weight, n)
    w = np.ones(n) if weight is None else weight
    if label is None:
        best = proba.argmax(axis=1)
        p, came, what = proba.max(axis=1), (codes == best).astype(float), "the predicted class"
    elif label in classes:
        c = classes.index(label)
        p, came, what = proba[:, c], (codes == c).astype(float), f"class {label}"
    else:
        raise OptionError(f"label={label!r} must be one of the classes {classes[:8]}, or None for the predicted one.")
    return _binned(p, came, w, edges, checks.real("level", level, 0.0, 1.0), what)


def _binned(p: Array, came: Array, w: Array, edges: Array, level: float, what: str) -> CalibrationTable:
    bins = len(edges) - 1
    place = np.searchsorted(edges[1:-1], p)
    weight, sums, true = (np.bincount(place, values, minlength=bins) for values in (w, w * p, w * came))
    held = np.where(weight > 0.0, weight, np.nan)
    predicted, observed = sums / held, true / held
    limits = np.full((bins, 2), np.nan)
    for b in np.flatnonzero(weight > 0.0):
        limits[b] = proportion_intervals(observed[b : b + 1], float(weight[b]), level)[0]
    brier, error = (
        float(w @ (p - came) ** 2 / w.sum()),
        float(np.nansum(np.abs(observed - predicted) * weight) / w.sum()),
    )
    return CalibrationTable(what, edges, weight, predicted, observed, limits, level, brier, error)


def confusion(model: Any, X: Any, y: Any, *, sample_weight: Any = None) -> ConfusionTable:
    """Rows of each class by the class that the model gives them."""
    given = np.asarray(model.predict(X))
    n, classes = len(given), np.asarray(model.classes_).tolist()
    true, found = _known_codes(model, y, n), class_codes(model, given, n)
    weight = checks.weights(sample_weight, n)
    flat = np.bincount(true * len(classes) + found, weight, minlength=len(classes) ** 2).astype(np.float64)
    return ConfusionTable(tuple(map(str, classes)), flat.reshape(len(classes), len(classes)))
