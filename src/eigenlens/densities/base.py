"""What a density and a family can do, and what they share: columns named by number, rows grouped by their gaps.

A class with the four methods of `Density` can be a mixture component, the density of a class or a naive Bayes factor;
one with the two of `Family` can be fitted to any Source in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Addable, Block
from eigenlens.errors import DataError, OptionError

__all__ = [
    "Columns",
    "Density",
    "Family",
    "as_rows",
    "column_numbers",
    "distinct_patterns",
    "known_values",
    "observed_patterns",
    "other_columns",
    "rows_by_pattern",
]

Columns = Sequence[int] | Array
"""Some columns by number, in the order wanted, each once."""

StatisticsT = TypeVar("StatisticsT", bound=Addable)


class Density(Protocol):
    """A density of rows x (d,). NaN, or None among levels, is a missing entry, and the density is that of what is left.

    So a row without entries has log density 0. Samples of discrete densities hold their levels.

    >>> from eigenlens.densities import Gaussian
    >>> density: Density = Gaussian.fit(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]]))
    >>> density.log_density([[1.0, np.nan]]), density.marginal([0]).log_density([1.0])
    (array([-0.7162]), array([-0.7162]))
    """

    def log_density(self, X: Array) -> Array:
        """ln p(x) (n,) of the rows X (n, d); for d = 1 also of X (n,)."""
        ...

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n draws (n, d)."""
        ...

    def marginal(self, columns: Columns) -> Density:
        """The density of these columns, in this order."""
        ...

    def condition(self, columns: Columns, values: Any) -> Density:
        """The density of the other columns, in their order, given these columns' values; a missing one says nothing."""
        ...


class Family(Protocol[StatisticsT]):
    """Densities with the same parameters: rows to statistics that merge, statistics to the member that fits them.

    >>> from eigenlens.data.source import Block
    >>> from eigenlens.densities import GaussianFamily
    >>> family, X = GaussianFamily(), np.array([[0.0], [1.0], [2.0], [5.0]])
    >>> halves = family.summarise(Block(X[:2])) + family.summarise(Block(X[2:]))
    >>> family.estimate(halves).mean
    array([2.])
    """

    def summarise(self, block: Block) -> StatisticsT:
        """The statistics of a block of rows; those of two blocks add to those of both."""
        ...

    def estimate(self, statistics: StatisticsT) -> Density:
        """The member of the family with these statistics."""
        ...


def as_rows(X: Any, d: int | None = None) -> Array:
    """X as float64 rows (n, d); a single column may come as (n,). If d is given, another number of columns is an error.

    >>> as_rows([1, None, 3]).ravel()
    array([ 1., nan,  3.])
    """
    rows = np.asarray(X, dtype=np.float64)
    rows = rows.reshape(-1, 1) if rows.ndim < 2 else rows
    if d is not None and rows.shape[1] != d:
        raise DataError(f"X has shape {np.shape(X)}, and the density is of rows of {d} columns; give X as (n, {d}).")
    return rows


def column_numbers(columns: Columns, d: int) -> Array:
    """The numbers of some of d columns, each once.

    >>> column_numbers([2, 0], 3)
    array([2, 0])
    """
    try:
        found = np.asarray(columns if np.size(columns) else np.empty(0, dtype=np.intp))
        whole = found.ndim == 1 and found.dtype.kind in "iu"
    except (TypeError, ValueError):
        whole = False
    if not whole or np.any((found < 0) | (found >= d)) or len(set(found.tolist())) < len(found):
        raise OptionError(f"columns={columns!r} must be a list of numbers of the {d} columns, from 0 on, each once.")
    return found.astype(np.intp, copy=False)


def known_values(columns: Columns, values: Any) -> tuple[Array, Array]:
    """The columns (o,) whose values are not missing, and these values (o,), as floats."""
    here = np.asarray(columns, dtype=np.intp)
    try:
        given = np.ravel(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise OptionError(f"values={values!r} must be numbers, one for each of columns={columns!r}.") from None
    if given.size != here.size:
        raise OptionError(f"values has {given.size} entries for {here.size} columns; give one a column.")
    known = ~np.isnan(given)
    return here[known], given[known]


def other_columns(columns: Columns, d: int) -> Array:
    """The columns of 0, …, d − 1 that are not among these.

    >>> other_columns([2, 0], 4)
    array([1, 3])
    """
    rest = np.ones(d, dtype=bool)
    rest[column_numbers(columns, d)] = False
    return np.flatnonzero(rest)


def observed_patterns(X: Array) -> tuple[Array, Array]:
    """The different patterns (u, d) of observed entries, and which one (n,) each row has.

    >>> observed_patterns(np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, np.nan], [4.0, np.nan]]))[1]
    array([1, 2, 0, 1])
    """
    seen = ~np.isnan(X)
    if seen.all():
        return seen[:1], np.zeros(len(X), dtype=np.intp)
    first, which = distinct_patterns(seen)
    return seen[first], which


def distinct_patterns(seen: Array) -> tuple[Array, Array]:
    """Where each different row of booleans (n, d) stands first (u,), and which of these each row is (n,).

    >>> distinct_patterns(np.array([[True, False], [True, True], [True, False]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    packed = np.ascontiguousarray(np.packbits(seen, axis=1))  # of column-major rows it would be column-major too
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


def rows_by_pattern(X: Array) -> Iterator[tuple[Array | slice, Array]]:
    """For each pattern of gaps: which rows of X have it, and the columns (o,) that they observe."""
    seen, which = observed_patterns(X)
    if len(seen) == 1:
        yield slice(None), np.flatnonzero(seen[0])
        return
    order = np.argsort(which, kind="stable")
    stops = np.cumsum(np.bincount(which, minlength=len(seen)))
    for columns, rows in zip(seen, np.split(order, stops[:-1]), strict=True):
        yield rows, np.flatnonzero(columns)
