"""From a classifier to plain arrays: regions in a plane, how far probabilities can be trusted, errors, reasons.

A model here is any fitted classifier with `classes_` and `predict_proba`, of this package or another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.memory import ArraySource
from eigenlens.data.mixed import MixedSource, as_table, fields_of, numbers_of
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.views.class_judgements import (
    CalibrationTable,
    ConfusionTable,
    calibration,
    class_codes,
    confusion,
)
from eigenlens.views.class_reasons import ReasonTable, reasons, row_entries
from eigenlens.views.tables import dense_rows

__all__ = [
    "CalibrationTable", "ConfusionTable", "DecisionTable", "ReasonTable", "calibration", "confusion", "decision",
    "reasons", "row_entries",
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
        steps: the least distance between the levels of each of the two columns; 0 if its numbers are no levels.
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
        """The likeliest class (q, p)."""
        return np.asarray(self.proba.argmax(axis=2))


def decision(
    model: Any, X: Any, y: Any = None, *, features: Sequence[Any] | None = None, grid: int = 200
) -> DecisionTable:
    """The probabilities over the range of two columns of X, by number or name; the first two of numbers if None.

    Other columns are left out by the model where it can do without them (NaN), else held at their medians. Where a
    column of naive Bayes has levels, the plane has the nearest of them.
    """
    source, size = as_table(X), checks.integer("grid", grid, 2)
    rows = _numbers(source, X)
    names, pair = _columns(model, source, rows.shape[1], features)
    points = rows[:, pair]
    if not np.isfinite(points).any(axis=0).all():
        raise DataError(f"columns {names[pair[0]]!r} and {names[pair[1]]!r} of X have no finite entries to draw.")
    levels = [_levels(model, j, rows[:, j]) for j in pair]
    steps = (_step(levels[0]), _step(levels[1]))
    x, ordinate = (_range(points[:, j], size, steps[j]) for j in (0, 1))
    grids = [_nearest(known, places) for known, places in zip(levels, (x, ordinate), strict=True)]
    C = len(model.classes_)
    proba, others = _over_plane(rows, pair, grids, C, lambda plane: _proba(model, plane, source, X))
    classes = tuple(map(str, model.classes_))
    codes = None if y is None else class_codes(model, y, len(rows))
    called = (names[pair[0]], names[pair[1]])
    return DecisionTable(called, classes, x, ordinate, proba, points, codes, others, steps)


def _columns(model: Any, source: Source, d: int, features: Sequence[Any] | None) -> tuple[list[str], list[int]]:
    """The names of all d columns, and the numbers of the two that span the plane."""
    if d < 2:
        raise DataError("X has 1 column; a plane needs two: plot the densities of that column instead.")
    known: Any = source.names if source.names is not None else getattr(model, "feature_names_in_", None)
    names = [str(name) for name in (range(d) if known is None else known)]
    numeric = [j for j, field in enumerate(fields_of(source)) if field.kind != "text"]
    return names, _two_columns(features, names, numeric)


def _numbers(source: Source, X: Any) -> Array:
    """The rows (n, d) as numbers, text as NaN."""
    if not isinstance(source, MixedSource):
        return dense_rows(X)
    return np.concatenate([numbers_of(rows, np.arange(source.n_features)) for rows in source.rows()])


def _levels(model: Any, column: int, values: Array) -> Array:
    """The values (k,) of a column whose family in naive Bayes takes levels alone; none of any other."""
    choices = getattr(model, "features_", None)
    if choices is None or getattr(choices[column], "family", None) not in ("categorical", "bernoulli"):
        return np.empty(0)
    return np.unique(values[np.isfinite(values)])


def _nearest(levels: Array, x: Array) -> Array:
    """The places x (p,) along an axis, or the level nearest to each."""
    return np.asarray(levels[np.searchsorted((levels[1:] + levels[:-1]) / 2.0, x)]) if levels.size else x


def _step(levels: Array) -> float:
    return float(np.diff(levels).min()) if levels.size > 1 else 0.0


def _two_columns(features: Sequence[Any] | None, names: list[str], numeric: list[int]) -> list[int]:
    """The two columns that are asked for, by number; they must hold numbers."""
    if features is None and len(numeric) < 2:
        raise DataError(f"X has {len(numeric)} columns of numbers; a plane needs two: columns of text have no axis.")
    given = numeric[:2] if features is None else list(features)
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
    text = [names[j] for j in found if j not in numeric]
    if text:
        raise OptionError(
            f"features={given!r}: column {text[0]!r} holds text, which has no axis; of numbers are "
            f"{[names[j] for j in numeric[:8]]}."
        )
    return found


def _range(values: Array, size: int, step: float) -> Array:
    """Places along an axis: the range of the values and a margin, or half a step between levels if that is more."""
    low, high = np.nanmin(values), np.nanmax(values)
    reach = max(MARGIN * (high - low), 0.5 * step) or 1.0
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
    """Probabilities (n, C) of rows with the names that those of the source have, in a frame if X is one."""
    given: Any = rows
    backend: Any = type(X).__module__.split(".")[0]
    if backend in ("pandas", "polars", "pyarrow"):
        import narwhals.stable.v2 as nw

        columns = dict(zip((field.name for field in fields_of(source)), rows.T, strict=True))
        given = nw.from_dict(columns, backend=backend).to_native()
    elif source.names is not None:
        given = ArraySource(rows, names=source.names)
    return np.asarray(to_numpy(model.predict_proba(given)), dtype=np.float64)
