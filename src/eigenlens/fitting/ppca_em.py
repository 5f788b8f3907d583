"""EM of probabilistic PCA on complete rows, which sees the covariance S only through S W and its trace.

The step of Tipping and Bishop (1999, eq. 29 and 30), with M = WᵀW + sigma² I, is

    W ← S W (sigma² I + M⁻¹ WᵀSW)⁻¹ ,      sigma² ← (tr S − tr(S W M⁻¹ Wᵀ)) / d      (W on the right the new one).

The inverse mixes columns only: where W goes is the space spanned by S W. Within that space the likelihood can be
maximised outright, for which the product S W of the next pass is enough. Doing so instead of taking EM's factor and
EM's sigma² (ECME: Liu and Rubin 1994) costs nothing, never lowers the likelihood either, and cannot stall where EM
does: while sigma² is large, EM shrinks directions of little variance to nothing, and takes long to find them again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Progress
from eigenlens.fitting.latent import step_label
from eigenlens.linalg.operators import CentredRows

__all__ = ["Iterated", "best_within", "iterate"]


class Iterated(NamedTuple):
    """Where EM stopped: W (d, k), sigma², the log-likelihoods on the way, and what was still to be gained."""

    loadings: Array
    noise: float
    path: tuple[float, ...]
    converged: bool
    gap: float
    interrupted: bool


def iterate(
    rows: CentredRows, k: int, tol: float, max_iter: int, rng: np.random.Generator, progress: Progress | None
) -> Iterated:
    """EM from a random space, one pass and 4 n d k flops a step, until less than `tol` an entry is left to be gained.

    What is left is judged by Aitken's rule from the last gains. An interrupt by the user ends it with the best so far.
    """
    n, d = rows.columns.weight, rows.size
    shrink = rows.divisor / n
    trace, entries = rows.trace * shrink, n * d
    Q = np.linalg.qr(rng.standard_normal((d, k)))[0]
    best, path, gap, interrupted = (Q, trace / d), list[float](), np.inf, False
    try:
        while len(path) < max_iter and gap > tol * entries:
            SQ = rows.matmat(Q) * shrink
            T, excess, noise, deviance = best_within(Q, SQ, trace)
            loglik = -0.5 * n * deviance
            if path and loglik <= path[-1]:  # nothing is left but rounding
                gap = 0.0
                break
            path.append(loglik)
            best, gap = ((Q @ T) * np.sqrt(excess), noise), _remaining(path)
            if progress is not None:
                progress(len(path), max_iter, step_label(len(path), loglik))
            Q = np.linalg.qr(SQ @ T)[0]
    except KeyboardInterrupt:
        if not path:
            raise
        interrupted = True
    return Iterated(*best, tuple(path), bool(gap <= tol * entries), gap, interrupted)


def best_within(Q: Array, SQ: Array, trace: float) -> tuple[Array, Array, float, float]:
    """The likeliest model whose loadings lie in the space of the orthonormal Q (d, k): W = Q T (L − sigma² I)^½.

    T (k, k) and L are the eigenvectors and eigenvalues of QᵀSQ, and sigma² is the mean of the rest of the trace; an
    eigenvalue below that mean belongs to the rest. Returns T, the diagonal of L − sigma² I, sigma², and
    d log 2π + log |C| + tr C⁻¹S, twice the negative log-likelihood a row.
    """
    d, k = Q.shape
    B = Q.T @ SQ
    lam, T = np.linalg.eigh(0.5 * (B + B.T))
    lam, T = np.maximum(lam[::-1], 0.0), T[:, ::-1]
    rest = np.maximum(trace - np.append(0.0, np.cumsum(lam)), 1e-15 * trace) / (d - np.arange(k + 1))
    kept = int(np.count_nonzero(lam > rest[1:]))  # once an eigenvalue is below the mean of the rest, so are the next
    noise = float(rest[kept])
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
