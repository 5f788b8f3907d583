"""Three structures of a covariance matrix, with all operations that a Gaussian needs of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from eigenlens import checks
from eigenlens.arrays import Array, is_plain, read_only
from eigenlens.densities.base import Columns, as_rows, check_columns, check_scale, other_columns, rows_by_pattern
from eigenlens.errors import OptionError
from eigenlens.native.mixture_incomplete import incomplete_filled, incomplete_log_joint
from eigenlens.resources import interruptible_call

MIN_PIVOT_SHARE = 8.0 * float(np.finfo(np.float64).eps)
"""The part of a column's variance that the columns before it leave is rounding if it is below d times this share."""


class Covariance(Protocol):
    """A positive definite matrix (d, d), given by its operations; |whiten(x)|² is the squared Mahalanobis distance."""

    @property
    def size(self) -> int:
        """The number d of columns."""

    @property
    def variances(self) -> Array:
        """The diagonal (d,)."""

    @property
    def log_determinant(self) -> float:
        """The logarithm ln |C|."""

    def matrix(self) -> Array:
        """Return C (d, d)."""

    def whiten(self, deviations: Array) -> Array:
        """Map deviations (n, d) from the mean to (n, d) of covariance I; NaN and infinities stay such."""

    def colour(self, z: Array) -> Array:
        """Map standard normal draws (n, d) to draws of covariance C; NaN and infinities stay such."""

    @property
    def free(self) -> int:
        """The number of free parameters."""

    def degrees(self, weight: Array) -> Array:
        """Return the number (d,) of deviations behind each variance, if column j has weight_j of them."""

    def errors(self, weight: Array) -> Array:
        """Return standard errors of the maximum likelihood estimates: (d, d), or (d,) if the others are 0."""

    def scaled(self, scale: Array) -> Covariance:
        """Return the covariance of the columns times `scale` (d,)."""

    def part(self, columns: Columns) -> Covariance:
        """Return the rows and columns of C that belong to these columns, in the same structure."""

    def given(self, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Covariance]:
        """Return expected deviations (n, m) of columns `rest` given those (n, o) of `columns`, and their covariance.

        Deviations of a row that holds NaN are NaN.
        """

    def observed_log_density(self, deviations: Array) -> Array:
        """Return ln N(x_o | 0, C_oo) (n,) of finite deviations (n, d) in which NaN is missing; 0 where all are."""

    def expected(self, deviations: Array) -> tuple[Array, Array]:
        """Return deviations with NaN replaced by its expectation, and its standard deviation there (n, d), else 0."""


