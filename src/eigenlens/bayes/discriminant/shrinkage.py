"""Shrinkage of covariances towards a simpler target, for few rows or more columns than rows, and its intensity.

    C = (1 − a) S + a T,    T the diagonal of S, or its mean variance times I

With T the diagonal, C follows a change of units of the columns; with T a multiple of I it does not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from numbers import Real
from typing import Any, Self

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, dense
from eigenlens.data.source import Block
from eigenlens.densities.covariance_axes import inverse_or_zero
from eigenlens.errors import OptionError
from eigenlens.stats.block_moments import add_exactly
from eigenlens.stats.moments import MergedMeans, merge_means

SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)
"""The smallest positive number of full precision: the unit of a column without any deviation."""

QUARTIC_PIECE_ENTRIES = 1 << 20
"""Entries of rows that are worked on at a time; their squares and fourth powers are as large."""

Target = Callable[[Array], Array]
Rule = Callable[[float, int, float, float, float], float]
TARGET_ARGUMENTS, RULE_ARGUMENTS = "variances", "n, d, trace, square, quartic"
"""What functions of the user's are called with."""


# ---- targets --------------------------------------------------------------------------------------------------


def own_variances(variances: Array) -> Array:
    """Return the variances (d,) themselves: covariances shrink, variances stay."""
    return variances


def mean_variance(variances: Array) -> Array:
    """Return the mean variance, once for each of d columns."""
    return np.full_like(variances, variances.mean())


SHRINKAGE_TARGETS: dict[str, Target] = {"diagonal": own_variances, "identity": mean_variance}
"""Targets T by name: each returns the diagonal (d,) of T for the variances (d,) of the columns."""


def find_target(target: str | Target) -> Target:
    """Return the target of a name, or the user's own function, whose answers are checked."""
    return SHRINKAGE_TARGETS[target] if isinstance(target, str) else partial(_own_target, target)


def _own_target(target: Target, variances: Array) -> Array:
    found = checks.finite("target", target(variances))
    if found.shape not in ((), variances.shape) or not np.all(found >= 0.0):
        what = f"gives an array of shape {found.shape}, and must give {variances.size} numbers from 0 on"
        raise OptionError(what, argument="target", value=target)
    return np.broadcast_to(found, variances.shape)


# ---- intensities ----------------------------------------------------------------------------------------------


def ledoit_wolf(n: float, d: int, trace: float, square: float, quartic: float) -> float:
    """Return the a in [0, 1] that minimises the expected squared error of C in Frobenius norm.

    Ledoit and Wolf (2004), lemmas 3.2 to 3.5.

    Args:
        n: Σw. d: number of columns, in units in which T is a multiple of I.
        trace: tr S. square: Σ_jk S_jk². quartic: Σ_i w_i |x_i − mean|⁴; S has the divisor n.

    >>> ledoit_wolf(4.0, 2, trace=2.0, square=4.0, quartic=32.0)
    0.5
    """
    error, spread = (quartic / n - square) / n, square - trace**2 / max(d, 1)
    if not error > 0.0 or not spread > 0.0:
        return 0.0
    return min(1.0, error / spread)


SHRINKAGE_RULES: dict[str, Rule] = {"ledoit-wolf": ledoit_wolf}
"""Rules for the intensity a by name, with the arguments of `ledoit_wolf`."""


def find_rule(rule: str | Rule) -> Rule:
    """Return the rule of a name, or the user's own function, whose answers are checked."""
    return SHRINKAGE_RULES[rule] if isinstance(rule, str) else partial(_own_intensity, rule)


def _own_intensity(rule: Rule, *arguments: Any) -> float:
    found: Any = rule(*arguments)
    if not isinstance(found, Real) or not 0.0 <= float(found) <= 1.0:
        raise OptionError(f"gives {found!r}, and must give a number from 0 to 1", argument="shrinkage", value=rule)
    return float(found)


def shrinkage_intensity(rule: str | Rule, S: Array, moments: QuarticMoments, target: Array) -> float:
    """Return the intensity a for a covariance S (d, d) of divisor Σw, from the moments of its rows.

    Columns are divided by the root of the target's diagonal (d,); those of target 0 are left out.
    """
    root = inverse_or_zero(np.sqrt(target))
    R, share = root[:, None] * S * root, (moments.unit * root) ** 2
    quartic = float(share @ moments.fourth @ share)
    d = int(np.count_nonzero(root))
    return find_rule(rule)(moments.weight, d, float(np.trace(R)), float(np.sum(R * R)), quartic)


def quartic_sums(D: Array, weight: Array, target: Array) -> tuple[float, float, float]:
    """Return trace and square of S, and the quartic sum, of deviations D (n, d) in units of the target, by D Dᵀ."""
    scaled = D * inverse_or_zero(np.sqrt(target))
    G = scaled @ scaled.T
    lengths, n = G.diagonal(), float(weight.sum())
    return float(weight @ lengths) / n, float(weight @ (G * G) @ weight) / n**2, float(weight @ lengths**2)


