"""The columns beside the features: labels, weights and ids, and what each may hold."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.cli.errors import fail
from eigenlens.cli.options import ReadingOptions
from eigenlens.cli.output import count_noun

__all__ = ["as_classes", "as_weights", "check_label", "gaps_of"]


def as_weights(values: Array, reading: ReadingOptions) -> Array:
    """How often each row counts; what cannot be that is refused by the column's name."""
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
    """A column of labels as classes: whole numbers as integers; measurements are refused."""
    if label is None or label.dtype.kind != "f":
        return label
    odd = np.flatnonzero(label != np.floor(label))
    if odd.size:
        first = f"row {int(odd[0]) + 1}, {label[odd[0]]:g}"
        what = f"the label column '{reading.label}' holds measurements (first: {first}), not classes"
        fail(what, "name a column of text or whole numbers with --label", "data")
    return np.asarray(label, dtype=np.int64)


def check_label(label: Array | None, reading: ReadingOptions, needed: bool) -> None:
    """Refuse what is no column of classes where one is needed; gaps are fine where rows with gaps are left out."""
    if not needed or label is None or reading.skip_missing or not gaps_of(label).any():
        return
    rows = np.flatnonzero(gaps_of(label))
    what = f"the label column '{reading.label}' is empty in {count_noun(rows.size, 'row')} (first: row {rows[0] + 1})"
    fail(what, "leave those rows out with --skip-missing", "data")


def gaps_of(values: Array) -> Array:
    """Which entries (n,) of a column are missing."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    return np.array([value is None or value == "" for value in values.tolist()])
