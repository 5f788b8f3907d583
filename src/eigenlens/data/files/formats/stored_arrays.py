"""Rows of arrays in HDF5 and Zarr files, and of the matrices of AnnData in either, dense or sparse, by blocks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from eigenlens.arrays import Array, dense, is_sparse, working_dtype
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.disk_arrays import StoredSource
from eigenlens.data.files.base import Reader, pl, same_columns
from eigenlens.errors import DataError, MissingExtra, OptionError, suggest

if TYPE_CHECKING:
    from polars import DataFrame


@contextlib.contextmanager
def open_store(path: Path) -> Iterator[Any]:
    """Provide the group or array of an HDF5 file, or of a Zarr store."""
    if path.suffix.lower() == ".zarr":
        try:
            import zarr
        except ImportError as error:
            raise MissingExtra("zarr", extra="zarr", need="a Zarr store") from error
        yield zarr.open(path, mode="r")
        return
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra("h5py", extra="hdf5", need="an HDF5 file") from error
    with h5py.File(path, "r") as file:
        yield file


class SparseRows:
    """The rows of a sparse matrix of AnnData: a group of `data`, `indices` and `indptr`, by rows."""

    def __init__(self, group: Any, name: str) -> None:
        kind = str(group.attrs.get("encoding-type", "csr_matrix"))
        if kind != "csr_matrix":
            fix = "store it by rows: adata.X = adata.X.tocsr()"
            raise DataError(f"'{name}' is a {kind}, whose rows cannot be read by blocks", fix=fix)
        self._group, self._starts = group, np.asarray(group["indptr"][:])
        self.shape, self.dtype = tuple(map(int, group.attrs["shape"])), group["data"].dtype

    def __getitem__(self, rows: slice) -> Any:
        from scipy import sparse

        start, stop, _ = rows.indices(self.shape[0])
        low, high = int(self._starts[start]), int(self._starts[stop])
        parts = self._group["data"][low:high], self._group["indices"][low:high], self._starts[start : stop + 1] - low
        return sparse.csr_matrix(parts, shape=(stop - start, self.shape[1]))


def find_matrix(store: Any, dataset: str | None, path: Path) -> tuple[Any, str]:
    """Return the matrix of a store and its name: the one asked for, X of AnnData, or the only one that there is."""
    if hasattr(store, "shape"):
        return store, ""
    if dataset is None and is_annotated(store):
        dataset = "X"
    known = [name for name, _ in _matrices(store)]
    if dataset is None:
        if len(known) != 1:
            what = f"'{path}' has {len(known) or 'no'} matrices of numbers"
            named = {"dataset": known[0]} if known else {}
            fix = f"{suggest([], known)}: {{dataset}}" if known else "store an array of two dimensions in it"
            raise DataError(what, fix=fix, settings=named)
        dataset = known[0]
    try:
        found = store[dataset]
    except KeyError:
        fix = suggest([], known)
        raise OptionError(f"is not in '{path}'", argument="dataset", value=dataset, fix=fix) from None
    return (found if hasattr(found, "shape") else SparseRows(found, dataset)), dataset


def is_annotated(store: Any) -> bool:
    """Return whether a store is an AnnData: a matrix X, and tables of its rows and columns."""
    return all(name in store for name in ("X", "obs", "var"))


def _matrices(group: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the matrices of numbers in a group and its groups, by name."""
    for name in group:
        item = group[name]
        if hasattr(item, "shape"):
            if len(item.shape) == 2 and np.dtype(item.dtype).kind in "fiub":
                yield prefix + name, item
        elif "sparse" in str(item.attrs.get("encoding-type", "")) or "csr" in str(item.attrs.get("encoding-type", "")):
            yield prefix + name, item
        else:
            yield from _matrices(item, f"{prefix}{name}/")


