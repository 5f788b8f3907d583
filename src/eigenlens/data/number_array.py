"""Arrays and sparse matrices of numbers: what NumPy makes of X, checked, with errors that say what X is instead.

scikit-learn's checks of estimators look for some of the words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eigenlens.arrays import READING_ERRORS, Array, check_indices
from eigenlens.errors import CategoryError, DataError


def table_array(X: Any) -> Array:
    """Return X as an array (n, d) of any dtype, d ≥ 1; n may be 0.

    >>> table_array([[1.0, 2.0], [3.0]])
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: X has 2 entries in row 0 but 1 in row 1; give every row as many entries, NaN for a \
missing one.
    """
    try:
        array = np.asarray(X)
    except (TypeError, ValueError, *READING_ERRORS) as error:
        raise _explain_shape(X, error) from None
    _check_shape(array.shape)
    return array


def _explain_shape(X: Any, error: Exception) -> DataError:
    """Return the error for nested sequences that are not a rectangle, which NumPy does not make an array of."""
    lengths = [len(row) if hasattr(row, "__len__") else 0 for row in X] if hasattr(X, "__iter__") else []
    odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is not None:
        what = f"has {lengths[0]} entries in row 0 but {lengths[odd]} in row {odd}"
        return DataError(what, argument="X", fix="give every row as many entries, NaN for a missing one")
    for i, row in enumerate(X if any(lengths) else ()):
        for j, value in enumerate(row):
            if hasattr(value, "__len__") and not isinstance(value, str | bytes):
                what = f"holds a {type(value).__name__} in row {i}, column {j}, where a number is needed"
                return DataError(what, argument="X", fix="give one number per row and column")
    return DataError(f"is a {type(X).__name__} that is not a table ({error})", argument="X", fix="give an array (n, d)")


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) < 2:
        what = "is a single value" if not shape else f"has one dimension, shape {shape}"
        fix = "Reshape your data: X.reshape(-1, 1) for one column, or X.reshape(1, -1) for one row"
        raise DataError(f"{what}, and must have two: rows and columns", argument="X", fix=fix)
    if len(shape) > 2:
        fix = "give one row per observation: X.reshape(len(X), -1)"
        what = f"has {len(shape)} dimensions, shape {shape}, and must have two: rows and columns"
        raise DataError(what, argument="X", fix=fix)
    if not shape[1]:
        what = f"has 0 feature(s) (shape=({shape[0]}, 0)) while a minimum of 1 is required"
        raise DataError(what, argument="X", fix="give at least one column")


def number_array(X: Any) -> Array:
    """Return X as an array (n, d) of floats, integers or booleans; masked entries and None become NaN.

    >>> number_array(np.array([[1, None]], dtype=object))
    array([[ 1., nan]])
    """
    if isinstance(X, np.ma.MaskedArray):
        _check_kind(X.dtype)
        X = np.ma.filled(X.astype(np.float64), np.nan)  # masked entries are missing values
    elif isinstance(X, np.ndarray) and X.dtype.names is not None:
        names = ", ".join(map(repr, X.dtype.names))
        raise DataError(f"is a structured array of {names}", argument="X", fix="give pandas.DataFrame(X)")
    array = table_array(X)
    if array.dtype.kind == "O":
        return _floats_of_objects(array)
    _check_kind(array.dtype)
    return array


def _check_kind(dtype: np.dtype[Any]) -> None:
    """Raise for numbers that are not real, or of more than 64 bits, and for anything that is not a number."""
    if dtype.kind == "c":
        what = f"has dtype {dtype}: Complex data not supported"
        raise DataError(what, argument="X", fix="use X.real, or its real and imaginary parts")
    if dtype.kind in "UST":
        raise DataError(f"holds text (dtype {dtype})", argument="X", fix="convert it to numbers: X.astype(float)")
    if dtype.kind not in "fiubO" or dtype.itemsize > 8:
        raise DataError(f"has dtype {dtype}", argument="X", fix="convert it to float64")


def _floats_of_objects(array: Array) -> Array:
    """Return an array of objects as float64; numbers in text are numbers, None and the like are missing."""
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        found = np.empty(array.shape)
    for place, value in np.ndenumerate(array):
        found[place] = _float(value, *place)
    return found


def _float(value: Any, i: int, j: int) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    what, fix = f"holds {value!r} in row {i}, column {j}", "convert the column to numbers, or leave it out"
    if isinstance(value, complex | np.complexfloating):
        raise DataError(f"{what}: Complex data not supported", argument="X", fix="use its real part")
    try:
        return float(value)
    except (TypeError, OverflowError):
        what += ": an argument must be a string or a number" if not isinstance(value, int) else ": it is too large"
        raise CategoryError(what, argument="X", fix=fix) from None
    except ValueError:
        raise DataError(f"{what}, which is not a number", argument="X", fix=fix) from None


def number_matrix(X: Any) -> Any:
    """Return a sparse matrix of numbers (n, d) in the CSR format."""
    _check_shape(X.shape)
    _check_kind(X.dtype)
    check_indices(X)
    return X.tocsr().astype(np.float64) if X.dtype.kind == "O" else X.tocsr()
