"""Kernel PCA: its rows, the truth of them, and its cases, which run.py adds to the others.

python benchmarks/run.py --only kernel --repeat 3 --patience 15
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

import data
from cases import Case
from peers import Fit, mean_squares, parted
from targets import Target, beside, certified, faster, kernel_memory, linear, right, within

BLOCK = 2_000
DENSE = 6_000
"""Up to this many rows the truth comes from LAPACK."""

SOLVERS = ("scikit-learn KernelPCA arpack", "scikit-learn KernelPCA randomized")
OURS, SINGLE, PIVOTED = "Eigenlens KernelPCA", "Eigenlens KernelPCA float32", "Eigenlens KernelPCA rpcholesky"


def normal(n: int, d: int, dtype: str) -> np.ndarray:
    """Gaussian rows (n, d) with all variances one, drawn in float32 whatever the dtype: both have the same truth.

    The d leading eigenvalues of the Gram matrix are close together, which no iteration likes.
    """
    return data.tall(n, d, "float32", decay=0.0).astype(dtype)


def clusters(n: int, d: int, *, count: int = 20, latent: int = 3, noise: float = 0.03, seed: int = 0) -> np.ndarray:
    """Rows (n, d) near `count` planes of `latent` dimensions: a Gram matrix whose spectrum falls quickly."""
    rng = np.random.default_rng(seed)
    centres, axes = rng.standard_normal((count, d)), rng.standard_normal((count, latent, d)) / np.sqrt(latent)
    X, label = noise * rng.standard_normal((n, d)), rng.integers(count, size=n)
    for j in range(count):
        mine = np.flatnonzero(label == j)
        X[mine] += centres[j] + 0.5 * rng.standard_normal((len(mine), latent)) @ axes[j]
    return X


def values(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """exp(−|x − y|² / d) (n, m) in float64, by blocks of rows."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    centre, K = Y.mean(axis=0), np.empty((len(X), len(Y)))
    Y = Y - centre
    for i in range(0, len(X), BLOCK):
        rows, part = X[i : i + BLOCK] - centre, K[i : i + BLOCK]
        np.matmul(-2.0 * rows, Y.T, out=part)
        part += np.sum(rows * rows, axis=1)[:, None]
        part += np.sum(Y * Y, axis=1)
        part *= -1.0 / X.shape[1]
        np.exp(part, out=part)
    return K


def spectrum(K: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (k,), descending, and eigenvectors (n, k) of the doubly centred K (n, n), which is overwritten.

    LAPACK where it takes seconds; else ARPACK at machine precision with a larger basis, believed for its residuals.
    """
    means = K.mean(axis=0)
    K -= means
    K -= means[:, None]
    K += means.mean()
    n = len(K)
    if n <= DENSE:
        lam, V = eigh(K, subset_by_index=[n - k, n - 1], overwrite_a=True)
        return lam[::-1], V[:, ::-1]
    lam, V = eigsh(K, k, ncv=4 * k, tol=0.0, v0=np.random.default_rng(0).standard_normal(n))
    residual = np.linalg.norm(K @ V - V * lam, axis=0)
    if np.any(residual > 1e-11 * lam):
        raise RuntimeError(f"the reference eigenvalues are known to {np.max(residual / lam):.1e} only")
    return lam[::-1], V[:, ::-1]


def eigenvalues(X: np.ndarray, k: int) -> np.ndarray:
    return spectrum(values(X, X), k)[0]


def new_scores(X: np.ndarray, k: int) -> np.ndarray:
    """Mean squares (k,) of the scores of the new rows among X, by the definition."""
    train, new = parted(X)
    K = values(train, train)
    means = K.mean(axis=0)
    lam, V = spectrum(K, k)
    A, parts = V / np.sqrt(lam), []
    for i in range(0, len(new), BLOCK):
        rows = values(new[i : i + BLOCK], train)
        parts.append((rows - rows.mean(axis=1, keepdims=True) - means + means.mean()) @ A)
    return mean_squares(np.concatenate(parts))


def gram_flops(n: int, d: int, fit: Fit) -> float:
    """Products of one triangle of the Gram matrix; the exponentials and the iteration come on top."""
    return float(n) * n * d


def gram_bytes(size: float, fit: Fit) -> float:
    """One triangle of the Gram matrix, once a pass."""
    return 0.5 * fit.kernel_bytes * max(1, fit.passes)


def pivoted_flops(n: int, d: int, fit: Fit) -> float:
    """Kernel values of all rows and landmarks, and one triangular solve with them."""
    m = fit.kernel_bytes / (8.0 * n)
    return n * m * (2.0 * d + m)


def _exact(n: int, small: int, dtype: str, others: tuple[str, ...], *targets: Target) -> Case:
    return Case(
        (n, 50), (small, 50), 20, f"KernelPCA rbf, k=20, {dtype}", partial(normal, dtype=dtype), (OURS, *others),
        targets, partial(eigenvalues, k=20), dtype, gram_flops, gram_bytes,
    )  # fmt: skip


def _transform(dtype: str, tolerance: float) -> Case:
    return Case(
        (105_000, 50), (3_000, 50), 20, f"KernelPCA of 5,000 transforms the others, k=20, {dtype}",
        partial(normal, dtype=dtype), (f"{OURS} transform", "scikit-learn KernelPCA transform", "NumPy GEMM + exp"),
        (within(1.5, "NumPy GEMM + exp"), right(tolerance, what="mean squares"), beside(64e6)),
        partial(new_scores, k=20), dtype, lambda n, d, fit: 2.0 * (n - 5_000) * 5_000 * (d + 20),
    )  # fmt: skip


def _nothing(X: Any) -> np.ndarray:
    """No truth: the Gram matrix of 200,000 rows has 320 GB."""
    return np.zeros(0)


CASES: dict[str, Case] = {
    "kernel-5k-f64": _exact(
        5_000, 1_200, "float64", (*SOLVERS, "scikit-learn KernelPCA dense"),
        faster(1.5), right(1e-9, what="eigenvalues"), kernel_memory(1.15),
    ),
    "kernel-5k-f32": _exact(
        5_000, 1_200, "float32", (*SOLVERS, "scikit-learn KernelPCA dense"),
        faster(2.0), right(1e-7, what="eigenvalues"), kernel_memory(1.15),
    ),
    "kernel-20k": _exact(
        20_000, 2_000, "float64", (SINGLE, *SOLVERS),
        faster(2.0), right(1e-9, what="eigenvalues"), kernel_memory(1.15),
        faster(5.0, who=SINGLE), right(1e-7, SINGLE, what="eigenvalues"), kernel_memory(1.15, SINGLE),
    ),
    "kernel-200k": Case(
        (200_000, 50), (8_000, 50), 20, "near 20 planes, KernelPCA rbf by rpcholesky, k=20", clusters,
        (PIVOTED, f"{PIVOTED}, 1/2", f"{PIVOTED}, 1/4"),
        (certified(0.01), linear(1.25), kernel_memory(1.0, unit="rows × landmarks")),
        _nothing, flops=pivoted_flops,
    ),
    "kernel-transform-f64": _transform("float64", 1e-9),
    "kernel-transform-f32": _transform("float32", 1e-6),
}  # fmt: skip
"""Every case of kernel PCA by its name."""
