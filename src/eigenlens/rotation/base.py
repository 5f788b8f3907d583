"""The result of a rotation, and the parts that all rotations share: search within the rank, order and signs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from eigenlens import checks
from eigenlens.arrays import Array, read_only
from eigenlens.errors import OptionError
from eigenlens.linalg.spectrum import column_signs

MIN_SINGULAR_SHARE = 1e-10
"""Singular values of L below this share of the largest count as zero."""

MAX_LOADING = 1e70
"""Sums of fourth powers of loadings up to this size are floats."""

MAX_WEIGHT = 1e6
"""The largest modulus of the numbers gamma and delta of criteria, which are near 1 or below."""


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotated loadings, with the matrix that rotates them and the outcome of the search for it.

    Attributes:
        loadings: Λ = L T⁻ᵀ (d, k), the pattern. matrix: T (k, k), with columns of unit length.
        correlations: Φ = Tᵀ T (k, k) of the rotated factors, the identity for an orthogonal rotation.
        converged: whether the residual met the tolerance. iterations: sweeps, or steps.
        criterion: its value at the loadings; maximised by the orthogonal rotations (for promax, of the varimax that it
            starts from), minimised by oblimin and geomin; NaN where fewer than two factors have loadings.
        residual: the size of its gradient, over Σ h⁴ with h the lengths of the rotated rows (Σ h² for geomin).
    """

    loadings: Array
    matrix: Array
    correlations: Array
    converged: bool = True
    criterion: float = float("nan")
    iterations: int = 0
    residual: float = 0.0

    def __post_init__(self) -> None:
        read_only(self, "loadings", "matrix", "correlations")

    @classmethod
    def by(cls, L: Array, T: Array) -> Rotation:
        """Rotate L (d, k) by a given T (k, k) with columns of unit length.

        >>> Rotation.by(np.array([[1.0, 1.0]]), np.array([[0.6, 0.8], [-0.8, 0.6]])).loadings
        array([[-0.2,  1.4]])
        """
        Phi = T.T @ T
        np.fill_diagonal(Phi, 1.0)
        return cls(np.linalg.solve(T, L.T).T, T, Phi)

    @property
    def structure(self) -> Array:
        """Return Λ Φ (d, k), the covariances of the variables with the rotated factors."""
        return np.asarray(self.loadings @ self.correlations)


@dataclass(frozen=True, eq=False)
class RotationSearch:
    """The end of a search for T (k, k); `value` is the quantity that was minimised."""

    T: Array
    value: float
    iterations: int
    residual: float
    converged: bool


def as_loadings(L: Any) -> Array:
    """Return L as an array (d, k) of finite numbers; raise for anything else.

    >>> as_loadings([[0.6, 0.8]])
    array([[0.6, 0.8]])
    """
    found = checks.finite("L", L)
    if found.ndim != 2 or not len(found):
        raise OptionError(f"has shape {found.shape}", argument="L", fix="give loadings (d, k) of variables on factors")
    return found


def check_search(kaiser: Any, n_starts: Any, rng: Any, tol: Any, max_iter: Any) -> np.random.Generator | None:
    """Raise unless the options that all searches share are possible; return the generator of random starts."""
    checks.boolean("kaiser", kaiser)
    checks.integer("n_starts", n_starts, 1)
    checks.real("tol", tol, 0.0)
    checks.integer("max_iter", max_iter, 1)
    return None if rng is None else checks.generator(rng, "rng")


def rotate_within_rank(L: Array, search: Callable[[Array], RotationSearch]) -> Rotation:
    """Rotate L by the T that `search` finds for the columns of L V that are not zero, V from the SVD of L."""
    L = as_loadings(L)
    largest = float(np.abs(L).max(initial=0.0))
    if largest > MAX_LOADING:
        what = f"has numbers as large as {largest:.3g}, whose fourth powers floats do not hold"
        raise OptionError(what, argument="L", fix="divide it by a constant, which rotates to the same factors")
    k = L.shape[1]
    values, Vt = np.linalg.svd(np.linalg.qr(L, mode="r"))[1:]
    r = int(np.sum(values > MIN_SINGULAR_SHARE * values.max(initial=0.0)))
    V = np.eye(k) if r == k else Vt.T
    found = search(L @ V[:, :r]) if r > 1 else RotationSearch(np.eye(r), float("nan"), 0, 0.0, True)
    T = _order_and_sign(L, V @ block_diag(found.T, np.eye(k - r)))
    outcome: dict[str, Any] = {"converged": found.converged, "criterion": found.value, "iterations": found.iterations}
    return replace(Rotation.by(L, T), **outcome, residual=found.residual)


def _order_and_sign(L: Array, T: Array) -> Array:
    """Return T with its columns in the order and with the signs that all rotations end with."""
    loadings = np.linalg.solve(T, L.T).T
    order = np.argsort(-np.sum(loadings**2, axis=0), kind="stable")
    return np.asarray(T[:, order] * column_signs(loadings[:, order]))


def unit_rows(A: Array) -> Array:
    """Return A with rows of unit length (Kaiser's normalisation); rows of zeros stay unchanged."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.asarray(A / np.where(length > 0.0, length, 1.0))


def unit_columns(T: Array) -> Array:
    """Return T with columns of unit length."""
    return np.asarray(T / np.linalg.norm(T, axis=0))


def rotation_starts(k: int, n_starts: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """Yield the identity, then random rotations (Haar measure)."""
    yield np.eye(k)
    rng = np.random.default_rng(0) if rng is None else rng
    for _ in range(n_starts - 1):
        Q, R = np.linalg.qr(rng.standard_normal((k, k)))
        yield Q * np.sign(np.diag(R))


def best_search(searches: Iterator[RotationSearch]) -> RotationSearch:
    """Return the search of lowest value; it must be lower by more than rounding to replace an earlier one."""
    lowest = next(searches)
    for other in searches:
        if other.value < lowest.value - 1e-10 * abs(lowest.value):
            lowest = other
    return lowest
