"""The gate of naive Bayes: tables, options and classes.

What is said about a fit of naive Bayes that deserves a second look, or cannot be.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.bernoulli import BernoulliColumns
from eigenlens.bayes.naive.families.categorical import CategoricalColumns, CategoricalFactor
from eigenlens.bayes.naive.families.gaussian import GaussianFactor
from eigenlens.bayes.naive.families.kde import CLASS_BANDWIDTHS
from eigenlens.bayes.naive.fit import NaiveStatistics
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.naive.options import UNKNOWN, NaiveOptions
from eigenlens.bayes.naive.plan import FamilyChoice, Plan, column_position
from eigenlens.data.categories import format_categories
from eigenlens.data.coerce import as_table, fields_of
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import Source
from eigenlens.data.table import MixedRows, numbers_of
from eigenlens.errors import DataError, DataWarning, OptionError
from eigenlens.estimator.rows import validate_rows
from eigenlens.stats.moments import ColumnMoments

__all__ = [
    "FeatureTable",
    "check_naive_options",
    "check_no_fractions",
    "check_smoothed_categories",
    "frame_kind",
    "rows_from_columns",
    "table_to_fit",
    "table_to_predict",
    "warn_constant_columns",
    "warn_identifier_columns",
]


class FeatureTable(tuple[FamilyChoice, ...]):
    """The family of each column and why: a tuple of `Choice(column, family, reason)` that prints as a table."""

    def __str__(self) -> str:
        rows = [(str(column), str(family), reason) for column, family, reason in self]
        widths = [max(map(len, cells)) for cells in zip(("column", "family", "reason"), *rows, strict=True)]
        lines = [("column", "family", "reason"), *rows]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines
        )


# ---- tables ---------------------------------------------------------------------------------------------------


def table_to_fit(estimator: Any, X: Any, *, reset: bool = False) -> Source:
    """X as a table; its feature names and count are kept (reset) or compared with the fit's.

    Columns of files and lazy frames are found by name, in any order and among others.
    """
    source = as_table(X)
    plain = isinstance(X, Source) or type(X).__name__ == "LazyFrame"
    if plain or (isinstance(X, np.ndarray) and X.dtype.names is not None):
        source = source if reset else _by_name(source, getattr(estimator, "feature_names_in_", None))
        validate_rows(estimator, source, reset=reset)
    else:
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    if source.n_rows == 0:
        raise DataError("X has 0 rows; at least 1 is needed.")
    return source


def _by_name(source: Source, known: Any) -> Source:
    """The columns of the fit out of a source that has all of them and can read some apart; else the source."""
    names = list(source.names or ())
    if known is None or list(known) == names or not hasattr(source, "part") or not set(known) <= set(names):
        return source
    part: Source = source.part([names.index(name) for name in known])
    return part


def table_to_predict(estimator: Any, X: Any) -> Source:
    """X as a table of the columns that were fitted: what was numbers must still be, and so must text."""
    source = table_to_fit(estimator, X)
    now, plan = fields_of(source), estimator._plan
    for group, (factor, columns) in zip(estimator.model_.groups, plan.groups, strict=True):
        for place, j in enumerate(columns):
            text = now[j].kind == "text"
            if text and not factor.takes_text:
                _refuse_kind(now[j], _kinds_met(source, j) != set())
            elif not _may_be(text, group.conditional, place):
                _refuse_kind(now[j], _kinds_met(source, j) == {text})  # categories may be numbers
    return source


def _may_be(text: bool, conditional: Any, place: int) -> bool:
    """Whether a category of a column that was fitted is text, or none is, as asked; or there is none at all."""
    categories = conditional.categories[place] if isinstance(conditional, CategoricalColumns) else ()
    return not categories or any(_is_text(category) == text for category in categories)


def _is_text(category: Any) -> bool:
    return isinstance(category, str | bytes)


def _refuse_kind(field: Field, refused: bool) -> None:
    if refused and field.kind == "text":
        raise DataError(
            f"column {field.name!r} holds text or categories, and was fitted on numbers; convert it to numbers."
        )
    if refused:
        raise DataError(
            f"column {field.name!r} holds numbers, and was fitted on text; convert it to text (astype(str)), or read "
            "it as such: scan(…, text=[…])."
        )


def _kinds_met(source: Source, j: int) -> set[bool]:
    """Whether the entries of a column are text: of one that is all missing nothing is known, whatever its type."""
    narrow, place = (source.part([j]), 0) if hasattr(source, "part") else (source, j)
    return {kind for rows in narrow.rows() for kind in _kinds_in(rows, place)}


def _kinds_in(rows: Any, j: int) -> set[bool]:
    if isinstance(rows, MixedRows) and rows.places[j] < 0:
        place = -1 - rows.places[j]
        return {_is_text(rows.categories[place][code]) for code in np.unique(rows.codes[:, place]) if code >= 0}
    return {False} if np.any(~np.isnan(numbers_of(rows, np.array([j])))) else set()


def frame_kind(X: Any) -> str | None:
    """The library of a frame, so that draws come in the same kind; None for arrays."""
    kind = type(X).__module__.split(".")[0]
    return kind if kind in ("pandas", "polars", "pyarrow") else None


def rows_from_columns(columns: Sequence[Array], fields: Sequence[Field], frame: str | None) -> Any:
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
        exact = np.array(column.tolist())  # integers of any size stay what they are
        column = exact if exact.dtype.kind in "iu" else column if _are_whole(column) else column.astype(np.float64)
    if field.kind == "integer" and column.dtype == np.float64 and np.array_equal(column, np.rint(column)):
        return column.astype(np.int64) if np.all(np.abs(column) < 2.0**63) else column
    if column.dtype == object and all(isinstance(value, str) for value in column):
        return column.astype(str) if field.categories is None else column
    return column


def _are_whole(column: Array) -> bool:
    return all(isinstance(value, int) for value in column)


# ---- options --------------------------------------------------------------------------------------------------


def check_naive_options(estimator: Any, fields: Sequence[Field]) -> NaiveOptions:
    """The options of an estimator of columns, each checked."""
    bandwidth = estimator.bandwidth
    if isinstance(bandwidth, str) or callable(bandwidth):
        checks.choice("bandwidth", bandwidth, CLASS_BANDWIDTHS)
    else:
        bandwidth = checks.real("bandwidth", bandwidth, 0.0)
    return NaiveOptions(
        smoothing=_by_column("smoothing", estimator.smoothing, fields, categories=True),
        unknown=checks.name("unknown", estimator.unknown, UNKNOWN),
        floor=_not_negative("floor", estimator.floor),
        added_variance=_by_column("added_variance", estimator.added_variance, fields),
        bandwidth=bandwidth,
        max_components=checks.integer("max_components", estimator.max_components, 1),
    )


def _by_column(name: str, value: Any, fields: Sequence[Field], categories: bool = False) -> Any:
    """A number, or one by the name of a column; the columns may be given by number too."""
    if not isinstance(value, Mapping):
        return _not_negative(name, value)
    places = {field.name: j for j, field in enumerate(fields)}
    checked = {
        column: {category: _not_negative(f"{name}[{column!r}][{category!r}]", n) for category, n in given.items()}
        if categories and isinstance(given, Mapping)
        else _not_negative(f"{name}[{column!r}]", given)
        for column, given in value.items()
    }
    return {fields[column_position(column, places, len(fields), name)].name: given for column, given in checked.items()}


def _not_negative(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= float(value) < np.inf:
        raise OptionError(f"{name}={value!r} must be a finite number from 0 on.")
    return float(value)


MANY = 20
"""Categories of a column of text below which nothing is said about them."""


def warn_identifier_columns(statistics: NaiveStatistics, plan: Plan) -> None:
    """Say which columns of text are more like the names of rows: few rows share a category, so new ones will not."""
    for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True):
        if not isinstance(factor, CategoricalFactor):
            continue
        for j, categories, counts in zip(columns, part.categories, part.counts, strict=True):
            if plan.choices[j].reason == "text" and len(categories) > max(MANY, counts.sum() / 2.0):
                name = str(plan.fields[j].name)
                what = f"column {name!r} has {len(categories)} categories in {counts.sum():g} rows, like names of rows"
                warning = DataWarning(what, columns=[name], fix="leave it out", settings={"drop": [name]})
                warnings.warn(warning, stacklevel=3)


def check_smoothed_categories(model: NaiveModel, options: NaiveOptions) -> None:
    """Raise where smoothing is given for a category that its column does not have."""
    given = options.smoothing if isinstance(options.smoothing, Mapping) else {}
    known = dict(pair for group in model.groups for pair in _categories_in(group.conditional))
    for name, asked in given.items():
        categories = known.get(name, ())
        odd = [category for category in asked if category not in categories] if isinstance(asked, Mapping) else []
        if odd:
            said = (
                f"its categories are {format_categories(categories)}"
                if categories
                else "its family has none: give a number"
            )
            raise OptionError(
                f"smoothing[{name!r}] names the category {odd[0]!r}, which the column does not have; {said}."
            )


def _categories_in(part: Any) -> Iterable[tuple[Any, tuple[Any, ...]]]:
    """The columns of a group that has categories, by name, and their categories."""
    if isinstance(part, CategoricalColumns):
        return zip(part.names, part.categories, strict=True)
    return [(name, (0, 1)) for name in part.names] if isinstance(part, BernoulliColumns) else []


def check_no_fractions(more: NaiveStatistics, plan: Plan) -> None:
    """Raise where rows of a later call have fractions in a column that was taken for categories by its first rows."""
    for (factor, columns), part in zip(plan.groups, more.parts, strict=True):
        if not isinstance(factor, CategoricalFactor):
            continue
        for j, categories in zip(columns, part.categories, strict=True):
            odd = [category for category in categories if isinstance(category, float) and not category.is_integer()]
            if odd and plan.fields[j].kind != "text" and plan.choices[j].reason != "as given":
                raise DataError(
                    f"column {plan.fields[j].name!r} was taken for categories in the first call of partial_fit "
                    f"({plan.choices[j].reason}), and holds {odd[0]!r} now; name its family from the first call on: "
                    f"features={{{plan.fields[j].name!r}: 'gaussian'}}."
                )


def warn_constant_columns(statistics: NaiveStatistics, plan: Plan, options: NaiveOptions, classes: Array) -> None:
    """Say which Gaussian columns are constant within a class, so that the floor is their variance; 0 is an error."""
    for (factor, columns), part in zip(plan.groups, statistics.parts, strict=True):
        if not isinstance(factor, GaussianFactor) or factor.shared:
            continue
        held = _held(part, options)
        if held.any():
            c, j = (int(place[0]) for place in np.nonzero(held))
            name, label = repr(plan.fields[columns[j]].name), repr(classes[c].item())
            if options.floor == 0.0 and not np.all(options.added_to(plan.fields_in(columns))[held.any(axis=0)]):
                raise DataError(
                    f"column {name} is constant in class {label}, and floor=0 leaves it without a variance; give floor "
                    "above 0 (1e-9), added_variance, or 'shared-gaussian'."
                )
            warnings.warn(
                f"column {name} is constant in class {label} ({part.weight[c, j]:g} rows; {int(held.sum())} such cases "
                f"in all): its variance there is held at floor={options.floor:g} of the column's. 'shared-gaussian' or "
                "a larger floor is safer.",
                DataWarning,
                stacklevel=3,
            )


def _held(part: ColumnMoments, options: NaiveOptions) -> Array:
    """Where (C, g) the floor is above the variance of a class."""
    with np.errstate(invalid="ignore"):  # what is not finite is refused by the estimate
        pooled = part.pooled
        total = pooled.square / np.where(pooled.weight > 0.0, pooled.weight, 1.0)
    return np.asarray((part.weight > 0.0) & (part.square <= options.floor * total * part.weight) & (total > 0.0))
