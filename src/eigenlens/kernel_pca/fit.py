"""Exact kernel PCA of rows in memory: the Gram matrix or its tiles, then an eigenproblem, then the frozen model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eigenlens import checks
from eigenlens.arrays import Array, Like, is_sparse, is_tensor, namespace, to_numpy
from eigenlens.data.coerce import require_finite
from eigenlens.data.source import Progress
from eigenlens.errors import DataError, OptionError
from eigenlens.gpu.runtime import on_device
from eigenlens.kernel_pca.device_gram import DeviceGram, krylov
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.gram import CentredGram, KernelOperator, upper_gram
from eigenlens.kernel_pca.kernels.precomputed import Precomputed
from eigenlens.kernel_pca.model import KernelComponents
from eigenlens.kernel_pca.panels import input_directions, no_variance_error
from eigenlens.kernel_pca.route import (
    DENSE_ROWS_PER_COMPONENT,
    LANCZOS_BLOCK,
    TILED_LANCZOS_BLOCK,
    EigenRoute,
    choose_eigen_route,
)
from eigenlens.linalg import n_components as select
from eigenlens.linalg.lanczos import lanczos, residual_norms
from eigenlens.linalg.randomized import randomized
from eigenlens.linalg.spectrum import Outcome, Requested, Spectrum, column_signs
from eigenlens.linalg.symmetric import leading_eigenpairs
from eigenlens.resources import one_thread, thread_count
from eigenlens.tables.text_table import count_noun

Operator = CentredGram | KernelOperator | DeviceGram

ROUNDING_SHARE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-6}
"""An eigenvalue below this share of the largest is rounding of a Gram matrix in this dtype."""

INDEFINITE_SHARE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-4}
"""A negative eigenvalue beyond this share of the largest is not rounding: the kernel is not positive semidefinite."""

FLAT_GRAM_SHARE = 1e-3
"""Where centring leaves less than this share of the trace, float32 entries have lost three of their seven digits."""

PROBES, PROBE_STEPS, PROBE_TOL = 8, 8, 1e-4
"""Random vectors and Lanczos steps that look for a negative eigenvalue of a kernel that may be indefinite, and the
residual to which the smallest converges where one is found: its error is of the order of the residual's square."""


@dataclass(frozen=True)
class KernelPCAFit:
    """The result of a fit: the frozen model, the scores of the fitted rows, and the outcome of the solver.

    Attributes:
        model: the components.
        scores: (n, k) of the fitted rows; NaN for rows of weight 0.
        outcome: solver, reason, passes, residuals.
        smallest: the smallest eigenvalue of A where that is negative beyond rounding, else 0.
    """

    model: KernelComponents
    scores: Array
    outcome: Outcome
    smallest: float = 0.0


