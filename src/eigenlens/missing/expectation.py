"""The E-step for incomplete rows: latent values under x = W z + mu + e, and sums of their expected statistics.

Columns are centred and scaled (`missing.units`): Y holds their entries (0 where missing), and O is 1 where observed.
With V = Psi⁻¹ W, row i has the latent precision M_i = I + Σ_j O_ij w_j w_jᵀ / psi_j and the latent mean
z_i = M_i⁻¹ Vᵀ (y_i − mu): two matrix products for all rows, n small inverses side by side, and two products back.

Sums are formed from the residuals r = y − mu − W z, never as differences of squares, which lose all digits where the
noise is small. Rows that are few enough are prepared once for all passes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import TypeVar

import numpy as np

from eigenlens.arrays import Array, as_floats, slices
from eigenlens.checkpoint.passes import recorded
from eigenlens.data.source import Addable, Block, FieldSums, Progress, Source, accumulate
from eigenlens.densities.base import distinct_patterns
from eigenlens.densities.linear_gaussian import LinearGaussian, has_scattered_patterns
from eigenlens.linalg.packed import apply_packed, invert_packed, packed_diagonal, packed_size, unpack_symmetric
from eigenlens.missing.low_noise import PatternRotations, rotate_patterns
from eigenlens.missing.units import Units
from eigenlens.native.incomplete_rows import Frame, latent_compiled, latent_expected

PIECE_ENTRIES = 1 << 18
"""Entries of the packed arrays of a piece: few enough for the cache, many enough that loops in Python cost nothing."""

REFINED_SIGNAL = 1e3
"""Beyond this signal-to-noise ratio the product with M⁻¹ loses digits that residuals over psi need: z is refined."""

ROTATED_SIGNAL = 4e6
"""Beyond this signal-to-noise ratio M itself loses those digits, and is not formed (`missing.low_noise`)."""

MAX_PATTERNS_PER_ROW = 0.5
"""Rows are grouped by their pattern of missing values if there are at most this many patterns per row."""

MAX_PREPARED_BYTES = 256 << 20
"""Prepared rows, and their posteriors under one model, are kept in memory if they take no more than this."""

MAX_COLLECTED_BYTES = 16 << 20
"""The same for rows on the workers of a cluster, which are collected for that: a pass over fewer takes no longer than
the messages of a pass over there."""

A = TypeVar("A", bound=Addable)
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PatternRows:
    """Rows with at least one observed entry, grouped by their pattern of missing values.

    Attributes:
        Y: (b, d) scaled entries, 0 where missing. O: (b, d) 1 where observed. w: (b,) weights.
        patterns: (u, d) distinct rows of O. which: (b,) the pattern of each row; None if each row is its own pattern.
        weight: (u,) Σ w of each pattern.
    """

    Y: Array
    O: Array
    w: Array
    patterns: Array
    which: Array | None
    weight: Array

    def per_row(self, values: Array) -> Array:
        """Return values per row (..., b) from values per pattern (..., u)."""
        return values if self.which is None else np.take(values, self.which, axis=-1)


class IncompleteRows:
    """A piece of rows X as given, NaN where missing, seen as y = (x − centre) / scale.

    Compiled kernels read X directly; `grouped` is made of it where NumPy has to do the work, of its parts.
    """

    def __init__(self, X: Array, w: Array | None, centre: Array, scale: Array, k: int) -> None:
        self.X, self.w, self.centre, self.scale, self.k = X, w, centre, scale, k

    @cached_property
    def scattered(self) -> bool:
        """Whether patterns of missing values hardly repeat."""
        return has_scattered_patterns(self.X)

    @cached_property
    def grouped(self) -> PatternRows:
        """Return the rows with positive weight and an observed entry; the others do not contribute."""
        X = np.array(self.X, dtype=np.float64)
        seen = ~np.isnan(X)
        X[~seen] = 0.0
        w = np.ones(len(X)) if self.w is None else self.w
        keep = seen.any(axis=1) & (w > 0.0)
        if not keep.all():
            X, seen, w = X[keep], seen[keep], w[keep]
        return _group_by_pattern((X - self.centre) / self.scale, seen, w)

    @cached_property
    def parts(self) -> list[IncompleteRows]:
        """The rows in pieces whose packed arrays fit the cache, for NumPy."""
        return self._split(max(64, PIECE_ENTRIES // packed_size(self.k + 1)))

    def _split(self, most: int) -> list[IncompleteRows]:
        """Split the rows into pieces of about the same size, of at most this many rows."""
        n = len(self.X)
        step = max(1, -(-n // max(1, -(-n // most))))
        weights = [None if self.w is None else self.w[part] for part in slices(n, step)]
        return [
            IncompleteRows(self.X[part], w, self.centre, self.scale, self.k)
            for part, w in zip(slices(n, step), weights, strict=True)
        ]

    def frame(self, model: LinearGaussian) -> Frame:
        """Return a model of these rows in the form that kernels take."""
        return Frame(self.centre, self.scale, model.mean, model.loadings, np.asarray(model.noise))


def _group_by_pattern(Y: Array, seen: Array, w: Array) -> PatternRows:
    O = seen.astype(np.float64)
    first, which = distinct_patterns(seen)
    if len(first) > MAX_PATTERNS_PER_ROW * len(O):
        return PatternRows(Y * O, O, w, O, None, w)
    return PatternRows(Y * O, O, w, O[first], which, np.bincount(which, w))


@dataclass(frozen=True, eq=False)
class PosteriorMoments:
    """Means and covariances of the latent values of rows, given their observed entries.

    Attributes:
        C: cov[z | x] of each pattern, packed (p, u). log_det: log |M| of each pattern (u,).
        z: E[z | x] (k, b). R: y − mu − W z (b, d), 0 where missing.
        rotations: the factorisations of the patterns where the noise is so small that C is not accurate enough.
    """

    C: Array
    log_det: Array
    z: Array
    R: Array
    rotations: PatternRotations | None


class Posterior:
    """The posterior of a piece of rows under a model, computed when it is first used."""

    def __init__(self, rows: IncompleteRows | PatternRows, model: LinearGaussian) -> None:
        self._rows, self._model = rows, model

    @property
    def grouped(self) -> PatternRows:
        """Return the rows as arrays, grouped by pattern."""
        return self._rows.grouped if isinstance(self._rows, IncompleteRows) else self._rows

    @property
    def compiled(self) -> IncompleteRows | None:
        """Return the rows for the compiled kernels, or None where NumPy is the better choice.

        Kernels are not accurate enough for very small noise, and slower than NumPy where patterns repeat.
        """
        rows, k = self._rows, self._model.loadings.shape[1]
        if not isinstance(rows, IncompleteRows) or not latent_compiled(k) or self.signal > ROTATED_SIGNAL:
            return None
        return rows if rows.scattered else None

    @cached_property
    def signal(self) -> float:
        """Return the signal-to-noise ratio of the model."""
        return _signal_to_noise(self._model)

    @cached_property
    def moments(self) -> PosteriorMoments:
        """Return the moments of the latent values of each row. Cost: b d k² + b k³ / 2 flops."""
        return _posterior_moments(self.grouped, self._model, self.signal)


def _posterior_moments(rows: PatternRows, model: LinearGaussian, signal: float) -> PosteriorMoments:
    W, mu = model.loadings, model.mean
    V = W / np.asarray(model.noise)[:, None]
    rotations = rotate_patterns(rows.patterns, model) if signal > ROTATED_SIGNAL else None
    C, log_det = _invert_precisions(rows.patterns, model) if rotations is None else _pack(rotations)
    right = V.T @ rows.Y.T
    right -= (V * mu[:, None]).T @ rows.O.T
    covariances = rows.per_row(C)
    z = apply_packed(covariances, right)
    R = _residuals(rows, model, z)
    for _ in range(_refinements(signal)):
        z += apply_packed(covariances, V.T @ R.T - z)
        R = _residuals(rows, model, z)
    return PosteriorMoments(C, log_det, z, R, rotations)


def _refinements(signal: float) -> int:
    return int(signal > REFINED_SIGNAL) + int(signal > ROTATED_SIGNAL)


def _invert_precisions(patterns: Array, model: LinearGaussian) -> tuple[Array, Array]:
    """Return M⁻¹ of each pattern, packed (p, u), and log |M| (u,)."""
    W, k = model.loadings, model.loadings.shape[1]
    rows, columns = np.tril_indices(k)
    C = (W[:, rows] * W[:, columns] / np.asarray(model.noise)[:, None]).T @ patterns.T
    C[packed_diagonal(k)] += 1.0
    return C, invert_packed(C, k)


def _pack(rotations: PatternRotations) -> tuple[Array, Array]:
    rows, columns = np.tril_indices(rotations.X.shape[1])
    return np.ascontiguousarray(rotations.covariance[:, rows, columns].T), rotations.log_det


def _residuals(rows: PatternRows, model: LinearGaussian, z: Array) -> Array:
    fitted = z.T @ model.loadings.T
    fitted += model.mean
    fitted *= rows.O
    return np.asarray(np.subtract(rows.Y, fitted, out=fitted))


def _signal_to_noise(model: LinearGaussian) -> float:
    """Return the largest |w_j|² / psi_j, which bounds how much larger than I a latent precision M can be."""
    return float(np.max((model.loadings**2).sum(axis=1) / np.asarray(model.noise)))


@dataclass(frozen=True, eq=False)
class ExpectedStatistics(FieldSums):
    """Sums over rows of expected sufficient statistics, with a = (E[z], 1), q = k + 1, triangles as `linalg.packed`.

    Attributes:
        spread: (packed k, d) Σ over rows that observe column j of w M⁻¹. outer: (packed q, d) the same of w a aᵀ.
        right: (q, d) Σ w r_j a. square: (d,) Σ w r_j². latent: (packed q,) Σ w E[(z, 1) (z, 1)ᵀ] over all rows.
        length: Σ w |E[z]|². log_det: Σ w log |M|. rows: the number of rows.
        gain: (d, k) Σ w M⁻¹ v_j. free: (d,) Σ w (1 − v_jᵀ M⁻¹ w_j), both over rows that observe column j.
    """

    spread: Array
    outer: Array
    right: Array
    square: Array
    latent: Array
    length: float
    log_det: float
    rows: int
    gain: Array
    free: Array

    @property
    def weight(self) -> float:
        """Return Σ w over the rows."""
        return float(self.latent[-1])

    def loglik(self, model: LinearGaussian) -> float:
        """Return Σ w log p(y observed): the distance of a row is min over z of |y − mu − W z|²_Psi⁻¹ + |z|²."""
        psi = np.asarray(model.noise)
        columns = self.outer[-1] * np.log(2.0 * np.pi * psi) + self.square / psi
        return float(-0.5 * (columns.sum() + self.log_det + self.length))


def expected_statistics(posterior: Posterior, model: LinearGaussian) -> ExpectedStatistics:
    """Return the expected statistics of a piece of rows. Cost: 3 b d k² flops."""
    rows = posterior.compiled
    if rows is None:
        return _by_numpy(posterior.grouped, posterior.moments, model)
    return _by_kernel(rows, posterior.signal, model)


def _by_kernel(rows: IncompleteRows, signal: float, model: LinearGaussian) -> ExpectedStatistics:
    sums = latent_expected(rows.X, rows.w, rows.frame(model), _refinements(signal))
    return ExpectedStatistics(*sums, *_gain_sums(sums.spread, sums.outer[-1], model))


def _by_numpy(rows: PatternRows, moments: PosteriorMoments, model: LinearGaussian) -> ExpectedStatistics:
    z, w, rotations = moments.z, rows.w, moments.rotations
    k, b = z.shape
    p = packed_size(k)
    E = np.empty((packed_size(k + 1), b))
    for i in range(k):
        np.multiply(z[: i + 1], z[i], out=E[packed_size(i) : packed_size(i + 1)])
    E[p:-1] = z
    E[-1] = 1.0
    E *= w
    latent = E.sum(axis=1)
    length = float(latent[packed_diagonal(k)].sum())
    latent[:p] += moments.C @ rows.weight
    spread = (moments.C * rows.weight) @ rows.patterns
    if rotations is None:
        gains = _gain_sums(spread, rows.weight @ rows.patterns, model)
    else:
        gains = np.einsum("u,udk->dk", rows.weight, rotations.gain), rows.weight @ rotations.free
    right, square, log_det = E[p:] @ moments.R, w @ (moments.R * moments.R), float(rows.weight @ moments.log_det)
    return ExpectedStatistics(spread, E @ rows.O, right, square, latent, length, log_det, b, *gains)


def _gain_sums(spread: Array, weight: Array, model: LinearGaussian) -> tuple[Array, Array]:
    """Return Σ w M⁻¹ v_j (d, k) and Σ w (1 − v_jᵀ M⁻¹ w_j) (d,).

    Both sums, and the Σ w in `weight` (d,), are over the rows that observe a column.
    """
    V = model.loadings / np.asarray(model.noise)[:, None]
    gain = np.einsum("jab,jb->ja", unpack_symmetric(spread, V.shape[1]), V)
    return gain, weight - np.einsum("ja,ja->j", gain, model.loadings)


# ---- passes over all rows -----------------------------------------------------------------------------------


class IncompleteRowPasses:
    """Sums over the rows of a source of statistics of their posteriors under a model in `units`.

    `count` is the number of passes made. Rows that are small enough are read only once, even from files.
    """

    def __init__(self, source: Source, units: Units, k: int, progress: Progress | None) -> None:
        self._source, self._progress = source, progress
        n, d = source.n_rows, source.n_features
        limit = MAX_COLLECTED_BYTES if source.on_workers else MAX_PREPARED_BYTES
        self._piece = partial(_piece_of_block, units=units, k=k)
        self._pieces: list[IncompleteRows] | None = None
        self._keeps = n is not None and 8 * n * (3 * d + packed_size(k)) <= MAX_PREPARED_BYTES
        if n is not None and 16 * n * d <= limit:
            self._pieces = [self._piece(block) for block in source.blocks()]
        self.count = 1

    def total(self, model: LinearGaussian, summarise: Callable[[Posterior], A]) -> A:
        """Return Σ summarise(posterior) over all pieces of the rows, in one pass."""
        self.count += 1
        total = partial(_sum_of_pieces, model=model, summarise=summarise)
        if (pieces := self._pieces) is not None:
            return recorded("EM", (model, summarise), lambda: total(pieces))
        return accumulate(self._source, partial(_sum_of_block, piece=self._piece, total=total), self._progress, "EM")

    def totals_at(self, model: LinearGaussian) -> Callable[[Callable[[Posterior], A]], A]:
        """Return `total` for one model and many statistics; posteriors are kept in between if they are small."""
        if self._pieces is None or not self._keeps:
            return partial(self.total, model)
        posteriors = list(_posteriors(self._pieces, model))

        def total(summarise: Callable[[Posterior], A]) -> A:
            self.count += 1
            return recorded("EM", (model, summarise), lambda: _sum(summarise, posteriors))

        return total


def _piece_of_block(block: Block, units: Units, k: int) -> IncompleteRows:
    return IncompleteRows(as_floats(block.rows), block.weight, units.centre, units.scale, k)


def _sum_of_pieces(pieces: Iterable[IncompleteRows], model: LinearGaussian, summarise: Callable[[Posterior], A]) -> A:
    return _sum(summarise, _posteriors(pieces, model))


def _sum_of_block(
    block: Block, piece: Callable[[Block], IncompleteRows], total: Callable[[Iterable[IncompleteRows]], A]
) -> A:
    """Return the sum over a block; a function without the passes, whose rows would travel to every worker with it."""
    return total([piece(block)])


def _posteriors(pieces: Iterable[IncompleteRows], model: LinearGaussian) -> Iterator[Posterior]:
    """Yield the posteriors of pieces, which are whole where kernels do the work: they have threads of their own."""
    for piece in pieces:
        whole = Posterior(piece, model)
        yield from [whole] if whole.compiled is not None else (Posterior(part, model) for part in piece.parts)


def _sum(function: Callable[[T], A], items: Iterable[T]) -> A:
    """Add the parts in their order, in this thread: most steps along n are too short to be worth several."""
    return reduce(operator.add, map(function, items))
