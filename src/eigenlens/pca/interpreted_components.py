"""The methods of `PCA` that say what its components mean, and which rows do not fit them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, dense
from eigenlens.data.coerce import require_finite, require_no_infinity
from eigenlens.data.dask import DaskSource
from eigenlens.data.rows import row_count
from eigenlens.data.source import Source
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.base import DensityEstimator, ProjectionEstimator
from eigenlens.estimator.rows import dense_blocks, map_blocks, per_row, rows_from_moments, validate_rows
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.solve import MAX_MATRIX_SIZE
from eigenlens.pca import interpret
from eigenlens.pca.bootstrap import Bootstrap, bootstrap_components
from eigenlens.pca.fit import PCAOptions, fit_pca, principal_components, rotate_components
from eigenlens.pca.interpret import project_columns
from eigenlens.pca.model import PrincipalComponents
from eigenlens.pca.outliers import (
    SPE_LIMITS,
    OutlierTable,
    RowDistances,
    outlier_limits,
    row_distances,
)
from eigenlens.stats.moments import Moments
from eigenlens.tables.names import feature_names, row_labels


class InterpretedComponents(ProjectionEstimator, DensityEstimator):
    """The methods of `PCA` that read its fitted components."""

    center: bool
    standardize: bool
    missing: str
    rotation: Any
    rotation_options: dict[str, Any] | None
    tol: float
    _moments: Moments | None
    _triangle: Array | None
    _feature_weight: Array | None
    _fitted_source: Source | None

    def correlations(self) -> Any:
        """Return the correlation (d, k) of each column with each component."""
        return self._like(interpret.correlations_with_components(self.model_))

    def contributions(self, X: Any = None, *, sample_weight: Any = None) -> Any:
        """Return the per cent that each column (d, k), or each row of X (n, k), contributes to each component.

        Rows of a Dask array give a Dask array.
        """
        if X is None:
            return self._like(interpret.contributions_by_column(self.model_))
        source = validate_rows(self, X, sample_weight)
        if isinstance(source, DaskSource):
            share = source.map_rows(partial(_chunk_contributions, model=self.model_), self.n_components_)
            return source.times_weights(share, np.asarray)
        Z = map_blocks(source, self.model_.scores)
        with np.errstate(over="ignore", invalid="ignore"):
            shares = interpret.contributions_by_row(self.model_, Z, source.weight)
        require_finite(X, shares)
        return Like(X, source.dtype).exact(shares)

    def cos2(self, X: Any = None) -> Any:
        """Return the squared cosine of the columns (d, k), or of the rows of X (n, k), with each component.

        It measures how well a component represents them. Rotated components are not orthogonal, so rows have none.
        """
        if X is None:
            return self._like(interpret.correlations_with_components(self.model_) ** 2)
        if self.rotation is not None:
            what = "makes components that are not orthogonal, so that rows have no cos²"
            fix, settings = "fit with {rotation}", {"rotation": None}
            raise OptionError(what, argument="rotation", value=self.rotation, fix=fix, settings=settings)
        return self._row_cos2(X)

    @per_row(lambda self: self.n_components_)
    def _row_cos2(self, X: Any) -> Any:
        source = validate_rows(self, X)
        Z = map_blocks(source, self.model_.project)
        found = interpret.row_cos2(Z, map_blocks(source, self.model_.squared_error))
        require_finite(source, found)
        return found

    def supplementary(self, columns: Any, X: Any = None, *, sample_weight: Any = None) -> interpret.Supplementary:
        """Project columns that took no part in the fit: numbers by correlation, categories by the mean of their rows.

        `columns` has one row for each fitted row, as a vector, array, dict or frame. X are the fitted rows: they need
        not be given while this object remembers them (up to 64 MiB, or a scan).
        """
        check_is_fitted(self)
        if not self.center:
            what = "leaves no mean from which supplementary columns could deviate"
            raise OptionError(what, argument="center", value=False, fix="fit with {center}", settings={"center": True})
        source = self._fitted_rows(X, sample_weight)
        Z = map_blocks(source, self.model_.project)
        if np.any(np.abs(np.average(Z, axis=0, weights=source.weight)) > 1e-3 * np.sqrt(self.model_.total)):
            raise DataError("the rows are not those of the fit (their mean differs)", fix="give the fitted rows as X=")
        Z = Z if self.model_.rotation is None else map_blocks(source, self.model_.scores)
        return project_columns(columns, Z, source, self.model_)

    def bootstrap(self, X: Any, n: int = 200, *, sample_weight: Any = None, random_state: Any = None) -> Bootstrap:
        """Refit `n` times on rows drawn with replacement; axes are aligned with the fitted ones by Procrustes."""
        check_is_fitted(self)
        source = validate_rows(self, X, sample_weight)
        rng = checks.generator(self.random_state if random_state is None else random_state)
        weight = np.ones(row_count(source)) if source.weight is None else source.weight

        options = PCAOptions(self.standardize, self.center, self._feature_weight, tol=self.tol, rng=rng)

        def refit(counts: Array) -> PrincipalComponents:
            return rotate_components(
                fit_pca(source.weighted(counts), self.n_components_, options).model,
                self.rotation,
                self.rotation_options,
            )

        return bootstrap_components(self.model_, refit, weight, checks.integer("n", n, 2, checks.MAX_REPLICATES), rng)

    def outliers(
        self, X: Any = None, *, level: float = 0.99, spe_rule: str = "pearson", labels: Any = None
    ) -> OutlierTable:
        """Return Hotelling's T² and the squared prediction error of rows, with limits and contributions by column.

        Without X the fitted rows are judged, if they are remembered, by the limits of rows that took part in the fit;
        rows X by those of new rows. See `eigenlens.pca.outliers`.

        Args:
            level: the probability with which a normal row lies below each limit.
            spe_rule: the approximation of the limit of the squared prediction error: "pearson" (three moments, the most
                accurate, and for new rows of the variances that these will show); "jackson-mudholkar" or "box", as
                process monitoring has it: too low for new rows where few were fitted.
            labels: (n,) names of the rows in the table, by default their numbers.
        """
        check_is_fitted(self)
        source, model = self._fitted_rows(X, None), self.model_
        parts = [row_distances(model, self._complete_rows(block)) for block in dense_blocks(source)]
        found = RowDistances(*map(np.concatenate, zip(*parts, strict=True)))
        require_finite(source, found.spe, found.t2)
        share, rule = checks.real("level", level, 0.0, 1.0), checks.name("spe_rule", spe_rule, SPE_LIMITS)
        limits = outlier_limits(model, self.discarded_variances(), share, rule, fitted=X is None)
        rows = row_labels(labels, len(found.t2)) or tuple(map(str, range(len(found.t2))))
        return OutlierTable(*found, share, *limits, feature_names(self, model.mean.size), rows)

    def _complete_rows(self, rows: Array) -> Array:
        return complete_rows(rows, self.model_) if self.missing == "em" else rows

    def discarded_variances(self) -> Array:
        """Return the eigenvalues that the model discards, descending: from the moments, or from remembered rows.

        Where both are gone, as in a file, and with missing="em", they are those of the probabilistic model, all equal.
        """
        model, moments, source = self.model_, self._moments, self._fitted_source
        k, d = model.components.shape
        if moments is not None:
            rows = rows_from_moments(moments, **self._row_options)
        elif source is None or self.missing == "em" or min(row_count(source), d) > MAX_MATRIX_SIZE:
            return np.full(d - k, model.noise)
        else:
            rows = CentredRows(source, **self._row_options)
        solver = "covariance" if moments is not None or rows.n_rows >= d else "gram"
        values = principal_components(rows, None, solver, 1e-9, np.random.default_rng(0)).model.variances
        return values[k:]

    @property
    def _row_options(self) -> dict[str, Any]:
        """How the rows are analysed: the options of `CentredRows`."""
        return {"standardize": self.standardize, "center": self.center, "feature_weight": self._feature_weight}

    def _fitted_rows(self, X: Any, sample_weight: Any) -> Source:
        if X is not None:
            return validate_rows(self, X, sample_weight)
        if self._fitted_source is None:
            raise DataError("the fitted rows are not remembered (large, saved or partial fits)", fix="give them as X=")
        return self._fitted_source


def _chunk_contributions(rows: Any, model: PrincipalComponents) -> Array:
    """Return the contributions (b, k) of the rows of a chunk, in its dtype."""
    found = interpret.contributions_by_row(model, model.scores(dense(rows)), None)
    require_finite(rows, found)
    return np.asarray(found, dtype=rows.dtype)


def complete_rows(rows: Any, model: PrincipalComponents) -> Array:
    """Return dense rows with missing values replaced by their conditional means given the rest of the row."""
    values = require_no_infinity(dense(rows))
    return model.gaussian(floor=1e-9).impute(values) if np.any(np.isnan(values)) else values