@dataclass(frozen=True, eq=False)
class Full:
    """Any positive definite matrix.

    Attributes:
        entries: C (d, d), symmetric; only the lower triangle is read.

    Factored once, when first needed: d³/3 flops; a row costs d² then.

    >>> C = Full(np.array([[4.0, 2.0], [2.0, 5.0]]))
    >>> C.whiten(np.array([[2.0, 5.0]])), round(np.exp(C.log_determinant), 6)
    (array([[1., 2.]]), np.float64(16.0))
    """

    entries: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", checks.finite("entries", self.entries))
        if self.entries.ndim != 2 or self.entries.shape[0] != self.entries.shape[1]:
            what = f"has shape {self.entries.shape}"
            raise OptionError(what, argument="entries", fix="give a matrix (d, d)")
        read_only(self, "entries")

    @property
    def size(self) -> int:
        """The number d of columns."""
        return len(self.entries)

    @property
    def variances(self) -> Array:
        """The diagonal (d,)."""
        return np.asarray(self.entries.diagonal())

    def matrix(self) -> Array:
        """Return C (d, d)."""
        return self.entries

    @cached_property
    def factor(self) -> Array:
        """The Cholesky factor L (d, d), lower triangular, with L Lᵀ = C."""
        try:
            L = np.linalg.cholesky(self.entries)
        except np.linalg.LinAlgError:
            raise _singular_error(self.entries) from None
        if not np.all(L.diagonal() ** 2 > self.size * MIN_PIVOT_SHARE * self.variances):  # NaN is rejected too
            raise _singular_error(self.entries)
        return np.asarray(L)

    @cached_property
    def regular(self) -> bool:
        """Whether there is a Cholesky factor."""
        try:
            return bool(self.factor.size == self.entries.size)
        except OptionError:
            return False

    @cached_property
    def root(self) -> Array:
        """The inverse L⁻¹ (d, d), lower triangular, which whitens."""
        return np.asarray(solve_triangular(self.factor, np.eye(self.size), lower=True, check_finite=False))

    @cached_property
    def log_determinant(self) -> float:
        """The logarithm ln |C|, twice the sum of ln L_jj."""
        return float(2.0 * np.sum(np.log(self.factor.diagonal())))

    def whiten(self, deviations: Array) -> Array:
        """Return L⁻¹ x for each row x."""
        return np.asarray(_rows_of(self, deviations) @ self.root.T)

    def colour(self, z: Array) -> Array:
        """Return L z for each row z."""
        return np.asarray(_rows_of(self, z, "z") @ self.factor.T)

    @property
    def free(self) -> int:
        """The number of free parameters, d (d + 1) / 2."""
        return self.size * (self.size + 1) // 2

    def degrees(self, weight: Array) -> Array:
        """Return weight (d,): each column has its own variance."""
        return _weight_of_columns(self, weight)

    def errors(self, weight: Array) -> Array:
        """Return √((c_jj c_kk + c_jk²) / n) (d, d), the inverse Fisher information (Anderson 2003, theorem 3.4.4)."""
        v, n = self.variances, _weight_of_columns(self, weight)
        return np.asarray(np.sqrt((np.outer(v, v) + self.entries**2) / np.sqrt(np.outer(n, n))))

    def scaled(self, scale: Array) -> Full:
        """Return the covariance of the columns times `scale` (d,)."""
        factors = check_scale(scale, self.size)
        return Full(self.entries * np.outer(factors, factors))

    def part(self, columns: Columns) -> Full:
        """Return the rows and columns of C that belong to these columns."""
        here = check_columns(columns, self.size)
        return Full(self.entries[np.ix_(here, here)])

    def given(self, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Full]:
        """Return C_mo C_oo⁻¹ x_o (n, m), and C_mm − C_mo C_oo⁻¹ C_om, the Schur complement."""
        here, others = check_columns(columns, self.size), check_columns(rest, self.size, "rest")
        seen = self.part(here)
        half = seen.root @ self.entries[np.ix_(here, others)]
        left = self.entries[np.ix_(others, others)] - half.T @ half
        return np.asarray(seen.whiten(deviations) @ half), Full(0.5 * (left + left.T))

    def observed_log_density(self, deviations: Array) -> Array:
        """Return log densities by one elimination per pattern; if C is singular, by each C_oo on its own."""
        deviations = _table_of(self, deviations)
        if not self.regular:
            return log_density_by_pattern(self, deviations)
        return np.asarray(incomplete_log_joint(deviations, *self._alone())[:, 0])

    def expected(self, deviations: Array) -> tuple[Array, Array]:
        """Return expectations by one elimination per pattern, as `observed_log_density` does."""
        deviations = _table_of(self, deviations)
        return incomplete_filled(deviations, *self._alone()) if self.regular else expected_by_pattern(self, deviations)

    def _alone(self) -> tuple[Array, Array, Array]:
        """Return the logarithm of the weight, the mean and the covariance of a mixture of one."""
        return np.zeros(1), np.zeros((1, self.size)), self.entries[None]


class _Uncorrelated:
    """The operations that follow from the variances alone, since the columns are uncorrelated."""

    def matrix(self: Covariance) -> Array:
        """Return C (d, d)."""
        return np.diag(self.variances)

    def errors(self: Covariance, weight: Array) -> Array:
        """Return c_j √(2 / n_j) (d,), n_j the number of deviations behind the variance of column j."""
        return np.asarray(self.variances * np.sqrt(2.0 / self.degrees(weight)))

    def given(self: Covariance, columns: Columns, rest: Columns, deviations: Array) -> tuple[Array, Covariance]:
        """Return 0 (n, m) and the variances unchanged."""
        seen, left = self.part(columns), self.part(check_columns(rest, self.size, "rest"))
        return np.zeros((len(_rows_of(seen, deviations)), left.size)), left

    def observed_log_density(self: Covariance, deviations: Array) -> Array:
        """Return the sum over the observed columns."""
        z = self.whiten(_table_of(self, deviations))
        seen = ~np.isnan(z)
        return np.asarray(-0.5 * (np.nansum(z * z, axis=1) + seen @ np.log(2.0 * np.pi * self.variances)))

    def expected(self: Covariance, deviations: Array) -> tuple[Array, Array]:
        """Return 0, and the standard deviation of the column."""
        deviations = _table_of(self, deviations)
        missing = np.isnan(deviations)
        return np.where(missing, 0.0, deviations), np.where(missing, self.colour(np.ones(self.size)), 0.0)


