"""Covariances pulled towards something simpler, and how far: for few rows, or more columns than rows.

    C = (1 − a) S + a T,    T the diagonal of S, or its mean variance times I

With T the diagonal, C follows a change of units of the columns; with T a multiple of I it does not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block

__all__ = ["RULES", "TARGETS", "QuarticMoments", "intensity", "ledoit_wolf", "quartic_of_rows"]

PIECE = 1 << 20
"""Entries of rows that are worked on at a time."""


# ---- towards what -------------------------------------------------------------------------------------------


def own_variances(variances: Array) -> Array:
    """The variances (d,) themselves: covariances shrink, variances stay."""
    return variances


def mean_variance(variances: Array) -> Array:
    """The mean variance, for each of d columns."""
    return np.full_like(variances, variances.mean())


TARGETS: dict[str, Callable[[Array], Array]] = {"diagonal": own_variances, "identity": mean_variance}
"""From the variances (d,) to the diagonal (d,) of the target T."""


# ---- how far ------------------------------------------------------------------------------------------------


def ledoit_wolf(n: float, d: int, trace: float, square: float, quartic: float) -> float:
    """The a in [0, 1] of least expected squared error of C in Frobenius norm (Ledoit and Wolf 2004, lemma 3.2 to 3.5).

    Args:
        n: Σw. d: columns, in units in which T is a multiple of I.
        trace: tr S. square: Σ_jk S_jk². quartic: Σ_i w_i |x_i − mean|⁴; S has the divisor n.

    >>> ledoit_wolf(4.0, 2, trace=2.0, square=4.0, quartic=32.0)
    0.5
    """
    error, spread = (quartic / n - square) / n, square - trace**2 / max(d, 1)
    if not error > 0.0 or not spread > 0.0:
        return 0.0
    return min(1.0, error / spread)


RULES: dict[str, Callable[[float, int, float, float, float], float]] = {"ledoit-wolf": ledoit_wolf}
"""Rules for the intensity a, by name, as `ledoit_wolf` is called."""


def intensity(rule: str, n: float, S: Array, fourth: Array, target: Array) -> float:
    """The intensity a for a covariance S (d, d) of divisor n, its quartic moments (d, d) and a target (d,).

    Columns are divided by the root of the target; those of target 0 are left out.
    """
    inverse = np.divide(1.0, target, out=np.zeros_like(target), where=target > 0.0)
    root = np.sqrt(inverse)
    R = root[:, None] * S * root
    quartic = float(inverse @ fourth @ inverse)
    return RULES[rule](n, int(np.count_nonzero(inverse)), float(np.trace(R)), float(np.sum(R * R)), quartic)


def quartic_of_rows(D: Array, weight: Array, target: Array) -> tuple[float, float, float]:
    """trace and square of S, and the quartic sum, of deviations D (n, d) in units of the target, by D Dᵀ (n, n)."""
    inverse = np.divide(1.0, target, out=np.zeros_like(target), where=target > 0.0)
    G = (D * inverse) @ D.T
    lengths, n = G.diagonal(), float(weight.sum())
    return float(weight @ lengths) / n, float(weight @ (G * G) @ weight) / n**2, float(weight @ lengths**2)


# ---- moments for it, which merge ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class QuarticMoments:
    """Moments of rows up to those of fourth order that Ledoit and Wolf's rule needs; halves merge to the whole.

        scatter_jk = Σ w y_j y_k,   third_jk = Σ w y_j² y_k,   fourth_jk = Σ w y_j² y_k²,   y = x − mean

    Attributes:
        rows: rows of positive weight. weight: Σw. mean: (d,). scatter, third, fourth: (d, d).

    >>> X = np.array([[1.0, 0.0], [2.0, 3.0], [6.0, 3.0]])
    >>> whole, halves = QuarticMoments.of(Block(X)), QuarticMoments.of(Block(X[:1])) + QuarticMoments.of(Block(X[1:]))
    >>> np.allclose(whole.fourth, halves.fourth), whole.fourth[0]
    (True, array([98., 26.]))
    """

    rows: int
    weight: float
    mean: Array
    scatter: Array
    third: Array
    fourth: Array

    @classmethod
    def of(cls, block: Block) -> Self:
        """The moments of rows (b, d). Cost 3 b d² flops."""
        return reduce(operator.add, (cls._piece(X, w) for X, w in _pieces(block)))

    @classmethod
    def _piece(cls, X: Array, w: Array) -> Self:
        total = float(w.sum())
        mean = X[0] + (w @ (X - X[0])) / (total or 1.0)
        Y = X - mean
        squares = Y * Y
        weighted = squares * w[:, None]
        scatter = (Y * w[:, None]).T @ Y
        return cls(int(np.count_nonzero(w)), total, mean, scatter, weighted.T @ Y, weighted.T @ squares)

    def __add__(self, other: Self) -> Self:
        weight = self.weight + other.weight
        mean = self.mean + (other.mean - self.mean) * (other.weight / weight if weight else 0.0)
        a, b = self._about(mean), other._about(mean)
        return type(self)(
            self.rows + other.rows, weight, mean, *(left + right for left, right in zip(a, b, strict=True))
        )

    def _about(self, centre: Array) -> tuple[Array, Array, Array]:
        """scatter, third and fourth about another centre: y + δ in the place of y, where Σ w y = 0."""
        n, s, delta = self.weight, self.scatter.diagonal(), self.mean - centre
        row, column, square = delta, delta[:, None], delta * delta
        scatter = self.scatter + n * column * row
        third = self.third + s[:, None] * row + 2.0 * column * self.scatter + n * square[:, None] * row
        fourth = self.fourth + 2.0 * (self.third * row + column * self.third.T) + 4.0 * column * self.scatter * row
        fourth += s[:, None] * square + square[:, None] * s + n * square[:, None] * square
        return scatter, third, fourth


def _pieces(block: Block) -> Iterator[tuple[Array, Array]]:
    step = max(1, PIECE // block.rows.shape[1])
    for start in range(0, block.rows.shape[0], step):
        rows = dense(block.rows[start : start + step])
        yield rows, np.ones(len(rows)) if block.weight is None else block.weight[start : start + step]
