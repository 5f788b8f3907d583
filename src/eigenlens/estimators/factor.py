"""`FactorAnalysis`: the scikit-learn face of `fitting.factor`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like
from eigenlens.data.resolve import explain_nonfinite
from eigenlens.data.source import Source
from eigenlens.errors import ConvergenceWarning, DataError, DataWarning
from eigenlens.estimators import latent_files
from eigenlens.estimators.latent import LatentGaussian
from eigenlens.estimators.latent_checks import checked_components, counts_to_try, warn_about
from eigenlens.estimators.progress import progress_of
from eigenlens.estimators.rows import by_block, dense_blocks, rows_of
from eigenlens.fitting.adequacy import bartlett_sphericity, kmo
from eigenlens.fitting.factor import fit_each_factor, fit_factor
from eigenlens.fitting.factor_count import FACTOR_RULES
from eigenlens.fitting.factor_solvers import SOLVERS, heywood
from eigenlens.fitting.goodness import GoodnessOfFit, Likelihoods, goodness_of_fit, likelihoods_of, most_factors
from eigenlens.fitting.goodness_missing import likelihoods_of_gaps
from eigenlens.fitting.latent import LatentFit
from eigenlens.fitting.rotation import ROTATIONS, Rotation, rotate

__all__ = ["FactorAnalysis", "bartlett_sphericity", "kmo"]


class FactorAnalysis(LatentGaussian):
    """Factor analysis by maximum likelihood: x = W z + mu + e, z ~ N(0, I), e ~ N(0, Psi) with Psi diagonal.

    A few factors z explain what the columns have in common, and each column has a noise variance of its own. The
    maximum is found by a quasi-Newton method on the likelihood as a function of Psi alone, from the moments of one pass
    (Jöreskog 1967). NaN is a missing entry, in `fit` as in every other method: what is observed of a row counts, by its
    exact likelihood, and mu is estimated with the rest.

    Parameters:
        n_components: the number k < d of factors; or "parallel" for parallel analysis, "bic" for the least Bayesian
            information criterion, "cv" for the best likelihood of held-out rows in five folds. Beyond (d − k)² ≥ d + k
            there are more parameters than correlations: the fit is one of many, and cannot be tested.
        rotation: None for the canonical form (Wᵀ Psi⁻¹ W diagonal, descending), "varimax", "quartimax", "equamax",
            "promax", "oblimin", or a callable from loadings (d, k) to a matrix (k, k). The density stays the same.
        standardize: report loadings and noise for columns of unit variance, as for a correlation matrix. The density,
            means, samples and imputations are in the units of X either way: the maximum does not depend on units.
        solver: "auto" is "quasi-newton", and "em" if X has NaN. "em" is expectation-maximisation.
        max_iter: the most steps.
        tol: bound on the gradient of −2/n log-likelihood in log Psi; "em" stops when what is left to gain an entry is
            estimated to be below tol².
        n_init: starts; the first is deterministic, the others are random, the likeliest end is kept.
        random_state: seed of starts, rules and samples.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        loadings_: (d, k) rotated loadings. mean_: (d,) mu. noise_variance_: (d,) Psi. scale_: (d,), ones unless
            standardised: loadings_ and noise_variance_ are of (x − mu) / scale_.
        communalities_, uniquenesses_: (d,) the shares of each column's variance that the factors explain, and the rest.
        rotation_matrix_: T (k, k), the rotated factors being Tᵀ z. factor_correlations_: (k, k) TᵀT.
        loglik_, loglik_path_, n_iter_, converged_, solver_, n_components_, n_samples_, selection_, model_: as for
            `ProbabilisticPCA`; `model_` is not rotated, and in the units of X.

    Bad cases: k ≥ d, k > n − 2, constant columns, a column without an entry and infinities are errors. A uniqueness
    that runs into its floor (a Heywood case: too many factors, too few rows, collinear columns) is warned of by name.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> Z = rng.standard_normal((400, 2))
        >>> X = Z @ [[3.0, 3.0, 3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0, 2.0, 2.0]] + rng.standard_normal((400, 6))
        >>> fa = FactorAnalysis(2, rotation="varimax").fit(X)
        >>> np.abs(fa.loadings_).round()
        array([[3., 0.], [3., 0.], [3., 0.], [0., 2.], [0., 2.], [0., 2.]])
        >>> fa.goodness_of_fit().df
        4
    """

    _kind = "FactorAnalysis"
    _scale: Array
    _others: Likelihoods | None

    def __init__(
        self,
        n_components: int | str,
        *,
        rotation: str | Callable[..., Any] | None = None,
        standardize: bool = False,
        solver: str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-6,
        n_init: int = 1,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.n_components = n_components
        self.rotation = rotation
        self.standardize = standardize
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state
        self.verbose = verbose

    # ---- fitting ----------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Maximise the likelihood of the rows of X (n, d), row i counting sample_weight[i] times; NaN is missing.

        Interrupted by the user (KeyboardInterrupt) it keeps the best model so far, and warns.
        """
        source = rows_of(self, X, sample_weight, reset=True)
        wanted, options = self._gate(source)
        with progress_of(self.verbose) as progress:
            options["progress"] = progress
            if isinstance(wanted, str):
                counts = counts_to_try(most_factors(source.n_features), source)
                rule = FACTOR_RULES[wanted]
                selection = rule(partial(fit_each_factor, **options), source, counts, options["rng"])
                fit = selection.fit or fit_factor(source, selection.k, **options)
                selection = replace(selection, fit=None)
            else:
                fit, selection = fit_factor(source, wanted, **options), None
        self._keep(X, source, fit, selection)
        self._rotate()
        self._warn_of_gradient(fit)
        warn_about(_silenced(fit), source, self.tol**2, self.max_iter)
        self._warn_of_heywood(fit, source)
        return self

    def _gate(self, source: Source) -> tuple[int | str, dict[str, Any]]:
        """The parameters, checked once: how many factors, and the keywords of `fit_factor`."""
        d, wanted = source.n_features, self.n_components
        named = isinstance(wanted, str)
        if named:
            checks.name("n_components", wanted, FACTOR_RULES)
        count = checked_components(1 if named else wanted, d, d - 1, "one less than the number of features")
        if self.rotation is not None:
            checks.choice("rotation", self.rotation, ROTATIONS)
        return wanted if isinstance(wanted, str) else count, {
            "solver": checks.name("solver", self.solver, ["auto", *SOLVERS]),
            "standardize": checks.boolean("standardize", self.standardize),
            "tol": checks.real("tol", self.tol, 0.0, 1.0),
            "max_iter": checks.integer("max_iter", self.max_iter, 1),
            "n_init": checks.integer("n_init", self.n_init, 1),
            "rng": checks.generator(self.random_state),
        }

    def _rotate(self) -> None:
        """Set the scale of the loadings, and turn them; what is derived from the moments is made when asked for."""
        model = self._fitted.model
        self._others = None
        self._scale = np.sqrt(_variances(self._fitted)) if self.standardize else np.ones(model.mean.size)
        self._turn = None
        if self.rotation is None:
            return
        found = rotate(model.loadings / self._scale[:, None], self.rotation)
        self._turn = np.asarray(found.matrix)
        if not found.converged:
            _warn_of_rotation(self.rotation, found)

    def _warn_of_gradient(self, fit: LatentFit) -> None:
        if fit.solver == "quasi-newton" and not fit.converged:
            what = "was interrupted" if fit.interrupted else "stopped"
            warnings.warn(
                f"solver 'quasi-newton' {what} after {fit.n_iter} steps with a gradient of {fit.gap:.1e}, above "
                f"tol={self.tol:g}; the best model is kept: raise max_iter={self.max_iter}, or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _warn_of_heywood(self, fit: LatentFit, source: Source) -> None:
        columns = heywood(fit.model)
        if columns.size:
            names = ", ".join(repr(source.names[j]) if source.names else str(j) for j in columns[:5])
            warnings.warn(
                f"Heywood case: the uniqueness of {columns.size} of {source.n_features} variables ({names}) has run "
                "into its floor, so the factors explain them without error; use fewer factors or more rows, or leave "
                "out one of two variables that say the same.",
                DataWarning,
                stacklevel=3,
            )

    # ---- scores -----------------------------------------------------------------------------------------

    def scores(self, X: Any, method: str = "regression") -> Any:
        """Factor scores (n, k) of the rows of X, missing entries allowed.

        method "regression" is `transform`: E[z | x], of least squared error and shrunken towards 0. "bartlett" is
        (Wᵀ Psi⁻¹ W)⁻¹ Wᵀ Psi⁻¹ (x − mu): unbiased given z, and wider.
        """
        return SCORES[checks.name("method", method, SCORES)](self, X)

    def _bartlett_scores(self, X: Any) -> Any:
        """With C the posterior covariance, G = C⁻¹ − I, and G⁻¹ C⁻¹ E[z | x] = (I − C)⁻¹ E[z | x], for any gaps."""
        check_is_fitted(self)
        source = rows_of(self, X)
        found = np.concatenate([_unshrunken(*self.model_.posterior(block)) for block in dense_blocks(source)])
        if not np.all(np.isfinite(found)):
            raise explain_nonfinite(source)
        return Like(X, source.dtype)(found if self._turn is None else found @ self._turn)

    # ---- how good it is ---------------------------------------------------------------------------------

    def goodness_of_fit(self, X: Any = None, *, sample_weight: Any = None) -> GoodnessOfFit:
        """The test that k factors suffice (chi², df, p), RMSEA, TLI, AIC and BIC; it prints as a table.

        X, the fitted rows, is needed only where they had missing entries, or more than 12,000 columns: chi² then
        compares with a free covariance matrix fitted to the same entries. Without more rows than columns there is no
        such comparison, and chi², RMSEA and TLI are NaN.
        """
        check_is_fitted(self)
        d, k = self.model_.loadings.shape
        return goodness_of_fit(self.loglik_, self._likelihoods(X, sample_weight), self._fitted.weight, d, k)

    def _likelihoods(self, X: Any, sample_weight: Any) -> Likelihoods:
        fit = self._fitted
        if fit.rows <= fit.model.mean.size:  # a free covariance matrix would fit without error
            return Likelihoods(np.inf, np.nan)
        if self._others is None and fit.moments is not None:
            self._others = likelihoods_of(fit.moments)
        if X is None and self._others is None:
            raise DataError(
                "goodness_of_fit needs the fitted rows, which had missing entries or very many columns: "
                "give them as X=."
            )
        if X is not None and fit.moments is None:
            source = rows_of(self, X, sample_weight)
            self._require_fitted_rows(source)
            self._others = likelihoods_of_gaps(source)
        assert self._others is not None
        return self._others

    def _require_fitted_rows(self, source: Source) -> None:
        """Other rows, or other weights, would be compared with a likelihood that is not theirs."""
        densities = by_block(source, self.model_.log_density)
        found = float(densities.sum() if source.weight is None else source.weight @ densities)
        if abs(found - self.loglik_) > 1e-6 * max(1.0, abs(self.loglik_)):
            raise DataError(
                f"X has a log-likelihood of {found:.6g} under the model, but the fitted rows had {self.loglik_:.6g}; "
                "give the rows, and the sample_weight, of the fit."
            )

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def loadings_(self) -> Any:
        """(d, k) rotated loadings, of columns over `scale_`."""
        W = self.model_.loadings / self._scale[:, None]
        return self._like(W if self._turn is None else np.linalg.solve(self._turn, W.T).T)

    @property
    def noise_variance_(self) -> Any:
        """(d,) Psi, of columns over `scale_`."""
        return self._like(self.model_.noise / self._scale**2)

    @property
    def scale_(self) -> Any:
        """(d,) standard deviations with divisor n if standardised, else ones."""
        check_is_fitted(self)
        return self._like(self._scale)

    @property
    def communalities_(self) -> Any:
        """(d,) the share of each column's variance that the factors explain."""
        return self._like(1.0 - self._shares)

    @property
    def uniquenesses_(self) -> Any:
        """(d,) the share of each column's variance that is its own."""
        return self._like(self._shares)

    @property
    def _shares(self) -> Array:
        model = self.model_
        return np.asarray(model.noise / ((model.loadings**2).sum(axis=1) + model.noise))

    @property
    def rotation_matrix_(self) -> Any:
        """T (k, k): loadings_ are W T⁻ᵀ over `scale_`, and the rotated factors Tᵀ z."""
        check_is_fitted(self)
        return self._like(np.eye(self.n_components_) if self._turn is None else self._turn)

    @property
    def factor_correlations_(self) -> Any:
        """(k, k) correlations of the rotated factors; the identity unless the rotation is oblique."""
        T = np.asarray(self.rotation_matrix_, dtype=np.float64) if self._turn is None else self._turn
        return self._like(T.T @ T)

    # ---- saving -----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file, whole or not at all; read it with `eigenlens.load`."""
        check_is_fitted(self)
        if self._fitted.moments is not None:
            self._likelihoods(None, None)
        others = self._others
        header = {"others": None if others is None else [others.saturated, others.independent, others.exact]}
        latent_files.save(self, path, {"scale": self._scale}, header)

    @classmethod
    def _restored(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Self:
        restored: Self = latent_files.restore(cls, arrays, header)
        restored._scale = arrays["scale"]
        restored._others = None if header["others"] is None else Likelihoods(*header["others"])
        return restored


SCORES: dict[str, Callable[[FactorAnalysis, Any], Any]] = {
    "regression": FactorAnalysis.transform,
    "bartlett": FactorAnalysis._bartlett_scores,
}
"""Ways to factor scores, by name."""


def _unshrunken(means: Array, covariance: Array) -> Array:
    """(I − C)⁻¹ z, for one C (k, k) or one a row (n, k, k); of least length where rows say too little of z."""
    back = np.linalg.pinv(np.eye(means.shape[1]) - covariance, rcond=1e-10, hermitian=True)
    return np.asarray(np.einsum("...ij,...j->...i", back, means))


def _silenced(fit: LatentFit) -> LatentFit:
    """The fit without what has been said of its gradient."""
    return replace(fit, converged=True, interrupted=False) if fit.solver == "quasi-newton" else fit


def _variances(fit: LatentFit) -> Array:
    """(d,) the model's variances, which are the rows' at the maximum."""
    return np.asarray((fit.model.loadings**2).sum(axis=1) + fit.model.noise)


def _warn_of_rotation(rotation: Any, found: Rotation) -> None:
    warnings.warn(
        f"rotation={rotation!r} stopped after {found.iterations} steps with a gap of {found.gap:.1e}; the loadings are "
        "rotated, but not to the end.",
        ConvergenceWarning,
        stacklevel=4,
    )
