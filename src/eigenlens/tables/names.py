"""Names of the columns and labels of the rows that a table shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eigenlens.errors import DataError, OptionError


def feature_names(model: Any, d: int, names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Return the names of the d columns: those given, those of the fit, or x0, x1, … as scikit-learn has it."""
    known = getattr(model, "feature_names_in_", None) if names is None else names
    found = tuple(f"x{j}" for j in range(d)) if known is None else tuple(map(str, known))
    if len(found) != d:
        what = f"has {len(found)} entries, but the model has {d} columns"
        raise OptionError(what, argument="names", fix="give one name per column")
    return found


def row_labels(labels: Iterable[Any] | None, n: int, *, at_least: bool = False) -> tuple[str, ...] | None:
    """Return one label per row as text, or None; with `at_least`, labels of rows that are not shown may follow."""
    if labels is None:
        return None
    found = tuple(map(str, labels))
    if len(found) < n or (len(found) > n and not at_least):
        what = f"has {len(found)} entries, but X has {n} rows"
        raise DataError(what, argument="labels", fix="give one label per row")
    return found[:n]
