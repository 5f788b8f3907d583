"""What the discriminants share: one pass over rows with classes, more of them later, and files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from eigenlens.arrays import Array, Like, is_sparse, to_numpy
from eigenlens.data.resolve import explain_nonfinite
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.errors import OptionError
from eigenlens.estimators import discriminant_files
from eigenlens.estimators.bayes_densities import finite_blocks, in_double
from eigenlens.estimators.classifying import BayesRule, Labels, checked_prior, enough_classes, labels_among, labels_of
from eigenlens.estimators.discriminant_checks import warn_about_steps
from eigenlens.estimators.progress import progress_of
from eigenlens.estimators.rows import count_rows, rows_of
from eigenlens.fitting.class_rows import ClassRows
from eigenlens.fitting.discriminant import (
    choose_route,
    own_covariances,
    read_classes,
    read_moments,
    shared_covariance,
)
from eigenlens.fitting.discriminant_covariances import Shrinking
from eigenlens.fitting.discriminant_missing import Completed, complete_classes
from eigenlens.linalg.spectrum import Outcome
from eigenlens.models.covariances import Covariance
from eigenlens.models.mixture import Mixture

__all__ = ["GaussianClasses"]

TOL = 1e-9
"""EM stops when no mean or covariance changes by more than this, in standard deviations."""


class GaussianClasses(BayesRule, BaseEstimator):  # type: ignore[misc]
    """Gaussian classes. A face says what its options are, and makes its model of moments or of few rows."""

    _kind: str
    _pooled: bool
    prior: Any
    verbose: Any

    def _options(self) -> Shrinking:
        raise NotImplementedError

    def _estimate(self, found: Any, shrinking: Shrinking) -> tuple[Any, Array]:
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the classes y (n,) of the rows of X (n, d), row i counting sample_weight[i] times.

        X may be any Source; it is read once. y None is the label column of a scanned file.
        """
        source = rows_of(self, X, sample_weight, reset=True)
        labels = enough_classes(labels_of(y, X, count_rows(source)), source.weight)
        self.classes_ = labels.classes
        shrinking = self._options()
        with progress_of(self.verbose) as progress, np.errstate(invalid="ignore", over="ignore"):
            n_classes, pooled = len(self.classes_), self._pooled
            found = read_classes(source, labels.codes, n_classes, shrinking, pooled=pooled, progress=progress)
            gaps = not np.all(np.isfinite(found.mean))
            done = self._completed(source, labels.codes, shrinking, progress) if gaps else None
        self._keep(found if done is None else done.moments, Like(X, source.dtype), source)
        if done is not None:
            self._counts = np.bincount(labels.codes, source.weight, minlength=n_classes).astype(np.float64)
            self.class_prior_ = checked_prior(self.prior, self.classes_, self._counts)
            self._moments = None  # what they expect of gaps would change with further rows
            self.solver_ = Outcome("em", "X has missing entries", done.steps, done.steps, converged=done.change <= TOL)
            warn_about_steps(self.solver_, done.change, TOL)
        self._made: tuple[Any, Array] | None = self._estimate(found if done is None else done.moments, shrinking)
        return self

    def _completed(self, source: Source, codes: Array, shrinking: Shrinking, progress: Progress | None) -> Completed:
        """The classes of rows with gaps; infinities are an error, and so is a rule that needs fourth moments."""
        if accumulate(source, _count_infinite):
            raise explain_nonfinite(source)
        if shrinking.by_rule:
            raise OptionError(
                f"shrinkage={shrinking.amount!r} needs complete rows, and X has NaN; give a number from 0 to 1."
            )
        C = len(self.classes_)

        def estimate(moments: Any) -> Sequence[Covariance]:
            if self._pooled:
                return [shared_covariance(moments, shrinking)[0]] * C
            return own_covariances(moments, shrinking).covariances

        def called(c: int, j: int) -> str:
            return f"column {source.names[j] if source.names else j!r} of class {self.classes_.tolist()[c]!r}"

        return complete_classes(source, codes, C, estimate, called=called, tol=TOL, progress=progress)

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
        source = rows_of(self, X, sample_weight, reset=first)
        labels = labels_of(y, X, count_rows(source))
        self.classes_ = self._announced(classes, labels, first)
        codes = labels_among(labels, self.classes_)
        with np.errstate(invalid="ignore", over="ignore"):
            found = read_moments(source, codes, len(self.classes_), self._options(), pooled=self._pooled)
        total = found if first else self._moments + found
        self._keep(total, Like(X, source.dtype), source)
        self._made = None
        return self

    def _announced(self, classes: Any, labels: Labels, first: bool) -> Array:
        if first:
            return enough_classes(labels if classes is None else labels_of(classes), None).classes
        if classes is not None and list(labels_of(classes).classes) != list(self.classes_):
            raise OptionError(
                f"classes={classes!r} differ from those of the first call, {self.classes_.tolist()[:10]}."
            )
        return self.classes_

    def _keep(self, found: Any, like: Like, source: Source) -> None:
        if not np.all(np.isfinite(found.mean)):
            raise explain_nonfinite(source)  # of partial_fit
        self._moments = None if isinstance(found, ClassRows) else found
        self._counts, self._rows, self._like = found.weight, int(found.rows.sum()), like
        self.class_prior_ = checked_prior(self.prior, self.classes_, found.weight)
        solver = "gram" if self._moments is None else "moments"
        self.solver_ = Outcome(solver, choose_route(self._rows, source.n_features)[1], passes=1)

    # ---- what a rule needs ------------------------------------------------------------------------------

    @property
    def _solved(self) -> tuple[Any, Array]:
        """The frozen model and intensities of shrinkage; after `partial_fit` they are made when first asked for."""
        check_is_fitted(self)
        if self._made is None:
            self._made = self._estimate(self._moments, self._options())
        return self._made

    @property
    def _mixture(self) -> Mixture:
        raise NotImplementedError

    def _log_likelihoods(self, X: Any) -> Iterator[Array]:
        return map(self._log_densities, finite_blocks(self, X))

    def _gathered(self, X: Any, function: Any) -> Any:
        return in_double(super()._gathered, X, function)

    def _log_densities(self, rows: Array) -> Array:
        """ln p(x | c) (n, C) of rows (n, d), but for a number a row."""
        mixture = self._mixture
        if np.all(mixture.weights > 0.0):
            return np.asarray(mixture.log_joint(rows) - np.log(mixture.weights))  # by one kernel for all classes
        return np.stack([part.log_density(rows) for part in mixture.components], axis=1)

    def _draw(self, labels: Array, rng: np.random.Generator) -> Any:
        rows = np.empty((len(labels), self.n_features_in_))
        for c, part in enumerate(self._mixture.components):
            mine = np.flatnonzero(labels == c)
            rows[mine] = part.sample(mine.size, rng)
        return self._like(rows)

    # ---- learned attributes -----------------------------------------------------------------------------

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
        tags.input_tags.allow_nan = not isinstance(getattr(self, "shrinkage", None), str)  # rules need whole rows
        return tags


def _count_infinite(block: Block) -> int:
    entries = block.rows.data if is_sparse(block.rows) else to_numpy(block.rows)
    counted = np.isinf(entries)
    if block.weight is not None and not is_sparse(block.rows):
        counted = counted[block.weight > 0.0]
    return int(counted.sum())
