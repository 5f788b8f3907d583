"""Sources of columns that differ in kind, and of integers, over rows that are in memory or collected by blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import ColumnKind, Field, array_kind, frame_field, plain_column
from eigenlens.data.memory import VIEW_BYTES
from eigenlens.data.source import BLOCK_BYTES, Source
from eigenlens.data.table import MixedRows, mixed_rows
from eigenlens.errors import DataError


class MixedSource(Source):
    """Rows of named columns of different kinds, cut and encoded one block at a time.

    >>> import pandas as pd
    >>> source = MixedSource.of_frame(pd.DataFrame({"a": [1.5, None], "b": ["x", "y"]}))
    >>> [field.kind for field in source.fields], next(source.rows()).codes.ravel()
    (['number', 'text'], array([0, 1], dtype=int32))
    """

    def __init__(
        self,
        cut: Callable[[int, int, Sequence[int]], Sequence[Any]],
        fields: Sequence[Field],
        n_rows: int,
        *,
        named: bool = True,
        block_rows: int | None = None,
        in_memory: bool = True,
    ) -> None:
        self.fields = tuple(fields)
        self.n_rows, self.n_features = n_rows, len(self.fields)
        self.names = tuple(str(field.name) for field in self.fields) if named else None
        self.dtype = np.dtype(np.float64)
        self.in_memory = in_memory
        self._cut = cut
        self._step = block_rows or max(1, BLOCK_BYTES // (8 * max(1, self.n_features)))

    def rows(self) -> Iterator[MixedRows]:
        """Yield the rows as blocks of numbers and codes."""
        assert self.n_rows is not None
        for start in range(0, self.n_rows, self._step):
            stop = min(start + self._step, self.n_rows)
            yield mixed_rows(self._cut(start, stop, range(self.n_features)), self.fields)

    def part(self, columns: Sequence[int], n_rows: int | None = None) -> MixedSource:
        """Return some columns, by number, of all rows or of the first; the others are not read."""
        assert self.n_rows is not None
        least, fields = min(self.n_rows, n_rows or self.n_rows), [self.fields[j] for j in columns]

        def cut(start: int, stop: int, chosen: Sequence[int]) -> Sequence[Any]:
            return self._cut(start, stop, [columns[j] for j in chosen])

        return MixedSource(cut, fields, least, named=self.names is not None, in_memory=self.in_memory)

    @classmethod
    def of_frame(cls, frame: Any, *, block_rows: int | None = None) -> MixedSource:
        """Return a source of the columns of a pandas, Polars or Arrow frame."""
        import narwhals.stable.v2 as nw

        _check_names(list(map(str, getattr(frame, "column_names", None) or frame.columns)), len(frame))
        table = nw.from_native(_without_sparse(frame), eager_only=True)
        fields = [frame_field(name, column) for name, column in zip(table.columns, table.iter_columns(), strict=True)]
        kept = [_in_place(column) for column in table.iter_columns()]

        def cut(start: int, stop: int, columns: Sequence[int]) -> list[Any]:
            return [kept[j][start:stop] for j in columns]

        return cls(cut, fields, len(table), block_rows=block_rows)

    @classmethod
    def of_lazy(cls, frame: Any, *, block_rows: int | None = None) -> MixedSource:
        """Return a source of the columns of a Polars LazyFrame, collected one block at a time."""
        import narwhals.stable.v2 as nw
        import polars as pl

        empty = nw.from_native(frame.head(0).collect(), eager_only=True)
        _check_types(empty)
        fields = [frame_field(name, empty[name]) for name in empty.columns]
        n = int(frame.select(pl.len()).collect().item())

        def cut(start: int, stop: int, columns: Sequence[int]) -> list[Any]:
            part = frame.select([empty.columns[j] for j in columns]).slice(start, stop - start).collect()
            return list(nw.from_native(part, eager_only=True).iter_columns())

        return cls(cut, fields, n, block_rows=block_rows, in_memory=False)

    @classmethod
    def of_columns(cls, columns: Sequence[Array], names: Sequence[Any] | None = None) -> MixedSource:
        """Return a source of NumPy columns (n,), each of its own kind; objects that are all numbers are numbers."""
        labels = range(len(columns)) if names is None else names
        kept = [plain_column(column) for column in columns]
        fields = [Field(name, array_kind(name, column)) for name, column in zip(labels, kept, strict=True)]

        def cut(start: int, stop: int, columns: Sequence[int]) -> list[Any]:
            return [kept[j][start:stop] for j in columns]

        return cls(cut, fields, len(kept[0]), named=names is not None)


class UniformSource(Source):
    """Rows of a pandas frame whose columns have one NumPy type, as arrays of that type; views where pandas has one.

    >>> import pandas as pd
    >>> source = UniformSource(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))
    >>> source.fields[0], next(source.rows())
    (Field(name='a', kind='integer', categories=None, holds=''), array([[1, 3], [2, 4]]))
    """

    in_memory = True

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.n_rows, self.n_features = frame.shape
        self.names = tuple(map(str, frame.columns))
        _check_names(self.names, len(frame))
        self.dtype = np.dtype(np.float64)
        kind = array_kind("", np.empty(0, dtype=frame.dtypes.iloc[0]))
        self.fields = tuple(Field(name, kind, (False, True) if kind == "boolean" else None) for name in frame.columns)

    def rows(self) -> Iterator[Array]:
        """Yield blocks of rows."""
        some = self.frame.iloc[:1]
        views = np.may_share_memory(some.to_numpy(), some.to_numpy())
        step = max(1, (VIEW_BYTES if views else BLOCK_BYTES) // (8 * self.n_features))
        for start in range(0, len(self.frame), step):
            yield self.frame.iloc[start : start + step].to_numpy()


def is_uniform(frame: Any) -> bool:
    """Return whether a frame is pandas' and all its columns have one NumPy type of numbers."""
    if type(frame).__module__.split(".")[0] != "pandas" or not frame.shape[1]:
        return False
    first = frame.dtypes.iloc[0]
    plain = isinstance(first, np.dtype) and (first.kind in "iu" or first in (np.float32, np.float64))
    return plain and all(dtype == first for dtype in frame.dtypes)


