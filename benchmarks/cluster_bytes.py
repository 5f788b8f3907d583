"""Bytes that a worker of a Dask cluster sends and receives in a fit, measured on four, computed for a hundred.

python benchmarks/cluster_bytes.py

On a real cluster of four processes each model is fitted to 64 and then to 128 chunks; the system's own counters of
every TCP connection of every worker are read before and after. What a pass moves depends on the number of chunks, the
columns and the model, and not on the rows of a chunk, so short chunks tell what long ones would move. The difference
of the two fits, divided by 64 chunks and the passes, is what one more chunk moves in one pass.

For 1 TB over 100 workers in chunks of 128 MB (80 chunks for each worker) the table has, in one pass,

    80 × bytes per chunk × share + model,    share = (1 − 1/100) / (1 − 1/4),

since a sum travels unless the task that adds it runs where it is, which is the less likely the more workers there are:
a factor of at most 4/3. The model is received once by each worker. All of it is an upper estimate: bytes of messages
that do not grow with the number of workers are multiplied too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import eigenlens as el
import results
from eigenlens.data.dask import DaskSource
from eigenlens.missing import expectation

WORKERS, FEW, MANY = 4, 64, 128
TOTAL, CHUNK, CLUSTER = 1e12, 128e6, 100
ROWS = 40
SHARE = (1.0 - 1.0 / CLUSTER) / (1.0 - 1.0 / WORKERS)


class Case(NamedTuple):
    """A model, the columns of its rows, the share of missing entries, and the passes of a usual fit."""

    title: str
    make: Callable[[], Any]
    d: int
    missing: float
    passes: int


CASES = (
    Case("PCA(10)", lambda: el.PCA(10), 100, 0.0, 1),
    Case("ProbabilisticPCA(10), 10% missing", lambda: el.ProbabilisticPCA(10, max_iter=6), 100, 0.1, 30),
    Case(
        "GaussianMixture(10), full", lambda: el.GaussianMixture(10, n_init=1, max_iter=8, random_state=0), 20, 0.0, 100
    ),
    Case("NaiveBayes, 10 classes", lambda: el.NaiveBayes(), 100, 0.0, 1),
)


def traffic() -> tuple[int, int]:
    """Return the bytes that the open TCP connections of this process have sent and received, by the system's count."""
    import os
    import socket
    import struct

    sent = received = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.family not in (socket.AF_INET, socket.AF_INET6) or one.type != socket.SOCK_STREAM:
                    continue
                found = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 136)
        except OSError:  # closed since, or listening
            continue
        if len(found) >= 136:  # struct tcp_info: tcpi_bytes_acked and tcpi_bytes_received
            acked, got = struct.unpack_from("QQ", found, 120)
            sent, received = sent + acked, received + got
    return sent, received


def rows(case: Case, chunks: int) -> Any:
    """Return a Dask array whose chunks are made where they are used, so that no row travels to the workers."""
    import dask.array as da

    sizes = ((ROWS,) * chunks, (case.d,))
    return da.map_blocks(_chunk, d=case.d, missing=case.missing, chunks=sizes, dtype=float, meta=np.empty((0, 0)))


def _chunk(d: int, missing: float, block_info: Any = None) -> Any:
    rng = np.random.default_rng(block_info[None]["chunk-location"][0])
    X = np.random.default_rng(0).normal(size=(10, d)) * 4.0
    found = X[np.arange(ROWS) % 10] + rng.normal(size=(ROWS, d))
    found[rng.random(found.shape) < missing] = np.nan
    return found


def fit(case: Case, client: Any, chunks: int) -> tuple[float, float, int]:
    """Return the bytes that all workers sent and received in a fit, and its passes."""
    X, y = rows(case, chunks).persist(), np.arange(ROWS * chunks) % 10
    passes, fold = [], DaskSource.fold

    def counted(self: DaskSource, *arguments: Any) -> Any:
        passes.append(1)
        return fold(self, *arguments)

    case.make().fit(X, y)  # whatever is imported, and connected, is by now
    before = np.sum(list(client.run(traffic).values()), axis=0)
    DaskSource.fold = counted  # type: ignore[method-assign]
    try:
        case.make().fit(X, y)
    finally:
        DaskSource.fold = fold  # type: ignore[method-assign]
    sent, received = np.sum(list(client.run(traffic).values()), axis=0) - before
    return float(sent), float(received), len(passes)


def measure(case: Case, client: Any) -> tuple[str, ...]:
    """Return the line of a model: bytes per chunk and pass, and the traffic of a worker of the large cluster."""
    few, many = fit(case, client, FEW), fit(case, client, MANY)
    per_pass = [(sent / n, received / n) for sent, received, n in (few, many)]
    chunk = [(b - a) / (MANY - FEW) for a, b in zip(*per_pass, strict=True)]
    model = [max(0.0, a - FEW * c) / WORKERS for a, c in zip(per_pass[0], chunk, strict=True)]
    each = TOTAL / CHUNK / CLUSTER
    sent, received = (each * c * SHARE + m for c, m in zip(chunk, model, strict=True))
    whole = case.passes * (sent + received)
    return (
        case.title, str(case.d), f"{chunk[0] / 1e3:.1f} kB", f"{chunk[1] / 1e3:.1f} kB", f"{sent / 1e6:.1f} MB",
        f"{received / 1e6:.1f} MB", str(case.passes), f"{whole / 1e6:,.0f} MB", f"{whole / (TOTAL / CLUSTER):.2%}",
    )  # fmt: skip


def main() -> int:
    """Measure every model and print the table."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    expectation.MAX_COLLECTED_BYTES = 0  # the few rows here stand for many
    options = {"n_workers": WORKERS, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        lines = []
        for case in CASES:
            lines.append(measure(case, client))
            print(*lines[-1], sep=" | ", flush=True)
    head = (
        "model", "columns", "sent per chunk and pass", "received", "sent by a worker per pass", "received by it",
        "passes", "in all", "of its 10 GB",
    )  # fmt: skip
    found = results.table(head, lines)
    print(f"\n{results.grid(found)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
