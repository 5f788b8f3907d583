"""The memory that an exact fit needs, and the solver that follows from it and from what is available."""

from __future__ import annotations

from typing import NamedTuple

from eigenlens.errors import ResourceError
from eigenlens.kernel_pca.device_gram import KRYLOV_BLOCK, SPARE_COLUMNS, device_bytes
from eigenlens.kernel_pca.kernels.gram import GRAM_PANEL_ROWS, tile_side
from eigenlens.resources import thread_count

LANCZOS_BLOCK, TILED_LANCZOS_BLOCK = 8, 24
"""Columns per Lanczos step with the Gram matrix in memory, and with tiles recomputed in every pass: those cost more, so
that larger steps with fewer passes pay off."""

DENSE_ROWS = 500
"""Up to this number of rows all eigenvalues cost no more than an iteration for a few."""

DENSE_ROWS_PER_COMPONENT = 8
"""With more than one component per this many rows all eigenpairs are computed at once."""


class MemoryNeeded(NamedTuple):
    """Bytes that a fit needs beside its rows: for all eigenvalues, for an iteration on K, and for one without K."""

    dense: int
    matrix: int
    matrix_free: int


class EigenRoute(NamedTuple):
    """How the eigenpairs of a Gram matrix are computed.

    Attributes:
        solver: "dense", "lanczos", "randomized", or "krylov" on a device.
        matrix_free: whether the Gram matrix is never stored.
        reason: why.
        device: whether the operator and its vectors stay on the device of the rows.
    """

    solver: str
    matrix_free: bool
    reason: str
    device: bool = False


def memory_needed(n: int, itemsize: int, k: int) -> MemoryNeeded:
    """Estimate the memory for n rows, a Gram matrix of 4 or 8 bytes per entry, and k components.

    | route       | bytes                                                                      |
    |-------------|----------------------------------------------------------------------------|
    | dense       | K, A in float64 and three copies of it, k vectors (n from k = n/6 on)      |
    | matrix      | K, a basis of k + 128 columns and as much for its restart                  |
    | matrix_free | a basis of k + 384 columns and as much for its restart                     |

    and a few tiles each. Half of K is kept, on and above its diagonal.

    >>> [round(bytes / 1e9) for bytes in memory_needed(20_000, 4, 200)]
    [14, 1, 0]
    """
    tiles = 8 * thread_count() * (2 * tile_side(n) ** 2 + GRAM_PANEL_ROWS * n)
    K, square = gram_bytes(n, itemsize), 8 * n * n
    basis, large = (2 * 8 * n * min(n, k + 16 * block) for block in (LANCZOS_BLOCK, TILED_LANCZOS_BLOCK))
    vectors = 8 * n * (k if 6 * k <= n else n + k)
    dense = K + 4 * square + vectors + tiles
    return MemoryNeeded(dense, K + basis + tiles, large + tiles)


def gram_bytes(n: int, itemsize: int) -> int:
    """Return the bytes of the stored half of a Gram matrix (n, n), with whole tiles on the diagonal."""
    return n * (n + tile_side(n)) // 2 * itemsize


def choose_eigen_route(
    n: int,
    k: int | None,
    itemsize: int,
    budget: int,
    solver: str = "auto",
    stored: bool = False,
    device: bool = False,
) -> EigenRoute:
    """Choose the fastest exact route that fits the memory: the first line that applies.

    | if                                                      | route                                             |
    |---------------------------------------------------------|---------------------------------------------------|
    | a solver is given                                       | that one; iterations with K if it fits, else not  |
    | n ≤ 500, or all components, or k > n/8                  | dense                                             |
    | the rows are on a device                                | krylov there: fused with the kernel, or on K      |
    | K and a basis fit the budget, or K is given             | lanczos on K                                      |
    | a basis fits                                            | lanczos, tiles of K recomputed in every pass      |

    If nothing fits, the error has the memory needed and names the approximation. k is None for all components.

    >>> choose_eigen_route(20_000, 20, 8, 8 << 30).reason
    'k=20 of n=20000 are few, and half the Gram matrix takes 1.6 GB'
    >>> choose_eigen_route(200_000, 20, 8, 8 << 30).matrix_free
    True
    """
    needed = memory_needed(n, itemsize, n if k is None else k)
    small, many = n <= DENSE_ROWS, k is None or k * DENSE_ROWS_PER_COMPONENT > n
    if solver == "dense" or (solver == "auto" and (small or many)):
        _require(needed.dense, budget, n, "all eigenvalues", "fewer components, ")
        reason = f"n={n} is small" if small else "all components" if k is None else f"k={k} of n={n} are many"
        return EigenRoute("dense", False, "asked for" if solver == "dense" else reason)
    if device and solver != "randomized":
        return _device_route(n, k, itemsize, budget, "" if solver == "auto" else "asked for; ", stored)
    name = "lanczos" if solver == "auto" else solver
    asked = "" if solver == "auto" else "asked for; "
    if stored or needed.matrix <= budget:
        return EigenRoute(
            name, False, f"{asked}k={k} of n={n} are few, and half the Gram matrix takes {_gb(gram_bytes(n, itemsize))}"
        )
    _require(needed.matrix_free, budget, n, "a basis", "")
    return EigenRoute(name, True, f"{asked}the Gram matrix would take {_gb(needed.matrix)} of {_gb(budget)}")


def _device_route(n: int, k: int | None, itemsize: int, budget: int, asked: str, stored: bool) -> EigenRoute:
    """Return the route of rows on a device: K is kept where it takes at most half the budget beside the vectors.

    It is not even then where products are fused with the evaluation of the kernel, which is faster.
    """
    block = min(n, max(KRYLOV_BLOCK, n if k is None else k + 2 * SPARE_COLUMNS))
    vectors = device_bytes(n, block)
    _require(vectors, budget, n, "a basis on the device", "")
    fits = n * n * itemsize <= (budget - vectors) // 2
    reason = f"{asked}k={k} of n={n} are few, and the rows are on a device"
    return EigenRoute("krylov", not (fits or stored), reason, device=True)


def _require(needed: int, budget: int, n: int, what: str, way: str) -> None:
    if needed > budget:
        raise ResourceError(
            f"allows {_gb(budget)}, and kernel PCA of n={n} rows needs {_gb(needed)} for {what}",
            argument="max_memory",
            fix=f"use {way}more memory, or {{approximation}}, which needs little more than its landmarks",
            settings={"approximation": "rpcholesky"},
        )


def _gb(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 50_000_000 else f"{size / 1e6:.1f} MB"
