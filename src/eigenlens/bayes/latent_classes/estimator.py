"""`MixtureModel`: the scikit-learn estimator for mixtures of any family."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like
from eigenlens.bayes.latent_classes import storage
from eigenlens.bayes.latent_classes.fit import LatentClassFit, fit_latent_classes
from eigenlens.bayes.latent_classes.options import (
    check_component_count,
    check_component_families,
    check_latent_class_options,
    warn_latent_class_fit,
)
from eigenlens.bayes.naive.class_parameters import ProbabilityTable, class_probability_table, count_parameters
from eigenlens.bayes.naive.feature_table import frame_kind, rows_from_columns, table_to_fit, table_to_predict
from eigenlens.bayes.naive.fit import row_slices
from eigenlens.bayes.naive.plan import FeatureTable, make_plan
from eigenlens.bayes.rule import posterior
from eigenlens.data.rows import row_count
from eigenlens.data.source import progress_callback
from eigenlens.estimator.base import IterativeFit, ModelEstimator, forward
from eigenlens.estimator.rows import per_row
from eigenlens.estimator.sampled_rows import sampled_rows


@dataclass(eq=False, repr=False)
class MixtureModel(IterativeFit[LatentClassFit], ModelEstimator, DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A mixture whose components are products of columns of any family, p(x) = Σ_k pi_k Π_j p_kj(x_j): latent classes.

    Naive Bayes whose classes are not known (Lazarsfeld and Henry 1968; Goodman 1974), by maximum likelihood. The table
    may hold numbers, booleans, text and categories, as in `NaiveBayes`. EM (Dempster, Laird and Rubin 1977) from
    several starts, one pass over the rows per step. A missing entry leaves its factor out, which is exact here.

    Parameters:
        n_components: the number K of components.
        features: as in `NaiveBayes`: "auto", a family for all columns, or {column: family}. Families: "gaussian",
            "shared-gaussian" (one variance for all components), "categorical", "bernoulli", "multinomial" (without
            missing counts), or a `Family` with `summarise` and `estimate`.
        n_init: starts, from each of which EM takes a few steps; the best are iterated to the end.
        floor: the smallest variance of a Gaussian, as a share of the variance of its column over all rows.
        max_iter: the most passes of EM.
        tol: EM stops when the log-likelihood per row is estimated to be within tol of its maximum.
        random_state: seed of starts and samples.
        verbose: True for a progress bar, or a callable (done, in all, label).

    Attributes:
        weights_: (K,) pi, the largest first. features_: the family of each column, and the reason; print it.
        loglik_: Σ log p(x). loglik_path_: after each step, never decreasing. n_iter_, converged_: of the best start.
        n_samples_: rows with positive weight. model_: the frozen `NaiveModel` with the weights as its prior.

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
    random_state: Any = None
    verbose: Any = False

    _storage = storage
    _takes_missing = True
    _rows_like = Like(np.empty(0))
    _saves_dtype = False

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Maximise the likelihood of the rows of X (n, d), row i counting sample_weight[i] times."""
        source = table_to_fit(self, X, reset=True)
        options, n = check_latent_class_options(self), row_count(source)
        given = checks.weights(sample_weight, n)
        weight = np.ones(n) if given is None else given
        K = check_component_count(self.n_components, weight)
        plan = make_plan(source, self.features, weight=given)
        check_component_families(plan)
        rng = checks.generator(self.random_state)
        with progress_callback(self.verbose) as progress:
            self._fit = fit_latent_classes(source, weight, K, plan, options, rng, progress)
        self._plan, self._frame, self._rows_like = plan, frame_kind(X), Like(X, np.dtype(np.float64))
        warn_latent_class_fit(self._fit, options)
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows of X, then predict their components."""
        return self.fit(X, y, sample_weight=sample_weight).predict(X)

    # ---- rows to components -----------------------------------------------------------------------------

    @per_row(dtype=lambda self, source: np.intp)
    def predict(self, X: Any) -> Any:
        """Return the most likely component (n,) of each row."""
        return np.asarray(self._log_joint(X).argmax(axis=1))

    @per_row(lambda self: len(self.weights_))
    def predict_proba(self, X: Any) -> Any:
        """Return P(component k | x_i) (n, K)."""
        joint = self._log_joint(X)
        impossible = ~np.isfinite(joint.max(axis=1))
        joint[impossible] = self.model_.log_prior  # a row that no component can have says nothing about them
        return posterior(joint)

    def _log_joint(self, X: Any) -> Array:
        """Return ln pi_k + ln p_k(x) (n, K)."""
        check_is_fitted(self)
        source = table_to_predict(self, X)
        slices = (piece for rows in source.rows() for piece in row_slices(rows, copied=True))
        return np.concatenate([self.model_.log_joint(piece) for piece in slices])

    # ---- the density ------------------------------------------------------------------------------------

    @per_row()
    def score_samples(self, X: Any) -> Any:
        """Return the log density (n,) of the observed entries of each row; −inf for an unknown category."""
        return np.asarray(logsumexp(self._log_joint(X), axis=1))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean log density per row."""
        found = np.asarray(logsumexp(self._log_joint(X), axis=1))
        return float(np.average(found, weights=checks.weights(sample_weight, len(found))))

    def icl(self, X: Any, sample_weight: Any = None) -> float:
        """Return BIC − 2 Σ w log P(most likely component | x) (Biernacki, Celeux and Govaert 2000)."""
        best = np.log(self.predict_proba(X).max(axis=1))
        weight = checks.weights(sample_weight, len(best))
        return self.bic(X, sample_weight) - 2.0 * float(best.sum() if weight is None else weight @ best)

    def _likelihood(self, X: Any, sample_weight: Any) -> tuple[float, float]:
        if X is None:
            return super()._likelihood(X, sample_weight)
        found = np.asarray(logsumexp(self._log_joint(X), axis=1))
        weight = checks.weights(sample_weight, len(found))
        weight = np.ones(len(found)) if weight is None else weight
        return float(weight[weight > 0.0] @ found[weight > 0.0]), float(weight.sum())

    @property
    def _n_parameters(self) -> int:
        return len(self.model_.prior) - 1 + count_parameters(self.model_)

    def sample(self, n_samples: int = 1, *, random_state: Any = None, return_labels: bool = False) -> Any:
        """Draw rows (n_samples, d), a frame where a frame was fitted; with return_labels also their components."""
        model, n = self.model_, checks.integer("n_samples", n_samples, 1)
        rng = checks.generator(self.random_state if random_state is None else random_state)
        labels = rng.choice(len(model.prior), size=n, p=model.prior)
        drawn = rows_from_columns(model.sample(labels, rng), self._plan.fields, self._frame)
        drawn = self._like.exact(drawn) if isinstance(drawn, np.ndarray) else drawn
        labelled = checks.boolean("return_labels", return_labels)
        return (drawn, self._like.exact(labels)) if labelled else sampled_rows(drawn)

    # ---- learned attributes -----------------------------------------------------------------------------

    model_ = forward("_fitted.model", "The frozen `NaiveModel` whose prior has the weights.")
    weights_ = forward("_fitted.model.prior", "The weights pi (K,).")

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
        fields, model = self._plan.fields, self.model_
        place = checks.column_number("column", column, len(fields), [field.name for field in fields])
        return model.density(checks.integer("component", component, 0, len(model.prior) - 1), place)

    def probability_table(self) -> ProbabilityTable:
        """Return all P(x_j = category | component), a line for each column and category; print it."""
        components = np.arange(self.n_components_)
        return class_probability_table(self.model_, self._fitted.statistics, self._plan, components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags
