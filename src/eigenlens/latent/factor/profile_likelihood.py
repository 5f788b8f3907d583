"""The likelihood of factor analysis as a function of the uniquenesses alone, and its maximum by L-BFGS.

Given Psi, the best loadings are W = Psi^½ V (w − 1)₊^½, (w, V) the eigenpairs of A = Psi^-½ R Psi^-½ (Jöreskog 1967).
What remains to be minimised, over t = log psi, is −2/n times the log-likelihood up to a constant:

    f(t) = Σ t_j + tr A + Σ_l [log w_l + 1 − w_l] over the k largest w_l, where they exceed 1,
    ∂f/∂t = 1 − diag A + Σ_l (w_l − 1)₊ V_l ∘ V_l.

In log psi the second derivatives are near the identity where k is small beside d, so that quasi-Newton steps need
little help: 8 to 20 evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from eigenlens.arrays import Array
from eigenlens.data.source import Progress
from eigenlens.latent.factor.correlation_operator import Correlations

MAX_GRADIENT_STEPS = 20
"""The largest number of steps judged by the gradient alone, after the quasi-Newton method has stopped."""

MAX_GRADIENT = 1e-3
"""Such steps are taken only from where the projected gradient is below this, near the minimum."""

MAX_HESSIAN_SIZE = 2000
"""Such steps are taken for at most this many variables: each solves a d×d least-squares problem."""


def within(x: Array, low: float, high: float) -> Array:
    """Return np.clip(x, low, high), which for few numbers takes four times as long.

    >>> within(np.array([-1.0, 0.5, 2.0]), 0.0, 1.0)
    array([0. , 0.5, 1. ])
    """
    return np.minimum(np.maximum(x, low), high)


@dataclass(frozen=True)
class FactorOptions:
    """The options of a fit of factor analysis.

    Attributes:
        tol: bound on the entries of the gradient of −2/n log-likelihood in log psi; EM stops where the log-likelihood
            per entry still to be gained is below its square.
        max_iter: the largest number of steps. floor: the smallest uniqueness, a share of the variable's variance.
        n_init: 1 for the starts that are always made, and one random start for each beyond; the best end is kept.
        standardize: whether signs are decided on the loadings of correlations, or of the rows as given.
        rng: for the random starts. progress: called after passes.
        thorough: whether more starts are made where the first leave doubt. lead: (d,) the start
            of scikit-learn's iteration, or None.
        note: called after each step on correlations, with its number and f.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    floor: float = 1e-8
    n_init: int = 1
    standardize: bool = False
    rng: np.random.Generator | None = None
    progress: Progress | None = None
    thorough: bool = True
    lead: Array | None = None
    note: Callable[[int, float], None] = lambda step, f: None


@dataclass(frozen=True, eq=False)
class ProfilePoint:
    """f at t = log psi (d,), its gradient g (d,), and what they are made of: excess = (w − 1)₊ (k,) and V (d, k)."""

    t: Array
    f: float
    g: Array
    excess: Array
    V: Array

    def projected_gradient(self, low: float) -> float:
        """Return the largest |t − P(t − g)|, P the projection on low ≤ t ≤ 0."""
        return float(np.abs(self.t - within(self.t - self.g, low, 0.0)).max())

    @property
    def loadings(self) -> Array:
        """Return the best W (d, k) for this psi; Wᵀ Psi⁻¹ W is diagonal and descends."""
        return np.asarray(np.exp(0.5 * self.t)[:, None] * self.V * np.sqrt(self.excess))


def profile_point(correlations: Correlations, k: int, t: Array) -> ProfilePoint:
    """Evaluate f and its gradient at t = log psi (d,).

    >>> from eigenlens.latent.factor.correlation_operator import DenseCorrelations
    >>> point = profile_point(DenseCorrelations(np.eye(3)), 1, np.zeros(3))
    >>> point.f, point.projected_gradient(-9.0)
    (3.0, 0.0)
    """
    w, V = correlations.leading(np.exp(-0.5 * t), k)
    excess, diagonal = np.maximum(w - 1.0, 0.0), np.exp(-t)
    f = float(t.sum() + diagonal.sum() + np.sum(np.log1p(excess) - excess))
    return ProfilePoint(np.array(t), f, 1.0 - diagonal + (V * V) @ excess, excess, V)


