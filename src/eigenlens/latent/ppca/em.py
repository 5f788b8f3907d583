"""Accelerated EM for probabilistic PCA of complete rows, which uses the covariance S only through S W and its trace.

The step of Tipping and Bishop (1999, eq. 29 and 30), with M = WᵀW + sigma² I, is

    W ← S W (sigma² I + M⁻¹ WᵀSW)⁻¹ ,      sigma² ← (tr S − tr(S W M⁻¹ Wᵀ)) / d      (W on the right the new one).

The inverse only mixes columns: the new W lies in the space spanned by S W. Within that space the likelihood can be
maximised in closed form, for which the product S W of the next pass is enough. Doing so instead of taking EM's factor
and EM's sigma² (ECME: Liu and Rubin 1994) costs nothing, never lowers the likelihood either, and cannot stall where EM
does: while sigma² is large, EM shrinks directions of little variance to nothing, and takes long to find them again.
EM itself, as it is taught, is in `plain_em`.

sigma² is the rest of the trace. Where that is a small part of the trace its digits are lost in the difference, as are
those of small eigenvalues beside large ones in QᵀSQ: then both are computed from the rows themselves, in float64.

The log-likelihood still to be gained is estimated by how far S moves the space, not by the last gains, which rounding
hides long before.
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

MIN_REST_SHARE = 1e-2
"""A rest of the trace below this share of it is computed from the rows."""

MIN_REST = 1e-36
"""The rest of the trace is at least this share of it, so that it has a logarithm."""

MAX_ENTRIES_FOR_TOL = 2500.0
"""`tol` is per entry, but of at most this many: likelihoods are compared in total, however many rows there are."""

FLOAT64_EPS = float(np.finfo(np.float64).eps)

PRODUCT_ROUNDING = 16.0 * FLOAT64_EPS
"""The relative rounding error of products, beside the sizes of their factors."""

MAX_CONTRACTION = 1.0 - 1e-7
"""The gain still to come is estimated as if errors shrank by at least this factor per step."""


class PPCAEMResult(NamedTuple):
    """The end of EM: W (d, k), sigma², the log-likelihood of each step, the gain still to come, and why it ended.

    `rest` is the part of the trace of S outside the space of W, which is 0 where there is no noise.
    """

    loadings: Array
    noise: float
    path: tuple[float, ...]
    converged: bool
    remaining_gain: float
    ended: str
    rest: float


class Subspace(NamedTuple):
    """S on a space: S Q (d, k), eigenvectors T (k, k) and eigenvalues (k,) of QᵀSQ, and the rest of the trace."""

    SQ: Array
    T: Array
    lam: Array
    rest: float

    @property
    def root(self) -> Array:
        """Return L (k, k) with L Lᵀ = QᵀSQ."""
        return np.asarray(self.T * np.sqrt(self.lam))


class _Remaining(NamedTuple):
    """The estimated gain still to come, and whether it is nothing but rounding."""

    gain: float
    is_rounding: bool


def run_ppca_em(rows: CentredRows, Q: Array, tol: float, max_iter: int, progress: Progress | None) -> PPCAEMResult:
    """Run accelerated EM from the space of an orthonormal Q (d, k) until less than `tol` per entry is left to gain.

    For more than `MAX_ENTRIES_FOR_TOL` entries it is that many times `tol` in total. No step lowers the likelihood;
    where its value is lower by rounding, the path has the value before it. An interrupt by the user ends it with the
    best model so far. Cost: one pass and 4 n d k flops per step.
    """
    n, d = rows.columns.weight, rows.size
    trace, enough = rows.trace * rows.divisor / n, enough_gain(tol, n * d)
    best, path, moves, left, ended = (Q, trace / d), list[float](), list[Array](), _Remaining(np.inf, False), "max_iter"
    exact, loglik = exact_first(rows), -np.inf
    try:
        while len(path) < max_iter:
            space, exact = apply_covariance(rows, Q, trace, exact)
            excess, noise, deviance = best_in_subspace(space.lam, space.rest, d)
            loglik = -0.5 * n * deviance
            moves = [*moves[-3:], _squared_moves(Q, space)]
            path.append(max([loglik, *path[-1:]]))
            best, left = ((Q @ space.T) * np.sqrt(excess), noise), _remaining(n, space, noise, moves, exact)
            if progress is not None:
                progress(len(path), max_iter, step_label(len(path), path[-1]))
            if left.gain <= max(enough, FLOAT64_EPS * abs(loglik)) or left.is_rounding:
                ended = "converged" if left.gain <= enough else "rounding"
                break
            Q = np.linalg.qr(space.SQ @ space.T)[0]
    except KeyboardInterrupt:
        if not path:
            raise
        ended = "interrupted"
    converged = ended != "interrupted" and bool(left.gain <= max(enough, FLOAT64_EPS * abs(loglik)))
    k, steps = Q.shape[1], tuple(np.minimum(path, loglik).tolist())
    return PPCAEMResult(*best, steps, converged, left.gain, ended, best[1] * (d - k))


def enough_gain(tol: float, entries: float) -> float:
    """Return the log-likelihood in total that may remain to be gained: tol per entry, of not too many entries."""
    return tol * min(entries, MAX_ENTRIES_FOR_TOL)


def exact_first(rows: CentredRows) -> bool:
    """Return whether products need the exact pass from the start: float32 is computed in float64 there."""
    return rows.source.dtype == np.float32 and not isinstance(rows.source, SparseSource)


# ---- one pass ---------------------------------------------------------------------------------------------


def apply_covariance(rows: CentredRows, Q: Array, trace: float, exact: bool) -> tuple[Subspace, bool]:
    """Return S, with the divisor Σw, on the space of the orthonormal Q, and whether that needed the exact pass.

    exact: whether the exact pass, 2 times slower, is made at once.
    """
    shrink = rows.divisor / rows.columns.weight
    if not exact:
        SQ = rows.matmat(Q) * shrink
        rest = trace - float(np.sum(Q * SQ))
        if rest > MIN_REST_SHARE * trace:
            return Subspace(SQ, *_eigenpairs(Q.T @ SQ), rest), False
    SQ, rest, R = products_and_rest(rows, Q)
    V = np.linalg.svd(R)[2].T
    lam = np.sum((R @ V) ** 2, axis=0)  # small ones are accurate too: an error of v enters |R v|² squared
    return Subspace(SQ * shrink, V, lam * shrink, rest * shrink), True


def _eigenpairs(B: Array) -> tuple[Array, Array]:
    """Return eigenvectors and eigenvalues of a nearly symmetric B (k, k), descending.

    Eigenvalues are Rayleigh quotients: an error of v enters them squared.
    """
    A = 0.5 * (B + B.T)
    T = np.linalg.eigh(A)[1][:, ::-1]
    return T, np.maximum(np.sum(T * (A @ T), axis=0), 0.0)


def products_and_rest(rows: CentredRows, Q: Array) -> tuple[Array, float, Array]:
    """Return X̃ᵀX̃ Q (d, k) for orthonormal Q, Σ ‖x̃ − Q Qᵀx̃‖², and a triangle R (k, k) with RᵀR = QᵀX̃ᵀX̃Q.

    Computed in one pass in float64, with rows made dense piece by piece. The sum is accurate to about 1e-31 of the
    trace, where the difference of the trace and that of Qᵀ X̃ᵀX̃ Q would be to 1e-15 of it; and the singular values of R
    to 1e-16 of the largest, where the eigenvalues of Qᵀ X̃ᵀX̃ Q, their squares, would be. Cost: 8 n d k + 2 n k² flops.

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
        X -= (X @ Q) @ Q.T  # once more, for what rounding left in the space of Q
        rest += float(w @ np.einsum("ij,ij->i", X, X))
    return _Sums(products, rest, triangle)


