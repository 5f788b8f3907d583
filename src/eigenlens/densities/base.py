"""The protocols `Density` and `Family`, and helpers for columns by number and rows with missing values.

A class with the four methods of `Density` can be a mixture component, the density of a class or a naive Bayes factor;
a class with the two methods of `Family` can be fitted to any Source in one pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, check_indices, is_sparse
from eigenlens.data.source import Addable, Block
from eigenlens.errors import DataError, OptionError

Columns = Sequence[int] | Array
"""Some columns by number, in any order, each once."""

StatisticsT = TypeVar("StatisticsT", bound=Addable)


class Density(Protocol):
    """A density of rows x (d,); NaN, or None among categories, is a missing value, over which it is marginalised.

    So a row without observed entries has log density 0. Samples of discrete densities are their categories.

    >>> from eigenlens.densities import Gaussian
    >>> density: Density = Gaussian.fit(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 3.0]]))
    >>> density.log_density([[1.0, np.nan]]), density.marginal([0]).log_density([1.0])
    (array([-0.7162]), array([-0.7162]))
    """

    def log_density(self, X: Array) -> Array:
        """Return ln p(x) (n,) of the rows X (n, d); for d = 1 also of X (n,)."""

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, d); rng is a Generator, a seed, or None for another draw each time."""

    def marginal(self, columns: Columns) -> Density:
        """Return the density of these columns, in this order."""

    def condition(self, columns: Columns, values: Any) -> Density:
        """Return the density of the other columns, in their order, given values of these, which may be missing."""


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
        """Return the statistics of a block of rows; those of two blocks add to those of both."""

    def estimate(self, statistics: StatisticsT) -> Density:
        """Return the member of the family with these statistics."""


def as_rows(X: Any, d: int | None = None, argument: str = "X") -> Array:
    """Return X as float64 rows (n, d); a single column may be (n,). Another number of columns than d is an error.

    >>> as_rows([1, None, 3]).ravel()
    array([ 1., nan,  3.])
    """
    X = X.collect() if hasattr(X, "collect_schema") and not hasattr(X, "shape") else X  # a lazy frame
    try:
        check_indices(X, argument)
        rows = checks.numbers(argument, X.toarray() if is_sparse(X) else X)
    except OptionError:
        what = f"is a {type(X).__name__} that does not hold numbers alone"
        raise DataError(what, argument=argument, fix="give rows of numbers, NaN where one is missing") from None
    rows = rows.reshape(-1, 1) if rows.ndim < 2 else rows
    if rows.ndim > 2 or (d is not None and rows.shape[1] != d):
        what = f"has shape {np.shape(X)}, and the density has {'d' if d is None else d} columns"
        raise DataError(what, argument=argument, fix=f"give it as (n, {'d' if d is None else d})")
    return rows


def reject_infinite(rows: Array) -> Array:
    """Return rows (n, d) to be imputed unless they hold an infinity, which says nothing of the rest of its row."""
    if np.isinf(rows).any():
        raise DataError("holds an infinity", argument="X", fix="give numbers, and NaN where one is missing")
    return rows


def check_scale(scale: Any, d: int) -> Array:
    """Return the factors (d,) of the columns, finite and above 0."""
    found = checks.numbers("scale", scale)
    if found.shape != (d,) or not np.all((found > 0.0) & np.isfinite(found)):
        raise OptionError(f"must be {d} finite numbers above 0, one per column", argument="scale", value=scale)
    return found


def check_sigma(sigma: Any, d: int | None = None) -> Array:
    """Return known standard deviations, one for all columns or one for each of d, whose squares floats can hold."""
    found = checks.numbers("sigma", sigma)
    fits = found.ndim < 2 if d is None else found.shape in ((), (d,))
    if not fits or not np.all((found >= checks.MIN_WIDTH) & (found <= checks.MAX_WIDTH)):
        several = "one per column" if d is None else f"{d} of them, one per column"
        raise OptionError(f"must be a number between 1e-150 and 1e150, or {several}", argument="sigma", value=sigma)
    return found


