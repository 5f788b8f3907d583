"""`ProbabilisticPCA`: the scikit-learn estimator for probabilistic PCA."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from eigenlens import checks
from eigenlens.errors import OptionError
from eigenlens.estimator.covariance_matrix import read_covariance
from eigenlens.estimator.rows import validate_rows
from eigenlens.latent.estimator import LatentGaussian
from eigenlens.latent.n_components import DIMENSION_RULES
from eigenlens.latent.options import check_latent_dimensions, warn_latent_fit
from eigenlens.latent.ppca.fit import (
    EM_SOLVERS,
    PPCA_SOLVERS,
    fit_each_ppca,
    fit_ppca,
    fit_ppca_covariance,
    truncated_ppca,
)
from eigenlens.latent.ppca.options import check_ppca_start
from eigenlens.latent.ppca.standard_units import fit_each_standardized_ppca, fit_standardized_ppca


@dataclass(eq=False, repr=False)
class ProbabilisticPCA(LatentGaussian):
    """Principal components as a density, by maximum likelihood: x = W z + mu + e, z ~ N(0, I), e ~ N(0, sigma² I).

    If no entries are missing, the maximum is known: W = U (L − sigma² I)^½ with U and L the leading eigenvectors and
    eigenvalues of the covariance with divisor n, and sigma² the mean of the others (Tipping and Bishop 1999, eq. 7 and
    8). NaN is a missing entry, in `fit` as in every other method. Rows contribute the exact likelihood of their
    observed entries, and mu is estimated together with the other parameters.

    Parameters:
        n_components: the number k < d of latent dimensions, 0 for noise alone (a spherical Gaussian); or "bic" for the
            smallest Bayesian information criterion, "cv" for the best likelihood of held-out rows in five folds (1, 2,
            … dimensions, at most 100).
        standardize: fit the columns divided by their standard deviations (divisor n, that of maximum likelihood), as
            PCA of the correlation matrix does. The density, mean_, imputed values, samples and model_ are in the units
            of the columns; loadings_, components_, noise_variance_ and variances are those of the standardised columns,
            as in `FactorAnalysis`.
        solver: "auto" is "closed-form", and "em" if X has NaN. "closed-form" costs as much as PCA. "em" is
            expectation-maximisation as it is taught (ibid., eq. 29 and 30), one pass over the rows and O(ndk) per step.
            "accelerated-em" has the same limit and cost, but maximises sigma² and the lengths of the columns of W
            outright in each step, and needs fewer steps. With NaN both are EM with parameter expansion, then Newton's
            method.
        init: (W, sigma²), the loadings (d, k) and the noise variance that "em" starts from; random if None. If
            standardised, those of the standardised columns.
            "accelerated-em" starts from the space of W. With NaN only this start is tried, not several.
        max_iter: the largest number of steps of EM.
        tol: EM stops when the log-likelihood is estimated to be within tol per observed entry of its maximum; for
            many complete rows within 2500 tol in total.
        random_state: seed of starts, folds and samples.
        verbose: True for a progress bar, or a callable (done, total, text); the text has the log-likelihood.

    Attributes:
        loadings_: (d, k) W, its columns orthogonal, the longest first, the largest entry of each positive.
        mean_: (d,) mu. noise_variance_: sigma². components_: (k, d) the columns of W at unit length: principal axes.
        scale_: (d,) the standard deviations of the columns, ones unless standardised.
        explained_variance_: (k,) variances along them, |w|² + sigma², with divisor n: (n − 1) / n of PCA's.
        explained_variance_ratio_: (k,) over the trace of the model's covariance.
        loglik_: Σ log p(x observed) of the fitted rows. loglik_path_: after each step of EM, never decreasing.
        n_iter_, converged_: steps taken, and whether tol was met. solver_: an `Outcome`: solver, reason, passes.
        n_components_, n_samples_: k, and the number of rows with positive weight.
        selection_: for "bic" and "cv" a `DimensionChoice`: the numbers compared and their values; else None.
        model_: the frozen `LinearGaussian`.

    Sparse X stays sparse if it is complete. With NaN its zeros are observed zeros, and rows become dense, a block of
    16 MB at a time. Rows of weight 0 may hold anything, even NaN and infinity.

    Bad cases: k ≥ d, a column without an entry, rows that span no more than k dimensions up to rounding (then the
    likelihood has no maximum) and infinities are errors. With missing values, noise below 5e-12 of the mean variance
    counts as none: an error if the likelihood rises without bound as the noise vanishes, and a warning if it has a
    bound (a Heywood case). Rows without an entry are left out and constant columns kept, with a warning.

    Example:
        >>> X = np.array([[1.0, 2.1, 2.9], [2.0, 3.9, 6.1], [3.0, np.nan, 9.2], [4.0, 8.1, 11.8]])
        >>> X = np.vstack([X, [5.0, 9.9, np.nan]])
        >>> ppca = ProbabilisticPCA(1).fit(X)
        >>> filled, deviation = ppca.impute(X, return_std=True)
        >>> filled[2].round(1), deviation[2].round(1)
        (array([3. , 6.2, 9.2]), array([0. , 0.1, 0. ]))
        >>> print(ppca.solver_.solver, ppca.solver_.reason)
        em X has missing entries
    """

    n_components: int | str
    _: KW_ONLY
    standardize: bool = False
    solver: str = "auto"
    init: Any = None
    max_iter: int = 1000
    tol: float = 1e-12
    random_state: Any = None
    verbose: Any = False

    _takes_fewer = True
    _scalar_noise = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Maximise the likelihood of the rows of X (n, d), row i counting sample_weight[i] times; NaN is missing.

        If the user interrupts it (KeyboardInterrupt), "em" keeps the best model so far, and "bic" and "cv" the best
        number of dimensions so far ("cv" then fits it to all rows), with a warning. Before the first step, and for "cv"
        before all folds have been fitted with one dimension, there is none, and the interrupt is raised.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        source = validate_rows(self, X, sample_weight, reset=True)
        most = source.n_features - 1
        wanted = self._wanted_dimensions(most)
        each = (
            (fit_standardized_ppca, fit_each_standardized_ppca)
            if checks.boolean("standardize", self.standardize)
            else (fit_ppca, fit_each_ppca)
        )
        methods = (DIMENSION_RULES, *each)
        fit, selection = self._fit_rows(source, wanted, most, self._checked_options(source.n_features), *methods)
        self._keep(X, source, replace(fit, moments=None), selection)
        self._scale = fit.scale
        warn_latent_fit(fit, source, self.tol, self.max_iter)
        return self

    def fit_covariance(self, S: Any, n_samples: float, mean: Any = None) -> Self:
        """Maximise the likelihood of rows of which only the covariance matrix S (d, d) is known, in closed form.

        Every method that does not need the fitted rows works as after `fit`. n_components may be a number or "bic".

        Args:
            S: positive semidefinite; a frame names the variables by its columns. Its divisor is taken to be n, that of
                maximum likelihood: covariances with divisor n − 1, times (n − 1) / n, give the fit of the rows.
            n_samples: the number n of rows behind S; the log-likelihood, AIC and BIC depend on it.
            mean: (d,) the mean of those rows, 0 if None.

        >>> ProbabilisticPCA(1).fit_covariance(np.diag([5.0, 1.0, 1.0]), n_samples=100).loadings_.ravel()
        array([2., 0., 0.])
        """
        given = read_covariance(self, S, n_samples, mean, constant=True)
        most = given.source.n_features - 1
        wanted = self._wanted_dimensions(most)
        options = self._checked_options(most + 1)
        if options["solver"] in EM_SOLVERS:
            what = "makes passes over rows, but S is given in their place"
            raise OptionError(
                what, argument="solver", value=self.solver, fix="use {solver}", settings={"solver": "auto"}
            )
        fit, selection = fit_ppca_covariance(given, wanted, options["rng"], standardize=self.standardize)
        self._keep(S, given.source, fit, selection)
        self._scale = fit.scale
        warn_latent_fit(fit, given.source, self.tol, self.max_iter)
        return self

    def _wanted_dimensions(self, most: int) -> int | str:
        bound = "one less than the number of features"
        return check_latent_dimensions(self.n_components, most + 1, most, bound, least=0)

    def _checked_options(self, d: int) -> dict[str, Any]:
        """Check the parameters but n_components; return the keywords of `fit_ppca`."""
        solver = checks.name("solver", self.solver, PPCA_SOLVERS)
        checks.boolean("standardize", self.standardize)
        return {
            "solver": solver,
            "init": check_ppca_start(self.init, d, self.n_components, solver),
            "tol": checks.real("tol", self.tol, 0.0, 1.0),
            "max_iter": checks.integer("max_iter", self.max_iter, 1),
            "rng": checks.generator(self.random_state),
        }

    def truncated(self, k: int) -> Self:
        """Return the fitted model of the k leading dimensions, as if it had been fitted with n_components=k.

        Exact for complete rows: the discarded variances join the noise. With missing values, or by EM, another number
        of dimensions has other axes, and is an error.
        """
        count = checks.integer("k", k, 0, self.n_components_, "the number of dimensions fitted")
        if self.solver_.solver != "closed-form":
            what = f"a model fitted by solver {self.solver_.solver!r} cannot be truncated, as its axes depend on k"
            raise OptionError(what, fix="fit again with {n_components}", settings={"n_components": count})
        made: Self = copy.copy(self)
        made.n_components, made._choice, made._fit = count, None, truncated_ppca(self._fitted, count)
        return made

    # ---- the loadings as principal axes -----------------------------------------------------------------

    @property
    def components_(self) -> Any:
        """Return the principal axes (k, d), one per row; zeros for a dimension with no more variance than the noise."""
        W = self._over_scale.loadings
        length = np.linalg.norm(W, axis=0)
        return self._like((W / np.where(length > 0.0, length, 1.0)).T)

    @property
    def explained_variance_(self) -> Any:
        """Return the variances (k,) along the principal axes, with divisor n: |w|² + sigma²."""
        return self._like(self._variances)

    @property
    def explained_variance_ratio_(self) -> Any:
        """Return the shares (k,) of the trace of the model's covariance."""
        model = self._over_scale
        total = float(np.sum(model.loadings**2)) + model.mean.size * float(model.noise)
        return self._like(self._variances / total)

    @property
    def _variances(self) -> Any:
        model = self._over_scale
        return np.sum(model.loadings**2, axis=0) + float(model.noise)
