"""Interpretation of principal components: correlations, contributions, cos², supplementary columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, to_numpy
from eigenlens.data.memory import native_names, read_column, reject_repeated_names
from eigenlens.data.source import Source
from eigenlens.errors import DataError
from eigenlens.estimator.rows import dense_blocks
from eigenlens.pca.model import PrincipalComponents


def correlations_with_components(model: PrincipalComponents) -> Array:
    """Return the correlation (d, k) of each column with each component, V √λ / sd; 0 for a constant column.

    Rotated components may correlate: with Φ their correlations it is Λ Φ / sd.
    """
    deviation = np.sqrt(model.column_variances)
    covariances = model.loadings if model.rotation is None else model.loadings @ model.component_correlations
    return np.asarray(covariances / np.where(deviation > 0.0, deviation, 1.0)[:, None])


def contributions_by_column(model: PrincipalComponents) -> Array:
    """Return the per cent (d, k) that each column contributes to each component, 100 V². Each component sums to 100.

    For a rotated component they are its squared loadings over their sum; 0 where it has no variance.
    """
    squares = model.axes.T**2
    total = squares.sum(axis=0)
    return np.asarray(100.0 * squares / (1.0 if model.rotation is None else np.where(total > 0.0, total, 1.0)))


def contributions_by_row(model: PrincipalComponents, Z: Array, weight: Array | None) -> Array:
    """Return the per cent (n, k) that each row contributes to a component's variance, 100 w z² / ((Σw − 1) var z)."""
    inertia = model.divisor * model.score_variances
    share = 100.0 * Z**2 / np.where(inertia > 0.0, inertia, 1.0)
    return np.asarray(share if weight is None else share * weight[:, None])


def row_cos2(Z: Array, squared_error: Array) -> Array:
    """Return the squared cosine (n, k) of each row with each component, z² over its squared distance to the mean.

    NaN where the part of that distance off the components is NaN.
    """
    distance = (Z * Z).sum(axis=1) + squared_error
    return np.asarray(Z**2 / np.where(distance == 0.0, 1.0, distance)[:, None])


@dataclass(frozen=True, eq=False)
class Supplementary:
    """Columns that took no part in the fit, projected onto its components.

    Attributes:
        names: (q,) names of the numeric columns.
        correlations: (q, k) of those with the components; their coordinates on the correlation circle.
        cos2: (q, k) their squares.
        categories: the projected categories of each categorical column, by name.
    """

    names: tuple[str, ...]
    correlations: Array
    categories: dict[str, SupplementaryCategories]

    @property
    def cos2(self) -> Array:
        """(q, k) squared correlations."""
        return np.asarray(self.correlations**2)


@dataclass(frozen=True, eq=False)
class SupplementaryCategories:
    """The categories of a column that took no part in the fit, at the mean scores of their rows.

    Attributes:
        name: the column. levels: (l,) its categories.
        coordinates: (l, k) mean scores of the rows of each category.
        cos2: (l, k) share of the squared distance of a category's mean row from the mean; NaN if components are
            rotated, since these are not orthogonal.
        v_test: (l, k) coordinate over its standard error if the category were drawn at random (normal scale).
        eta2: (k,) squared correlation ratio, the share of a component's variance between categories.
    """

    name: str
    levels: tuple[str, ...]
    coordinates: Array
    cos2: Array
    v_test: Array
    eta2: Array


def _supplementary_correlations(columns: Array, Z: Array, weight: Array | None) -> Array:
    """Return weighted correlations of columns (n, q) with scores Z (n, k); rows with NaN are left out of a column."""
    w = np.ones(len(Z)) if weight is None else weight
    found = np.empty((columns.shape[1], Z.shape[1]))
    for j, column in enumerate(columns.T):
        seen = np.isfinite(column) & (w > 0.0)
        if not seen.any():
            raise DataError(f"supplementary column {j} has no number in a row with positive weight", fix="leave it out")
        found[j] = _correlation(column[seen], Z[seen], w[seen])
    return found


def _correlation(x: Array, Z: Array, w: Array) -> Array:
    x, Z = _unit_deviations(x, w), _unit_deviations(Z, w)
    return np.asarray((w * x) @ Z)


def _unit_deviations(x: Array, w: Array) -> Array:
    """Return deviations from the weighted mean, of weighted square 1 by column, 0 for a constant one.

    A power of two is divided out first, which is exact, so that numbers near the ends of the floats have squares.
    """
    x = np.ldexp(x, -np.frexp(np.abs(x).max(axis=0))[1])
    x = x - np.average(x, axis=0, weights=w)
    norms = np.sqrt(w @ (x * x))
    return np.asarray(x / np.where(norms > 0.0, norms, 1.0))


