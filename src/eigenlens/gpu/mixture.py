"""One pass of a mixture of Gaussians over rows on a device: responsibilities, never stored for all rows, and sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, slices, to_numpy

PANEL_ENTRIES = 1 << 27
"""Entries of whitened rows, one copy per component, that are made at a time: 1 GB of float64."""

RUN_ROWS = 2048
"""Rows whose outer products are summed by one matrix product: many such products fill a device."""

FARTHEST_DISTANCE = 1e300
"""The upper limit of half a squared distance, so that even a row beyond the range of numbers has a likelihood."""

Sums = tuple[float, Array, Array, Array]


def tensor_mixture_pass(rows: Any, weight: Array | None, log_constants: Array, means: Array, shapes: Array) -> Sums:
    """Return loglik, weight (K,), total (K, d) and spread (K, d, d) or (K, d) of rows (n, d), as `mixture_passes` does.

    They are summed in float64, whatever the rows are. Of full covariances the sums are those of whitened rows
    y = R (x − mean), and are brought back at the end: S = R⁻¹ (Σ r y yᵀ) R⁻ᵀ. Cost 4 n K d² flops.
    """
    xp, K = namespace(rows), len(log_constants)
    centre = means.mean(axis=0)
    full = shapes.ndim == 3
    given = [_tensor(a, rows) for a in (log_constants[:, None], means - centre, shapes, centre)]
    whiten = _whitened if full else _deviations
    found: tuple[Any, ...] = (0.0, 0.0, 0.0, 0.0)
    for x, w in _panels(rows, weight, given[3], K):
        Y, squares = whiten(x, given[1], given[2])
        joint = given[0] - xp.clip(0.5 * squares, None, FARTHEST_DISTANCE)
        logs, r = _shares(joint)
        r = r * w
        loglik = xp.sum(xp.where(w > 0.0, w * logs, xp.zeros_like(logs)))
        sums = (loglik, xp.sum(r, axis=1), xp.matmul(r[:, None, :], Y)[:, 0, :], _spread(Y, r, full))
        found = tuple(a + b for a, b in zip(found, sums, strict=True))
    loglik, sizes, total, spread = (to_numpy(part) for part in found)
    if full:
        inverse = np.linalg.inv(np.tril(shapes))
        total = (inverse @ total[:, :, None])[:, :, 0]
        spread = inverse @ spread @ inverse.transpose(0, 2, 1)
    return float(loglik), sizes, total, spread


def _tensor(a: Array, rows: Any) -> Any:
    xp = namespace(rows)
    return xp.asarray(np.array(a), dtype=xp.float64, device=rows.device)


def _panels(rows: Any, weight: Array | None, centre: Any, K: int) -> Iterator[tuple[Any, Any]]:
    """Yield rows − centre (b, d) and weights (b,) in float64; rows of weight 0 become the centre."""
    xp, d = namespace(rows), rows.shape[1]
    step = max(RUN_ROWS, PANEL_ENTRIES // (K * d) // RUN_ROWS * RUN_ROWS)
    for part in slices(rows.shape[0], step):
        x = xp.astype(rows[part, :], xp.float64) - centre
        if weight is None:
            yield x, xp.ones((x.shape[0],), dtype=xp.float64, device=rows.device)
            continue
        w = _tensor(weight[part], rows)
        yield xp.where((w > 0.0)[:, None], x, xp.zeros_like(x)), w


def _whitened(x: Any, means: Any, roots: Any) -> tuple[Any, Any]:
    """Return R_k (x_i − mean_k) (K, b, d) and their squared lengths (K, b)."""
    xp = namespace(x)
    turned = xp.matrix_transpose(xp.tril(roots))
    both = xp.concat([turned, -xp.matmul(means[:, None, :], turned)], axis=1)
    with_one = xp.concat([x, xp.ones((x.shape[0], 1), dtype=x.dtype, device=x.device)], axis=1)
    Y = xp.matmul(with_one[None, :, :], both)  # a difference of two products would cost another pass over Y
    return Y, xp.linalg.vector_norm(Y, axis=2) ** 2


def _deviations(x: Any, means: Any, inverses: Any) -> tuple[Any, Any]:
    """Return x_i − mean_k (K, b, d), and their squares over the variances, summed (K, b)."""
    xp = namespace(x)
    Y = x[None, :, :] - means[:, None, :]
    return Y, xp.matmul(Y * Y, inverses[:, :, None])[:, :, 0]


def _shares(joint: Any) -> tuple[Any, Any]:
    """Return log Σ_k exp(joint) (b,) of joint (K, b), and exp(joint) over that sum: zero where all are −inf."""
    xp = namespace(joint)
    top = xp.max(joint, axis=0)
    top = xp.where(top == -xp.inf, xp.zeros_like(top), top)
    r = xp.exp(joint - top)
    total = xp.sum(r, axis=0)
    return top + xp.log(total), r / xp.where(total == 0.0, xp.ones_like(total), total)


def _spread(Y: Any, r: Any, full: bool) -> Any:
    """Return Σ_i r_ik y_ik y_ikᵀ (K, d, d), or Σ_i r_ik y_ik² (K, d); Y is overwritten."""
    xp, (K, b, d) = namespace(Y), Y.shape
    if not full:
        return xp.matmul(r[:, None, :], Y * Y)[:, 0, :]
    Y *= xp.sqrt(r)[:, :, None]
    even = b // RUN_ROWS * RUN_ROWS
    rest = Y[:, even:, :]
    spread = xp.matmul(xp.matrix_transpose(rest), rest)
    if even:
        runs = xp.reshape(Y[:, :even, :], (K * (even // RUN_ROWS), RUN_ROWS, d))
        spread = spread + xp.sum(xp.reshape(xp.matmul(xp.matrix_transpose(runs), runs), (K, -1, d, d)), axis=1)
    return spread