def pairwise_intensity(rule: str | Rule, pairs: PairMoments, target: str | Target) -> float:
    """Return the intensity a from incomplete rows: each covariance by the rows that have both entries.

    For complete rows it is that of `shrinkage_intensity`.
    """
    n = np.where(pairs.weight > 0.0, pairs.weight, 1.0)
    S = pairs.second / n
    root = inverse_or_zero(np.sqrt(find_target(target)(S.diagonal() * pairs.unit**2))) * pairs.unit
    R = root[:, None] * S * root
    errors = np.outer(root, root) ** 2 * (pairs.fourth / n - S * S) / n
    square, error = float(np.sum(R * R)), float(np.sum(errors))
    # Each error is divided by its own number of rows above, so the rule is called as if for one row.
    return find_rule(rule)(1.0, int(np.count_nonzero(root)), float(np.trace(R)), square, square + error)


def power_of_two_units(reach: Array) -> Array:
    """Return powers of two (d,) just above the largest deviations (d,): such a change of units rounds nothing.

    >>> power_of_two_units(np.array([3.0, 100.0, 0.25])), power_of_two_units(np.zeros(1)) > 0.0
    (array([  4. , 128. ,   0.5]), array([ True]))
    """
    exponent = np.frexp(np.where(reach > 0.0, reach, SMALLEST_NORMAL))[1]
    return np.ldexp(1.0, np.minimum(exponent, 1023))


# ---- moments of fourth order, which merge ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class QuarticMoments:
    """Moments of rows up to those of fourth order that the rule of Ledoit and Wolf needs; halves merge to the whole.

        scatter_jk = Σ w y_j y_k,   third_jk = Σ w z_j² z_k,   fourth_jk = Σ w z_j² z_k²;   y = x − mean,  z = y / u

    Attributes:
        rows: number of rows with positive weight. weight: Σw. mean: (d,).
        unit: u (d,), powers of two; without them fourth powers of large or small numbers overflow or underflow.
        scatter, third, fourth: (d, d).
        rest: (d,) what the mean lost by rounding, or 0.

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
    rest: Any = 0.0

    @classmethod
    def of(cls, block: Block) -> Self:
        """Return the moments of one block of rows (b, d). Cost 3 b d² flops."""
        return reduce(operator.add, (cls._of_piece(X, w) for X, w in _pieces(block)))

    @classmethod
    def _of_piece(cls, X: Array, w: Array) -> Self:
        total = float(w.sum())
        delta = (w @ (X - X[0])) / (total or 1.0)
        mean, rest = add_exactly(X[0], delta)
        Y = (X - X[0]) - delta
        unit = power_of_two_units(np.max(np.abs(Y), axis=0))
        Z = Y / unit
        squares = Z * Z
        weighted = squares * w[:, None]
        scatter = (Y * w[:, None]).T @ Y
        return cls(int(np.count_nonzero(w)), total, mean, unit, scatter, weighted.T @ Z, weighted.T @ squares, rest)

    def over(self, scale: Array) -> Self:
        """Return the moments of the columns over `scale` (d,): those in units of their own stay the same."""
        scatter = self.scatter / np.outer(scale, scale)
        return replace(self, mean=self.mean / scale, unit=self.unit / scale, scatter=scatter, rest=self.rest / scale)

    def __add__(self, other: Self) -> Self:
        both = merge_means(self, other)
        unit = np.maximum(np.maximum(self.unit, other.unit), power_of_two_units(np.abs(both.delta)))
        a, b = self._about(both, unit), other._about(both, unit)
        scatter, third, fourth = (left + right for left, right in zip(a, b, strict=True))
        return type(self)(self.rows + other.rows, both.weight, both.mean, unit, scatter, third, fourth, both.rest)

    def _about(self, centre: MergedMeans, unit: Array) -> tuple[Array, Array, Array]:
        """Return scatter, third and fourth about another centre in other units: z + δ for z, where Σ w z = 0."""
        n, share = self.weight, self.unit / unit
        shift = (self.mean - centre.mean) + (self.rest - centre.rest)
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
    """Sums over the rows that have both of two entries, about a given centre and in given units.

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
        """Return the sums of rows (b, d) about a centre (d,), in units (d,). Cost 3 b d² flops."""
        return reduce(operator.add, (cls._of_piece(X, w, centre, unit) for X, w in _pieces(block)))

    @classmethod
    def _of_piece(cls, X: Array, w: Array, centre: Array, unit: Array) -> Self:
        observed = ~np.isnan(X)
        Z, each = np.where(observed, (X - centre) / unit, 0.0), w[:, None]
        M, squares = observed.astype(np.float64), Z * Z
        return cls(unit, (M * each).T @ M, (Z * each).T @ Z, (squares * each).T @ squares)

    def __add__(self, other: Self) -> Self:
        sums = (self.weight + other.weight, self.second + other.second, self.fourth + other.fourth)
        return type(self)(self.unit, *sums)


def _pieces(block: Block) -> Iterator[tuple[Array, Array]]:
    """Yield dense rows and their weights, one piece of a block at a time."""
    step = max(1, QUARTIC_PIECE_ENTRIES // block.rows.shape[1])
    for start in range(0, block.rows.shape[0], step):
        rows = dense(block.rows[start : start + step])
        yield rows, np.ones(len(rows)) if block.weight is None else block.weight[start : start + step]