def _triangle(*parts: Array) -> Array:
    """Return R (k, k) with RᵀR = Σ AᵀA over parts A (·, k), of which at least one has k rows."""
    return np.asarray(np.linalg.qr(np.vstack(parts), mode="r"))


# ---- the best model of a space, and its distance from the maximum ------------------------------------------


def best_in_subspace(lam: Array, rest: float, d: int) -> tuple[Array, float, float]:
    """Return the most likely model with loadings in the space of an orthonormal Q (d, k): W = Q T (L − sigma² I)^½.

    T (k, k) and L, here `lam` (k,), are the eigenvectors and eigenvalues of QᵀSQ, descending, and sigma² is the mean of
    the `rest` of the trace; an eigenvalue below that mean belongs to the rest. The result is the diagonal of
    L − sigma² I, sigma², and d log 2π + log |C| + tr C⁻¹S, twice the negative log-likelihood per row.

    >>> best_in_subspace(np.array([4.0, 1.0]), 3.0, 4)[:2]
    (array([2.667, 0.   ]), 1.3333333333333333)
    """
    k = lam.size
    smallest = MIN_REST * (float(lam.sum()) + max(rest, 0.0))
    left = max(rest, smallest) + np.append(np.cumsum(lam[::-1])[::-1], 0.0)
    means = left / (d - np.arange(k + 1))
    kept = int(np.count_nonzero(lam > means[1:]))  # once an eigenvalue is below the mean of the rest, so are the next
    noise = float(means[kept])
    log_det = float(np.log(lam[:kept]).sum()) + (d - kept) * np.log(noise)
    excess = np.where(np.arange(k) < kept, lam - noise, 0.0)
    return np.maximum(excess, 0.0), noise, float(d * np.log(2.0 * np.pi) + log_det + d)


def _squared_moves(Q: Array, space: Subspace) -> Array:
    """Return ‖S v − λ v‖² (k,) for the eigenvectors v of S within the space of Q, by their parts outside it."""
    R = space.SQ @ space.T
    R -= Q @ (Q.T @ R)
    R -= Q @ (Q.T @ R)
    return np.asarray(np.einsum("ij,ij->j", R, R))


def _remaining(n: float, space: Subspace, noise: float, moves: Sequence[Array], exact: bool) -> _Remaining:
    """Estimate the gain still to come, to second order in r = S v − λ v, a part of it along an eigenvector of S.

    With mu the eigenvalue of that one, λ can grow by r² / (λ − mu), and sigma² shrinks by as much in total: the
    log-likelihood gains

        n/2 Σ (1 / sigma² − 1 / λ) r² / (λ − mu) .

    A step multiplies that part by mu / λ, and r² by its square, from which mu is known.
    """
    lam = np.maximum(space.lam, MIN_REST * float(space.lam.sum()) + np.finfo(np.float64).tiny)
    if len(moves) < 2:
        return _Remaining(np.inf, False)
    steps = np.asarray(moves)
    shrunk = np.sqrt(np.max(steps[1:] / np.maximum(steps[:-1], np.finfo(np.float64).tiny), axis=0))
    gains = 0.5 * n * np.abs(1.0 / noise - 1.0 / lam) * steps[-1] / (lam * (1.0 - np.minimum(shrunk, MAX_CONTRACTION)))
    trace = float(space.lam.sum()) + space.rest
    rounding = steps[-1] <= PRODUCT_ROUNDING**2 * trace * (lam if exact else trace)
    return _Remaining(float(gains.sum()), bool(np.all(rounding)))
