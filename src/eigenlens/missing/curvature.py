"""Curvature of the log-likelihood of observed entries: products with its Hessian, and its information, a pass each.

With u = C⁻¹ (y − mu) = r / psi, z = Wᵀu, V = Psi⁻¹ W and sums over the rows that observe column j, the gradient is

    mu_j: Σ w u_j,    w_j: Σ w (u_j z − M⁻¹ v_j),    log psi_j: ½ psi_j Σ w (u_j² − (C⁻¹)_jj),

and its derivative along (m, D, f psi) has du = −C⁻¹ (m + D z + W Dᵀu + f r) and dz = −h, h = M⁻¹ (Vᵀt − Dᵀu), with
t = m + D z + f r: no sum of small differences of large numbers, and no d×d matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from eigenlens.arrays import Array
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.linalg.packed import apply_packed, packed_diagonal, packed_size, unpack_symmetric
from eigenlens.missing.expectation import REFINED, Expected, Latent, Piece, Posterior, Rows
from eigenlens.missing.units import Noise
from eigenlens.native.incomplete_rows import latent_information, latent_turn

__all__ = ["Direction", "Information", "Turn", "gradient", "information_of", "join", "product", "split", "turn_of"]

RIDGE = 1e-4
"""A latent dimension that no column uses has no information; this share of the others' keeps blocks invertible."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A change of the parameters: mean (d,), loadings (d, k), log psi (d,)."""

    mean: Array
    loadings: Array
    log_psi: Array


def split(v: Array, d: int, k: int) -> tuple[Array, Array, Array]:
    """mean (d,), loadings (d, k) and phi (1,) or (d,) of a vector of parameters."""
    return v[:d], v[d : d + d * k].reshape(d, k), v[d + d * k :]


def join(mean: Array, loadings: Array, phi: Array) -> Array:
    """A vector of parameters."""
    return np.concatenate([mean, loadings.ravel(), phi])


def slopes(expected: Expected, model: LinearGaussian) -> tuple[Array, Array, Array]:
    """Derivatives of Σ w log p by mean (d,), loadings (d, k) and log psi (d,), by Fisher's identity."""
    psi = np.asarray(model.noise)
    by_loadings = expected.right[:-1].T / psi[:, None] - expected.pull
    return expected.right[-1] / psi, by_loadings, 0.5 * (expected.square / psi - expected.free)


def gradient(expected: Expected, model: LinearGaussian, noise: Noise) -> Array:
    """The same as a vector of parameters."""
    by_mean, by_loadings, by_log_psi = slopes(expected, model)
    return join(by_mean, by_loadings, noise.gathered(by_log_psi))


# ---- products with the Hessian ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Turn:
    """How sums over rows turn along a direction.

    Attributes:
        u: (d,) Σ w du. cross: (k, d) Σ w d(u z). energy: (d,) Σ w u du.
        pull: (d, k) Σ w d(M⁻¹ v_j). precision: (d,) Σ w psi_j d(C⁻¹)_jj.
    """

    u: Array
    cross: Array
    energy: Array
    pull: Array
    precision: Array

    def __add__(self, other: Self) -> Self:
        return replace(self, **{name: value + getattr(other, name) for name, value in vars(self).items()})


def turn_of(found: Posterior, model: LinearGaussian, way: Direction) -> Turn:
    """The sums of a piece. Cost: b d (2 k² + 10 k) + u k³ flops."""
    rows = found.compiled
    return _turn_by_numpy(found, model, way) if rows is None else _turn_by_kernel(rows, found.signal, model, way)


def _turn_by_kernel(rows: Rows, signal: float, model: LinearGaussian, way: Direction) -> Turn:
    psi, given = np.asarray(model.noise), (way.mean, way.loadings, way.log_psi)
    found = latent_turn(rows.X, rows.w, rows.frame(model), *given, int(signal > REFINED))
    pulls = _from_spreads(found.spread, found.turned, found.weight, model, way)
    return Turn(-found.right[-1] / psi, -(found.right[:-1] + found.back) / psi, -found.square / psi**2, *pulls)


