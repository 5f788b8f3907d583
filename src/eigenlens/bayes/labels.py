"""Labels of rows: classes in order and the number of each row's, of whatever kind they come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from eigenlens.arrays import Array, is_tensor, to_numpy
from eigenlens.data.categories import encode
from eigenlens.errors import DataError, OptionError

__all__ = [
    "ClassLabels",
    "class_positions",
    "codes_among_classes",
    "encode_labels",
    "partial_fit_classes",
    "require_two_classes",
]

MOST_SLOTS = 1 << 16


class ClassLabels(NamedTuple):
    """Classes (C,) in order, and which of them (n,), int32, each row has."""

    classes: Array
    codes: Array


def encode_labels(y: Any, X: Any = None, n_rows: int | None = None) -> ClassLabels:
    """Labels y (n,): integers, text, booleans; a list, array, Series or Dask array. None is the label column of a scan.

    >>> encode_labels(["b", "a", "b"])
    ClassLabels(classes=array(['a', 'b'], dtype='<U1'), codes=array([1, 0, 1], dtype=int32))
    """
    values = _values(X.read_label() if y is None and hasattr(X, "read_label") else y)
    if n_rows is not None and len(values) != n_rows:
        raise DataError(f"y has {len(values)} labels, but X has {n_rows} rows: inconsistent numbers of samples.")
    return _coded(values)


def _values(y: Any) -> Array:
    if y is None:
        raise DataError("this classifier requires y to be passed, but the target y is None; give one label a row.")
    if hasattr(y, "dask"):
        y = y.compute()
    if isinstance(y, np.ma.MaskedArray):
        y = np.where(np.ma.getmaskarray(y), np.array(None), np.asarray(y, dtype=object))
    if is_tensor(y):
        y = to_numpy(y)
    elif type(y).__module__.split(".")[0] == "pyarrow":
        y = np.asarray(y)  # its own to_numpy refuses text
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    elif isinstance(y, list | tuple) and not all(isinstance(label, str) for label in y):
        y = _listed(y)
    return np.asarray(column_or_1d(y, warn=True))


def _listed(y: Any) -> Any:
    """A list as an array; NumPy would write NaN and None among text as words, and numbers too."""
    found = np.asarray(y)
    return np.asarray(y, dtype=object) if found.dtype.kind in "US" else found


def _coded(values: Array) -> ClassLabels:
    if values.dtype.kind in "iub":
        return _integers(values)
    if values.dtype.kind in "mMcVS":
        way = "np.char.decode(y)" if values.dtype.kind == "S" else "y.astype(str)"
        raise DataError(f"y has dtype {values.dtype}; classes are text, integers or booleans: convert it, {way}.")
    missing = _missing(values)
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise DataError(
            f"Input y contains NaN: {int(missing.sum())} of {len(values)} labels are missing (first: row {first}); "
            "leave those rows out, or give them a class of their own."
        )
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise DataError(f"Input y contains infinity or a value too large for {values.dtype!r}.")
        check_classification_targets(values)
    if values.dtype.kind in "fU":
        classes, codes = np.unique(values, return_inverse=True)
        return ClassLabels(classes, codes.reshape(-1).astype(np.int32))
    return _objects(values)


def _missing(values: Array) -> Array:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    return encode(values).codes < 0


def _integers(values: Array) -> ClassLabels:
    """Without sorting, where the range is small."""
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    if high - low >= MOST_SLOTS:
        classes, codes = np.unique(values, return_inverse=True)
        return ClassLabels(classes, codes.reshape(-1).astype(np.int32))
    wide = values.dtype if values.dtype == np.uint64 else np.dtype(np.int64)  # none that the difference overflows
    slots = values.astype(wide, copy=False)
    slots = (slots - wide.type(low) if low else slots).astype(np.intp, copy=False)
    present = np.bincount(slots, minlength=1) > 0
    classes = (np.flatnonzero(present).astype(wide) + wide.type(low)).astype(values.dtype)
    if present.all():
        return ClassLabels(classes, slots.astype(np.int32))
    return ClassLabels(classes, (np.cumsum(present) - 1).astype(np.int32)[slots])


def _objects(values: Array) -> ClassLabels:
    codes, levels = encode(values)
    if levels and len({type(level) for level in levels}) == 1 and isinstance(levels[0], int | np.integer | np.bool_):
        return _integers(np.array(levels)[codes])
    try:
        order = sorted(range(len(levels)), key=levels.__getitem__)
    except TypeError:
        raise DataError("y mixes labels that have no order, such as text and numbers; make all of them text.") from None
    if not all(isinstance(level, str) for level in levels):
        check_classification_targets(values)
    place = np.empty(len(levels), dtype=np.int32)
    place[order] = np.arange(len(levels))
    ordered = [levels[k] for k in order]
    if all(isinstance(level, str) for level in levels):
        return ClassLabels(np.array(ordered, dtype=str), place[codes])
    classes = np.empty(len(levels), dtype=object)
    classes[:] = ordered
    return ClassLabels(classes, place[codes])


def codes_among_classes(found: ClassLabels, classes: Array) -> Array:
    """The codes (n,) of labels among known classes; a label that is none of them is an error."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    odd = [label for label in found.classes.tolist() if label not in places]
    if odd:
        raise DataError(
            f"y holds the class {odd[0]!r} (and {len(odd) - 1} more), not among the {len(classes)} that are known "
            f"({', '.join(map(repr, classes.tolist()[:6]))}{', …' if len(classes) > 6 else ''}); name all classes in "
            "the first call, partial_fit(X, y, classes=[...]), or fit anew."
        )
    return np.array([places[label] for label in found.classes.tolist()], dtype=np.int32)[found.codes]


def require_two_classes(labels: ClassLabels, weight: Array | None) -> ClassLabels:
    """The labels, without classes whose rows have no weight; two at least must be left."""
    if weight is None:  # then all classes have rows
        kept = np.ones(len(labels.classes), dtype=bool)
    else:
        kept = np.bincount(labels.codes, weight, minlength=len(labels.classes)) > 0.0
    if kept.sum() < 2:
        raise DataError(
            f"y has {int(kept.sum())} class ({', '.join(map(repr, labels.classes[kept].tolist()))}) in the rows that "
            "count; at least 2 classes are needed: give rows of another, or fit a density instead."
        )
    if kept.all():
        return labels
    place = np.where(kept, np.cumsum(kept) - 1, 0).astype(np.int32)
    return ClassLabels(labels.classes[kept], place[labels.codes])


def partial_fit_classes(classes: Any, labels: ClassLabels, known: Array | None) -> Array:
    """The classes (C,) of a `partial_fit`: in the first call those that are named, or met, then the `known` ones."""
    if known is None:
        return require_two_classes(labels if classes is None else encode_labels(classes), None).classes
    if classes is not None and encode_labels(classes).classes.tolist() != known.tolist():
        raise OptionError(f"classes={classes!r} differ from those of the first call, {known.tolist()[:10]}.")
    return known


def class_positions(classes: Array, name: str, value: Any, n: int) -> Array | None:
    """The number (n,) of a class that is named, or of one a row; None where none is."""
    if value is None:
        return None
    places = {label: k for k, label in enumerate(classes.tolist())}
    asked = [value] * n if np.ndim(value) == 0 else np.asarray(value).tolist()
    odd = [label for label in asked if label not in places]
    if odd or len(asked) != n:
        raise OptionError(f"{name}={value!r} must be one of the classes {classes.tolist()[:8]}, or one for each row.")
    return np.array([places[label] for label in asked], dtype=np.intp)
