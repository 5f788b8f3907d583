"""EM of probabilistic PCA on complete rows, which sees the covariance S only through S W and its trace.

The step of Tipping and Bishop (1999, eq. 29 and 30), with M = WᵀW + sigma² I, is

    W ← S W (sigma² I + M⁻¹ WᵀSW)⁻¹ ,      sigma² ← (tr S − tr(S W M⁻¹ Wᵀ)) / d      (W on the right the new one).

The inverse mixes columns only: where W goes is the space spanned by S W. Within that space the likelihood can be
maximised outright, for which the product S W of the next pass is enough. Doing so instead of taking EM's factor and
EM's sigma² (ECME: Liu and Rubin 1994) costs nothing, never lowers the likelihood either, and cannot stall where EM
does: while sigma² is large, EM shrinks directions of little variance to nothing, and takes long to find them again.

sigma² is what the trace leaves over. Where that is a small part of the trace its digits are lost in the difference, as
are those of small eigenvalues beside large ones in QᵀSQ: then both come from the rows themselves, in float64.

What is left to gain is judged by how far S moves the space, not by the last gains, which rounding hides long before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from eigenlens.arrays import Array, dense
from eigenlens.data.memory import SparseSource
from eigenlens.data.source import BLOCK_BYTES, Block, Progress, accumulate
from eigenlens.linalg.operators import CentredRows
from eigenlens.missing.result import step_label

__all__ = ["PPCAEMResult", "best_in_subspace", "products_and_rest", "run_ppca_em"]

MIN_REST_SHARE = 1e-2
"""A rest of the trace below this share of it is measured on the rows."""

MIN_REST = 1e-36
"""What is left of the trace is at least this share of it, so that it has a logarithm."""

MAX_ENTRIES_FOR_TOL = 2500.0
"""`tol` is of an entry, and of no more than this many: likelihoods are compared in total, however many the rows are."""

FLOAT64_EPS = float(np.finfo(np.float64).eps)

PRODUCT_ROUNDING = 16.0 * FLOAT64_EPS
"""Products are known to this share of the sizes that meet in them."""

MAX_CONTRACTION = 1.0 - 1e-7
"""What is left is judged as if errors shrank at least so much a step."""


class PPCAEMResult(NamedTuple):
    """Where EM stopped: W (d, k), sigma², the log-likelihoods on the way, what was still to be gained, and why then."""

    loadings: Array
    noise: float
    path: tuple[float, ...]
    converged: bool
    gap: float
    ended: str


class _Seen(NamedTuple):
    """What S does to a space: S Q (d, k), eigenvectors (k, k) and eigenvalues (k,) of QᵀSQ, the rest of the trace."""

    SQ: Array
    T: Array
    lam: Array
    rest: float


class _Left(NamedTuple):
    """The gain still to come, and whether what it is judged by is nothing but rounding."""

    gap: float
    blurred: bool


def run_ppca_em(
    rows: CentredRows, k: int, tol: float, max_iter: int, rng: np.random.Generator, progress: Progress | None
) -> PPCAEMResult:
    """EM from a random space, one pass and 4 n d k flops a step, until less than `tol` an entry is left to be gained.

    Of more than `MAX_ENTRIES_FOR_TOL` entries it is that many times `tol` in all. A step never loses; where its value is less
    for rounding, the path has the value before it. An interrupt by the user ends it with the best so far.
    """
    n, d = rows.columns.weight, rows.size
    trace, enough = rows.trace * rows.divisor / n, tol * min(n * d, MAX_ENTRIES_FOR_TOL)
    Q = np.linalg.qr(rng.standard_normal((d, k)))[0]
    best, path, moves, left, ended = (Q, trace / d), list[float](), list[Array](), _Left(np.inf, False), "max_iter"
    exact = rows.source.dtype == np.float32 and not isinstance(rows.source, SparseSource)
    loglik = -np.inf
    try:
        while len(path) < max_iter:
            seen, exact = _seen_through(rows, Q, trace, exact)
            excess, noise, deviance = best_in_subspace(seen.lam, seen.rest, d)
            loglik = -0.5 * n * deviance
            moves = [*moves[-3:], _moved(Q, seen)]
            path.append(max([loglik, *path[-1:]]))
            best, left = ((Q @ seen.T) * np.sqrt(excess), noise), _left(n, seen, noise, moves, exact)
            if progress is not None:
                progress(len(path), max_iter, step_label(len(path), path[-1]))
            if left.gap <= max(enough, FLOAT64_EPS * abs(loglik)) or left.blurred:
                ended = "converged" if left.gap <= enough else "rounding"
                break
            Q = np.linalg.qr(seen.SQ @ seen.T)[0]
    except KeyboardInterrupt:
        if not path:
            raise
        ended = "interrupted"
    converged = ended != "interrupted" and bool(left.gap <= max(enough, FLOAT64_EPS * abs(loglik)))
    return PPCAEMResult(*best, tuple(np.minimum(path, loglik).tolist()), converged, left.gap, ended)


# ---- what a pass finds ------------------------------------------------------------------------------------


def _seen_through(rows: CentredRows, Q: Array, trace: float, exact: bool) -> tuple[_Seen, bool]:
    """What S, with the divisor Σw, does to the space of the orthonormal Q, and whether the rows had to be asked."""
    shrink = rows.divisor / rows.columns.weight
    if not exact:
        SQ = rows.matmat(Q) * shrink
        rest = trace - float(np.sum(Q * SQ))
        if rest > MIN_REST_SHARE * trace:
            return _Seen(SQ, *_eigenpairs(Q.T @ SQ), rest), False
    SQ, rest, R = products_and_rest(rows, Q)
    V = np.linalg.svd(R)[2].T
    lam = np.sum((R @ V) ** 2, axis=0)  # right to a share of each: an error of v is felt in |R v|² as its square
    return _Seen(SQ * shrink, V, lam * shrink, rest * shrink), True


def _eigenpairs(B: Array) -> tuple[Array, Array]:
    """Eigenvectors and eigenvalues of a nearly symmetric B (k, k), descending; an error of v is felt as its square."""
    A = 0.5 * (B + B.T)
    T = np.linalg.eigh(A)[1][:, ::-1]
    return T, np.maximum(np.sum(T * (A @ T), axis=0), 0.0)


def products_and_rest(rows: CentredRows, Q: Array) -> tuple[Array, float, Array]:
    """X̃ᵀX̃ Q (d, k) for orthonormal Q, Σ ‖x̃ − Q Qᵀx̃‖², and a triangle R (k, k) with RᵀR = QᵀX̃ᵀX̃Q.

    In one pass in float64, rows dense a piece at a time. The sum is right to about 1e-31 of the trace, where the
    difference of the trace and that of Qᵀ X̃ᵀX̃ Q is to 1e-15 of it; and the singular values of R to 1e-16 of the
    largest, where the eigenvalues of Qᵀ X̃ᵀX̃ Q, their squares, are. Cost 8 n d k + 2 n k² flops.

    >>> from eigenlens.data.memory import ArraySource
    >>> rows = CentredRows(ArraySource(np.array([[1.0, 1e-9], [-1.0, 1e-9], [0.0, -2e-9]])))
    >>> products_and_rest(rows, np.array([[1.0], [0.0]]))[1]
    3e-18
    """
    rows.passes += 1
    found = accumulate(rows.source, partial(_sums, mean=rows.columns.mean, Q=Q))
    return found.products / rows.divisor, found.rest / rows.divisor, found.triangle / np.sqrt(rows.divisor)


@dataclass(frozen=True, eq=False)
class _Sums:
    """XᵀX Q (d, k) of centred rows, the squares beyond the space of Q, and the triangle of X Q (k, k)."""

    products: Array
    rest: float
    triangle: Array

    def __add__(self, other: Self) -> Self:
        triangle = _triangle(self.triangle, other.triangle)
        return type(self)(self.products + other.products, self.rest + other.rest, triangle)


def _sums(block: Block, mean: Array, Q: Array) -> _Sums:
    d, k = Q.shape
    products, rest, triangle = np.zeros((d, k)), 0.0, np.zeros((k, k))
    step = max(1, BLOCK_BYTES // (8 * d))
    for start in range(0, block.rows.shape[0], step):
        X = dense(block.rows[start : start + step]) - mean
        w = np.ones(len(X)) if block.weight is None else block.weight[start : start + step]
        Z = X @ Q
        products += X.T @ (w[:, None] * Z)
        triangle = _triangle(triangle, np.sqrt(w)[:, None] * Z)
        X -= Z @ Q.T
        X -= (X @ Q) @ Q.T  # what rounding left in the space of Q
        rest += float(w @ np.einsum("ij,ij->i", X, X))
    return _Sums(products, rest, triangle)


def _triangle(*parts: Array) -> Array:
    """R (k, k) with RᵀR = Σ AᵀA over parts A (·, k), of which at least one has k rows."""
    return np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))


# ---- the best model of a space, and how far it is from the best of all -------------------------------------


def best_in_subspace(lam: Array, rest: float, d: int) -> tuple[Array, float, float]:
    """The likeliest model whose loadings lie in the space of an orthonormal Q (d, k): W = Q T (L − sigma² I)^½.

    T (k, k) and L, here `lam` (k,), are the eigenvectors and eigenvalues of QᵀSQ, descending, and sigma² is the mean of
    the `rest` of the trace; an eigenvalue below that mean belongs to the rest. Returns the diagonal of L − sigma² I,
    sigma², and d log 2π + log |C| + tr C⁻¹S, twice the negative log-likelihood a row.

    >>> best_in_subspace(np.array([4.0, 1.0]), 3.0, 4)[:2]
    (array([2.667, 0.   ]), 1.3333333333333333)
    """
    k = lam.size
    least = MIN_REST * (float(lam.sum()) + max(rest, 0.0))
    left = max(rest, least) + np.append(np.cumsum(lam[::-1])[::-1], 0.0)
    means = left / (d - np.arange(k + 1))
    kept = int(np.count_nonzero(lam > means[1:]))  # once an eigenvalue is below the mean of the rest, so are the next
    noise = float(means[kept])
    log_det = float(np.log(lam[:kept]).sum()) + (d - kept) * np.log(noise)
    excess = np.where(np.arange(k) < kept, lam - noise, 0.0)
    return np.maximum(excess, 0.0), noise, float(d * np.log(2.0 * np.pi) + log_det + d)


def _moved(Q: Array, seen: _Seen) -> Array:
    """‖S v − λ v‖² (k,) of the eigenvectors v of S within the space of Q, beyond that space."""
    R = seen.SQ @ seen.T
    R -= Q @ (Q.T @ R)
    R -= Q @ (Q.T @ R)
    return np.asarray(np.einsum("ij,ij->j", R, R))


def _left(n: float, seen: _Seen, noise: float, moves: Sequence[Array], exact: bool) -> _Left:
    """What is left to gain, to second order in r = S v − λ v, of which a part lies at an eigenvalue mu of S.

    An eigenvalue can grow by r² / (λ − mu), and sigma² shrinks by as much in all: the log-likelihood gains

        n/2 Σ (1 / sigma² − 1 / λ) r² / (λ − mu) .

    A step multiplies that part by mu / λ, and r² by the square of it, which tells mu.
    """
    lam = np.maximum(seen.lam, MIN_REST * float(seen.lam.sum()) + np.finfo(np.float64).tiny)
    if len(moves) < 2:
        return _Left(np.inf, False)
    steps = np.asarray(moves)
    shrunk = np.sqrt(np.max(steps[1:] / np.maximum(steps[:-1], np.finfo(np.float64).tiny), axis=0))
    gains = 0.5 * n * np.abs(1.0 / noise - 1.0 / lam) * steps[-1] / (lam * (1.0 - np.minimum(shrunk, MAX_CONTRACTION)))
    trace = float(seen.lam.sum()) + seen.rest
    unseen = steps[-1] <= PRODUCT_ROUNDING**2 * trace * (lam if exact else trace)
    return _Left(float(gains.sum()), bool(np.all(unseen)))
