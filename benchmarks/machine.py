"""What this machine is, and what it can do at best: the measure of how far a fit is from the limit."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Machine:
    """Processor, cores, memory, and measured rates: products in flop/s by dtype, reading in bytes/s."""

    processor: str
    cores: int
    memory_gb: float
    flops: dict[str, float]
    read: float

    def __str__(self) -> str:
        rates = ", ".join(f"{name} products {rate / 1e9:.0f} GF/s" for name, rate in self.flops.items())
        measured = f"measured: {rates}, reading memory {self.read / 1e9:.0f} GB/s"
        return f"{self.processor}, {self.cores} cores, {self.memory_gb:.0f} GB; {measured}"

    def limit(self, flops: float, size: float, dtype: str) -> float:
        """Seconds that the arithmetic or the reading takes at the rates measured, whichever is longer."""
        return max(flops / self.flops[dtype], size / self.read)


def measure_machine(small: bool = False) -> Machine:
    flops = {name: _product_rate(1000 if small else 4000, name) for name in ("float64", "float32")}
    return Machine(_processor(), os.cpu_count() or 1, _memory_gb(), flops, _read_rate(1 << (25 if small else 30)))


def describe_machine() -> str:
    """The processor, cores and memory, without measuring anything."""
    return f"{_processor()}, {os.cpu_count() or 1} cores, {_memory_gb():.0f} GB"


def _memory_gb() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def best(work: Callable[[], Any], repeat: int = 5) -> float:
    """The shortest of several times, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def _product_rate(n: int, dtype: str) -> float:
    A = np.random.default_rng(0).standard_normal((n, n)).astype(dtype)
    return 2.0 * n**3 / best(lambda: A @ A)


def _read_rate(size: int) -> float:
    """Bytes a second when every core sums its own part of an array that no cache holds."""
    from threadpoolctl import threadpool_limits

    cores = os.cpu_count() or 1
    parts = np.array_split(np.ones(size // 8), cores)
    with threadpool_limits(1), ThreadPoolExecutor(cores) as pool:
        return size / best(lambda: list(pool.map(lambda part: np.dot(part, part), parts)))
