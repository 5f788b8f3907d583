"""Incomplete rows of classes: the moments that EM expects, or complete rows alone for densities that need them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments
from eigenlens.bayes.classifier.fit_per_class import read_class_variances
from eigenlens.bayes.discriminant.covariances import VARIANCE_FLOOR, Shrinkage, has_density
from eigenlens.bayes.discriminant.fit_missing import complete_classes
from eigenlens.bayes.discriminant.options import warn_about_convergence
from eigenlens.bayes.pooled_variance import replace_variances
from eigenlens.data.source import Source
from eigenlens.densities.gaussian import GaussianFamily
from eigenlens.errors import DataError, DataWarning
from eigenlens.estimator.rows import dense_blocks
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.stats.moments import Moments


def fits_incomplete_rows(family: Any) -> bool:
    """Return whether EM fits members of the family to incomplete rows: they are Gaussians of full moments."""
    full = isinstance(family, GaussianFamily) and family.covariance == "full"
    return full or isinstance(family, PPCAFamily | FactorFamily)


def complete_statistics(
    family: Any, source: Source, codes: Array, classes: Array
) -> tuple[ClassMoments, tuple[int, ...]]:
    """Return the expected moments of the classes, and the numbers of those whose covariance is singular.

    They maximise the likelihood of the observed entries over the members of the family; infinity is an error. A column
    that is constant in a class has no variance there, whatever EM, which only comes near its fixed point, has left of
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
        raise DataError(
            f"class {names[int(np.argmax(lost == n))]!r} has no complete row (Input X contains NaN), and a {kind} "
            "needs complete rows",
            fix="fill missing values in with ProbabilisticPCA(k).fit(X).impute(X), or use a GaussianMixture",
        )
    counts = ", ".join(f"{lost[c]} of {n[c]} of class {names[c]!r}" for c in np.flatnonzero(lost)[:5])
    what = (
        f"{int(incomplete.sum())} incomplete rows only count for the prior of their class, as a {kind} needs complete "
        f"rows: {counts}"
    )
    fix = "a GaussianMixture learns from their observed entries too"
    warnings.warn(DataWarning(what, fix=fix), stacklevel=2)
    return source.weighted(np.where(incomplete, 0.0, 1.0 if source.weight is None else source.weight))
