"""Rows of .npy files by plain reads: a memory map would count every page it has touched as resident."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from eigenlens.arrays import Array, working_dtype
from eigenlens.data.column_kinds import ColumnKind, Field
from eigenlens.data.files.base import Reader
from eigenlens.data.source import FILE_BLOCK_BYTES
from eigenlens.errors import DataError


@dataclass(frozen=True)
class Header:
    """The header of a .npy file: the shape, order and type of its array, and where it starts."""

    path: Path
    shape: tuple[int, int]
    fortran: bool
    dtype: np.dtype[Any]
    offset: int

    @classmethod
    def of(cls, path: Path) -> Header:
        """Read and check the header; the array must be numeric, two-dimensional and complete."""
        with path.open("rb") as file:
            shape, fortran, dtype = _parse(path, file)
            header = cls(path, shape, fortran, dtype, file.tell())
        need, have = header.offset + shape[0] * shape[1] * dtype.itemsize, path.stat().st_size
        if have < need:
            what = f"'{path}' is truncated: {have:,} bytes of {need:,}"
            raise DataError(what, fix="copy or write it again")
        return header


def _parse(path: Path, file: BinaryIO) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    try:
        # Version 3 differs only in the names of record fields, and records are rejected below anyway.
        shape, fortran, dtype = read[np.lib.format.read_magic(file)](file)
    except (ValueError, KeyError, EOFError) as error:
        what = f"'{path}' is not a .npy file of plain numbers"
        raise DataError(what, fix="write it with numpy.save") from error
    if dtype.kind not in "fiub":
        way = "astype(float)" if dtype.names is None else "numpy.lib.recfunctions.structured_to_unstructured"
        raise DataError(f"'{path}' holds {dtype} entries; numbers are needed", fix=f"convert it with {way}")
    if len(shape) != 2:
        hint = "reshape(len(X), -1)" if len(shape) > 2 else "reshape(-1, 1)"
        axes = f"{len(shape)} dimension{'s' * (len(shape) != 1)}"
        raise DataError(f"'{path}' has {axes} (shape {shape}); 2 are needed", fix=f"save X.{hint}")
    return (int(shape[0]), int(shape[1])), bool(fortran), dtype


class NpyReader(Reader):
    """Columns of .npy files with equal numbers of columns, in either order."""

    named = False

    def __init__(self, paths: tuple[Path, ...], *, block_rows: int | None = None) -> None:
        self.headers = [Header.of(path) for path in paths]
        width = self.headers[0].shape[1]
        for header in self.headers:
            if header.shape[1] != width:
                what = f"'{header.path}' has {header.shape[1]} columns, '{paths[0]}' has {width}"
                raise DataError(what, fix="files that are read together need the same columns")
        single = all(working_dtype(header.dtype.newbyteorder("=")) == np.float32 for header in self.headers)
        self.dtype = np.dtype(np.float32 if single else np.float64)
        self._block_rows = block_rows
        boolean = all(header.dtype.kind == "b" for header in self.headers)
        kind = ColumnKind.BOOLEAN if boolean else ColumnKind.INTEGER if self._whole else ColumnKind.NUMBER
        self.fields = tuple(Field(place, kind) for place in range(width))

    @property
    def _whole(self) -> bool:
        """Whether all files hold integers of one type, which floats may round."""
        first = self.headers[0].dtype
        return first.kind in "iu" and first.isnative and all(header.dtype == first for header in self.headers)

    def count(self) -> int:
        """Return the number of rows, by the headers."""
        return sum(header.shape[0] for header in self.headers)

    def single_files(self) -> dict[Path, Self]:
        """Return a reader of each file."""
        return {header.path: self._of(header) for header in self.headers}

    def row_ranges(self) -> list[tuple[int, Self]]:
        """Return readers of the blocks of a single file; one whose columns follow each other is read as a whole."""
        (header,) = self.headers
        n, d = header.shape
        step = n if header.fortran else self._block_rows or max(1, FILE_BLOCK_BYTES // (d * header.dtype.itemsize))
        ranges = [(start, min(step, n - start)) for start in range(0, n, max(1, step))]
        starts = [header.offset + start * d * header.dtype.itemsize for start, _ in ranges]
        return [
            (b, self._of(replace(header, shape=(b, d), offset=o))) for (_, b), o in zip(ranges, starts, strict=True)
        ]

    def _of(self, header: Header) -> Self:
        other = copy.copy(self)
        other.headers = [header]
        return other

    def blocks(self) -> Iterator[Array]:
        """Yield the columns; C-ordered files give C-ordered blocks, others Fortran-ordered ones."""
        yield from self._read(self.names, self.dtype)

    def tables(self) -> Iterator[Array]:
        """Yield the same blocks, integers unchanged."""
        return self._read(self.names, None if self._whole else self.dtype)

    def column(self, name: int) -> Array:
        """Return one whole column (n,) in the file's own dtype."""
        return np.concatenate([block[:, 0] for block in self._read((name,), None)])

    def _read(self, positions: tuple[int, ...], dtype: np.dtype[Any] | None) -> Iterator[Array]:
        memory = _Memory()
        for header in self.headers:
            pieces = _by_columns if header.fortran else _by_rows
            width = len(positions) if header.fortran else header.shape[1]
            step = self._block_rows or max(1, FILE_BLOCK_BYTES // max(1, width * header.dtype.itemsize))
            with header.path.open("rb", buffering=0) as file:
                for start in range(0, header.shape[0], step):
                    rows = pieces(file, header, start, min(step, header.shape[0] - start), positions, memory)
                    yield rows if dtype is None else np.asarray(rows, dtype=dtype)


def _references(arrays: list[Array], place: int) -> int:
    """Return the number of references to an array in a list; its views count."""
    return sys.getrefcount(arrays[place])


UNUSED = _references([np.empty(0)], 0)


class _Memory:
    """Arrays for blocks, reused once nothing refers to them: fresh memory costs as much as reading from a cache."""

    def __init__(self) -> None:
        self._kept: list[Array] = []

    def take(self, shape: tuple[int, int], dtype: np.dtype[Any], order: Any = "C") -> Array:
        """Return an uninitialised array for the rows of a block."""
        size = shape[0] * shape[1] * dtype.itemsize
        place = next((i for i in range(len(self._kept)) if _references(self._kept, i) == UNUSED), None)
        if place is None or self._kept[place].size < size:
            self._kept = [array for i, array in enumerate(self._kept) if i != place]
            self._kept.append(np.empty(size, dtype=np.uint8))
            place = -1
        return self._kept[place][:size].view(dtype).reshape(shape, order=order)


def _by_rows(file: Any, header: Header, start: int, count: int, positions: tuple[int, ...], memory: _Memory) -> Array:
    width = header.shape[1]
    rows = memory.take((count, width), header.dtype)
    _fill(file, header, start * width, rows)
    return rows if positions == tuple(range(width)) else rows[:, list(positions)]


def _by_columns(
    file: Any, header: Header, start: int, count: int, positions: tuple[int, ...], memory: _Memory
) -> Array:
    rows = memory.take((count, len(positions)), header.dtype, order="F")
    for place, position in enumerate(positions):
        _fill(file, header, position * header.shape[0] + start, rows[:, place])
    return rows


def _fill(file: Any, header: Header, entry: int, target: Array) -> None:
    """Fill a contiguous array with the file's entries from `entry` on."""
    file.seek(header.offset + entry * header.dtype.itemsize)
    waiting = target.reshape(-1).view(np.uint8).data
    while waiting:  # one read call may return less than was asked for, and at most 2 GB
        got = file.readinto(waiting)
        if not got:
            raise DataError(f"'{header.path}' ended early while it was read", fix="copy or write it again")
        waiting = waiting[got:]
