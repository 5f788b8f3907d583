"""The types of tables: frozen values of plain arrays with names, with a text form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from eigenlens.arrays import Array
from eigenlens.tables.figures import MAX_DECIMALS, align_points, format_rows
from eigenlens.tables.text_table import format_columns


@dataclass(frozen=True, eq=False)
class VarianceTable:
    """The share of the variance that each component holds.

    Attributes:
        variances: (k,) eigenvalues, or what rotated components explain. total: the sum of all eigenvalues, kept or not.
        stem: the letters before a component's number.

    >>> print(VarianceTable(np.array([3.0, 1.5]), 5.0))
    component  eigenvalue  share %  cumulative %
    PC1           3.00000    60.00         60.00
    PC2           1.50000    30.00         90.00
    rest          0.50000    10.00        100.00
    """

    variances: Array
    total: float
    stem: str = "PC"

    @property
    def shares(self) -> Array:
        """Per cent (k,) of the total variance."""
        return np.asarray(100.0 * self.variances / (self.total if self.total > 0.0 else 1.0))

    @property
    def cumulative(self) -> Array:
        """Per cent (k,) of the total variance that components 1 to j hold together."""
        return np.cumsum(self.shares)

    def reaching(self, percent: float = 90.0) -> int | None:
        """Return the smallest number of components that hold `percent` of the variance; None if those kept do not."""
        enough = np.flatnonzero(self.cumulative >= percent - 1e-9)  # all shares sum to 100 up to rounding
        return int(enough[0]) + 1 if enough.size else None

    def __str__(self) -> str:
        names = [f"{self.stem}{j + 1}" for j in range(self.variances.size)]
        values, shares, cumulative = list(self.variances), list(self.shares), list(self.cumulative)
        rest = self.total - float(self.variances.sum())
        if rest > 1e-9 * self.total:
            names, values = [*names, "rest"], [*values, rest]
            shares, cumulative = [*shares, 100.0 * rest / self.total], [*cumulative, 100.0]
        columns = names, _numbers(values), _percents(shares), _percents(cumulative)
        value = "eigenvalue" if self.stem == "PC" else "variance"
        return format_columns(("component", value, "share %", "cumulative %"), *columns)


@dataclass(frozen=True, eq=False)
class ValueTable:
    """One number for each name and component: loadings, correlations or contributions.

    Attributes:
        what: the name of the numbers. names: (d,) columns, or rows.
        components: (m,) numbers counted from 1. shares: (m,) per cent of the variance that each holds.
        values: (d, m). stem: the letters before a component's number, "PC", or "F" for factors.
    """

    what: str
    names: tuple[str, ...]
    components: tuple[int, ...]
    shares: Array
    values: Array
    stem: str = "PC"

    def largest(self, top: int) -> ValueTable:
        """Return the `top` names with the longest rows of values, longest first."""
        return self.rows(np.argsort(-np.linalg.norm(self.values, axis=1), kind="stable")[:top])

    def rows(self, order: Array) -> ValueTable:
        """Return the names of these indices, in this order."""
        return replace(self, names=tuple(self.names[j] for j in order), values=self.values[order])

    def __str__(self) -> str:
        cells = zip(*_number_rows(self.values), strict=True)
        return format_columns((self.what, *(f"{self.stem}{c}" for c in self.components)), self.names, *cells)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The scores of rows on some components.

    Attributes:
        labels: (n,) row names, or None. components: (m,) numbers counted from 1. shares: (m,) per cent.
        values: (n, m). whitened: whether they are divided by the components' standard deviations.
        stem: the letters before a component's number.
    """

    labels: tuple[str, ...] | None
    components: tuple[int, ...]
    shares: Array
    values: Array
    whitened: bool = False
    stem: str = "PC"

    @property
    def axis_labels(self) -> tuple[str, ...]:
        """Return the names of the axes (m,) with their shares of the variance."""
        unit = ", unit variance" if self.whitened else ""
        pairs = zip(self.components, self.shares, strict=True)
        return tuple(f"{self.stem}{number} ({share:.1f}%){unit}" for number, share in pairs)


@dataclass(frozen=True, eq=False)
class BiplotTable:
    """Rows and columns as vectors whose products are the centred data (Gabriel 1971).

    With X̃ = U S Vᵀ over m components, rows = U Sᵅ (n, m) and columns = V S¹⁻ᵅ (d, m), so rows @ columns.T
    is the part of X̃ on these components, for every α.

    Attributes:
        alpha: the scaling. labels: (n,) row names, or None. names: (d,) column names.
        components: (m,) numbers counted from 1. shares: (m,) per cent. rows, columns: the vectors.
    """

    alpha: float
    labels: tuple[str, ...] | None
    names: tuple[str, ...]
    components: tuple[int, ...]
    shares: Array
    rows: Array
    columns: Array
    stem: str = "PC"


@dataclass(frozen=True, eq=False)
class ReconstructionTable:
    """Rows beside their reconstructions from a few components.

    Attributes:
        counts: (q,) numbers of components. labels: (n,) row names, or None. names: (d,) column names.
        rows: (n, d). reconstructions: (q, n, d).
        errors: (q, n) squared distances in the units of the analysis. distances: (n,) the same from the mean.
    """

    counts: tuple[int, ...]
    labels: tuple[str, ...] | None
    names: tuple[str, ...]
    rows: Array
    reconstructions: Array
    errors: Array
    distances: Array

    @property
    def lost(self) -> Array:
        """Per cent (q,) of these rows' squared distance from the mean that is not reconstructed."""
        whole = float(self.distances.sum())
        return np.asarray(100.0 * self.errors.sum(axis=1) / (whole if whole > 0.0 else 1.0))

    def __str__(self) -> str:
        columns = list(map(str, self.counts)), _numbers(self.errors.mean(axis=1)), _percents(self.lost)
        return format_columns(("components", "mean squared error", "lost %"), *columns)


def _percents(values: Iterable[float]) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _numbers(values: Iterable[float]) -> list[str]:
    """Return numbers as text, each with three digits that count."""
    return [text for (text,) in _number_rows(np.reshape(list(values), (-1, 1)))]


def _number_rows(values: Array) -> list[list[str]]:
    """Return numbers (r, c) as text: six digits of the largest, or three of the largest in a row; noise as zero."""
    largest = float(np.max(np.abs(values), initial=0.0))
    if largest and not 1e-4 <= largest < 1e9:
        return [[f"{value:.4e}" for value in row] for row in values.tolist()]
    decimals = int(np.clip(5 - np.floor(np.log10(largest)), 2, MAX_DECIMALS)) if largest else 2
    rows = format_rows(np.where(np.abs(values) > 1e-12 * largest, values, 0.0), decimals)
    return [list(row) for row in zip(*map(align_points, map(list, zip(*rows, strict=True))), strict=True)]
