"""Densities fitted to the rows of each class; for incomplete rows, moments by EM, or complete rows alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments, attach_classes, summarise_classes
from eigenlens.bayes.class_variances import VARIANCE_FLOOR, ClassVariances, replace_variances
from eigenlens.bayes.classifier.class_density import is_eigenlens_estimator, log_density, run_for_class
from eigenlens.bayes.discriminant.covariances import Shrinkage, has_density
from eigenlens.bayes.discriminant.fit_missing import complete_classes
from eigenlens.bayes.discriminant.options import warn_about_convergence
from eigenlens.data.coerce import as_source
from eigenlens.data.rows import ChosenRows, row_count, take_rows
from eigenlens.data.source import Source, accumulate
from eigenlens.densities.gaussian import GaussianFamily
from eigenlens.errors import DataError, DataWarning, MissingValues, OptionError, join_limited, warn_user
from eigenlens.estimator.base import require_uninterrupted
from eigenlens.estimator.rows import dense_blocks
from eigenlens.kde.estimator import KernelDensity
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.mixture.estimator import GaussianMixture
from eigenlens.stats.moments import ColumnMoments, Moments

ONE_VARIANCE_STRUCTURES = ("spherical", "ppca")
"""Covariance structures with one variance for all columns, which a constant column has too."""


def clone_per_class(density: Any, n: int, seeds: np.random.Generator | None) -> list[Any]:
    """Return n unfitted copies; those that draw and have no seed of their own are seeded by `seeds`."""
    return [_seed(clone(density), seeds) for _ in range(n)]


def _seed(estimator: Any, seeds: np.random.Generator | None) -> Any:
    """Return the estimator, with a seed from `seeds` if it takes one and has none."""
    given = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}
    if seeds is None or given.get("random_state", seeds) is not None:
        return estimator
    return estimator.set_params(random_state=int(seeds.integers(2**31)))


def try_fit(
    fresh: Sequence[Any], source: Source, codes: Array, classes: Array
) -> tuple[list[Any], dict[int, DataError | OptionError]]:
    """Return the estimators of all classes, fitted where they have a density, and the errors of the others."""
    rejected = _has_constant_columns(fresh[0], source, codes, len(classes))
    failed: dict[int, DataError | OptionError] = {}
    for c, (label, estimator) in enumerate(zip(classes.tolist(), fresh, strict=True)):
        try:
            if rejected[c]:
                what = "a column of X is constant, and has no variance but the floor's"
                raise DataError(what, within=f"class {label!r}", fix="leave it out, or give more rows of the class")
            fit_to_class(estimator, "fit", source, codes, c, label)
            require_density(estimator, source.n_features, label)
        except (DataError, OptionError) as error:
            failed[c] = error
    return list(fresh), failed


def _has_constant_columns(estimator: Any, source: Source, codes: Array, n_classes: int) -> Array:
    """Return which classes (C,) have a constant column that the estimator would accept but could not fit meaningfully.

    A mixture would clamp its variance at a floor from the other columns, whose units would then decide the
    spread of the class. A rule for the bandwidth would use what rounding leaves of its variance.
    """
    mixed = isinstance(estimator, GaussianMixture) and estimator.covariance_type not in ONE_VARIANCE_STRUCTURES
    if not mixed and not (isinstance(estimator, KernelDensity) and isinstance(estimator.bandwidth, str)):
        return np.zeros(n_classes, dtype=bool)
    return np.asarray(read_class_variances(source, codes, n_classes).constant_by_class.any(axis=1))


def read_class_variances(source: Source, codes: Array, n_classes: int) -> ClassVariances:
    """Read the variances of the columns in each class, in one pass."""
    summarise = partial(summarise_classes, summaries=[ColumnMoments.of_observed] * n_classes)
    with np.errstate(invalid="ignore", over="ignore"):
        return ClassVariances.of(accumulate(attach_classes(source, codes), summarise))


def fit_to_class(estimator: Any, method: str, source: Source, codes: Array, c: int, label: Any) -> Any:
    """Call `fit` or `partial_fit` of the estimator with the rows of class number c, if there are any, and return it."""
    mine = np.flatnonzero(codes == c if source.weight is None else (codes == c) & (source.weight > 0.0))
    if mine.size:
        X, weight = _rows_of_class(source, mine, named=is_eigenlens_estimator(estimator))
        given = {} if weight is None else {"sample_weight": _check_weight(estimator, weight)}
        run_for_class(label, mine.size, partial(getattr(estimator, method), X, **given))
        require_uninterrupted(estimator)
        if isinstance(X, Source):  # names serve its messages about columns; rows to be classified come without
            estimator.__dict__.pop("feature_names_in_", None)
    return estimator


def require_density(estimator: Any, d: int, label: Any) -> None:
    """Evaluate the density of one row (d,): some estimators only then raise an error that they have none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_for_class(label, None, partial(log_density, estimator, np.zeros((1, d))))


