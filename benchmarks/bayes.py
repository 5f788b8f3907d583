"""Naive Bayes with Gaussians, levels, text and kernel densities, and linear discriminants, beside scikit-learn.

python benchmarks/bayes.py                 all contests
python benchmarks/bayes.py --only gaussian kernels --repeat 3
python benchmarks/bayes.py --scale small   to try the benchmark itself; its numbers say nothing
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

import contest
from contest import Contest, Target, Timed, at_most, faster, part, within

CLASSES, LEVELS = 5, 10
CHECKED = 100
"""Rows at which log densities are compared with the definition."""

SKLEARN, ENCODING, CATEGORICAL = "scikit-learn", "encoding alone", 'Eigenlens, features="categorical"'


@dataclass(frozen=True)
class Task:
    """Training rows X (n, d) with classes y (n,), rows Q to classify, and what the definition says of Q."""

    X: Any
    y: np.ndarray
    Q: Any
    truth: np.ndarray


def differing(task: Task, found: np.ndarray) -> dict[str, float]:
    """How many predictions are not those of the definition, and the share that is the true class.

    Nothing for what is no classifier, or learned from fewer rows than the definition.
    """
    if len(found) < len(task.y):
        return {}
    return {"rows that differ": float(np.sum(found != task.truth)), "accuracy": float(np.mean(found == task.y))}


# ---- Gaussians -------------------------------------------------------------------------------------------------


def gaussian_rows(small: bool) -> Task:
    n, rng = 20_000 if small else 1_000_000, np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    X = rng.standard_normal((n, 50)) * rng.uniform(0.5, 1.5, (CLASSES, 50))[y]
    X += 0.2 * rng.standard_normal((CLASSES, 50))[y]
    return Task(X, y, X, gaussian_classes(X, y))


def gaussian_classes(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """argmax ln p(c) − ½ Σ_j ln 2πs² + (x − m)² / s², class by class."""
    joint = np.empty((len(X), CLASSES))
    for c in range(CLASSES):
        mean, variance = X[y == c].mean(axis=0), X[y == c].var(axis=0)
        for start in range(0, len(X), 50_000):
            some = slice(start, start + 50_000)
            joint[some, c] = -0.5 * np.sum((X[some] - mean) ** 2 / variance + np.log(variance), axis=1)
        joint[:, c] += np.log(np.mean(y == c))
    return joint.argmax(axis=1)


def eigenlens_classes(task: Task, features: str = "auto") -> np.ndarray:
    from eigenlens import NaiveBayes

    return NaiveBayes(features).fit(task.X, task.y).predict(task.Q)


def scikit_learn_gaussian(task: Task) -> np.ndarray:
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB().fit(task.X, task.y).predict(task.Q)


def reading(task: Task) -> np.ndarray:
    """No classifier, but the rows read twice."""
    return np.array([task.X.sum(), task.X.sum()])


# ---- levels ----------------------------------------------------------------------------------------------------


def level_rows(small: bool) -> Task:
    n, rng = 20_000 if small else 1_000_000, np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    ends = np.cumsum(rng.dirichlet(np.full(LEVELS, 5.0), (CLASSES, 20)), axis=2)
    X = np.empty((n, 20), dtype=np.int64)
    for j in range(20):
        X[:, j] = np.minimum((rng.random(n)[:, None] > ends[y, j]).sum(axis=1), LEVELS - 1)
    return Task(X, y, X, level_classes(X, y))


def level_classes(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """argmax ln p(c) + Σ_j ln (n_jlc + 1) / (n_c + levels)."""
    joint = np.tile(np.log(np.bincount(y) / len(y)), (len(X), 1))
    for x in X.T:
        counts = np.zeros((LEVELS, CLASSES))
        np.add.at(counts, (x, y), 1.0)
        joint += np.log((counts + 1.0) / (counts.sum(axis=0) + LEVELS))[x]
    return joint.argmax(axis=1)


def scikit_learn_levels(task: Task) -> np.ndarray:
    from sklearn.naive_bayes import CategoricalNB

    return CategoricalNB().fit(task.X, task.y).predict(task.Q)


def faster_too(name: str, factor: float, than: str) -> Target:
    """Another contestant than the first is at least `factor` times as fast as the contestant of this name."""

    def judge(results: contest.Results) -> contest.Verdict:
        asked, one, peer = f"{name}: ≥ {factor:g}× {than}", results[name], results[than]
        if not (one.times and peer.times):
            return contest.Verdict(asked, "not measured", None)
        ratio = peer.seconds / one.seconds
        return contest.Verdict(asked, f"{ratio:.1f}×", ratio >= factor)

    return judge


# ---- text ------------------------------------------------------------------------------------------------------


def text_rows(small: bool) -> Task:
    """The same levels as words, in a Polars frame."""
    import polars as pl

    task = level_rows(small)
    words = np.array([f"level {k}" for k in range(LEVELS)])
    frame = pl.DataFrame({f"column {j}": words[x] for j, x in enumerate(task.X.T)})
    return Task(frame, task.y, frame, task.truth)


def encoding(task: Task) -> np.ndarray:
    """No classifier, but the codes of all words, once to fit and once to predict."""
    import polars as pl

    for frame in (task.X, task.Q):
        for column in frame.iter_columns():
            codes = column.cast(pl.Categorical).to_physical().to_numpy()
    return codes[:0]


def scikit_learn_text(task: Task) -> np.ndarray:
    from sklearn.naive_bayes import CategoricalNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    return make_pipeline(OrdinalEncoder(dtype=np.int64), CategoricalNB()).fit(task.X, task.y).predict(task.Q)


def first_rows(task: Task, share: float) -> Timed:
    n = max(1, int(share * len(task.y)))
    return part(scikit_learn_text, Task(task.X[:n], task.y[:n], task.Q[:n], task.truth[:n]), share, "rows")


# ---- kernel densities ------------------------------------------------------------------------------------------


def kernel_rows(small: bool) -> Task:
    """Rows of two humps a column; one in a thousand rows to classify is far out. The truth is ln p(x, c) of some."""
    n, rng = 2_000 if small else 50_000, np.random.default_rng(0)
    centres = rng.standard_normal((2, CLASSES, 20))
    y = rng.integers(0, CLASSES, n)

    def draw() -> np.ndarray:
        humps = rng.integers(0, 2, (n, 20))
        return centres[humps, y[:, None], np.arange(20)] + 0.5 * rng.standard_normal((n, 20))

    X, Q = draw(), draw()
    Q[:: max(1, n // 50)] *= 100.0
    return Task(X, y, Q, kernel_logs(X, y, Q[checked(n)]))


def checked(n: int) -> np.ndarray:
    """Places of rows, every second of which is far out."""
    far = np.arange(0, n, max(1, n // 50))[: CHECKED // 2]
    return np.sort(np.r_[far, far + 1])


def kernel_logs(X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """ln p(x_j | c) (rows, columns, C) by the definition, with h = (max − min) / √n in each class."""
    found = np.empty((len(Q), X.shape[1], CLASSES))
    for c in range(CLASSES):
        for j in range(X.shape[1]):
            x = X[y == c, j]
            h = bandwidth(x)
            found[:, j, c] = logsumexp(-0.5 * ((Q[:, j, None] - x) / h) ** 2, axis=1) - np.log(
                len(x) * h * np.sqrt(2.0 * np.pi)
            )
    return found


def bandwidth(x: np.ndarray) -> float:
    return float(np.ptp(x) / np.sqrt(len(x)))


def eigenlens_kernels(task: Task) -> np.ndarray:
    from eigenlens import NaiveBayes

    return NaiveBayes("kde").fit(task.X, task.y).predict_joint_log_proba(task.Q)


def scikit_learn_kernels(task: Task) -> np.ndarray:
    """ln p(x_0 | c) (rows, C): the first column alone."""
    from sklearn.neighbors import KernelDensity

    columns = []
    for c in range(CLASSES):
        x = task.X[task.y == c, :1]
        columns.append(KernelDensity(bandwidth=bandwidth(x)).fit(x).score_samples(task.Q[:, :1]))
    return np.stack(columns, axis=1)


def one_column(task: Task, share: float) -> Timed:
    """The first column of 20, and of the rows to classify the first share."""
    n = max(1, int(share * len(task.Q)))
    timed = part(scikit_learn_kernels, Task(task.X, task.y, task.Q[:n], task.truth), share / 20.0, "work")
    return Timed(timed.seconds, timed.found, f"extrapolated from one column of 20 and {share:.0%} of the rows")


def kernel_error(task: Task, found: np.ndarray) -> dict[str, float]:
    """The largest relative error of ln p, near and far out; of the first column for a contestant with no more."""
    rows = checked(len(task.Q))
    rows, truth = rows[rows < len(found)], task.truth[rows < len(found)]
    if len(found) == len(task.Q):
        expected = truth.sum(axis=1) + np.log(np.bincount(task.y) / len(task.y))
    else:
        expected = truth[:, 0]
    return {"error": float(np.max(np.abs(found[rows] / expected - 1.0)))}


# ---- linear discriminants --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ready(Task):
    """A task with rules that have been fitted to it already, by contestant."""

    rules: dict[str, Any]


def linear_rows(small: bool, n: int, d: int) -> Task:
    """Classes of one covariance, whose columns depend on one another."""
    n, rng = n // 10 if small else n, np.random.default_rng(0)
    y = rng.integers(0, CLASSES, n)
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    X += 2.0 / np.sqrt(d) * rng.standard_normal((CLASSES, d))[y]
    return Task(X, y, X, linear_classes(X, y))


def linear_classes(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """argmax ln p(c) + w_c·(x − m_c / 2), w_c = S⁻¹ m_c, S the covariance about the means of classes."""
    means = np.stack([X[y == c].mean(axis=0) for c in range(CLASSES)])
    D = X - means[y]
    W = np.linalg.solve(D.T @ D / len(X), means.T)
    return np.argmax(X @ W - 0.5 * np.sum(W * means.T, axis=0) + np.log(np.bincount(y) / len(y)), axis=1)


def fitted_rows(small: bool, n: int, d: int) -> Ready:
    task = linear_rows(small, n, d)
    rules = {name: make().fit(task.X, task.y) for name, make in LINEAR.items()}
    return Ready(task.X, task.y, task.Q, task.truth, rules)


def eigenlens_linear() -> Any:
    from eigenlens import LinearDiscriminant

    return LinearDiscriminant()


def scikit_learn_linear() -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis()


LINEAR = {"Eigenlens": eigenlens_linear, SKLEARN: scikit_learn_linear}


def fit_linear(task: Task, name: str) -> Timed:
    """Only the fit is timed; what it predicts is judged."""
    started = time.perf_counter()
    rule = LINEAR[name]().fit(task.X, task.y)
    seconds = time.perf_counter() - started
    return Timed(seconds, rule.predict(task.Q))


def use_linear(task: Ready, name: str) -> np.ndarray:
    rule = task.rules[name]
    rule.predict_proba(task.Q)
    rule.transform(task.Q)
    return rule.predict(task.Q)


def linear(title: str, n: int, d: int, make: Callable[..., Task], work: Callable[..., Any]) -> Contest:
    return Contest(
        f"linear discriminants, {n:,}×{d:,}, {CLASSES} classes, {title}",
        partial(make, n=n, d=d),
        {name: partial(work, name=name) for name in LINEAR},
        differing,
        (faster(1.0, SKLEARN), at_most("rows that differ", 0.0)),
    )


USES = "predict_proba, transform and predict"

CONTESTS = {
    "gaussian": Contest(
        "Gaussian, 1,000,000×50, 5 classes, fit and predict",
        gaussian_rows,
        {"Eigenlens": eigenlens_classes, SKLEARN: scikit_learn_gaussian, "reading twice": reading},
        differing,
        (faster(5.0, SKLEARN), at_most("rows that differ", 0.0)),
    ),
    "levels": Contest(
        "categorical, 1,000,000×20 integers of 10 levels, fit and predict",
        level_rows,
        {
            "Eigenlens": eigenlens_classes,
            CATEGORICAL: partial(eigenlens_classes, features="categorical"),
            SKLEARN: scikit_learn_levels,
        },
        differing,
        (faster(20.0, SKLEARN), faster_too(CATEGORICAL, 20.0, SKLEARN), at_most("rows that differ", 0.0)),
    ),
    "text": Contest(
        "categorical, 1,000,000×20 words of 10 levels in a Polars frame, fit and predict",
        text_rows,
        {"Eigenlens": eigenlens_classes, ENCODING: encoding, SKLEARN: partial(first_rows, share=0.02)},
        differing,
        (within(3.0, ENCODING), at_most("rows that differ", 0.0)),
    ),
    "kernels": Contest(
        "kernel densities, 50,000×20, 5 classes, fit and ln p(x, c) of 50,000 others",
        kernel_rows,
        {"Eigenlens": eigenlens_kernels, SKLEARN: partial(one_column, share=0.04)},
        kernel_error,
        (faster(200.0, SKLEARN), at_most("error", 1e-9)),
    ),
    "linear-fit": linear("fit", 1_000_000, 50, linear_rows, fit_linear),
    "linear-rule": linear(USES, 1_000_000, 50, fitted_rows, use_linear),
    "wide-fit": linear("fit", 20_000, 1_000, linear_rows, fit_linear),
    "wide-rule": linear(USES, 20_000, 1_000, fitted_rows, use_linear),
}
"""Every contest by its name."""

if __name__ == "__main__":
    contest.main(CONTESTS, __doc__, "bayes", ("scikit-learn", "polars"))
