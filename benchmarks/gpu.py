"""What one GPU reaches, beside the limits of its parts measured in the same run.

python benchmarks/gpu.py              prints the table and keeps it in benchmarks/results/gpu.json
python benchmarks/gpu.py --only pca   those cases alone, not kept

Every figure is the median of three runs after one that compiles; rows are on the device unless the case says otherwise.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

import eigenlens
import results
from eigenlens.data.coerce import as_source
from eigenlens.densities.covariance import Full
from eigenlens.densities.gaussian import Gaussian
from eigenlens.densities.mixture import Mixture
from eigenlens.mixture.em import MixtureState, em_steps
from eigenlens.mixture.fit import summarise_rows
from eigenlens.mixture.problem import make_problem
from eigenlens.mixture.structures import make_structure

RUNS = 3
DEVICE = "cuda"


@dataclass(frozen=True)
class Figure:
    """One line of the table: seconds, what bounds them, the error beside a float64 reference, and the memory used."""

    case: str
    seconds: float
    limit: float
    bound: str
    error: str = ""
    gigabytes: float = 0.0
    solver: str = ""


@dataclass(frozen=True)
class Limits:
    """Rates of the device: products, copies and exponentials per second, and bytes per second over the bus."""

    float32: float
    tf32: float
    float16: float
    float64: float
    memory: float
    exponentials: float
    bus: float


def median(work: Callable[[], Any], runs: int = RUNS) -> float:
    """Return the median of the seconds that work takes, after one run that is not counted."""
    import torch

    seconds = []
    for _ in range(runs + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def measure_limits() -> Limits:
    import torch

    def product_rate(dtype: Any, n: int = 8192) -> float:
        A = torch.randn(n, n, device=DEVICE).to(dtype)
        return 2 * n**3 / median(lambda: A @ A)

    float32 = product_rate(torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = True
    tf32 = product_rate(torch.float32)
    torch.backends.cuda.matmul.allow_tf32 = False
    x, y = (torch.randn(1 << 29, device=DEVICE) for _ in range(2))
    copy = 2 * x.numel() * 4 / median(lambda: y.copy_(x))
    pinned, target = torch.randn(1 << 27).pin_memory(), torch.empty(1 << 27, device=DEVICE)
    bus = 4 * pinned.numel() / median(lambda: target.copy_(pinned, non_blocking=True))
    multiprocessors = torch.cuda.get_device_properties(0).multi_processor_count
    clock = 1e6 * float(torch.cuda.clock_rate())
    rates = float32, tf32, product_rate(torch.float16), product_rate(torch.float64, 4096)
    return Limits(*rates, copy, 16.0 * multiprocessors * clock, bus)  # 16 exponentials per clock and multiprocessor


def normal(n: int, d: int, seed: int = 0) -> Any:
    import torch

    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    return torch.randn(n, d, device=DEVICE, generator=generator)


def peak(work: Callable[[], Any]) -> float:
    """Return the gigabytes that work allocates on the device beyond what is there."""
    import torch

    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    return (torch.cuda.max_memory_allocated() - before) / 1e9


# ---- cases --------------------------------------------------------------------------------------------------


def fit_from_host(model: Any, host: np.ndarray) -> None:
    with eigenlens.fitting(device=DEVICE):
        model.fit(host)


def covariance64(X: Any) -> Any:
    """Return the covariance of X in float64, in blocks."""
    import torch

    mean = sum(part.double().sum(dim=0) for part in X.split(100_000)) / len(X)
    total = torch.zeros((X.shape[1],) * 2, dtype=torch.float64, device=X.device)
    for part in X.split(100_000):
        centred = part.double() - mean
        total += centred.T @ centred
    return total / (len(X) - 1)


def pca(limits: Limits) -> Iterator[Figure]:
    import torch

    for n, d in ((1_000_000, 1000), (10_000_000, 256)):
        X = normal(n, d)
        X *= torch.linspace(3.0, 1.0, d, device=DEVICE)
        X += torch.linspace(-5.0, 5.0, d, device=DEVICE)
        model = eigenlens.PCA(20)
        seconds = median(partial(model.fit, X))
        truth = torch.linalg.eigvalsh(covariance64(X)).flip(0)[:20]
        error = float(((model.explained_variance_.double() - truth) / truth).abs().max())
        floor = max(3 * n * d * d / limits.float16, 4 * n * d / limits.memory)
        yield Figure(
            f"PCA {n:,}×{d}, k=20", seconds, floor, "X'X, 3 × float16", f"{error:.0e}", peak(partial(model.fit, X))
        )
        if d == 1000:
            seconds = median(partial(model.transform, X))
            yield Figure("transform of the same rows", seconds, 4 * n * d / limits.memory, "reading the rows")
            host = X.cpu().numpy()
            del X
            seconds = median(partial(fit_from_host, model, host))
            error = float(np.max(np.abs(model.explained_variance_ / truth.cpu().numpy() - 1.0)))
            yield Figure(
                "PCA of the same rows in the host's memory", seconds, 4 * n * d / limits.bus, "the bus", f"{error:.0e}"
            )


def kernel_pca(limits: Limits) -> Iterator[Figure]:
    for n in (20_000, 50_000, 100_000, 300_000, 1_000_000):
        X = normal(n, 50)
        model = eigenlens.KernelPCA(20)
        memory = peak(partial(model.fit, X))
        seconds = median(partial(model.fit, X))
        one = max(n * n / limits.exponentials, 2 * n * n * (64 + 64) / limits.float16)
        outcome = model.solver_
        yield Figure(
            f"exact kernel PCA rbf {n:,}×50, k=20", seconds, one * outcome.passes,
            f"{outcome.passes} passes of exponentials", f"residual {outcome.residuals.max():.0e}", memory, str(outcome),
        )  # fmt: skip


def landmarks(limits: Limits) -> Iterator[Figure]:
    X = normal(1_000_000, 50)
    model = eigenlens.KernelPCA(20, approximation="rpcholesky", n_landmarks=1000, random_state=0)
    seconds = median(partial(model.fit, X))
    share, passes = model.approximation_error_, model.solver_.passes
    floor = passes * 2 * len(X) * 1000 * 1050 / limits.float64
    yield Figure(
        "kernel PCA, 1,000 landmarks, 1,000,000×50",
        seconds,
        floor,
        f"{passes} passes in float64",
        f"left out {share:.3f}",
    )


def kernel_density(limits: Limits) -> Iterator[Figure]:
    n = 1_000_000
    points, queries = normal(n, 2), normal(n, 2, seed=1)
    model = eigenlens.KernelDensity(bandwidth=0.05).fit(points)
    seconds = median(partial(model.score_samples, queries))
    some = queries[:2000]
    error = float((model.score_samples(some) - model.score_samples(some.double())).expm1().abs().max())
    yield Figure("KDE 1,000,000 × 1,000,000, 2-D", seconds, n * n / limits.exponentials, "exponentials", f"{error:.0e}")


def mixture(limits: Limits) -> Iterator[Figure]:
    n, d, K = 2_000_000, 50, 20
    rng = np.random.default_rng(0)
    X = normal(n, d)
    structure = make_structure("full")
    problem = make_problem(summarise_rows(as_source(X), structure), K, structure)
    components = tuple(Gaussian(rng.standard_normal(d), Full(np.eye(d))) for _ in range(K))
    state = MixtureState.of(Mixture(np.full(K, 1.0 / K), components), structure)
    seconds = median(partial(em_steps, problem, [state]))
    yield Figure(
        "mixture 2,000,000×50, K=20 full, one EM step", seconds, 4 * n * K * d * d / limits.float64, "float64 products"
    )


def classes(limits: Limits) -> Iterator[Figure]:
    import torch

    n, d = 10_000_000, 50
    X = normal(n, d)
    y = torch.randint(0, 4, (n,), device=DEVICE)
    for name, model in (
        ("naive Bayes", eigenlens.NaiveBayes("gaussian")),
        ("linear discriminant", eigenlens.LinearDiscriminant()),
    ):
        seconds = median(partial(model.fit, X, y))
        yield Figure(f"{name} 10,000,000×50, 4 classes", seconds, 4 * n * d / limits.memory, "reading the rows")


CASES = {
    "pca": pca,
    "kernel": kernel_pca,
    "landmarks": landmarks,
    "kde": kernel_density,
    "mixture": mixture,
    "classes": classes,
}


# ---- the table ----------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=list(CASES))
    chosen = parser.parse_args().only
    import torch

    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device was found, so nothing was measured")
    limits = measure_limits()
    rates = ", ".join(f"{name} {rate:.3g}" for name, rate in asdict(limits).items())
    print(f"{torch.cuda.get_device_name()}; rates per second: {rates}")
    print(f"{'case':52} {'seconds':>8} {'limit':>8}  {'bound by':32} {'error':18} memory")
    figures = []
    for name in chosen or CASES:
        for figure in CASES[name](limits):
            figures.append(figure)
            memory = f"{figure.gigabytes:.1f} GB" if figure.gigabytes else ""
            times = f"{figure.seconds:8.3f} {figure.limit:8.3f}"
            print(f"{figure.case:52} {times}  {figure.bound:32} {figure.error:18} {memory}", flush=True)
        torch.cuda.empty_cache()
    if chosen is None:
        versions = f"Python {platform.python_version()}, PyTorch {torch.__version__}, NumPy {np.__version__}"
        results.write(comparison(torch.cuda.get_device_name(), versions, limits, figures))


def comparison(device: str, versions: str, limits: Limits, figures: list[Figure]) -> results.Compared:
    """Return the run as it is kept: the device, its rates, and a line per case."""
    flops = ", ".join(
        f"{name} {getattr(limits, name) / 1e12:.0f}" for name in ("float64", "float32", "tf32", "float16")
    )
    of = (
        f"One {device}, {versions}. Measured in the same run: products at {flops} Tflop/s, {limits.memory / 1e12:.1f} "
        f"TB/s of its memory, {limits.bus / 1e9:.0f} GB/s over the bus; its clock allows "
        f"{limits.exponentials / 1e12:.1f} exponentials per picosecond. The limit is the time that one of these alone "
        "would take. Medians of three runs, float32 rows on the device unless the case says otherwise."
    )
    head = ("work", "seconds", "limit", "bound by", "error or residual", "memory")
    lines = [
        (f.case, f"{f.seconds:.3g}", f"{f.limit:.2g}", f.bound, f.error, f"{f.gigabytes:.1f} GB" if f.gigabytes else "")
        for f in figures
    ]
    part: results.Part = {"before": "", "table": results.table(head, lines), "after": ""}
    return {"name": "gpu", "date": results.today(), "of": of, "parts": [part]}


if __name__ == "__main__":
    main()
