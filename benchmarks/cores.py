"""One thread against several: how much of each kind of work runs on all cores, beside what the machine itself can give.

python benchmarks/cores.py                    1 and 2 threads, in turn
python benchmarks/cores.py --threads 16       1 and 16
python benchmarks/cores.py --only kde pca     some of the work
python benchmarks/cores.py --write            also keeps the table

Every piece of work runs in processes of their own, one and several threads in turn, and the best time of each counts.
With t(1) and t(m) seconds on 1 and m threads,

    efficiency = t(1) / (m t(m)),    serial share = (m t(m) / t(1) − 1) / (m − 1)   (Amdahl's law)

The first rows are bare loops that share nothing: exponentials in the first-level cache, products of matrices, a sum of
an array that no cache holds, and first writes of memory. No work is more efficient than the resource that it waits for,
and the last column says which: at least 0.92 is asked for, or what the machine itself gives.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass

import results
from machine import describe_machine

TARGET = 0.92

PREPARE = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
threads = int(sys.argv[1])
rng = np.random.default_rng(0)
def on_each(work):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
def correlated(n, d, k=20):
    return rng.standard_normal((n, k)) @ rng.standard_normal((k, d)) + rng.standard_normal((n, d))
def blobs(n, d, k):
    return rng.standard_normal((n, d)) + 4.0 * rng.standard_normal((k, d))[rng.integers(k, size=n)]
def incomplete(X, share):
    X[rng.random(X.shape) < share] = np.nan
    return X
"""


@dataclass(frozen=True)
class Work:
    """What is made before, what is timed, and the resource of the machine that it uses most."""

    prepare: str
    timed: str
    resource: str = ""


RESOURCES = {
    "exponentials": Work(
        "x = -rng.random(2048); total = 320_000 // threads",
        "on_each(lambda i: [np.exp(x, out=y) for y in [np.empty(2048)] for _ in range(total)])",
    ),
    "products": Work("A = rng.standard_normal((4000, 4000))", "A @ A"),
    "reading": Work(
        "x = np.ones(1 << 27); parts = np.array_split(x, threads)",
        "on_each(lambda i: np.add.reduce(parts[i]))",
    ),
    "first writes": Work("n = (1 << 26) // threads", "on_each(lambda i: np.empty(n).fill(1.0))"),
}
"""Bare loops, one per resource of the machine; loops of NumPy run on one thread, so every thread has its own."""

WORK = {
    "PCA of 1,000,000×100": Work("X = correlated(1_000_000, 100)", "el.PCA(10).fit(X)", "products"),
    "PCA of 500×100,000": Work("X = correlated(500, 100_000)", "el.PCA(20).fit(X)", "products"),
    "PCA of 20,000×50, solver svd": Work("X = correlated(20_000, 50)", "el.PCA(50, solver='svd').fit(X)", "products"),
    "kernel PCA of 5,000×50": Work("X = correlated(5_000, 50)", "el.KernelPCA(20).fit(X)", "exponentials"),
    "kernel PCA of 10,000×50": Work("X = correlated(10_000, 50)", "el.KernelPCA(20).fit(X)", "exponentials"),
    "kernel PCA of 100,000×50, 512 landmarks": Work(
        "X = correlated(100_000, 50)",
        "el.KernelPCA(20, approximation='rpcholesky', n_landmarks=512, random_state=0).fit(X)",
        "products",
    ),
    "Gaussian mixture of 500,000×10, 5 components": Work(
        "X = blobs(500_000, 10, 5)", "el.GaussianMixture(5, random_state=0, max_iter=30).fit(X)", "exponentials"
    ),
    "Gaussian mixture of 200,000×50, 5 components": Work(
        "X = blobs(200_000, 50, 5)", "el.GaussianMixture(5, random_state=0, max_iter=30).fit(X)", "products"
    ),
    "naive Bayes of 5,000,000×20, fit": Work(
        "X = blobs(5_000_000, 20, 5); y = rng.integers(5, size=5_000_000)", "el.NaiveBayes().fit(X, y)", "reading"
    ),
    "naive Bayes of 5,000,000×20, predict": Work(
        "X = blobs(5_000_000, 20, 5); y = rng.integers(5, size=5_000_000); m = el.NaiveBayes().fit(X[:1000], y[:1000])",
        "m.predict(X)",
        "reading",
    ),
    "kernel density of 1,000,000 points, 1 column": Work(
        "x = rng.standard_normal((1_000_000, 1)); q = rng.standard_normal((1_000_000, 1))",
        "el.KernelDensity().fit(x).score_samples(q)",
        "exponentials",
    ),
    "kernel density of 100,000 points, 2 columns": Work(
        "X = rng.standard_normal((100_000, 2)); Q = rng.standard_normal((100_000, 2))",
        "el.KernelDensity().fit(X).score_samples(Q)",
        "exponentials",
    ),
    "probabilistic PCA of 50,000×50, 20% missing": Work(
        "X = incomplete(correlated(50_000, 50, 10), 0.2)", "el.ProbabilisticPCA(10).fit(X)", "products"
    ),
}
"""The kinds of work that the package is used for on large tables."""

