"""Incomplete rows of a mixture with full covariances: the pass of EM, densities, and conditional expectations.

A pattern observes columns o, and m are missing. For component k it needs a factor L of C_oo: z = L⁻¹ (x_o − mu_o) has
the squared distance |z|², C_mo L⁻ᵀ z is the expectation of x_m − mu_m, and C_mm − C_mo C_oo⁻¹ C_om is its covariance.
Rows with the same pattern of missing values share the factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from eigenlens.arrays import Array
from eigenlens.native.mixture import Passes, log_sum_and_shares
from eigenlens.native.runtime import kernels, plain, run_kernel
from eigenlens.resources import one_thread

WIDEST = 256
"""The largest number of columns that the kernels take."""

BATCH = 1 << 19
"""The number of entries of matrices that the twins work on together."""

LOG_2PI = float(np.log(2.0 * np.pi))


def incomplete_passes(
    rows: Array, weight: Array | None, log_weights: Array, means: Array, covariances: Array, S: int
) -> Passes:
    """Return the E-step and the sums of the M-step of S mixtures over rows (n, d) in which NaN is a missing value.

    log_weights (S K,), means (S K, d) and covariances (S K, d, d) are those of one mixture after the other. With δ_ik
    the deviation of row i from mean k, expected where entries are missing, and V_ik their conditional covariance,

        weight_k = Σ r_ik,    total_k = Σ r_ik δ_ik,    spread_k = Σ r_ik (δ_ik δ_ikᵀ + V_ik).

    Rows of weight 0 and rows without entries are ignored. The result does not depend on the number of threads.
    Cost about d³ / 2 products per pattern and component, and d² per row.

    >>> C = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    >>> found = incomplete_passes(np.array([[4.0, np.nan]]), None, np.zeros(1), np.zeros((1, 2)), C, 1)
    >>> found.total, found.spread[0]
    (array([[4., 2.]]), array([[16. ,  8. ], [ 8. ,  5.5]]))
    """
    if not _compiled(rows):
        return incomplete_passes_numpy(rows, weight, log_weights, means, covariances, S)
    found = Passes(np.empty(S), np.empty(len(means)), np.empty(means.shape), np.empty(covariances.shape))
    run_kernel("mixture_incomplete", rows, *map(plain, (weight, log_weights, means, covariances)), *found)
    return found


def incomplete_log_joint(rows: Array, log_weights: Array, means: Array, covariances: Array) -> Array:
    """Return ln pi_k + ln N(x_o | mu_ko, C_koo) (n, K) of the observed entries of rows (n, d); ln pi_k without any.

    >>> incomplete_log_joint(np.array([[np.nan, 2.0]]), np.zeros(1), np.zeros((1, 2)), np.eye(2)[None]).round(4)
    array([[-2.9189]])
    """
    if not _compiled(rows):
        return incomplete_log_joint_numpy(rows, log_weights, means, covariances)
    joint = np.empty((len(rows), len(means)))
    run_kernel("mixture_incomplete_rows", rows, *map(plain, (log_weights, means, covariances)), joint, None, None)
    return joint


def incomplete_filled(rows: Array, log_weights: Array, means: Array, covariances: Array) -> tuple[Array, Array]:
    """Return rows (n, d) with E[x_m | x_o] in place of NaN, and their standard deviations (n, d), 0 where observed.

    >>> C = np.array([[[2.0, 1.0], [1.0, 2.0]]])
    >>> incomplete_filled(np.array([[4.0, np.nan]]), np.zeros(1), np.zeros((1, 2)), C)
    (array([[4., 2.]]), array([[0.    , 1.2247]]))
    """
    if not _compiled(rows):
        return incomplete_filled_numpy(rows, log_weights, means, covariances)
    filled, deviation = np.array(rows, dtype=np.float64, order="C"), np.zeros(rows.shape)
    run_kernel("mixture_incomplete_rows", rows, *map(plain, (log_weights, means, covariances)), None, filled, deviation)
    return filled, deviation


def _compiled(rows: Array) -> bool:
    return kernels is not None and rows.dtype in (np.float64, np.float32) and 0 < rows.shape[1] <= WIDEST


# ---- NumPy ------------------------------------------------------------------------------------------------


class _Read(NamedTuple):
    """The rows of u patterns with c rows each.

    which: rows (u, c). seen: observed columns (u, d). joint: (u, K, c). delta: expected deviations (u, K, c, d).
    left: conditional covariances (u, K, d, d), 0 where observed.
    """

    which: Array
    seen: Array
    joint: Array
    delta: Array
    left: Array


def _patterns(X: Array, log_weights: Array, means: Array, covariances: Array) -> Iterator[_Read]:
    """Yield patterns with equally many rows, some at a time.

    C_oo is padded to a matrix (d, d) that is the identity where columns are missing: its inverse and determinant are
    those of C_oo, and all patterns have the same shape.
    """
    for which, seen in _batches(X, len(means)):
        O = seen.astype(np.float64)
        rows, missing = O[:, None, :, None], 1.0 - O
        some = covariances * rows
        with one_thread():
            L = np.linalg.cholesky(some * O[:, None, None, :] + missing[:, None, :, None] * np.eye(X.shape[1]))
            root = np.tril(np.linalg.inv(L))
        half = root @ some
        left = (covariances - np.swapaxes(half, 2, 3) @ half) * (missing[:, None, :, None] * missing[:, None, None, :])
        log_norm = np.log(np.einsum("ukii->uki", L)).sum(axis=2) + 0.5 * LOG_2PI * O.sum(axis=1)[:, None]
        D = np.where(seen[:, None, None, :], X[which][:, None] - means[:, None, :], 0.0)
        z = D @ np.swapaxes(root, 2, 3)
        joint = (log_weights - log_norm)[:, :, None] - 0.5 * np.einsum("ukcd,ukcd->ukc", z, z)
        yield _Read(which, seen, joint, np.where(seen[:, None, None, :], D, z @ half), left)


def _batches(X: Array, K: int) -> Iterator[tuple[Array, Array]]:
    """Yield row numbers (u, c), and the observed columns (u, d) that they share."""
    if not len(X):
        return
    seen, which = np.unique(~np.isnan(X), axis=0, return_inverse=True)
    which = which.reshape(-1)
    order, counts, d = np.argsort(which, kind="stable"), np.bincount(which), X.shape[1]
    first = np.cumsum(counts) - counts
    for c in np.unique(counts):
        alike = np.flatnonzero(counts == c)
        longest = max(1, BATCH // (K * d))  # rows of one pattern that are worked on together
        step = max(1, BATCH // (K * d * max(d, min(c, longest))))
        for start in range(0, len(alike), step):
            some = alike[start : start + step]
            rows = order[first[some][:, None] + np.arange(c)]
            for low in range(0, c, longest):
                yield rows[:, low : low + longest], seen[some]


def incomplete_passes_numpy(
    rows: Array, weight: Array | None, log_weights: Array, means: Array, covariances: Array, S: int
) -> Passes:
    """The twin of `incomplete_passes`: one mixture after the other."""
    w = np.ones(len(rows)) if weight is None else weight
    keep = (w > 0.0) & ~np.isnan(rows).all(axis=1)
    X, w = np.asarray(rows[keep], dtype=np.float64), w[keep]
    parts = zip(*(np.split(array, S) for array in (log_weights, means, covariances)), strict=True)
    return Passes.joined(_pass(X, w, *part) for part in parts)


def _pass(X: Array, w: Array, log_weights: Array, means: Array, C: Array) -> tuple[float, Array, Array, Array]:
    loglik, sizes, total, spread = 0.0, np.zeros(len(means)), np.zeros(means.shape), np.zeros(C.shape)
    for some in _patterns(X, log_weights, means, C):
        logs, r = log_sum_and_shares(some.joint)
        loglik += float(np.sum(w[some.which] * logs))
        r = r * w[some.which][:, None]
        D, R = (np.moveaxis(a, 1, 0).reshape(len(means), -1, *a.shape[3:]) for a in (some.delta, r))
        weighted = D * R[:, :, None]
        sizes += R.sum(axis=1)
        total += weighted.sum(axis=1)
        spread += np.swapaxes(weighted, 1, 2) @ D + np.einsum("uk,ukij->kij", r.sum(axis=2), some.left)
    return loglik, sizes, total, spread


def incomplete_log_joint_numpy(rows: Array, log_weights: Array, means: Array, covariances: Array) -> Array:
    """The twin of `incomplete_log_joint`."""
    X, joint = np.asarray(rows, dtype=np.float64), np.empty((len(rows), len(means)))
    for some in _patterns(X, log_weights, means, covariances):
        joint[some.which] = np.swapaxes(some.joint, 1, 2)
    return joint


def incomplete_filled_numpy(rows: Array, log_weights: Array, means: Array, covariances: Array) -> tuple[Array, Array]:
    """The twin of `incomplete_filled`."""
    X = np.asarray(rows, dtype=np.float64)
    filled, deviation = X.copy(), np.zeros(X.shape)
    for some in _patterns(X, log_weights, means, covariances):
        r, each, missing = log_sum_and_shares(some.joint)[1], means[:, None, :] + some.delta, ~some.seen[:, None, :]
        mean = np.einsum("ukc,ukcd->ucd", r, each)
        left = np.maximum(np.einsum("ukii->uki", some.left), 0.0)[:, :, None, :]
        spread = np.einsum("ukc,ukcd->ucd", r, left + (each - mean[:, None]) ** 2)
        filled[some.which] = np.where(missing, mean, X[some.which])
        deviation[some.which] = np.where(missing, np.sqrt(spread), 0.0)
    return filled, deviation
