"""What the discriminants share: one pass over rows with classes, more of them later, and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, Like, is_sparse, to_numpy
from eigenlens.bayes.class_moments import ClassRows
from eigenlens.bayes.classifier.class_density import finite_blocks
from eigenlens.bayes.discriminant import storage as discriminant_files
from eigenlens.bayes.discriminant.covariances import Shrinking, require_range
from eigenlens.bayes.discriminant.fit import choose_route, read_classes, read_moments
from eigenlens.bayes.discriminant.fit_missing import Completed, complete_classes
from eigenlens.bayes.discriminant.options import columns_of_classes, warn_about_steps
from eigenlens.bayes.labels import (
    ClassLabels,
    codes_among_classes,
    encode_labels,
    partial_fit_classes,
    require_two_classes,
)
from eigenlens.bayes.rule import BayesRule, ClassCounts, sample_by_class
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.rows import picked
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import OptionError
from eigenlens.estimator.progress import progress_callback
from eigenlens.estimator.rows import count_rows, validate_rows
from eigenlens.linalg.spectrum import Outcome

__all__ = ["GaussianClasses", "count_infinite"]

TOL = 1e-9
"""EM stops when no mean or covariance changes by more than this, in standard deviations."""


class GaussianClasses(ClassCounts, BayesRule, BaseEstimator):  # type: ignore[misc]
    """Gaussian classes. A face says what its options are, and makes its model of moments or of few rows."""

    _pooled: bool
    _double = True
    verbose: Any

    def _options(self, n_classes: int) -> Shrinking:
        raise NotImplementedError

    def _estimate(self, found: Any, shrinking: Shrinking) -> tuple[Any, Array]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the classes y (n,) of the rows of X (n, d), row i counting sample_weight[i] times.

        X may be any Source; it is read once. y None is the label column of a scanned file.
        """
        self.__dict__.pop("_made", None)  # should this fail, nothing is fitted
        source = validate_rows(self, X, sample_weight, reset=True)
        labels = require_two_classes(encode_labels(y, X, count_rows(source)), source.weight)
        C, shrinking = len(labels.classes), self._options(len(labels.classes))
        with progress_callback(self.verbose) as progress, np.errstate(invalid="ignore", over="ignore"):
            found = read_classes(source, labels.codes, C, shrinking, pooled=self._pooled, progress=progress)
            whole = np.all(np.isfinite(found.mean))
            done = None if whole else self._completed(source, labels, shrinking, progress)
        self.classes_ = labels.classes
        self._count(labels.codes, source.weight)
        self._keep(found if done is None else done.moments, X, source)
        if done is not None:
            self._moments = None  # what they expect of gaps would change with further rows
            self.solver_ = Outcome("em", "X has missing entries", done.steps, done.steps, converged=done.change <= TOL)
            warn_about_steps(self.solver_, done.change, TOL)
            found, shrinking = done.moments, done.shrinking
        self._made: tuple[Any, Array] | None = self._estimated(found, shrinking)
        return self

    def _estimated(self, found: Any, shrinking: Shrinking) -> tuple[Any, Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            require_range(found.variances)
        return self._estimate(found, shrinking)

    def _completed(
        self, source: Source, labels: ClassLabels, shrinking: Shrinking, progress: Progress | None
    ) -> Completed:
        """The classes of rows with gaps; infinities are an error."""
        if accumulate(source, count_infinite):
            raise explain_nonfinite(source)
        C, called = len(labels.classes), columns_of_classes(source, labels.classes)
        return complete_classes(
            source, labels.codes, C, shrinking, pooled=self._pooled, called=called, tol=TOL, progress=progress
        )

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add the rows of X (n, d) and their classes y (n,): exactly what `fit` of all of them would find.

        The first call may name all classes; else they are those of its y. The model is worked out when it is asked for,
        so a class may have too few rows at first. Needs memory O(d²) also where there are fewer rows than columns.
        """
        first = not hasattr(self, "_made")
        if not first and self._moments is None:
            raise OptionError(
                "partial_fit cannot go on from here: this model was loaded from a file, or fitted to fewer rows than "
                "columns or to rows with gaps, and has no moments. Begin with partial_fit."
            )
        source = validate_rows(self, X, sample_weight, reset=first)
        labels = encode_labels(y, X, count_rows(source))
        known = partial_fit_classes(classes, labels, None if first else self.classes_)
        codes = codes_among_classes(labels, known)
        with np.errstate(invalid="ignore", over="ignore"):
            found = read_moments(source, codes, len(known), self._options(len(known)), pooled=self._pooled)
        if not np.all(np.isfinite(found.mean)):
            raise explain_nonfinite(source)
        self.classes_ = known
        self._count(codes, source.weight, more=not first)
        self._keep(found if first else self._moments + found, X, source)
        self._made = None
        return self

    def _keep(self, found: Any, X: Any, source: Source) -> None:
        self._moments = None if isinstance(found, ClassRows) else found
        self._like = Like(X, source.dtype)
        solver = "gram" if self._moments is None else "moments"
        self.solver_ = Outcome(solver, choose_route(self._rows, source.n_features)[1], passes=1)

    # ---- what a rule needs ------------------------------------------------------------------------------

    @property
    def _solved(self) -> tuple[Any, Array]:
        """The frozen model and intensities of shrinkage; after `partial_fit` they are made when first asked for."""
        check_is_fitted(self)
        if self._made is None:
            self._made = self._estimated(self._moments, self._options(len(self.classes_)))
        return self._made

    @property
    def _mixture(self) -> Mixture:
        raise NotImplementedError

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        return map(self._log_densities, finite_blocks(self, X))

    def _log_densities(self, rows: Array) -> Array:
        """ln p(x | c) (n, C) of rows (n, d), but for a number a row."""
        mixture = self._mixture
        if np.all(mixture.weights > 0.0):
            return np.asarray(mixture.log_joint(rows) - np.log(mixture.weights))  # by one kernel for all classes
        return np.stack([part.log_density(rows) for part in mixture.components], axis=1)

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        parts: Sequence[Any] = self._mixture.components
        return self._like(sample_by_class(labels, self.n_features_in_, lambda c, m: parts[c].sample(m, rng)))

    # ---- saving -----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to one safetensors file, whole or not at all; read it with `eigenlens.load`."""
        discriminant_files.save(self, path)

    @classmethod
    def _restored(cls, arrays: dict[str, Array], header: dict[str, Any]) -> Self:
        restored: Self = discriminant_files.restore(cls, arrays, header)
        return restored

    # ---- for scikit-learn -------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_made")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def count_infinite(block: Block) -> int:
    """How many entries of the rows that count are infinite."""
    rows = block.rows if block.weight is None else picked(block.rows, np.flatnonzero(block.weight > 0.0))
    return int(np.isinf(rows.data if is_sparse(rows) else to_numpy(rows)).sum())