def only_column(columns: Columns) -> bool:
    """Return whether columns of a density of one column name it; anything that is not a column is an error.

    >>> only_column([0]), only_column([])
    (True, False)
    """
    return bool(check_columns(columns, 1).size)


def check_columns(columns: Columns, d: int, argument: str = "columns") -> Array:
    """Return the numbers of some of d columns, each once.

    >>> check_columns([2, 0], 3)
    array([2, 0])
    """
    if isinstance(columns, np.ndarray) and columns.dtype == np.intp and columns.ndim == 1 and d:
        inside = columns.min(initial=0) >= 0 and columns.max(initial=0) < d
        if inside and np.bincount(columns, minlength=1).max() <= 1:  # as the package gives them, one set per pattern
            return columns
    return np.array(checks.column_numbers(argument, columns, d, low=0), dtype=np.intp)


def check_parts(argument: str, parts: Any, method: str) -> tuple[Any, ...]:
    """Return densities or families, which have this method, as a tuple."""
    given = tuple(parts) if isinstance(parts, list | tuple) else None
    if given is None or not all(hasattr(part, method) for part in given):
        what = f"must be a tuple of values with {method}, such as those of eigenlens.densities"
        raise OptionError(what, argument=argument, value=parts)
    return given


def known_values(columns: Columns, values: Any, d: int) -> tuple[Array, Array]:
    """Return the columns (o,) of d whose values are not missing, and these values (o,), as floats."""
    here, given = check_columns(columns, d), np.ravel(checks.numbers("values", values))
    if given.size != here.size:
        what = f"has {given.size} entries for {here.size} columns"
        raise OptionError(what, argument="values", fix="give one per column")
    if np.isinf(given).any():
        raise OptionError("holds an infinity", argument="values", value=values, fix="give numbers, or NaN for unknown")
    known = ~np.isnan(given)
    return here[known], given[known]


def other_columns(columns: Columns, d: int) -> Array:
    """Return the columns of 0, …, d − 1 that are not among these.

    >>> other_columns([2, 0], 4)
    array([1, 3])
    """
    rest = np.ones(d, dtype=bool)
    rest[check_columns(columns, d)] = False
    return np.flatnonzero(rest)


def observed_patterns(X: Array) -> tuple[Array, Array]:
    """Return the different patterns (u, d) of observed entries, and which one (n,) each row has.

    >>> observed_patterns(np.array([[1.0, np.nan], [2.0, 3.0], [np.nan, np.nan], [4.0, np.nan]]))[1]
    array([1, 2, 0, 1])
    """
    seen = ~np.isnan(X)
    if seen.all():
        return seen[:1], np.zeros(len(X), dtype=np.intp)
    first, which = distinct_patterns(seen)
    return seen[first], which


def distinct_patterns(seen: Array) -> tuple[Array, Array]:
    """Return the first position (u,) of each distinct row of booleans (n, d), and which of these each row is (n,).

    >>> distinct_patterns(np.array([[True, False], [True, True], [True, False]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    # Column-major rows would make the packed bits column-major, and rows could not be viewed as keys.
    packed = np.ascontiguousarray(np.packbits(seen, axis=1))
    keys = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


def rows_by_pattern(X: Array) -> Iterator[tuple[Array | slice, Array]]:
    """Yield, for each pattern of missing values, which rows of X have it, and the columns (o,) that they observe."""
    seen, which = observed_patterns(X)
    if len(seen) == 1:
        yield slice(None), np.flatnonzero(seen[0])
        return
    order = np.argsort(which, kind="stable")
    stops = np.cumsum(np.bincount(which, minlength=len(seen)))
    for columns, rows in zip(seen, np.split(order, stops[:-1]), strict=True):
        yield rows, np.flatnonzero(columns)
