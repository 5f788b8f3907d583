"""Tables whose columns differ in kind: numbers, integers, booleans and text, as a stream of blocks of columns.

Frames, arrays of objects, structured arrays and integer arrays become a Source whose blocks keep what a float array
would lose; every other kind of rows stays the Source that it is. `numbers_of` and `codes_of` read any of these blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_sparse
from eigenlens.data.coerce import as_source
from eigenlens.data.column_kinds import plain_column
from eigenlens.data.source import Source
from eigenlens.data.table import EXACT, Field, MixedRows, codes_of, integers_of, is_integer, numbers_of
from eigenlens.data.table_sources import IntegerSource, MixedSource, UniformSource, is_uniform
from eigenlens.errors import DataError

__all__ = [
    "EXACT",
    "Field",
    "IntegerSource",
    "MixedRows",
    "MixedSource",
    "as_table",
    "codes_of",
    "fields_of",
    "integers_of",
    "is_integer",
    "numbers_of",
]


def as_table(X: Any) -> Source:
    """X as a stream of blocks that keep the kinds of its columns.

    >>> type(as_table(np.array([["red", 1.5]], dtype=object))).__name__, type(as_table([[1.5]])).__name__
    ('MixedSource', 'ArraySource')
    """
    for recognised, make in KINDS:
        if recognised(X):
            return make(X)
    return as_source(X)


def fields_of(source: Source) -> tuple[Field, ...]:
    """The columns of a source and their kinds; what is not a table of mixed columns holds numbers."""
    found = getattr(source, "fields", None)
    names: Sequence[Any] = source.names or range(source.n_features)
    return found or tuple(Field(name, "number") for name in names)


def _is_frame(X: Any) -> bool:
    if isinstance(X, np.ndarray | list | tuple):
        return False
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_into_dataframe(X))


def _is_batch(X: Any) -> bool:
    return type(X).__name__ == "RecordBatch" and type(X).__module__.split(".")[0] == "pyarrow"


def _of_batch(X: Any) -> Source:
    import pyarrow as pa

    return MixedSource.of_frame(pa.Table.from_batches([X]))


def _is_lazy(X: Any) -> bool:
    return type(X).__name__ == "LazyFrame" and type(X).__module__.split(".")[0] == "polars"


def _is_dask_frame(X: Any) -> bool:
    return type(X).__module__.split(".")[0].startswith("dask") and hasattr(X, "to_dask_array")


def _refuse_dask_frame(X: Any) -> Source:
    raise DataError("X is a Dask frame; give X.to_dask_array(lengths=True), or pass its partitions to partial_fit.")


def _refuse_mapping(X: Any) -> Source:
    raise DataError(f"X is a {type(X).__name__} of columns; give pandas.DataFrame(X), polars.DataFrame(X) or an array.")


def _is_structured(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.dtype.names is not None


def _structured(X: Array) -> Source:
    if X.ndim != 1 or not len(X):
        raise DataError(f"X is a structured array of shape {X.shape}; it must be (n,), a record a row, n at least 1.")
    names = X.dtype.names or ()
    return MixedSource.of_columns([X[name] for name in names], names)


def _is_integer(X: Any) -> bool:
    return is_integer(X) and not isinstance(X, np.ma.MaskedArray) and X.ndim == 2 and 0 not in X.shape


def _holds_text(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "OUST"
    return isinstance(X, list | tuple) and any(
        isinstance(value, str) or value is None for row in X for value in _row(row)
    )


def _row(row: Any) -> Any:
    return row if isinstance(row, list | tuple | np.ndarray) else ()


def _objects(X: Any) -> Source:
    from sklearn.utils import check_array  # here, because it takes a second, and files need none of it

    X = plain_column(X) if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    return MixedSource.of_columns([array[:, j] for j in range(array.shape[1])])


KINDS: list[tuple[Callable[[Any], bool], Callable[[Any], Source]]] = [
    (lambda X: isinstance(X, Source), lambda X: X.table()),
    (_is_batch, _of_batch),
    (is_uniform, UniformSource),
    (_is_frame, MixedSource.of_frame),
    (_is_lazy, MixedSource.of_lazy),
    (_is_dask_frame, _refuse_dask_frame),
    (lambda X: isinstance(X, Mapping) and not is_sparse(X), _refuse_mapping),
    (_is_structured, _structured),
    (_is_integer, IntegerSource),
    (_holds_text, _objects),
]
"""Tables that know more than numbers, each with the source made of it; the rest goes to `as_source`."""
