"""Landmarks: a few rows whose images nearly span those of all rows, and the exact share of the trace they leave out.

With C Cᵀ = k(R, R) the Cholesky factor of the landmarks R, the features f(x) = C⁻¹ k(R, x) give the approximation
K̂ = F Fᵀ of the Gram matrix, and K − K̂ is positive semidefinite, so its trace Σ w_i (k_ii − |f_i|²) bounds its other
norms. Each pass recomputes the kernel values of a block: nothing of size n m is stored, only the residual (n,).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from eigenlens.arrays import Array, Like, namespace, slices, to_numpy
from eigenlens.data.coerce import require_finite
from eigenlens.data.rows import ROW_LOOKUPS, draw_rows, select_rows, stack_rows, take_rows
from eigenlens.data.source import Block, FieldSums, Progress, Source, accumulate
from eigenlens.errors import ResourceError
from eigenlens.gpu.runtime import on_device
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.panels import (
    dense_column_means,
    float64_values,
    no_variance_error,
    residual_diagonal,
    subtract_origin,
    sum_panels,
    to_float64_rows,
)
from eigenlens.resources import single_threaded_map, thread_count

PIVOT_CHUNK, SPARE_PROPOSALS = 128, 64
"""Proposals that are eliminated together, and proposals drawn beyond four times the landmarks still missing."""

MAX_SORTED_PROPOSALS = 2048
"""Rows that are sorted by their residuals at once, at most: complete pivoting costs their cube."""

SUBSTITUTION_BLOCK = 64
"""Columns of the Cholesky factor per block of the substitution: large enough for BLAS 3."""

TIE_BREAK = 1e-10
"""Relative handicap per row, so that of rows with equal residuals the first is taken whatever rounding does."""

FIRST_LANDMARKS, MAX_LANDMARKS = 128, 10_000
"""Landmarks with which the search for an error starts, and the most it may take: their factor alone takes 800 MB."""

SPANNED_SHARE, NEARLY_SPANNED_SHARE = 1e-12, 1e-7
"""A residual below the first share of k(x, x) is rounding: the landmarks span the row already. Where landmarks are
drawn without regard to residuals, a row with a residual below the second share of the largest is postponed: features
divide by its root, and those of distant rows would be rounding."""

Draw = Callable[[Array, Array, int, np.random.Generator], tuple[Array, Array]]
"""(residual (n,), weight (n,), count, rng) → rows drawn (count,), and the bar that the residual of each must exceed."""

Eliminate = Callable[[Array, Array, int], tuple[Array, Array]]
"""(residual matrix H (c, c), bars (c,), most) → rows kept (r,) in their order, Cholesky factor of theirs (r, r)."""


@dataclass(frozen=True)
class PivotRule:
    """A rule for choosing landmarks.

    Attributes:
        draw: proposes rows.
        eliminate: keeps some of those proposed.
        at_once: landmarks still missing → the number of rows to propose together.
        relative: whether its residuals are relative to k(x, x).
    """

    draw: Draw
    eliminate: Eliminate
    at_once: Callable[[int], int]
    relative: bool

    def __call__(
        self,
        source: Source,
        kernel: Kernel,
        n_landmarks: int | float,
        rng: np.random.Generator,
        progress: Progress | None = None,
        *,
        most: int = MAX_LANDMARKS,
        center: bool = True,
    ) -> Landmarks:
        """Choose landmarks in rounds: measure the residual, draw rows by it, keep those that still have enough of it.

        Args:
            source: the rows, with their weights.
            kernel: positive semidefinite.
            n_landmarks: their number; or, as a float, the share of the trace that they may leave out: as many as a
                search one landmark at a time would have drawn.
            rng: draws them.
            progress: called with the rows done in each pass.
            most: the number of landmarks at which the search for an error gives up.
            center: whether components are about the mean: where phi(x) = x, rows are then measured from it.

        Cost: about log(1 / share left out) passes of n m (2d + m) flops; memory O(n + m²) and a block.

        >>> from eigenlens.data.memory import ArraySource
        >>> from eigenlens.kernel_pca.kernels.linear import Linear
        >>> X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
        >>> draw_pivoted_landmarks(ArraySource(X), Linear(), 4, np.random.default_rng(0)).reason
        'all rows are spanned by 2 landmarks, up to rounding; 4 were asked for'
        """
        error = n_landmarks if isinstance(n_landmarks, float) else 0.0
        count = most if error else int(n_landmarks)
        shift = kernel.identity and center
        origin = dense_column_means(source, progress) if shift else None
        none, passes = np.zeros(0, dtype=np.intp), int(shift)
        found = Landmarks(kernel, None, np.zeros((0, 0)), none, origin, passes=passes)
        while True:
            residual = _measure(source, found, self.relative, progress)
            found = replace(found, passes=found.passes + 1)
            if error and found.size and residual.share <= error:
                m = int(np.argmax(residual.path <= error)) + 1
                return replace(found.first(m), reason=f"the share left out is at most {error:g}")
            if found.size == count:
                raise _too_many(error, count, residual.share)
            before, target = found.size, min(count, _next_size(residual, error)) if error else count
            found = _round(source, found, np.concatenate(residual.parts), self, target, rng, progress)
            if found.size == before:
                return replace(found, reason=_spanned(before, n_landmarks, residual.share), met=not error)
            if found.size == count and not error:
                return replace(found, reason=f"{count} landmarks were asked for")


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Rows R and the Cholesky factor of their kernel matrix: a map from x to m features, in float64.

        f(x) = C⁻¹ k(R, x),    C Cᵀ = k(R, R),    f(x)·f(y) = k(x, R) k(R, R)⁻¹ k(R, y)

    Attributes:
        kernel: k(x, y).
        rows: R (m, d), in the order of their choice, less the origin and in the dtype of the source.
        factor: C (m, m), lower triangular.
        index: (m,) positions of the landmarks among the rows of the source.
        origin: (d,), subtracted from every row before the kernel is evaluated, or None.
        reason: why there are m of them.
        met: whether the requested error was met; true where a number was requested.
        passes: number of passes over the rows that it took.

    >>> from eigenlens.kernel_pca.kernels.linear import Linear
    >>> R = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> Landmarks(Linear(), R, np.array([[1.0, 0.0], [1.0, 1.0]]), np.arange(2)).features(np.array([[2.0, 3.0]]))
    array([[2., 3.]])
    """

    kernel: Kernel
    rows: Any
    factor: Array
    index: Array
    origin: Array | None = None
    reason: str = ""
    met: bool = True
    passes: int = 0

    @property
    def size(self) -> int:
        """The number m of landmarks, which is that of features."""
        return len(self.index)

    def features(self, X: Any) -> Any:
        """Return F (n, m) of rows as given, in float64; on a device for rows on one. Cost n m (2d + m)."""
        rows = to_float64_rows(X, self.origin)
        return self._device_features(rows) if on_device(X) and self.size else self._features(rows)

    def _device_features(self, rows: Any) -> Any:
        """Return F as one product with C⁻ᵀ: a substitution of this many columns would leave a device idle."""
        K = self.kernel(rows, to_float64_rows(self.rows))
        return namespace(K).matmul(K, Like(K)(self._inverse.T))

    @cached_property
    def _inverse(self) -> Array:
        return np.asarray(np.tril(lapack.dtrtri(self.factor, lower=1)[0]))

    def _features(self, X: Any) -> Array:
        if not self.size:
            return np.empty((X.shape[0], 0))
        K = float64_values(self.kernel(X, to_float64_rows(self.rows))).T
        F = np.empty(K.shape)
        for part, inverse in zip(slices(self.size, SUBSTITUTION_BLOCK), self._inverses, strict=True):
            F[part] = inverse @ (K[part] - self.factor[part, : part.start] @ F[: part.start])
        return F.T

    @cached_property
    def _inverses(self) -> list[Array]:
        """Inverses of the diagonal blocks of C: substitution by blocks is all products, twice as fast as DTRSM."""
        parts = slices(self.size, SUBSTITUTION_BLOCK)
        return [lapack.dtrtri(self.factor[part, part], lower=1)[0] for part in parts]

    def spread(self, V: Array) -> Array:
        """Return C⁻ᵀ V (m, k): directions among the features as combinations Σ_i A_ij phi(r_i)."""
        return np.asarray(blas.dtrsm(1.0, self.factor, V, lower=1, trans_a=1))

    def error(self, left: float) -> float:
        """Return the error to report where the share `left` of the trace was measured to be left out: that share."""
        return left

    def first(self, m: int) -> Landmarks:
        """Return the first m landmarks: those that a shorter search would have found."""
        return replace(self, rows=self.rows[:m], factor=np.asfortranarray(self.factor[:m, :m]), index=self.index[:m])

    def extended(self, rows: Any, index: Array, factor: Array) -> Landmarks:
        """Return these and more landmarks (c, d), given the new rows (c, m + c) of the factor."""
        m, c = self.size, len(index)
        larger = np.zeros((m + c, m + c), order="F")
        larger[:m, :m], larger[m:] = self.factor, factor
        together = stack_rows((self.rows, rows) if m else (rows,))
        return replace(self, rows=together, factor=larger, index=np.append(self.index, index))


