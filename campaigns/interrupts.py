"""Ctrl-C at a random moment of a long fit: how soon the fit ends, and what becomes of the estimator.

A case ends well if the fit ends within a second, and the estimator is as it was before, or has the best model so far
and says so in a warning.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from campaigns.base import Outcome, Result, case_rng

LIMIT = 120.0
SOON = 1.0
"""Seconds within which a fit ends."""

LONG_FITS: list[tuple[str, dict[str, Any], int, int, float]] = [
    ("GaussianMixture", {"n_components": 12, "random_state": 0, "tol": 0.0}, 400_000, 12, 0.0),
    (
        "GaussianMixture",
        {"n_components": 8, "random_state": 0, "covariance_type": "diag", "tol": 0.0},
        1_000_000,
        10,
        0.0,
    ),
    ("GaussianMixture", {"n_components": 4, "random_state": 0, "tol": 0.0}, 30_000, 20, 0.2),
    ("ProbabilisticPCA", {"n_components": 8, "tol": 1e-15}, 200_000, 40, 0.2),
    ("FactorAnalysis", {"n_components": 6, "tol": 1e-15}, 200_000, 40, 0.2),
    ("PCA", {"n_components": 8, "missing": "em", "tol": 1e-15}, 200_000, 40, 0.2),
    ("PCA", {"n_components": 20, "solver": "lanczos", "tol": 1e-14}, 60_000, 1_000, 0.0),
    ("PCA", {"n_components": "parallel"}, 100_000, 200, 0.0),
    ("PCA", {"n_components": "cv"}, 50_000, 200, 0.0),
    ("SparsePCA", {"n_components": 10, "n_nonzero": 20}, 5_000, 400, 0.0),
    ("KernelPCA", {"n_components": 50}, 12_000, 10, 0.0),
    ("KernelPCA", {"n_components": 20, "approximation": "rpcholesky", "n_landmarks": 4_000}, 100_000, 20, 0.0),
    ("KernelDensity", {"bandwidth": "mlcv"}, 100_000, 3, 0.0),
    ("FactorAnalysis", {"n_components": 10}, 3_000, 1_500, 0.0),
    ("PCA", {}, 4_000, 3_000, 0.0),
    ("PCA", {"solver": "svd"}, 4_000, 2_000, 0.0),
    ("KernelPCA", {"n_components": 20, "solver": "dense"}, 8_000, 5, 0.0),
    ("KernelPCA", {"solver": "dense"}, 4_000, 5, 0.0),
]
"""Class, options, rows, columns, and the share of missing values, of fits that take long."""


def describe(seed: int, number: int) -> str:
    """Return the command that repeats a case."""
    name, options, n, d, missing = LONG_FITS[number % len(LONG_FITS)]
    shown = ", ".join(f"{key}={value!r}" for key, value in options.items())
    what = f"{name}({shown}), {n:,} rows of {d} columns" + (f", {missing:.0%} missing" if missing else "")
    return f"python -m campaigns interrupts --seed {seed} --first {number} --cases 1  # {what}"


def run_case(seed: int, number: int) -> Result:
    """Interrupt a fit in a process of its own."""
    command = [sys.executable, "-m", "campaigns.interrupts", str(seed), str(number)]
    wait = float(case_rng(seed, number).uniform(0.2, 8.0))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()  # the fit starts
        time.sleep(wait)
        child.send_signal(signal.SIGINT)
        start = time.monotonic()
        line = child.stdout.readline()
        took = time.monotonic() - start
    ended = json.loads(line) if line else "the process died"
    detail = f"interrupted after {wait:.1f} s, ended within {took:.2f} s: {ended}"
    fine = took <= SOON and ended in ("as before", "best so far", "finished")
    return Result(Outcome.OK if fine else Outcome.WRONG, describe(seed, number), detail)


def _rows(rng: np.random.Generator, n: int, d: int, missing: float) -> Any:
    X = rng.standard_normal((n, min(d, 10))) @ rng.standard_normal((min(d, 10), d)) + rng.standard_normal((n, d))
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
    return X


def fit_until_interrupted(seed: int, number: int) -> str:
    """Return how a long fit ended; a line on standard output says that it starts."""
    import eigenlens as el

    name, options, n, d, missing = LONG_FITS[number % len(LONG_FITS)]
    rng = case_rng(seed, number)
    few, X = _rows(rng, 3 * min(d, 50) + 20, min(d, 50), 0.0), _rows(rng, n, d, missing)
    small = {key: value for key, value in options.items() if key not in ("n_landmarks", "missing")}
    model = getattr(el, name)(**small | ({"n_components": 2} if "n_components" in small else {})).fit(few)
    model.set_params(**options)
    before = dict(vars(model))
    print("ready", flush=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X)
        except KeyboardInterrupt:
            same = vars(model).keys() == before.keys() and all(vars(model)[key] is before[key] for key in before)
            return "as before" if same else "changed"
    return "best so far" if any("interrupt" in str(each.message).lower() for each in caught) else "finished"


if __name__ == "__main__":
    # Where the parent ignores the signal, as a job of a shell does, the child would too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(json.dumps(fit_until_interrupted(*map(int, sys.argv[1:]))), flush=True)