class _Matrix(NamedTuple):
    """A matrix of a store: its shape and type, and the names of its rows and columns, None where it has none."""

    path: Path
    dataset: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    columns: list[str] | None
    rows: tuple[str, str] | None  # the name of the column of names, and where it is stored

    @classmethod
    def of(cls, path: Path, dataset: str | None) -> _Matrix:
        """Read what there is to know of a matrix, and nothing of its entries."""
        with open_store(path) as store:
            found, name = find_matrix(store, dataset, path)
            source = StoredSource(found)
            annotated = not hasattr(store, "shape") and is_annotated(store) and name.split("/")[0] in ("X", "layers")
            columns = list(map(_text, _index(store["var"])[:])) if annotated else None
            index = str(store["obs"].attrs.get("_index", "_index")) if annotated else ""
            rows = ("obs_names" if index == "_index" else index, f"obs/{index}") if annotated else None
            shape = (int(source.n_rows or 0), source.n_features)
            return cls(path, name, shape, source.dtype, columns, rows)

    def blocks(self, block_rows: int | None) -> Iterator[Any]:
        """Yield the rows as arrays, or CSR matrices."""
        with open_store(self.path) as store:
            source = StoredSource(find_matrix(store, self.dataset or None, self.path)[0], block_rows=block_rows)
            yield from source.rows()


def _index(table: Any) -> Any:
    return table[str(table.attrs.get("_index", "_index"))]


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class StoredReader(Reader):
    """Columns of a matrix in HDF5 or Zarr files; those of AnnData are named, and so are its rows.

    dataset: the name of the matrix in the file, such as "layers/counts"; None for X of AnnData, or the only one.
    """

    options: ClassVar[frozenset[str]] = frozenset({"dataset"})

    def __init__(self, paths: tuple[Path, ...], *, dataset: str | None = None, block_rows: int | None = None) -> None:
        self._block_rows = block_rows
        self._matrices = [_Matrix.of(path, dataset) for path in paths]
        first = self._matrices[0]
        self.named = first.columns is not None
        names: list[Any] = list(range(first.shape[1])) if first.columns is None else first.columns
        columns = [list(range(each.shape[1])) if each.columns is None else each.columns for each in self._matrices]
        same_columns(paths, [list(map(str, each)) for each in columns])
        fields = [Field(name, ColumnKind.NUMBER) for name in names]
        if first.rows is not None:
            self.row_names = first.rows[0] if first.rows[0] not in names else f"{first.rows[0]}_"
            fields.insert(0, Field(self.row_names, ColumnKind.TEXT))
        self.fields = tuple(fields)
        single = all(working_dtype(each.dtype) == np.float32 for each in self._matrices)
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def count(self) -> int:
        """Return the number of rows, by the shapes of the matrices."""
        return sum(matrix.shape[0] for matrix in self._matrices)

    def blocks(self) -> Iterator[Any]:
        """Yield arrays, or CSR matrices where the matrix is sparse."""
        if self.row_names in self.names:
            what, columns = f"column {self.row_names!r} holds the names of the rows", [str(self.row_names)]
            raise DataError(what, columns=columns, fix="leave it out with {drop}", settings={"drop": columns})
        for matrix in self._matrices:
            own: Sequence[Any] = range(matrix.shape[1]) if matrix.columns is None else matrix.columns
            places = {name: place for place, name in enumerate(own)}
            wanted = [places[name] for name in self.names]
            whole = wanted == list(range(matrix.shape[1]))
            for rows in matrix.blocks(self._block_rows):
                yield rows.astype(self.dtype, copy=False) if whole else rows[:, wanted].astype(self.dtype, copy=False)

    def frames(self) -> Iterator[DataFrame]:
        """Yield the rows as frames of numbers, the names of the rows first where they are asked for."""
        names = [name for name in self.names if name != self.row_names]
        start = 0
        if not names:
            yield pl.DataFrame({str(self.row_names): self.column(self.row_names)})
            return
        texts = self.column(self.row_names) if self.row_names in self.names else None
        for rows in self.only([self.names.index(name) for name in names]).blocks():
            values = dense(rows) if is_sparse(rows) else rows
            frame = pl.DataFrame(np.asarray(values), schema=list(map(str, names)), nan_to_null=True)
            stop = start + len(frame)
            yield frame if texts is None else frame.insert_column(0, pl.Series(str(self.row_names), texts[start:stop]))
            start = stop

    def column(self, name: Any) -> Array:
        """Return one whole column (n,) of numbers, or the names of the rows."""
        if name != self.row_names or name is None:
            parts = self.only([self.names.index(name)]).blocks()
            return np.concatenate([np.asarray(dense(rows) if is_sparse(rows) else rows)[:, 0] for rows in parts])
        texts: list[str] = []
        for matrix in self._matrices:
            assert matrix.rows is not None
            with open_store(matrix.path) as store:
                texts += map(_text, store[matrix.rows[1]][:])
        return np.array(texts)
