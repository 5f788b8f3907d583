"""Leading eigenpairs of a symmetric operator on the device of its vectors: block Krylov with Rayleigh–Ritz.

Blocks (N, b) and the basis stay on the device, in float64; only matrices as small as the basis is wide are solved on
the processor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, to_numpy

MAX_BLOCKS = 3
"""Blocks in the basis before it is replaced by its leading Ritz vectors: memory grows with them, and so few passes
are needed that a longer basis gains little."""

DEPENDENT = 1e-13
"""A direction of a block below this share of its largest, squared, depends on the others and is left out."""

Product = Callable[[Any], Any]
"""(N, b) → A times it, both tensors in float64."""


@dataclass(frozen=True, eq=False)
class RitzPairs:
    """Approximate eigenpairs, descending.

    Attributes:
        values: (b,). vectors: (N, b), orthonormal, a tensor. residuals: (k,) ‖A v − λ v‖ / λ₁ of those wanted.
        products: the number of products that were made.
    """

    values: Array
    vectors: Any
    residuals: Array
    products: int


def block_krylov(product: Product, start: Any, k: int, tol: float, max_products: int) -> RitzPairs:
    """Return the leading eigenpairs, once k of them have residuals below tol λ₁ or the products are used up.

    The block Krylov space of `start` (N, b), b ≥ k, grows by the residuals of the leading Ritz vectors; beyond
    `MAX_BLOCKS` blocks it starts again from those vectors. Each step costs one product and 8 N m b flops, for a basis
    of m columns. Memory: two bases and a few blocks.
    """
    basis = _Basis(product, start)
    while True:
        values, R = basis.residuals()
        residuals = _norms(R)[:k] / max(float(np.abs(values).max(initial=0.0)), float(np.finfo(float).tiny))
        done = np.all(residuals <= tol) or basis.products >= max_products or not np.all(np.isfinite(residuals))
        if done or not basis.grow(R):
            return RitzPairs(values, basis.vectors(), residuals, basis.products)
        del R


def chirps(N: int, b: int, near: Any) -> Any:
    """Return a block (N, b) that resembles random numbers and is the same in every run, on the device of `near`.

    Its columns are cos 2π(α i² + β), whose spectrum is flat; only α and β are made on the processor.
    """
    xp = namespace(near)
    alpha, beta = (xp.asarray(values, device=near.device) for values in np.random.default_rng(0).random((2, b)))
    i = xp.arange(N, dtype=xp.float64, device=near.device)[:, None]
    turns = alpha * (i * i) + beta
    return xp.cos((turns - xp.floor(turns)) * (2.0 * np.pi))


class _Basis:
    """An orthonormal basis V (N, m) with A V, in memory that is allocated once."""

    def __init__(self, product: Product, start: Any) -> None:
        xp = namespace(start)
        first = orthonormal_columns(start)
        N, self._block = first.shape
        shape = N, min(N, MAX_BLOCKS * self._block)
        self._V, self._W = (xp.empty(shape, dtype=xp.float64, device=start.device) for _ in range(2))
        self._product, self._size, self.products = product, 0, 0
        self._leading = np.eye(self._block)
        self._append(first)

    def _append(self, Q: Any) -> None:
        new = slice(self._size, self._size + Q.shape[1])
        self._V[:, new] = Q
        self._W[:, new] = self._product(Q)
        self._size, self.products = new.stop, self.products + 1

    def residuals(self) -> tuple[Array, Any]:
        """Return the leading Ritz values θ (b,), and A u − θ u (N, b) of their vectors u."""
        V, W = (A[:, : self._size] for A in (self._V, self._W))
        values, Y = _ritz(to_numpy(namespace(V).matmul(V.T, W)))
        values, self._leading = values[: self._block], np.ascontiguousarray(Y[:, : self._block])
        R = self._combine(W, self._leading)
        R -= self._combine(V, self._leading * values)
        return values, R

    def vectors(self) -> Any:
        """Return the leading Ritz vectors (N, b)."""
        return self._combine(self._V[:, : self._size], self._leading)

    def grow(self, R: Any) -> bool:
        """Add what R (N, b) has beside the basis; False if that is nothing: the space is then invariant."""
        if self._size + self._block > self._V.shape[1]:
            for A in (self._V, self._W):
                A[:, : self._leading.shape[1]] = self._combine(A[:, : self._size], self._leading)
            self._size = self._leading.shape[1]
            self._leading = np.eye(self._size)
        fresh = _beside(self._V[:, : self._size], R)
        if fresh.shape[1]:
            self._append(fresh)
        return bool(fresh.shape[1])

    @staticmethod
    def _combine(V: Any, Y: Array) -> Any:
        xp = namespace(V)
        return xp.matmul(V, xp.asarray(Y, device=V.device))


def _norms(R: Any) -> Array:
    xp = namespace(R)
    return to_numpy(xp.sqrt(xp.sum(R * R, axis=0)))


def _ritz(T: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (m,) and vectors (m, m) of a nearly symmetric matrix, descending; NaN for NaN."""
    if not np.all(np.isfinite(T)):
        return np.full(len(T), np.nan), np.eye(len(T))
    values, Y = np.linalg.eigh((T + T.T) / 2.0)
    return values[::-1].copy(), np.ascontiguousarray(Y[:, ::-1])


def _beside(V: Any, R: Any) -> Any:
    """Return orthonormal columns that span what R (N, b) has beside V (N, m)."""
    xp = namespace(V)
    for _ in range(2):  # once is not enough: what it loses would grow
        R = orthonormal_columns(R - xp.matmul(V, xp.matmul(V.T, R)))
    return R


def orthonormal_columns(W: Any) -> Any:
    """Return orthonormal columns that span those of W (N, b), dependent ones left out.

    Twice by the small matrix WᵀW: a triangle is never solved with N right-hand sides, only multiplied by its inverse.
    """
    xp = namespace(W)
    for _ in range(2):
        G = to_numpy(xp.matmul(W.T, W))
        root = np.sqrt(np.maximum(G.diagonal(), 0.0))
        scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > DEPENDENT * root.max(initial=0.0))
        G = np.nan_to_num(scale[:, None] * G * scale)
        lam, Q = np.linalg.eigh((G + G.T) / 2.0)
        kept = lam > DEPENDENT * lam.max(initial=0.0)
        back = scale[:, None] * Q[:, kept] / np.sqrt(lam[kept])
        W = xp.matmul(W, xp.asarray(np.ascontiguousarray(back), device=W.device))
    return W
