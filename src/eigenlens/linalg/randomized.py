"""The solver "randomized": subspace iteration from random vectors (Halko, Martinsson and Tropp 2011), checked."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.linalg.operators import SymmetricOperator
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient

MAX_FILTER_PRODUCTS = 1000
"""Products after which the iteration ends, converged or not."""

FILTER_DEGREE = 6
"""The degree of the Chebyshev polynomial between two checks of the residuals."""

MAX_STALLED_FILTERS = 5
"""Filters in a row that may fail to halve the largest residual before the subspace is widened."""


def randomized(operator: SymmetricOperator, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    """Return the leading eigenpairs from a random subspace, refined until ‖A v − λ v‖ ≤ tol λ₁.

    One product gives the textbook answer, which on slowly decaying spectra is wrong by several per cent. So the
    residuals are checked, and while they are too large the subspace goes through a Chebyshev polynomial that grows only
    above its smallest Ritz value (Rutishauser 1970). Cost: N (k + 10) flops per product, at most
    `MAX_FILTER_PRODUCTS` of them.
    """
    total, k, products = operator.trace, min(wanted.initial_guess, wanted.limit), 0
    Q = np.empty((operator.size, 0))
    while True:
        size = min(operator.size, k + max(10, k // 2))
        extra = rng.standard_normal((operator.size, size - Q.shape[1]))
        Q = np.linalg.qr(np.hstack([Q, operator.matmat(extra)]))[0]
        values, Q, residuals, used = _sharpen(operator, Q, k, tol, rng)
        products += used + 1
        enough = wanted.choose(np.maximum(values[:k], 0.0), total)
        converged = bool(np.all(residuals <= tol))
        if enough is not None or k >= wanted.limit or not converged:
            break
        k = min(2 * k, wanted.limit)
    k = min(k, k if enough is None else enough)
    outcome = Outcome("randomized", iterations=products, residuals=residuals[:k], converged=converged)
    return Spectrum(np.maximum(values[:k], 0.0), orient(Q[:, :k]), total, outcome)


def _sharpen(
    operator: SymmetricOperator, Q: Array, k: int, tol: float, rng: np.random.Generator
) -> tuple[Array, Array, Array, int]:
    """Return Ritz values and vectors, residuals of the leading k, and the products made to bring these below tol."""
    products, best, stalled = 0, np.inf, 0
    while True:
        AQ = operator.matmat(Q)
        products += 1
        values, Y = np.linalg.eigh(Q.T @ AQ)
        values, Y = values[::-1], Y[:, ::-1]
        Q, AQ = Q @ Y, AQ @ Y
        scale = max(np.abs(values).max(), np.finfo(float).tiny)
        residuals = np.linalg.norm(AQ[:, :k] - Q[:, :k] * values[:k], axis=0) / scale
        # Of an indefinite matrix without a positive eigenvalue there is nothing that the filter could raise.
        whole = Q.shape[1] == operator.size or values[0] <= 1e-12 * scale
        if whole or np.all(residuals <= tol) or products >= MAX_FILTER_PRODUCTS:
            return values, Q, residuals, products
        stalled = 0 if residuals.max() < 0.5 * best else stalled + 1
        best = min(best, residuals.max())
        if stalled > MAX_STALLED_FILTERS:  # the subspace ends inside a cluster of eigenvalues: widen it
            extra = rng.standard_normal((operator.size, min(Q.shape[1] // 2 + 1, operator.size - Q.shape[1])))
            Q, stalled = np.linalg.qr(np.hstack([Q, operator.matmat(extra)]))[0], 0
            products += 1
            continue
        Q = np.linalg.qr(_chebyshev(operator, Q, AQ, max(values[-1], 1e-12 * scale), values[0]))[0]
        products += FILTER_DEGREE - 1


def _chebyshev(operator: SymmetricOperator, Q: Array, AQ: Array, edge: float, top: float) -> Array:
    """Return p(A) Q with p the Chebyshev polynomial of [0, edge], scaled at the top so that it cannot overflow."""

    def mapped(product: Array, V: Array) -> Array:
        return 2.0 / edge * product - V

    at_top = 2.0 * top / edge - 1.0
    sigma = 1.0 / at_top
    before, now = Q, sigma * mapped(AQ, Q)
    for _ in range(FILTER_DEGREE - 1):
        following = 1.0 / (2.0 * at_top - sigma)
        before, now = now, 2.0 * following * mapped(operator.matmat(now), now) - sigma * following * before
        sigma = following
    return now
