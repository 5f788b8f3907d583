"""Blocks of rows whose columns differ in kind, read as numbers or codes, and the sources that yield them.

Numbers and codes are read from blocks of any kind: mixed columns, arrays, sparse matrices and tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, is_integer, is_sparse, namespace, to_numpy
from eigenlens.data.categories import EncodedColumn, encode, encode_numbers
from eigenlens.data.column_kinds import ColumnKind, Field, array_kind, frame_field, plain_column
from eigenlens.data.memory import VIEW_BYTES, native_names, read_column, reject_repeated_names
from eigenlens.data.source import BLOCK_BYTES, Block, Source, column_block
from eigenlens.errors import DataError
from eigenlens.gpu.runtime import on_device

EXACT_FLOAT_LIMIT = 2.0**53
"""Below this limit floats hold whole numbers without rounding: 53 bits of mantissa."""


@dataclass(frozen=True, eq=False)
class MixedRows:
    """Some consecutive rows of mixed columns.

    Attributes:
        numbers: (b, p) the columns of numbers, integers and booleans, NaN where missing; integers if all of them are.
        codes: (b, q) int32, the columns of text as numbers of categories, −1 where missing; and those of integers that
            floats would round. categories: (q,) their categories.
        places: (d,) the position of each column: p ≥ 0 in `numbers`, −1 − q in `codes`.
    """

    numbers: Array
    codes: Array
    categories: tuple[tuple[Any, ...], ...]
    places: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Return the shape (b, d) of the block."""
        return len(self.numbers), len(self.places)

    def __len__(self) -> int:
        return len(self.numbers)

    def large(self, column: int) -> bool:
        """Return whether a column has codes for integers that floats would round."""
        categories = self.categories[-1 - self.places[column]] if self.places[column] < 0 else ()
        return all(isinstance(category, int) for category in categories) and any(
            abs(category) >= EXACT_FLOAT_LIMIT for category in categories
        )

    def __getitem__(self, rows: Any) -> MixedRows:
        return MixedRows(self.numbers[rows], self.codes[rows], self.categories, self.places)


def mixed_rows(columns: Sequence[Any], fields: Sequence[Field]) -> MixedRows:
    """Return columns (b,) of narwhals, Polars or NumPy as a block: integers, floats, and text encoded."""
    kept: list[Array | EncodedColumn] = []
    for column, field in zip(columns, fields, strict=True):
        kept.append(encode(column) if field.kind == "text" else _values(column, field.kind))
    numeric = [part for part in kept if isinstance(part, np.ndarray)]
    dtype = np.result_type(*numeric) if numeric else np.dtype(np.float64)
    if dtype.kind not in "iu":
        kept = [part if isinstance(part, EncodedColumn) else _exact(part) for part in kept]
        numeric, dtype = [part for part in kept if isinstance(part, np.ndarray)], np.dtype(np.float64)
    numbers = column_block(numeric, (len(columns[0]), len(numeric)), dtype)
    encoded = [part for part in kept if isinstance(part, EncodedColumn)]
    return _placed(numbers, encoded, [isinstance(part, EncodedColumn) for part in kept])


def join_text_columns(
    numbers: Array, text: Sequence[Any], fields: Sequence[Field], exact: Mapping[int, EncodedColumn] | None = None
) -> MixedRows:
    """Return a block of columns of numbers (b, p) and columns of text, (b,) each, which are encoded here.

    `exact` has, by column number, the codes of columns of integers that floats would round.
    """
    codes = dict(exact or {})
    texts = [j for j, field in enumerate(fields) if field.kind == "text"]
    codes |= {j: encode(words) for j, words in zip(texts, text, strict=True)}
    if exact:
        numeric = (j for j, field in enumerate(fields) if field.kind != "text")
        numbers = numbers[:, [place for place, j in enumerate(numeric) if j not in exact]]
    return _placed(numbers, [codes[j] for j in sorted(codes)], [j in codes for j in range(len(fields))])


