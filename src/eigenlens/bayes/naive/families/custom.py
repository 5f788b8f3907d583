"""The user's own family, anything with `summarise` and `estimate`, as a column of naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import merge_optional
from eigenlens.bayes.naive.families.base import Factor, NaiveOptions, no_values_error
from eigenlens.bayes.naive.families.per_class_density import DensityPerClass, column_values, missing_rows
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import Block
from eigenlens.densities.base import Density, Family
from eigenlens.errors import OptionError


@dataclass(frozen=True, eq=False)
class ClassStatistics:
    """A family's statistics of each column (g,) and class (C,), None for a class without entries; they merge."""

    parts: tuple[tuple[Any, ...], ...]

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.parts, other.parts, strict=True)
        return type(self)(tuple(tuple(map(merge_optional, a, b)) for a, b in pairs))


@dataclass(frozen=True)
class FamilyFactor(Factor):
    """Columns whose density in each class is a member of the user's family."""

    family: Family[Any]
    takes_text = True

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassStatistics:
        """Return the family's statistics of the observed entries of each column and class."""
        return ClassStatistics(tuple(self._column(column_values(rows, int(j)), y, weight, C) for j in columns))

    def _column(self, values: Array, y: Array, weight: Array | None, C: int) -> tuple[Any, ...]:
        observed = ~missing_rows(values) & (True if weight is None else weight > 0.0)
        return tuple(self._class(values, weight, observed & (y == c)) for c in range(C))

    def _class(self, values: Array, weight: Array | None, members: Array) -> Any:
        if not members.any():
            return None
        return self.family.summarise(Block(values[members], None if weight is None else weight[members]))

    def estimate(
        self, statistics: ClassStatistics, fields: tuple[Field, ...], options: NaiveOptions
    ) -> DensityPerClass:
        """Return a member of the family per column and class; a class without entries has that of all rows."""
        return DensityPerClass(tuple(map(self._densities, statistics.parts, fields)))

    def _densities(self, parts: tuple[Any, ...], field: Field) -> tuple[Density, ...]:
        met = [part for part in parts if part is not None]
        if not met:
            raise no_values_error(field.name)
        everywhere = reduce(add, met) if len(met) < len(parts) else None
        return tuple(self.family.estimate(everywhere if part is None else part) for part in parts)

    def pack(self, statistics: ClassStatistics, conditional: DensityPerClass) -> tuple[dict[str, Array], Any]:
        """Raise an error, since the state of a user-defined family cannot be stored."""
        what = f"holds {self.family!r}, a family of your own, which a model file cannot hold"
        raise OptionError(what, argument="features", fix="use the name of a family")
