"""A family of densities, the library's or the user's own, as a column or as a block of columns of naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import merge_optional
from eigenlens.bayes.naive.families.base import Factor, NaiveOptions, no_values_error
from eigenlens.bayes.naive.families.per_class_density import (
    DensityPerClass,
    JointDensityPerClass,
    block_values,
    missing_entries,
)
from eigenlens.data.column_kinds import Field
from eigenlens.data.source import Block
from eigenlens.densities.base import Density, Family
from eigenlens.errors import MissingValues, OptionError
from eigenlens.stats.counts import Counts


@dataclass(frozen=True, eq=False)
class ClassStatistics:
    """A family's statistics of each column (g,) and class (C,), None for a class without entries; they merge."""

    parts: tuple[tuple[Any, ...], ...]

    def __add__(self, other: Self) -> Self:
        pairs = zip(self.parts, other.parts, strict=True)
        return type(self)(tuple(tuple(map(merge_optional, a, b)) for a, b in pairs))


@dataclass(frozen=True)
class FamilyFactor(Factor):
    """Columns whose density in each class is a member of a family.

    Attributes:
        family: the library's or the user's own. joint: whether the columns have one density together.
    """

    family: Family[Any]
    joint: bool = False
    takes_text = True

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassStatistics:
        """Return the family's statistics of the observed entries of each column, or of the block, and class."""
        parts = [columns] if self.joint else columns[:, None]
        return ClassStatistics(tuple(self._part(block_values(rows, part), y, weight, C) for part in parts))

    def _part(self, values: Array, y: Array, weight: Array | None, C: int) -> tuple[Any, ...]:
        missing, counted = missing_entries(values), np.ones(len(y), dtype=bool) if weight is None else weight > 0.0
        observed = counted & ~missing.all(axis=1)
        incomplete = int(np.count_nonzero(observed & missing.any(axis=1)))
        if incomplete:
            what = f"{incomplete} rows have some entries of a block missing, to which {self.family!r} cannot be fitted"
            raise MissingValues(what, fix="leave those rows out, or give each column a family of its own")
        return tuple(self._class(values, weight, observed & (y == c)) for c in range(C))

    def _class(self, values: Array, weight: Array | None, members: Array) -> Any:
        if not members.any():
            return None
        try:
            return self.family.summarise(Block(values[members], None if weight is None else weight[members]))
        except (TypeError, ValueError) as error:
            if values.dtype != object or getattr(error, "argument", "block") != "block":
                raise  # an error of the family about something else
            what = f"gives a column of text the family {self.family!r}, which takes none: {error}"
            raise OptionError(what, argument="features", fix="use CategoricalFamily(), or leave it out") from error

    def estimate(
        self, statistics: ClassStatistics, fields: tuple[Field, ...], options: NaiveOptions
    ) -> DensityPerClass:
        """Return a member of the family per column and class; a class without entries has that of all rows."""
        kind = JointDensityPerClass if self.joint else DensityPerClass
        return kind(tuple(map(self._densities, statistics.parts, fields)))

    def _densities(self, parts: tuple[Any, ...], field: Field) -> tuple[Density, ...]:
        met = [part for part in parts if part is not None]
        if not met:
            raise no_values_error(field.name)
        everywhere = reduce(add, met) if len(met) < len(parts) else None
        return tuple(self.family.estimate(everywhere if part is None else part) for part in parts)

    def category_counts(self, statistics: ClassStatistics, conditional: DensityPerClass, place: int) -> Array | None:
        """Return Σ w (C, L) of each category of a column whose statistics are counts of categories; else None."""
        parts, known = statistics.parts[0 if self.joint else place], conditional.categories_of(place)
        if not known or not all(part is None or isinstance(part, Counts) for part in parts):
            return None
        return np.array([np.zeros(len(known)) if part is None else part.within(known).weight for part in parts])

    def pack(self, statistics: ClassStatistics, conditional: DensityPerClass) -> tuple[dict[str, Array], Any]:
        """Raise an error, since the state of a user-defined family cannot be stored."""
        what = f"holds {self.family!r}, a family of your own, which a model file cannot hold"
        raise OptionError(what, argument="features", fix="use the name of a family")
