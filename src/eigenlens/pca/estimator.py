"""The scikit-learn estimator `PCA`."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, dense
from eigenlens.data.coerce import require_finite, rereadable
from eigenlens.data.dask import DaskSource
from eigenlens.data.device_rows import rows_on_host
from eigenlens.data.rows import positive_weight_rows
from eigenlens.data.source import Source, accumulate, progress_callback
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.base import forward, model_view, per_score
from eigenlens.estimator.covariance_matrix import read_covariance
from eigenlens.estimator.rows import map_blocks, map_rows, per_row, rows_from_moments, validate_rows
from eigenlens.linalg.operators import CentredRows, covariance_divisor, project_rows
from eigenlens.linalg.spectrum import Outcome
from eigenlens.pca import storage
from eigenlens.pca.fit import PCAFit, principal_components, rotate_components, weighted_row_count
from eigenlens.pca.interpreted_components import InterpretedComponents, complete_rows
from eigenlens.pca.model import PrincipalComponents
from eigenlens.pca.options import (
    MISSING_VALUE_METHODS,
    check_component_counts,
    check_feature_weight,
    check_pca_options,
    rows_with_entries,
    warn_about_pca,
)
from eigenlens.stats.moments import Moments
from eigenlens.stats.triangles import merge_triangles, row_triangle

MAX_REMEMBERED_BYTES = 64 << 20
"""Fitted rows up to this size are remembered, for `supplementary` and `partial_fit`."""


@dataclass(eq=False, repr=False)
class PCA(InterpretedComponents):
    """Principal component analysis, exact and in one pass where possible.

    Finds orthonormal axes v₁, v₂, … of largest variance: S v = λ v with S the covariance matrix (divisor Σw − 1)
    (Pearson 1901; Hotelling 1933; Jolliffe 2002, "Principal Component Analysis", chapters 1 to 3). The density of rows
    is that of the Gaussian with the mean of the rows and the covariance `get_covariance()`.

    Parameters:
        n_components: int (0: noise alone); a float in (0, 1) for the share of variance to keep; "mle", "parallel",
            "gavish-donoho", "cv" or "kaiser" for a rule; None for min(n, d).
        center: subtract the mean. With False, S = XᵀX / Σw, the second moments about zero: the axes and singular
            values are those of the singular value decomposition of X itself, `mean_` is zero, and every "variance" is
            a mean square.
        standardize: divide columns by their standard deviations, which makes this PCA of the correlation matrix. With
            center=False, divide them by their root mean squares, for PCA of the cosines between columns.
        whiten: scale scores to unit variance. This concerns the scores only; the model's covariance does not change.
            "zca" returns rows S^{-½} (x − mean) (n, d), white and closest to the standardised ones: scores of unit
            variance turned back to the axes of the columns (Mahalanobis whitening; Bell and Sejnowski 1997).
        rotation: None; or "varimax", "quartimax", "equamax", "promax", "oblimin", "geomin", or a callable from loadings
            (d, k) to a matrix T (k, k): rotated components RC1, RC2, … with loadings W = V λ^½ T⁻ᵀ that are easier to
            read, and scores of unit variance. They span the same space, so reconstructions and densities do not change.
            `rotation_options` are those of `FactorAnalysis`.
        solver: "auto" (see `eigenlens.linalg.solve.choose_solver`), "covariance", "gram", "svd", "lanczos",
            "randomized", "power", or a callable.
        missing: "raise" rejects NaN; "em" fits the observed entries by maximum likelihood (of probabilistic PCA), and
            `transform` then projects each row's conditional mean given its observed entries, and log densities are
            those of the observed entries. Rows without any observed entry are left out, with a warning, and rows of
            weight 0 may contain anything.
        tol: residual ‖S v − λ v‖ / λ₁ that iterative solvers must meet; 0 for what rounding allows.
        random_state: seed of the random solvers and rules.
        verbose: True for a progress bar, or a callable (rows done, total rows, label).

    Attributes:
        components_: (k, d) axes; the entry of largest modulus of each is positive.
        explained_variance_, explained_variance_ratio_: (k,) each, of the rotated components if there is a rotation:
            diag(Φ WᵀW) with Φ their correlations. singular_values_: (k,) of the analysed rows.
        rotation_matrix_: T (k, k). component_correlations_: (k, k) TᵀT. Both are the identity without a rotation.
        total_variance_: the trace of S. noise_variance_: mean of the discarded eigenvalues.
        mean_, scale_: (d,). loadings_: (d, k) components_.T * sqrt(explained_variance_).
        n_components_, n_samples_: k and n, with missing="em" the rows of positive weight with an observed entry.
        solver_: an `Outcome`: solver, reason, passes, iterations, residuals.
        model_: the frozen `PrincipalComponents`.

    Example:
        >>> from eigenlens import PCA
        >>> X = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 1.0], [-1.0, 1.0]])
        >>> pca = PCA(n_components=1).fit(X)
        >>> pca.explained_variance_ratio_
        array([0.873])
        >>> print(pca.solver_.solver)
        covariance
    """

    n_components: int | float | str | Callable[..., int] | None = None
    _: KW_ONLY
    center: bool = True
    standardize: bool = False
    whiten: bool | str = False
    rotation: str | Callable[..., Any] | None = None
    rotation_options: dict[str, Any] | None = None
    solver: str | Callable[..., Any] = "auto"
    missing: str = "raise"
    tol: float = 1e-9
    random_state: Any = None
    verbose: Any = False

    _storage = storage
    _feature_weight = None  # of the last fit
    _triangle = None  # of the rows about their mean, where moments alone would lose digits cheaply kept

    # ---- fitting ----------------------------------------------------------------------------------------

    def _set_fit(self, X: Any, source: Source, fit: PCAFit) -> None:
        self._rows_like = Like(X, source.dtype)
        self._model: PrincipalComponents | None = rotate_components(fit.model, self.rotation, self.rotation_options)
        self._outcome: Outcome | None = fit.spectrum.outcome
        self._moments: Moments | None = fit.moments
        self._triangle = None
        self.n_samples_: int = fit.rows.n_rows
        small = fit.rows.size * fit.rows.n_rows * source.dtype.itemsize <= MAX_REMEMBERED_BYTES
        self._fitted_source = rows_on_host(source) if small or not source.in_memory else None

    def _set_moments(self, moments: Moments, triangle: Array | None = None) -> None:
        self._moments, self._triangle = moments, triangle
        self._model, self._outcome, self._fitted_source = None, None, None
        self.n_samples_ = moments.rows

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, feature_weight: Any = None, *, checkpoint: Any = None
    ) -> Self:
        """Fit the components of the rows of X (n, d), row i counting sample_weight[i] times.

        feature_weight (d,) is the metric of the columns: column j counts as feature_weight[j] columns, as "col.w" in
        FactoMineR. The analysis is that of the columns times the roots of their weights, by which `scale_` is divided.

        After a KeyboardInterrupt, missing="em" keeps the best model so far, with a warning.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        source = validate_rows(self, X, sample_weight, reset=True)
        self._feature_weight = check_feature_weight(feature_weight, source.n_features)
        checks.name("missing", self.missing, MISSING_VALUE_METHODS)
        rows = positive_weight_rows(source) if self.missing == "em" else source
        n_components, options = check_pca_options(self, rows)
        if n_components is None and self.missing == "em":
            n_components = min(weighted_row_count(rows), rows.n_features)  # the saturated model has one axis less
        with progress_callback(self.verbose) as progress:
            fit = MISSING_VALUE_METHODS[self.missing](rows, n_components, options, progress)
        self._set_fit(X, source, fit)
        if fit.spectrum.outcome.solver == "em":
            self.n_samples_ = rows_with_entries(rows, self.n_samples_)
        warn_about_pca(fit, source, self)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None, feature_weight: Any = None) -> Any:
        """Fit the rows of X, and return their scores (n, k)."""
        X = rereadable(X)
        return self.fit(X, y, sample_weight=sample_weight, feature_weight=feature_weight).transform(X)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Add rows to those of earlier fits, exactly: moments merge, and the components are computed when first used.

        They are computed from a covariance matrix, which keeps singular values down to about 1e-6 of the largest; of
        batches of few rows and columns, up to n d² = 4 million each, from a triangle, which keeps all.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        before, R = self._moments_so_far() if hasattr(self, "_moments") else (None, None)
        source = validate_rows(self, X, sample_weight, reset=before is None)
        check_pca_options(self, source, rows_known=False)
        with np.errstate(all="ignore"):
            moments = accumulate(source, Moments.of)
        require_finite(source, moments.mean)
        S = row_triangle(source, moments)
        if before is None:
            self._set_moments(moments, S)
        else:
            self._set_moments(before + moments, merge_triangles(R, before, S, moments))
        self._rows_like = Like(X, source.dtype)
        return self

    def _moments_so_far(self) -> tuple[Moments, Array | None]:
        """Return the moments of the fit, and the triangle; where its solver made none, those of the remembered rows."""
        if self._moments is not None:
            known = self._triangle
            return self._moments, row_triangle(self._fitted_source, self._moments) if known is None else known
        if self.solver_.solver == "em" or self._fitted_source is None:
            what = f"partial_fit after fit with solver {self.solver_.solver!r} is not possible: it kept no moments"
            fix = "use {solver}, or partial_fit from the start"
            raise OptionError(what, fix=fix, settings={"solver": "covariance"})
        rows, model = CentredRows(self._fitted_source, center=self.center), self.model_
        moments, variances = rows.moments, model.column_variances * model.scale**2
        moved = np.abs(rows.centre - model.mean) > 1e-6 * np.sqrt(rows.variances)
        if np.any(moved | (np.abs(rows.variances - variances) > 1e-3 * variances)):
            raise DataError("the fitted rows have changed since fit", fix="start again with partial_fit on all rows")
        return moments, row_triangle(self._fitted_source, moments)

    def fit_covariance(self, S: Any, n_samples: float, mean: Any = None) -> Self:
        """Fit the components of rows of which only the covariance or correlation matrix S (d, d) is known.

        Every method that does not need the fitted rows works as after `fit`, and `partial_fit` and `merge` add rows.

        Args:
            S: positive semidefinite; a frame names the variables by its columns. Its divisor is taken to be
                n_samples − 1, that of `fit`; with center=False it holds second moments about zero, with divisor
                n_samples.
            n_samples: the number of rows behind S.
            mean: (d,) the mean of those rows, 0 if None.

        >>> PCA(1).fit_covariance(np.array([[4.0, 2.0], [2.0, 4.0]]), n_samples=50).explained_variance_
        array([6.])
        """
        center = checks.boolean("center", self.center)
        given = read_covariance(self, S, n_samples, mean, constant=True)
        if mean is not None and not center:
            what = "has no effect with {center}, whose second moments are about zero"
            raise OptionError(what, argument="mean", fix="leave it out", settings={"center": False})
        self._feature_weight = None
        self._set_moments(given.moments(covariance_divisor(given.n, center)))
        self._rows_like = Like(S, given.source.dtype)
        self._solved()
        return self

    def merge(self, other: PCA) -> Self:
        """Add the rows of another fitted PCA, exactly; both must have kept their moments."""
        check_is_fitted(self)
        if not isinstance(other, PCA):
            raise OptionError("is not a fitted PCA", argument="other", value=other)
        check_is_fitted(other)
        if self._moments is None or other._moments is None:
            what = "merge needs the moments of both models, this and other"
            raise OptionError(what, fix="fit them with {solver} or partial_fit", settings={"solver": "covariance"})
        if other.n_features_in_ != self.n_features_in_:
            raise OptionError(f"other has {other.n_features_in_} features, but this PCA has {self.n_features_in_}")
        mine, theirs = (list(getattr(estimator, "feature_names_in_", ())) for estimator in (self, other))
        if mine and theirs and mine != theirs:
            raise OptionError(f"other was fitted on the columns {theirs[:8]}, but this PCA on {mine[:8]}")
        equal = np.ones(self.n_features_in_)
        metrics = [equal if each._feature_weight is None else each._feature_weight for each in (self, other)]
        if not np.array_equal(metrics[0], metrics[1]):
            raise OptionError("other was fitted with another feature_weight", fix="fit both with the same")
        triangle = merge_triangles(self._triangle, self._moments, other._triangle, other._moments)
        self._set_moments(self._moments + other._moments, triangle)
        return self

    # ---- rows to scores and back ------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return the scores (n, k) of the rows of X, in X's dtype and on its device.

        A Dask array gives a Dask array.
        """
        check_is_fitted(self)
        model, V = self.model_, self.model_.score_map(self.whiten)
        source = validate_rows(self, X)
        project = (
            partial(_project_completed, model=model, V=V)
            if self.missing == "em"
            else partial(project_rows, mean=model.mean, V=V, deviation=np.sqrt(model.column_variances) * model.scale)
        )
        return map_rows(source, project, V.shape[1])

    @per_score
    def inverse_transform(self, X: Any) -> Any:
        """Return the rows (n, d) whose scores are X (n, k); with q < k columns, those of the q leading components."""
        Z = self._check_scores(X, fewer=self.whiten != "zca" and self.rotation is None)
        model, like = self.model_, Like(Z)
        return Z @ like(model.row_map(self.whiten)[: Z.shape[1]]) + like(model.mean)

    def reconstruction_error(self, X: Any, k: Any = None, *, per_row: bool = True, sample_weight: Any = None) -> Any:
        """Return the squared distance (n,) of each row from its projection, in the units of the analysis.

        k: the number of leading components projected onto, all by default, 0 for the mean; several numbers give one
        column each (n, m), and "all" is 1 to `n_components_`. One pass serves all of them.

        With per_row=False, their sum over Σw − 1 (Σw with center=False): for the fitted rows, the sum of the discarded
        eigenvalues.
        """
        check_is_fitted(self)
        counts, single = check_component_counts(k, self.n_components_)
        if checks.boolean("per_row", per_row):
            if k is None:
                return self._row_errors(X)
            return self._errors_by_count(X)[:, counts[0] if single else counts]
        source = validate_rows(self, X, sample_weight)
        errors = map_blocks(source, partial(self.model_.squared_errors, counts=counts))
        w = np.ones(len(errors)) if source.weight is None else source.weight
        divisor = covariance_divisor(float(w.sum()), self.center)
        if divisor <= 0.0:
            what = f"X has a total weight of {w.sum():g}, but more than 1 row is needed"
            raise DataError(what, fix="pass {per_row}", settings={"per_row": True})
        found = w @ errors / divisor
        return float(found[0]) if single else self._like(found)

    @per_row()
    def _row_errors(self, X: Any) -> Any:
        return map_blocks(validate_rows(self, X), self.model_.squared_error)

    @per_row(lambda self: self.n_components_ + 1)
    def _errors_by_count(self, X: Any) -> Any:
        return map_blocks(
            validate_rows(self, X), partial(self.model_.squared_errors, counts=range(self.n_components_ + 1))
        )

    def truncated(self, k: int) -> Self:
        """Return the fitted PCA of the k leading components, as if it had been fitted with n_components=k."""
        check_is_fitted(self)
        count = checks.integer("k", k, 0, self.n_components_, "the number of components fitted")
        made: Self = copy.copy(self)
        leading = self.model_.truncated(count)
        made.n_components, made._model = count, rotate_components(leading, self.rotation, self.rotation_options)
        made._outcome = replace(self.solver_, residuals=self.solver_.residuals[:count])
        made._fitted_source = self._fitted_source  # a copy, as one that is pickled, forgets it
        return made

    def left_singular_vectors(self, X: Any = None, *, sample_weight: Any = None) -> Any:
        """Return the left singular vectors U (n, k) of the analysed rows, √w z / s: orthonormal, X̃ = U S V.

        X are the fitted rows, needed where this object does not remember them. A component of no variance has zeros.
        Rows of a Dask array give a Dask array.
        """
        check_is_fitted(self)
        source, s = self._fitted_rows(X, sample_weight), self.model_.singular_values
        over = np.where(s > 0.0, 1.0 / np.where(s > 0.0, s, 1.0), 0.0)
        if isinstance(source, DaskSource):
            U = map_rows(source, partial(_scaled_scores, model=self.model_, over=over), self.n_components_)
            return source.times_weights(U, np.sqrt)
        U = map_blocks(source, self.model_.project) * over
        return self._like(U if source.weight is None else U * np.sqrt(source.weight)[:, None])

    # ---- the density ------------------------------------------------------------------------------------

    def _log_densities(self, source: Source) -> Array:
        model = self.model_
        return map_blocks(source, model.observed_log_density if self.missing == "em" else model.log_density)

    def get_covariance(self) -> Any:
        """Return the model's covariance (d, d) of the rows, in their own units, whitened or not."""
        return self._like(self.model_.covariance())

    def get_precision(self) -> Any:
        """Return the inverse of `get_covariance()` (d, d)."""
        return self._like(self.model_.precision())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = isinstance(self.missing, str) and self.missing == "em"
        return tags

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def model_(self) -> PrincipalComponents:
        """The frozen model; after `partial_fit` it is computed here, once."""
        return self._solved()[0]

    def _solved(self) -> tuple[PrincipalComponents, Outcome]:
        check_is_fitted(self)
        if self._model is None or self._outcome is None:
            assert self._moments is not None
            rows = rows_from_moments(self._moments, triangle=self._triangle, **self._row_options)
            n_components, options = check_pca_options(self, rows.source)
            solver = "covariance" if self._triangle is None else "auto"
            fit = principal_components(rows, n_components, solver, self.tol, options.rng)
            self._model = rotate_components(fit.model, self.rotation, self.rotation_options)
            self._outcome = fit.spectrum.outcome
        return self._model, self._outcome

    @property
    def solver_(self) -> Outcome:
        """The record of the solver: which, why, at what cost, with what residuals."""
        _, outcome = self._solved()
        return outcome

    components_ = model_view(
        "axes", "The axes (k, d), one per row; loadings_.T / sqrt(explained_variance_) if rotated."
    )
    explained_variance_ = model_view("explained", "The variances (k,) of the rows that the components explain.")
    loadings_ = model_view("loadings", "The loadings (d, k), components_.T * sqrt(explained_variance_).")
    component_correlations_ = model_view("component_correlations", "(k, k), the identity unless rotated obliquely.")
    mean_ = model_view("mean", "The means (d,) of the columns, zeros with center=False.")
    scale_ = model_view("scale", "The scales (d,) of the columns, ones unless standardised.")
    total_variance_ = forward("model_.total", "The sum of all variances, kept or not.")
    noise_variance_ = forward("model_.noise", "The mean of the d − k discarded eigenvalues.")

    @property
    def explained_variance_ratio_(self) -> Any:
        """The shares (k,) of the total variance that the components explain."""
        total = self.model_.total
        return self._like(self.model_.explained / total if total > 0.0 else np.zeros(len(self.model_.variances)))

    @property
    def rotation_matrix_(self) -> Any:
        """The matrix T (k, k): rotated scores are whitened ones times T, and rotated loadings are V λ^½ T⁻ᵀ."""
        T = self.model_.rotation
        return self._like(np.eye(self.n_components_) if T is None else T)

    @property
    def singular_values_(self) -> Any:
        """The singular values (k,) of the centred rows, of X itself with center=False."""
        return self._like(self.model_.singular_values)

    @property
    def n_components_(self) -> int:
        """The number k of components."""
        return int(self.model_.components.shape[0])

    @property
    def _n_features_out(self) -> int:
        return int(self.n_features_in_) if self.whiten == "zca" else self.n_components_

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns of `transform`: pca0, pca1, …; with whiten="zca" those of the rows."""
        if self.whiten == "zca":
            return OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return super().get_feature_names_out(input_features)

    # ---- copies ----------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_fitted_source", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._fitted_source = None


def _project_completed(rows: Any, model: PrincipalComponents, V: Array) -> Any:
    """Return the scores of rows whose missing entries are replaced by their expectations."""
    return Like(rows)(project_rows(complete_rows(rows, model), model.mean, V))


def _scaled_scores(rows: Any, model: PrincipalComponents, over: Array) -> Any:
    """Return the projections (b, k) of rows, column j times over[j]."""
    return Like(rows)(model.project(dense(rows)) * over)
