"""Leading eigenpairs as values: how many are requested, what was found and how, and the one sign convention."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from eigenlens.arrays import Array
from eigenlens.laws import Laws

ZERO_SHARE = 1e-14
"""Eigenvalues of a squared matrix below this share of the largest are zero."""


@dataclass(frozen=True)
class Requested:
    """The number of leading eigenpairs that a solver is asked for, known beforehand or read off the eigenvalues.

    Attributes:
        initial_guess: the number that an iteration starts with.
        limit: the largest possible number.
        choose: (leading values, trace) → k, or None if these values are too few to decide.
        needs_all: whether `choose` needs every eigenvalue.
        fixed_count: the number, where it is known beforehand.

    >>> Requested.count(3, limit=10).choose(np.ones(5), 5.0)
    3
    """

    initial_guess: int
    limit: int
    choose: Callable[[Array, float], int | None]
    needs_all: bool = False
    fixed_count: int | None = None

    @classmethod
    def count(cls, k: int, limit: int) -> Requested:
        """Return a request for exactly the k leading pairs."""
        return cls(k, limit, lambda values, total: k, fixed_count=k)


@dataclass(frozen=True)
class Outcome:
    """A record of how a spectrum was found: the solver, why it was chosen, what it cost and how accurate it is.

    Attributes:
        solver: the name of the solver that ran.
        reason: why this one.
        passes: passes over the rows.
        iterations: steps of an iterative solver, 0 for a direct one.
        residuals: (k,) ‖A v − λ v‖ / λ₁.
        converged: whether all residuals met the tolerance.
    """

    laws: ClassVar[Laws] = {
        "passes": "not negative",
        "iterations": "not negative",
        "residuals": "(k) not negative | (0) finite",
    }

    solver: str
    reason: str = ""
    passes: int = 0
    iterations: int = 0
    residuals: Array = field(default_factory=lambda: np.zeros(0))
    converged: bool = True

    def __str__(self) -> str:
        worst = float(self.residuals.max(initial=0.0))
        steps = f", {self.iterations} iterations" if self.iterations else ""
        passes = "1 pass" if self.passes == 1 else f"{self.passes} passes"
        return f"{self.solver} ({self.reason}): {passes}{steps}, largest residual {worst:.1e}"


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Leading eigenpairs of a symmetric positive semidefinite matrix.

    Attributes:
        values: (k,) descending, never negative.
        vectors: (d, k) orthonormal columns, oriented by `orient`.
        total: the trace, the sum of all eigenvalues.
        outcome: how they were found.
    """

    values: Array
    vectors: Array
    total: float
    outcome: Outcome


def orient(vectors: Array) -> Array:
    """Return the columns with signs such that the entry of largest modulus of each is positive.

    >>> orient(np.array([[0.6, -0.70710678], [-0.8, 0.70710679]])).round(3)
    array([[-0.6 ,  0.707], [ 0.8 , -0.707]])
    """
    return vectors * column_signs(vectors)


def column_signs(vectors: Array) -> Array:
    """Return the signs (k,) that make the entry of largest modulus of each column positive.

    Entries within 1e-6 of the largest are ties, and the first of them decides: rounding cannot change the sign.
    """
    size = np.abs(vectors)
    first = (size >= (1.0 - 1e-6) * size.max(axis=0, initial=0.0)).argmax(axis=0)
    return np.where(vectors[first, np.arange(vectors.shape[1])] < 0.0, -1.0, 1.0)


def nonzero(values: Array) -> Array:
    """Return a mask (k,) of the eigenvalues of a squared matrix that differ from zero by more than rounding."""
    return np.asarray(values > ZERO_SHARE * max(values.max(initial=0.0), sys.float_info.min))