def _turn_by_numpy(found: Posterior, model: LinearGaussian, way: Direction) -> Turn:
    piece, latent, w = found.piece, found.latent, found.piece.w
    W, psi, z = model.loadings, np.asarray(model.noise), latent.z
    V, each = W / psi[:, None], piece.each(latent.C)
    u = latent.R / psi
    t = z.T @ way.loadings.T
    t += way.mean
    t *= piece.O
    t += way.log_psi * latent.R
    s = way.loadings.T @ u.T
    h = apply_packed(each, V.T @ t.T - s)
    du = _rest(t, h, W, piece.O)
    if found.signal > REFINED:
        h += apply_packed(each, V.T @ du.T - s - h)
        du = _rest(t, h, W, piece.O)
    du /= -psi
    cross = (z * w) @ du - (h * w) @ u
    return Turn(w @ du, cross, w @ np.multiply(u, du, out=u), *_turned_pulls(piece, latent, model, way))


def _rest(t: Array, h: Array, W: Array, O: Array) -> Array:
    """t − W h where observed (b, d)."""
    inside = h.T @ W.T
    inside *= O
    return np.asarray(np.subtract(t, inside, out=inside))


def _turned_pulls(piece: Piece, found: Latent, model: LinearGaussian, way: Direction) -> tuple[Array, Array]:
    """d Σ w M⁻¹ v_j (d, k), and psi_j d Σ w (C⁻¹)_jj (d,), by pattern; M⁻¹ turns by −M⁻¹ dM M⁻¹."""
    W, D, f = model.loadings, way.loadings, way.log_psi
    if found.rotated is not None:
        pull, precision = found.rotated.turned(D, f)
        return np.einsum("u,udk->dk", piece.weight, pull), piece.weight @ precision
    psi, k = np.asarray(model.noise), W.shape[1]
    V = W / psi[:, None]
    dV = D / psi[:, None] - V * f[:, None]
    rows, columns = np.tril_indices(k)
    dM = (dV[:, rows] * W[:, columns] + V[:, rows] * D[:, columns]).T @ piece.patterns.T
    spread = np.concatenate([found.C, -_between(found.C, dM, k)]) * piece.weight @ piece.patterns
    return _from_spreads(spread[: len(dM)], spread[len(dM) :], piece.weight @ piece.patterns, model, way)


def _from_spreads(
    spread: Array, turned: Array, weight: Array, model: LinearGaussian, way: Direction
) -> tuple[Array, Array]:
    """The same from Σ w M⁻¹ and Σ w dM⁻¹ (packed k, d), and Σ w (d,), of the rows that observe each column."""
    W, psi, k = model.loadings, np.asarray(model.noise), model.loadings.shape[1]
    V = W / psi[:, None]
    dV = way.loadings / psi[:, None] - V * way.log_psi[:, None]
    K, dK = unpack_symmetric(spread, k), unpack_symmetric(turned, k)
    KdV, dKV = np.einsum("jab,jb->ja", K, dV), np.einsum("jab,jb->ja", dK, V)
    quadratic = np.einsum("ja,ja->j", W, 2.0 * KdV + dKV)
    return KdV + dKV, -way.log_psi * weight - quadratic


def _between(C: Array, A: Array, k: int) -> Array:
    """C A C for packed symmetric matrices (p, u)."""
    half = np.stack([apply_packed(C, _column(A, j, k)) for j in range(k)])  # [j, i]: (C A)_ij
    whole = [apply_packed(C, half[:, i])[: i + 1] for i in range(k)]
    return np.concatenate(whole)


def _column(P: Array, j: int, k: int) -> Array:
    """Column j (k, u) of packed matrices."""
    return P[[packed_size(max(i, j)) + min(i, j) for i in range(k)]]


def product(turn: Turn, expected: Expected, model: LinearGaussian, noise: Noise, way: Direction) -> Array:
    """The Hessian times a direction, as a vector of parameters; noise changes as by `Noise.moved`."""
    psi, f = np.asarray(model.noise), way.log_psi
    bent = np.where(noise.small(psi), 0.5, 1.0) * f * slopes(expected, model)[2]
    by_log_psi = bent + psi * turn.energy - 0.5 * turn.precision
    return join(turn.u, turn.cross.T - turn.pull, noise.gathered(by_log_psi))


