"""The solver "power": the power method with deflation, as in textbooks, one component after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.errors import OptionError
from eigenlens.linalg.lanczos import residual_norms
from eigenlens.linalg.operators import Matrix, SymmetricOperator
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, orient

MAX_POWER_STEPS = 50_000
"""Steps per component after which the iteration ends, converged or not."""


class PowerPath(NamedTuple):
    """The steps of the power method: unit vectors (T + 1, N), the start first, and Rayleigh quotients (T + 1,)."""

    vectors: Array
    quotients: Array


def power_path(A: Array | SymmetricOperator, start: Array, steps: int) -> PowerPath:
    """Return v₀, v₁, … of the power method v ← A v / ‖A v‖ and vᵀA v, which never decreases for a covariance A (N, N).

    A start without a part along the first eigenvector never finds it, up to rounding.

    >>> path = power_path(np.diag([2.0, 1.0]), np.array([1.0, 1.0]), 3)
    >>> path.quotients
    array([1.5  , 1.8  , 1.941, 1.985])
    """
    operator = Matrix(np.asarray(A, dtype=np.float64)) if isinstance(A, np.ndarray) else A
    v = _check_start(start, operator)
    vectors, quotients = [v / np.linalg.norm(v)], list[float]()
    for step in range(steps + 1):
        product = operator.matmat(vectors[-1][:, None])[:, 0]
        quotients.append(float(vectors[-1] @ product))
        if step < steps:
            vectors.append(product / (np.linalg.norm(product) or 1.0))
    return PowerPath(np.array(vectors), np.array(quotients))


@dataclass(frozen=True, eq=False)
class PowerMethod:
    """The power method with a given start and number of steps: `PCA(1, solver=PowerMethod(start, max_iter=10))`.

    Attributes:
        start: (d,) the first vector of the first component; random if None.
        max_iter: the largest number of steps per component.
    """

    start: Array | None = None
    max_iter: int = MAX_POWER_STEPS

    def __call__(self, operator: SymmetricOperator, wanted: Requested, tol: float, rng: Any) -> Spectrum:
        """Return the leading eigenpairs, as `power` does."""
        return power(operator, wanted, tol, rng, self.start, self.max_iter)


def power(
    operator: SymmetricOperator,
    wanted: Requested,
    tol: float,
    rng: np.random.Generator,
    start: Array | None = None,
    max_iter: int = MAX_POWER_STEPS,
) -> Spectrum:
    """Return the leading eigenpairs by v ← A v / ‖A v‖, orthogonal to those before, until ‖A v − λ v‖ ≤ tol λ₁.

    Converges like (λ₂/λ₁)ᵗ: slow where eigenvalues are close. For teaching, and for one well separated component.
    """
    total, steps = operator.trace, 0
    V, values = np.empty((operator.size, 0)), np.empty(0)
    k = min(wanted.initial_guess, wanted.limit)
    while True:
        while V.shape[1] < k:
            first = (
                rng.standard_normal(operator.size) if start is None or values.size else _check_start(start, operator)
            )
            value, v, used = _dominant(operator, V, values, tol, _unit(first, V), max_iter)
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
    operator: SymmetricOperator, V: Array, values: Array, tol: float, v: Array, max_iter: int
) -> tuple[float, Array, int]:
    """Return the dominant eigenpair of A deflated by the columns of V, from a unit vector v, and the steps it took."""
    value = 0.0
    for step in range(1, max_iter + 1):
        product = operator.matmat(v[:, None])[:, 0]
        product -= V @ (V.T @ product)
        value = float(v @ product)
        largest = max(value, float(values.max(initial=0.0)))
        if np.linalg.norm(product - value * v) <= tol * largest or largest == 0.0:
            return value, v, step
        v = _unit(product, V)
    return value, v, max_iter


def _check_start(start: Any, operator: SymmetricOperator) -> Array:
    v = np.asarray(start, dtype=np.float64)
    if v.shape != (operator.size,) or not np.any(v) or not np.all(np.isfinite(v)):
        what = f"must be {operator.size} finite numbers, not all of them 0"
        raise OptionError(what, argument="start", value=start)
    return v


def _unit(v: Array, V: Array) -> Array:
    v = v - V @ (V.T @ v)
    return np.asarray(v / np.linalg.norm(v))
