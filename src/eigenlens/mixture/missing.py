"""The E-step of a mixture of Gaussians for rows with missing values (Ghahramani and Jordan 1994), exact.

A pattern of missing values observes columns o and misses m. For component k it needs one Cholesky factor of C_oo, the
regression C_mo C_oo⁻¹ on the observed entries, and the covariance C_mm − C_mo C_oo⁻¹ C_om that remains: imputed rows
and remaining covariances, weighted by responsibilities, are the expected moments of complete rows. So the M-step is
that of complete rows, whatever the structure, and EM increases the likelihood of the observed entries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np

from eigenlens.arrays import Array, dense, slices
from eigenlens.data.source import Block
from eigenlens.data.table import observed_rows
from eigenlens.densities.mixture_terms import DiagonalTerms, EStep, FullTerms, Terms
from eigenlens.native.mixture_incomplete import LOG_2PI, incomplete_passes
from eigenlens.stats.moments import ColumnMoments, Moments

PATTERN_PIECE_ENTRIES = 1 << 20
"""Entries of the rows whose patterns are compared at a time: 8 MB, which bounds the memory of a large block."""

DEVIATION_ENTRIES = 1 << 19
"""Entries of the deviations from all means that are worked on together, so that they stay in cache."""


def observed_e_step(terms: Terms, S: int = 1) -> Callable[[Block], EStep]:
    """Return the E-step of S mixtures, one after the other, for rows (b, d) in which NaN is a missing value.

    Rows without observed entries carry no information and are left out. A row costs as much as a complete one, and a
    pattern K d³ more.

    >>> from eigenlens.densities.covariance import Full
    >>> from eigenlens.densities.gaussian import Gaussian
    >>> from eigenlens.densities.mixture import Mixture
    >>> model = Mixture(np.ones(1), (Gaussian(np.zeros(2), Full(np.array([[2.0, 1.0], [1.0, 2.0]]))),))
    >>> moments = observed_e_step(model.terms)(Block(np.array([[4.0, np.nan], [np.nan, np.nan]]))).moments
    >>> moments.weight, moments.mean, moments.scatter[0]
    (array([1.]), array([[4., 2.]]), array([[0. , 0. ], [0. , 1.5]]))
    """
    return partial(_sum_over_pieces, e_step=partial(OBSERVED_E_STEPS[type(terms)], terms, S))


def _sum_over_pieces(block: Block, e_step: Callable[[Array, Array], EStep]) -> EStep:
    step = max(1, PATTERN_PIECE_ENTRIES // block.rows.shape[1])
    parts = slices(max(1, block.rows.shape[0]), step)
    return reduce(add, (e_step(*_piece(block, part)) for part in parts))


def _piece(block: Block, part: slice) -> tuple[Array, Array]:
    X = dense(block.rows[part, :])
    return X, np.ones(len(X)) if block.weight is None else block.weight[part]


def responsibilities_and_loglik(joint: Array, w: Array) -> tuple[Array, Array]:
    """Return Σ w ln Σ_k exp(joint) (...) and the responsibilities times w, for joint (..., K, c) and w (..., c)."""
    top = joint.max(axis=-2)
    shares = np.exp(joint - top[..., None, :])
    total = shares.sum(axis=-2)
    return np.sum(w * (top + np.log(total)), axis=-1), shares * (w / total)[..., None, :]


def _full_e_step(terms: FullTerms, S: int, X: Array, w: Array) -> EStep:
    """Take the E-step for rows (n, d) with weights (n,) by covariance matrices."""
    found = incomplete_passes(X, w, terms.log_weights, terms.means, terms.covariances, S)
    return EStep(found.loglik, Moments.about(terms.means, found.weight, found.total, found.spread))


def _diagonal_e_step(terms: DiagonalTerms, S: int, X: Array, w: Array) -> EStep:
    """Take the E-step for rows (n, d) with weights (n,) by variances; a missing entry adds its variance."""
    used = (w > 0.0) & observed_rows(X)
    X, w, K = X[used], w[used], len(terms.means)
    nothing = EStep(np.zeros(S), ColumnMoments(np.zeros(K), terms.means, np.zeros(terms.means.shape)))
    step = max(1, DEVIATION_ENTRIES // terms.means.size)
    pieces = slices(len(X), step)
    return reduce(add, (_diagonal_piece(terms, S, X[piece], w[piece]) for piece in pieces), nothing)


def _diagonal_piece(terms: DiagonalTerms, S: int, X: Array, w: Array) -> EStep:
    mu, seen, variances = terms.means, ~np.isnan(X), 1.0 / terms.shapes
    D = np.where(seen, X - mu[:, None, :], 0.0)
    square = D * D
    distance = np.einsum("kcd,kd->kc", square, terms.shapes) + (np.log(variances) + LOG_2PI) @ seen.T
    joint = terms.log_weights[:, None] - 0.5 * distance
    logliks, shares = responsibilities_and_loglik(joint.reshape(S, -1, len(X)), w)
    r = shares.reshape(joint.shape)
    squares = np.einsum("kc,kcd->kd", r, square) + (r @ ~seen) * variances
    return EStep(logliks, ColumnMoments.about(mu, r.sum(axis=1), np.einsum("kc,kcd->kd", r, D), squares))


OBSERVED_E_STEPS: dict[type, Callable[[Any, int, Array, Array], EStep]] = {
    FullTerms: _full_e_step,
    DiagonalTerms: _diagonal_e_step,
}
"""E-steps for rows with missing values, by how the components are stacked."""
