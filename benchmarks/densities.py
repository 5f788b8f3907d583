"""Kernel densities, bandwidths and Gaussian mixtures beside scikit-learn, SciPy, KDEpy and R.

python benchmarks/densities.py                 all contests
python benchmarks/densities.py --only kde-line mixture-10 --repeat 2
python benchmarks/densities.py --scale small   to try the benchmark itself; its numbers say nothing
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import contest
from contest import Contest, Timed, at_most, faster, in_r, part, within
from data import rotation

FINE = "R bw.SJ, 20,000 bins"
CHECKED = 300
"""Query points at which densities are compared with the double loop."""


# ---- kernel densities ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """Points x (n, d) with a kernel of scale h, and queries q (m, d)."""

    x: np.ndarray
    q: np.ndarray
    h: float
    kernel: str


def line(small: bool, kernel: str, h: float, offset: float = 0.0) -> Points:
    """Two humps and some far outliers on a line, and queries like them but in other places."""
    n, rng = 2_000 if small else 100_000, np.random.default_rng(0)

    def draw() -> np.ndarray:
        x = np.where(rng.random(n) < 0.4, rng.normal(-2.0, 0.5, n), rng.normal(1.0, 1.0, n))
        x[: n // 1000] *= 50.0
        return x[:, None] + offset

    return Points(draw(), draw(), h, kernel)


def cloud(small: bool, d: int, h: float) -> Points:
    n, rng = 500 if small else 20_000, np.random.default_rng(0)
    return Points(rng.standard_normal((n, d)), rng.standard_normal((n, d)), h, "gaussian")


def brute_force(points: Points) -> tuple[np.ndarray, np.ndarray]:
    """Indices of some queries, and their densities by the definition, in long double where it counts."""
    some = np.random.default_rng(1).permutation(len(points.q))[:CHECKED]
    n, d = points.x.shape
    values = np.empty(len(some))
    for i, q in enumerate(points.q[some]):
        u = np.sqrt(np.sum(((q - points.x) / points.h) ** 2, axis=1))
        if points.kernel == "gaussian":
            values[i] = np.sum(np.exp(-0.5 * u * u)) / (n * (points.h * np.sqrt(2.0 * np.pi)) ** d)
        else:
            values[i] = np.sum(0.75 * np.maximum(0.0, 1.0 - u * u)) / (n * points.h)
    return some, values


def density_error(points: Points, found: np.ndarray) -> dict[str, float]:
    """The largest error beside the largest density."""
    some, truth = brute_force(points)
    if len(found) < len(points.q):  # a contestant that did the first part of the work
        keep = some < len(found)
        some, truth = some[keep], truth[keep]
    return {"error": float(np.max(np.abs(found[some] - truth)) / truth.max())}


def eigenlens_density(points: Points, tol: float = 1e-12) -> np.ndarray:
    from eigenlens import KernelDensity

    kde = KernelDensity(kernel=points.kernel, bandwidth=points.h, tol=tol).fit(points.x)
    return np.exp(kde.score_samples(points.q))


def scikit_learn_density(points: Points, rtol: float = 1e-4) -> np.ndarray:
    from sklearn.neighbors import KernelDensity

    kde = KernelDensity(kernel=points.kernel, bandwidth=points.h, rtol=rtol).fit(points.x)
    return np.exp(kde.score_samples(points.q))


def scipy_density(points: Points) -> np.ndarray:
    """gaussian_kde takes the covariance of the points times a factor; here its Cholesky factor is h I."""
    from scipy.stats import gaussian_kde

    kde = gaussian_kde(points.x.T)
    kde.cho_cov = np.eye(points.x.shape[1]) * points.h
    return kde(points.q.T)


def first_queries(work: Callable[[Points], np.ndarray], share: float, points: Points) -> Timed:
    few = Points(points.x, points.q[: max(1, int(share * len(points.q)))], points.h, points.kernel)
    return part(work, few, share, "queries")


def exponentials(points: Points) -> np.ndarray:
    """No density, but its exponentials alone, in cache, on every core."""
    cores, total = os.cpu_count() or 1, len(points.x) * len(points.q)
    values = np.random.default_rng(0).uniform(-8.0, 0.0, 8_192)

    def work(_: int) -> None:
        out = np.empty_like(values)
        for _ in range(total // cores // len(values)):
            np.exp(values, out=out)

    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(work, range(cores)))
    return np.full(len(points.q), np.nan)


def _line(kernel: str, h: float, factor: float, *, offset: float = 0.0) -> Contest:
    contestants: dict[str, Callable[[Points], Any]] = {"Eigenlens": eigenlens_density}
    contestants["scikit-learn"] = partial(first_queries, scikit_learn_density, 0.05)
    if kernel == "gaussian":
        contestants["scipy"] = partial(first_queries, scipy_density, 0.02)
    return Contest(
        f"density of 100,000 points at 100,000 others, {kernel}" + (f", about {offset:g}" if offset else ""),
        partial(line, kernel=kernel, h=h, offset=offset), contestants, density_error,
        (faster(factor, "scikit-learn"), at_most("error", 1e-12)),
    )  # fmt: skip


def _cloud(d: int, h: float) -> Contest:
    return Contest(
        f"density of 20,000 points at 20,000 others, {d} dimensions",
        partial(cloud, d=d, h=h),
        {
            "Eigenlens": eigenlens_density,
            "scipy": scipy_density,
            "scikit-learn": scikit_learn_density,
            "NumPy exp": exponentials,
        },
        density_error,
        (*((faster(15.0, "scipy"),) if d == 2 else ()), within(1.5, "NumPy exp"), at_most("error", 1e-12)),
    )


# ---- bandwidths ------------------------------------------------------------------------------------------------


def humps(small: bool) -> np.ndarray:
    n, rng = 10_000 if small else 1_000_000, np.random.default_rng(0)
    return np.where(rng.random(n) < 0.5, rng.normal(0.0, 1.0, n), rng.normal(4.0, 0.5, n))


def eigenlens_bandwidth(x: np.ndarray, rule: str) -> float:
    from eigenlens import bandwidth

    return bandwidth(x, rule)


def r_bandwidth(x: np.ndarray, options: str = "") -> Timed:
    timed = in_r(f"found <- list(bw.SJ(A1[1,], method='ste'{options}))", x[None])
    return Timed(timed.seconds, float(timed.found[0][0, 0]))


def kdepy_isj(x: np.ndarray) -> float:
    from KDEpy.bw_selection import improved_sheather_jones

    return float(improved_sheather_jones(x[:, None]))


# ---- mixtures --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Start:
    """Rows (n, d), and the means that every contestant starts from with equal weights and one covariance."""

    X: np.ndarray
    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray
    structure: str
    steps: int


def blobs(small: bool, n: int, d: int, K: int, structure: str, steps: int) -> Start:
    """Gaussians that overlap, so that EM is still climbing after all its steps, and a start near their means."""
    rng = np.random.default_rng(0)
    n = n // 50 if small else n
    centres, label = 3.0 / np.sqrt(2.0 * d) * rng.standard_normal((K, d)), rng.integers(K, size=n)
    X = np.empty((n, d))
    for j in range(K):
        mine = label == j
        axes = rotation(d, rng) * np.sqrt(rng.uniform(0.2, 2.0, d))
        X[mine] = centres[j] + rng.standard_normal((mine.sum(), d)) @ axes.T
    full = np.tile(np.cov(X.T), (K, 1, 1))
    S = full if structure == "full" else np.einsum("kii->ki", full).copy()
    return Start(X, np.full(K, 1.0 / K), centres + 0.3 * rng.standard_normal((K, d)), S, structure, steps)


def eigenlens_mixture(start: Start) -> float:
    """One pass more than the peer: ours ends by judging the model that its last step made."""
    from eigenlens import GaussianMixture

    K = len(start.weights)
    init = (start.weights, start.means, start.covariances)
    gmm = GaussianMixture(
        K, covariance_type=start.structure, init=init, max_iter=start.steps + 1, tol=1e-300, accelerate=False
    )
    return float(gmm.fit(start.X).score(start.X) * len(start.X))


def scikit_learn_mixture(start: Start) -> float:
    from sklearn.mixture import GaussianMixture

    S = start.covariances
    precisions = np.linalg.inv(S) if S.ndim == 3 else 1.0 / S
    gmm = GaussianMixture(
        len(start.weights), covariance_type=start.structure, weights_init=start.weights, means_init=start.means,
        precisions_init=precisions, max_iter=start.steps, tol=0.0, reg_covar=0.0,
    )  # fmt: skip
    return float(gmm.fit(start.X).score(start.X) * len(start.X))


def likelihood(start: Any, found: float) -> dict[str, float]:
    return {"log-likelihood": found}


def same(figure: str, tolerance: float, name: str) -> contest.Target:
    """Our figure is that of the contestant of this name, to a relative tolerance."""

    def judge(results: contest.Results) -> contest.Verdict:
        ours, other = contest.own(results).figures.get(figure), results[name].figures.get(figure)
        asked = f"{figure} of {name} to {tolerance:g}"
        if ours is None or other is None:
            return contest.Verdict(asked, "not measured", None)
        gap = abs(ours / other - 1.0)
        return contest.Verdict(asked, f"{gap:.1e}", gap <= tolerance)

    return judge


def _mixture(n: int, d: int, K: int, structure: str, steps: int, factor: float) -> Contest:
    return Contest(
        f"mixture {n:,}×{d}, K={K}, {structure}, {steps} steps of EM from the same start",
        partial(blobs, n=n, d=d, K=K, structure=structure, steps=steps),
        {"Eigenlens": eigenlens_mixture, "scikit-learn": scikit_learn_mixture},
        likelihood,
        (faster(factor, "scikit-learn"), same("log-likelihood", 1e-8, "scikit-learn")),
    )


# ---- mixtures of few rows, from starts of their own ---------------------------------------------------------------


@dataclass(frozen=True)
class Few:
    """Rows (n, d), each counting weight (n,) times, and what is asked of their mixture."""

    X: np.ndarray
    weight: np.ndarray | None
    K: int
    structure: str


def iris(small: bool, K: int, structure: str) -> Few:
    from sklearn.datasets import load_iris

    return Few(load_iris().data, None, K, structure)


def wine(small: bool, K: int, structure: str) -> Few:
    from sklearn.datasets import load_wine

    return Few(load_wine().data, None, K, structure)


def eruptions(small: bool, K: int, structure: str) -> Few:
    """272 rows of two columns, as many and as far apart as those of Old Faithful."""
    rng = np.random.default_rng(5)
    short = rng.random((272, 1)) < 0.36
    X = np.where(short, rng.normal((2.0, 54.5), (0.26, 5.8), (272, 2)), rng.normal((4.3, 80.0), (0.41, 6.0), (272, 2)))
    return Few(X, None, K, structure)


def histogram(small: bool, K: int, structure: str) -> Few:
    """1,000 measurements of two overlapping groups, counted at 29 values."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0.633, 0.018, 415), rng.normal(0.656, 0.0125, 585)])
    counts, edges = np.histogram(x, bins=29)
    return Few(0.5 * (edges[1:] + edges[:-1])[:, None], counts.astype(np.float64), K, structure)


