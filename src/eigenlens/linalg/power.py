"""The solver "power": the power method with deflation, as in textbooks, one component after the other."""

from __future__ import annotations

import numpy as np

from eigenlens.arrays import Array
from eigenlens.linalg.lanczos import residual_norms
from eigenlens.linalg.operators import SymmetricOperator
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient

MAX_POWER_STEPS = 50_000
"""Steps per component after which the iteration ends, converged or not."""


def power(operator: SymmetricOperator, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    """Return the leading eigenpairs by v ← A v / ‖A v‖, orthogonal to those before, until ‖A v − λ v‖ ≤ tol λ₁.

    Converges like (λ₂/λ₁)ᵗ: slow where eigenvalues are close. For teaching, and for one well separated component.
    """
    total, steps = operator.trace, 0
    V, values = np.empty((operator.size, 0)), np.empty(0)
    k = min(wanted.initial_guess, wanted.limit)
    while True:
        while V.shape[1] < k:
            value, v, used = _dominant(operator, V, values, tol, rng)
            V, values, steps = np.column_stack([V, v]), np.append(values, value), steps + used
        enough = wanted.choose(values, total)
        if enough is not None or k >= wanted.limit:
            break
        k += 1
    k = min(k, k if enough is None else enough)
    order = np.argsort(-values, kind="stable")[:k]
    V, values = V[:, order], values[order]
    residuals = residual_norms(operator, V, values)
    converged = bool(np.all(residuals <= 10.0 * tol))
    outcome = Outcome("power", iterations=steps, residuals=residuals, converged=converged)
    return Spectrum(np.maximum(values, 0.0), orient(V), total, outcome)


def _dominant(
    operator: SymmetricOperator, V: Array, values: Array, tol: float, rng: np.random.Generator
) -> tuple[float, Array, int]:
    """Return the dominant eigenpair of A deflated by the columns of V, and the steps it took."""
    v = _unit(rng.standard_normal(operator.size), V)
    value = 0.0
    for step in range(1, MAX_POWER_STEPS + 1):
        product = operator.matmat(v[:, None])[:, 0]
        product -= V @ (V.T @ product)
        value = float(v @ product)
        largest = max(value, float(values.max(initial=0.0)))
        if np.linalg.norm(product - value * v) <= tol * largest or largest == 0.0:
            return value, v, step
        v = _unit(product, V)
    return value, v, MAX_POWER_STEPS


def _unit(v: Array, V: Array) -> Array:
    v = v - V @ (V.T @ v)
    return np.asarray(v / np.linalg.norm(v))
