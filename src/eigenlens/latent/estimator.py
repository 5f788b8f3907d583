"""The methods shared by the estimators of latent Gaussian models: posteriors, imputation, densities, samples, files.

An estimator sets its parameters, fits, and calls `_keep`; everything else is here, on the frozen `LinearGaussian`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, dense, to_numpy
from eigenlens.data.coerce import require_finite
from eigenlens.data.rows import select_rows
from eigenlens.data.source import BLOCK_BYTES, Source, progress_callback
from eigenlens.data.table import observed_rows
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.estimator.base import DensityEstimator, IterativeFit, ProjectionEstimator, model_view, per_score
from eigenlens.estimator.rows import dense_blocks, impute_rows, map_blocks, validate_rows
from eigenlens.latent import storage
from eigenlens.latent.n_components import DimensionChoice
from eigenlens.latent.options import candidate_dimensions, warn_interrupted_choice
from eigenlens.linalg.operators import concatenate, project_rows
from eigenlens.linalg.spectrum import Outcome
from eigenlens.missing.result import LatentFit, free_parameters
from eigenlens.missing.standardize import StandardizedColumns

RECONSTRUCTIONS: dict[str, Callable[[LinearGaussian, Array], Array]] = {
    "posterior": LinearGaussian.reconstruct,
    "orthogonal": LinearGaussian.reconstruct_orthogonal,
}
"""Methods of reconstruction, from latent values to rows, by name."""


class LatentGaussian(StandardizedColumns, IterativeFit[LatentFit], ProjectionEstimator, DensityEstimator):
    """The methods of `ProbabilisticPCA` and `FactorAnalysis`. NaN in X is a missing entry in every one of them.

    `_rotation_matrix` T (k, k) rotates the latent values z of the model to those reported, z T; None for no rotation.
    """

    _storage = storage
    _takes_missing = True
    _score_words = ("latent values", "dimension")
    _rotation_matrix: Array | None = None
    _scalar_noise: bool  # whether all columns, over `scale_`, have the same noise variance
    _takes_fewer = False  # whether the leading dimensions alone are a model of fewer dimensions

    # ---- rows to latent values and back -----------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Return E[z | x] (n, k) of the rows of X, given their observed entries; 0 for a row without any.

        The result has X's dtype, on its device; a Dask array gives a Dask array. Complete rows cost O(dk) each, and
        sparse rows stay sparse; sparse rows with NaN become dense, a few at a time.
        """
        check_is_fitted(self)
        source = validate_rows(self, X)
        model, T = self.model_, self._rotation_matrix
        means = partial(_latent_means, model=model, T=T, V=_rotate(model.latent_map, T))
        if hasattr(source, "map_rows"):
            return source.map_rows(means, self.n_components_)
        return concatenate([means(rows) for rows in source.rows()])

    def posterior(self, X: Any) -> tuple[Any, Any]:
        """Return E[z | x] (n, k) and cov[z | x]: (k, k), the same for every row, or (n, k, k) with missing entries.

        A Dask array gives Dask arrays, the covariances as (n, k, k): whether entries are missing is known later.
        """
        check_is_fitted(self)
        source, k = validate_rows(self, X), self.n_components_
        if hasattr(source, "map_rows"):
            chunk = partial(_posterior_chunk, model=self.model_, T=self._rotation_matrix)
            return source.map_rows(partial(chunk, which=0), k), source.map_rows(partial(chunk, which=1), (k, k))
        with np.errstate(all="ignore"):
            parts = [self.model_.posterior(block) for block in dense_blocks(source)]
        means = np.concatenate([_rotate(mean, self._rotation_matrix) for mean, _ in parts])
        require_finite(source, means)
        covariance, T = _join_covariances(parts), self._rotation_matrix
        like = Like(X, source.dtype)
        return like(means), like(covariance if T is None else T.T @ covariance @ T)

    @per_score
    def inverse_transform(self, X: Any, method: str = "posterior") -> Any:
        """Return the rows (n, d) of latent values X (n, k).

        method "posterior": W z + mu, the mean of x given z. "orthogonal": for z = E[z | x] of complete rows, their
        projections onto the space of W; "posterior" is shrunken from these towards the mean. The two agree as the noise
        tends to 0.
        """
        Z = self._check_scores(X, fewer=self._takes_fewer)
        back = RECONSTRUCTIONS[checks.name("method", method, RECONSTRUCTIONS)]
        values, T = to_numpy(Z).astype(np.float64), self._rotation_matrix
        values = np.pad(values, ((0, 0), (0, self.n_components_ - values.shape[1])))
        return Like(Z)(back(self.model_, values if T is None else np.linalg.solve(T.T, values.T).T))

    def impute(self, X: Any, return_std: bool = False) -> Any:
        """Return X (n, d) with NaN replaced by its conditional mean given the observed entries of the row.

        With return_std also the conditional standard deviations (n, d), 0 for observed entries: a missing entry lies
        within 1.96 of them with probability 0.95. A frame gives frames of the same kind, index and columns, a Dask
        array Dask arrays; sparse X and files give arrays, which are dense.
        """
        check_is_fitted(self)
        source, with_std = validate_rows(self, X), checks.boolean("return_std", return_std)
        found = impute_rows(self.model_, X, source, with_std)
        return tuple(found) if with_std else found[0]

    # ---- the density ------------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1, *, random_state: Any = None, return_latent: bool = False) -> Any:
        """Draw rows (n_samples, d) from the model; with return_latent also their latent values (n_samples, k).

        Latent values are drawn first, z ~ N(0, I), and then the row given them, x = W z + mu + e. They are rotated as
        those of `transform` are.
        """
        rng = checks.generator(self.random_state if random_state is None else random_state)
        rows, Z = self.model_.sample_latent(checks.sample_size("n_samples", n_samples, self.n_features_in_), rng)
        if not checks.boolean("return_latent", return_latent):
            return self._like(rows)
        return self._like(rows), self._like(_rotate(Z, self._rotation_matrix))

    def _density_and_presence(self, source: Source) -> Array:
        def of(rows: Array) -> Array:
            return np.column_stack([self.model_.log_density(rows), observed_rows(rows)])

        with np.errstate(all="ignore"):
            return map_blocks(source, of)

    @property
    def _n_parameters(self) -> int:
        d, k = self.model_.loadings.shape
        return free_parameters(d, k, scalar_noise=self._scalar_noise)

    def get_covariance(self) -> Any:
        """Return the model's covariance W Wᵀ + Psi (d, d)."""
        return self._like(self.model_.covariance())

    def get_precision(self) -> Any:
        """Return the inverse of `get_covariance()` (d, d), by way of k×k matrices."""
        return self._like(self.model_.precision())

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def model_(self) -> LinearGaussian:
        """Return the frozen `LinearGaussian`."""
        return self._fitted.model

    @property
    def selection_(self) -> DimensionChoice | None:
        """Return how the number of dimensions was chosen; None if it was given."""
        check_is_fitted(self)
        choice: DimensionChoice | None = self._choice
        return choice

    @property
    def solver_(self) -> Outcome:
        """Return which algorithm was used, why, and at what cost."""
        fit = self._fitted
        steps = 0 if fit.solver == "closed-form" else fit.n_iter
        return Outcome(fit.solver, fit.reason, fit.passes, steps, converged=fit.converged)

    @property
    def loadings_(self) -> Any:
        """Return the loadings W (d, k), of columns over `scale_`."""
        W, T = self._over_scale.loadings, self._rotation_matrix
        return self._like(W if T is None else np.linalg.solve(T, W.T).T)

    mean_ = model_view("mean", "The mean mu (d,).")

    @property
    def noise_variance_(self) -> Any:
        """Return the noise, of columns over `scale_`: one variance, or one per column (d,)."""
        noise = self._over_scale.noise
        return self._like(noise) if np.ndim(noise) else float(noise)

    @property
    def n_components_(self) -> int:
        """Return the number k of latent dimensions."""
        return int(self.model_.loadings.shape[1])

    @property
    def _over_scale(self) -> LinearGaussian:
        """The model of the columns over `scale_`: that of the columns themselves unless they were standardised."""
        model, s = self.model_, self._scale
        if s is None:
            return model
        psi = model.noise / s**2
        return LinearGaussian(
            model.mean / s, model.loadings / s[:, None], float(np.mean(psi)) if self._scalar_noise else psi
        )

    # ---- for subclasses ---------------------------------------------------------------------------------

    def _fit_rows(
        self, source: Source, wanted: int | str, most: int, options: dict[str, Any], rules: Any, fit: Any, fit_each: Any
    ) -> tuple[LatentFit, DimensionChoice | None]:
        """Fit the given number of dimensions, or that which a rule chooses up to `most`; return the fit and the choice.

        fit(source, k, **options) fits one number, and fit_each several.
        """
        with progress_callback(self.verbose) as progress:
            options["progress"] = progress
            if not isinstance(wanted, str):
                return fit(source, wanted, **options), None
            each = partial(fit_each, **options, thorough=wanted != "cv")  # "cv" fits every number five times
            selection = rules[wanted](each, source, candidate_dimensions(most, source), options["rng"])
            return selection.fit or fit(source, selection.k, **options), replace(selection, fit=None)

    def _keep(self, X: Any, source: Source, fit: LatentFit, selection: DimensionChoice | None = None) -> None:
        """Keep the result of a fit; warn if the user interrupted the choice of k."""
        self._fit, self._rows_like, self._choice = fit, Like(X, source.dtype), selection
        if selection is not None:
            warn_interrupted_choice(selection)


