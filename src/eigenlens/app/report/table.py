"""What a report is given as X: refused in words where it is no table, and with dates and the like as text."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.mixed import as_table
from eigenlens.data.mixed_kinds import frame_field
from eigenlens.data.source import Source
from eigenlens.errors import DataError

__all__ = ["dated", "table_of"]

WANTED = "give the rows to show, a frame or an array (n, d)"


def table_of(X: Any) -> Source:
    """X as a stream of rows; columns that no model takes, dates and lists among them, are text to colour by.

    >>> table_of(None)
    Traceback (most recent call last):
      ...
    eigenlens.errors.DataError: X is None; give the rows to show, a frame or an array (n, d): those of the fit will do.
    """
    _refuse(X)
    return as_table(_told(X))


def _refuse(X: Any) -> None:
    if X is None:
        raise DataError(f"X is None; {WANTED}: those of the fit will do.")
    if isinstance(X, str | bytes | os.PathLike):
        raise DataError(_of_path(os.fsdecode(X)))
    if isinstance(X, Mapping):
        raise DataError("X is a mapping; give a frame: pandas.DataFrame(X).")
    if isinstance(X, np.ndarray | list | tuple) and getattr(X, "dtype", np.dtype(float)).names is None:
        _refuse_shape(_shape(X))
    elif np.isscalar(X) or hasattr(X, "__next__"):
        raise DataError(f"X is a {type(X).__name__}; {WANTED}.")


def _of_path(path: str) -> str:
    if Path(path).is_file():
        return f"X={path!r} is the name of a file; give its rows: eigenlens.scan({path!r})."
    return f"X={path!r} is text, and no file is called so; {WANTED}, or eigenlens.scan of a file that is there."


def _shape(X: Any) -> tuple[int, ...] | None:
    """The shape of an array or of lists, as far as rows of one length have one."""
    if isinstance(X, np.ndarray):
        return tuple(X.shape)
    if not X or not hasattr(X[0], "__len__") or isinstance(X[0], str):
        return (len(X),)
    return None


def _refuse_shape(shape: tuple[int, ...] | None) -> None:
    if shape is None or len(shape) == 2:
        return
    ways = {0: WANTED, 1: "give (n, d): X.reshape(-1, 1) is one column, X.reshape(1, -1) one row"}
    way = ways.get(len(shape), f"give (n, d): X.reshape({shape[0] if shape else 1}, -1) is a row for each entry of it")
    raise DataError(f"X has the shape {shape}; {way}.")


# ---- columns that are neither numbers nor text --------------------------------------------------------------


def _told(X: Any) -> Any:
    """A frame whose dates, durations and nested columns are text; anything else is itself."""
    import narwhals.stable.v2 as nw

    if isinstance(X, np.ndarray | list | tuple) or not nw.dependencies.is_into_dataframe(X):
        return X
    names = list(map(str, getattr(X, "column_names", None) or X.columns))
    if len(set(names)) < len(names):
        return X  # what is wrong with it is said where it is read
    frame = nw.from_native(X, eager_only=True)
    odd = [column for name, column in zip(frame.columns, frame.iter_columns(), strict=True) if _odd(name, column)]
    if not odd:
        return X
    return frame.with_columns(*(_text(column, frame.implementation) for column in odd)).to_native()


def _text(column: Any, backend: Any) -> Any:
    """A column as text, beside the others: pandas' keep their index."""
    import narwhals.stable.v2 as nw

    made = nw.new_series(column.name, _texts(column), nw.String, backend=backend)
    index = nw.maybe_get_index(column)
    return made if index is None else nw.maybe_set_index(made, index=index)


def _odd(name: Any, column: Any) -> bool:
    try:
        frame_field(name, column)
    except DataError:
        return True
    return False


def _texts(column: Any) -> list[str | None]:
    gone = column.is_null().to_list()
    return [None if empty else _day(str(value)) for value, empty in zip(column.to_list(), gone, strict=True)]


def _day(text: str) -> str:
    """A moment at midnight is a day."""
    return text.removesuffix(" 00:00:00")


def dated(values: Array) -> Array:
    """Values (n,) whose moments and durations are text, None where there is none; all others are themselves.

    >>> dated(np.array(["2020-01-31", "NaT"], dtype="datetime64[ns]")).tolist()
    ['2020-01-31', None]
    """
    if values.dtype.kind not in "mM":
        return values
    moments = values.dtype.kind == "M"
    texts = np.datetime_as_string(values, unit="auto").tolist() if moments else [str(value) for value in values]
    return np.where(np.isnat(values), np.array(None), np.array(texts, dtype=object))
