"""What is asked of a mixture: its rows, what they are like as a whole, and what its components may not fall below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.coerce import explain_nonfinite
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.densities.covariance import Diagonal, Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.errors import DataError, OptionError
from eigenlens.missing.result import constant_column_indices, missing_or_reraise
from eigenlens.mixture.em import run_em
from eigenlens.mixture.em_step import MakeEStep, Problem, complete_e_step, rows_unchanged
from eigenlens.mixture.missing import observed_e_step
from eigenlens.mixture.prior import PRIORS, NoPrior
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.mixture.structures.families import FullStructure
from eigenlens.mixture.structures.parameters import floor_variances
from eigenlens.stats.moments import ColumnMoments

__all__ = ["Overall", "count_observed_rows", "covariance_floor", "make_problem", "summarise_rows"]

MIN_OVERALL_VARIANCE, MIN_COMPONENT_VARIANCE = 1e-8, 1e-10
"""The least variance in any direction, of all rows and of a component, in units of the columns: rows that fill no more
than a plane have a density then."""

SINGLE_GAUSSIAN_TOL, SINGLE_GAUSSIAN_STEPS = 1e-6, 30
"""One Gaussian for rows with gaps is climbed to this much a row, or by so many steps: starts need no more."""


@dataclass(frozen=True, eq=False)
class Overall:
    """All rows together.

    Attributes:
        source: the rows that count. rows: how many have an entry. weight: their Σw. empty: how many have none.
        mean: (d,). covariance: theirs (d, d), or variances (d,) where the structure needs no more.
        reading: what a pass for some mixtures makes of a block of them. filled: dense rows to complete ones.
    """

    source: Source
    rows: int
    weight: float
    mean: Array
    covariance: Array
    reading: MakeEStep = complete_e_step
    filled: Callable[[Array], Array] = rows_unchanged
    empty: int = 0


def make_problem(
    whole: Overall, K: int, structure: CovarianceStructure, *, prior: str = "none", floor: float = 1e-8
) -> Problem:
    """What is asked of K components for these rows; more of them than rows are refused."""
    if whole.rows < K:
        raise OptionError(f"n_components={K} must be at most {whole.rows}, the number of rows that count.")
    constant = constant_column_indices(whole.mean, floor_variances(whole.covariance))
    covariance = _ensure_variance(whole.covariance, constant)
    return Problem(
        source=whole.source,
        rows=whole.rows,
        weight=whole.weight,
        mean=whole.mean,
        covariance=covariance,
        structure=structure,
        prior=PRIORS[prior](structure, whole.mean, covariance, K),
        least=covariance_floor(covariance, floor),
        reading=whole.reading,
        filled=whole.filled,
        constant=constant,
    )


def summarise_rows(source: Source, structure: CovarianceStructure, progress: Progress | None = None) -> Overall:
    """The rows of a source together, in one pass; a few more where entries are missing.

    That there is NaN is found by that pass, so complete rows are never searched for it.
    """
    try:
        return _summarise_complete(source, structure, progress)
    except DataError as error:
        source, observed = missing_or_reraise(source, error)
    if observed is None:
        return _summarise_complete(source, structure, progress)
    return _summarise_incomplete(source, structure, observed)


def _summarise_complete(source: Source, structure: CovarianceStructure, progress: Progress | None) -> Overall:
    with np.errstate(all="ignore"):  # what is not finite is found in the result, and explained
        moments = accumulate(source, structure.overall, progress, "moments")
    spread = moments.scatter if structure.joint else moments.square
    if not np.all(np.isfinite(spread)):
        raise explain_nonfinite(source)
    return Overall(source, moments.rows, moments.weight, moments.mean, spread / moments.weight)


# ---- rows with gaps -----------------------------------------------------------------------------------------


def _summarise_incomplete(source: Source, structure: CovarianceStructure, observed: ColumnMoments) -> Overall:
    rows, weight, empty = accumulate(source, count_observed_rows)
    mean, variances = observed.mean, observed.square / observed.weight
    whole = Overall(source, int(rows), float(weight), mean, variances, observed_e_step, empty=int(empty))
    constant = constant_column_indices(mean, variances)
    spread = _ensure_variance(variances, constant)
    one = _fit_single_gaussian(whole, np.diag(spread)) if structure.joint else Gaussian(mean, Diagonal(spread))
    varies = np.ones(mean.size)
    varies[list(constant)] = 0.0  # constant columns keep the variance that they have
    covariance = one.covariance.matrix() * np.outer(varies, varies) if structure.joint else variances
    return replace(whole, mean=one.mean, covariance=covariance, filled=partial(_impute, one))


def count_observed_rows(block: Block) -> Array:
    """How many rows have an entry, their Σw, and how many have none."""
    there = ~np.isnan(dense(block.rows)).all(axis=1)
    w = np.ones(there.size) if block.weight is None else block.weight
    return np.array([np.count_nonzero(there & (w > 0.0)), w @ there, np.count_nonzero(~there & (w > 0.0))])


def _fit_single_gaussian(whole: Overall, covariance: Array) -> Gaussian:
    """One Gaussian for all rows, by EM from independent columns."""
    problem = Problem(
        whole.source, whole.rows, whole.weight, whole.mean, covariance, FullStructure(), NoPrior(),
        covariance_floor(covariance, MIN_OVERALL_VARIANCE), observed_e_step,
    )  # fmt: skip
    start = Mixture(np.ones(1), (Gaussian(whole.mean, Full(covariance)),))
    found = run_em(problem, start, tol=SINGLE_GAUSSIAN_TOL * whole.weight, max_iter=SINGLE_GAUSSIAN_STEPS)
    if found.interrupted:  # there is no mixture yet that could be kept
        raise KeyboardInterrupt
    return Gaussian(found.mixture.means[0], Full(found.mixture.covariance()))


def _impute(one: Gaussian, rows: Array) -> Array:
    return one.impute(rows) if np.isnan(rows).any() else rows


# ---- bounds -------------------------------------------------------------------------------------------------


def _ensure_variance(covariance: Array, constant: tuple[int, ...]) -> Array:
    """The covariance (d, d) or variances (d,) of all rows, such that there is some variance in every direction.

    A constant column has the mean variance of the others, and no direction less than FLAT in units of the columns.
    """
    each = floor_variances(covariance).copy()
    if len(constant) == each.size:
        raise DataError("X has no variance: every column is constant (n_samples=1, or equal rows); nothing to model.")
    each[list(constant)] = np.delete(each, constant).mean()
    if covariance.ndim == 1:
        return each
    full = covariance.copy()
    np.fill_diagonal(full, each)
    return _scale_and_floor(full, 1.0, MIN_OVERALL_VARIANCE)


def covariance_floor(covariance: Array, floor: float) -> Array:
    """What no component may be below: `floor` times the covariance (d, d) or variances (d,) of all rows.

    In units of the columns no eigenvalue of it is less than FLATTEST.

    >>> covariance_floor(np.array([[1.0, 1.0], [1.0, 1.0]]), 1e-8)
    array([[1.0e-08, 1.0e-08], [1.0e-08, 1.0e-08]])
    """
    return covariance * floor if covariance.ndim == 1 else _scale_and_floor(covariance, floor, MIN_COMPONENT_VARIANCE)


def _scale_and_floor(covariance: Array, factor: float, least: float) -> Array:
    """A multiple of the covariance (d, d); in units of the columns no eigenvalue is below `least`."""
    s = np.sqrt(covariance.diagonal())
    lam, V = np.linalg.eigh(covariance / np.outer(s, s))
    half = s[:, None] * V * np.sqrt(np.maximum(factor * lam, least))
    return np.asarray(half @ half.T)
