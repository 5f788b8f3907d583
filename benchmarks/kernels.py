"""GF/s of the compiled kernels and of their NumPy twins: this is what decides `eigenlens.compiled.WIDEST`.

python benchmarks/kernels.py [--scale small] [--repeat 5]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import data
from eigenlens import compiled
from machine import best
from table import grid

WIDTHS = (8, 16, 32, 50, 64, 100, 128, 160, 200, 256, 320, 400, 448, 512, 640)
COLUMNS = (1, 8, 16, 50, 64, 100)


def faster_of_two(kernel: Callable[[], Any], twin: Callable[[], Any], repeat: int) -> tuple[float, float]:
    """Best times of both, run in turn, after one run of each that is not counted."""
    kernel(), twin()
    times = [(best(kernel, 1), best(twin, 1)) for _ in range(repeat)]
    first, second = zip(*times, strict=True)
    return min(first), min(second)


def moments(dtype: str, size: int, repeat: int) -> list[tuple[int, float, float]]:
    """(d, kernel, twin) in flop/s, counting n d (d + 1) flops: the products of one triangle."""
    found = []
    for d in WIDTHS:
        n = max(2_000, size // (d * np.dtype(dtype).itemsize))
        X, shift = data.tall(n, d, dtype), np.zeros(d)
        flops = float(n) * d * (d + 1)
        kernel, twin = faster_of_two(
            lambda X=X, shift=shift: compiled.moments_about(X, None, shift),
            lambda X=X, shift=shift: compiled.moments_about_numpy(X, None, shift),
            repeat,
        )
        found.append((d, flops / kernel, flops / twin))
    return found


def widest(found: list[tuple[int, float, float]]) -> int:
    """The last width before the first at which the twin is faster."""
    lost = [d for d, kernel, twin in found if twin > kernel]
    return max((d for d, _, _ in found if not lost or d < lost[0]), default=0)


def products(n: int, d: int, repeat: int) -> list[tuple[int, float, float]]:
    """(columns of V, kernel, twin) of the sparse normal product in flop/s, counting 4 flops an entry and column."""
    X, found = data.words(n, d, 0.002), []
    rng = np.random.default_rng(0)
    for b in COLUMNS:
        V, offset = rng.standard_normal((d, b)), rng.standard_normal(b)
        kernel, twin = faster_of_two(
            lambda V=V, offset=offset: compiled.normal_product(X, None, V, offset),
            lambda V=V, offset=offset: compiled.normal_product_numpy(X, None, V, offset),
            repeat,
        )
        found.append((b, 4.0 * X.nnz * b / kernel, 4.0 * X.nnz * b / twin))
    return found


def show(title: str, first: str, found: list[tuple[int, float, float]]) -> None:
    rows = [(str(d), f"{kernel / 1e9:.1f}", f"{twin / 1e9:.1f}", f"{kernel / twin:.2f}") for d, kernel, twin in found]
    print(f"\n{title}\n\n{grid((first, 'kernel GF/s', 'NumPy GF/s', 'kernel / NumPy'), rows)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    if compiled.active() == "numpy":
        raise SystemExit("No compiled kernels here: install with a compiler, and unset EIGENLENS_KERNELS.")
    print(f"Kernels: {compiled.active()}, {compiled.threads()} threads; WIDEST is {_named(compiled.WIDEST)} now.")
    compiled.WIDEST = dict.fromkeys(compiled.WIDEST, 1 << 30)
    small = options.scale == "small"
    for dtype in ("float64", "float32"):
        found = moments(dtype, 8 << 20 if small else 256 << 20, options.repeat)
        show(f"Moments of {dtype} rows", "columns", found)
        print(f"\nThe kernel wins up to {widest(found)} columns.")
    shape = (5_000, 4_000) if small else (200_000, 20_000)
    show(f"Sparse normal product, {shape[0]:,}×{shape[1]:,}", "columns of V", products(*shape, options.repeat))


def _named(widths: dict[Any, int]) -> str:
    return ", ".join(f"{dtype.name} {d}" for dtype, d in widths.items())


if __name__ == "__main__":
    main()
