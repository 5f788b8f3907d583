"""Curvature of the observed-data log-likelihood: products with its Hessian, and its information, one pass each.

With u = C⁻¹ (y − mu) = r / psi, z = Wᵀu, V = Psi⁻¹ W and sums over the rows that observe column j, the gradient is

    mu_j: Σ w u_j,    w_j: Σ w (u_j z − M⁻¹ v_j),    log psi_j: ½ psi_j Σ w (u_j² − (C⁻¹)_jj),

and its derivative along (m, D, f psi) has du = −C⁻¹ (m + D z + W Dᵀu + f r) and dz = −h, h = M⁻¹ (Vᵀt − Dᵀu), with
t = m + D z + f r: no sum of small differences of large numbers, and no d×d matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eigenlens.arrays import Array
from eigenlens.data.source import FieldSums
from eigenlens.densities.linear_gaussian import LinearGaussian
from eigenlens.linalg.packed import apply_packed, packed_diagonal, packed_size, unpack_symmetric
from eigenlens.missing.expectation import (
    REFINED_SIGNAL,
    ExpectedStatistics,
    IncompleteRows,
    PatternRows,
    Posterior,
    PosteriorMoments,
)
from eigenlens.missing.units import NoiseStructure
from eigenlens.native.incomplete_rows import latent_derivative, latent_information

INFORMATION_RIDGE = 1e-4
"""A latent dimension that no column uses has no information; this share of the others' keeps blocks invertible."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A change of the parameters: mean (d,), loadings (d, k), log psi (d,)."""

    mean: Array
    loadings: Array
    log_psi: Array


def split_parameters(v: Array, d: int, k: int) -> tuple[Array, Array, Array]:
    """Return mean (d,), loadings (d, k) and phi (1,) or (d,) of a vector of parameters."""
    return v[:d], v[d : d + d * k].reshape(d, k), v[d + d * k :]


def join_parameters(mean: Array, loadings: Array, phi: Array) -> Array:
    """Return one vector of all parameters."""
    return np.concatenate([mean, loadings.ravel(), phi])


def remove_rotation(V: Array, W: Array) -> Array:
    """Return a change of loadings without its part that rotates them: V − W A, where A = −Aᵀ is nearest.

    W (I + A) are loadings of the same density, up to A². Least squares: WᵀW A + A WᵀW = WᵀV − VᵀW.

    >>> W = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> turned = W @ np.array([[0.0, 0.3], [-0.3, 0.0]])
    >>> np.abs(remove_rotation(turned, W)).max() < 1e-15
    np.True_
    """
    values, U = np.linalg.eigh(W.T @ W)
    sums = values[:, None] + values
    skew = U.T @ (W.T @ V - V.T @ W) @ U
    A: Array = np.divide(skew, sums, out=np.zeros_like(skew), where=sums > np.finfo(np.float64).eps * values[-1])
    return np.asarray(V - W @ (U @ A @ U.T))


def partial_derivatives(expected: ExpectedStatistics, model: LinearGaussian) -> tuple[Array, Array, Array]:
    """Return derivatives of Σ w log p by mean (d,), loadings (d, k) and log psi (d,), by Fisher's identity."""
    psi = np.asarray(model.noise)
    by_loadings = expected.right[:-1].T / psi[:, None] - expected.gain
    return expected.right[-1] / psi, by_loadings, 0.5 * (expected.square / psi - expected.free)


def likelihood_gradient(expected: ExpectedStatistics, model: LinearGaussian, noise: NoiseStructure) -> Array:
    """Return the partial derivatives as one vector of parameters."""
    by_mean, by_loadings, by_log_psi = partial_derivatives(expected, model)
    return join_parameters(by_mean, by_loadings, noise.sum_by_phi(by_log_psi))


# ---- products with the Hessian ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DirectionalSums(FieldSums):
    """Derivatives of sums over rows along a direction.

    Attributes:
        u: (d,) Σ w du. cross: (k, d) Σ w d(u z). energy: (d,) Σ w u du.
        gain: (d, k) Σ w d(M⁻¹ v_j). precision: (d,) Σ w psi_j d(C⁻¹)_jj.
    """

    u: Array
    cross: Array
    energy: Array
    gain: Array
    precision: Array


def directional_sums(posterior: Posterior, model: LinearGaussian, along: Direction) -> DirectionalSums:
    """Return the directional derivatives of a piece of rows. Cost: b d (2 k² + 10 k) + u k³ flops."""
    rows = posterior.compiled
    if rows is None:
        return _directional_by_numpy(posterior, model, along)
    return _directional_by_kernel(rows, posterior.signal, model, along)


