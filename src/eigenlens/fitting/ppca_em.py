"""EM of probabilistic PCA on complete rows, which sees the covariance S only through S W and its trace.

The step of Tipping and Bishop (1999, eq. 29 and 30), with M = WᵀW + sigma² I, is

    W ← S W (sigma² I + M⁻¹ WᵀSW)⁻¹ ,      sigma² ← (tr S − tr(S W M⁻¹ Wᵀ)) / d      (W on the right the new one).

The inverse mixes columns only: where W goes is the space spanned by S W. Within that space the likelihood can be
maximised outright, for which the product S W of the next pass is enough. Doing so instead of taking EM's factor and
EM's sigma² (ECME: Liu and Rubin 1994) costs nothing, never lowers the likelihood either, and cannot stall where EM
does: while sigma² is large, EM shrinks directions of little variance to nothing, and takes long to find them again.

sigma² is what the trace leaves over. Where that is a small part of the trace its digits are lost in the difference, and
the residuals of the rows themselves are added up instead.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.source import BLOCK_BYTES, Block, Progress, accumulate
from eigenlens.fitting.latent import step_label
from eigenlens.linalg.operators import CentredRows

__all__ = ["Iterated", "best_within", "iterate", "products_and_rest"]

NEARLY_ALL = {np.dtype(np.float64): 1e-5, np.dtype(np.float32): 1e-2}
"""A rest of the trace below this share of it is measured on the rows; by dtype, in which products lose their digits."""

LEAST = 1e-36
"""What is left of the trace is at least this share of it, so that it has a logarithm."""


class Iterated(NamedTuple):
    """Where EM stopped: W (d, k), sigma², the log-likelihoods on the way, what was still to be gained, and why then."""

    loadings: Array
    noise: float
    path: tuple[float, ...]
    converged: bool
    gap: float
    ended: str


def iterate(
    rows: CentredRows, k: int, tol: float, max_iter: int, rng: np.random.Generator, progress: Progress | None
) -> Iterated:
    """EM from a random space, one pass and 4 n d k flops a step, until less than `tol` an entry is left to be gained.

    What is left is judged by Aitken's rule from the last gains. An interrupt by the user ends it with the best so far.
    """
    n, d = rows.columns.weight, rows.size
    trace, enough = rows.trace * rows.divisor / n, tol * n * d
    Q = np.linalg.qr(rng.standard_normal((d, k)))[0]
    best, path, gap, ended = (Q, trace / d), list[float](), np.inf, ""
    try:
        while len(path) < max_iter and gap > enough:
            SQ, rest = _seen_through(rows, Q, trace)
            T, excess, noise, deviance = best_within(Q, SQ, trace, rest)
            loglik = -0.5 * n * deviance
            if path and loglik <= path[-1]:
                gap, ended = 0.0, "rounding"
                break
            path.append(loglik)
            best, gap = ((Q @ T) * np.sqrt(excess), noise), _remaining(path)
            if progress is not None:
                progress(len(path), max_iter, step_label(len(path), loglik))
            Q = np.linalg.qr(SQ @ T)[0]
        else:
            ended = "converged" if gap <= enough else "max_iter"
    except KeyboardInterrupt:
        if not path:
            raise
        ended = "interrupted"
    return Iterated(*best, tuple(path), bool(gap <= enough), gap, ended)


def _seen_through(rows: CentredRows, Q: Array, trace: float) -> tuple[Array, float]:
    """S Q (d, k) for orthonormal Q, and the trace of S that its space leaves over; the divisor of S is Σw."""
    shrink = rows.divisor / rows.columns.weight
    SQ = rows.matmat(Q) * shrink
    rest = trace - float(np.sum(Q * SQ))
    if rest > NEARLY_ALL[rows.source.dtype] * trace:
        return SQ, rest
    SQ, rest = products_and_rest(rows, Q)
    return SQ * shrink, rest * shrink


def products_and_rest(rows: CentredRows, Q: Array) -> tuple[Array, float]:
    """X̃ᵀX̃ Q (d, k) for orthonormal Q, and Σ ‖x̃ − Q Qᵀx̃‖², in one pass in float64, rows dense a piece at a time.

    The sum is right to about 1e-31 of the trace, and the difference of the trace and that of Qᵀ X̃ᵀX̃ Q to 1e-15 of it.
    Cost 8 n d k flops.

    >>> from eigenlens.data.memory import ArraySource
    >>> rows = CentredRows(ArraySource(np.array([[1.0, 1e-9], [-1.0, 1e-9], [0.0, -2e-9]])))
    >>> products_and_rest(rows, np.array([[1.0], [0.0]]))[1]
    3e-18
    """
    rows.passes += 1
    found = accumulate(rows.source, partial(_products, mean=rows.columns.mean, Q=Q)) / rows.divisor
    return found[:-1], float(found[-1, 0])


def _products(block: Block, mean: Array, Q: Array) -> Array:
    """XᵀX Q (d, k) of centred rows, and below it a row that begins with the residual."""
    found = np.zeros((len(mean) + 1, Q.shape[1]))
    step = max(1, BLOCK_BYTES // (8 * len(mean)))
    for start in range(0, block.rows.shape[0], step):
        X = dense(block.rows[start : start + step]) - mean
        w = np.ones(len(X)) if block.weight is None else block.weight[start : start + step]
        Z = X @ Q
        found[:-1] += X.T @ (w[:, None] * Z)
        X -= Z @ Q.T
        X -= (X @ Q) @ Q.T  # what rounding left in the space of Q
        found[-1, 0] += w @ np.einsum("ij,ij->i", X, X)
    return found


def best_within(Q: Array, SQ: Array, trace: float, rest: float | None = None) -> tuple[Array, Array, float, float]:
    """The likeliest model whose loadings lie in the space of the orthonormal Q (d, k): W = Q T (L − sigma² I)^½.

    T (k, k) and L are the eigenvectors and eigenvalues of QᵀSQ, and sigma² is the mean of the rest of the trace; an
    eigenvalue below that mean belongs to the rest. `rest` is the trace without that of L, where it is known better than
    by the difference. Returns T, the diagonal of L − sigma² I, sigma², and d log 2π + log |C| + tr C⁻¹S, twice the
    negative log-likelihood a row.
    """
    d, k = Q.shape
    B = Q.T @ SQ
    lam, T = np.linalg.eigh(0.5 * (B + B.T))
    lam, T = np.maximum(lam[::-1], 0.0), T[:, ::-1]
    last = trace - float(lam.sum()) if rest is None else rest
    left = max(last, LEAST * trace) + np.append(np.cumsum(lam[::-1])[::-1], 0.0)
    means = left / (d - np.arange(k + 1))
    kept = int(np.count_nonzero(lam > means[1:]))  # once an eigenvalue is below the mean of the rest, so are the next
    noise = float(means[kept])
    log_det = float(np.log(lam[:kept]).sum()) + (d - kept) * np.log(noise)
    excess = np.where(np.arange(k) < kept, lam - noise, 0.0)
    return T, np.maximum(excess, 0.0), noise, float(d * np.log(2.0 * np.pi) + log_det + d)


def _remaining(path: list[float]) -> float:
    """The gains to come if they shrink as the slower of the last did; infinite while they do not."""
    if len(path) < 3:
        return np.inf
    gains = np.diff(path[-4:])
    ratio = float(np.max(gains[1:] / gains[:-1]))
    return float(gains[-1]) * ratio / (1.0 - ratio) if ratio < 1.0 else np.inf
