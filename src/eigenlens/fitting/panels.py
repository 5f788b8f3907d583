"""Features of a block of rows, a panel at a time: summed in threads, in an order that does not depend on them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from eigenlens.arrays import Array, is_tensor, to_numpy
from eigenlens.compiled import each_alone, threads
from eigenlens.data.source import Block, S
from eigenlens.errors import OptionError
from eigenlens.kernels.mercer import Custom, Kernel

__all__ = ["float64_values", "is_single", "summed", "unspanned"]

PANEL_BYTES, PANEL_ROWS = 8 << 20, 1024

WAVE = 8
"""Panels for each thread whose sums may wait to be added."""

WIDE = 2048
"""With more features than this threads share the products of one panel: a panel and its sums for each are too much."""

INDEFINITE = {False: 1e-6, True: 1e-1}
"""A residual below minus this share of k(x, x) is no rounding: the kernel is not positive semidefinite."""


def summed(summarise: Callable[[Block], S], block: Block, m: int, kernel: Kernel) -> S:
    """Σ summarise(panel) over panels of a block whose m features stay small beside the data.

    Each panel is one thread's work from kernel values to sums: BLAS libraries and kernels that take turns in one loop
    spin beside each other. The panels and the order of their sums do not depend on the number of threads.
    """
    quiet = np.errstate(all="ignore")(summarise)  # a thread does not inherit what the caller ignores
    shared = isinstance(kernel, Custom) or is_tensor(block.rows) or m > WIDE
    workers = 1 if shared else threads()
    panels = list(_panels(block, m))
    waves = (panels[start : start + WAVE * workers] for start in range(0, len(panels), WAVE * workers))
    with each_alone(workers) as each:
        total: S = reduce(operator.add, chain.from_iterable(each(quiet, wave) for wave in waves))
    return total


def _panels(block: Block, m: int) -> Iterator[Block]:
    step = max(PANEL_ROWS, m, PANEL_BYTES // (8 * max(1, m, block.rows.shape[1])))
    for start in range(0, block.rows.shape[0], step):
        part = slice(start, start + step)
        yield Block(block.rows[part], None if block.weight is None else block.weight[part])


def unspanned(kernel: Kernel, rows: Any, F: Array) -> tuple[Array, Array]:
    """k(x_i, x_i) (n,) and the part of it that the features F (n, m) leave, which rounding may not make negative."""
    k = float64_values(kernel.diagonal(rows))
    left = k - np.einsum("ij,ij->i", F, F)
    if np.any(left < -INDEFINITE[is_single(rows)] * np.abs(k)):
        raise OptionError(
            f"kernel={kernel.name!r} is not positive semidefinite on these rows: of k(x, x) a projection leaves "
            f"{left.min():.3g}. An approximation has no error bound then; use approximation=None."
        )
    return k, np.maximum(left, 0.0)


def float64_values(K: Any) -> Array:
    """Kernel values of any library as a C-ordered float64 array; a copy only where one is needed."""
    return np.ascontiguousarray(to_numpy(K), dtype=np.float64)


def is_single(rows: Any) -> bool:
    """Whether these rows, of any library, are float32."""
    return "float32" in str(rows.dtype)
