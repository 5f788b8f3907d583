"""The gate of naive Bayes: tables, options and classes, and what is said about a fit that deserves a second look."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.mixed import Field, MixedSource, as_table
from eigenlens.data.source import Source
from eigenlens.errors import DataError, DataWarning, OptionError
from eigenlens.estimators.classifying import chosen_class, enough_classes
from eigenlens.estimators.rows import rows_of
from eigenlens.fitting.naive import NaiveStatistics
from eigenlens.fitting.naive_factors import Choice, Plan, place_of
from eigenlens.fitting.naive_gaussian import GaussianFactor
from eigenlens.fitting.naive_levels import UNKNOWN
from eigenlens.fitting.naive_options import NaiveOptions
from eigenlens.fitting.naive_rows import CLASS_BANDWIDTHS
from eigenlens.models.naive import NaiveModel
from eigenlens.models.naive_levels import LevelColumns
from eigenlens.stats.levels import listed

__all__ = [
    "FeatureTable",
    "checked_naive_options",
    "chosen_class",
    "enough_classes",
    "fitted_table",
    "frame_kind",
    "refuse_levels",
    "sampled_rows",
    "table_of",
    "warn_about_constants",
]


class FeatureTable(tuple[Choice, ...]):
    """The family of each column and why: a tuple of `Choice(column, family, reason)` that prints as a table."""

    def __str__(self) -> str:
        rows = [(str(column), str(family), reason) for column, family, reason in self]
        widths = [max(map(len, cells)) for cells in zip(("column", "family", "reason"), *rows, strict=True)]
        lines = [("column", "family", "reason"), *rows]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines
        )


# ---- tables ---------------------------------------------------------------------------------------------------


def table_of(estimator: Any, X: Any, *, reset: bool = False) -> Source:
    """X as a table; its feature names and count are kept (reset) or compared with the fit's."""
    source = as_table(X)
    plain = isinstance(X, Source) or type(X).__name__ == "LazyFrame"
    if plain or (isinstance(X, np.ndarray) and X.dtype.names is not None):
        rows_of(estimator, source, reset=reset)
    else:
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    if source.n_rows == 0:
        raise DataError("X has 0 rows; at least 1 is needed.")
    return source


def fitted_table(estimator: Any, X: Any) -> Source:
    """X as a table of the columns that were fitted: one of numbers must still hold numbers."""
    source = table_of(estimator, X)
    if isinstance(source, MixedSource):
        for now, (factor, columns) in ((source.fields, group) for group in estimator._plan.groups):
            text = [] if factor.takes_text else [j for j in columns if now[j].kind == "text"]
            odd = [now[j].name for j in text if _holds_something(source.part([j]))]
            if odd:
                raise DataError(f"column {odd[0]!r} holds text, and was fitted on numbers; convert it to numbers.")
    return source


def _holds_something(source: MixedSource) -> bool:
    """Whether any entry of columns of text is there: one that is all missing has the type of nothing."""
    return any(bool(np.any(rows.codes >= 0)) for rows in source.rows())


def frame_kind(X: Any) -> str | None:
    """The library of a frame, so that draws come in the same kind; None for arrays."""
    kind = type(X).__module__.split(".")[0]
    return kind if kind in ("pandas", "polars", "pyarrow") else None


def sampled_rows(columns: Sequence[Array], fields: Sequence[Field], frame: str | None) -> Any:
    """Columns drawn as rows (n, d): a frame of the kind that was fitted, floats, or objects where columns differ."""
    kept = [_of_kind(column, field) for column, field in zip(columns, fields, strict=True)]
    if frame is not None:
        import narwhals.stable.v2 as nw

        named = {str(field.name): column for field, column in zip(fields, kept, strict=True)}
        backend: Any = frame
        return nw.from_dict(named, backend=backend).to_native()
    numeric = all(column.dtype.kind in "fiub" for column in kept)
    return np.column_stack([column.astype(np.float64 if numeric else object) for column in kept])


