"""The solver "power": the power method with deflation, as in textbooks, one component after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eigenlens import checks
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


def power_path(A: Any, start: Any, steps: int) -> PowerPath:
    """Return v₀, v₁, … of the power method v ← A v / ‖A v‖ and vᵀA v, which never decreases for a covariance A (N, N).

    A start without a part along the first eigenvector never finds it, up to rounding. A v = 0 ends in zeros.

    Args:
        A: symmetric (N, N), as an array or a frame, or anything with `size` N and `matmat(V)`, the product A V.
        start: (N,) a vector that is not 0; its length does not matter.
        steps: the number T of steps.

    >>> path = power_path(np.diag([2.0, 1.0]), np.array([1.0, 1.0]), 3)
    >>> path.quotients
    array([1.5  , 1.8  , 1.941, 1.985])
    """
    operator = A if hasattr(A, "matmat") else Matrix(_check_symmetric(A))
    v, count = _check_start(start, operator.size), checks.integer("steps", steps, 0, checks.MAX_REPLICATES)
    vectors, quotients = [v / np.linalg.norm(v)], list[float]()
    for step in range(count + 1):
        product = operator.matmat(vectors[-1][:, None])[:, 0]
        quotients.append(float(vectors[-1] @ product))
        if step < count:
            vectors.append(product / (np.linalg.norm(product) or 1.0))
    return PowerPath(np.array(vectors), np.array(quotients))


@dataclass(frozen=True, eq=False)
class PowerMethod:
    """The power method with a given start and number of steps: `PCA(1, solver=PowerMethod(start, max_iter=10))`.

    Attributes:
        start: (d,) the first vector of the first component, not 0; random if None, as for the other components.
        max_iter: the largest number of steps per component.

    A component also ends where ‖A v − λ v‖ ≤ tol λ₁, with the tol of `PCA`.
    """

    start: Any = None
    max_iter: int = MAX_POWER_STEPS

    def __post_init__(self) -> None:
        checks.integer("max_iter", self.max_iter, 1)
        if self.start is not None:
            _check_start(self.start, None)

    def __call__(self, operator: SymmetricOperator, wanted: Requested, tol: float, rng: Any) -> Spectrum:
        """Return the leading eigenpairs, as `power` does."""
        return power(operator, wanted, tol, rng, self.start, self.max_iter)


def power(
    operator: SymmetricOperator,
    wanted: Requested,
    tol: float,
    rng: np.random.Generator,
    start: Any = None,
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
            given = start is not None and not values.size
            first = _check_start(start, operator.size) if given else rng.standard_normal(operator.size)
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
    """Return the dominant eigenpair of A deflated by the columns of V, from a unit vector v, and the steps it took.

    The value is the Rayleigh quotient of the vector returned, also where the steps end early.
    """
    step = 0
    while True:
        product = operator.matmat(v[:, None])[:, 0]
        product -= V @ (V.T @ product)
        value = float(v @ product)
        largest = max(value, float(values.max(initial=0.0)))
        if step == max_iter or largest == 0.0 or np.linalg.norm(product - value * v) <= tol * largest:
            return value, v, step
        v, step = _unit(product, V), step + 1


def _check_start(start: Any, size: int | None) -> Array:
    """Return a start as a vector of `size` finite numbers that are not all 0; of any number if size is None."""
    v = checks.numbers("start", start)
    if v.ndim != 1 or (size is not None and v.size != size):
        of = "" if size is None else f" of {size} numbers"
        raise OptionError(f"has the shape {v.shape}, but must be a vector{of}", argument="start")
    if not np.any(v) or not np.all(np.isfinite(v)):
        raise OptionError("must be finite numbers, not all of them 0", argument="start", value=start)
    return v


def _check_symmetric(A: Any) -> Array:
    """Return A as a symmetric matrix of float64."""
    matrix = checks.numbers("A", A)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        fix = "give a covariance or a Gram matrix"
        raise OptionError(f"has the shape {matrix.shape}, but must be square", argument="A", fix=fix)
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-12 * np.max(np.abs(matrix), initial=0.0)):
        raise OptionError("is not symmetric, or has entries that are not finite", argument="A", fix="give (A + Aᵀ) / 2")
    return matrix


def _unit(v: Array, V: Array) -> Array:
    v = v - V @ (V.T @ v)
    return np.asarray(v / np.linalg.norm(v))
