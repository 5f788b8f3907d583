"""Rotations of loadings toward simple structure: orthogonal by orthomax, oblique by promax and direct oblimin.

x = L z + e and x = (L T⁻ᵀ)(Tᵀ z) + e are one model. A rotation finds the T for which the rotated loadings Λ = L T⁻ᵀ are
easiest to read; the rotated factors Tᵀ z have the correlations Φ = Tᵀ T, and Λ Φ Λᵀ = L Lᵀ. T is orthogonal and Φ = I
for varimax, quartimax and equamax.

All rotations end alike: factors are ordered by their sums of squared loadings, largest first, and signed by
`linalg.spectrum.orient` (the loading of largest modulus is positive), as components are everywhere in this package; R
makes the sum of a column positive, which is the other way round for a few. Where L has a lower rank than columns, the
rotation stays inside its row space, and the factors left over have loadings of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from eigenlens.arrays import Array, read_only
from eigenlens.errors import OptionError
from eigenlens.linalg.spectrum import orient

__all__ = ["ROTATIONS", "Rotation", "equamax", "oblimin", "orthomax", "promax", "quartimax", "rotate", "varimax"]

ROUGH = 1e-5
"""Where R's `varimax` stops: the relative growth of the sum of singular values in one step."""

RANK = 1e-10
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


def varimax(L: Array, **options: Any) -> Rotation:
    """Columns whose squared loadings vary most (Kaiser 1958); see `orthomax` for the options.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> turned = simple @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    >>> np.abs(varimax(turned).loadings).round(6)
    array([[0.9, 0. ], [0.8, 0. ], [0. , 0.7], [0. , 0.6]])
    """
    return orthomax(L, 1.0, **options)


def quartimax(L: Array, **options: Any) -> Rotation:
    """Rows whose squared loadings vary most: often one general factor (Neuhaus and Wrigley 1954)."""
    return orthomax(L, 0.0, **options)


def equamax(L: Array, **options: Any) -> Rotation:
    """Between varimax and equal columns, gamma = k/2 (Saunders 1962)."""
    return orthomax(L, L.shape[1] / 2.0, **options)


def orthomax(
    L: Array,
    gamma: float = 1.0,
    *,
    kaiser: bool = True,
    polish: bool = True,
    n_starts: int = 1,
    rng: np.random.Generator | None = None,
    tol: float = 1e-12,
    max_iter: int = 1000,
) -> Rotation:
    """The orthogonal T that maximises Σ_j [Σ_i b_ij⁴ − (gamma/d) (Σ_i b_ij²)²] for B = L T (Harman 1976, eq. 14.26).

    First the iteration of R's `varimax` (polar factors of the gradient), stopped where R stops it, so that the
    same maximum is climbed; then sweeps of plane rotations, each by its best angle in closed form (Kaiser 1959), up to
    the top. R itself leaves loadings short of it by up to 0.003 on its own examples.

    Args:
        L: loadings (d, k).
        kaiser: rotate rows of unit length, so that every variable counts the same; rows of zeros stay zeros.
        polish: False returns what R's `varimax` returns; gamma above 1 is polished always.
        n_starts: the best of this many runs, the first from L as it is and the others from random rotations by `rng`.
        tol: bound on the gap. max_iter: of the steps, and of the sweeps.

    Cost: O(d k²) a step or sweep; 5 to 20 of each.
    """

    def climb(B: Array, T: Array) -> _Found:
        if gamma > 1.0:  # where a polar step may lead down, or nowhere
            return _plane_sweeps(B, T, gamma, tol, max_iter)
        near, steps = _polar_steps(B, T, gamma, max_iter)
        if not polish:
            return _Found(near, -_orthomax_value(B @ near, gamma), steps, ROUGH, steps < max_iter)
        higher = max(T, near, key=lambda start: _orthomax_value(B @ start, gamma))
        return _plane_sweeps(B, higher, gamma, tol, max_iter)

    def search(A: Array) -> _Found:
        B = _unit_rows(A) if kaiser else A
        found = _best(climb(B, T) for T in _starts(A.shape[1], n_starts, rng))
        return replace(found, value=-found.value)

    return _within_rank(L, search)