def _placed(numbers: Array, encoded: Sequence[EncodedColumn], is_code: Sequence[bool]) -> MixedRows:
    """Return a block of columns of numbers (b, p) and of codes; `is_code` has one entry per column."""
    codes = np.empty((len(numbers), len(encoded)), dtype=np.int32, order="F")
    for place, column in enumerate(encoded):
        codes[:, place] = column.codes
    chosen = np.array(is_code, dtype=bool)
    places = np.where(chosen, -np.cumsum(chosen), np.cumsum(~chosen) - 1)
    return MixedRows(numbers, codes, tuple(column.categories for column in encoded), places)


def _values(column: Any, kind: str) -> Array | EncodedColumn:
    """Return a column of numbers (b,): integers if none is missing, else floats, or codes where floats would round."""
    if kind == "empty":
        return np.full(len(column), np.nan)
    values = column if isinstance(column, np.ndarray) else read_column(column)
    if values.dtype.kind in "iu":
        return values
    floats = _numbers(values)
    return encode(column) if kind == "integer" and exceeds_float_precision(floats) else floats


def _exact(values: Array) -> Array | EncodedColumn:
    """Return integers beside columns of floats: unchanged, or as codes where they would be rounded."""
    return encode_numbers(values) if values.dtype.kind in "iu" and exceeds_float_precision(values) else values


def exceeds_float_precision(values: Array) -> bool:
    """Return whether floats round whole numbers of this size."""
    if not values.size or (values.dtype.kind in "iu" and values.itemsize < 8):
        return False
    return bool(np.nanmax(values, initial=0) >= EXACT_FLOAT_LIMIT or np.nanmin(values, initial=0) <= -EXACT_FLOAT_LIMIT)


def _numbers(values: Array) -> Array:
    """Return values (n,) as float64; missing entries of objects become NaN."""
    try:
        return np.asarray(values, dtype=np.float64)
    except OverflowError:
        what, fix = "holds an integer beyond the range of floats", "take its logarithm, or leave that row out"
        raise DataError(what, argument="X", fix=fix) from None
    except TypeError:  # pandas' NA among objects
        from pandas import isna

        return np.where(isna(values), np.nan, values).astype(np.float64)


HEAD = 256
"""Rows checked first: they usually suffice to show that numbers are not whole."""


def numbers_of(rows: Any, columns: Array) -> Array:
    """Return columns (g,) of a block as float32 or float64 numbers (b, g), a view where possible; text is NaN."""
    if isinstance(rows, MixedRows):
        places = rows.places[columns]
        return _floating(_taken(rows.numbers, places)) if np.all(places >= 0) else _gathered(rows, columns)
    if is_sparse(rows):
        return dense(rows if len(columns) == rows.shape[1] else rows[:, columns])
    return _floating(_taken(to_numpy(rows), columns))


def numbers_in_place(rows: Any, columns: Array) -> Any:
    """Return columns (g,) of a block as `numbers_of` does, but as a tensor where the rows are on a device."""
    if not on_device(rows):
        return numbers_of(rows, columns)
    if len(columns) == rows.shape[1] and np.array_equal(columns, np.arange(len(columns))):
        return rows
    xp = namespace(rows)
    return xp.take(rows, xp.asarray(columns, device=rows.device), axis=1)


def _floating(values: Array) -> Array:
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def _gathered(rows: MixedRows, columns: Array) -> Array:
    """Return columns of numbers and large integers as floats (b, g); those of text are NaN."""
    found = np.full((len(rows), len(columns)), np.nan)
    for j, column in enumerate(columns.tolist()):
        place = rows.places[column]
        if place >= 0:
            found[:, j] = rows.numbers[:, place]
        elif rows.large(column):
            integers, codes = rows.categories[-1 - place], rows.codes[:, -1 - place]
            found[:, j] = np.array([*integers, np.nan], dtype=np.float64)[codes]  # the code −1 is a missing value
    return found


