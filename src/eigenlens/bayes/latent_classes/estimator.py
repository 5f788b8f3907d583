"""`MixtureModel`: the scikit-learn estimator for mixtures of any family."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like
from eigenlens.bayes.latent_classes import storage
from eigenlens.bayes.latent_classes.distinct_rows import encode_table, find_observed_rows
from eigenlens.bayes.latent_classes.fit import LatentClassFit, fit_latent_classes
from eigenlens.bayes.latent_classes.impute import impute_block
from eigenlens.bayes.latent_classes.options import (
    check_component_count,
    check_component_families,
    check_latent_class_options,
    warn_latent_class_fit,
)
from eigenlens.bayes.naive.class_parameters import ProbabilityTable, class_probability_table, count_parameters
from eigenlens.bayes.naive.feature_table import (
    frame_kind,
    log_likelihoods,
    rows_from_columns,
    table_to_fit,
    table_to_predict,
)
from eigenlens.bayes.naive.plan import FeatureTable, make_plan, name_families
from eigenlens.bayes.rule import log_sum_and_posterior
from eigenlens.data.coerce import rereadable
from eigenlens.data.rows import mean_over_rows, row_count
from eigenlens.data.source import Source, progress_callback
from eigenlens.data.table import observed_rows
from eigenlens.estimator.base import IterativeFit, ModelEstimator, forward, require_possible
from eigenlens.estimator.rows import column_as_table, per_row, rows_dtype
from eigenlens.estimator.sampled_rows import sampled_rows
from eigenlens.native.class_sums import winners


@dataclass(eq=False, repr=False)
class MixtureModel(IterativeFit[LatentClassFit], ModelEstimator, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A mixture whose components are products of columns of any family, p(x) = Σ_k pi_k Π_j p_kj(x_j): latent classes.

    This is naive Bayes with unknown classes (Lazarsfeld and Henry 1968; Goodman 1974), fitted by maximum likelihood.
    The table may hold numbers, booleans, text and categories, as in `NaiveBayes`. EM (Dempster, Laird and Rubin 1977)
    runs from several starts with one pass over the rows per step, and slow steps are extrapolated. If an entry is
    missing, its factor is left out, which gives the exact likelihood; rows without an observed entry are left out, with
    a warning.

    Parameters:
        n_components: the number K of components.
        features: as in `NaiveBayes`: "auto", a family for all columns, or {column: family}. Families: "gaussian",
            "shared-gaussian" (one variance for all components), "categorical", "bernoulli", "multinomial" (a block of
            counts; where one is missing, the others are judged given their total), or a `Family` of
            `eigenlens.densities` or of your own with `summarise` and `estimate`: of each column, or of a block that
            has one density together, {("a", "b"): GaussianFamily()}, whose entries are all observed or all missing.
            "kde", "mixture" and density estimators keep rows, and EM does not fit them.
        n_init: starts, from each of which EM takes a few steps; the best are continued, and the best of these to the
            end.
        floor: the smallest variance of a Gaussian, as a share of the variance of its column over all rows.
        max_iter: the most passes of EM from one start.
        tol: EM stops when the log-likelihood per row is estimated to be within tol of its maximum.
        accelerate: False for plain EM steps, which families of your own, and those with options, always take.
        random_state: seed of starts and samples.
        verbose: True for a progress bar, or a callable (done, in all, label).

    Attributes:
        weights_: (K,) pi, the largest first. features_: the family of each column, and the reason; print it.
        loglik_: Σ log p(x) of the fitted rows. loglik_path_: after each accepted step, never decreasing.
        n_iter_, converged_: passes from the best start, rejected extrapolations included, and whether tol was met.
        n_components_, n_samples_: components, and rows with positive weight and an observed entry.
        model_: the frozen `NaiveModel` with the weights as its prior.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> shares = np.where(rng.random((500, 1)) < 0.4, 0.9, 0.2)
        >>> answers = (rng.random((500, 6)) < shares).astype(float)
        >>> classes = MixtureModel(2, random_state=0).fit(answers)
        >>> classes.weights_.round(1), classes.features_[0].family
        (array([0.6, 0.4]), 'bernoulli')
    """

    n_components: int = 1
    _: KW_ONLY
    features: Any = "auto"
    n_init: int = 10
    floor: float = 1e-4
    max_iter: int = 1000
    tol: float = 1e-8
    accelerate: bool = True
    random_state: Any = None
    verbose: Any = False

    _storage = storage
    _takes_missing = True
    _takes_column = True
    _rows_like = Like(np.empty(0))
    _saves_dtype = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Maximise the likelihood of the rows of X (n, d), or (n,) for one column; row i counts sample_weight[i] times.

        Where one column was fitted, the other methods take X (n,) too.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        X = column_as_table(X) if y is None else X  # with labels, X (n,) is probably a mistake
        source = table_to_fit(self, X, reset=True)
        options, n = check_latent_class_options(self), row_count(source)
        given = checks.weights(sample_weight, n)
        counted = np.ones(n) if given is None else given
        weight = counted * find_observed_rows(source)  # a row without an observed entry has the density 1
        K = check_component_count(self.n_components, weight)
        plan = name_families(make_plan(source, self.features, weight=given), source, given)
        check_component_families(plan)
        rng, table = checks.generator(self.random_state), encode_table(source, weight, plan)
        with progress_callback(self.verbose) as progress:
            fit = fit_latent_classes(table, K, plan, options, rng, progress)
        rows = int(np.count_nonzero(weight))
        self._fit = replace(fit, rows=rows, empty=int(np.count_nonzero(counted)) - rows)
        self._plan, self._frame, self._rows_like = plan, frame_kind(X), Like(X, np.dtype(np.float64))
        warn_latent_class_fit(self._fit, options)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows of X, then predict their components."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    # ---- rows to components -----------------------------------------------------------------------------

    def _check_table(self, X: Any) -> Source:
        return table_to_fit(self, X)

    @per_row(dtype=lambda self, source: np.intp)
    def predict(self, X: Any) -> Any:
        """Return the most likely component (n,) of each row."""
        return winners(self._log_joint(X))

    @per_row(lambda self: self.n_components_, lambda self, source: source.dtype)
    def predict_proba(self, X: Any) -> Any:
        """Return P(component k | x_i) (n, K), in the dtype of the rows; the weights for a row of density 0."""
        log_density, shares = log_sum_and_posterior(self._log_joint(X))
        found = np.where(np.isfinite(log_density)[:, None], shares, self.model_.prior)
        return found.astype(rows_dtype(X), copy=False)

    def _log_joint(self, X: Any) -> Array:
        """Return ln pi_k + ln p_k(x) (n, K)."""
        return self._joint_and_presence(X)[0]

    def _joint_and_presence(self, X: Any) -> tuple[Array, Array]:
        """Return ln pi_k + ln p_k(x) (n, K), and whether a row has an observed entry (n,)."""
        model, source = self.model_, table_to_predict(self, X)
        pieces = [(found, observed_rows(rows)) for rows, found in log_likelihoods(model, source)]
        found, present = (np.concatenate(part) for part in zip(*pieces, strict=True))
        return found + model.log_prior, present

    def impute(self, X: Any, return_std: bool = False) -> Any:
        """Return X (n, d) with missing entries replaced, by what the observed entries of the row say of its component.

        Numbers get their conditional mean, categories the most likely one, counts their expectation given the others.
        With return_std, also the standard deviations (n, d): 0 for observed entries, NaN for categories, counts and
        families of your own. A frame gives a frame of the same kind; everything else an array, of objects where columns
        differ in kind.
        """
        with_std = checks.boolean("return_std", return_std)
        filled = self._imputed(X)
        return (filled, self._imputed_std(X)) if with_std else filled

    @per_row(lambda self: self.n_features_in_, lambda self, source: source.dtype)
    def _imputed(self, X: Any) -> Any:
        columns = zip(*(parts for parts, _ in self._impute_blocks(X)), strict=True)
        found = rows_from_columns([np.concatenate(parts) for parts in columns], self._plan.fields, frame_kind(X))
        if frame_kind(X) == "pandas":
            found.index = X.index
        return _in_single_precision(found, X)

    @per_row(lambda self: self.n_features_in_, lambda self, source: source.dtype)
    def _imputed_std(self, X: Any) -> Any:
        return _in_single_precision(np.concatenate([deviations for _, deviations in self._impute_blocks(X)]), X)

    def _impute_blocks(self, X: Any) -> Iterator[tuple[list[Array], Array]]:
        """Yield the columns of some rows at a time with missing entries replaced, and the standard deviations."""
        model = self.model_
        for rows, found in log_likelihoods(model, table_to_predict(self, X)):
            log_density, shares = log_sum_and_posterior(found + model.log_prior)
            possible = np.isfinite(log_density)[:, None]
            yield impute_block(model, rows, np.where(possible, shares, model.prior))

    # ---- the density ------------------------------------------------------------------------------------

    @per_row()
    def score_samples(self, X: Any) -> Any:
        """Return the log density (n,) of the observed entries of each row; −inf for an unknown category.

        Of counts it is that of their order too: the coefficient N! / Π x_j!, the same in all components, is left out.
        """
        return log_sum_and_posterior(self._log_joint(X))[0]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density per row."""
        found = log_sum_and_posterior(self._log_joint(X))[0]
        return mean_over_rows(found, checks.weights(sample_weight, len(found)))

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Return BIC − 2 Σ w log P(most likely component | x): BIC with a penalty for rows between components.

        Biernacki, Celeux and Govaert (2000); the smaller the better.
        """
        X = rereadable(X)
        (log_density, shares), w = self._fit_to(X, sample_weight)
        sure = np.log(np.where(np.isfinite(log_density), shares.max(axis=1), self.model_.prior.max()))
        return self.bic(X, sample_weight) - 2.0 * float(w @ sure)

    def _likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        if X is None:
            return super()._likelihood(X, sample_weight)
        (log_density, _), w = self._fit_to(X, sample_weight)
        require_possible(np.where(w > 0.0, log_density, 0.0))
        return float(w @ np.where(w > 0.0, log_density, 0.0)), float(w.sum())

    def _fit_to(self, X: Any, sample_weight: Any) -> tuple[tuple[Array, Array], Array]:
        """Return log densities (n,) and responsibilities (n, K), and weights (n,), 0 for a row without entries."""
        joint, present = self._joint_and_presence(X)
        weight = checks.weights(sample_weight, len(joint))
        return log_sum_and_posterior(joint), present * (1.0 if weight is None else weight)

    @property
    def _n_parameters(self) -> int:
        return len(self.model_.prior) - 1 + count_parameters(self.model_)

    def sample(self, n_samples: int = 1, *, random_state: Any = None, return_labels: bool = False) -> Any:
        """Draw rows (n_samples, d), a frame where a frame was fitted; with return_labels also their components."""
        model, n = self.model_, checks.sample_size("n_samples", n_samples, self.n_features_in_)
        rng = checks.generator(self.random_state if random_state is None else random_state)
        labels = rng.choice(len(model.prior), size=n, p=model.prior / model.prior.sum())
        drawn = self._like.exact(rows_from_columns(model.sample(labels, rng), self._plan.fields, self._frame))
        labelled = checks.boolean("return_labels", return_labels)
        return (drawn, self._like.exact(labels)) if labelled else sampled_rows(drawn)

    # ---- learned attributes -----------------------------------------------------------------------------

    model_ = forward("_fitted.model", "The frozen `NaiveModel` whose prior has the weights.")

    @property
    def weights_(self) -> Any:
        """The weights pi (K,)."""
        return self._like.exact(self.model_.prior)

    @property
    def n_components_(self) -> int:
        """The number K of components."""
        return len(self.model_.prior)

    @property
    def features_(self) -> FeatureTable:
        """The family of each column, and why it was chosen."""
        check_is_fitted(self)
        return FeatureTable(self._plan.choices)

    def density(self, column: Any, component: int) -> Any:
        """Return the density of a column, by name or number, in a component, from 0."""
        check_is_fitted(self)
        fields, model = self._plan.fields, self.model_
        place = checks.column_number("column", column, len(fields), [field.name for field in fields])
        return model.density(checks.integer("component", component, 0, len(model.prior) - 1), place)

    def probability_table(self) -> ProbabilityTable:
        """Return all P(x_j = category | component), a line for each column and category; print it."""
        check_is_fitted(self)
        components = np.arange(self.n_components_)
        return class_probability_table(self.model_, self._fitted.statistics, self._plan, components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _in_single_precision(found: Any, X: Any) -> Any:
    """Return numbers (n, d) as float32 where X is an array of float32, and other results unchanged."""
    single = isinstance(found, np.ndarray) and found.dtype.kind == "f" and "float32" in str(getattr(X, "dtype", ""))
    return found.astype(np.float32) if single else found
