"""Tables of a classifier for plots and reports: decision regions, calibration, confusion, explanations.

A model here is any fitted classifier with `classes_` and `predict_proba`, of this package or another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.bayes.labels import class_positions, unknown_class
from eigenlens.data.categories import is_missing_value
from eigenlens.data.coerce import as_table, fields_of
from eigenlens.data.memory import ArraySource
from eigenlens.data.source import Source
from eigenlens.data.table import MixedSource, numbers_of
from eigenlens.densities.intervals import proportion_intervals
from eigenlens.errors import DataError, OptionError
from eigenlens.tables.names import feature_names
from eigenlens.tables.rows import first_rows

REGION_MARGIN = 0.06
"""The margin of a plane beyond the rows, as a share of their range: points at the edge stay visible."""


@dataclass(frozen=True, eq=False)
class DecisionTable:
    """The probabilities of the classes over a plane of two columns.

    Attributes:
        names: of the two columns. classes: (C,) as text. x: (p,), y: (q,) the grid.
        proba: (q, p, C). points: (n, 2) rows. codes: (n,) their classes, or None.
        others: how the other columns were treated, in words; "" if there are none.
        steps: the smallest distance between the categories of each of the two columns; 0 if it has none.
    """

    names: tuple[str, str]
    classes: tuple[str, ...]
    x: Array
    y: Array
    proba: Array
    points: Array
    codes: Array | None
    others: str
    steps: tuple[float, float] = (0.0, 0.0)

    @property
    def regions(self) -> Array:
        """Return the most likely class (q, p)."""
        return np.asarray(self.proba.argmax(axis=2))

    def against_next(self, c: int) -> Array:
        """Return the probability (q, p) of class c against the most likely other class, of these two alone."""
        mine, others = self.proba[:, :, c], np.delete(self.proba, c, axis=2).max(axis=2)
        return np.asarray(mine / np.maximum(mine + others, 1e-300))


def decision(
    model: Any, X: Any, y: Any = None, *, features: Sequence[Any] | None = None, grid: int = 200
) -> DecisionTable:
    """Return the probabilities over the range of two columns of X, by number or name; the first two of numbers if None.

    Other columns are left out where the model takes missing values, else set to their medians. Where a column of naive
    Bayes has categories, the plane has the nearest of them.
    """
    source, size = as_table(X), checks.integer("grid", grid, 2, checks.MAX_GRID)
    rows = _numbers(source, X)
    names, pair = _columns(model, source, rows.shape[1], features)
    points = rows[:, pair]
    if not np.isfinite(points).any(axis=0).all():
        chosen = [names[j] for j in pair]
        raise DataError(f"columns {chosen[0]!r} and {chosen[1]!r} of X have no finite entries to plot", columns=chosen)
    categories = [_numeric_categories(model, j, rows[:, j]) for j in pair]
    steps = (_step(categories[0]), _step(categories[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        x, ordinate = (_range(points[:, j], size, steps[j]) for j in (0, 1))
    if not (np.isfinite(x).all() and np.isfinite(ordinate).all()):
        chosen = [names[j] for j in pair]
        raise DataError(f"columns {chosen[0]!r} and {chosen[1]!r} of X extend too far to plot", columns=chosen)
    grids = [_nearest(known, places) for known, places in zip(categories, (x, ordinate), strict=True)]
    C = len(model.classes_)
    proba, others = _over_plane(rows, pair, grids, C, lambda plane: _proba(model, plane, source, X))
    classes = tuple(map(str, model.classes_))
    codes = None if y is None else _codes_of_rows(model, y, len(rows))
    called = (names[pair[0]], names[pair[1]])
    return DecisionTable(called, classes, x, ordinate, proba, points, codes, others, steps)


def _columns(model: Any, source: Source, d: int, features: Sequence[Any] | None) -> tuple[tuple[str, ...], list[int]]:
    """Return the names of all d columns, and the numbers of the two that span the plane."""
    if d < 2:
        raise DataError("X has 1 column; a plane needs two", fix="plot the densities of that column instead")
    fitted = getattr(model, "n_features_in_", d)
    if d != fitted:
        what = f"has {d} columns, and the model was fitted to {fitted}"
        raise DataError(what, argument="X", fix="use the columns of the fit")
    names = feature_names(model, d, source.names)
    numeric = [j for j, field in enumerate(fields_of(source)) if field.kind != "text"]
    return names, _two_columns(features, names, numeric)


def _numbers(source: Source, X: Any) -> Array:
    """Return the rows (n, d) as numbers, text as NaN."""
    if not isinstance(source, MixedSource):
        return first_rows(X)
    return np.concatenate([numbers_of(rows, np.arange(source.n_features)) for rows in source.rows()])


def _numeric_categories(model: Any, column: int, values: Array) -> Array:
    """Return the values (k,) of a column whose family in naive Bayes takes categories alone; none for any other."""
    choices = getattr(model, "features_", None)
    if choices is None or getattr(choices[column], "family", None) not in ("categorical", "bernoulli"):
        return np.empty(0)
    return np.unique(values[np.isfinite(values)])


def _nearest(categories: Array, x: Array) -> Array:
    """Return the points x (p,) along an axis, or the category nearest to each."""
    middles = (categories[1:] + categories[:-1]) / 2.0
    return np.asarray(categories[np.searchsorted(middles, x)]) if categories.size else x


def _step(categories: Array) -> float:
    return float(np.diff(categories).min()) if categories.size > 1 else 0.0


def _two_columns(features: Sequence[Any] | None, names: tuple[str, ...], numeric: list[int]) -> list[int]:
    """Return the numbers of the two columns asked for; raise unless they hold numbers."""
    if features is None and len(numeric) < 2:
        raise DataError(f"X has {len(numeric)} columns of numbers; a plane needs two, and text has no axis")
    given = numeric[:2] if features is None else features
    found = checks.column_numbers("features", given, len(names), names, low=2, high=2)
    text = [names[j] for j in found if j not in numeric]
    if text:
        what = f"has column {text[0]!r}, which holds text and so has no axis"
        fix = f"columns of numbers are {[names[j] for j in numeric[:8]]}"
        raise OptionError(what, argument="features", value=given, fix=fix)
    return found


def _range(values: Array, size: int, step: float) -> Array:
    """Return points along an axis: the range of the values, and a margin of at least half a step between categories."""
    low, high = np.nanmin(values), np.nanmax(values)
    reach = max(REGION_MARGIN * (high - low), 0.5 * step) or 1.0
    return np.linspace(low - reach, high + reach, size)


def _over_plane(
    rows: Array, pair: list[int], grids: list[Array], C: int, proba: Callable[[Array], Array]
) -> tuple[Array, str]:
    across, up = np.meshgrid(*grids)
    plane = np.full((across.size, rows.shape[1]), np.nan)
    plane[:, pair[0]], plane[:, pair[1]] = across.ravel(), up.ravel()
    shape, others = (*across.shape, C), ""
    if rows.shape[1] > 2:
        others = "other columns left out"
        try:
            return np.reshape(proba(plane), shape), others
        except ValueError:  # a model that needs every column
            rest = [j for j in range(rows.shape[1]) if j not in pair]
            if np.isnan(rows[:, rest]).all(axis=0).any():
                raise
            plane[:, rest] = np.nanmedian(rows[:, rest], axis=0)
            others = "other columns at their medians"
    return np.reshape(proba(plane), shape), others


def _proba(model: Any, rows: Array, source: Source, X: Any) -> Array:
    """Return the probabilities (n, C) of rows with the names of the source, in a frame if X is one."""
    given: Any = rows
    backend: Any = type(X).__module__.split(".")[0]
    if backend in ("pandas", "polars", "pyarrow"):
        import narwhals.stable.v2 as nw

        columns = dict(zip((field.name for field in fields_of(source)), rows.T, strict=True))
        given = nw.from_dict(columns, backend=backend).to_native()
    elif source.names is not None:
        given = ArraySource(rows, names=source.names)
    return np.asarray(to_numpy(model.predict_proba(given)), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class CalibrationTable:
    """The share of predictions that came true, in bins of their probability.

    Attributes:
        what: the class predicted, in words. edges: (b + 1,). weight: (b,) Σw of the rows in each bin.
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
    """The rows of each class by the class predicted for them.

    Attributes:
        classes: (C,) as text. unknown: (u,) labels that are not classes of the model, as text.
        counts: (C + u, C) Σw, true labels down, predicted classes across.
        right: (n,) which rows were predicted correctly.
    """

    classes: tuple[str, ...]
    unknown: tuple[str, ...]
    counts: Array
    right: Array

    def __add__(self, other: ConfusionTable) -> ConfusionTable:
        """Return the confusion of the rows of both, those of the other after these."""
        unknown, C = sorted({*self.unknown, *other.unknown}), len(self.classes)
        counts = np.zeros((C + len(unknown), C))
        for table in (self, other):
            places = [*range(C), *(C + unknown.index(name) for name in table.unknown)]
            counts[places] += table.counts
        return ConfusionTable(self.classes, tuple(unknown), counts, np.concatenate([self.right, other.right]))

    @property
    def shares(self) -> Array:
        """Return per cent (C + u, C) of the rows of each true label; NaN for a class without rows."""
        total = self.counts.sum(axis=1, keepdims=True)
        return np.asarray(
            100.0 * np.divide(self.counts, total, out=np.full_like(self.counts, np.nan), where=total > 0.0)
        )

    @property
    def accuracy(self) -> float:
        """Return the share of the weight whose label was predicted."""
        return float(np.trace(self.counts) / self.counts.sum())

    @property
    def accuracy_error(self) -> float:
        """Return the standard error of the accuracy p, √(p (1 − p) / (Σw − 1)); NaN of one row. Weight 3 is three."""
        p, n = self.accuracy, self.counts.sum()
        return float(np.sqrt(p * (1.0 - p) / (n - 1.0))) if n > 1.0 else np.nan


