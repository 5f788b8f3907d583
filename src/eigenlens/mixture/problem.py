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
from eigenlens.missing.result import constant_columns, explained_by_gaps
from eigenlens.mixture.em import climb
from eigenlens.mixture.em_step import Pass, Problem, as_they_are, complete_rows
from eigenlens.mixture.missing import each_observed
from eigenlens.mixture.prior import PRIORS, NoPrior
from eigenlens.mixture.structures.base import Structure
from eigenlens.mixture.structures.families import FullStructure
from eigenlens.mixture.structures.parameters import diagonal_of
from eigenlens.stats.moments import ColumnMoments

__all__ = ["Whole", "asked_of", "bound", "presence", "whole_of"]

FLAT, FLATTEST = 1e-8, 1e-10
"""The least variance in any direction, of all rows and of a component, in units of the columns: rows that fill no more
than a plane have a density then."""

ONE_TOL, ONE_STEPS = 1e-6, 30
"""One Gaussian for rows with gaps is climbed to this much a row, or by so many steps: starts need no more."""


@dataclass(frozen=True, eq=False)
class Whole:
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
    reading: Pass = complete_rows
    filled: Callable[[Array], Array] = as_they_are
    empty: int = 0


def asked_of(whole: Whole, K: int, structure: Structure, *, prior: str = "none", floor: float = 1e-8) -> Problem:
    """What is asked of K components for these rows; more of them than rows are refused."""
    if whole.rows < K:
        raise OptionError(f"n_components={K} must be at most {whole.rows}, the number of rows that count.")
    constant = constant_columns(whole.mean, diagonal_of(whole.covariance))
    covariance = _with_variance(whole.covariance, constant)
    return Problem(
        source=whole.source,
        rows=whole.rows,
        weight=whole.weight,
        mean=whole.mean,
        covariance=covariance,
        structure=structure,
        prior=PRIORS[prior](structure, whole.mean, covariance, K),
        least=bound(covariance, floor),
        reading=whole.reading,
        filled=whole.filled,
        constant=constant,
    )


def whole_of(source: Source, structure: Structure, progress: Progress | None = None) -> Whole:
    """The rows of a source together, in one pass; a few more where entries are missing.

    That there is NaN is found by that pass, so complete rows are never searched for it.
    """
    try:
        return _complete(source, structure, progress)
    except DataError as error:
        source, observed = explained_by_gaps(source, error)
    return _complete(source, structure, progress) if observed is None else _with_gaps(source, structure, observed)


def _complete(source: Source, structure: Structure, progress: Progress | None) -> Whole:
    with np.errstate(all="ignore"):  # what is not finite is found in the result, and explained
        moments = accumulate(source, structure.overall, progress, "moments")
    spread = moments.scatter if structure.joint else moments.square
    if not np.all(np.isfinite(spread)):
        raise explain_nonfinite(source)
    return Whole(source, moments.rows, moments.weight, moments.mean, spread / moments.weight)


# ---- rows with gaps -----------------------------------------------------------------------------------------


def _with_gaps(source: Source, structure: Structure, observed: ColumnMoments) -> Whole:
    rows, weight, empty = accumulate(source, presence)
    mean, variances = observed.mean, observed.square / observed.weight
    whole = Whole(source, int(rows), float(weight), mean, variances, each_observed, empty=int(empty))
    constant = constant_columns(mean, variances)
    spread = _with_variance(variances, constant)
    one = _one_gaussian(whole, np.diag(spread)) if structure.joint else Gaussian(mean, Diagonal(spread))
    varies = np.ones(mean.size)
    varies[list(constant)] = 0.0  # constant columns keep the variance that they have
    covariance = one.covariance.matrix() * np.outer(varies, varies) if structure.joint else variances
    return replace(whole, mean=one.mean, covariance=covariance, filled=partial(_impute, one))


def presence(block: Block) -> Array:
    """How many rows have an entry, their Σw, and how many have none."""
    there = ~np.isnan(dense(block.rows)).all(axis=1)
    w = np.ones(there.size) if block.weight is None else block.weight
    return np.array([np.count_nonzero(there & (w > 0.0)), w @ there, np.count_nonzero(~there & (w > 0.0))])


def _one_gaussian(whole: Whole, covariance: Array) -> Gaussian:
    """One Gaussian for all rows, by EM from independent columns."""
    problem = Problem(
        whole.source, whole.rows, whole.weight, whole.mean, covariance, FullStructure(), NoPrior(),
        bound(covariance, FLAT), each_observed,
    )  # fmt: skip
    start = Mixture(np.ones(1), (Gaussian(whole.mean, Full(covariance)),))
    found = climb(problem, start, tol=ONE_TOL * whole.weight, max_iter=ONE_STEPS)
    if found.interrupted:  # there is no mixture yet that could be kept
        raise KeyboardInterrupt
    return Gaussian(found.mixture.means[0], Full(found.mixture.covariance()))


def _impute(one: Gaussian, rows: Array) -> Array:
    return one.impute(rows) if np.isnan(rows).any() else rows


# ---- bounds -------------------------------------------------------------------------------------------------


def _with_variance(covariance: Array, constant: tuple[int, ...]) -> Array:
    """The covariance (d, d) or variances (d,) of all rows, such that there is some variance in every direction.

    A constant column has the mean variance of the others, and no direction less than FLAT in units of the columns.
    """
    each = diagonal_of(covariance).copy()
    if len(constant) == each.size:
        raise DataError("X has no variance: every column is constant (n_samples=1, or equal rows); nothing to model.")
    each[list(constant)] = np.delete(each, constant).mean()
    if covariance.ndim == 1:
        return each
    full = covariance.copy()
    np.fill_diagonal(full, each)
    return _raised(full, 1.0, FLAT)


def bound(covariance: Array, floor: float) -> Array:
    """What no component may be below: `floor` times the covariance (d, d) or variances (d,) of all rows.

    In units of the columns no eigenvalue of it is less than FLATTEST.

    >>> bound(np.array([[1.0, 1.0], [1.0, 1.0]]), 1e-8)
    array([[1.0e-08, 1.0e-08], [1.0e-08, 1.0e-08]])
    """
    return covariance * floor if covariance.ndim == 1 else _raised(covariance, floor, FLATTEST)


def _raised(covariance: Array, factor: float, least: float) -> Array:
    """A multiple of the covariance (d, d); in units of the columns no eigenvalue is below `least`."""
    s = np.sqrt(covariance.diagonal())
    lam, V = np.linalg.eigh(covariance / np.outer(s, s))
    half = s[:, None] * V * np.sqrt(np.maximum(factor * lam, least))
    return np.asarray(half @ half.T)
