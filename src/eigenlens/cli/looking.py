"""What a table shows before a fit: columns that hold nothing, and columns that only number the rows."""

from __future__ import annotations

import shlex
import warnings
from typing import Any

import numpy as np

from eigenlens.cli.errors import fail, look_of
from eigenlens.cli.tables import HeldRows, Table

__all__ = ["look_at"]

MANY = 10
"""Of fewer rows it cannot be said that a column numbers them."""

LOOKED_AT = 100
"""So many cells of a column must look alike to be called numbers."""


def look_at(table: Table) -> None:
    """Refuse columns without an entry, and warn of a first column that counts 0, 1, 2, …; rows in files pass."""
    if isinstance(table.source, HeldRows):
        _refuse_empty(table.source)
    if table.missing is not None and table.n >= MANY and table.d > 1:
        _warn_of_counter(table.source)
    if hasattr(table.source, "iter_columns"):
        _warn_of_categories(table.source)


def _refuse_empty(rows: HeldRows) -> None:
    X = np.asarray(rows.array)
    empty = np.flatnonzero(np.isnan(X).all(axis=0)) if X.dtype.kind == "f" else np.array([], dtype=int)
    if empty.size:
        names = [str(j if rows.names is None else rows.names[j]) for j in empty]
        more = f"; nor have {empty.size - 1} more" if empty.size > 1 else ""
        fix = "leave it out with " + " ".join(f"--drop {shlex.quote(name)}" for name in names[:5])
        fail(f"column '{names[0]}' has no entry in any row{more}", fix, "data")


def _warn_of_counter(source: Any) -> None:
    held = isinstance(source, HeldRows)
    name = str((source.names or ["0"])[0] if held else source.columns[0])
    first = np.asarray(source.array[:, 0] if held else source.to_series(0).to_numpy())
    if first.dtype.kind in "iuf" and first[0] in (0, 1) and np.all(np.diff(first) == 1):
        said = f"column '{name}' counts the rows ({first[0]:g}, {first[1]:g}, …) and is fitted as if it were measured: "
        warnings.warn(f"{said}if it only names them, add --id {shlex.quote(name)}.", UserWarning, stacklevel=2)


def _warn_of_categories(frame: Any) -> None:
    """Warn of columns of text that look like numbers: as categories they say nothing of being larger or smaller."""
    for column in frame.iter_columns():
        values = column.drop_nulls().head(LOOKED_AT).to_list() if str(column.dtype) == "String" else []
        looks = {look_of(str(value)) for value in values}
        look = looks.pop() if len(looks) == 1 else None
        if look is not None and look.number:
            said = f"column '{column.name}' is taken for categories and has {look.what} (first: '{values[0]}')"
            warnings.warn(f"{said}: {look.advice}, or leave it so.", UserWarning, stacklevel=2)
