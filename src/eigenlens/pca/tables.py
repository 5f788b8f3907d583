"""Plain arrays with names, made from a fitted model and rows, that plots and reports show.

A model here is a fitted `PCA` or the frozen `PrincipalComponents` inside it. Components are counted from 1, and shares
and contributions are per cent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from operator import attrgetter
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, to_numpy
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.pca.interpret import (
    Supplementary,
    contributions_by_column,
    contributions_by_row,
    correlations_with_components,
    project_columns,
)
from eigenlens.pca.model import PrincipalComponents
from eigenlens.tables.names import axis_stem, feature_names, row_labels, shorten
from eigenlens.tables.rows import first_rows
from eigenlens.tables.values import BiplotTable, ReconstructionTable, ScoreTable, ValueTable, VarianceTable

BIPLOT_SCALINGS = (0.0, 0.5, 1.0)
"""Scalings of a biplot: 0 preserves the columns' covariances, 1 the rows' distances, 0.5 is a compromise."""


def variance(model: Any) -> VarianceTable:
    """Return eigenvalues and their shares of the total variance.

    >>> from eigenlens import PCA
    >>> table = variance(PCA().fit([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0], [3.0, 1.0]]))
    >>> table.shares, table.reaching(90)
    (array([90., 10.]), 1)
    """
    found = _principal_components_of(model)
    return VarianceTable(found.explained, found.total, axis_stem(found))


Components = Sequence[int] | None
"""Numbers of components, from 1; None for all."""

Names = Iterable[Any] | None
"""Names of columns or labels of rows; None for those of the fit or of the rows."""


def loadings(model: Any, components: Components = None, *, names: Names = None) -> ValueTable:
    """Return V √λ (d, m): the change of each column when a component changes by one standard deviation."""
    return _by_column("loading", model, attrgetter("loadings"), components, names)


def correlations(model: Any, components: Components = None, *, names: Names = None) -> ValueTable:
    """Return correlations (d, m) of columns with components: coordinates in the correlation circle."""
    return _by_column("correlation", model, correlations_with_components, components, names)


def column_contributions(model: Any, components: Components = None, *, names: Names = None) -> ValueTable:
    """Return the per cent (d, m) that each column contributes to each component; each component sums to 100."""
    return _by_column("contribution %", model, contributions_by_column, components, names)


def row_contributions(model: Any, X: Any, components: Components = None, *, labels: Names = None) -> ValueTable:
    """Return the per cent (n, m) that each row contributes to each component's variance."""
    Z = unwhitened_scores(model, X)
    values = contributions_by_row(_principal_components_of(model), Z, None)
    named = row_labels(labels, len(Z)) or tuple(f"row {i}" for i in range(len(Z)))
    chosen = _check_component_numbers(model, components)
    shares, stem = _shares(model, chosen), axis_stem(_principal_components_of(model))
    return ValueTable("contribution %", named, chosen, shares, values[:, _index(chosen)], stem)


def scores(model: Any, X: Any, components: Components = None, *, labels: Names = None) -> ScoreTable:
    """Return the scores (n, m) of the rows of X, as `transform` does: whitened if the model whitens or rotates."""
    chosen, Z = _check_component_numbers(model, components), unwhitened_scores(model, X)
    found, whitened = _principal_components_of(model), getattr(model, "whiten", False) is True
    if whitened and found.rotation is None:
        Z = _divide_columns(Z, np.sqrt(found.variances))
    named, Z = row_labels(labels, len(Z)), Z[:, _index(chosen)]
    unit = whitened or found.rotation is not None
    return ScoreTable(named, chosen, _shares(model, chosen), Z, unit, axis_stem(found))


