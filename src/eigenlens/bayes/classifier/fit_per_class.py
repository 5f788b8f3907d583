"""Estimators of densities, one a class, fitted to the rows of theirs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import attach_classes, summarise_classes
from eigenlens.bayes.classifier.class_density import is_eigenlens_estimator, log_density, run_for_class
from eigenlens.bayes.pooled_variance import ClassVariances
from eigenlens.data.coerce import as_source
from eigenlens.data.rows import picked, take_rows
from eigenlens.data.source import Source, accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.estimator.rows import count_rows
from eigenlens.kde.estimator import KernelDensity
from eigenlens.mixture.estimator import GaussianMixture
from eigenlens.stats.moments import ColumnMoments

__all__ = ["clone_per_class", "fit_to_class", "read_class_variances", "require_density", "try_fit"]

ONE_VARIANCE_STRUCTURES = ("spherical", "ppca")
"""Structures with one variance for all columns, which a column of one value has too."""


def clone_per_class(density: Any, n: int, seeds: np.random.Generator | None) -> list[Any]:
    """n unfitted copies; those that draw are seeded by `seeds`, if not by themselves."""
    return [_seeded(clone(density), seeds) for _ in range(n)]


def _seeded(estimator: Any, seeds: np.random.Generator | None) -> Any:
    """The estimator, with a seed from `seeds` if it takes one and has none."""
    given = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if seeds is None or given.get("random_state", seeds) is not None:
        return estimator
    return estimator.set_params(random_state=int(seeds.integers(2**31)))


def try_fit(
    fresh: Sequence[Any], source: Source, codes: Array, classes: Array
) -> tuple[list[Any], dict[int, DataError | OptionError]]:
    """The estimators of all classes, fitted and found to have a density, and the errors of those that have none."""
    flat = _flat_classes(fresh[0], source, codes, len(classes))
    failed: dict[int, DataError | OptionError] = {}
    for c, (label, estimator) in enumerate(zip(classes.tolist(), fresh, strict=True)):
        try:
            if flat[c]:
                raise DataError(f"class {label!r}: a column has one value only, and no variance but the floor's.")
            fit_to_class(estimator, "fit", source, codes, c, label)
            require_density(estimator, source.n_features, label)
        except (DataError, OptionError) as error:
            failed[c] = error
    return list(fresh), failed


def _flat_classes(estimator: Any, source: Source, codes: Array, n_classes: int) -> Array:
    """Which classes (C,) have a column of one value that is no trouble to the density, but makes nonsense of it.

    A mixture would hold it at a floor from the other columns: their units would then decide how far a class reaches. A
    rule for the width of kernels would go by what rounding leaves of its variance.
    """
    mixed = isinstance(estimator, GaussianMixture) and estimator.covariance_type not in ONE_VARIANCE_STRUCTURES
    if not mixed and not (isinstance(estimator, KernelDensity) and isinstance(estimator.bandwidth, str)):
        return np.zeros(n_classes, dtype=bool)
    return np.asarray(read_class_variances(source, codes, n_classes).flat.any(axis=1))


def read_class_variances(source: Source, codes: Array, n_classes: int) -> ClassVariances:
    """How far the columns of each class vary, in one pass."""
    summarise = partial(summarise_classes, n_classes=n_classes, moments=ColumnMoments.of_observed)
    with np.errstate(invalid="ignore", over="ignore"):
        return ClassVariances.of(accumulate(attach_classes(source, codes), summarise))


def fit_to_class(estimator: Any, method: str, source: Source, codes: Array, c: int, label: Any) -> Any:
    """The estimator, with the rows of class number c given to its `fit` or `partial_fit`, if there are any."""
    mine = np.flatnonzero(codes == c if source.weight is None else (codes == c) & (source.weight > 0.0))
    if mine.size:
        X, weight = _rows_of_class(source, mine, named=is_eigenlens_estimator(estimator))
        given = {} if weight is None else {"sample_weight": _accepted(estimator, weight)}
        run_for_class(label, mine.size, partial(getattr(estimator, method), X, **given))
        if isinstance(X, Source):  # names are for what it says of columns; rows to be classified come without
            estimator.__dict__.pop("feature_names_in_", None)
    return estimator


def require_density(estimator: Any, d: int, label: Any) -> None:
    """Have the density of a row (d,), so that an estimator that knows only then that it has none says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_for_class(label, None, partial(log_density, estimator, np.zeros((1, d))))


def _rows_of_class(source: Source, mine: Array, named: bool) -> tuple[Any, Array | None]:
    """Rows as an array if they are in memory, else as a source that picks them out of each pass; that has names too."""
    weight = None if source.weight is None else source.weight[mine]
    if not source.in_memory:
        return ChosenRows(source, mine), weight
    rows = take_rows(source, mine, count_rows(source))
    if not named or source.names is None:
        return rows, weight
    chosen = as_source(rows)
    chosen.names = source.names
    return chosen, weight


class ChosenRows(Source):
    """Some of the rows of a source, in its order."""

    def __init__(self, source: Source, which: Array) -> None:
        self.source, self.which = source.weighted(None), which
        self.n_rows, self.n_features, self.dtype = len(which), source.n_features, source.dtype
        self.names, self.reads_ahead = source.names, source.reads_ahead

    def rows(self) -> Iterator[Any]:
        """The chosen rows of each block."""
        start = 0
        for rows in self.source.rows():
            stop = start + rows.shape[0]
            low, high = np.searchsorted(self.which, [start, stop])
            if high > low:
                yield picked(rows, self.which[low:high] - start)
            start = stop


def _accepted(estimator: Any, weight: Array) -> Array:
    if not has_fit_parameter(estimator, "sample_weight"):
        raise OptionError(f"sample_weight is given, but density={estimator!r} takes none in fit.")
    return weight
