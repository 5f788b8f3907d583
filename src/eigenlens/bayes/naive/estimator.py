"""`NaiveBayes`: the scikit-learn estimator for naive Bayes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like
from eigenlens.bayes.explain import Explanation, explain_terms
from eigenlens.bayes.labels import class_positions, encode_labels, partial_fit_labels, require_two_classes
from eigenlens.bayes.naive import storage
from eigenlens.bayes.naive.class_parameters import (
    ProbabilityTable,
    class_category_counts,
    class_feature_counts,
    class_probability_table,
    gaussian_parameters,
    log_probabilities,
)
from eigenlens.bayes.naive.families import FACTORS
from eigenlens.bayes.naive.families.base import LinearRule, NaiveOptions
from eigenlens.bayes.naive.feature_table import (
    frame_kind,
    log_likelihoods,
    rows_from_columns,
    table_to_fit,
    table_to_predict,
)
from eigenlens.bayes.naive.fit import NaiveStatistics, estimate_naive, row_slices, summarise_naive
from eigenlens.bayes.naive.model import NaiveModel
from eigenlens.bayes.naive.options import (
    check_naive_options,
    check_partial_fit,
    check_smoothed_categories,
    warn_naive_fit,
)
from eigenlens.bayes.naive.plan import FeatureTable, Plan, make_plan
from eigenlens.bayes.rule import BayesRule, check_prior
from eigenlens.data.coerce import fields_of
from eigenlens.data.rows import row_count
from eigenlens.data.source import Source, progress_callback
from eigenlens.errors import OptionError
from eigenlens.estimator.base import ModelEstimator, forward


@dataclass(eq=False, repr=False)
class NaiveBayes(BayesRule, ModelEstimator):
    """A classifier that takes columns to be independent given the class: argmax ln p(c) + Σ_j ln p(x_j | c).

    The table may hold numbers, booleans, text and categories, in a pandas, Polars or Arrow frame, an array, a Dask
    array, or a `scan` of files, which is read by blocks and may name the column of classes: fit(scan(…, label=…)). In
    predict the columns of files are found by name; those of a frame must be the same. Each column has a family of
    densities. If an entry is missing, its factor is left out, in fit and in predict. A fit takes one pass over the
    rows, in memory O(block).

    With features="auto" the values of a column choose its family, the same in every container: text and categories are
    "categorical"; booleans, and numbers that are 0 and 1, both occurring, "bernoulli"; whole numbers of 2 to 20
    different values with at least 5 rows for each (two values: any number), as integers or floats, "categorical"; a
    sparse matrix of 0 and 1 only "bernoulli", of other counts "multinomial"; all other numbers "gaussian". A
    column in which every entry is missing does not influence the classes, whatever it holds in predict. Rows count with
    their weights. Only columns whose first 2000 rows leave it open cost another pass.

    Categories that a type declares and that never occur (pandas' categories, Polars' Enum, Arrow's dictionaries) are
    smoothed like those that do; Polars' Categorical declares none, so that its categories are those that occur.

    Parameters:
        features: "auto" (see `features_` for the families chosen, and why), a family for all columns, or
            {column: family}, by name or number; columns left out are automatic. Families: "gaussian", "shared-gaussian"
            (one variance for all classes: the rule is then linear), "categorical", "bernoulli" (0 and 1, or text of two
            categories), "multinomial" (all such columns are one block of counts; {("a", "b"): "multinomial"} is a
            block of its own), "complement" and "normalized-complement" (counts judged by the other classes, Rennie et
            al. 2003; with prior="uniform" scikit-learn's ComplementNB), "kde", "mixture"; a density estimator such as
            KernelDensity(kernel="box"), of which each class and column has a copy; or a family of `eigenlens.densities`
            or of your own with `summarise` and `estimate`, of each column or, {("a", "b"): GaussianFamily()}, of a
            block of columns that depend on each other within a class.
        prior: class probabilities: None for the shares of the rows, "uniform", one per class, or {class: p}.
        smoothing: rows added to each category in each class (1 is Laplace's rule, 0 the observed shares); by column
            {column: number}, or {column: {category: number}} for any Dirichlet prior; or an array (d,).
        unknown: the rule for a category that did not occur in fit, and for a value of a "bernoulli" column that is
            neither 0 nor 1: "smooth" (the probability of one more category without rows, a / (n + a L + a), n the rows
            of the class, L the number of categories and a the smoothing; with smoothing 0 that is 0 in every class, so
            that only the prior is left, with a warning), "ignore" (its factor is left out) or "error".
        floor: the smallest variance of a Gaussian, as a share of the variance of its column over all rows: units do not
            matter.
        added_variance: added to the variances of Gaussian columns, a number or {column: number}, in squared units.
            scikit-learn's GaussianNB adds 1e-9 times the largest variance of any column.
        bandwidth: of "kde": "john-langley", (max − min) / √n in each class (John and Langley 1995), a rule of
            `eigenlens.bandwidth` by name, a function (x, weights) -> h, or a number. Where values occur more than once,
            the variance of rounding is added to the square of a rule's bandwidth, h² + r² / 12, r the mean distance
            between neighbouring values of the column.
        kernel: of "kde", as in `KernelDensity`: a name or a function. A rule for h is converted by canonical
            bandwidths; a number is the kernel's own scale. Beyond the reach of a bounded kernel, a class has density 0.
        max_components: the largest number of Gaussians of a "mixture"; BIC chooses.
        random_state: seed of `sample`.
        verbose: True for a progress bar, or a callable (done, in all, what).

    Attributes:
        classes_: (C,). class_count_: (C,) Σ w of each. class_prior_: (C,).
        features_: the family of each column, and the reason; print it.
        coef_, intercept_: (C, d) and (C,) where the rule is linear (shared Gaussians, zeros and ones, counts), so that
            predict_proba is softmax(coef_ x + intercept_).
        theta_, var_: (C, d) means and variances of Gaussian columns, NaN for others.
        feature_log_prob_: (C, d) ln P(x_j = 1 | c) of zeros and ones, ln θ_cj of counts; with categories, by column
            (C, L). category_count_: by column (C, L) the weight of each category, as `probability_table` lists them.
        n_categories_: (d,). feature_count_: (C, d) Σ w x of zeros and ones and of counts. class_log_prior_: (C,).
        model_: the frozen `NaiveModel`.

    Example:
        >>> import pandas as pd
        >>> people = pd.DataFrame({"height": [104.5, 111.5, 171.0, 168.0, None, 181.0], "reads": list("nnyyyy")})
        >>> rule = NaiveBayes().fit(people, ["child", "child", "adult", "adult", "child", "adult"])
        >>> print(rule.features_)
        column  family       reason
        height  gaussian     numbers
        reads   categorical  text
        >>> rule.predict_proba(pd.DataFrame({"height": [None, 120.0], "reads": ["n", "y"]})).round(4)
        array([[0.25, 0.75], [0.  , 1.  ]])
        >>> print(rule.explain(people[2:3]))
        adult against child: log-odds 162.14
        feature  contribution
        height          161.4
        reads          0.6931
        prior               0
    """

    features: Any = "auto"
    _: KW_ONLY
    prior: Any = None
    smoothing: Any = 1.0
    unknown: str = "smooth"
    floor: float = 1e-9
    added_variance: Any = 0.0
    bandwidth: Any = "john-langley"
    kernel: Any = "gaussian"
    max_components: int = 4
    random_state: Any = None
    verbose: Any = False

    _storage = storage
    _takes_missing = True
    _rows_like = Like(np.empty(0))
    _saves_dtype = False  # that of its rows is among its columns

    # ---- fitting ----------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Learn from rows X (n, d) with classes y (n,), row i counting sample_weight[i] times.

        y may be left out for a scan with a label column. Rows of weight 0, and classes that have no others, are left
        out. Families that keep rows ("kde", "mixture") need them in memory.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        source = table_to_fit(self, X, reset=True)
        options = check_naive_options(self, fields_of(source))
        n = row_count(source)
        labels, weight = encode_labels(y, X, n), checks.weights(sample_weight, n)
        labels = require_two_classes(labels, weight)
        plan = make_plan(source, self.features, weight=weight)
        with progress_callback(self.verbose) as progress:
            statistics = summarise_naive(source, labels.codes, weight, plan, len(labels.classes), progress)
        warn_naive_fit(statistics, plan, options, labels.classes)
        self._remember(labels.classes, statistics, plan, options)
        self._frame, self._rows_like = frame_kind(X), Like(X, np.dtype(np.float64))
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, *, checkpoint: Any = None
    ) -> Self:
        """Learn from more rows: the result is that of `fit` on all rows so far, exactly up to rounding.

        Args:
            classes: all classes there will be, for the first call; those of its y if not given. The families are chosen
                in the first call too, 0 and 1 being categories since other values may come: name them in `features` if
                its rows are not like the later ones.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        first = not hasattr(self, "_statistics")
        source = table_to_fit(self, X, reset=True) if first else table_to_predict(self, X)
        options = check_naive_options(self, fields_of(source))
        n, known = row_count(source), None if first else self.classes_
        known, codes = partial_fit_labels(y, X, n, classes, known, at_least=1)
        weight = checks.weights(sample_weight, n)
        plan = make_plan(source, self.features, weight=weight, complete=False) if first else self._plan
        with progress_callback(self.verbose) as progress:
            more = summarise_naive(source, codes, weight, plan, len(known), progress)
        check_partial_fit(more, plan)
        total = more if first else self._statistics + more
        self._remember(known, total, plan, options)
        if first:
            self._frame, self._rows_like = frame_kind(X), Like(X, np.dtype(np.float64))
        return self

    def _remember(self, classes: Array, statistics: NaiveStatistics, plan: Plan, options: NaiveOptions) -> None:
        """Keep the result of a fit, all of it or, where something is wrong with it, nothing."""
        model = estimate_naive(statistics, plan, check_prior(self.prior, classes, statistics.weight), options)
        check_smoothed_categories(model, plan, options)
        self.classes_ = classes
        self._statistics, self._plan, self._model = statistics, plan, model

    # ---- prediction -----------------------------------------------------------------------------------

    def _check_table(self, X: Any) -> Source:
        return table_to_fit(self, X)

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        return (found for _, found in log_likelihoods(self.model_, table_to_predict(self, X)))

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        return self._like.exact(rows_from_columns(self.model_.sample(labels, rng), self._plan.fields, self._frame))

    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """Return each feature's part of the log-odds of a row's class: ln p(x_j | of) − ln p(x_j | against).

        The classes are the most likely one of each row against the next, if not given.
        """
        model, source = self.model_, table_to_predict(self, X)
        terms = np.concatenate(
            [model.terms(piece) for rows in source.rows() for piece in row_slices(rows, copied=True)]
        )
        names = [field.name for field in self._plan.fields]
        return explain_terms(names, self.classes_, terms, model.log_prior, of, against)

    # ---- learned attributes: views of the model ---------------------------------------------------------

    @property
    def model_(self) -> NaiveModel:
        """Return the frozen model."""
        check_is_fitted(self)
        return self._model

    @property
    def class_count_(self) -> Any:
        """Return Σ w (C,) of the rows of each class."""
        return self._like.exact(self._statistics.weight)

    @property
    def coef_(self) -> Any:
        """The coefficients (C, d) where the rule is linear."""
        return self._like.exact(self._linear.coef)

    @property
    def intercept_(self) -> Any:
        """The intercepts (C,) where the rule is linear."""
        return self._like.exact(self._linear.intercept)

    _prior = forward("model_.prior", "The prior p(c) (C,).")

    @property
    def features_(self) -> FeatureTable:
        """Return the family of each column, and why it was chosen."""
        check_is_fitted(self)
        return FeatureTable(self._plan.choices)

    @property
    def _linear(self) -> LinearRule:
        rule = self.model_.linear()
        if rule is None:
            kinds = sorted({str(choice.family) for choice in self.features_})
            raise AttributeError(
                f"the rule is not linear with the families {', '.join(kinds)}: it is with 'shared-gaussian', "
                "a known variance, 'bernoulli' and 'multinomial' alone, smoothing above 0."
            )
        return rule

    # ---- the parameters of the families -----------------------------------------------------------------

    @property
    def theta_(self) -> Any:
        """The means (C, d) of Gaussian columns, NaN for the others."""
        return self._gaussian_parameters[0]

    @property
    def var_(self) -> Any:
        """The variances (C, d) of Gaussian columns, NaN for the others."""
        return self._gaussian_parameters[1]

    @property
    def _gaussian_parameters(self) -> tuple[Any, Any]:
        means, variances = gaussian_parameters(self.model_)
        self._require_family(not np.isnan(means).all(), "Gaussian columns")
        return self._like.exact(means), self._like.exact(variances)

    @property
    def feature_log_prob_(self) -> Any:
        """ln P(x_j = 1 | c) of zeros and ones, ln θ_cj of counts, (C, d); with categories a list of (C, L) by column.

        NaN in the array, or None in the list, is a column that has no such probabilities.
        """
        found = log_probabilities(self.model_)
        if isinstance(found, list):
            return found
        self._require_family(not np.isnan(found).all(), "categories or counts")
        return self._like.exact(found)

    @property
    def category_count_(self) -> list[Array | None]:
        """Σ w (C, L) of each category of each column, before smoothing; None for a column without categories."""
        found = class_category_counts(self.model_, self._statistics, self._plan)
        self._require_family(any(part is not None for part in found), "categories")
        return found

    @property
    def n_categories_(self) -> Array:
        """The number of categories (d,) of each column, 0 for one without categories."""
        return np.array([0 if part is None else part.shape[1] for part in self.category_count_])

    @property
    def feature_count_(self) -> Any:
        """Σ w x (C, d) of zeros and ones and of counts, before smoothing; NaN for any other column."""
        found = class_feature_counts(self.model_, self._statistics)
        self._require_family(not np.isnan(found).all(), "zeros and ones, or counts")
        return self._like.exact(found)

    def _require_family(self, present: bool, what: str) -> None:
        if not present:
            kinds = sorted({str(choice.family) for choice in self.features_})
            raise AttributeError(f"no column has {what}; the families are {', '.join(kinds)}.")

    def probability_table(self) -> ProbabilityTable:
        """Return all P(x_j = k | c), a line for each column and category and a column for each class; print it."""
        return class_probability_table(self.model_, self._statistics, self._plan, self.classes_)

    def density(self, column: Any, label: Any) -> Any:
        """Return the density p(x_j | c) of a column, by name or number, in a class: a value of `eigenlens.densities`.

        For "multinomial" it is the density of the whole block.
        """
        model = self.model_
        fields = self._plan.fields
        place = checks.column_number("column", column, len(fields), [field.name for field in fields])
        return model.density(int(class_positions(self.classes_, "label", [label])[0]), place)

    def to_logistic(self) -> Any:
        """Return the scikit-learn LogisticRegression with the same predict_proba, where the rule is linear."""
        check_is_fitted(self)
        try:
            rule = self._linear
        except AttributeError as error:
            what = f": {error}"
            raise OptionError(what, argument="features", value=self.features, fix="fit with such families") from None
        return storage.logistic(self, rule)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        family = FACTORS.get(self.features) if isinstance(self.features, str) else None
        counts = family is not None and not family.takes_negative
        tags.input_tags.positive_only = tags.classifier_tags.poor_score = counts
        return tags
