"""Probabilistic PCA and factor analysis beside scikit-learn, R's factanal and pcaMethods, and pyppca.

python benchmarks/latent.py                 all contests
python benchmarks/latent.py --only factor-100 --repeat 3
python benchmarks/latent.py --scale small   to try the benchmark itself; its numbers say nothing
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import contest
from contest import Contest, Timed, faster, highest, in_r, within
from data import tall


@dataclass(frozen=True)
class Rows:
    """Rows with gaps, or without, what stood in the gaps, and the number of latent dimensions."""

    X: np.ndarray
    whole: np.ndarray
    k: int


def latent_rows(small: bool, n: int, d: int, k: int, *, gaps: float, equal_noise: bool, seed: int = 0) -> Rows:
    """x = W z + mu + e with standard normal W; deviations of e of ½, or between ½ and 1½."""
    rng = np.random.default_rng(seed)
    n, d, k = (max(200, n // 20), max(10, d // 5), max(2, k // 5)) if small else (n, d, k)
    W = rng.standard_normal((d, k))
    spread = 0.5 if equal_noise else rng.uniform(0.5, 1.5, d)
    whole = rng.standard_normal((n, k)) @ W.T + spread * rng.standard_normal((n, d)) + rng.standard_normal(d)
    X = np.where(rng.random((n, d)) < gaps, np.nan, whole)
    return Rows(X, whole, k)


# ---- judges ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """A latent Gaussian: mu (d,), W (d, k), Psi (d,); and the rows with their gaps filled where there were any."""

    mean: np.ndarray
    loadings: np.ndarray
    noise: np.ndarray
    filled: np.ndarray | None = None

    @property
    def covariance(self) -> np.ndarray:
        return self.loadings @ self.loadings.T + np.diag(np.broadcast_to(self.noise, self.mean.shape))


def complete_likelihood(rows: Rows, found: Found) -> dict[str, float]:
    """−n/2 (log |2πC| + tr C⁻¹S), by the covariance of the rows, and the gradient's largest entry in log psi."""
    n, C = len(rows.X), found.covariance
    centred = rows.X - found.mean
    S = centred.T @ centred / n
    P = np.linalg.inv(C)
    loglik = -0.5 * n * (np.linalg.slogdet(2.0 * np.pi * C)[1] + np.sum(P * S))
    gradient = found.noise * np.diag(P - P @ S @ P)
    return {"log-likelihood": float(loglik), "gradient": float(np.abs(gradient).max())}


def observed_likelihood(rows: Rows, found: Found) -> dict[str, float]:
    """Row by row by the covariance of what is observed; and the root mean square error of what was filled in."""
    total, C = 0.0, found.covariance
    for x in rows.X:
        o = ~np.isnan(x)
        L = np.linalg.cholesky(C[np.ix_(o, o)])
        y = np.linalg.solve(L, (x - found.mean)[o])
        total -= 0.5 * (y @ y + o.sum() * np.log(2.0 * np.pi)) + np.log(np.diag(L)).sum()
    assert found.filled is not None
    gaps = np.isnan(rows.X)
    rmse = float(np.sqrt(np.mean((found.filled - rows.whole)[gaps] ** 2)))
    return {"log-likelihood": float(total), "rmse": rmse}


# ---- contestants -------------------------------------------------------------------------------------------


def eigenlens_factor(rows: Rows) -> Found:
    from eigenlens import FactorAnalysis

    model = FactorAnalysis(rows.k).fit(rows.X).model_
    return Found(model.mean, model.loadings, np.asarray(model.noise))


def scikit_learn_factor(rows: Rows, **options: Any) -> Found:
    from sklearn.decomposition import FactorAnalysis

    fa = FactorAnalysis(rows.k, **options).fit(rows.X)
    return Found(fa.mean_, fa.components_.T, fa.noise_variance_)


def factanal(rows: Rows) -> Timed:
    script = f"f <- factanal(A1, {rows.k}, rotation='none'); found <- list(unclass(f$loadings), f$uniquenesses)"
    timed = in_r(script, rows.X)
    loadings, uniquenesses = timed.found
    s = rows.X.std(axis=0)
    return Timed(timed.seconds, Found(rows.X.mean(axis=0), loadings * s[:, None], uniquenesses.ravel() * s**2))


