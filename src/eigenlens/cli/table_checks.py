"""Checks of a table before a fit, and of new rows: labels, weights, entries, and columns that look wrong."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from eigenlens.arrays import Array
from eigenlens.catalogue import entry_of
from eigenlens.cli.advice.column_copies import closed_columns, copied_columns
from eigenlens.cli.advice.column_names import misleading_names
from eigenlens.cli.advice.column_totals import derived_columns
from eigenlens.cli.advice.copies import copied_rows
from eigenlens.cli.advice.indicators import indicator_warnings
from eigenlens.cli.advice.missing_entries import warn_empty_rows
from eigenlens.cli.advice.mixed_measurements import measurement_warnings
from eigenlens.cli.advice.sentinels import describe_sentinels, numeric_columns
from eigenlens.cli.advice.shared_words import shared_word_warnings
from eigenlens.cli.advice.spellings import spelling_warnings
from eigenlens.cli.advice.totals import describe_totals
from eigenlens.cli.advice.unknown_categories import warn_unknown_categories, warn_unknown_classes
from eigenlens.cli.advice.zeros import zero_warnings
from eigenlens.cli.column_profile import MIN_ROWS
from eigenlens.cli.errors import fail
from eigenlens.cli.options import ReadingOptions
from eigenlens.cli.remembered_table import feature_units, recall_label, recall_units
from eigenlens.cli.unit_check import warn_other_units
from eigenlens.data.files.cell_formats import NAMED_FORMATS
from eigenlens.data.files.cells import describe_cell
from eigenlens.data.genotypes.base import Genotypes
from eigenlens.errors import DataWarning, warn_user
from eigenlens.tables.text_table import count_noun

if TYPE_CHECKING:
    from eigenlens.cli.input_table import Table


MAX_CELLS = 100
"""The number of cells of a column that must look alike to be called numbers."""


def as_weights(values: Array, reading: ReadingOptions) -> Array:
    """Return a column as row weights; what cannot be that is an error with the column's name."""
    what = f"the weight column '{reading.weight}'"
    if values.dtype.kind not in "fiub":
        fail(f"{what} holds text (first: {str(values[0])!r})", "name a column of numbers with --weight", "data")
    odd = np.flatnonzero(~(np.isfinite(values.astype(np.float64)) & (values >= 0)))
    if odd.size:
        first = f"row {int(odd[0]) + 1}: {values[odd[0]]:g}"
        fix = "a weight says how often its row counts; leave such rows out with --where"
        fail(f"{what} is missing, infinite or negative in {count_noun(odd.size, 'row')} (first: {first})", fix, "data")
    if not values.any():
        fail(f"{what} is zero in every row", "name another with --weight, or leave it out", "data")
    return np.asarray(values, dtype=np.float64)


def as_classes(label: Array | None, reading: ReadingOptions) -> Array | None:
    """Return a column of labels as classes: whole numbers as integers; measurements are an error."""
    if label is None or label.dtype.kind != "f":
        return label
    odd = np.flatnonzero(label != np.floor(label))
    if odd.size:
        first = f"row {int(odd[0]) + 1}, {label[odd[0]]:g}"
        what = f"the label column {_label_name(reading)} holds measurements (first: {first}), not classes"
        fail(what, "name a column of text or whole numbers with --label", "data")
    return np.asarray(label, dtype=np.int64)


def check_label(label: Array | None, reading: ReadingOptions, needed: bool) -> None:
    """Raise for missing labels where classes are needed and rows with missing values are not left out."""
    if not needed or label is None or reading.skip_missing or not is_missing(label).any():
        return
    rows = np.flatnonzero(is_missing(label))
    what = (
        f"the label column {_label_name(reading)} is empty in {count_noun(rows.size, 'row')} (first: row {rows[0] + 1})"
    )
    fail(what, "leave those rows out with --skip-missing", "data")


def reject_unlabelled(files: Any, roles: Any, model: Any) -> NoReturn:
    """Raise where no column of classes is named; one that may hold them is suggested."""
    from eigenlens.bayes.tables import class_codes

    classes, what = getattr(model, "classes_", None), "this model learns classes, and no column of classes is named"
    for name in () if classes is None else roles.unused:
        if np.all(class_codes(classes, files.read_column(name)) >= 0):
            what = f"no column of classes is named, and '{name}' has those of the model in every row"
            fail(what, f"add --label {shlex.quote(str(name))}")
    known = recall_label(model)
    if known is not None:
        what = f"the file lacks the column {known!r}, which has the classes of the model"
    fail(
        what,
        " or ".join(f"add --label {shlex.quote(str(name))}" for name in roles.labels[:3])
        or (
            "name another with --label COLUMN, or predict them with eigenlens predict"
            if known
            else "add --label COLUMN"
        ),
    )


def _label_name(reading: ReadingOptions) -> str:
    """Return the name of the column of classes, quoted."""
    return repr((reading.label or [""])[0])


