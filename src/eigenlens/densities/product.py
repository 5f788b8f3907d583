"""Independent columns, each with a density of its own: the assumption of naive Bayes within a class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, check_indices, is_sparse, is_tensor, to_numpy
from eigenlens.data.column_kinds import plain_column
from eigenlens.data.number_array import table_array
from eigenlens.data.source import Block
from eigenlens.densities.base import Columns, Density, Family, check_columns, check_parts, other_columns
from eigenlens.densities.fitting import check_block
from eigenlens.errors import DataError, OptionError


@dataclass(frozen=True, eq=False)
class Product:
    """p(x) = Π_j p_j(x_j), with one density of one dimension per column; without factors, that of rows of no columns.

    Attributes:
        factors: (d,) densities of one dimension, of any kinds.

    Rows are a NumPy array (n, d), of objects where columns differ in type, or a frame whose columns are in this order.

    >>> from eigenlens.densities.covariance import Spherical
    >>> from eigenlens.densities.discrete import Bernoulli
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> model = Product((Gaussian(np.zeros(1), Spherical(1.0, 1)), Bernoulli(0.25)))
    >>> np.exp(model.log_density(np.array([[0.0, 1.0], [np.nan, 0.0]]))).round(4)
    array([0.0997, 0.75  ])
    """

    factors: tuple[Density, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", check_parts("factors", self.factors, "log_density"))

    def log_density(self, X: Any) -> Array:
        """Return Σ_j ln p_j(x_j) (n,); a missing value leaves its factor out."""
        rows = _table(X, len(self.factors))
        total = np.zeros(len(rows))
        for j, factor in enumerate(self.factors):
            total += factor.log_density(_take_column(rows, j))
        return total

    def sample(self, n: int, rng: Any = None) -> Array:
        """Draw n rows (n, d): floats where every factor draws numbers, otherwise objects."""
        rng, n = checks.generator(rng, "rng"), checks.sample_size("n", n, len(self.factors), 0)
        columns = [factor.sample(n, rng).reshape(n, 1) for factor in self.factors]
        numeric = all(column.dtype.kind in "fiub" for column in columns)
        kind = np.dtype(np.float64 if numeric else object)
        return np.hstack([np.empty((n, 0), kind), *(column.astype(kind) for column in columns)])

    def marginal(self, columns: Columns) -> Product:
        """Return the factors of these columns, in this order."""
        return Product(tuple(self.factors[j] for j in check_columns(columns, len(self.factors))))

    def condition(self, columns: Columns, values: Any) -> Product:
        """Return the factors of the other columns: the values say nothing about them."""
        return self.marginal(other_columns(columns, len(self.factors)))

    def __str__(self) -> str:
        return "\n".join([f"Product of {len(self.factors)} columns", *map(str, self.factors)])


@dataclass(frozen=True, eq=False)
class ColumnStatistics:
    """The statistics of each column, which merge column by column."""

    parts: tuple[Any, ...]

    def __add__(self, other: Self) -> Self:
        return type(self)(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))


@dataclass(frozen=True)
class ProductFamily:
    """Products of these families, one per column: each column is summarised and estimated on its own.

    >>> from eigenlens.densities.discrete import CategoricalFamily
    >>> from eigenlens.densities.gaussian import GaussianFamily
    >>> family = ProductFamily((GaussianFamily(), CategoricalFamily()))
    >>> model = family.estimate(family.summarise(Block(np.array([[1.0, 0.0], [3.0, 2.0]]))))
    >>> model.factors[0].mean, model.factors[1].probabilities
    (array([2.]), array([0.5, 0.5]))
    """

    families: Sequence[Family[Any]]

    def __post_init__(self) -> None:
        check_parts("families", self.families, "summarise")

    def summarise(self, block: Block) -> ColumnStatistics:
        """Return the statistics of each column of a block."""
        rows = check_block(block).rows
        if len(getattr(rows, "shape", ())) != 2 or rows.shape[1] != len(self.families):
            what = f"must hold rows of {len(self.families)} columns, one per family"
            raise OptionError(what, argument="block", value=block)
        columns = (Block(_take_column(block.rows, j), block.weight) for j in range(len(self.families)))
        pairs = zip(self.families, columns, strict=True)
        return ColumnStatistics(tuple(family.summarise(column) for family, column in pairs))

    def estimate(self, statistics: ColumnStatistics) -> Product:
        """Return the product of the columns' estimates."""
        parts = checks.instance("statistics", statistics, ColumnStatistics, "give those of summarise").parts
        if len(parts) != len(self.families):
            what = f"has {len(parts)} parts for {len(self.families)} families"
            raise OptionError(what, argument="statistics", fix="give those of summarise")
        found = zip(self.families, parts, strict=True)
        return Product(tuple(family.estimate(part) for family, part in found))


def _table(X: Any, d: int) -> Any:
    """Return rows (n, d) as an array or a frame; lists become arrays of objects, which keep their types."""
    frame = hasattr(X, "shape") and hasattr(X, "columns")
    X = to_numpy(X) if is_tensor(X) else X
    check_indices(X)
    rows = X if frame else X.toarray() if is_sparse(X) else plain_column(table_or_column(X, d))
    if np.shape(rows)[1:] != (d,):
        what = f"has shape {np.shape(rows)}, and the density has {d} columns"
        raise DataError(what, argument="X", fix=f"give X as (n, {d})")
    return rows


def table_or_column(X: Any, d: int) -> Array:
    """Return rows as an array (n, d) that keeps the types of its entries; one column may be (n,)."""
    if not isinstance(X, np.ndarray) and isinstance(X, list | tuple):
        try:
            X = np.array(X, dtype=object)
        except ValueError:
            X = list(X)
    if d == 1 and getattr(X, "ndim", 0) == 1:
        X = X.reshape(-1, 1)
    return table_array(X) if d else np.asarray(X)


def _take_column(X: Any, j: int) -> Any:
    """Return column j of rows as rows of one column (n, 1); a frame's as its own kind of column.

    In an array of objects, a column of numbers becomes floats, with NaN for missing values.
    """
    if not isinstance(X, np.ndarray):
        return X.iloc[:, j] if hasattr(X, "iloc") else X.column(j) if hasattr(X, "column") else X[:, j]
    column = X[:, j : j + 1]
    if X.dtype == object and all(value is None or isinstance(value, Real) for value in column.ravel()):
        return column.astype(np.float64)
    return column
