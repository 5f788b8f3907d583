"""From a fitted model, and rows, to plain arrays with names: what the pictures and the report show.

A model here is a fitted `PCA` or the frozen `PrincipalComponents` inside it. Components are counted from 1,
as people do, and shares and contributions are per cent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.resolve import as_source
from eigenlens.errors import DataError, OptionError
from eigenlens.fitting import reading
from eigenlens.models.principal import PrincipalComponents

__all__ = [
    "ALPHAS",
    "BiplotTable",
    "ReconstructionTable",
    "ScoreTable",
    "ValueTable",
    "VarianceTable",
    "biplot",
    "column_contributions",
    "correlations",
    "loadings",
    "reconstruction",
    "row_contributions",
    "scores",
    "variance",
]

ALPHAS = (0.0, 0.5, 1.0)
"""Scalings of a biplot: 0 keeps the columns' covariances, 1 the rows' distances, 0.5 is between them."""

PRINTED_ROWS = 24


# ---- what the tables are ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VarianceTable:
    """How much of the variance each component holds.

    Attributes:
        variances: (k,) eigenvalues. total: the sum of all eigenvalues, kept or not.

    >>> print(VarianceTable(np.array([3.0, 1.5]), 5.0))
    component  eigenvalue  share %  cumulative %
    PC1           3.00000    60.00         60.00
    PC2           1.50000    30.00         90.00
    rest          0.50000    10.00        100.00
    """

    variances: Array
    total: float

    @property
    def shares(self) -> Array:
        """Per cent (k,) of the total variance."""
        return np.asarray(100.0 * self.variances / (self.total if self.total > 0.0 else 1.0))

    @property
    def cumulative(self) -> Array:
        """Per cent (k,) of the total variance that components 1 to j hold together."""
        return np.cumsum(self.shares)

    def reaching(self, percent: float = 90.0) -> int | None:
        """The fewest components that hold `percent` of the variance, or None if those kept hold less."""
        enough = np.flatnonzero(self.cumulative >= percent - 1e-9)  # all shares sum to 100 but for rounding
        return int(enough[0]) + 1 if enough.size else None

    def __str__(self) -> str:
        names = [f"PC{j + 1}" for j in range(self.variances.size)]
        values, shares, cumulative = list(self.variances), list(self.shares), list(self.cumulative)
        rest = self.total - float(self.variances.sum())
        if rest > 1e-9 * self.total:
            names, values = [*names, "rest"], [*values, rest]
            shares, cumulative = [*shares, 100.0 * rest / self.total], [*cumulative, 100.0]
        columns = names, _numbers(values), _percents(shares), _percents(cumulative)
        return _aligned(("component", "eigenvalue", "share %", "cumulative %"), *columns)


@dataclass(frozen=True, eq=False)
class ValueTable:
    """One number for each name and component: loadings, correlations or contributions.

    Attributes:
        what: what the numbers are. names: (d,) columns, or rows.
        components: (m,) numbers counted from 1. shares: (m,) per cent of the variance that each holds.
        values: (d, m).
    """

    what: str
    names: tuple[str, ...]
    components: tuple[int, ...]
    shares: Array
    values: Array

    def largest(self, top: int) -> ValueTable:
        """The `top` names with the longest rows of values, longest first."""
        order = np.argsort(-np.linalg.norm(self.values, axis=1), kind="stable")[:top]
        names = tuple(self.names[j] for j in order)
        return ValueTable(self.what, names, self.components, self.shares, self.values[order])

    def __str__(self) -> str:
        cells = np.reshape(_numbers(self.values.ravel()), self.values.shape)
        return _aligned((self.what, *(f"PC{c}" for c in self.components)), self.names, *cells.T)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Where the rows lie on some components.

    Attributes:
        labels: (n,) row names, or None. components: (m,) numbers counted from 1. shares: (m,) per cent.
        values: (n, m). whitened: whether they are divided by the components' standard deviations.
    """

    labels: tuple[str, ...] | None
    components: tuple[int, ...]
    shares: Array
    values: Array
    whitened: bool = False


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


@dataclass(frozen=True, eq=False)
class ReconstructionTable:
    """Rows beside what a few components make of them.

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
        return _aligned(("components", "mean squared error", "lost %"), *columns)


# ---- from a model to tables -------------------------------------------------------------------------------


def variance(model: Any) -> VarianceTable:
    """Eigenvalues and their shares of the total variance.

    >>> from eigenlens import PCA
    >>> table = variance(PCA().fit([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]]))
    >>> table.shares, table.reaching(90)
    (array([90., 10.]), 1)
    """
    found = frozen(model)
    return VarianceTable(found.variances, found.total)


def loadings(model: Any, components: Sequence[int] | None = None, *, names: Iterable[str] | None = None) -> ValueTable:
    """V √λ (d, m): how a column moves when a component moves by one standard deviation."""
    return _by_column("loading", model, frozen(model).loadings, components, names)


def correlations(
    model: Any, components: Sequence[int] | None = None, *, names: Iterable[str] | None = None
) -> ValueTable:
    """Correlations (d, m) of columns with components: coordinates in the correlation circle."""
    return _by_column("correlation", model, reading.correlations(frozen(model)), components, names)


def column_contributions(
    model: Any, components: Sequence[int] | None = None, *, names: Iterable[str] | None = None
) -> ValueTable:
    """Per cent (d, m) that each column contributes to each component; a component's column sums to 100."""
    return _by_column("contribution %", model, reading.column_contributions(frozen(model)), components, names)


