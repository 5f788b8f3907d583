"""Sums over panels of rows, computed in threads and added in an order that does not depend on their number."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from eigenlens.arrays import Array, Like, is_sparse, is_tensor, namespace, slices, to_numpy
from eigenlens.data.source import Block, Progress, S, Source, accumulate
from eigenlens.errors import DataError, OptionError
from eigenlens.gpu.runtime import on_device
from eigenlens.kernel_pca.kernels.base import Kernel
from eigenlens.kernel_pca.kernels.custom import Custom
from eigenlens.resources import single_threaded_map, thread_count
from eigenlens.stats.moments import ColumnMoments

FEATURE_PANEL_BYTES, MIN_PANEL_ROWS = 8 << 20, 1024
"""The size of a panel: its features stay in cache, and its products are large enough for BLAS."""

DEVICE_PANEL_BYTES = 1 << 30
"""The size of a panel on a device, whose launches cost more than its cache saves."""

PANELS_PER_THREAD = 8
"""Panels per thread whose sums may wait to be added."""

MAX_THREADED_FEATURES = 2048
"""With more features than this, threads share the products of one panel: one panel with its sums per thread would take
too much memory."""

INDEFINITE_RESIDUAL = 1e-6
"""A residual below minus this share of k(x, x) is not rounding: the kernel is not positive semidefinite."""


def sum_panels(summarise: Callable[[Block], S], block: Block, m: int, kernel: Kernel) -> S:
    """Return Σ summarise(panel) over panels of a block whose m features stay small beside the data.

    Each panel is one thread's work from kernel values to sums: thread pools of BLAS and of kernels that take turns in
    one loop would spin beside each other. The panels and the order of their sums do not depend on the number of
    threads.
    """
    quiet = np.errstate(all="ignore")(summarise)  # a thread does not inherit the error state of its caller
    shared = isinstance(kernel, Custom) or is_tensor(block.rows) or m > MAX_THREADED_FEATURES
    workers = 1 if shared else thread_count()
    panels = list(_panels(block, m))
    waves = (panels[wave] for wave in slices(len(panels), PANELS_PER_THREAD * workers))
    with single_threaded_map(workers) as each:
        total: S = reduce(operator.add, chain.from_iterable(each(quiet, wave) for wave in waves))
    return total


def _panels(block: Block, m: int) -> Iterator[Block]:
    size = DEVICE_PANEL_BYTES if on_device(block.rows) else FEATURE_PANEL_BYTES
    step = max(MIN_PANEL_ROWS, m, size // (8 * max(1, m, block.rows.shape[1])))
    for part in slices(block.rows.shape[0], step):
        yield Block(block.rows[part, :], None if block.weight is None else block.weight[part])


def residual_diagonal(kernel: Kernel, rows: Any, F: Any) -> tuple[Array, Array]:
    """Return k(x_i, x_i) (n,) of float64 rows, and the part of it that the features F (n, m) leave, never negative."""
    k = float64_values(kernel.diagonal(rows))
    left = k - (to_numpy(namespace(F).sum(F * F, axis=1)) if is_tensor(F) else np.einsum("ij,ij->i", F, F))
    if not kernel.definite and np.any(left < -INDEFINITE_RESIDUAL * np.abs(k)):
        i = int(np.argmin(left))
        raise OptionError(
            f"is not positive semidefinite on these rows: of k(x, x) = {k[i]:.3g} a projection leaves {left[i]:.3g}, "
            "which is below zero, so an approximation has no error bound",
            argument="kernel",
            value=kernel.name,
            fix="use {approximation}; if the kernel is a function that returns float32, let it return float64",
            settings={"approximation": None},
        )
    return k, np.maximum(left, 0.0)


def float64_values(K: Any) -> Array:
    """Return kernel values of any library as a C-ordered float64 array; a copy only where one is needed."""
    return np.ascontiguousarray(to_numpy(K), dtype=np.float64)


def to_float64_rows(rows: Any, origin: Array | None = None) -> Any:
    """Return rows of any kind in float64, less the origin (d,); a copy only where one is needed.

    Features divide kernel values by small pivots: kernel values need float64 there, rows may be float32.

    >>> to_float64_rows(np.array([[3.0]], dtype=np.float32), np.array([1.0]))
    array([[2.]])
    """
    if is_tensor(rows):
        xp = namespace(rows)
        return subtract_origin(xp.astype(rows, xp.float64, copy=False), origin)
    return subtract_origin(rows.astype(np.float64, copy=False), origin)


def subtract_origin(rows: Any, origin: Array | None) -> Any:
    """Return rows less the origin (d,), in their dtype."""
    return rows if origin is None else rows - Like(rows)(origin)


def dense_column_means(source: Source, progress: Progress | None = None) -> Array | None:
    """Return the weighted mean (d,), rounded to the dtype of the rows, in one pass; None for sparse rows.

    Where phi(x) = x a projection about the mean keeps the digits of the variance. Sparse rows stay sparse.
    """
    with np.errstate(all="ignore"):  # values that are not finite are found and explained by the next pass
        mean = accumulate(source, _columns, progress, "column means").mean
    return mean.astype(source.dtype).astype(np.float64) if np.any(mean) else None


def _columns(block: Block) -> ColumnMoments:
    if is_sparse(block.rows):
        none = np.zeros(block.rows.shape[1])
        return ColumnMoments(0.0, none, none)
    return ColumnMoments.of(block)


def input_directions(rows: Any, A: Array) -> Array:
    """Return Xᵀ A (d, k) in float64, computed on the device of the rows."""
    if not is_tensor(rows):
        return np.asarray(rows.T @ A)
    xp = namespace(rows)
    return to_numpy(xp.matmul(xp.astype(rows, xp.float64).T, xp.asarray(A, device=rows.device)))


def no_variance_error() -> DataError:
    """Return the error for rows that the kernel cannot tell apart."""
    return DataError(
        "X has no variance in feature space: all rows are equal to the kernel", fix="give rows that differ"
    )
