"""Every model in processes of one thread and of two: the same bits for the same number of threads, 1e-12 across them.

A case is a model with its data and its seed. It is fitted twice in two processes with each number of threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from campaigns.base import Outcome, Result, case_rng
from eigenlens.densities import GaussianFamily

LIMIT = 400.0
ACROSS = 1e-12
"""The largest relative difference between numbers of threads."""

THREADS = (1, 2)
RUNS = 2
"""Processes for each number of threads."""

Array = np.ndarray[Any, Any]
Rows = tuple[Array, Array]


def _numbers(rng: np.random.Generator, n: int = 6000, d: int = 12) -> Rows:
    y = rng.integers(0, 3, n)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 2.0 * y[:, None], y


def _incomplete(rng: np.random.Generator) -> Rows:
    X, y = _numbers(rng, 3000, 8)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def _wide(rng: np.random.Generator) -> Rows:
    return _numbers(rng, 300, 2000)


def _many_columns(rng: np.random.Generator) -> Rows:
    return _numbers(rng, 2000, 120)


def _few_columns(rng: np.random.Generator) -> Rows:
    return _numbers(rng, 5000, 2)


def _many_rows(rng: np.random.Generator) -> Rows:
    return _numbers(rng, 80_000, 5)


def _one_column(rng: np.random.Generator) -> Rows:
    return _numbers(rng, 150_000, 1)


def _square(rng: np.random.Generator) -> Rows:
    return _numbers(rng, 1500, 8)


MODELS: list[tuple[str, dict[str, Any], Callable[[np.random.Generator], Rows], str]] = [
    ("PCA", {}, _numbers, "transform"),
    ("PCA", {"n_components": 5}, _wide, "transform"),
    ("PCA", {"n_components": 5, "solver": "lanczos"}, _numbers, "transform"),
    ("PCA", {"n_components": 5, "solver": "svd"}, _numbers, "transform"),
    ("PCA", {"n_components": 3, "missing": "em"}, _incomplete, "transform"),
    ("SparsePCA", {"n_components": 2, "n_nonzero": 4}, _numbers, "transform"),
    ("KernelPCA", {"n_components": 5}, _square, "transform"),
    ("KernelPCA", {"n_components": 5, "kernel": "laplacian"}, _square, "transform"),
    ("KernelPCA", {"n_components": 5, "kernel": "poly"}, _square, "transform"),
    ("KernelPCA", {"n_components": 5, "solver": "dense"}, _square, "transform"),
    ("KernelPCA", {"n_components": 5, "approximation": "nystroem", "random_state": 0}, _square, "transform"),
    ("KernelPCA", {"n_components": 5, "approximation": "fourier", "random_state": 0}, _square, "transform"),
    ("KernelPCA", {"n_components": 5, "approximation": "rpcholesky", "random_state": 0}, _square, "transform"),
    ("ProbabilisticPCA", {"n_components": 3}, _numbers, "score_samples"),
    ("ProbabilisticPCA", {"n_components": 3}, _incomplete, "score_samples"),
    ("FactorAnalysis", {"n_components": 3}, _numbers, "score_samples"),
    ("FactorAnalysis", {"n_components": 2}, _incomplete, "score_samples"),
    ("GaussianMixture", {"n_components": 3, "random_state": 0}, _numbers, "score_samples"),
    ("GaussianMixture", {"n_components": 3, "random_state": 0, "covariance_type": "diag"}, _numbers, "score_samples"),
    ("GaussianMixture", {"n_components": 2, "random_state": 0}, _incomplete, "score_samples"),
    ("GaussianMixture", {"n_components": 3, "random_state": 0, "covariance_type": "tied"}, _numbers, "score_samples"),
    ("GaussianMixture", {"n_components": 3, "random_state": 0, "covariance_type": "ppca"}, _numbers, "score_samples"),
    ("GaussianMixture", {"n_components": 2, "random_state": 0, "covariance_type": "factor"}, _numbers, "score_samples"),
    (
        "GaussianMixture",
        {"n_components": 2, "random_state": 0, "covariance_type": "diag"},
        _incomplete,
        "score_samples",
    ),
    ("GaussianMixture", {"n_components": 2, "random_state": 0, "n_init": 2}, _many_columns, "score_samples"),
    ("MixtureModel", {"n_components": 3, "random_state": 0}, _numbers, "score_samples"),
    ("MixtureModel", {"n_components": 2, "random_state": 0}, _incomplete, "score_samples"),
    ("GaussianMixture", {"n_components": 3, "random_state": 0}, _many_rows, "score_samples"),
    ("KernelDensity", {}, _few_columns, "score_samples"),
    ("KernelDensity", {}, _one_column, "score_samples"),
    ("KernelDensity", {"kernel": "epanechnikov"}, _few_columns, "score_samples"),
    ("KernelDensity", {"adaptive": True}, _few_columns, "score_samples"),
    ("NaiveBayes", {}, _numbers, "predict_log_proba"),
    ("NaiveBayes", {}, _many_rows, "predict_log_proba"),
    ("BayesClassifier", {"density": GaussianFamily()}, _numbers, "predict_log_proba"),
    ("LinearDiscriminant", {}, _numbers, "predict_log_proba"),
    ("QuadraticDiscriminant", {}, _numbers, "predict_log_proba"),
]
"""Class, its options, its rows, and the method whose result is compared."""


def describe(seed: int, number: int) -> str:
    """Return the command that repeats a case."""
    name, options, rows, _ = MODELS[number % len(MODELS)]
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
    return (
        f"python -m campaigns threads --seed {seed} --first {number} --cases 1  # {name}({shown}), {rows.__name__[1:]}"
    )


def run_case(seed: int, number: int) -> Result:
    """Fit a model in processes of their own, and compare."""
    found = {threads: [_in_process(seed, number, threads) for _ in range(RUNS)] for threads in THREADS}
    for threads, runs in found.items():
        if any(run != runs[0] for run in runs):
            return Result(Outcome.WRONG, describe(seed, number), f"runs of {threads} threads differ")
    values, likelihoods = (_apart(*(runs[0][name] for runs in found.values())) for name in ("values", "loglik"))
    fine = max(values, likelihoods) <= ACROSS
    detail = f"numbers of threads: {values:.1e} apart, log-likelihoods {likelihoods:.1e}"
    return Result(Outcome.OK if fine else Outcome.WRONG, describe(seed, number), detail)


def _apart(one: list[str], two: list[str]) -> float:
    """Return the largest difference of numbers, as a share of the largest; 0 where there are none."""
    a, b = (np.array(list(map(float.fromhex, texts))) for texts in (one, two))
    return float(np.max(np.abs(a - b)) / np.max(np.abs(a))) if a.size else 0.0


def _in_process(seed: int, number: int, threads: int) -> Any:
    """Return what a process of this many threads finds: the same in the first fit and in the second."""
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    command = [sys.executable, "-W", "ignore", "-m", "campaigns.threads", str(seed), str(number)]
    done = subprocess.run(command, env=os.environ | limits, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def fit_twice(seed: int, number: int) -> dict[str, Any]:
    """Return values of a fitted model, to the last bit; an error if a second fit in the same process differs."""
    import eigenlens as el

    name, options, rows, method = MODELS[number % len(MODELS)]
    X, y = rows(case_rng(seed, number))
    found = []
    for _ in range(2):
        model = getattr(el, name)(**options).fit(X, y)
        values = np.asarray(getattr(model, method)(X[:200]), dtype=np.float64)
        found.append([value.hex() for value in values.ravel().tolist()])
    if found[0] != found[1]:
        raise AssertionError(f"two fits of {name} in one process differ")
    loglik = [float(model.loglik_).hex()] if hasattr(model, "loglik_") else []
    return {"values": found[0], "loglik": loglik}


if __name__ == "__main__":
    print(json.dumps(fit_twice(*map(int, sys.argv[1:]))))