TIMER = """
{prepare}
def work():
    {timed}
best = None
begin = time.perf_counter()
rounds = 0
while rounds < 2 or (time.perf_counter() - begin < 2.0 and rounds < 50):
    time.sleep(0.1)  # the idle threads of BLAS have gone to sleep
    cpu, start = time.process_time(), time.perf_counter()
    work()
    seconds = time.perf_counter() - start
    busy = time.process_time() - cpu
    best = min(best or (seconds, busy), (seconds, busy))
    rounds += 1
print(json.dumps(best))
"""

LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def measure(work: Work, threads: int) -> tuple[float, float]:
    """Return the best time of a fresh process on this many threads, and the processor time of that run, in seconds."""
    library = "import eigenlens as el\n" if "el." in work.timed + work.prepare else ""
    script = PREPARE + library + TIMER.format(prepare=work.prepare, timed=work.timed)
    environment = {**os.environ, **dict.fromkeys(LIMITS, str(threads))}
    command = [sys.executable, "-c", script, str(threads)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{work.timed} failed:\n{done.stderr[-2000:]}")
    seconds, busy = json.loads(done.stdout.splitlines()[-1])
    return seconds, busy


@dataclass(frozen=True)
class Scaled:
    """Best times on one and on several threads, and the threads that were busy on average on several."""

    one: float
    several: float
    busy: float
    threads: int

    @property
    def efficiency(self) -> float:
        return self.one / (self.threads * self.several)

    @property
    def serial(self) -> float:
        """The share of the time on one thread that several do not shorten, by Amdahl's law."""
        return (1.0 / self.efficiency - 1.0) / (self.threads - 1)


def compare(work: Work, threads: int, rounds: int) -> Scaled:
    """Measure one and several threads in turn, so that a slow moment hits both."""
    pairs = [(measure(work, 1), measure(work, threads)) for _ in range(rounds)]
    one = min(first[0] for first, _ in pairs)
    several, cpu = min(second for _, second in pairs)
    return Scaled(one, several, cpu / several, threads)


def row(name: str, found: Scaled, bound: str, verdict: str) -> tuple[str, ...]:
    times = (f"{found.one:.3g} s", f"{found.several:.3g} s")
    return name, *times, f"{found.efficiency:.2f}", f"{found.serial:.1%}", f"{found.busy:.2f}", bound, verdict


def head(threads: int) -> tuple[str, ...]:
    times = ("1 thread", f"{threads} threads")
    return "work", *times, "efficiency", "serial share", "threads busy", "the machine's own", "at least 0.92"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="processes per number of threads")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the names of the work")
    parser.add_argument("--write", action="store_true", help="keep the table")
    options = parser.parse_args()
    rows = []

    def say(found: tuple[str, ...]) -> None:
        print(f"| {' | '.join(found)} |", flush=True)

    say(head(options.threads))
    own = {}
    for name, work in RESOURCES.items():
        own[name] = compare(work, options.threads, options.rounds)
        rows.append(row(f"bare: {name}", own[name], "", ""))
        say(rows[-1])
    for name, work in WORK.items():
        if any(part in name for part in options.only):
            found, bound = compare(work, options.threads, options.rounds), own[work.resource].efficiency
            verdict = "met" if found.efficiency >= TARGET else "missed"
            rows.append(row(name, found, f"{work.resource} {bound:.2f}", verdict))
            say(rows[-1])
    if options.write:
        keep(rows, options)


def keep(rows: list[tuple[str, ...]], options: argparse.Namespace) -> None:
    """Keep the table, and put it into README.md."""
    introduction = (
        f"{describe_machine()}. Best of {options.rounds} processes per number of threads, in turn, each of which takes "
        "the best of at least two runs."
    )
    part: results.Part = {"before": introduction, "table": results.table(head(options.threads), rows), "after": ""}
    results.write(results.compared("cores", ("numpy", "scipy"), [part]))


if __name__ == "__main__":
    main()
