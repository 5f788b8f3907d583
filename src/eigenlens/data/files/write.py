"""Tables written to files block by block, in memory that does not depend on their number of rows.

The modules that take time to load are imported where they are used: the command line lists the formats in its help.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import queue
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from eigenlens.errors import OptionError


class TableWriter(ABC):
    """A file that takes named columns (b,), some rows at a time; the first rows decide the types of all.

    As a context it is complete at the end of the block; where the block raises, what was written is of no use.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @abstractmethod
    def write(self, columns: Mapping[str, Any]) -> None:
        """Append some rows to the file."""

    @abstractmethod
    def close(self, *, complete: bool) -> None:
        """Complete the file, or give it up."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.close(complete=kind is None)


class DelimitedWriter(TableWriter):
    """Text with separators, the names of the columns in its first line."""

    def __init__(self, path: Path, separator: str = ",") -> None:
        super().__init__(path)
        self._separator, self._file, self._started = separator, path.open("wb"), False

    def write(self, columns: Mapping[str, Any]) -> None:
        """Append lines; missing entries are empty cells."""
        frame = as_frame(columns)
        frame.write_csv(self._file, separator=self._separator, include_header=not self._started)
        self._started = True

    def close(self, *, complete: bool) -> None:
        """Close the file."""
        self._file.close()


class PolarsWriter(TableWriter):
    """Parquet and Arrow files, written by Polars in a thread of its own, which takes one block at a time."""

    def __init__(self, path: Path, sink: str) -> None:
        super().__init__(path)
        self._sink, self._waiting = sink, queue.Queue[Any](maxsize=1)
        self._thread: threading.Thread | None = None
        self._schema: Any = None
        self._error: BaseException | None = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows, once those before have been taken."""
        frame = as_frame(columns)
        if self._thread is None:
            self._schema = frame.schema
            self._thread = threading.Thread(target=self._write_all, daemon=True)
            self._thread.start()
        self._put(frame.cast(self._schema))

    def close(self, *, complete: bool) -> None:
        """Wait for the end of the file, or end its thread."""
        if self._thread is None:
            return
        with contextlib.suppress(OSError) if not complete else contextlib.nullcontext():
            self._put(None if complete else GivenUp())
        self._thread.join()
        if complete and self._error is not None:
            raise system_error(self._error)

    def _put(self, item: Any) -> None:
        assert self._thread is not None
        while self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._waiting.put(item, timeout=0.1)
                return
        if self._error is not None:
            raise system_error(self._error)

    def _write_all(self) -> None:
        from polars.io.plugins import register_io_source

        try:
            rows = register_io_source(lambda *_: self._blocks(), schema=self._schema)
            getattr(rows, self._sink)(self.path, engine="streaming")
        except BaseException as error:  # raised in the thread that writes the rows
            self._error = error

    def _blocks(self) -> Iterator[Any]:
        while (item := self._waiting.get()) is not None:
            if isinstance(item, GivenUp):
                raise item
            yield item


class GivenUp(Exception):
    """The rows ended with an error, so that the file is not needed any more."""


NPY_HEADER_BYTES = 128
"""The length of the header of a .npy file, which is written again once the number of rows is known."""


class NumpyWriter(TableWriter):
    """A .npy file of numbers, one row after the other."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = path.open("wb")
        self._file.write(bytes(NPY_HEADER_BYTES))
        self._rows, self._width = 0, 0
        self._dtype: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows; text is an error."""
        import numpy as np

        arrays = {name: np.asarray(values) for name, values in columns.items()}
        text = [name for name, array in arrays.items() if array.dtype.kind not in "fiub"]
        if text:
            fix = "write .parquet or .csv, or leave that column out"
            raise OptionError(f"the column '{text[0]}' is text, which .npy cannot hold", fix=fix)
        rows = np.column_stack(list(arrays.values()))
        self._dtype = self._dtype or rows.dtype
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).data)
        self._rows, self._width = self._rows + len(rows), rows.shape[1]

    def close(self, *, complete: bool) -> None:
        """Write the header."""
        from numpy.lib import format as npy

        with self._file:
            if complete and self._dtype is not None:
                self._file.seek(0)
                shape = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False}
                text = repr(shape | {"shape": (self._rows, self._width)}).encode("latin-1")
                start = npy.magic(1, 0) + (NPY_HEADER_BYTES - 10).to_bytes(2, "little")
                self._file.write(start + text.ljust(NPY_HEADER_BYTES - 11) + b"\n")


class JSONWriter(TableWriter):
    """A JSON object of columns, which are kept in memory until the end."""

    def __init__(self, path: Path, dump: Callable[[Any], str] | None = None) -> None:
        super().__init__(path)
        self._dump, self._blocks = dump or _plain_json, list[Any]()

    def write(self, columns: Mapping[str, Any]) -> None:
        """Keep the rows."""
        self._blocks.append(columns)

    def close(self, *, complete: bool) -> None:
        """Write all columns."""
        if complete:
            self.path.write_text(self._dump(join_blocks(self._blocks)) + "\n", encoding="utf-8")


WRITERS: dict[str, Callable[[Path], TableWriter]] = {
    ".csv": DelimitedWriter,
    ".tsv": partial(DelimitedWriter, separator="\t"),
    ".parquet": partial(PolarsWriter, sink="sink_parquet"),
    ".arrow": partial(PolarsWriter, sink="sink_ipc"),
    ".feather": partial(PolarsWriter, sink="sink_ipc"),
    ".npy": NumpyWriter,
    ".json": JSONWriter,
}
"""Writers of tables, by the suffixes of files."""


def join_blocks(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns of blocks of rows one below the other."""
    import numpy as np

    if len(blocks) == 1:
        return dict(blocks[0])
    return {name: np.concatenate([np.asarray(block[name]) for block in blocks]) for name in blocks[0]}


def _plain_json(columns: Mapping[str, Any]) -> str:
    return json.dumps(as_frame(columns).to_dict(as_series=False))


def as_frame(columns: Mapping[str, Any]) -> Any:
    """Return named columns as a Polars frame, NaN as null."""
    from eigenlens.data.files.base import pl

    frame = pl.DataFrame({name: _as_column(values) for name, values in columns.items()})
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def _as_column(values: Any) -> Any:
    """Return values as Polars takes them: a column of Polars itself keeps its type."""
    import numpy as np

    array = values if hasattr(values, "to_list") else np.asarray(values)
    return array.tolist() if isinstance(array, np.ndarray) and array.dtype.kind in "UO" else array


@contextlib.contextmanager
def raise_system_errors() -> Iterator[None]:
    """Raise the system's own error where a library wraps it: a full disk must be recognised as one."""
    try:
        yield
    except Exception as error:
        found = system_error(error)
        if found is error:
            raise
        raise found from error


def system_error(error: BaseException) -> BaseException:
    """Return the system's own error that a library wraps, or else the error itself."""
    code = re.search(r"os error (\d+)", str(error))  # Polars has it in the text only
    short = isinstance(error, OSError) and error.errno is None  # NumPy: fewer bytes were written than asked for
    if code is None and not short:
        return error
    number = errno.ENOSPC if code is None else int(code[1])
    return OSError(number, os.strerror(number))