def _directional_by_kernel(
    rows: IncompleteRows, signal: float, model: LinearGaussian, along: Direction
) -> DirectionalSums:
    psi, given = np.asarray(model.noise), (along.mean, along.loadings, along.log_psi)
    sums = latent_derivative(rows.X, rows.w, rows.frame(model), *given, int(signal > REFINED_SIGNAL))
    gains = _gains_from_spreads(sums.spread, sums.turned, sums.weight, model, along)
    return DirectionalSums(-sums.right[-1] / psi, -(sums.right[:-1] + sums.back) / psi, -sums.square / psi**2, *gains)


def _directional_by_numpy(posterior: Posterior, model: LinearGaussian, along: Direction) -> DirectionalSums:
    rows, moments = posterior.grouped, posterior.moments
    w, W, psi, z = rows.w, model.loadings, np.asarray(model.noise), moments.z
    V, covariances = W / psi[:, None], rows.per_row(moments.C)
    u = moments.R / psi
    t = z.T @ along.loadings.T
    t += along.mean
    t *= rows.O
    t += along.log_psi * moments.R
    s = along.loadings.T @ u.T
    h = apply_packed(covariances, V.T @ t.T - s)
    du = _rest(t, h, W, rows.O)
    if posterior.signal > REFINED_SIGNAL:  # as z is refined in the E-step, and for the same reason
        h += apply_packed(covariances, V.T @ du.T - s - h)
        du = _rest(t, h, W, rows.O)
    du /= -psi
    cross = (z * w) @ du - (h * w) @ u
    gains = _gain_derivatives(rows, moments, model, along)
    return DirectionalSums(w @ du, cross, w @ np.multiply(u, du, out=u), *gains)


def _rest(t: Array, h: Array, W: Array, O: Array) -> Array:
    """Return t − W h where observed (b, d)."""
    inside = h.T @ W.T
    inside *= O
    return np.asarray(np.subtract(t, inside, out=inside))


def _gain_derivatives(
    rows: PatternRows, moments: PosteriorMoments, model: LinearGaussian, along: Direction
) -> tuple[Array, Array]:
    """Return d Σ w M⁻¹ v_j (d, k) and psi_j d Σ w (C⁻¹)_jj (d,), pattern by pattern, with dM⁻¹ = −M⁻¹ dM M⁻¹."""
    W, D, f = model.loadings, along.loadings, along.log_psi
    if moments.rotations is not None:
        gain, precision = moments.rotations.directional_derivatives(D, f)
        return np.einsum("u,udk->dk", rows.weight, gain), rows.weight @ precision
    psi, k = np.asarray(model.noise), W.shape[1]
    V = W / psi[:, None]
    dV = D / psi[:, None] - V * f[:, None]
    i, j = np.tril_indices(k)
    dM = (dV[:, i] * W[:, j] + V[:, i] * D[:, j]).T @ rows.patterns.T
    spread = np.concatenate([moments.C, -_sandwich(moments.C, dM, k)]) * rows.weight @ rows.patterns
    return _gains_from_spreads(spread[: len(dM)], spread[len(dM) :], rows.weight @ rows.patterns, model, along)


def _gains_from_spreads(
    spread: Array, derivative: Array, weight: Array, model: LinearGaussian, along: Direction
) -> tuple[Array, Array]:
    """Return the same from Σ w M⁻¹ and Σ w dM⁻¹ (packed k, d), and Σ w (d,), of the rows that observe each column."""
    W, psi, k = model.loadings, np.asarray(model.noise), model.loadings.shape[1]
    V = W / psi[:, None]
    dV = along.loadings / psi[:, None] - V * along.log_psi[:, None]
    K, dK = unpack_symmetric(spread, k), unpack_symmetric(derivative, k)
    KdV, dKV = np.einsum("jab,jb->ja", K, dV), np.einsum("jab,jb->ja", dK, V)
    quadratic = np.einsum("ja,ja->j", W, 2.0 * KdV + dKV)
    return KdV + dKV, -along.log_psi * weight - quadratic


def _sandwich(C: Array, A: Array, k: int) -> Array:
    """Return C A C for packed symmetric matrices (p, u)."""
    half = np.stack([apply_packed(C, _column(A, j, k)) for j in range(k)])  # [j, i]: (C A)_ij
    rows = [apply_packed(C, half[:, i])[: i + 1] for i in range(k)]
    return np.concatenate(rows)


def _column(P: Array, j: int, k: int) -> Array:
    """Return column j (k, u) of packed matrices."""
    return P[[packed_size(max(i, j)) + min(i, j) for i in range(k)]]


