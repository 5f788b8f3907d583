"""The discriminants: Gaussian classes fitted in one pass, with one covariance (linear) or one per class (quadratic)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like
from eigenlens.bayes.class_moments import ClassDeviations
from eigenlens.bayes.classifier.class_density import finite_blocks
from eigenlens.bayes.discriminant import storage
from eigenlens.bayes.discriminant.covariance_estimator import check_covariance_estimator, estimate_class_moments
from eigenlens.bayes.discriminant.covariances import (
    Shrinkage,
    choose_covariance_route,
    class_covariances,
    pooled_covariance,
    read_classes,
    require_variance_range,
    total_deviations,
)
from eigenlens.bayes.discriminant.fit_missing import complete_classes
from eigenlens.bayes.discriminant.model import (
    FisherRule,
    discriminant_scores,
    gaussian_classes,
    incomplete_log_likelihoods,
    linear_contributions,
    nonfinite_rows,
)
from eigenlens.bayes.discriminant.options import (
    check_linear_options,
    check_quadratic_options,
    require_rows,
    row_counts,
    warn_about_convergence,
    warn_about_linear,
    warn_about_quadratic,
)
from eigenlens.bayes.discriminant.shrinkage import Rule, Target
from eigenlens.bayes.explain import Explanation, classes_to_compare, explain_gaussian_classes
from eigenlens.bayes.labels import encode_labels, partial_fit_labels, require_two_classes
from eigenlens.bayes.rule import BayesRule, ClassCounts, sample_by_class
from eigenlens.data.coerce import require_finite, require_no_infinity, rereadable
from eigenlens.data.rows import row_count
from eigenlens.data.source import Progress, Source, progress_callback
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.base import ModelEstimator, NamedScores, model_view
from eigenlens.estimator.rows import dense_blocks, per_row, validate_rows
from eigenlens.linalg.operators import concatenate
from eigenlens.linalg.spectrum import Outcome
from eigenlens.missing.standardize import StandardizedColumns
from eigenlens.missing.units import Units

VARYING = "give classes of rows that differ, rather than names of rows of which there are copies"
"""The way out where no column varies within any class."""


class GaussianClasses(StandardizedColumns, ClassCounts, BayesRule, ModelEstimator):
    """Gaussian classes, the base of `LinearDiscriminant` and `QuadraticDiscriminant`.

    A subclass checks its options and estimates its model from moments, or from rows where these are few.
    """

    _storage = storage
    _state = "_made"
    _takes_missing = True
    _pooled: bool
    _double = True
    verbose: Any
    shrinkage: Any
    covariance_estimator: Any

    def _check_options(self, n_classes: int) -> Shrinkage:
        raise NotImplementedError

    def _estimate(self, statistics: Any, shrinkage: Shrinkage) -> tuple[Any, Array]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Estimate the classes y (n,) of the rows of X (n, d), row i weighted by sample_weight[i].

        X may be any Source; it is read once. y None is the label column of a scanned file.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        self.__dict__.pop("_made", None)  # should this fail, nothing is fitted
        source = validate_rows(self, X, sample_weight, reset=True)
        labels = require_two_classes(encode_labels(y, X, row_count(source)), source.weight)
        C, shrinkage = len(labels.classes), self._check_options(len(labels.classes))
        rows, units = (source, None) if self.covariance_estimator is None else self._standardize(source)
        with progress_callback(self.verbose) as progress, np.errstate(invalid="ignore", over="ignore"):
            found = self._read(rows, labels.codes, C, shrinkage, progress)
            done = None
            if not np.all(np.isfinite(found.mean)):
                rows, units = self._standardize(source)
                known = (rows, labels.codes, labels.classes)
                done = complete_classes(*known, shrinkage, pooled=self._pooled, progress=progress)
        self.classes_ = labels.classes
        self._count(labels.codes, source.weight)
        self._keep(found if done is None else done.moments, X, source)
        if self.covariance_estimator is not None:
            self._moments, self.solver_ = None, Outcome("covariance_estimator", "as given", passes=1)
        if done is not None:
            self._moments = None  # further rows would change what is expected of the missing values
            self.solver_, found, shrinkage = done.outcome, done.moments, done.shrinkage
            warn_about_convergence(done)
        self._made: tuple[Any, Array] | None = self._solve(found, shrinkage, units)
        return self

    def _read(self, source: Source, codes: Array, C: int, shrinkage: Shrinkage, progress: Progress | None) -> Any:
        """Return the moments of the classes, with covariances by the user's estimator where there is one."""
        own = self.covariance_estimator
        if own is None:
            return read_classes(source, codes, C, shrinkage, pooled=self._pooled, progress=progress)
        check_covariance_estimator(own, self.shrinkage, source.weight is not None)
        return estimate_class_moments(source, codes, C, own)

    def _solve(self, statistics: Any, shrinkage: Shrinkage, units: Units | None = None) -> tuple[Any, Array]:
        """Return the model in the units of the columns, and the intensities; set `scale_`.

        The statistics are those of columns over `units`, if these are given; otherwise they are standardised here.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            require_variance_range(statistics.variances)
        self._scale = None if units is None else units.scale
        if units is None and checks.boolean("standardize", self.standardize):
            self._scale = total_deviations(statistics)
            statistics = statistics.over(self._scale)
        model, amounts = self._estimate(statistics, shrinkage)
        return model if self._scale is None else model.scaled(self._scale), amounts

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, *, checkpoint: Any = None
    ) -> Self:
        """Add the rows of X (n, d) and their classes y (n,); the result is exactly that of `fit` on all rows.

        The first call may name all classes; by default they are those of its y. The model is computed when it is first
        used, so a class may have too few rows at first. Memory is O(d²) also where there are fewer rows than columns.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        first = not hasattr(self, "_made")
        if self.covariance_estimator is not None:
            what = "needs all rows of a class at once"
            raise OptionError(what, argument="covariance_estimator", fix="use fit, or shrinkage")
        if not first and self._moments is None:
            what = "partial_fit cannot continue: this model has no moments, since it was loaded from a file, "
            what += "or fitted to fewer rows than columns or to incomplete rows"
            raise OptionError(what, fix="fit a new model by partial_fit from the first rows on")
        source = validate_rows(self, X, sample_weight, reset=first)
        known, codes = partial_fit_labels(y, X, row_count(source), classes, None if first else self.classes_)
        C, shrinkage = len(known), self._check_options(len(known))
        with np.errstate(invalid="ignore", over="ignore"):
            found = read_classes(source, codes, C, shrinkage, pooled=self._pooled, mergeable=True)
        require_finite(source, found.mean)
        self.classes_, self._made = known, None
        self._count(codes, source.weight, more=not first)
        self._keep(found if first else self._moments + found, X, source)
        return self

    def _keep(self, statistics: Any, X: Any, source: Source) -> None:
        self._moments = None if isinstance(statistics, ClassDeviations) else statistics
        self._rows_like = Like(X, source.dtype)
        solver = "gram" if self._moments is None else "moments"
        self.solver_ = Outcome(solver, choose_covariance_route(self._rows, source.n_features)[1], passes=1)

    means_ = model_view("means", "The means (C, d) of the classes.")

    @property
    def priors_(self) -> Any:
        """The prior p(c) (C,), `class_prior_` under the name that scikit-learn's discriminants give it."""
        return self.class_prior_

    # ---- likelihoods and draws --------------------------------------------------------------------------

    @property
    def _solved(self) -> tuple[Any, Array]:
        """The frozen model and the intensities of shrinkage; after `partial_fit` they are computed on first use."""
        check_is_fitted(self)
        if self._made is None:
            self._made = self._solve(self._moments, self._check_options(len(self.classes_)))
        return self._made

    @property
    def _mixture(self) -> Mixture:
        raise NotImplementedError

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        return map(self._log_densities, finite_blocks(self, X))

    def _log_densities(self, rows: Array) -> Array:
        """Return ln p(x | c) (n, C) of rows (n, d), up to one number per row."""
        mixture = self._mixture
        if np.all(mixture.weights > 0.0):
            return np.asarray(mixture.log_joint(rows) - np.log(mixture.weights))  # by one kernel for all classes
        return np.stack([part.log_density(rows) for part in mixture.components], axis=1)

    @per_row(lambda self: None if len(self.classes_) == 2 else len(self.classes_))
    def decision_function(self, X: Any) -> Any:
        """Return ln p(c | x) (n, C), up to one number per row; for two classes the second less the first (n,).

        It is w_c·x + b_c of `LinearDiscriminant`, and ln pi_c − ½ ln |S_c| − ½ |x − m_c|²_(S_c) of
        `QuadraticDiscriminant`.
        """
        check_is_fitted(self)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            found = np.concatenate(list(self._log_likelihoods(X)))
            # The difference of two numbers may exceed floating point though they do not.
            require_finite(X, found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found)
            found += np.log(self._prior) + self._decision_constant
            return np.asarray(found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found)

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        parts: Sequence[Any] = self._mixture.components
        return self._like(sample_by_class(labels, self.n_features_in_, lambda c, m: parts[c].sample(m, rng)))


