"""Convert whatever the user calls X to a Source of numbers, or to a Source that keeps the kinds of its columns.

`CONTAINERS` is the one list of what X may be. Every estimator reads X through `as_source` (numbers) or `as_table`
(numbers, integers, booleans and text), so all of them take the same containers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, check_tensor, dimensions, is_integer, is_sparse, is_tensor, to_numpy
from eigenlens.data.column_kinds import ColumnKind, Field, plain_column
from eigenlens.data.disk_arrays import StoredSource, annotated_rows, reject_group
from eigenlens.data.memory import ArraySource, FrameSource, LazySource, SparseSource, TensorSource
from eigenlens.data.number_array import number_array, number_matrix, table_array
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.data.table import FloatSource, IntegerSource, MixedSource, UniformSource
from eigenlens.errors import DataError, MissingExtra, MissingValues, join_limited


def as_source(X: Any) -> Source:
    """Return X as a stream of blocks of numbers.

    >>> as_source([[1, 2], [3, 4]]).n_features
    2
    """
    return _require_rows(next(kind.to_source(X) for kind in CONTAINERS if kind.recognise(X)))


def as_table(X: Any) -> Source:
    """Return X as a stream of blocks that keep the kinds of its columns.

    >>> type(as_table(np.array([["red", 1.5]], dtype=object))).__name__, type(as_table([[1.5]])).__name__
    ('MixedSource', 'ArraySource')
    """
    found = next(kind for kind in CONTAINERS if kind.recognise(X))
    return _require_rows((found.to_table or found.to_source)(X))


def _require_rows(source: Source) -> Source:
    if source.in_memory and source.n_rows == 0:  # of others the number may be known only after a pass
        raise DataError("has 0 rows; at least 1 is needed", argument="X")
    if source.n_features == 0:
        what = f"has 0 feature(s) (shape=({source.n_rows}, 0)) while a minimum of 1 is required"
        raise DataError(what, argument="X", fix="give at least one column")
    return source


def fields_of(source: Source) -> tuple[Field, ...]:
    """Return the columns of a source and their kinds; a source that does not give its fields holds numbers."""
    found: tuple[Field, ...] | None = getattr(source, "fields", None)
    names: Sequence[Any] = source.names or range(source.n_features)
    return found or tuple(Field(name, ColumnKind.NUMBER) for name in names)


def is_streamed(X: Any) -> bool:
    """Return whether the rows of X are only read in order, and cannot be taken by their numbers."""
    return next(kind for kind in CONTAINERS if kind.recognise(X)).streamed


def rereadable(X: Any) -> Any:
    """Return the table of a stream that can be read only once, and other X unchanged, for what reads X twice."""
    return _stream_table(X) if _is_stream(X) else X


# ---- recognising containers -----------------------------------------------------------------------------------


def _library(X: Any) -> str:
    return type(X).__module__.split(".")[0]


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array or frame, without importing Dask."""
    return _library(X).startswith("dask") and hasattr(X, "to_delayed")


def _is_dask_frame(X: Any) -> bool:
    return is_dask(X) and hasattr(X, "to_dask_array")


def _is_series(X: Any) -> bool:
    return _library(X) in ("pandas", "polars") and hasattr(X, "to_frame") and getattr(X, "ndim", 1) == 1


def _is_a(X: Any, library: str, name: str) -> bool:
    return _library(X) == library and type(X).__name__ == name


def _is_pandas_frame(X: Any) -> bool:
    """Return whether X is a pandas frame; the groups of one have its dimensions but no rows."""
    return _library(X) == "pandas" and dimensions(X) == 2 and hasattr(X, "iloc")


def _is_uniform(frame: Any) -> bool:
    """Return whether X is a pandas frame whose columns all have the same numeric NumPy type."""
    if not _is_pandas_frame(frame) or not frame.shape[1]:
        return False
    first = frame.dtypes.iloc[0]
    plain = isinstance(first, np.dtype) and (first.kind in "iu" or first in (np.float32, np.float64))
    return plain and all(dtype == first for dtype in frame.dtypes)