@dataclass(frozen=True, eq=False)
class Diagonal(_Uncorrelated):
    """The covariance of independent columns.

    Attributes:
        variances: (d,), positive.

    >>> Diagonal(np.array([4.0, 9.0])).whiten(np.array([[2.0, 3.0]]))
    array([[1., 1.]])
    """

    variances: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "variances", checks.finite("variances", self.variances))
        if self.variances.ndim != 1:
            raise OptionError(
                f"has shape {self.variances.shape}", argument="variances", fix="give one per column, (d,)"
            )
        read_only(self, "variances")

    @property
    def size(self) -> int:
        """The number d of columns."""
        return len(self.variances)

    @cached_property
    def deviations(self) -> Array:
        """The standard deviations (d,)."""
        bad = np.flatnonzero(~(self.variances > 0.0))
        if bad.size:
            raise OptionError(f"the variance {self.variances[bad[0]]:g} of column {bad[0]} must be above 0")
        return np.sqrt(self.variances)

    @cached_property
    def log_determinant(self) -> float:
        """The logarithm ln |C|."""
        return float(2.0 * np.sum(np.log(self.deviations)))

    def whiten(self, deviations: Array) -> Array:
        """Return x_j / sigma_j for each row x."""
        return np.asarray(_rows_of(self, deviations) / self.deviations)

    def colour(self, z: Array) -> Array:
        """Return sigma_j z_j for each row z."""
        return np.asarray(_rows_of(self, z, "z") * self.deviations)

    @property
    def free(self) -> int:
        """The number of free parameters, d."""
        return self.size

    def degrees(self, weight: Array) -> Array:
        """Return weight (d,): each column has its own variance."""
        return _weight_of_columns(self, weight)

    def scaled(self, scale: Array) -> Diagonal:
        """Return the covariance of the columns times `scale` (d,)."""
        return Diagonal(self.variances * check_scale(scale, self.size) ** 2)

    def part(self, columns: Columns) -> Diagonal:
        """Return the variances of these columns."""
        return Diagonal(self.variances[check_columns(columns, self.size)])


MAX_COLUMNS = 100_000_000
"""The most columns of a covariance that is one number: a vector of them takes 0.8 GB."""


@dataclass(frozen=True, eq=False)
class Spherical(_Uncorrelated):
    """The covariance of uncorrelated columns with one variance.

    Attributes:
        variance: positive. size: the number d of columns.

    >>> Spherical(4.0, 2).matrix()
    array([[4., 0.], [0., 4.]])
    """

    variance: float
    size: int

    def __post_init__(self) -> None:
        given = checks.finite("variance", self.variance)
        if given.ndim:
            raise OptionError("must be one number", argument="variance", value=self.variance)
        object.__setattr__(self, "variance", float(given))
        checks.integer("size", self.size, 0, MAX_COLUMNS)

    @property
    def variances(self) -> Array:
        """The diagonal (d,)."""
        return np.full(self.size, self.variance)

    @property
    def deviation(self) -> float:
        """The standard deviation of every column."""
        if not self.variance > 0.0:
            raise OptionError("must be above 0", argument="variance", value=self.variance)
        return float(np.sqrt(self.variance))

    @property
    def log_determinant(self) -> float:
        """The logarithm ln |C|."""
        return float(2.0 * self.size * np.log(self.deviation))

    def whiten(self, deviations: Array) -> Array:
        """Return x / sigma for each row x."""
        return np.asarray(_rows_of(self, deviations) / self.deviation)

    def colour(self, z: Array) -> Array:
        """Return sigma z for each row z."""
        return np.asarray(_rows_of(self, z, "z") * self.deviation)

    @property
    def free(self) -> int:
        """The number of free parameters, 1."""
        return 1

    def degrees(self, weight: Array) -> Array:
        """Return Σ weight for every column: all of them share the variance."""
        return np.full(self.size, _weight_of_columns(self, weight).sum())

    def scaled(self, scale: Array) -> Diagonal:
        """Return the covariance of the columns times `scale` (d,), which are no longer of one variance."""
        return Diagonal(self.variances * check_scale(scale, self.size) ** 2)

    def part(self, columns: Columns) -> Spherical:
        """Return the same variance for fewer columns."""
        return Spherical(self.variance, len(check_columns(columns, self.size)))