def row_contributions(
    model: Any, X: Any, components: Sequence[int] | None = None, *, labels: Iterable[Any] | None = None
) -> ValueTable:
    """Per cent (n, m) that each row contributes to each component's variance."""
    Z = plain_scores(model, X)
    values = reading.row_contributions(frozen(model), Z, None)
    named = row_labels(labels, len(Z)) or tuple(f"row {i}" for i in range(len(Z)))
    chosen = chosen_components(model, components)
    return ValueTable("contribution %", named, chosen, _shares(model, chosen), values[:, _index(chosen)])


def scores(
    model: Any, X: Any, components: Sequence[int] | None = None, *, labels: Iterable[Any] | None = None
) -> ScoreTable:
    """The scores (n, m) of the rows of X, as `transform` gives them: whitened if the model whitens."""
    chosen, Z = chosen_components(model, components), plain_scores(model, X)
    whitened = bool(getattr(model, "whiten", False))
    if whitened:
        Z = _divided(Z, np.sqrt(frozen(model).variances))
    named, Z = row_labels(labels, len(Z)), Z[:, _index(chosen)]
    return ScoreTable(named, chosen, _shares(model, chosen), Z, whitened)


def biplot(
    model: Any,
    X: Any,
    components: Sequence[int] | None = None,
    *,
    alpha: float = 0.5,
    labels: Iterable[Any] | None = None,
    names: Iterable[str] | None = None,
) -> BiplotTable:
    """Vectors of rows and columns on some components, scaled by alpha; see `BiplotTable`.

    Rows that were not fitted take the same formula, Z Sᵅ⁻¹ with Z their scores.

    >>> from eigenlens import PCA
    >>> X = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-1.0, 1.0]])
    >>> table = biplot(PCA().fit(X), X, alpha=0.5)
    >>> np.allclose(table.rows @ table.columns.T, X - X.mean(axis=0))
    True
    """
    if alpha not in ALPHAS:
        raise OptionError(f"alpha={alpha!r} must be 0 (columns), 0.5 (both) or 1 (rows).")
    found, chosen = frozen(model), chosen_components(model, components)
    index, Z = _index(chosen), plain_scores(model, X)
    S = np.sqrt(found.variances * (found.weight - 1.0))[index]
    rows = _divided(Z[:, index], S ** (1.0 - alpha))
    columns = found.components[index].T * S ** (1.0 - alpha)
    named = row_labels(labels, len(Z)), column_names(model, names)
    return BiplotTable(float(alpha), *named, chosen, _shares(model, chosen), rows, columns)


def reconstruction(
    model: Any,
    X: Any,
    counts: int | Sequence[int] | None = None,
    *,
    limit: int | None = None,
    labels: Iterable[Any] | None = None,
    names: Iterable[str] | None = None,
) -> ReconstructionTable:
    """The first `limit` rows of X and their reconstructions from `counts` leading components each.

    x̂ = mean + scale · V_qᵀ V_q x̃. Without `counts`, up to four numbers spread from 1 to the components kept.
    """
    found = frozen(model)
    chosen = _counts(counts, found.variances.size)
    rows = _checked(found, dense_rows(X, limit))
    Z, basis = found.project(rows), found.components * found.scale
    rebuilt = np.stack([Z[:, :q] @ basis[:q] + found.mean for q in chosen])
    errors = (((rows - rebuilt) / found.scale) ** 2).sum(axis=2)
    distances = (found.standardised(rows) ** 2).sum(axis=1)
    shown = row_labels(labels, len(rows), at_least=limit is not None)
    return ReconstructionTable(chosen, shown, column_names(model, names), rows, rebuilt, errors, distances)


# ---- what the functions above share -----------------------------------------------------------------------


def frozen(model: Any) -> PrincipalComponents:
    """The frozen model inside a fitted estimator, or the model itself."""
    found = getattr(model, "model_", model)
    if not isinstance(found, PrincipalComponents):
        raise OptionError(f"model={type(model).__name__} has no principal components; give a fitted PCA.")
    return found


def column_names(model: Any, names: Iterable[str] | None = None) -> tuple[str, ...]:
    """The d column names: those given, those of the fit, or x0, x1, … as scikit-learn has it."""
    d = frozen(model).mean.size
    known = getattr(model, "feature_names_in_", None) if names is None else names
    found = tuple(f"x{j}" for j in range(d)) if known is None else tuple(map(str, known))
    if len(found) != d:
        raise OptionError(f"names has {len(found)} entries, but the model has {d} columns; give one a column.")
    return found


