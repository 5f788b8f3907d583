"""Leading eigenpairs of centred rows by any solver, and the automatic choice of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array
from eigenlens.data.memory import ArraySource, SparseSource, TensorSource
from eigenlens.errors import OptionError
from eigenlens.linalg.covariance import MAX_LAPACK_SIZE, covariance
from eigenlens.linalg.gram import gram
from eigenlens.linalg.lanczos import lanczos
from eigenlens.linalg.operators import CentredRows
from eigenlens.linalg.power import power
from eigenlens.linalg.randomized import randomized
from eigenlens.linalg.spectrum import Requested, Spectrum, nonzero, orient
from eigenlens.linalg.svd import svd
from eigenlens.resources import interruptible_call
from eigenlens.stats.triangles import MAX_CHEAP_FLOPS

SpectralSolver = Callable[[CentredRows, Requested, float, np.random.Generator], Spectrum]

SOLVERS: dict[str, SpectralSolver] = {
    "covariance": covariance,
    "gram": gram,
    "svd": svd,
    "lanczos": lanczos,
    "randomized": randomized,
    "power": power,
}
"""Solvers by name: (rows, wanted, tol, rng) → the leading eigenpairs of the rows' covariance matrix."""

SOLVER_ALIASES = {"full": "svd", "tsqr": "svd", "arpack": "lanczos", "covariance_eigh": "covariance"}
"""Names of scikit-learn and dask-ml for the same solvers."""

LEADING_ONLY = {"lanczos", "randomized", "power"}
"""Solvers that cannot find all eigenvalues."""

MAX_MATRIX_SIZE = 12_000
"""The size of the largest covariance or Gram matrix that is formed (1.2 GB)."""

MAX_AXES_ONE_BY_ONE = 64
"""More null axes than this come from one Householder QR, which costs less than one axis at a time."""

MIN_RESIDUAL = {np.dtype(np.float64): 1e-14, np.dtype(np.float32): 1e-6}
"""The smallest residual that products in this dtype can reach; a smaller `tol` means this."""

LOST_DIGITS, LOST_DIGITS_SINGLE, LOST_DIGITS_CHEAP = 1e-7, 1e-4, 2.5e-3
"""Eigenvalues below this share of the largest have lost digits in a covariance matrix, and in one of float32 products.

From float64 products at 1e-7 about nine digits are left, from float32 products at 1e-4 about four. Where n d² is at
most `MAX_CHEAP_FLOPS` thirteen digits cost little, and are kept.
"""


@dataclass(frozen=True)
class SpectralProblem:
    """The properties of the rows and of the request that decide the automatic choice of a solver.

    Attributes:
        n: rows. d: columns. k: components wanted, min(n, d) for all.
        density: share of stored entries, 1 for dense rows.
        dtype: float32 or float64.
        in_memory: whether a pass costs no reading.
        columns: whether columns can be read on their own (arrays, tensors, sparse matrices).
    """

    n: int
    d: int
    k: int
    density: float = 1.0
    dtype: Any = np.float64
    in_memory: bool = True
    columns: bool = True


def choose_solver(problem: SpectralProblem) -> tuple[str, str]:
    """Return the fastest accurate solver for a problem, and the reason. The first line that fits:

    | if                                                                 | solver     |
    |--------------------------------------------------------------------|------------|
    | sparse (density < 0.1), d > 3000 and n > 3000, k ≤ min(n, d) / 5   | lanczos    |
    | dense in memory, n and d > 3000, n ≤ 2d < 4n, k ≤ min(n, d) / 50   | lanczos    |
    | columns readable, 2 n ≤ d and n ≤ 12000                            | gram       |
    | d ≤ 12000                                                          | covariance |
    | columns readable and n ≤ 12000                                     | gram       |
    | anything larger                                                    | lanczos    |

    "covariance" and "gram" are checked afterwards: if the smallest eigenvalue kept is below 1e-7 of the largest
    (1e-4 where float32 was multiplied in float32, 0.0025 of small tables), digits are gone, and up to
    min(n, d) = 3000 "svd" is run instead.

    >>> choose_solver(SpectralProblem(n=1_000_000, d=100, k=10))
    ('covariance', 'd=100 is small enough for a covariance matrix')
    >>> choose_solver(SpectralProblem(n=500, d=100_000, k=20))[0]
    'gram'
    >>> choose_solver(SpectralProblem(n=200_000, d=20_000, k=50, density=0.002))[0]
    'lanczos'
    """
    n, d, k = problem.n, problem.d, problem.k
    few = k <= min(n, d) / 5
    if problem.density < 0.1 and min(n, d) > MAX_LAPACK_SIZE and few:
        return "lanczos", f"the rows are sparse (density {problem.density:.2g}) and k={k} is few"
    nearly_square = min(n, d) > MAX_LAPACK_SIZE and n <= 2 * d < 4 * n
    if problem.density == 1.0 and problem.in_memory and nearly_square and k <= min(n, d) / 50:
        return "lanczos", f"k={k} of a large, dense and nearly square matrix are few"
    if problem.columns and 2 * n <= d and n <= MAX_MATRIX_SIZE:
        return "gram", f"n={n} rows are far fewer than d={d} columns"
    if d <= MAX_MATRIX_SIZE:
        return "covariance", f"d={d} is small enough for a covariance matrix"
    if problem.columns and n <= MAX_MATRIX_SIZE:
        return "gram", f"n={n} is small enough for a Gram matrix"
    return "lanczos", f"d={d} is too large for a covariance matrix"


