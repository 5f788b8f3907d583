"""What is true of the rows: eigenvalues by obvious, slow routes in float64, or in long double where needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import LinearOperator, eigsh

BLOCK = 20_000


def variances(X: Any, k: int | None) -> np.ndarray:
    """The k largest eigenvalues of the covariance of the rows (divisor n − 1), all of them for k=None, descending."""
    if sparse.issparse(X):
        return _sparse(X, k or min(X.shape) - 1)
    n, d = X.shape
    S = _gram(X) if n < d else _scatter(X)
    subset = None if k is None else [len(S) - k, len(S) - 1]
    return eigvalsh(S, subset_by_index=subset, overwrite_a=True)[::-1] / (n - 1)


def _scatter(X: np.ndarray) -> np.ndarray:
    """Two passes in float64: the mean, then the products of centred rows."""
    starts = range(0, len(X), BLOCK)
    mean = sum(X[i : i + BLOCK].sum(axis=0, dtype=np.float64) for i in starts) / len(X)
    scatter, excess = np.zeros((X.shape[1], X.shape[1])), np.zeros(X.shape[1])
    for i in starts:
        rows = X[i : i + BLOCK] - mean
        scatter += rows.T @ rows
        excess += rows.sum(axis=0)
    return scatter - np.outer(excess, excess) / len(X)


def _gram(X: np.ndarray) -> np.ndarray:
    rows = X - X.mean(axis=0, dtype=np.float64)
    return rows @ rows.T


def _sparse(X: Any, k: int) -> np.ndarray:
    """ARPACK to machine precision on the centred normal matrix, with more room than it takes by itself."""
    n, d = X.shape
    mean = np.asarray(X.mean(axis=0)).ravel()
    Xt = X.T.tocsr()

    def product(v: np.ndarray) -> np.ndarray:
        y = X @ v.ravel() - mean @ v.ravel()
        return Xt @ y - mean * y.sum()

    values = eigsh(
        LinearOperator((d, d), matvec=product, dtype=float), k, ncv=min(d, 3 * k), tol=0.0,
        v0=np.random.default_rng(0).standard_normal(d), return_eigenvectors=False,
    )  # fmt: skip
    return np.sort(values)[::-1] / (n - 1)


def exact_variances(X: np.ndarray) -> np.ndarray:
    """All eigenvalues in long double: centring, Householder QR, then one-sided Jacobi on the triangle."""
    if np.finfo(np.longdouble).eps > 1e-18:
        raise RuntimeError("long double has no more digits than double here, so there is no truth to compare with")
    A = X.astype(np.longdouble)
    A -= A.mean(axis=0)
    A -= A.mean(axis=0)
    s = _jacobi(_triangle(A))
    return np.asarray(np.sort(s)[::-1] ** 2 / (len(X) - 1), dtype=np.float64)


def _triangle(A: np.ndarray) -> np.ndarray:
    """R of the QR decomposition of A (n, d) by Householder reflections, in A's own precision; A is overwritten."""
    d = A.shape[1]
    for j in range(d):
        v = A[j:, j].copy()
        v[0] += np.copysign(np.sqrt((v * v).sum()), v[0])
        v /= np.sqrt((v * v).sum())
        A[j:, j:] -= 2 * v[:, None] * (v[:, None] * A[j:, j:]).sum(axis=0)
    return np.triu(A[:d])


def _jacobi(R: np.ndarray, sweeps: int = 60) -> np.ndarray:
    """Singular values of R (d, d): rotations of pairs of columns until all are orthogonal."""
    A, eps = R.T.copy(), np.finfo(R.dtype).eps
    for _ in range(sweeps):
        turned = 0
        for p in range(len(A) - 1):
            for q in range(p + 1, len(A)):
                turned += _rotate(A, p, q, eps)
        if not turned:
            return np.sqrt((A * A).sum(axis=1))
    raise RuntimeError(f"Jacobi did not converge in {sweeps} sweeps")


def _rotate(A: np.ndarray, p: int, q: int, eps: Any) -> int:
    """Make rows p and q of A orthogonal; 0 if they were."""
    a, b, c = A[p] @ A[p], A[q] @ A[q], A[p] @ A[q]
    if abs(c) <= 8 * eps * np.sqrt(a * b):
        return 0
    zeta = (b - a) / (2 * c)
    t = np.copysign(1, zeta) / (abs(zeta) + np.sqrt(1 + zeta * zeta))
    cosine = 1 / np.sqrt(1 + t * t)
    A[p], A[q] = cosine * (A[p] - t * A[q]), cosine * (A[q] + t * A[p])
    return 1


def largest_error(found: np.ndarray, truth: np.ndarray) -> float:
    """max |found − truth| / truth over the values found."""
    if len(found) == 0 or len(truth) < len(found):
        return float("nan")
    return float(np.max(np.abs(np.asarray(found, dtype=np.float64) - truth[: len(found)]) / truth[: len(found)]))