def hessian_product(
    sums: DirectionalSums, expected: ExpectedStatistics, model: LinearGaussian, noise: NoiseStructure, along: Direction
) -> Array:
    """Return the Hessian times a direction, as a vector of parameters; noise changes as in `psi_after`."""
    psi, f = np.asarray(model.noise), along.log_psi
    # psi_after is exp(change), or (1 + change / 2)² where small: its second derivative is 1 or ½ times psi.
    bent = np.where(noise.steps_by_root(psi), 0.5, 1.0) * f * partial_derivatives(expected, model)[2]
    by_log_psi = bent + psi * sums.energy - 0.5 * sums.precision
    return join_parameters(sums.u, sums.cross.T - sums.gain, noise.sum_by_phi(by_log_psi))


# ---- information ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Information(FieldSums):
    """Parts of the expected information of the observed entries, with c_ij = (C_i⁻¹)_jj.

    Attributes:
        blocks: (packed k, d) Σ w c_ij (I − M_i⁻¹). mean: (d,) Σ w c_ij. noise: (d,) ½ Σ w (c_ij psi_j)².
        latent: (packed k,) Σ w (I − M_i⁻¹).
    """

    blocks: Array
    mean: Array
    noise: Array
    latent: Array


def expected_information(posterior: Posterior, model: LinearGaussian) -> Information:
    """Return the information of a piece of rows. Cost: 2 u d k² flops."""
    rows = posterior.compiled
    return _by_numpy(posterior.grouped, posterior.moments, model) if rows is None else _by_kernel(rows, model)


def _by_kernel(rows: IncompleteRows, model: LinearGaussian) -> Information:
    psi, diagonal = np.asarray(model.noise), packed_diagonal(model.loadings.shape[1])
    sums = latent_information(rows.X, rows.w, rows.frame(model))
    blocks, latent = -sums.spread, -sums.latent
    blocks[diagonal] += sums.weight
    latent[diagonal] += sums.total
    return Information(blocks / psi, sums.weight / psi, 0.5 * sums.square, latent)


def _by_numpy(rows: PatternRows, moments: PosteriorMoments, model: LinearGaussian) -> Information:
    W, psi = model.loadings, np.asarray(model.noise)
    k = W.shape[1]
    i, j = np.tril_indices(k)
    twice = np.where(i == j, 1.0, 2.0)
    if moments.rotations is not None:
        free = moments.rotations.free.copy()
    else:
        free = moments.C.T @ (W[:, i] * W[:, j] * (twice / -psi[:, None])).T
        free += 1.0
        np.maximum(free, 0.0, out=free)
        free *= rows.patterns
    known = -moments.C
    known[packed_diagonal(k)] += 1.0
    weighted = free * rows.weight[:, None]
    squares = np.multiply(free, weighted, out=free).sum(axis=0)
    return Information(known @ weighted / psi, weighted.sum(axis=0) / psi, 0.5 * squares, known @ rows.weight)


class Preconditioner:
    """An approximate inverse of minus the Hessian, in two levels.

    The first treats each column on its own, by its information. The second moves all columns together along mu + W a
    and W A, A symmetric, by the information of the rows on the mean and the covariance of the latent values: along
    these directions a column on its own can hardly move.
    """

    def __init__(
        self, information: Information, model: LinearGaussian, noise: NoiseStructure, by_log_psi: Array
    ) -> None:
        W = model.loadings
        self._W, k = W, W.shape[1]
        lam, self._axes = np.linalg.eigh(unpack_symmetric(information.latent[:, None], k)[0])
        self._weight = max(float(lam[-1]), 1e-300)
        self._lam = np.maximum(lam, INFORMATION_RIDGE * self._weight)
        # The latent values can explain a column to the last digit: then rounding leaves it no information of its own.
        least = np.finfo(np.float64).eps * self._weight
        self._mean = np.maximum(information.mean, least / np.asarray(model.noise))
        blocks = unpack_symmetric(information.blocks, k)
        blocks[:, np.arange(k), np.arange(k)] += INFORMATION_RIDGE * self._mean[:, None]
        self._blocks = np.linalg.inv(blocks)
        by_phi = noise.sum_by_phi(information.noise) + np.abs(noise.sum_by_phi(by_log_psi))
        self._log_psi = np.maximum(by_phi, least)

    def __call__(self, g: Array) -> Array:
        """Return the approximate inverse times a vector of parameters."""
        W, Q, lam = self._W, self._axes, self._lam
        by_mean, by_loadings, by_phi = split_parameters(g, *W.shape)
        B = Q.T @ W.T @ by_loadings @ Q
        A = Q @ ((B + B.T) * (0.25 * self._weight / np.outer(lam, lam))) @ Q.T
        a = Q @ ((Q.T @ (W.T @ by_mean)) / lam)
        loadings = np.einsum("jab,jb->ja", self._blocks, by_loadings) + W @ A
        return join_parameters(by_mean / self._mean + W @ a, loadings, by_phi / self._log_psi)
