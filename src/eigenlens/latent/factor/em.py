"""EM for factor analysis of complete rows: the textbook iteration, by products with the correlation matrix alone.

With B = M⁻¹ Wᵀ Psi⁻¹ and M = I + Wᵀ Psi⁻¹ W, the latent covariance is C = M⁻¹ + B R Bᵀ, and a step is (Rubin and Thayer
1982)

    W ← R Bᵀ C⁻¹,    psi ← diag(R − W B R),

after which C, estimated too, is absorbed into W (parameter expansion: Liu, Rubin and Wu 1998): the same maximum in
fewer steps.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from eigenlens.arrays import Array
from eigenlens.latent.factor.correlation_operator import Correlations
from eigenlens.latent.factor.profile_likelihood import FactorOptions, ProfileMinimum, profile_point
from eigenlens.optim.em import ParameterMap, run_em


def minimise_by_em(correlations: Correlations, k: int, start: Array, options: FactorOptions) -> ProfileMinimum:
    """Minimise f (see `profile_likelihood`) by EM from uniquenesses `start` (d,).

    Stops where less than tol² per entry is left to gain, by the ratio of the last gains: near a maximum a likelihood is
    as flat as the square of its gradient. Slow iterations are extrapolated. Cost: d² k flops per step.
    """
    floor, d = options.floor, correlations.size
    psi = np.clip(start, floor, 1.0)
    W = profile_point(correlations, k, np.log(psi)).loadings
    entries = 2.0 * d  # −f over this is the log-likelihood per entry

    def step(model: _Model) -> tuple[float, _Model]:
        f, *better = _step(correlations, *model, floor)
        return -f / entries, (better[0], better[1])

    def report(steps: int, value: float) -> None:
        options.note(steps, -entries * value)

    found = run_em(step, (psi, W), _parameter_map(floor), tol=options.tol**2, max_iter=options.max_iter, note=report)
    path = tuple(-entries * value for value in found.path)
    return ProfileMinimum(*found.best, path, found.remaining_gain, found.ended)


_Model = tuple[Array, Array]
"""psi (d,) and W (d, k)."""


def _parameter_map(floor: float) -> ParameterMap[_Model]:
    def vector(model: _Model) -> Array:
        return np.concatenate([np.log(model[0]), model[1].ravel()])

    def model(v: Array, like: _Model) -> _Model:
        d = like[0].size
        return np.clip(np.exp(np.minimum(v[:d], 0.0)), floor, 1.0), v[d:].reshape(like[1].shape)

    return ParameterMap(vector, model)


def _step(correlations: Correlations, psi: Array, W: Array, floor: float) -> tuple[float, Array, Array]:
    """Return f at (psi, W), and the next psi and W."""
    V = W / psi[:, None]
    factor = cho_factor(np.eye(W.shape[1]) + W.T @ V, lower=True)
    inverse = cho_solve(factor, np.eye(W.shape[1]))
    B = V @ inverse
    RB = correlations.matmat(B)
    log_det = np.log(psi).sum() + 2.0 * np.log(np.diag(factor[0])).sum()
    f = float(log_det + (1.0 / psi).sum() - np.sum(V * RB))
    C = inverse + B.T @ RB
    loadings = np.linalg.solve(C, RB.T).T
    left = np.maximum(1.0 - np.sum(loadings * RB, axis=1), floor)
    return f, left, loadings @ np.linalg.cholesky(C)
