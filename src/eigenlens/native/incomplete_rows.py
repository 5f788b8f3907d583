"""Rows with missing entries under x = W z + mu + e, in one pass: latent values, and the sums that EM needs of them.

Rows are read in place, NaN where missing, and scaled to y = (x − centre) / scale; the model is one of y. With sums
over the observed entries j of a row,

    M = I + Σ_j w_j w_jᵀ / psi_j,    z = M⁻¹ Σ_j w_j (y_j − mu_j) / psi_j,    r_j = y_j − mu_j − w_jᵀ z.

Triangles of k×k matrices are packed: row after row of the lower one, p = k (k + 1) / 2 entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.native.runtime import kernels, plain, run_kernel

WIDEST = 16
"""The largest number of latent dimensions that the kernels take."""


class Frame(NamedTuple):
    """A model of y = (x − centre) / scale: W (d, k); the others (d,)."""

    centre: Array
    scale: Array
    mean: Array
    W: Array
    psi: Array

    @classmethod
    def of(cls, mean: Array, W: Array, psi: Array) -> Frame:
        """Return a model of x itself."""
        return cls(np.zeros(len(W)), np.ones(len(W)), mean, W, psi)


class LatentSums(NamedTuple):
    """Sums over rows, with a = (z, 1) and q = k + 1.

    Over the rows that observe column j: spread (p, d) Σ w M⁻¹, outer (packed q, d) Σ w a aᵀ, right (q, d) Σ w r_j a and
    square (d,) Σ w r_j². Over all rows: latent (packed q,) Σ w (a aᵀ, plus M⁻¹ in the block of z zᵀ), length Σ w |z|²,
    log_det Σ w log |M|, and rows, the number with a positive weight and an observed entry.
    """

    spread: Array
    outer: Array
    right: Array
    square: Array
    latent: Array
    length: float
    log_det: float
    rows: int


class LatentInformation(NamedTuple):
    """Sums with c_j = (1 − w_jᵀ M⁻¹ w_j / psi_j)₊ over the rows that observe column j.

    spread (p, d) Σ w c M⁻¹, weight (d,) Σ w c and square (d,) Σ w c². Of all rows: latent (p,) Σ w M⁻¹, total Σ w.
    """

    spread: Array
    weight: Array
    square: Array
    latent: Array
    total: float


class LatentDerivative(NamedTuple):
    """The derivatives of sums over rows along a direction; see `latent_derivative`.

    Over the rows that observe column j: spread and turned (p, d) Σ w M⁻¹ and Σ w dM⁻¹, weight (d,) Σ w, right (q, d)
    Σ w s_j (z, 1), back (k, d) Σ w r_j h and square (d,) Σ w r_j s_j.
    """

    spread: Array
    turned: Array
    weight: Array
    right: Array
    back: Array
    square: Array


def latent_compiled(k: int) -> bool:
    """Return whether there are kernels for k latent dimensions.

    >>> latent_compiled(17)
    False
    """
    return kernels is not None and 1 <= k <= WIDEST


def latent_expected(X: Array, weight: Array | None, frame: Frame, refinements: int = 0) -> LatentSums:
    """Return the sums of the E-step; rows of weight 0, or without an observed entry, are ignored, whatever they hold.

    z is refined from its own residuals `refinements` times: where the noise is small, the product with M⁻¹ leaves an
    error that division by psi would magnify. The result does not depend on the number of threads.

    Cost about 2 n d (3 k² / 2 + 5 k) flops; memory O(d k²), nothing of size n.

    >>> X, frame = np.array([[3.0, np.nan], [1.0, 1.0]]), Frame.of(np.zeros(2), np.ones((2, 1)), np.ones(2))
    >>> found = latent_expected(X, None, frame)
    >>> found.spread, found.latent.round(4)
    (array([[0.8333, 0.3333]]), array([3.5278, 2.1667, 2.    ]))
    """
    d, k = frame.W.shape
    if not latent_compiled(k):
        return latent_expected_numpy(X, weight, frame, refinements)
    p, q = k * (k + 1) // 2, (k + 1) * (k + 2) // 2
    pairs, right, square, totals = np.empty((p + q, d)), np.empty((k + 1, d)), np.empty(d), np.empty(p + q + 2)
    run_kernel("latent_expected", X, *map(plain, (weight, *frame)), refinements, pairs, right, square, totals)
    latent = totals[p : p + q].copy()
    length = float(latent[np.cumsum(np.arange(1, k + 1)) - 1].sum())
    latent[:p] += totals[:p]
    return LatentSums(pairs[:p], pairs[p:], right, square, latent, length, float(totals[-2]), int(totals[-1]))


def latent_information(X: Array, weight: Array | None, frame: Frame) -> LatentInformation:
    """Return the information of the rows on the parameters that depends only on which entries are observed.

    Cost about 3 n d k² / 2 products; memory O(d k²), nothing of size n.

    >>> X, frame = np.array([[3.0, np.nan], [1.0, 1.0]]), Frame.of(np.zeros(2), np.ones((2, 1)), np.ones(2))
    >>> latent_information(X, None, frame).weight
    array([1.1667, 0.6667])
    """
    d, k = frame.W.shape
    if not latent_compiled(k):
        return latent_information_numpy(X, weight, frame)
    p = k * (k + 1) // 2
    pairs, weights, square, totals = np.empty((p, d)), np.empty(d), np.empty(d), np.empty(p + 1)
    run_kernel("latent_information", X, *map(plain, (weight, *frame)), pairs, weights, square, totals)
    return LatentInformation(pairs, weights, square, totals[:p], float(totals[p]))


def latent_derivative(
    X: Array, weight: Array | None, frame: Frame, m: Array, D: Array, f: Array, refinements: int = 0
) -> LatentDerivative:
    """Return derivatives of the sums of EM along (mu, W, log psi) + ε (m, D, f), of shapes (d,), (d, k) and (d,).

    With t_j = m_j + D_jᵀz + f_j r_j, z changes by −ε h and r_j / psi_j by −ε s_j / psi_j, where

        h = M⁻¹ Σ_j (w_j t_j − D_j r_j) / psi_j,    s_j = t_j − w_jᵀ h.

    h is refined as z is. Cost about 2 n d (2 k² + 8 k) flops; memory O(d k²), nothing of size n.

    >>> X, frame = np.array([[3.0, np.nan], [1.0, 1.0]]), Frame.of(np.zeros(2), np.ones((2, 1)), np.ones(2))
    >>> latent_derivative(X, None, frame, np.ones(2), np.zeros((2, 1)), np.zeros(2)).right[-1]
    array([0.8333, 0.3333])
    """
    d, k = frame.W.shape
    if not latent_compiled(k):
        return latent_derivative_numpy(X, weight, frame, m, D, f, refinements)
    p = k * (k + 1) // 2
    pairs, right, square = np.empty((2 * p + 1, d)), np.empty((2 * k + 1, d)), np.empty(d)
    run_kernel(
        "latent_derivative", X, *map(plain, (weight, *frame)), refinements, *map(plain, (m, D, f)), pairs, right, square
    )
    return LatentDerivative(pairs[:p], pairs[p : 2 * p], pairs[-1], right[: k + 1], right[k + 1 :], square)


def latent_rows(X: Array, frame: Frame, **wanted: Array) -> None:
    """Write the posterior, density and imputed values of each row to the given C-contiguous arrays:

    z (n, k); C (n, p) packed M⁻¹; log_density (n,) of the observed entries of y; filled (n, d), of the type of X, with
    w_jᵀ z + mu_j in place of NaN; deviation (n, d), √(psi_j + w_jᵀ M⁻¹ w_j) there and 0 where observed. `filled`
    and `deviation` are for models of x itself.

    Cost 2 n d (k² / 2 + 2 k) flops, and another k² with deviations.

    >>> X, z = np.array([[4.0, np.nan]]), np.empty((1, 1))
    >>> latent_rows(X, Frame.of(np.zeros(2), np.ones((2, 1)), np.ones(2)), z=z)
    >>> z
    array([[2.]])
    """
    if not latent_compiled(frame.W.shape[1]):
        return latent_rows_numpy(X, frame, **wanted)
    names = ("z", "C", "log_density", "filled", "deviation")
    return run_kernel("latent_rows", X, *map(plain, frame), *(wanted.get(name) for name in names))


# ---- NumPy ------------------------------------------------------------------------------------------------


class _Solved(NamedTuple):
    """The solution for each row: O (n, d) 1 where observed, w (n,), M⁻¹ (n, k, k), log |M| (n,), z (n, k), r (n, d)."""

    O: Array
    w: Array
    C: Array
    log_det: Array
    z: Array
    R: Array


def _solved(X: Array, weight: Array | None, frame: Frame, refinements: int) -> _Solved:
    w = np.ones(len(X)) if weight is None else weight
    seen = ~np.isnan(X) & (w != 0.0)[:, None]
    y = np.where(seen, (np.where(seen, X, 0.0).astype(np.float64) - frame.centre) / frame.scale - frame.mean, 0.0)
    W, V, O = frame.W, frame.W / frame.psi[:, None], seen.astype(np.float64)
    M = np.eye(W.shape[1]) + np.einsum("nj,ja,jb->nab", O, W, V, optimize=True)
    C = np.linalg.inv(M)
    z, R = np.zeros((len(X), W.shape[1])), y
    for _ in range(refinements + 1):
        z = z + np.einsum("nab,nb->na", C, R @ V - z)
        R = y - O * (z @ W.T)
    return _Solved(O, np.where(seen.any(axis=1), w, 0.0), C, np.linalg.slogdet(M)[1], z, R)


def latent_expected_numpy(X: Array, weight: Array | None, frame: Frame, refinements: int = 0) -> LatentSums:
    """The twin of `latent_expected`: all rows at once."""
    O, w, C, log_det, z, R = _solved(X, weight, frame, refinements)
    lower, a = np.tril_indices(z.shape[1]), np.column_stack([z, np.ones(len(z))])
    rows, columns = np.tril_indices(a.shape[1])
    packed, E = w[:, None] * C[:, lower[0], lower[1]], w[:, None] * a[:, rows] * a[:, columns]
    latent = E.sum(axis=0)
    latent[: packed.shape[1]] += packed.sum(axis=0)
    return LatentSums(
        packed.T @ O, E.T @ O, (w[:, None] * a).T @ R, w @ R**2, latent, float(w @ (z**2).sum(axis=1)),
        float(w @ log_det), int(np.count_nonzero(w)),
    )  # fmt: skip


def latent_information_numpy(X: Array, weight: Array | None, frame: Frame) -> LatentInformation:
    """The twin of `latent_information`."""
    O, w, C, *_ = _solved(X, weight, frame, 0)
    leverage = np.einsum("ja,nab,jb->nj", frame.W, C, frame.W / frame.psi[:, None], optimize=True)
    free = O * np.maximum(1.0 - leverage, 0.0)
    packed = C[:, *np.tril_indices(C.shape[1])]
    weighted = w[:, None] * free
    return LatentInformation(packed.T @ weighted, weighted.sum(axis=0), w @ free**2, w @ packed, float(w.sum()))


def latent_derivative_numpy(
    X: Array, weight: Array | None, frame: Frame, m: Array, D: Array, f: Array, refinements: int = 0
) -> LatentDerivative:
    """The twin of `latent_derivative`."""
    O, w, C, _, z, R = _solved(X, weight, frame, refinements)
    W, V, scaled = frame.W, frame.W / frame.psi[:, None], D / frame.psi[:, None]
    t = O * (m + z @ D.T) + f * R
    h, s = np.zeros_like(z), t
    for _ in range(refinements + 1):
        h = h + np.einsum("nab,nb->na", C, s @ V - R @ scaled - h)
        s = t - O * (h @ W.T)
    half = np.einsum("nj,ja,jb->nab", O, scaled - 0.5 * f[:, None] * V, W, optimize=True)
    turned = -C @ (half + np.swapaxes(half, 1, 2)) @ C
    lower = np.tril_indices(W.shape[1])
    spread, dC = ((w[:, None] * each[:, lower[0], lower[1]]).T @ O for each in (C, turned))
    right = (w[:, None] * np.column_stack([z, np.ones(len(z))])).T @ s
    return LatentDerivative(spread, dC, w @ O, right, (w[:, None] * h).T @ R, w @ (R * s))


def latent_rows_numpy(X: Array, frame: Frame, **wanted: Array) -> None:
    """The twin of `latent_rows`."""
    O, _, C, log_det, z, R = _solved(X, None, frame, 0)
    spread = np.einsum("ja,nab,jb->nj", frame.W, C, frame.W, optimize=True)
    found: dict[str, Callable[[], Array]] = {
        "z": lambda: z,
        "C": lambda: C[:, *np.tril_indices(C.shape[1])],
        "log_density": lambda: -0.5 * (
            O @ np.log(2.0 * np.pi * frame.psi) + log_det + R**2 @ (1.0 / frame.psi) + (z**2).sum(axis=1)
        ),
        "filled": lambda: np.where(O > 0.0, X, z @ frame.W.T + frame.mean),
        "deviation": lambda: np.where(O > 0.0, 0.0, np.sqrt(frame.psi + np.maximum(spread, 0.0))),
    }  # fmt: skip
    for name, to in wanted.items():
        to[...] = found[name]()