def fit_kernel_pca(
    X: Any,
    kernel: Kernel,
    n_components: int | float | None = None,
    *,
    weight: Array | None = None,
    center: bool = True,
    solver: str = "auto",
    tol: float = 1e-9,
    max_memory: int = 8 << 30,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
) -> KernelPCAFit:
    """Fit exact kernel PCA to rows X (n, d): an array, a CSR matrix or a tensor; or to K (n, n) if it is precomputed.

        A = S (I − 1 pᵀ) K (I − p 1ᵀ) S = U diag(lam) Uᵀ,    v_j = Σ_i a_ij phi(x_i),   a_ij = √w_i u_ij / √lam_j

    so that |v_j| = 1 and the score of a fitted row is u_ij √lam_j / √w_i (Schölkopf, Smola and Müller 1998, section 3).

    Args:
        n_components: a number, a share of the variance (float), or None for the rank.
        weight: row i counts weight[i] times.
        center: whether the mean of phi is subtracted; if not, A = S K S.
        solver: "auto", "dense", "lanczos" or "randomized"; see `choose_eigen_route`.
        tol: ‖A u − lam u‖ / lam₁ that the iterations must meet.
        max_memory: bytes that may be used beside the rows.

    Cost: n² d flops and n²/2 kernel values for K; 4/3 n³ flops (dense), or 2 n² b per step with b columns (iterations).

    >>> from eigenlens.kernel_pca.kernels.linear import Linear
    >>> fit = fit_kernel_pca(np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]), Linear(), 1)
    >>> fit.model.variances, fit.scores.ravel()
    (array([2.]), array([-1.4142,  0.    ,  1.4142]))
    """
    rng = np.random.default_rng() if rng is None else rng
    origin = _origin(X, weight) if kernel.identity and center else None
    rows = X if origin is None else X - Like(X)(origin)
    n, limit = X.shape[0], _check_row_count(X, weight) - int(center)
    k = max(10, limit // 20) if isinstance(n_components, float) else n_components
    stored = isinstance(kernel, Precomputed)
    device = on_device(X)
    route = choose_eigen_route(n, k, Like(X).dtype.itemsize, max_memory, solver, stored=stored, device=device)
    rows, operator = _centred(kernel, rows, weight, center, route, progress)
    nothing = ROUNDING_SHARE[Like(rows).dtype]
    most = limit if solver != "auto" or route.solver == "dense" else max(k or 0, n // DENSE_ROWS_PER_COMPONENT)
    spectrum = _ROUTE_SOLVERS[route.solver](operator, _wanted(n_components, limit, most, nothing), tol, rng)
    if isinstance(n_components, float) and spectrum.values.sum() < n_components * spectrum.total and most < limit:
        route = choose_eigen_route(n, None, Like(rows).dtype.itemsize, max_memory)  # all cost less than that many
        spectrum = _ROUTE_SOLVERS[route.solver](operator, _wanted(n_components, limit, limit, nothing), tol, rng)
    rounding = 1e2 * np.finfo(Like(rows).dtype).eps * abs(operator.whole)
    if spectrum.values[0] <= rounding and abs(operator.trace) <= rounding:
        raise no_variance_error()
    beyond = INDEFINITE_SHARE[Like(X).dtype]
    smallest = 0.0 if kernel.definite else _negative_eigenvalue(operator, spectrum, beyond, rng)
    spectrum = _of_full_rank(spectrum, n_components, nothing, smallest)
    outcome = replace(spectrum.outcome, reason=route.reason, passes=operator.passes)
    model, scores = _components(kernel, rows, origin, operator, spectrum)
    return KernelPCAFit(model, scores, outcome, smallest)


def _check_row_count(X: Any, weight: Array | None) -> int:
    """Return the number of rows with positive weight, once there are enough for a variance."""
    count, total = (X.shape[0], X.shape[0]) if weight is None else (int(np.count_nonzero(weight)), float(weight.sum()))
    if count < 2:
        what = f"has {count_noun(count, 'sample')} of positive weight, but a component needs at least 2 rows"
        raise DataError(what, argument="X", fix="give more rows")
    checks.total_weight(total)
    return count


def _origin(X: Any, weight: Array | None) -> Array | None:
    """Return the weighted mean (d,) of dense rows, rounded to their dtype: about it a linear K keeps its digits."""
    if is_sparse(X):
        return None
    mean = np.average(to_numpy(X).astype(np.float64, copy=False), axis=0, weights=weight)
    return mean.astype(Like(X).dtype).astype(np.float64)


def _centred(
    kernel: Kernel, X: Any, weight: Array | None, center: bool, route: EigenRoute, progress: Progress | None
) -> tuple[Any, Operator]:
    """Return the rows and the operator of their Gram matrix, in float64 where float32 would lose its digits."""
    operator = _operator(kernel, X, weight, center, route, progress)
    require_finite(X, operator.trace, operator.whole)
    single = Like(X).dtype == np.float32
    if single and not isinstance(kernel, Precomputed) and operator.trace < FLAT_GRAM_SHARE * abs(operator.whole):
        X = namespace(X).astype(X, namespace(X).float64) if is_tensor(X) else X.astype(np.float64)
        operator = _operator(kernel, X, weight, center, route, progress)
    if kernel.definite and operator.trace <= 1e2 * np.finfo(Like(X).dtype).eps * abs(operator.whole):
        raise no_variance_error()
    return X, operator


def _operator(
    kernel: Kernel, X: Any, weight: Array | None, center: bool, route: EigenRoute, progress: Progress | None
) -> Operator:
    if route.device:
        return DeviceGram(kernel, X, weight, not route.matrix_free, progress, center)
    if route.matrix_free:
        return KernelOperator(kernel, X, weight, progress=progress, center=center)
    K = kernel(X, None) if isinstance(kernel, Precomputed) else upper_gram(kernel, X, progress)
    return CentredGram(K, weight, center, definite=kernel.definite)


def _wanted(n_components: int | float | None, limit: int, most: int, nothing: float) -> Requested:
    """Return the request to a solver: at most `limit` eigenpairs, and at most `most` in the search for a share."""
    if n_components is None:
        return Requested(limit, limit, lambda values, total: max(1, int(np.sum(values > nothing * values[0]))))
    if isinstance(n_components, int):
        return Requested.count(n_components, max(limit, n_components))
    guess = min(most, max(10, limit // 20))
    # Where eigenvalues are negative, the trace is below the sum of the positive ones.
    return Requested(guess, most, lambda values, total: select.share(values, max(total, values.sum()), n_components))


def _dense(operator: Operator, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    """Return the leading eigenpairs of A, and after them the smallest eigenvalue where it may be negative."""
    values, leading, U = leading_eigenpairs(operator.dense(), wanted, all_values=not operator.definite)
    outcome = Outcome("dense", residuals=residual_norms(operator, U, leading))
    total = max(operator.trace, float(values[values > 0.0].sum()))
    return Spectrum(np.append(leading, values[-1]), U, total, outcome)


def _lanczos(operator: Operator, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    workers = thread_count()
    with one_thread():  # the products have threads of their own, and the rest is small beside them
        block = TILED_LANCZOS_BLOCK if isinstance(operator, KernelOperator) else LANCZOS_BLOCK
        return lanczos(operator, wanted, tol, rng, block, workers)


def _randomized(operator: Operator, wanted: Requested, tol: float, rng: np.random.Generator) -> Spectrum:
    with one_thread():
        return randomized(operator, wanted, tol, rng)


GRAM_SOLVERS: dict[str, Callable[[Operator, Requested, float, np.random.Generator], Spectrum]] = {
    "dense": _dense,
    "lanczos": _lanczos,
    "randomized": _randomized,
}

_ROUTE_SOLVERS = {**GRAM_SOLVERS, "krylov": krylov}

GRAM_SOLVER_ALIASES = {"arpack": "lanczos"}
"""The name of scikit-learn for the same solver."""


class _Negated:
    """The operator −A, whose largest eigenvalue is the smallest of A."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self.size, self.trace = operator.size, -operator.trace

    def matmat(self, V: Array) -> Array:
        """Return −A V for V (n, b)."""
        return -self._operator.matmat(V)


def _negative_eigenvalue(operator: Operator, spectrum: Spectrum, beyond: float, rng: np.random.Generator) -> float:
    """Return the smallest eigenvalue of A if it lies below zero by more than this share of the largest, else 0.

    The dense solver has it. Otherwise a few Lanczos steps look for a negative one, and only where they find it the
    iteration goes on until it has converged to the smallest.
    """
    most = -beyond * max(float(spectrum.values[0]), 0.0)
    if spectrum.outcome.solver == "dense":
        smallest = float(spectrum.values[-1])
        return smallest if smallest < most else 0.0
    if _smallest_probed(operator, rng) >= most:
        return 0.0
    with one_thread():
        return -float(lanczos(_Negated(operator), Requested.count(1, operator.size), PROBE_TOL, rng).values[0])


def _smallest_probed(operator: Operator, rng: np.random.Generator) -> float:
    """Return an estimate of the smallest eigenvalue, which lies above it."""
    Q = np.linalg.qr(rng.standard_normal((operator.size, PROBES)))[0]
    basis = [Q]
    for _ in range(PROBE_STEPS):
        W = operator.matmat(basis[-1])
        for _ in range(2):
            for block in basis:
                W -= block @ (block.T @ W)
        basis.append(np.linalg.qr(W)[0])
    V = np.hstack(basis)
    return float(np.linalg.eigvalsh(V.T @ operator.matmat(V))[0])


def _of_full_rank(spectrum: Spectrum, n_components: int | float | None, nothing: float, smallest: float) -> Spectrum:
    """Return the eigenpairs that are not rounding; raise if more were requested than there are."""
    values = spectrum.values[: spectrum.vectors.shape[1]]
    scale = max(values.max(initial=0.0), -smallest, np.finfo(float).tiny)  # rounding is relative to the norm of A
    rank = int(np.count_nonzero(values > nothing * scale))
    if rank == 0:
        what = "the kernel matrix has no positive eigenvalue: it is not positive semidefinite on these rows"
        what += f", and its smallest eigenvalue is {smallest:.3g}" if smallest else ""
        raise DataError(what, fix="use another kernel, or other options of it")
    if isinstance(n_components, int) and rank < n_components:
        counted = "number of positive eigenvalues" if smallest else "rank"
        what = f"must be at most {rank}, the {counted} of the Gram matrix of these rows"
        raise OptionError(what, argument="n_components", value=n_components)
    residuals = spectrum.outcome.residuals[:rank]
    return replace(
        spectrum,
        values=values[:rank],
        vectors=spectrum.vectors[:, :rank],
        total=max(spectrum.total, float(values[:rank].sum())),
        outcome=replace(spectrum.outcome, residuals=residuals),
    )


def _components(
    kernel: Kernel, rows: Any, origin: Array | None, operator: Operator, spectrum: Spectrum
) -> tuple[KernelComponents, Array]:
    """Return the model of the eigenpairs, with their signs fixed, and the scores of the rows."""
    w, lam, U = operator.weight, spectrum.values, spectrum.vectors
    # Signs make the score of largest modulus positive; for a linear kernel the largest loading.
    with np.errstate(divide="ignore", invalid="ignore"):
        Z = np.where(w[:, None] > 0.0, U * np.sqrt(lam) / np.sqrt(w)[:, None], np.nan)
    signs = column_signs(input_directions(rows, np.sqrt(w)[:, None] * U) if kernel.identity else np.nan_to_num(Z))
    U, Z = U * signs, Z * signs
    p = operator.mean_coefficients
    A = np.sqrt(w)[:, None] * U / np.sqrt(lam)
    A -= np.outer(p, A.sum(axis=0))
    kept = np.empty((operator.size, 0)) if isinstance(kernel, Precomputed) else _own(rows, origin)
    offset, total = operator.row_means @ A, float(w.sum())
    model = KernelComponents(kernel, kept, A, offset, p, operator.grand_mean, lam, spectrum.total, total, origin=origin)
    return model if operator.center else replace(model, centred=False, row_weight=np.array(w)), Z


def _own(rows: Any, origin: Array | None) -> Any:
    """Return rows that the caller cannot change: those less an origin are a copy already."""
    if origin is not None:
        return rows
    return rows + 0.0 if is_tensor(rows) else rows.copy()
