"""Landmarks: few rows whose images nearly span those of all rows, and the exact share of the trace that they miss.

With C Cᵀ = k(R, R) the Cholesky factor of the landmarks R, the features f(x) = C⁻¹ k(R, x) give the approximation
K̂ = F Fᵀ of the Gram matrix, and K − K̂ is positive semidefinite, so its trace Σ w_i (k_ii − |f_i|²) bounds its other
norms. Each pass works the kernel values of a block out anew: nothing of size n m is kept, only the residual (n,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from scipy.linalg import blas, lapack

from eigenlens.arrays import Array
from eigenlens.compiled import each_alone, threads
from eigenlens.data.resolve import explain_nonfinite
from eigenlens.data.source import Block, Progress, Source, accumulate
from eigenlens.errors import DataError, ResourceError
from eigenlens.fitting.panels import float64_values, is_single, summed, unspanned
from eigenlens.fitting.sampling import draw_rows, picked, stacked, take_rows
from eigenlens.kernels.mercer import Kernel

__all__ = ["Landmarks", "randomly_pivoted", "uniform"]

CHUNK, SPARE = 128, 64

STEP = 64
"""Columns of a Cholesky factor that are eliminated at once."""

FIRST, MOST = 128, 10_000
"""Where the search for an error starts, and the most landmarks it may take: their factor alone is then 800 MB."""

ROUNDING = {False: 1e-12, True: 1e-4}
"""A residual below this share of k(x, x) is rounding: the row is spanned by the landmarks already. True: float32."""

Draw = Callable[[Array, Array, int, np.random.Generator], tuple[Array, Array]]
"""(residual (n,), weight (n,), count, rng) → rows drawn (count,), and what the residual of each must still exceed."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows R and the Cholesky factor of their kernel matrix: a map from x to m features.

        f(x) = C⁻¹ k(R, x),    C Cᵀ = k(R, R),    f(x)·f(y) = k(x, R) k(R, R)⁻¹ k(R, y)

    Attributes:
        kernel: k(x, y).
        rows: R (m, d), in the order of their choice.
        factor: C (m, m), lower triangular.
        index: (m,) where the landmarks stand among the rows of the source.
        reason: why there are m of them.

    >>> from eigenlens.kernels.mercer import Linear
    >>> R = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> Landmarks(Linear(), R, np.array([[1.0, 0.0], [1.0, 1.0]]), np.arange(2)).features(np.array([[2.0, 3.0]]))
    array([[2., 3.]])
    """

    kernel: Kernel
    rows: Any
    factor: Array
    index: Array
    reason: str = ""

    @property
    def size(self) -> int:
        """The number m of landmarks, which is that of features."""
        return len(self.index)

    def features(self, X: Any) -> Array:
        """F (n, m) in float64. Cost n m (2d + m)."""
        if not self.size:
            return np.empty((X.shape[0], 0))
        K = float64_values(self.kernel(X, self.rows)).T
        F = np.empty(K.shape)
        for start, inverse in zip(range(0, self.size, STEP), self._inverses, strict=True):
            part = slice(start, start + STEP)
            F[part] = inverse @ (K[part] - self.factor[part, :start] @ F[:start])
        return F.T

    @cached_property
    def _inverses(self) -> list[Array]:
        """Those of the diagonal blocks of C: substitution by blocks is all products, which DTRSM does at half speed."""
        parts = [slice(start, start + STEP) for start in range(0, self.size, STEP)]
        return [lapack.dtrtri(self.factor[part, part], lower=1)[0] for part in parts]

    def spread(self, V: Array) -> Array:
        """C⁻ᵀ V (m, k): directions among the features as combinations Σ_i A_ij phi(r_i)."""
        return np.asarray(blas.dtrsm(1.0, self.factor, V, lower=1, trans_a=1))

    def error(self, left: float) -> float:
        """The error to report where the share `left` of the trace was measured to be left out: that share."""
        return left

    def first(self, m: int) -> Landmarks:
        """The first m landmarks: those that a shorter search would have found."""
        return replace(self, rows=self.rows[:m], factor=np.asfortranarray(self.factor[:m, :m]), index=self.index[:m])

    def extended(self, rows: Any, index: Array, factor: Array) -> Landmarks:
        """With more landmarks (c, d), given the new rows (c, m + c) of the factor."""
        m, c = self.size, len(index)
        larger = np.zeros((m + c, m + c), order="F")
        larger[:m, :m], larger[m:] = self.factor, factor
        together = stacked((self.rows, rows) if m else (rows,))
        return replace(self, rows=together, factor=larger, index=np.append(self.index, index))


@dataclass(frozen=True, eq=False)
class Residual:
    """What landmarks leave of the diagonal of the Gram matrix; parts merge in the order of the rows.

    Attributes:
        parts: arrays that together are k_ii − |f_i|² (n,), 0 where that is rounding.
        explained: (m,) Σ_i w_i f_ij², by which the j-th landmark lowered the trace.
        left: Σ w_i (k_ii − |f_i|²), no term of it below 0.
        trace: Σ w_i k_ii.
    """

    parts: tuple[Array, ...]
    explained: Array
    left: float
    trace: float

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.parts + other.parts, self.explained + other.explained, self.left + other.left, self.trace + other.trace
        )

    @property
    def share(self) -> float:
        """The share of the trace that is left."""
        return self.left / self.trace

    @property
    def path(self) -> Array:
        """The shares (m,) that are left by the first landmark, the first two, … and by all of them."""
        later = np.cumsum(self.explained[::-1])[::-1] - self.explained
        return (self.left + later) / self.trace


def randomly_pivoted(
    source: Source,
    kernel: Kernel,
    n_landmarks: int | float,
    rng: np.random.Generator,
    progress: Progress | None = None,
    *,
    most: int = MOST,
) -> Landmarks:
    """Landmarks by randomly pivoted Cholesky: each drawn with a probability proportional to w_i times its residual.

    Rows are proposed in great numbers by the residuals of the last pass, and one is accepted with the probability
    (its residual now) / (its residual then): the law is that of one landmark and one pass at a time (Chen, Epperly,
    Tropp and Webber 2022, algorithm 2.1; with rejection: Epperly, Tropp and Webber 2024, "Embrace rejection").

    Args:
        source: the rows, with their weights.
        kernel: positive semidefinite.
        n_landmarks: their number; or, as a float, the share of the trace that they may leave out, which gives as
            many as a search one landmark at a time would have stopped at.
        rng: draws them.
        progress: told of the rows done in each pass.
        most: the number beyond which the search for an error gives up.

    Cost: about log(1 / share left out) passes of n m (2d + m) flops; memory O(n + m²) and a block.

    >>> from eigenlens.data.memory import ArraySource
    >>> from eigenlens.kernels.mercer import Linear
    >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    >>> randomly_pivoted(ArraySource(X), Linear(), 4, np.random.default_rng(0)).reason
    'all rows are spanned by 2 landmarks, up to rounding'
    """
    return _choose(source, kernel, n_landmarks, _by_residual, rng, progress, most)


def uniform(
    source: Source,
    kernel: Kernel,
    n_landmarks: int | float,
    rng: np.random.Generator,
    progress: Progress | None = None,
    *,
    most: int = MOST,
) -> Landmarks:
    """Landmarks drawn without replacement with probabilities proportional to w_i: the Nyström method.

    Rows that earlier landmarks span up to rounding, such as copies of one, are passed over (Williams and Seeger 2000,
    "Using the Nyström method to speed up kernel machines"). Arguments and cost as in `randomly_pivoted`.
    """
    return _choose(source, kernel, n_landmarks, _by_weight, rng, progress, most)


def _by_residual(residual: Array, weight: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    drawn = draw_rows(weight * residual, count, rng)
    return drawn, rng.random(count) * residual[drawn]


def _by_weight(residual: Array, weight: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return draw_rows(weight * (residual > 0.0), count, rng), np.zeros(count)


def _choose(
    source: Source,
    kernel: Kernel,
    n_landmarks: int | float,
    draw: Draw,
    rng: np.random.Generator,
    progress: Progress | None,
    most: int,
) -> Landmarks:
    """Rounds of three steps: measure the residual, draw rows by it, keep those that still have enough of it."""
    error = n_landmarks if isinstance(n_landmarks, float) else 0.0
    count = most if error else int(n_landmarks)
    found = Landmarks(kernel, None, np.zeros((0, 0)), np.zeros(0, dtype=np.intp))
    while True:
        residual = _measure(source, found, progress)
        if error and found.size and residual.share <= error:
            m = int(np.argmax(residual.path <= error)) + 1
            return replace(found.first(m), reason=f"the share left out is at most {error:g}")
        if found.size == count:
            raise _too_many(error, count, residual.share)
        before, target = found.size, min(count, _next_size(residual, error)) if error else count
        found = _round(source, found, np.concatenate(residual.parts), draw, target, rng, progress)
        if found.size == before:
            return replace(found, reason=f"all rows are spanned by {before} landmarks, up to rounding")
        if found.size == count and not error:
            return replace(found, reason=f"{count} landmarks were asked for")


def _too_many(error: float, most: int, share: float) -> ResourceError:
    return ResourceError(
        f"n_landmarks={error:g} asks for an error that {most:,} landmarks do not reach: they leave out {share:.2g} of "
        "the trace. Ask for a larger error or for a number of landmarks, or take a smoother kernel (a smaller gamma)."
    )


def _next_size(residual: Residual, error: float) -> int:
    """How many landmarks to try next: as the power law of the last half foretells, at most three times as many."""
    m = len(residual.explained)
    if m < FIRST:
        return max(FIRST, 2 * m)
    path = residual.path
    power = np.log2(path[m // 2 - 1] / path[-1])
    return int(np.clip(1.1 * m * (path[-1] / error) ** (1.0 / max(power, 0.1)), 1.25 * m, 3.0 * m))


def _measure(source: Source, found: Landmarks, progress: Progress | None) -> Residual:
    """The residual of every row, in one pass."""
    with np.errstate(all="ignore"):  # what is not finite is found in the result, and explained
        residual = accumulate(source, partial(_residual, found=found), progress, "measuring landmarks")
    if not np.isfinite(residual.trace) or not np.isfinite(residual.left):
        raise explain_nonfinite(source)
    if residual.trace <= 0.0:
        raise DataError(f"kernel={found.kernel.name!r} is 0 for every row and itself; rows that differ are needed.")
    return residual


def _residual(block: Block, found: Landmarks) -> Residual:
    return summed(partial(_panel_residual, found=found), block, found.size, found.kernel)


def _panel_residual(block: Block, found: Landmarks) -> Residual:
    F = found.features(block.rows)
    k, left = unspanned(found.kernel, block.rows, F)
    w = np.ones(len(k)) if block.weight is None else block.weight
    kept = np.where(left > ROUNDING[is_single(block.rows)] * k, left, 0.0)
    return Residual((kept,), w @ np.square(F, out=F), float(w @ left), float(w @ k))


def _round(
    source: Source,
    found: Landmarks,
    residual: Array,
    draw: Draw,
    target: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Landmarks:
    """More landmarks, at most `target` in all, from rows drawn by the residual (n,) that those so far leave."""
    n = len(residual)
    weight = np.ones(n) if source.weight is None else source.weight
    if not np.any(weight * residual):
        return found
    drawn, bars = draw(residual, weight, 4 * (target - found.size) + SPARE, rng)
    rows = take_rows(source, drawn, n, progress)
    with each_alone(threads()):
        for start in range(0, len(drawn), CHUNK):
            part = slice(start, start + CHUNK)
            before, found = found.size, _extend(found, rows[part], drawn[part], bars[part], target)
            rate = (found.size - before + 1) / CHUNK
            # A pass costs as much as n more proposals, and restores the rate to one.
            if found.size == target or (target - found.size) * (1.0 / rate - 1.0) > n:
                break
    return found


def _extend(found: Landmarks, rows: Any, index: Array, bars: Array, most: int) -> Landmarks:
    """With those of the rows (c, d) as landmarks whose residual, when their turn comes, exceeds their bar (c,)."""
    G = found.features(rows)
    k = float64_values(found.kernel.diagonal(rows))
    H = float64_values(found.kernel(rows, rows)) - G @ G.T
    np.fill_diagonal(H, k - np.einsum("ij,ij->i", G, G))
    kept = _eliminate(H, np.maximum(bars, ROUNDING[is_single(rows)] * k), most - found.size)
    if not kept:
        return found
    return found.extended(picked(rows, kept), index[kept], np.hstack([G[kept], np.tril(H[np.ix_(kept, kept)])]))


def _eliminate(H: Array, bars: Array, most: int) -> list[int]:
    """The rows of H (c, c) kept, at most `most`; their columns of H become the columns of its Cholesky factor."""
    kept: list[int] = []
    for i in range(len(H)):
        if len(kept) == most:
            break
        if H[i, i] > bars[i]:
            kept.append(i)
            H[i:, i] /= np.sqrt(H[i, i])
            H[i + 1 :, i + 1 :] -= np.outer(H[i + 1 :, i], H[i + 1 :, i])
    return kept