def dependent_column(C: Array) -> int | None:
    """Return the first column of C (d, d) that those before it determine up to rounding; None if there is none.

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


def _rows_of(C: Covariance, rows: Array, argument: str = "deviations") -> Array:
    """Return rows (..., d) for d columns: floats unchanged, as nearly all callers have them, others as floats."""
    if is_plain(rows) and rows.dtype.kind == "f" and rows.ndim and rows.shape[-1] == C.size:
        return rows
    return as_rows(rows, C.size, argument)


def _table_of(C: Covariance, deviations: Array) -> Array:
    """Return deviations (n, d) of d columns."""
    rows = _rows_of(C, deviations)
    return rows if rows.ndim == 2 else as_rows(rows, C.size, "deviations")


def _weight_of_columns(C: Covariance, weight: Array) -> Array:
    """Return the weights (d,) behind the columns, which are above 0."""
    found = checks.numbers("weight", weight)
    if found.shape != (C.size,) or not np.all((found > 0.0) & np.isfinite(found)):
        what = f"must be {C.size} finite numbers above 0, one per column"
        raise OptionError(what, argument="weight", value=weight)
    return found


def _solve_lower(L: Array, b: Array) -> Array:
    return np.asarray(solve_triangular(L, b, lower=True, check_finite=False)) if len(b) else b


def _singular_error(C: Array) -> OptionError:
    lam = interruptible_call(np.linalg.eigvalsh, C) if np.isfinite(C).all() else np.zeros(1)
    negative = lam[0] < -1e-8 * lam[-1]
    state = f"not positive semidefinite (its smallest eigenvalue is {lam[0]:.4g})" if negative else "singular"
    j = dependent_column(C)
    what = "its lower triangle is not positive definite"
    if j is not None:
        what = f"column {j} has no variance that the columns before it do not explain" if j else "column 0 has none"
    return OptionError(
        f"covariance ({len(C)}, {len(C)}) is {state}: {what}",
        fix="leave that column out, add to the diagonal, or use Diagonal or the low-dimensional LinearGaussian",
    )


def log_density_by_pattern(C: Covariance, deviations: Array) -> Array:
    """Return ln N(x_o | 0, C_oo) (n,) of deviations (n, d) in which NaN is missing, one pattern after the other."""
    found = np.zeros(len(deviations))
    for mine, seen in rows_by_pattern(deviations):
        if seen.size:
            part = C.part(seen)
            z = part.whiten(deviations[mine][:, seen])
            found[mine] = np.einsum("ij,ij->i", z, z) + seen.size * np.log(2.0 * np.pi) + part.log_determinant
    return -0.5 * found


def expected_by_pattern(C: Covariance, deviations: Array) -> tuple[Array, Array]:
    """Return deviations with NaN replaced by its expectation, and its standard deviation there (n, d), else 0."""
    filled, spread, numbers = deviations.copy(), np.zeros(deviations.shape), np.arange(len(deviations))
    for mine, seen in rows_by_pattern(deviations):
        missing = other_columns(seen, deviations.shape[1])
        shift, left = C.given(seen, missing, deviations[mine][:, seen])
        where = np.ix_(numbers[mine], missing)
        filled[where], spread[where] = shift, np.sqrt(np.maximum(left.variances, 0.0))
    return filled, spread


def array_covariance(value: object, d: int) -> Covariance:
    """Return a plain array as the covariance of d columns that it is: a matrix, variances, or one variance for all."""
    try:
        given = checks.numbers("covariance", value)
    except OptionError:
        given = np.empty((0, 0, 0))
    if given.shape not in ((), (d,), (d, d)) or not np.all(np.isfinite(given)):
        what = f"must be a matrix ({d}, {d}), {d} variances or one, all finite; or Full, Diagonal or Spherical of these"
        raise OptionError(what, argument="covariance")
    if given.ndim == 2:
        if not np.allclose(given, given.T, rtol=1e-8, atol=0.0):
            what, fix = "is a matrix that is not symmetric", "if that is rounding, use (C + C.T) / 2"
            raise OptionError(what, argument="covariance", fix=fix)
        return Full(given)
    return Diagonal(given) if given.ndim else Spherical(float(given), d)
