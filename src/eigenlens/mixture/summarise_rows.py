"""The moments of all rows together, from which a mixture's problem is made; by EM where values are missing."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import require_finite
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.densities.covariance import Diagonal, Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.missing.result import complete_or_observed, constant_column_indices
from eigenlens.mixture.em import run_from_start
from eigenlens.mixture.missing import observed_e_step
from eigenlens.mixture.prior import Prior
from eigenlens.mixture.problem import MIN_OVERALL_VARIANCE, Overall, Problem, covariance_floor, ensure_variance
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.mixture.structures.full import FullStructure
from eigenlens.stats.moments import ColumnMoments

SINGLE_GAUSSIAN_TOL, SINGLE_GAUSSIAN_STEPS = 1e-6, 30
"""The single Gaussian for incomplete rows is fitted to this much per row, or by so many steps: starts need no more."""


def summarise_rows(source: Source, structure: CovarianceStructure, progress: Progress | None = None) -> Overall:
    """Return the overall moments of the rows of a source, in one pass; in a few more where values are missing.

    Missing values show up as NaN in the moments, so complete rows are never searched for them.
    """
    complete = partial(_summarise_complete, structure=structure, progress=progress)
    return complete_or_observed(source, complete, partial(_summarise_incomplete, structure=structure))


def _summarise_complete(source: Source, structure: CovarianceStructure, progress: Progress | None) -> Overall:
    with np.errstate(all="ignore"):  # entries that are not finite show up in the result, and are explained below
        moments = accumulate(source, structure.moments.of, progress, "moments")
    squares = moments.scatter if structure.joint else moments.square
    require_finite(source, squares)
    return Overall(source, moments.rows, moments.weight, moments.mean, squares / moments.weight)


def _summarise_incomplete(source: Source, observed: ColumnMoments, structure: CovarianceStructure) -> Overall:
    rows, weight, empty = accumulate(source, count_observed_rows)
    mean, variances = observed.mean, observed.square / observed.weight
    overall = Overall(source, int(rows), float(weight), mean, variances, observed_e_step, empty=int(empty))
    constant = constant_column_indices(mean, variances)
    positive = ensure_variance(variances, constant)
    if not structure.joint:
        single = Gaussian(mean, Diagonal(positive))
        return replace(overall, fill_missing=partial(_impute, single))
    single = _fit_single_gaussian(overall, np.diag(positive))
    varies = np.ones(mean.size)
    varies[list(constant)] = 0.0  # constant columns keep their own variance, 0, rather than that of `positive`
    covariance = single.covariance.matrix() * np.outer(varies, varies)
    return replace(overall, mean=single.mean, covariance=covariance, fill_missing=partial(_impute, single))


def count_observed_rows(block: Block) -> Array:
    """Return the number of rows with an observed entry, the sum of their weights, and the number of empty rows."""
    observed = ~np.isnan(dense(block.rows)).all(axis=1)
    w = np.ones(observed.size) if block.weight is None else block.weight
    return np.array([np.count_nonzero(observed & (w > 0.0)), w @ observed, np.count_nonzero(~observed & (w > 0.0))])


def _fit_single_gaussian(overall: Overall, covariance: Array) -> Gaussian:
    """Fit one Gaussian to all rows, by EM from independent columns."""
    floor = covariance_floor(covariance, MIN_OVERALL_VARIANCE)
    fields = vars(replace(overall, covariance=covariance))
    problem = Problem(**fields, structure=FullStructure(), prior=Prior(), floor=floor)
    start = Mixture(np.ones(1), (Gaussian(overall.mean, Full(covariance)),))
    tol = SINGLE_GAUSSIAN_TOL * overall.weight
    result = run_from_start(problem, start, tol=tol, max_iter=SINGLE_GAUSSIAN_STEPS)
    if result.interrupted:  # there is no mixture yet that could be kept
        raise KeyboardInterrupt
    return Gaussian(result.mixture.means[0], Full(result.mixture.covariance()))


def _impute(single: Gaussian, rows: Array) -> Array:
    return single.impute(rows) if np.isnan(rows).any() else rows