def _class_name(value: Any) -> str:
    """Return the name of a class: 1 and 1.0 are the same class.

    >>> _class_name(1.0), _class_name(1), _class_name("a"), _class_name(None)
    ('1', '1', 'a', '(missing)')
    """
    if is_missing_value(value) or value == "":
        return "(missing)"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def class_codes(classes: Any, y: Any) -> Array:
    """Return the position (n,) of each label among the classes, by value, else by name; −1 for an unknown label.

    >>> class_codes([1, 2], np.array([2.0, 1.0, 3.0])), class_codes([1, 2], ["2", None])
    (array([ 1,  0, -1]), array([ 1, -1]))
    """
    given = y if hasattr(y, "__array__") or hasattr(y, "dask") else np.array(checks.listed("y", y), dtype=object)
    values = np.asarray(to_numpy(given, "y")).ravel().tolist()
    labels = [label if label.__hash__ is not None else str(label) for label in values]
    places = {label: c for c, label in enumerate(np.asarray(classes).tolist())}
    names = {_class_name(label): c for label, c in places.items()}
    codes = {label: places.get(label, names.get(_class_name(label), -1)) for label in set(labels)}
    return np.array([codes[label] for label in labels], dtype=np.intp)


def _codes_of_rows(model: Any, y: Any, n: int) -> Array:
    """Return `class_codes` of y; raise unless there is one label per row."""
    codes = class_codes(model.classes_, y)
    if len(codes) != n:
        raise DataError(f"y has {len(codes)} labels, but X has {n} rows", fix="give one label per row")
    return codes


