"""Labels of rows: the classes in order, and the position of each row's class among them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from eigenlens import checks
from eigenlens.arrays import Array, dimensions, has_wide_integers, is_sparse, is_tensor, to_numpy
from eigenlens.data.categories import EncodedColumn, category_positions, encode
from eigenlens.errors import DataError, EigenlensError, OptionError, closest, suggest
from eigenlens.gpu.class_sums import integer_classes
from eigenlens.gpu.runtime import on_device


class ClassLabels(NamedTuple):
    """Classes (C,) in ascending order, and codes (n,) int32: the position of each row's class among them."""

    classes: Array
    codes: Array


def encode_labels(y: Any, X: Any = None, n_rows: int | None = None) -> ClassLabels:
    """Return labels y (n,) as classes and codes: integers, text or booleans in any container of one column.

    If y is None, the labels are the label column of a scan X.

    >>> encode_labels(["b", "a", "b"])
    ClassLabels(classes=array(['a', 'b'], dtype='<U1'), codes=array([1, 0, 1], dtype=int32))
    """
    if on_device(y) and getattr(y, "ndim", 0) == 1 and n_rows in (None, y.shape[0]):
        found = integer_classes(y)
        if found is not None:
            return ClassLabels(*found)
    values = _label_array(X.read_label() if y is None and hasattr(X, "read_label") else y)
    if n_rows is not None and len(values) != n_rows:
        what = f"has {len(values)} labels, but X has {n_rows} rows: inconsistent numbers of samples"
        raise DataError(what, argument="y", fix="give one label per row")
    if values.dtype.kind in "mMcVS":
        way = "np.char.decode(y)" if values.dtype.kind == "S" else "y.astype(str)"
        what = f"has dtype {values.dtype}; classes are text, integers or booleans"
        raise DataError(what, argument="y", fix=f"convert it, {way}")
    encoded = _encode_categories(values)
    encoded = encoded.drop_unused() if encoded.declared else encoded
    _check_labels(values, encoded)
    codes, classes, _ = encoded.in_order()
    return ClassLabels(_class_array(classes, values.dtype), codes)


def _label_array(y: Any) -> Array:
    """Return labels as an array (n,), of objects where a label is missing or where NumPy would mix text and numbers."""
    if y is None:
        what = "this classifier requires y to be passed, but the target y is None"
        raise DataError(what, fix="give one label per row")
    if has_wide_integers(y):
        what = f"has dtype {y.dtype}, integers that NumPy does not know"
        raise DataError(what, argument="y", fix="make them shorter, y.cast(pl.Int64), or text, y.cast(pl.String)")
    if hasattr(y, "dask") and y.ndim > 1:
        y = y.compute()
    if is_tensor(y) or hasattr(y, "dask"):
        y = to_numpy(y, "y")
    elif isinstance(y, np.ma.MaskedArray) or type(y).__module__.split(".")[0] == "pyarrow":
        y = encode(y).values()
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    elif isinstance(y, list | tuple) and not all(isinstance(label, str) for label in y):
        y = _array_of_list(y)
    return _one_column(y if is_sparse(y) else to_numpy(y, "y"))


def _array_of_list(y: Any) -> Any:
    try:
        array = np.asarray(y)
    except ValueError:  # lists of different lengths, which are no labels
        return np.fromiter(y, dtype=object, count=len(y))
    return np.asarray(y, dtype=object) if array.dtype.kind in "US" else array


def _one_column(y: Any) -> Array:
    """Return labels (n,) or (n, 1) as (n,), with scikit-learn's warning about the second."""
    if is_sparse(y) or y.ndim not in (1, 2) or (y.ndim == 2 and y.shape[1] != 1):
        kind = "a sparse matrix" if is_sparse(y) else "a single value" if not y.ndim else f"of shape {y.shape}"
        raise DataError(f"is {kind}; y should be a 1d array", argument="y", fix="give one label per row, (n,)")
    if y.dtype.kind == "c":
        what = f"has dtype {y.dtype}: Complex data not supported"
        raise DataError(what, argument="y", fix="classes are text, integers or booleans")
    return np.asarray(y if y.ndim == 1 else column_or_1d(y, warn=True))


def _encode_categories(values: Array) -> EncodedColumn:
    try:
        return encode(values)
    except DataError as error:
        raise error.replace(argument="y") from None


