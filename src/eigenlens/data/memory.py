"""Sources of rows that are in memory (arrays, memory maps, sparse matrices, tensors, frames), and of lazy frames.

Nothing is copied whole. Integers become float64 one block at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, slices, working_dtype
from eigenlens.data.source import BLOCK_BYTES, Block, Progress, S, Source, column_block
from eigenlens.errors import DataError
from eigenlens.gpu.runtime import free_memory

VIEW_BYTES = 1 << 30
"""The size of a block that is a view of rows in memory: large, because it costs nothing."""


MAX_DEVICE_BYTES = 16 << 30
"""The size of a block on a device, if that has eight times as much free: every block costs launches and copies."""


def _block_rows(n_features: int, itemsize: int, block_rows: int | None, target: int = BLOCK_BYTES) -> int:
    return block_rows or max(1, target // max(1, n_features * itemsize))


class ArraySource(Source):
    """Rows of a NumPy array or memory map (n, d), in either order, as views.

    >>> [block.rows.shape for block in ArraySource(np.zeros((5, 2)), block_rows=2).blocks()]
    [(2, 2), (2, 2), (1, 2)]
    """

    in_memory = True

    def __init__(self, X: Array, *, names: tuple[str, ...] | None = None, block_rows: int | None = None) -> None:
        self.array = X
        self.n_rows, self.n_features = X.shape
        self.dtype = working_dtype(X.dtype)
        self.names = names
        aligned = X.flags.aligned and all(stride % X.itemsize == 0 for stride in X.strides)
        free = X.dtype == self.dtype and aligned and not isinstance(X, np.memmap)
        self._step = _block_rows(self.n_features, X.dtype.itemsize, block_rows, VIEW_BYTES if free else BLOCK_BYTES)

    def rows(self) -> Iterator[Array]:
        """Yield views of the array; only integers are converted, and float32 stays float32."""
        X = np.asarray(self.array)
        for start in range(0, X.shape[0], self._step):
            yield np.asarray(X[start : start + self._step], dtype=self.dtype)


class SparseSource(Source):
    """Rows of a SciPy sparse matrix (n, d) as CSR blocks that share its memory."""

    in_memory = True

    def __init__(self, X: Any, *, names: tuple[str, ...] | None = None, block_rows: int | None = None) -> None:
        from scipy import sparse  # imported here: it takes a tenth of a second, and files do not need it

        self.matrix = sparse.csr_matrix(X)
        self.n_rows, self.n_features = X.shape
        self.dtype = working_dtype(X.dtype)
        self.names = names
        self._step = block_rows or max(1, X.shape[0])

    @property
    def density(self) -> float:
        """The share of entries that are stored."""
        return float(self.matrix.nnz) / max(1, self.matrix.shape[0] * self.matrix.shape[1])

    def rows(self) -> Iterator[Any]:
        """Yield CSR slices whose values and column indices are views of the whole matrix's."""
        m = self.matrix
        if self._step >= m.shape[0] and m.dtype == self.dtype:
            yield m
            return
        for start in range(0, m.shape[0], self._step):
            stop = min(start + self._step, m.shape[0])
            low, high = m.indptr[start], m.indptr[stop]
            data = np.asarray(m.data[low:high], dtype=self.dtype)
            indptr = m.indptr[start : stop + 1] - low
            block = type(m)((stop - start, m.shape[1]), dtype=self.dtype)
            block.data, block.indices, block.indptr = data, m.indices[low:high], indptr
            yield block