def _is_frame(X: Any) -> bool:
    if isinstance(X, np.ndarray | list | tuple):
        return False
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_into_dataframe(X))


def _is_float_array(X: Any) -> bool:
    """Return whether X is a plain array of floats: the most common container, and the cheapest to recognise."""
    return type(X) is np.ndarray and X.dtype.kind == "f"


def _is_integer_array(X: Any) -> bool:
    return is_integer(X) and not isinstance(X, np.ma.MaskedArray) and X.ndim == 2 and 0 not in X.shape


def _holds_text(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype.kind in "OUST"
    rows = X if isinstance(X, list | tuple) else ()
    entries = (value for row in rows if isinstance(row, list | tuple | np.ndarray) for value in row)
    return any(isinstance(value, str) or value is None for value in entries)


# ---- making sources -------------------------------------------------------------------------------------------


def _array(X: Any) -> Source:
    return ArraySource(number_array(X))


def _sparse(X: Any) -> Source:
    return SparseSource(number_matrix(X))


def _tensor(X: Any) -> Source:
    check_tensor(X)
    if X.ndim != 2:
        raise DataError(f"X is a tensor of {X.ndim} dimensions; it must have two: rows and columns")
    if "complex" in str(X.dtype):
        fix = "use X.real, or its real and imaginary parts"
        raise DataError(f"Complex data not supported: X has dtype {X.dtype}", fix=fix)
    if not X.shape[1]:
        raise DataError(f"X has shape {tuple(X.shape)}; at least one column is needed")
    return TensorSource(X)


def _dask(X: Any) -> Source:
    from eigenlens.data.dask import DaskSource

    if _is_dask_frame(X):
        return _reject_series(X) if X.ndim == 1 else DaskSource.of_frame(X)
    return DaskSource(X)


def _dask_table(X: Any) -> Source:
    from eigenlens.data.dask_table import DaskTable

    numeric = not _is_dask_frame(X) or X.ndim == 1 or all(kind.kind in "fiub" for kind in X.dtypes)
    return _dask(X) if numeric else DaskTable(X)


def _reject_series(X: Any) -> Source:
    what = "is a Series, a single column, and must have two dimensions"
    raise DataError(what, argument="X", fix="give a table, X.to_frame()")


def _reject_mapping(X: Any) -> Source:
    fix = "give pandas.DataFrame(X), polars.DataFrame(X) or an array"
    raise DataError(f"is a {type(X).__name__} of columns", argument="X", fix=fix)


def _is_single(X: Any) -> bool:
    # What can become an array is one: np.ndim need not be defined for it.
    known = isinstance(X, list | tuple | int | float) or hasattr(X, "__array__")
    return not known and np.ndim(X) == 0


def _reject_single(X: Any) -> Source:
    name = type(X).__name__
    if isinstance(X, str | os.PathLike):
        raise DataError(f"is a {name}, not a table", argument="X", value=str(X), fix="give eigenlens.scan(X)")
    raise DataError(f"is a {name}, not a table", argument="X", fix="give an array, a frame or eigenlens.scan(path)")


def _batch_table(X: Any) -> Any:
    import pyarrow as pa

    return pa.Table.from_batches([X])


def _is_stream(X: Any) -> bool:
    return _is_a(X, "pyarrow", "RecordBatchReader") or _is_a(X, "pyarrow", "Scanner")


def _stream_table(X: Any) -> Any:
    """Return the whole table of a stream of Arrow batches, which can be read only once."""
    table = X.read_all() if hasattr(X, "read_all") else X.to_table()
    if not table.num_rows:
        fix = "make a new reader, or give its table, X.read_all(), which can be read again"
        raise DataError("is a stream of Arrow batches without rows: none, or read before", argument="X", fix=fix)
    return table


def _lazy_dataset(X: Any) -> Any:
    try:
        import polars as pl
    except ImportError as error:
        raise MissingExtra("polars", extra="tables", need="an Arrow dataset") from error
    return pl.scan_pyarrow_dataset(X)


def _lazy_relation(X: Any) -> Any:
    try:
        return X.pl(lazy=True)
    except ImportError as error:
        raise MissingExtra("polars", extra="tables", need="a DuckDB relation") from error


def _is_polars_floats(X: Any) -> bool:
    return _is_a(X, "polars", "DataFrame") and X.width > 0 and set(map(str, X.dtypes)) == {"Float64"}


def _is_sparse_frame(X: Any) -> bool:
    """Return whether X is a pandas frame of sparse columns alone, whose entries that are not stored are 0."""
    if not _has_sparse_column(X):
        return False
    return all(_is_sparse_type(dtype) and dtype.fill_value == 0 for dtype in X.dtypes)


def _has_sparse_column(X: Any) -> bool:
    return _is_pandas_frame(X) and any(map(_is_sparse_type, X.dtypes))


def _sparse_frame(X: Any) -> Source:
    return SparseSource(X.sparse.to_coo().tocsr(), names=tuple(map(str, X.columns)))


def _dense_frame(X: Any) -> Any:
    """Return a pandas frame whose sparse columns are dense."""
    return X.astype({name: dtype.subtype for name, dtype in X.dtypes.items() if _is_sparse_type(dtype)})


def _is_sparse_type(dtype: Any) -> bool:
    return type(dtype).__name__ == "SparseDtype"


def _own_names(source: Source) -> Source:
    source.own_names = True
    return source


def _lazy_table(X: Any) -> Source:
    return _own_names(MixedSource.of_lazy(X))


def _structured(X: Array) -> Source:
    if X.ndim != 1 or not len(X):
        raise DataError(f"X is a structured array of shape {X.shape}; it must be (n,), one record per row, n ≥ 1")
    names = X.dtype.names or ()
    return MixedSource.of_columns([X[name] for name in names], names)


def _objects(X: Any) -> Source:
    array = table_array(plain_column(X) if isinstance(X, np.ndarray) else _object_array(X))
    return MixedSource.of_columns([array[:, j] for j in range(array.shape[1])])


def _object_array(X: Any) -> Any:
    """Return lists as an array of objects, which keep their types; those that are not a table unchanged."""
    try:
        return np.array(X, dtype=object)
    except ValueError:
        return X


class Container(NamedTuple):
    """One kind of X: how it is recognised, its source of numbers, and its source of mixed columns if that differs.

    `streamed` says whether its rows are only read in order; those of others can be taken by their numbers.
    """

    recognise: Callable[[Any], bool]
    to_source: Callable[[Any], Source]
    to_table: Callable[[Any], Source] | None = None
    streamed: bool = False


CONTAINERS: list[Container] = [
    Container(_is_float_array, _array),
    Container(lambda X: isinstance(X, Source), lambda X: X.numbers(), lambda X: X.table(), streamed=True),
    Container(is_tensor, _tensor),
    Container(is_sparse, _sparse),
    Container(is_dask, _dask, _dask_table, streamed=True),
    Container(_is_series, _reject_series),
    Container(lambda X: _is_a(X, "polars", "LazyFrame"), LazySource, _lazy_table, streamed=True),
    Container(
        lambda X: _is_a(X, "pyarrow", "RecordBatch"),
        lambda X: FrameSource(_batch_table(X)),
        lambda X: MixedSource.of_frame(_batch_table(X)),
        streamed=True,
    ),
    Container(
        _is_stream,
        lambda X: _own_names(FrameSource(_stream_table(X))),
        lambda X: _own_names(MixedSource.of_frame(_stream_table(X))),
    ),
    Container(
        lambda X: _library(X) == "pyarrow" and hasattr(X, "scanner"),
        lambda X: LazySource(_lazy_dataset(X)),
        lambda X: _lazy_table(_lazy_dataset(X)),
        streamed=True,
    ),
    Container(
        lambda X: type(X).__name__ == "DuckDBPyRelation",
        lambda X: LazySource(_lazy_relation(X)),
        lambda X: _lazy_table(_lazy_relation(X)),
        streamed=True,
    ),
    Container(lambda X: _is_a(X, "anndata", "AnnData"), annotated_rows, streamed=True),
    Container(lambda X: _library(X) in ("h5py", "zarr") and hasattr(X, "dtype"), StoredSource, streamed=True),
    Container(lambda X: _library(X) in ("h5py", "zarr"), reject_group),
    Container(_is_sparse_frame, _sparse_frame),
    Container(
        _has_sparse_column,
        lambda X: FrameSource(_dense_frame(X)),
        lambda X: MixedSource.of_frame(_dense_frame(X)),
    ),
    Container(_is_uniform, FrameSource, UniformSource),
    Container(_is_polars_floats, FrameSource, FloatSource),
    Container(_is_frame, FrameSource, MixedSource.of_frame),
    Container(lambda X: isinstance(X, Mapping) and not is_sparse(X), _reject_mapping),
    Container(lambda X: isinstance(X, np.ndarray) and X.dtype.names is not None, _array, _structured),
    Container(_is_integer_array, _array, IntegerSource),
    Container(_holds_text, _array, _objects),
    Container(_is_single, _reject_single),
    Container(lambda X: True, _array),
]
"""What X may be; the first that recognises it makes the source, and the last takes anything NumPy understands."""


# ---- entries that cannot be used ------------------------------------------------------------------------------


def explain_nonfinite(source: Source) -> DataError:
    """Return the error for rows that hold NaN or infinities, found by one more pass that counts them."""
    nan, infinite, largest = accumulate(source, _count, label="looking for NaN")
    names = source.names or tuple(map(str, range(source.n_features)))
    if not nan.sum() and not infinite.sum():
        what = f"has finite entries as large as {largest.max():.3g}, whose squares overflow"
        return DataError(what, argument="X", fix="divide the columns by a constant first")
    counts, kind = (infinite, "infinity") if infinite.sum() else (nan, "NaN")
    columns = [names[j] for j in np.flatnonzero(counts)]
    listed = join_limited([repr(column) for column in columns])
    total = int(counts.sum())
    entries = f"{total} {'entry' if total == 1 else 'entries'} in {len(columns)} of {source.n_features} columns"
    what = f"contains {kind}: {entries} ({listed})"  # scikit-learn's checks look for NaN and inf
    if infinite.sum():
        fix = "replace the values, or leave those rows out"
        tests = [f"{column} {test}" for column in columns[:3] for test in ("> -inf", "< inf")]
        return DataError(what, argument="X", columns=columns, fix=fix, settings={"where": tests})
    fix = "leave out those rows or columns, or impute them; PCA with {missing} can fit and transform such rows"
    what += " is missing" if total == 1 else " are missing"
    return MissingValues(what, argument="X", columns=columns, fix=fix, settings={"missing": "em"})


def require_finite(X: Any, *results: Any) -> None:
    """Raise the error that explains what is wrong with X if something that was computed from it is not finite."""
    if not all(np.isfinite(to_numpy(result)).all() for result in results):
        raise explain_nonfinite(as_source(X))


def require_no_infinity(rows: Array) -> Array:
    """Return the rows if none of their entries is infinite."""
    if np.isinf(rows).any():
        raise explain_nonfinite(as_source(rows))
    return rows


class _Counts(tuple[Any, ...]):
    """NaN, infinities and the largest modulus of each column; the counts add, the modulus takes the larger."""

    def __add__(self, other: Any) -> _Counts:
        return _Counts((self[0] + other[0], self[1] + other[1], np.maximum(self[2], other[2])))


def _count(block: Block) -> _Counts:
    rows, d = block.rows, block.rows.shape[1]
    if is_sparse(rows):
        nan, infinite = (np.bincount(rows.indices[test(rows.data)], minlength=d) for test in (np.isnan, np.isinf))
        return _Counts((nan, infinite, np.full(d, np.abs(rows.data).max(initial=0.0))))
    values = to_numpy(rows)
    finite = np.where(np.isfinite(values), np.abs(values), 0.0)
    return _Counts((np.isnan(values).sum(axis=0), np.isinf(values).sum(axis=0), finite.max(axis=0, initial=0.0)))
