"""Small problems beside scikit-learn: what a fit, or a few rows, cost when a loop calls them thousands of times.

python benchmarks/small.py [--only mixture] [--repeat 200] [--write]

The rows are Fisher's irises, 150 × 4, on one thread. Both libraries take the same work in turn in one process, and the
best time of each counts. scikit-learn keeps its defaults (one start of a mixture; ours has forty, and the table shows
both log-likelihoods; further lines compare as many starts, and one and the same start). The exit code is 1 if
scikit-learn is faster anywhere.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np
from sklearn import datasets, decomposition, discriminant_analysis, mixture, naive_bayes, neighbors

import eigenlens
import results

Work = Callable[[], Any]
X, y = datasets.load_iris(return_X_y=True)
SECONDS = 4.0
"""Time that one line of the table may take."""


class Pair(NamedTuple):
    """Work of ours and of scikit-learn's, and what the table says about their results."""

    ours: Work
    theirs: Work
    note: Callable[[Any, Any], str] = lambda ours, theirs: ""


def log_likelihoods(ours: Any, theirs: Any) -> str:
    """The log-likelihood per row of both."""
    return f"log-likelihood {float(ours.score(X)):.4f}, scikit-learn's {float(theirs.score(X)):.4f}"


def both(ours: Any, theirs: Any, *, note: Callable[[Any, Any], str] = lambda ours, theirs: "") -> dict[str, Pair]:
    """The fits of two estimators of the same model, and what the fitted ones do with one row and with all."""
    found = {"fit": Pair(lambda: ours.fit(X, y), lambda: theirs.fit(X, y), note)}
    ours.fit(X, y), theirs.fit(X, y)
    for name, other in (("transform", "transform"), ("predict", "predict"), ("score_samples", "score_samples")):
        if not (hasattr(ours, name) and hasattr(theirs, other)):
            continue
        for rows in (X[:1], X):
            size = f"{len(rows)} row{'s' if len(rows) > 1 else ''}"
            found[f"{name}, {size}"] = Pair(_call(ours, name, rows), _call(theirs, other, rows))
    return found


def _call(estimator: Any, name: str, rows: Any) -> Work:
    return lambda: getattr(estimator, name)(rows)


def cases() -> dict[str, dict[str, Pair]]:
    """All work, by the name of the model."""
    e = eigenlens
    shared = {"kernel": "rbf", "gamma": 0.25}
    mixtures = {
        f"GaussianMixture(3), {kind}": both(
            e.GaussianMixture(3, covariance_type=ours, random_state=0),
            mixture.GaussianMixture(3, covariance_type=theirs, random_state=0),
            note=log_likelihoods,
        )
        for kind, ours, theirs in (("full", "full", "full"), ("diagonal", "diag", "diag"))
    }
    shares, means, covariances = np.full(3, 1.0 / 3.0), X[[0, 60, 120]], np.stack([np.cov(X.T)] * 3)
    alike = {"weights_init": shares, "means_init": means, "precisions_init": np.linalg.inv(covariances)}
    exact = {"tol": 1e-10, "max_iter": 1000}
    mixtures |= {
        "GaussianMixture(3), full, 40 starts each": both(
            e.GaussianMixture(3, random_state=0),  # n_init=20 of each of two kinds
            mixture.GaussianMixture(3, n_init=40, init_params="k-means++", random_state=0),
            note=log_likelihoods,
        ),
        "GaussianMixture(3), full, the same start and tol=1e-10": both(
            e.GaussianMixture(3, init=(shares, means, covariances), **exact),
            mixture.GaussianMixture(3, **alike, **exact),
            note=log_likelihoods,
        ),
    }
    return {
        "PCA(2)": both(e.PCA(2), decomposition.PCA(2)),
        "KernelPCA(2)": both(e.KernelPCA(2, **shared), decomposition.KernelPCA(2, **shared)),
        "ProbabilisticPCA(2)": both(e.ProbabilisticPCA(2), decomposition.PCA(2)),
        "FactorAnalysis(1)": both(e.FactorAnalysis(1), decomposition.FactorAnalysis(1), note=log_likelihoods),
        "FactorAnalysis(2)": both(e.FactorAnalysis(2), decomposition.FactorAnalysis(2), note=log_likelihoods),
        **mixtures,
        "NaiveBayes": both(e.NaiveBayes(), naive_bayes.GaussianNB()),
        "LinearDiscriminant": both(e.LinearDiscriminant(), discriminant_analysis.LinearDiscriminantAnalysis()),
        "QuadraticDiscriminant": both(e.QuadraticDiscriminant(), discriminant_analysis.QuadraticDiscriminantAnalysis()),
        "KernelDensity(0.5)": both(e.KernelDensity(bandwidth=0.5), neighbors.KernelDensity(bandwidth=0.5)),
    }


def best_times(pair: Pair, repeat: int) -> tuple[float, float]:
    """The best time of each in seconds, in turn, after one run of both."""
    pair.ours(), pair.theirs()
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + SECONDS
    while len(times[0]) < repeat and (len(times[0]) < 3 or time.perf_counter() < end):
        for work, kept in zip(pair[:2], times, strict=True):
            start = time.perf_counter()
            work()
            kept.append(time.perf_counter() - start)
    return min(times[0]), min(times[1])


def run(chosen: dict[str, dict[str, Pair]], repeat: int) -> tuple[list[tuple[str, ...]], bool]:
    """The lines of the table, and whether ours is at least as fast in each."""
    lines, good = [], True
    for model, pairs in chosen.items():
        for work, pair in pairs.items():
            ours, theirs = best_times(pair, repeat)
            good = good and theirs >= ours
            note = pair.note(pair.ours(), pair.theirs())
            lines.append((f"{model}: {work}", *_in_words(ours, theirs), "met" if theirs >= ours else "missed", note))
            print(*lines[-1], sep=" | ", flush=True)
    return lines, good


def _in_words(ours: float, theirs: float) -> tuple[str, str, str]:
    return f"{1e3 * ours:.3g} ms", f"{1e3 * theirs:.3g} ms", f"{theirs / ours:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="models whose names contain this, whatever the case")
    parser.add_argument("--repeat", type=int, default=200, help="runs of each at most; the best counts (default 200)")
    parser.add_argument("--write", action="store_true", help="keep the result in results/ and README.md")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # scikit-learn's FactorAnalysis may need more steps than its default
    chosen = {name: pairs for name, pairs in cases().items() if given.only.lower() in name.lower()}
    lines, good = run(chosen, given.repeat)
    if given.write:
        head = ("work on 150 × 4", "Eigenlens", "scikit-learn", "its time / ours", "verdict", "note")
        part: results.Part = {"before": "", "table": results.table(head, lines), "after": ""}
        results.write(results.compared("small", ("numpy", "scipy", "scikit-learn"), [part]))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
