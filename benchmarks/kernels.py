"""GF/s of the compiled kernels and of their NumPy twins: this is what decides `eigenlens.native.moments.NARROW`.

python benchmarks/kernels.py [--scale small] [--repeat 5]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import data
import results
from eigenlens.native.genotypes import (
    add_missing_pairs,
    add_missing_pairs_numpy,
    genotype_counts,
    genotype_counts_numpy,
    genotype_panel,
    genotype_panel_numpy,
    pack_codes,
)
from eigenlens.native.moments import NARROW, moments_about, moments_about_numpy
from eigenlens.native.runtime import active
from eigenlens.native.sparse import normal_product, normal_product_numpy
from eigenlens.resources import thread_count
from machine import best

WIDTHS = (8, 16, 32, 50, 64, 100, 128, 160, 200, 256, 320, 400, 512, 640, 800, 1000, 2000)
COLUMNS = (1, 8, 16, 50, 64, 100)


def best_in_turn(repeat: int, *functions: Callable[[], Any]) -> tuple[float, ...]:
    """The best time of each, run in turn, after one run of each that is not counted."""
    for function in functions:
        function()
    times = [[best(function, 1) for function in functions] for _ in range(repeat)]
    return tuple(map(min, zip(*times, strict=True)))


def moments(dtype: str, size: int, repeat: int) -> list[tuple[float, ...]]:
    """(d, narrow kernel, wide kernel, twin) in flop/s, counting n d (d + 1) flops: the products of one triangle."""
    found = []
    for d in WIDTHS:
        n = max(2_000, size // (d * np.dtype(dtype).itemsize))
        X, shift = data.tall(n, d, dtype, mean=3.0), np.full(d, 3.0)
        flops = float(n) * d * (d + 1)
        times = best_in_turn(
            repeat,
            lambda X=X, shift=shift: about(1 << 30, X, shift),
            lambda X=X, shift=shift: about(0, X, shift),
            lambda X=X, shift=shift: moments_about_numpy(X, None, shift),
        )
        found.append((d, *(flops / time for time in times)))
    return found


def about(narrow: int, X: np.ndarray, shift: np.ndarray) -> Any:
    """The moments, with rows of up to `narrow` columns taken for narrow."""
    NARROW[X.dtype] = narrow
    return moments_about(X, None, shift)


def products(n: int, d: int, repeat: int) -> list[tuple[float, ...]]:
    """(columns of V, kernel, twin) of the sparse normal product in flop/s, counting 4 flops an entry and column."""
    X, found = data.words(n, d, 0.002), []
    rng = np.random.default_rng(0)
    for b in COLUMNS:
        V, offset = rng.standard_normal((d, b)), rng.standard_normal(b)
        kernel, twin = best_in_turn(
            repeat,
            lambda V=V, offset=offset: normal_product(X, None, V, offset),
            lambda V=V, offset=offset: normal_product_numpy(X, None, V, offset),
        )
        found.append((b, 4.0 * X.nnz * b / kernel, 4.0 * X.nnz * b / twin))
    return found


def genotypes(n: int, m: int, repeat: int) -> list[tuple[float, ...]]:
    """(people, kernel, twin) of counts, panels and pairs of missing calls, in calls per second."""
    rng = np.random.default_rng(0)
    packed = pack_codes(rng.choice(4, (m, n), p=[0.1, 0.01, 0.39, 0.5]).astype(np.uint8))
    values, pairs = rng.standard_normal((m, 4)), np.zeros((n, n), dtype=np.int32)
    works = (
        (genotype_counts, genotype_counts_numpy, ()),
        (genotype_panel, genotype_panel_numpy, (values,)),
        (add_missing_pairs, add_missing_pairs_numpy, (pairs,)),
    )
    found = []
    for kernel, twin, more in works:
        runs = (lambda work=work, more=more: work(packed, n, *more) for work in (kernel, twin))
        found.append((n, *(n * m / seconds for seconds in best_in_turn(repeat, *runs))))
    return found


def show(title: str, columns: tuple[str, ...], found: list[tuple[float, ...]]) -> None:
    """A table in GF/s."""
    rows = [(f"{size:.0f}", *(f"{rate / 1e9:.1f}" for rate in rates)) for size, *rates in found]
    print(f"\n{title}, GF/s\n\n{results.grid(results.table(columns, rows))}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    if active() == "numpy":
        raise SystemExit("No compiled kernels here: install with a compiler, and unset EIGENLENS_KERNELS.")
    print(f"Kernels: {active()}, {thread_count()} threads; NARROW is {_named(NARROW)} now.")
    small = options.scale == "small"
    for dtype in ("float64", "float32"):
        found = moments(dtype, 8 << 20 if small else 256 << 20, options.repeat)
        show(f"Moments of {dtype} rows", ("columns", "narrow", "wide", "NumPy"), found)
    shape = (5_000, 4_000) if small else (200_000, 20_000)
    found = products(*shape, options.repeat)
    show(f"Sparse normal product, {shape[0]:,}×{shape[1]:,}", ("columns of V", "kernel", "NumPy"), found)
    found = genotypes(*((500, 400) if small else (5_000, 2_000)), options.repeat)
    for what, line in zip(("Counts", "Panels", "Missing pairs"), found, strict=True):
        show(f"{what} of packed genotypes (calls)", ("people", "kernel", "NumPy"), [line])


def _named(widths: dict[Any, int]) -> str:
    return ", ".join(f"{dtype.name} {d}" for dtype, d in widths.items())


if __name__ == "__main__":
    main()
