"""Rows with missing entries, ready for EM: what x = W z + mu + e says of their latent values, and sums of it.

Columns are centred and scaled (`fitting.missing_units`): Y are their entries (0 where missing), O = 1 where observed.
With V = Psi⁻¹ W, row i has the latent precision M_i = I + Σ_j O_ij w_j w_jᵀ / psi_j and the latent mean
z_i = M_i⁻¹ Vᵀ (y_i − mu): two matrix products for all rows, n small inverses side by side, and two products back.

Sums are made of the residuals r = y − mu − W z, never as differences of squares, which lose all digits where the noise
is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from eigenlens.arrays import Array, as_floats
from eigenlens.data.source import Block
from eigenlens.densities.base import distinct_patterns
from eigenlens.densities.linear_gaussian import LinearGaussian, has_scattered_patterns
from eigenlens.linalg.packed import apply_packed, invert_packed, packed_diagonal, packed_size, unpack_symmetric
from eigenlens.missing.low_noise import Rotated, rotated
from eigenlens.native.incomplete_rows import Frame, latent_compiled, latent_expected

__all__ = ["REFINED", "Expected", "Piece", "Posterior", "Rows", "expected_of", "pieces_of", "posterior_of", "signal_of"]

PIECE_ENTRIES = 1 << 18
"""Entries of the packed arrays of a piece: few enough for the cache, many enough for loops in Python to be nothing."""

REFINED = 1e3
"""Beyond this signal over noise M⁻¹ times a vector loses digits that residuals over psi need: z is refined."""

STEEP = 4e6
"""Beyond this one M itself loses them, and is not made (`fitting.missing_steep`)."""

REPEATED = 0.5
"""Patterns are grouped where there are at most this many of them a row."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows that have an observed entry.

    Attributes:
        Y: (b, d) the entries in the climb's units, 0 where missing. O: (b, d) 1 where observed. w: (b,) weights.
        patterns: (u, d) the different rows of O. which: (b,) the pattern of each row; None where patterns are rows.
        weight: (u,) Σ w of each pattern.
    """

    Y: Array
    O: Array
    w: Array
    patterns: Array
    which: Array | None
    weight: Array

    def each(self, found: Array) -> Array:
        """What was found of each pattern (..., u), of each row (..., b)."""
        return found if self.which is None else np.take(found, self.which, axis=-1)


class Rows:
    """Some rows as they came, NaN where missing, in columns y = (x − centre) / scale.

    Kernels read them as they are; `piece` is made of them when NumPy has to do the work.
    """

    def __init__(self, X: Array, w: Array | None, centre: Array, scale: Array) -> None:
        self.X, self.w, self.centre, self.scale = X, w, centre, scale

    @cached_property
    def scattered(self) -> bool:
        """Whether their patterns hardly repeat."""
        return has_scattered_patterns(self.X)

    @cached_property
    def piece(self) -> Piece:
        """Those with an observed entry and a weight; the others say nothing, and are left out."""
        X = np.array(self.X, dtype=np.float64)
        seen = ~np.isnan(X)
        X[~seen] = 0.0
        w = np.ones(len(X)) if self.w is None else self.w
        keep = seen.any(axis=1) & (w > 0.0)
        if not keep.all():
            X, seen, w = X[keep], seen[keep], w[keep]
        return _piece(X, seen, w, self.centre, self.scale)

    @property
    def patterns(self) -> Array:
        """(u, d) the different patterns, or those of each row."""
        return self.piece.patterns

    @property
    def which(self) -> Array | None:
        """(b,) the pattern of each row; None where patterns are rows."""
        return self.piece.which

    def frame(self, model: LinearGaussian) -> Frame:
        """A model of these rows, as kernels take it."""
        return Frame(self.centre, self.scale, model.mean, model.loadings, np.asarray(model.noise))


def pieces_of(block: Block, centre: Array, scale: Array, k: int) -> list[Rows]:
    """A block in pieces whose packed arrays fit the cache."""
    X = as_floats(block.rows)
    count = max(1, -(-len(X) // max(64, PIECE_ENTRIES // packed_size(k + 1))))
    step = max(1, -(-len(X) // count))
    parts = [slice(start, start + step) for start in range(0, len(X), step)]
    return [Rows(X[part], None if block.weight is None else block.weight[part], centre, scale) for part in parts]


def _piece(X: Array, seen: Array, w: Array, centre: Array, scale: Array) -> Piece:
    O = seen.astype(np.float64)
    Y = (X - centre) / scale * O
    first, which = distinct_patterns(seen)
    if len(first) > REPEATED * len(O):
        return Piece(Y, O, w, O, None, w)
    return Piece(Y, O, w, O[first], which, np.bincount(which, w))


@dataclass(frozen=True, eq=False)
class Latent:
    """What a model says of the rows of a piece.

    Attributes:
        C: cov[z | x] of each pattern, packed (p, u). log_det: log |M| of each pattern (u,).
        z: E[z | x] (k, b). R: y − mu − W z (b, d), 0 where missing.
        rotated: the rotations of the patterns where noise is so small that C is not enough.
    """

    C: Array
    log_det: Array
    z: Array
    R: Array
    rotated: Rotated | None


class Posterior:
    """A piece under a model; what the model says of each row is worked out when it is asked for."""

    def __init__(self, rows: Rows | Piece, model: LinearGaussian) -> None:
        self._rows, self._model = rows, model

    @property
    def piece(self) -> Piece:
        """The rows as arrays."""
        return self._rows.piece if isinstance(self._rows, Rows) else self._rows

    @property
    def compiled(self) -> Rows | None:
        """The rows as kernels read them, if kernels are the better choice: precise enough here, and not outdone by the
        grouping of patterns.
        """
        rows, k = self._rows, self._model.loadings.shape[1]
        if not isinstance(rows, Rows) or not latent_compiled(k) or self.signal > STEEP:
            return None
        return rows if rows.scattered else None

    @cached_property
    def signal(self) -> float:
        """See `signal_of`."""
        return signal_of(self._model)

    @cached_property
    def latent(self) -> Latent:
        """What is said of each row. Cost: b d k² + b k³ / 2 flops."""
        return _latent(self.piece, self._model, self.signal)


def posterior_of(piece: Rows | Piece, model: LinearGaussian) -> Posterior:
    """The latent values of the rows of a piece, which cost nothing before they are asked for."""
    return Posterior(piece, model)


def _latent(piece: Piece, model: LinearGaussian, signal: float) -> Latent:
    W, mu = model.loadings, model.mean
    V = W / np.asarray(model.noise)[:, None]
    found = rotated(piece.patterns, model) if signal > STEEP else None
    C, log_det = _by_sweeping(piece.patterns, model) if found is None else _packed(found)
    right = V.T @ piece.Y.T
    right -= (V * mu[:, None]).T @ piece.O.T
    each = piece.each(C)
    z = apply_packed(each, right)
    R = _residuals(piece, model, z)
    for _ in range(_refinements(signal)):
        z += apply_packed(each, V.T @ R.T - z)
        R = _residuals(piece, model, z)
    return Latent(C, log_det, z, R, found)


def _refinements(signal: float) -> int:
    return int(signal > REFINED) + int(signal > STEEP)


def _by_sweeping(patterns: Array, model: LinearGaussian) -> tuple[Array, Array]:
    """M⁻¹ of each pattern, packed (p, u), and log |M| (u,)."""
    W, k = model.loadings, model.loadings.shape[1]
    rows, columns = np.tril_indices(k)
    C = (W[:, rows] * W[:, columns] / np.asarray(model.noise)[:, None]).T @ patterns.T
    C[packed_diagonal(k)] += 1.0
    return C, invert_packed(C, k)


def _packed(found: Rotated) -> tuple[Array, Array]:
    rows, columns = np.tril_indices(found.X.shape[1])
    return np.ascontiguousarray(found.covariance[:, rows, columns].T), found.log_det


def _residuals(piece: Piece, model: LinearGaussian, z: Array) -> Array:
    fitted = z.T @ model.loadings.T
    fitted += model.mean
    fitted *= piece.O
    return np.asarray(np.subtract(piece.Y, fitted, out=fitted))


def signal_of(model: LinearGaussian) -> float:
    """The largest |w_j|² / psi_j: how much larger than I a latent precision M can be."""
    return float(np.max((model.loadings**2).sum(axis=1) / np.asarray(model.noise)))


@dataclass(frozen=True, eq=False)
class Expected:
    """Sums over rows of expected sufficient statistics, with a = (E[z], 1), q = k + 1, triangles as `linalg.packed`.

    Attributes:
        spread: (packed k, d) Σ over rows that observe column j of w M⁻¹. outer: (packed q, d) the same of w a aᵀ.
        pull: (d, k) Σ w M⁻¹ v_j. free: (d,) Σ w (1 − v_jᵀ M⁻¹ w_j).
        right: (q, d) Σ w r_j a. square: (d,) Σ w r_j². latent: (packed q,) Σ w E[(z, 1) (z, 1)ᵀ] over all rows.
        length: Σ w |E[z]|². log_det: Σ w log |M|. rows: how many.
    """

    spread: Array
    pull: Array
    free: Array
    outer: Array
    right: Array
    square: Array
    latent: Array
    length: float
    log_det: float
    rows: int

    def __add__(self, other: Self) -> Self:
        return replace(self, **{name: value + getattr(other, name) for name, value in vars(self).items()})

    @property
    def weight(self) -> float:
        """Σ w."""
        return float(self.latent[-1])

    def loglik(self, model: LinearGaussian) -> float:
        """Σ w log p(y observed): the distance of a row is min over z of |y − mu − W z|²_Psi⁻¹ + |z|²."""
        psi = np.asarray(model.noise)
        columns = self.outer[-1] * np.log(2.0 * np.pi * psi) + self.square / psi
        return float(-0.5 * (columns.sum() + self.log_det + self.length))


def expected_of(found: Posterior, model: LinearGaussian) -> Expected:
    """The expected statistics of a piece. Cost: 3 b d k² flops."""
    rows = found.compiled
    return _by_numpy(found.piece, found.latent, model) if rows is None else _by_kernel(rows, found.signal, model)


def _by_kernel(rows: Rows, signal: float, model: LinearGaussian) -> Expected:
    sums = latent_expected(rows.X, rows.w, rows.frame(model), _refinements(signal))
    pull, free = _pulls(sums.spread, sums.outer[-1], model)
    return Expected(
        sums.spread, pull, free, sums.outer, sums.right, sums.square, sums.latent, sums.length, sums.log_det, sums.rows
    )


def _by_numpy(piece: Piece, found: Latent, model: LinearGaussian) -> Expected:
    z, w = found.z, piece.w
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
    latent[:p] += found.C @ piece.weight
    spread, steep = (found.C * piece.weight) @ piece.patterns, found.rotated
    pull, free = (
        _pulls(spread, piece.weight @ piece.patterns, model)
        if steep is None
        else (np.einsum("u,udk->dk", piece.weight, steep.pull), piece.weight @ steep.free)
    )
    return Expected(
        spread, pull, free, E @ piece.O, E[p:] @ found.R, w @ (found.R * found.R), latent, length,
        float(piece.weight @ found.log_det), b,
    )  # fmt: skip


def _pulls(spread: Array, weight: Array, model: LinearGaussian) -> tuple[Array, Array]:
    """Σ w M⁻¹ v_j (d, k) and Σ w (1 − v_jᵀ M⁻¹ w_j) (d,); weight (d,) is Σ w of the rows that observe a column."""
    V = model.loadings / np.asarray(model.noise)[:, None]
    pull = np.einsum("jab,jb->ja", unpack_symmetric(spread, V.shape[1]), V)
    return pull, weight - np.einsum("ja,ja->j", pull, model.loadings)
