"""The problem that EM solves for a mixture: the rows, their overall moments, and the options of the components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block, Source
from eigenlens.densities.mixture_terms import EStep, Terms
from eigenlens.errors import DataError, OptionError
from eigenlens.missing.result import constant_column_indices
from eigenlens.mixture.prior import PRIORS, Prior
from eigenlens.mixture.structures.base import CovarianceStructure
from eigenlens.mixture.structures.parameters import floor_variances

MIN_OVERALL_VARIANCE, MIN_COMPONENT_VARIANCE = 1e-8, 1e-10
"""The smallest variance in any direction, of all rows, and of a component without a floor, in units of the columns'.

So rows that lie in a plane have a density too.
"""

MIN_FLOOR_SHARE = 0.01
"""The smallest eigenvalue of the floor in units of the columns, as a share of the floor that was asked for: where rows
lie near a plane, a component may be that much narrower across it."""

MakeEStep = Callable[[Terms, int], Callable[[Block], EStep]]
"""From the terms of S mixtures, one after the other, to the E-step that a pass takes on a block of rows."""


def _complete_e_step(terms: Terms, S: int) -> Callable[[Block], EStep]:
    """Return the E-step for complete rows."""
    return partial(terms.e_step, S=S)


def rows_unchanged(rows: Array) -> Array:
    """Return complete rows, which have nothing to fill in, unchanged."""
    return rows


@dataclass(frozen=True, eq=False)
class Overall:
    """The rows of a source, and their moments taken together.

    Attributes:
        source: the rows with positive weight. rows: the number with an observed entry. weight: their total weight.
        mean: (d,). covariance: (d, d), or variances (d,) where the structure needs no more.
        make_e_step: makes the E-step for these rows.
        fill_missing: maps dense rows (b, d) to complete ones, accurately enough for a start.
        empty: the number of rows without an observed entry.
    """

    source: Source
    rows: int
    weight: float
    mean: Array
    covariance: Array
    make_e_step: MakeEStep = _complete_e_step
    fill_missing: Callable[[Array], Array] = rows_unchanged
    empty: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(Overall):
    """The rows with their overall moments, and the structure, prior and floor of the mixture to be fitted to them.

    Attributes:
        structure: of the components' covariances. prior: of the components.
        floor: the covariance (d, d), or variances (d,), that no component may be below.
        constant: the constant columns.
        reg_covar: added to the variances of the components in every M-step, in squared units of the columns.
    """

    structure: CovarianceStructure
    prior: Prior
    floor: Array
    constant: tuple[int, ...] = ()
    reg_covar: float = 0.0

    @property
    def deviations(self) -> Array:
        """The standard deviations s (d,) of the columns."""
        return np.sqrt(floor_variances(self.covariance))


def make_problem(
    overall: Overall,
    K: int,
    structure: CovarianceStructure,
    *,
    prior: str = "none",
    floor: float = 1e-8,
    reg_covar: float = 0.0,
) -> Problem:
    """Return the problem of K components for these rows; K must not exceed their number."""
    if overall.rows < K:
        what = f"must be at most {overall.rows}, the number of rows with positive weight"
        fix, settings = "use {n_components} or less", {"n_components": overall.rows}
        raise OptionError(what, argument="n_components", value=K, fix=fix, settings=settings)
    constant = constant_column_indices(overall.mean, floor_variances(overall.covariance))
    if len(constant) == overall.mean.size and not reg_covar:
        what = "has no variance: every column is constant (1 sample, or equal rows), so there is nothing to model"
        raise DataError(what, argument="X", fix="give rows that differ, or a positive reg_covar")
    covariance = ensure_variance(overall.covariance, constant, reg_covar)
    return Problem(
        **vars(replace(overall, covariance=covariance)),
        structure=structure,
        prior=PRIORS[prior](structure, overall.mean, covariance, K),
        floor=covariance_floor(covariance, floor),
        constant=constant,
        reg_covar=reg_covar,
    )


def ensure_variance(covariance: Array, constant: tuple[int, ...], added: float = 0.0) -> Array:
    """Return the covariance (d, d) or variances (d,) of all rows, raised so that every direction has some variance.

    A constant column gets the variance that is added to every component, or the mean of the others where none is. No
    direction has less than MIN_OVERALL_VARIANCE in units of the columns.
    """
    each = floor_variances(covariance).copy()
    others = np.delete(each, constant)
    each[list(constant)] = added or (others.mean() if others.size else 1.0)
    if covariance.ndim == 1:
        return each
    full = covariance.copy()
    np.fill_diagonal(full, each)
    return _scale_and_floor(full, 1.0, MIN_OVERALL_VARIANCE)


def covariance_floor(covariance: Array, floor: float) -> Array:
    """Return the floor of the components: `floor` times the covariance (d, d) or variances (d,) of all rows.

    In units of the columns no eigenvalue of it is below MIN_FLOOR_SHARE of `floor`, or MIN_COMPONENT_VARIANCE if that
    is 0: a matrix without variance in some direction has no density.

    >>> covariance_floor(np.array([[1.0, 1.0], [1.0, 1.0]]), 1e-8)
    array([[1.0e-08, 1.0e-08], [1.0e-08, 1.0e-08]])
    """
    if covariance.ndim == 1:
        return covariance * floor
    return _scale_and_floor(covariance, floor, MIN_FLOOR_SHARE * floor or MIN_COMPONENT_VARIANCE)


def _scale_and_floor(covariance: Array, factor: float, smallest: float) -> Array:
    """Return a multiple of the covariance (d, d), its eigenvalues in units of the columns raised to `smallest`."""
    s = np.sqrt(covariance.diagonal())
    lam, V = np.linalg.eigh(covariance / np.outer(s, s))
    half = s[:, None] * V * np.sqrt(np.maximum(factor * lam, smallest))
    return np.asarray(half @ half.T)