class IntegerSource(Source):
    """Rows of an array (n, d) of integers or booleans, as views: codes stay codes.

    >>> next(IntegerSource(np.array([[1, 2]])).rows())
    array([[1, 2]])
    """

    in_memory = True

    def __init__(self, X: Array) -> None:
        self.array = X
        self.n_rows, self.n_features = X.shape
        self.dtype = np.dtype(np.float64)
        self.fields = tuple(
            Field(j, ColumnKind.BOOLEAN if X.dtype == bool else ColumnKind.INTEGER) for j in range(X.shape[1])
        )

    def rows(self) -> Iterator[Array]:
        """Yield the array itself; of a memory map, pieces of it."""
        step = max(1, BLOCK_BYTES // (self.array.itemsize * max(1, self.n_features)))
        step = step if isinstance(self.array, np.memmap) else max(1, len(self.array))
        for start in range(0, len(self.array), step):
            yield np.asarray(self.array[start : start + step])


def _in_place(column: Any) -> Any:
    """Return a narwhals column; of pandas' with a NumPy type the array itself, whose slices cost nothing."""
    native = column.to_native()
    pandas = type(native).__module__.split(".")[0] == "pandas" and isinstance(native.dtype, np.dtype)
    return native.to_numpy() if pandas else column


def _without_sparse(frame: Any) -> Any:
    """Return a pandas frame with its sparse columns made dense; any other frame unchanged."""
    if type(frame).__module__.split(".")[0] != "pandas":
        return frame
    kinds = {name: kind.subtype for name, kind in frame.dtypes.items() if type(kind).__name__ == "SparseDtype"}
    return frame.astype(kinds) if kinds else frame


def _check_names(names: Sequence[str], n: int) -> None:
    if not names:
        # The words that scikit-learn's checks of estimators look for.
        raise DataError(f"has 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required", argument="X")
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"X has two columns named {twice!r}", columns=[twice], fix="give them different names")


def _check_types(table: Any) -> None:
    """Raise where a column of a lazy frame has no type that says what it holds."""
    untyped = [name for name, dtype in table.schema.items() if str(dtype) == "Object"]
    if untyped:
        what = f"column {untyped[0]!r} of a LazyFrame holds Python objects, whose kind only their values show"
        raise DataError(what, columns=untyped[:1], fix="give X.collect(), or cast it")