# ---- information ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Information:
    """Parts of the expected information of what is observed, with c_ij = (C_i⁻¹)_jj.

    Attributes:
        blocks: (packed k, d) Σ w c_ij (I − M_i⁻¹). mean: (d,) Σ w c_ij. noise: (d,) ½ Σ w (c_ij psi_j)².
        latent: (packed k,) Σ w (I − M_i⁻¹).
    """

    blocks: Array
    mean: Array
    noise: Array
    latent: Array

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.blocks + other.blocks, self.mean + other.mean, self.noise + other.noise, self.latent + other.latent
        )


def information_of(found: Posterior, model: LinearGaussian) -> Information:
    """The information in a piece. Cost: 2 u d k² flops."""
    rows = found.compiled
    return _by_numpy(found.piece, found.latent, model) if rows is None else _by_kernel(rows, model)


def _by_kernel(rows: Rows, model: LinearGaussian) -> Information:
    psi, diagonal = np.asarray(model.noise), packed_diagonal(model.loadings.shape[1])
    found = latent_information(rows.X, rows.w, rows.frame(model))
    blocks, latent = -found.spread, -found.latent
    blocks[diagonal] += found.weight
    latent[diagonal] += found.total
    return Information(blocks / psi, found.weight / psi, 0.5 * found.square, latent)


def _by_numpy(piece: Piece, found: Latent, model: LinearGaussian) -> Information:
    W, psi = model.loadings, np.asarray(model.noise)
    k = W.shape[1]
    rows, columns = np.tril_indices(k)
    twice = np.where(rows == columns, 1.0, 2.0)
    if found.rotated is not None:
        free = found.rotated.free.copy()
    else:
        free = found.C.T @ (W[:, rows] * W[:, columns] * (twice / -psi[:, None])).T
        free += 1.0
        np.maximum(free, 0.0, out=free)
        free *= piece.patterns
    known = -found.C
    known[packed_diagonal(k)] += 1.0
    weighted = free * piece.weight[:, None]
    squares = np.multiply(free, weighted, out=free).sum(axis=0)
    return Information(known @ weighted / psi, weighted.sum(axis=0) / psi, 0.5 * squares, known @ piece.weight)


class Preconditioner:
    """An approximate inverse of minus the Hessian, in two levels.

    Each column on its own by its information; and all columns together along mu + W a and W A, A symmetric, by what the
    rows say of the mean and the covariance of the latent values: there a column alone moves hardly at all.
    """

    def __init__(self, information: Information, model: LinearGaussian, noise: Noise, by_log_psi: Array) -> None:
        W = model.loadings
        self._W, self._noise, k = W, noise, W.shape[1]
        blocks = unpack_symmetric(information.blocks, k)
        blocks[:, np.arange(k), np.arange(k)] += RIDGE * information.mean[:, None]
        self._blocks, self._mean = np.linalg.inv(blocks), information.mean
        self._log_psi = noise.gathered(information.noise) + np.abs(noise.gathered(by_log_psi))
        lam, self._axes = np.linalg.eigh(unpack_symmetric(information.latent[:, None], k)[0])
        self._lam, self._weight = np.maximum(lam, RIDGE * max(float(lam[-1]), 1e-300)), max(float(lam[-1]), 1e-300)

    def __call__(self, g: Array) -> Array:
        W, Q, lam = self._W, self._axes, self._lam
        by_mean, by_loadings, by_phi = split(g, *W.shape)
        B = Q.T @ W.T @ by_loadings @ Q
        A = Q @ ((B + B.T) * (0.25 * self._weight / np.outer(lam, lam))) @ Q.T
        a = Q @ ((Q.T @ (W.T @ by_mean)) / lam)
        loadings = np.einsum("jab,jb->ja", self._blocks, by_loadings) + W @ A
        return join(by_mean / self._mean + W @ a, loadings, by_phi / self._log_psi)
