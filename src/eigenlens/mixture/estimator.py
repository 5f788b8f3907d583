"""`GaussianMixture`: the scikit-learn estimator for mixtures of Gaussians."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like, to_numpy
from eigenlens.data.coerce import require_no_infinity, rereadable
from eigenlens.data.memory import ArraySource
from eigenlens.data.rows import mean_over_rows, positive_weight_rows
from eigenlens.data.source import Source, progress_callback
from eigenlens.data.table import observed_rows
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import OptionError
from eigenlens.estimator.base import DensityEstimator, IterativeFit, model_view
from eigenlens.estimator.rows import column_as_table, impute_rows, map_blocks, per_row, validate_rows
from eigenlens.estimator.sampled_rows import sampled_rows
from eigenlens.missing.standardize import StandardizedColumns
from eigenlens.mixture import storage
from eigenlens.mixture.binned import fit_binned_mixture
from eigenlens.mixture.fit import MixtureFit, MixtureOptions, fit_mixture, join_paths
from eigenlens.mixture.online import OnlineFit, fit_first_chunk, fit_next_chunk, resume_fit
from eigenlens.mixture.options import (
    check_bins,
    check_mixture_options,
    check_total_weight,
    warn_mixture_fit,
)
from eigenlens.mixture.starts import from_mixture, from_responsibilities
from eigenlens.mixture.structures.base import CovarianceStructure, precision_factors, precisions


@dataclass(eq=False, repr=False)
class GaussianMixture(
    StandardizedColumns,
    IterativeFit[MixtureFit],
    DensityEstimator,
    DensityMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A density of several Gaussians, p(x) = Σ_k pi_k N(x | mu_k, C_k), by maximum likelihood; also soft clustering.

    EM (Dempster, Laird and Rubin 1977) finds the maximum. Its steps are extrapolated if they gain slowly, and an
    extrapolation that lowers the likelihood is rejected. Each step is one pass over the rows, in memory O(block), so
    files and Dask arrays are fitted just like arrays. NaN is a missing value: the likelihood is that of the observed
    entries, exactly, whatever the structure of the covariances.

    Parameters:
        n_components: the number K of Gaussians.
        covariance_type: "full", "tied" (one for all), "diag", "spherical"; "ppca" (W Wᵀ + v I) or "factor" (W Wᵀ +
            diag v), mixtures of latent Gaussians with n_factors dimensions.
        n_factors: the latent dimensions of "ppca" and "factor", below the number of features.
        standardize: fit the columns divided by their standard deviations (divisor Σw). The units of the columns decide
            what "spherical" and "ppca" components are, and the size of reg_covar; the other structures find the same
            mixture either way. Every result is in the units of the columns, where "spherical" components have a
            variance per column, covariances_ (K, d), and the noise of "ppca" differs between columns.
        init: the start of EM. "k-means++", "k-means" or "random": from guesses at centres, or a function
            (rows (n, d), weights (n,), K, generator) -> centres (K, d); from a known mixture (weights, means,
            covariances) or `Mixture`; or from responsibilities (n, K).
        weights_init, means_init, precisions_init: (K,), (K, d) and the shape of `precisions_`, parts of the start, each
            on its own or together. What is not given comes from the rows nearest to the means, or from a guess. If
            standardised, covariances cannot be given, and a function sees rows over `scale_`.
        warm_start: whether `fit` starts from the result of the previous `fit`, provided that it has as many components
            and columns and the same covariance_type.
        n_init: the number of guesses, from each of which EM takes a few steps; the best are iterated to the end. With
            "k-means++" every other guess is "random"; with few rows there are twice as many guesses, and more steps
            from each.
        prior: None, or "conjugate", the prior of Fraley and Raftery (2007): inverse Wishart with scale cov(X) / K^(2/d)
            and d + 2 degrees of freedom, which keeps small components from collapsing. A singular cov(X) is shrunk
            towards its diagonal.
        floor: every component has at least this share of the variance of all rows in every direction. Without a floor
            the likelihood has no maximum: a component on a single row has an infinite one.
        reg_covar: added to the variances of every component in every M-step, in squared units of the columns, as in
            scikit-learn. The steps then lead to a fixed point that does not maximise any function, and they are not
            extrapolated.
        max_iter: the most steps of EM from a guess or a start; 0 keeps it.
        tol: EM stops when the log-likelihood per row is estimated to be within tol of its maximum; with 0, when steps
            gain nothing.
        accelerate: False for plain EM steps.
        random_state: seed of guesses and samples; the same seed gives the same mixture with any number of threads.
        verbose: True for a progress bar, or a callable (done, in all, label); the label has the log-likelihood.

    Attributes:
        weights_: (K,) pi. means_: (K, d) mu. covariances_: (K, d, d); (d, d) for "tied", (K, d) for "diag", (K,) for
            "spherical". From guesses, the largest component comes first. scale_: (d,), ones unless standardised.
        precisions_: inverses of the covariances, in their shape. precisions_cholesky_: U_k, upper triangular, with
            precision U_k U_kᵀ; 1 / √v for variances v.
        loglik_: Σ log p(x) of the fitted rows. loglik_path_: after each accepted step, never decreasing unless
            reg_covar is given; with a prior its logarithm is included.
        n_iter_, converged_: steps of the last iteration, rejected extrapolations included, and whether tol was met.
        n_components_, n_samples_: components (one without rows is removed, with a warning) and rows with positive
        weight. model_: the frozen `Mixture`.

    K above the number of rows, no variance at all without reg_covar, columns without observed entries, and infinities
    are errors. Components that collapse are clamped at the floor, components without rows are removed, rows without
    observed entries are left out, and constant columns are kept, each with a warning.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = np.concatenate([rng.normal(0.0, 1.0, (300, 2)), rng.normal(4.0, 0.5, (100, 2))])
        >>> mixture = GaussianMixture(2, random_state=0).fit(X)
        >>> mixture.weights_.round(2), mixture.means_.round(1)
        (array([0.75, 0.25]), array([[-0.1,  0. ], [ 4. ,  4. ]]))
        >>> mixture.condition([0], [4.0]).mean.round(1)
        array([4.])
    """

    n_components: int = 1
    _: KW_ONLY
    covariance_type: str = "full"
    n_factors: int = 1
    standardize: bool = False
    init: Any = "k-means++"
    weights_init: Any = None
    means_init: Any = None
    precisions_init: Any = None
    warm_start: bool = False
    n_init: int = 20
    prior: str | None = None
    floor: float = 1e-8
    reg_covar: float = 0.0
    max_iter: int = 1000
    tol: float = 1e-10
    accelerate: bool = True
    random_state: Any = None
    verbose: Any = False

    _storage = storage
    _takes_missing = True
    _takes_column = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Maximise the likelihood of the rows of X (n, d), or (n,) for one column; row i counts sample_weight[i] times.

        Interrupted by the user (KeyboardInterrupt), EM keeps the best mixture so far and warns. Where one column was
        fitted, the other methods take X (n,) too.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        X = column_as_table(X) if y is None else X  # with labels, X (n,) is probably a mistake
        source = validate_rows(self, X, sample_weight, reset=True)
        check_total_weight(source)
        rows, units = self._standardize(source)
        K, options = check_mixture_options(self, source, scale=None if units is None else units.scale)
        options = self._continue(K, options, source) if checks.boolean("warm_start", self.warm_start) else options
        rng, structure = checks.generator(self.random_state), options.make_structure()
        with progress_callback(self.verbose) as progress:
            fit = fit_mixture(rows, K, options, rng, progress)
        if units is not None:
            fit, structure = fit.scaled(units), structure.in_any_units()
        if self.warm_start and self.__sklearn_is_fitted__():
            fit = join_paths(self._fitted, fit, options.tol)
        self._remember(fit, structure, Like(X, source.dtype))
        self._scale = None if units is None else units.scale
        warn_mixture_fit(fit, source, options.tol, options.max_iter)
        return self

    def _continue(self, K: int, options: MixtureOptions, source: Source) -> MixtureOptions:
        """Return options that start from the mixture of the last fit, where there is one of the same size and kind."""
        structure = options.make_structure()
        if not self.__sklearn_is_fitted__() or self.model_.means.shape != (K, source.n_features):
            return options
        if self._structure != (structure.in_any_units() if self.standardize else structure):
            return options
        start = from_mixture(self.model_)
        if self.standardize:  # in these units the components may have another structure, but rows belong to them alike
            shares = self._by_block(positive_weight_rows(source), Mixture.responsibilities)
            start = from_responsibilities(shares)
        return replace(options, starting=start, in_order=True)

    def fit_binned(self, edges: Any, counts: Any) -> Self:
        """Maximise the likelihood of counts (m,) in bins between edges (m + 1,), for a mixture of one feature.

        A bin has the probability Σ_k pi_k (Phi(b) − Phi(a)) between its ends, so nothing is lost by rounding to centres
        (McLachlan and Jones 1988). The first edge may be −inf and the last inf: open bins. `loglik_` is that of the
        bins, Σ counts log P(bin), and n_samples_ the sum of the counts.

        >>> edges = [-float("inf"), -1.0, 0.0, 1.0, 2.0, float("inf")]
        >>> mixture = GaussianMixture(random_state=0).fit_binned(edges, [159, 341, 341, 136, 23])
        >>> mixture.means_.round(2), mixture.covariances_.round(2)
        (array([[0.]]), array([[[1.]]]))
        """
        self._require_own_units("fit_binned")
        ends, weight = check_bins(edges, counts, self.n_components)
        source = ArraySource(ends[:-1, None])
        K, options = check_mixture_options(self, source.weighted(weight))
        rng = checks.generator(self.random_state)
        with progress_callback(self.verbose) as progress:
            fit = fit_binned_mixture(ends, weight, K, options, rng, progress)
        validate_rows(self, source, reset=True)
        self._scale = None
        self._remember(fit, options.make_structure(), Like(ends))
        warn_mixture_fit(fit, source, options.tol, options.max_iter)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, decay: float = 0.7, checkpoint: Any = None
    ) -> Self:
        """Learn from a chunk of rows that need not be kept: online EM (Cappé and Moulines 2009).

        The first chunk, of at least K rows, is fitted to convergence. Each further one of b rows makes a single step:
        the moments of the components move towards those of the chunk by (b / N)^decay of the way, N being all rows so
        far. With decay=1 every row always counts the same; the smaller it is, the sooner the first chunks are
        forgotten. Between 0.5 and 1 the mixture converges to a maximum of the likelihood. It may also
        follow `fit`.

        Afterwards `loglik_` is the sum over the chunks, each but the first by the mixture before it learned from it;
        aic and bic need rows. Chunks in random order do best, and small first chunks need prior="conjugate".

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        self._require_own_units("partial_fit")
        first = not self.__sklearn_is_fitted__()
        share = checks.real("decay", decay, 0.5, 1.0 + 1e-12)
        X = column_as_table(X) if first and y is None else X
        source = validate_rows(self, X, sample_weight, reset=first)
        K, options = check_mixture_options(self, source, starts=first)
        structure = options.make_structure()
        if first:
            check_total_weight(source)
            with progress_callback(self.verbose) as progress:
                state = fit_first_chunk(source, K, options, checks.generator(self.random_state), progress)
        elif structure != self._structure:
            what = "covariance_type or n_factors was changed since the first chunk"
            raise OptionError(what, fix="use fit, or a clone")
        else:
            state = fit_next_chunk(self._chunks or resume_fit(self._fitted, options), source, options, share)
        self._remember(state.fit, structure, Like(X, source.dtype) if first else self._rows_like, state)
        warn_mixture_fit(state.fit, source, options.tol, options.max_iter)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows of X, then predict their components."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    # ---- rows to components -----------------------------------------------------------------------------

    @per_row(dtype=lambda self, source: np.intp)
    def predict(self, X: Any) -> Any:
        """Return the most likely component (n,) of each row."""
        joint = self._by_block(validate_rows(self, X), Mixture.log_joint)
        return np.asarray(joint.argmax(axis=1))

    @per_row(lambda self: len(self.model_.weights), lambda self, source: source.dtype)
    def predict_proba(self, X: Any) -> Any:
        """Return P(component k | x_i) (n, K)."""
        source = validate_rows(self, X)
        return self._by_block(source, Mixture.responsibilities).astype(source.dtype, copy=False)

    def impute(self, X: Any, return_std: bool = False) -> Any:
        """Return X (n, d) with NaN replaced by its conditional mean given the observed entries of the row.

        With return_std, also the conditional standard deviations (n, d), 0 for observed entries. The distribution of an
        entry is itself a mixture (`condition`), so its mean may lie where its density is low. A frame gives frames of
        the same kind, index and columns; everything else arrays.
        """
        source, with_std = validate_rows(self, X), checks.boolean("return_std", return_std)
        found = impute_rows(self.model_, X, source, with_std)
        return tuple(found) if with_std else found[0]

    # ---- the density ------------------------------------------------------------------------------------

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density per row."""
        source = positive_weight_rows(validate_rows(self, X, sample_weight))
        return mean_over_rows(self._log_densities(source), source.weight)

    def _log_densities(self, source: Source) -> Array:
        return self._by_block(source, Mixture.log_density)

    @per_row()
    def cdf(self, x: Any) -> Any:
        """Return P(X ≤ x) (n,), for a mixture of one feature."""
        if self.model_.means.shape[1] != 1:
            what = f"cdf needs one dimension of x, and this mixture has {self.model_.means.shape[1]}"
            raise OptionError(what, fix="take marginal([j]) first")
        return self.model_.cdf(to_numpy(x))

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Return BIC − 2 Σ w log P(most likely component | x): BIC with a penalty for rows between components.

        Biernacki, Celeux and Govaert (2000); the smaller the better.
        """
        X = rereadable(X)
        source = positive_weight_rows(validate_rows(self, X, sample_weight))
        log_best = self._by_block(source, _log_most_likely)
        weight = np.ones(len(log_best)) if source.weight is None else source.weight
        return self.bic(X, sample_weight) - 2.0 * float(weight @ log_best)

    @property
    def _n_parameters(self) -> int:
        return self._fitted.parameters

    def _density_and_presence(self, source: Source) -> Array:
        return self._by_block(source, _density_and_presence)

    def _fitted_likelihood(self) -> tuple[float, float]:
        if self._fitted.n_iter > 1 and self._chunks is not None:
            raise OptionError("after partial_fit the log-likelihood of the rows is not known", fix="give them as X")
        return super()._fitted_likelihood()

    def _by_block(self, source: Source, method: Callable[[Mixture, Array], Array]) -> Array:
        """Apply a method of the mixture to the rows of a source; infinities are an error."""
        check_is_fitted(self)
        model = self.model_

        return map_blocks(source, lambda rows: method(model, require_no_infinity(rows)))

    # ---- other densities --------------------------------------------------------------------------------

    def sample(self, n_samples: int = 1, *, random_state: Any = None, return_labels: bool = False) -> Any:
        """Draw rows (n_samples, d) from the mixture; with return_labels also the component (n_samples,) of each.

        The rows are in random order. `X, y = mixture.sample(2)`, without return_labels, is an error.
        """
        rng = checks.generator(self.random_state if random_state is None else random_state)
        rows, labels = self.model_.sample_labelled(checks.sample_size("n_samples", n_samples, self.n_features_in_), rng)
        drawn = self._like(rows)
        labelled = checks.boolean("return_labels", return_labels)
        return (drawn, self._like.exact(labels)) if labelled else sampled_rows(drawn)

    def marginal(self, columns: Any) -> Mixture:
        """Return the mixture of some columns, by number or name, in this order."""
        return self.model_.marginal(self._column_numbers(columns))

    def condition(self, columns: Any, values: Any) -> Mixture:
        """Return the mixture of the other columns given values of these; its `mean` is the regression on them."""
        given: Mixture = self._condition(columns, values)
        return given

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def model_(self) -> Mixture:
        """The frozen mixture."""
        return self._fitted.model

    weights_ = model_view("weights", "The weights pi (K,).")
    means_ = model_view("means", "The means mu (K, d).")

    @property
    def covariances_(self) -> Any:
        """The covariances (K, d, d); (d, d) for "tied", (K, d) for "diag", (K,) for "spherical"."""
        structure: CovarianceStructure = self._structure
        return self._like(structure.covariances(self.model_.components))

    @property
    def precisions_(self) -> Any:
        """The inverses of the covariances, in the shape of `covariances_`."""
        structure: CovarianceStructure = self._structure
        return self._like(precisions(structure.covariances(self.model_.components), joint=structure.joint))

    @property
    def precisions_cholesky_(self) -> Any:
        """U_k, upper triangular, with precisions U_k U_kᵀ; 1 / √v for variances v; in the shape of `covariances_`."""
        structure: CovarianceStructure = self._structure
        return self._like(precision_factors(structure.covariances(self.model_.components), joint=structure.joint))

    @property
    def n_components_(self) -> int:
        """The number K of components."""
        return len(self.model_.weights)

    def _remember(
        self, fit: MixtureFit, structure: CovarianceStructure, like: Like, chunks: OnlineFit | None = None
    ) -> None:
        self._fit, self._structure, self._rows_like, self._chunks = fit, structure, like, chunks


def _density_and_presence(model: Mixture, rows: Array) -> Array:
    """Return (b, 2): the log density of the observed entries of each row, and 1 if there are any, else 0."""
    return np.column_stack([model.log_density(rows), observed_rows(rows)])


def _log_most_likely(model: Mixture, rows: Array) -> Array:
    """Return log P(most likely component | x) (b,); 0 for a row without observed entries, which does not count."""
    log_best = np.log(model.responsibilities(rows).max(axis=1))
    return np.asarray(np.where(observed_rows(rows), log_best, 0.0))
