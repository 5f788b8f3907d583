"""The sum and the scatter of the rows of a tensor about a shift."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from eigenlens.arrays import Array, namespace, slices, to_numpy
from eigenlens.gpu.runtime import ROOMY, device_memory, on_device, runs_triton, shared_memory

FLOAT32_RUN, FLOAT64_RUN = 4096, 1 << 16
"""Rows of a tensor multiplied at a time: float32 sums over longer runs would lose digits, float64 ones do not."""

DEVICE_ENTRIES = 1 << 25
"""Entries of rows on a device that are summed at a time: far more than fill it, far fewer than fill its memory."""

TILE, PART_ROWS, CHUNK_BYTES = 128, 8192, 1 << 29
"""Columns per tile of the scatter, rows whose float32 sums are added in float64, and the bytes of halves of rows that
are made at a time."""


def tensor_moments(rows: Any, weight: Array | None, shift: Array) -> tuple[Array, Array]:
    """Return the sum (d,) and the scatter (d, d) of rows (n, d) about a shift c (d,), in float64.

        sum = Σ w_i (x_i − c),    scatter = Σ w_i (x_i − c)(x_i − c)ᵀ

    Cost n d² flops. On a CUDA device float32 rows are multiplied by tensor cores as sums of two 16-bit numbers; the
    relative error of a variance is about 2e-7.
    """
    if runs_triton(rows):
        needed = 3 * CHUNK_BYTES + 16 * rows.shape[1] ** 2
        with device_memory(f"a covariance matrix of {rows.shape[1]} columns", needed, "give the rows in smaller parts"):
            return moments_by_halves(rows, weight, shift)
    return tensor_moments_plain(rows, weight, shift)


def tensor_moments_plain(rows: Any, weight: Array | None, shift: Array) -> tuple[Array, Array]:
    """The twin of `moments_by_halves`, in the functions of any library: float32 runs, added in float64."""
    xp, total, scatter = namespace(rows), 0.0, 0.0
    step = FLOAT32_RUN if rows.dtype == xp.float32 else FLOAT64_RUN
    for w, piece in shifted_pieces(rows, weight, shift, step):
        total = total + xp.sum(w * piece, axis=0)
        factor = xp.astype(xp.sqrt(w) * piece, rows.dtype)
        scatter = scatter + xp.astype(xp.matmul(factor.T, factor), xp.float64)
    return to_numpy(total), to_numpy(scatter)


def tensor_squares(rows: Any, weight: Array | None, shift: Array) -> tuple[Array, Array]:
    """Return Σ w (x − c) and Σ w (x − c)² of the columns (d,) of rows (n, d) about a shift c (d,), in float64."""
    xp, total, square = namespace(rows), 0.0, 0.0
    step = FLOAT32_RUN if rows.dtype == xp.float32 else FLOAT64_RUN
    step = max(step, DEVICE_ENTRIES // max(1, rows.shape[1])) if on_device(rows) else step
    for w, piece in shifted_pieces(rows, weight, shift, step):
        total, square = total + xp.sum(w * piece, axis=0), square + xp.sum(w * piece * piece, axis=0)
    return to_numpy(total), to_numpy(square)


def shifted_pieces(rows: Any, weight: Array | None, shift: Array, step: int) -> Iterator[tuple[Any, Any]]:
    """Yield weights (b, 1) and rows − shift (b, d) of runs of `step` rows, in float64 on their device."""
    xp = namespace(rows)
    centre = xp.asarray(shift, dtype=xp.float64, device=rows.device)
    for run in slices(rows.shape[0], step):
        part = xp.astype(rows[run, :], xp.float64) - centre
        w = np.ones(part.shape[0]) if weight is None else weight[run]
        yield xp.asarray(w[:, None], dtype=xp.float64, device=rows.device), part


def moments_by_halves(rows: Any, weight: Array | None, shift: Array) -> tuple[Array, Array]:
    """Return the sums of `tensor_moments` of float32 rows on a CUDA device, from products of 16-bit halves."""
    import torch

    from eigenlens.gpu.halves import power_of_two

    centre = torch.as_tensor(shift, dtype=torch.float32, device=rows.device)
    root = None if weight is None else torch.as_tensor(np.sqrt(weight), dtype=torch.float32, device=rows.device)
    scale = power_of_two(_bounds(rows, centre, root))
    total = torch.zeros(rows.shape[1], dtype=torch.float64, device=rows.device)
    scatter = torch.zeros((rows.shape[1],) * 2, dtype=torch.float64, device=rows.device)
    step = max(1, CHUNK_BYTES // (4 * _padded(rows.shape[1], TILE) * PART_ROWS)) * PART_ROWS
    with torch.cuda.device(rows.device):
        for part in slices(rows.shape[0], step):
            found = _chunk_sums(rows[part], centre, scale.float(), None if root is None else root[part])
            total += found[0]
            scatter += found[1]
    scatter = torch.triu(scatter) + torch.triu(scatter, 1).T
    return to_numpy(total), to_numpy(scatter / scale / scale[:, None])


def _bounds(rows: Any, centre: Any, root: Any) -> Any:
    """Return the largest |x − c| √w (d,) of each column, of rows of positive weight."""
    import torch

    low, high = torch.aminmax(rows, dim=0)
    bound = torch.maximum((low - centre).abs(), (high - centre).abs())
    if root is None:
        return bound
    if not bool(torch.isfinite(bound).all()):  # perhaps in rows of weight 0, which may hold anything
        low, high = torch.aminmax(torch.where(root[:, None] > 0.0, rows, centre), dim=0)
        bound = torch.maximum((low - centre).abs(), (high - centre).abs())
    return bound * root.max()


def _chunk_sums(rows: Any, centre: Any, scale: Any, root: Any) -> tuple[Any, Any]:
    """Return the sum and the scaled scatter (upper tiles) of a chunk of rows, in float64 on the device."""
    import torch

    from eigenlens.gpu.triton_kernels import multiply_halves, split_rows

    n, d = rows.shape
    width, parts = _padded(d, TILE), -(-n // PART_ROWS)
    high, low = (torch.empty((parts * PART_ROWS, width), dtype=torch.float16, device=rows.device) for _ in range(2))
    sums = torch.empty((parts * PART_ROWS // TILE, width), device=rows.device)
    split_rows[(len(sums), width // TILE)](
        rows, centre, scale, centre if root is None else root, high, low, sums, n, d, *rows.stride(), width,
        WEIGHTED=root is not None, ROWS=TILE, COLUMNS=TILE, num_warps=8,
    )  # fmt: skip
    i, j = torch.triu_indices(width // TILE, width // TILE, device=rows.device, dtype=torch.int32)
    out = torch.empty((parts, width, width), device=rows.device)
    multiply_halves[(i.numel(), parts)](
        high, low, out, i.contiguous(), j.contiguous(), width, PART_ROWS, SIDE=TILE, DEPTH=64,
        num_warps=8, num_stages=3 if shared_memory(rows) >= ROOMY else 1,
    )  # fmt: skip
    return sums.sum(dim=0, dtype=torch.float64)[:d], out.sum(dim=0, dtype=torch.float64)[:d, :d]


def _padded(n: int, step: int) -> int:
    return -(-n // step) * step
