"""Factors by least squares on a correlation matrix: minimum residuals, and iterated principal axes.

Both look for loadings W (d, k) whose products are near the correlations off the diagonal:

    F(W) = ½ Σ_{i≠j} (r_ij − w_iᵀ w_j)²

Given uniquenesses psi the best loadings are W = V λ₊^½ with (λ, V) the k leading eigenpairs of R − Psi, and what is
left of F, with the diagonal, is ½ Σ λ_l² over the other eigenvalues (and over leading ones below 0), of gradient
−Σ λ_l v_jl² in psi_j (Harman and Jones 1966; Jöreskog and Goldberger 1972). Minimum residuals minimise it by L-BFGS.
Principal axes iterate psi = 1 − diag W Wᵀ, and end where that gradient is 0: at the same factors, in many more steps.

No normal distribution is assumed. Loadings are in the form WᵀW diagonal and descending.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.errors import OptionError
from eigenlens.latent.factor.correlation_operator import Correlations, DenseCorrelations
from eigenlens.latent.factor.profile_likelihood import FactorOptions, ProfileMinimum
from eigenlens.linalg.solve import MAX_MATRIX_SIZE

F_ROUNDING = 1e-14
"""Differences in F that may be rounding."""


@dataclass(frozen=True, eq=False)
class ResidualPoint:
    """F at psi (d,), its gradient g (d,), and the best loadings W (d, k)."""

    psi: Array
    F: float
    g: Array
    loadings: Array


def residual_point(R: Array, k: int, psi: Array) -> ResidualPoint:
    """Return the least squares of k factors with uniquenesses psi (d,), the diagonal of R (d, d) included.

    >>> W = np.array([[0.8], [0.7], [0.6]])
    >>> point = residual_point(W @ W.T + np.diag(1.0 - W[:, 0] ** 2), 1, 1.0 - W[:, 0] ** 2)
    >>> point.F < 1e-30, np.abs(point.loadings).ravel()
    (True, array([0.8, 0.7, 0.6]))
    """
    reduced = R - np.diag(psi)
    d = len(R)
    values, V = eigh(reduced, subset_by_index=(d - k, d - 1))
    values, V = values[::-1], V[:, ::-1]
    W = V * np.sqrt(np.maximum(values, 0.0))
    rest = reduced - W @ W.T
    return ResidualPoint(np.array(psi), 0.5 * float(np.sum(rest * rest)), -rest.diagonal().copy(), W)


def minimise_residuals(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    """Minimise F over floor ≤ psi ≤ 1 by L-BFGS, from `start` (d,); it stops where no gradient exceeds tol."""
    R = correlation_matrix(correlations, "minres")
    steps = _Steps(R, options)
    floor, tol = options.floor, options.tol

    def objective(psi: Array) -> tuple[float, Array]:
        point = residual_point(R, k, psi)
        steps.keep(point)
        return point.F, point.g

    def record(intermediate_result: Any) -> None:
        steps.count()

    limits: Any = {"gtol": tol, "ftol": 0.0, "maxiter": options.max_iter, "maxfun": 20 * options.max_iter, "maxcor": 20}
    bounds: Any = [(floor, 1.0)] * len(R)
    first = np.clip(start, floor, 1.0)
    interrupted = steps.run(
        lambda: minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, callback=record, options=limits)
    )
    best = steps.best
    residual = float(np.abs(best.psi - np.clip(best.psi - best.g, floor, 1.0)).max())
    return steps.end(residual, interrupted)


def iterate_principal_axes(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    """Alternate the best loadings for psi and psi = 1 − diag W Wᵀ (≥ floor) until psi changes by no more than tol."""
    R = correlation_matrix(correlations, "principal-axis")
    steps = _Steps(R, options)
    residual = np.inf

    def iterate() -> None:
        nonlocal residual
        psi = np.clip(start, options.floor, 1.0)
        for _ in range(options.max_iter):
            point = residual_point(R, k, psi)
            steps.keep(point)
            steps.count()
            psi = np.clip(1.0 - np.sum(point.loadings**2, axis=1), options.floor, 1.0)
            residual = float(np.abs(psi - point.psi).max())
            if residual <= options.tol:
                return

    interrupted = steps.run(iterate)
    return steps.end(residual, interrupted)


class _Steps:
    """The best point of a search, the log-likelihood after each step, and how it ended."""

    def __init__(self, R: Array, options: FactorOptions) -> None:
        self._R, self._options = R, options
        self._path: list[float] = []
        self._found: ResidualPoint | None = None

    @property
    def best(self) -> ResidualPoint:
        assert self._found is not None
        return self._found

    def keep(self, point: ResidualPoint) -> None:
        """Keep the point if it is the best so far, or equal up to rounding: a later one has a smaller gradient."""
        if self._found is None or point.F <= self._found.F + F_ROUNDING:
            self._found = point

    def count(self) -> None:
        """Count one step, at the best point so far."""
        self._path.append(likelihood_discrepancy(self._R, self.best))
        self._options.note(len(self._path), self._path[-1])

    def run(self, search: Callable[[], Any]) -> bool:
        """Run a search; return whether the user interrupted it, which is an error before its first step."""
        try:
            search()
        except KeyboardInterrupt:
            if self._found is None:
                raise
            return True
        return False

    def end(self, residual: float, interrupted: bool) -> ProfileMinimum:
        """Return the best point, with the reason for the end."""
        steps, best = len(self._path), self.best
        ended = "max_iter" if steps >= self._options.max_iter else "rounding"
        ended = "converged" if residual <= self._options.tol else ended
        path = (*self._path[:-1], likelihood_discrepancy(self._R, best))
        ended = "interrupted" if interrupted else ended
        return ProfileMinimum(best.psi, best.loadings, path, residual, ended, objective=best.F)


def likelihood_discrepancy(R: Array, point: ResidualPoint) -> float:
    """Return log |Σ| + tr(Σ⁻¹ R) with Σ = W Wᵀ + Psi: −2/n times the log-likelihood, up to a constant."""
    model = LinearGaussian(np.zeros(len(R)), point.loadings, point.psi)
    precision = model.precision()
    log_det = -float(np.linalg.slogdet(precision)[1])
    return log_det + float(np.sum(precision * R))


def correlation_matrix(correlations: Correlations, solver: str) -> Array:
    """Return R (d, d), which least squares need in memory."""
    if isinstance(correlations, DenseCorrelations):
        return correlations.matrix
    if correlations.size > MAX_MATRIX_SIZE:
        what = f"needs the correlation matrix in memory, and {correlations.size:,} columns are too many for that"
        raise OptionError(what, argument="solver", value=solver, fix="use 'quasi-newton', or fewer columns")
    return np.asarray(correlations.matmat(np.eye(correlations.size)))
