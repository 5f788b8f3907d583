"""Rows for the benchmarks: every shape from a seed, none of them repeating a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.fft import dct

BLOCK = 20_000


def rotation(d: int, rng: np.random.Generator) -> np.ndarray:
    """A random orthogonal matrix (d, d)."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0]


def fill(X: np.ndarray, rng: np.random.Generator, *, decay: float, mean: float = 0.0) -> np.ndarray:
    """Gaussian rows in X (n, d) whose j-th standard deviation is j^-decay along random axes, about a random mean.

    X is filled by blocks, so a memory map serves as well as an array.
    """
    n, d = X.shape
    axes = (np.arange(1, d + 1.0)[:, None] ** -decay * rotation(d, rng)).astype(X.dtype)
    centre = (mean + rng.standard_normal(d)).astype(X.dtype)
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        np.matmul(rng.standard_normal((stop - start, d), dtype=X.dtype), axes, out=X[start:stop])
        X[start:stop] += centre
    return X


def tall(n: int, d: int, dtype: Any, *, decay: float = 0.3, mean: float = 0.0, seed: int = 0) -> np.ndarray:
    """Dense rows with n > d."""
    return fill(np.empty((n, d), dtype), np.random.default_rng(seed), decay=decay, mean=mean)


def wide(n: int, d: int, *, seed: int = 0) -> np.ndarray:
    """Dense rows (n, d) with n << d: standard deviations i^-0.5 along random axes of the row space."""
    rng = np.random.default_rng(seed)
    axes = rotation(n, rng) * np.arange(1, n + 1.0) ** -0.5
    return axes @ rng.standard_normal((n, d)) + rng.standard_normal(d)


def _mixed(A: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random signs and a cosine transform, twice: an orthogonal matrix that looks random, times A, in n² log n."""
    for _ in range(2):
        A = dct(A * rng.choice([-1.0, 1.0], size=(len(A), 1)), axis=0, norm="ortho")
    return A


def square(n: int, *, decay: float = 0.12, seed: int = 0) -> np.ndarray:
    """A matrix (n, n) with singular values i^-decay before centring, which hardly moves them.

    At 0.12 randomized PCA with its usual power steps is about 7% wrong.
    """
    rng = np.random.default_rng(seed)
    values = np.diag(np.arange(1, n + 1.0) ** -decay)
    X = _mixed(np.ascontiguousarray(_mixed(values, rng).T), rng)
    return np.ascontiguousarray(X + 0.01 * rng.standard_normal(n))


def words(n: int, d: int, density: float, *, topics: int = 200, seed: int = 0) -> sparse.csr_array:
    """Sparse rows like counts of words: popularity falls as 1 / (rank + 50), half of them are the topic's own."""
    rng = np.random.default_rng(seed)
    each = round(d * density)
    share = np.cumsum(1.0 / (np.arange(d) + 50.0))
    rank = np.searchsorted(share / share[-1], rng.random((n, each)))
    topic = rng.integers(d, size=topics)[rng.integers(topics, size=n)][:, None]
    columns = np.where(rng.random((n, each)) < 0.5, (rank + topic) % d, rng.permutation(d)[rank])
    X = sparse.csr_array((1.0 + rng.random(n * each), columns.ravel(), np.arange(0, n * each + 1, each)), shape=(n, d))
    X.sum_duplicates()
    return X


def scattered(n: int, d: int, density: float, *, seed: int = 0) -> sparse.csr_array:
    """Sparse rows with entries anywhere: the flattest spectrum there is, and the slowest for any iteration."""
    return sparse.csr_array(sparse.random_array((n, d), density=density, format="csr", rng=np.random.default_rng(seed)))


def graded(n: int, d: int, *, smallest: float = 1e-9, offset: float = 1e3, seed: int = 0) -> np.ndarray:
    """Rows with singular values from 1 down to `smallest`, evenly in their logarithms, about means up to `offset`."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((n, d))
    U = np.linalg.qr(U - U.mean(axis=0))[0]
    s = np.geomspace(1.0, smallest, d)
    return (U * s) @ rotation(d, rng).T + rng.uniform(-offset, offset, size=d)


def write_npy(path: Path, n: int, d: int, *, seed: int = 0) -> None:
    """float32 rows (n, d) in a .npy file, a block at a time."""
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, d))
    fill(X, np.random.default_rng(seed), decay=0.3)
    X.flush()


def write_parquet(path: Path, rows: Path) -> None:
    """The rows of a .npy file as Parquet, with the row groups and the compression that Polars chooses by itself."""
    import polars

    X = np.load(rows, mmap_mode="r")
    names = [f"x{j}" for j in range(X.shape[1])]
    # Blocks that fit into the cache: turning all rows into columns at once reads every page once a column.
    blocks = (np.array(X[i : i + 4_000]) for i in range(0, len(X), 4_000))
    frames = [polars.from_numpy(block, schema=names, orient="row") for block in blocks]
    polars.concat(frames, rechunk=True).write_parquet(path)
