"""Rows kept for columns of naive Bayes whose families need the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.families.per_class_density import DensityPerClass
from eigenlens.data.column_kinds import Field
from eigenlens.data.table import numbers_of
from eigenlens.errors import DataError
from eigenlens.resources import single_threaded_map, thread_count

__all__ = ["ClassRows", "KeptRowsFactor", "check_values", "fit_per_class"]


@dataclass(frozen=True, eq=False)
class ClassRows:
    """Columns of labelled rows that count; halves merge to the whole.

    Attributes:
        values: (n, g), NaN where missing. y: (n,) classes. weight: (n,). classes: C.
    """

    values: Array
    y: Array
    weight: Array
    classes: int

    @classmethod
    def of(cls, values: Array, y: Array, weight: Array | None, C: int) -> Self:
        """The rows of a block that have a weight."""
        kept = slice(None) if weight is None or np.all(weight > 0.0) else np.flatnonzero(weight > 0.0)
        w = np.ones(len(y)) if weight is None else weight
        return cls(np.array(values[kept], dtype=np.float64), y[kept], w[kept], C)

    def __add__(self, other: Self) -> Self:
        pairs = ((self.values, other.values), (self.y, other.y), (self.weight, other.weight))
        values, y, weight = (np.concatenate(pair) for pair in pairs)
        return type(self)(values, y, weight, self.classes)

    def column(self, j: int, c: int | None = None) -> tuple[Array, Array]:
        """The values that are there of a column, in a class or in all, and their weights."""
        x = self.values[:, j]
        kept = ~np.isnan(x) if c is None else ~np.isnan(x) & (self.y == c)
        return x[kept], self.weight[kept]

    def packed(self) -> dict[str, Array]:
        """The rows by name."""
        return {"values": self.values, "y": self.y, "weight": self.weight}

    @classmethod
    def unpacked(cls, arrays: Mapping[str, Array], C: int) -> Self:
        """The rows of `packed`."""
        return cls(arrays["values"], arrays["y"], arrays["weight"], C)


class KeptRowsFactor:
    """What families that keep the rows of their columns share."""

    takes_text = False
    keeps_rows = True

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> ClassRows:
        """The rows."""
        return ClassRows.of(numbers_of(rows, columns), y, weight, C)


def fit_per_class(statistics: ClassRows, fields: tuple[Field, ...], fit: Callable[..., Any]) -> DensityPerClass:
    """`fit` of the rows of each class and column; a class without rows there is given none, and all of the column."""
    check_values(statistics, fields, np.isinf, "infinity")
    everywhere = [statistics.column(j) for j in range(len(fields))]
    for field, (x, _) in zip(fields, everywhere, strict=True):
        if not len(x):
            raise DataError(f"column {field.name!r} has no entry at all, so it has no density: leave it out.")
    pairs = [(j, c) for j in range(len(fields)) for c in range(statistics.classes)]
    with single_threaded_map(thread_count()) as each:
        found = list(each(lambda pair: fit(*statistics.column(*pair), everywhere[pair[0]]), pairs))
    C = statistics.classes
    return DensityPerClass(tuple(tuple(found[j * C : (j + 1) * C]) for j in range(len(fields))))


def check_values(statistics: ClassRows, fields: tuple[Field, ...], test: Callable[[Array], Array], what: str) -> None:
    """Raise where a value of a column does not pass: `what` it is."""
    bad = np.flatnonzero(test(statistics.values).any(axis=0))
    if bad.size:
        raise DataError(
            f"Input X contains {what} in column {fields[bad[0]].name!r}; replace it by NaN, which is a missing entry."
        )
