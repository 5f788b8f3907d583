"""Fits and densities of hard data against references of more digits, with scikit-learn's error beside.

A case ends well if its relative error is at most 1e-13, or at most ten times that of scikit-learn. References are
computed in extended precision, or from the same data at a friendlier place.

    python -m campaigns.accuracy      # the table of all cases
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from math import erfc, sqrt
from typing import Any

import numpy as np
from sklearn import decomposition, discriminant_analysis, mixture, naive_bayes, neighbors

import eigenlens as el
from campaigns.accuracy_extremes import EXTREME_CASES
from campaigns.accuracy_references import (
    AccuracyCase,
    Comparison,
    centred_rows,
    exact,
    gaussian_log_density,
    kernel_log_density,
    principal_axes,
)
from campaigns.base import Outcome, Result, case_rng, figures

LIMIT = 120.0
GOOD_ENOUGH, FACTOR = 1e-13, 10.0

Array = np.ndarray[Any, Any]
Rng = np.random.Generator


def _error(found: Any, wanted: Any, scale: Any) -> float:
    """Return the largest relative error; infinite where an entry is not finite and should be."""
    found, wanted = np.asarray(found, dtype=np.longdouble), np.asarray(wanted, dtype=np.longdouble)
    apart = np.where(found == wanted, 0.0, np.abs(found - wanted))
    size = np.abs(wanted) if scale is None else np.asarray(scale, dtype=np.longdouble)
    error = apart / np.where(size > 0.0, size, 1.0)
    return float(np.max(np.where(np.isnan(error), np.inf, error), initial=0.0))


# ---- principal components -------------------------------------------------------------------------------------


def _correlated(rng: Rng, n: int = 200, d: int = 4) -> Array:
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d))


def _grid(rng: Rng, n: int = 200, d: int = 4) -> Array:
    """Rows on a grid of 2⁻¹⁰, to which offsets can be added without rounding."""
    return np.round(1024.0 * _correlated(rng, n, d)) / 1024.0


def _variances(X: Array, ours: Any = None, weight: Array | None = None, graded: bool = False) -> Comparison:
    """Compare all variances; of `graded` ones relative to √(λ λ₁), what rounding of the rows does to the smallest."""
    with_weight = {} if weight is None else {"sample_weight": weight}
    model = (ours or el.PCA()).fit(X, **with_weight)
    k = model.explained_variance_.size
    theirs = None if weight is not None else decomposition.PCA(k).fit(X).explained_variance_
    wanted = principal_axes(centred_rows(X, weight))[0][:k]
    return Comparison(model.explained_variance_, theirs, wanted, np.sqrt(wanted * wanted[0]) if graded else None)


def _partial_fits(X: Array) -> Comparison:
    ours, theirs = el.PCA(), decomposition.IncrementalPCA()
    for part in np.array_split(X, 10):
        ours.partial_fit(part)
        theirs.partial_fit(part)
    return Comparison(ours.explained_variance_, theirs.explained_variance_, principal_axes(centred_rows(X))[0])


def _orthogonal(rng: Rng, n: int, d: int) -> Array:
    Q = np.linalg.qr(rng.standard_normal((n, d)))[0]
    return np.asarray(Q - Q.mean(axis=0))


def _decades(rng: Rng) -> Comparison:
    X = _orthogonal(rng, 60, 5) * np.logspace(0.0, -12.0, 5) @ np.linalg.qr(rng.standard_normal((5, 5)))[0]
    wanted = principal_axes(centred_rows(X))[0]
    theirs = decomposition.PCA(svd_solver="full").fit(X).explained_variance_
    return Comparison(el.PCA().fit(X).explained_variance_, theirs, wanted, np.sqrt(wanted * wanted[0]))


def _transformed(X: Array, offset: float) -> Comparison:
    """Scores do not depend on an offset."""
    here, there = (decomposition.PCA(3, svd_solver="full") for _ in range(2))
    wanted = el.PCA(3).fit_transform(X)
    theirs, base = there.fit_transform(X + offset), here.fit_transform(X)
    apart = np.abs(wanted).max()
    return Comparison(el.PCA(3).fit_transform(X + offset) - wanted, theirs - base, np.zeros(wanted.shape), apart)


PCA_CASES = [
    *(
        AccuracyCase(f"PCA, offset {o:g}", lambda rng, o=o: _variances(_grid(rng) + o))
        for o in (0.0, 1e6, 1e8, 1e10, 1e12)
    ),
    *(
        AccuracyCase(f"PCA, ten partial fits, offset {o:g}", lambda rng, o=o: _partial_fits(_grid(rng) + o))
        for o in (0.0, 1e6, 1e8, 1e10, 1e12)
    ),
    *(
        AccuracyCase(f"PCA, units {u}", lambda rng, u=u: _variances(_correlated(rng) * np.array(u)))
        for u in (
            (1e-150, 1.0, 1.0, 1.0),
            (1e150, 1.0, 1.0, 1.0),
            (1.0, 1e-75, 1e75, 1.0),
            (1e-20, 1.0, 1e20, 1e10),
            (1e-3, 1e3, 1.0, 1e6),
            (1e-150,) * 4,
            (1e150,) * 4,
        )
    ),
    *(
        AccuracyCase(f"PCA scores, offset {o:g}", lambda rng, o=o: _transformed(_grid(rng), o))
        for o in (1e6, 1e8, 1e10)
    ),
    AccuracyCase("PCA, singular values over 12 decades", _decades),
    AccuracyCase(
        "PCA, nearly equal eigenvalues",
        lambda rng: _variances(_orthogonal(rng, 300, 4) * (1.0 + 1e-10 * np.arange(4.0))),
    ),
    AccuracyCase("PCA, float32 of mean 1e3", lambda rng: _variances((_grid(rng) + 1e3).astype(np.float32))),
    AccuracyCase(
        "PCA, weights over 20 decades",
        lambda rng: _variances(_correlated(rng), None, np.logspace(-10.0, 10.0, 200), graded=True),
    ),
    AccuracyCase("PCA, fewer rows than columns", lambda rng: _variances(_correlated(rng, 4, 8) + 1e6, el.PCA(3))),
    AccuracyCase("PCA, deviations of 1e-9", lambda rng: _variances(1.0 + 2.0**-30 * _grid(rng))),
    AccuracyCase(
        "PCA by its Gram matrix, offset 1e8", lambda rng: _variances(_grid(rng, 5, 12) + 1e8, el.PCA(4, solver="gram"))
    ),
]


# ---- latent models --------------------------------------------------------------------------------------------


def _same_elsewhere(rng: Rng, ours: Any, theirs: Any, offset: float, attribute: str) -> Comparison:
    """Compare the fit of rows about an offset with that of the same rows about zero, each package with itself."""
    X = _grid(rng, 300, 6)
    found, wanted = (np.asarray(getattr(ours().fit(X + o), attribute)) for o in (offset, 0.0))
    if theirs is None:
        return Comparison(found, None, wanted, np.abs(wanted).max())
    there, base = (np.asarray(getattr(theirs().fit(X + o), attribute)) for o in (offset, 0.0))
    return Comparison(found - wanted, there - base, np.zeros(wanted.shape), np.abs(wanted).max())


def _noise_to_zero(rng: Rng, noise: float) -> Comparison:
    """The log density of probabilistic PCA, whose covariance is known in closed form."""
    X = _grid(rng, 300, 2) @ rng.standard_normal((2, 5)) + noise * rng.standard_normal((300, 5))
    values, V = principal_axes(centred_rows(X))
    values = np.append(values[:2], np.full(3, values[2:].mean()))
    mean, few = exact(X).mean(axis=0), X[:20]
    found = el.ProbabilisticPCA(2).fit(X).score_samples(few)
    there = decomposition.PCA(2, svd_solver="full").fit(X).score_samples(few)  # its divisor is n − 1
    base, wanted = (gaussian_log_density(few, mean, values * s, V) for s in (1.0, np.longdouble(299) / 300))
    return Comparison(found - wanted, there - base, np.zeros(20), np.abs(wanted))


LATENT_CASES = [
    *(
        AccuracyCase(
            f"{name}, offset {o:g}",
            lambda rng, name=name, theirs=theirs, what=what, o=o: _same_elsewhere(
                rng, lambda: getattr(el, name)(2), theirs, o, what
            ),
        )
        for name, theirs, what in (
            ("ProbabilisticPCA", None, "noise_variance_"),
            ("FactorAnalysis", None, "noise_variance_"),
            ("SparsePCA", None, "components_"),
            ("KernelPCA", lambda: decomposition.KernelPCA(2, eigen_solver="dense"), "eigenvalues_"),
        )
        for o in (1e6, 1e9)
    ),
    *(
        AccuracyCase(f"ProbabilisticPCA, noise {s:g}", lambda rng, s=s: _noise_to_zero(rng, s))
        for s in (1e-2, 1e-4, 1e-6, 1e-8)
    ),
]


# ---- densities ------------------------------------------------------------------------------------------------


def _far_density(rng: Rng, kernel: str, d: int, far: float, weighted: bool = False) -> Comparison:
    X, y = rng.standard_normal((150, d)), np.full((4, d), 0.3)
    y[:, 0] = far * np.array([1.0, -1.0, 1.5, 2.0])
    weight = np.logspace(-10.0, 10.0, 150) if weighted else None
    ours = el.KernelDensity(bandwidth=0.5, kernel=kernel, tol=1e-14).fit(X, sample_weight=weight)
    theirs = None
    if kernel == "gaussian" or d == 1:
        name = "exponential" if kernel == "laplace" else kernel
        theirs = neighbors.KernelDensity(bandwidth=0.5, kernel=name).fit(X, sample_weight=weight).score_samples(y)
    return Comparison(ours.score_samples(y), theirs, kernel_log_density(X, y, 0.5, kernel, weight))


def _far_adaptive(rng: Rng, d: int) -> Comparison:
    X, y = rng.standard_normal((80, d)), np.full((3, d), 1e3)
    model = el.KernelDensity(bandwidth=0.5, adaptive=True).fit(X).model_
    return Comparison(model.log_density(y), None, kernel_log_density(X, y, 0.5, "gaussian", scales=model.scales))


def _cdf_tail(rng: Rng) -> Comparison:
    X = rng.standard_normal(50)
    y = np.array([-8.0, -5.0, -3.0, 0.0])
    wanted = np.empty(y.size)
    for at, value in enumerate(y):
        wanted[at] = np.mean([0.5 * erfc(-(value - x) / 0.5 / sqrt(2.0)) for x in X])
    return Comparison(el.KernelDensity(bandwidth=0.5).fit(X[:, None]).model_.cdf(y[:, None]), None, wanted, 1.0)


DENSITY_CASES = [
    *(
        AccuracyCase(
            f"KernelDensity, {kernel}, {d} columns, {far:g} away",
            lambda rng, kernel=kernel, d=d, far=far: _far_density(rng, kernel, d, far),
        )
        for kernel in ("gaussian", "laplace")
        for d in (1, 2, 3)
        for far in (1e2, 1e6, 1e9, 1e12, 1e100, 1e150)
    ),
    *(
        AccuracyCase(
            f"KernelDensity, weights over 20 decades, {d} columns",
            lambda rng, d=d: _far_density(rng, "gaussian", d, 3.0, True),
        )
        for d in (1, 2)
    ),
    *(AccuracyCase(f"KernelDensity, adaptive, {d} columns", lambda rng, d=d: _far_adaptive(rng, d)) for d in (1, 2)),
    AccuracyCase("KernelDensity, distribution function", _cdf_tail),
]


# ---- mixtures and classifiers ---------------------------------------------------------------------------------


def _or_infinite(find: Callable[[], Any]) -> Any:
    """Return what scikit-learn finds; infinity where it fails, as it does for some of these."""
    try:
        return find()
    except (ValueError, np.linalg.LinAlgError):
        return np.inf


def _clusters(rng: Rng, apart: float, structure: str) -> Comparison:
    """Clusters so far from each other that every row belongs to one: the covariances are those of the clusters."""
    parts = [_grid(rng, 100, 2), _grid(rng, 100, 2) + apart]
    X, means = np.concatenate(parts), np.array([[0.0, 0.0], [apart, apart]])
    ours = el.GaussianMixture(2, covariance_type=structure, means_init=means, random_state=0, floor=1e-30).fit(X)
    theirs = mixture.GaussianMixture(2, covariance_type=structure, reg_covar=0.0, means_init=means, random_state=0)
    each = np.stack([A.T @ A * np.longdouble(99) / 100 for A in map(centred_rows, parts)])
    wanted = {"full": each, "tied": each.mean(axis=0), "diag": np.einsum("kii->ki", each)}[structure]
    found = ours.covariances_[np.argsort(ours.means_[:, 0])] if structure != "tied" else ours.covariances_
    there = _or_infinite(lambda: theirs.fit(X).covariances_)
    if structure != "tied" and np.ndim(there):
        there = there[np.argsort(theirs.means_[:, 0])]
    return Comparison(found, there, wanted, np.abs(wanted).max())


def _labelled(rng: Rng, offset: float, spread: float = 1.0) -> tuple[Array, Array]:
    X, y = _grid(rng, 200, 3), np.repeat([0, 1], 100)
    X[:, 1] = X[:, 0] + spread * X[:, 1]
    return X + y[:, None] + offset, y


def _posterior(rng: Rng, ours: Any, theirs: Any, shared: bool, offset: float, spread: float) -> Comparison:
    """The difference of the log densities of two classes, in extended precision."""
    X, y = _labelled(rng, offset, spread)
    parts = [X[y == c] for c in (0, 1)]
    each = [centred_rows(part) for part in parts]
    each = [np.concatenate(each) * np.sqrt(np.longdouble(0.5))] * 2 if shared else each
    divisor = np.longdouble(99) / 100  # of the classes' covariances: their rows, not one less
    new = X[::20]
    logs = [
        gaussian_log_density(new, exact(part).mean(axis=0), *principal_axes(A * np.sqrt(divisor)))
        for part, A in zip(parts, each, strict=True)
    ]
    wanted = logs[1] - logs[0]
    found = np.diff(ours.fit(X, y).predict_log_proba(new), axis=1).ravel()
    there = _or_infinite(lambda: theirs.fit(X, y).decision_function(new))
    return Comparison(found, there, wanted, np.maximum(np.abs(wanted), 1.0))


def _naive(rng: Rng, offset: float) -> Comparison:
    X, y = _labelled(rng, offset)
    ours, theirs = el.NaiveBayes("gaussian", added_variance=0.0), naive_bayes.GaussianNB(var_smoothing=0.0)
    new = X[::20]
    wanted = np.zeros(len(new), dtype=np.longdouble)
    for c, sign in ((0, -1.0), (1, 1.0)):
        part = exact(X[y == c])
        mean, variance = part.mean(axis=0), part.var(axis=0)
        wanted += sign * np.sum(-0.5 * np.log(variance) - 0.5 * (exact(new) - mean) ** 2 / variance, axis=1)
    found = np.diff(ours.fit(X, y).predict_log_proba(new), axis=1).ravel()
    there = np.diff(theirs.fit(X, y).predict_joint_log_proba(new), axis=1).ravel()
    return Comparison(found, there, wanted, np.maximum(np.abs(wanted), 1.0))


LDA = discriminant_analysis.LinearDiscriminantAnalysis
QDA = discriminant_analysis.QuadraticDiscriminantAnalysis

CLASS_CASES = [
    *(
        AccuracyCase(f"GaussianMixture, {t}, clusters {a:g} apart", lambda rng, a=a, t=t: _clusters(rng, a, t))
        for t in ("full", "tied", "diag")
        for a in (1e3, 1e6, 1e8)
    ),
    *(
        AccuracyCase(
            f"{name}, offset {o:g}, columns alike to {s:g}",
            lambda rng, name=name, theirs=theirs, o=o, s=s: _posterior(
                rng, getattr(el, name)(), theirs(), name.startswith("L"), o, s
            ),
        )
        for name, theirs in (("LinearDiscriminant", LDA), ("QuadraticDiscriminant", QDA))
        for o, s in ((0.0, 1.0), (1e6, 1.0), (0.0, 2.0**-10), (1e6, 2.0**-10), (0.0, 2.0**-16))
    ),
    *(AccuracyCase(f"NaiveBayes, offset {o:g}", lambda rng, o=o: _naive(rng, o)) for o in (0.0, 1e6, 1e8)),
]

CASES: list[AccuracyCase] = [*PCA_CASES, *LATENT_CASES, *DENSITY_CASES, *CLASS_CASES, *EXTREME_CASES]


def describe(seed: int, number: int) -> str:
    """Return the command that repeats a case, and its name."""
    return f"python -m campaigns accuracy --seed {seed} --first {number} --cases 1  # {CASES[number % len(CASES)].name}"


def errors_of(seed: int, number: int) -> tuple[float, float]:
    """Return the relative errors of this package and of scikit-learn, NaN where that has no such thing."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        case = CASES[number % len(CASES)].compare(case_rng(seed, number))
        ours = _error(case.found, case.wanted, case.scale)
        return ours, np.nan if case.theirs is None else _error(case.theirs, case.wanted, case.scale)


def run_case(seed: int, number: int) -> Result:
    """Compare one case."""
    return _judge(describe(seed, number), *errors_of(seed, number))


def _judge(call: str, ours: float, theirs: float) -> Result:
    fine = ours <= GOOD_ENOUGH or ours <= FACTOR * theirs
    detail = f"relative error {ours:.1e}, scikit-learn {theirs:.1e}"
    return Result(Outcome.OK if fine else Outcome.WRONG, call, detail)


def main(seed: int = 0) -> int:
    """Print the table of all cases, and the line of figures."""
    results = []
    print(f"{'case':64}{'error':>10}{'sklearn':>10}")
    for number, case in enumerate(CASES):
        ours, theirs = errors_of(seed, number)
        result = _judge(case.name, ours, theirs)
        results.append(result)
        print(
            f"{case.name:64}{ours:10.1e}{theirs:10.1e}{'' if result.outcome == Outcome.OK else '  worse'}", flush=True
        )
    print(figures("accuracy", seed, results))
    return int(any(result.outcome != Outcome.OK for result in results))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
