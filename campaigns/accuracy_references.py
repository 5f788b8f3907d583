"""References in extended precision (80 bits): moments, eigenvalues by Jacobi's method, log densities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]
Rng = np.random.Generator


class Comparison(NamedTuple):
    """What this package, scikit-learn (None where it has no such thing) and the reference find."""

    found: Any
    theirs: Any
    wanted: Any
    scale: Any = None  # what errors are relative to, where not to the reference itself


class AccuracyCase(NamedTuple):
    """A case: its name, and a function of a random generator."""

    name: str
    compare: Callable[[Rng], Comparison]


SWEEPS = 30
"""Sweeps of Jacobi's method; it converges quadratically after a few."""


def exact(X: Any) -> Array:
    """Return an array in extended precision."""
    return np.asarray(X).astype(np.longdouble)


def centred_rows(X: Any, weight: Array | None = None) -> Array:
    """Return the rows A (n, d) whose AᵀA is the covariance matrix of X (n, d), with divisor Σw − 1."""
    rows = exact(X)
    w = np.ones(len(rows), dtype=np.longdouble) if weight is None else exact(weight)
    return np.asarray((rows - (w @ rows) / w.sum()) * np.sqrt(w / (w.sum() - 1.0))[:, None])


def principal_axes(A: Array) -> tuple[Array, Array]:
    """Return the eigenvalues (d,) of AᵀA, descending, and their vectors (d, d), by rotations of columns of A (n, d).

    One-sided, Jacobi's method keeps what squares would lose.
    """
    A, V = A.copy(), np.eye(A.shape[1], dtype=np.longdouble)
    for _ in range(SWEEPS):
        for p in range(A.shape[1]):
            for q in range(p + 1, A.shape[1]):
                pair = A[:, [p, q]]
                J = _rotation(pair.T @ pair)
                A[:, [p, q]], V[:, [p, q]] = pair @ J, V[:, [p, q]] @ J
    values = np.sum(A * A, axis=0)
    order = np.argsort(-values)
    return values[order], V[:, order]


def _rotation(S: Array) -> Array:
    """Return the rotation (2, 2) that makes S (2, 2) diagonal."""
    if S[0, 1] == 0.0:
        return np.eye(2, dtype=np.longdouble)
    theta = (S[1, 1] - S[0, 0]) / (2.0 * S[0, 1])
    t = np.where(theta < 0.0, -1.0, 1.0) / (np.abs(theta) + np.hypot(theta, np.longdouble(1.0)))
    c = 1.0 / np.hypot(t, np.longdouble(1.0))
    return np.array([[c, t * c], [-t * c, c]])


def gaussian_log_density(X: Any, mean: Array, values: Array, V: Array) -> Array:
    """Return log N(x | mean, V diag(values) Vᵀ) of rows (n, d)."""
    z = (exact(X) - mean) @ V
    log_det = np.sum(np.log(2.0 * np.arccos(np.longdouble(-1.0)) * values))
    return np.asarray(-0.5 * (np.sum(z * z / values, axis=1) + log_det))


def kernel_log_density(
    X: Any, Y: Any, h: float, kernel: str, weight: Array | None = None, scales: Array | None = None
) -> Array:
    """Return the log density (m,) of product kernels at Y (m, d), pair by pair."""
    x, y = exact(X), exact(Y)
    w = np.ones(len(x), dtype=np.longdouble) if weight is None else exact(weight)
    s = exact(np.full(len(x), h)) * (1.0 if scales is None else exact(scales))
    u = (y[:, None, :] - x) / s[:, None]
    power = -0.5 * np.sum(u * u, axis=2) if kernel == "gaussian" else -np.sum(np.abs(u), axis=2)
    one = np.sqrt(2.0 * np.arccos(np.longdouble(-1.0))) if kernel == "gaussian" else np.longdouble(2.0)
    logs = power + np.log(w / w.sum()) - x.shape[1] * np.log(one * s)
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.sum(np.exp(logs - top), axis=1)))