def eigenlens_few(few: Few) -> float:
    from eigenlens import GaussianMixture

    gmm = GaussianMixture(few.K, covariance_type=few.structure, random_state=0)
    return float(gmm.fit(few.X, sample_weight=few.weight).loglik_)


def scikit_learn_few(few: Few) -> float:
    """20 starts, as ours has; rows that count several times are given so often."""
    from sklearn.mixture import GaussianMixture

    X = few.X if few.weight is None else np.repeat(few.X, few.weight.astype(int), axis=0)
    gmm = GaussianMixture(few.K, covariance_type=few.structure, n_init=20, max_iter=1000, random_state=0).fit(X)
    return float(gmm.score(X) * len(X))


def _few(title: str, make: Callable[..., Few], K: int, structure: str) -> Contest:
    """The slack of the log-likelihood is for the 1e-6 that the peer adds to variances."""
    return Contest(
        f"mixture of {title}, K={K}, {structure}, 20 starts",
        partial(make, K=K, structure=structure),
        {"Eigenlens": eigenlens_few, "scikit-learn": scikit_learn_few},
        likelihood,
        (faster(1.0, "scikit-learn"), contest.highest("log-likelihood", 1e-3)),
    )


CONTESTS = {
    "kde-line": _line("gaussian", 0.05, 500.0),
    "kde-window": _line("epanechnikov", 0.1, 1000.0),
    "kde-window-far": _line("epanechnikov", 0.1, 1000.0, offset=1e6),
    "kde-2d": _cloud(2, 0.2),
    "kde-5d": _cloud(5, 0.5),
    "sheather-jones": Contest(
        "Sheather–Jones bandwidth of 1,000,000 points",
        humps,
        {
            "Eigenlens": partial(eigenlens_bandwidth, rule="sheather-jones"),
            "R bw.SJ": r_bandwidth,
            FINE: partial(r_bandwidth, options=", nb=20000, tol=1e-8"),
        },
        lambda x, h: {"bandwidth": h},
        (within(1.0, "R bw.SJ"), same("bandwidth", 1e-3, FINE)),
    ),
    "isj": Contest(
        "ISJ bandwidth of 1,000,000 points",
        humps,
        {
            "Eigenlens": partial(eigenlens_bandwidth, rule="isj"),
            "R bw.SJ": r_bandwidth,
            "KDEpy ISJ": kdepy_isj,
        },
        lambda x, h: {"bandwidth": h},
        (within(1.0, "R bw.SJ"),),
    ),
    "mixture-10": _mixture(200_000, 10, 10, "full", 50, 10.0),
    "mixture-50": _mixture(100_000, 50, 20, "full", 10, 8.0),
    "mixture-50-diag": _mixture(100_000, 50, 20, "diag", 50, 2.4),
    "mixture-iris": _few("iris, 150×4", iris, 3, "full"),
    "mixture-iris-diag": _few("iris, 150×4", iris, 3, "diag"),
    "mixture-iris-6": _few("iris, 150×4", iris, 6, "tied"),
    "mixture-wine": _few("wine, 178×13", wine, 3, "full"),
    "mixture-eruptions": _few("eruptions, 272×2", eruptions, 2, "full"),
    "mixture-histogram": _few("a histogram of 29 bars", histogram, 2, "full"),
}
"""Every contest by its name."""

if __name__ == "__main__":
    contest.main(CONTESTS, __doc__, "densities", ("scikit-learn", "KDEpy", "R"))
