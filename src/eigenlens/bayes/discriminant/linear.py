"""`LinearDiscriminant`: Gaussian classes with one covariance, and the directions that separate them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, Like, dense, to_numpy
from eigenlens.bayes.classifier.class_density import finite_blocks
from eigenlens.bayes.discriminant.covariances import Shrinkage, pooled_covariance
from eigenlens.bayes.discriminant.estimator import GaussianClasses
from eigenlens.bayes.discriminant.fit import FisherRule, centred_product
from eigenlens.bayes.discriminant.options import check_linear_options, require_rows, row_counts, warn_about_linear
from eigenlens.bayes.discriminant.predict_missing import (
    expected_scores,
    incomplete_log_likelihoods,
    linear_contributions,
)
from eigenlens.bayes.discriminant.shrinkage import Rule, Target
from eigenlens.bayes.explain import Explanation, classes_to_compare
from eigenlens.bayes.labels import class_positions
from eigenlens.data.coerce import require_no_infinity
from eigenlens.data.rows import select_rows
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError
from eigenlens.estimator.base import model_view
from eigenlens.estimator.rows import dense_blocks, validate_rows
from eigenlens.linalg.scores import concatenate, project_rows


@dataclass(eq=False, repr=False)
class LinearDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClasses):  # type: ignore[misc]
    """Fisher's discriminants: Gaussian classes with one covariance, a linear rule, a map to at most C − 1 directions.

        ln p(c | x) = w_c·x + b_c + const,   w_c = S⁻¹ (m_c − m),   b_c = ln pi_c − ½ |m_c − m|²_S − w_c·m

    S is the covariance about the means m_c of the classes, with divisor Σw, m = Σ pi_c m_c. The directions v maximise
    the variance between classes, vᵀ B v with B = Σ pi_c (m_c − m)(m_c − m)ᵀ, for vᵀ S v = 1 (Fisher 1936; Rao 1948).

    Parameters:
        n_components: columns of `transform`, at most C − 1 and d; None for all that separate classes.
        shrinkage: None; a number a in [0, 1] for (1 − a) S + a T; "ledoit-wolf" for the a that minimises the expected
            error (Ledoit and Wolf 2004), from the deviations of all rows; or "ledoit-wolf-by-class", which shrinks the
            covariance of each class before pooling. With the target "diagonal" the last is scikit-learn's "auto",
            which is accepted too. Or a function (n, d, trace, square, quartic) → a.
        target: T. "diagonal" keeps the variances, so that units do not matter; "identity", the mean variance times I,
            is the target of scikit-learn where shrinkage is a number. Or a function from the variances (d,) to the
            diagonal (d,) of T.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict. It
            weights classes, not their rows: S stays the covariance of all rows about the means of their classes,
            whereas the solvers "lsqr" and "eigen" of scikit-learn weight the covariances of classes by given priors.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_prior_: (C,) pi. means_: (C, d) m_c. covariance_: (d, d) S, computed on first use.
        coef_: (C, d) w. intercept_: (C,) b. predict_proba is the softmax of X coef_ᵀ + intercept_.
        scalings_: (d, q) the directions v. explained_variance_ratio_: (q,) shares of the variance between classes.
        centre_: (d,) m, which `transform` subtracts. shrinkage_: a, or (C,) by class.
        class_count_: (C,) Σw. n_samples_: number of rows with positive weight. solver_: how S was found.
        model_: the frozen `FisherRule`.

    With fewer rows than columns no d×d matrix is made, and rows are kept in memory during `fit`. Without shrinkage,
    directions in which no class varies are then left out, with a warning; so are columns that are constant within every
    class. NaN is a missing value: the observed entries of a row count by their likelihood in `fit` (by EM, in memory
    O(d²)), and decide in `predict`. A rule of shrinkage then uses the pairs of observed entries.

    Example:
        >>> X = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 1.0], [4.0, 3.0], [5.0, 3.0], [4.0, 4.5]])
        >>> lda = LinearDiscriminant().fit(X, ["a", "a", "a", "b", "b", "b"])
        >>> lda.predict([[1.0, 1.0], [4.0, np.nan]]).tolist(), lda.transform([[1.0, 1.0]]).round(2)
        (['a', 'b'], array([[-3.93]]))
    """

    n_components: int | None = None
    _: KW_ONLY
    shrinkage: float | str | Rule | None = None
    target: str | Target = "diagonal"
    prior: Any = None
    random_state: Any = None
    verbose: Any = False

    _pooled = True

    def _check_options(self, n_classes: int) -> Shrinkage:
        return check_linear_options(self, n_classes)

    def _estimate(self, found: Any, shrinkage: Shrinkage) -> tuple[FisherRule, Array]:
        require_rows(found, self.classes_, 0.0, "give the rows of every class before asking for results")
        if not np.any(row_counts(found) > 1.0):
            what = f"every class has 1 row (n_samples={len(found.rows)}), so no class varies"
            raise DataError(what, fix="give more rows than classes")
        covariance, amounts = pooled_covariance(found, shrinkage)
        if not covariance.rank:
            raise DataError("no column varies within any class, so there is no covariance", fix="check X and y")
        rule = FisherRule(self.class_prior_, found.mean, covariance)
        warn_about_linear(rule, self)
        return rule, amounts

    @property
    def model_(self) -> FisherRule:
        """The frozen rule; after `partial_fit` it is computed on first use."""
        rule: FisherRule = self._solved[0]
        return rule

    # ---- rows to classes --------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """Return w_c·x + b_c (n, C), up to one number per row; for two classes the second less the first (n,)."""
        check_is_fitted(self)
        with np.errstate(divide="ignore"):
            found = np.concatenate(list(self._log_likelihoods(X)))
            found += np.log(self.class_prior_)
        return np.asarray(found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return ln p(x, c) = ln p(c) + ln p(x | c), (n, C)."""
        found = np.concatenate([self._mixture.log_joint(rows) for rows in finite_blocks(self, X)])
        return Like(X, np.dtype(np.float64))(found)

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        return map(self._log_densities, dense_blocks(validate_rows(self, X)))

    def _log_densities(self, rows: Array) -> Array:
        """Return ln p(x | c) (n, C) by one product for all classes; rows where it is not finite are incomplete."""
        with np.errstate(invalid="ignore", over="ignore"):
            found = self.model_.log_likelihoods(rows)
            whole = np.isfinite(found.sum())
        odd = np.empty(0) if whole else _nonfinite_rows(found)
        if odd.size:
            found[odd] = incomplete_log_likelihoods(self.model_, require_no_infinity(rows[odd]))
        return found

    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """Return what each feature adds to the log-odds of each row's class, sorted by size.

            (w_a − w_b)_j (x_j − (m_a + m_b)_j / 2)

        By default the most likely class a of each row is compared with the next most likely b. A missing value adds 0,
        and w is then that of the observed entries. The sum is that of `QuadraticDiscriminant` with equal covariances,
        but not the single terms: those in x_j x_k, which that halves, cancel here.
        """
        check_is_fitted(self)
        rows = np.concatenate(list(finite_blocks(self, X)))
        rule, n = self.model_, len(rows)
        chosen = (class_positions(self.classes_, name, value, n) for name, value in (("of", of), ("against", against)))
        with np.errstate(divide="ignore"):
            log_prior = np.log(rule.prior)
        a, b = classes_to_compare(self._log_densities(rows) + log_prior, *chosen)
        parts = linear_contributions(rule, rows, a, b)
        labels = np.asarray(self.classes_)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return Explanation(tuple(names), labels[a], labels[b], parts, log_prior[a] - log_prior[b])

    @property
    def _mixture(self) -> Mixture:
        return self.model_.classes

    # ---- rows to directions -----------------------------------------------------------------------------

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then transform the same rows."""
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """Return (x − m)·v (n, q): rows on the discriminant directions, in which every class has covariance I.

        In X's dtype, on its device; a Dask array gives a Dask array. For an incomplete row it is the expectation given
        the observed entries.
        """
        check_is_fitted(self)
        source, V = validate_rows(self, X), self._directions
        project = partial(_project, rule=self.model_, V=V)
        if hasattr(source, "map_rows"):
            return source.map_rows(project, V.shape[1])
        return concatenate([project(rows) for rows in source.rows()])

    @property
    def _directions(self) -> Array:
        V = self.model_.directions
        return V if self.n_components is None else V[:, : self.n_components]

    # ---- learned attributes -----------------------------------------------------------------------------

    coef_ = model_view("coef", "The coefficients w (C, d).")
    intercept_ = model_view("intercept", "The intercepts b (C,).")
    centre_ = model_view("centre", "The mean m (d,) of the classes.")

    @property
    def scalings_(self) -> Any:
        """The discriminant directions (d, q)."""
        return self._like(self._directions)

    @property
    def explained_variance_ratio_(self) -> Any:
        """The shares (q,) of the variance between classes, of that of all directions."""
        ratios = self.model_.ratios
        return self._like((ratios / (ratios.sum() or 1.0))[: self._directions.shape[1]])

    @property
    def covariance_(self) -> Any:
        """The covariance S (d, d)."""
        return self._like(self.model_.covariance.matrix())

    @property
    def shrinkage_(self) -> Any:
        """The intensity of shrinkage, or (C,) one per class."""
        amounts = self._solved[1]
        return float(amounts[0]) if len(amounts) == 1 else amounts

    @property
    def _n_features_out(self) -> int:
        return int(self._directions.shape[1])


def _nonfinite_rows(found: Array) -> Array:
    """Return the numbers of the rows that are not finite."""
    return np.flatnonzero(~np.isfinite(found).all(axis=1))


def _project(rows: Any, rule: FisherRule, V: Array) -> Any:
    """Return (x − m)·v of rows of any kind, in their kind; missing values are replaced by their expectations."""
    plain = isinstance(rows, np.ndarray) and rows.dtype == np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        found = (centred_product if plain else project_rows)(rows, rule.centre, V)
        if np.isfinite(to_numpy(found).sum()):
            return found
    odd = _nonfinite_rows(to_numpy(found))
    if not odd.size:  # only the sum overflowed
        return found
    values = np.array(to_numpy(found))
    values[odd] = expected_scores(rule, require_no_infinity(dense(select_rows(rows, odd))), V)
    return Like(found)(values)
