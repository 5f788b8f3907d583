"""The pass of a mixture of Gaussians over its rows: responsibilities and what they weigh, never stored for all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.native.runtime import kernels, readable
from eigenlens.resources import thread_count

FARTHEST = 1e300
"""Half a squared distance counts as this much at most: a row beyond the range of numbers still has a likelihood."""

BLOCK_BYTES = 1 << 20

FEW_PRODUCTS = 500_000
"""Less than this many products and exponentials, counted as 15, are the work of one thread."""


class Passes(NamedTuple):
    """The statistics of one pass for S mixtures of K components, each as in `FullPass` or `DiagonalPass`."""

    loglik: Array  # (S,)
    weight: Array  # (S K,)
    total: Array  # (S K, d)
    spread: Array  # (S K, d, d) or (S K, d)


class FullPass(NamedTuple):
    """The statistics of one pass over the rows, δ_ik = x_i − μ_k, responsibilities r_ik sum to w_i over k."""

    loglik: float  # Σ_i w_i log Σ_k exp(joint_ik)
    weight: Array  # (K,)       Σ_i r_ik
    total: Array  # (K, d)     Σ_i r_ik δ_ik
    scatter: Array  # (K, d, d)  Σ_i r_ik δ_ik δ_ikᵀ


class DiagonalPass(NamedTuple):
    """As `FullPass`, of the scatter the diagonal alone."""

    loglik: float
    weight: Array  # (K,)
    total: Array  # (K, d)
    square: Array  # (K, d)  Σ_i r_ik δ_ik²


def full_pass(rows: Array, weight: Array | None, levels: Array, means: Array, roots: Array) -> FullPass:
    """The E-step and the sums of the M-step of a mixture with full covariances, in one pass over rows (n, d).

        joint_ik = levels_k − ½ |roots_k (x_i − means_k)|²,    r_ik = w_i exp(joint_ik) / Σ_l exp(joint_il)

    with levels (K,) = log π_k − ½ log|Σ_k| − d/2 log 2π, −inf for a component that is empty, means (K, d) and lower
    triangular roots (K, d, d) with rootsᵀ roots = Σ⁻¹. float32 rows are multiplied in float64.

    A row of weight zero counts for nothing, whatever it holds; one with NaN makes the result NaN. Responsibilities so
    small that they add less than 1e-30 of a row to any sum, in units of the component, count as zero. The result does
    not depend on the number of threads.

    Cost about 2 n K d² flops at most, the second half of them only for rows that have a share in the component, and
    n K exponentials; memory O(K d²), nothing of size n.

    >>> rows, levels, roots = np.array([[0.0], [4.0]]), np.log([0.5, 0.5]), np.ones((2, 1, 1))
    >>> found = full_pass(rows, None, levels, rows, roots)
    >>> found.weight, found.scatter.ravel().round(3)
    (array([1., 1.]), array([0.005, 0.005]))
    """
    if not _compiled(rows):
        return full_pass_numpy(rows, weight, levels, means, roots)
    return FullPass(*_run(rows, weight, levels, means, roots))


def diagonal_pass(rows: Array, weight: Array | None, levels: Array, means: Array, precisions: Array) -> DiagonalPass:
    """As `full_pass` with diagonal covariances, precisions (K, d) their inverses.

        joint_ik = levels_k − ½ Σ_j precisions_kj (x_ij − means_kj)²

    Cost about 7 n K d flops at most and n K exponentials; memory O(K d).

    >>> rows, means = np.array([[0.0, 1.0], [4.0, 1.0]]), np.array([[0.0, 0.0], [4.0, 0.0]])
    >>> diagonal_pass(rows, None, np.log([0.5, 0.5]), means, np.ones((2, 2))).square.round(3)
    array([[0.005, 1.   ], [0.005, 1.   ]])
    """
    if not _compiled(rows):
        return diagonal_pass_numpy(rows, weight, levels, means, precisions)
    return DiagonalPass(*_run(rows, weight, levels, means, precisions))


def full_passes(rows: Array, weight: Array | None, levels: Array, means: Array, roots: Array, S: int) -> Passes:
    """`full_pass` for S mixtures of K components each: levels (S K,), means (S K, d) and roots (S K, d, d).

    Each has the numbers that it has alone, to the last digit. Cost of S passes, which share the threads.

    >>> rows, means, roots = np.array([[0.0], [4.0]]), np.array([[0.0], [4.0], [2.0], [3.0]]), np.ones((4, 1, 1))
    >>> full_passes(rows, None, np.log(np.full(4, 0.5)), means, roots, 2).weight.round(2)
    array([1.  , 1.  , 1.11, 0.89])
    """
    if not _compiled(rows):
        return full_passes_numpy(rows, weight, levels, means, roots, S)
    return _run_all(rows, weight, levels, means, roots, S)


def diagonal_passes(
    rows: Array, weight: Array | None, levels: Array, means: Array, precisions: Array, S: int
) -> Passes:
    """`diagonal_pass` for S mixtures of K components each, as `full_passes`; precisions (S K, d)."""
    if not _compiled(rows):
        return diagonal_passes_numpy(rows, weight, levels, means, precisions, S)
    return _run_all(rows, weight, levels, means, precisions, S)


def full_log_joint(rows: Array, levels: Array, means: Array, roots: Array) -> Array:
    """levels_k − ½ |roots_k (x_i − means_k)|², (n, K) in float64, for rows (n, d) as in `full_pass`.

    >>> full_log_joint(np.array([[3.0]]), np.zeros(2), np.array([[1.0], [3.0]]), np.ones((2, 1, 1)))
    array([[-2.,  0.]])
    """
    if not _compiled(rows):
        return full_log_joint_numpy(rows, levels, means, roots)
    return _run_joint(rows, levels, means, roots)


def diagonal_log_joint(rows: Array, levels: Array, means: Array, precisions: Array) -> Array:
    """levels_k − ½ Σ_j precisions_kj (x_ij − means_kj)², (n, K) in float64, for rows (n, d).

    >>> diagonal_log_joint(np.array([[3.0]]), np.zeros(2), np.array([[1.0], [3.0]]), np.ones((2, 1)))
    array([[-2.,  0.]])
    """
    if not _compiled(rows):
        return diagonal_log_joint_numpy(rows, levels, means, precisions)
    return _run_joint(rows, levels, means, precisions)


def _compiled(rows: Array) -> bool:
    return kernels is not None and rows.dtype in (np.float64, np.float32)


def _run(
    rows: Array, weight: Array | None, levels: Array, means: Array, shapes: Array
) -> tuple[float, Array, Array, Array]:
    sizes, total, spread = np.empty(len(levels)), np.empty(means.shape), np.empty(shapes.shape)
    w = None if weight is None else _plain(weight)
    kernel = getattr(kernels, f"mixture_pass_{rows.dtype.name}")
    given = (_plain(levels), _plain(means), _plain(shapes))
    loglik = kernel(_walkable(rows), w, *given, sizes, total, spread, _workers(rows, shapes))
    return loglik, sizes, total, spread


def _run_all(rows: Array, weight: Array | None, levels: Array, means: Array, shapes: Array, S: int) -> Passes:
    found = Passes(np.empty(S), np.empty(len(levels)), np.empty(means.shape), np.empty(shapes.shape))
    w = None if weight is None else _plain(weight)
    kernel = getattr(kernels, f"mixture_passes_{rows.dtype.name}")
    kernel(_walkable(rows), w, _plain(levels), _plain(means), _plain(shapes), *found, _workers(rows, shapes))
    return found


def _workers(rows: Array, shapes: Array) -> int:
    """How many threads a kernel may use; none are asked for where it would not use them."""
    return 1 if len(rows) * (shapes.size + 15 * len(shapes)) < FEW_PRODUCTS else thread_count()


def _run_joint(rows: Array, levels: Array, means: Array, shapes: Array) -> Array:
    joint = np.empty((len(rows), len(levels)))
    kernel = getattr(kernels, f"mixture_joint_{rows.dtype.name}")
    kernel(_walkable(rows), _plain(levels), _plain(means), _plain(shapes), joint, thread_count())
    return joint


def _walkable(rows: Array) -> Array:
    return rows if readable(rows) else np.ascontiguousarray(rows)


def _plain(values: Array) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def full_pass_numpy(rows: Array, weight: Array | None, levels: Array, means: Array, roots: Array) -> FullPass:
    """The twin of `full_pass`: a block of rows at a time, a product for each component."""
    K, d = means.shape
    scatter = np.zeros((K, d, d))

    def add(k: int, delta: Array, r: Array) -> None:
        scatter[k] += delta.T @ (delta * r[:, None])

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        loglik, sizes, total = _pass(rows, weight, levels, means, _triangular(roots), add)
    return FullPass(loglik, sizes, total, scatter)


def diagonal_pass_numpy(
    rows: Array, weight: Array | None, levels: Array, means: Array, precisions: Array
) -> DiagonalPass:
    """The twin of `diagonal_pass`, a block of rows at a time."""
    square = np.zeros(means.shape)

    def add(k: int, delta: Array, r: Array) -> None:
        square[k] += r @ (delta * delta)

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        loglik, sizes, total = _pass(rows, weight, levels, means, _weighed(precisions), add)
    return DiagonalPass(loglik, sizes, total, square)


def full_passes_numpy(rows: Array, weight: Array | None, levels: Array, means: Array, roots: Array, S: int) -> Passes:
    """The twin of `full_passes`: one mixture after the other."""
    return _one_by_one(full_pass_numpy, rows, weight, levels, means, roots, S)


def diagonal_passes_numpy(
    rows: Array, weight: Array | None, levels: Array, means: Array, precisions: Array, S: int
) -> Passes:
    """The twin of `diagonal_passes`."""
    return _one_by_one(diagonal_pass_numpy, rows, weight, levels, means, precisions, S)


def _one_by_one(
    one: Callable[..., Any], rows: Array, weight: Array | None, levels: Array, means: Array, shapes: Array, S: int
) -> Passes:
    parts = zip(*(np.split(array, S) for array in (levels, means, shapes)), strict=True)
    loglik, *sums = zip(*(one(rows, weight, *part) for part in parts), strict=True)
    return Passes(np.array(loglik), *map(np.concatenate, sums))


def full_log_joint_numpy(rows: Array, levels: Array, means: Array, roots: Array) -> Array:
    """The twin of `full_log_joint`."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [_joint(block, levels, means, _triangular(roots)) for block in _blocks(rows, means)]
    return np.concatenate(parts) if parts else np.empty((0, len(levels)))