def _known_codes(model: Any, y: Any, n: int) -> Array:
    """Return the codes of y; raise for labels that are not classes of the model."""
    codes = _codes_of_rows(model, y, n)
    if np.any(codes < 0):
        raise unknown_class(model.classes_, "y", np.asarray(to_numpy(y)).ravel()[codes < 0].tolist())
    return codes


def calibration(
    model: Any, X: Any, y: Any, *, label: Any = None, bins: int = 10, level: float = 0.95, sample_weight: Any = None
) -> CalibrationTable:
    """Return the share of predictions that came true, in bins of equal width, for class `label` or the one predicted.

    A bin includes its upper edge, and only the first its lower one: 0.3 is in the third of ten bins.
    """
    proba = np.asarray(to_numpy(model.predict_proba(X)), dtype=np.float64)
    n, edges = len(proba), np.linspace(0.0, 1.0, checks.integer("bins", bins, 1, checks.MAX_GRID) + 1)
    codes = _known_codes(model, y, n)
    weight = checks.weights(sample_weight, n)
    w = np.ones(n) if weight is None else weight
    if label is None:
        best = proba.argmax(axis=1)
        p, came, what = proba.max(axis=1), (codes == best).astype(float), "the predicted class"
    else:
        c = int(class_positions(model.classes_, "label", [label])[0])
        p, came, what = proba[:, c], (codes == c).astype(float), f"class {label}"
    return _calibration_bins(p, came, w, edges, checks.real("level", level, 0.0, 1.0), what)


