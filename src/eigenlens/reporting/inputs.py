"""Checks of the arguments of a report, before any work is done: the rows, the models and the file.

Dates, durations and nested columns of the rows become text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array
from eigenlens.catalogue import MODELS, PAGES, page_of
from eigenlens.data.coerce import as_table
from eigenlens.data.column_kinds import frame_field
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError

WANTED = "give the rows to show, a frame or an array (n, d)"


def report_table(X: Any) -> Source:
    """Return X as a stream of rows; columns that no model takes, such as dates and lists, become text to colour by.

    >>> report_table(None)
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: X is None; give the rows to show, a frame or an array (n, d): those of the fit will do.
    """
    _check_rows(X)
    return as_table(_dates_as_text(X))


def _check_rows(X: Any) -> None:
    if X is None:
        raise DataError(f"X is None; {WANTED}: those of the fit will do.")
    if isinstance(X, str | bytes | os.PathLike):
        raise DataError(_of_path(os.fsdecode(X)))
    if isinstance(X, Mapping):
        raise DataError("X is a mapping; give a frame: pandas.DataFrame(X).")
    if isinstance(X, np.ndarray | list | tuple) and getattr(X, "dtype", np.dtype(float)).names is None:
        _check_shape(_shape(X))
    elif np.isscalar(X) or hasattr(X, "__next__"):
        raise DataError(f"X is a {type(X).__name__}; {WANTED}.")


def _of_path(path: str) -> str:
    if os.path.isfile(path):  # False for what can be no name of a file
        return f"X={path!r} is the name of a file; give its rows: eigenlens.scan({path!r})."
    return f"X={path!r} is text, and no file is called so; {WANTED}, or eigenlens.scan of an existing file."


def _shape(X: Any) -> tuple[int, ...] | None:
    """Return the shape of an array or a flat list; None for a list of rows, which is checked when it is read."""
    if isinstance(X, np.ndarray):
        return tuple(X.shape)
    if not X or not hasattr(X[0], "__len__") or isinstance(X[0], str):
        return (len(X),)
    return None


def _check_shape(shape: tuple[int, ...] | None) -> None:
    if shape is None or len(shape) == 2:
        return
    ways = {0: WANTED, 1: "give (n, d): X.reshape(-1, 1) is one column, X.reshape(1, -1) one row"}
    way = ways.get(len(shape), f"give (n, d): X.reshape({shape[0] if shape else 1}, -1) is a row for each entry of it")
    raise DataError(f"X has the shape {shape}; {way}.")


# ---- columns that are neither numbers nor text --------------------------------------------------------------


def _dates_as_text(X: Any) -> Any:
    """Return a frame with dates, durations and nested columns as text; anything else unchanged."""
    import narwhals.stable.v2 as nw

    if isinstance(X, np.ndarray | list | tuple) or not nw.dependencies.is_into_dataframe(X):
        return X
    names = list(map(str, getattr(X, "column_names", None) or X.columns))
    if len(set(names)) < len(names):
        return X  # the reader reports repeated names
    frame = nw.from_native(X, eager_only=True)
    odd = [column for name, column in zip(frame.columns, frame.iter_columns(), strict=True) if _odd(name, column)]
    if not odd:
        return X
    return frame.with_columns(*(_text(column, frame.implementation) for column in odd)).to_native()


def _text(column: Any, backend: Any) -> Any:
    """Return a column as text; a pandas column keeps its index, so that it fits beside the others."""
    import narwhals.stable.v2 as nw

    pairs = zip(column.to_list(), column.is_null().to_list(), strict=True)
    # A date needs no time if that is midnight.
    texts = [None if missing else str(value).removesuffix(" 00:00:00") for value, missing in pairs]
    made = nw.new_series(column.name, texts, nw.String, backend=backend)
    index = nw.maybe_get_index(column)
    return made if index is None else nw.maybe_set_index(made, index=index)


def _odd(name: Any, column: Any) -> bool:
    try:
        frame_field(name, column)
    except DataError:
        return True
    return False


def format_dates(values: Array) -> Array:
    """Return values (n,) with dates and durations as text, None where missing; other values unchanged.

    >>> format_dates(np.array(["2020-01-31", "NaT"], dtype="datetime64[ns]")).tolist()
    ['2020-01-31', None]
    """
    if values.dtype.kind not in "mM":
        return values
    moments = values.dtype.kind == "M"
    texts = np.datetime_as_string(values, unit="auto").tolist() if moments else [str(value) for value in values]
    return np.where(np.isnat(values), np.array(None), np.array(texts, dtype=object))


def check_models(models: Any) -> dict[str, Any]:
    """Return fitted models by name; models without a name are called by their class."""
    given = _by_name(models)
    if not given:
        raise OptionError("is empty", argument="models", fix="give at least one fitted model")
    for name, model in given.items():
        _check(name, model)
    return given


def _by_name(models: Any) -> dict[str, Any]:
    if not isinstance(models, Mapping):
        each = list(models) if isinstance(models, list | tuple) else [models]
        return {type(model).__name__ + (f" {i}" if i > 1 else ""): model for i, model in enumerate(each, start=1)}
    given = {str(name): model for name, model in models.items()}
    if len(given) < len(models):
        raise OptionError(f"has names that are equal as text: {list(models)}", argument="models", fix="rename them")
    return given


def _check(name: str, model: Any) -> None:
    if isinstance(model, type):
        raise OptionError(f"models[{name!r}] is the class {model.__name__}; give a model that was fitted: fit(X).")
    if not page_of(model):
        kind = f"{type(model).__module__.split('.')[0]}.{type(model).__name__}".removeprefix("builtins.")
        pages = [path.rpartition(".")[2] for path in PAGES]
        listed = ", ".join([*(each for each, entry in MODELS.items() if entry.page), *pages])
        inside = "; give the model inside it, and X as that model sees it" if hasattr(model, "named_steps") else ""
        raise OptionError(f"models[{name!r}] is a {kind}, which has no page{inside}; those of eigenlens: {listed}.")
    if not hasattr(model, "fit"):
        return
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise OptionError(f"models[{name!r}] is a {type(model).__name__} that is not fitted; call fit first.") from None
