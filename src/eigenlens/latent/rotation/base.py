"""What all rotations share: the value they give, the search within the rank of loadings, the order and the signs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from eigenlens.arrays import Array, read_only
from eigenlens.linalg.spectrum import orient

__all__ = [
    "Rotation",
    "RotationSearch",
    "best_search",
    "rotate_within_rank",
    "rotation_starts",
    "unit_columns",
    "unit_rows",
]

MIN_SINGULAR_SHARE = 1e-10
"""Singular values of L below this share of the largest count as zero."""


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotated loadings, and how they came about.

    Attributes:
        loadings: Λ = L T⁻ᵀ (d, k), the pattern. matrix: T (k, k), its columns of unit length.
        correlations: Φ = Tᵀ T (k, k) of the rotated factors, the identity for an orthogonal rotation.
        converged: whether the gap met the tolerance. iterations: sweeps, or steps.
        criterion: its value at the loadings; maximised by the orthogonal rotations (for promax, of the varimax that it
            starts from), minimised by oblimin.
        gap: what is left of its gradient, over Σ h⁴ with h the lengths of the rows that were rotated.
    """

    loadings: Array
    matrix: Array
    correlations: Array
    converged: bool = True
    criterion: float = float("nan")
    iterations: int = 0
    gap: float = 0.0

    def __post_init__(self) -> None:
        read_only(self, "loadings", "matrix", "correlations")

    @classmethod
    def by(cls, L: Array, T: Array) -> Rotation:
        """The rotation of L (d, k) by a given T (k, k) with columns of unit length.

        >>> Rotation.by(np.array([[1.0, 1.0]]), np.array([[0.6, 0.8], [-0.8, 0.6]])).loadings
        array([[-0.2,  1.4]])
        """
        Phi = T.T @ T
        np.fill_diagonal(Phi, 1.0)
        return cls(np.linalg.solve(T, L.T).T, T, Phi)

    @property
    def structure(self) -> Array:
        """Λ Φ (d, k): covariances of the variables with the rotated factors."""
        return np.asarray(self.loadings @ self.correlations)


@dataclass(frozen=True, eq=False)
class RotationSearch:
    """Where a search ended; `value` is what it made small."""

    T: Array
    value: float
    iterations: int
    gap: float
    converged: bool


def rotate_within_rank(L: Array, search: Callable[[Array], RotationSearch]) -> Rotation:
    """The rotation that `search` finds for the columns of L V that are not zero, V from the SVD of L."""
    L = np.asarray(L, dtype=np.float64)
    k = L.shape[1]
    values, Vt = np.linalg.svd(np.linalg.qr(L, mode="r"))[1:]
    r = int(np.sum(values > MIN_SINGULAR_SHARE * values.max(initial=0.0)))
    V = np.eye(k) if r == k else Vt.T
    found = search(L @ V[:, :r]) if r > 1 else RotationSearch(np.eye(r), float("nan"), 0, 0.0, True)
    T = _settled(L, V @ block_diag(found.T, np.eye(k - r)))
    outcome: dict[str, Any] = {"converged": found.converged, "criterion": found.value, "iterations": found.iterations}
    return replace(Rotation.by(L, T), **outcome, gap=found.gap)


def _settled(L: Array, T: Array) -> Array:
    """T with its columns in the order and with the signs that all rotations end with."""
    loadings = np.linalg.solve(T, L.T).T
    order = np.argsort(-np.sum(loadings**2, axis=0), kind="stable")
    kept = loadings[:, order]
    signs = np.where(np.einsum("ij,ij->j", kept, orient(kept)) < 0.0, -1.0, 1.0)
    return np.asarray(T[:, order] * signs)


def unit_rows(A: Array) -> Array:
    """Rows of unit length (Kaiser's normalisation); rows of zeros stay."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.asarray(A / np.where(length > 0.0, length, 1.0))


def unit_columns(T: Array) -> Array:
    """Columns of unit length."""
    return np.asarray(T / np.linalg.norm(T, axis=0))


def rotation_starts(k: int, n_starts: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """The identity, then random rotations (Haar measure)."""
    yield np.eye(k)
    rng = np.random.default_rng(0) if rng is None else rng
    for _ in range(n_starts - 1):
        Q, R = np.linalg.qr(rng.standard_normal((k, k)))
        yield Q * np.sign(np.diag(R))


def best_search(found: Iterator[RotationSearch]) -> RotationSearch:
    """The lowest value; one must be lower by more than rounding to replace an earlier one."""
    lowest = next(found)
    for other in found:
        if other.value < lowest.value - 1e-10 * abs(lowest.value):
            lowest = other
    return lowest
