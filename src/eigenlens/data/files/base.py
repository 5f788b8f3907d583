"""The base of every format of files: the protocol of a reader, the choice of its columns, and the use of Polars.

A new format is one subclass of `Reader` and one entry in `FORMATS`.
"""

from __future__ import annotations

import copy
import difflib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.categories import encode
from eigenlens.data.column_kinds import Field
from eigenlens.errors import DataError, MissingExtra, OptionError

if TYPE_CHECKING:
    from polars import DataFrame, Series

    from eigenlens.data.files.dialect import Dialect


class Reader(ABC):
    """A reader of files of one format: `reader(paths, block_rows=…)` reads just enough to set `fields`.

    A subclass implements `blocks`, and overrides the defaults that it can improve on.

    Attributes:
        fields: the columns that are read, with their kinds; at first all columns of the files.
        dtype: float32 or float64, the type of every block.
        named: whether columns have names; else they are numbered from 0.
        dialect: how delimited text is written; None for other formats.
    """

    fields: tuple[Field, ...]
    dtype: np.dtype[Any] = np.dtype(np.float64)
    named: ClassVar[bool] = True
    dialect: Dialect | None = None

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


Name = Any  # a column's name, or its position where columns have no names


@dataclass(frozen=True)
class Selection:
    """The columns that the user asks for (None: all), and those that are not features."""

    columns: Sequence[Name] | None = None
    drop: Sequence[Name] | None = None
    id: Name | None = None
    label: Name | None = None

    def features(self, available: Sequence[Name]) -> tuple[Name, ...]:
        """Return the features among the available columns, in the order asked for, or else in the file's.

        >>> Selection(drop=["b"], id="a").features(["a", "b", "c", "d"])
        ('c', 'd')
        >>> Selection(columns=["hight"]).features(["height", "mass"])
        Traceback (most recent call last):
          ...
        eigenlens.errors.OptionError: columns='hight' is not a column of the file; near it: 'height'.
        """
        wanted = listed_columns(self.columns, "columns", available)
        dropped = listed_columns(self.drop, "drop", available)
        others = {option: name for option, name in (("id", self.id), ("label", self.label)) if name is not None}
        for option, name in others.items():
            _check_known(name, option, available)
        left = list(available) if self.columns is None else wanted
        excluded = {*dropped, *others.values()}
        chosen = tuple(name for name in left if name not in excluded)
        if not chosen:
            raise DataError(f"no column is left as a feature of the {len(available)} in the file", fix="drop fewer")
        return chosen


def listed_columns(names: Sequence[Name] | None, option: str, available: Sequence[Name]) -> list[Name]:
    """Return the columns that an option names, each once, all of them among the available ones."""
    listed = [] if names is None else [names] if isinstance(names, str | int) else list(names)
    known = available if isinstance(available, range) else set(available)
    for name in listed:
        if name not in known or isinstance(known, range):
            _check_known(name, option, available)
    repeated = [name for name, times in Counter(listed).items() if times > 1]
    if repeated:
        raise OptionError(f"names {repeated[0]!r} twice", argument=option, fix="name each column once")
    return listed


def _check_known(name: Hashable, option: str, available: Sequence[Name]) -> None:
    if isinstance(available, range):
        if not isinstance(name, int) or name not in available:
            bound = f"0 to {len(available) - 1}"
            what = f"must be a position from {bound}: .npy columns have no names"
            raise OptionError(what, argument=option, value=name)
    elif name not in available:
        near = difflib.get_close_matches(str(name), list(available), n=3, cutoff=0.5) or list(available)[:5]
        offer = ", ".join(map(repr, near))
        raise OptionError("is not a column of the file", argument=option, value=name, fix=f"near it: {offer}")


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


def as_array(column: Series) -> Array:
    """Return a column for the user: numbers unchanged, text as NumPy strings, or objects with None where missing."""
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column.to_numpy()
    encoded = encode(column)  # one string per category, not per row
    if np.all(encoded.codes >= 0):
        return np.array(encoded.categories, dtype=str)[encoded.codes]
    return encoded.values()


def same_columns(paths: Sequence[Path], columns: list[list[str]]) -> None:
    """Raise unless every file has the columns of the first, in any order."""
    for path, names in zip(paths, columns, strict=True):
        odd = sorted(set(names) ^ set(columns[0]), key=[*names, *columns[0]].index)
        if odd:
            what = f"'{path}' and '{paths[0]}' have different columns ({odd[0]!r} is in one only)"
            raise DataError(what, columns=odd, fix="files that are read together need the same columns")


def unreadable(path: Path, error: Exception) -> DataError:
    """Return the error for a file that a library cannot read, with the first line of its message."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return DataError(f"'{path}' cannot be read ({reason.rstrip('.')})", fix="write it again, or check its suffix")
