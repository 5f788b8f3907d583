"""Three structures of a covariance matrix, and all that a Gaussian wants of one; nothing else asks which it is.

Deviations with missing entries under any covariance, one pattern of gaps after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from eigenlens.arrays import Array, read_only
from eigenlens.densities.base import Columns, other_columns, rows_by_pattern
from eigenlens.errors import OptionError
from eigenlens.native.mixture_incomplete import gaps_filled, gaps_log_joint

__all__ = [
    "COVARIANCES",
    "Covariance",
    "Diagonal",
    "Full",
    "Spherical",
    "dependent_column",
    "expected_by_pattern",
    "log_density_by_pattern",
]

MIN_PIVOT_SHARE = 8.0 * float(np.finfo(np.float64).eps)
"""What is left of a column's variance by the columns before it is rounding if it is below d times this share."""


class Covariance(Protocol):
    """A positive definite matrix (d, d) by what it can do. |whiten(x)|² is the squared Mahalanobis distance of x."""

    @property
    def size(self) -> int:
        """d."""
        ...

    @property
    def variances(self) -> Array:
        """The diagonal (d,)."""
        ...

    @property
    def log_determinant(self) -> float:
        """ln |C|."""
        ...

    def matrix(self) -> Array:
        """C (d, d)."""
        ...

    def whiten(self, deviations: Array) -> Array:
        """Deviations (n, d) from the mean to (n, d) of covariance I."""
        ...

    def colour(self, z: Array) -> Array:
        """Standard normal draws (n, d) to draws of covariance C."""
        ...

    @property
    def free(self) -> int:
        """How many numbers can be chosen."""
        ...

    def degrees(self, weight: Array) -> Array:
        """The number (d,) of deviations behind each variance, if column j has weight_j of them."""
        ...

    def errors(self, weight: Array) -> Array:
        """Standard errors of the covariances, estimated by maximum likelihood: (d, d), or (d,) if the others are 0."""
        ...

    def part(self, columns: Columns) -> Covariance:
        """The rows and columns of C that belong to these columns; the same structure."""
        ...

    def given(self, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Covariance]:
        """Expected deviations (n, m) of the columns `rest`, given those (n, o) of `columns`, and their covariance."""
        ...

    def observed_log_density(self, deviations: Array) -> Array:
        """ln N(x_o | 0, C_oo) (n,) of finite deviations (n, d) in which NaN is missing; 0 where all are."""
        ...

    def expected(self, deviations: Array) -> tuple[Array, Array]:
        """Those deviations with what is expected in the place of NaN, and its deviation there (n, d), else 0."""
        ...


@dataclass(frozen=True, eq=False)
class Full:
    """Any positive definite matrix.

    Attributes:
        entries: C (d, d), symmetric; the lower triangle counts.

    Factored once, when first needed: d³/3 flops; a row costs d² then.

    >>> C = Full(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> C.whiten(np.array([[2.0, 5.0]])), round(np.exp(C.log_determinant), 6)
    (array([[1., 2.]]), np.float64(16.0))
    """

    entries: Array

    def __post_init__(self) -> None:
        read_only(self, "entries")

    @property
    def size(self) -> int:
        """d."""
        return len(self.entries)

    @property
    def variances(self) -> Array:
        """The diagonal (d,)."""
        return np.asarray(self.entries.diagonal())

    def matrix(self) -> Array:
        """C (d, d)."""
        return self.entries

    @cached_property
    def factor(self) -> Array:
        """L (d, d), lower triangular, with L Lᵀ = C."""
        try:
            L = np.linalg.cholesky(self.entries)
        except np.linalg.LinAlgError:
            raise _singular_error(self.entries) from None
        if not np.all(L.diagonal() ** 2 > self.size * MIN_PIVOT_SHARE * self.variances):  # NaN is refused too
            raise _singular_error(self.entries)
        return np.asarray(L)

    @cached_property
    def regular(self) -> bool:
        """Whether there is a factor."""
        try:
            return bool(self.factor.size == self.entries.size)
        except OptionError:
            return False

    @cached_property
    def root(self) -> Array:
        """L⁻¹ (d, d), lower triangular: what whitens."""
        return np.asarray(solve_triangular(self.factor, np.eye(self.size), lower=True, check_finite=False))

    @cached_property
    def log_determinant(self) -> float:
        """ln |C|, twice the sum of ln L_jj."""
        return float(2.0 * np.sum(np.log(self.factor.diagonal())))

    def whiten(self, deviations: Array) -> Array:
        """L⁻¹ x for each row x."""
        return np.asarray(deviations @ self.root.T)

    def colour(self, z: Array) -> Array:
        """L z for each row z."""
        return np.asarray(z @ self.factor.T)

    @property
    def free(self) -> int:
        """d (d + 1) / 2."""
        return self.size * (self.size + 1) // 2

    def degrees(self, weight: Array) -> Array:
        """weight (d,): each column has its own variance."""
        return weight

    def errors(self, weight: Array) -> Array:
        """√((c_jj c_kk + c_jk²) / n) (d, d), the inverse Fisher information (Anderson 2003, theorem 3.4.4)."""
        v = self.variances
        return np.asarray(np.sqrt((np.outer(v, v) + self.entries**2) / np.sqrt(np.outer(weight, weight))))

    def part(self, columns: Columns) -> Full:
        """The rows and columns of C that belong to these columns."""
        return Full(_block(self.entries, columns, columns))

    def given(self, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Full]:
        """C_mo C_oo⁻¹ x_o (n, m), and C_mm − C_mo C_oo⁻¹ C_om, the Schur complement."""
        seen = self.part(columns)
        half = seen.root @ _block(self.entries, columns, rest)
        left = _block(self.entries, rest, rest) - half.T @ half
        return np.asarray(seen.whiten(deviations) @ half), Full(0.5 * (left + left.T))

    def observed_log_density(self, deviations: Array) -> Array:
        """By one elimination for each pattern; if C is singular, each C_oo is looked at on its own."""
        if not self.regular:
            return log_density_by_pattern(self, deviations)
        return np.asarray(gaps_log_joint(deviations, *self._alone())[:, 0])

    def expected(self, deviations: Array) -> tuple[Array, Array]:
        """As `observed_log_density`."""
        return gaps_filled(deviations, *self._alone()) if self.regular else expected_by_pattern(self, deviations)

    def _alone(self) -> tuple[Array, Array, Array]:
        """The logarithm of the weight, the mean and the covariance of a mixture of one."""
        return np.zeros(1), np.zeros((1, self.size)), self.entries[None]


