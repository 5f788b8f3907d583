"""`BayesClassifier`: the Bayes rule with one density of any kind a class."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, Like
from eigenlens.errors import OptionError
from eigenlens.estimators import bayes_files
from eigenlens.estimators.bayes_densities import (
    can_go_on,
    checked_density,
    densities_of,
    densities_with,
    drawn,
    finite_blocks,
    in_double,
    is_family,
    log_density,
)
from eigenlens.estimators.classifying import BayesRule, checked_prior, enough_classes, labels_among, labels_of
from eigenlens.estimators.rows import count_rows, rows_of

__all__ = ["BayesClassifier"]


def _partial(estimator: Any) -> bool:
    if not can_go_on(estimator.density):
        raise AttributeError(f"{type(estimator.density).__name__} cannot be fitted in parts, so neither can this.")
    return True


class BayesClassifier(BayesRule, BaseEstimator):  # type: ignore[misc]
    """argmax over classes c of ln p(c) + ln p(x | c), with any density for p(x | c): one copy of it is fitted a class.

    Parameters:
        density: an unfitted density estimator with `fit` and `score_samples`: `GaussianMixture` (with one component a
            full Gaussian, whose rule is quadratic), `ProbabilisticPCA`, `FactorAnalysis`, `KernelDensity`, `PCA`, or
            one of scikit-learn; or a `Family` such as `GaussianFamily()`, which is fitted to any source in one pass.
        prior: None for the shares of the classes; "uniform"; probabilities in the order of `classes_`; or a dict.
        random_state: seed of `sample`. Densities have their own.

    Attributes:
        classes_: (C,). class_prior_: (C,). class_count_: (C,) Σw. n_samples_: rows that count.
        densities_: the C fitted estimators, or the C frozen densities of a family.

    NaN is a missing entry where the density takes it: in `fit` and everywhere for ProbabilisticPCA and FactorAnalysis,
    in rows to be classified for KernelDensity, GaussianMixture and families of Gaussians too.

    Bad cases: one class only, labels that are missing, and a class whose rows are too few for the density, are errors;
    those of a density name the class.

    Example:
        >>> from eigenlens.densities import GaussianFamily
        >>> X = np.array([[0.0], [0.1], [-0.1], [3.0], [-3.0], [2.0], [-2.0]])
        >>> bayes = BayesClassifier(GaussianFamily(), prior="uniform").fit(X, list("aaabbbb"))
        >>> bayes.predict([[0.0], [0.5], [-1.0]]).tolist(), bayes.predict_proba([[0.2]]).round(3)
        (['a', 'b', 'b'], array([[0.609, 0.391]]))
    """

    _kind = "BayesClassifier"

    def __init__(self, density: Any, *, prior: Any = None, random_state: Any = None) -> None:
        self.density = density
        self.prior = prior
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit a density to the rows of X (n, d) of each class of y (n,), row i counting sample_weight[i] times.

        y None is the label column of a scanned file.
        """
        density = checked_density(self.density)
        source = rows_of(self, X, sample_weight, reset=True)
        labels = enough_classes(labels_of(y, X, count_rows(source)), source.weight)
        self.classes_, codes = labels
        self._kept = densities_of(density, source, codes, self.classes_)
        self._count(codes, source.weight, np.zeros(len(self.classes_)), 0)
        self._like = Like(X, source.dtype)
        return self

    @available_if(_partial)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows of X (n, d) and their classes y (n,); for a family exactly what `fit` of all of them would find.

        The first call may name all classes; else they are those of its y. There for families, and for estimators that
        have a `partial_fit`, as good as that is.
        """
        first = not hasattr(self, "_kept")
        if not first and not self._kept.can_go_on:
            raise OptionError("partial_fit cannot go on from a model that was loaded from a file; begin with it.")
        source = rows_of(self, X, sample_weight, reset=first)
        labels = labels_of(y, X, count_rows(source))
        if first:
            known = enough_classes(labels if classes is None else labels_of(classes), None).classes
            counts, rows, before = np.zeros(len(known)), 0, None
        else:
            known, counts, rows, before = self.classes_, self.class_count_, self.n_samples_, self._kept
        codes = labels_among(labels, known)
        self._kept = densities_with(before, checked_density(self.density), source, codes, known)
        self.classes_ = known
        self._count(codes, source.weight, counts, rows)
        self._like = Like(X, source.dtype)
        return self

    def _count(self, codes: Array, weight: Array | None, counts: Array, rows: int) -> None:
        each = np.ones(len(codes)) if weight is None else weight
        self._counts = counts + np.bincount(codes, each, minlength=len(self.classes_))
        self._rows = rows + int(np.count_nonzero(each))
        self.class_prior_ = checked_prior(self.prior, self.classes_, self._counts)

    # ---- what a rule needs ------------------------------------------------------------------------------

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        for rows in finite_blocks(self, X):
            yield np.stack([log_density(density, rows) for density in self.densities_], axis=1)

    def _gathered(self, X: Any, function: Any) -> Any:
        return in_double(super()._gathered, X, function)

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        rows = np.empty((len(labels), self.n_features_in_))
        for c, density in enumerate(self.densities_):
            mine = np.flatnonzero(labels == c)
            if mine.size:
                rows[mine] = drawn(density, mine.size, rng)
        return self._like(rows)

    # ---- learned attributes -----------------------------------------------------------------------------

    @property
    def densities_(self) -> tuple[Any, ...]:
        """The density of each class."""
        check_is_fitted(self)
        densities: tuple[Any, ...] = self._kept.densities
        return densities

    @property
    def class_count_(self) -> Array:
        """(C,) Σw of each class."""
        check_is_fitted(self)
        counts: Array = self._counts
        return counts

    @property
    def n_samples_(self) -> int:
        """The number of rows that count: of positive weight."""
        check_is_fitted(self)
        return self._rows

    # ---- saving -----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file, whole or not at all; read it with `eigenlens.load`."""
        check_is_fitted(self)
        bayes_files.save(self, path)

    @classmethod
    def _restored(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Self:
        restored: Self = bayes_files.restore(cls, arrays, header)
        return restored

    # ---- for scikit-learn -------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_kept")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not is_family(self.density) and hasattr(self.density, "__sklearn_tags__"):
            inner = get_tags(self.density).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
        else:
            tags.input_tags.sparse = True
        return tags