def solve(
    rows: CentredRows,
    wanted: Requested,
    solver: str | SpectralSolver = "auto",
    *,
    tol: float = 1e-9,
    rng: np.random.Generator | None = None,
) -> Spectrum:
    """Return the leading eigenpairs of the covariance of `rows`, by a named, a callable or an automatic solver.

    A callable solver is called as solver(rows, wanted, tol, rng). "auto" never returns digits that "covariance" and
    "gram" lose: when the smallest eigenvalue kept is below `LOST_DIGITS` of the largest (`LOST_DIGITS_CHEAP` of small
    tables), "svd" runs instead.
    """
    rng = np.random.default_rng() if rng is None else rng
    tol = max(tol, MIN_RESIDUAL[rows.source.dtype])
    reason = "asked for"
    name = solver
    if solver == "auto":
        name, reason = choose_solver(_problem(rows, wanted))
    spectrum = _run(name, rows, wanted, tol, rng)
    limit = _lost_share(rows, single=name == "covariance" and rows.single_products)
    if solver == "auto" and name in ("covariance", "gram") and _lost_digits(spectrum, rows, limit):
        reason = f"{name} loses eigenvalues below {limit:g} of the largest"
        spectrum = _run("svd", rows, wanted, tol, rng)
    spectrum = _with_null_space(spectrum, wanted)
    return replace(spectrum, outcome=replace(spectrum.outcome, reason=reason, passes=rows.passes))


def _run(
    solver: str | SpectralSolver, rows: CentredRows, wanted: Requested, tol: float, rng: np.random.Generator
) -> Spectrum:
    if callable(solver):
        return checks.instance("solver(…)", solver(rows, wanted, tol, rng), Spectrum)  # type: ignore[no-any-return]
    if wanted.needs_all and solver in LEADING_ONLY:
        others = " or ".join(repr(name) for name in SOLVERS if name not in LEADING_ONLY)
        what = "finds leading eigenvalues only, but this n_components rule needs all of them"
        raise OptionError(what, argument="solver", value=solver, fix=f"use solver {others}")
    return SOLVERS[solver](rows, wanted, tol, rng)


def _problem(rows: CentredRows, wanted: Requested) -> SpectralProblem:
    source = rows.source
    n = source.n_rows if source.n_rows is not None else rows.columns.rows
    density = source.density if isinstance(source, SparseSource) else 1.0
    columns = isinstance(source, ArraySource | SparseSource | TensorSource)
    k = wanted.limit if wanted.needs_all else wanted.initial_guess
    return SpectralProblem(n, source.n_features, k, density, source.dtype, source.in_memory, columns)


def _lost_share(rows: CentredRows, single: bool) -> float:
    """Return the share of the largest eigenvalue below which others have lost digits that are worth another pass."""
    if rows.n_rows * rows.size * min(rows.n_rows, rows.size) <= MAX_CHEAP_FLOPS:
        return LOST_DIGITS_CHEAP
    return LOST_DIGITS_SINGLE if single else LOST_DIGITS


def _lost_digits(spectrum: Spectrum, rows: CentredRows, limit: float) -> bool:
    """Return whether a kept eigenvalue has lost digits; zeros due to centring or constant columns are ignored."""
    values = spectrum.values
    if min(rows.n_rows, rows.size) > MAX_LAPACK_SIZE or not values.size or values[-1] >= limit * values[0]:
        return False
    kept = values[: min(rows.max_rank, int(np.count_nonzero(rows.variances)))]
    return bool(kept.size and kept[0] > 0.0 and kept[-1] < limit * kept[0])


def _with_null_space(spectrum: Spectrum, wanted: Requested) -> Spectrum:
    """Return the spectrum with as many pairs as wanted; axes without variance depend on the others alone.

    Components of zero variance are arbitrary, and each solver would return different ones: here they become the
    coordinate axes, orthogonalised in order of how much of them is left. So solvers, copies and weights agree.
    """
    values, V = spectrum.values, spectrum.vectors
    k = values.size if wanted.fixed_count is None else wanted.fixed_count
    alive = values > 0.0 if spectrum.outcome.solver == "svd" else nonzero(values)  # "svd" knows its zeros
    if k == values.size and alive.all():
        return spectrum
    values, kept = values[alive], V[:, alive]
    extra = k - values.size
    residuals = np.append(spectrum.outcome.residuals[alive[: spectrum.outcome.residuals.size]], np.zeros(extra))
    return replace(
        spectrum,
        values=np.append(values, np.zeros(extra)),
        vectors=np.column_stack([kept, orient(orthonormal_complement(kept, extra))]),
        outcome=replace(spectrum.outcome, residuals=residuals),
    )


def orthonormal_complement(V: Array, count: int) -> Array:
    """Return `count` orthonormal columns orthogonal to the orthonormal V (d, k), made from coordinate axes."""
    d, k = V.shape
    if count > MAX_AXES_ONE_BY_ONE and d <= MAX_MATRIX_SIZE:
        return np.asarray(interruptible_call(np.linalg.qr, V, mode="complete")[0][:, k : k + count])
    basis = np.empty((d, k + count), order="F")
    basis[:, :k] = V
    left = 1.0 - np.einsum("ij,ij->i", V, V)
    for column in range(k, k + count):
        known = basis[:, :column]
        # Of axes that are equally far from the span the first is taken, so that rounding does not decide.
        j = int(np.argmax(left >= (1.0 - 1e-6) * left.max()))
        v = -known @ known[j]
        v[j] += 1.0
        v -= known @ (known.T @ v)
        basis[:, column] = v / np.linalg.norm(v)
        left -= basis[:, column] ** 2
    return basis[:, k:]