def _taken(rows: Array, columns: Array) -> Array:
    """Return some columns: all of them or neighbours as a view, others as a copy."""
    first, count = int(columns[0]), len(columns)
    if np.array_equal(columns, np.arange(first, first + count)):
        return rows if count == rows.shape[1] else rows[:, first : first + count]
    return rows[:, columns]


def codes_of(rows: Any, columns: Array) -> Array | list[EncodedColumn]:
    """Return columns (g,) of a block as codes: integers (b, g), their own categories, or one `EncodedColumn` each."""
    found = integers_of(rows, columns)
    if found is not None:
        return found
    if isinstance(rows, MixedRows):
        return [_encoded_column(rows, place) for place in rows.places[columns].tolist()]
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        return [encode(rows[:, j]) for j in columns]
    return [encode_numbers(column) for column in numbers_of(rows, columns).T]


def integers_of(rows: Any, columns: Array) -> Array | None:
    """Return columns (g,) of a block as integers (b, g), a view where possible; None if one is not whole or missing."""
    if isinstance(rows, MixedRows):
        places = rows.places[columns]
        return None if np.any(places < 0) else _whole(_taken(rows.numbers, places))
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "O":
        return None
    return _whole(numbers_of(rows, columns) if is_sparse(rows) else _taken(to_numpy(rows), columns))


def _whole(numbers: Array) -> Array | None:
    if is_integer(numbers):
        return numbers
    with np.errstate(invalid="ignore"):  # other numbers become garbage here, which the comparison below rejects
        for part in (numbers[:HEAD], numbers):
            codes = part.astype(np.int32)
            if not np.array_equal(codes, part):
                return None
    return codes


def _encoded_column(rows: MixedRows, place: int) -> EncodedColumn:
    if place >= 0:
        return encode_numbers(rows.numbers[:, place])
    column = EncodedColumn(rows.codes[:, -1 - place], rows.categories[-1 - place])
    return (
        column.drop_unused() if len(column.categories) > len(rows) else column
    )  # a few of many rows have few of the categories


def encode_columns(rows: Any, columns: Sequence[int]) -> MixedRows:
    """Return a block of any kind with some columns, by number, as codes of categories and the others as numbers.

    >>> encode_columns(np.array([[5.0, 0.5], [np.nan, 1.5]]), [0]).codes.ravel()
    array([ 0, -1], dtype=int32)
    """
    chosen = np.zeros(rows.shape[1], dtype=bool)
    chosen[list(columns)] = True
    encoded = [column for j in np.flatnonzero(chosen) for column in _as_encoded(codes_of(rows, np.array([j])))]
    others = np.flatnonzero(~chosen)
    numbers = numbers_of(rows, others) if others.size else np.empty((rows.shape[0], 0))
    return _placed(numbers, encoded, chosen.tolist())


def _as_encoded(coded: Array | list[EncodedColumn]) -> list[EncodedColumn]:
    return [encode_numbers(column) for column in coded.T] if isinstance(coded, np.ndarray) else coded


def observed_rows(rows: Any) -> Array:
    """Return which rows (b,) of a block of any kind have an observed entry.

    >>> observed_rows(np.array([[np.nan, 1.0], [np.nan, np.nan]]))
    array([ True, False])
    """
    if isinstance(rows, MixedRows):
        return np.asarray((~np.isnan(_floating(rows.numbers))).any(axis=1) | (rows.codes >= 0).any(axis=1))
    if is_sparse(rows) and not np.isnan(rows.data).any():
        return np.ones(rows.shape[0], dtype=bool)
    return np.asarray((~np.isnan(numbers_of(rows, np.arange(rows.shape[1])))).any(axis=1))


