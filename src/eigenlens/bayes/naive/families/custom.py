"""The user's own families as columns of naive Bayes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.per_class_density import DensityPerClass, column_values, missing_rows
from eigenlens.bayes.naive.options import NaiveOptions
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import Block
from eigenlens.densities.base import Family
from eigenlens.errors import DataError, OptionError

__all__ = ["ClassParts", "FamilyFactor"]


@dataclass(frozen=True, eq=False)
class ClassParts:
    """The statistics of each class (C,), None for one without rows; halves merge to the whole."""

    parts: tuple[Any, ...]

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.parts, other.parts, strict=True)
        return type(self)(tuple(b if a is None else a if b is None else a + b for a, b in pairs))


@dataclass(frozen=True)
class FamilyFactor:
    """A column whose density in each class is of a family: anything with `summarise` and `estimate`."""

    family: Family[Any]
    takes_text = True
    keeps_rows = False

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassParts:
        """The family's statistics of the entries that are there, class by class."""
        values = column_values(rows, int(columns[0]))
        seen = ~missing_rows(values) & (True if weight is None else weight > 0.0)
        return ClassParts(tuple(self._class(values, weight, seen & (y == c)) for c in range(C)))

    def _class(self, values: Array, weight: Array | None, members: Array) -> Any:
        if not members.any():
            return None
        return self.family.summarise(Block(values[members], None if weight is None else weight[members]))

    def estimate(self, statistics: ClassParts, fields: tuple[Field, ...], options: NaiveOptions) -> DensityPerClass:
        """A member for each class; one without entries has that of all."""
        met = [part for part in statistics.parts if part is not None]
        if not met:
            raise DataError(f"column {fields[0].name!r} has no entry at all, so it has no density: leave it out.")
        everywhere = reduce(add, met) if len(met) < len(statistics.parts) else None
        parts = (everywhere if part is None else part for part in statistics.parts)
        return DensityPerClass((tuple(self.family.estimate(part) for part in parts),))

    def pack(self, statistics: ClassParts, conditional: DensityPerClass) -> tuple[dict[str, Array], Any]:
        """Refused: what a family of the user's own is made of is not known here."""
        raise OptionError(
            f"features holds {self.family!r}, a family of your own, which a model file cannot hold; use a name."
        )

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions
    ) -> tuple[ClassParts, DensityPerClass]:
        """Never written, so never read."""
        raise OptionError("a family of the user's own is in no model file.")
