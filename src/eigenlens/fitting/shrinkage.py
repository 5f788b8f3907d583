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

__all__ = [
    "RULES", "TARGETS", "PairMoments", "QuarticMoments", "intensity", "intensity_of_pairs", "ledoit_wolf",
    "quartic_of_rows",
]  # fmt: skip

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
    inverse = _inverse(target)
    root = np.sqrt(inverse)
    R = root[:, None] * S * root
    quartic = float(inverse @ fourth @ inverse)
    return RULES[rule](n, int(np.count_nonzero(inverse)), float(np.trace(R)), float(np.sum(R * R)), quartic)


def quartic_of_rows(D: Array, weight: Array, target: Array) -> tuple[float, float, float]:
    """trace and square of S, and the quartic sum, of deviations D (n, d) in units of the target, by D Dᵀ (n, n)."""
    inverse = _inverse(target)
    G = (D * inverse) @ D.T
    lengths, n = G.diagonal(), float(weight.sum())
    return float(weight @ lengths) / n, float(weight @ (G * G) @ weight) / n**2, float(weight @ lengths**2)


def intensity_of_pairs(rule: str, pairs: PairMoments, target: Callable[[Array], Array]) -> float:
    """The intensity a from rows with gaps: each covariance by the rows that have both entries, and its error by these.

    Of complete rows it is that of `intensity`.
    """
    n = np.where(pairs.weight > 0.0, pairs.weight, 1.0)
    S = pairs.second / n
    inverse = _inverse(target(S.diagonal()))
    root = np.sqrt(inverse)
    R, errors = root[:, None] * S * root, np.outer(inverse, inverse) * (pairs.fourth / n - S * S) / n
    square, error = float(np.sum(R * R)), float(np.sum(errors))
    return RULES[rule](1.0, int(np.count_nonzero(inverse)), float(np.trace(R)), square, square + error)  # n is in it


def _inverse(target: Array) -> Array:
    return np.asarray(np.divide(1.0, target, out=np.zeros_like(target), where=target > 0.0))


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


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Sums over the rows that have both of two entries, about a centre that is given; sums of halves add up.

    Attributes:
        weight: (d, d) Σw. second: (d, d) Σ w y_j y_k. fourth: (d, d) Σ w y_j² y_k².

    >>> X = np.array([[1.0, np.nan], [2.0, 3.0], [6.0, 3.0]])
    >>> PairMoments.of(Block(X), np.array([3.0, 3.0])).weight
    array([[3., 2.], [2., 2.]])
    """

    weight: Array
    second: Array
    fourth: Array

    @classmethod
    def of(cls, block: Block, centre: Array) -> Self:
        """The sums of rows (b, d) about a centre (d,). Cost 3 b d² flops."""
        return reduce(operator.add, (cls._piece(X, w, centre) for X, w in _pieces(block)))

    @classmethod
    def _piece(cls, X: Array, w: Array, centre: Array) -> Self:
        there = ~np.isnan(X)
        Y, each = np.where(there, X - centre, 0.0), w[:, None]
        M, squares = there.astype(np.float64), Y * Y
        return cls((M * each).T @ M, (Y * each).T @ Y, (squares * each).T @ squares)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.weight + other.weight, self.second + other.second, self.fourth + other.fourth)


def _pieces(block: Block) -> Iterator[tuple[Array, Array]]:
    step = max(1, PIECE // block.rows.shape[1])
    for start in range(0, block.rows.shape[0], step):
        rows = dense(block.rows[start : start + step])
        yield rows, np.ones(len(rows)) if block.weight is None else block.weight[start : start + step]