@dataclass(frozen=True, eq=False)
class Residual(FieldSums):
    """The part of the diagonal of the Gram matrix that landmarks leave; residuals of consecutive rows merge with +.

    Attributes:
        parts: arrays that together are k_ii − |f_i|² (n,), 0 where that is rounding; over k_ii if they are relative.
        explained: (m,) Σ_i w_i f_ij², by which the j-th landmark lowered the trace.
        left: Σ w_i (k_ii − |f_i|²), no term of it below 0.
        trace: Σ w_i k_ii.
    """

    parts: tuple[Array, ...]
    explained: Array
    left: float
    trace: float

    @property
    def share(self) -> float:
        """The share of the trace that is left."""
        return self.left / self.trace

    @property
    def path(self) -> Array:
        """The shares (m,) left by the first landmark, the first two, … and by all of them."""
        later = np.cumsum(self.explained[::-1])[::-1] - self.explained
        return (self.left + later) / self.trace


def _by_residual(residual: Array, weight: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    drawn = draw_rows(weight * residual, count, rng)
    return drawn, rng.random(count) * residual[drawn]


def _by_weight(residual: Array, weight: Array, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    bar = NEARLY_SPANNED_SHARE * float(residual[weight > 0.0].max())
    return draw_rows(weight * (residual > bar), count, rng), np.full(count, bar)


def _spanned(m: int, n_landmarks: int | float, share: float) -> str:
    landmarks = "1 landmark" if m == 1 else f"{m} landmarks"
    missed = f"they leave out {share:.2g} of the trace and {n_landmarks:g} was asked for"
    wanted = missed if isinstance(n_landmarks, float) else f"{n_landmarks} were asked for"
    return f"all rows are spanned by {landmarks}, up to rounding; {wanted}"


def _too_many(error: float, most: int, share: float) -> ResourceError:
    return ResourceError(
        f"is an error that {most:,} landmarks do not reach: they leave out {share:.2g} of the trace",
        argument="n_landmarks",
        value=error,
        fix="ask for a larger error or for a number of landmarks, or use a smoother kernel (a smaller gamma)",
    )


def _next_size(residual: Residual, error: float) -> int:
    """Return how many landmarks to try next: by a power law fitted to the last half, at most three times as many."""
    m = len(residual.explained)
    if m < FIRST_LANDMARKS:
        return max(FIRST_LANDMARKS, 2 * m)
    path = residual.path
    power = np.log2(path[m // 2 - 1] / path[-1])
    return int(np.clip(1.1 * m * (path[-1] / error) ** (1.0 / max(power, 0.1)), 1.25 * m, 3.0 * m))


def _measure(source: Source, landmarks: Landmarks, relative: bool, progress: Progress | None) -> Residual:
    """Measure the residual of every row, in one pass."""
    with np.errstate(all="ignore"):  # values that are not finite are found in the result and explained there
        residual = accumulate(
            source, partial(_residual, landmarks=landmarks, relative=relative), progress, "measuring landmarks"
        )
    require_finite(source, residual.trace, residual.left)
    if residual.trace <= 0.0:
        raise no_variance_error()  # every phi(x) is 0, or the mean
    return residual


def _residual(block: Block, landmarks: Landmarks, relative: bool) -> Residual:
    measure = partial(_panel_residual, landmarks=landmarks, relative=relative)
    return sum_panels(measure, block, landmarks.size, landmarks.kernel)


def _panel_residual(block: Block, landmarks: Landmarks, relative: bool) -> Residual:
    F = landmarks.features(block.rows)
    k, left = residual_diagonal(landmarks.kernel, to_float64_rows(block.rows, landmarks.origin), F)
    w = np.ones(len(k)) if block.weight is None else block.weight
    kept = np.where(left > SPANNED_SHARE * k, left, 0.0)
    if relative:
        kept = np.divide(kept, k, out=kept, where=kept > 0.0)
    F *= F
    explained = to_numpy(Like(F)(w) @ F) if on_device(F) else w @ F
    return Residual((kept,), explained, float(w @ left), float(w @ k))


def _round(
    source: Source,
    landmarks: Landmarks,
    residual: Array,
    choice: PivotRule,
    target: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Landmarks:
    """Add landmarks, up to `target` in total, from rows drawn by the residual (n,) that those so far leave."""
    n = len(residual)
    weight = np.ones(n) if source.weight is None else source.weight
    if not np.any(weight * residual):
        return landmarks
    drawn, bars = choice.draw(residual, weight, 4 * (target - landmarks.size) + SPARE_PROPOSALS, rng)
    rows = take_rows(source, drawn, n, progress)
    landmarks, start = replace(landmarks, passes=landmarks.passes + (type(source) not in ROW_LOOKUPS)), 0
    with single_threaded_map(thread_count()):
        while start < len(drawn) and landmarks.size < target:
            part = slice(start, min(start + choice.at_once(target - landmarks.size), len(drawn)))
            before = landmarks.size
            landmarks = _extend(landmarks, rows[part, :], drawn[part], bars[part], choice, target)
            rate = (landmarks.size - before + 1) / (part.stop - start)
            # A pass costs as much as n more proposals, and restores the rate to one.
            if (target - landmarks.size) * (1.0 / rate - 1.0) > n:
                break
            start = part.stop
    return landmarks


def _extend(landmarks: Landmarks, rows: Any, index: Array, bars: Array, choice: PivotRule, most: int) -> Landmarks:
    """Add those of the rows (c, d) as landmarks whose residual, in their turn, exceeds their bar (c,)."""
    rows = subtract_origin(rows, landmarks.origin)
    X = to_float64_rows(rows)
    G = landmarks._features(X)
    k = float64_values(landmarks.kernel.diagonal(X))
    H = float64_values(landmarks.kernel(X, X)) - G @ G.T
    np.fill_diagonal(H, k - np.einsum("ij,ij->i", G, G))
    bars = np.maximum(bars * k if choice.relative else bars, SPANNED_SHARE * k)
    kept, factor = choice.eliminate(H, bars, most - landmarks.size)
    if not kept.size:
        return landmarks
    return landmarks.extended(select_rows(rows, kept), index[kept], np.hstack([G[kept], factor]))


def _in_turn(H: Array, bars: Array, most: int) -> tuple[Array, Array]:
    """Eliminate rows in the order of their proposal; H is overwritten."""
    kept: list[int] = []
    for i in range(len(H)):
        if len(kept) == most:
            break
        if H[i, i] > bars[i]:
            kept.append(i)
            H[i:, i] /= np.sqrt(H[i, i])
            H[i + 1 :, i + 1 :] -= np.outer(H[i + 1 :, i], H[i + 1 :, i])
    return np.array(kept, dtype=np.intp), np.tril(H[np.ix_(kept, kept)])


def _largest_first(H: Array, bars: Array, most: int) -> tuple[Array, Array]:
    """Eliminate rows in the order of their residuals over their bars: Cholesky factorisation with complete pivoting."""
    # Of equal residuals the first is taken, whatever rounding does.
    unit = np.sqrt(bars * (1.0 + TIE_BREAK * np.arange(len(bars))))
    C, order, rank, _ = lapack.dpstrf(H / np.outer(unit, unit), tol=1.0, lower=1)
    rank = int(np.count_nonzero(np.diagonal(C)[:rank] > 1.0))  # LAPACK takes the first pivot untested
    kept = order[: min(rank, most)] - 1
    return kept, np.tril(C[: len(kept), : len(kept)]) * unit[kept][:, None]


draw_pivoted_landmarks = PivotRule(_by_residual, _in_turn, lambda missing: PIVOT_CHUNK, relative=False)
"""Randomly pivoted Cholesky: each landmark is drawn with a probability proportional to w_i times its residual.

Many rows are proposed by the residuals of the last pass, and each is accepted with the probability (its residual now) /
(its residual then): the distribution is that of one landmark and one pass at a time (Chen, Epperly, Tropp and Webber
2022, algorithm 2.1; with rejection: Epperly, Tropp and Webber 2024, "Embrace rejection").
"""

draw_uniform_landmarks = PivotRule(
    _by_weight, _largest_first, lambda missing: min(missing, MAX_SORTED_PROPOSALS), relative=True
)
"""The Nyström method: landmarks are drawn without replacement with probabilities proportional to w_i.

Rows that the others span up to rounding, such as copies, are skipped, and so are those that they nearly span while
other rows are far from it (Williams and Seeger 2000, "Using the Nyström method to speed up kernel machines"). Rows
drawn together are ordered by what each adds, the largest first, and a requested error is met by the shortest list that
meets it. Neither order nor omission changes the span by more than a share of 1e-7; they keep the factor well
conditioned, and so the certificate right.
"""