def row_labels(labels: Iterable[Any] | None, n: int, *, at_least: bool = False) -> tuple[str, ...] | None:
    """One label a row as text, or None; with `at_least`, labels of rows that are not shown may follow."""
    if labels is None:
        return None
    found = tuple(map(str, labels))
    if len(found) < n or (len(found) > n and not at_least):
        raise DataError(f"labels has {len(found)} entries, but X has {n} rows; give one label a row.")
    return found[:n]


def chosen_components(model: Any, components: Sequence[int] | None) -> tuple[int, ...]:
    """The component numbers asked for, checked, or all of them."""
    k = frozen(model).variances.size
    if components is None:
        return tuple(range(1, k + 1))
    bound = "the number of components that the model keeps"
    return tuple(checks.integer("components", c, 1, k, bound) for c in components)


def plain_scores(model: Any, X: Any) -> Array:
    """Scores (n, k) of the rows of X, never whitened, float64.

    An estimator projects by its own `transform`, which knows every kind of X and checks its column names.
    """
    found = frozen(model)
    if not hasattr(model, "transform"):
        return found.project(_checked(found, dense_rows(X)))
    Z = np.asarray(to_numpy(model.transform(X)), dtype=np.float64)
    return Z * np.sqrt(found.variances) if getattr(model, "whiten", False) else Z


def dense_rows(X: Any, limit: int | None = None) -> Array:
    """The first `limit` rows of X, whatever it is, as a dense float64 array; no more of them are read."""
    parts: list[Array] = []
    wanted = limit
    for rows in as_source(X).rows():
        part = rows if wanted is None else rows[:wanted]
        dense = part.toarray() if hasattr(part, "toarray") else to_numpy(part)
        parts.append(np.asarray(dense, dtype=np.float64))
        wanted = None if wanted is None else wanted - len(parts[-1])
        if wanted == 0:
            break
    return np.concatenate(parts)


def _checked(model: PrincipalComponents, rows: Array) -> Array:
    if rows.shape[1] != model.mean.size:
        raise DataError(f"X has {rows.shape[1]} columns, but the model was fitted on {model.mean.size}.")
    if not np.all(np.isfinite(rows)):
        raise DataError("X contains NaN or infinity; leave those rows out, or impute them first.")
    return rows


def _by_column(
    what: str, model: Any, values: Array, components: Sequence[int] | None, names: Iterable[str] | None
) -> ValueTable:
    chosen = chosen_components(model, components)
    named = column_names(model, names)
    return ValueTable(what, named, chosen, _shares(model, chosen), values[:, _index(chosen)])


def _index(components: tuple[int, ...]) -> list[int]:
    return [c - 1 for c in components]


def _shares(model: Any, components: tuple[int, ...]) -> Array:
    return variance(model).shares[_index(components)]


def _divided(Z: Array, scale: Array) -> Array:
    """Z / scale by column; a component without variance has scores of zero, and keeps them."""
    return np.asarray(Z / np.where(scale > 0.0, scale, 1.0) * (scale > 0.0))


def _counts(counts: int | Sequence[int] | None, k: int) -> tuple[int, ...]:
    if counts is None:
        return tuple(int(q) for q in np.unique(np.geomspace(1, k, min(4, k)).round()))
    given = [counts] if isinstance(counts, int | np.integer) else list(counts)
    if not given:
        raise OptionError("k=() is empty; give at least one number of components.")
    return tuple(checks.integer("k", q, 1, k, "the number of components that the model keeps") for q in given)


# ---- text -------------------------------------------------------------------------------------------------


def _percents(values: Iterable[float]) -> list[str]:
    return [f"{value:.2f}" for value in values]


def _numbers(values: Iterable[float]) -> list[str]:
    """Six significant digits of the largest, at least two decimals, the same for all; noise reads as zero."""
    given = [float(value) for value in values]
    largest = max(map(abs, given), default=0.0)
    if largest and not 1e-4 <= largest < 1e9:
        return [f"{value:.4e}" for value in given]
    decimals = int(np.clip(5 - np.floor(np.log10(largest)), 2, 9)) if largest else 2
    return [f"{value if abs(value) > 1e-12 * largest else 0.0:.{decimals}f}" for value in given]


def _aligned(header: Sequence[str], *columns: Sequence[str]) -> str:
    """Columns of text, the first flush left, the others flush right; a long table loses its middle."""
    rows = list(zip(*columns, strict=True))
    if len(rows) > PRINTED_ROWS:
        hidden = (f"… {len(rows) - PRINTED_ROWS + 1} more", *[""] * (len(header) - 1))
        rows = [*rows[: PRINTED_ROWS - 2], hidden, rows[-1]]
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    sides = [str.ljust, *[str.rjust] * (len(header) - 1)]
    lines = [
        [fill(cell, width) for fill, cell, width in zip(sides, row, widths, strict=True)] for row in (header, *rows)
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)