class TensorSource(Source):
    """Rows of a tensor (n, d) of any array library; blocks stay on its device."""

    in_memory = True

    def __init__(self, X: Any, *, block_rows: int | None = None) -> None:
        self.tensor = X.detach() if hasattr(X, "detach") else X
        self.near = self.tensor
        self.n_rows, self.n_features = X.shape
        self.dtype = np.dtype(np.float32) if "float32" in str(X.dtype) else np.dtype(np.float64)
        free = free_memory(X)
        target = VIEW_BYTES if free is None else max(VIEW_BYTES, min(MAX_DEVICE_BYTES, free // 8))
        self._step = _block_rows(self.n_features, self.dtype.itemsize, block_rows, target)

    def rows(self) -> Iterator[Any]:
        """Yield views of the tensor; integers are converted one block at a time."""
        xp = namespace(self.tensor)
        dtype = xp.float32 if self.dtype == np.float32 else xp.float64
        for part in slices(self.tensor.shape[0], self._step):
            yield xp.astype(self.tensor[part, :], dtype, copy=False)


class FrameSource(Source):
    """Rows of a pandas, Polars or PyArrow frame of numeric columns, converted one block at a time."""

    in_memory = True

    def __init__(self, frame: Any, *, block_rows: int | None = None) -> None:
        import narwhals.stable.v2 as nw

        reject_repeated_names(native_names(frame))
        self.frame = nw.from_native(frame, eager_only=True)
        self.n_rows, self.n_features = self.frame.shape
        self.names = tuple(map(str, self.frame.columns))
        for name, column in zip(self.names, self.frame.iter_columns(), strict=True):
            _require_numbers(name, column)
        floats32 = all(dtype == nw.Float32 for dtype in self.frame.schema.values())
        self.dtype = np.dtype(np.float32 if floats32 else np.float64)
        self._step = _block_rows(self.n_features, self.dtype.itemsize, block_rows)
        self._only_block: Array | None = None

    def rows(self) -> Iterator[Array]:
        """Yield arrays in column order, as frames keep their columns; nulls become NaN.

        A frame of one block is converted once: of few rows the conversion takes longer than a step of EM.
        """
        assert self.n_rows is not None
        if self.n_rows <= self._step:
            if self._only_block is None:
                self._only_block = self._block(0)
            yield self._only_block
            return
        yield from map(self._block, range(0, self.n_rows, self._step))

    def _block(self, start: int) -> Array:
        part = self.frame[start : start + self._step]
        return column_block(map(_floats, part.iter_columns()), part.shape, self.dtype)


class LazySource(Source):
    """Rows of a Polars LazyFrame of numeric columns, collected in batches and in order by Polars.

    Every pass runs the query anew, and only the batch is in memory.
    """

    reads_ahead = own_names = True

    def __init__(self, frame: Any, *, block_rows: int | None = None) -> None:
        import narwhals.stable.v2 as nw
        import polars as pl

        schema = frame.collect_schema()
        empty = nw.from_native(frame.head(1).collect(), eager_only=True)
        self.frame, self.names = frame, tuple(schema.names())
        for name, column in zip(self.names, empty.iter_columns(), strict=True):
            _require_numbers(name, column)
            if schema[name] == pl.Object:
                what, fix = "holds Python objects, which Polars reads only in memory", "give X.collect()"
                raise DataError(f"column {name!r} {what}", columns=[name], fix=fix)
        self.n_rows, self.n_features = int(frame.select(pl.len()).collect().item()), len(self.names)
        single = all(dtype == pl.Float32 for dtype in schema.dtypes())
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._step = _block_rows(self.n_features, self.dtype.itemsize, block_rows)

    def rows(self) -> Iterator[Array]:
        """Yield arrays in column order; nulls become NaN."""
        import polars as pl

        kind = pl.Float32 if self.dtype == np.float32 else pl.Float64
        for part in self.frame.cast(kind).collect_batches(chunk_size=self._step, maintain_order=True):
            yield column_block((column.to_numpy() for column in part.iter_columns()), part.shape, self.dtype)


class MappedSource(Source):
    """The rows of another source, each block passed through a function that keeps its shape and gives float64."""

    def __init__(self, source: Source, function: Callable[[Any], Array]) -> None:
        self.source, self.function = source, function
        self.n_rows, self.n_features, self.names = source.n_rows, source.n_features, source.names
        self.weight, self.in_memory, self.reads_ahead = source.weight, source.in_memory, source.reads_ahead
        self.on_workers = source.on_workers
        self.dtype = np.dtype(np.float64)

    def rows(self) -> Iterator[Array]:
        """Yield the blocks after the function."""
        return map(self.function, self.source.rows())

    def fold(self, summarise: Callable[[Block], S], progress: Progress | None = None, label: str = "") -> S:
        """Fold the underlying source, where its rows are."""
        through = partial(_summarise_mapped, function=self.function, summarise=summarise)
        return self.source.weighted(self.weight).fold(through, progress, label)


def _summarise_mapped(block: Block, function: Callable[[Any], Array], summarise: Callable[[Block], S]) -> S:
    return summarise(Block(function(block.rows), block.weight))


def native_names(frame: Any) -> list[Any]:
    """Return the names of the columns of a pandas, Polars or Arrow frame as they are: numbers stay numbers."""
    names = getattr(frame, "column_names", None)  # of Arrow, where `columns` are the values
    return list(getattr(frame, "columns", ()) if names is None else names)


def reject_repeated_names(names: Iterable[Any], argument: str = "X") -> None:
    """Raise where two columns of X, or of another argument, have one name: 1 and "1" are one, and so are 1 and True."""
    seen: set[Any] = set()
    for name in names:
        if name not in seen and str(name) not in seen:
            seen |= {name, str(name)}
            continue
        twice = str(name)
        raise DataError(f"{argument} has two columns named {twice!r}", columns=[twice], fix="give them different names")


def _floats(column: Any) -> Array:
    """Return a column as floats, its nulls as NaN."""
    values = read_column(column)
    return np.asarray(values, dtype=np.float64 if values.dtype == object else None)


def read_column(column: Any) -> Array:
    """Return a narwhals column as an array of the NumPy type nearest to its own."""
    import narwhals.stable.v2 as nw

    narrow = {nw.Boolean: nw.Int8, nw.Int128: nw.Float64, nw.UInt128: nw.Float64}  # NumPy has no such integers
    kind = next((kind for wide, kind in narrow.items() if column.dtype == wide), None)
    return np.asarray((column if kind is None else column.cast(kind)).to_numpy())


def _require_numbers(name: str, column: Any) -> None:
    """Raise for a column that does not hold numbers, naming the first value that is not one."""
    import narwhals.stable.v2 as nw

    if column.dtype.is_numeric() or column.dtype == nw.Boolean:
        return
    values = column.to_list()
    bad = [i for i, value in enumerate(values) if value is not None and not _is_number(value)]
    if bad or column.dtype != nw.Object:
        what = f"{values[bad[0]]!r} in row {bad[0] + 1}" if bad else f"dtype {column.dtype}"
        fix = "leave it out of X, or convert it to numbers first"
        raise DataError(f"column {name!r} does not hold numbers ({what})", columns=[name], fix=fix)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) or (isinstance(value, np.generic) and value.dtype.kind in "fiub")