def eigenlens_ppca(rows: Rows) -> Found:
    from eigenlens import ProbabilisticPCA

    ppca = ProbabilisticPCA(rows.k).fit(rows.X)
    return Found(ppca.mean_, ppca.loadings_, np.full(len(ppca.mean_), ppca.noise_variance_), ppca.impute(rows.X))


def pyppca(rows: Rows) -> Found:
    """It returns orthonormal axes C and scores Z; the loadings of its model are C (var Z − ss)^½.

    It starts at random, and its time with it (0.12 to 0.20 s on the first contest): every run has the same seed.
    """
    from pyppca import ppca

    np.random.seed(0)  # noqa: NPY002  its only source of randomness
    C, ss, M, Z, filled = ppca(rows.X.copy(), rows.k, False)
    W = np.real(C) * np.sqrt(np.maximum(np.var(np.real(Z), axis=0) - ss, 0.0))
    return Found(np.asarray(M).ravel(), W, np.full(len(W), ss), filled)


def pca_methods(rows: Rows) -> Timed:
    script = (
        "suppressPackageStartupMessages(library(pcaMethods)); set.seed(1);"
        f"f <- pca(A1, method='ppca', nPcs={rows.k}, seed=1); found <- list(completeObs(f))"
    )
    return in_r(script, rows.X, runs=1)


def judge_gaps(rows: Rows, found: Any) -> dict[str, float]:
    """pcaMethods does not give its noise variance, so it is judged by what it filled in alone."""
    if isinstance(found, list):
        gaps = np.isnan(rows.X)
        return {"rmse": float(np.sqrt(np.mean((found[0] - rows.whole)[gaps] ** 2)))}
    return observed_likelihood(rows, found)


def ppca(X: np.ndarray) -> Any:
    from eigenlens import ProbabilisticPCA

    return ProbabilisticPCA(10).fit(X)


def pca(X: np.ndarray) -> Any:
    from eigenlens import PCA

    return PCA(10).fit(X)


SCIKIT_LEARN, EXACT = "scikit-learn", "scikit-learn lapack, tol 1e-8"


def _factor(n: int, d: int, k: int, targets: tuple[contest.Target, ...]) -> Contest:
    return Contest(
        f"factor analysis {n:,}×{d}, k={k}",
        partial(latent_rows, n=n, d=d, k=k, gaps=0.0, equal_noise=False),
        {
            "Eigenlens": eigenlens_factor,
            "R factanal": factanal,
            SCIKIT_LEARN: scikit_learn_factor,
            EXACT: partial(scikit_learn_factor, svd_method="lapack", tol=1e-8, max_iter=10_000),
        },
        complete_likelihood,
        (*targets, highest("log-likelihood", 1e-6), contest.at_most("gradient", 1e-6)),
    )


def _gaps(n: int, d: int, k: int) -> Contest:
    return Contest(
        f"probabilistic PCA, 20% missing, {n:,}×{d}, k={k}",
        partial(latent_rows, n=n, d=d, k=k, gaps=0.2, equal_noise=True),
        {"Eigenlens": eigenlens_ppca, "pyppca": pyppca, "R pcaMethods": pca_methods},
        judge_gaps,
        (faster(4.0, "pyppca"), faster(4.0, "R pcaMethods"), highest("log-likelihood")),
    )


CONTESTS = {
    "factor-100": _factor(10_000, 100, 10, (faster(6.0, "R factanal"), faster(15.0, SCIKIT_LEARN))),
    "factor-500": _factor(2_000, 500, 20, (faster(6.0, SCIKIT_LEARN),)),
    "gaps-50": _gaps(5_000, 50, 5),
    "gaps-200": _gaps(2_000, 200, 10),
    "ppca-complete": Contest(
        "probabilistic PCA, complete 1,000,000×100, k=10",
        lambda small: tall(20_000 if small else 1_000_000, 100, "float64"),
        {"Eigenlens": ppca, "Eigenlens PCA": pca},
        lambda X, found: {"variances": float(np.sum(np.asarray(found.get_covariance())[:3, :3]))},
        (within(1.05, "Eigenlens PCA"),),
    ),
}
"""Every contest by its name."""

if __name__ == "__main__":
    contest.main(CONTESTS, __doc__, "latent", ("scikit-learn", "pyppca", "R"))
