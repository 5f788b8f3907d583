"""The tables that naive Bayes takes, checked against those it was fitted to, and the rows it draws in the same kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.fit import row_slices
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.data.coerce import as_table, fields_of
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import Source
from eigenlens.data.table import MixedRows, numbers_of
from eigenlens.errors import DataError
from eigenlens.estimator.rows import check_feature_names, column_as_table, validate_rows

JOINT_ENTRIES = 1 << 18
"""Numbers ln p(x, c) computed at a time: 2 MB, which stays in the cache of a core."""


def table_to_fit(estimator: Any, X: Any, *, reset: bool = False) -> Source:
    """Return X as a table; its feature names and count are kept (reset) or compared with those of the fit.

    Columns of files and lazy frames are found by name, in any order and among others.
    """
    if not reset and getattr(estimator, "_takes_column", False) and estimator.n_features_in_ == 1:
        X = column_as_table(X)
    source = as_table(X)
    if isinstance(X, Source) or source.own_names or (isinstance(X, np.ndarray) and X.dtype.names is not None):
        source = source if reset else _by_name(source, getattr(estimator, "feature_names_in_", None))
        validate_rows(estimator, source, reset=reset)
    else:
        check_feature_names(estimator, X, reset=reset)
    return source


def _by_name(source: Source, known: Any) -> Source:
    """Return the columns of the fit out of a source that has all of them and can read some alone; else the source."""
    names = list(source.names or ())
    if known is None or list(known) == names or not hasattr(source, "part") or not set(known) <= set(names):
        return source
    part: Source = source.part([names.index(name) for name in known])
    return part


def table_to_predict(estimator: Any, X: Any) -> Source:
    """Return X as a table of the columns that were fitted; raise where text has become numbers, or numbers text."""
    source = table_to_fit(estimator, X)
    now, plan = fields_of(source), estimator._plan
    for group, (factor, columns) in zip(estimator.model_.groups, plan.groups, strict=True):
        for place, j in enumerate(columns):
            text = now[j].kind == "text"
            if text and not factor.takes_text:
                _reject_kind(now[j], _kinds_met(source, j) != set())
            elif (known := group.conditional.categories_of(place)) and text not in map(_is_text, known):
                _reject_kind(now[j], _kinds_met(source, j) == {text})  # categories may be numbers
    return source


def _is_text(category: Any) -> bool:
    return isinstance(category, str | bytes)


def _reject_kind(field: Field, rejected: bool) -> None:
    if rejected and field.kind == "text":
        what = f"column {field.name!r} holds text or categories, and was fitted on numbers"
        raise DataError(what, columns=[str(field.name)], fix="convert it to numbers")
    if rejected:
        what = f"column {field.name!r} holds numbers, and was fitted on text"
        fix = "convert it to text (astype(str)), or read it as such: scan(…, text=[…])"
        raise DataError(what, columns=[str(field.name)], fix=fix)


def _kinds_met(source: Source, j: int) -> set[bool]:
    """Return whether the entries of a column are text, {True, False} for both; {} where all entries are missing."""
    narrow, place = (source.part([j]), 0) if hasattr(source, "part") else (source, j)
    return {kind for rows in narrow.rows() for kind in _kinds_in(rows, place)}


def _kinds_in(rows: Any, j: int) -> set[bool]:
    if isinstance(rows, MixedRows) and rows.places[j] < 0:
        place = -1 - rows.places[j]
        return {_is_text(rows.categories[place][code]) for code in np.unique(rows.codes[:, place]) if code >= 0}
    return {False} if np.any(~np.isnan(numbers_of(rows, np.array([j])))) else set()


def log_likelihoods(model: NaiveModel, source: Source) -> Iterator[tuple[Any, Array]]:
    """Yield some rows of a table at a time, with their ln p(x | c) (b, C); infinity is an error."""
    most = max(1024, JOINT_ENTRIES // len(model.prior))
    for rows in source.rows():
        for block in row_slices(rows, copied=len(model.groups) > 1):
            for piece in row_slices(block, copied=False, step=min(most, max(1, block.shape[0]))):
                found = model.log_likelihood(piece)
                if not np.all(np.isfinite(found[:, 0])):
                    _check_infinity(piece)
                yield piece, found


def _check_infinity(rows: Any) -> None:
    if np.isinf(numbers_of(rows, np.arange(rows.shape[1]))).any():
        raise DataError("contains infinity", argument="X", fix="replace it by NaN, which is a missing entry")


def frame_kind(X: Any) -> str | None:
    """Return the library of a frame, so that draws come in the same kind; None for arrays."""
    kind = type(X).__module__.split(".")[0]
    return kind if kind in FRAMES else None


FRAMES = ("pandas", "polars", "pyarrow")
"""The libraries of frames."""


def rows_from_columns(columns: Sequence[Array], fields: Sequence[Field], frame: str | None) -> Any:
    """Return drawn columns as rows (n, d): a frame of the fitted kind, floats, or objects where columns differ."""
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
        exact = np.array(column.tolist())  # integers of any size stay exact
        whole = all(isinstance(value, int) for value in column)
        column = exact if exact.dtype.kind in "iu" else column if whole else column.astype(np.float64)
    if field.kind == "integer" and column.dtype == np.float64 and np.array_equal(column, np.rint(column)):
        return column.astype(np.int64) if np.all(np.abs(column) < 2.0**63) else column
    if column.dtype == object and all(isinstance(value, str) for value in column):
        return column.astype(str) if field.categories is None else column
    return column