def _supplementary_categories(
    name: str, values: Array, Z: Array, squared_error_of_means: Array, weight: Array | None
) -> SupplementaryCategories:
    """Return the mean scores of the categories of `values` (n,), with their tests.

    v = coordinate / sqrt(λ / n_l · (n − n_l) / (n − 1)), λ with divisor n: the test of a random draw without
    replacement (Morineau 1984). `squared_error_of_means` (l,) is the part of each category's mean row off the
    components.
    """
    w = np.ones(len(Z)) if weight is None else weight
    levels, codes = np.unique(values, return_inverse=True)
    counts = np.bincount(codes, w)
    means = np.stack([np.bincount(codes, w * z) for z in Z.T], axis=1) / counts[:, None]
    n, variance = w.sum(), w @ Z**2 / w.sum()
    finite = (n - counts) / (n - 1.0) / counts
    v_test = means / np.sqrt(np.outer(np.where(finite > 0.0, finite, np.inf), variance))
    eta2 = counts @ means**2 / n / variance
    return SupplementaryCategories(
        name, tuple(map(str, levels)), means, row_cos2(means, squared_error_of_means), v_test, eta2
    )


def project_columns(columns: Any, Z: Array, source: Source, model: PrincipalComponents) -> Supplementary:
    """Return supplementary columns, numeric and categorical, on the scores Z (n, k); rows of weight 0 are left out."""
    named = _named_columns(columns)
    for name, values in named.items():
        if values.ndim != 1:  # one value, or records of several numbers
            what, fix = f"columns[{name!r}] has shape {values.shape}", f"give one entry for each of the {len(Z)} rows"
            raise DataError(what, columns=[name], fix=fix)
        if len(values) != len(Z):
            raise DataError(f"columns[{name!r}] has {len(values)} rows, but the fit had {len(Z)}", columns=[name])
    numeric = {name: values for name, values in named.items() if values.dtype.kind in "fiub"}
    table = np.empty((len(Z), len(numeric)))
    for j, values in enumerate(numeric.values()):
        table[:, j] = values
    found = _supplementary_correlations(table, Z, source.weight)
    texts = {name: _category_names(name, values) for name, values in named.items() if name not in numeric}
    positive = np.ones(len(Z), dtype=bool) if source.weight is None else source.weight > 0.0
    weight = None if source.weight is None else source.weight[positive]
    categories = {
        name: _supplementary_categories(
            name, values[positive], Z[positive], _off_axes(values, positive, source, model), weight
        )
        for name, values in texts.items()
    }
    return Supplementary(tuple(numeric), found, categories)


def _category_names(name: str, values: Array) -> Array:
    try:
        return values.astype(str)
    except (TypeError, ValueError) as error:  # records, or lists
        raise DataError(f"columns[{name!r}] holds neither numbers nor categories", columns=[name]) from error


def _off_axes(values: Array, positive: Array, source: Source, model: PrincipalComponents) -> Array:
    """Return the squared distance (l,) of each category's mean row from the space of the components.

    NaN if they are rotated: their squared scores and this distance do not add up to the distance from the mean.
    """
    categories, inverse = np.unique(values[positive], return_inverse=True)
    if model.rotation is not None:
        return np.full(categories.size, np.nan)
    codes = np.zeros(len(values), dtype=int)
    codes[positive] = inverse
    w = np.ones(len(values)) if source.weight is None else source.weight
    sums, start = np.zeros((categories.size, source.n_features)), 0
    for block in dense_blocks(source):
        stop = start + len(block)
        np.add.at(sums, codes[start:stop], w[start:stop, None] * block)
        start = stop
    return model.squared_error(sums / np.bincount(codes, w, minlength=categories.size)[:, None])


def _named_columns(columns: Any) -> dict[str, Array]:
    if isinstance(columns, dict):
        return {str(name): to_numpy(values, "columns") for name, values in columns.items()}
    import narwhals.stable.v2 as nw

    reject_repeated_names(native_names(columns), "columns")
    given: Any = nw.from_native(columns, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(given, nw.DataFrame | nw.Series):
        frame = given.to_frame() if isinstance(given, nw.Series) else given
        # Names may be numbers, and frame[0] would be a row.
        return {str(name): read_column(frame.get_column(name)) for name in frame.columns}
    try:
        array = np.asarray(to_numpy(columns, "columns"))
    except DataError:
        raise
    except ValueError:  # lists of different lengths
        raise DataError("is not a table", argument="columns", fix="give (n,), (n, q), a dict or a frame") from None
    if array.ndim not in (1, 2):
        raise DataError(f"have shape {array.shape}", argument="columns", fix="give (n,), (n, q), a dict or a frame")
    array = array[:, None] if array.ndim == 1 else array
    return {str(j): array[:, j] for j in range(array.shape[1])}
