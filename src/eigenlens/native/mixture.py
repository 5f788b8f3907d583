"""One pass of a mixture of Gaussians over its rows: responsibilities, never stored for all rows, and weighted sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from eigenlens.arrays import Array, slices
from eigenlens.native.runtime import kernels, plain, run_kernel
from eigenlens.resources import thread_count

FARTHEST = 1e300
"""The upper limit of half a squared distance, so that even a row beyond the range of numbers has a likelihood."""

BLOCK_BYTES = 1 << 20

FEW_PRODUCTS = 500_000
"""Fewer products than this, an exponential counting as 15, are the work of one thread."""


class Passes(NamedTuple):
    """The sums of one pass over the rows for S mixtures of K components, δ_ik = x_i − μ_k, r_ik sum to w_i over k."""

    loglik: Array  # (S,)         Σ_i w_i log Σ_k exp(joint_ik)
    weight: Array  # (S K,)       Σ_i r_ik
    total: Array  # (S K, d)     Σ_i r_ik δ_ik
    spread: Array  # (S K, d, d)  Σ_i r_ik δ_ik δ_ikᵀ, or of diagonal covariances (S K, d)  Σ_i r_ik δ_ik²

    @classmethod
    def joined(cls, each: Iterable[tuple[Any, ...]]) -> Passes:
        """Return the sums of mixtures, one after the other."""
        loglik, *sums = zip(*each, strict=True)
        return cls(np.array(loglik), *map(np.concatenate, sums))


def mixture_passes(
    rows: Array, weight: Array | None, log_constants: Array, means: Array, shapes: Array, S: int = 1
) -> Passes:
    """Return the E-step and the sums of the M-step of S mixtures of K components each, in one pass over rows (n, d).

        joint_ik = log_constants_k − ½ |roots_k (x_i − means_k)|²,    r_ik = w_i exp(joint_ik) / Σ_l exp(joint_il)

    with log_constants (S K,) = log π_k − ½ log|Σ_k| − d/2 log 2π, −inf for an empty component, means (S K, d) and
    shapes: lower triangular roots (S K, d, d) with rootsᵀ roots = Σ⁻¹, or of diagonal covariances their inverses
    (S K, d). float32 rows are multiplied in float64.

    A row of weight zero is ignored, whatever it holds; one with NaN makes the result NaN. Responsibilities so
    small that they add less than 1e-30 of a row to any sum, in units of the component, count as zero. The result does
    not depend on the number of threads, and each mixture has the same results as alone, to the last digit.

    Cost per mixture about 2 n K d² flops at most, the second half of them only for rows of positive responsibility
    (diagonal: 7 n K d), and n K exponentials; memory O(K d²) (diagonal: O(K d)), nothing of size n.

    >>> rows, log_constants, roots = np.array([[0.0], [4.0]]), np.log([0.5, 0.5]), np.ones((2, 1, 1))
    >>> found = mixture_passes(rows, None, log_constants, rows, roots)
    >>> found.weight, found.spread.ravel().round(3)
    (array([1., 1.]), array([0.005, 0.005]))
    >>> means, precisions = np.array([[0.0], [4.0], [2.0], [3.0]]), np.ones((4, 1))
    >>> mixture_passes(rows, None, np.log(np.full(4, 0.5)), means, precisions, 2).weight.round(2)
    array([1.  , 1.  , 1.11, 0.89])
    """
    if not _compiled(rows):
        return mixture_passes_numpy(rows, weight, log_constants, means, shapes, S)
    found = Passes(np.empty(S), np.empty(len(log_constants)), np.empty(means.shape), np.empty(shapes.shape))
    # No threads are asked for where the kernel would not use them.
    threads = 1 if len(rows) * (shapes.size + 15 * len(shapes)) < FEW_PRODUCTS else thread_count()
    given = map(plain, (weight, log_constants, means, shapes))
    run_kernel("mixture_passes", rows, *given, *found, threads=threads)
    return found


def mixture_log_joint(rows: Array, log_constants: Array, means: Array, shapes: Array) -> Array:
    """Return joint_ik of `mixture_passes` (n, K) in float64, for rows (n, d) and shapes (K, d, d) or (K, d).

    >>> mixture_log_joint(np.array([[3.0]]), np.zeros(2), np.array([[1.0], [3.0]]), np.ones((2, 1, 1)))
    array([[-2.,  0.]])
    """
    if not _compiled(rows):
        return mixture_log_joint_numpy(rows, log_constants, means, shapes)
    joint = np.empty((len(rows), len(log_constants)))
    run_kernel("mixture_joint", rows, *map(plain, (log_constants, means, shapes)), joint)
    return joint


def _compiled(rows: Array) -> bool:
    return kernels is not None and rows.dtype in (np.float64, np.float32)


def mixture_passes_numpy(
    rows: Array, weight: Array | None, log_constants: Array, means: Array, shapes: Array, S: int = 1
) -> Passes:
    """The twin of `mixture_passes`: one mixture after the other, one block of rows at a time."""
    parts = zip(*(np.split(array, S) for array in (log_constants, means, shapes)), strict=True)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return Passes.joined(_pass(rows, weight, *part) for part in parts)


def mixture_log_joint_numpy(rows: Array, log_constants: Array, means: Array, shapes: Array) -> Array:
    """The twin of `mixture_log_joint`: one block of rows at a time."""
    joint = np.empty((len(rows), len(log_constants)))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in _blocks(len(rows), means):
            joint[part] = _joint(np.asarray(rows[part], dtype=np.float64), log_constants, means, shapes)
    return joint


def _blocks(n: int, means: Array) -> Iterator[slice]:
    """Return ranges of rows that are worked on together."""
    return slices(n, max(64, BLOCK_BYTES // (8 * sum(means.shape))))


def _joint(block: Array, log_constants: Array, means: Array, shapes: Array) -> Array:
    joint = np.empty((len(block), len(log_constants)))
    for k, (log_constant, mean) in enumerate(zip(log_constants, means, strict=True)):
        joint[:, k] = log_constant - np.minimum(0.5 * _squared_distances(block - mean, shapes[k]), FARTHEST)
    return joint


def _squared_distances(delta: Array, shape: Array) -> Array:
    """Return |R x|² (b,) of deviations (b, d), with the lower triangle R of a matrix (d, d), or Σ_j p_j x_j²."""
    if shape.ndim == 1:
        return np.asarray((delta * delta) @ shape)
    y = delta @ np.tril(shape).T
    return np.asarray(np.einsum("ij,ij->i", y, y))


def _pass(
    rows: Array, weight: Array | None, log_constants: Array, means: Array, shapes: Array
) -> tuple[float, Array, Array, Array]:
    loglik, sizes, total, spread = 0.0, np.zeros(len(log_constants)), np.zeros(means.shape), np.zeros(shapes.shape)
    for part in _blocks(len(rows), means):
        block = np.asarray(rows[part], dtype=np.float64)
        w = np.ones(len(block)) if weight is None else weight[part]
        if not w.all():
            block, w = block[w != 0], w[w != 0]
        logs, shares = log_sum_and_shares(_joint(block, log_constants, means, shapes))
        loglik += float(w @ logs)
        shares *= w[:, None]
        sizes += shares.sum(axis=0)
        for k, mean in enumerate(means):
            delta, r = block - mean, shares[:, k]
            total[k] += r @ delta
            spread[k] += r @ (delta * delta) if shapes.ndim == 2 else delta.T @ (delta * r[:, None])
    return loglik, sizes, total, spread


def log_sum_and_shares(joint: Array) -> tuple[Array, Array]:
    """Return log Σ_k exp(joint) over axis 1, and exp(joint) over that sum: zero where all are −inf."""
    top = joint.max(axis=1, keepdims=True)
    top = np.where(top == -np.inf, 0.0, top)
    shares = np.exp(joint - top)
    total = shares.sum(axis=1, keepdims=True)
    shares /= np.where(total == 0.0, 1.0, total)
    return (top + np.log(total))[:, 0], shares
