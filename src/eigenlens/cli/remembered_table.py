"""The memory that a model file, or a script, has of the table of a fit, so that no option has to be given twice.

It has the options that say how the text is written, the roles of columns besides the features, the units that the file
names, and a digest of the first rows, by which the rows of the fit are recognised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.arrays import dense, is_sparse
from eigenlens.cli.column_roles import ColumnRoles
from eigenlens.cli.options import TEXT_OPTIONS, ReadingOptions
from eigenlens.cli.selection import choose_columns
from eigenlens.data.files.scan import FileSource, format_options
from eigenlens.data.source import Source
from eigenlens.estimator.storage import OPTIONAL_PARTS

DIGEST_ROWS = 1_000
"""The number of rows by which the rows of a fit are recognised."""


def remember_table(model: Any, table: Any, reading: ReadingOptions) -> None:
    """Keep the options and roles of a table in a fitted model, as its attribute `table_`, which is saved with it."""
    roles = table.roles
    written = {name: value for name in (*TEXT_OPTIONS, "text") if (value := getattr(reading, name)) is not None}
    written |= {MARKERS: written.pop("na")} if "na" in written else {}
    named = {"id": roles.id, "label": roles.labels, "weight": roles.weight, "supplementary": roles.supplementary}
    kinds = {} if table.files is None else {field.name: field.kind for field in table.files.fields}
    named["ignore_case"] = tuple(choose_columns(reading.ignore_case, kinds, "ignore_case") or () if kinds else ())
    if getattr(table.source, "names", ()) is None and table.files is not None:
        # Columns without names are found by their numbers only.
        named["columns"] = tuple(roles.features) if len(roles.features) < table.files.n_features else None
    columns = {role: _text(name) for role, name in named.items() if name is not None and name != ()}
    model.table_ = {"text": written, "columns": columns, "rows": table.n, "digest": digest_rows(table)}
    known = {"words": dict(table.words), "units": feature_units(table)}
    model.table_ |= {key: known[key] for key in OPTIONAL_PARTS if known[key]}


def _text(name: Any) -> Any:
    """Return the name of a column, or the names of several, as text."""
    return list(map(str, name)) if isinstance(name, tuple) else str(name)


def recall_text(reading: ReadingOptions, model: Any, paths: Collection[str]) -> ReadingOptions:
    """Return options with those about text that the model remembers, where none is given and the files are text.

    Missing-value markers that are given are added to those that it remembers, as they are to the usual ones.
    """
    taken, known = format_options(paths), dict(_remembered(model).get("text", {}))
    if "na" in known:  # as earlier versions wrote it: all markers that there are
        known["na"] = ["", *known["na"]]
    if MARKERS in known:
        known["na"] = known.pop(MARKERS)
    found = {name: value for name, value in known.items() if name in taken and getattr(reading, name) is None}
    if "na" in known and reading.na is not None and "" not in reading.na:
        found["na"] = [*known["na"], *reading.na]
    return replace(reading, **found)


MARKERS = "markers"
"""The key in a model file of missing-value markers besides the usual ones."""


def recall_words(model: Any, paths: Collection[str]) -> dict[str, str] | None:
    """Return how the model read words as numbers, if it did: a new file may have too few of them to show it."""
    return _remembered(model).get("words") if "words" in format_options(paths) else None


def feature_units(table: Any) -> dict[str, str]:
    """Return the units of features, by their names, where the file names them."""
    known = {} if table.files is None else table.files.units
    return {str(name): known[str(name)] for name in table.roles.features if str(name) in known}


def recall_units(model: Any) -> dict[str, str]:
    """Return the units of the columns that the model was fitted to, where their file named them."""
    found: dict[str, str] = _remembered(model).get("units", {})
    return found


def recall_label(model: Any) -> str | None:
    """Return the column of the classes that the model was fitted to, or None."""
    found: list[str] = _remembered(model).get("columns", {}).get("label", [])
    return found[0] if found else None


def recall_columns(
    reading: ReadingOptions, model: Any, names: Collection[str], paths: Collection[str]
) -> ReadingOptions:
    """Return options with the roles that the model remembers, of columns that the files have, where none is given."""
    found: dict[str, Any] = {}
    other = {"ignore_case"} - format_options(paths)
    for option, value in _remembered(model).get("columns", {}).items():
        there = [name for name in value if name in names] if isinstance(value, list) else value in names and value
        if there and option not in other and not getattr(reading, option):
            found[option] = there
    return replace(reading, **found)


def _remembered(model: Any) -> dict[str, Any]:
    """Return what a model remembers, or the first of several that does; {} without any."""
    known = (getattr(each, "table_", None) for each in getattr(model, "models", (model,)))
    return next((each for each in known if each), {})


def is_fitted_table(model: Any, table: Any) -> bool:
    """Return whether the rows are those that the model was fitted to, by their number and the digest of the first."""
    known = _remembered(model)
    return bool(known) and known["rows"] == table.n and known["digest"] == digest_rows(table)


def digest_rows(table: Any) -> str:
    """Return a digest of the features of the first rows; "" without any."""
    if not table.n:
        return ""
    if not isinstance(table.source, Source):
        return hashlib.sha256(table.source.head(DIGEST_ROWS).write_csv().encode()).hexdigest()
    sha, left = hashlib.sha256(), DIGEST_ROWS
    for block in table.source.rows():
        rows = getattr(block, "numbers", block)[:left]  # of mixed columns the numbers are enough
        rows = dense(rows) if is_sparse(rows) else rows
        sha.update(np.ascontiguousarray(rows, dtype=np.float64).tobytes())
        left -= len(rows)
        if left <= 0:
            break
    return sha.hexdigest()


# ---- for scripts ------------------------------------------------------------------------------------------------


def script_arguments(files: FileSource, roles: ColumnRoles, reading: ReadingOptions) -> dict[str, Any]:
    """Return what `reading_script` takes besides the files, where no rows are left out."""
    return {"which": select_features(files, roles), "how": _written(files, roles, reading), "roles": roles}


def select_features(files: FileSource, roles: ColumnRoles) -> dict[str, Any]:
    """Return the features in the fewest names: those left out, if the others are in the order of the file."""
    features, names = roles.features, [field.name for field in files.fields]
    wanted = set(features)
    others = [name for name in names if name not in wanted]
    ordered = [name for name in names if name in wanted] == features
    return {"drop": others} if ordered and len(others) < len(features) else {"columns": features}


def _written(files: FileSource, roles: ColumnRoles, reading: ReadingOptions) -> dict[str, Any]:
    """Return the text format options, as `scan` takes them."""
    dialect = files.dialect
    given = {name: getattr(reading, name) for name in TEXT_OPTIONS}
    if dialect is None:
        return given | {"text": reading.text}
    decimal = None if dialect.numbers.is_plain else dialect.numbers.decimal
    comment = dialect.comment if dialect.comment_everywhere else None
    return given | dialect.settings | {"decimal": decimal, "comment": comment, "text": roles.text}
