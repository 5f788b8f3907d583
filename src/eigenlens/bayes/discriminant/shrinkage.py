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
from eigenlens.stats.moments import merge_means

__all__ = [
    "SHRINKAGE_RULES",
    "SHRINKAGE_TARGETS",
    "PairMoments",
    "QuarticMoments",
    "ledoit_wolf",
    "pairwise_intensity",
    "power_of_two_units",
    "quartic_sums",
    "shrinkage_intensity",
]  # fmt: skip

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)

QUARTIC_PIECE_ENTRIES = 1 << 20
"""Entries of rows that are worked on at a time."""


# ---- towards what -------------------------------------------------------------------------------------------


def own_variances(variances: Array) -> Array:
    """The variances (d,) themselves: covariances shrink, variances stay."""
    return variances


def mean_variance(variances: Array) -> Array:
    """The mean variance, for each of d columns."""
    return np.full_like(variances, variances.mean())


SHRINKAGE_TARGETS: dict[str, Callable[[Array], Array]] = {"diagonal": own_variances, "identity": mean_variance}
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


SHRINKAGE_RULES: dict[str, Callable[[float, int, float, float, float], float]] = {"ledoit-wolf": ledoit_wolf}
"""Rules for the intensity a, by name, as `ledoit_wolf` is called."""


def shrinkage_intensity(rule: str, S: Array, moments: QuarticMoments, target: Array) -> float:
    """The intensity a for a covariance S (d, d), of divisor Σw, from the moments of its rows, and a target (d,).

    Columns are divided by the root of the target; those of target 0 are left out.
    """
    root = _inverse(np.sqrt(target))
    R, share = root[:, None] * S * root, (moments.unit * root) ** 2
    quartic = float(share @ moments.fourth @ share)
    d = int(np.count_nonzero(root))
    return SHRINKAGE_RULES[rule](moments.weight, d, float(np.trace(R)), float(np.sum(R * R)), quartic)


def quartic_sums(D: Array, weight: Array, target: Array) -> tuple[float, float, float]:
    """trace and square of S, and the quartic sum, of deviations D (n, d) in units of the target, by D Dᵀ (n, n)."""
    scaled = D * _inverse(np.sqrt(target))
    G = scaled @ scaled.T
    lengths, n = G.diagonal(), float(weight.sum())
    return float(weight @ lengths) / n, float(weight @ (G * G) @ weight) / n**2, float(weight @ lengths**2)


def pairwise_intensity(rule: str, pairs: PairMoments, target: Callable[[Array], Array]) -> float:
    """The intensity a from rows with gaps: each covariance by the rows that have both entries, and its error by these.

    Of complete rows it is that of `shrinkage_intensity`.
    """
    n = np.where(pairs.weight > 0.0, pairs.weight, 1.0)
    S = pairs.second / n
    root = _inverse(np.sqrt(target(S.diagonal() * pairs.unit**2))) * pairs.unit
    R = root[:, None] * S * root
    errors = np.outer(root, root) ** 2 * (pairs.fourth / n - S * S) / n
    square, error = float(np.sum(R * R)), float(np.sum(errors))
    return SHRINKAGE_RULES[rule](
        1.0, int(np.count_nonzero(root)), float(np.trace(R)), square, square + error
    )  # n is in it


def _inverse(root: Array) -> Array:
    """1 / root, and 0 for 0."""
    return np.asarray(np.divide(1.0, root, out=np.zeros_like(root), where=root > 0.0))


def power_of_two_units(reach: Array) -> Array:
    """Powers of two (d,) just above the reach (d,) of columns: a change to these units is exact, but for underflow.

    >>> power_of_two_units(np.array([3.0, 100.0, 0.25])), power_of_two_units(np.zeros(1)) > 0.0
    (array([  4. , 128. ,   0.5]), array([ True]))
    """
    exponent = np.frexp(np.where(reach > 0.0, reach, SMALLEST_NORMAL))[1]
    return np.ldexp(1.0, np.minimum(exponent, 1023))


