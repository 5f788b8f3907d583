"""`BayesClassifier`: Bayes' rule with one density of any kind per class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenlens import checks
from eigenlens.arrays import Array, Like
from eigenlens.bayes.classifier import storage
from eigenlens.bayes.classifier.class_density import finite_blocks, log_densities, merge_class_warnings, sample_density
from eigenlens.bayes.classifier.densities import (
    accepts_missing,
    check_density,
    fit_densities,
    is_family,
    supports_partial_fit,
    update_densities,
)
from eigenlens.bayes.explain import Explanation, explain_gaussian_classes, is_gaussian
from eigenlens.bayes.labels import encode_labels, partial_fit_labels, require_two_classes
from eigenlens.bayes.rule import BayesRule, ClassCounts, sample_by_class
from eigenlens.data.rows import row_count
from eigenlens.data.source import Source
from eigenlens.errors import OptionError
from eigenlens.estimator.base import ModelEstimator, guard_fit
from eigenlens.estimator.rows import validate_rows


def _has_partial_fit(estimator: Any) -> bool:
    if not supports_partial_fit(estimator.density):
        raise AttributeError(
            f"{type(estimator.density).__name__} cannot be fitted in parts, so this classifier cannot either."
        )
    return True


def _has_explain(estimator: Any) -> bool:
    if not is_gaussian(estimator.density):
        raise AttributeError(f"explain is for Gaussian classes; {type(estimator.density).__name__} has no closed form.")
    return True


@dataclass(eq=False, repr=False)
class BayesClassifier(ClassCounts, BayesRule, ModelEstimator):
    """Bayes' rule with any density: argmax over classes c of ln p(c) + ln p(x | c), one density fitted per class.

    Parameters:
        density: an unfitted density estimator with `fit` and `score_samples`: `GaussianMixture` (with one component a
            full Gaussian, whose rule is quadratic), `ProbabilisticPCA`, `FactorAnalysis`, `KernelDensity`, `PCA`, or
            one of scikit-learn; or a `Family` such as `GaussianFamily()`, which is fitted to any source in one pass.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict.
        random_state: seed of `sample`, and of those densities that draw and have none of their own.

    Attributes:
        classes_: (C,). class_prior_: (C,). class_count_: (C,) Σw. n_samples_: number of rows with positive weight.
        densities_: the C fitted estimators, or the C frozen densities of a family.

    NaN is a missing value, in rows to be classified and in `fit`: the observed entries of a row count by their
    likelihood (for families with full covariances by EM). With a KernelDensity, whose kernels need complete rows,
    incomplete rows only count for the prior, with a warning. Densities of scikit-learn reject NaN.

    A class whose likelihood has no maximum falls back on the spread of all classes, with one warning that names it. A
    column that is constant in the class has the pooled variance within all classes, independent of its other columns. A
    class that still has no density (one row, or rows that span too few dimensions) becomes a Gaussian about its mean
    with the pooled covariance within all classes, as in regularised discriminant analysis (Friedman 1989); if that is
    singular, it is clamped at 1e-8 of the variances of all rows. Columns that are constant in all rows are then left
    out.

    A single class, missing labels, classes none of which varies, and parameters that suit the rows of no class are
    errors; those of a density name the class.

    Example:
        >>> from eigenlens.densities import GaussianFamily
        >>> X = np.array([[0.0], [0.1], [-0.1], [3.0], [-3.0], [2.0], [-2.0]])
        >>> bayes = BayesClassifier(GaussianFamily(), prior="uniform").fit(X, list("aaabbbb"))
        >>> bayes.predict([[0.0], [0.5], [-1.0]]).tolist(), bayes.predict_proba([[0.2]]).round(3)
        (['a', 'b', 'b'], array([[0.609, 0.391]]))
    """

    density: Any
    _: KW_ONLY
    prior: Any = None
    random_state: Any = None

    _storage = storage
    _state = "_kept"
    _double = True

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Fit a density to the rows of X (n, d) of each class of y (n,), row i weighted by sample_weight[i].

        y None is the label column of a scanned file.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        self.__dict__.pop("_kept", None)  # should this fail, nothing is fitted
        density = check_density(self.density)
        source = validate_rows(self, X, sample_weight, reset=True)
        labels = require_two_classes(encode_labels(y, X, row_count(source)), source.weight)
        with merge_class_warnings():
            kept = fit_densities(density, source, labels.codes, labels.classes, self._seeds())
        self._remember(labels.classes, labels.codes, source, X)
        self._kept = kept
        return self

    @available_if(_has_partial_fit)  # type: ignore[untyped-decorator]
    @guard_fit  # the class guards plain methods, not descriptors such as this
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None, *, checkpoint: Any = None
    ) -> Self:
        """Add the rows of X (n, d) and their classes y (n,); for a family the result is that of `fit` on all rows.

        The first call may name all classes; by default they are those of its y. Available for families, and for
        estimators that have a `partial_fit`, whose result it is.

        checkpoint: a path, or a `Checkpoint`, from which the same call goes on after its process was killed.
        """
        first = not hasattr(self, "_kept")
        if not first and not self._kept.can_continue:
            raise OptionError(
                "partial_fit cannot continue: this model was loaded from a file, or fitted to incomplete rows or to "
                "classes without a density of their own",
                fix="fit a new model by partial_fit from the first rows on",
            )
        source = validate_rows(self, X, sample_weight, reset=first)
        known, codes = partial_fit_labels(y, X, row_count(source), classes, None if first else self.classes_)
        before = None if first else self._kept
        with merge_class_warnings():
            self._kept = update_densities(before, check_density(self.density), source, codes, known, self._seeds())
        self._remember(known, codes, source, X, more=not first)
        return self

    def _seeds(self) -> np.random.Generator | None:
        """Return the generator of the seeds of densities that draw, or None to leave them unchanged."""
        return None if self.random_state is None else checks.generator(self.random_state)

    def _remember(self, classes: Array, codes: Array, source: Source, X: Any, more: bool = False) -> None:
        self.classes_ = classes
        self._count(codes, source.weight, more)
        self._rows_like = Like(X, source.dtype)

    # ---- likelihoods and draws --------------------------------------------------------------------------

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        for rows in finite_blocks(self, X):
            yield log_densities(self.densities_, self.classes_, rows)

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        densities = self.densities_
        return self._like(
            sample_by_class(labels, self.n_features_in_, lambda c, m: sample_density(densities[c], m, rng))
        )

    @available_if(_has_explain)  # type: ignore[untyped-decorator]
    def explain(self, X: Any, *, of: Any = None, against: Any = None) -> Explanation:
        """Return what each feature adds to the log-odds of each row's class, for Gaussian classes.

        The log-odds are divided among the features as in `QuadraticDiscriminant.explain`. Other densities have no such
        closed form.
        """
        return explain_gaussian_classes(self, self.densities_, X, of, against)

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def densities_(self) -> tuple[Any, ...]:
        """The density of each class."""
        check_is_fitted(self)
        with merge_class_warnings():
            densities: tuple[Any, ...] = self._kept.densities
        return densities

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if is_family(self.density) else getattr(self.density, "__sklearn_tags__", None)
        tags.input_tags.sparse = inner is None or inner().input_tags.sparse
        tags.input_tags.allow_nan = accepts_missing(self.density)
        return tags
