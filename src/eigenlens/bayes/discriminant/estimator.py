"""The base of the discriminants: fitting Gaussian classes in one pass, `partial_fit`, prediction and saving."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, Like
from eigenlens.bayes.class_moments import ClassDeviations
from eigenlens.bayes.classifier.class_density import finite_blocks
from eigenlens.bayes.discriminant import storage
from eigenlens.bayes.discriminant.covariances import Shrinkage, require_variance_range
from eigenlens.bayes.discriminant.fit import choose_covariance_route, read_classes
from eigenlens.bayes.discriminant.fit_missing import complete_classes
from eigenlens.bayes.discriminant.options import warn_about_convergence
from eigenlens.bayes.labels import (
    codes_among_classes,
    encode_labels,
    partial_fit_classes,
    require_two_classes,
)
from eigenlens.bayes.rule import BayesRule, ClassCounts, sample_by_class
from eigenlens.data.coerce import require_finite
from eigenlens.data.source import Source, progress_callback
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import OptionError
from eigenlens.estimator.base import ModelEstimator, model_view
from eigenlens.estimator.rows import count_rows, validate_rows
from eigenlens.linalg.spectrum import Outcome


class GaussianClasses(ClassCounts, BayesRule, ModelEstimator):
    """Gaussian classes, the base of `LinearDiscriminant` and `QuadraticDiscriminant`.

    A subclass checks its options and estimates its model from moments, or from rows where these are few.
    """

    _storage = storage
    _state = "_made"
    _takes_missing = True
    _pooled: bool
    _double = True
    verbose: Any

    def _check_options(self, n_classes: int) -> Shrinkage:
        raise NotImplementedError

    def _estimate(self, found: Any, shrinkage: Shrinkage) -> tuple[Any, Array]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the classes y (n,) of the rows of X (n, d), row i weighted by sample_weight[i].

        X may be any Source; it is read once. y None is the label column of a scanned file.
        """
        self.__dict__.pop("_made", None)  # should this fail, nothing is fitted
        source = validate_rows(self, X, sample_weight, reset=True)
        labels = require_two_classes(encode_labels(y, X, count_rows(source)), source.weight)
        C, shrinkage = len(labels.classes), self._check_options(len(labels.classes))
        with progress_callback(self.verbose) as progress, np.errstate(invalid="ignore", over="ignore"):
            found = read_classes(source, labels.codes, C, shrinkage, pooled=self._pooled, progress=progress)
            done = None
            if not np.all(np.isfinite(found.mean)):
                rows = (source, labels.codes, labels.classes)
                done = complete_classes(*rows, shrinkage, pooled=self._pooled, progress=progress)
        self.classes_ = labels.classes
        self._count(labels.codes, source.weight)
        self._keep(found if done is None else done.moments, X, source)
        if done is not None:
            self._moments = None  # further rows would change what is expected of the missing values
            self.solver_, found, shrinkage = done.outcome, done.moments, done.shrinkage
            warn_about_convergence(done)
        self._made: tuple[Any, Array] | None = self._solve(found, shrinkage)
        return self

    def _solve(self, found: Any, shrinkage: Shrinkage) -> tuple[Any, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            require_variance_range(found.variances)
        return self._estimate(found, shrinkage)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows of X (n, d) and their classes y (n,); the result is exactly that of `fit` on all rows.

        The first call may name all classes; by default they are those of its y. The model is computed when it is first
        used, so a class may have too few rows at first. Memory is O(d²) also where there are fewer rows than columns.
        """
        first = not hasattr(self, "_made")
        if not first and self._moments is None:
            raise OptionError(
                "partial_fit cannot continue: this model has no moments, since it was loaded from a file, or fitted to "
                "fewer rows than columns or to incomplete rows",
                fix="fit a new model by partial_fit from the first rows on",
            )
        source = validate_rows(self, X, sample_weight, reset=first)
        labels = encode_labels(y, X, count_rows(source))
        known = partial_fit_classes(classes, labels, None if first else self.classes_)
        codes = codes_among_classes(labels, known)
        C, shrinkage = len(known), self._check_options(len(known))
        with np.errstate(invalid="ignore", over="ignore"):
            found = read_classes(source, codes, C, shrinkage, pooled=self._pooled, mergeable=True)
        require_finite(source, found.mean)
        self.classes_ = known
        self._count(codes, source.weight, more=not first)
        self._keep(found if first else self._moments + found, X, source)
        self._made = None
        return self

    def _keep(self, found: Any, X: Any, source: Source) -> None:
        self._moments = None if isinstance(found, ClassDeviations) else found
        self._rows_like = Like(X, source.dtype)
        solver = "gram" if self._moments is None else "moments"
        self.solver_ = Outcome(solver, choose_covariance_route(self._rows, source.n_features)[1], passes=1)

    means_ = model_view("means", "The means (C, d) of the classes.")

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

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        parts: Sequence[Any] = self._mixture.components
        return self._like(sample_by_class(labels, self.n_features_in_, lambda c, m: parts[c].sample(m, rng)))