def _calibration_bins(p: Array, came: Array, w: Array, edges: Array, level: float, what: str) -> CalibrationTable:
    bins = len(edges) - 1
    place = np.searchsorted(edges[1:-1], p)
    weight, sums, true = (np.bincount(place, values, minlength=bins) for values in (w, w * p, w * came))
    per_bin = np.where(weight > 0.0, weight, np.nan)
    predicted, observed = sums / per_bin, true / per_bin
    limits = np.full((bins, 2), np.nan)
    for b in np.flatnonzero(weight > 0.0):
        limits[b] = proportion_intervals(observed[b : b + 1], float(weight[b]), level)[0]
    brier, error = (
        float(w @ (p - came) ** 2 / w.sum()),
        float(np.nansum(np.abs(observed - predicted) * weight) / w.sum()),
    )
    return CalibrationTable(what, edges, weight, predicted, observed, limits, level, brier, error)


def confusion(model: Any, X: Any, y: Any, *, sample_weight: Any = None) -> ConfusionTable:
    """Return the rows of each class by the class that the model predicts; a label that it does not know is an error."""
    predicted = np.asarray(model.predict(X))
    _known_codes(model, y, len(predicted))
    return count_confusion(model.classes_, y, predicted, checks.weights(sample_weight, len(predicted)))


def count_confusion(classes: Any, y: Any, predicted: Any, weight: Array | None = None) -> ConfusionTable:
    """Return the confusion of labels y (n,) and predicted classes (n,); unknown labels follow the classes, by name.

    >>> found = count_confusion([0, 1], np.array([0.0, 1.0, 0.0, 7.0]), np.array([0, 1, 1, 1]))
    >>> found.counts, found.unknown, found.accuracy
    (array([[1., 1.],
           [0., 1.],
           [0., 1.]]), ('7',), 0.5)
    """
    true, found, C = class_codes(classes, y), class_codes(classes, predicted), len(classes)
    names = np.array([_class_name(label) for label in np.asarray(to_numpy(y)).ravel()[true < 0].tolist()], dtype=object)
    unknown, places = np.unique(names, return_inverse=True)
    true[true < 0] = C + places
    flat = np.bincount(true * C + found, weight, minlength=(C + len(unknown)) * C).astype(np.float64)
    known = tuple(_class_name(label) for label in np.asarray(classes).tolist())
    return ConfusionTable(known, tuple(unknown.tolist()), flat.reshape(-1, C), true == found)


@dataclass(frozen=True, eq=False)
class ExplanationTable:
    """The contribution of each feature to the log-odds of one row, the largest first.

    Attributes:
        of, against: the two classes. names: (m,). values: (m,) contributions; the last but one may be the sum of all
            others, the last is the prior. entries: (m,) the row's own values as text; "" where there are none.
        total: the log-odds.
    """

    of: str
    against: str
    names: tuple[str, ...]
    values: Array
    entries: tuple[str, ...]
    total: float


def explanation(explanation: Any, row: int = 0, *, top: int = 12, entries: tuple[str, ...] = ()) -> ExplanationTable:
    """Return one row of an `Explanation`: its `top` features, the sum of the others, and the prior.

    `entries` (d,) are the row's values as text; () if they are not known.
    """
    i = checks.integer("row", row, 0, len(explanation.of) - 1, "the last row")
    most, order = checks.integer("top", top, 1), explanation.order[i]
    shown, values = order[:most], explanation.contributions[i]
    names, numbers = [str(explanation.names[j]) for j in shown], [float(values[j]) for j in shown]
    shown_entries = [entries[j] if entries else "" for j in shown]
    if len(order) > most:
        rest = len(order) - most
        names, shown_entries = [*names, f"{rest} other{'s' * (rest > 1)}"], [*shown_entries, ""]
        numbers.append(float(values[order[most:]].sum()))
    table = np.array([*numbers, float(explanation.prior[i])])
    return ExplanationTable(
        str(explanation.of[i]), str(explanation.against[i]), (*names, "prior"), table, (*shown_entries, ""),
        float(explanation.log_odds[i]),
    )  # fmt: skip


def row_entries(X: Any, row: int) -> tuple[str, ...]:
    """Return the values (d,) of a row of X as text: of a frame, or of anything with numbers.

    >>> row_entries([[1.0, 2.5], [np.nan, 1e6 / 3]], 1)
    ('missing', '3.333e+05')
    """
    if type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow"):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(X)
        some = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        return tuple(map(_format_entry, some.row(row)))
    return tuple(map(_format_entry, first_rows(X, row + 1)[row].tolist()))


def _format_entry(entry: Any) -> str:
    if entry is None or entry != entry:
        return "missing"
    return f"{float(entry):.4g}" if isinstance(entry, float | np.floating) else str(entry)
