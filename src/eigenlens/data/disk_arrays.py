"""Sources of rows that are stored as arrays on disk and read by slices: HDF5, Zarr, and the matrix of an AnnData."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import is_sparse, working_dtype
from eigenlens.data.memory import ArraySource, SparseSource
from eigenlens.data.source import BLOCK_BYTES, Source
from eigenlens.errors import DataError


class StoredSource(Source):
    """Rows of an array (n, d) on disk, dense or sparse, read by whole chunks of rows; only a block is in memory.

    The array has `shape`, `dtype` and slices of rows, as those of h5py, Zarr and backed AnnData objects have.
    """

    reads_ahead = True

    def __init__(self, X: Any, *, names: tuple[str, ...] | None = None, block_rows: int | None = None) -> None:
        if len(X.shape) != 2 or 0 in X.shape:
            what = f"is a stored array of shape {tuple(X.shape)}; rows and columns are needed, at least one of each"
            raise DataError(what, argument="X")
        if np.dtype(X.dtype).kind not in "fiub":
            raise DataError(f"is a stored array of dtype {X.dtype}; numbers are needed", argument="X")
        self.array, self.names, self.own_names = X, names, names is not None
        self.n_rows, self.n_features = map(int, X.shape)
        self.dtype = working_dtype(np.dtype(X.dtype))
        chunk = (getattr(X, "chunks", None) or (1,))[0]
        # A chunk is decompressed whole, so a block holds whole chunks.
        whole = max(1, BLOCK_BYTES // (self.n_features * self.dtype.itemsize * chunk)) * chunk
        self._step = min(whole, block_rows or whole)

    def rows(self) -> Iterator[Any]:
        """Yield arrays, or CSR matrices where the array is sparse."""
        assert self.n_rows is not None
        for start in range(0, self.n_rows, self._step):
            part = self.array[start : start + self._step]
            yield from (SparseSource(part) if is_sparse(part) else ArraySource(np.asarray(part))).rows()


def annotated_rows(X: Any) -> Source:
    """Return the rows of an AnnData, observations by variables, with the names of the variables."""
    names, matrix = tuple(map(str, X.var_names)), X.X
    if matrix is None:
        raise DataError("is an AnnData without a matrix X.X", argument="X", fix="give one of its layers")
    if is_sparse(matrix):
        found: Source = SparseSource(matrix.tocsr(), names=names)
    elif isinstance(matrix, np.ndarray):
        found = ArraySource(matrix, names=names)
    else:
        found = StoredSource(matrix, names=names)
    found.own_names = True
    return found


def reject_group(X: Any) -> Source:
    """Raise the error for a file or group of arrays, which names those that it has."""
    known = ", ".join(f"X[{name!r}]" for name in list(X)[:8]) or "none"
    raise DataError(f"is a {type(X).__name__} of arrays", argument="X", fix=f"give one of them: {known}")