def _of_kind(column: Array, field: Field) -> Array:
    if field.kind == "boolean":
        return column.astype(np.float64).astype(bool)
    if column.dtype == object and field.kind in ("number", "integer"):
        return column.astype(np.float64 if field.kind == "number" else np.int64)
    if column.dtype == object and all(isinstance(value, str) for value in column):
        return column.astype(str) if field.levels is None else column
    return column


# ---- options --------------------------------------------------------------------------------------------------


def checked_naive_options(estimator: Any, fields: Sequence[Field]) -> NaiveOptions:
    """The options of an estimator of columns, each checked."""
    bandwidth = estimator.bandwidth
    if isinstance(bandwidth, str) or callable(bandwidth):
        checks.choice("bandwidth", bandwidth, CLASS_BANDWIDTHS)
    else:
        bandwidth = checks.real("bandwidth", bandwidth, 0.0)
    return NaiveOptions(
        smoothing=_by_column("smoothing", estimator.smoothing, fields, levels=True),
        unknown=checks.name("unknown", estimator.unknown, UNKNOWN),
        floor=_not_negative("floor", estimator.floor),
        added_variance=_by_column("added_variance", estimator.added_variance, fields),
        bandwidth=bandwidth,
        max_components=checks.integer("max_components", estimator.max_components, 1),
    )


def _by_column(name: str, value: Any, fields: Sequence[Field], levels: bool = False) -> Any:
    """A number, or one by the name of a column; the columns may be given by number too."""
    if not isinstance(value, Mapping):
        return _not_negative(name, value)
    places = {field.name: j for j, field in enumerate(fields)}
    checked = {
        column: {level: _not_negative(f"{name}[{column!r}][{level!r}]", n) for level, n in given.items()}
        if levels and isinstance(given, Mapping)
        else _not_negative(f"{name}[{column!r}]", given)
        for column, given in value.items()
    }
    return {fields[place_of(column, places, len(fields), name)].name: given for column, given in checked.items()}


def _not_negative(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= float(value) < np.inf:
        raise OptionError(f"{name}={value!r} must be a finite number from 0 on.")
    return float(value)


# ---- what is said ---------------------------------------------------------------------------------------------


def refuse_levels(model: NaiveModel, options: NaiveOptions) -> None:
    """Raise where smoothing is given for a level that its column does not have."""
    given = options.smoothing if isinstance(options.smoothing, Mapping) else {}
    for part in (group.conditional for group in model.groups):
        for name, levels in zip(part.names, part.levels, strict=True) if isinstance(part, LevelColumns) else ():
            asked = given.get(name)
            odd = [level for level in asked if level not in levels] if isinstance(asked, Mapping) else []
            if odd:
                raise OptionError(
                    f"smoothing[{name!r}] names the level {odd[0]!r}, which the column does not have; its levels are "
                    f"{listed(levels)}."
                )


def warn_about_constants(statistics: NaiveStatistics, plan: Plan, options: NaiveOptions, classes: Array) -> None:
    """Say which Gaussian columns are constant within a class, so that the floor is their variance; 0 is an error."""
    for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True):
        if not isinstance(factor, GaussianFactor) or factor.shared:
            continue
        with np.errstate(invalid="ignore"):  # what is not finite is refused by the estimate
            total = part.pooled()[2]
        added = options.added_to(plan.fields_in(columns))
        held = (part.weight > 0.0) & (part.square <= options.floor * total * part.weight) & (total > 0.0)
        if held.any():
            c, j = (int(place[0]) for place in np.nonzero(held))
            if options.floor == 0.0 and not np.all(added[np.nonzero(held)[1]]):
                raise DataError(
                    f"column {plan.fields[columns[j]].name!r} is constant in class {classes[c].item()!r}, and floor=0 "
                    "leaves it without a variance; give floor above 0 (1e-9), added_variance, or 'shared-gaussian'."
                )
            warnings.warn(
                f"column {plan.fields[columns[j]].name!r} is constant in class {classes[c].item()!r} "
                f"({part.weight[c, j]:g} rows; {int(held.sum())} such cases in all): its variance there is held at "
                f"floor={options.floor:g} of the column's. 'shared-gaussian' or a larger floor is safer.",
                DataWarning,
                stacklevel=3,
            )
