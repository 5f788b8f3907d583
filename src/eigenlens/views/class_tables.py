"""From a classifier to plain arrays: regions in a plane, how far probabilities can be trusted, errors, reasons.

A model here is any fitted classifier with `classes_` and `predict_proba`, of this package or another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.memory import ArraySource, FrameSource
from eigenlens.data.resolve import as_source
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.models.fitted import proportion_intervals
from eigenlens.views.tables import dense_rows

__all__ = [
    "CalibrationTable", "ConfusionTable", "DecisionTable", "ReasonTable", "calibration", "confusion", "decision",
    "reasons",
]  # fmt: skip

MARGIN = 0.06
"""How far a plane reaches beyond the rows, as a share of their range."""


@dataclass(frozen=True, eq=False)
class DecisionTable:
    """The probabilities of the classes over a plane of two columns.

    Attributes:
        names: of the two columns. classes: (C,) as text. x: (p,), y: (q,) the grid.
        proba: (q, p, C). points: (n, 2) rows. codes: (n,) their classes, or None.
        others: what was done with the other columns, in words; "" if there are none.
    """

    names: tuple[str, str]
    classes: tuple[str, ...]
    x: Array
    y: Array
    proba: Array
    points: Array
    codes: Array | None
    others: str

    @property
    def regions(self) -> Array:
        """The likeliest class (q, p)."""
        return np.asarray(self.proba.argmax(axis=2))


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


@dataclass(frozen=True, eq=False)
class ReasonTable:
    """What each feature adds to the log-odds of one row, the largest first.

    Attributes:
        of, against: the two classes. names: (m,). values: (m,) contributions; the last may stand for all others, then
            the prior. total: the log-odds.
    """

    of: str
    against: str
    names: tuple[str, ...]
    values: Array
    total: float


def decision(
    model: Any, X: Any, y: Any = None, *, features: Sequence[Any] | None = None, grid: int = 200
) -> DecisionTable:
    """The probabilities over the range of two columns of X, by number or name; the first two if None.

    Other columns are left out by the model where it can do without them (NaN), else held at their medians.
    """
    source, rows, size = as_source(X), dense_rows(X), checks.integer("grid", grid, 2)
    if rows.shape[1] < 2:
        raise DataError("X has 1 column; a plane needs two: plot the densities of that column instead.")
    known: Any = source.names if source.names is not None else getattr(model, "feature_names_in_", None)
    names = [str(name) for name in (range(rows.shape[1]) if known is None else known)]
    pair = _two_columns(features, names)
    points = rows[:, pair]
    if not np.isfinite(points).any(axis=0).all():
        raise DataError(f"columns {names[pair[0]]!r} and {names[pair[1]]!r} of X have no finite entries to draw.")
    x, ordinate = (_range(points[:, j], size) for j in (0, 1))
    proba, others = _over_plane(model, rows, pair, x, ordinate, source)
    classes = tuple(map(str, model.classes_))
    codes = None if y is None else _codes(model, y, len(rows))
    return DecisionTable((names[pair[0]], names[pair[1]]), classes, x, ordinate, proba, points, codes, others)


def _two_columns(features: Sequence[Any] | None, names: list[str]) -> list[int]:
    given = [0, 1] if features is None else list(features)
    found = []
    for feature in given:
        if isinstance(feature, str) and feature in names:
            found.append(names.index(feature))
        elif isinstance(feature, int | np.integer) and 0 <= feature < len(names):
            found.append(int(feature))
        else:
            raise OptionError(
                f"features has {feature!r}; columns are {names[:8]}, or numbers from 0 to {len(names) - 1}."
            )
    if len(found) != 2 or found[0] == found[1]:
        raise OptionError(f"features={given!r} must be two different columns.")
    return found


def _range(values: Array, size: int) -> Array:
    low, high = np.nanmin(values), np.nanmax(values)
    reach = MARGIN * (high - low) or 1.0
    return np.linspace(low - reach, high + reach, size)


def _over_plane(model: Any, rows: Array, pair: list[int], x: Array, y: Array, source: Source) -> tuple[Array, str]:
    across, up = np.meshgrid(x, y)
    plane = np.full((across.size, rows.shape[1]), np.nan)
    plane[:, pair[0]], plane[:, pair[1]] = across.ravel(), up.ravel()
    shape, others = (*across.shape, len(model.classes_)), ""
    if rows.shape[1] > 2:
        others = "other columns left out"
        try:
            return np.reshape(_proba(model, plane, source), shape), others
        except ValueError:  # a model that needs every column
            rest = [j for j in range(rows.shape[1]) if j not in pair]
            plane[:, rest] = np.nanmedian(rows[:, rest], axis=0)
            others = "other columns at their medians"
    return np.reshape(_proba(model, plane, source), shape), others


def _proba(model: Any, rows: Array, source: Source) -> Array:
    """Probabilities (n, C) of rows with the names that those of the source have."""
    given: Any = rows
    if isinstance(source, FrameSource):
        import narwhals.stable.v2 as nw

        columns = dict(zip(source.frame.columns, rows.T, strict=True))
        given = nw.from_dict(columns, backend=source.frame.implementation).to_native()
    elif source.names is not None:
        given = ArraySource(rows, names=source.names)
    return np.asarray(to_numpy(model.predict_proba(given)), dtype=np.float64)


def _codes(model: Any, y: Any, n: int) -> Array:
    """The number (n,) of each label among the classes of the model; −1 for a class that it does not know."""
    labels = np.asarray(to_numpy(y)).ravel().tolist()
    if len(labels) != n:
        raise DataError(f"y has {len(labels)} labels, but X has {n} rows; give one a row.")
    places = {label: k for k, label in enumerate(np.asarray(model.classes_).tolist())}
    return np.array([places.get(label, -1) for label in labels], dtype=np.intp)


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
    """How often predictions came true, in bins of equal width: those of class `label`, or of the class predicted."""
    proba = np.asarray(to_numpy(model.predict_proba(X)), dtype=np.float64)
    n, classes = len(proba), np.asarray(model.classes_).tolist()
    codes, edges = _codes(model, y, n), np.linspace(0.0, 1.0, checks.integer("bins", bins, 1) + 1)
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
    place = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, bins - 1)
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
    true, found = _codes(model, y, n), _codes(model, given, n)
    if np.any(true < 0):
        odd = sorted(
            {str(label) for label, c in zip(np.asarray(to_numpy(y)).ravel().tolist(), true, strict=True) if c < 0}
        )
        raise DataError(f"y has classes that the model does not know: {odd[:5]}; its classes are {classes[:8]}.")
    weight = checks.weights(sample_weight, n)
    flat = np.bincount(true * len(classes) + found, weight, minlength=len(classes) ** 2).astype(np.float64)
    return ConfusionTable(tuple(map(str, classes)), flat.reshape(len(classes), len(classes)))


def reasons(explanation: Any, row: int = 0, *, top: int = 12) -> ReasonTable:
    """One row of what `explain` gave: its `top` features, the sum of the others, and the prior."""
    i = checks.integer("row", row, 0, len(explanation.of) - 1, "the last row")
    most = checks.integer("top", top, 1)
    pairs = explanation.row(i)
    names, values = [str(name) for name, _ in pairs[:most]], [value for _, value in pairs[:most]]
    if len(pairs) > most:
        names.append(f"{len(pairs) - most} others")
        values.append(float(sum(value for _, value in pairs[most:])))
    prior = float(explanation.prior[i])
    table = np.array([*values, prior])
    return ReasonTable(
        str(explanation.of[i]), str(explanation.against[i]), (*names, "prior"), table, float(explanation.log_odds[i])
    )
