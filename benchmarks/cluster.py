"""Fits on a Dask cluster of two processes beside one process with two threads, on the same rows and cores, in one run.

python benchmarks/cluster.py [--only ppca mixture] [--repeat 3] [--scale small]

The cluster is `LocalCluster(n_workers=2, threads_per_worker=1)`, the rows are persisted in 20 chunks, and both sides
have fitted a few rows before: a worker imports the models once in its life. Both take turns, the best time of each
counts. The answers are compared: log-likelihoods of the same rows under both models. The exit code is 1 if a ratio is
above the one that is asked for.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import eigenlens as el
import results

TARGET = 1.3
"""The time on the cluster may be at most this many times that of one process."""

CHUNKS = 20


class Case(NamedTuple):
    """An estimator, and the rows that it is fitted to."""

    title: str
    make: Callable[[], Any]
    rows: Callable[[int], Any]
    n: int


def incomplete(n: int) -> Any:
    """Rows (n, 50) of four factors with 10% of the entries missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, 50)) + rng.normal(size=(n, 50))
    X[rng.random(X.shape, dtype=np.float32) < 0.1] = np.nan
    return X


def groups(n: int) -> Any:
    """Rows (n, 10) of five groups that overlap."""
    rng = np.random.default_rng(0)
    return (rng.normal(size=(5, 10)) * 1.5)[rng.integers(5, size=n)] + rng.normal(size=(n, 10))


CASES = {
    "ppca": Case("ProbabilisticPCA(4), 10% missing", lambda: el.ProbabilisticPCA(4), incomplete, 1_000_000),
    "factors": Case("FactorAnalysis(4), 10% missing", lambda: el.FactorAnalysis(4), incomplete, 1_000_000),
    "pca": Case('PCA(4, missing="em"), 10% missing', lambda: el.PCA(4, missing="em"), incomplete, 1_000_000),
    "mixture": Case(
        "GaussianMixture(5), full", lambda: el.GaussianMixture(5, n_init=5, random_state=0), groups, 2_000_000
    ),
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call took, and its result."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def measure(case: Case, client: Any, n: int, repeat: int) -> tuple[float, float, float]:
    """Return the best seconds of one process and of the cluster, and how far their answers are apart."""
    import dask.array as da
    from distributed import wait

    X = case.rows(n)
    rows = da.from_array(X, chunks=(-(-n // CHUNKS), X.shape[1])).persist()
    wait(rows)
    few = rows[: -(-n // CHUNKS)].rechunk((-(-n // CHUNKS // 4), X.shape[1])).persist()
    case.make().fit(few)
    case.make().fit(X[: n // CHUNKS])
    here, there = [], []
    for _ in range(repeat):
        seconds, model = timed(lambda: case.make().fit(X))
        here.append(seconds)
        seconds, other = timed(lambda: case.make().fit(rows))
        there.append(seconds)
    some = X[:10_000]
    mine, theirs = ((each.score_samples(some)) for each in (model, other))
    return min(here), min(there), float(np.max(np.abs(mine - theirs)) / np.max(np.abs(mine)))


def main() -> int:
    """Measure the cases that are asked for, and print a table."""
    from distributed import Client, LocalCluster

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    given = parser.parse_args()
    lines, met = [], True
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        for name in given.only:
            case = CASES[name]
            n = case.n if given.scale == "full" else case.n // 10
            here, there, apart = measure(case, client, n, given.repeat)
            met = met and there <= TARGET * here
            line = case.title, f"{n:,}", f"{here:.2f} s", f"{there:.2f} s", f"{there / here:.2f}", f"{apart:.0e}"
            print(*line, sep=" | ", flush=True)
            lines.append(line)
    head = ("model", "rows", "one process", "two workers", "ratio", "answers apart")
    found = results.table(head, lines)
    after = f"Target {'met' if met else 'missed'}: at most {TARGET} times the time of one process."
    print(f"\n{results.grid(found)}\n\n{after}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
