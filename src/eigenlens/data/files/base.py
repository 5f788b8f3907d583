"""The base of every format of files: the protocol of a reader, the choice of its columns, and the use of Polars.

A new format is one subclass of `Reader` and one entry in `FORMATS`.
"""

from __future__ import annotations

import copy
import errno
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.data.column_kinds import Field
from eigenlens.errors import DataError, EigenlensError, MissingExtra

if TYPE_CHECKING:
    from polars import DataFrame, Series

    from eigenlens.data.files.decision import Decision
    from eigenlens.data.files.dialect import Dialect


class Reader(ABC):
    """A reader of files of one format: `reader(paths, block_rows=…)` reads just enough to set `fields`.

    A subclass implements `blocks`, and overrides the defaults that it can improve on.

    Attributes:
        fields: the columns that are read, with their kinds; at first all columns of the files.
        dtype: float32 or float64, the type of every block.
        named: whether columns have names; else they are numbered from 0.
        dialect: how delimited text is written; None for other formats.
        options: the names of the options that the reader takes, as `scan` has them, besides `block_rows`.
        row_names: the column that names the rows, where the format says so, or None.
        copies: temporary files that are read, and what they are copies of.
        decisions: what was decided about the files, and their columns, without being asked for.
        levels: the lines of names of delimited text, cell by cell. units: those of columns, where the file has them.
    """

    fields: tuple[Field, ...]
    dtype: np.dtype[Any] = np.dtype(np.float64)
    named: bool = True
    options: ClassVar[frozenset[str]] = frozenset()
    row_names: Any = None
    copies: Mapping[Path, str] = MappingProxyType({})
    dialect: Dialect | None = None
    decisions: tuple[Decision, ...] = ()
    levels: Sequence[Sequence[str]] = ()
    units: Mapping[str, str] = MappingProxyType({})
    _block_rows: int | None = None

    @property
    def group_bytes(self) -> int:
        """The memory that the rows which the format decodes at once take, however small the blocks are."""
        return 0

    @abstractmethod
    def blocks(self) -> Iterator[Array]:
        """Yield the columns of `fields`, in that order, as arrays (b, d) of numbers; text is an error."""

    @property
    def names(self) -> tuple[Any, ...]:
        """The names of the columns that are read, or their numbers."""
        return tuple(field.name for field in self.fields)

    def only(self, columns: Sequence[int]) -> Self:
        """Return a reader of some of the columns, by their positions among `fields`."""
        other = copy.copy(self)
        other.fields = tuple(self.fields[j] for j in columns)
        return other

    def with_block_rows(self, block_rows: int) -> Self:
        """Return a reader of the same rows in blocks of at most this many, where the format is read by blocks."""
        other = copy.copy(self)
        other._block_rows = min(block_rows, self._block_rows or block_rows)
        return other

    def single_files(self) -> dict[Path, Self]:
        """Return a reader of each file, where another process can read its rows alone; else none."""
        return {}

    def row_ranges(self) -> list[tuple[int, Self]]:
        """Return readers of consecutive rows of a single file, each with its number of rows."""
        return [(self.count(), self)]

    @property
    def words(self) -> Mapping[str, str]:
        """The names of the formats of columns whose words are read as numbers."""
        return {}

    def with_categories(self) -> Self:
        """Return the same columns for a model that takes categories: words that were read as numbers are text."""
        return self

    def count(self) -> int:
        """Return the number of rows."""
        return sum(len(block) for block in self.blocks())

    def tables(self) -> Iterator[Any]:
        """Yield the same rows with text as categories and integers exact: arrays, or blocks of mixed columns."""
        yield from self.blocks()

    def frames(self) -> Iterator[DataFrame]:
        """Yield the same rows as Polars frames: numbers and text, null where an entry is missing."""
        names = list(map(str, self.names))
        return (pl.DataFrame(np.asarray(rows), schema=names, nan_to_null=True) for rows in self.blocks())

    def column(self, name: Any) -> Array:
        """Return one whole column (n,), of numbers or text."""
        place = self.names.index(name)
        return np.concatenate([np.asarray(rows)[:, 0] for rows in self.only([place]).blocks()])

    def column_frames(self, name: Any, block_rows: int) -> Iterator[DataFrame]:
        """Yield one column, some rows at a time, as frames of one type: that of `column`."""
        return self.only([self.names.index(name)]).with_block_rows(block_rows).frames()


Name = Any  # a column's name, or its position where columns have no names


@dataclass(frozen=True)
class Selection:
    """The columns that the user asks for (None: all), and those that are not features."""

    columns: Sequence[Name] | None = None
    drop: Sequence[Name] | None = None
    id: Name | None = None
    label: Name | None = None

    def by_name(self, available: Sequence[Name]) -> Selection:
        """Return the selection with every column by its name among the available ones.

        >>> Selection(columns=[0, "mass"]).by_name(["height", "mass"]).columns
        ['height', 'mass']
        """
        listed = {option: listed_columns(getattr(self, option), option, available) for option in ("columns", "drop")}
        roles = {option: _one_column(getattr(self, option), option, available) for option in ("id", "label")}
        return Selection(**listed, **roles)

    def features(self, available: Sequence[Name]) -> tuple[Name, ...]:
        """Return the features among the available columns, in the order asked for, or else in the file's.

        >>> Selection(drop=["b"], id="a").features(["a", "b", "c", "d"])
        ('c', 'd')
        """
        excluded = {*(self.drop or ()), self.id, self.label}
        chosen = tuple(name for name in (available if self.columns is None else self.columns) if name not in excluded)
        if not chosen:
            raise DataError(f"no column is left as a feature of the {len(available)} in the file", fix="drop fewer")
        return chosen


