"""The pass of a mixture of Gaussians over rows with missing entries (Ghahramani and Jordan 1994), exact.

A pattern of gaps observes columns o and misses m. Of component k it needs one Cholesky factor of C_oo, the regression
C_mo C_oo⁻¹ on the observed entries, and the covariance C_mm − C_mo C_oo⁻¹ C_om that is left: filled rows and what is
left, weighted by responsibilities, are the moments of complete rows as far as these are known. So the M-step is that of
complete rows, whatever the structure, and EM climbs the likelihood of the observed entries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block
from eigenlens.densities.mixture import Mixture
from eigenlens.densities.mixture_terms import DiagonalTerms, EStep, FullTerms, StackedEStep, Terms
from eigenlens.native.mixture_incomplete import gaps_passes
from eigenlens.stats.moments import ColumnMoments, Moments

__all__ = ["observed_e_step", "responsibilities_and_loglik", "single_observed_e_step"]

PATTERN_PIECE_ENTRIES, DEVIATION_ENTRIES = 1 << 20, 1 << 19
"""Entries of rows whose patterns are compared at a time, and of deviations that are worked on together."""

LOG_2PI = float(np.log(2.0 * np.pi))


def single_observed_e_step(mixture: Mixture) -> Callable[[Block], EStep]:
    """What a pass for this mixture makes of a block of rows (b, d) in which NaN is missing.

    Rows without entries say nothing, and are left out. Cost of a row as that of a complete one, and K d³ a pattern.

    >>> from eigenlens.densities.covariance import Full
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> model = Mixture(np.ones(1), (Gaussian(np.zeros(2), Full(np.array([[2.0, 1.0], [1.0, 2.0]]))),))
    >>> moments = single_observed_e_step(model)(Block(np.array([[4.0, np.nan], [np.nan, np.nan]]))).moments
    >>> moments.weight, moments.mean, moments.scatter[0]
    (array([1.]), array([[4., 2.]]), array([[0. , 0. ], [0. , 1.5]]))
    """
    assert mixture.terms is not None
    read = observed_e_step(mixture.terms, 1)

    def one(block: Block) -> EStep:
        found = read(block)
        return EStep(float(found.logliks[0]), found.moments)

    return one


def observed_e_step(terms: Terms, S: int) -> Callable[[Block], StackedEStep]:
    """The same for S mixtures, whose terms stand one after the other."""
    return partial(_summed, read=partial(OBSERVED_E_STEPS[type(terms)], terms, S))


def _summed(block: Block, read: Callable[[Array, Array], StackedEStep]) -> StackedEStep:
    """Σ read(rows, weights) over dense pieces of the rows."""
    step = max(1, PATTERN_PIECE_ENTRIES // block.rows.shape[1])
    parts = (slice(start, start + step) for start in range(0, max(1, block.rows.shape[0]), step))
    return reduce(add, (read(*_piece(block, part)) for part in parts))


def _piece(block: Block, part: slice) -> tuple[Array, Array]:
    X = dense(block.rows[part])
    return X, np.ones(len(X)) if block.weight is None else block.weight[part]


def responsibilities_and_loglik(joint: Array, w: Array) -> tuple[Array, Array]:
    """Σ w ln Σ_k exp(joint) (...) and the responsibilities times w, of joint (..., K, c) and w (..., c)."""
    top = joint.max(axis=-2)
    shares = np.exp(joint - top[..., None, :])
    total = shares.sum(axis=-2)
    return np.sum(w * (top + np.log(total)), axis=-1), shares * (w / total)[..., None, :]


def _by_matrices(terms: FullTerms, S: int, X: Array, w: Array) -> StackedEStep:
    """Reads rows (n, d) with weights (n,) by covariance matrices."""
    found = gaps_passes(X, w, terms.log_weights, terms.means, terms.covariances, S)
    return StackedEStep(found.loglik, Moments.about(terms.means, found.weight, found.total, found.spread))


def _by_columns(terms: DiagonalTerms, S: int, X: Array, w: Array) -> StackedEStep:
    """Reads rows (n, d) with weights (n,) by variances: a missing entry is as far off as its variance says."""
    counts = (w > 0.0) & ~np.isnan(X).all(axis=1)
    X, w, K = X[counts], w[counts], len(terms.means)
    found = StackedEStep(np.zeros(S), ColumnMoments(np.zeros(K), terms.means, np.zeros(terms.means.shape)))
    step = max(1, DEVIATION_ENTRIES // terms.means.size)
    pieces = (slice(start, start + step) for start in range(0, len(X), step))
    return reduce(add, (_columns_piece(terms, S, X[piece], w[piece]) for piece in pieces), found)


def _columns_piece(terms: DiagonalTerms, S: int, X: Array, w: Array) -> StackedEStep:
    mu, seen, variances = terms.means, ~np.isnan(X), 1.0 / terms.precisions
    D = np.where(seen, X - mu[:, None, :], 0.0)
    square = D * D
    distance = np.einsum("kcd,kd->kc", square, terms.precisions) + (np.log(variances) + LOG_2PI) @ seen.T
    joint = terms.log_weights[:, None] - 0.5 * distance
    logliks, shares = responsibilities_and_loglik(joint.reshape(S, -1, len(X)), w)
    r = shares.reshape(joint.shape)
    squares = np.einsum("kc,kcd->kd", r, square) + (r @ ~seen) * variances
    return StackedEStep(logliks, ColumnMoments.about(mu, r.sum(axis=1), np.einsum("kc,kcd->kd", r, D), squares))


OBSERVED_E_STEPS: dict[type, Callable[[Any, int, Array, Array], StackedEStep]] = {
    FullTerms: _by_matrices,
    DiagonalTerms: _by_columns,
}
"""How rows with gaps are read, by how the components are stacked."""
