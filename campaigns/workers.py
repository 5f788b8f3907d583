"""Fits on a Dask cluster whose workers die: the same answer while one lives, else an error that names what failed.

Workers are processes without a nanny, killed by SIGKILL at a random moment of the fit or of the lazy result after it.
Chunks sleep, so that the moment lies inside a pass. The reference is the same fit by Dask in one thread, whose tree of
sums is the same: answers agree to 1e-12.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np

import eigenlens as el
from campaigns.base import Outcome, Result, case_rng
from eigenlens.errors import EigenlensError
from eigenlens.missing import expectation

LIMIT = 400.0
"""Seconds that one case may take, with the start of its workers."""

FIT_LIMIT = 150.0
"""Seconds that the fit may take on a busy machine; undisturbed ones take 1 to 3, and the error without workers 30."""

N_WORKERS, N, STEP = 3, 1200, 100
ROOT = Path(__file__).parents[1]


class Model(NamedTuple):
    """An estimator, the method whose lazy result is its answer, and whether rows have missing values."""

    make: Callable[[], Any]
    method: str
    missing: bool = False


MODELS = {
    "PCA": Model(lambda: el.PCA(3), "transform"),
    "PCA, Lanczos": Model(lambda: el.PCA(3, solver="lanczos", random_state=0), "transform"),
    "PCA, missing values": Model(lambda: el.PCA(2, missing="em"), "transform", True),
    "SparsePCA": Model(lambda: el.SparsePCA(2), "transform"),
    "ProbabilisticPCA": Model(lambda: el.ProbabilisticPCA(2), "score_samples"),
    "ProbabilisticPCA, missing values": Model(lambda: el.ProbabilisticPCA(2, max_iter=15), "impute", True),
    "FactorAnalysis": Model(lambda: el.FactorAnalysis(2), "transform"),
    "FactorAnalysis, missing values": Model(lambda: el.FactorAnalysis(2, max_iter=15), "score_samples", True),
    "GaussianMixture, full": Model(lambda: mixture("full"), "predict_proba"),
    "GaussianMixture, diag": Model(lambda: mixture("diag"), "predict_proba"),
    "GaussianMixture, missing values": Model(lambda: mixture("full"), "impute", True),
    "MixtureModel": Model(lambda: el.MixtureModel(2, n_init=1, max_iter=10, random_state=0), "score_samples"),
    "NaiveBayes": Model(lambda: el.NaiveBayes(), "predict_proba"),
    "LinearDiscriminant": Model(lambda: el.LinearDiscriminant(), "predict_proba"),
    "LinearDiscriminant, missing values": Model(lambda: el.LinearDiscriminant(), "predict_proba", True),
    "QuadraticDiscriminant": Model(lambda: el.QuadraticDiscriminant(), "predict_log_proba"),
    "BayesClassifier": Model(lambda: el.BayesClassifier(mixture("full")), "predict_proba"),
    "KernelPCA, landmarks": Model(lambda: kernel_pca("rpcholesky"), "transform"),
    "KernelPCA, Nyström": Model(lambda: kernel_pca("nystroem"), "transform"),
    "KernelPCA, Fourier features": Model(lambda: kernel_pca("fourier"), "transform"),
}


def mixture(structure: str) -> Any:
    """Return a mixture of two components that takes few passes."""
    return el.GaussianMixture(2, covariance_type=structure, n_init=1, max_iter=12, random_state=0)


def kernel_pca(approximation: str) -> Any:
    """Return an approximate kernel PCA."""
    return el.KernelPCA(2, kernel="rbf", gamma=0.05, approximation=approximation, random_state=0)


WEIGHTS = ("none", "NumPy", "Dask")
INPUTS = ("lazy", "persisted")
FATES = {
    "one dies": 6,
    "all but one die": 4,
    "one dies and is replaced": 4,
    "three die and are replaced": 2,
    "all die": 2,
    "a chunk raises": 1,
    "a chunk raises once": 1,
    "a chunk kills its worker": 1,
    "a chunk runs out of memory": 2,
    "a chunk runs out of memory once": 2,
}
"""What happens to the workers, and how often of 25."""


class Case(NamedTuple):
    """One fit and its fate."""

    model: str
    weight: str
    rows: str
    fate: str
    moment: float
    seed: int


def make_case(seed: int, number: int) -> Case:
    """Return the case of a seed and number; models follow one another, everything else is drawn."""
    rng = case_rng(seed, number)
    fates = list(FATES)
    share = np.array(list(FATES.values())) / sum(FATES.values())
    return Case(
        list(MODELS)[number % len(MODELS)],
        str(rng.choice(WEIGHTS)),
        str(rng.choice(INPUTS)),
        fates[rng.choice(len(fates), p=share)],
        float(rng.uniform(0.05, 0.95)),
        int(rng.integers(1 << 30)),
    )


def describe(seed: int, number: int) -> str:
    """Return the case in words, and the line that repeats it."""
    case = make_case(seed, number)
    words = f"{case.model}, weights: {case.weight}, rows {case.rows}, {case.fate} at {case.moment:.2f}"
    return f"python -m campaigns workers --seed {seed} --first {number} --cases 1  # {words}"


# ---- rows -----------------------------------------------------------------------------------------------------

CALLS: list[int] = []
"""The chunks that were computed in this process, by which the length of an undisturbed fit is estimated."""


def table(seed: int, missing: bool) -> tuple[Any, Any, Any]:
    """Return rows (n, 6) of two groups, labels and weights."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % 2
    X = rng.normal(size=(N, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(N, 6)) + 2.0 * labels[:, None]
    X[rng.random(X.shape) < 0.05 * missing] = np.nan
    return X, labels, rng.uniform(0.5, 2.0, N)


def slow_chunk(seed: int, missing: bool, seconds: float, bad: tuple[str, int, str], block_info: Any = None) -> Any:
    """Return a chunk of the table after a while, unless it is the bad one and misbehaves."""
    (low, high), _ = block_info[None]["array-location"]
    CALLS.append(low)
    time.sleep(seconds)
    how, first, mark = bad
    if low == first and how == "a chunk kills its worker":
        os._exit(1)
    if low == first and how == "a chunk raises":
        raise RuntimeError("the disk is gone")
    if low == first and (
        how == "a chunk runs out of memory" or (how.endswith("memory once") and not os.path.exists(mark))
    ):
        Path(mark).touch()
        fill_memory()
    if low == first and how == "a chunk raises once" and not os.path.exists(mark):
        Path(mark).touch()
        raise MemoryError("just now")
    return table(seed, missing)[0][low:high]


def fill_memory() -> None:
    """Allocate beyond the limit that the system sets this process, as on a machine whose memory is full."""
    used = 4096 * int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), hard))
    try:
        np.ones(1 << 28)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def lazy_rows(case: Case, seconds: float, bad: tuple[str, int, str]) -> Any:
    """Return the Dask array of the case."""
    missing, chunks = MODELS[case.model].missing, ((STEP,) * (N // STEP), (6,))
    options = {"seed": case.seed, "missing": missing, "seconds": seconds, "bad": bad}
    return da.map_blocks(slow_chunk, chunks=chunks, dtype=float, meta=np.empty((0, 0)), **options)


def answer(case: Case, X: Any) -> Any:
    """Return the answer of the case: the result per row of a model that was fitted to the rows."""
    _, labels, w = table(case.seed, False)
    weight = {"none": None, "NumPy": w, "Dask": da.from_array(w, chunks=STEP)}[case.weight]
    model = MODELS[case.model].make()
    options = {} if weight is None else {"sample_weight": weight}
    found = getattr(model.fit(X, labels, **options), MODELS[case.model].method)(X)
    return np.asarray(found.compute())


# ---- workers --------------------------------------------------------------------------------------------------


def run_worker(address: str) -> None:
    """Be a worker without a nanny until killed, or until the scheduler is gone."""
    import asyncio

    from distributed import Worker

    async def work() -> None:
        async with Worker(address, nthreads=1, memory_limit="2GB", dashboard=False, silence_logs=50) as worker:
            await worker.finished()

    asyncio.run(work())


class Workers:
    """Processes that work for a scheduler of this process, forked from one that has imported everything."""

    def __init__(self) -> None:
        from distributed import Client, LocalCluster

        dask.config.set({"distributed.scheduler.allowed-failures": 3, "distributed.comm.timeouts.connect": "30s"})
        self.cluster = LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50)
        self.client = Client(self.cluster)
        self.processes = multiprocessing.get_context("forkserver")
        for model in MODELS.values():  # what they import, the workers have imported too
            model.make()
        used = ("eigenlens", "dask", "distributed", "sklearn", "scipy", "numpy", "campaigns")
        loaded = [name for name in sys.modules if name.partition(".")[0] in used]
        self.processes.set_forkserver_preload([*loaded, "distributed.worker"])
        self.alive: list[Any] = []

    def start(self, count: int) -> None:
        """Start workers until there are this many, without waiting for them."""
        self.alive = [worker for worker in self.alive if worker.is_alive()]
        for _ in range(count - len(self.alive)):
            worker = self.processes.Process(target=run_worker, args=(self.cluster.scheduler_address,), daemon=True)
            worker.start()
            self.alive.append(worker)

    def ready(self) -> None:
        """Wait until all workers are there, and those that died are not."""
        self.start(N_WORKERS)
        while len(self.client.scheduler_info(n_workers=-1)["workers"]) != N_WORKERS:
            time.sleep(0.1)

    def kill(self, count: int) -> None:
        """Kill workers by SIGKILL; nobody is warned."""
        for worker in self.alive[:count]:
            worker.kill()
            worker.join()


@functools.cache
def workers() -> Workers:
    """Return the workers of this process, started once."""
    return Workers()


@contextmanager
def disturbed(case: Case, seconds: float) -> Iterator[list[int]]:
    """Kill workers after a while in a thread, and replace those that died if the fate says so."""
    over, kills = threading.Event(), []
    number = {"one dies": 1, "all but one die": N_WORKERS - 1, "all die": N_WORKERS}.get(case.fate, 0)
    number = number or (1 if "replaced" in case.fate else 0)
    times = 3 if case.fate.startswith("three") else 1
    replace = "replaced" in case.fate or case.fate == "a chunk kills its worker"

    def work() -> None:
        moment = time.monotonic() + seconds
        for _ in range(times if number else 0):
            if over.wait(max(0.0, moment - time.monotonic())):
                break
            workers().kill(number)
            kills.append(number)
            if replace:
                workers().start(N_WORKERS)
            moment = time.monotonic() + 1.0
        while replace and not over.wait(0.2):
            workers().start(N_WORKERS)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield kills
    finally:
        over.set()
        thread.join()


# ---- a case ---------------------------------------------------------------------------------------------------


def run_case(seed: int, number: int) -> Result:
    """Return how a fit with its fate ended, against the undisturbed answer."""
    case, call = make_case(seed, number), describe(seed, number)
    expectation.MAX_PREPARED_BYTES = expectation.MAX_COLLECTED_BYTES = 0  # few rows stay on the workers too
    CALLS.clear()
    warnings.simplefilter("ignore")
    with dask.config.set(scheduler="synchronous"):
        expected = answer(case, lazy_rows(case, 0.0, ("", 0, "")))
    first = STEP * int(case.moment * N / STEP)
    bad = (case.fate, first, os.path.join(tempfile.gettempdir(), f"campaign-{os.getpid()}-{seed}-{number}"))
    pause = float(np.clip(3.0 / len(CALLS), 0.01, 0.1))
    workers().ready()
    X = lazy_rows(case, pause, bad)
    X = X.persist() if case.rows == "persisted" else X
    estimate = len(CALLS) * pause / N_WORKERS
    begun = time.monotonic()
    with disturbed(case, case.moment * estimate) as kills:
        found = watched(answer, case, X)
    taken = f"{sum(kills)} killed, {time.monotonic() - begun:.1f} s (about {estimate:.1f} undisturbed)"
    outcome, detail = judge(case, found, expected, first)
    return Result(outcome, call, f"{detail}; {taken}")


def watched(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a call, or its exception, or a TimeoutError where it takes too long."""
    ended: list[Any] = []

    def call() -> None:
        try:
            ended.append(function(*arguments))
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(FIT_LIMIT)
    if ended:
        return ended[0]
    workers.cache_clear()  # the thread may go on for ever; the next case has a cluster of its own
    return TimeoutError(f"longer than {FIT_LIMIT:g} s")


def judge(case: Case, found: Any, expected: Any, first: int) -> tuple[Outcome, str]:
    """Return whether the answer is the same, or the error one that may be raised and says why."""
    if not isinstance(found, BaseException):
        scale = np.abs(expected).max()
        error = float(np.abs(found - expected).max() / scale) if found.shape == expected.shape else np.inf
        return (Outcome.OK if error <= 1e-12 else Outcome.WRONG), f"relative difference {error:.1e}"
    detail = f"{type(found).__name__}: {found}"
    if isinstance(found, TimeoutError):
        return Outcome.HANG, detail
    if not isinstance(found, EigenlensError):
        return Outcome.FOREIGN, detail
    words = {"all die": "worker", "a chunk raises": f"rows {first} to {first + STEP - 1}"}
    words["a chunk kills its worker"] = words["a chunk runs out of memory"] = words["a chunk raises"]
    if case.rows == "persisted":  # by the caller, once and for all
        words["a chunk raises once"] = words["a chunk runs out of memory once"] = words["a chunk raises"]
    if case.fate not in words:
        return Outcome.WRONG, f"an error while a worker lived: {detail}"
    return (Outcome.CLEAR if words[case.fate] in str(found) else Outcome.VAGUE), detail