def biplot(
    model: Any, X: Any, components: Components = None, *, alpha: float = 0.5, labels: Names = None, names: Names = None
) -> BiplotTable:
    """Return vectors of rows and columns on some components, scaled by alpha; see `BiplotTable`.

    Rows that were not fitted take the same formula, Z Sᵅ⁻¹ with Z their scores. Rotated components always have the
    scaling 0: scores of unit variance, and loadings, both up to the root of the divisor.

    >>> from eigenlens import PCA
    >>> X = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-1.0, 1.0]])
    >>> table = biplot(PCA().fit(X), X, alpha=0.5)
    >>> np.allclose(table.rows @ table.columns.T, X - X.mean(axis=0))
    True
    """
    given: Any = alpha
    if not isinstance(given, Real) or given not in BIPLOT_SCALINGS:
        raise OptionError("must be 0 (columns), 0.5 (both) or 1 (rows)", argument="alpha", value=alpha)
    found, chosen = _principal_components_of(model), _check_component_numbers(model, components)
    index, Z = _index(chosen), unwhitened_scores(model, X)
    named = row_labels(labels, len(Z)), _model_column_names(model, names)
    shares, stem = _shares(model, chosen), axis_stem(found)
    if found.rotation is not None:
        root = np.sqrt(found.divisor)
        return BiplotTable(0.0, *named, chosen, shares, Z[:, index] / root, found.loadings[:, index] * root, stem)
    S = found.singular_values[index]
    rows = _divide_columns(Z[:, index], S ** (1.0 - alpha))
    columns = found.components[index].T * S ** (1.0 - alpha)
    return BiplotTable(float(alpha), *named, chosen, shares, rows, columns, stem)


def reconstruction(
    model: Any,
    X: Any,
    counts: int | Sequence[int] | None = None,
    *,
    limit: int | None = None,
    labels: Names = None,
    names: Names = None,
) -> ReconstructionTable:
    """Return the first `limit` rows of X and their reconstructions from `counts` leading components each.

    x̂ = mean + scale · V_qᵀ V_q x̃. Without `counts`, up to four numbers spread from 1 to the components kept.
    """
    found = _principal_components_of(model)
    chosen = _counts(counts, found.variances.size)
    rows = _check_rows(found, first_rows(X, limit))
    Z, basis = found.project(rows), found.components * found.scale
    rebuilt = np.stack([Z[:, :q] @ basis[:q] + found.mean for q in chosen])
    errors = (((rows - rebuilt) / found.scale) ** 2).sum(axis=2)
    distances = (found.standardised(rows) ** 2).sum(axis=1)
    shown = row_labels(labels, len(rows), at_least=limit is not None)
    return ReconstructionTable(chosen, shown, _model_column_names(model, names), rows, rebuilt, errors, distances)


FEW_LEVELS, MAX_LEVELS = 11, 100
"""A column of text is compared if it has at most the first number of categories, or, among many rows, the second."""


def covariates(model: Any, columns: Mapping[str, Any], Z: Array, source: Source) -> Supplementary | None:
    """Return columns (n,) that took no part in the fit on the scores Z (n, k) of the rows of a source (n, d).

    A missing category is one of its own. Columns that cannot be compared are left out: constant ones, and names of
    rows. None for components about zero, from which no column deviates.
    """
    if not getattr(model, "center", True):
        return None
    usable: dict[str, Array] = {}
    for name, values in columns.items():
        found = _covariate(np.asarray(values))
        if found is not None:
            usable[str(name)] = found
    return project_columns(usable, Z, source, _principal_components_of(model)) if usable else None


