"""Rows with missing entries: the statistics of each class as EM expects them, or whole rows alone for kernels."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from eigenlens.arrays import Array
from eigenlens.bayes.class_moments import ClassMoments
from eigenlens.bayes.classifier.fit_per_class import read_class_variances
from eigenlens.bayes.discriminant.covariances import VARIANCE_FLOOR, Shrinkage, has_density
from eigenlens.bayes.discriminant.estimator import EM_TOLERANCE, count_infinite
from eigenlens.bayes.discriminant.fit_missing import complete_classes, complete_family_members
from eigenlens.bayes.discriminant.options import name_class_columns, warn_about_convergence
from eigenlens.bayes.pooled_variance import replace_variances
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.source import Source, accumulate
from eigenlens.densities.gaussian import GaussianFamily
from eigenlens.errors import DataError, DataWarning
from eigenlens.estimator.rows import dense_blocks
from eigenlens.latent.families import FactorFamily, PPCAFamily
from eigenlens.linalg.spectrum import Outcome
from eigenlens.stats.moments import Moments

__all__ = ["complete_statistics", "drop_incomplete_rows", "fits_incomplete_rows"]


def fits_incomplete_rows(family: Any) -> bool:
    """Whether EM finds the members of the family for rows with gaps: those that are Gaussians of full moments."""
    full = isinstance(family, GaussianFamily) and family.covariance == "full"
    return full or isinstance(family, PPCAFamily | FactorFamily)


def complete_statistics(
    family: Any, source: Source, codes: Array, classes: Array
) -> tuple[ClassMoments, tuple[int, ...]]:
    """The expected moments of the classes, and the numbers of those whose covariance is singular; infinity is an error.

    They maximise the likelihood of what is there, over the members of the family. A column of one value in a class has
    no variance there, whatever EM, which comes near its end and no further, has left of it; a covariance is singular if
    it is so in the other columns.
    """
    if accumulate(source, count_infinite):
        raise explain_nonfinite(source)
    C, called = len(classes), name_class_columns(source, classes)
    if isinstance(family, GaussianFamily):
        done = complete_classes(source, codes, C, Shrinkage(), pooled=False, called=called, tol=EM_TOLERANCE)
    else:
        done = complete_family_members(source, codes, C, family.estimate, called=called, tol=EM_TOLERANCE)
    outcome = Outcome("em", "X has missing entries", done.steps, done.steps, converged=done.change <= EM_TOLERANCE)
    warn_about_convergence(outcome, done.change, EM_TOLERANCE)
    flat = read_class_variances(source, codes, C).flat
    parts = tuple(
        replace_variances(part, flat[c], np.zeros(flat.shape[1])) for c, part in enumerate(done.moments.parts)
    )
    return ClassMoments(parts), tuple(c for c in range(C) if _is_singular(family, parts[c], flat[c]))


def _is_singular(family: Any, part: Moments, flat: Array) -> bool:
    full = isinstance(family, GaussianFamily)
    return full and not has_density(part.scatter / part.weight, part.mean, flat, least=VARIANCE_FLOOR)


def drop_incomplete_rows(density: Any, source: Source, codes: Array, classes: Array) -> Source:
    """The source, with weight 0 for rows that have gaps: they count for the prior alone, which a warning says."""
    counts = np.ones(len(codes), dtype=bool) if source.weight is None else source.weight > 0.0
    gaps = np.concatenate([np.isnan(rows).any(axis=1) for rows in dense_blocks(source)]) & counts
    if not gaps.any():
        return source
    n, lost = (np.bincount(codes[which], minlength=len(classes)) for which in (counts, gaps))
    names, kind = classes.tolist(), type(density).__name__
    if np.any(lost == n):
        raise DataError(
            f"class {names[int(np.argmax(lost == n))]!r} has no row without gaps (Input X contains NaN), and a {kind} "
            "needs whole ones; fill them in with ProbabilisticPCA(k).fit(X).impute(X), or use a GaussianMixture."
        )
    said = ", ".join(f"{lost[c]} of {n[c]} of class {names[c]!r}" for c in np.flatnonzero(lost)[:5])
    warnings.warn(
        f"{int(gaps.sum())} rows with gaps count for the prior of their class alone, as a {kind} stands on whole rows: "
        f"{said}. A GaussianMixture learns from what is there of them.",
        DataWarning,
        stacklevel=2,
    )
    return source.weighted(np.where(gaps, 0.0, 1.0 if source.weight is None else source.weight))