@dataclass(eq=False, repr=False)
class LinearDiscriminant(NamedScores, GaussianClasses):
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
        standardize: divide columns by their standard deviations in all rows (divisor Σw) before S shrinks; every result
            is in the units of the columns. It makes a difference where S shrinks towards "identity" or a function, and
            to a covariance_estimator that depends on units.
        covariance_estimator: None, or an estimator whose fit(rows) finds `covariance_`, as in sklearn.covariance, in
            place of shrinkage; a clone of it is fitted to the rows of each class, which are kept in memory.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict. It
            weights classes, not their rows: S stays the covariance of all rows about the means of their classes,
            whereas the solvers "lsqr" and "eigen" of scikit-learn weight the covariances of classes by given priors.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_prior_, priors_: (C,) pi. means_: (C, d) m_c. covariance_: (d, d) S, made on first use.
        coef_: (C, d) w. intercept_: (C,) b. predict_proba is the softmax of X coef_ᵀ + intercept_.
        scalings_: (d, q) the directions v. criterion_: (q,) Fisher's criterion of each, vᵀ B v / vᵀ S v.
        explained_variance_ratio_: (q,) shares of the variance between classes.
        centre_: (d,) m, which `transform` subtracts. shrinkage_: a, or (C,) by class. scale_: (d,), ones unless
            standardised.
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
    standardize: bool = False
    covariance_estimator: Any = None
    prior: Any = None
    random_state: Any = None
    verbose: Any = False

    axis_stem: ClassVar[str] = "LD"
    _pooled = True
    _decision_constant = 0.0

    def _check_options(self, n_classes: int) -> Shrinkage:
        return check_linear_options(self, n_classes)

    def _estimate(self, statistics: Any, shrinkage: Shrinkage) -> tuple[FisherRule, Array]:
        require_rows(statistics, self.classes_, 0.0, "give the rows of every class before asking for results")
        if not np.any(row_counts(statistics) > 1.0):
            raise DataError("every class has 1 row, so no class varies", within="y", fix="give more rows than classes")
        covariance, amounts = pooled_covariance(statistics, shrinkage)
        if not covariance.rank:
            raise DataError("X: no column varies within any class, so there is no covariance", fix=VARYING)
        rule = FisherRule(self._prior, statistics.mean, covariance)
        warn_about_linear(rule, self)
        return rule, amounts

    @property
    def model_(self) -> FisherRule:
        """The frozen rule; after `partial_fit` it is computed on first use."""
        rule: FisherRule = self._solved[0]
        return rule

    # ---- rows to classes --------------------------------------------------------------------------------

    @per_row(lambda self: len(self.classes_))
    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return ln p(x, c) = ln p(c) + ln p(x | c), (n, C)."""
        return np.concatenate([self._mixture.log_joint(rows) for rows in finite_blocks(self, X)])

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        return map(self._log_densities, dense_blocks(validate_rows(self, X)))

    def _log_densities(self, rows: Array) -> Array:
        """Return ln p(x | c) (n, C) by one product for all classes; rows where it is not finite are incomplete."""
        with np.errstate(invalid="ignore", over="ignore"):
            found = self.model_.log_likelihoods(rows)
            whole = np.isfinite(found.sum())
        odd = np.empty(0) if whole else nonfinite_rows(found)
        if odd.size:
            found[odd] = incomplete_log_likelihoods(self.model_, require_no_infinity(rows[odd]))
        return found

    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """Return what each feature adds to the log-odds of each row's class, sorted by size.

            (w_a − w_b)_j (x_j − (m_a + m_b)_j / 2)

        By default the most likely class a of each row is compared with the next most likely b. A missing value adds 0,
        and w is then that of the observed entries. The sum is that of `QuadraticDiscriminant` with equal covariances,
        but the single terms differ: those in x_j x_k, which are halved there, cancel here.
        """
        check_is_fitted(self)
        rows = np.concatenate(list(finite_blocks(self, X)))
        rule, classes = self.model_, self.classes_
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_prior = np.log(rule.prior)
            a, b = classes_to_compare(classes, self._log_densities(rows) + log_prior, of, against)
            parts = linear_contributions(rule, rows, a, b)
        require_finite(X, parts)
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return Explanation(tuple(names), classes[a], classes[b], parts, log_prior[a] - log_prior[b])

    @property
    def _mixture(self) -> Mixture:
        return self.model_.classes

    # ---- rows to directions -----------------------------------------------------------------------------

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then transform the same rows."""
        X = rereadable(X)
        return self.fit(X, y, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any) -> Any:
        """Return (x − m)·v (n, q): rows on the discriminant directions, in which every class has covariance I.

        In X's dtype, on its device; a Dask array gives a Dask array. For an incomplete row it is the expectation given
        the observed entries.
        """
        check_is_fitted(self)
        source, V = validate_rows(self, X), self._directions
        project = partial(discriminant_scores, rule=self.model_, V=V)
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
        """The share (q,) of each direction in the variance between classes."""
        ratios = self.model_.ratios
        return self._like((ratios / (ratios.sum() or 1.0))[: self._directions.shape[1]])

    @property
    def criterion_(self) -> Any:
        """Fisher's criterion (q,) of the directions: variance between classes over variance within, vᵀ B v / vᵀ S v."""
        return self._like(self.model_.ratios[: self._directions.shape[1]])

    @property
    def covariance_(self) -> Any:
        """The covariance S (d, d)."""
        return self._like(self.model_.covariance.matrix())

    @property
    def shrinkage_(self) -> Any:
        """The intensity of shrinkage, or (C,) one per class."""
        amounts = self._solved[1]
        return float(amounts[0]) if len(amounts) == 1 else self._like.exact(amounts)

    @property
    def _n_features_out(self) -> int:
        return int(self._directions.shape[1])


