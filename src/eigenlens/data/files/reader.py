"""The protocol of a file format: a new format is one subclass of `Reader` and one entry in `FORMATS`."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.column_kinds import Field
from eigenlens.data.files.polars import import_polars

if TYPE_CHECKING:
    from polars import DataFrame

    from eigenlens.data.files.dialect import Dialect

__all__ = ["Reader"]


class Reader(ABC):
    """Files of one format, made as `reader(paths, block_rows=…)`, which reads what is needed to set `fields`.

    A subclass implements `blocks`; what else it knows better than the defaults here, it overrides.

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
        """Return a reader of some of the columns, by their places among `fields`."""
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
        pl = import_polars()
        names = list(map(str, self.names))
        return (pl.DataFrame(np.asarray(rows), schema=names, nan_to_null=True) for rows in self.blocks())

    def column(self, name: Any) -> Array:
        """Return one whole column (n,), of numbers or text."""
        place = self.names.index(name)
        return np.concatenate([np.asarray(rows)[:, 0] for rows in self.only([place]).blocks()])