def _covariate(values: Array) -> Array | None:
    """Return numbers as they are and other values as text, or None where neither says anything."""
    if values.dtype.kind == "O" and all(isinstance(v, int | float | None) for v in values.tolist()):
        values = np.array([np.nan if v is None else v for v in values.tolist()], dtype=np.float64)
    if values.dtype.kind in "fiu":
        seen = values[np.isfinite(values)]
        return values if seen.size > 1 and seen.min() < seen.max() else None
    texts = ["(missing)" if v is None or v != v else shorten(v, 40) for v in values.tolist()]
    most = max(FEW_LEVELS, min(MAX_LEVELS, len(texts) // 5))  # more than that are names of rows
    return np.array(texts) if 1 < len(set(texts)) <= min(most, len(texts) // 2) else None


MIN_SIDE, ALIKE, NEARER = 6, 0.3, 0.75
"""The smallest side of an image, the least mean correlation of pixels below each other, and the
largest ratio of what it lacks to 1 to what that of pixels half a row apart lacks."""

PIXEL_ROWS = 1_000
"""Rows, about, that tell whether columns are pixels: more would hardly change the mean correlation."""


def image_side(X: Array) -> int:
    """Return the side of the square images that the rows (n, d) are, or 0 if they are no images.

    They are if d is a square, and columns that would be pixels below each other resemble each other, and more so than
    those half a row apart: in spectra, series and samples of one kind, the nearer columns are no less alike.
    Of many rows some are looked at, since the explorer asks after each change.

    >>> stripes = np.tile(np.sin(np.arange(12.0))[:, None] + np.arange(8.0), 8) * np.arange(12.0)[:, None]
    >>> image_side(stripes), image_side(stripes[:, :63]), image_side(np.eye(36))
    (8, 0, 0)
    >>> image_side(np.random.default_rng(0).standard_normal((90, 1)) + 0.1 * np.eye(90, 36))
    0
    """
    side = round(float(X.shape[1]) ** 0.5)
    if side * side != X.shape[1] or side < MIN_SIDE:
        return 0
    X = X[:: 1 + len(X) // PIXEL_ROWS]
    with np.errstate(all="ignore"):
        T = (X - X.mean(axis=0)) / X.std(axis=0)
        below, aside = (_mean_correlation(T, step) for step in (side, side // 2))
    return side if below > ALIKE and 1.0 - below < NEARER * (1.0 - aside) else 0


def _mean_correlation(T: Array, step: int) -> float:
    """Return the mean correlation of standardised columns that are so many columns apart, constant ones left out."""
    found = (T[:, step:] * T[:, :-step]).mean(axis=0)
    found = found[np.isfinite(found)]
    return float(found.mean()) if found.size else 0.0


def _principal_components_of(model: Any) -> PrincipalComponents:
    """Return the frozen model inside a fitted estimator, or the model itself."""
    found = getattr(model, "model_", model)
    if not isinstance(found, PrincipalComponents):
        what = f"of type {type(model).__name__} has no principal components"
        raise OptionError(what, argument="model", fix="give a fitted PCA")
    return found


def _model_column_names(model: Any, names: Names = None) -> tuple[str, ...]:
    """Return the d column names: those given, those of the fit, or x0, x1, … as scikit-learn has it."""
    return feature_names(model, _principal_components_of(model).mean.size, names)


def _check_component_numbers(model: Any, components: Components) -> tuple[int, ...]:
    """Return the component numbers given, checked, or all of them."""
    k = _principal_components_of(model).variances.size
    if components is None:
        return tuple(range(1, k + 1))
    bound = "the number of components that the model keeps"
    return checks.integers("components", components, 1, k, bound)


def unwhitened_scores(model: Any, X: Any) -> Array:
    """Return scores (n, k) of the rows of X, never whitened, float64; rotated ones have unit variance.

    An estimator projects by its own `transform`, which takes every kind of X and checks its column names.
    """
    found = _principal_components_of(model)
    if not hasattr(model, "transform"):
        return found.scores(_check_rows(found, first_rows(X)))
    Z = np.asarray(to_numpy(model.transform(X)), dtype=np.float64)
    if found.rotation is not None:
        return Z
    whiten = getattr(model, "whiten", False)
    Z = Z @ found.components.T if isinstance(whiten, str) else Z
    return Z * np.sqrt(found.variances) if whiten else Z


def _check_rows(model: PrincipalComponents, rows: Array) -> Array:
    if rows.shape[1] != model.mean.size:
        raise DataError(f"X has {rows.shape[1]} columns, but the model was fitted on {model.mean.size}")
    if not np.all(np.isfinite(rows)):
        raise DataError("X contains NaN or infinity", fix="leave those rows out, or impute them first")
    return rows


def _by_column(
    what: str, model: Any, values_of: Callable[[PrincipalComponents], Array], components: Components, names: Names
) -> ValueTable:
    """Return the table of values (d, k) of the model, one row per column, for some components."""
    values, chosen = values_of(_principal_components_of(model)), _check_component_numbers(model, components)
    named = _model_column_names(model, names)
    stem = axis_stem(_principal_components_of(model))
    return ValueTable(what, named, chosen, _shares(model, chosen), values[:, _index(chosen)], stem)


def _index(components: tuple[int, ...]) -> list[int]:
    return [c - 1 for c in components]


def _shares(model: Any, components: tuple[int, ...]) -> Array:
    return variance(model).shares[_index(components)]


def _divide_columns(Z: Array, scale: Array) -> Array:
    """Return Z / scale by column; the scores of a component without variance stay zero."""
    return np.asarray(Z / np.where(scale > 0.0, scale, 1.0) * (scale > 0.0))


def _counts(counts: int | Sequence[int] | None, k: int) -> tuple[int, ...]:
    if counts is None:
        return tuple(int(q) for q in np.unique(np.geomspace(1, k, min(4, k)).round()))
    given = checks.listed("k", counts) if checks.is_list(counts) else [counts]
    if not given:
        raise OptionError("is empty", argument="k", value=(), fix="give at least one number of components")
    return tuple(checks.integer("k", q, 1, k, "the number of components that the model keeps") for q in given)
