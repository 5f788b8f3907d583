"""A covariance given by a few axes and the variance off them: without a d×d matrix where the axes are few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from eigenlens.arrays import Array, read_only
from eigenlens.densities.base import Columns
from eigenlens.densities.covariance import Full, log_density_by_pattern
from eigenlens.laws import Laws, Relations
from eigenlens.linalg.svd import right_singular_vectors
from eigenlens.resources import interruptible_call

MIN_AXIS_SHARE = 64.0 * float(np.finfo(np.float64).eps)
"""A variance below d (or n) times this share of the largest is rounding, and its direction is left out."""


@dataclass(frozen=True, eq=False)
class Axes:
    """The covariance C = diag(s) (V diag(v) Vᵀ + rest (I − V Vᵀ)) diag(s).

    Attributes:
        scale: s (d,). A column of scale 0 does not vary and is left out.
        axes: V (d, r), orthonormal.
        variances_along: v (r,), positive.
        rest: 1.0, or 0.0 where nothing varies off the axes, and distances are along them (the pseudo-inverse).

    A row costs O(dr).

    >>> C = Axes(np.ones(3), np.array([[1.0], [0.0], [0.0]]), np.array([4.0]), 1.0)
    >>> C.matrix().diagonal(), np.sum(C.whiten(np.array([[2.0, 3.0, 0.0]])) ** 2)
    (array([4., 1., 1.]), np.float64(10.0))
    """

    laws: ClassVar[Laws] = {
        "scale": "(d) not negative, of a finite square, 0 or of a finite inverse square",
        "axes": "(d, r) orthonormal columns",
        "variances_along": "(r) positive, of a finite square, 0 or of a finite inverse square",
        "rest": "() 0 or 1",
    }

    relations: ClassVar[Relations] = {
        "a variance along an axis is below that off the axes": lambda C: C.variances_along >= C.rest
    }

    scale: Array
    axes: Array
    variances_along: Array
    rest: float

    def __post_init__(self) -> None:
        read_only(self, "scale", "axes", "variances_along")

    # ---- constructors -----------------------------------------------------------------------------------

    @classmethod
    def of_matrix(cls, C: Array, constant: Array) -> Self:
        """Return the axes of a matrix (d, d); `constant` columns (d,) and directions without variance are left out.

        Columns are scaled to unit variance first, so that the result does not depend on their units. Cost 9 d³.
        """
        scale = np.where(constant, 0.0, np.sqrt(np.maximum(C.diagonal(), 0.0)))
        inverse = inverse_or_zero(scale)
        values, V = interruptible_call(np.linalg.eigh, inverse[:, None] * C * inverse)
        kept = values > len(C) * MIN_AXIS_SHARE * values.max(initial=0.0)
        return cls(scale, np.ascontiguousarray(V[:, kept][:, ::-1]), values[kept][::-1], 0.0)

    @classmethod
    def of_triangle(cls, R: Array, constant: Array) -> Self:
        """Return `of_matrix` of C = Rᵀ R, R (r, d), without making C, which would halve the digits. Cost 15 d³."""
        scale = np.where(constant, 0.0, np.linalg.norm(R, axis=0))
        s, V = right_singular_vectors(R * inverse_or_zero(scale))
        kept = s**2 > len(scale) * MIN_AXIS_SHARE * np.max(s**2, initial=0.0)
        return cls(scale, np.ascontiguousarray(V[:, kept]), s[kept] ** 2, 0.0)

    @classmethod
    def of_rows(cls, B: Array, floor: Array, constant: Array) -> Self:
        """Return the axes of C = Bᵀ B + diag(floor) for rows B (n, d), n below d, by B Bᵀ (n, n). Cost 2 n² d.

        Where the floor (d,) is 0 everywhere, C is Bᵀ B alone, and directions without variance are left out.
        """
        shrunk = bool(np.any(floor > 0.0))
        scale = np.where(constant, 0.0, np.sqrt(floor if shrunk else np.sum(B * B, axis=0)))
        scaled = B * inverse_or_zero(scale)
        values, U = interruptible_call(np.linalg.eigh, scaled @ scaled.T)
        kept = values > len(B) * MIN_AXIS_SHARE * values.max(initial=0.0)
        s = values[kept][::-1]
        V = scaled.T @ (U[:, kept][:, ::-1] / np.sqrt(s))
        return cls(scale, V, s + float(shrunk), float(shrunk))

    # ---- operations ------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number d of columns."""
        return len(self.scale)

    @property
    def rank(self) -> int:
        """The number of directions that vary."""
        return int(np.count_nonzero(self.scale)) if self.rest else len(self.variances_along)

    @property
    def variances(self) -> Array:
        """The diagonal (d,)."""
        return np.asarray(self.scale**2 * (self.rest + self.axes**2 @ (self.variances_along - self.rest)))

    @cached_property
    def log_determinant(self) -> float:
        """The logarithm ln |C|, of the part that varies where not all does; its density is still normalised."""
        along, off = float(np.sum(np.log(self.variances_along))), self.size - self.rank
        if not self.rest and self.rank < np.count_nonzero(self.scale):
            inner = self.scale[:, None] * (self.axes * np.sqrt(self.variances_along))
            along = float(np.sum(np.log(np.linalg.eigvalsh(inner.T @ inner))))
            return along - off * float(np.log(2.0 * np.pi))
        logs = 2.0 * float(np.sum(np.log(self.scale[self.scale > 0.0])))
        return along + logs - off * float(np.log(2.0 * np.pi))

    def matrix(self) -> Array:
        """Return C (d, d)."""
        inner = (self.axes * (self.variances_along - self.rest)) @ self.axes.T
        inner[np.diag_indices_from(inner)] += self.rest
        return np.asarray(self.scale[:, None] * inner * self.scale)

    def whiten(self, deviations: Array) -> Array:
        """Map deviations (n, d) to (n, d), or (n, r) where nothing varies off the axes, of covariance I."""
        y = deviations * inverse_or_zero(self.scale)
        a = y @ self.axes
        if not self.rest:
            return np.asarray(a / np.sqrt(self.variances_along))
        return np.asarray(y + (a * (1.0 / np.sqrt(self.variances_along) - 1.0)) @ self.axes.T)

    def solve(self, deviations: Array) -> Array:
        """Return C⁻¹ x for each row x of deviations (n, d), by the pseudo-inverse of the part that varies."""
        inverse = inverse_or_zero(self.scale)
        y = deviations * inverse
        a = y @ self.axes
        if not self.rest:
            return np.asarray((a / self.variances_along) @ self.axes.T * inverse)
        return np.asarray((y + (a * (1.0 / self.variances_along - 1.0)) @ self.axes.T) * inverse)

    def colour(self, z: Array) -> Array:
        """Map standard normal draws (n, d) to draws of covariance C."""
        a = z @ self.axes
        y = self.rest * z + (a * (np.sqrt(self.variances_along) - self.rest)) @ self.axes.T
        return np.asarray(y * self.scale)

    @property
    def free(self) -> int:
        """The number of free parameters, d (d + 1) / 2."""
        return self.size * (self.size + 1) // 2

    def degrees(self, weight: Array) -> Array:
        """Return weight (d,)."""
        return weight

    def errors(self, weight: Array) -> Array:
        """Return the standard errors of the full matrix."""
        return Full(self.matrix()).errors(weight)

    def scaled(self, scale: Array) -> Axes:
        """Return the covariance of the columns times `scale` (d,)."""
        return replace(self, scale=self.scale * scale)

    def part(self, columns: Columns) -> Axes:
        """Return the rows and columns of C that belong to these columns. Cost O(o r min(o, r))."""
        chosen = np.asarray(columns, dtype=np.intp)
        factor = self.axes[chosen] * np.sqrt(self.variances_along - self.rest) * (self.scale[chosen] > 0.0)[:, None]
        U, s, _ = np.linalg.svd(factor, full_matrices=False)
        kept = s**2 > max(factor.shape) * MIN_AXIS_SHARE * np.max(s**2, initial=0.0)
        return Axes(self.scale[chosen], U[:, kept], s[kept] ** 2 + self.rest, self.rest)

    def given(self, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Full]:
        """Return the conditional mean and covariance, by the full matrix."""
        return Full(self.matrix()).given(columns, rest, deviations)

    def observed_log_density(self, deviations: Array) -> Array:
        """Return log densities by the full matrix; where directions do not vary, by the axes of each pattern."""
        if self.rank == self.size and (C := Full(self.matrix())).regular:
            return C.observed_log_density(deviations)
        return log_density_by_pattern(self, deviations)

    def expected(self, deviations: Array) -> tuple[Array, Array]:
        """Return expectations by the full matrix."""
        return Full(self.matrix()).expected(deviations)


def inverse_or_zero(scale: Array) -> Array:
    """Return 1 / scale, and 0 for 0."""
    return np.asarray(np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0.0))