def promax(L: Array, *, power: float = 4.0, **options: Any) -> Rotation:
    """Varimax loadings B, turned by least squares toward B |B|^(power − 1), which has smaller small ones.

    U = (BᵀB)⁻¹ Bᵀ Q with Q = B |B|^(power − 1), columns scaled so that the factors have unit variance (Hendrickson and
    White 1964, with the choices of R's `promax`); power 4 is R's. Other options are those of `orthomax`.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> promax(simple).correlations
    array([[1., 0.], [0., 1.]])
    """

    def search(A: Array) -> _Found:
        straight = varimax(A, **options)
        B = straight.loadings
        U = np.linalg.lstsq(B, B * np.abs(B) ** (power - 1.0), rcond=None)[0]
        T = straight.matrix @ _unit_columns(np.linalg.inv(U).T)
        return _Found(T, straight.criterion, straight.iterations, straight.gap, straight.converged)

    return _within_rank(L, search)


def oblimin(
    L: Array,
    *,
    gamma: float = 0.0,
    kaiser: bool = False,
    n_starts: int = 1,
    rng: np.random.Generator | None = None,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Rotation:
    """Direct oblimin (Jennrich and Sampson 1966): the oblique T that minimises, with Λ = L T⁻ᵀ,

    f = ¼ Σ_{j≠l} [Σ_i λ_ij² λ_il² − (gamma/d) Σ_i λ_ij² Σ_i λ_il²].

    gamma = 0 is quartimin, the default of GPArotation and psych, as are rows that are not normalised; SPSS normalises
    (`kaiser=True`). Above 0 factors correlate more, and f may have no minimum. The minimum is found by gradient
    projection (Jennrich 2002) with Barzilai–Borwein steps and a line search. The first start is the varimax of L, so
    that the answer does not depend on how L was turned; the others (`n_starts`) are random.

    Cost: O(d k²) a step.

    >>> simple = np.array([[0.9, 0.0], [0.8, 0.0], [0.0, 0.7], [0.0, 0.6]])
    >>> oblique = simple @ np.linalg.cholesky(np.array([[1.0, 0.5], [0.5, 1.0]]))
    >>> found = oblimin(oblique)
    >>> np.allclose(found.loadings, simple, atol=1e-6), found.correlations.round(3)
    (True, array([[1. , 0.5], [0.5, 1. ]]))
    """

    def search(A: Array) -> _Found:
        B = _unit_rows(A) if kaiser else A
        first = varimax(A).matrix
        return _best(_descend(B, first @ T, gamma, tol, max_iter) for T in _starts(A.shape[1], n_starts, rng))

    return _within_rank(L, search)


ROTATIONS: dict[str, Callable[..., Rotation]] = {
    "varimax": varimax,
    "quartimax": quartimax,
    "equamax": equamax,
    "promax": promax,
    "oblimin": oblimin,
}
"""Rotations by name; each takes loadings (d, k) and options, and returns a `Rotation`."""


def rotate(L: Array, rotation: str | Callable[..., Any], **options: Any) -> Rotation:
    """L (d, k) rotated by name, or by the user's own function of L, which gives a `Rotation` or the matrix T (k, k).

    >>> rotate(np.array([[0.6, 0.8]]), lambda L: np.eye(2)[:, ::-1]).loadings
    array([[0.8, 0.6]])
    """
    if isinstance(rotation, str):
        return ROTATIONS[rotation](L, **options)
    found = rotation(np.array(L))
    return found if isinstance(found, Rotation) else Rotation.by(L, _checked_matrix(rotation, found, L.shape[1]))


def _checked_matrix(rotation: Any, found: Any, k: int) -> Array:
    T = np.array(found, dtype=np.float64)
    name = getattr(rotation, "__name__", repr(rotation))
    if T.shape != (k, k):
        raise OptionError(
            f"rotation={name} gave an array of shape {T.shape}; give a Rotation or T of shape ({k}, {k})."
        )
    lengths = np.linalg.norm(T, axis=0)
    if not np.all(np.abs(lengths - 1.0) < 1e-6) or np.linalg.cond(T) > 1e12:
        raise OptionError(
            f"rotation={name} gave a matrix that is singular or has columns of length {lengths.round(6).tolist()}; "
            "their lengths must be 1, so that the rotated factors have unit variance."
        )
    return T


# ---- what all rotations share -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Found:
    """Where a search ended; `value` is what it made small."""

    T: Array
    value: float
    iterations: int
    gap: float
    converged: bool


def _within_rank(L: Array, search: Callable[[Array], _Found]) -> Rotation:
    """The rotation that `search` finds for the columns of L V that are not zero, V from the SVD of L."""
    L = np.asarray(L, dtype=np.float64)
    k = L.shape[1]
    values, Vt = np.linalg.svd(np.linalg.qr(L, mode="r"))[1:]
    r = int(np.sum(values > RANK * values.max(initial=0.0)))
    V = np.eye(k) if r == k else Vt.T
    found = search(L @ V[:, :r]) if r > 1 else _Found(np.eye(r), float("nan"), 0, 0.0, True)
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


def _unit_rows(A: Array) -> Array:
    """Rows of unit length (Kaiser's normalisation); rows of zeros stay."""
    length = np.linalg.norm(A, axis=1, keepdims=True)
    return np.asarray(A / np.where(length > 0.0, length, 1.0))


def _unit_columns(T: Array) -> Array:
    return np.asarray(T / np.linalg.norm(T, axis=0))


def _starts(k: int, n_starts: int, rng: np.random.Generator | None) -> Iterator[Array]:
    """The identity, then random rotations (Haar measure)."""
    yield np.eye(k)
    rng = np.random.default_rng(0) if rng is None else rng
    for _ in range(n_starts - 1):
        Q, R = np.linalg.qr(rng.standard_normal((k, k)))
        yield Q * np.sign(np.diag(R))


def _best(found: Iterator[_Found]) -> _Found:
    """The lowest value; one must be lower by more than rounding to replace an earlier one."""
    best = next(found)
    for other in found:
        if other.value < best.value - 1e-10 * abs(best.value):
            best = other
    return best


# ---- orthogonal -------------------------------------------------------------------------------------------


def _orthomax_value(B: Array, gamma: float) -> float:
    squares = B * B
    return float(np.sum(squares**2) - gamma / len(B) * np.sum(squares.sum(axis=0) ** 2))


def _polar_steps(A: Array, T: Array, gamma: float, max_iter: int) -> tuple[Array, int]:
    """T ← polar factor of Aᵀ (B³ − gamma B diag(mean B²)), B = A T, until the singular values' sum grows by < 1e-5."""
    before, total, step = 0.0, np.inf, 0
    while total >= before * (1.0 + ROUGH) and step < max_iter:
        B, before, step = A @ T, total if step else 0.0, step + 1
        U, values, Vt = np.linalg.svd(A.T @ (B**3 - gamma * B * np.mean(B * B, axis=0)))
        T, total = U @ Vt, float(values.sum())
    return T, step


def _plane_sweeps(A: Array, T: Array, gamma: float, tol: float, max_iter: int) -> _Found:
    """Every pair of columns turned by its best angle, again and again; the criterion never falls."""
    B, T = np.ascontiguousarray((A @ T).T), np.ascontiguousarray(T.T)
    scale = float(np.sum(np.sum(A * A, axis=1) ** 2)) or 1.0
    gap, sweep = np.inf, 0
    while gap > tol and sweep < max_iter:
        gap, sweep = 0.0, sweep + 1
        for j, l in combinations(range(len(B)), 2):
            angle, slope = _plane_angle(B[j], B[l], gamma)
            gap = max(gap, slope / scale)
            if slope > 0.1 * tol * scale:
                turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
                B[[j, l]], T[[j, l]] = turn @ B[[j, l]], turn @ T[[j, l]]
    T = _orthonormal(T.T)
    return _Found(T, -_orthomax_value(A @ T, gamma), sweep, gap, gap <= tol)


def _plane_angle(x: Array, y: Array, gamma: float) -> tuple[float, float]:
    """The best angle for two columns, and the slope of the criterion at 0 (at a minimum: how deep it is).

    With u = x² − y², v = 2xy the criterion is a constant + ¼ (p cos 4φ + q sin 4φ), p = Σ(u² − v²) − (gamma/d)((Σu)² −
    (Σv)²), q = 2 Σ uv − 2 (gamma/d) Σu Σv: highest at φ = ¼ atan2(q, p).
    """
    u, v = x * x - y * y, 2.0 * x * y
    share, U, V = gamma / x.size, float(u.sum()), float(v.sum())
    p = float(u @ u - v @ v) - share * (U * U - V * V)
    q = 2.0 * float(u @ v) - 2.0 * share * U * V
    return float(np.arctan2(q, p)) / 4.0, abs(q) if p > 0.0 else float(np.hypot(p, q))


def _orthonormal(T: Array) -> Array:
    """The orthogonal matrix nearest to T: many plane rotations have drifted by rounding."""
    U, _, Vt = np.linalg.svd(T)
    return np.asarray(U @ Vt)


# ---- oblique ----------------------------------------------------------------------------------------------


def _oblimin_value(A: Array, T: Array, gamma: float) -> tuple[float, Array]:
    """f and its gradient (k, k) in T, with Λ = A T⁻ᵀ (Jennrich 2002)."""
    inverse = np.linalg.inv(T)
    B = A @ inverse.T
    squares = B * B
    centred = squares - gamma * squares.mean(axis=0)
    others = centred.sum(axis=1, keepdims=True) - centred
    G = -(B.T @ (B * others) @ inverse).T
    return 0.25 * float(np.sum(squares * others)), G


def _descend(A: Array, T: Array, gamma: float, tol: float, max_iter: int) -> _Found:
    """Gradient projection on matrices with columns of unit length, from T."""
    scale = float(np.sum(np.sum(A * A, axis=1) ** 2)) or 1.0
    f, G = _oblimin_value(A, T, gamma)
    P, step = _tangent(G, T), 1.0 / scale
    for iteration in range(max_iter + 1):
        gap = float(np.linalg.norm(P)) / scale
        if gap <= tol or iteration == max_iter:
            break
        before = T, P
        T, f, G = _line_search(A, T, f, P, step, gamma, scale)
        P = _tangent(G, T)
        moved, changed = T - before[0], P - before[1]
        curvature = abs(float(np.sum(moved * changed)))
        step = float(np.sum(moved * moved)) / curvature if curvature > 0.0 else 1.0 / scale
    return _Found(T, f, iteration, gap, gap <= tol)


def _tangent(G: Array, T: Array) -> Array:
    """G without its parts along the columns of T."""
    return np.asarray(G - T * np.sum(T * G, axis=0))


def _line_search(
    A: Array, T: Array, f: float, P: Array, step: float, gamma: float, scale: float
) -> tuple[Array, float, Array]:
    """The first of step, step/2, … along −P, columns of unit length again, that lowers f enough (Armijo)."""
    slope, rounding = float(np.sum(P * P)), 1e-15 * scale
    for _ in range(60):
        tried = _unit_columns(T - step * P)
        if np.linalg.cond(tried) < 1e12:
            value, G = _oblimin_value(A, tried, gamma)
            if value <= f - 1e-4 * step * slope + rounding:
                break
        step *= 0.5
    else:
        tried, (value, G) = T, _oblimin_value(A, T, gamma)
    return tried, value, G
