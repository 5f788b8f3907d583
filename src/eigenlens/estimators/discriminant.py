"""`LinearDiscriminant` and `QuadraticDiscriminant`: the scikit-learn faces of `fitting.discriminant`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, Like, dense, to_numpy
from eigenlens.data.resolve import as_source, explain_nonfinite
from eigenlens.errors import DataError
from eigenlens.estimators.bayes_densities import finite_blocks
from eigenlens.estimators.classifying import chosen_class
from eigenlens.estimators.discriminant_checks import (
    checked_linear,
    checked_quadratic,
    require_rows,
    warn_about_held,
    warn_about_linear,
)
from eigenlens.estimators.explaining import Explanation
from eigenlens.estimators.gaussian_classes import GaussianClasses
from eigenlens.estimators.rows import rows_of
from eigenlens.fitting.discriminant import FisherRule, gaussian_classes, own_covariances, shared_covariance
from eigenlens.fitting.discriminant_covariances import Shrinking
from eigenlens.fitting.sampling import picked
from eigenlens.linalg.scores import scores, stack
from eigenlens.models.mixture import Mixture

__all__ = ["LinearDiscriminant", "QuadraticDiscriminant"]


class LinearDiscriminant(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GaussianClasses):  # type: ignore[misc]
    """Fisher's discriminants: Gaussian classes with one covariance, a linear rule, a map to at most C − 1 directions.

        ln p(c | x) = w_c·x + b_c + const,   w_c = S⁻¹ (m_c − m),   b_c = ln pi_c − ½ |m_c − m|²_S − w_c·m

    S is the covariance about the means m_c of the classes, with divisor Σw, m = Σ pi_c m_c. The directions v maximise
    the variance between classes, vᵀ B v with B = Σ pi_c (m_c − m)(m_c − m)ᵀ, for vᵀ S v = 1 (Fisher 1936; Rao 1948).

    Parameters:
        n_components: columns of `transform`, at most C − 1 and d; None for all that tell classes apart.
        shrinkage: None; a number a in [0, 1] for (1 − a) S + a T; "ledoit-wolf" for the a of least expected error
            (Ledoit and Wolf 2004), from the deviations of all rows; or "ledoit-wolf-by-class", which shrinks the
            covariance of each class on its own before pooling, as scikit-learn's "auto" does.
        target: T. "diagonal" keeps the variances, so that units do not matter; "identity", the mean variance times I,
            is what a number means to scikit-learn.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_prior_: (C,) pi. means_: (C, d) m_c. covariance_: (d, d) S, made when asked for.
        coef_: (C, d) w. intercept_: (C,) b. predict_proba is the softmax of X coef_ᵀ + intercept_.
        scalings_: (d, q) the directions v. explained_variance_ratio_: (q,) shares of the variance between classes.
        centre_: (d,) m, which `transform` subtracts. shrinkage_: a, or (C,) by class.
        class_count_: (C,) Σw. n_samples_: rows that count. solver_: how S was found. model_: the frozen `FisherRule`.

    With fewer rows than columns no d×d matrix is made, and rows are held in memory. Without shrinkage directions in
    which no class varies are then left out, with a warning; so are columns that are constant within every class.
    NaN is a missing entry: what is there of a row counts by its likelihood in `fit` (by EM), and decides in `predict`.

    Example:
        >>> X = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 1.0], [4.0, 3.0], [5.0, 3.0], [4.0, 4.5]])
        >>> lda = LinearDiscriminant().fit(X, ["a", "a", "a", "b", "b", "b"])
        >>> lda.predict([[1.0, 1.0], [4.0, np.nan]]).tolist(), lda.transform([[1.0, 1.0]]).round(2)
        (['a', 'b'], array([[-3.93]]))
    """

    _kind = "LinearDiscriminant"
    _pooled = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        shrinkage: float | str | None = None,
        target: str = "diagonal",
        prior: Any = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.target = target
        self.prior = prior
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> Shrinking:
        return checked_linear(self)

    def _estimate(self, found: Any, shrinking: Shrinking) -> tuple[FisherRule, Array]:
        require_rows(found.weight, self.classes_, 0.0, "its rows have not come yet")
        if not np.any(found.weight > 1.0):
            raise DataError(
                f"every class has 1 row (n_samples = {len(found.rows)}), so none varies; more rows than classes are "
                "needed."
            )
        covariance, amounts = shared_covariance(found, shrinking)
        if not covariance.rank:
            raise DataError("no column varies within any class, so there is no covariance; check X and y.")
        rule = FisherRule(self.class_prior_, found.mean, covariance)
        warn_about_linear(rule, self)
        return rule, amounts

    @property
    def model_(self) -> FisherRule:
        """The frozen rule; after `partial_fit` it is made when first asked for."""
        rule: FisherRule = self._solved[0]
        return rule

    # ---- rows to classes --------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Array:
        """w_c·x + b_c (n, C), but for a number a row; of the second class less the first (n,) if there are two."""
        check_is_fitted(self)
        with np.errstate(divide="ignore"):
            found = np.concatenate(list(self._log_likelihoods(X))) + np.log(self.class_prior_)
        return np.asarray(found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found)

    def predict_joint_log_proba(self, X: Any) -> Any:
        """ln p(x, c) = ln p(c) + ln p(x | c), (n, C)."""
        found = np.concatenate([self._mixture.log_joint(rows) for rows in finite_blocks(self, X)])
        return Like(X, np.dtype(np.float64))(found)

    def _log_densities(self, rows: Array) -> Array:
        gaps = np.isnan(rows).any(axis=1)
        if not gaps.any():
            return self.model_.likelihoods(rows)
        found = np.empty((len(rows), len(self.classes_)))
        found[~gaps] = self.model_.likelihoods(rows[~gaps])
        found[gaps] = super()._log_densities(rows[gaps])
        return found

    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """What each feature adds to the log-odds of each row's class: (w_a − w_b)_j (x_j − (m_a + m_b)_j / 2), sorted.

        The likeliest class a of each row against the next likeliest b, if not given. A missing entry adds 0, and w
        is then that of the entries that are there.
        """
        check_is_fitted(self)
        rows = np.concatenate(list(finite_blocks(self, X)))
        rule, n = self.model_, len(rows)
        chosen = [chosen_class(self.classes_, name, value, n) for name, value in (("of", of), ("against", against))]
        with np.errstate(divide="ignore"):
            log_prior = np.log(rule.prior)
        ranked = np.argsort(-(self._log_densities(rows) + log_prior), axis=1, kind="stable")
        a = ranked[:, 0] if chosen[0] is None else chosen[0]
        b = np.where(ranked[:, 0] == a, ranked[:, 1], ranked[:, 0]) if chosen[1] is None else chosen[1]
        parts = (rule.coef[a] - rule.coef[b]) * (rows - 0.5 * (rule.means[a] + rule.means[b]))
        gaps = np.flatnonzero(np.isnan(rows).any(axis=1))
        if gaps.size:
            parts[gaps] = _parts_with_gaps(rows[gaps], rule, a[gaps], b[gaps])
        labels = np.asarray(self.classes_)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return Explanation(tuple(names), labels[a], labels[b], parts, log_prior[a] - log_prior[b])

    @property
    def _mixture(self) -> Mixture:
        return self.model_.classes

    # ---- rows to directions -----------------------------------------------------------------------------

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """`fit`, then `transform` of the same rows."""
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """(x − m)·v (n, q): rows on the discriminant directions, in which every class has covariance I.

        In X's dtype, on its device; a Dask array gives a Dask array. Of a row with gaps it is what is expected of
        it, given the entries that are there.
        """
        check_is_fitted(self)
        source, V = rows_of(self, X), self._directions
        project = partial(_projected, rule=self.model_, V=V)
        if hasattr(source, "map_rows"):
            return source.map_rows(project, V.shape[1])
        return stack([project(rows) for rows in source.rows()])

    @property
    def _directions(self) -> Array:
        V = self.model_.directions
        return V if self.n_components is None else V[:, : self.n_components]

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def coef_(self) -> Any:
        """(C, d) w."""
        return self._like(self.model_.coef)

    @property
    def intercept_(self) -> Any:
        """(C,) b."""
        return self._like(self.model_.intercept)

    @property
    def scalings_(self) -> Any:
        """(d, q) the discriminant directions."""
        return self._like(self._directions)

    @property
    def explained_variance_ratio_(self) -> Any:
        """(q,) shares of the variance between classes, of all directions."""
        ratios = self.model_.ratios
        return self._like((ratios / (ratios.sum() or 1.0))[: self._directions.shape[1]])

    @property
    def centre_(self) -> Any:
        """(d,) m."""
        return self._like(self.model_.centre)

    @property
    def means_(self) -> Any:
        """(C, d) m_c."""
        return self._like(self.model_.means)

    @property
    def covariance_(self) -> Any:
        """(d, d) S."""
        return self._like(self.model_.covariance.matrix())

    @property
    def shrinkage_(self) -> Any:
        """a, or (C,) by class."""
        amounts = self._solved[1]
        return float(amounts[0]) if len(amounts) == 1 else amounts

    @property
    def _n_features_out(self) -> int:
        return int(self._directions.shape[1])


def _parts_with_gaps(rows: Array, rule: FisherRule, a: Array, b: Array) -> Array:
    """What each entry that is there adds to the log-odds of class a against b: w = S_oo⁻¹ (m_a − m_b)_o, by pattern."""
    S, found = rule.covariance.matrix(), np.zeros(rows.shape)
    patterns, which = np.unique(~np.isnan(rows), axis=0, return_inverse=True)
    for place, seen in enumerate(patterns):
        o = np.flatnonzero(seen & (S.diagonal() > 0.0))
        mine = np.flatnonzero(which.reshape(-1) == place)[:, None]
        if not o.size:
            continue
        m, scale = rule.means[:, o], np.sqrt(S.diagonal()[o])
        inverse = np.linalg.pinv(S[np.ix_(o, o)] / np.outer(scale, scale), hermitian=True)
        coef = (m / scale) @ inverse / scale
        A, B = a[mine[:, 0]], b[mine[:, 0]]
        found[mine, o] = (coef[A] - coef[B]) * (rows[mine, o] - 0.5 * (m[A] + m[B]))
    return found


def _projected(rows: Any, rule: FisherRule, V: Array) -> Any:
    """(x − m)·v of rows of any kind, in their kind, gaps filled with what the classes expect there."""
    with np.errstate(invalid="ignore", over="ignore"):
        found = scores(rows, rule.centre, V)
    odd = np.flatnonzero(~np.isfinite(to_numpy(found)).all(axis=1))
    if not odd.size:
        return found
    gaps = dense(picked(rows, odd))
    if np.isinf(gaps).any():
        raise explain_nonfinite(as_source(rows))
    values = np.array(to_numpy(found))
    values[odd] = (rule.classes.impute(gaps) - rule.centre) @ V
    return Like(found)(values)


class QuadraticDiscriminant(GaussianClasses):
    """Gaussian classes with a covariance each: ln p(c | x) = ln pi_c − ½ ln |S_c| − ½ |x − m_c|²_(S_c) + const.

    Parameters:
        shrinkage: None; a number a in [0, 1] for (1 − a) S_c + a T_c; or "ledoit-wolf" for the a of each class that has
            the least expected error (Ledoit and Wolf 2004).
        target: T_c. "diagonal" keeps the variances, so that units do not matter; "identity" is their mean times I.
        reg: in [0, 1], for (1 − reg) S_c + reg I, in the units of the columns: scikit-learn's reg_param.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_prior_: (C,) pi. means_: (C, d) m_c. covariances_: (C, d, d) S_c, of divisor Σw.
        shrinkage_: (C,) a. class_count_: (C,) Σw. n_samples_: rows that count.
        solver_: how the covariances were found. model_: the classes as a frozen `Mixture` of Gaussians.

    With fewer rows than columns in all, and shrinkage or reg, no d×d matrix is made. A class whose covariance is
    singular is held at a floor, with a warning; a class of one row is an error. NaN is a missing entry:
    what is there of a row counts by its likelihood in `fit` (by EM), and decides in `predict`.

    Example:
        >>> X = np.array([[0.0], [0.1], [-0.1], [3.0], [-3.0], [2.0], [-2.0]])
        >>> qda = QuadraticDiscriminant(prior="uniform").fit(X, list("aaabbbb"))
        >>> qda.predict([[0.0], [0.5], [-1.0]]).tolist(), qda.covariances_.ravel().round(3)
        (['a', 'b', 'b'], array([0.007, 6.5  ]))
    """

    _kind = "QuadraticDiscriminant"
    _pooled = False

    def __init__(
        self,
        *,
        shrinkage: float | str | None = None,
        target: str = "diagonal",
        reg: float = 0.0,
        prior: Any = None,
        random_state: Any = None,
        verbose: Any = False,
    ) -> None:
        self.shrinkage = shrinkage
        self.target = target
        self.reg = reg
        self.prior = prior
        self.random_state = random_state
        self.verbose = verbose

    def _options(self) -> Shrinking:
        return checked_quadratic(self)

    def _estimate(self, found: Any, shrinking: Shrinking) -> tuple[Mixture, Array]:
        require_rows(found.weight, self.classes_, 1.0, "one row has no spread; leave it out, or use LinearDiscriminant")
        own = own_covariances(found, shrinking)
        if not all(getattr(C, "rank", 1) for C in own.covariances):
            raise DataError("no column varies within any class, so there is no covariance; check X and y.")
        warn_about_held(own.held, found.rows, self)
        return gaussian_classes(self.class_prior_, found.mean, own.covariances), own.amounts

    @property
    def model_(self) -> Mixture:
        """The frozen mixture of classes; after `partial_fit` it is made when first asked for."""
        mixture: Mixture = self._solved[0]
        return mixture

    @property
    def _mixture(self) -> Mixture:
        return self.model_

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def means_(self) -> Any:
        """(C, d) m_c."""
        return self._like(self.model_.means)

    @property
    def covariances_(self) -> Any:
        """(C, d, d) S_c."""
        parts: list[Any] = list(self.model_.components)
        return self._like(np.stack([part.covariance.matrix() for part in parts]))

    @property
    def shrinkage_(self) -> Array:
        """(C,) a."""
        return self._solved[1]
