"""Rows with missing entries, ready for EM: the expected statistics of x = W z + mu + e under a model, a pass a step.

With c the means of the observed entries, Y = X − c (0 where missing), O = 1 where observed, δ = mu − c and V = Psi⁻¹ W,
row i has the latent precision M_i = I + Σ_j O_ij w_j w_jᵀ / psi_j and the mean z_i = M_i⁻¹ (Vᵀ y_i − (δ ∘ V)ᵀ o_i).
For all rows that is two matrix products, n small inverses side by side, and two products back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import Block
from eigenlens.linalg.packed import apply_packed, diagonal_of, invert_packed, packed_size
from eigenlens.models.linear_gaussian import LinearGaussian
from eigenlens.stats.observed import ObservedColumns, dense_observed

__all__ = ["Expected", "Piece", "expected_of", "pieces_of"]

PIECE_ENTRIES = 1 << 17
"""Entries of the packed arrays of a piece: they stay in the second-level cache."""

REPEATED = 0.5
"""Patterns are grouped where there are at most this many of them a row."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows that have an observed entry.

    Attributes:
        Y: (b, d) the entries about the centre, 0 where missing. O: (b, d) 1 where observed.
        w: (b,) weights, or None where each is one.
        patterns: (u, d) the different rows of O. which: (b,) the pattern of each row; None where patterns are rows.
    """

    Y: Array
    O: Array
    w: Array | None
    patterns: Array
    which: Array | None


@dataclass(frozen=True, eq=False)
class Expected:
    """Sums over rows of expected sufficient statistics, with a = (z, 1), q = k + 1, triangles as in `linalg.packed`.

    Attributes:
        normal: (packed q, d) Σ over rows that observe column j of w E[a aᵀ].
        right: (q, d) Σ w y_j E[a]. latent: (packed q,) Σ w E[a aᵀ] over all rows.
        log_det: Σ w log |M|. explained: Σ w bᵀz, b the right-hand side of the row's system. rows: how many.
    """

    normal: Array
    right: Array
    latent: Array
    log_det: float
    explained: float
    rows: int

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.normal + other.normal, self.right + other.right, self.latent + other.latent,
            self.log_det + other.log_det, self.explained + other.explained, self.rows + other.rows,
        )  # fmt: skip

    @property
    def weight(self) -> float:
        """Σ w."""
        return float(self.latent[-1])

    def loglik(self, model: LinearGaussian, observed: ObservedColumns) -> float:
        """Σ w log p(x observed): the parts that no row needs on its own are sums over columns."""
        psi, delta = np.broadcast_to(model.noise, model.mean.shape), model.mean - observed.mean
        square = observed.square + observed.weight * delta**2
        columns = observed.weight * np.log(2.0 * np.pi * psi) + square / psi
        return float(-0.5 * (columns.sum() + self.log_det - self.explained))


def pieces_of(block: Block, centre: Array, k: int) -> list[Piece]:
    """A block in pieces that fit the cache; rows without an observed entry say nothing, and are left out."""
    X, seen = dense_observed(block)
    keep = seen.any(axis=1)
    w = block.weight
    if w is not None:
        keep &= w > 0.0
    if not keep.all():
        X, seen, w = X[keep], seen[keep], None if w is None else w[keep]
    step = max(64, PIECE_ENTRIES // packed_size(k + 1))
    starts = range(0, max(1, len(X)), step)
    return [_piece(X[i : i + step], seen[i : i + step], None if w is None else w[i : i + step], centre) for i in starts]


def _piece(X: Array, seen: Array, w: Array | None, centre: Array) -> Piece:
    O = seen.astype(np.float64)
    Y = (X - centre) * O
    bits = np.packbits(seen, axis=1)
    keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) > REPEATED * len(O):
        return Piece(Y, O, w, O, None)
    return Piece(Y, O, w, O[first], which)


def expected_of(piece: Piece, model: LinearGaussian, centre: Array) -> Expected:
    """The expected statistics of a piece. Cost: 2 b d k² + b k³ / 2 flops."""
    b, k = len(piece.Y), model.loadings.shape[1]
    V = model.loadings / np.broadcast_to(model.noise, model.mean.shape)[:, None]
    inverse, log_det = _posterior_covariances(piece, model, V)
    right = V.T @ piece.Y.T
    right -= (V * (model.mean - centre)[:, None]).T @ piece.O.T
    p = packed_size(k)
    E = np.empty((packed_size(k + 1), b))
    E[:p] = inverse
    z = E[p:-1]
    z[...] = apply_packed(E[:p], right)
    E[-1] = 1.0
    explained = np.einsum("kn,kn->n", right, z)
    _add_outer(E[:p], z)
    w = piece.w
    if w is not None:
        E *= w
    total = np.ones(b) if w is None else w
    return Expected(E @ piece.O, E[p:] @ piece.Y, E.sum(axis=1), float(total @ log_det), float(total @ explained), b)


def _posterior_covariances(piece: Piece, model: LinearGaussian, V: Array) -> tuple[Array, Array]:
    """M⁻¹ of each row, packed (p, b), and log |M| (b,); each pattern is worked on once."""
    W = model.loadings
    rows, columns = np.tril_indices(W.shape[1])
    M = (V[:, rows] * W[:, columns]).T @ piece.patterns.T
    M[diagonal_of(W.shape[1])] += 1.0
    log_det = invert_packed(M, W.shape[1])
    if piece.which is None:
        return M, log_det
    return np.take(M, piece.which, axis=1), log_det[piece.which]


def _add_outer(P: Array, z: Array) -> None:
    """P += z zᵀ, packed."""
    for i in range(len(z)):
        P[packed_size(i) : packed_size(i + 1)] += z[: i + 1] * z[i]