@dataclass(frozen=True, eq=False)
class ProfileMinimum:
    """The end of a minimisation of f.

    Attributes:
        uniquenesses: psi (d,), on the scale of correlations. loadings: W (d, k). path: f after each step, falling.
        residual: the largest entry of the projected gradient; for EM, the log-likelihood per entry still to be gained.
        ended: why it ended, a key of `missing.result.STOP_REASONS`.
        objective: what was minimised where it is not f: the squared residuals of least squares. None otherwise.
    """

    uniquenesses: Array
    loadings: Array
    path: tuple[float, ...]
    residual: float
    ended: str
    objective: float | None = None

    @property
    def value(self) -> float:
        """Return the end value of what was minimised."""
        return self.path[-1] if self.objective is None else self.objective

    @property
    def converged(self) -> bool:
        """Whether the residual is within the tolerance."""
        return self.ended == "converged"

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it."""
        return self.ended == "interrupted"


@dataclass(eq=False)
class _Objective:
    """The function that L-BFGS calls; it keeps the best point, in case the user interrupts."""

    correlations: Correlations
    k: int
    best: ProfilePoint | None = None

    def __call__(self, t: Array) -> tuple[float, Array]:
        point = profile_point(self.correlations, self.k, t)
        if self.best is None or point.f < self.best.f:
            self.best = point
        return point.f, point.g


def minimise_profile(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    """Minimise f by L-BFGS with bounds floor ≤ psi ≤ 1, from `start` (d,).

    Stops where no entry of the projected gradient exceeds tol. An interrupt ends it at the best point so far.
    """
    objective, path, interrupted = _Objective(correlations, k), list[float](), False
    low, tol, max_iter = float(np.log(options.floor)), options.tol, options.max_iter

    def record(intermediate_result: Any) -> None:
        path.append(float(intermediate_result.fun))
        options.note(len(path), path[-1])

    limits: Any = {"gtol": tol, "ftol": 0.0, "maxiter": max_iter, "maxfun": 20 * max_iter, "maxcor": 20}
    bounds = [(low, 0.0)] * correlations.size
    try:
        t = within(np.log(start), low, 0.0)
        minimize(objective, t, jac=True, method="L-BFGS-B", bounds=bounds, callback=record, options=limits)
        if len(path) < max_iter and objective.best is not None:
            objective.best = _polish(correlations, k, objective.best, low, tol)
    except KeyboardInterrupt:
        if objective.best is None:
            raise
        interrupted = True
    assert objective.best is not None
    best, residual = objective.best, objective.best.projected_gradient(low)
    falling = np.minimum.accumulate(path or [best.f])
    falling[-1] = min(falling[-1], best.f)
    ended = "converged" if residual <= tol else "max_iter" if len(path) >= max_iter else "rounding"
    ended = "interrupted" if interrupted else ended
    return ProfileMinimum(np.exp(best.t), best.loadings, tuple(falling.tolist()), residual, ended)


def _polish(correlations: Correlations, k: int, point: ProfilePoint, low: float, tol: float) -> ProfilePoint:
    """Take steps judged by the gradient alone: near a uniqueness of 1e-6, rounding in f stops a line search too soon.

    The step is −H⁻¹ g with H = (I − V Vᵀ)∘(I − V Vᵀ), the second derivatives where the model is true (Lawley and
    Maxwell 1971), over the psi that are not at their bounds.
    """
    residual = point.projected_gradient(low)
    for _ in range(MAX_GRADIENT_STEPS if len(point.t) <= MAX_HESSIAN_SIZE else 0):
        if residual <= tol or residual > MAX_GRADIENT:
            break
        free = np.abs(point.t - within(point.t - point.g, low, 0.0)) > 0.0
        V = point.V[free]
        H = (np.eye(len(V)) - V @ V.T) ** 2
        step = np.zeros_like(point.t)
        step[free] = np.linalg.lstsq(H, point.g[free], rcond=1e-10)[0]
        tried = profile_point(correlations, k, within(point.t - step, low, 0.0))
        if tried.projected_gradient(low) >= residual:
            break
        point, residual = tried, tried.projected_gradient(low)
    return point