def count_observed_rows(block: Block) -> Array:
    """Return the number of rows of positive weight with an observed entry, their weight, and the number without one."""
    observed = observed_rows(block.rows)
    w = np.ones(observed.size) if block.weight is None else block.weight
    return np.array(
        [np.count_nonzero(observed & (w > 0.0)), w[observed].sum(), np.count_nonzero(~observed & (w > 0.0))]
    )


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
        n, fields = min(self.n_rows, n_rows or self.n_rows), [self.fields[j] for j in columns]

        def cut(start: int, stop: int, chosen: Sequence[int]) -> Sequence[Any]:
            return self._cut(start, stop, [columns[j] for j in chosen])

        return MixedSource(cut, fields, n, named=self.names is not None, in_memory=self.in_memory)

    @classmethod
    def of_frame(cls, frame: Any, *, block_rows: int | None = None) -> MixedSource:
        """Return a source of the columns of a pandas, Polars or Arrow frame."""
        import narwhals.stable.v2 as nw

        _check_names(native_names(frame), len(frame))
        table = nw.from_native(_without_sparse(frame), eager_only=True)
        fields = [frame_field(name, column) for name, column in zip(table.columns, table.iter_columns(), strict=True)]
        return cls.of_slices([_in_place(column) for column in table.iter_columns()], fields, block_rows=block_rows)

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
        return cls.of_slices(kept, fields, named=names is not None)

    @classmethod
    def of_slices(cls, kept: Sequence[Any], fields: Sequence[Field], **settings: Any) -> MixedSource:
        """Return a source of columns (n,) in memory, which are cut by slices; settings: as of `MixedSource`."""

        def cut(start: int, stop: int, columns: Sequence[int]) -> list[Any]:
            return [kept[j][start:stop] for j in columns]

        return cls(cut, fields, len(kept[0]), **settings)


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


class FloatSource(Source):
    """Rows of a Polars frame whose columns are all floats of 64 bits, as arrays; nulls become NaN.

    >>> import polars as pl
    >>> next(FloatSource(pl.DataFrame({"a": [1.0, None], "b": [3.0, 4.0]})).rows())
    array([[ 1.,  3.],
           [nan,  4.]])
    """

    in_memory = True

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.n_rows, self.n_features = frame.shape
        self.names = tuple(frame.columns)
        _check_names(self.names, len(frame))
        self.dtype = np.dtype(np.float64)
        self.fields = tuple(Field(name, ColumnKind.NUMBER) for name in self.names)

    def rows(self) -> Iterator[Array]:
        """Yield blocks of rows, in column order."""
        step = max(1, BLOCK_BYTES // (8 * self.n_features))
        for start in range(0, len(self.frame), step):
            yield self.frame.slice(start, step).to_numpy()


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
    """Return a narwhals column, or the array of a pandas column of NumPy type, whose slices cost nothing."""
    native = column.to_native()
    pandas = type(native).__module__.split(".")[0] == "pandas" and isinstance(native.dtype, np.dtype)
    return native.to_numpy() if pandas else column


def _without_sparse(frame: Any) -> Any:
    """Return a pandas frame with its sparse columns made dense; any other frame unchanged."""
    if type(frame).__module__.split(".")[0] != "pandas":
        return frame
    kinds = {name: kind.subtype for name, kind in frame.dtypes.items() if type(kind).__name__ == "SparseDtype"}
    return frame.astype(kinds) if kinds else frame


def _check_names(names: Sequence[Any], n: int) -> None:
    if not names:
        # The words that scikit-learn's checks of estimators look for.
        raise DataError(f"has 0 feature(s) (shape=({n}, 0)) while a minimum of 1 is required", argument="X")
    reject_repeated_names(names)


def _check_types(table: Any) -> None:
    """Raise where a column of a lazy frame has no type that says what it holds."""
    untyped = [name for name, dtype in table.schema.items() if str(dtype) == "Object"]
    if untyped:
        what = f"column {untyped[0]!r} of a LazyFrame holds Python objects, whose kind only their values show"
        raise DataError(what, columns=untyped[:1], fix="give X.collect(), or cast it")
