"""How naive Bayes is fitted, and what is said about a fit: shared by its families."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.naive.model import Conditional
from eigenlens.data.column_kinds import Field

__all__ = ["UNKNOWN", "Factor", "NaiveOptions"]


def _smooth(n: Array, added: Array) -> Array:
    """Return the probability of one more category without rows: a / (n + Σ a + a), a the mean smoothing."""
    a = float(added.mean()) if added.size else 1.0
    total = n + added.sum() + a
    return np.asarray(np.divide(a, total, out=np.zeros_like(total), where=total > 0.0))


UNKNOWN: dict[str, Callable[[Array, Array], Array]] = {
    "smooth": _smooth,
    "ignore": lambda n, added: np.ones(len(n)),
    "error": lambda n, added: np.full(len(n), np.nan),
}
"""What a category that was not met counts in each class, from the rows (C,) of each class and the smoothing (L,)."""


@dataclass(frozen=True, eq=False)
class NaiveOptions:
    """Options of all families.

    Attributes:
        smoothing: rows added to each category, or by column name: a number, or one a category {category: number}.
        unknown: what a category that was not met is: "smooth", "ignore" or "error".
        floor: the least variance in a class, as a share of the column's variance over all rows.
        added_variance: added to every variance, or by column name.
        bandwidth: rule of kernel densities, a name or a function, or a number.
        max_components: the most Gaussians of a mixture; BIC chooses.
    """

    smoothing: float | Mapping[Any, Any] = 1.0
    unknown: str = "smooth"
    floor: float = 1e-9
    added_variance: float | Mapping[Any, float] = 0.0
    bandwidth: Any = "john-langley"
    max_components: int = 4

    def smoothing_of(self, name: Any, categories: tuple[Any, ...]) -> Array:
        """Rows (L,) added to each category of a column."""
        given = self.smoothing.get(name, 1.0) if isinstance(self.smoothing, Mapping) else self.smoothing
        if isinstance(given, Mapping):
            return np.array([float(given.get(category, 0.0)) for category in categories])
        return np.full(len(categories), float(given))

    def unknown_of(self, n: Array, added: Array) -> Array:
        """Return the factor (C,) of an unknown category, by the rows (C,) and the smoothing (L,) of the known ones."""
        return UNKNOWN[self.unknown](n, added)

    def added_to(self, fields: tuple[Field, ...]) -> Array:
        """What is added to the variances (g,) of columns."""
        given = self.added_variance
        if isinstance(given, Mapping):
            return np.array([float(given.get(column.name, 0.0)) for column in fields])
        return np.full(len(fields), float(given))


class Factor(Protocol):
    """One family of columns: labelled rows to statistics that merge, and these to densities of each class.

    Attributes:
        takes_text: whether columns of text may have this family.
        keeps_rows: whether the statistics are the rows themselves, so that files and Dask arrays do not fit in memory.
    """

    takes_text: bool
    keeps_rows: bool

    def summarise(self, rows: Any, columns: Array, y: Array, weight: Array | None, C: int) -> Any:
        """The statistics of columns (g,) of a block whose rows have the classes y (b,) int32; they merge with `+`."""
        ...

    def estimate(self, statistics: Any, fields: tuple[Field, ...], options: NaiveOptions) -> Conditional:
        """The densities of the g columns in each class."""
        ...

    def pack(self, statistics: Any, conditional: Any) -> tuple[dict[str, Array], Any]:
        """Arrays, and values for a header, that hold all of it."""
        ...

    def unpack(
        self, arrays: Mapping[str, Array], header: Any, fields: tuple[Field, ...], options: NaiveOptions
    ) -> tuple[Any, Conditional]:
        """The statistics and the densities of `pack`."""
        ...