# ---- moments for it, which merge ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class QuarticMoments:
    """Moments of rows up to those of fourth order that Ledoit and Wolf's rule needs; halves merge to the whole.

        scatter_jk = Σ w y_j y_k,   third_jk = Σ w z_j² z_k,   fourth_jk = Σ w z_j² z_k²;   y = x − mean,  z = y / u

    Attributes:
        rows: rows of positive weight. weight: Σw. mean: (d,). unit: u (d,), powers of two; fourth powers of what is
            large or small in other units would leave the range of numbers. scatter, third, fourth: (d, d).

    >>> X = np.array([[1.0, 0.0], [2.0, 3.0], [6.0, 3.0]])
    >>> whole, halves = QuarticMoments.of(Block(X)), QuarticMoments.of(Block(X[:1])) + QuarticMoments.of(Block(X[1:]))
    >>> np.allclose(whole.fourth, halves.fourth), whole.unit, whole.fourth[0] * 4.0**4
    (True, array([4., 4.]), array([98., 26.]))
    """

    rows: int
    weight: float
    mean: Array
    unit: Array
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
        unit = power_of_two_units(np.max(np.abs(Y), axis=0))
        Z = Y / unit
        squares = Z * Z
        weighted = squares * w[:, None]
        scatter = (Y * w[:, None]).T @ Y
        return cls(int(np.count_nonzero(w)), total, mean, unit, scatter, weighted.T @ Z, weighted.T @ squares)

    def __add__(self, other: Self) -> Self:
        weight, mean, apart, _ = merge_means(self, other)
        unit = np.maximum(np.maximum(self.unit, other.unit), power_of_two_units(np.abs(apart)))
        a, b = self._about(mean, unit), other._about(mean, unit)
        sums = (left + right for left, right in zip(a, b, strict=True))
        return type(self)(self.rows + other.rows, weight, mean, unit, *sums)

    def _about(self, centre: Array, unit: Array) -> tuple[Array, Array, Array]:
        """scatter, third and fourth about another centre in other units: z + δ in the place of z, where Σ w z = 0."""
        n, shift, share = self.weight, self.mean - centre, self.unit / unit
        scatter = self.scatter + n * shift[:, None] * shift
        C, row = self.scatter / unit / unit[:, None], shift / unit
        s, column, square = C.diagonal(), row[:, None], row * row
        powers = (share * share)[:, None]
        T, F = powers * self.third * share, powers * self.fourth * powers.T
        third = T + s[:, None] * row + 2.0 * column * C + n * square[:, None] * row
        fourth = F + 2.0 * (T * row + column * T.T) + 4.0 * column * C * row
        fourth += s[:, None] * square + square[:, None] * s + n * square[:, None] * square
        return scatter, third, fourth


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Sums over the rows that have both of two entries, about a centre and in units that are given; these sums add up.

    Attributes:
        unit: u (d,), powers of two. weight: (d, d) Σw. second: (d, d) Σ w z_j z_k. fourth: (d, d) Σ w z_j² z_k²,
            z_j = (x − centre)_j / u_j.

    >>> X = np.array([[1.0, np.nan], [2.0, 3.0], [6.0, 3.0]])
    >>> PairMoments.of(Block(X), np.array([3.0, 3.0]), np.ones(2)).weight
    array([[3., 2.], [2., 2.]])
    """

    unit: Array
    weight: Array
    second: Array
    fourth: Array

    @classmethod
    def of(cls, block: Block, centre: Array, unit: Array) -> Self:
        """The sums of rows (b, d) about a centre (d,), in units (d,). Cost 3 b d² flops."""
        return reduce(operator.add, (cls._piece(X, w, centre, unit) for X, w in _pieces(block)))

    @classmethod
    def _piece(cls, X: Array, w: Array, centre: Array, unit: Array) -> Self:
        there = ~np.isnan(X)
        Z, each = np.where(there, (X - centre) / unit, 0.0), w[:, None]
        M, squares = there.astype(np.float64), Z * Z
        return cls(unit, (M * each).T @ M, (Z * each).T @ Z, (squares * each).T @ squares)

    def __add__(self, other: Self) -> Self:
        sums = (self.weight + other.weight, self.second + other.second, self.fourth + other.fourth)
        return type(self)(self.unit, *sums)


def _pieces(block: Block) -> Iterator[tuple[Array, Array]]:
    step = max(1, QUARTIC_PIECE_ENTRIES // block.rows.shape[1])
    for start in range(0, block.rows.shape[0], step):
        rows = dense(block.rows[start : start + step])
        yield rows, np.ones(len(rows)) if block.weight is None else block.weight[start : start + step]
