"""Maximum likelihood of x = W z + mu + e, e ~ N(0, σ² I), from the entries that are observed.

Plain EM crawls here. With parameter expansion (Liu, Rubin and Wu 1998) the latent mean and covariance are estimated
too and absorbed into mu and W at each step, which takes a handful of steps where plain EM takes hundreds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.models.linear_gaussian import LinearGaussian
from eigenlens.stats.observed import dense_observed

__all__ = ["MissingFit", "fit_observed"]

PIECE = 1 << 21


@dataclass(frozen=True, eq=False)
class MissingFit:
    """The model, its log-likelihood after each step, whether the last step was negligible, and the weight behind it.

    `weight` is Σ w over the rows that have an observed entry: the others say nothing.
    """

    model: LinearGaussian
    path: tuple[float, ...]
    converged: bool
    weight: float


@dataclass(frozen=True, eq=False)
class _Expected:
    """Sums over rows of expected sufficient statistics, with a = (z, 1) and q = k + 1.

    Attributes:
        normal: (d, q, q) Σ over rows that observe column j of w E[a aᵀ].
        right: (d, q) Σ w (x_j − mu_j) E[a]. square: (d,) Σ w (x_j − mu_j)². seen: Σ w over observed entries.
        latent: (q, q) Σ w E[a aᵀ] over all rows. loglik: Σ w log p(x observed).
    """

    normal: Array
    right: Array
    square: Array
    seen: float
    latent: Array
    loglik: float

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.normal + other.normal, self.right + other.right, self.square + other.square,
            self.seen + other.seen, self.latent + other.latent, self.loglik + other.loglik,
        )  # fmt: skip


def fit_observed(
    source: Source, start: LinearGaussian, *, tol: float = 1e-10, max_iter: int = 500, progress: Progress | None = None
) -> MissingFit:
    """EM with parameter expansion from `start`, a pass a step, until the log-likelihood gains less than tol an entry.

    The likelihood never falls. Cost: n d k² + n k³ flops a step, memory O(block + d k²).
    """
    model, path = start, []
    for _ in range(max_iter):
        expected = accumulate(source, partial(_expect, model=model), progress, "EM")
        path.append(expected.loglik)
        weight = float(expected.latent[-1, -1])
        if len(path) > 1 and path[-1] - path[-2] <= tol * expected.seen:
            return MissingFit(model, tuple(path), True, weight)
        model = _maximise(expected, model)
    return MissingFit(model, tuple(path), False, weight)


def _expect(block: Block, model: LinearGaussian) -> _Expected:
    """The expected statistics of one block, in pieces small enough for (rows, q, q) arrays."""
    X, seen = dense_observed(block)
    w = np.ones(len(X)) if block.weight is None else block.weight
    d, k = model.loadings.shape
    step = max(1, PIECE // max(d, (k + 1) ** 2))
    parts = [
        _expect_rows(X[i : i + step], seen[i : i + step], w[i : i + step] * seen[i : i + step].any(axis=1), model)
        for i in range(0, len(X), step)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _expect_rows(X: Array, seen: Array, w: Array, model: LinearGaussian) -> _Expected:
    W, noise = model.loadings, float(model.noise)
    k = W.shape[1]
    O = seen.astype(np.float64)
    R = np.where(seen, X - model.mean, 0.0)
    inner, z, loglik = _row_systems(O, R, W, noise)
    a = np.column_stack([z, np.ones(len(z))])
    E = a[:, :, None] * a[:, None, :]
    E[:, :k, :k] += noise * np.linalg.inv(inner)
    flat = E.reshape(len(z), -1)
    weighted = w[:, None] * O
    q = k + 1
    return _Expected(
        (weighted.T @ flat).reshape(-1, q, q), (w[:, None] * R).T @ a, w @ (R * R), float(weighted.sum()),
        (w @ flat).reshape(q, q), float(w @ loglik),
    )  # fmt: skip


def _row_systems(O: Array, R: Array, W: Array, noise: float) -> tuple[Array, Array, Array]:
    """A_i = σ² I + Σ_j O_ij w_j w_jᵀ (n, k, k) for all rows by one GEMM, E[z_i] (n, k), and log p(x_i) (n,)."""
    d, k = W.shape
    table = (W[:, :, None] * W[:, None, :]).reshape(d, k * k)
    A = (O @ table).reshape(-1, k, k) + noise * np.eye(k)
    b = R @ W
    z = np.linalg.solve(A, b[:, :, None])[:, :, 0]
    count = O.sum(axis=1)
    log_det = (count - k) * np.log(noise) + np.linalg.slogdet(A)[1]
    distance = ((R * R).sum(axis=1) - (b * z).sum(axis=1)) / noise
    return A, z, -0.5 * (count * np.log(2.0 * np.pi) + log_det + distance)


def _maximise(expected: _Expected, model: LinearGaussian) -> LinearGaussian:
    """W, mu and σ² from one least-squares problem a column, then the latent space whitened again."""
    k = model.loadings.shape[1]
    theta = np.linalg.solve(expected.normal, expected.right[:, :, None])[:, :, 0]
    rest = expected.square.sum() - np.sum(theta * expected.right)
    noise = max(float(rest) / expected.seen, 1e-12 * float(expected.square.sum()) / expected.seen)
    W, shift = theta[:, :k], theta[:, k]
    total = expected.latent[k, k]
    m = expected.latent[:k, k] / total
    covariance = expected.latent[:k, :k] / total - np.outer(m, m)
    return LinearGaussian(model.mean + shift + W @ m, W @ np.linalg.cholesky(covariance), noise)