def _one_column(column: Name | None, option: str, available: Sequence[Name]) -> Name | None:
    return None if column is None else available[checks.column_number(option, column, len(available), available)]


def listed_columns(columns: Sequence[Name] | None, option: str, available: Sequence[Name]) -> list[Name] | None:
    """Return the names of the columns that an option gives by name or number, each once; None for None."""
    if columns is None:
        return None
    return [available[j] for j in checks.column_numbers(option, columns, len(available), available, low=0)]


class LazyPolars:
    """The module polars, imported at its first use; the error says how to install it."""

    def __getattr__(self, name: str) -> Any:
        try:
            import polars
        except ImportError as error:
            raise MissingExtra("polars", extra="tables", need="reading tables from files") from error
        return getattr(polars, name)


pl: Any = LazyPolars()


def fill(blocks: list[Array], frame: DataFrame, first: int = 0) -> None:
    """Copy the columns of a frame into columns `first`… of consecutive blocks; nulls become NaN."""
    for place, column in enumerate(frame.iter_columns(), first):
        values = column.to_numpy()
        start = 0
        for block in blocks:
            block[:, place] = values[start : start + len(block)]
            start += len(block)


TEXT_ROWS = 1 << 15


def as_array(column: Series) -> Array:
    """Return a column for the user: numbers unchanged, text as NumPy strings, or objects with None where missing."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column.to_numpy()
    if column.null_count():
        return encode(column).values()
    text = column.cast(pl.String)
    longest = int(np.max(text.str.len_chars().to_numpy(), initial=1))
    found = np.empty(len(text), dtype=f"U{longest}")
    # A Python string takes several times the memory of its letters, so only some of them exist at once.
    for start in range(0, len(text), TEXT_ROWS):
        found[start : start + TEXT_ROWS] = text[start : start + TEXT_ROWS].to_list()
    return found


def join_columns(pieces: Iterable[Array]) -> Array:
    """Return one column of its pieces, of which no second copy ever exists; long text that repeats becomes objects.

    >>> join_columns(iter([np.array(["a"]), np.array(["bb", "c"])]))
    array(['a', 'bb', 'c'], dtype='<U2')
    """
    kept, size = list[Array](), 0
    for piece in pieces:
        size += piece.nbytes * (piece.dtype.kind == "U")
        kept.append(_share_text(piece) if size > TEXT_BYTES else piece)
    kinds = {piece.dtype for piece in kept}
    objects = any(kind.kind == "O" for kind in kinds)
    end = sum(map(len, kept))
    found = np.empty(end, dtype=object if objects else np.result_type(*kinds))
    while kept:
        piece = kept.pop()
        found[end - len(piece) : end] = encode(piece).values() if objects and piece.dtype.kind == "U" else piece
        end -= len(piece)
    return found


TEXT_BYTES = 16 << 20
"""The size of a column of text from which on its categories, if they are few, are one object each."""


def _share_text(piece: Array) -> Array:
    """Return text as objects, one for each category rather than letters for each row, if that takes less memory."""
    if piece.dtype.kind != "U":
        return piece
    found = encode(piece)
    return found.values() if 8 * len(found.categories) < len(piece) else piece


def same_columns(paths: Sequence[Path], columns: list[list[str]]) -> None:
    """Raise unless every file has the columns of the first, in any order."""
    for path, names in zip(paths, columns, strict=True):
        odd = sorted(set(names) ^ set(columns[0]), key=[*names, *columns[0]].index)
        if odd:
            what = f"'{path}' and '{paths[0]}' have different columns ({odd[0]!r} is in one only)"
            raise DataError(what, columns=odd, fix="files that are read together need the same columns")


def unreadable(path: Path, error: BaseException) -> DataError:
    """Return the error for a file that a library cannot read, with the first line of its message."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return DataError(f"'{path}' cannot be read ({reason.rstrip('.')})", fix="write it again, or check its suffix")


@contextmanager
def reject_damaged(paths: Sequence[Path]) -> Iterator[None]:
    """Raise DataError for whatever a library raises in the block, which reads a file: it is then not of its format.

    Parsers raise anything when they meet bytes that no program has written: errors of indices, recursion, tokens, and
    the panics of Rust, which are not even subclasses of `Exception`.
    """
    try:
        yield
    except (EigenlensError, ImportError, MemoryError, Warning):
        raise
    except BaseException as error:
        # An invalid argument is a place in a file that a damaged archive names, and that does not exist.
        by_system = isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)
        interrupt = not isinstance(error, Exception) and type(error).__name__ != "PanicException"
        if by_system or interrupt:  # the end of a generator is such an interrupt too
            raise
        raise unreadable(paths[0], error) from error
