"""From whatever the user calls X to a Source, in one place; and what to say when its entries cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eigenlens.arrays import is_sparse, is_tensor, to_numpy
from eigenlens.data.memory import ArraySource, FrameSource, SparseSource, TensorSource
from eigenlens.data.source import Block, Source, accumulate
from eigenlens.errors import DataError

__all__ = ["as_source", "explain_nonfinite"]


def as_source(X: Any) -> Source:
    """X as a stream of row blocks: a Source, Dask array, tensor, sparse matrix, frame, or anything NumPy understands.

    >>> as_source([[1, 2], [3, 4]]).n_features
    2
    """
    for recognised, make in KINDS:
        if recognised(X):
            return make(X)
    return _array(X)


def _array(X: Any) -> Source:
    from sklearn.utils import check_array  # here, because it takes a second, and files need none of it

    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)  # masked is missing
    array = check_array(X, dtype="numeric", ensure_all_finite=False, input_name="X")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise DataError(f"X has dtype {array.dtype}; convert it to float64.")
    return ArraySource(array)


def _sparse(X: Any) -> Source:
    from sklearn.utils import check_array

    matrix = check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, input_name="X")
    return SparseSource(matrix)


def _tensor(X: Any) -> Source:
    if "sparse" in str(getattr(X, "layout", "")):
        raise DataError("X is a sparse tensor; give it as a SciPy sparse matrix, or as X.to_dense().")
    if X.ndim != 2:
        raise DataError(f"X is a tensor of {X.ndim} dimensions; it must have two: rows and columns.")
    if "complex" in str(X.dtype):
        raise DataError(
            f"Complex data not supported: X has dtype {X.dtype}; use X.real, or its real and imaginary parts."
        )
    if 0 in X.shape:
        raise DataError(f"X has shape {tuple(X.shape)}; at least one row and one column are needed.")
    return TensorSource(X)


def _dask(X: Any) -> Source:
    from eigenlens.data.dask import DaskSource

    return DaskSource(X)


def _is_dask(X: Any) -> bool:
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "to_delayed")


def _dask_frame(X: Any) -> Source:
    raise DataError("X is a Dask frame; give the array of its numeric columns, X.to_dask_array(lengths=True).")


def _is_dask_frame(X: Any) -> bool:
    return type(X).__module__.startswith(("dask.dataframe", "dask_expr"))


def _is_frame(X: Any) -> bool:
    if isinstance(X, np.ndarray | list | tuple):
        return False
    import narwhals.stable.v2 as nw

    return bool(nw.dependencies.is_into_dataframe(X))


def _lazy(X: Any) -> Source:
    raise DataError("X is a lazy frame; collect it first (X.collect()), or scan() the file behind it.")


def _is_lazy(X: Any) -> bool:
    return type(X).__name__ == "LazyFrame"


KINDS: list[tuple[Callable[[Any], bool], Callable[[Any], Source]]] = [
    (lambda X: isinstance(X, Source), lambda X: X),
    (is_tensor, _tensor),
    (is_sparse, _sparse),
    (_is_dask_frame, _dask_frame),
    (_is_dask, _dask),
    (_is_lazy, _lazy),
    (_is_frame, FrameSource),
]
"""What X may be, each with the source made of it; a new kind of rows is one line here."""


def explain_nonfinite(source: Source) -> DataError:
    """The error for rows that hold NaN or infinities, found by one more pass that counts them."""
    nan, infinite, largest = accumulate(source, _count, label="looking for NaN")
    names = source.names or tuple(map(str, range(source.n_features)))
    if not nan.sum() and not infinite.sum():
        return DataError(
            f"X has finite entries as large as {largest.max():.3g}, whose squares overflow; "
            "divide the columns by a constant first."
        )
    counts, what = (infinite, "infinity") if infinite.sum() else (nan, "NaN")
    columns = np.flatnonzero(counts)
    listed = ", ".join(repr(names[j]) for j in columns[:5]) + (", …" if columns.size > 5 else "")
    way_out = (
        "leave those rows out or replace the values."
        if infinite.sum()
        else "leave those rows or columns out, or impute them; PCA(missing='em') can fit and transform such rows."
    )
    return DataError(
        f"Input X contains {what}: {int(counts.sum())} entries in {columns.size} of {source.n_features} columns "
        f"({listed}); {way_out}"
    )


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
    return _Counts((np.isnan(values).sum(axis=0), np.isinf(values).sum(axis=0), finite.max(axis=0)))