def _rows_of_class(source: Source, mine: Array, named: bool) -> tuple[Any, Array | None]:
    """Return rows as an array if they are in memory, else as a source that picks them out of each pass."""
    weight = None if source.weight is None else source.weight[mine]
    if not source.in_memory:
        return ChosenRows(source, mine), weight
    rows = take_rows(source, mine, row_count(source))
    if not named or source.names is None:
        return rows, weight
    chosen = as_source(rows)
    chosen.names = source.names
    return chosen, weight


def _check_weight(estimator: Any, weight: Array) -> Array:
    if not has_fit_parameter(estimator, "sample_weight"):
        raise OptionError("takes no sample_weight in fit, but one is given", argument="density", value=estimator)
    return weight


def fits_incomplete_rows(family: Any) -> bool:
    """Return whether EM fits members of the family to incomplete rows: they are Gaussians of full moments."""
    full = isinstance(family, GaussianFamily) and family.covariance == "full"
    return full or isinstance(family, PPCAFamily | FactorFamily)


def complete_statistics(
    family: Any, source: Source, codes: Array, classes: Array
) -> tuple[ClassMoments, tuple[int, ...]]:
    """Return the expected moments of the classes, and the numbers of those whose covariance is singular.

    They maximise the likelihood of the observed entries over the members of the family; infinity is an error. A column
    that is constant in a class has no variance there, whatever EM, which only approaches its fixed point, has left of
    it; a covariance is singular if it is so in the other columns.
    """
    estimate = None if isinstance(family, GaussianFamily) else family.estimate
    done = complete_classes(source, codes, classes, Shrinkage(), pooled=False, estimate=estimate)
    warn_about_convergence(done)
    constant = read_class_variances(source, codes, len(classes)).constant_by_class
    pairs = zip(done.moments.parts, constant, strict=True)
    parts = tuple(replace_variances(part, where, np.zeros(len(where))) for part, where in pairs)
    return ClassMoments(parts), tuple(c for c, part in enumerate(parts) if _is_singular(family, part, constant[c]))


def _is_singular(family: Any, part: Moments, constant: Array) -> bool:
    full = isinstance(family, GaussianFamily)
    return full and not has_density(part.scatter / part.weight, part.mean, constant, min_share=VARIANCE_FLOOR)


def drop_incomplete_rows(density: Any, source: Source, codes: Array, classes: Array) -> Source:
    """Return the source with weight 0 for incomplete rows, which only count for the prior, with a warning."""
    positive = np.ones(len(codes), dtype=bool) if source.weight is None else source.weight > 0.0
    incomplete = np.concatenate([np.isnan(rows).any(axis=1) for rows in dense_blocks(source)]) & positive
    if not incomplete.any():
        return source
    n, lost = (np.bincount(codes[which], minlength=len(classes)) for which in (positive, incomplete))
    names, kind = classes.tolist(), type(density).__name__
    if np.any(lost == n):
        raise MissingValues(
            f"class {names[int(np.argmax(lost == n))]!r} has no complete row (the others contain NaN), and a {kind} "
            "needs complete rows",
            fix="fill missing values in with ProbabilisticPCA(k).fit(X).impute(X), or use a GaussianMixture",
        )
    counts = join_limited([f"{lost[c]} of {n[c]} of class {names[c]!r}" for c in np.flatnonzero(lost)])
    what = (
        f"{int(incomplete.sum())} incomplete rows only count for the prior of their class, as a {kind} needs complete "
        f"rows: {counts}"
    )
    fix = "a GaussianMixture learns from their observed entries too"
    warn_user(DataWarning(what, fix=fix))
    return source.weighted(np.where(incomplete, 0.0, 1.0 if source.weight is None else source.weight))