@dataclass(frozen=True, eq=False)
class Diagonal:
    """Independent columns.

    Attributes:
        variances: (d,), positive.

    >>> Diagonal(np.array([4.0, 9.0])).whiten(np.array([[2.0, 3.0]]))
    array([[1., 1.]])
    """

    variances: Array

    def __post_init__(self) -> None:
        read_only(self, "variances")

    @property
    def size(self) -> int:
        """d."""
        return len(self.variances)

    def matrix(self) -> Array:
        """C (d, d)."""
        return np.diag(self.variances)

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations (d,)."""
        bad = np.flatnonzero(~(self.variances > 0.0))
        if bad.size:
            raise OptionError(f"the variance {self.variances[bad[0]]:g} of column {bad[0]} must be above 0.")
        return np.sqrt(self.variances)

    @cached_property
    def log_determinant(self) -> float:
        """ln |C|."""
        return float(2.0 * np.sum(np.log(self.deviations)))

    def whiten(self, deviations: Array) -> Array:
        """x_j / sigma_j for each row x."""
        return np.asarray(deviations / self.deviations)

    def colour(self, z: Array) -> Array:
        """sigma_j z_j for each row z."""
        return np.asarray(z * self.deviations)

    @property
    def free(self) -> int:
        """d."""
        return self.size

    def degrees(self, weight: Array) -> Array:
        """weight (d,): each column has its own variance."""
        return weight

    def errors(self, weight: Array) -> Array:
        """c_j √(2 / n_j) (d,)."""
        return np.asarray(self.variances * np.sqrt(2.0 / self.degrees(weight)))

    def part(self, columns: Columns) -> Diagonal:
        """The variances of these columns."""
        return Diagonal(self.variances[np.asarray(columns, dtype=np.intp)])

    def given(self, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Diagonal]:
        """0 (n, m) and the variances as they are: one column says nothing of another."""
        return np.zeros((len(deviations), len(rest))), self.part(rest)

    def observed_log_density(self, deviations: Array) -> Array:
        """The sum over the columns that are there."""
        seen, z = ~np.isnan(deviations), self.whiten(deviations)
        return np.asarray(-0.5 * (np.nansum(z * z, axis=1) + seen @ np.log(2.0 * np.pi * self.variances)))

    def expected(self, deviations: Array) -> tuple[Array, Array]:
        """0, and the deviation of the column."""
        missing = np.isnan(deviations)
        return np.where(missing, 0.0, deviations), np.where(missing, self.deviations, 0.0)


@dataclass(frozen=True, eq=False)
class Spherical:
    """One variance for every column, none correlated.

    Attributes:
        variance: positive. size: d.

    >>> Spherical(4.0, 2).matrix()
    array([[4., 0.], [0., 4.]])
    """

    variance: float
    size: int

    @property
    def variances(self) -> Array:
        """The diagonal (d,)."""
        return np.full(self.size, self.variance)

    def matrix(self) -> Array:
        """C (d, d)."""
        return np.diag(self.variances)

    @property
    def deviation(self) -> float:
        """The standard deviation of every column."""
        if not self.variance > 0.0:
            raise OptionError(f"the variance {self.variance:g} must be above 0.")
        return float(np.sqrt(self.variance))

    @property
    def log_determinant(self) -> float:
        """ln |C|."""
        return float(2.0 * self.size * np.log(self.deviation))

    def whiten(self, deviations: Array) -> Array:
        """x / sigma for each row x."""
        return np.asarray(deviations / self.deviation)

    def colour(self, z: Array) -> Array:
        """sigma z for each row z."""
        return np.asarray(z * self.deviation)

    @property
    def free(self) -> int:
        """1."""
        return 1

    def degrees(self, weight: Array) -> Array:
        """Σ weight for every column: all of them share the variance."""
        return np.full(self.size, weight.sum())

    def errors(self, weight: Array) -> Array:
        """c √(2 / Σ n_j) for every column (d,)."""
        return np.asarray(self.variances * np.sqrt(2.0 / self.degrees(weight)))

    def part(self, columns: Columns) -> Spherical:
        """The same variance, fewer columns."""
        return Spherical(self.variance, len(columns))

    def given(self, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Spherical]:
        """0 (n, m) and the variance as it is: one column says nothing of another."""
        return np.zeros((len(deviations), len(rest))), self.part(rest)

    def observed_log_density(self, deviations: Array) -> Array:
        """The sum over the columns that are there."""
        return Diagonal(self.variances).observed_log_density(deviations)

    def expected(self, deviations: Array) -> tuple[Array, Array]:
        """0, and the deviation of every column."""
        return Diagonal(self.variances).expected(deviations)


def dependent_column(C: Array) -> int | None:
    """The first column of C (d, d) that the columns before it determine, all but for rounding; None if there is none.

    >>> dependent_column(np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 1.0]]))
    2
    """
    L = np.zeros_like(C, dtype=np.float64)
    for j in range(len(C)):
        head = L[j, :j] = _solve_lower(L[:j, :j], C[:j, j])
        left = C[j, j] - head @ head
        if not left > len(C) * MIN_PIVOT_SHARE * C[j, j]:
            return j
        L[j, j] = np.sqrt(left)
    return None


def _block(C: Array, rows: Columns, columns: Columns) -> Array:
    return np.asarray(C[np.ix_(np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp))])


def _solve_lower(L: Array, b: Array) -> Array:
    return np.asarray(solve_triangular(L, b, lower=True, check_finite=False)) if len(b) else b


def _singular_error(C: Array) -> OptionError:
    j = dependent_column(C)
    what = "its lower triangle is not positive definite"
    if j is not None:
        what = f"column {j} has no variance that the columns before it do not explain" if j else "column 0 has none"
    return OptionError(
        f"covariance ({len(C)}, {len(C)}) is singular: {what}. Leave that column out, add to the diagonal, "
        "or take Diagonal or a model with fewer dimensions (LinearGaussian)."
    )


COVARIANCES: dict[str, Callable[..., Covariance]] = {"full": Full, "diagonal": Diagonal, "spherical": Spherical}
"""The structures by name."""


def log_density_by_pattern(C: Covariance, deviations: Array) -> Array:
    """ln N(x_o | 0, C_oo) (n,) of deviations (n, d) in which NaN is missing; 0 where all are."""
    found = np.zeros(len(deviations))
    for mine, seen in rows_by_pattern(deviations):
        if seen.size:
            part = C.part(seen)
            z = part.whiten(deviations[mine][:, seen])
            found[mine] = np.einsum("ij,ij->i", z, z) + seen.size * np.log(2.0 * np.pi) + part.log_determinant
    return -0.5 * found


def expected_by_pattern(C: Covariance, deviations: Array) -> tuple[Array, Array]:
    """Those deviations with what is expected in the place of NaN, and its deviation there (n, d), else 0."""
    filled, spread, numbers = deviations.copy(), np.zeros(deviations.shape), np.arange(len(deviations))
    for mine, seen in rows_by_pattern(deviations):
        gaps = other_columns(seen, deviations.shape[1])
        shift, left = C.given(seen, gaps, deviations[mine][:, seen])
        where = np.ix_(numbers[mine], gaps)
        filled[where], spread[where] = shift, np.sqrt(np.maximum(left.variances, 0.0))
    return filled, spread