def _rotate(Z: Array, T: Array | None) -> Array:
    return Z if T is None else Z @ T


def _latent_means(rows: Any, model: LinearGaussian, T: Array | None, V: Array) -> Any:
    """Return E[z | x] of rows of any kind, in their kind: (x − mu) V, and where that is NaN by the observed entries."""
    with np.errstate(all="ignore"):
        found = project_rows(rows, model.mean, V)
        incomplete = np.flatnonzero(~np.isfinite(to_numpy(found)).all(axis=1))
        if not incomplete.size:
            return found
        step = max(1, BLOCK_BYTES // (8 * model.mean.size))  # only these rows become dense, a few at a time
        parts = [incomplete[start : start + step] for start in range(0, incomplete.size, step)]
        means = np.concatenate([_rotate(model.posterior(dense(select_rows(rows, part)))[0], T) for part in parts])
    require_finite(rows, means)
    values = np.array(to_numpy(found))
    values[incomplete] = means
    return Like(found)(values)


def _posterior_chunk(rows: Any, model: LinearGaussian, T: Array | None, which: int) -> Array:
    """Return the means (b, k) of a chunk (0), or its covariances (b, k, k) (1), in its dtype."""
    with np.errstate(all="ignore"):
        mean, covariance = model.posterior(dense(rows))
    require_finite(rows, mean)
    if which == 0:
        return np.asarray(_rotate(mean, T), dtype=rows.dtype)
    k = mean.shape[1]
    rotated = covariance if T is None else T.T @ covariance @ T
    return np.array(np.broadcast_to(rotated, (rows.shape[0], k, k)), dtype=rows.dtype)


def _join_covariances(parts: list[tuple[Array, Array]]) -> Array:
    """Return the covariances of all blocks: one matrix if no entry is missing, else one per row."""
    if all(covariance.ndim == 2 for _, covariance in parts):
        return parts[0][1]
    return np.concatenate([np.broadcast_to(C, (len(mean), *C.shape[-2:])) for mean, C in parts])