@dataclass(eq=False, repr=False)
class QuadraticDiscriminant(GaussianClasses):
    """Gaussian classes with one covariance each: ln p(c | x) = ln pi_c − ½ ln |S_c| − ½ |x − m_c|²_(S_c) + const.

    Parameters:
        shrinkage: None; a number a in [0, 1] for (1 − a) S_c + a T_c; or "ledoit-wolf" for the a of each class that
            minimises the expected error (Ledoit and Wolf 2004). With the target "diagonal" that is scikit-learn's
            "auto", which is accepted too. Or a function (n, d, trace, square, quartic) → a.
        target: T_c. "diagonal" keeps the variances, so that units do not matter; "identity" is their mean times I. Or a
            function from the variances (d,) to the diagonal (d,) of T_c.
        standardize: divide columns by their standard deviations in all rows (divisor Σw) before S_c shrinks; every
            result is in the units of the columns. It makes a difference to "identity", to reg, and to a
            covariance_estimator that depends on units.
        reg: in [0, 1], for (1 − reg) S_c + reg I, in the units of the columns: scikit-learn's reg_param.
        covariance_estimator: None, or an estimator whose fit(rows) finds `covariance_`, as in sklearn.covariance, in
            place of shrinkage; a clone of it is fitted to the rows of each class, which are kept in memory.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_prior_, priors_: (C,) pi. means_: (C, d) m_c. covariances_: (C, d, d) S_c, of divisor Σw.
        shrinkage_: (C,) a. class_count_: (C,) Σw. n_samples_: number of rows with positive weight. scale_: (d,), ones
            unless standardised.
        solver_: how the covariances were found. model_: the classes as a frozen `Mixture` of Gaussians.

    With fewer rows than columns in all, and shrinkage or reg, no d×d matrix is made. Columns that are constant in all
    rows are left out, and the covariance of a class that is singular all the same is clamped at a floor, both with a
    warning; a class of one row is an error. NaN is a missing value: the observed entries of a row count by their
    likelihood in `fit` (by EM), and decide in `predict`. A rule of shrinkage then uses the pairs of observed entries.

    Example:
        >>> X = np.array([[0.0], [0.1], [-0.1], [3.0], [-3.0], [2.0], [-2.0]])
        >>> qda = QuadraticDiscriminant(prior="uniform").fit(X, list("aaabbbb"))
        >>> qda.predict([[0.0], [0.5], [-1.0]]).tolist(), qda.covariances_.ravel().round(3)
        (['a', 'b', 'b'], array([0.007, 6.5  ]))
    """

    _: KW_ONLY
    shrinkage: float | str | Rule | None = None
    target: str | Target = "diagonal"
    standardize: bool = False
    covariance_estimator: Any = None
    reg: float = 0.0
    prior: Any = None
    random_state: Any = None
    verbose: Any = False

    _pooled = False

    @property
    def _decision_constant(self) -> float:
        return float(0.5 * self.n_features_in_ * np.log(2.0 * np.pi))

    def _check_options(self, n_classes: int) -> Shrinkage:
        return check_quadratic_options(self)

    def _estimate(self, statistics: Any, shrinkage: Shrinkage) -> tuple[Mixture, Array]:
        fix = "one row has no covariance: leave the class out, or use LinearDiscriminant"
        require_rows(statistics, self.classes_, 1.0, fix)
        own = class_covariances(statistics, shrinkage)
        if not all(getattr(C, "rank", 1) for C in own.covariances):
            raise DataError("X: no column varies within any class, so there is no covariance", fix=VARYING)
        warn_about_quadratic(own, statistics.rows, self)
        return gaussian_classes(self._prior, statistics.mean, own.covariances), own.amounts

    @property
    def model_(self) -> Mixture:
        """The frozen mixture of classes; after `partial_fit` it is computed on first use."""
        mixture: Mixture = self._solved[0]
        return mixture

    @property
    def _mixture(self) -> Mixture:
        return self.model_

    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """Return what each feature adds to the log-odds of each row's class, sorted; the rest is that of the prior.

            t_aj − t_bj,   t_cj = −½ (ln 2π + ln C_jj + (ln R)_jj + (x − m)_j (C⁻¹ (x − m))_j)

        with mean m, covariance C and correlations R of class c: half of a cross term goes to each of its features (the
        Shapley values of the quadratic form). By default the most likely class a of each row is compared with the next
        most likely b. A missing value adds 0, and C is then that of the observed entries. ln |C| is divided up by the
        diagonal of the logarithm of the correlations, which is 0 for a feature that is uncorrelated with the others;
        units do not matter. Where two classes have the same covariance the sum is that of `LinearDiscriminant`, which
        divides it differently: by (C⁻¹ (m_a − m_b))_j, without halves of terms in x_j x_k.
        """
        return explain_gaussian_classes(self, self.model_.components, X, of, against)

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def covariances_(self) -> Any:
        """The covariances (C, d, d) of the classes."""
        parts: list[Any] = list(self.model_.components)
        return self._like(np.stack([part.covariance.matrix() for part in parts]))

    @property
    def shrinkage_(self) -> Any:
        """The intensity of shrinkage (C,) of each class."""
        return self._like.exact(self._solved[1])
