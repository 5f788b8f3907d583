"""The memory that a model file has of the table of its fit, so that no option has to be given twice.

It has the options that say how the text is written, the roles of columns besides the features, and a digest of the
first rows, by which the rows of the fit are recognised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from eigenlens.arrays import dense, is_sparse
from eigenlens.cli.options import TEXT_OPTIONS, ReadingOptions
from eigenlens.data.files.scan import format_options
from eigenlens.data.source import Source

DIGEST_ROWS = 1_000
"""The number of rows by which the rows of a fit are recognised."""


def remember_table(model: Any, table: Any, reading: ReadingOptions) -> None:
    """Keep the options and roles of a table in a fitted model, as its attribute `table_`, which is saved with it."""
    roles = table.roles
    written = {name: value for name in (*TEXT_OPTIONS, "text") if (value := getattr(reading, name)) is not None}
    written |= {MARKERS: written.pop("na")} if "na" in written else {}
    named = {"id": roles.id, "label": roles.labels, "weight": roles.weight, "supplementary": roles.supplementary}
    named["ignore_case"] = tuple(reading.ignore_case or ())
    if getattr(table.source, "names", ()) is None and table.files is not None:
        # Columns without names are found by their numbers only.
        named["columns"] = tuple(roles.features) if len(roles.features) < table.files.n_features else None
    columns = {role: _text(name) for role, name in named.items() if name is not None and name != ()}
    model.table_ = {"text": written, "columns": columns, "rows": table.n, "digest": digest_rows(table)}
    model.table_ |= {"words": dict(table.words)} if table.words else {}


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


def recall_columns(reading: ReadingOptions, model: Any, names: Collection[str]) -> ReadingOptions:
    """Return options with the roles that the model remembers, of columns that the file has, where none is given."""
    found: dict[str, Any] = {}
    for option, value in _remembered(model).get("columns", {}).items():
        there = [name for name in value if name in names] if isinstance(value, list) else value in names and value
        if there and not getattr(reading, option):
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
