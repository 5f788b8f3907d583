"""`FactorAnalysis`: the scikit-learn estimator for factor analysis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like
from eigenlens.data.coerce import require_finite
from eigenlens.data.rows import positive_weight_rows
from eigenlens.data.source import Source, progress_callback
from eigenlens.errors import DataError
from eigenlens.estimator.covariance_matrix import read_covariance
from eigenlens.estimator.rows import dense_blocks, map_blocks, validate_rows
from eigenlens.latent.estimator import LatentGaussian
from eigenlens.latent.factor.fit import choose_covariance_factors, fit_each_factor, fit_factor, fit_factor_covariance
from eigenlens.latent.factor.goodness_of_fit import (
    GoodnessOfFit,
    ReferenceLikelihoods,
    goodness_of_fit,
    max_factors,
    reference_likelihoods,
    reference_likelihoods_missing,
)
from eigenlens.latent.factor.information import factor_information, likelihood_covariance
from eigenlens.latent.factor.options import (
    require_standard_errors,
    warn_gradient,
    warn_heywood,
    without_gradient_warning,
)
from eigenlens.latent.factor.profile_likelihood import FactorOptions
from eigenlens.latent.factor.reliability import factor_omega
from eigenlens.latent.factor.residual_influence import least_squares_covariance
from eigenlens.latent.factor.solvers import (
    FACTOR_SOLVER_ALIASES,
    FACTOR_SOLVERS,
    LEAST_SQUARES_SOLVERS,
    heywood_columns,
)
from eigenlens.latent.factor.standard_errors import FactorErrors, factor_equations, factor_errors
from eigenlens.latent.n_components import FACTOR_RULES
from eigenlens.latent.options import check_latent_dimensions, warn_latent_fit
from eigenlens.missing.observed_information import observed_information
from eigenlens.missing.result import LatentFit
from eigenlens.rotation.options import check_rotation, find_rotation
from eigenlens.tables.names import axis_names, feature_names


@dataclass(eq=False, repr=False)
class FactorAnalysis(LatentGaussian):
    """Factor analysis by maximum likelihood: x = W z + mu + e, z ~ N(0, I), e ~ N(0, Psi) with Psi diagonal.

    A few factors z explain what the columns have in common, and each column has a noise variance of its own. The
    maximum is found by a quasi-Newton method on the likelihood as a function of Psi alone, from the moments of one pass
    (Jöreskog 1967). NaN is a missing entry, in `fit` as in every other method. Rows contribute the exact likelihood of
    their observed entries, and mu is estimated together with the other parameters.

    Parameters:
        n_components: the number k < d of factors; or "parallel" for parallel analysis, "map" for Velicer's minimum
            average partial correlation, "bic" for the smallest Bayesian information criterion, "cv" for the best
            likelihood of held-out rows in five folds. If (d − k)² < d + k, there are more parameters than correlations,
            so the fit is one of many and cannot be tested.
        rotation: None for the canonical form (Wᵀ Psi⁻¹ W diagonal, descending), "varimax", "quartimax", "equamax",
            "promax", "oblimin", "geomin", or a callable from loadings (d, k) to a matrix (k, k). The density stays the
            same. The matrix is found from loadings over standard deviations, so that it does not depend on the units of
            X.
        rotation_options: a dictionary for the rotation: power of "promax", and normalize (True for `psych::fa`, SPSS);
            gamma of "oblimin"; delta of "geomin"; kaiser, n_starts. "varimax" and "promax" stop where R stops them;
            {"polish": True} goes on to the maximum of the criterion.
        standardize: report loadings and noise for columns of unit variance, as for a correlation matrix. The density,
            means, samples and imputations are in the units of X either way: the maximum does not depend on units.
        solver: "auto" is "quasi-newton", and "em" if X has NaN. "em" is expectation-maximisation. "minres" minimises
            squared residuals of the correlations, Σ_{i≠j} (r_ij − w_iᵀ w_j)², instead of maximising the likelihood, and
            "principal-axis" iterates principal axes, which end at the same factors in more steps; neither takes NaN.
            Their loglik_ is that of the model found, and their unrotated loadings have WᵀW diagonal.
        max_iter: the largest number of steps.
        tol: bound on the gradient of −2/n log-likelihood in log Psi, or of least squares in Psi; "em" stops when the
            log-likelihood per entry still to be gained is estimated to be below tol². Of complete rows with up to 200
            columns its last step then goes to the maximum nearby.
        n_init: 1 for the starts that are always made, which are deterministic: two, and more where these leave doubt.
            Each further one adds a random start. The result with the largest likelihood is kept.
        min_uniqueness: the smallest uniqueness, a share of the column's variance. If the maximum is at 0, this bound
            costs log-likelihood: in trials 1e-8 cost up to 1e-5 per row, and 1e-6 a hundred times as much. Below it,
            log densities of rows would lose more than half of their digits.
        random_state: seed of starts, rules and samples.
        verbose: True for a progress bar, or a callable (done, total, text); the text has the log-likelihood.

    Attributes:
        loadings_: (d, k) rotated loadings. mean_: (d,) mu. noise_variance_: (d,) Psi. scale_: (d,), ones unless
            standardised: loadings_ and noise_variance_ are of (x − mu) / scale_.
        explained_variance_ratio_: (k,) the shares of the total variance that the rotated factors explain.
        communalities_, uniquenesses_: (d,) the shares of each column's variance that the factors explain, and the rest.
        rotation_matrix_: T (k, k), the rotated factors being Tᵀ z. factor_correlations_: (k, k) TᵀT.
        loglik_, loglik_path_, n_iter_, converged_, solver_, n_components_, n_samples_, selection_, model_: as for
            `ProbabilisticPCA`; `model_` is not rotated, and in the units of X.

    Bad cases: k ≥ d, k > n − 2, constant columns, a column without an entry and infinities are errors. A uniqueness of
    practically 0 (a Heywood case: too many factors, too few rows, collinear columns) leads to a warning that names the
    column.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> Z = rng.standard_normal((400, 2))
        >>> W = np.kron(np.diag([3.0, 2.0]), np.ones(3))
        >>> X = Z @ W + rng.standard_normal((400, 6))
        >>> fa = FactorAnalysis(2, rotation="varimax").fit(X)
        >>> np.abs(fa.loadings_).round()
        array([[3., 0.], [3., 0.], [3., 0.], [0., 2.], [0., 2.], [0., 2.]])
        >>> fa.goodness_of_fit().df
        4
    """

    axis_stem: ClassVar[str] = "F"

    n_components: int | str
    _: KW_ONLY
    rotation: str | Callable[..., Any] | None = None
    rotation_options: dict[str, Any] | None = None
    standardize: bool = False
    solver: str = "auto"
    max_iter: int = 1000
    tol: float = 1e-6
    n_init: int = 1
    min_uniqueness: float = FactorOptions.floor
    random_state: Any = None
    verbose: Any = False

    _scalar_noise = False

    # ---- fitting ----------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Maximise the likelihood of the rows of X (n, d), row i counting sample_weight[i] times; NaN is missing.

        If the user interrupts it (KeyboardInterrupt), it keeps the best model so far, and "bic" and "cv" the best
        number of factors so far ("cv" then fits it to all rows), with a warning. Before the first step, and for "cv"
        before all folds have been fitted with one factor, there is none, and the interrupt is raised.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        source = validate_rows(self, X, sample_weight, reset=True)
        wanted, options = self._checked_options(source.n_features)
        methods = (FACTOR_RULES, fit_factor, fit_each_factor)
        fit, selection = self._fit_rows(source, wanted, max_factors(source.n_features), options, *methods)
        self._keep(X, source, fit, selection)
        self._rotate()
        warn_gradient(fit, self)
        warn_latent_fit(without_gradient_warning(fit), source, self.tol**2, self.max_iter)
        warn_heywood(fit, self)
        return self

    def fit_covariance(self, S: Any, n_samples: float, mean: Any = None) -> Self:
        """Maximise the likelihood of rows of which only the covariance or correlation matrix S (d, d) is known.

        Every method that does not need the fitted rows works as after `fit`; other rows are taken to have this mean
        (d,), 0 if None. n_components may be a number, "bic" or "map".

        Args:
            S: positive semidefinite; a frame names the variables by its columns. Its divisor is taken to be n, which
                matters only for the log-likelihood: R's covariances times (n − 1) / n give that of the rows. Where S is
                singular, min_uniqueness is what keeps the likelihood finite, and chi² is NaN.
            n_samples: the number of rows behind S; chi², AIC and BIC depend on it.

        >>> R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
        >>> FactorAnalysis(1).fit_covariance(R, n_samples=200).loadings_.ravel().round(4)
        array([0.8, 0.7, 0.6])
        """
        matrix, n, mu, source = read_covariance(self, S, n_samples, mean)
        wanted, options = self._checked_options(source.n_features)
        with progress_callback(self.verbose) as progress:
            options |= {"progress": progress, "mean": mu, "names": source.names}
            if isinstance(wanted, str):
                selection = choose_covariance_factors(matrix, n, wanted, source, options)
                assert selection.fit is not None
                fit, selection = selection.fit, replace(selection, fit=None)
            else:
                fit, selection = fit_factor_covariance(matrix, n, wanted, **options), None
        self._keep(S, source, fit, selection)
        self._rotate()
        warn_gradient(fit, self)
        warn_heywood(fit, self)
        return self

    def _checked_options(self, d: int) -> tuple[int | str, dict[str, Any]]:
        """Check the parameters; return the number of factors or the rule for it, and the keywords of `fit_factor`."""
        wanted = self.n_components
        named = isinstance(wanted, str)
        if named:
            checks.name("n_components", wanted, FACTOR_RULES)
        count = check_latent_dimensions(
            1 if named else wanted, d, d - 1, "one less than the number of features", least=0
        )
        check_rotation(self.rotation, self.rotation_options)
        return wanted if isinstance(wanted, str) else count, {
            "solver": checks.name("solver", self.solver, ["auto", *FACTOR_SOLVERS], FACTOR_SOLVER_ALIASES),
            "standardize": checks.boolean("standardize", self.standardize),
            "tol": checks.real("tol", self.tol, 0.0, 1.0),
            "max_iter": checks.integer("max_iter", self.max_iter, 1),
            "n_init": checks.integer("n_init", self.n_init, 1, checks.MAX_STARTS),
            "floor": checks.real("min_uniqueness", self.min_uniqueness, 0.0, 1.0),
            "rng": checks.generator(self.random_state),
        }

    def _rotate(self) -> None:
        """Set the scale of the loadings, and rotate them; forget likelihoods of reference of an earlier fit."""
        model = self._fitted.model
        self._others: ReferenceLikelihoods | None = None
        deviations = np.sqrt(_variances(self._fitted))
        self._scale = deviations if self.standardize else np.ones(model.mean.size)
        self._rotation_matrix = find_rotation(model.loadings, deviations, self.rotation, self.rotation_options)

    # ---- scores -----------------------------------------------------------------------------------------

    def scores(self, X: Any, method: str = "regression") -> Any:
        """Return factor scores (n, k) of the rows of X; entries may be missing.

        method "regression" is `transform`: E[z | x], of minimal squared error and shrunken towards 0. "bartlett" is
        (Wᵀ Psi⁻¹ W)⁻¹ Wᵀ Psi⁻¹ (x − mu): unbiased given z, with a larger variance.
        """
        return SCORE_METHODS[checks.name("method", method, SCORE_METHODS)](self, X)

    def _bartlett_scores(self, X: Any) -> Any:
        """Return Bartlett scores: G⁻¹ C⁻¹ E[z | x] = (I − C)⁻¹ E[z | x] with C the posterior covariance, G = C⁻¹ − I.

        That holds for any pattern of missing values.
        """
        check_is_fitted(self)
        source = validate_rows(self, X)
        with np.errstate(all="ignore"):  # what is not finite is detected in the result, and explained
            found = np.concatenate([self._bartlett(block) for block in dense_blocks(source)])
        require_finite(source, found)
        return Like(X, source.dtype)(found if self._rotation_matrix is None else found @ self._rotation_matrix)

    def _bartlett(self, rows: Array) -> Array:
        means, covariance = self.model_.posterior(rows)
        return _unshrink(means, covariance) if np.all(np.isfinite(means)) else means

    # ---- goodness of fit --------------------------------------------------------------------------------

    def goodness_of_fit(self, X: Any = None, *, sample_weight: Any = None) -> GoodnessOfFit:
        """Return the test that k factors suffice (chi², df, p), RMSEA, TLI, AIC and BIC; it prints as a table.

        X, the fitted rows, is needed only where they had missing entries, or more than 12,000 columns: chi² then
        compares with a free covariance matrix fitted to the same entries. Without more rows than columns there is no
        such comparison, and chi², RMSEA and TLI are NaN.
        """
        check_is_fitted(self)
        d, k = self.model_.loadings.shape
        return goodness_of_fit(self.loglik_, self._likelihoods(X, sample_weight), self._fitted.weight, d, k)

    def standard_errors(self, X: Any = None, *, sample_weight: Any = None) -> FactorErrors:
        """Return standard errors of loadings, uniquenesses and the factors' correlations; they print as a table.

        They hold in large samples of Gaussian rows, by the inverse of the information (or, for "minres" and
        "principal-axis", the derivatives of least squares) and the equations that the rotation makes loadings satisfy
        (Jennrich 1973). Those of standardised loadings account for the standard deviations, which are estimates too. An
        interval of 1.96 of them to both sides covers in about 95% of samples. A uniqueness at its floor (a Heywood
        case) has none, NaN, and the others are as if it were known.

        X, the fitted rows, is needed only where they had missing entries; the information is then the observed one.
        More factors than the correlations determine are an error, and so is the user's own rotation: resample rows
        instead. Cost: O(d³ k³) flops.

        >>> R = np.array([[1.0, 0.56, 0.48], [0.56, 1.0, 0.42], [0.48, 0.42, 1.0]])
        >>> FactorAnalysis(1).fit_covariance(R, n_samples=200).standard_errors()
        Standard errors of loadings and uniquenesses
        column      F1  uniqueness
        x0      0.0784      0.0932
        x1      0.0767      0.0817
        x2      0.0751      0.0719
        """
        model, fit, T = self.model_, self._fitted, self._rotation_matrix
        d, k = model.loadings.shape
        require_standard_errors(fit, max_factors(d))
        least_squares = fit.solver in LEAST_SQUARES_SOLVERS and k > 0  # without factors all solvers agree
        equations = factor_equations(self.rotation, k, self.rotation_options or {}, least_squares=least_squares)
        fixed = np.isin(np.arange(d), heywood_columns(model, self.min_uniqueness))
        if least_squares:
            spread = partial(least_squares_covariance, n=fit.weight)
        else:
            spread = partial(likelihood_covariance, information=self._information(X, sample_weight))
        errors = factor_errors(model, np.eye(k) if T is None else T, equations, spread, fixed, self.standardize)
        names = feature_names(self, d), tuple(axis_names(self, k))
        return FactorErrors(*errors, tuple(np.flatnonzero(fixed).tolist()), *names)

    def _information(self, X: Any, sample_weight: Any) -> Array:
        """Return the information of the rows about loadings and noise of columns over their standard deviations."""
        fit, deviations = self._fitted, np.sqrt(_variances(self._fitted))
        if not fit.incomplete:
            return fit.weight * factor_information(fit.model, deviations)
        if X is None:
            what = "standard_errors needs the fitted rows, which had missing entries"
            raise DataError(what, fix="give them as X=")
        source = validate_rows(self, X, sample_weight)
        self._require_fitted_rows(source)
        return observed_information(positive_weight_rows(source), fit.model, deviations)

    def omega(self) -> float:
        """Return McDonald's ω: the share of the variance of the sum of the columns that the factors explain.

        ω = 1ᵀ W Φ Wᵀ 1 / (1ᵀ W Φ Wᵀ 1 + Σ psi), whatever the rotation: the reliability of the sum as a measure of the
        factors (McDonald 1999). The sum is of the columns in their own units, or of standardised ones if `standardize`.
        Columns that count the other way must be reversed first. `eigenlens.cronbach_alpha` needs no factors.
        """
        check_is_fitted(self)
        W = self._over_scale.loadings
        return factor_omega(W, np.eye(W.shape[1]), np.asarray(self._over_scale.noise))

    def _likelihoods(self, X: Any, sample_weight: Any) -> ReferenceLikelihoods:
        fit = self._fitted
        if fit.rows <= fit.model.mean.size:  # a free covariance matrix would fit without error
            return ReferenceLikelihoods(np.inf, np.nan)
        if self._others is None and fit.moments is not None:
            self._others = reference_likelihoods(fit.moments)
        if X is None and self._others is None:
            what = "goodness_of_fit needs the fitted rows, which had missing entries or very many columns"
            raise DataError(what, fix="give them as X=")
        if X is not None and fit.moments is None:
            source = validate_rows(self, X, sample_weight)
            self._require_fitted_rows(source)
            self._others = reference_likelihoods_missing(source)
        assert self._others is not None
        return self._others

    def _require_fitted_rows(self, source: Source) -> None:
        """Raise an error for rows or weights that are not those of the fit: their likelihood is another."""
        densities = map_blocks(source, self.model_.log_density)
        found = float(densities.sum() if source.weight is None else source.weight @ densities)
        if abs(found - self.loglik_) > 1e-6 * max(1.0, abs(self.loglik_)):
            what = f"X has a log-likelihood of {found:.6g} under the model, but the fitted rows had {self.loglik_:.6g}"
            raise DataError(what, fix="give the rows, and the sample_weight, of the fit")

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def communalities_(self) -> Any:
        """Return the share (d,) of each column's variance that the factors explain."""
        return self._like(1.0 - self._shares)

    @property
    def explained_variance_ratio_(self) -> Any:
        """Return the shares (k,) of the variance of the columns that the rotated factors explain, in their order.

        With W the loadings and Φ the factors' correlations, diag(Φ Wᵀ W) / tr(W Φ Wᵀ + Psi): the sums of squared
        loadings over the number of columns, if they are standardised and the rotation is orthogonal.
        """
        W, T = self._over_scale.loadings, self._rotation_matrix
        total = float(np.sum(W**2) + np.sum(self._over_scale.noise))
        rotated = W if T is None else np.linalg.solve(T, W.T).T
        return self._like(np.sum(rotated * (W if T is None else W @ T), axis=0) / total)

    @property
    def uniquenesses_(self) -> Any:
        """Return the share (d,) of each column's variance that the factors do not explain."""
        return self._like(self._shares)

    @property
    def _shares(self) -> Array:
        model = self.model_
        return np.asarray(model.noise / ((model.loadings**2).sum(axis=1) + model.noise))

    @property
    def rotation_matrix_(self) -> Any:
        """Return T (k, k): loadings_ are W T⁻ᵀ over `scale_`, and the rotated factors Tᵀ z."""
        check_is_fitted(self)
        return self._like(np.eye(self.n_components_) if self._rotation_matrix is None else self._rotation_matrix)

    @property
    def factor_correlations_(self) -> Any:
        """Return the correlations (k, k) of the rotated factors; the identity unless the rotation is oblique."""
        k, T = self.n_components_, self._rotation_matrix
        return self._like(np.eye(k) if T is None else T.T @ T)


SCORE_METHODS: dict[str, Callable[[FactorAnalysis, Any], Any]] = {
    "regression": FactorAnalysis.transform,
    "bartlett": FactorAnalysis._bartlett_scores,
}
"""Methods for factor scores, by name."""


def _unshrink(means: Array, covariance: Array) -> Array:
    """Return (I − C)⁻¹ z, for one C (k, k) or one per row (n, k, k).

    Where the observed entries do not determine z, it is the solution of minimal length.
    """
    back = np.linalg.pinv(np.eye(means.shape[1]) - covariance, rcond=1e-10, hermitian=True)
    return np.asarray(np.einsum("...ij,...j->...i", back, means))


def _variances(fit: LatentFit) -> Array:
    """Return the model's variances (d,), which at the maximum are those of the rows."""
    return np.asarray((fit.model.loadings**2).sum(axis=1) + fit.model.noise)