def is_missing(values: Array) -> Array:
    """Return which entries (n,) of a column are missing."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    # Text without a missing entry is an array of strings: no string of Python per row is needed.
    return values == "" if values.dtype.kind == "U" else np.array([v is None or v == "" for v in values.tolist()])


MOST_COLUMNS = {"gmm": 10_000, "mix": 10_000, "kde": 20_000}
"""Models that are not fitted to more columns: it takes minutes, and so many dimensions tell nothing of a density."""


def check_width(estimators: Iterable[Any], d: int) -> None:
    """Raise for more columns than one of these models is fitted to, or the density that it wraps."""
    for estimator in estimators:
        for entry in filter(None, map(entry_of, (estimator, getattr(estimator, "density", None)))):
            most = MOST_COLUMNS.get(entry.command, d)
            if d > most:
                what = f"{entry.command} is for at most {most:,} columns, and the table has {d:,}"
                fix = f"use pca first, and {entry.command} for its scores, or choose some with --columns"
                fail(what, fix, "resources")


def warn_suspicious_columns(table: Table) -> None:
    """Raise for columns without an entry, and warn of what looks wrong.

    Warned of are a first column that counts 0, 1, 2, …, numbers as categories, categories that are spelled in several
    ways, columns with the same few words, numbers that mean missing, rows that are totals of others, and what
    `describe_columns` finds. These mean something for every model: what follows from other columns makes covariances
    singular, and is counted twice where columns are independent given the class. Rows that stay in files are not
    looked at.
    """
    if table.missing is None:
        return
    columns = _columns(table.source)
    if not hasattr(table.source, "iter_columns"):
        _reject_empty(columns)
    if table.n >= MIN_ROWS and table.d > 1:
        _warn_row_numbers(*next(iter(columns.items())))
    if hasattr(table.source, "iter_columns"):
        _warn_number_categories(table.source)
    warn_sentinels(table)
    zeros = () if isinstance(table.source, Genotypes) else zero_warnings(numeric_columns(table.source))
    kinds = () if isinstance(table.source, Genotypes) else measurement_warnings(table)
    for message in (*zeros, *describe_totals(table), *kinds):
        warn_user(message, UserWarning)
    for warning in (*spelling_warnings(table), *shared_word_warnings(table.labels), *_describe_numbers(table)):
        warn_user(warning)


def _describe_numbers(table: Table) -> list[DataWarning]:
    """Return what `describe_columns` finds in the columns of numbers of rows in memory."""
    if hasattr(table.source, "iter_columns"):
        found = numeric_columns(table.source)
        X, names, frame = (
            np.column_stack([np.empty((table.n, 0)), *(v for _, v in found)]),
            [n for n, _ in found],
            table.source,
        )
    elif hasattr(table.source, "array"):
        names, frame = [str(name) for name in table.source.names or range(table.d)], None
        X = np.asarray(table.source.array)
    else:
        return []
    return describe_columns(X, names, weighted=table.weight is not None, frame=frame)


def warn_sentinels(table: Table) -> None:
    """Warn of numbers that mean missing, such as -999, of rows in memory."""
    if table.missing is not None and not isinstance(table.source, Genotypes):
        # The numbers of words are ours: nobody wrote a code.
        words = {name for name, each in table.words.items() if NAMED_FORMATS[each].only_words}
        columns = [(name, values) for name, values in numeric_columns(table.source) if str(name) not in words]
        for message in describe_sentinels(columns, table.paths):
            warn_user(message, UserWarning)


def warn_of_new_rows(model: Any, table: Table, method: str, label: Array | None = None) -> None:
    """Warn of numbers that mean missing, other units, rows without an entry, and categories and classes unknown to it.

    method: that of the model which the rows are given to. label: (n,) classes that it is compared with.
    """
    warn_sentinels(table)
    warn_other_units(recall_units(model), feature_units(table))
    warn_empty_rows(table, method)
    warn_unknown_categories(model, table)
    if label is not None:
        warn_unknown_classes(model, label, table.roles.labels[0])


def describe_columns(X: Array, names: Sequence[str], *, weighted: bool = False, frame: Any = None) -> list[DataWarning]:
    """Return warnings of columns of X (n, d) that are not measurements or follow from others, and of copied rows.

    weighted: whether rows have weights, so that the same row may be there twice. frame: the same rows with their
    columns of text, or None.
    """
    found = [*misleading_names(X, names), *derived_columns(X, names), *indicator_warnings(X, names)]
    found += [*copied_columns(X, names), *closed_columns(X, names)]
    return found if weighted else [*found, *copied_rows(X, frame)]


def _columns(source: Any) -> dict[str, Any]:
    """Return the columns of a frame or of an array in memory, by name."""
    if hasattr(source, "iter_columns"):
        return {column.name: column for column in source.iter_columns()}
    names = source.names or tuple(map(str, range(source.array.shape[1])))
    return dict(zip(names, np.asarray(source.array).T, strict=True))


def _reject_empty(columns: dict[str, Array]) -> None:
    names = [name for name, values in columns.items() if values.dtype.kind == "f" and np.isnan(values).all()]
    if names:
        more = f"; nor have {len(names) - 1} more" if len(names) > 1 else ""
        fix = "leave it out with " + " ".join(f"--drop {shlex.quote(name)}" for name in names[:5])
        fail(f"column '{names[0]}' has no observed entry{more}", fix, "data")


def _warn_row_numbers(name: str, values: Any) -> None:
    first = np.asarray(values)
    if first.dtype.kind in "iuf" and first[0] in (0, 1) and np.all(np.diff(first) == 1):
        counts = f"counts the rows ({first[0]:g}, {first[1]:g}, …) and is fitted as if it were measured"
        message = f"column '{name}' {counts}: if it only names them, add --id {shlex.quote(name)}."
        warn_user(message, UserWarning)


def _warn_number_categories(frame: Any) -> None:
    """Warn of columns of text that look like numbers: as categories they are neither larger nor smaller."""
    for column in frame.iter_columns():
        values = column.drop_nulls().head(MAX_CELLS).to_list() if str(column.dtype) == "String" else []
        looks = {describe_cell(str(value)) for value in values}
        look = looks.pop() if len(looks) == 1 else None
        if look is not None and look.number:
            advice = look.advice.replace(f"{{{look.argument}}}", f"--{look.argument}")
            message = f"column '{column.name}' is taken for categories and has {look.what} (first: '{values[0]}')"
            warn_user(f"{message}: {advice}, or leave it so.", UserWarning)