def diagonal_log_joint_numpy(rows: Array, levels: Array, means: Array, precisions: Array) -> Array:
    """The twin of `diagonal_log_joint`."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = [_joint(block, levels, means, _weighed(precisions)) for block in _blocks(rows, means)]
    return np.concatenate(parts) if parts else np.empty((0, len(levels)))


Distance = Callable[[int, Array], Array]
"""From a component k and deviations from its mean (b, d) to squared distances (b,)."""


def _triangular(roots: Array) -> Distance:
    roots = np.tril(roots)

    def distance(k: int, delta: Array) -> Array:
        y = delta @ roots[k].T
        return np.asarray(np.einsum("ij,ij->i", y, y))

    return distance


def _weighed(precisions: Array) -> Distance:
    return lambda k, delta: np.asarray((delta * delta) @ precisions[k])


def _step(means: Array) -> int:
    return max(64, BLOCK_BYTES // (8 * sum(means.shape)))


def _blocks(rows: Array, means: Array) -> Iterator[Array]:
    step = _step(means)
    for start in range(0, len(rows), step):
        yield np.asarray(rows[start : start + step], dtype=np.float64)


def _joint(block: Array, levels: Array, means: Array, distance: Distance) -> Array:
    joint = np.empty((len(block), len(levels)))
    for k, (level, mean) in enumerate(zip(levels, means, strict=True)):
        joint[:, k] = level - np.minimum(0.5 * distance(k, block - mean), FARTHEST)
    return joint


def _pass(
    rows: Array,
    weight: Array | None,
    levels: Array,
    means: Array,
    distance: Distance,
    add: Callable[[int, Array, Array], None],
) -> tuple[float, Array, Array]:
    loglik, sizes, total, step = 0.0, np.zeros(len(levels)), np.zeros(means.shape), _step(means)
    for i, block in enumerate(_blocks(rows, means)):
        w = np.ones(len(block)) if weight is None else weight[i * step : i * step + len(block)]
        if not w.all():
            block, w = block[w != 0], w[w != 0]
        logs, shares = _shares(_joint(block, levels, means, distance))
        loglik += float(w @ logs)
        shares *= w[:, None]
        sizes += shares.sum(axis=0)
        for k, mean in enumerate(means):
            delta = block - mean
            total[k] += shares[:, k] @ delta
            add(k, delta, shares[:, k])
    return loglik, sizes, total


def _shares(joint: Array) -> tuple[Array, Array]:
    """log Σ_k exp(joint_ik) (b,), and exp(joint_ik) over that sum (b, K): zero in a row where all are −inf."""
    top = joint.max(axis=1)
    top = np.where(top == -np.inf, 0.0, top)
    shares = np.exp(joint - top[:, None])
    total = shares.sum(axis=1)
    shares /= np.where(total == 0.0, 1.0, total)[:, None]
    return top + np.log(total), shares