def _check_labels(values: Array, encoded: EncodedColumn) -> None:
    """Raise for labels that are missing, infinite, continuous or without an order."""
    missing = np.flatnonzero(encoded.codes < 0)
    if missing.size:
        what = f"Input y contains NaN: {missing.size} of {len(values)} labels are missing (first: row {missing[0]})"
        raise DataError(what, fix="leave those rows out, or give them a class of their own")
    if values.dtype.kind == "f" and np.isinf(values).any():
        what = f"Input y contains infinity or a value too large for {values.dtype!r}"
        raise DataError(what, fix="classes are text, integers or booleans")
    types = {type(label) for label in encoded.categories}
    if str in types and types != {str}:
        raise DataError("y mixes labels that have no order, such as text and numbers", fix="make all of them text")
    if not types <= {str} and (values.dtype.kind == "f" or not types <= {int, bool}):
        try:
            check_classification_targets(values)
        except ValueError as error:  # its words are those that scikit-learn's checks look for
            what, fix = str(error).rstrip("."), "classes are text, integers or booleans: convert y, or bin it first"
            raise DataError(what, within="y", fix=fix) from None


def _class_array(classes: tuple[Any, ...], dtype: np.dtype[Any]) -> Array:
    """Return classes as an array of the labels' own dtype; of objects, as text, integers or booleans if all are."""
    if dtype.kind in "iubfU":
        return np.array(classes, dtype=dtype)
    types = {type(label) for label in classes}
    if types in ({str}, {int}, {bool}):
        return np.array(classes)
    array = np.empty(len(classes), dtype=object)
    array[:] = classes
    return array


def class_positions(classes: Any, argument: str, labels: Sequence[Any], fix: str = "") -> Array:
    """Return the position (n,) of each label among the classes; an unknown label is an error with advice.

    >>> class_positions(["child", "adult"], "of", ["adult"])
    array([1])
    """
    positions = category_positions(np.asarray(classes).tolist(), labels)
    unknown = [label for label, position in zip(labels, positions, strict=True) if position < 0]
    if unknown:
        raise unknown_class(classes, argument, unknown, fix)
    return positions


def unknown_class(classes: Any, argument: str, unknown: Sequence[Any], fix: str = "") -> EigenlensError:
    """Return the error about labels that are not among the classes."""
    known, first = np.asarray(classes).tolist(), unknown[0]
    more = len({str(label) for label in unknown}) - 1
    others = f" and {more} more" if more else ""
    what = f"holds the class {first!r}{others}, not among the {len(known)} known"
    near = closest(first, known) if isinstance(first, str) else []
    error = DataError if argument == "y" else OptionError
    return error(what, argument=argument, fix=fix or suggest(near, known))


def class_per_row(classes: Array, argument: str, value: Any, n: int) -> Array | None:
    """Return the position (n,) of a class given for all n rows, or of one given per row; None for None."""
    if value is None:
        return None
    single = isinstance(value, str | bytes) or not isinstance(value, Iterable) or dimensions(value) == 0
    given = [value] * n if single else checks.listed(argument, value)
    given = [each.item() if isinstance(each, np.generic) else each for each in given]
    if len(given) != n:
        what = f"has {len(given)} entries, but X has {n} rows"
        raise OptionError(what, argument=argument, fix="give one class, or one for each row")
    return class_positions(classes, argument, given)


def require_two_classes(labels: ClassLabels, weight: Array | None) -> ClassLabels:
    """Return the labels without classes whose rows have no weight; raise if fewer than two classes are left."""
    if weight is None:  # then all classes have rows
        kept = np.ones(len(labels.classes), dtype=bool)
    else:
        kept = np.bincount(labels.codes, weight, minlength=len(labels.classes)) > 0.0
    if kept.sum() < 2:
        raise DataError(
            f"has {int(kept.sum())} class ({', '.join(map(repr, labels.classes[kept].tolist()))}) in the rows with "
            "positive weight; at least 2 classes are needed",
            argument="y",
            fix="give rows of another class, or fit a density instead",
        )
    if kept.all():
        return labels
    positions = np.where(kept, np.cumsum(kept) - 1, 0).astype(np.int32)
    return ClassLabels(labels.classes[kept], positions[labels.codes])


def partial_fit_labels(
    y: Any, X: Any, n_rows: int, classes: Any, known: Array | None, at_least: int = 2
) -> tuple[Array, Array]:
    """Return the classes (C,) of a `partial_fit`, and the codes (n,) of its labels y among them.

    The classes are those named or found in the first call, no fewer than `at_least`; later calls keep them as `known`.
    """
    labels = encode_labels(y, X, n_rows)
    given = None if classes is None else encode_labels(classes)
    if known is None:
        first = given or labels
        known = first.classes if at_least < 2 else require_two_classes(first, None).classes
    elif given is not None and given.classes.tolist() != known.tolist():
        what = f"must be those of the first call, {known.tolist()[:10]}, or None"
        raise OptionError(what, argument="classes", value=classes, fix="fit anew for other classes")
    fix = "name all classes in the first call, partial_fit(X, y, classes=[...]), or fit anew"
    positions = class_positions(known, "y", labels.classes.tolist(), fix)
    return known, positions.astype(np.int32)[labels.codes]
